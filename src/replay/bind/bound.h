/*
 * Bound: a plan on its cluster. Which ranks stand for which, what every op asks of which resource,
 * and what is known of that without running it. Read-only; may be run any number of times.
 */
#pragma once

#include "cost/collective/library/collective.h"
#include "engine/engine.h"
#include "replay/bind/binding-store.h"
#include "replay/bind/plan.h"

typedef struct _ReplayBound ReplayBound;

/*
 * Whether ranks that differ in the links alone that their traffic loads are one. A run that shows
 * them unlike fails (ENGINE_ERROR_UNLIKE): to be bound with less.
 */
typedef enum
{
  LOCKSTEP_NONE,
  LOCKSTEP_APART, /* with `step_only`: those of a group that meets often, which get and send
                     messages at times of their own */
  LOCKSTEP_WHOLE, /* and those that never do; else as LOCKSTEP_APART */
} Lockstep;

typedef struct
{
  gboolean      unfolded;   /* every rank stands for itself */
  gboolean      times_only; /* no link that cannot move a time: what it would say of use is less */
  gboolean      step_only;  /* of times that of the step alone: no rank's own, no peak */
  Lockstep      lockstep;   /* the most of it */
  LayoutStore  *layouts;    /* NULL: none. Of other plans; outlives the bound one */
  BindingStore *bindings;   /* likewise, but need not outlive it */
  Stop         *stop;       /* when it is not wanted any more; or NULL */
} BoundOptions;

/*
 * Binds PLAN, to which it refers. NULL: its stop came first, or this process may take no more
 * memory (own-memory.h).
 */
ReplayBound *replay_bound_new_with (const ReplayPlan *plan, const BoundOptions *options);
ReplayBound *replay_bound_new (const ReplayPlan *plan, gboolean unfolded); /* with none */

const ReplayBound *replay_bound_ref (const ReplayBound *self);
void               replay_bound_unref (const ReplayBound *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ReplayBound, replay_bound_unref)

const ReplayPlan *replay_bound_plan (const ReplayBound *self);

guint    replay_bound_n_ranks (const ReplayBound *self);  /* that are simulated */
Lockstep replay_bound_lockstep (const ReplayBound *self); /* how much of it there is */

/* Times as long that kernels of simulated rank I take for the slowest GPU: skew.h. */
double replay_bound_skew (const ReplayBound *self, guint i);

/* Cluster resource that an engine resource stands for, and how many alike there are. */
guint replay_bound_cluster_resource (const ReplayBound *self, ResourceId resource, guint *n_alike);

/*
 * A number for all that a run is given: what each op asks for and how long it waits, and
 * how much there is of what is asked for. Where it is the same for two bound plans, so is what a
 * run says of them; where it is not, that may still be hidden behind something else. BESIDE: a
 * figure that what is read off the run follows from besides.
 */
guint64 replay_bound_fingerprint (const ReplayBound *self, double beside);

/* ---- traffic and work, per steady period or in a span of it ---------------------------------- */

/* How the library runs collectives of a communicator and kind, and how many bytes (sum of S) so. */
typedef struct
{
  CollectiveAlgorithm algorithm;
  CollectiveProtocol  protocol;
  guint               channels;
  gboolean            unaligned; /* as in CollectiveCost */
  guint               resources; /* simulated ones that they load ... */
  guint               links;     /* ... and which: other ones, another number */
  double              bytes;
} TrafficWay;

typedef struct
{
  guint32        comm; /* CommRef of the schedule */
  CollectiveKind kind; /* COLLECTIVE_SEND_RECV for messages */
  GArray        *ways; /* TrafficWay, most bytes first */
  guint64        calls;
  double         bytes; /* sum of S, per group; of messages: by all members of the first group */
  double inter_node_per_gpu; /* payload that leaves nodes through cards, per GPU of the cluster */
  double backward_inter_node_per_gpu; /* of it what recomputation and backward passes issue */
  double intra_node_per_gpu; /* payload over NVLink and PCIe between GPUs, per GPU (sent) */
} ReplayTraffic;

/* Per communicator and kind; newly allocated array of ReplayTraffic that owns their ways. */
GArray *replay_bound_traffic (const ReplayBound *self, MicroSpan span);

/*
 * Nominal FLOPs of matrix products and attention that a rank executes in a step (mean over roles
 * weighted by class size). For tests and figures: HFU counts as MFU does.
 */
double replay_bound_executed_flops (const ReplayBound *self, MicroSpan span);

/* The same of the bytes that kernels of the model read and write in GPU memory, nominally. */
double replay_bound_kernel_bytes (const ReplayBound *self, MicroSpan span);

/* The same of what recomputation executes, as MFU's convention counts it. */
double replay_bound_recomputed_flops (const ReplayBound *self, MicroSpan span);

/* The same of bytes that are moved between the GPU's memory and other places, either way. */
double replay_bound_host_link_bytes (const ReplayBound *self, MicroSpan span);
