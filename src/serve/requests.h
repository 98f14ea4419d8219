/* Requests that arrive over time: of a trace, or drawn. */
#pragma once

#include "base/config/diag.h"

typedef struct
{
  double  arrival_s;      /* from the beginning of the trace, ascending */
  guint32 prompt, output; /* tokens, at least one each */
} ServeRequest;

/*
 * ServeRequest of a CSV FILE with the columns arrival (s), input and output (tokens); others are
 * not read. The caller's; NULL after diagnostics, each with its line.
 */
GArray *serve_requests_load (const char *file, DiagList *diags);

/* Arrivals one by one at random (exponential gaps), lengths around their means. */
typedef struct
{
  guint   n;
  double  rate;           /* a second */
  double  prompt, output; /* mean tokens */
  double  spread;         /* of lengths: standard deviation over mean, log-normal; 0: all alike */
  double  longest;        /* of prompt and output together; 0: any */
  guint32 seed;
} RequestDraw;

/* The same of a DRAW; the caller's. */
GArray *serve_requests_draw (const RequestDraw *draw);
