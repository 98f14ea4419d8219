#include "report/answer/machine.h"

#include "report/document/json-private.h"

/* VALUE with a unit, "" where it is 0. */
static void
add_quantity (struct json_object *object, const char *key, QuantityKind kind, double value)
{
  g_autofree char *text = value > 0 ? quantity_format (kind, value, 3) : g_strdup ("");

  json_add_text (object, key, text);
}

static struct json_object *
place_json (Attachment at)
{
  struct json_object *object = json_object_new_object ();

  json_add_count (object, "socket", at.socket);
  json_object_object_add (object, "switch", json_object_new_int (at.pcie_switch));
  json_object_object_add (object, "upper", json_object_new_int (at.upper));
  return object;
}

/* ---- the first node -------------------------------------------------------------------------- */

static struct json_object *
gpu_json (const GpuProfile *gpu)
{
  struct json_object *object = json_object_new_object ();

  json_add_text (object, "title", gpu->title);
  add_quantity (object, "memory", QUANTITY_BYTES, gpu->hbm_bytes.value);
  add_quantity (object, "host_link", QUANTITY_BANDWIDTH, gpu->host_link.value);
  return object;
}

static gboolean
are_linked (const Cluster *cluster, guint a, guint b)
{
  Route route;

  cluster_route_gpus (cluster, a, b, -1, &route);
  return route.class_ == PATH_NVLINK;
}

/* Pairs of GPUs that a link joins; none where a switch joins all, or nothing does. */
static struct json_object *
pairs_json (const Cluster *cluster, LinkKind kind)
{
  const guint         n = cluster_gpus_of_node (cluster, 0);
  struct json_object *list = json_object_new_array ();

  for (guint b = 0; b < n && (kind == LINK_MESH || kind == LINK_PAIRS || kind == LINK_GRAPH); b++)
    for (guint a = 0; a < b; a++)
      if (are_linked (cluster, a, b))
        {
          struct json_object *pair = json_object_new_array ();

          json_object_array_add (pair, json_object_new_int ((gint) a));
          json_object_array_add (pair, json_object_new_int ((gint) b));
          json_object_array_add (list, pair);
        }
  return list;
}

static struct json_object *
links_json (const Cluster *cluster)
{
  const LinkProfile  *intra = cluster_intra_profile (cluster, 0);
  struct json_object *object = json_object_new_object ();

  json_add_text (object, "title", intra->title);
  json_add_text (object, "kind", link_kind_name (intra->kind));
  add_quantity (object, "bandwidth", QUANTITY_BANDWIDTH, intra->bandwidth.value);
  json_object_object_add (object, "pairs", pairs_json (cluster, intra->kind));
  return object;
}

/* NULL (null) without cards. */
static struct json_object *
card_json (const LinkProfile *nic)
{
  struct json_object *object;
  g_autofree char    *rate = NULL;

  if (nic == NULL)
    return NULL;
  object = json_object_new_object ();
  rate = g_strdup_printf ("%.4g Gbit/s", nic->bandwidth.value * 8e-9);
  json_add_text (object, "title", nic->title);
  json_add_text (object, "bandwidth", rate);
  return object;
}

static struct json_object *
node_json (const Cluster *cluster)
{
  const NodeProfile  *node = cluster_node_profile (cluster, 0);
  struct json_object *object = json_object_new_object ();
  struct json_object *gpus = json_object_new_array (), *cards = json_object_new_array ();

  for (guint i = 0; i < cluster_gpus_of_node (cluster, 0); i++)
    json_object_array_add (gpus, place_json (cluster_gpu_at (cluster, i)));
  for (guint i = 0; i < cluster_nics_of_node (cluster, 0); i++)
    json_object_array_add (cards, place_json (cluster_card_at (cluster, 0, i)));
  json_add_text (object, "title", node->title);
  json_add_count (object, "sockets", (guint64) node->sockets.value);
  add_quantity (object, "socket_link", QUANTITY_BANDWIDTH, node->socket_link.value);
  add_quantity (object, "memory", QUANTITY_BYTES, node->dram_bytes.value);
  add_quantity (object, "drives", QUANTITY_BYTES, node->nvme_bytes.value);
  add_quantity (object, "pcie_uplink", QUANTITY_BANDWIDTH, node->pcie_uplink.value);
  json_object_object_add (object, "gpu", gpu_json (cluster_gpu_profile (cluster, 0)));
  json_object_object_add (object, "gpus", gpus);
  json_object_object_add (object, "links", links_json (cluster));
  json_object_object_add (object, "card", card_json (cluster_nic_profile (cluster, 0)));
  json_object_object_add (object, "cards", cards);
  return object;
}

/* ---- the fabric ------------------------------------------------------------------------------ */

static struct json_object *
fabric_json (const Cluster *cluster)
{
  const FabricShape   shape = cluster_fabric_shape (cluster);
  const OptionSpec   *option = option_table_find (cluster_options, "fabric");
  struct json_object *object = json_object_new_object ();
  g_autofree char    *title = cluster_fabric_title (cluster);

  json_add_text (object, "kind", option->choices[shape.kind]);
  json_add_text (object, "title", title);
  json_add_count (object, "leaves", shape.leaves);
  json_add_count (object, "rails", shape.rails);
  json_add_count (object, "leaf_nodes", shape.leaf_nodes);
  json_add_count (object, "groups", shape.groups);
  json_add_count (object, "group_nodes", shape.group_nodes);
  json_add_number (object, "oversubscription", shape.oversubscription);
  json_add_number (object, "spine_oversubscription", shape.spine_oversubscription);
  json_add_number (object, "taper", shape.taper);
  return object;
}

void
report_machine_json (const Cluster *cluster, GString *out)
{
  struct json_object *root = json_document_new ();

  json_add_text (root, "title", cluster_title (cluster));
  json_add_count (root, "n_nodes", cluster_n_nodes (cluster));
  json_add_count (root, "n_gpus", cluster_n_gpus (cluster));
  json_object_object_add (root, "uniform", json_object_new_boolean (cluster_is_uniform (cluster)));
  json_object_object_add (root, "node", node_json (cluster));
  json_object_object_add (root, "fabric", fabric_json (cluster));
  json_finish (root, out);
}
