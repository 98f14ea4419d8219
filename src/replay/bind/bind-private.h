/*
 * The graph of a cluster and a schedule that folding refines: see bind.c.
 */
#pragma once

#include "hardware/topology/orbits.h"
#include "replay/run/replay-private.h"

/* Load of one op on a cluster resource, per byte. */
typedef struct
{
  guint32 resource;
  double  service;
} OpLoad;

/* A collective of one group by one algorithm, or one rank's move. */
typedef struct
{
  guint first_load, n_loads; /* in BindGraph.loads */
  guint first_cost,
      n_costs; /* in BindGraph.costs: of the first op of a group's collective, all its sizes */
  double latency, inter, intra; /* as in BoundPlan */
} GraphOp;

/* Sizes at which a communicator's collective is issued, and the ops that are it in the graph. */
typedef struct
{
  GArray *sizes;    /* guint64, rising; NULL: never issued */
  guint32 first_op; /* of the first group; each group has n_algorithms ops, one after another */
  guint   n_algorithms;
  CollectiveAlgorithm algorithms[ALGORITHM_N]; /* that any group uses at any size */
  const Codec        *codec;                   /* of every hop, that costs most; NULL: none */
} GraphUse;

/* Messages that ranks of a role send to one member of a communicator's group. */
typedef struct
{
  CommRef  comm;
  guint    peer; /* index of the receiver in the group */
  GraphUse use;  /* `first_op` is not used: see BindGraph.first_message */
} GraphSend;

/* What ranks of a role send to, or get from, a member of a communicator's group. */
typedef struct
{
  CommRef comm;
  guint   peer; /* index in the group */
  guint32 way;  /* ScheduleMessage */
} GraphEnd;

typedef struct
{
  const Cluster    *cluster;
  const Schedule   *schedule;
  CollectiveOptions options;
  guint             n_ranks, n_nodes, n_resources;
  gboolean         *used; /* [role][comm][kind] */
  gboolean          moves[MOVE_N];
  gboolean          host_ops;
  gboolean          machines; /* buffers are in machines' memory */
  GraphUse         *uses;     /* [comm][kind] */
  guint32           first_move[MOVE_N];
  guint32           first_host;    /* of the first rank's HOST_SHARES */
  GArray          **sends;         /* [roles]: GraphSend */
  GArray          **ends;          /* [roles]: GraphEnd, in the order of their first items */
  guint32          *first_message; /* [ranks]: op of its role's first send; the others follow */
  GArray           *ops;           /* GraphOp */
  GArray           *costs;    /* BoundCost; `plan` counts from the first op of the collective */
  GArray           *loads;    /* OpLoad */
  GArray           *colours;  /* guint64, of every node of the graph */
  GArray           *edges;    /* OrbitEdge */
  GPtrArray        *profiles; /* distinct GPU and node profiles: their index is their colour */
  StopPoll         *poll;
} BindGraph;

/* What SCHEDULE uses, without nodes and edges. Where POLL is cut it is not whole, nor below. */
void bind_graph_init (BindGraph *self, const Cluster *cluster, const Schedule *schedule,
                      const CollectiveOptions *options, StopPoll *poll);
void bind_graph_build (BindGraph *self);
void bind_graph_clear (BindGraph *self);

/* Whether ranks of ROLE issue collectives of KIND on COMM. */
gboolean bind_graph_uses (const BindGraph *self, guint role, CommRef comm, guint kind);

/* Index of the group of RANK among the groups of its family: also the order of their ops. */
guint bind_graph_group (MeshGroup group, guint rank);

/* ---- messages between stages (bind-messages.c) ----------------------------------------------- */

/* Index of RANK in its group of the family, and the member at an index. */
guint   bind_group_index (MeshGroup group, guint32 rank);
guint32 bind_group_member (MeshGroup group, guint32 rank, guint index);

void bind_graph_note_messages (BindGraph *self);
void bind_graph_add_messages (BindGraph *self);
void bind_graph_clear_messages (BindGraph *self);

/* The op of what rank FROM sends to rank TO on COMM. */
guint bind_graph_message (const BindGraph *self, CommRef comm, guint32 from, guint32 to);

/* ---- who is alike (classes.c) ---------------------------------------------------------------- */

/* A partition of the graph's nodes, numbered by lowest members. */
typedef struct
{
  guint    n_classes;
  guint32 *class_of; /* [graph nodes] */
  guint32 *lowest, *size;
} Classes;

/* The coarsest whose members see the same of each other; UNFOLDED: the finest. NULL: stopped. */
Classes *classes_new (const BindGraph *graph, gboolean unfolded);

void classes_free (Classes *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Classes, classes_free)

static inline gboolean
classes_is_lowest (const Classes *self, guint32 node)
{
  return self->lowest[self->class_of[node]] == node;
}

/* ---- ranks in lockstep (lockstep.c) ---------------------------------------------------------- */

/*
 * The coarsest of GRAPH without the loads of links, which it leaves. NULL where ranks are those of
 * PARTS, the one with them, or where it was stopped.
 */
Classes *classes_new_in_lockstep (BindGraph *graph, const Classes *parts);

/*
 * The same, but ranks of groups that meet often are told apart by the group, and twins may end
 * apart. NULL also where ranks are not much fewer, or something runs beside their kernels.
 */
Classes *classes_new_apart (BindGraph *graph, const Classes *parts);

/* The CommRef of these groups; REPLAY_NONE where there are none whose ranks may run so. */
guint32 lockstep_meeting (const Schedule *schedule);

/* Whether nothing ever runs beside a rank's kernels (kernels-alone.c). */
gboolean kernels_run_alone (const Schedule *schedule);

/* FALSE where ops of one class are not as fast alone: a run would show that they end apart. */
gboolean lockstep_may_hold (const Binding *self, const Cluster *cluster);

/* ---- bindings that others left (binding-store.c) --------------------------------------------- */

/* All that a binding follows from, of a graph that was not built yet; NULL: it is kept for none. */
GBytes *binding_store_key (const BindGraph *graph, const BoundOptions *how);

/* A reference to the one of KEY, or NULL. */
Binding *binding_store_find (BindingStore *self, GBytes *key);
void     binding_store_add (BindingStore *self, GBytes *key, Binding *binding);

/* ---- links that count (prune-links.c) -------------------------------------------------------- */

/* Whether traffic alone loads RESOURCE: no kernels, no host ops. */
gboolean bind_graph_is_link (const BindGraph *self, guint32 resource);

/* Loads of links that no op ever waits for go. */
void bind_graph_prune_links (BindGraph *self);

/* ---- what the graph is made of (bind-graph-ops.c) -------------------------------------------- */

typedef enum
{
  RELATION_NODE, /* rank - machine */
  RELATION_SM,
  RELATION_HBM,
  RELATION_MEMBER, /* op - rank */
  RELATION_LOAD,   /* op - resource */
  RELATION_SAME,   /* the ops of one group's collective, by algorithm - the first of them */
  RELATION_SENDER, /* message - rank */
  RELATION_RECEIVER,
} Relation;

typedef enum
{
  COLOUR_RANK,
  COLOUR_NODE,
  COLOUR_RESOURCE,
  COLOUR_COLLECTIVE,
  COLOUR_MOVE,
  COLOUR_HOST,
  COLOUR_MESSAGE,
} ColourKind;

guint64 colour_mix (guint64 colour, guint64 value);
guint64 colour_mix_double (guint64 colour, double value);
guint64 colour_mix_cost (guint64 colour, const CollectiveCost *cost);
void bind_graph_add_edge (BindGraph *self, guint32 a, guint32 b, Relation relation, double label);
/* The next node has COLOUR: nodes come in the order of their numbers. */
void bind_graph_add_colour (BindGraph *self, guint64 colour);
/* An op with its loads, one after another, and the colour that it has beside them. */
GraphOp *bind_graph_begin_op (BindGraph *self, double latency);
void     bind_graph_add_load (BindGraph *self, guint op, guint32 resource, double service);
void     bind_graph_end_op (BindGraph *self, guint64 colour);

/* USE is issued with BYTES as well. */
void bind_graph_note_size (GraphUse *use, guint64 bytes);

/* The costs of PLAN at all sizes of USE; notes algorithms that no group used before. */
void bind_graph_collect_costs (GraphUse *use, CollectivePlan *plan, CollectiveCost *costs);

/*
 * The op of one algorithm; COST: any of its, or NULL where the group never uses it. FIRST: op of
 * its collective's first.
 */
void bind_graph_add_variant (BindGraph *self, const CollectiveCost *cost, guint first,
                             guint64 colour);

/* Costs of the collective whose variants were added last. */
void bind_graph_add_costs (BindGraph *self, const GraphUse *use, const CollectiveCost *costs,
                           double payload);

/* Nodes of the graph: ranks, then machines, resources and ops. */
static inline guint32
bind_graph_machine (const BindGraph *self, guint node)
{
  return self->n_ranks + node;
}

static inline guint32
bind_graph_resource (const BindGraph *self, guint resource)
{
  return self->n_ranks + self->n_nodes + resource;
}

static inline guint32
bind_graph_op (const BindGraph *self, guint op)
{
  return self->n_ranks + self->n_nodes + self->n_resources + op;
}
