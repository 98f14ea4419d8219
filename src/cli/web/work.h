/*
 * Calls that take long, beside the server: a few threads, queues with an end, and a time for each.
 * Everything but the calls themselves is done in the thread that made it.
 */
#pragma once

#include "cli/web/endpoints.h"

#define WEB_WORK_MOST 64 /* calls that wait, of predictions and of what searches */

typedef struct _WebWork WebWork;

/* N_THREADS predictions run side by side, and as many calls that search. */
WebWork *web_work_new (guint n_threads);
/* Stops what runs, waits for it, and answers nothing more. */
void web_work_free (WebWork *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (WebWork, web_work_free)

/* ANSWER: newly allocated, of a call that USER began. */
typedef void (*WebAnswer) (char *answer, gpointer user);

typedef struct _WebCall WebCall;

/*
 * Begins ENDPOINT with REQUEST, which it takes; ANSWER is called once, from the main loop. NULL,
 * and REQUEST is freed: too many wait.
 */
WebCall *web_work_begin (WebWork *self, const Endpoint *endpoint, char *request, WebAnswer answer,
                         gpointer user);

/* Nobody wants the answer of CALL, begun and not answered, any more: ANSWER is not called. */
void web_work_drop (WebCall *call);

/* Ends CALL early, with what it has by then. */
void web_work_stop (WebCall *call);

/* How far CALL is, as of shardsim_progress. Newly allocated. */
char *web_work_progress (WebCall *call);
