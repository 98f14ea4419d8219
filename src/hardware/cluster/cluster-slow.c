/* GPUs and cards that run below their rate: the words of a scenario. */
#include "hardware/cluster/cluster-private.h"

/*
 * What is left of the rate of a part that still works. One that is slower is broken: it would set
 * the pace of the whole job, for years.
 */
#define LEAST_FRACTION 0.001

/* The fraction of TEXT; FALSE when it is malformed or out of range. */
static gboolean
read_fraction (const char *text, double *fraction)
{
  char *end;

  *fraction = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && *fraction >= LEAST_FRACTION && *fraction <= 1;
}

/* One "3:0.8", into SEEN. */
static void
read_slow_gpu (Cluster *cluster, const char *text, GHashTable *seen, const SourceMark *mark,
               DiagList *diags)
{
  char          *end = NULL;
  const guint64  gpu = g_ascii_strtoull (text, &end, 10);
  const gboolean form = g_ascii_isdigit (text[0]) && *end == ':';
  double         fraction = 0;

  if (!form || !read_fraction (end + 1, &fraction))
    diag_error (diags, mark, "write GPU:fraction with a fraction from 0.001 to 1, as in '3:0.8'",
                "bad entry '%s' in 'slow_gpus'", text);
  else if (gpu >= cluster->n_gpus)
    diag_error (diags, mark, "GPUs are counted from 0",
                "'slow_gpus' names GPU %" G_GUINT64_FORMAT " of %u", gpu, cluster->n_gpus);
  else if (!g_hash_table_add (seen, GUINT_TO_POINTER ((guint) gpu)))
    diag_error (diags, mark, "one fraction a GPU",
                "'slow_gpus' names GPU %" G_GUINT64_FORMAT " twice", gpu);
  else
    cluster->speeds[gpu] = fraction;
}

void
cluster_read_slow_gpus (Cluster *cluster, const char *text, const SourceMark *mark, DiagList *diags)
{
  g_auto (GStrv)         items = g_strsplit (text, ",", -1);
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  cluster->speeds = g_new (double, cluster->n_gpus);
  for (guint i = 0; i < cluster->n_gpus; i++)
    cluster->speeds[i] = 1;
  for (guint i = 0; items[i] != NULL; i++)
    read_slow_gpu (cluster, g_strstrip (items[i]), seen, mark, diags);
}

/* One "3.0:0.5"; FALSE after a diagnostic. */
static gboolean
read_slow_nic (Cluster *cluster, const char *text, const SourceMark *mark, DiagList *diags)
{
  char         *end = NULL, *dot = NULL;
  const guint64 node = g_ascii_strtoull (text, &dot, 10);
  const char   *hint = "write node.card:fraction with a fraction from 0.001 to 1, as in '3.0:0.5'";
  guint64       card = 0;
  double        fraction = 0;
  gboolean      form = g_ascii_isdigit (text[0]) && *dot == '.' && g_ascii_isdigit (dot[1]);
  if (form)
    card = g_ascii_strtoull (dot + 1, &end, 10);
  form = form && *end == ':' && read_fraction (end + 1, &fraction);
  if (!form)
    diag_error (diags, mark, hint, "bad entry '%s' in 'slow_nics'", text);
  else if (node >= cluster->n_nodes)
    diag_error (diags, mark, "nodes are counted from 0",
                "'slow_nics' names node %" G_GUINT64_FORMAT " of %u", node, cluster->n_nodes);
  else if (card >= cluster_nics_of_node (cluster, (guint) node))
    diag_error (diags, mark, "cards are counted from 0",
                "'slow_nics' names card %" G_GUINT64_FORMAT " of node %" G_GUINT64_FORMAT
                ", which has %u",
                card, node, cluster_nics_of_node (cluster, (guint) node));
  else
    {
      const SlowNic nic = { (guint) node, (guint) card, fraction };
      g_array_append_val (cluster->slow_nics, nic);
      return TRUE;
    }
  return FALSE;
}

void
cluster_read_slow_nics (Cluster *cluster, const char *text, const SourceMark *mark, DiagList *diags)
{
  g_auto (GStrv) items = g_strsplit (text, ",", -1);
  cluster->slow_nics = g_array_new (FALSE, FALSE, sizeof (SlowNic));
  for (guint i = 0; items[i] != NULL; i++)
    {
      const guint last = cluster->slow_nics->len;
      if (!read_slow_nic (cluster, g_strstrip (items[i]), mark, diags))
        continue;
      const SlowNic *added = &g_array_index (cluster->slow_nics, SlowNic, last);
      for (guint k = 0; k < last; k++)
        if (g_array_index (cluster->slow_nics, SlowNic, k).node == added->node
            && g_array_index (cluster->slow_nics, SlowNic, k).card == added->card)
          diag_error (diags, mark, "one fraction a card", "'slow_nics' names card %u.%u twice",
                      added->node, added->card);
    }
}
