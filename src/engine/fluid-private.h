/*
 * What the parts of the solver share: fluid.c keeps ops, resources and tiers, fluid-waves.c
 * what reservations leave to kernels that run in waves; fluid-repair.c brings the groups of a tier
 * up to date, fluid-fill.c finds them from nothing.
 *
 * Traffic is tier 0; kernels of one priority are a tier each. A *node* is a resource as one tier
 * sees it, or the limit of one op (its cap, or a wave's time), which counts as a resource of its
 * own: of capacity `limit`, with amount 1. Node and group are the same number. In a tier everything
 * is said in levels: an op takes level * weight of a node, with weight = share * amount.
 */
#pragma once

#include "base/vector.h"
#include "engine/fluid.h"

#include <math.h>

#define ABOVE   1e-13 /* relative: what exceeds a capacity or a level by less does not exceed it */
#define RESIDUE 1e-12 /* less of a capacity than this is rounding, not something to share */
#define NOBODY  0     /* the group of an op without one; levels[NOBODY] is 0 */

typedef guint32 NodeId;

/* What the solver must know of a node at a glance. */
enum
{
  FLUID_LISTED = 1 << 0, /* waits for its tier to be solved */
  FLUID_QUEUED = 1 << 1, /* is in the queue */
  FLUID_OPEN =
      1 << 2, /* no group, only weights of 1, nothing below: `rooms` says what it can still take */
};

typedef struct
{
  double     capacity; /* what this tier shares */
  double     load;   /* of its ops; of an unsaturated node by differences from its last exact sum */
  double     weight; /* of its ops, by differences: orders the queue, nothing else */
  double     top;    /* of an unsaturated node: its highest level at that sum; orders the queue */
  FluidOp   *ops;    /* its uses, in the order in which they were added */
  double    *weights; /* beside them; NULL while all are 1 */
  guint      n_uses, size;
  NodeId     below;    /* the same resource in the next tier, or NOBODY */
  NodeId     next;     /* in its bucket of the queue */
  ResourceId resource; /* ENGINE_NONE: a limit */
  guint32    tier;
  guint64    stamp; /* of the solve that has changed it; then `before` is its level before */
  double     before;
} FluidNode;

/*
 * The nodes that an op demands: those of its demands, of its waves, of its limit. The nodes alone
 * are what most solves look at for most ops: those of short routes lie together, 16 bytes an op,
 * NOBODY behind the last. A longer one has NOBODY first.
 */
#define FLUID_FEW 4
typedef struct
{
  NodeId nodes[FLUID_FEW];
} FluidPeers;

typedef struct
{
  guint   n_links, size; /* `size` of the arrays */
  double  share;
  NodeId *nodes;   /* where there are more than a few */
  double *amounts; /* NULL: 1 on all */
} FluidRoute;

typedef struct
{
  gboolean        live;
  guint32         tier, user;
  NodeId          limit;    /* or NOBODY */
  ResourceId      limit_on; /* what it is of; ENGINE_NONE: the cap */
  double          cap;
  WaveDemand      waves;
  const WavePart *wave_parts;
  guint           n_wave_parts;
  double          n_waves;      /* 0: none */
  double          wave_seconds; /* of all of them */
  guint           wave_link;
  guint64         serial; /* of addition */
  guint64         stamp;  /* of the solve that has moved it; then `before` is its group before */
  NodeId          before;
  guint64         reported; /* the solve that has told of it */
} FluidFlow;

typedef struct
{
  double   capacity, reserved;
  gboolean reserved_changed;
  NodeId   first; /* of its nodes, in order of the tiers */
} FluidResource;

typedef struct
{
  OpClass class_;
  gint    priority;
  Vector *dirty; /* NodeId: what the next solve starts from */
} FluidTier;

/* Dirty nodes in buckets by level: a lowest one is found by the first bit that is set. */
#define QUEUE_BUCKETS 4096 /* 64 words of 64 bits */
typedef struct
{
  NodeId  heads[QUEUE_BUCKETS];
  guint64 bits[64];
  guint64 words; /* those of `bits` that are not 0 */
  gint64  base;
} FluidQueue;

/* An op that a node takes over from a group with a higher level. */
typedef struct
{
  double  level; /* of the op's group so far */
  double  weight;
  FluidOp op;
  guint32 place; /* among the uses: breaks ties */
} FluidCandidate;

struct _Fluid
{
  Vector *resources;   /* FluidResource */
  Vector *tiers;       /* FluidTier, by the numbers that nodes and ops carry */
  guint   n_dirty;     /* nodes that are in a tier's list */
  Vector *tier_order;  /* guint32: traffic, then kernels from the highest priority */
  Vector *reservation; /* ResourceId: those whose reservation has changed */
  /* by NodeId; 0 is nobody */
  FluidNode *nodes;
  double    *levels;
  double    *rooms; /* of open nodes, instead of `load` */
  guint8    *flags; /* FLUID_LISTED, ... */
  guint      n_nodes, nodes_size;
  Vector    *free_nodes; /* NodeId: of limits */
  /* by FluidOp */
  FluidFlow  *flows;
  FluidRoute *routes;
  FluidPeers *peers;
  NodeId     *owners; /* the group */
  guint       n_ops, ops_size;
  Vector     *free_ops; /* FluidOp */
  guint64     n_added, n_links;
  /* what a solve changes */
  guint64  stamp;
  Vector  *groups;  /* NodeId */
  Vector  *moved;   /* FluidOp */
  Vector  *changed; /* FluidOp */
  gboolean full, apart;
  guint64  solves, visited;
  /* scratch */
  FluidQueue queue;
  Vector    *own;        /* FluidOp: of the current node */
  Vector    *candidates; /* FluidCandidate */
  Vector    *users;      /* FluidOp */
  Vector    *watched;    /* NodeId: with a node below, solved in this tier */
};

static inline FluidResource *
fluid_resource_at (const Fluid *self, ResourceId id)
{
  return &vector_at (self->resources, FluidResource, id);
}

static inline FluidTier *
fluid_tier_at (const Fluid *self, guint32 tier)
{
  return &vector_at (self->tiers, FluidTier, tier);
}

static inline const NodeId *
fluid_nodes_of (const Fluid *self, FluidOp op)
{
  return self->routes[op].n_links <= FLUID_FEW ? self->peers[op].nodes : self->routes[op].nodes;
}

/* What an op takes of its link I at a level, per unit of it. */
static inline double
fluid_weight_of (const Fluid *self, FluidOp op, guint i)
{
  const FluidRoute *route = &self->routes[op];

  return route->amounts == NULL ? route->share : route->share * route->amounts[i];
}

static inline double
fluid_use_weight (const FluidNode *node, guint i)
{
  return node->weights == NULL ? 1 : node->weights[i];
}

/* What reservations leave to kernels: never nothing. */
double fluid_unreserved (const FluidResource *resource);

/* What a tier shares of a resource, below the node of the tier before it (or NOBODY). */
double fluid_offered (const Fluid *self, const FluidResource *resource, guint32 tier, NodeId above);

NodeId fluid_new_node (Fluid *self, guint32 tier, ResourceId resource);

/* The node of a resource in a tier; made when it is not there. */
NodeId fluid_node_of (Fluid *self, ResourceId id, guint32 tier);

/* The next solve of its tier looks at a node. */
void fluid_touch (Fluid *self, NodeId id);
void fluid_clear_dirty (Fluid *self, guint32 tier); /* it looks at none */

/* Passes on what a tier has left of a resource to the next one. */
void fluid_offer_below (Fluid *self, NodeId above);

/*
 * Keeps a node's load instead of its room from now on: before its capacity, weights or what is
 * below it change.
 */
void fluid_close_node (Fluid *self, NodeId id);

/* From now on the weights of a node's uses are kept, although all are 1. */
void fluid_keep_weights (Fluid *self, NodeId id);

void  fluid_add_use (Fluid *self, NodeId id, FluidOp op, double weight);
guint fluid_find_use (const FluidNode *node, FluidOp op);
void  fluid_remove_use (Fluid *self, NodeId id, FluidOp op,
                        double level); /* LEVEL: of the op's group, 0 without one */

/* Sets the waves of a flow on the slots that are left; returns their amount. */
double fluid_count_waves (FluidFlow *flow, const FluidResource *resource);

/*
 * The largest rate that an op may have whatever the others do, or 0. A wave takes its time even on
 * slots to spare.
 */
double fluid_op_limit (FluidFlow *flow);

/* Kernels have less or more to share, and those with waves other waves. */
void fluid_apply_reservation (Fluid *self, ResourceId id);

/* Lists an op among those that this solve has changed, once. */
void fluid_report (Fluid *self, FluidOp op);

/* Puts a node into its group's place: notes what the level was before this solve. */
void fluid_set_level (Fluid *self, NodeId node, double level);

/* Moves an op to a group, and notes where it was before this solve. */
void fluid_set_owner (Fluid *self, FluidOp op, NodeId owner);

/*
 * Works through the dirty nodes of a tier until every op has a bottleneck. Gives up and returns
 * FALSE, leaving a state that only fluid_fill_tier mends, when that takes more than filling from
 * nothing would.
 */
gboolean fluid_repair_tier (Fluid *self, guint32 tier);

/*
 * Finds the groups of a tier from nothing by progressive filling; none of its nodes is dirty
 * afterwards.
 */
void fluid_fill_tier (Fluid *self, guint32 tier);
