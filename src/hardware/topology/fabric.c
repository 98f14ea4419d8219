/*
 * The network beyond the cards: leaves, pods under a core, groups of a dragonfly.
 *
 * Set: C, what the cards under a leaf inject. A leaf carries C / oversubscription up and as much
 * down; a pod its leaves' sum / spine_oversubscription; a group of a dragonfly what its cards
 * inject times the taper. Sprayed, each of these is one resource a direction.
 *
 * Otherwise a leaf has u uplinks, one to each spine of its pod; a spine has c links to the core,
 * where switch (s, c) joins spine s of all pods. Destination d goes over spine d mod u and core
 * link (d / u) mod c (d-mod-k: Zahavi, Johnson, Kerbyson, Lang, "Optimized InfiniBand fat-tree
 * routing for shift all-to-all communication patterns", 2010), or over those that a hash names
 * (ECMP). A dragonfly routes minimally: over one of the links between the two groups.
 */
#include <math.h>

#include "hardware/cluster/cluster-private.h"
#include "hardware/sites/sites.h"

/* ---- who hangs where ------------------------------------------------------------------------- */

static const char *const routing_names[] = { "spray", "d-mod-k", "ecmp" };

static gboolean
is_sprayed (const Fabric *fabric)
{
  return fabric->routing == ROUTING_SPRAY;
}

gboolean
cluster_routing_is_symmetric (const Cluster *self)
{
  return is_sprayed (&self->fabric);
}

static guint
slot_of (const Fabric *fabric, guint node)
{
  return fabric->slot_of != NULL ? fabric->slot_of[node] : node;
}

static guint
leaf_of_slot (const Fabric *fabric, guint slot, guint card)
{
  const guint rail = fabric->kind == FABRIC_RAILS ? card % fabric->rails : 0;
  return rail * fabric->leaves + slot / fabric->leaf_nodes;
}

static guint
leaf_of (const Fabric *fabric, guint node, guint card)
{
  return leaf_of_slot (fabric, slot_of (fabric, node), card);
}

static guint
group_of (const Fabric *fabric, guint node)
{
  return slot_of (fabric, node) / fabric->group_nodes;
}

/* Numbers all cards of the fabric; slots that the job leaves empty have as many as its first. */
static guint
number_of (const Cluster *self, guint node, guint card)
{
  const NodeGroup *group = cluster_group_of_node (self, node);
  if (self->fabric.slot_of != NULL)
    return self->fabric.slot_of[node] * self->fabric.most_nics + card;
  return group->first_card + (node - group->first_node) * group->nics + card;
}

/* What d-mod-k counts: on rails the nodes, whose cards share a leaf; elsewhere all cards. */
static guint
card_number (const Cluster *self, guint node, guint card)
{
  return self->fabric.kind == FABRIC_RAILS ? slot_of (&self->fabric, node)
                                           : number_of (self, node, card);
}

ClusterDraws
cluster_draws (const Cluster *self)
{
  const Fabric  *fabric = &self->fabric;
  const gboolean hashes =
      fabric->routing == ROUTING_ECMP && (fabric->leaves > 0 || fabric->groups > 0);
  return (fabric->drawn ? CLUSTER_DRAWS_PLACEMENT : 0) | (hashes ? CLUSTER_DRAWS_ROUTES : 0);
}

guint64
cluster_routing_seed (const Cluster *self)
{
  return self->fabric.seed;
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* Cards under the fullest leaf. */
static double
most_cards (const Cluster *self)
{
  const Fabric *fabric = &self->fabric;
  double        most = 1;
  for (guint i = 0; i < self->groups->len; i++)
    {
      const NodeGroup *group = &g_array_index (self->groups, NodeGroup, i);
      const guint      others = i == 0 ? fabric->slots - self->n_nodes : 0;
      const double     nodes = MIN (fabric->leaf_nodes, group->n_nodes + others);
      most = MAX (most, nodes * group->nics / fabric->rails);
    }
  return most;
}

static guint
whole_links (double links)
{
  return (guint) MAX (nearbyint (links), 1);
}

/* How many links there are to choose from, each near a card's rate. */
static void
count_links (Cluster *self, guint uplinks)
{
  Fabric     *fabric = &self->fabric;
  const guint leaves_of_group = MAX (fabric->group_nodes / fabric->leaf_nodes, 1);
  fabric->uplinks = fabric->core_links = 1;
  if (is_sprayed (fabric))
    return;
  if (fabric->kind == FABRIC_DRAGONFLY)
    {
      const double cards = most_cards (self) * leaves_of_group * fabric->taper;
      fabric->core_links = whole_links (cards / MAX (fabric->groups - 1, 1));
      return;
    }
  fabric->uplinks =
      uplinks > 0 ? uplinks : whole_links (most_cards (self) / fabric->oversubscription);
  fabric->core_links =
      whole_links (leaves_of_group * fabric->rails / fabric->spine_oversubscription);
}

/*
 * One non-blocking switch over everything, or over a group, needs no resources of its own: the
 * cards are the limit.
 */
static void
count_switches (Cluster *self)
{
  Fabric *fabric = &self->fabric;
  fabric->slots = MAX (fabric->slots, self->n_nodes);
  fabric->group_nodes = fabric->group_nodes > 0 ? fabric->group_nodes : fabric->slots;
  fabric->leaf_nodes = fabric->leaf_nodes > 0 ? fabric->leaf_nodes : fabric->group_nodes;
  fabric->most_nics = 1;
  for (guint i = 0; i < self->groups->len; i++)
    fabric->most_nics = MAX (fabric->most_nics, g_array_index (self->groups, NodeGroup, i).nics);
  fabric->rails = fabric->kind == FABRIC_RAILS ? fabric->most_nics : 1;
  fabric->leaves = (fabric->slots + fabric->leaf_nodes - 1) / fabric->leaf_nodes;
  fabric->groups = (fabric->slots + fabric->group_nodes - 1) / fabric->group_nodes;
  if (fabric->leaves * fabric->rails == 1
      || (fabric->leaf_nodes == fabric->group_nodes && fabric->kind == FABRIC_DRAGONFLY))
    fabric->leaves = 0;
  if (fabric->groups == 1)
    fabric->groups = 0;
}

guint64
fabric_lay_out (Cluster *self, guint64 first)
{
  Fabric       *fabric = &self->fabric;
  const guint64 start = first;
  const guint   uplinks = fabric->uplinks;
  count_switches (self);
  count_links (self, uplinks);
  const guint64  leaf = (guint64) fabric->leaves * fabric->rails * fabric->uplinks;
  const gboolean pairs = fabric->kind == FABRIC_DRAGONFLY && !is_sprayed (fabric);
  const guint64 group = pairs ? 0 : (guint64) fabric->groups * fabric->uplinks * fabric->core_links;
  fabric->first_leaf_up = (guint) first;
  fabric->first_leaf_down = (guint) (first += leaf);
  fabric->first_group_up = (guint) (first += leaf);
  fabric->first_group_down = (guint) (first += group);
  fabric->first_global = (guint) (first += group);
  if (pairs && fabric->groups > 0)
    first += (guint64) fabric->groups * (fabric->groups - 1) * fabric->core_links;
  return first - start;
}

/* ---- capacities ------------------------------------------------------------------------------ */

/* What the cards of each leaf, and of each group, inject, and the least of their efficiencies. */
typedef struct
{
  double rate, efficiency;
} Injection;

static void
inject (Injection *self, const NodeGroup *group)
{
  self->rate += group->nic->bandwidth.value;
  self->efficiency = self->efficiency > 0 ? MIN (self->efficiency, group->nic->efficiency.value)
                                          : group->nic->efficiency.value;
}

static void
fill_links (Cluster *self, guint first, ResourceKind kind, guint index, guint n, Injection links)
{
  for (guint i = 0; i < n; i++)
    self->resources[first + index + i] = (ClusterResource){
      .kind = kind,
      .capacity = links.rate / n * (1 - self->fabric.background),
      .efficiency = links.efficiency > 0 ? links.efficiency : 1,
      .node = G_MAXUINT32,
      .index = index + i,
    };
}

/* A link from group to group has the least of what the two have for one another. */
static void
fill_global (Cluster *self, const Injection *groups)
{
  const Fabric *fabric = &self->fabric;
  const guint   others = fabric->groups - 1, n = fabric->core_links;
  for (guint a = 0; a < fabric->groups; a++)
    for (guint k = 0; k < others; k++)
      {
        const guint b = k + (k >= a);
        Injection   links = groups[a].rate <= groups[b].rate ? groups[a] : groups[b];
        links.rate /= others;
        fill_links (self, fabric->first_global, RESOURCE_GLOBAL_LINK, (a * others + k) * n, n,
                    links);
      }
}

static void
fill_groups (Cluster *self, Injection *groups)
{
  const Fabric *fabric = &self->fabric;
  const guint   n = fabric->uplinks * fabric->core_links;
  const double  share = fabric->kind == FABRIC_DRAGONFLY
                            ? fabric->taper
                            : 1 / fabric->oversubscription / fabric->spine_oversubscription;
  for (guint i = 0; i < fabric->groups; i++)
    groups[i].rate *= share;
  if (fabric->kind == FABRIC_DRAGONFLY && !is_sprayed (fabric))
    {
      fill_global (self, groups);
      return;
    }
  for (guint i = 0; i < fabric->groups; i++)
    {
      fill_links (self, fabric->first_group_up, RESOURCE_GROUP_UP, i * n, n, groups[i]);
      fill_links (self, fabric->first_group_down, RESOURCE_GROUP_DOWN, i * n, n, groups[i]);
    }
}

void
fabric_fill (Cluster *self)
{
  const Fabric         *fabric = &self->fabric;
  g_autofree Injection *leaves = g_new0 (Injection, fabric->leaves * fabric->rails + 1);
  g_autofree Injection *groups = g_new0 (Injection, fabric->groups + 1);
  g_autofree guint32   *nodes = NULL;
  const guint           n = fabric->uplinks;
  if (fabric->leaves == 0 && fabric->groups == 0)
    return;
  nodes = g_new0 (guint32, self->fabric.slots);
  for (guint node = 0; node < self->n_nodes; node++)
    nodes[slot_of (&self->fabric, node)] = node;
  for (guint slot = 0; slot < fabric->slots; slot++)
    {
      const NodeGroup *group = cluster_group_of_node (self, nodes[slot]);
      for (guint card = 0; card < group->nics; card++)
        {
          if (fabric->leaves > 0)
            inject (&leaves[leaf_of_slot (fabric, slot, card)], group);
          if (fabric->groups > 0)
            inject (&groups[slot / fabric->group_nodes], group);
        }
    }
  for (guint leaf = 0; leaf < fabric->leaves * fabric->rails; leaf++)
    {
      Injection links = leaves[leaf];
      links.rate /= fabric->oversubscription;
      fill_links (self, fabric->first_leaf_up, RESOURCE_LEAF_UP, leaf * n, n, links);
      fill_links (self, fabric->first_leaf_down, RESOURCE_LEAF_DOWN, leaf * n, n, links);
    }
  fill_groups (self, groups);
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Which spine, and which of its links to the core (or which link between two groups). */
typedef struct
{
  guint spine, core;
} Choice;

/* The finaliser of splitmix64 (Steele, Lea, Flood, 2014). */
static guint64
mix (guint64 x)
{
  x += G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/* What queue pair QP of two cards, or all that they have, is sent over. */
static Choice
choose (const Cluster *self, guint from, guint out, guint to, guint in, guint qp)
{
  const Fabric *fabric = &self->fabric;
  const guint   d = card_number (self, to, in);
  if (is_sprayed (fabric))
    return (Choice){ 0, 0 };
  if (fabric->routing == ROUTING_D_MOD_K)
    return (Choice){ d % fabric->uplinks, d / fabric->uplinks % fabric->core_links };
  const guint64 source = number_of (self, from, out), target = number_of (self, to, in);
  const guint64 first = mix (mix (fabric->seed) ^ (source << 32 | target));
  const guint64 hash = qp > 0 ? mix (first ^ qp) : first;
  return (Choice){ (guint) (hash >> 32) % fabric->uplinks, (guint32) hash % fabric->core_links };
}

/* Adds SHARE of a transfer to link ID of the N LINKS; how many there are then. */
static guint
add_link (FabricLink *links, guint n, guint32 id, double share)
{
  for (guint i = 0; i < n; i++)
    if (links[i].resource == id)
      {
        links[i].share += share;
        return n;
      }
  links[n] = (FabricLink){ id, share };
  return n + 1;
}

static guint
cross_groups (const Fabric *fabric, guint a, guint b, Choice choice, guint32 *links)
{
  const guint n = fabric->uplinks * fabric->core_links;
  const guint link = choice.spine * fabric->core_links + choice.core;
  if (fabric->kind == FABRIC_DRAGONFLY && !is_sprayed (fabric))
    {
      const guint pair = a * (fabric->groups - 1) + b - (b > a);
      links[0] = fabric->first_global + pair * fabric->core_links + choice.core;
      return 1;
    }
  links[0] = fabric->first_group_up + a * n + link;
  links[1] = fabric->first_group_down + b * n + link;
  return 2;
}

guint
cluster_hashed_qps (const Cluster *self)
{
  return self->fabric.routing == ROUTING_ECMP ? self->fabric.qps : 0;
}

guint
cluster_route_fabric (const Cluster *self, guint from, guint out, guint to, guint in, guint flows,
                      FabricLink links[FABRIC_MAX])
{
  const Fabric *fabric = &self->fabric;
  const guint   qps = fabric->routing == ROUTING_ECMP ? CLAMP (flows, 1, FABRIC_FLOWS_MAX) : 1;
  guint         n = 0;
  const guint   a = fabric->leaves > 0 ? leaf_of (fabric, from, out) : 0;
  const guint   b = fabric->leaves > 0 ? leaf_of (fabric, to, in) : 0;
  const guint   group_a = fabric->groups > 0 ? group_of (fabric, from) : 0;
  const guint   group_b = fabric->groups > 0 ? group_of (fabric, to) : 0;
  WanLink       wan;
  if (cluster_wan_between (self, from, to, &wan))
    n = add_link (links, n, wan.resource, 1);
  if (a == b && group_a == group_b)
    return n;
  for (guint qp = 0; qp < qps; qp++)
    {
      const Choice choice = choose (self, from, out, to, in, qp);
      guint32      way[4];
      guint        length = 0;
      if (fabric->leaves > 0)
        way[length++] = fabric->first_leaf_up + a * fabric->uplinks + choice.spine;
      if (group_a != group_b)
        length += cross_groups (fabric, group_a, group_b, choice, way + length);
      if (fabric->leaves > 0)
        way[length++] = fabric->first_leaf_down + b * fabric->uplinks + choice.spine;
      for (guint i = 0; i < length; i++)
        n = add_link (links, n, way[i], 1.0 / qps);
    }
  return n;
}

FabricPort
cluster_fabric_port (const Cluster *self, guint node, guint card)
{
  const Fabric *fabric = &self->fabric;
  FabricPort    port = { { NO_RESOURCE, NO_RESOURCE }, { NO_RESOURCE, NO_RESOURCE } };
  g_assert (is_sprayed (fabric));
  if (fabric->leaves > 0)
    {
      port.up[0] = fabric->first_leaf_up + leaf_of (fabric, node, card);
      port.down[0] = fabric->first_leaf_down + leaf_of (fabric, node, card);
    }
  if (fabric->groups > 0)
    {
      port.up[1] = fabric->first_group_up + group_of (fabric, node);
      port.down[1] = fabric->first_group_down + group_of (fabric, node);
    }
  return port;
}

char *
cluster_fabric_title (const Cluster *self)
{
  const Fabric            *fabric = &self->fabric;
  g_autoptr (GString)      text = g_string_new (NULL);
  static const char *const group_names[] = { "pods", "pods", "pods", "dragonfly groups" };
  if (fabric->leaves == 0 && fabric->groups == 0)
    {
      sites_append_title (self, text);
      return text->len > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : NULL;
    }
  if (fabric->leaves > 0)
    g_string_append_printf (text, "%u %s of %u nodes, oversubscribed %g",
                            fabric->leaves * fabric->rails,
                            fabric->kind == FABRIC_RAILS ? "rail leaves" : "leaves",
                            fabric->leaf_nodes, fabric->oversubscription);
  if (fabric->groups > 0)
    g_string_append_printf (text, "%s%u %s of %u nodes, %s %g", text->len > 0 ? "; " : "",
                            fabric->groups, group_names[fabric->kind], fabric->group_nodes,
                            fabric->kind == FABRIC_DRAGONFLY ? "taper" : "oversubscribed",
                            fabric->kind == FABRIC_DRAGONFLY ? fabric->taper
                                                             : fabric->spine_oversubscription);
  g_string_append_printf (text, "; %s", routing_names[fabric->routing]);
  if (!is_sprayed (fabric) && fabric->kind != FABRIC_DRAGONFLY)
    g_string_append_printf (text, " over %u uplinks a leaf", fabric->uplinks);
  if (fabric->routing == ROUTING_ECMP && fabric->qps > 1)
    g_string_append_printf (text, ", %u queue pairs a connection", fabric->qps);
  if (fabric->background > 0)
    g_string_append_printf (text, "; other jobs use %g %%", 100 * fabric->background);
  if (fabric->slots > self->n_nodes || fabric->slot_of != NULL)
    g_string_append_printf (text, "; %u of %u nodes, %s", self->n_nodes, fabric->slots,
                            fabric->placement);
  sites_append_title (self, text);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* "leaf3.up" or, where links are chosen, "leaf3.up5"; "group0.to2.1". */
char *
fabric_resource_name (const Cluster *self, const ClusterResource *resource)
{
  const Fabric  *fabric = &self->fabric;
  const gboolean leaf = resource->kind == RESOURCE_LEAF_UP || resource->kind == RESOURCE_LEAF_DOWN;
  const gboolean up = resource->kind == RESOURCE_LEAF_UP || resource->kind == RESOURCE_GROUP_UP;
  const guint    n = leaf ? fabric->uplinks : fabric->uplinks * fabric->core_links;
  const guint    i = resource->index;
  if (resource->kind == RESOURCE_GLOBAL_LINK)
    {
      const guint pair = i / fabric->core_links, others = fabric->groups - 1;
      const guint a = pair / others, b = pair % others;
      return g_strdup_printf ("group%u.to%u.%u", a, b + (b >= a), i % fabric->core_links);
    }
  if (is_sprayed (fabric))
    return g_strdup_printf ("%s%u.%s", leaf ? "leaf" : "group", i, up ? "up" : "down");
  return g_strdup_printf ("%s%u.%s%u", leaf ? "leaf" : "group", i / n, up ? "up" : "down", i % n);
}

/* ---- options --------------------------------------------------------------------------------- */

/* Options of one fabric under another would do nothing: say so. */
void
fabric_check_options (const ClusterOptions *options, const OptionMarks *marks, DiagList *diags)
{
  const gint   fabric = options->fabric;
  const gint64 leaf = options->leaf_nodes, group = options->group_nodes;
  if (group > 0 && fabric == FABRIC_LEAF_SPINE)
    diag_error (diags, option_mark (marks, "group_nodes", NULL),
                "pods are of 'fat-tree' and 'rails', groups of 'dragonfly'",
                "'group_nodes' means nothing to the fabric 'leaf-spine'");
  if (fabric == FABRIC_FAT_TREE && leaf == 0)
    diag_error (diags, option_mark (marks, "fabric", NULL),
                "give 'leaf_nodes', the nodes under one leaf", "a fat tree without leaves");
  if (fabric == FABRIC_RAILS && group > 0 && leaf == 0)
    diag_error (diags, option_mark (marks, "group_nodes", "fabric", NULL),
                "give 'leaf_nodes', the nodes of a rail under one leaf",
                "pods of rails without leaves");
  if (fabric == FABRIC_DRAGONFLY && group == 0)
    diag_error (diags, option_mark (marks, "fabric", NULL),
                "give 'group_nodes', the nodes of one group", "a dragonfly without groups");
  if (group > 0 && leaf > 0 && group % leaf != 0)
    diag_error (
        diags, option_mark (marks, "group_nodes", "leaf_nodes", NULL), "a group holds whole leaves",
        "'group_nodes' %" G_GINT64_FORMAT " is no multiple of 'leaf_nodes' %" G_GINT64_FORMAT,
        group, leaf);
}
