/*
 * An algorithm of collectives: one const struct says where it exists, what the library believes of
 * it, how it is laid over links, what it takes, and its steps. The rest of the layer asks the
 * struct, and no algorithm by name. Plain hosts have structs of their own: MPI's messages instead
 * of NCCL's channels; so have kinds that an algorithm runs in another way.
 *
 * A new one is a file here and an entry of the list in src/vocabulary/meson.build.
 */
#pragma once

#include "cost/collective/layout/graph-private.h"
#include "cost/collective/layout/route-private.h"
#include "cost/collective/steps/step-build-private.h"
#include "cost/collective/time/time-messages-private.h"

/* What the edges of a layout count for, beside the sums of their loads. */
typedef enum
{
  EDGES_ARE_SUMS,
  EDGES_ARE_RINGS, /* RingHops */
  EDGES_ARE_STEPS, /* StepHop: all ranks make one after another */
} AlgorithmEdges;

#define CONNECTION_STEPS 8 /* NCCL_STEPS: parts of a connection's buffer */

#define KIND_BIT(kind)         (1u << (kind))
#define PROTOCOL_BIT(protocol) (1u << (protocol))
#define KINDS_OF_RINGS                                                     \
  (KIND_BIT (COLLECTIVE_ALL_GATHER) | KIND_BIT (COLLECTIVE_REDUCE_SCATTER) \
   | KIND_BIT (COLLECTIVE_ALL_REDUCE))
#define KINDS_OF_CHAINS (KIND_BIT (COLLECTIVE_BROADCAST) | KIND_BIT (COLLECTIVE_REDUCE))

struct _Algorithm
{
  CollectiveAlgorithm id;
  gboolean            hosts; /* between plain hosts; else between GPUs */
  guint               kinds; /* KIND_BITs */
  const Algorithm    *next;  /* the same algorithm for other kinds or hosts; NULL: none */

  /* ---- choice ---- */
  guint protocols; /* PROTOCOL_BITs; LL128 only where the graph has it */
  /* NULL: on all members. EVEN: as many on every node */
  gboolean (*exists) (const CollectiveGraph *graph, gboolean even);
  gboolean preferred;   /* to those that the list has before it */
  gboolean on_request;  /* never the library's own choice */
  gboolean multicasts;  /* by the switches inside nodes */
  gboolean in_switches; /* of the network: where the library may use them */
  /* bytes up to which the library takes it unasked; NULL: by its model */
  double (*most) (const CollectiveGraph *graph);
  /* the library's model (src/graph/tuning.cc): s, B/s of S; NULL: it has none */
  double (*believed_latency) (const CollectiveGraph *graph, CollectiveKind kind,
                              CollectiveProtocol protocol, double bytes);
  double (*believed_rate) (const CollectiveGraph *graph, CollectiveKind kind,
                           CollectiveProtocol protocol, double bytes);

  /* ---- layout ---- */
  void (*route) (const RoutingContext *context, const Members *members, CollectiveKind kind,
                 const guint32 *ranks);
  /* of trees: what lies between sites; NULL: they are rings, whose edges say so */
  void (*note_sites) (CollectiveLayout *plan, const Cluster *cluster, const Members *members);
  AlgorithmEdges edges;
  guint          slice_steps; /* of a connection's CONNECTION_STEPS that a message takes; 0: one */
  guint (*connections) (const CollectiveGraph *graph); /* of two cards; NULL: one a channel */

  /* ---- time (time-private.h); CAP: B/s of S that the channels let through, 0 no limit ---- */
  gboolean connects_rings;               /* a connection a ring at least: its weight in sharing */
  double   segment;                      /* hosts: bytes that a message is cut into; 0: whole */
  gboolean whole_rows;                   /* what it sends has no parts that begin anywhere */
  guint (*peers) (const Timed *self);    /* that a rank sends messages to; NULL: none */
  guint (*channels) (const Timed *self); /* thread blocks; NULL: one */
  double (*carried) (const Timed *self); /* bytes that a rank's channels carry, per byte of S;
                                              NULL: not by channels */
  double (*rate_cap) (const Timed *self, guint channels);
  gboolean capped_inside; /* rate_cap is one of the stages inside nodes */
  double (*latency) (const Timed *self, guint channels, double cap);
  double (*fill) (const Timed *self, guint channels, double cap);  /* NULL: none */
  void (*spread) (const Timed *self, CollectiveCost *cost);        /* NULL: none */
  double (*bound) (const Timed *self, guint channels, double cap); /* beyond the launch; NULL: the
                                                                      cost's time is the bound */

  /* ---- steps ---- */
  double (*stepped) (const Timed *self, guint channels, double cap); /* part of latency and fill
                                                                        that steps spend; NULL: 0 */
  StepParameters (*hops) (const Timed *self); /* NULL: their hops are a part of the launch */
  double (*chunk) (const Timed *self, guint channels);
  void (*build) (StepBuild *build);
};

/* The one of that id that runs KIND, whether or not it exists on a graph; NULL: none. */
const Algorithm *algorithm_find (gboolean hosts, CollectiveKind kind, CollectiveAlgorithm id);

/* The next one for KIND after BEFORE (NULL: the first), in the order of preference. */
const Algorithm *algorithm_next (gboolean hosts, CollectiveKind kind, const Algorithm *before);

gboolean algorithm_exists (const Algorithm *self, const CollectiveGraph *graph, gboolean even);
gboolean algorithm_has_protocol (const Algorithm *self, const CollectiveGraph *graph,
                                 CollectiveProtocol protocol);

/*
 * Queue pairs of two cards that send at once, those of a connection in turn or all with a piece of
 * each message (src/transport/net_ib.cc): a queue pair in turn needs a message in flight. At least
 * one; for a layout of SELF on GRAPH's members.
 */
guint algorithm_flows (const Algorithm *self, const CollectiveGraph *graph, guint hashed_qps);

/* The first of each, by its id: written by meson from the list in src/vocabulary/meson.build. */
extern const Algorithm *const algorithm_list[ALGORITHM_N];

/* Between plain hosts: MPI's messages over sockets (docs/collectives.md). */
#define BETWEEN_HOSTS                                                                       \
  .hosts = TRUE, .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE), .chunk = timed_message_chunk, \
  .rate_cap = timed_message_cap

/*
 * PAT: parts of N that a rank sends over DISTANCE, a power of two below N: its odd multiples below
 * N.
 */
guint pat_parts (guint distance, guint n);
