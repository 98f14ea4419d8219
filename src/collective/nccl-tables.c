#include "collective/nccl-tables-private.h"

#define US 1e-6
#define G  1e9

/* ---- speeds that the search tries (src/graph/search.cc), B/s a channel ----------------------- */

static const double intra_old[] = { 40 * G, 30 * G, 20 * G, 18 * G, 15 * G, 12 * G, 10 * G,
                                    9 * G,  7 * G,  6 * G,  5 * G,  4 * G,  3 * G,  0 };
static const double intra_90[] = { 60 * G, 50 * G, 40 * G, 30 * G, 24 * G, 20 * G,
                                   15 * G, 12 * G, 11 * G, 6 * G,  3 * G,  0 };
static const double intra_100[] = { 90 * G, 80 * G, 70 * G, 60 * G, 50 * G, 45 * G, 40 * G,
                                    30 * G, 24 * G, 20 * G, 19 * G, 18 * G, 0 };
static const double inter_old[] = { 48 * G, 30 * G,  28 * G,  24 * G,  20 * G,  18 * G, 15 * G,
                                    12 * G, 10 * G,  9 * G,   7 * G,   6 * G,   5 * G,  4 * G,
                                    3 * G,  2.4 * G, 1.2 * G, .24 * G, .12 * G, 0 };
static const double inter_90[] = { 48 * G, 45 * G,  42 * G,   40 * G,  30 * G,  24 * G,
                                   22 * G, 20 * G,  17.5 * G, 15 * G,  12 * G,  6 * G,
                                   3 * G,  2.4 * G, 1.2 * G,  .24 * G, .12 * G, 0 };
static const double inter_100[] = { 96 * G, 86 * G, 80 * G,  48 * G,  45.1 * G, 42 * G,  40 * G,
                                    30 * G, 24 * G, 22 * G,  20 * G,  17.5 * G, 15 * G,  12 * G,
                                    6 * G,  3 * G,  2.4 * G, 1.2 * G, .24 * G,  .12 * G, 0 };

/* ---- generations (src/graph/tuning.cc, topo.h) ----------------------------------------------- */

static const NcclGeneration generations[] = {
  { .capability = 100,
    .ll = 282 * G,
    .ring_ll128 = { 40 * G, 40 * G, 40 * G },
    .tree_ll128 = { 55.6 * G, 31.67 * G, 20 * G },
    .tree_simple = { 70 * G, 42.8 * G, 24 * G },
    .nvls_tree = { 0, 96 * G, 80 * G },
    .nvls_efficiency = .74,
    .nvls_channels = 24,
    .nvls_channels_net = 32,
    .node_channels = 32,
    .channel_rate = 21 * G,
    .link_factor = 40.1 / 50,
    .intra_speeds = intra_100,
    .inter_speeds = inter_100 },
  { .capability = 90,
    .ll = 141 * G,
    .ring_ll128 = { 36.7 * G, 36.7 * G, 36.7 * G },
    .tree_ll128 = { 36.7 * G, 36.7 * G, 29 * G },
    .tree_simple = { 38.7 * G, 41.4 * G, 36 * G },
    .nvls_tree = { 0, 57.7 * G, 45.5 * G },
    .nvls_efficiency = .85,
    .nvls_channels = 16,
    .nvls_channels_net = 16,
    .node_channels = 24,
    .channel_rate = 21 * G,
    .link_factor = 20.6 / 25,
    .intra_speeds = intra_90,
    .inter_speeds = inter_90 },
  { .capability = 80,
    .ll = 87.7 * G,
    .ring_ll128 = { 20 * G, 20 * G, 20 * G },
    .tree_ll128 = { 20 * G, 20 * G, 20 * G },
    .tree_simple = { 24 * G, 23.6 * G, 17.8 * G },
    .node_channels = 24,
    .channel_rate = 14 * G,
    .link_factor = 20.0 / 25,
    .intra_speeds = intra_old,
    .inter_speeds = inter_old },
  /*
   * AMD's libraries share the tables of the first generation; their links count 3/4 (RCCL's topo.h:
   * 48 of 64)
   */
  { .capability = 0,
    .ll = 39 * G,
    .ring_ll128 = { 20 * G, 20 * G, 20 * G },
    .tree_ll128 = { 20 * G, 20 * G, 20 * G },
    .tree_simple = { 26.5 * G, 18.5 * G, 10 * G },
    .node_channels = 12,
    .link_factor = 20.0 / 25,
    .intra_speeds = intra_old,
    .inter_speeds = inter_old },
};

/* ---- versions -------------------------------------------------------------------------------- */

#define SAME(x)   \
  {               \
    (x), (x), (x) \
  }

static const NcclTables tables_list[] = {
  { .version = "2.28",
    .base = { [ALGORITHM_RING] = { 6.6 * US, 14 * US, 8.4 * US },
              [ALGORITHM_TREE] = { 6.8 * US, 14 * US, 8.4 * US },
              [ALGORITHM_ALL_PAIRS] = { 6.6 * US, 14 * US, 8.4 * US },
              [ALGORITHM_PAIRWISE] = SAME (5 * US), /* send/receive of some bytes: 9.5 to 10 us */
              [ALGORITHM_HIERARCHICAL] = { 6.6 * US, 14 * US, 8.4 * US },
              [ALGORITHM_PAT] = SAME (8 * US) },
    .hop = {
      [HOP_NVLINK] = { [ALGORITHM_RING] = { .6 * US, 1.9 * US, 3.4 * US },
                       [ALGORITHM_TREE] = { .6 * US, 1.25 * US, 4 * US },
                       [ALGORITHM_COLLNET_DIRECT] = SAME (3.7 * US),
                       [ALGORITHM_COLLNET_CHAIN] = SAME (2.8 * US),
                       [ALGORITHM_NVLS] = SAME (25 * US),
                       [ALGORITHM_NVLS_TREE] = SAME (25 * US),
                       [ALGORITHM_PAT] = SAME (4 * US) },
      [HOP_PCIE] = { [ALGORITHM_RING] = { 1 * US, 2.5 * US, 5.7 * US },
                     [ALGORITHM_TREE] = { 1 * US, 1.9 * US, 4 * US },
                     [ALGORITHM_COLLNET_DIRECT] = SAME (3.7 * US),
                     [ALGORITHM_COLLNET_CHAIN] = SAME (2.8 * US),
                     [ALGORITHM_PAT] = SAME (4 * US) },
      [HOP_NET] = { [ALGORITHM_RING] = { 2.7 * US, 4 * US, 14 * US },
                    [ALGORITHM_TREE] = { 5 * US, 8.5 * US, 14 * US },
                    [ALGORITHM_COLLNET_DIRECT] = SAME (31 * US),
                    [ALGORITHM_COLLNET_CHAIN] = SAME (30 * US),
                    [ALGORITHM_NVLS] = SAME (18 * US),
                    [ALGORITHM_NVLS_TREE] = SAME (20.9 * US),
                    [ALGORITHM_PAT] = SAME (14 * US) },
    },
    .post = { 1 * US, 1 * US, 3 * US },
    .all_reduce_net_factor = 1.4,
    .all_reduce_net_factor_old = 1.9,
    .ll_net = { 0, 22.5 * G, 19 * G }, /* AMD or mixed hosts; Intel's 39 and 20.4 */
    .tree_correction = {
      [PROTOCOL_LL] = { 1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4,
                        .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1 },
      [PROTOCOL_LL128] = { 1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6,
                           .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1 },
      [PROTOCOL_SIMPLE] = { .9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
                            .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9 },
    },
    .thread_bytes = { 512 * 8, 640 * 8, 512 * 64 },
    .chunk_tree = 512 << 10,
    .chunk_nvls = 128 << 10,
    .chunk_nvls_wide = 64 << 10,
    .chunk_p2p = 512 << 10,
    .chunk_p2p_net = 128 << 10,
    .staged_channel = 2 * G, /* estimate: a proxy's copies, sockets; 1.5-2.5 GB/s in public
                                reports */
    .p2p_batch = 8, /* NCCL_MAX_DEV_WORK_P2P_PER_BATCH */
    .p2p_part = 256 << 10, /* 1 channel to 512 KiB, 4 to 64 MiB, then one a 16 MiB: two public
                              send/receive tables (A100, B200) */
    .p2p_ll = 16 << 10, /* NCCL_P2P_LL_THRESHOLD */
    .p2p_part_big = 16 << 20,
    .p2p_small = 4,
    .process_launch = 4.1 * US, /* 2, 4, 8 A100 of one process: 8.6, 16, 31-35 us for a few bytes */
    .process_peer = 1 * US,     /* the same, all-to-all: 87 us */
    .process_channel = 1.5 * US, /* the same, 8 KiB to 1 MiB, where channels are added with size */
    .generations = generations,
    .n_generations = G_N_ELEMENTS (generations) },
};

static int
version_compare (const char *a, const char *b)
{
  for (;;)
    {
      char   *end_a, *end_b;
      guint64 x = g_ascii_strtoull (a, &end_a, 10), y = g_ascii_strtoull (b, &end_b, 10);

      if (x != y)
        return x < y ? -1 : 1;
      if (*end_a != '.' || *end_b != '.')
        return 0;
      a = end_a + 1;
      b = end_b + 1;
    }
}

const NcclTables *
nccl_tables (const char *version)
{
  if (version == NULL || !g_ascii_isdigit (version[0]))
    return &tables_list[0];
  for (guint i = 0; i < G_N_ELEMENTS (tables_list); i++)
    if (version_compare (version, tables_list[i].version) >= 0)
      return &tables_list[i];
  return &tables_list[G_N_ELEMENTS (tables_list) - 1];
}

guint
nccl_capability (const GpuProfile *gpu)
{
  static const struct
  {
    const char *architecture;
    guint       capability;
  } capabilities[] = {
    { "volta", 70 },      { "turing", 75 }, { "ampere", 80 }, { "ada", 89 },  { "hopper", 90 },
    { "blackwell", 100 }, { "cdna2", 0 },   { "cdna3", 0 },   { "cdna4", 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (capabilities); i++)
    if (g_strcmp0 (gpu->architecture, capabilities[i].architecture) == 0)
      return capabilities[i].capability;
  return 80;
}

const NcclGeneration *
nccl_generation (const NcclTables *tables, const GpuProfile *gpu)
{
  guint capability = nccl_capability (gpu);

  for (guint i = 0; i < tables->n_generations; i++)
    if (capability >= tables->generations[i].capability)
      return &tables->generations[i];
  g_assert_not_reached ();
}

/*
 * [memory, estimate]: write what arrives and read it to forward; a reduction reads the local part
 * as well.
 */
double
nccl_hbm_factor (CollectiveKind kind)
{
  static const double factors[COLLECTIVE_N_KINDS] = {
    [COLLECTIVE_ALL_GATHER] = 2.0, [COLLECTIVE_REDUCE_SCATTER] = 2.5, [COLLECTIVE_ALL_REDUCE] = 4.5,
    [COLLECTIVE_BROADCAST] = 2.0,  [COLLECTIVE_REDUCE] = 2.5,         [COLLECTIVE_ALL_TO_ALL] = 2.0,
    [COLLECTIVE_SEND_RECV] = 2.0,
  };

  return factors[kind];
}
