#include "hardware/sites/sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/config/suggest.h"
#include "hardware/cluster/cluster-reader-private.h"
#include "hardware/sites/tcp.h"

#define NODES_HINT "nodes of each site in the file's order, '2,4', or by name, 'oregon:2,tokyo:4'"

/* ---- what is where --------------------------------------------------------------------------- */

guint
cluster_n_sites (const Cluster *self)
{
  return self->sites.matrix != NULL ? self->sites.matrix->n : 0;
}

const char *
cluster_site_name (const Cluster *self, guint site)
{
  g_assert (site < cluster_n_sites (self));
  return self->sites.matrix->names[site];
}

guint
cluster_site_of_node (const Cluster *self, guint node)
{
  g_assert (node < self->n_nodes);
  return self->sites.matrix != NULL ? self->sites.of_node[node] : 0;
}

/* Ordered pairs are numbered as those of sockets are. */
static guint
pair_number (const SiteMatrix *matrix, guint from, guint to)
{
  return from * (matrix->n - 1) + to - (to > from);
}

WanLink
cluster_wan_link (const Cluster *self, guint from, guint to)
{
  const Sites    *sites = &self->sites;
  const SiteLink *link = &sites->matrix->links[from * sites->matrix->n + to];

  g_assert (from != to);
  return (WanLink){
    .resource = sites->first + pair_number (sites->matrix, from, to),
    .rate = link->rate,
    .rtt = link->rtt,
    .loss = link->loss,
    .flow = sites->streams * tcp_connection_rate (link->rtt, link->loss, sites->window),
  };
}

gboolean
cluster_wan_between (const Cluster *self, guint from, guint to, WanLink *link)
{
  const guint a = cluster_site_of_node (self, from), b = cluster_site_of_node (self, to);

  if (a != b && link != NULL)
    *link = cluster_wan_link (self, a, b);
  return a != b;
}

/* ---- nodes of the sites ---------------------------------------------------------------------- */

typedef struct
{
  Cluster           *cluster;
  const OptionMarks *marks;
  DiagList          *diags;
} SiteReader;

#define SITE_MARK(self, ...) option_mark ((self)->marks, __VA_ARGS__, NULL)

/* One entry, "4" of site I or "tokyo:4". FALSE after a diagnostic. */
static gboolean
read_entry (const SiteReader *self, const char *text, guint i, guint *site, guint64 *nodes)
{
  const SiteMatrix *matrix = self->cluster->sites.matrix;
  const char       *colon = strrchr (text, ':');
  g_autofree char  *name = colon != NULL ? g_strndup (text, (gsize) (colon - text)) : NULL;
  const gint        found = name != NULL ? site_matrix_find (matrix, g_strstrip (name)) : (gint) i;
  g_autofree char  *hint = NULL;

  if (found < 0)
    {
      hint = suggest_hint (name, (const char *const *) matrix->names);
      diag_error (self->diags, SITE_MARK (self, "site_nodes"), hint,
                  "unknown site '%s' in 'site_nodes'", name);
    }
  else if (found >= (gint) matrix->n
           || !g_ascii_string_to_unsigned (colon != NULL ? colon + 1 : text, 10, 0, 1000000, nodes,
                                           NULL))
    diag_error (self->diags, SITE_MARK (self, "site_nodes"), NODES_HINT,
                found >= (gint) matrix->n ? "entry '%s' of 'site_nodes' is beyond the last site"
                                          : "bad entry '%s' in 'site_nodes'",
                text);
  else
    {
      *site = (guint) found;
      return TRUE;
    }
  return FALSE;
}

/* The nodes of TEXT, in rank order. */
static void
read_site_nodes (const SiteReader *self, const char *text)
{
  const Cluster       *cluster = self->cluster;
  g_auto (GStrv)       items = g_strsplit (text, ",", -1);
  g_autofree gboolean *seen = g_new0 (gboolean, cluster->sites.matrix->n);
  const guint          errors = diag_list_n_errors (self->diags);
  guint64              nodes = 0, sum = 0;
  guint                site = 0;

  for (guint i = 0; items[i] != NULL; i++)
    {
      if (!read_entry (self, g_strstrip (items[i]), i, &site, &nodes))
        continue;
      if (seen[site])
        diag_error (self->diags, SITE_MARK (self, "site_nodes"), "an entry a site",
                    "'site_nodes' names site '%s' twice", cluster->sites.matrix->names[site]);
      seen[site] = TRUE;
      for (guint64 k = 0; k < nodes && sum + k < cluster->n_nodes; k++)
        cluster->sites.of_node[sum + k] = site;
      sum += nodes;
    }
  if (diag_list_n_errors (self->diags) == errors && sum != cluster->n_nodes)
    diag_error (self->diags, SITE_MARK (self, "site_nodes"), NODES_HINT,
                "'site_nodes' adds up to %" G_GUINT64_FORMAT " nodes, the cluster has %u", sum,
                cluster->n_nodes);
}

/* ---- what else the cluster says -------------------------------------------------------------- */

/* Nodes under one switch, which are EACH in a row of the fabric, stand at one site. */
static void
check_switches (const SiteReader *self, guint each, const char *key)
{
  const Cluster      *cluster = self->cluster;
  const Fabric       *fabric = &cluster->fabric;
  g_autofree guint32 *site_of = g_new (guint32, fabric->slots / each + 1);

  for (guint i = 0; i <= fabric->slots / each; i++)
    site_of[i] = NO_RESOURCE;
  for (guint node = 0; node < cluster->n_nodes; node++)
    {
      const guint   slot = fabric->slot_of != NULL ? fabric->slot_of[node] : node;
      guint32      *site = &site_of[slot / each];
      const guint32 own = cluster->sites.of_node[node];

      if (*site != NO_RESOURCE && *site != own)
        {
          diag_error (self->diags, SITE_MARK (self, key, "fabric", "sites"),
                      "'leaf_nodes' and 'group_nodes' that divide the nodes of every site",
                      "nodes under one switch are at two sites, '%s' and '%s'",
                      cluster->sites.matrix->names[*site], cluster->sites.matrix->names[own]);
          return;
        }
      *site = own;
    }
}

static void
check_fabric (const SiteReader *self)
{
  const Fabric *fabric = &self->cluster->fabric;
  const guint   all = MAX (fabric->slots, self->cluster->n_nodes);

  if (fabric->kind == FABRIC_DRAGONFLY)
    diag_error (self->diags, SITE_MARK (self, "fabric"), "leaf-spine, rails or fat-tree",
                "a dragonfly over several sites");
  else if (fabric->leaf_nodes > 0 || fabric->kind == FABRIC_RAILS)
    check_switches (self, fabric->leaf_nodes > 0 ? fabric->leaf_nodes : all, "leaf_nodes");
  if (fabric->kind != FABRIC_DRAGONFLY && fabric->group_nodes > 0)
    check_switches (self, fabric->group_nodes, "group_nodes");
}

gboolean
cluster_sites_is_file (const char *text)
{
  return text != NULL && !site_matrix_is_uniform (text)
         && (strchr (text, '/') != NULL || g_str_has_suffix (text, ".csv"));
}

static const SiteMatrix *
find_matrix (const SiteReader *self, const char *text, ProfileSet *profiles)
{
  const gboolean   is_file = cluster_sites_is_file (text);
  g_autofree char *file = NULL;

  if (site_matrix_is_uniform (text))
    return site_matrix_get_uniform (profile_set_files (profiles), text, SITE_MARK (self, "sites"),
                                    self->diags);
  file = is_file ? g_strdup (text) : profile_set_file (profiles, "sites", text);
  if (file != NULL)
    return site_matrix_get (profile_set_files (profiles), file, SITE_MARK (self, "sites"),
                            self->diags);
  profile_set_unknown (profiles, "sites", text, SITE_MARK (self, "sites"), self->diags);
  return NULL;
}

void
cluster_read_sites (Cluster *self, const ClusterOptions *options, ProfileSet *profiles,
                    const OptionMarks *marks, DiagList *diags)
{
  const SiteReader reader = { self, marks, diags };
  const guint      errors = diag_list_n_errors (diags);

  if (options->sites == NULL)
    return;
  if (options->measured != NULL)
    diag_error (diags, option_mark (marks, "measured", NULL),
                "the matrix of the sites says what was measured between them",
                "'measured' scales one network, not that of several sites");
  self->sites.matrix = find_matrix (&reader, options->sites, profiles);
  if (self->sites.matrix == NULL)
    return;
  self->sites.streams = (double) MAX (options->wan_streams, 1);
  self->sites.window = options->wan_window;
  self->sites.of_node = g_new0 (guint32, self->n_nodes);
  if (options->site_nodes != NULL)
    read_site_nodes (&reader, options->site_nodes);
  else
    {
      Cluster    *cluster = reader.cluster;
      const guint n = cluster->sites.matrix->n;

      /* Node i of n at site i S / n of S. */
      if (n > cluster->n_nodes)
        diag_error (reader.diags, SITE_MARK (&reader, "sites"),
                    "'site_nodes' leaves sites out: 'oregon:1,tokyo:1'", "%u sites but %u nodes", n,
                    cluster->n_nodes);
      for (guint i = 0; i < cluster->n_nodes; i++)
        cluster->sites.of_node[i] = (guint32) ((guint64) i * n / cluster->n_nodes);
    }
  if (diag_list_n_errors (diags) == errors)
    check_fabric (&reader);
}

/* ---- resources ------------------------------------------------------------------------------- */

guint64
sites_lay_out (Cluster *self, guint64 first)
{
  const guint n = cluster_n_sites (self);

  self->sites.first = (guint) first;
  return n > 0 ? (guint64) n * (n - 1) : 0;
}

void
sites_fill (Cluster *self)
{
  const guint n = cluster_n_sites (self);

  for (guint from = 0; from < n; from++)
    for (guint to = 0; to < n; to++)
      if (from != to)
        {
          const WanLink link = cluster_wan_link (self, from, to);

          self->resources[link.resource] = (ClusterResource){
            .kind = RESOURCE_WAN_LINK,
            .capacity = link.rate,
            .efficiency = 1,
            .node = G_MAXUINT32,
            .index = pair_number (self->sites.matrix, from, to),
          };
        }
}

char *
sites_resource_name (const Cluster *self, const ClusterResource *resource)
{
  const SiteMatrix *matrix = self->sites.matrix;
  const guint       from = resource->index / (matrix->n - 1);
  const guint       rest = resource->index % (matrix->n - 1);

  return g_strdup_printf ("%s.to.%s", matrix->names[from],
                          matrix->names[rest < from ? rest : rest + 1]);
}

/* Nodes of each site. Newly allocated. */
static guint *
count_nodes (const Cluster *self)
{
  guint *nodes = g_new0 (guint, cluster_n_sites (self) + 1);

  for (guint i = 0; cluster_n_sites (self) > 0 && i < self->n_nodes; i++)
    nodes[self->sites.of_node[i]]++;
  return nodes;
}

guint
cluster_n_sites_in_use (const Cluster *self)
{
  g_autofree guint *nodes = count_nodes (self);
  guint             used = 0;

  for (guint i = 0; i < cluster_n_sites (self); i++)
    used += nodes[i] > 0;
  return used;
}

void
sites_append_title (const Cluster *self, GString *text)
{
  const guint       n = cluster_n_sites (self);
  g_autofree guint *nodes = count_nodes (self);

  for (guint i = 0, used = 0; i < n; i++)
    if (nodes[i] > 0)
      g_string_append_printf (text, "%s%s %u",
                              used++ > 0      ? ", "
                              : text->len > 0 ? "; nodes of sites: "
                                              : "nodes of sites: ",
                              self->sites.matrix->names[i], nodes[i]);
}
