/*
 * The policy of a system: where bytes live and which bytes move, said once.
 *
 * For each kind of unit (those that all ranks share; experts that are spread over ranks) a policy
 * names the ranks that share each state, the format of the shards, an optional second copy of the
 * parameters, and routes: short lists of hops, each a collective over a group or a move between the
 * GPU and the host's memory. Issues read it to emit; the closed form (expect-policy.c) reads
 * it to say what must come out. ZeRO-3's routes have one hop; MiCS reduces in two, of which the
 * second is due at the last micro-step only; a second copy in the node's pinned memory is FCDP.
 */
#pragma once

#include "schedule/schedule.h"

/* How tensors are cut into equal shards. */
typedef struct
{
  const char *name; /* "rows" */
  const char *title;
  const char *source;
  /* Elements of TENSORS with their padding for M ranks, a multiple of M. */
  guint64 (*padded) (const TensorDesc *tensors, guint n, guint m);
  /* The same as a closed form, which shares nothing with `padded`. */
  double (*formula) (const TensorDesc *tensors, guint n, guint m);
  /* Fills ELEMENTS with what each of the M ranks has; NULL: all have as many. */
  void (*owned) (const TensorDesc *tensors, guint n, guint m, guint64 *elements);
  /*
   * Elements of TENSORS whose shards are no stretch of the tensor: a copy into or out of a
   * collective's buffer passes over them once more. NULL: none.
   */
  guint64 (*strided) (const TensorDesc *tensors, guint n, guint m);
  /*
   * The one buffer of all TENSORS, with padding between them, of which shards are stretches: fills
   * STARTS, unless NULL, with where each begins, in an ORDER of the format's own (0: the system's).
   * Returns what `padded` does. NULL: there is no such buffer, every tensor is cut by itself.
   */
  guint64 (*layout) (const TensorDesc *tensors, guint n, guint m, guint order, guint64 *starts);
  gboolean heeds_blocks; /* no boundary cuts a TensorDesc.block; else it is not looked at */
} ShardFormat;

/*
 * Kernels read what was gathered where it is, and write gradients where they are reduced. Else
 * copies put them into order.
 */
static inline gboolean
shard_format_is_in_place (const ShardFormat *format)
{
  return format->layout != NULL;
}

typedef enum
{
  STATE_PARAMETERS,
  STATE_GRADIENTS, /* as the optimizer finds them */
  STATE_OPTIMIZER, /* with its own copy of the parameters, where it has one */
  STATE_N,
} PolicyStateKind;

/* Of each element of the parameters there are some values: optimizers keep several or none. */
typedef struct
{
  MeshGroup group;  /* ranks that share it; of one: whole on each */
  Dtype     dtype;  /* as it is kept, */
  guint     values; /* so many values an element */
  Place     home;
} PolicyState;

/* Bytes of STATE an element. */
static inline guint
policy_state_bytes (const PolicyState *state)
{
  return state->values > 0 ? state->values * dtype_bytes (state->dtype) : 0;
}

typedef enum
{
  CADENCE_MICRO_STEP, /* each */
  CADENCE_LAST,       /* the last one of a step */
  CADENCE_LATER,      /* each but the first */
} PolicyCadence;

typedef enum
{
  HOP_COLLECTIVE,
  HOP_MOVE,
} PolicyHopKind;

typedef struct
{
  PolicyHopKind  hop;
  CollectiveKind kind; /* of a collective */
  MeshGroup      group;
  const char    *name;      /* of its communicator: "shard" */
  Place          from, to;  /* of a move: the own shard's */
  Dtype          dtype;     /* of the elements that pass */
  const Codec   *codec;     /* as which they pass; NULL: as they are, */
  gboolean       narrow;    /* or those of weights that products take in fp8 so: a byte each */
  Transport      transport; /* of a collective; of the hosts: from and to their memory */
  PolicyCadence  cadence;
  const char    *label; /* of its op; NULL: the collective's kind, the move's ends */
} PolicyHop;

#define POLICY_MAX_HOPS   6
#define POLICY_MAX_PASSES 2
#define POLICY_MAX_HELD   2

typedef struct
{
  PolicyHop hops[POLICY_MAX_HOPS];
  guint     n;
} PolicyRoute;

typedef enum
{
  ROUTE_GATHER, /* from the shards to whole parameters */
  ROUTE_REDUCE, /* from whole gradients to shards */
  ROUTE_REST,   /* the same, of tensors that ROUTE_REDUCE does not take (TensorRule) */
  ROUTE_STORE,  /* from shards of reduced gradients to where the optimizer finds them */
  ROUTE_UPDATE, /* from the optimizer's shards to parameters that are whole on every rank */
  ROUTE_FILL,   /* of the second copy: from whole parameters */
  ROUTE_COPY,   /* from the second copy to whole parameters */
  ROUTE_KEEP,   /* of units whose second copy stays in GPU memory (kept_copies): ROUTE_FILL */
  ROUTE_KEPT,   /* and ROUTE_COPY */
  ROUTE_FROZEN, /* ROUTE_GATHER of units without trained parameters: their shards rest as its first
                   hop encodes them */
  ROUTE_LOAD,   /* of the optimizer's states: from their home to who updates */
  ROUTE_SAVE,   /* and back */
  ROUTE_RENEW,  /* from what an update made of the shards to where parameters live */
  ROUTE_N,
  ROUTE_EXCHANGE = ROUTE_N, /* between workers: no policy's, a sync's own */
} PolicyRouteKind;

/*
 * Which tensors a route takes: those of at least `dims` dimensions (0: all), whose number of
 * elements `divisor` divides.
 */
typedef struct
{
  guint   dims;
  guint64 divisor;
} TensorRule;

/* What of a second copy the optimizer's step makes invalid. */
typedef enum
{
  INVALIDATE_ALL,
  INVALIDATE_TRAINABLE, /* the parameters of units that are trained; a frozen one's copy stays */
} PolicyInvalidation;

typedef struct _Compressor Compressor; /* driver/policy/strategy.h */

/* Of one kind of unit. */
typedef struct
{
  const ShardFormat *format;
  gboolean           joined; /* all units of the kind are one buffer, cut into shards as one */
  PolicyState        states[STATE_N];
  /*
   * A second copy of the parameters that are cut, shared by a group of its own. A group of size 0:
   * there is none. When it is filled, and how long it is valid, is the issue's: from the first use
   * until the optimizer runs (of frozen parameters: as `invalidate` says), or from a forward use to
   * the next use.
   */
  PolicyState        copy;
  PolicyInvalidation invalidate;
  /*
   * Bytes of a copy that stay in a rank's GPU memory though its home is elsewhere: those of units
   * in the order of their first use, until one has no room.
   */
  guint64     kept_copies;
  PolicyRoute routes[ROUTE_N];
  /*
   * Where it has dimensions, each tensor is reduced on its own, padded by itself: by ROUTE_REDUCE
   * if the rule takes it, else by ROUTE_REST. Else what is complete is reduced as one.
   */
  TensorRule reduced;
  /*
   * A way of its own to reduce gradients, over the group and in the type of ROUTE_REDUCE's one
   * collective, in place of it; NULL: there is none. It leaves every rank all of the sum: where
   * gradients are sharded, each keeps its own part.
   */
  const Compressor *compressor;
  gconstpointer     compression; /* its options */
} UnitPolicy;

typedef struct
{
  guint      n_kinds;     /* 2 where experts are spread over ranks */
  UnitPolicy kinds[2];    /* by PlanUnit.expert */
  Dtype      compute;     /* of what kernels read, and of gradients as computed */
  guint64    whole_below; /* tensors of at most so many elements are whole on every rank */
  gboolean   stays;       /* what a forward use gathered stays until the unit's backward use */
  gboolean settles_last; /* the compute stream waits for reductions behind the last backward pass of
                            a step; else behind each */
  /*
   * The compute stream averages all whole gradients when the last backward pass of a step is over:
   * divided, copied together, reduced, copied back (fairscale).
   */
  gboolean flat_gradients;
  gboolean late_update; /* the optimizer's work on the host shows one step late, so that the GPU
                           trains on; else the next step waits for it */
  gboolean host_copies; /* pinned memory beyond the states, as DeepSpeed on PyTorch 2 has it */
  double   on_gpu; /* part of the optimizer, with its gradients, that stays in GPU memory where the
                      rest of it has another home */
  /*
   * Zeroth order: so many forward passes of a unit, each with perturbed parameters, inside one use,
   * and no backward pass; 0: forward and backward passes. So many ranks share a micro-batch, each
   * with passes of its own (0: one).
   */
  guint    passes, pass_ranks;
  guint    held_logits; /* so many times a pass's logits stay until the head's last pass is over */
  guint    accumulates; /* bytes of an element of the gradients to which the products that make
                           them add, at their end; 0: they write what they made */
  gboolean fuses_gradients; /* products write gradients of weights where these are kept: kernels of
                               their own cannot do anything to them first */
  gconstpointer issue;      /* the issue's own options */
} Policy;

/*
 * Appends a hop to ROUTE; of a group of one rank too: it moves nothing. The hop, for who gives it a
 * codec or a label.
 */
PolicyHop *policy_add_collective (PolicyRoute *route, CollectiveKind kind, const char *name,
                                  MeshGroup group, Dtype dtype, PolicyCadence cadence);
PolicyHop *policy_add_move (PolicyRoute *route, Place from, Place to, Dtype dtype,
                            PolicyCadence cadence);

/*
 * A second copy of what is cut of KIND's parameters, at HOME in DTYPE, with its routes: GROUP,
 * whose communicator is NAME, shares it.
 */
void policy_add_second_copy (UnitPolicy *kind, const char *name, MeshGroup group, Place home,
                             Dtype dtype);
/* Up to BYTES of it, which has a home elsewhere, stay in each rank's GPU memory. */
void policy_keep_copies (UnitPolicy *kind, const char *name, guint64 bytes);

/* Whether HOP takes place in a micro-step that is the FIRST or the LAST of its step, or neither. */
gboolean policy_hop_is_due (const PolicyHop *hop, gboolean first, gboolean last);

/* Whether RULE matches TENSOR. */
gboolean policy_rule_matches (const TensorRule *rule, const TensorDesc *tensor);

/* As what the shards of units without trained parameters rest; NULL: as those of the others. */
static inline const Codec *
policy_frozen_codec (const UnitPolicy *policy)
{
  return policy->routes[ROUTE_FROZEN].n > 0 ? policy->routes[ROUTE_FROZEN].hops[0].codec : NULL;
}

/* Whether ROUTE adds up what it carries. */
static inline gboolean
policy_route_reduces (PolicyRouteKind route)
{
  return route == ROUTE_REDUCE || route == ROUTE_REST || route == ROUTE_EXCHANGE;
}

/*
 * Whether HOP encodes, adds and decodes on its way: the hosts' ring does at each of its own hops.
 * What it takes and leaves is plain.
 */
gboolean policy_hop_codes_itself (const PolicyHop *hop);

/* Whether what HOP of a route brings is added up: an all-to-all of a reduction. */
gboolean policy_hop_adds_parts (PolicyRouteKind route, const PolicyHop *hop);

/* Whether a rank has a part of what it had before HOP: a reduce-scatter, or such an all-to-all. */
gboolean policy_hop_scatters (PolicyRouteKind route, const PolicyHop *hop);

/*
 * The first so many hops of a reduction leave each rank its shard; those behind them are over the
 * shard's replicas.
 */
guint policy_n_scatters (const PolicyRoute *reduce);

/* The first hop of ROUTE from FIRST on that is of KIND or has CADENCE; its end if there is none. */
guint policy_next (const PolicyRoute *route, guint first, PolicyHopKind kind);
guint policy_next_of (const PolicyRoute *route, guint first, PolicyCadence cadence);
