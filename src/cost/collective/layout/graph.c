#include "cost/collective/layout/graph-private.h"

#include "cost/collective/library/factors-private.h"

#include <math.h>
#include <string.h>

#define MAX_SEARCHED 32
#define SPLIT_RATE   25e9 /* channels at this rate and above run as two of half the rate ... */
#define SPLIT_FEW    4    /* ... where there are no more of them */
#define P2P_MAX      32
#define FEW_CHANNELS 16 /* fewer of them, if fast, are doubled between nodes */

/*
 * B/s that the search gives one GPU inside the node: into the switch, or over all links to its
 * peers.
 */
static double
intra_rate (const CollectiveGraph *self)
{
  const LinkProfile *intra = self->intra;
  double             factor = self->generation->link_factor;
  double             rate = intra->bandwidth.value;

  switch (intra->kind)
    {
    case LINK_SWITCH:
      if (self->gpu->nvlink_limit.value > 0)
        rate = MIN (rate, self->gpu->nvlink_limit.value);
      return rate * factor;
    case LINK_MESH:
      return rate * factor * (self->per_node - 1);
    case LINK_GRAPH:
      return self->n_cycles > 0 ? rate * factor * self->n_cycles
                                : self->gpu->host_link.value * SEARCHED_OF_PCIE;
    case LINK_PAIRS:
      return self->per_node <= 2 ? rate * factor : self->gpu->host_link.value * SEARCHED_OF_PCIE;
    default:
      return self->gpu->host_link.value * SEARCHED_OF_PCIE;
    }
}

static double
first_speed (const double *speeds, double limit)
{
  while (speeds[1] > 0 && *speeds > limit * (1 + 1e-9))
    speeds++;
  return *speeds;
}

/* One node: the fastest channels that take the links up, to what a slower speed would. */
static void
search_node (CollectiveGraph *self)
{
  double        rate = self->inside, best = 0;
  const double *speed = self->generation->intra_speeds;

  if (self->hop == HOP_PCIE)
    {
      self->searched = 1;
      self->speed = first_speed (speed, rate);
      return;
    }
  for (; *speed > 0; speed++)
    {
      guint n = MIN ((guint) (rate / *speed * (1 + 1e-9)), MAX_SEARCHED);

      if (n * *speed > best * 1.05)
        {
          best = n * *speed;
          self->searched = n;
          self->speed = *speed;
        }
    }
  if (best == 0)
    {
      self->searched = 1;
      self->speed = rate;
    }
}

/* Several nodes: one channel a card; several cards of one GPU are one of their sum. */
static void
search_network (CollectiveGraph *self)
{
  guint  n = MAX (MIN (self->n_cards, self->per_node), 1);
  double card = self->nic->bandwidth.value * SEARCHED_OF_CARD * self->n_cards / n;

  if (self->per_node > 1)
    card = MIN (card, self->inside / n);
  self->searched = n;
  self->speed = MIN (first_speed (self->generation->inter_speeds, card), card);
}

/*
 * Of two nodes only half of a tree's traffic crosses, and of switches that reduce as little, so the
 * search goes on to faster channels inside nodes, to twice those between them as far as links carry
 * it; not for rings (src/graph/search.cc, the second pass of ncclTopoCompute).
 */
static double
raise_trees (const CollectiveGraph *self)
{
  const double *speeds = self->generation->inter_speeds;
  double        best = self->speed;
  guint         n = 0;

  while (speeds[n] > 0)
    n++;
  while (n-- > 0 && best < 2 * self->speed && self->searched * speeds[n] <= self->inside)
    best = MAX (best, speeds[n]);
  return best / self->speed;
}

static void
split_and_double (CollectiveGraph *self)
{
  double from = self->searched > SPLIT_FEW ? self->generation->split_many : SPLIT_RATE;

  if (self->speed >= from)
    {
      self->searched *= 2;
      self->speed /= 2;
    }
  self->channels = MIN (2 * self->searched, COLLECTIVE_MAX_CHANNELS);
}

/*
 * Between nodes more thread blocks than two a channel of the search (src/graph/connect.cc,
 * ncclTopoPostset): half as many again where CollNet was asked for and the links of a node are
 * faster than its cards; twice where few channels are fast. What was asked for by number stands.
 */
static void
add_channels (CollectiveGraph *self)
{
  const double cards = self->searched * self->speed;
  const double fast = self->generation->double_from;

  if (self->n_nodes > 1 && self->collnet && self->per_node > 1 && self->inside > cards)
    self->channels += self->channels / 2;
  if (self->n_nodes > 1 && fast > 0 && self->speed > fast && self->channels < FEW_CHANNELS)
    self->channels *= 2;
  self->channels = MIN (self->channels, COLLECTIVE_MAX_CHANNELS);
  if (self->channels_asked > 0)
    self->channels = self->channels_asked;
}

static guint
count_cards (const Cluster *cluster, const Members *members, guint slot)
{
  const MemberNode *node = &members->nodes[slot];
  const Proximity  *near = cluster_proximity (cluster, node->node);
  guint             n = 0, first = cluster_first_gpu (cluster, node->node);

  for (guint card = 0; near != NULL && card < near->n_cards; card++)
    for (guint i = 0; i < node->n; i++)
      if (near->serves[(members->gpus[node->first + i] - first) * near->n_cards + card])
        {
          n++;
          break;
        }
  return n;
}

/* Cards of the node that has fewest in use. */
static guint
fewest_cards (const Cluster *cluster, const Members *members)
{
  guint fewest = G_MAXUINT;

  for (guint slot = 0; slot < members->n_nodes; slot++)
    {
      fewest = MIN (fewest, count_cards (cluster, members, slot));
      if (cluster_is_uniform (cluster) && members_are_even (members))
        break;
    }
  return MAX (fewest, 1);
}

static gboolean
is_nvlink (const CollectiveGraph *self)
{
  LinkKind kind = self->intra->kind;

  return kind == LINK_SWITCH || kind == LINK_MESH || (kind == LINK_PAIRS && self->per_node <= 2)
         || (kind == LINK_GRAPH && self->n_cycles > 0);
}

/* Rings over the links of a graph that take the members of NODE. */
static guint
count_cycles (const LinkProfile *intra, const Cluster *cluster, const Members *members,
              const MemberNode *node)
{
  guint  first = cluster_first_gpu (cluster, node->node), locals[LINK_GRAPH_MAX];
  guint8 cycles[LINK_GRAPH_MAX_CYCLES][LINK_GRAPH_MAX];

  if (intra->kind != LINK_GRAPH)
    return 0;
  for (guint i = 0; i < node->n; i++)
    locals[i] = members->gpus[node->first + i] - first;
  return link_graph_cycles (&intra->graph, locals, node->n, cycles);
}

/*
 * Whether no member's nearest card reads its memory: what leaves the node goes by members that have
 * one that does.
 */
static gboolean
is_staged (const Cluster *cluster, const Members *members, const MemberNode *node)
{
  for (guint i = 0; i < node->n; i++)
    {
      guint gpu = members->gpus[node->first + i];

      if (cluster_gpu_card_is_direct (cluster, gpu, cluster_nearest_card (cluster, gpu)))
        return FALSE;
    }
  return TRUE;
}

/*
 * The longest way from a GPU to its card. Of clusters by parts nothing says it; an estimate from
 * the boards that are known: those with an NVSwitch have PCIe switches for their cards (PXB);
 * of those joined all to all some have (mn5-acc, hgx-a100-4, leonardo-booster, mi300x-8) and some
 * have not (perlmutter), so no more is trusted than that NVLink leads to a GPU near the card (PXN).
 */
static PathClass
path_to_card (const CollectiveGraph *self, const Cluster *cluster, const Members *members,
              const MemberNode *node)
{
  PathClass longest = PATH_LOCAL;

  if (cluster_node_is_unplaced (cluster, node->node))
    return self->gpu->c2c ? PATH_C2C : self->intra->kind == LINK_MESH ? PATH_PXN : PATH_PXB;
  for (guint i = 0; i < node->n; i++)
    {
      guint gpu = members->gpus[node->first + i];

      longest =
          MAX (longest, cluster_gpu_card_path (cluster, gpu, cluster_nearest_card (cluster, gpu)));
    }
  return longest;
}

/*
 * Whether LL128 may go between nodes: NCCL trusts the order of 128-byte stores where the graph's
 * longest way to a card (typeInter) is at most PXB, and from compute capability 9.0 on PXN
 * (src/graph/tuning.cc, isLL128Enabled). The way over the CPU of a GPU's module (P2C) comes before
 * PXN; releases that do not know it find one through a root complex (PHB).
 */
static gboolean
is_near (const CollectiveGraph *self, const Cluster *cluster, const Members *members,
         const MemberNode *node)
{
  const PathClass farthest = self->generation->ll128_over_pxn ? PATH_PXN : PATH_PXB;
  const PathClass path = path_to_card (self, cluster, members, node);

  return path == PATH_C2C ? self->library->pxn_over_c2c : path <= farthest;
}

/*
 * How messages of a node leave it. NCCL does so from 2.12 on; AMD's library in large communicators
 * alone, since an XGMI mesh gains less by it (pxn_from of the library's profile).
 */
static guint
pxn_use (const CollectiveGraph *self)
{
  const LibraryGeneration *generation = self->generation;
  const gboolean           usual = generation->pxn_from > 0 && self->nic != NULL
                         && self->n_ranks >= generation->pxn_from && self->nic->pxn != LINK_PXN_OFF;

  if (self->nic == NULL || self->hosts || self->pxn_wish == PXN_OFF
      || (self->pxn_wish == PXN_AUTO && !usual))
    return 0;
  return PXN_USED | (self->library->pxn_over_c2c ? PXN_OVER_C2C : 0)
         | (generation->ll128_over_pxn ? PXN_OF_MESHES : 0);
}

/*
 * The cards whose plug-in's settings hold on NODE. They are variables of the process, so they hold
 * for communicators inside the node too; NULL: the job has no network.
 */
static const LinkProfile *
find_plugged (const CollectiveGraph *self, const Cluster *cluster, const MemberNode *node)
{
  return cluster_n_nodes (cluster) > 1
             ? cluster_nic_profile_under (cluster, node->node, self->release)
             : NULL;
}

/* What the search finds on NODE alone; SELF has what is the same on all. */
static void
search_one (CollectiveGraph *self, const Cluster *cluster, const Members *members,
            const MemberNode *node)
{
  const LinkProfile *plugged = find_plugged (self, cluster, node);

  self->gpu = cluster_gpu_profile (cluster, members->gpus[node->first]);
  self->intra = cluster_intra_profile (cluster, node->node);
  self->nic = self->n_nodes > 1 ? plugged : NULL;
  self->protocols = plugged != NULL ? (LinkProtocols) plugged->protocols : LINK_PROTOCOLS_ALL;
  self->n_cycles = count_cycles (self->intra, cluster, members, node);
  self->generation = library_profile_generation (self->library, self->gpu);
  self->hop = self->per_node == 1 || is_nvlink (self) ? HOP_NVLINK : HOP_PCIE;
  self->inside = intra_rate (self);
  self->nvls = self->intra->kind == LINK_SWITCH && self->generation->nvls_channels > 0
               && self->per_node > 2 && !self->nvls_off
               && !(plugged != NULL && plugged->nvls == LINK_NVLS_OFF);
  self->staged = self->nic != NULL && !self->hosts && is_staged (cluster, members, node);
  self->ll128 = self->hop == HOP_NVLINK && self->generation->ll128 && !self->staged
                && (self->nic == NULL
                    || ((self->generation->ll128_net || self->tuner != NULL)
                        && is_near (self, cluster, members, node)));
  self->pxn = pxn_use (self);
  if (self->timed_calls)
    self->issue = cluster_node_profile (cluster, node->node)->issue_collective.value;
  if (self->nic == NULL)
    search_node (self);
  else
    search_network (self);
  self->raised = self->n_nodes > 1 && self->per_node > 1 ? raise_trees (self) : 1;
  split_and_double (self);
  add_channels (self);
}

/* Below 0 where A is less than B. */
static gint
compare (double a, double b)
{
  return a < b ? -1 : a > b;
}

/* Below 0 where A's links inside a node are slower; profiles that are as fast go by name. */
static gint
compare_intra (const CollectiveGraph *a, const CollectiveGraph *b)
{
  gint hop = compare (b->hop, a->hop), rate = compare (a->inside, b->inside);

  return hop != 0 ? hop : rate != 0 ? rate : strcmp (a->intra->id, b->intra->id);
}

static gint
compare_nic (const LinkProfile *a, const LinkProfile *b)
{
  gint rate = compare (a->bandwidth.value, b->bandwidth.value);
  gint latency = compare (b->latency.value, a->latency.value);

  return rate != 0 ? rate : latency != 0 ? latency : strcmp (a->id, b->id);
}

static gint
compare_gpu (const GpuProfile *a, const GpuProfile *b)
{
  gint latency = compare (b->kernel_latency.value, a->kernel_latency.value);

  return latency != 0 ? latency : strcmp (a->id, b->id);
}

/*
 * The ranks exchange what they found and all take the worst: fewest channels, slowest, the longest
 * kind of path (src/init.cc, allGather3Data). What of a path is measured is that of its slowest
 * link.
 */
static void
take_worst (CollectiveGraph *self, const CollectiveGraph *other)
{
  if (compare_intra (other, self) < 0)
    {
      self->intra = other->intra;
      self->inside = other->inside;
      self->n_cycles = other->n_cycles;
    }
  if (self->nic != NULL && compare_nic (other->nic, self->nic) < 0)
    self->nic = other->nic;
  if (compare_gpu (other->gpu, self->gpu) < 0)
    self->gpu = other->gpu;
  self->generation = MAX (self->generation, other->generation); /* the older: listed later */
  self->hop = MAX (self->hop, other->hop);
  self->nvls &= other->nvls;
  self->issue = MAX (self->issue, other->issue);
  self->staged |= other->staged;
  self->pxn &= other->pxn;
  self->ll128 &= other->ll128;
  self->protocols = MAX (self->protocols, other->protocols); /* each leaves less than the last */
  self->searched = MIN (self->searched, other->searched);
  self->speed = MIN (self->speed, other->speed);
  self->raised = MIN (self->raised, other->raised);
  self->channels = MIN (self->channels, other->channels);
}

/* Nodes of one make with as many members: the search finds the same on both. */
static gboolean
are_alike (const Cluster *cluster, const Members *members, const MemberNode *a, const MemberNode *b)
{
  return a->n == b->n
         && cluster_gpu_profile (cluster, members->gpus[a->first])
                == cluster_gpu_profile (cluster, members->gpus[b->first])
         && cluster_intra_profile (cluster, a->node) == cluster_intra_profile (cluster, b->node)
         && cluster_nic_profile (cluster, a->node) == cluster_nic_profile (cluster, b->node)
         && cluster_node_profile (cluster, a->node) == cluster_node_profile (cluster, b->node);
}

/*
 * What is asked for, what the plug-in of a node's network sets for all that its processes do (the
 * least, of unlike nodes), or the library's own.
 */
static double
buffer_bytes (const CollectiveGraph *self, const Cluster *cluster, const Members *members,
              double asked)
{
  double least = 0;

  if (asked > 0)
    return asked;
  for (guint i = 0; i < members->n_nodes; i++)
    {
      const LinkProfile *plugged = find_plugged (self, cluster, &members->nodes[i]);
      const double       own = plugged != NULL ? plugged->buffsize.value : 0;
      const double       set = own > 0 ? own : self->library->buffsize.value;

      least = i == 0 ? set : MIN (least, set);
    }
  return least;
}

void
collective_graph_init (CollectiveGraph *self, const Cluster *cluster, const Members *members,
                       const LibraryProfile *library, const CollectiveOptions *options)
{
  const CollectiveOptions *asked = options != NULL ? options : &collective_default_options;
  CollectiveGraph          same = {
             .library = library,
             .release = asked->library,
             .tuner = asked->library_chooses ? NULL : cluster_tuner (cluster, asked->library),
             .n_ranks = members->n_gpus,
             .n_nodes = members->n_nodes,
             .per_node = 1,
             .n_cards = members->n_nodes > 1 ? fewest_cards (cluster, members) : 0,
             .hosts = members_are_hosts (members, cluster),
             .channels_asked = asked->channels,
             .net_peer_channels = asked->net_peer_channels,
             .split_data = asked->split_data,
             .nvls_off = asked->nvls == NVLS_OFF,
             .dispatch = asked->dispatch,
             .pxn_wish = asked->pxn,
             .collnet = asked->sharp || asked->collnet_refused,
             .timed_calls = asked->timed_calls,
             .hops = cluster_hop_scale (cluster),
  };

  for (guint i = 0; i < members->n_nodes; i++)
    same.per_node = MAX (same.per_node, members->nodes[i].n);
  same.buffer = buffer_bytes (&same, cluster, members, asked->buffsize);
  *self = same;
  search_one (self, cluster, members, &members->nodes[0]);
  for (guint i = 1; i < members->n_nodes; i++)
    if (!are_alike (cluster, members, &members->nodes[i], &members->nodes[i - 1]))
      {
        CollectiveGraph other = same;

        search_one (&other, cluster, members, &members->nodes[i]);
        take_worst (self, &other);
      }
}

/* The least power of two that is no less than N. */
static guint
power_of_two (guint n)
{
  return n > 1 ? 1u << g_bit_storage (n - 1) : 1;
}

/*
 * Channels of a pair on two nodes (src/graph/paths.cc): enough for the cards of one GPU, fewer
 * where a rank would have more peers at once than channels take.
 */
static guint
net_pair_channels (const CollectiveGraph *self)
{
  const LibraryProfile *library = self->library;
  double rate = self->nic->bandwidth.value * MAX ((double) self->n_cards / self->per_node, 1);
  double rounds = ceil (self->n_ranks / library->p2p_round_ranks.value);
  double most = library->p2p_rounds.value * collective_graph_all_pairs_channels (self);
  guint  n = (guint) library->p2p_net_start.value;

  if (self->net_peer_channels > 0)
    return MIN (self->net_peer_channels, P2P_MAX);
  if (n == 0)
    n = power_of_two ((guint) ceil (rate / library->p2p_net_rate.value));
  while (n > 1 && n * rounds > most)
    n /= 2;
  return n;
}

guint
collective_graph_all_pairs_channels (const CollectiveGraph *self)
{
  return power_of_two (MIN (self->channels, P2P_MAX));
}

guint
collective_graph_pair_channels (const CollectiveGraph *self)
{
  guint n = 1;

  if (self->nic != NULL)
    return net_pair_channels (self);
  if (self->hop == HOP_PCIE)
    n = 2;
  else if (self->intra->kind == LINK_SWITCH)
    n = 2 * (guint) lround (self->intra->bandwidth.value / self->generation->pair_link);
  else
    n = 2 * MAX ((guint) lround (self->intra->bandwidth.value / self->generation->pair_link), 1);
  return MIN (n, P2P_MAX);
}

double
collective_graph_speed (const CollectiveGraph *self, double limit)
{
  const LibraryGeneration *generation = self->generation;

  return first_speed (self->n_nodes > 1 ? generation->inter_speeds : generation->intra_speeds,
                      limit);
}

guint
collective_graph_case (const CollectiveGraph *self)
{
  return MIN (self->n_nodes, NODE_CASES) - 1;
}

double
collective_graph_net_hop (const CollectiveGraph *self, CollectiveAlgorithm algorithm,
                          CollectiveProtocol protocol)
{
  return self->library->hop[HOP_NET][algorithm][protocol]
         + (self->nic != NULL ? self->nic->reported_latency.value : 0);
}

double
collective_graph_ll_rate (const CollectiveGraph *self)
{
  return self->n_nodes == 1 ? self->generation->ll
                            : library_profile_ll_net (self->library, self->n_nodes);
}

guint
collective_graph_heads (const CollectiveGraph *self)
{
  return MAX (MIN (self->n_cards, self->per_node), 1);
}

double
collective_graph_per_bus (const CollectiveGraph *self, CollectiveKind kind)
{
  if (collective_kind_is_rooted (kind))
    return 1;
  return (double) self->n_ranks / collective_ring_steps (kind, self->n_ranks);
}
