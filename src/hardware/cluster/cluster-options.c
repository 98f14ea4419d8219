/*
 * From the words of a scenario to groups of nodes. Three ways to say it: a name ("4 x dgx-a100",
 * a node profile, a profile of hwprofiles/cluster), a node profile with overrides, or parts on
 * the node profile `generic`.
 */
#include <stdlib.h>
#include <string.h>

#include "base/config/suggest.h"
#include "hardware/cluster/cluster-reader-private.h"

#define OPTION(member) G_STRUCT_OFFSET (ClusterOptions, member)

static const char *const fabrics[] = { "leaf-spine", "rails", "fat-tree", "dragonfly", NULL };
static const char *const routings[] = { "spray", "d-mod-k", "ecmp", "adaptive", "auto", NULL };
static const char *const gpu_directs[] = { "auto", "off", NULL };

const OptionSpec cluster_options[] = {
  { .key = "name",
    .type = OPTION_STRING,
    .offset = OPTION (name),
    .optional = TRUE,
    .help = "a node profile, a cluster profile, or a shorthand such as '4 x dgx-a100', "
            "or a sum of them" },
  { .key = "nodes",
    .type = OPTION_INT,
    .offset = OPTION (nodes),
    .optional = TRUE,
    .min = 1,
    .max = 1e6,
    .help = "number of nodes" },
  { .key = "gpus_per_node",
    .type = OPTION_INT,
    .offset = OPTION (gpus_per_node),
    .optional = TRUE,
    .min = 1,
    .max = 1024,
    .help = "GPUs used on a node, its first ones" },
  { .key = "gpu",
    .type = OPTION_STRING,
    .offset = OPTION (gpu),
    .optional = TRUE,
    .help = "GPU profile" },
  { .key = "intra",
    .type = OPTION_STRING,
    .offset = OPTION (intra),
    .optional = TRUE,
    .help = "link profile between the GPUs of a node" },
  { .key = "nics",
    .type = OPTION_INT,
    .offset = OPTION (nics),
    .fallback = "-1",
    .min = -1,
    .max = 256,
    .help = "network cards a node; -1 = the node's own" },
  { .key = "nic",
    .type = OPTION_STRING,
    .offset = OPTION (nic),
    .optional = TRUE,
    .help = "link profile of a network card" },
  { .key = "node",
    .type = OPTION_STRING,
    .offset = OPTION (node),
    .optional = TRUE,
    .help = "node profile whose parts the other options override" },
  { .key = "fabric",
    .type = OPTION_ENUM,
    .choices = fabrics,
    .offset = OPTION (fabric),
    .fallback = "leaf-spine",
    .help = "which leaf a card is cabled to, its node's or its rail's, and what joins the leaves" },
  { .key = "routing",
    .type = OPTION_ENUM,
    .choices = routings,
    .offset = OPTION (routing),
    .fallback = "auto",
    .needs = "a second leaf",
    .help = "how traffic spreads over the spines: evenly (adaptive is modelled as spray), or each "
            "pair of cards over one; auto = as the network card's profile says" },
  { .key = "leaf_nodes",
    .type = OPTION_INT,
    .offset = OPTION (leaf_nodes),
    .fallback = "0",
    .min = 0,
    .max = 1e6,
    .needs = "a second leaf",
    .help = "nodes under one leaf; 0 = all" },
  { .key = "oversubscription",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    .offset = OPTION (oversubscription),
    .fallback = "1",
    .min = 0.1,
    .max = 1000,
    .needs = "a second leaf",
    .help = "a leaf's downlinks over its uplinks; below 1: more uplinks than it needs" },
  { .key = "slow_gpus",
    .type = OPTION_STRING,
    .offset = OPTION (slow_gpus),
    .optional = TRUE,
    .help = "GPU:fraction of its speed that is left, 0.001 to 1, as in '3:0.8,17:0.5'" },
  { .key = "dram_bytes",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .offset = OPTION (dram_bytes),
    .optional = TRUE,
    .min = 1e6,
    .max = 1e15,
    .help = "host memory a node; unset = the node's own" },
  { .key = "figure",
    .type = OPTION_STRING,
    .offset = OPTION (figure),
    .optional = TRUE,
    .pairs = TRUE,
    .help = "a figure of the hardware that is not as its profile says, NAME=VALUE as in "
            "'nic.bandwidth=200 Gbit/s': of gpu, intra, nic, node or framework; may be repeated" },
  { .key = "measured",
    .type = OPTION_STRING,
    .offset = OPTION (measured),
    .optional = TRUE,
    .help =
        "bus bandwidths that nccl-tests printed over all GPUs, as in 'all_reduce 1GiB 94 GB/s', "
        "separated by commas: the network is scaled to them" },
  { .key = "group_nodes",
    .type = OPTION_INT,
    .offset = OPTION (group_nodes),
    .fallback = "0",
    .min = 0,
    .max = 1e6,
    .needs = "a second group of nodes",
    .help = "nodes of a pod under the core, or of a dragonfly's group; 0 = all" },
  { .key = "spine_oversubscription",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    .offset = OPTION (spine_oversubscription),
    .fallback = "1",
    .min = 1,
    .max = 1000,
    .needs = "a second pod",
    .help = "a pod's links from its leaves over those to the core" },
  { .key = "taper",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    .offset = OPTION (taper),
    .fallback = "1",
    .min = 0.001,
    .max = 10,
    .needs = "a dragonfly",
    .help = "a dragonfly group's links to others over what its cards inject" },
  { .key = "uplinks",
    .type = OPTION_INT,
    .offset = OPTION (uplinks),
    .fallback = "0",
    .min = 0,
    .max = 4096,
    .needs = "a choice of uplinks",
    .help = "uplinks of a leaf that routing chooses among; 0 = each of a card's rate" },
  { .key = "routing_seed",
    .type = OPTION_INT,
    .offset = OPTION (routing_seed),
    .fallback = "0",
    .min = 0,
    .max = 1e9,
    .needs = "routes that are drawn",
    .help = "seed of ecmp's choices" },
  { .key = "slow_nics",
    .type = OPTION_STRING,
    .offset = OPTION (slow_nics),
    .optional = TRUE,
    .needs = "a second node",
    .help = "node.card:fraction of its rate that is left, 0.001 to 1, as in '3.0:0.5'" },
  { .key = "gpu_direct",
    .type = OPTION_ENUM,
    .choices = gpu_directs,
    .offset = OPTION (gpu_direct),
    .fallback = "auto",
    .needs = "a second node",
    .help = "off = network traffic is staged in host memory" },
  { .key = "pcie_acs",
    .type = OPTION_BOOL,
    .offset = OPTION (pcie_acs),
    .fallback = "false",
    .help = "PCIe access control (ACS) is on: traffic between devices under one switch goes up to "
            "the root complex and down again",
    .source = "NCCL troubleshooting guide, PCI Access Control Services" },
  { .key = "nic_sockets",
    .type = OPTION_BOOL,
    .offset = OPTION (nic_sockets),
    .fallback = "false",
    .help = "the library drives the cards through sockets, as on Slingshot without its hook: the "
            "profile that the card names as 'over_sockets'" },
  { .key = "fabric_nodes",
    .type = OPTION_INT,
    .offset = OPTION (fabric_nodes),
    .fallback = "0",
    .min = 0,
    .max = 1e6,
    .needs = "a second leaf",
    .help = "nodes under the whole fabric, other jobs' among them; 0 = the cluster profile's, or "
            "no others" },
  { .key = "hosts",
    .type = OPTION_STRING,
    .offset = OPTION (hosts),
    .optional = TRUE,
    .needs = "a second leaf",
    .help = "names of the fabric's nodes in order, as in 'gpu[001-128]'; unset = node0, node1, "
            "..." },
  { .key = "placement",
    .type = OPTION_STRING,
    .file = TRUE,
    .offset = OPTION (placement),
    .fallback = "packed",
    .help = "which nodes of the fabric the job has: packed, spread:L (evenly over L leaves), "
            "random (drawn, in any order), scattered (drawn, in the fabric's order), or a file "
            "with a host a line" },
  { .key = "placement_seed",
    .type = OPTION_INT,
    .offset = OPTION (placement_seed),
    .fallback = "0",
    .min = 0,
    .max = 1e9,
    .needs = "a placement that is drawn",
    .help = "seed of placements that are drawn" },
  { .key = "background",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    .offset = OPTION (background),
    .fallback = "0",
    .min = 0,
    .max = 0.99,
    .needs = "a second leaf",
    .help = "share of every link between leaves that other jobs use, as in '30 %'" },
  { .key = "qps",
    .type = OPTION_INT,
    .offset = OPTION (qps),
    .fallback = "1",
    .min = 1,
    .max = FABRIC_QPS_MAX,
    .needs = "routes that are drawn",
    .help = "queue pairs of a connection (a channel between two cards), which ecmp hashes one by "
            "one",
    .source = "NCCL_IB_QPS_PER_CONNECTION" },
  { .key = "placements",
    .type = OPTION_INT,
    .offset = OPTION (placements),
    .fallback = "0",
    .min = 0,
    .max = 10000,
    .help = "draws of placement and hashes that a band of step times is taken over, from the "
            "seeds on; 0 = no band" },
  { .key = "sites",
    .type = OPTION_STRING,
    .file = TRUE,
    .offset = OPTION (sites),
    .optional = TRUE,
    .help = "nodes are at several sites: a CSV matrix of the links between these, the name of one "
            "in hwprofiles/sites, or '8 x 1 Gbit/s 60 ms' for eight that are all joined so" },
  { .key = "site_nodes",
    .type = OPTION_STRING,
    .offset = OPTION (site_nodes),
    .optional = TRUE,
    .needs = "sites",
    .help = "nodes of each site in rank order, as in '2,4' or 'oregon:2,tokyo:4'; unset = divided "
            "evenly over all" },
  { .key = "wan_streams",
    .type = OPTION_INT,
    .offset = OPTION (wan_streams),
    .fallback = "1",
    .min = 1,
    .max = 1024,
    .needs = "sites",
    .help = "TCP connections of a flow between sites",
    .source = "NCCL_NSOCKS_PERTHREAD x NCCL_SOCKET_NTHREADS" },
  { .key = "wan_window",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .offset = OPTION (wan_window),
    .optional = TRUE,
    .min = 1000,
    .max = 1e12,
    .needs = "sites",
    .help = "window of a TCP connection between sites; unset = no limit",
    .source = "net.ipv4.tcp_wmem, tcp_rmem" },
  { 0 },
};

/* ---- names ----------------------------------------------------------------------------------- */

/* Splits "4 x dgx-a100" ("4xdgx-a100"); FALSE when TEXT has no such form. */
static gboolean
split_shorthand (const char *text, gint64 *nodes, const char **node)
{
  char  *end;
  gint64 n = g_ascii_strtoll (text, &end, 10);
  if (end == text || !g_ascii_isdigit (text[0]))
    return FALSE;
  while (*end == ' ')
    end++;
  if (*end != 'x' && *end != '*')
    return FALSE;
  end++;
  while (*end == ' ')
    end++;
  if (*end == '\0')
    return FALSE;
  *nodes = n;
  *node = end;
  return TRUE;
}

void
cluster_options_split_name (ClusterOptions *options)
{
  const char *node;
  char       *name;
  gint64      nodes;

  if (options->name == NULL || strchr (options->name, '+') != NULL
      || !split_shorthand (options->name, &nodes, &node))
    return;
  name = g_strdup (node); /* a part of the old one */
  g_free (options->name);
  options->name = name;
  options->nodes = nodes;
}

static gboolean
check_alone (ClusterReader *reader, const ClusterOptions *options, const char *what)
{
  const char *extra = options->node != NULL        ? "node"
                      : options->gpus_per_node > 0 ? "gpus_per_node"
                      : options->gpu != NULL       ? "gpu"
                      : options->intra != NULL     ? "intra"
                      : options->nics >= 0         ? "nics"
                      : options->nic != NULL       ? "nic"
                      : options->dram_bytes > 0    ? "dram_bytes"
                                                   : NULL;
  if (extra != NULL)
    diag_error (reader->diags, READER_MARK (reader, extra),
                "a cluster by name says what its nodes are",
                "'%s' cannot be combined with the %s '%s'", extra, what, options->name);
  return extra == NULL;
}

/*
 * What to say where a GPU was named and a node was wanted: the nodes that have it, and the way by
 * parts. NULL where WORD names no GPU.
 */
static char *
hint_of_gpu (ClusterReader *reader, const char *word)
{
  g_auto (GStrv)           gpus = profile_set_list (reader->profiles, "gpu");
  g_auto (GStrv)           meant = suggest_containing (word, (const char *const *) gpus);
  g_auto (GStrv)           nodes = profile_set_list (reader->profiles, "node");
  g_autoptr (GStrvBuilder) having = g_strv_builder_new ();
  g_autoptr (DiagList)     ignored = diag_list_new ();
  g_auto (GStrv)           found = NULL;
  g_autofree char         *list = NULL, *gpu_words = NULL;

  if (meant[0] == NULL)
    return NULL;
  for (guint i = 0; nodes[i] != NULL; i++)
    {
      const NodeProfile *node = profile_set_node (reader->profiles, nodes[i], NULL, ignored);

      if (node != NULL && node->gpu != NULL
          && g_strv_contains ((const char *const *) meant, node->gpu))
        g_strv_builder_add (having, nodes[i]);
    }
  found = g_strv_builder_end (having);
  list = g_strjoinv (", ", found);
  gpu_words = g_strjoinv ("|", meant);
  return g_strdup_printf ("that is a GPU; %s%s%sby parts: --nodes N --gpus-per-node G --gpu %s "
                          "--intra LINK --nics N --nic LINK",
                          found[0] != NULL ? "nodes that have it: " : "", list,
                          found[0] != NULL ? "; or " : "", gpu_words);
}

/* No node: a cluster where one was wanted, or neither, when names of both are worth suggesting. */
static void
unknown_name (ClusterReader *reader, const char *name)
{
  if (profile_set_has (reader->profiles, "cluster", name))
    {
      diag_error (reader->diags, READER_MARK (reader, "name"),
                  "name it alone, or nodes: '4 x dgx-a100'", "'%s' is a cluster, not a node", name);
      return;
    }
  if (g_regex_match_simple ("^[0-9]+ *[xX]$", name, 0, 0))
    {
      diag_error (reader->diags, READER_MARK (reader, "name"), "such as '4 x dgx-a100'",
                  "'%s' names no node", name);
      return;
    }
  g_auto (GStrv)        nodes = profile_set_list (reader->profiles, "node");
  g_auto (GStrv)        clusters = profile_set_list (reader->profiles, "cluster");
  g_autoptr (GPtrArray) all = g_ptr_array_new ();
  for (guint i = 0; nodes[i] != NULL; i++)
    g_ptr_array_add (all, nodes[i]);
  for (guint i = 0; clusters[i] != NULL; i++)
    g_ptr_array_add (all, clusters[i]);
  g_ptr_array_add (all, NULL);
  g_autofree char *hint = hint_of_gpu (reader, name);
  if (hint == NULL)
    hint = suggest_hint (name, (const char *const *) all->pdata);
  diag_error (reader->diags, READER_MARK (reader, "name"), hint, "unknown cluster or node '%s'",
              name);
}

static void
read_nodes (ClusterReader *reader, const ClusterOptions *options, gint64 nodes, const char *node)
{
  const GroupRequest request = {
    .nodes = nodes,
    .gpus_per_node = options->gpus_per_node,
    .nics = options->nics,
    .node = (char *) node,
    .gpu = options->gpu,
    .intra = options->intra,
    .nic = options->nic,
    .dram_bytes = options->dram_bytes,
  };
  cluster_add_group (reader, &request);
}

/* "2 x dgx-a100 + 2 x dgx-h100": unlike nodes, each kind as its profile has it. */
static void
read_sum (ClusterReader *reader, const ClusterOptions *options)
{
  g_auto (GStrv)       terms = g_strsplit (options->name, "+", -1);
  const ClusterOptions none = { .nics = -1 };
  if (!check_alone (reader, options, "sum of nodes"))
    return;
  if (options->nodes > 0)
    diag_error (reader->diags, READER_MARK (reader, "nodes"), NULL,
                "both 'name' and 'nodes' give the number of nodes");
  for (guint i = 0; terms[i] != NULL; i++)
    {
      gint64           nodes = 1;
      const char      *node = g_strstrip (terms[i]);
      g_autofree char *file = NULL;
      split_shorthand (node, &nodes, &node);
      file = profile_set_file (reader->profiles, "node", node);
      if (file == NULL)
        unknown_name (reader, node);
      else
        read_nodes (reader, &none, nodes, node);
    }
}

static void
read_name (ClusterReader *reader, ClusterOptions *options)
{
  gint64           nodes = 0;
  const char      *node = options->name;
  g_autofree char *file = profile_set_file (reader->profiles, "cluster", options->name);
  if (file != NULL)
    {
      if (check_alone (reader, options, "cluster profile"))
        cluster_read_file (reader, file, options);
      return;
    }
  if (strchr (options->name, '+') != NULL)
    {
      read_sum (reader, options);
      return;
    }
  gboolean         shorthand = split_shorthand (options->name, &nodes, &node);
  g_autofree char *node_file = profile_set_file (reader->profiles, "node", node);
  if (node_file == NULL)
    unknown_name (reader, node);
  else if (options->node != NULL)
    diag_error (reader->diags, READER_MARK (reader, "node"), NULL,
                "both 'name' and 'node' name a node");
  else if (shorthand && options->nodes > 0)
    diag_error (reader->diags, READER_MARK (reader, "nodes"), NULL,
                "both 'name' and 'nodes' give the number of nodes");
  else
    read_nodes (reader, options, shorthand ? nodes : MAX (options->nodes, 1), node);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void
check_network (ClusterReader *reader)
{
  Cluster *cluster = reader->cluster;
  for (guint i = 0; cluster->n_nodes > 1 && i < cluster->groups->len; i++)
    if (g_array_index (cluster->groups, NodeGroup, i).nics == 0)
      {
        diag_error (reader->diags, READER_MARK (reader, "nics", "nic", "nodes", "name"),
                    "give 'nics' and 'nic'", "%u nodes without a network card", cluster->n_nodes);
        break;
      }
}

/*
 * What the cards' network does where nothing else is said, and only where there is something to
 * choose: a zeroed struct's routing is spray. Adaptive routing evens out what it sees: spray.
 */
static void
settle_routing (const Cluster *self, ClusterOptions *options)
{
  const gboolean chooses = options->leaf_nodes > 0 || options->fabric != FABRIC_LEAF_SPINE;
  const gboolean automatic = options->routing == ROUTING_AUTO;
  if (automatic || options->routing == ROUTING_ADAPTIVE)
    options->routing = ROUTING_SPRAY;
  for (guint i = 0; automatic && chooses && i < self->groups->len; i++)
    {
      const LinkProfile *nic = g_array_index (self->groups, NodeGroup, i).nic;
      if (nic != NULL && nic->routing == LINK_ROUTING_ECMP)
        options->routing = ROUTING_ECMP;
    }
}

static void
set_fabric (Cluster *self, const ClusterOptions *options)
{
  self->gpu_direct = options->gpu_direct == GPU_DIRECT_AUTO;
  self->fabric = (Fabric){
    .kind = (ClusterFabric) options->fabric,
    .routing = (ClusterRouting) options->routing,
    .seed = (guint64) options->routing_seed,
    .leaf_nodes = (guint) options->leaf_nodes,
    .group_nodes = (guint) options->group_nodes,
    .uplinks = (guint) options->uplinks,
    .oversubscription = options->oversubscription > 0 ? options->oversubscription : 1,
    .spine_oversubscription = MAX (options->spine_oversubscription, 1),
    .taper = options->taper > 0 ? options->taper : 1,
    .qps = (guint) CLAMP (options->qps, 1, FABRIC_QPS_MAX),
    .background = options->background,
  };
}

gboolean
cluster_read_options (Cluster *self, const ClusterOptions *options, ProfileSet *profiles,
                      const OptionMarks *marks, DiagList *diags)
{
  ClusterReader  reader = { self, profiles, marks, diags };
  guint          errors = diag_list_n_errors (diags);
  ClusterOptions effective = { 0 };
  option_table_copy (cluster_options, options, &effective);
  self->pcie_acs = options->pcie_acs;
  self->nic_sockets = options->nic_sockets;
  self->groups = g_array_new (FALSE, FALSE, sizeof (NodeGroup));
  g_array_set_clear_func (self->groups, node_group_clear);
  if (effective.name != NULL)
    read_name (&reader, &effective);
  else
    read_nodes (&reader, &effective, effective.nodes, effective.node);
  settle_routing (self, &effective);
  if (diag_list_n_errors (diags) == errors)
    {
      check_network (&reader);
      fabric_check_options (&effective, marks, diags);
      if (effective.slow_nics != NULL)
        cluster_read_slow_nics (self, effective.slow_nics, READER_MARK (&reader, "slow_nics"),
                                diags);
      if (effective.slow_gpus != NULL)
        cluster_read_slow_gpus (self, effective.slow_gpus, READER_MARK (&reader, "slow_gpus"),
                                diags);
      if (effective.measured != NULL)
        cluster_read_measured (self, effective.measured, READER_MARK (&reader, "measured"), diags);
    }
  set_fabric (self, &effective);
  if (diag_list_n_errors (diags) == errors)
    {
      cluster_place_job (self, &effective, profile_set_files (profiles), marks, diags);
      cluster_read_sites (self, &effective, profiles, marks, diags);
    }
  option_table_clear (cluster_options, &effective);
  return diag_list_n_errors (diags) == errors;
}
