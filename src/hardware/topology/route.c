/*
 * Routes: which links a transfer crosses inside a node (PCIe, NVLink, sockets, host memory) and
 * between nodes.
 */
#include "hardware/cluster/cluster-private.h"
#include "hardware/sites/sites.h"

/* ---- building -------------------------------------------------------------------------------- */

typedef struct
{
  const Cluster   *cluster;
  const NodeGroup *group;
  guint            node;
  Route           *route;
} Walk;

static void
walk_add_share (Walk *walk, guint id, double share)
{
  Route *route = walk->route;
  g_assert (id != NO_RESOURCE && route->n < ROUTE_MAX);
  route->shares[route->n] = share;
  route->resources[route->n++] = id;
}

static void
walk_over (Walk *walk, ResourceKind kind, guint index)
{
  walk_add_share (walk, cluster_node_resource (walk->cluster, walk->node, kind, index), 1);
}

static void
walk_enter (Walk *walk, guint node)
{
  walk->node = node;
  walk->group = cluster_group_of_node (walk->cluster, node);
}

static void
widen (Walk *walk, PathClass class_)
{
  walk->route->class_ = MAX (walk->route->class_, class_);
}

/* From one socket to another; nothing where they are the same. */
static void
cross_sockets (Walk *walk, guint from, guint to)
{
  if (from == to)
    return;
  walk_over (walk, RESOURCE_SOCKET_LINK, from * (walk->group->sockets - 1) + to - (to > from));
  widen (walk, PATH_SYS);
}

static void
leave_switch (Walk *walk, Attachment at)
{
  if (at.pcie_switch >= 0)
    walk_over (walk, RESOURCE_SWITCH_UP, (guint) at.pcie_switch);
  if (at.upper >= 0)
    walk_over (walk, RESOURCE_SWITCH_UP, (guint) at.upper);
}

static void
enter_switch (Walk *walk, Attachment at)
{
  if (at.upper >= 0)
    walk_over (walk, RESOURCE_SWITCH_DOWN, (guint) at.upper);
  if (at.pcie_switch >= 0)
    walk_over (walk, RESOURCE_SWITCH_DOWN, (guint) at.pcie_switch);
}

/* How far apart two devices are over PCIe. */
static PathClass
pcie_class (Attachment a, Attachment b)
{
  if (a.pcie_switch >= 0 && a.pcie_switch == b.pcie_switch)
    return PATH_PIX;
  if (a.upper >= 0 && a.upper == b.upper)
    return PATH_PXB;
  return a.socket == b.socket ? PATH_PHB : PATH_SYS;
}

/*
 * Device to device over PCIe, without their own links. Under access control every switch hands what
 * comes from below up to the root complex, which sends it down again.
 */
static void
cross_pcie (Walk *walk, Attachment from, Attachment to)
{
  const PathClass class_ = pcie_class (from, to);
  const gboolean  straight = !walk->cluster->pcie_acs;
  widen (walk, class_);
  if (class_ == PATH_PIX && straight)
    return;
  if (class_ == PATH_PXB && straight)
    {
      walk_over (walk, RESOURCE_SWITCH_UP, (guint) from.pcie_switch);
      walk_over (walk, RESOURCE_SWITCH_DOWN, (guint) to.pcie_switch);
      return;
    }
  leave_switch (walk, from);
  cross_sockets (walk, from.socket, to.socket);
  enter_switch (walk, to);
}

/* The same through a buffer in the memory of socket SOCKET: written, then read. */
static void
cross_host_memory (Walk *walk, Attachment from, Attachment to, guint socket)
{
  widen (walk, PATH_PHB);
  leave_switch (walk, from);
  cross_sockets (walk, from.socket, socket);
  walk_over (walk, RESOURCE_DRAM, socket);
  walk_over (walk, RESOURCE_DRAM, socket);
  cross_sockets (walk, socket, to.socket);
  enter_switch (walk, to);
}

/* ---- inside a node --------------------------------------------------------------------------- */

/* Linked, or by way of one GPU; FALSE when neither. */
static gboolean
cross_graph (Walk *walk, guint a, guint b)
{
  const LinkGraph *graph = &walk->group->intra->graph;
  const guint      n = walk->group->gpus;
  if (graph->links[a][b] > 0)
    {
      walk_over (walk, RESOURCE_NVLINK_PAIR, link_graph_pair (graph, n, a, b));
      return TRUE;
    }
  const guint between = link_graph_between (graph, n, a, b);
  if (between == n)
    return FALSE;
  walk_over (walk, RESOURCE_NVLINK_PAIR, link_graph_pair (graph, n, a, between));
  walk_over (walk, RESOURCE_NVLINK_PAIR, link_graph_pair (graph, n, between, b));
  walk->route->latency += walk->group->intra->latency.value;
  widen (walk, PATH_NVB);
  return TRUE;
}

/* TRUE when NVLink (or its like) joins the two; A and B are numbers in the node. */
static gboolean
cross_nvlink (Walk *walk, guint a, guint b)
{
  const LinkKind kind = walk->group->intra->kind;
  if (kind == LINK_SWITCH)
    {
      walk_over (walk, RESOURCE_NVLINK_OUT, a);
      walk_over (walk, RESOURCE_NVLINK_IN, b);
    }
  else if (kind == LINK_MESH)
    walk_over (walk, RESOURCE_NVLINK_PAIR, a * (walk->group->gpus - 1) + b - (b > a));
  else if (kind == LINK_PAIRS && (a ^ 1) == b)
    walk_over (walk, RESOURCE_NVLINK_PAIR, a);
  else if (kind != LINK_GRAPH || !cross_graph (walk, a, b))
    return FALSE;
  widen (walk, PATH_NVLINK);
  walk->route->latency += walk->group->intra->latency.value;
  return TRUE;
}

static void
route_inside (Walk *walk, guint a, guint b)
{
  const Attachment from = walk->group->gpu_at[a];
  const Attachment to = walk->group->gpu_at[b];
  const LinkKind   kind = walk->group->intra->kind;
  if (cross_nvlink (walk, a, b))
    return;
  walk_over (walk, RESOURCE_PCIE_UP, a);
  if (kind == LINK_HOST)
    cross_host_memory (walk, from, to, from.socket);
  else
    cross_pcie (walk, from, to);
  walk_over (walk, RESOURCE_PCIE_DOWN, b);
  if (kind == LINK_PCIE || kind == LINK_HOST)
    walk->route->latency += walk->group->intra->latency.value;
}

/* ---- GPU and card ---------------------------------------------------------------------------- */

static PathClass
card_distance (const NodeGroup *group, guint local, guint card)
{
  const PathClass class_ = pcie_class (group->gpu_at[local], group->card_at[card]);
  return class_ == PATH_PHB && group->gpu->c2c ? PATH_C2C : class_;
}

/* NCCL_NET_GDR_LEVEL is PXB where the site does not set it. */
static gboolean
is_direct (const Cluster *self, const NodeGroup *group, guint local, guint card)
{
  static const PathClass farthest[] = { PATH_PXB, PATH_PHB, PATH_SYS };
  return self->gpu_direct && group->nic->gpu_direct
         && card_distance (group, local, card) <= farthest[group->profile.gpu_direct_level];
}

/* ---- between nodes --------------------------------------------------------------------------- */

/*
 * A card that does not read GPU memory sends from and receives into that of the GPU's socket. A
 * plain host's memory is what its rank works in.
 */
static void
route_to_card (Walk *walk, guint local, guint card)
{
  const Attachment gpu = walk->group->gpu_at[local];
  const Attachment nic = walk->group->card_at[card];
  if (gpu_profile_is_host (walk->group->gpu))
    {
      walk_over (walk, RESOURCE_NIC_TX, card);
      return;
    }
  walk_over (walk, RESOURCE_PCIE_UP, local);
  if (is_direct (walk->cluster, walk->group, local, card))
    cross_pcie (walk, gpu, nic);
  else
    cross_host_memory (walk, gpu, nic, gpu.socket);
  walk_over (walk, RESOURCE_NIC_TX, card);
}

static void
route_from_card (Walk *walk, guint local, guint card)
{
  const Attachment gpu = walk->group->gpu_at[local];
  const Attachment nic = walk->group->card_at[card];
  walk_over (walk, RESOURCE_NIC_RX, card);
  if (gpu_profile_is_host (walk->group->gpu))
    return;
  if (is_direct (walk->cluster, walk->group, local, card))
    cross_pcie (walk, nic, gpu);
  else
    cross_host_memory (walk, nic, gpu, gpu.socket);
  walk_over (walk, RESOURCE_PCIE_DOWN, local);
}

static guint
pick_card (const Cluster *cluster, const NodeGroup *group, guint gpu, gint card)
{
  return card >= 0 ? (guint) card % group->nics : cluster_nearest_card (cluster, gpu);
}

static guint
local_of (const Cluster *self, guint gpu)
{
  return gpu - cluster_first_gpu (self, cluster_node_of_gpu (self, gpu));
}

static void
route_between (Walk *walk, guint from, gint out_asked, guint to, gint in_asked, guint flows)
{
  const Cluster *self = walk->cluster;
  const guint    a = walk->node, b = cluster_node_of_gpu (self, to);
  const guint    out = pick_card (self, walk->group, from, out_asked);
  double         latency = walk->group->nic->latency.value;
  FabricLink     links[FABRIC_MAX];
  WanLink        wan;
  route_to_card (walk, local_of (self, from), out);
  walk_enter (walk, b);
  const guint in = pick_card (self, walk->group, to, in_asked);
  const guint n = cluster_route_fabric (self, a, out, b, in, flows, links);
  for (guint i = 0; i < n; i++)
    walk_add_share (walk, links[i].resource, links[i].share);
  route_from_card (walk, local_of (self, to), in);
  walk->route->latency += MAX (latency, walk->group->nic->latency.value);
  walk->route->class_ = PATH_NET;
  if (cluster_wan_between (self, a, b, &wan))
    {
      walk->route->wan = wan.rtt / 2;
      walk->route->latency += walk->route->wan;
      walk->route->flow = wan.flow;
      walk->route->link = wan.resource;
    }
}

static Walk
walk_start (const Cluster *self, guint gpu, Route *route)
{
  Walk walk = { .cluster = self, .route = route };
  route->n = 0;
  route->class_ = PATH_LOCAL;
  route->latency = route->wan = route->flow = 0;
  walk_enter (&walk, cluster_node_of_gpu (self, gpu));
  return walk;
}

void
cluster_route_cards (const Cluster *self, guint from, gint out, guint to, gint in, guint flows,
                     Route *route)
{
  Walk walk = walk_start (self, from, route);
  if (from == to)
    return;
  if (cluster_node_of_gpu (self, to) == walk.node)
    route_inside (&walk, local_of (self, from), local_of (self, to));
  else
    route_between (&walk, from, out, to, in, flows);
}

void
cluster_route_gpus (const Cluster *self, guint from, guint to, gint card, Route *route)
{
  cluster_route_cards (self, from, card, to, card, 1, route);
}

/* ---- host memory, cards ---------------------------------------------------------------------- */

/* What copies between a GPU and its host cross in either direction. */
static void
walk_both (Walk *walk, guint local)
{
  if (cluster_has_copy_limit (walk->group->gpu))
    walk_over (walk, RESOURCE_PCIE_BOTH, local);
  walk->route->latency = walk->group->gpu->host_copy_latency.value;
}

void
cluster_route_to_host (const Cluster *self, guint gpu, Route *route)
{
  Walk             walk = walk_start (self, gpu, route);
  const guint      local = local_of (self, gpu);
  const Attachment at = walk.group->gpu_at[local];
  walk_over (&walk, RESOURCE_PCIE_UP, local);
  leave_switch (&walk, at);
  walk_over (&walk, RESOURCE_DRAM, at.socket);
  walk_both (&walk, local);
  widen (&walk, PATH_PHB);
}

void
cluster_route_from_host (const Cluster *self, guint gpu, Route *route)
{
  Walk             walk = walk_start (self, gpu, route);
  const guint      local = local_of (self, gpu);
  const Attachment at = walk.group->gpu_at[local];
  walk_over (&walk, RESOURCE_DRAM, at.socket);
  enter_switch (&walk, at);
  walk_over (&walk, RESOURCE_PCIE_DOWN, local);
  walk_both (&walk, local);
  widen (&walk, PATH_PHB);
}

guint
cluster_socket_of_gpu (const Cluster *self, guint gpu)
{
  return cluster_gpu_at (self, gpu).socket;
}

/* The WHICH-th card at DISTANCE from OWN. */
static guint
card_at (const NodeGroup *group, Attachment own, guint distance, guint which)
{
  guint card = 0;
  while (pcie_class (own, group->card_at[card]) != distance || which-- > 0)
    card++;
  g_assert (card < group->nics);
  return card;
}

/* Among the cards at the least distance, GPUs that see the same ones take them in turn. */
guint
cluster_nearest_card (const Cluster *self, guint gpu)
{
  const NodeGroup *group = cluster_group_of_node (self, cluster_node_of_gpu (self, gpu));
  const guint      local = local_of (self, gpu);
  const Attachment own = group->gpu_at[local];
  guint            best = G_MAXUINT, n = 0, rank = 0, peers = 0;
  for (guint card = 0; card < group->nics; card++)
    {
      const guint d = pcie_class (own, group->card_at[card]);
      if (d < best)
        {
          best = d;
          n = 0;
        }
      n += d == best;
    }
  if (n == 0)
    return NO_RESOURCE;
  for (guint other = 0; other < group->gpus; other++)
    if (pcie_class (own, group->gpu_at[other]) <= best)
      {
        rank += other < local;
        peers++;
      }
  g_assert (peers > 0); /* itself */
  return card_at (group, own, best, rank * n / peers);
}

/* ---- classes --------------------------------------------------------------------------------- */

const char *
path_class_name (PathClass class_)
{
  static const char *const names[] = { "local", "nvlink", "nvb", "c2c", "pix",
                                       "pxb",   "pxn",    "phb", "sys", "net" };
  g_assert (class_ < G_N_ELEMENTS (names));
  return names[class_];
}

PathClass
cluster_gpu_card_pcie (const Cluster *self, guint gpu, guint card)
{
  const NodeGroup *group = cluster_group_of_node (self, cluster_node_of_gpu (self, gpu));
  g_assert (card < group->nics);
  return card_distance (group, local_of (self, gpu), card);
}

PathClass
cluster_gpu_card_path (const Cluster *self, guint gpu, guint card)
{
  const guint      node = cluster_node_of_gpu (self, gpu);
  const NodeGroup *group = cluster_group_of_node (self, node);
  const PathClass  own = cluster_gpu_card_pcie (self, gpu, card);
  for (guint other = 0; own > PATH_PXB && other < group->gpus; other++)
    {
      Route route;
      cluster_route_gpus (self, gpu, cluster_first_gpu (self, node) + other, -1, &route);
      if (route.class_ == PATH_NVLINK && card_distance (group, other, card) <= PATH_PXB)
        return PATH_PXN;
    }
  return own;
}

gboolean
cluster_gpu_card_is_direct (const Cluster *self, guint gpu, guint card)
{
  const NodeGroup *group = cluster_group_of_node (self, cluster_node_of_gpu (self, gpu));
  g_assert (card < group->nics);
  return is_direct (self, group, local_of (self, gpu), card);
}

gboolean
cluster_node_is_unplaced (const Cluster *self, guint node)
{
  return cluster_group_of_node (self, node)->unplaced;
}
