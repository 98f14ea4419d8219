#include "cli/sweep-arguments.h"

#include <string.h>

#include "base/intern.h"
#include "measure/scenario-rows.h"
#include "report/sweep.h"

/* ---- words ----------------------------------------------------------------------------------- */

static gboolean
say (const char *message)
{
  stream_say ("shardsim sweep: %s\n", message);
  return FALSE;
}

/* "3/8": the fourth of eight, counted from 0 as Slurm's arrays are. */
static gboolean
read_shard (SweepArguments *self)
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
      stream_say ("shardsim sweep: --shard wants K/N with K from 0 to N - 1, got '%s'\n"
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

/* A table may stand in the place of the scenario. */
static void
take_table (SweepArguments *self, const Common *common)
{
  const char *file = common->files[0];

  if (self->rows == NULL && file != NULL
      && (g_str_has_suffix (file, ".csv") || g_str_has_suffix (file, ".csv.gz")))
    {
      self->rows = g_strdup (file);
      g_free (common->files[0]);
      common->files[0] = NULL;
    }
}

gboolean
sweep_arguments_check (SweepArguments *self, const Common *common)
{
  if (!common_want_words (common, 1) || !read_shard (self))
    return FALSE;
  take_table (self, common);
  if (self->rows != NULL && self->vary != NULL)
    return say ("--vary and a table cannot be combined");
  if ((self->store == NULL || *self->store == '\0') && !common->print_scenario)
    return say ("give --store FILE, where the results are kept");
  return TRUE;
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

  g_array_append_vals (overrides, common->overrides->data, common->overrides->len);
  for (guint i = 0; source != NULL && values != NULL && values[i] != NULL; i++)
    {
      const ScenarioOverride override = { .key = source->options[i],
                                          .value = values[i],
                                          .origin = source->origin };

      if (source->gaps == NULL || !source->gaps[i])
        g_array_append_val (overrides, override);
    }
  return scenario_load (common->strategies, common->files[0],
                        (const ScenarioOverride *) (void *) overrides->data, overrides->len, diags);
}

static gboolean
has_option (const SweepSource *source, const char *key)
{
  return source != NULL && g_strv_contains (source->options, key);
}

/* Drops bases that differ from an earlier one in name only: what is varied told them apart. */
static void
drop_doubles (GPtrArray *bases, InputFiles *files)
{
  g_autoptr (GHashTable) keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < bases->len;)
    if (g_hash_table_add (keys, scenario_key (g_ptr_array_index (bases, i), files)))
      i++;
    else
      g_ptr_array_remove_index (bases, i);
}

/*
 * What the points are laid over: whole scenarios, with the first point's settings of what every
 * point replaces. A list in the file under a key that is varied gives way.
 */
static GPtrArray *
find_bases (Common *common, SweepSource *source, DiagList *diags)
{
  g_autoptr (DiagList)  alone_diags = diag_list_new ();
  g_autoptr (GPtrArray) alone = load_bases (common, NULL, alone_diags);
  GPtrArray            *bases;

  bases = load_bases (common, source, diags);
  if (bases == NULL && alone != NULL)
    bases = g_steal_pointer (&alone);
  if (bases != NULL)
    drop_doubles (bases, common->read);
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
  for (guint i = 0; has_option (plan->source, "cluster.nodes") && i < planned->bases->len; i++)
    cluster_options_split_name (&((Scenario *) g_ptr_array_index (planned->bases, i))->cluster);
  planned->columns = report_result_columns ();
  plan->bases = planned->bases;
  plan->strategies = common->strategies;
  plan->predict = common_predict_options (common);
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
