#include "measure/figure-scaling.h"

#include <math.h>
#include <string.h>

#include "measure/validate-collectives.h"
#include "measure/validate-training.h"

#define COLLECTIVES ".collectives.csv"
#define TRAINING    ".training.csv"

const char *
scaling_part_name (ScalingPart part)
{
  static const char *const names[] = { "bus-bandwidth", "throughput" };

  g_assert ((guint) part < SCALING_N_PARTS);
  return names[part];
}

static char *
file_of (const char *folder, const char *name, const char *suffix)
{
  g_autofree char *base = g_strconcat (name, suffix, NULL);

  return g_build_filename (folder, base, NULL);
}

gboolean
figure_scaling_is (const char *folder, const char *name)
{
  g_autofree char *file = file_of (folder, name, COLLECTIVES);

  return g_file_test (file, G_FILE_TEST_EXISTS);
}

static void
add_point (FigureScaling *self, ScalingPart part, const char *page, const char *series,
           const char *id, guint nodes, double measured, double predicted, const char *reason)
{
  const ScalingPoint point = {
    .part = part,
    .page = g_string_chunk_insert_const (self->strings, page),
    .series = g_string_chunk_insert_const (self->strings, series),
    .id = g_string_chunk_insert_const (self->strings, id),
    .nodes = nodes,
    .measured = measured,
    .predicted = reason == NULL ? predicted : NAN,
    .reason = reason != NULL ? g_string_chunk_insert_const (self->strings, reason) : NULL,
  };

  g_array_append_val (self->points, point);
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* "8 GiB" */
static char *
size_text (guint64 bytes)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
  double                   value = (double) bytes;
  guint                    u = 0;

  for (; value >= 1024 && u + 1 < G_N_ELEMENTS (units); u++)
    value /= 1024;
  return g_strdup_printf ("%.4g %s", value, units[u]);
}

/* "8 x b200-sxm-180, 8 x ib-ndr-400" */
static char *
node_text (const ClusterOptions *cluster)
{
  if (cluster->gpu == NULL || cluster->nic == NULL)
    return g_strdup (cluster->name != NULL ? cluster->name : cluster->node);
  return g_strdup_printf ("%" G_GINT64_FORMAT " x %s, %" G_GINT64_FORMAT " x %s",
                          cluster->gpus_per_node, cluster->gpu, cluster->nics, cluster->nic);
}

static void
add_collective (FigureScaling *self, const ValidatedRow *row)
{
  const Measurement *measured = row->measured;
  g_autofree char   *node = node_text (&measured->cluster);
  g_autofree char   *source = measurement_source_prefix (measured);
  g_autofree char   *page = g_strdup_printf ("%s: %s", source, node);
  g_autofree char   *size = size_text (measured->bytes);
  g_autofree char   *series =
      g_strdup_printf ("%s %s%s%s", collective_kind_name (measured->kind), size,
                       *measured->env != '\0' ? ", " : "", measured->env);
  const double bus = row->reason == NULL ? validation_bus_bandwidth (row, 1) : 0; /* x s */

  add_point (self, SCALING_BUS_BANDWIDTH, page, series, measured->id,
             row->reason == NULL ? row->n_nodes : (guint) measured->cluster.nodes,
             row->reason == NULL ? bus / (1e-6 * measured->time_us) : NAN,
             row->reason == NULL ? bus / row->predicted : NAN, row->reason);
}

static gboolean
add_collectives (FigureScaling *self, const char *file, const PredictOptions *options,
                 DiagList *diags)
{
  GPtrArray                       *rows = measurement_table_load (file, BAD_ROWS_FAIL, diags);
  g_autoptr (CollectiveValidation) validation = NULL;

  if (rows == NULL)
    return FALSE;
  validation = validate_collectives (rows, options->profile_dir);
  for (guint i = 0; i < validation->rows->len; i++)
    add_collective (self, &g_array_index (validation->rows, ValidatedRow, i));
  return TRUE;
}

/* ---- training -------------------------------------------------------------------------------- */

static const char *
setting_of (const TrainingRow *row, const char *key)
{
  for (guint i = 0; i < row->settings->len; i++)
    {
      const ScenarioOverride *setting = &g_array_index (row->settings, ScenarioOverride, i);

      if (strcmp (setting->key, key) == 0)
        return setting->value;
    }
  return "";
}

/* What a reader knows a run by: "32 x 2560, 4096 x 2 tokens, shard node, full". */
static char *
run_text (const TrainingRow *row)
{
  const char *shard = setting_of (row, "mesh.shard");
  const char *checkpoints = setting_of (row, "training.activation_checkpointing");
  GString    *out = g_string_new (NULL);

  g_string_append_printf (out, "%s x %s, %s x %s tokens", setting_of (row, "model.n_layers"),
                          setting_of (row, "model.d_model"), setting_of (row, "training.seq_len"),
                          setting_of (row, "training.micro_batch"));
  if (*shard != '\0' && strcmp (shard, "all") != 0)
    g_string_append_printf (out, ", shard %s", shard);
  if (*checkpoints != '\0' && strcmp (checkpoints, "none") != 0)
    g_string_append_printf (out, ", %s", checkpoints);
  return g_string_free (out, FALSE);
}

/* Its nodes, by parts or by name. */
static char *
nodes_text (const TrainingRow *row)
{
  static const char *const names[] = { "cluster.node", "cluster.name" };

  if (*setting_of (row, "cluster.gpu") != '\0')
    return g_strdup_printf ("%s x %s, %s x %s", setting_of (row, "cluster.gpus_per_node"),
                            setting_of (row, "cluster.gpu"), setting_of (row, "cluster.nics"),
                            setting_of (row, "cluster.nic"));
  return g_strdup (setting_of (row, *setting_of (row, names[0]) != '\0' ? names[0] : names[1]));
}

static void
add_run (FigureScaling *self, const ValidatedTraining *run)
{
  const TrainingRow *row = run->measured;
  g_autofree char   *nodes = nodes_text (row), *series = run_text (row);
  g_autofree char   *page = g_strdup_printf ("%s: %s", row->source, nodes);

  add_point (self, SCALING_THROUGHPUT, page, series, row->id, row->n_nodes, row->value,
             run->predicted, run->reason);
}

static gboolean
add_training (FigureScaling *self, const char *file, const PredictOptions *options, guint n_threads,
              DiagList *diags)
{
  g_autoptr (ProfileSet)         profiles = profile_set_new (options->profile_dir);
  TrainingTable                 *table = training_table_load (file, profiles, diags);
  g_autoptr (TrainingValidation) validation = NULL;

  if (table == NULL)
    return FALSE;
  validation = validate_training (table, options, n_threads);
  for (guint i = 0; i < validation->rows->len; i++)
    {
      const ValidatedTraining *run = &g_array_index (validation->rows, ValidatedTraining, i);

      if (run->measured->metric == METRIC_TOKENS_PER_S_PER_GPU)
        add_run (self, run);
    }
  return TRUE;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Where the first point of the same part and page, and of the same series, stood. */
typedef struct
{
  ScalingPoint point;
  guint        page, series;
} Placed;

static gint
compare_placed (gconstpointer a, gconstpointer b)
{
  const Placed *x = a, *y = b;

  if (x->point.part != y->point.part)
    return x->point.part < y->point.part ? -1 : 1;
  if (x->page != y->page)
    return x->page < y->page ? -1 : 1;
  if (x->series != y->series)
    return x->series < y->series ? -1 : 1;
  return (x->point.nodes > y->point.nodes) - (x->point.nodes < y->point.nodes);
}

static void
sort_points (FigureScaling *self)
{
  const guint         n = self->points->len;
  const ScalingPoint *points = (const ScalingPoint *) (void *) self->points->data;
  g_autoptr (GArray)  placed = g_array_sized_new (FALSE, FALSE, sizeof (Placed), n);

  for (guint i = 0; i < n; i++)
    {
      Placed one = { points[i], 0, 0 };

      while (points[one.page].part != points[i].part || points[one.page].page != points[i].page)
        one.page++;
      one.series = one.page;
      while (points[one.series].page != points[i].page
             || points[one.series].series != points[i].series)
        one.series++;
      g_array_append_val (placed, one);
    }
  g_array_sort (placed, compare_placed);
  for (guint i = 0; i < n; i++)
    g_array_index (self->points, ScalingPoint, i) = g_array_index (placed, Placed, i).point;
}

FigureScaling *
figure_scaling_predict (const char *folder, const char *name, const PredictOptions *options,
                        guint n_threads, DiagList *diags)
{
  g_autofree char          *collectives = file_of (folder, name, COLLECTIVES);
  g_autofree char          *training = file_of (folder, name, TRAINING);
  g_autoptr (FigureScaling) self = g_new0 (FigureScaling, 1);
  gboolean                  good;

  self->name = g_strdup (name);
  self->points = g_array_new (FALSE, FALSE, sizeof (ScalingPoint));
  self->strings = g_string_chunk_new (4096);
  good = add_collectives (self, collectives, options, diags);
  good = add_training (self, training, options, n_threads, diags) && good;
  if (!good)
    return NULL;
  sort_points (self);
  return g_steal_pointer (&self);
}

void
figure_scaling_free (FigureScaling *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->points);
  g_string_chunk_free (self->strings);
  g_free (self->name);
  g_free (self);
}
