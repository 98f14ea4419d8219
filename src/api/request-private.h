/* A call of the interface: its request is read, and its answer written, here alone. */
#pragma once

#include "api/call-private.h"
#include "base/config/option.h"
#include "import/job/job.h"
#include "predict/prediction.h"

typedef struct
{
  /* of the request, for every function */
  char        *file, *text, *name, *hwprofiles;
  char        *job_as; /* whose job the file is; NULL: its keys say */
  gboolean     lenient;
  gint64       jobs;
  double       time_limit; /* of functions that take request_time_options; s, 0: none */
  GArray      *overrides;  /* ScenarioOverride */
  StrategySet *strategies;
  InputFiles  *files;
  /* what the above points to */
  GStringChunk *keys;
  ConfigDoc    *document;
  /* when its work ends early, and what was done by then */
  ShardsimStop *own;  /* NULL: the caller has one */
  ShardsimStop *call; /* that, or its own, */
  Stop         *stop; /* and what is of it */
  WorkCount    *count;
  /* what is answered beside the result */
  DiagList *diags;
  GError   *error;
} Request;

/* Keys of one function, which fill STRUCTURE. */
typedef struct
{
  const OptionSpec *table; /* NULL: no more */
  gpointer          structure;
} RequestPart;

/* A key that takes a list of texts. */
typedef struct
{
  const char *key;   /* NULL: no more */
  char     ***texts; /* strv; stays NULL where it is not given */
} RequestList;

extern const OptionSpec request_time_options[]; /* into a Request */

/* SELF: zeroed. STOP, PARTS, LISTS: NULL: none. FALSE after diagnostics or an error. */
gboolean request_read (Request *self, const char *text, ShardsimStop *stop,
                       const RequestPart *parts, const RequestList *lists);
void     request_clear (Request *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Request, request_clear)

/* The scenarios; OPEN: they may name no strategy. NULL after diagnostics. */
GPtrArray *request_load (Request *self, gboolean open);

/* The only one; NULL after diagnostics: also where there are several. */
Scenario *request_load_one (Request *self, gboolean open);

/* How steps are simulated, of functions that give predictions. */
typedef struct
{
  gboolean unfolded, interval;
  gint64   steps;
} RequestRun;

extern const OptionSpec request_run_options[];

/* RUN: NULL: as usual. They count into SELF, and end with its stop. */
PredictOptions request_predict_options (Request *self, const RequestRun *run);
guint          request_n_threads (const Request *self);

/* Of work that is all or nothing: FALSE, with an error, where it was stopped. */
gboolean request_is_whole (Request *self);

/*
 * DOCUMENT (NULL: there is no result) with what is said about it: also that it is partial. Newly
 * allocated.
 */
char *request_answer (Request *self, GString *document);
