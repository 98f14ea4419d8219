#include "hardware/cluster/cluster.h"

#include "hardware/cluster/cluster-private.h"
#include "hardware/profile/figure-settings.h"
#include "hardware/sites/sites.h"

/* GPUs joined all to all whose cards are taken to hang under the sockets, where nothing is said. */
#define BRIDGED_GPUS 4
#define PCIE4_X16    31.5e9 /* B/s a direction */

/* ---- layout of one node ---------------------------------------------------------------------- */

static gboolean
has_mesh (const NodeGroup *group)
{
  return group->intra->kind == LINK_MESH;
}

/* Mesh: one an ordered pair; pairs: one a GPU with a partner; graph: one a linked ordered pair. */
static guint
count_pairs (const NodeGroup *group)
{
  if (has_mesh (group))
    return group->gpus * (group->gpus - 1);
  if (group->intra->kind == LINK_GRAPH)
    return link_graph_n_pairs (&group->intra->graph, group->gpus);
  return group->intra->kind == LINK_PAIRS ? group->gpus & ~1u : 0;
}

gboolean
cluster_has_copy_limit (const GpuProfile *gpu)
{
  return gpu->host_duplex_efficiency.value > 0 && gpu->host_duplex_efficiency.value < 1;
}

/* How many resources of KIND a node has. */
static guint
count_kind (const NodeGroup *group, ResourceKind kind)
{
  const guint g = group->gpus;
  switch (kind)
    {
    case RESOURCE_SM:
    case RESOURCE_HBM:
    case RESOURCE_PCIE_UP:
    case RESOURCE_PCIE_DOWN:
      return g;
    case RESOURCE_PCIE_BOTH:
      return cluster_has_copy_limit (group->gpu) ? g : 0;
    case RESOURCE_SWITCH_UP:
    case RESOURCE_SWITCH_DOWN:
      return group->switches + group->upper;
    case RESOURCE_SOCKET_LINK:
      return group->sockets * (group->sockets - 1);
    case RESOURCE_DRAM:
      return group->sockets;
    case RESOURCE_CORES:
      return 1;
    case RESOURCE_NVLINK_OUT:
    case RESOURCE_NVLINK_IN:
      return group->intra->kind == LINK_SWITCH ? g : 0;
    case RESOURCE_NVLINK_PAIR:
      return count_pairs (group);
    case RESOURCE_NIC_TX:
    case RESOURCE_NIC_RX:
      return group->nics;
    case RESOURCE_NVME_READ:
    case RESOURCE_NVME_WRITE:
      return group->profile.nvme_bytes.value > 0 ? 1 : 0;
    case RESOURCE_LEAF_UP:
    case RESOURCE_LEAF_DOWN:
    case RESOURCE_GROUP_UP:
    case RESOURCE_GROUP_DOWN:
    case RESOURCE_GLOBAL_LINK:
    case RESOURCE_WAN_LINK:
    case RESOURCE_N_KINDS:
      break;
    }
  return 0;
}

/*
 * What the GPUs' own NVLink ports allow: a switch link is the smaller of the two, a mesh shares
 * them out evenly.
 */
static double
nvlink_capacity (const NodeGroup *group)
{
  const double link = group->intra->bandwidth.value;
  const double limit = group->gpu->nvlink_limit.value;
  const guint  peers = has_mesh (group) ? group->gpus - 1 : 1;
  return limit > 0 ? MIN (link, limit / peers) : link;
}

/* A GPU's own limit is shared out over its links. */
static double
graph_capacity (const NodeGroup *group, guint pair)
{
  const LinkGraph *graph = &group->intra->graph;
  const double     limit = group->gpu->nvlink_limit.value;
  guint            a, b;
  link_graph_ends (graph, group->gpus, pair, &a, &b);
  const double link = group->intra->bandwidth.value;
  const double share = limit / link_graph_degree (graph, graph->n, a);
  return graph->links[a][b] * (limit > 0 ? MIN (link, share) : link);
}

/* Peer-to-peer over PCIe names the generation of the slots, which the card may exceed. */
static double
host_link_capacity (const NodeGroup *group)
{
  const double own = group->gpu->host_link.value;
  if (group->intra->kind == LINK_PCIE || group->intra->kind == LINK_HOST)
    return MIN (own, group->intra->bandwidth.value);
  return own;
}

static double
capacity_of (const NodeGroup *group, ResourceKind kind)
{
  switch (kind)
    {
    case RESOURCE_SM:
      return group->gpu->sms.value;
    case RESOURCE_HBM:
      return group->gpu->hbm_bandwidth.value;
    case RESOURCE_PCIE_UP:
    case RESOURCE_PCIE_DOWN:
      return host_link_capacity (group);
    case RESOURCE_PCIE_BOTH:
      return 2 * group->gpu->host_duplex_efficiency.value * host_link_capacity (group);
    case RESOURCE_SWITCH_UP:
    case RESOURCE_SWITCH_DOWN:
      return group->profile.pcie_uplink.value;
    case RESOURCE_SOCKET_LINK:
      return group->profile.socket_link.value;
    case RESOURCE_DRAM:
      return group->profile.dram_bandwidth.value;
    case RESOURCE_CORES:
      return group->profile.cores.value;
    case RESOURCE_NVLINK_OUT:
    case RESOURCE_NVLINK_IN:
    case RESOURCE_NVLINK_PAIR:
      return nvlink_capacity (group);
    case RESOURCE_NIC_TX:
    case RESOURCE_NIC_RX:
      return group->nic->bandwidth.value;
    case RESOURCE_NVME_READ:
      return group->profile.nvme_read.value;
    case RESOURCE_NVME_WRITE:
      return group->profile.nvme_write.value;
    case RESOURCE_LEAF_UP:
    case RESOURCE_LEAF_DOWN:
    case RESOURCE_GROUP_UP:
    case RESOURCE_GROUP_DOWN:
    case RESOURCE_GLOBAL_LINK:
    case RESOURCE_WAN_LINK:
    case RESOURCE_N_KINDS:
      break;
    }
  g_assert_not_reached ();
}

/*
 * PCIe carries packets with the same overhead whoever sends them, so where no link profile
 * measured it the copy engine's does.
 */
static double
efficiency_of (const NodeGroup *group, ResourceKind kind)
{
  switch (kind)
    {
    case RESOURCE_HBM:
      return group->gpu->stream_efficiency.value;
    case RESOURCE_PCIE_UP:
    case RESOURCE_PCIE_DOWN:
    case RESOURCE_PCIE_BOTH:
    case RESOURCE_SWITCH_UP:
    case RESOURCE_SWITCH_DOWN:
      if (group->intra->kind == LINK_PCIE || group->intra->kind == LINK_HOST)
        return group->intra->efficiency.value;
      return group->gpu->host_copy_efficiency.value;
    case RESOURCE_NVLINK_OUT:
    case RESOURCE_NVLINK_IN:
    case RESOURCE_NVLINK_PAIR:
      return group->intra->efficiency.value;
    default:
      return 1;
    }
}

/*
 * Whether CARD hangs under a root complex, so that what it moves to and from GPUs crosses the host
 * bridge. Of clusters by parts boards of up to 4 GPUs joined all to all are taken to: 4 GPUs and
 * their cards fit the lanes of two sockets, 8 ask for switches.
 */
static gboolean
is_behind_bridge (const NodeGroup *group, guint card)
{
  if (group->profile.host_bridge_rate.value == 0 || group->gpu->c2c)
    return FALSE;
  if (group->unplaced)
    return group->intra->kind == LINK_MESH && group->gpus <= BRIDGED_GPUS;
  return group->card_at[card].pcie_switch < 0;
}

gboolean
cluster_card_is_behind_bridge (const Cluster *self, guint node, guint card)
{
  return is_behind_bridge (cluster_group_of_node (self, node), card);
}

/* A card's own, or what the host bridge lets through of its rate. */
static double
card_efficiency (const NodeGroup *group, guint card)
{
  double own = group->nic->efficiency.value;
  double bridge = group->profile.host_bridge_rate.value;

  if (!is_behind_bridge (group, card))
    return own;
  return MIN (
      own, bridge * MAX (group->gpu->host_link.value / PCIE4_X16, 1) / group->nic->bandwidth.value);
}

static void
lay_out_group (NodeGroup *group, guint64 *n_resources)
{
  guint n = 0;
  for (guint kind = 0; kind < RESOURCE_N_KINDS; kind++)
    {
      group->offset[kind] = n;
      group->count[kind] = count_kind (group, (ResourceKind) kind);
      n += group->count[kind];
    }
  group->n_resources = n;
  group->first_resource = (guint) *n_resources;
  *n_resources += (guint64) n * group->n_nodes;
}

static void
fill_node (ClusterResource *out, const NodeGroup *group, guint node)
{
  for (guint kind = 0; kind < RESOURCE_N_KINDS; kind++)
    if (group->count[kind] > 0)
      {
        ClusterResource resource = { .kind = (ResourceKind) kind, .node = node };
        resource.capacity = capacity_of (group, resource.kind);
        resource.efficiency = efficiency_of (group, resource.kind);
        for (resource.index = 0; resource.index < group->count[kind]; resource.index++)
          {
            if (kind == RESOURCE_NVLINK_PAIR && group->intra->kind == LINK_GRAPH)
              resource.capacity = graph_capacity (group, resource.index);
            if (kind == RESOURCE_NIC_TX || kind == RESOURCE_NIC_RX)
              resource.efficiency = card_efficiency (group, resource.index);
            *out++ = resource;
          }
      }
}

/* ---- the cluster ----------------------------------------------------------------------------- */

static void
write_title (Cluster *self)
{
  g_autoptr (GString) title = g_string_new (NULL);
  for (guint i = 0; i < self->groups->len; i++)
    {
      const NodeGroup *group = &g_array_index (self->groups, NodeGroup, i);
      g_string_append_printf (title, "%s%u %s x %u %s, %s", i > 0 ? " + " : "", group->n_nodes,
                              group->n_nodes == 1 ? "node" : "nodes", group->gpus, group->gpu->id,
                              group->intra->id);
      if (group->nics > 0)
        g_string_append_printf (title, ", %u %s", group->nics, group->nic->id);
    }
  if (cluster_n_sites (self) > 0)
    {
      const guint used = cluster_n_sites_in_use (self);

      g_string_append_printf (title, ", at %u site%s", used, used == 1 ? "" : "s");
    }
  self->title = g_string_free (g_steal_pointer (&title), FALSE);
}

static void
build (Cluster *self, guint64 n_resources)
{
  self->n_resources = (guint) n_resources;
  self->resources = g_new0 (ClusterResource, n_resources);
  for (guint i = 0; i < self->groups->len; i++)
    {
      const NodeGroup *group = &g_array_index (self->groups, NodeGroup, i);
      for (guint n = 0; n < group->n_nodes; n++)
        fill_node (self->resources + group->first_resource + (gsize) n * group->n_resources, group,
                   group->first_node + n);
    }
  fabric_fill (self);
  sites_fill (self);
  for (guint i = 0; self->slow_nics != NULL && i < self->slow_nics->len; i++)
    {
      const SlowNic *nic = &g_array_index (self->slow_nics, SlowNic, i);
      const guint    tx = cluster_node_resource (self, nic->node, RESOURCE_NIC_TX, nic->card);
      const guint    rx = cluster_node_resource (self, nic->node, RESOURCE_NIC_RX, nic->card);
      self->resources[tx].capacity *= nic->fraction;
      self->resources[rx].capacity *= nic->fraction;
    }
  write_title (self);
}

char *
cluster_options_text (const ClusterOptions *options)
{
  GString *text = g_string_new (NULL);
  for (const OptionSpec *spec = cluster_options; spec->key != NULL; spec++)
    {
      g_autofree char *value = option_format (spec, options);
      g_string_append_printf (text, "%s\n", value);
    }
  return g_string_free (text, FALSE);
}

static char *
make_key (const ClusterOptions *options, const ProfileSet *profiles)
{
  const char      *shared = profile_set_shared_key (profiles);
  g_autofree char *own = shared != NULL ? cluster_options_text (options) : NULL;
  return own != NULL ? g_strconcat (own, shared, NULL) : NULL;
}

const char *
cluster_key (const Cluster *self)
{
  return self->scaled_key != NULL ? self->scaled_key : self->key;
}

/* Nothing of it is known yet. */
static Cluster *
cluster_alloc (ProfileSet *profiles)
{
  Cluster *self = g_new0 (Cluster, 1);
  self->profiles = profiles;
  self->proximity = g_new (ProximityTables, 1);
  proximity_tables_init (self->proximity);
  return self;
}

/*
 * PROFILES with the figures that OPTIONS set, of the parts that the cluster has without them. NULL
 * after diagnostics.
 */
static ProfileSet *
change_figures (const ClusterOptions *options, ProfileSet *profiles, const OptionMarks *marks,
                DiagList *diags)
{
  g_autoptr (Cluster)  plain = cluster_alloc (profiles);
  g_autoptr (DiagList) own = diag_list_new ();
  g_autoptr (GArray)   changes = NULL;
  if (!cluster_read_options (plain, options, profiles, marks, own))
    {
      diag_list_append (diags, own);
      return NULL;
    }
  changes = figure_settings_changes (options, plain, option_mark (marks, "figure", NULL), diags);
  return changes != NULL ? profile_set_new_changed (
             profiles, (const FigureChange *) (gpointer) changes->data, changes->len)
                         : NULL;
}

/* Groups without cards have no tuner: where all are, one without a name asks for none. */
static GPtrArray *
find_tuners (const Cluster *self, DiagList *diags)
{
  g_autofree TunerUse *uses = g_new0 (TunerUse, self->groups->len);
  guint                n = 0;

  for (guint i = 0; i < self->groups->len; i++)
    {
      const NodeGroup *group = &g_array_index (self->groups, NodeGroup, i);

      if (group->nic != NULL)
        uses[n++] = (TunerUse){ group->gpu->id, group->nic->id };
    }
  return n > 0 ? profile_set_tuners (self->profiles, uses, n, diags) : g_ptr_array_new ();
}

Cluster *
cluster_new (const ClusterOptions *options, ProfileSet *profiles, const OptionMarks *marks,
             DiagList *diags)
{
  g_autoptr (Cluster) self = cluster_alloc (profiles);
  guint64             n_resources = 0;
  if (options->figure != NULL)
    {
      self->changed = self->profiles = change_figures (options, profiles, marks, diags);
      if (self->changed == NULL)
        return NULL;
      profiles = self->changed;
    }
  if (!cluster_read_options (self, options, profiles, marks, diags))
    return NULL;
  self->libraries = profile_set_libraries (profiles, diags);
  self->tuners = find_tuners (self, diags);
  if (self->libraries == NULL || self->tuners == NULL)
    return NULL;
  for (guint i = 0; i < self->groups->len; i++)
    lay_out_group (&g_array_index (self->groups, NodeGroup, i), &n_resources);
  n_resources += fabric_lay_out (self, n_resources);
  n_resources += sites_lay_out (self, n_resources);
  if (n_resources > CLUSTER_MAX_RESOURCES)
    {
      diag_error (diags, option_mark (marks, "nodes", "name", NULL), NULL,
                  "the cluster has %" G_GUINT64_FORMAT " links and devices, at most %u",
                  n_resources, CLUSTER_MAX_RESOURCES);
      return NULL;
    }
  build (self, n_resources);
  self->key = make_key (options, profiles);
  cluster_warn_idle (self, options, marks, diags);
  return g_steal_pointer (&self);
}

void
cluster_free (Cluster *self)
{
  if (self->groups != NULL)
    g_array_unref (self->groups);
  g_clear_pointer (&self->changed, profile_set_free);
  g_clear_pointer (&self->libraries, g_ptr_array_unref);
  g_clear_pointer (&self->tuners, g_ptr_array_unref);
  g_clear_pointer (&self->released, g_ptr_array_unref);
  g_free (self->resources);
  g_free (self->speeds);
  if (self->facts != NULL)
    g_array_unref (self->facts);
  if (self->slow_nics != NULL)
    g_array_unref (self->slow_nics);
  if (self->measured != NULL)
    g_array_unref (self->measured);
  g_free (self->fabric.slot_of);
  g_free (self->sites.of_node);
  g_free (self->title);
  g_free (self->key);
  g_free (self->scaled_key);
  g_free (self->unscaled);
  proximity_tables_clear (self->proximity);
  g_free (self->proximity);
  g_free (self);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The part and, behind the dot, what of it: "gpu" + index + ".sm". */
typedef struct
{
  const char *name, *part, *what;
} KindName;

static const KindName kind_names[RESOURCE_N_KINDS] = {
  [RESOURCE_SM] = { "sm", "gpu", "sm" },
  [RESOURCE_HBM] = { "hbm", "gpu", "hbm" },
  [RESOURCE_PCIE_UP] = { "pcie.up", "gpu", "pcie.up" },
  [RESOURCE_PCIE_DOWN] = { "pcie.down", "gpu", "pcie.down" },
  [RESOURCE_SWITCH_UP] = { "switch.up", "switch", "up" },
  [RESOURCE_SWITCH_DOWN] = { "switch.down", "switch", "down" },
  [RESOURCE_SOCKET_LINK] = { "socket.link", "socket", "link" },
  [RESOURCE_DRAM] = { "dram", "socket", "dram" },
  [RESOURCE_CORES] = { "cores", "host", "cores" },
  [RESOURCE_NVLINK_OUT] = { "nvlink.out", "gpu", "nvlink.out" },
  [RESOURCE_NVLINK_IN] = { "nvlink.in", "gpu", "nvlink.in" },
  [RESOURCE_NVLINK_PAIR] = { "nvlink", "gpu", "nvlink" },
  [RESOURCE_NIC_TX] = { "nic.tx", "nic", "tx" },
  [RESOURCE_NIC_RX] = { "nic.rx", "nic", "rx" },
  [RESOURCE_LEAF_UP] = { "leaf.up", "leaf", "up" },
  [RESOURCE_LEAF_DOWN] = { "leaf.down", "leaf", "down" },
  [RESOURCE_NVME_READ] = { "nvme.read", "nvme", "read" },
  [RESOURCE_NVME_WRITE] = { "nvme.write", "nvme", "write" },
  [RESOURCE_GROUP_UP] = { "group.up", "group", "up" },
  [RESOURCE_GROUP_DOWN] = { "group.down", "group", "down" },
  [RESOURCE_GLOBAL_LINK] = { "global.link", "group", "to" },
  [RESOURCE_PCIE_BOTH] = { "pcie.both", "gpu", "pcie.both" },
  [RESOURCE_WAN_LINK] = { "wan.link", "site", "to" },
};

const char *
resource_kind_name (ResourceKind kind)
{
  g_assert (kind < RESOURCE_N_KINDS);
  return kind_names[kind].name;
}

/* Ordered pairs (a, b) of n ends are numbered a * (n - 1) + b, less one for b > a. */
static guint
pair_second (guint index, guint n)
{
  const guint a = index / (n - 1), rest = index % (n - 1);
  return rest < a ? rest : rest + 1;
}

static char *
name_pair (const ClusterResource *resource, const char *part, const char *what, guint from,
           guint to)
{
  return g_strdup_printf ("node%u.%s%u.%s%u", resource->node, part, from, what, to);
}

char *
cluster_resource_name (const Cluster *self, guint id)
{
  const ClusterResource *resource = cluster_resource (self, id);
  const KindName        *name = &kind_names[resource->kind];
  const guint            i = resource->index;
  if (resource->kind == RESOURCE_WAN_LINK)
    return sites_resource_name (self, resource);
  if (resource->node == G_MAXUINT32)
    return fabric_resource_name (self, resource);
  const NodeGroup *group = cluster_group_of_node (self, resource->node);
  const guint      s = group->sockets, g = group->gpus;
  if (resource->kind == RESOURCE_SOCKET_LINK)
    return name_pair (resource, "socket", "to", i / (s - 1), pair_second (i, s));
  if (resource->kind == RESOURCE_NVLINK_PAIR && group->intra->kind == LINK_GRAPH)
    {
      guint a, b;
      link_graph_ends (&group->intra->graph, g, i, &a, &b);
      return name_pair (resource, "gpu", "nvlink.to", a, b);
    }
  if (resource->kind == RESOURCE_NVLINK_PAIR)
    return has_mesh (group)
               ? name_pair (resource, "gpu", "nvlink.to", i / (g - 1), pair_second (i, g))
               : name_pair (resource, "gpu", "nvlink.to", i, i ^ 1);
  if (resource->kind == RESOURCE_CORES || resource->kind == RESOURCE_NVME_READ
      || resource->kind == RESOURCE_NVME_WRITE)
    return g_strdup_printf ("node%u.%s", resource->node, name->name);
  return g_strdup_printf ("node%u.%s%u.%s", resource->node, name->part, i, name->what);
}
