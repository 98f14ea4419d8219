/*
 * What a collective costs on a cluster: service demands on every link that it crosses, a latency,
 * the SMs that it holds, for the algorithm and protocol that NCCL would run at that size.
 *
 * Sizes follow nccl-tests: S is the buffer of all-reduce, broadcast and reduce; the total received
 * by all-gather (n x contribution); the total input of reduce-scatter (n x result); the whole per-
 * rank send buffer of all-to-all; one message of send/receive.
 */
#pragma once

#include "base/stop.h"
#include "hardware/cluster/cluster.h"
#include "vocabulary/codec.h"
#include "vocabulary/collective-algorithm.h"
#include "vocabulary/collective-kind.h"
#include "vocabulary/dispatch.h"
#include "vocabulary/transport.h"

typedef struct _LayoutStore LayoutStore; /* layout-store.h */

typedef enum
{
  NVLS_AUTO, /* where switches multicast */
  NVLS_OFF,
  NVLS_ON, /* the same, and it is an error where they do not */
} NvlsUse;

/* Whether messages between nodes leave by the card of the receiver's rail (NCCL's PXN). */
typedef enum
{
  PXN_AUTO, /* where the library's release does so, and the network's settings let it */
  PXN_OFF,
  PXN_ON, /* wherever GPUs are joined by NVLink or its like */
} PxnWish;

/* Bytes of a connection's buffer that may be asked for. */
#define COLLECTIVE_LEAST_BUFFER (1 << 16)
#define COLLECTIVE_MOST_BUFFER  1e9

/* Channels that the library makes at most. */
#define COLLECTIVE_MAX_CHANNELS 64

/* Whose order a ring of the hosts visits its members in. */
typedef enum
{
  RING_WISH_AUTO,  /* the communicator's own */
  RING_WISH_RANKS, /* RING_ORDER_RANKS + 1 */
  RING_WISH_BEST,
} RingWish;

/* How the library runs. Zeroed is not a default: take collective_default_options. */
typedef struct
{
  CollectiveAlgorithm algorithm; /* ALGORITHM_N: the library's own choice */
  CollectiveProtocol  protocol;  /* PROTOCOL_N: the library's own choice */
  const char         *library;   /* NCCL's version, "2.28.9"; NULL or "unknown": the newest whose
                                    tables are known. Not copied */
  gboolean single_process; /* one process drives a node's GPUs: launches come one after another */
  gboolean sharp;          /* the network's switches reduce, and the library may use them */
  gboolean
        collnet_refused; /* it was asked to, but they do not: it prepares channels as if they did */
  gint  nvls;            /* NvlsUse */
  gint  pxn;             /* PxnWish */
  guint channels;        /* thread blocks of a ring or tree; 0: by the library's search */
  double buffsize;       /* bytes of a connection's buffer under Simple; 0: as the network's
                                plug-in or the library has it */
  guint  net_peer_channels;  /* of a send/receive pair over the network; 0: by the library's rule */
  gboolean  library_chooses; /* whatever the network's plug-in says */
  gboolean  split_data;      /* each message is cut over a connection's queue pairs;
                              else they take messages in turn */
  gboolean  timed_calls; /* each call is timed by itself from the host, which issues it meanwhile */
  Dispatch  dispatch;    /* of an all-to-all of tokens; S of it is what a rank sends to all, a token
                           once to each rank that has an expert of it */
  Transport transport;  /* of the hosts: one ring over their memories, whatever else is asked for */
  RingOrder ring_order; /* of the hosts' ring, as its communicator asks for */
  gint      ring_wish;  /* RingWish: the user's, that goes before */
  const Codec *codec;   /* of the hosts' ring: what they encode at every hop; NULL: nothing */
  LayoutStore *layouts; /* that other plans left; NULL: none. Outlives the plan */
  Stop *stop; /* once it is due, costs of the plan say nothing; NULL: never. Outlives the plan */
} CollectiveOptions;

extern const CollectiveOptions collective_default_options;

/* The order in which a ring of the hosts visits its members. */
RingOrder collective_ring_order (const CollectiveOptions *options);

/* What a refusal is about: the option of collective_options, and what to do instead. */
typedef struct
{
  const char *key, *hint;
} RefusedWish;

/*
 * NULL, or why the library cannot run on CLUSTER (NULL: any) as SELF says, such as contradictory
 * wishes. Newly allocated; *WISH (may be NULL) is set with it.
 */
char *collective_options_refusal (const CollectiveOptions *self, const Cluster *cluster,
                                  RefusedWish *wish);

/* Load of the whole operation on one resource, per byte of S. */
typedef struct
{
  guint32 resource;
  double  payload; /* bytes that cross it */
  double  service; /* payload over the resource's efficiency; SM, HBM: the algorithm's traffic */
} CollectiveLoad;

/*
 * One operation of a plan at one size. Alone it takes latency + max (bytes / rate_cap, max over
 * loads of bytes x service x service_scale / capacity).
 */
typedef struct
{
  CollectiveAlgorithm algorithm;
  CollectiveProtocol  protocol;
  guint  channels; /* thread blocks held on every rank while it runs: the SM reservation */
  double weight;   /* connections that a rank sends over when sharing: one a channel, at least one a
                      ring */
  double latency;  /* s that no bandwidth buys: launch, hops, pipeline fill */
  double rate_cap; /* B/s of S that the protocol's channels can carry at most; 0 = no such limit */
  double service_scale;        /* of all loads: bytes that the protocol sends per byte of payload */
  const CollectiveLoad *loads; /* one entry a resource, sorted by resource; owned by the plan, one
                                  array an algorithm */
  guint                 n_loads;
  gboolean
         unaligned; /* parts begin between multiples of 16 bytes, which the links take longer for */
  double time;      /* s, alone */
  guint32 binding;  /* the resource that bounds it; G_MAXUINT32: the longer of latency and cap */
} CollectiveCost;

typedef struct _CollectivePlan CollectivePlan;

/*
 * Plans KIND over RANKS (GPU indices in group order; at least one; no duplicates). OPTIONS may be
 * NULL. One rank costs nothing: no loads, no latency. Where an algorithm or protocol that is asked
 * for does not exist for KIND on these ranks, the library's choice among what exists is taken;
 * the cost says which it was. Not shared between threads. Never fails.
 */
CollectivePlan *collective_plan_new (const Cluster *cluster, CollectiveKind kind,
                                     const guint32 *ranks, guint n_ranks,
                                     const CollectiveOptions *options);

/*
 * Plans one message from FROM to TO, another rank: what send/receive of the two is without the way
 * back. Channels and protocol are the same, its time alone no longer. Not for steps.
 */
CollectivePlan *collective_plan_new_message (const Cluster *cluster, guint32 from, guint32 to,
                                             const CollectiveOptions *options);
void            collective_plan_free (CollectivePlan *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CollectivePlan, collective_plan_free)

guint collective_plan_n_ranks (const CollectivePlan *self);
guint collective_plan_n_nodes (const CollectivePlan *self);

/*
 * Bytes that each rank's channels carry, per byte of S: what the weight of an operation stands for,
 * so that its share on a link is that of its flows there (share = weight / payload).
 */
double collective_plan_payload (const CollectivePlan *self);

/* What BYTES (S) cost. COST's loads live as long as the plan. */
void collective_plan_cost (CollectivePlan *self, double bytes, CollectiveCost *cost);

/*
 * What bounds COST, which is of BYTES alone on CLUSTER: a resource, "channels" (at their own rate)
 * or "latency". Newly allocated.
 */
char *collective_cost_binding (const CollectiveCost *cost, const Cluster *cluster, double bytes);

/*
 * NULL, or why the algorithm or the protocol that ASKED forces is not what runs: NCCL stops there
 * with "no algorithm/protocol available". Newly allocated; *HINT (may be NULL) is set with it: to
 * what would run.
 */
char *collective_choice_refusal (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks,
                                 guint n_ranks, const CollectiveOptions *asked, char **hint);

/*
 * NULL, or why no collective over all GPUs of CLUSTER, those of its first node or the first of each
 * node runs what SELF forces. Newly allocated; *WISH is set with it.
 */
char *collective_forced_refusal (const CollectiveOptions *self, const Cluster *cluster,
                                 RefusedWish *wish);

/*
 * Closed-form time without contention, s: the `analytic` fidelity. No more than `time` of the cost,
 * nor than a run step by step: equal where links are not shared within the operation.
 */
double collective_plan_time (CollectivePlan *self, double bytes);

/*
 * Bytes that one rank sends over links in total, per byte of S (ring all-gather: (n-1)/n; all-
 * reduce: 2(n-1)/n). Also nccl-tests' ratio of bus bandwidth to algorithm bandwidth S / t, but for
 * broadcast and reduce, where that ratio is 1.
 */
double collective_wire_factor (CollectiveKind kind, guint n_ranks);

/* Bus bandwidth over algorithm bandwidth (nccl-tests doc/PERFORMANCE.md). */
double collective_bus_factor (CollectiveKind kind, guint n_ranks);

/*
 * What stands in for the figure KEY ("hop_ll", "ll_rate", ...) of LINK where its profile has none
 * (0), between GPUs like GPU: NCCL's newest tables. 0 where they say nothing.
 */
double collective_default_figure (const LibraryProfile *library, const LinkProfile *link,
                                  const GpuProfile *gpu, const char *key);
