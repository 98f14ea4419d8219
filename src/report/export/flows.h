/*
 * Reports of `flows`: when each flow was over, and how busy each link was.
 */
#pragma once

#include "predict/prediction.h"

typedef struct
{
  const char *name;
  double      capacity;    /* B/s */
  double      bytes;       /* moved over it */
  double      utilisation; /* of its capacity from time 0 to the makespan */
} FlowReportLink;

typedef struct
{
  const char *const    *names;  /* of the flows */
  const SimTime        *finish; /* ps from time 0 */
  guint                 n_flows;
  const FlowReportLink *links;
  guint                 n_links;
  SimTime               makespan;
  const double         *expected; /* s, NAN where not known; NULL: none */
} FlowReport;

/* A summary, the busiest links and the last flows. */
void report_flows_text (const FlowReport *self, GString *out);

/* `flow,finish_s`, in the order of the input. */
void report_flows_csv (const FlowReport *self, GString *out);

/*
 * {"schema": 1, "makespan_s", "flows": [{flow, finish_s}], "links": [{link, bandwidth_bps, bytes,
 * utilisation}]}
 */
void report_flows_json (const FlowReport *self, GString *out);
