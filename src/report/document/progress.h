/* How far a call is, for who waits for it: formatting only. */
#pragma once

#include "base/stop.h"

/* A configuration that a search has found by now. */
typedef struct
{
  char  *label, *options;
  double score; /* as of SearchFound */
  double step_s, tokens_per_s_per_gpu, peak_gib;
} ProgressFound;

typedef struct
{
  double        seconds; /* since it began; NAN: it waits */
  const char   *work;    /* NULL: there is but one piece of work */
  Partial       count;   /* of its step */
  const char   *best;    /* as of WorkCount */
  const GArray *found;   /* ProgressFound, the best first */
} ProgressReport;

/* The object that shardsim_progress describes (api/shardsim.h). */
void report_progress_json (const ProgressReport *self, GString *out);
