/*
 * What the page asks for, as functions of api/shardsim.h: JSON goes in, JSON comes out. No request
 * names a file of this machine, a plug-in or a folder of profiles.
 */
#pragma once

#include "api/shardsim.h"

#include <glib.h>

typedef struct
{
  const char *path; /* "/api/predict" */
  /* With a stop, as the functions of the interface. */
  char *(*call) (const char *request, ShardsimStop *stop);
  guint seconds; /* that it may take before it is stopped */
} Endpoint;

/* Whether it makes many predictions: others, that somebody looks at, do not wait for it. */
gboolean endpoint_searches (const Endpoint *self);

/* The one of PATH, which is asked by POST; NULL: there is none. */
const Endpoint *endpoint_find (const char *path);

/*
 * BODY as the request of a call, newly allocated. NULL with WHY set to an answer
 * ({"diagnostics": ...}), newly allocated, that says what is wrong with it.
 */
char *endpoint_request (const char *body, gsize length, char **why);

/* What is asked by GET below /api/: option tables, lists and the version; NULL: there is none. */
char *endpoint_get (const char *path);

/* The answer to an upload of TEXT as a file NAME: {"file": "given/..."}. Newly allocated. */
char *endpoint_give (const char *name, const char *text, gsize length);

/* {"diagnostics": [{"severity": "error", "message": MESSAGE}], "error": null}; newly allocated. */
char *endpoint_refusal (const char *message);
