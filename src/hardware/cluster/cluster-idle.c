/* What options of a cluster need to have an effect. */
#include <string.h>

#include "base/config/option-needs.h"
#include "hardware/cluster/cluster-private.h"

static gboolean
has_second_node (gconstpointer about)
{
  return cluster_n_nodes (about) > 1;
}

/* In one node. */
static gboolean
has_second_gpu (const Cluster *self)
{
  for (guint i = 0; i < self->groups->len; i++)
    if (g_array_index (self->groups, NodeGroup, i).gpus > 1)
      return TRUE;
  return FALSE;
}

static gboolean
has_leaves (gconstpointer about)
{
  const Fabric *fabric = &((const Cluster *) about)->fabric;
  return fabric->leaves > 0 || fabric->groups > 0;
}

static gboolean
has_groups (gconstpointer about)
{
  return ((const Cluster *) about)->fabric.groups > 0;
}

static gboolean
is_dragonfly (gconstpointer about)
{
  return ((const Cluster *) about)->fabric.kind == FABRIC_DRAGONFLY;
}

static gboolean
has_pods (gconstpointer about)
{
  return has_groups (about) && !is_dragonfly (about);
}

static gboolean
has_choice (gconstpointer about)
{
  return has_leaves (about) && !is_dragonfly (about) && !cluster_routing_is_symmetric (about);
}

static gboolean
draws_routes (gconstpointer about)
{
  return (cluster_draws (about) & CLUSTER_DRAWS_ROUTES) != 0;
}

static gboolean
draws_placement (gconstpointer about)
{
  return (cluster_draws (about) & CLUSTER_DRAWS_PLACEMENT) != 0;
}

static gboolean
has_sites (gconstpointer about)
{
  return ((const Cluster *) about)->sites.matrix != NULL;
}

static const OptionFact facts[] = {
  { "a second node", has_second_node, "take more nodes" },
  { "a second leaf", has_leaves, "give 'leaf_nodes', the nodes under one leaf, fewer than all" },
  { "a second group of nodes", has_groups, "give 'group_nodes' fewer than all nodes" },
  { "a second pod", has_pods,
    "give 'group_nodes' of a 'fat-tree' or 'rails' fewer than all nodes" },
  { "a dragonfly", is_dragonfly, "take the fabric 'dragonfly'" },
  { "a choice of uplinks", has_choice,
    "take the routing 'd-mod-k' or 'ecmp' over the leaves of another fabric than 'dragonfly'" },
  { "routes that are drawn", draws_routes, "take the routing 'ecmp' over several leaves" },
  { "a placement that is drawn", draws_placement, "take the placement 'random' or 'scattered'" },
  { "sites", has_sites, "give 'sites', the matrix of their links" },
  { 0 },
};

void
cluster_warn_idle (const Cluster *self, const ClusterOptions *given, const OptionMarks *marks,
                   DiagList *diags)
{
  const OptionScope scope = { cluster_options, given, given, facts, self };

  option_warn_idle (&scope, marks, diags);
}

gboolean
cluster_figure_lacks (const Cluster *self, const char *name, const char **without,
                      const char **hint)
{
  const gsize part = strcspn (name, ":.");

  if (strncmp (name, "nic", part) == 0 && !has_second_node (self))
    {
      *without = "a second node";
      *hint = "take more nodes";
      return TRUE;
    }
  if (strncmp (name, "intra", part) == 0 && !has_second_gpu (self))
    {
      *without = "a second GPU in a node";
      *hint = "take more GPUs";
      return TRUE;
    }
  return FALSE;
}
