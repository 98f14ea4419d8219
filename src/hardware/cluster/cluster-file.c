/* A cluster profile, a file of hwprofiles/cluster: its fabric and its groups of nodes. */
#include <string.h>

#include "hardware/cluster/cluster-reader-private.h"
#include "hardware/profile/profile-tables-private.h"

#define GROUP(member) G_STRUCT_OFFSET (GroupRequest, member)

/* An entry of `groups:`. */
static const OptionSpec group_options[] = {
  { .key = "nodes", .type = OPTION_INT, .offset = GROUP (nodes), .min = 1, .max = 1e6 },
  { .key = "gpus_per_node",
    .type = OPTION_INT,
    .offset = GROUP (gpus_per_node),
    .optional = TRUE,
    .min = 1,
    .max = 1024 },
  { .key = "nics",
    .type = OPTION_INT,
    .offset = GROUP (nics),
    .fallback = "-1",
    .min = -1,
    .max = 256 },
  { .key = "node", .type = OPTION_STRING, .offset = GROUP (node), .optional = TRUE },
  { .key = "gpu", .type = OPTION_STRING, .offset = GROUP (gpu), .optional = TRUE },
  { .key = "intra", .type = OPTION_STRING, .offset = GROUP (intra), .optional = TRUE },
  { .key = "nic", .type = OPTION_STRING, .offset = GROUP (nic), .optional = TRUE },
  { .key = "dram_bytes",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .offset = GROUP (dram_bytes),
    .optional = TRUE,
    .min = 1e6,
    .max = 1e15 },
  { 0 },
};

/* The keys of `cluster` that a file may have. */
static const char *const fabric_keys[] = { "fabric",       "routing",
                                           "leaf_nodes",   "oversubscription",
                                           "slow_gpus",    "measured",
                                           "group_nodes",  "spine_oversubscription",
                                           "taper",        "uplinks",
                                           "routing_seed", "slow_nics",
                                           "gpu_direct",   "fabric_nodes",
                                           "hosts",        "background",
                                           "qps",          NULL };

/* ---- the fabric ------------------------------------------------------------------------------ */

static void
fact_clear (gpointer data)
{
  Fact *fact = &((ClusterFact *) data)->fact;

  g_free (fact->value);
  g_free (fact->source);
}

/* Whether the file vouches for KEY: { value, source, confidence } instead of a plain value. */
static gboolean
has_fact (const ConfigNode *root, const char *key)
{
  const ConfigNode *node = config_node_get (root, key);

  return node != NULL && config_node_kind (node) == CONFIG_MAP
         && g_strv_contains (fabric_keys, key);
}

/* Of PROFILE, all that the file says without a source. */
static void
read_plain (ClusterReader *reader, const ConfigNode *root, ClusterOptions *profile)
{
  g_autoptr (GPtrArray) ignored = g_ptr_array_new ();

  g_ptr_array_add (ignored, (gpointer) "title");
  g_ptr_array_add (ignored, (gpointer) "groups");
  for (guint i = 0; fabric_keys[i] != NULL; i++)
    if (has_fact (root, fabric_keys[i]))
      g_ptr_array_add (ignored, (gpointer) fabric_keys[i]);
  g_ptr_array_add (ignored, NULL);
  option_load_map (cluster_options, profile, root, (const char *const *) ignored->pdata,
                   reader->diags);
}

/* The value of SPEC in PROFILE, which the file vouches for. */
static void
read_fact (ClusterReader *reader, const OptionSpec *spec, const ConfigNode *node,
           ClusterOptions *profile, Fact *fact)
{
  profile_read_fact (spec->key, node, fact, reader->diags);
  if (fact->value != NULL)
    option_set (spec, profile, fact->value, config_node_mark (config_node_get (node, "value")),
                reader->diags);
}

/* Gives FABRIC the value of SPEC that PROFILE has. */
static void
take (ClusterReader *reader, const OptionSpec *spec, const ClusterOptions *profile,
      ClusterOptions *fabric, const ConfigNode *node)
{
  g_autofree char *text = option_format (spec, profile);

  if (*text != '\0')
    option_set (spec, fabric, text, config_node_mark (node), reader->diags);
}

/* Fabric options that the scenario leaves at their defaults come from the cluster profile. */
static void
read_fabric (ClusterReader *reader, const ConfigNode *root, ClusterOptions *fabric)
{
  GArray        *facts = g_array_new (FALSE, TRUE, sizeof (ClusterFact));
  ClusterOptions defaults = { 0 }, profile = { 0 };

  g_array_set_clear_func (facts, fact_clear);
  option_table_defaults (cluster_options, &defaults);
  option_table_defaults (cluster_options, &profile);
  read_plain (reader, root, &profile);
  for (const OptionSpec *spec = cluster_options; spec->key != NULL; spec++)
    {
      const ConfigNode *node = config_node_get (root, spec->key);
      g_autofree char  *fallback = option_format (spec, &defaults);
      g_autofree char  *asked = option_format (spec, fabric);
      ClusterFact       fact = { .key = spec->key };

      if (node == NULL)
        continue;
      if (!g_strv_contains (fabric_keys, spec->key))
        diag_error (reader->diags, config_node_mark (node), "nodes are listed under 'groups'",
                    "'%s' does not belong in a cluster profile", spec->key);
      else if (strcmp (fallback, asked) == 0)
        {
          if (has_fact (root, spec->key))
            {
              read_fact (reader, spec, node, &profile, &fact.fact);
              g_array_append_val (facts, fact);
            }
          take (reader, spec, &profile, fabric, node);
        }
    }
  option_table_clear (cluster_options, &defaults);
  option_table_clear (cluster_options, &profile);
  reader->cluster->facts = facts;
}

/* ---- its nodes ------------------------------------------------------------------------------- */

/*
 * Nodes of the scenario, where it gives them, stand for those of the one group: some of those that
 * its fabric has.
 */
static void
read_groups (ClusterReader *reader, const ConfigNode *root, ClusterOptions *options)
{
  const gint64   nodes = options->nodes;
  const gboolean shared = nodes > 0 && options->fabric_nodes == 0 && options->hosts == NULL
                          && (options->leaf_nodes > 0 || options->group_nodes > 0);
  const ConfigNode *groups = config_node_get (root, "groups");
  if (groups == NULL || config_node_kind (groups) != CONFIG_LIST
      || config_node_length (groups) == 0)
    {
      diag_error (reader->diags, config_node_mark (groups != NULL ? groups : root),
                  "write groups: [{ nodes: 2, node: dgx-a100 }, ...]", "the cluster has no nodes");
      return;
    }
  if (nodes > 0 && config_node_length (groups) > 1)
    diag_error (reader->diags, READER_MARK (reader, "nodes"), NULL,
                "'nodes' cannot be combined with a cluster profile of unlike nodes");
  for (guint i = 0; i < config_node_length (groups); i++)
    {
      const ConfigNode *item = config_node_item (groups, i);
      GroupRequest      request = { 0 };
      OptionMarks       marks = { .table = group_options };
      ClusterReader     inner = *reader;
      option_marks_load (&marks, item);
      inner.marks = &marks;
      option_table_defaults (group_options, &request);
      if (config_node_expect (item, CONFIG_MAP, reader->diags)
          && option_load_map (group_options, &request, item, NULL, reader->diags))
        {
          options->fabric_nodes = shared ? request.nodes : options->fabric_nodes;
          request.nodes = nodes > 0 ? nodes : request.nodes;
          cluster_add_group (&inner, &request);
        }
      option_table_clear (group_options, &request);
      option_marks_clear (&marks);
    }
}

void
cluster_read_file (ClusterReader *reader, const char *file, ClusterOptions *options)
{
  const ConfigDoc *doc = profile_set_cluster (reader->profiles, file, reader->diags);
  if (doc == NULL || !config_node_expect (config_doc_root (doc), CONFIG_MAP, reader->diags))
    return;
  read_fabric (reader, config_doc_root (doc), options);
  read_groups (reader, config_doc_root (doc), options);
}
