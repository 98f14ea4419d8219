#include "collective/nccl-private.h"

#include <math.h>

#define US 1e-6

/*
 * NVIDIA/nccl src/graph/tuning.cc, ring rows, column Simple; p2p_batch:
 * NCCL_MAX_DEV_WORK_P2P_PER_BATCH.
 */
static const NcclLatency latency_table[] = {
  { .version = "2.28",
    .base = 8.4 * US,
    .hop_nvlink = 3.4 * US,
    .hop_pcie = 5.7 * US,
    .hop_net = 14.0 * US,
    .post = 3.0 * US, /* 1 us, three times for Simple */
    .all_reduce_net_factor = 1.4,
    .all_reduce_net_factor_old = 1.9,
    .p2p_batch = 8 },
};

/*
 * Thread blocks on one node over NVLink. NVIDIA: the search of src/graph/search.cc worked by hand
 * (A100 6 x 40 GB/s, H100 6 x 60, B200 8 x 90, V100 6 x 20 GB/s; split at 25 GB/s and up, then
 * doubled), 24 confirmed by logs for A100 and H100. AMD: estimate.
 */
typedef struct
{
  const char *architecture;
  guint       capability; /* compute capability times ten; 0: not NVIDIA's */
  guint       ring;
  guint       links; /* NVLink links of a GPU */
} NcclArchitecture;

static const NcclArchitecture architecture_table[] = {
  { "volta", 70, 12, 6 }, { "turing", 75, 12, 2 },  { "ampere", 80, 24, 12 },
  { "ada", 89, 2, 0 },    { "hopper", 90, 24, 18 }, { "blackwell", 100, 32, 18 },
  { "cdna2", 0, 24, 8 },  { "cdna3", 0, 32, 7 },    { "cdna4", 0, 32, 7 },
};

static const NcclArchitecture architecture_other = { "", 80, 24, 12 };

#define PAIR_CHANNELS     8 /* two GPUs on a bridge of 4 links (nccl-tests issue 331) */
#define PCIE_P2P_CHANNELS 2
#define P2P_NET_RATE      14e9 /* B/s of network that one point-to-point channel is meant for */
#define SPLIT_RATE        25e9 /* rings at this rate and above run as two of half the rate ... */
#define SPLIT_RATE_MANY   50e9 /* ... from this rate where newer GPUs have more than 4 of them */
/*
 * The search knows a network link of 25 GB/s as one of 24, and a PCIe link of 31.5 GB/s likewise.
 */
#define NET_GRAPH_RATE  0.96
#define PCIE_GRAPH_RATE (24 / 31.5)

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

const NcclLatency *
nccl_latency (const char *version)
{
  for (guint i = 0; version != NULL && i < G_N_ELEMENTS (latency_table); i++)
    if (version_compare (version, latency_table[i].version) >= 0)
      return &latency_table[i];
  return version == NULL ? &latency_table[0] : &latency_table[G_N_ELEMENTS (latency_table) - 1];
}

static const NcclArchitecture *
architecture_find (const GpuProfile *gpu)
{
  for (guint i = 0; i < G_N_ELEMENTS (architecture_table); i++)
    if (g_strcmp0 (gpu->architecture, architecture_table[i].architecture) == 0)
      return &architecture_table[i];
  return &architecture_other;
}

static double
intra_hop (const NcclLatency *table, const NcclGraph *graph)
{
  double hop = graph->nvlink_only ? table->hop_nvlink : table->hop_pcie;

  if (graph->n_nodes > 1)
    hop = MAX (hop, table->post);
  return hop + graph->intra_latency;
}

static double
net_hop (const NcclLatency *table, const NcclGraph *graph)
{
  return table->hop_net + 2 * graph->net_latency;
}

double
nccl_ring_latency (const NcclLatency *table, const NcclGraph *graph, CollectiveKind kind,
                   const GpuProfile *gpu)
{
  double rounds = kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
  double steps = rounds * (graph->n_ranks - 1);
  double net_steps = rounds * (graph->n_nodes - 1);
  double latency = table->base + (steps - net_steps) * intra_hop (table, graph)
                   + net_steps * net_hop (table, graph);

  if (kind != COLLECTIVE_ALL_REDUCE || graph->n_nodes == 1)
    return latency;
  return latency
         * (architecture_find (gpu)->capability < 80 ? table->all_reduce_net_factor_old
                                                     : table->all_reduce_net_factor);
}

double
nccl_p2p_latency (const NcclLatency *table, const NcclGraph *graph, guint peers)
{
  guint batches = (peers + table->p2p_batch - 1) / table->p2p_batch;

  return table->base
         + batches * (graph->n_nodes > 1 ? net_hop (table, graph) : intra_hop (table, graph));
}

/*
 * RINGS over links of BANDWIDTH as the search packs them: fast ones split in two, then every ring
 * runs twice.
 */
static guint
packed_channels (const NcclArchitecture *architecture, guint rings, double rate)
{
  double split = architecture->capability > 80 && rings > 4 ? SPLIT_RATE_MANY : SPLIT_RATE;

  return 2 * rings * (rate >= split ? 2 : 1);
}

guint
nccl_ring_channels (const NcclGraph *graph, const GpuProfile *gpu, const LinkProfile *intra,
                    const LinkProfile *nic)
{
  const NcclArchitecture *architecture = architecture_find (gpu);

  if (graph->n_nodes > 1)
    {
      double rate = nic != NULL ? NET_GRAPH_RATE * nic->bandwidth.value : 0;

      return MIN (packed_channels (architecture, MAX (graph->n_cards, 1), rate),
                  MAX (architecture->ring, 16));
    }
  if (!graph->nvlink_only)
    return packed_channels (architecture, 1, PCIE_GRAPH_RATE * gpu->host_link.value);
  return intra->kind == LINK_PAIRS ? PAIR_CHANNELS : architecture->ring;
}

/* Thread blocks that one transfer is spread over. */
static guint
channels_per_peer (const NcclGraph *graph, const GpuProfile *gpu, const LinkProfile *intra,
                   const LinkProfile *nic)
{
  if (graph->n_nodes > 1)
    {
      double rate = nic != NULL ? nic->bandwidth.value * graph->n_cards : 0;

      return MAX (MAX ((guint) ceil (rate / P2P_NET_RATE), graph->n_cards), 1);
    }
  if (!graph->nvlink_only)
    return PCIE_P2P_CHANNELS;
  return intra->kind == LINK_PAIRS ? PAIR_CHANNELS : 2 * architecture_find (gpu)->links;
}

guint
nccl_p2p_channels (const NcclGraph *graph, const GpuProfile *gpu, const LinkProfile *intra,
                   const LinkProfile *nic, guint n_cards, guint peers)
{
  NcclGraph ring = *graph;
  guint     cap = 1;

  ring.n_cards = n_cards;
  while (cap < nccl_ring_channels (&ring, gpu, intra, nic))
    cap *= 2;
  return MIN ((guint64) channels_per_peer (graph, gpu, intra, nic) * peers, cap);
}
