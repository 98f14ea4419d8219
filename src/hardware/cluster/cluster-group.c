/* One group of like nodes: from what was asked for to profiles that fit each other. */
#include <string.h>

#include "hardware/cluster/cluster-reader-private.h"
#include "hardware/topology/intra-fit.h"

#define GENERIC_NODE "generic"

static void
set_count (NodeGroup *group, Figure *figure, double value)
{
  figure->value = figure->low = figure->high = value;
  figure->confidence = CONFIDENCE_DATASHEET;
  figure->source = group->override_source;
}

/*
 * The effective id: what the request names, else the node's own; a diagnostic when there is
 * neither.
 */
static char *
pick_id (ClusterReader *reader, const char *asked, const char *own, const char *key)
{
  const char *id = asked != NULL ? asked : own;
  if (id == NULL)
    diag_error (reader->diags, READER_MARK (reader, "node", "name"), NULL,
                "the cluster has no '%s'", key);
  return g_strdup (id);
}

static gboolean
check_shape (ClusterReader *reader, const NodeGroup *group, const char *node, gboolean generic)
{
  gint64 own = (gint64) group->profile.gpus.value;
  if (group->gpus > own && !generic)
    diag_error (reader->diags, READER_MARK (reader, "gpus_per_node", "node"),
                "give the parts without 'node' to make up a node",
                "gpus_per_node %u is more than the %" G_GINT64_FORMAT " GPUs of node '%s'",
                group->gpus, own, node);
  else if (gpu_profile_is_host (group->gpu) && group->gpus > 1)
    diag_error (reader->diags, READER_MARK (reader, "gpus_per_node", "gpu"),
                "give one rank a node: 'gpus_per_node' 1",
                "a plain host ('%s') is one rank, but a node has %u", group->gpu->id, group->gpus);
  else if (group->intra->kind == LINK_NONE && group->gpus > 1)
    diag_error (reader->diags, READER_MARK (reader, "intra", "gpus_per_node"),
                "name the link between them, such as 'pcie4'",
                "intra 'none' joins no GPUs, but a node has %u", group->gpus);
  else if (group->intra->kind == LINK_NETWORK)
    diag_error (reader->diags, READER_MARK (reader, "intra"), NULL, "intra '%s' is a network card",
                group->intra->id);
  else if (group->intra->kind == LINK_GRAPH && group->gpus > group->intra->graph.n)
    diag_error (reader->diags, READER_MARK (reader, "intra"), NULL,
                "intra '%s' joins %u GPUs, but a node has %u", group->intra->id,
                group->intra->graph.n, group->gpus);
  else if (group->nic != NULL && group->nic->kind != LINK_NETWORK)
    diag_error (reader->diags, READER_MARK (reader, "nic"), NULL, "nic '%s' is not a network card",
                group->nic->id);
  else
    return intra_check (group->gpu, group->intra, group->gpus, reader->profiles,
                        READER_MARK (reader, "intra", "gpu"), reader->diags);
  return FALSE;
}

/* Overrides the cards of a node; `nic: none` and `nics: 0` both mean that it has none. */
static void
set_cards (ClusterReader *reader, NodeGroup *group, const GroupRequest *request)
{
  const char *id = request->nic != NULL ? request->nic : group->profile.nic;
  gint64      nics = request->nics >= 0 ? request->nics : (gint64) group->profile.nics.value;
  gboolean    none = id == NULL || g_ascii_strcasecmp (id, "none") == 0;
  if (none && request->nics > 0)
    diag_error (reader->diags, READER_MARK (reader, "nics"), "name the card with 'nic'",
                "%u cards of no kind", (guint) request->nics);
  else if (request->nic != NULL && !none && nics == 0)
    diag_error (reader->diags, READER_MARK (reader, "nic"), "give their number with 'nics'",
                "nic '%s' without any cards", id);
  else
    {
      group->nics = none ? 0 : (guint) nics;
      group->nic_id = g_strdup (group->nics > 0 ? id : NULL);
      group->profile.nic = group->nic_id;
      set_count (group, &group->profile.nics, group->nics);
    }
}

/* p5 has the most of what is sold, 32 for 8 GPUs (hwprofiles/node/p5.yaml): twice that */
#define MOST_CARDS_OF_A_GPU 8

/* Plain hosts have no GPUs that count. */
static gboolean
check_cards (ClusterReader *reader, const NodeGroup *group)
{
  if (gpu_profile_is_host (group->gpu) || group->nics <= MOST_CARDS_OF_A_GPU * group->slots)
    return TRUE;
  diag_error (reader->diags, READER_MARK (reader, "nics", "nic"),
              "nodes that are sold have up to four cards a GPU",
              "%u network cards for %u GPUs: at most %d each", group->nics, group->slots,
              MOST_CARDS_OF_A_GPU);
  return FALSE;
}

static gboolean
load_parts (ClusterReader *reader, NodeGroup *group, const GroupRequest *request)
{
  guint errors = diag_list_n_errors (reader->diags);
  group->gpu_id = pick_id (reader, request->gpu, group->profile.gpu, "gpu");
  if (group->gpus == 1 && request->intra == NULL && group->profile.intra == NULL)
    group->intra_id = g_strdup ("none");
  else
    group->intra_id = pick_id (reader, request->intra, group->profile.intra, "intra");
  set_cards (reader, group, request);
  if (group->gpu_id != NULL)
    group->gpu = profile_set_gpu (reader->profiles, group->gpu_id,
                                  READER_MARK (reader, "gpu", "node", "name"), reader->diags);
  if (group->intra_id != NULL)
    group->intra = profile_set_link (reader->profiles, group->intra_id,
                                     READER_MARK (reader, "intra", "node", "name"), reader->diags);
  if (group->nic_id != NULL)
    group->nic = profile_set_link (reader->profiles, group->nic_id,
                                   READER_MARK (reader, "nic", "node", "name"), reader->diags);
  group->profile.gpu = group->gpu_id;
  group->profile.intra = group->intra_id;
  return diag_list_n_errors (reader->diags) == errors && group->gpu != NULL && group->intra != NULL;
}

/* FALSE after a diagnostic: the cards of GROUP are those of the profile ID from now on. */
static gboolean
replace_cards (ClusterReader *reader, NodeGroup *group, const char *id, const SourceMark *mark)
{
  g_free (group->nic_id);
  group->nic_id = g_strdup (id);
  group->profile.nic = group->nic_id;
  group->nic = profile_set_link (reader->profiles, group->nic_id, mark, reader->diags);
  return group->nic != NULL;
}

/* Cards that nodes of older GPUs have in an older make. FALSE after a diagnostic. */
static gboolean
settle_make (ClusterReader *reader, NodeGroup *group)
{
  const LinkProfile *nic = group->nic;
  g_auto (GStrv)     older = NULL;

  if (nic == NULL || nic->older_gpus == NULL || nic->beside_older == NULL
      || strcmp (nic->beside_older, nic->id) == 0)
    return TRUE;
  older = g_strsplit (nic->older_gpus, " ", -1);
  return !g_strv_contains ((const char *const *) older, group->gpu->architecture)
         || replace_cards (reader, group, nic->beside_older,
                           READER_MARK (reader, "nic", "node", "name"));
}

/* What the cards are under older releases of the library. FALSE after a diagnostic. */
static gboolean
find_older (ClusterReader *reader, NodeGroup *group)
{
  const LinkProfile *nic = group->nic;
  g_auto (GStrv)     gpus = NULL;

  if (nic == NULL || nic->under_older == NULL || strcmp (nic->under_older, nic->id) == 0)
    return TRUE;
  gpus = g_strsplit (nic->under_older_gpus != NULL ? nic->under_older_gpus : "", " ", -1);
  if (gpus[0] != NULL && !g_strv_contains ((const char *const *) gpus, group->gpu->architecture))
    return TRUE;
  group->older_nic = profile_set_link (reader->profiles, nic->under_older,
                                       READER_MARK (reader, "nic", "node", "name"), reader->diags);
  return group->older_nic != NULL;
}

/* FALSE after a diagnostic: the cards have no profile that says what they do under sockets. */
static gboolean
drive_through_sockets (ClusterReader *reader, NodeGroup *group)
{
  const SourceMark *mark = READER_MARK (reader, "nic_sockets", "nic", "node", "name");
  if (!reader->cluster->nic_sockets || group->nic == NULL)
    return TRUE;
  if (group->nic->over_sockets == NULL)
    {
      diag_error (reader->diags, mark, "name a 'tcp-...' card, or leave 'nic_sockets' out",
                  "nic '%s' does not say what it is over sockets", group->nic->id);
      return FALSE;
    }
  return replace_cards (reader, group, group->nic->over_sockets, mark);
}

/*
 * Where nothing says how GPUs and cards hang, boards with an NVSwitch are taken to have a PCIe
 * switch a GPU, with an uplink as fast as the GPU's own link. It is of no use to anything but
 * access control.
 */
static void
assume_switches (ClusterReader *reader, NodeGroup *group)
{
  if (!reader->cluster->pcie_acs || group->intra->kind != LINK_SWITCH)
    return;
  set_count (group, &group->profile.pcie_switches, group->gpus);
  set_count (group, &group->profile.pcie_uplink, group->gpu->host_link.value);
}

static gboolean
fill_group (ClusterReader *reader, NodeGroup *group, const GroupRequest *request)
{
  gboolean           generic = request->node == NULL;
  const char        *node = generic ? GENERIC_NODE : request->node;
  const NodeProfile *profile = profile_set_node (
      reader->profiles, node, READER_MARK (reader, "node", "name"), reader->diags);
  if (profile == NULL)
    return FALSE;
  if (generic && request->gpus_per_node == 0)
    {
      diag_error (reader->diags, READER_MARK (reader, "name"),
                  "give 'gpus_per_node', or name a node profile with 'node'",
                  "the cluster has no 'gpus_per_node'");
      return FALSE;
    }
  group->profile = *profile;
  group->override_source = g_strdup ("the scenario");
  group->gpus =
      request->gpus_per_node > 0 ? (guint) request->gpus_per_node : (guint) profile->gpus.value;
  if (!load_parts (reader, group, request) || !check_shape (reader, group, node, generic)
      || !settle_make (reader, group) || !drive_through_sockets (reader, group)
      || !find_older (reader, group))
    return FALSE;
  if (generic)
    assume_switches (reader, group);
  group->unplaced = generic;
  group->slots = generic ? group->gpus : (guint) profile->gpus.value;
  if (!check_cards (reader, group))
    return FALSE;
  group->sockets = (guint) profile->sockets.value;
  group->switches = (guint) group->profile.pcie_switches.value;
  group->upper = (guint) profile->pcie_upper.value;
  if (group->gpus != (guint) profile->gpus.value)
    set_count (group, &group->profile.gpus, group->gpus);
  if (request->dram_bytes > 0)
    set_count (group, &group->profile.dram_bytes, request->dram_bytes);
  node_group_place (group);
  return TRUE;
}

void
node_group_clear (gpointer data)
{
  NodeGroup *self = data;
  g_free (self->gpu_id);
  g_free (self->intra_id);
  g_free (self->nic_id);
  g_free (self->override_source);
  g_free (self->gpu_at);
  g_free (self->card_at);
}

/* MPI between plain hosts, NCCL between GPUs: nothing joins the two. */
static gboolean
is_of_one_sort (ClusterReader *reader, const NodeGroup *group)
{
  const GArray *groups = reader->cluster->groups;
  if (groups->len == 0
      || gpu_profile_is_host (g_array_index (groups, NodeGroup, 0).gpu)
             == gpu_profile_is_host (group->gpu))
    return TRUE;
  diag_error (reader->diags, READER_MARK (reader, "name"), NULL,
              "plain hosts and GPUs in one cluster");
  return FALSE;
}

void
cluster_add_group (ClusterReader *reader, const GroupRequest *request)
{
  Cluster  *cluster = reader->cluster;
  NodeGroup group = { .first_node = cluster->n_nodes,
                      .first_gpu = cluster->n_gpus,
                      .first_card = cluster->n_cards };
  if (request->nodes <= 0)
    diag_error (reader->diags, READER_MARK (reader, "nodes", "name"), "give 'nodes', at least 1",
                "the cluster has no nodes");
  else if (fill_group (reader, &group, request))
    {
      guint64 gpus = cluster->n_gpus + (guint64) request->nodes * group.gpus;
      group.n_nodes = (guint) request->nodes;
      if (gpus > CLUSTER_MAX_GPUS)
        diag_error (reader->diags, READER_MARK (reader, "nodes", "name"), NULL,
                    "the cluster has %" G_GUINT64_FORMAT " GPUs, at most %u", gpus,
                    CLUSTER_MAX_GPUS);
      else if (is_of_one_sort (reader, &group))
        {
          g_array_append_val (cluster->groups, group);
          cluster->n_nodes += group.n_nodes;
          cluster->n_gpus = (guint) gpus;
          cluster->n_cards += group.n_nodes * group.nics;
          return;
        }
    }
  node_group_clear (&group);
}
