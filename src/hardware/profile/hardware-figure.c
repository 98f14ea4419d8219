#include "hardware/profile/hardware-figure.h"

#include <math.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/intern.h"
#include "hardware/profile/profiles-used.h"

#define MOST_PERCENT 2 /* ratios beyond it are said as numbers */

/* ---- the list -------------------------------------------------------------------------------- */

static gboolean
role_is_shared (const GArray *used, const ProfileUse *use)
{
  for (guint i = 0; i < used->len; i++)
    {
      const ProfileUse *other = &g_array_index (used, ProfileUse, i);

      if (g_str_equal (other->role, use->role) && !g_str_equal (other->id, use->id))
        return TRUE;
    }
  return FALSE;
}

static void
add_profile (GArray *figures, ProfileSet *profiles, const ProfileUse *use, gboolean shared)
{
  g_autoptr (DiagList) none = diag_list_new (); /* it has been read before */
  g_autoptr (GArray)   views = profile_set_figures (profiles, use->kind, use->id, none);

  for (guint i = 0; views != NULL && i < views->len; i++)
    {
      const FigureView *view = &g_array_index (views, FigureView, i);
      g_autofree char  *name = g_strdup_printf ("%s%s%s.%s", use->role, shared ? ":" : "",
                                               shared ? use->id : "", view->key);
      HardwareFigure    figure = { .name = intern_text (name),
                                   .kind = intern_text (use->kind),
                                   .id = intern_text (use->id),
                                   .key = view->key,
                                   .quantity = view->kind,
                                   .in_bits = g_str_equal (use->role, "nic"),
                                   .value = view->figure->value,
                                   .min = view->min,
                                   .max = view->max };

      if (!view->is_shape && figure.value > 0)
        g_array_append_val (figures, figure);
    }
}

static gboolean
is_of_fabric (const OptionSpec *spec)
{
  return spec->type == OPTION_QUANTITY && spec->kind == QUANTITY_RATIO;
}

gboolean
hardware_figure_is_option (const char *name)
{
  const char       *key = g_str_has_prefix (name, "cluster.") ? strchr (name, '.') + 1 : NULL;
  const OptionSpec *spec = key != NULL ? option_table_find (cluster_options, key) : NULL;

  return spec != NULL && is_of_fabric (spec);
}

/* A default may stand for what a cluster's profile says: only what was set is known. */
static void
add_fabric (GArray *figures, const ClusterOptions *options)
{
  ClusterOptions defaults = { 0 };

  option_table_defaults (cluster_options, &defaults);
  for (const OptionSpec *spec = cluster_options; spec->key != NULL; spec++)
    if (is_of_fabric (spec))
      {
        g_autofree char *name = g_strdup_printf ("cluster.%s", spec->key);
        HardwareFigure   figure = { .name = intern_text (name),
                                    .kind = "cluster",
                                    .id = "",
                                    .key = spec->key,
                                    .quantity = spec->kind,
                                    .value = G_STRUCT_MEMBER (double, options, spec->offset),
                                    .min = spec->min,
                                    .max = spec->max };

        if (figure.value != G_STRUCT_MEMBER (double, &defaults, spec->offset))
          g_array_append_val (figures, figure);
      }
  option_table_clear (cluster_options, &defaults);
}

GArray *
hardware_figures (const Cluster *cluster, const ClusterOptions *options,
                  const FrameworkProfile *framework, ProfileSet *profiles)
{
  GArray            *figures = g_array_new (FALSE, FALSE, sizeof (HardwareFigure));
  g_autoptr (GArray) used = profiles_used_list (cluster);

  for (guint i = 0; i < used->len; i++)
    {
      const ProfileUse *use = &g_array_index (used, ProfileUse, i);

      add_profile (figures, profiles, use, role_is_shared (used, use));
    }
  if (framework != NULL)
    {
      const ProfileUse use = { "framework", "framework", framework->id };

      add_profile (figures, profiles, &use, FALSE);
    }
  add_fabric (figures, options);
  return figures;
}

/* ---- one figure ------------------------------------------------------------------------------ */

/*
 * "gpu has matmul_16bit, hbm_bandwidth, ..." of the part that NAME begins with, else "parts with
 * figures: gpu, intra, node". Newly allocated.
 */
static char *
parts_hint (const GArray *figures, const char *name)
{
  g_autoptr (GString) parts = g_string_new (NULL), keys = g_string_new (NULL);
  const char         *dot = strrchr (name, '.');
  g_autofree char    *wanted = dot != NULL ? g_strndup (name, dot - name) : NULL, *last = NULL;

  for (guint i = 0; i < figures->len; i++)
    {
      const HardwareFigure *figure = &g_array_index (figures, HardwareFigure, i);
      g_autofree char *part = g_strndup (figure->name, strrchr (figure->name, '.') - figure->name);

      if (g_strcmp0 (part, wanted) == 0)
        g_string_append_printf (keys, "%s%s", keys->len > 0 ? ", " : "", figure->key);
      if (g_strcmp0 (part, last) == 0)
        continue;
      g_string_append_printf (parts, "%s%s", parts->len > 0 ? ", " : "", part);
      g_free (last);
      last = g_steal_pointer (&part);
    }
  return keys->len > 0 ? g_strdup_printf ("'%s' has: %s", wanted, keys->str)
                       : g_strdup_printf (
                           "parts with figures: %s; 'shardsim sensitivity' lists all", parts->str);
}

gboolean
hardware_figure_split (const char *name, const char **kind, char **id, const char **key)
{
  static const char *const parts[][2] = { { "gpu", "gpu" },
                                          { "intra", "link" },
                                          { "nic", "link" },
                                          { "node", "node" },
                                          { "framework", "framework" } };
  const gsize              length = strcspn (name, ":.");
  const char              *dot = name[length] == ':' ? strrchr (name, '.') : strchr (name, '.');

  for (guint i = 0; dot != NULL && i < G_N_ELEMENTS (parts); i++)
    if (strlen (parts[i][0]) == length && strncmp (parts[i][0], name, length) == 0)
      {
        *kind = parts[i][1];
        *id = name[length] == ':' ? g_strndup (name + length + 1, (gsize) (dot - name) - length - 1)
                                  : NULL;
        *key = dot + 1;
        return TRUE;
      }
  return FALSE;
}

const HardwareFigure *
hardware_figure_find (const GArray *figures, const char *name, const SourceMark *mark,
                      DiagList *diags)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char      *hint = NULL;
  const char           *near;
  gint                  index;

  for (guint i = 0; i < figures->len; i++)
    g_ptr_array_add (names, (gpointer) g_array_index (figures, HardwareFigure, i).name);
  g_ptr_array_add (names, NULL);
  index = name_index (name, (const char *const *) names->pdata);
  if (index >= 0)
    return &g_array_index (figures, HardwareFigure, index);
  near = suggest_nearest (name, (const char *const *) names->pdata);
  hint = near != NULL ? g_strdup_printf ("did you mean '%s'?", near) : parts_hint (figures, name);
  diag_error (diags, mark, hint, "the cluster has no figure '%s'", name);
  return NULL;
}

double
hardware_figure_clamp (const HardwareFigure *self, double value)
{
  return CLAMP (self->quantity == QUANTITY_COUNT ? round (value) : value, self->min, self->max);
}

gint
hardware_figure_better (const HardwareFigure *self)
{
  static const struct
  {
    const char *key;
    gint        better;
  } keys[] = { { "reported_latency", 0 },
               { "runtime_bytes", -1 },
               { "p2p_chunk", 0 },
               { "buffsize", 0 },
               { "queue", 0 },
               { "eager_limit", 0 },
               { "packet_payload", 0 },
               { "packet_overhead", 0 },
               { "cores", 1 },
               { "cpu_adam_rate", 1 },
               { "matmul_k_overhead", -1 },
               { "jitter", -1 },
               { "small_tile_power", 0 },
               { "unaligned_slowdown", -1 },
               { "oversubscription", -1 },
               { "spine_oversubscription", -1 },
               { "taper", -1 },
               { "background", -1 } };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (g_str_equal (keys[i].key, self->key))
      return keys[i].better;
  return self->quantity == QUANTITY_TIME ? -1 : self->quantity == QUANTITY_COUNT ? 0 : 1;
}

char *
hardware_figure_format (const HardwareFigure *self, double value)
{
  if (self->in_bits && self->quantity == QUANTITY_BANDWIDTH)
    return g_strdup_printf ("%.4g Gbit/s", value * 8e-9);
  if (self->quantity == QUANTITY_RATIO && self->max > MOST_PERCENT)
    return g_strdup_printf ("%.4g", value);
  return quantity_format (self->quantity, value, 4);
}

char *
hardware_figure_format_exact (const HardwareFigure *self, double value)
{
  g_autofree char *number = number_format_exact (value * 8e-9);
  g_autofree char *text = g_strdup_printf ("%s Gbit/s", number), *why = NULL;
  double           again;

  if (self->in_bits && self->quantity == QUANTITY_BANDWIDTH
      && quantity_parse (QUANTITY_BANDWIDTH, text, &again, &why) && again == value)
    return g_steal_pointer (&text);
  return quantity_format_exact (self->quantity, value);
}

gboolean
hardware_figure_parse (const HardwareFigure *self, const char *text, const SourceMark *mark,
                       double *value, DiagList *diags)
{
  g_autofree char *why = NULL, *low = NULL, *high = NULL, *hint = NULL;

  if (!quantity_parse (self->quantity, text, value, &why))
    {
      diag_error (diags, mark, NULL, "'%s': %s", self->name, why);
      return FALSE;
    }
  if (*value >= self->min && *value <= self->max)
    return TRUE;
  low = hardware_figure_format (self, self->min);
  high = hardware_figure_format (self, self->max);
  hint = g_strdup_printf ("plausible values lie between %s and %s", low, high);
  diag_error (diags, mark, hint, "'%s' of '%s' is out of range", text, self->name);
  return FALSE;
}
