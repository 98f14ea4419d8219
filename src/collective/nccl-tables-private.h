/*
 * NCCL's own tuning tables, by version: what it believes an algorithm costs when it chooses among
 * them (src/graph/tuning.cc), how it sizes channels and chunks (src/include/device.h,
 * src/enqueue.cc), and what its search knows of links (src/graph/topo.h, search.cc).
 *
 * The choice uses these figures as they are. What an operation really takes is calibrated a link
 * family at a time (cluster/profile.h: LinkProfile) and starts from them where no measurement is.
 */
#pragma once

#include "collective/collective.h"

/* The kinds of hop that NCCL tells apart. */
typedef enum
{
  HOP_NVLINK,
  HOP_PCIE,
  HOP_NET,
  HOP_N,
} HopClass;

/* By number of nodes: one, two, more. */
#define NODE_CASES 3

/* Limits of one generation of GPUs, B/s. */
typedef struct
{
  double ll; /* of LL on one node, all channels */
  double ring_ll128[NODE_CASES], tree_ll128[NODE_CASES], tree_simple[NODE_CASES],
      nvls_tree[NODE_CASES]; /* a channel */
  double        nvls_efficiency;
  double        channel_rate; /* B/s that one thread block copies under Simple: plateaus of public
                                 send/receive and all-gather tables; 0: not known */
  double        link_factor;  /* what the search takes an NVLink to carry, of its wire rate */
  const double *intra_speeds,
      *inter_speeds; /* B/s a channel that the search tries, descending, ends with 0 */
  guint capability;  /* compute capability times ten, the lowest that has these */
  guint nvls_channels, nvls_channels_net; /* thread blocks that NVLS runs on: one node, several */
  guint node_channels;                    /* thread blocks of a ring on one node of 8 GPUs */
} NcclGeneration;

#define CORRECTION_SIZES 24 /* log2 (S / 64 bytes) */

typedef struct
{
  const char *version;                             /* the first that has these figures */
  double      base[ALGORITHM_N][PROTOCOL_N];       /* s */
  double      hop[HOP_N][ALGORITHM_N][PROTOCOL_N]; /* s */
  double post[PROTOCOL_N]; /* s: floor of a hop in a node while the network is used (Intel hosts) */
  double all_reduce_net_factor,
      all_reduce_net_factor_old; /* ring, Simple, several nodes; old: below capability 8.0 */
  double ll_net[NODE_CASES];     /* B/s of LL, all channels: the host's proxies */
  float  tree_correction[PROTOCOL_N][CORRECTION_SIZES];
  double thread_bytes[PROTOCOL_N]; /* bytes a channel is given at least: threads x bytes a thread */
  double chunk_tree, chunk_nvls, chunk_nvls_wide; /* bytes; wide: from 4 nodes */
  double chunk_p2p, chunk_p2p_net;                /* bytes; over NVLink, otherwise */
  double staged_channel;                          /* B/s that a channel moves through host memory */
  guint  p2p_batch;    /* point-to-point operations that one launch runs side by side */
  double p2p_part;     /* least bytes of a point-to-point channel, up to p2p_small channels */
  double p2p_ll;       /* bytes that a pair exchanges under LL at most */
  double p2p_part_big; /* the same beyond p2p_small channels */
  guint  p2p_small;
  double process_launch,
      process_peer; /* s of host time of one process that drives all: a GPU, and a GPU and peer of a
                       point-to-point operation */
  double                process_channel; /* s a channel by which its kernels start later */
  const NcclGeneration *generations;     /* newest first */
  guint                 n_generations;
} NcclTables;

/* The tables of VERSION or of the newest older one; NULL, "unknown" or not a number: the newest. */
const NcclTables *nccl_tables (const char *version);

/* Compute capability of a GPU's architecture, times ten; 0: AMD's. */
guint nccl_capability (const GpuProfile *gpu);

const NcclGeneration *nccl_generation (const NcclTables *tables, const GpuProfile *gpu);

/*
 * HBM bytes that each rank moves per byte of (n-1)/n S (send/receive: of S), under Simple without
 * registered buffers.
 */
double nccl_hbm_factor (CollectiveKind kind);
