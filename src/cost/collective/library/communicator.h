/*
 * The device memory of a communicator. Every connection of a channel has a buffer where data
 * arrives, for all three protocols: Simple 4 MiB (NCCL_BUFFSIZE; 8 MiB where a network's plug-in
 * sets that), LL128 120 x 640 x 8 x 8 = 4915200 B, LL 8 x 512 x 8 x 16 = 524288 B (NCCL,
 * src/init.cc, computeBuffSizes), together 10 MiB (14 MiB) in pages of 2 MiB, and 2 MiB for the
 * sender's counters (both sizes as allocated: NVIDIA/nccl#1685). A network's sender has a buffer
 * like the receiver's. A member of n has 1 connection of the ring and on average 2 (n - 1) / n of
 * the tree, each way. Measured: two GPUs of an NVLink node 544 MiB, four 688 MiB (NVIDIA/nccl#964),
 * here 576 and 720. Where the switch multicasts, NVLS has two buffers a head and channel on every
 * GPU, with their counters (src/transport/nvls.cc, ncclNvlsBufferSetup): 8 heads x 16 channels x 2
 * x (4 + 2 MiB) = 1.5 GiB a node of H100 until 2.20, x 1 MiB = 256 MiB since. Left out: CollNet's
 * buffers, and what connections to further peers take over the network.
 */
#pragma once

#include "cost/collective/library/collective.h"

/* What runs on a communicator. */
enum
{
  COMMUNICATOR_COLLECTIVES = 1 << 0, /* rings and trees */
  COMMUNICATOR_MESSAGES = 1 << 1,    /* send and receive with one neighbour */
  COMMUNICATOR_ALL_TO_ALL = 1 << 2,  /* with everyone of the node */
};

/* USES is a set of the above; ALL_REDUCED: bytes of its largest all-reduce, 0 where it has none. */
typedef struct
{
  guint  uses;
  double all_reduced;
} CommunicatorUse;

/* Bytes on each of RANKS, on average. 0 for one rank, which needs none. OPTIONS may be NULL. */
guint64 communicator_bytes (const Cluster *cluster, const guint32 *ranks, guint n_ranks,
                            CommunicatorUse use, const CollectiveOptions *options);
