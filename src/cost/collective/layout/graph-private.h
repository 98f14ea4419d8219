/*
 * What NCCL's search finds on a group's nodes: how many channels of which speed
 * (src/graph/search.cc, connect.cc, by closed form: the largest speed of its list at which the
 * links carry the channels). Of unlike nodes the worst holds for all, whatever their order.
 */
#pragma once

#include "cost/collective/layout/members-private.h"
#include "cost/collective/library/collective.h"

typedef struct
{
  const GpuProfile        *gpu;   /* the slowest to start a kernel */
  const LinkProfile       *intra; /* of the node whose links are slowest */
  const LinkProfile       *nic;   /* the slowest; NULL on one node */
  const LibraryProfile    *library;
  const char              *release;    /* of the library, as it was asked for; NULL: unknown */
  const TunerProfile      *tuner;      /* of the network's plug-in; NULL: the library chooses */
  const LibraryGeneration *generation; /* the oldest */
  guint                    n_ranks, n_nodes, per_node; /* members of the node with most */
  guint                    n_cards;                    /* that serve members, of a node */
  guint                    n_cycles;  /* of a link graph through the members of that node */
  double                   inside;    /* B/s that it finds for a GPU inside a node */
  HopClass                 hop;       /* inside a node */
  gboolean                 nvls;      /* a switch that multicasts */
  gboolean                 staged;    /* network traffic goes through host memory */
  gboolean                 hosts;     /* plain hosts: MPI's messages instead of NCCL's channels */
  gboolean                 ll128;     /* the protocol is on by default */
  LinkProtocols            protocols; /* that networks leave to the library's choice */
  guint                    searched;  /* channels of the search ... */
  double                   speed;     /* ... and B/s of each */
  double   raised;   /* times speed: inside nodes, where less than all of the traffic crosses */
  guint    channels; /* thread blocks that run: the search's channels twice */
  guint    channels_asked;    /* NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS; 0: neither */
  double   buffer;            /* bytes of a connection's under Simple */
  guint    net_peer_channels; /* NCCL_NCHANNELS_PER_NET_PEER; 0: by the library's rule */
  gboolean split_data;        /* NCCL_IB_SPLIT_DATA_ON_QPS */
  gboolean nvls_off;          /* NCCL_NVLS_ENABLE=0 */
  Dispatch dispatch;          /* of tokens; none: zeroed */
  gint     pxn_wish;          /* PxnWish */
  guint    pxn;               /* PxnUse, by bits: of messages between nodes */
  gboolean collnet;           /* NCCL_COLLNET_ENABLE: its channels are made */
  double   hops;              /* of the network, times as long as its profile says */
  gboolean timed_calls;       /* each call is timed by itself ... */
  double   issue;             /* ... s of host time of it, where it is */
} CollectiveGraph;

/* OPTIONS may be NULL. */
void collective_graph_init (CollectiveGraph *self, const Cluster *cluster, const Members *members,
                            const LibraryProfile *library, const CollectiveOptions *options);

/* Thread blocks that one send/receive pair is spread over at most, and that all pairs have. */
guint collective_graph_pair_channels (const CollectiveGraph *self);
guint collective_graph_all_pairs_channels (const CollectiveGraph *self);

/* ---- of which the library's model is made ---- */

guint collective_graph_case (const CollectiveGraph *self); /* of NODE_CASES */
/* B/s: the fastest channel of the search's list within LIMIT. */
double collective_graph_speed (const CollectiveGraph *self, double limit);
double collective_graph_ll_rate (const CollectiveGraph *self); /* B/s of LL, all channels */
/* s of ALGORITHM's hop between nodes. */
double collective_graph_net_hop (const CollectiveGraph *self, CollectiveAlgorithm algorithm,
                                 CollectiveProtocol protocol);
/* GPUs of a node through which the switch's and the network's reductions go: one a card. */
guint collective_graph_heads (const CollectiveGraph *self);
/* Algorithm bandwidth over bus bandwidth. */
double collective_graph_per_bus (const CollectiveGraph *self, CollectiveKind kind);
