/*
 * A collective as the steps of its algorithm: what the `step` fidelity runs.
 *
 * An edge is a sender, a receiver and the links between them. It carries items (chunks) one after
 * another. Item i begins when the edge has sent item i-1 and when everything that it waits for has
 * arrived; it takes its payload over the edge's share of the links, and arrives one hop latency
 * after its last byte left (the sender is free meanwhile). Set: edges, items, who waits for whom.
 * Computed by the executor: when the last item has arrived.
 */
#pragma once

#include "cost/collective/library/collective.h"

/* Demand of an edge on a resource; at most one entry an edge and resource. */
typedef struct
{
  guint32 resource;
  double  service; /* service bytes per byte of payload; > 0 */
} StepLoad;

typedef struct
{
  guint32 first_load, n_loads; /* in StepProgram.loads */
  guint32 first_next, n_next;  /* in StepProgram.nexts: the edges that wait for this one */
  guint32 n_items;
  guint32 n_first, n_later; /* edges that item 0, and every later item, waits for */
  double  bytes;            /* payload of an item */
  double  hop;              /* s, from an item's end to its arrival */
  double  cap;              /* B/s of payload; 0 = none */
  double  weight;           /* in bandwidth sharing: thread blocks */
} StepEdge;

#define STEP_AFTER 2

/*
 * Item i of EDGE waits for item i - lag of another one; lag is 0 or 1. STEP_AFTER: item 0 waits for
 * its last one.
 */
typedef struct
{
  guint32 edge, lag;
} StepNext;

typedef struct
{
  double  launch; /* s before the first item */
  GArray *edges;  /* StepEdge */
  GArray *loads;  /* StepLoad */
  GArray *nexts;  /* StepNext; in order of the edge that is waited for after step_program_finish */
  GArray *froms;  /* guint32: that edge, beside `nexts` while the program is built */
} StepProgram;

StepProgram *step_program_new (double launch);
void         step_program_free (StepProgram *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StepProgram, step_program_free)

/* Adds EDGE (its ranges are ignored) with LOADS, where a resource may come more than once. */
guint step_program_add_edge (StepProgram *self, const StepEdge *edge, const StepLoad *loads,
                             guint n_loads);

/* Item i of edge TO waits for item i - LAG of edge FROM, which has that item; or STEP_AFTER. */
void step_program_add_wait (StepProgram *self, guint from, guint to, guint lag);

/* To be called once, after the last edge and wait. */
void step_program_finish (StepProgram *self);

#define step_program_edge(self, i) (&g_array_index ((self)->edges, StepEdge, i))

/* What a plan's steps need beside its edges; from the same figures as its CollectiveCost. */
typedef struct
{
  double   launch;             /* s before the first step */
  double   hop_intra, hop_net; /* s, from the end of a transfer to its arrival */
  double   rate_cap;           /* B/s of S that the channels carry at most; 0 = no such limit */
  gboolean capped_inside;      /* only stages inside nodes have that limit */
  double   chunk;              /* bytes of S that pass a pipeline at once, on all channels; > 0 */
  guint    credits;            /* chunks that a connection of a ring holds; 0: any number */
  guint    ways;               /* between sites: of a message from end to end */
  double   flows;              /* of an edge between sites */
} StepParameters;

void collective_plan_step_parameters (CollectivePlan *plan, double bytes,
                                      const CollectiveCost *cost, StepParameters *parameters);

/*
 * The steps of PLAN at BYTES. An algorithm whose layout notes no edges is one step that takes all
 * its loads after its latency.
 */
StepProgram *collective_plan_steps (CollectivePlan *plan, double bytes);

/*
 * What hops add to a ring of NODES nodes with PER_NODE ranks each that makes STEPS steps, s.
 *
 * Let an item take w_e on edge e, and a_e more until it arrives. The ring's last arrival is the
 * longest path through its items, one item a step: from step to step a path stays on its edge, or
 * follows the chunk to the next edge and pays the hop. So with w = max w_e, reached on the path,
 *   time = STEPS x w + max over runs of at most STEPS edges of  sum (a_e - (w - w_e)):
 * a hop is hidden as far as its edge has time to spare. Exact where every edge has its links for
 * itself. INTRA and NET are a_e - (w - w_e) of the two classes of edges; at least one is >= 0.
 */
double step_ring_exposed (guint nodes, guint per_node, guint steps, double intra, double net);

/* A class of edges: what an item takes on one, and until it arrives then; s. */
typedef struct
{
  double item, hop;
} StepClass;

/*
 * The whole time of that ring's longest path through two neighbouring edges, s, where a connection
 * holds two items: the sender waits for its receiver to have passed on the one before the last. So
 * every two items take both edges' times and both hops,
 *   time = STEPS x (w_net + a_net + w_intra + a_intra) / 2.
 * 0 where all edges are alike.
 */
double step_ring_credits (guint nodes, guint per_node, guint steps, StepClass intra, StepClass net);

/*
 * The whole time of a ring of N EDGES in the order of its way, each with an item and a hop of its
 * own, s: a path of STEPS items that stays on the slowest edge E that it visits,
 *   time = max over runs of k <= STEPS edges of  (STEPS - k) x w_E + sum (w_e + a_e).
 * In rings of hundreds of edges only runs that stay on the slowest edge of all, or nowhere, count.
 */
double step_ring_unlike (const StepClass *edges, guint n, guint steps);

/* How many edges of each class are in that run; those on which the path stays are not counted. */
typedef struct
{
  guint intra, net;
} StepRun;

StepRun step_ring_run (guint nodes, guint per_node, guint steps, double intra, double net);
