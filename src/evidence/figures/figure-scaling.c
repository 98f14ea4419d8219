#include "evidence/figures/figure-scaling.h"

#include <math.h>
#include <string.h>

#include "evidence/figures/figure-private.h"
#include "evidence/tables/validate-collectives.h"
#include "evidence/tables/validate-training.h"

#define COLLECTIVES ".collectives.csv"
#define TRAINING    ".training.csv"

/* Keeps the texts of POINT, and finds where its page and series began. */
static void
add_point (Figures *self, ScalingPoint point)
{
  static const char *const names[] = { "bus-bandwidth", "throughput" };

  point.name = names[point.part];
  point.page = figure_keep (self, point.page);
  point.series = figure_keep (self, point.series);
  point.id = figure_keep (self, point.id);
  if (point.reason != NULL)
    point.predicted = NAN;
  point.reason = figure_keep (self, point.reason);
  point.first_of_page = point.first_of_series = self->rows->len;
  for (guint i = self->rows->len; i-- > 0;)
    {
      const ScalingPoint *other = FIGURE_ROW (self, ScalingPoint, i);

      if (other->page != point.page)
        continue;
      if (other->part == point.part)
        point.first_of_page = i;
      if (other->series == point.series)
        point.first_of_series = i;
    }
  g_array_append_val (self->rows, point);
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

/* "8 x b200-sxm-180, 8 x ib-ndr-400", by parts or by name. */
static char *
node_text (const ClusterOptions *cluster)
{
  if (cluster->gpu == NULL || cluster->nic == NULL)
    return g_strdup (cluster->name != NULL ? cluster->name : cluster->node);
  return g_strdup_printf ("%u x %s, %u x %s", (guint) cluster->gpus_per_node, cluster->gpu,
                          (guint) cluster->nics, cluster->nic);
}

static void
add_collective (Figures *self, const ValidatedRow *row)
{
  const Measurement    *measured = row->measured;
  const ClusterOptions *cluster = &measured->cluster;
  const gboolean        there = row->reason == NULL;
  const double          bus = there ? validation_bus_bandwidth (row, 1) : NAN; /* x s */
  g_autofree char      *node = node_text (cluster);
  g_autofree char      *source = measurement_source_prefix (measured);
  g_autofree char      *page = g_strdup_printf ("%s: %s", source, node);
  g_autofree char      *size = size_text (measured->bytes);
  g_autofree char      *series =
      g_strdup_printf ("%s %s%s%s", collective_kind_name (measured->kind), size,
                       *measured->env != '\0' ? ", " : "", measured->env);

  add_point (self, (ScalingPoint){ .part = SCALING_BUS_BANDWIDTH,
                                   .page = page,
                                   .series = series,
                                   .id = measured->id,
                                   .nodes = there ? row->n_nodes : (guint) cluster->nodes,
                                   .measured = bus / (1e-6 * measured->time_us),
                                   .predicted = bus / row->predicted,
                                   .reason = row->reason });
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

/* A page is "SOURCE: 4 x GPU, 4 x NIC", a series "32 x 2560, 4096 x 2 tokens, shard node, full". */
static void
add_run (Figures *self, const ValidatedTraining *run)
{
  const TrainingRow  *row = run->measured;
  const char         *node = setting_of (row, "cluster.node");
  const char         *shard = setting_of (row, "mesh.shard");
  const char         *checkpoints = setting_of (row, "training.activation_checkpointing");
  g_autoptr (GString) page = g_string_new (NULL), series = g_string_new (NULL);

  g_string_append_printf (page, "%s: ", row->source);
  if (*setting_of (row, "cluster.gpu") != '\0')
    g_string_append_printf (page, "%s x %s, %s x %s", setting_of (row, "cluster.gpus_per_node"),
                            setting_of (row, "cluster.gpu"), setting_of (row, "cluster.nics"),
                            setting_of (row, "cluster.nic"));
  else
    g_string_append (page, *node != '\0' ? node : setting_of (row, "cluster.name"));
  g_string_append_printf (series, "%s x %s, %s x %s tokens", setting_of (row, "model.n_layers"),
                          setting_of (row, "model.d_model"), setting_of (row, "training.seq_len"),
                          setting_of (row, "training.micro_batch"));
  if (*shard != '\0' && strcmp (shard, "all") != 0)
    g_string_append_printf (series, ", shard %s", shard);
  if (*checkpoints != '\0' && strcmp (checkpoints, "none") != 0)
    g_string_append_printf (series, ", %s", checkpoints);
  add_point (self, (ScalingPoint){ .part = SCALING_THROUGHPUT,
                                   .page = page->str,
                                   .series = series->str,
                                   .id = row->id,
                                   .nodes = row->n_nodes,
                                   .measured = row->value,
                                   .predicted = run->predicted,
                                   .reason = run->reason });
}

/* ---- the whole ------------------------------------------------------------------------------- */

static gint
compare_points (gconstpointer a, gconstpointer b)
{
  const ScalingPoint *p = a, *q = b;
  const guint         keys[][2] = { { p->part, q->part },
                                    { p->first_of_page, q->first_of_page },
                                    { p->first_of_series, q->first_of_series },
                                    { p->nodes, q->nodes } };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (keys[i][0] != keys[i][1])
      return keys[i][0] < keys[i][1] ? -1 : 1;
  return 0;
}

/* Of either table diagnostics, if it has mistakes. */
static gboolean
compute (Figures *self, const FigureInput *input, DiagList *diags)
{
  const PredictOptions  *options = input->options;
  g_autofree char       *collectives = figure_file (self->folder, self->name, COLLECTIVES);
  g_autofree char       *training = figure_file (self->folder, self->name, TRAINING);
  g_autoptr (ProfileSet) profiles = profile_set_new (options->profile_dir);
  GPtrArray             *rows = measurement_table_load (collectives, BAD_ROWS_FAIL, diags);
  TrainingTable         *table = training_table_load (training, profiles, diags);
  g_autoptr (CollectiveValidation) measured =
      rows != NULL ? validate_collectives (rows, options->profile_dir) : NULL;
  g_autoptr (TrainingValidation) runs =
      table != NULL ? validate_training (table, options, input->n_threads) : NULL;

  if (measured == NULL || runs == NULL)
    return FALSE;
  for (guint i = 0; i < measured->rows->len; i++)
    add_collective (self, &g_array_index (measured->rows, ValidatedRow, i));
  for (guint i = 0; i < runs->rows->len; i++)
    {
      const ValidatedTraining *run = &g_array_index (runs->rows, ValidatedTraining, i);

      if (run->measured->metric == METRIC_TOKENS_PER_S_PER_GPU)
        add_run (self, run);
    }
  g_array_sort (self->rows, compare_points);
  for (guint i = 0; i < self->rows->len; i++)
    {
      const ScalingPoint *point = FIGURE_ROW (self, ScalingPoint, i);

      figure_add_evidence (self, point->id, point->name, point->measured, point->predicted,
                           point->predicted);
    }
  return TRUE;
}

const FigureComputation figure_scaling = {
  .suffix = COLLECTIVES,
  .alone = TRUE,
  .row_size = sizeof (ScalingPoint),
  .compute = compute,
};
