/* Collectives over all GPUs that the user measured, and the network that is scaled to them. */
#include <string.h>

#include "hardware/cluster/cluster-private.h"

/* A wrong unit or a slipped zero, not a judgement of networks. */
#define LEAST_BYTES 1.0
#define MOST_BYTES  1e14
#define LEAST_RATE  1e3
#define MOST_RATE   1e15

/* ---- words ----------------------------------------------------------------------------------- */

/* "1GiB 94 GB/s": a token that begins with a digit begins a quantity. NULL: they are not two. */
static char **
split_quantities (char *const *tokens)
{
  g_autoptr (GPtrArray) quantities = g_ptr_array_new_with_free_func (g_free);

  for (; *tokens != NULL; tokens++)
    if (**tokens != '\0' && (g_ascii_isdigit (**tokens) || **tokens == '.'))
      g_ptr_array_add (quantities, g_strdup (*tokens));
    else if (**tokens != '\0' && quantities->len > 0)
      {
        char **last = (char **) &g_ptr_array_index (quantities, quantities->len - 1);
        char  *longer = g_strconcat (*last, " ", *tokens, NULL);

        g_free (*last);
        *last = longer;
      }
    else if (**tokens != '\0')
      return NULL;
  if (quantities->len != 2)
    return NULL;
  g_ptr_array_add (quantities, NULL);
  g_ptr_array_set_free_func (quantities, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&quantities), FALSE);
}

static gboolean
read_quantity (QuantityKind kind, const char *text, double least, double most, double *value,
               const SourceMark *mark, DiagList *diags)
{
  g_autofree char *why = NULL;

  if (!quantity_parse (kind, text, value, &why))
    diag_error (diags, mark, quantity_kind_units (kind), "'measured': %s", why);
  else if (*value < least || *value > most)
    diag_error (diags, mark, NULL, "'measured': '%s' is out of range", text);
  else
    return TRUE;
  return FALSE;
}

/* One "all_reduce 1GiB 94 GB/s"; FALSE after a diagnostic. */
static gboolean
read_entry (const char *text, ClusterMeasured *entry, const SourceMark *mark, DiagList *diags)
{
  static const char form[] = "write collective, size and bus bandwidth as nccl-tests prints it, as "
                             "in 'all_reduce 1GiB 94 GB/s'; several separated by commas";
  g_auto (GStrv)    tokens = g_strsplit_set (text, " \t", -1);
  g_auto (GStrv)    quantities = tokens[0] != NULL ? split_quantities (tokens + 1) : NULL;

  entry->kind = tokens[0] != NULL ? collective_kind_parse (tokens[0]) : COLLECTIVE_N_KINDS;
  if (quantities == NULL)
    diag_error (diags, mark, form, "bad entry '%s' in 'measured'", text);
  else if (entry->kind == COLLECTIVE_N_KINDS || entry->kind == COLLECTIVE_SEND_RECV)
    diag_error (diags, mark, "all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce",
                "'measured' takes a collective over all GPUs, got '%s'", tokens[0]);
  else
    return read_quantity (QUANTITY_BYTES, quantities[0], LEAST_BYTES, MOST_BYTES, &entry->bytes,
                          mark, diags)
           && read_quantity (QUANTITY_BANDWIDTH, quantities[1], LEAST_RATE, MOST_RATE, &entry->bus,
                             mark, diags);
  return FALSE;
}

void
cluster_read_measured (Cluster *cluster, const char *text, const SourceMark *mark, DiagList *diags)
{
  g_auto (GStrv) items = g_strsplit (text, ",", -1);

  cluster->measured = g_array_new (FALSE, FALSE, sizeof (ClusterMeasured));
  for (guint i = 0; items[i] != NULL; i++)
    {
      ClusterMeasured entry = { .scale = 1 };

      if (!read_entry (g_strstrip (items[i]), &entry, mark, diags))
        continue;
      for (guint k = 0; k < cluster->measured->len; k++)
        {
          const ClusterMeasured *other = &g_array_index (cluster->measured, ClusterMeasured, k);

          if (other->kind == entry.kind && other->bytes == entry.bytes)
            diag_error (diags, mark, NULL, "'measured' has '%s' twice at the same size",
                        collective_kind_name (entry.kind));
        }
      g_array_append_val (cluster->measured, entry);
    }
  if (cluster->n_nodes < 2 && !diag_list_has_errors (diags))
    diag_error (diags, mark, "leave it away, or give the nodes that it was measured on",
                "'measured' scales the network, and the cluster is one node");
}

/* ---- the network ----------------------------------------------------------------------------- */

guint
cluster_n_measured (const Cluster *self)
{
  return self->measured != NULL ? self->measured->len : 0;
}

const ClusterMeasured *
cluster_measured (const Cluster *self, guint i)
{
  g_assert (i < cluster_n_measured (self));
  return &g_array_index (self->measured, ClusterMeasured, i);
}

ClusterMeasured *
cluster_note_measured (Cluster *self, guint i)
{
  g_assert (i < cluster_n_measured (self));
  return &g_array_index (self->measured, ClusterMeasured, i);
}

GArray *
cluster_copy_measured (const Cluster *self)
{
  return cluster_n_measured (self) > 0 ? g_array_copy (self->measured) : NULL;
}

double
cluster_network_scale (const Cluster *self)
{
  return self->network_scale > 0 ? self->network_scale : 1;
}

static void
key_scaled (Cluster *self)
{
  g_autofree char *rate = number_format_exact (cluster_network_scale (self));

  if (self->key == NULL)
    return;
  g_free (self->scaled_key);
  self->scaled_key = g_strdup_printf ("%snetwork x %s\n", self->key, rate);
}

void
cluster_scale_network (Cluster *self, double scale)
{
  g_assert (scale > 0);
  if (self->unscaled == NULL)
    {
      self->unscaled = g_new (double, self->n_resources);
      for (guint i = 0; i < self->n_resources; i++)
        self->unscaled[i] = self->resources[i].capacity;
    }
  self->network_scale = scale;
  proximity_tables_drop (self->proximity);
  for (guint i = 0; i < self->n_resources; i++)
    if (resource_kind_is_network (self->resources[i].kind))
      self->resources[i].capacity = self->unscaled[i] * scale;
  key_scaled (self);
}

double
cluster_hop_scale (const Cluster *self)
{
  return self->hop_scale > 0 ? self->hop_scale : 1;
}

void
cluster_scale_hops (Cluster *self, double scale)
{
  g_assert (scale > 0);
  self->hop_scale = scale;
}

double
cluster_most_network_scale (const Cluster *self)
{
  double most = 1;

  for (guint i = 0; i < self->n_resources; i++)
    if (self->resources[i].kind == RESOURCE_NIC_TX)
      most = MAX (most, 1 / self->resources[i].efficiency);
  return most;
}

char *
cluster_network_title (const Cluster *self)
{
  g_autoptr (GString) title = g_string_new ("scaled to measured ");

  if (cluster_n_measured (self) == 0)
    return NULL;
  for (guint i = 0; i < self->measured->len; i++)
    {
      const ClusterMeasured *entry = cluster_measured (self, i);
      g_autofree char       *rate = quantity_format (QUANTITY_BANDWIDTH, entry->bus, 3);
      g_autofree char       *size = quantity_format (QUANTITY_BYTES, entry->bytes, 4);

      g_string_append_printf (title, "%s%s %s at %s", i > 0 ? ", " : "",
                              collective_kind_name (entry->kind), rate, size);
    }
  g_string_append_printf (title, ": x %.3g of the profile", cluster_network_scale (self));
  if (cluster_hop_scale (self) != 1)
    g_string_append_printf (title, ", its hops x %.3g", cluster_hop_scale (self));
  for (guint i = 0; i < self->measured->len; i++)
    {
      const ClusterMeasured *entry = cluster_measured (self, i);
      g_autofree char       *before = quantity_format (QUANTITY_BANDWIDTH, entry->before, 3);
      g_autofree char       *after = quantity_format (QUANTITY_BANDWIDTH, entry->after, 3);

      g_string_append_printf (title, ", %s predicted %s before and %s after",
                              collective_kind_name (entry->kind), before, after);
    }
  return g_string_free (g_steal_pointer (&title), FALSE);
}
