/*
 * Flows on links, and nothing else: the engine's bandwidth sharing for hundreds of thousands of
 * transfers. A flow starts, spends its latency, then moves its bytes at its weighted max-min fair
 * rate over all links of its route at once.
 *
 * The rates are those of engine/fluid.h (traffic: the level is bytes/s per unit of weight). Time:
 * all flows with one bottleneck have one level, so they share a clock that counts the bytes moved
 * per unit of weight; a flow ends when the clock of its group reaches its mark, whatever the level
 * does meanwhile. An event costs what changes levels, not what changes rates.
 *
 * Times are whole picoseconds; ends are rounded up, and what happens in one picosecond is one
 * event.
 */
#pragma once

#include "base/config/units.h"
#include "base/work-count.h"
#include <gio/gio.h>

typedef struct _FlowNet FlowNet;

FlowNet *flow_net_new (void);
void     flow_net_free (FlowNet *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FlowNet, flow_net_free)

/* A link of CAPACITY bytes/s (finite, > 0). Links are numbered from 0, flows too. */
guint flow_net_add_link (FlowNet *self, double capacity);

typedef struct
{
  const guint32 *links; /* copied; each at most once; none: the flow is over after its latency */
  const double  *loads; /* bytes on each link per byte of the flow, > 0; NULL: 1 on all */
  guint          n_links;
  double         bytes;   /* > 0 */
  SimTime        start;   /* ps */
  SimTime        latency; /* ps */
  double         weight;  /* > 0 */
  double         cap;     /* largest rate in bytes/s, or 0 */
} FlowSpec;

guint flow_net_add_flow (FlowNet *self, const FlowSpec *spec);

guint  flow_net_n_links (const FlowNet *self);
guint  flow_net_n_flows (const FlowNet *self);
double flow_net_capacity (const FlowNet *self, guint link);

/* COUNT is told of the flows that end. */
void flow_net_set_count (FlowNet *self, WorkCount *count);

/*
 * Runs all flows to their ends. FALSE with ERROR set when one ends after SIM_TIME_MAX. May be
 * called once.
 */
gboolean flow_net_run (FlowNet *self, GError **error);

/* Of a run that is over. */
SimTime flow_net_finish (const FlowNet *self, guint flow); /* ps from time 0 */
double  flow_net_moved (const FlowNet *self, guint link);  /* bytes */
SimTime flow_net_makespan (const FlowNet *self);           /* the last finish; 0 without flows */

/* For benchmarks and tests: fill from nothing at every event, and what the solver did. */
void    flow_net_set_full (FlowNet *self, gboolean full);
guint64 flow_net_visited (const FlowNet *self);
