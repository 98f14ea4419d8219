#include "cli/argument/sweep-arguments.h"

#include <string.h>

#include "base/intern.h"
#include "cli/argument/value-lists.h"
#include "evidence/tables/scenario-rows.h"
#include "report/answer/sweep.h"

/* ---- words ----------------------------------------------------------------------------------- */

/* "3/8": the fourth of eight, counted from 0 as Slurm's arrays are. */
static gboolean
read_shard (SweepArguments *self, const Common *common)
{
  const char *text = self->shard;
  char       *slash = NULL, *end = NULL;
  guint64     at, n;

  self->n_shards = 1;
  if (text == NULL)
    return TRUE;
  at = g_ascii_strtoull (text, &slash, 10);
  n = *slash == '/' && g_ascii_isdigit (slash[1]) ? g_ascii_strtoull (slash + 1, &end, 10) : 0;
  if (!g_ascii_isdigit (*text) || end == NULL || *end != '\0' || n < 1 || n > G_MAXINT || at >= n)
    {
      common_say (common,
                  "--shard wants K/N with K from 0 to N - 1, got '%s'\n"
                  "  hint: sbatch --array=0-7, and --shard $SLURM_ARRAY_TASK_ID/8\n",
                  text);
      return FALSE;
    }
  self->shard_at = (guint) at;
  self->n_shards = (guint) n;
  return TRUE;
}

gboolean
sweep_arguments_have_scenarios (const SweepArguments *self, const Common *common)
{
  return common->files[0] != NULL || common->overrides->len > 0 || self->vary != NULL
         || self->rows != NULL;
}

gboolean
sweep_arguments_check (SweepArguments *self, const Common *common)
{
  const char *file = common->files[0];

  if (!read_shard (self, common))
    return FALSE;
  if (self->rows == NULL && file != NULL
      && (g_str_has_suffix (file, ".csv") || g_str_has_suffix (file, ".csv.gz")))
    { /* a table may stand in the place of the scenario */
      self->rows = common->files[0];
      common->files[0] = NULL;
    }
  if (self->rows != NULL && self->vary != NULL)
    common_say (common, "--vary and a table cannot be combined\n");
  else if (self->store == NULL && !common->print_scenario)
    common_say (common, "give --store FILE, where the results are kept\n");
  else
    return TRUE;
  return FALSE;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static SweepSource *
open_source (const SweepArguments *self, PlannedSweep *planned, DiagList *diags)
{
  if (self->rows != NULL)
    return scenario_rows_open (self->rows, diags);
  planned->vary = vary_new ();
  for (guint i = 0; self->vary != NULL && self->vary[i] != NULL; i++)
    {
      g_autofree char *place = g_strconcat ("--vary ", self->vary[i], NULL);
      const SourceMark mark = { .file = intern_text (place) };

      vary_add (planned->vary, self->vary[i], &mark, diags);
    }
  return diag_list_has_errors (diags) ? NULL : sweep_source_of_vary (planned->vary);
}

/* The command line, and after it what all points of SOURCE (NULL: none) set, as the first does. */
static GPtrArray *
load_bases (Common *common, SweepSource *source, DiagList *diags)
{
  g_autoptr (GArray) overrides = g_array_new (FALSE, TRUE, sizeof (ScenarioOverride));
  g_autofree char   *label = NULL;
  g_auto (GStrv)     values = source != NULL ? source->values (source, 0, &label, NULL) : NULL;

  if (value_lists_refuse (common->overrides, diags))
    return NULL;
  g_array_append_vals (overrides, common->overrides->data, common->overrides->len);
  for (guint i = 0; source != NULL && values != NULL && values[i] != NULL; i++)
    {
      const ScenarioOverride override = { .key = source->options[i],
                                          .value = values[i],
                                          .origin = source->origin };

      if (source->gaps == NULL || !source->gaps[i])
        g_array_append_val (overrides, override);
    }
  return common_load (common, common->files[0], (const ScenarioOverride *) (void *) overrides->data,
                      overrides->len, FALSE, diags);
}

/*
 * What the points are laid over: whole scenarios, with the first point's settings of what every
 * point replaces. A list in the file under a key that is varied gives way. Those that differ from
 * an earlier one in name only are dropped: what is varied told them apart.
 */
static GPtrArray *
find_bases (Common *common, SweepSource *source, DiagList *diags)
{
  g_autoptr (GHashTable) keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (DiagList)   alone_diags = diag_list_new ();
  g_autoptr (GPtrArray)  alone = load_bases (common, NULL, alone_diags);
  GPtrArray             *bases = load_bases (common, source, diags);

  if (bases == NULL && alone != NULL)
    bases = g_steal_pointer (&alone);
  for (guint i = 0; bases != NULL && i < bases->len;)
    if (g_hash_table_add (keys, scenario_key (g_ptr_array_index (bases, i), common->read)))
      i++;
    else
      g_ptr_array_remove_index (bases, i);
  return bases;
}

gboolean
sweep_arguments_plan (const SweepArguments *self, Common *common, PlannedSweep *planned)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  SweepPlan           *plan = &planned->plan;

  plan->source = open_source (self, planned, diags);
  if (plan->source != NULL)
    planned->bases = find_bases (common, plan->source, diags);
  if (planned->bases == NULL)
    {
      stream_report_diags (diags);
      return FALSE;
    }
  for (guint i = 0; i < planned->bases->len; i++)
    if (plan->source != NULL && g_strv_contains (plan->source->options, "cluster.nodes"))
      cluster_options_split_name (&((Scenario *) g_ptr_array_index (planned->bases, i))->cluster);
  planned->columns = report_result_columns ();
  plan->bases = planned->bases;
  plan->strategies = common->strategies;
  plan->predict = common_predict_options (common);
  plan->predict.idle_figures = TRUE;
  plan->columns = planned->columns;
  plan->results = report_result_values;
  return TRUE;
}

void
planned_sweep_clear (PlannedSweep *self)
{
  if (self->plan.source != NULL)
    self->plan.source->free (self->plan.source);
  vary_free (self->vary);
  g_clear_pointer (&self->bases, g_ptr_array_unref);
  g_free (self->columns);
}

guint64
sweep_arguments_n_points (const SweepArguments *self, const SweepPlan *plan)
{
  const guint64 n = sweep_length (plan);

  return n > self->shard_at ? (n - self->shard_at - 1) / self->n_shards + 1 : 0;
}
