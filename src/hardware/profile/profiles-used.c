/* What a prediction rests on: the profiles that a cluster is made of. */
#include "hardware/profile/profiles-used.h"

#include <string.h>

#include "hardware/profile/kernel-release.h"

static void
add_to_version (GChecksum *sum, const char *key, double value)
{
  g_autofree char *text = number_format_exact (value);
  g_autofree char *line = g_strdup_printf ("%s=%s\n", key, text);

  g_checksum_update (sum, (const guchar *) line, -1);
}

/* Hundreds of products, as bits: their texts would take longer than the prediction. */
static void
add_products (GChecksum *sum, const GArray *curve)
{
  for (guint i = 0; i < curve->len; i++)
    {
      const MatmulPoint *point = &g_array_index (curve, MatmulPoint, i);
      const double       values[] = { point->batch, point->m, point->n, point->k, point->seconds };

      for (guint v = 0; v < G_N_ELEMENTS (values); v++)
        {
          guint64 bits;

          memcpy (&bits, &values[v], sizeof bits);
          bits = GUINT64_TO_LE (bits);
          g_checksum_update (sum, (const guchar *) &bits, sizeof bits);
        }
    }
}

/*
 * What a profile said when it was used: the start of a hash of all its figures, those that it
 * extends included, and of CURVE, its measured products (NULL: none).
 */
static char *
profile_version (const GArray *figures, const GArray *curve)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

  for (guint i = 0; i < figures->len; i++)
    {
      const FigureView *view = &g_array_index (figures, FigureView, i);

      add_to_version (sum, view->key, view->figure->value);
    }
  if (curve != NULL)
    add_products (sum, curve);
  return g_strndup (g_checksum_get_string (sum), 8);
}

/* What there is to say of one profile. */
typedef struct
{
  char *version;
  guint counts[N_CONFIDENCES];
} ProfileSummary;

typedef struct
{
  ProfileSet *profiles;
  const char *kind, *id;
} Wanted;

static void
profile_summary_free (gpointer data)
{
  ProfileSummary *self = data;

  if (self == NULL)
    return;
  g_free (self->version);
  g_free (self);
}

static gpointer
read_summary (gconstpointer user, DiagList *diags)
{
  const Wanted      *wanted = user;
  g_autoptr (GArray) figures =
      profile_set_figures (wanted->profiles, wanted->kind, wanted->id, diags);
  const GpuProfile *gpu = NULL;
  ProfileSummary   *self;

  if (figures == NULL)
    return NULL;
  if (g_str_equal (wanted->kind, "gpu"))
    gpu = profile_set_gpu (wanted->profiles, wanted->id, NULL, diags);
  self = g_new0 (ProfileSummary, 1);
  self->version = profile_version (figures, gpu != NULL ? gpu->matmul_curve : NULL);
  for (guint i = 0; i < figures->len; i++)
    {
      const Figure *figure = g_array_index (figures, FigureView, i).figure;

      self->counts[figure->confidence] += figure->source != NULL;
    }
  return self;
}

static void
count_figures (ProfileSet *profiles, const char *kind, const char *id, GString *names,
               guint counts[N_CONFIDENCES])
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  const Wanted          wanted = { profiles, kind, id };
  const char           *shared = profile_set_shared_key (profiles);
  ProfileSummary       *own = NULL;
  const ProfileSummary *use;

  if (shared != NULL)
    {
      g_autofree char *key = g_strdup_printf ("use of %s/%s of %s", kind, id, shared);

      use = input_files_get (profile_set_files (profiles), key, read_summary, &wanted,
                             profile_summary_free, diags);
    }
  else
    use = own = read_summary (&wanted, diags);
  if (use != NULL)
    {
      g_string_append_printf (names, "%s%s %s (%s)", names->len > 0 ? ", " : "", kind, id,
                              use->version);
      for (guint c = 0; c < N_CONFIDENCES; c++)
        counts[c] += use->counts[c];
    }
  profile_summary_free (own);
}

static gboolean
is_listed (const GArray *list, const ProfileUse *use)
{
  for (guint i = 0; i < list->len; i++)
    {
      const ProfileUse *other = &g_array_index (list, ProfileUse, i);

      if (g_str_equal (other->id, use->id) && g_str_equal (other->kind, use->kind))
        return TRUE;
    }
  return FALSE;
}

GArray *
profiles_used_list (const Cluster *cluster)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (ProfileUse));

  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    {
      const NodeProfile *profile = cluster_node_profile (cluster, node);
      const LinkProfile *nic = cluster_nic_profile (cluster, node);
      const ProfileUse   uses[] = {
          { "gpu", "gpu", cluster_gpu_profile (cluster, cluster_first_gpu (cluster, node))->id },
          { "intra", "link", cluster_intra_profile (cluster, node)->id },
          { "nic", "link", nic != NULL ? nic->id : NULL },
          { "node", "node", profile->id },
      };

      for (guint i = 0; i < G_N_ELEMENTS (uses); i++)
        if (uses[i].id != NULL && !is_listed (list, &uses[i]))
          g_array_append_val (list, uses[i]);
    }
  return list;
}

/* The one that GPUs of CLUSTER run (cluster_set_kernels); NULL: none that differs on them. */
static const KernelRelease *
release_of (const Cluster *cluster)
{
  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    {
      const GpuProfile *gpu = cluster_gpu_profile (cluster, cluster_first_gpu (cluster, node));

      if (gpu->release != NULL)
        return gpu->release;
    }
  return NULL;
}

char *
profiles_used (ProfileSet *profiles, const Cluster *cluster, guint counts[N_CONFIDENCES])
{
  GString             *names = g_string_new (NULL);
  guint                unasked[N_CONFIDENCES] = { 0 };
  g_autoptr (GArray)   used = profiles_used_list (cluster);
  const KernelRelease *release = release_of (cluster);
  const Fact          *fact;

  for (guint i = 0; i < used->len; i++)
    {
      const ProfileUse *use = &g_array_index (used, ProfileUse, i);

      count_figures (profiles, use->kind, use->id, names, counts != NULL ? counts : unasked);
    }
  if (release != NULL)
    count_figures (profiles, "kernels", release->id, names, counts != NULL ? counts : unasked);
  for (guint i = 0; counts != NULL && cluster_fact (cluster, i, &fact) != NULL; i++)
    counts[fact->confidence]++;
  return g_string_free (names, FALSE);
}

/* ---- kernels that nobody measured ------------------------------------------------------------ */

char *
profiles_used_unmeasured (const Cluster *cluster)
{
  g_autoptr (GPtrArray) seen = g_ptr_array_new ();
  g_autoptr (GString)   text = g_string_new (NULL);

  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    {
      const GpuProfile *gpu = cluster_gpu_profile (cluster, cluster_first_gpu (cluster, node));

      if (gpu->sustained_clock.confidence == CONFIDENCE_MEASURED
          || g_str_equal (gpu->architecture, "host") || g_ptr_array_find (seen, gpu, NULL))
        continue;
      g_ptr_array_add (seen, (gpointer) gpu);
      g_string_append_printf (text, "%s%s: no run under load", text->len > 0 ? "; " : "", gpu->id);
      const struct
      {
        const Figure *figure;
        const char   *what;
      } kernels[] = {
        { &gpu->matmul_efficiency, "products" },
        { &gpu->attention_efficiency, "attention" },
        { &gpu->stream_efficiency, "streams" },
      };
      guint n = 0;

      for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
        if (kernels[i].figure->confidence == CONFIDENCE_MEASURED)
          g_string_append_printf (text, "%s%s", n++ > 0 ? ", " : "; measured: ", kernels[i].what);
      if (n == 0)
        g_string_append (text, "; datasheet and estimates only");
    }
  return text->len > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : NULL;
}
