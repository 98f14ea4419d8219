#include <string.h>

#include "evidence/tables/run-order.h"
#include "evidence/tables/training-private.h"
#include "hardware/profile/profiles-used.h"
#include "predict/batch.h"
#include "replay/bind/plan-memory.h"

#define GIB              1073741824.0
#define GB_OF_NVIDIA_SMI (1000 * 1048576.0)

/* ---- runs ------------------------------------------------------------------------------------ */

/* What was predicted of one distinct run. */
typedef struct
{
  const TrainingRow *first;   /* of those that are a scenario; NULL: none is */
  gboolean           speed;   /* a row asks how fast it is */
  gboolean           planned; /* nobody does, and the plan's memory was enough */
  char              *reason;
  double             values[METRIC_N];
  double             memory_share;
  char              *profiles;
} Outcome;

typedef struct
{
  Outcome              *outcomes;
  const guint          *order; /* in which they are simulated */
  const PredictOptions *options;
} Runs;

static void
read_prediction (Outcome *self, const Prediction *prediction)
{
  const MemoryUse *hbm = &prediction->hbm;

  self->values[METRIC_TOKENS_PER_S_PER_GPU] = prediction->tokens_per_s_per_gpu;
  self->values[METRIC_STEP_TIME_S] = prediction->step_time_s;
  self->values[METRIC_MFU_PERCENT] = prediction->mfu_percent;
  self->values[METRIC_HARDWARE_TFLOPS_PER_GPU] = prediction->hardware_tflops_per_gpu;
  self->values[METRIC_FITS] = prediction->fits;
  self->values[METRIC_PEAK_ALLOCATED_GIB] = (double) hbm->allocated / GIB;
  self->values[METRIC_PEAK_RESERVED_GIB] = (double) hbm->reserved / GIB;
  self->values[METRIC_PEAK_DEVICE_GB] = (double) hbm->device / GB_OF_NVIDIA_SMI;
  self->values[METRIC_PEAK_GIB] = (double) hbm->allocated / GIB;
  self->memory_share = (double) hbm->device / (double) hbm->capacity;
  self->profiles = g_strdup (prediction->profiles);
}

/*
 * Strategies whose buffers no other stream holds on to: their plan's memory is what the replay
 * finds.
 */
static gboolean
plan_is_enough (const Scenario *scenario)
{
  const char *name = scenario->strategy->strategy->name;

  return scenario->strategy->inner == NULL
         && (strcmp (name, "ddp") == 0 || strcmp (name, "zero1") == 0);
}

/* Tables have the memory of rank 0 of that scenario's framework. */
static gboolean
logs_rank_0 (const Scenario *scenario, ProfileSet *profiles, DiagList *diags)
{
  const char             *name = scenario->training.framework;
  const FrameworkProfile *framework =
      name != NULL ? profile_set_find_framework (profiles, name, diags) : NULL;

  return framework != NULL && framework->traits.logs_memory == FRAMEWORK_LOGS_FIRST;
}

static void
read_peaks (Outcome *self, PlanMemory memory)
{
  self->values[METRIC_PEAK_ALLOCATED_GIB] = (double) memory.hbm.allocated.bytes / GIB;
  self->values[METRIC_PEAK_RESERVED_GIB] = (double) memory.hbm.reserved.bytes / GIB;
  self->values[METRIC_PEAK_DEVICE_GB] = (double) memory.hbm.device.bytes / GB_OF_NVIDIA_SMI;
  self->values[METRIC_PEAK_GIB] = (double) memory.hbm.allocated.bytes / GIB;
}

/* Memory without time. FALSE after diagnostics. */
static gboolean
plan_run (Outcome *self, const PredictOptions *options, Scenario *scenario, DiagList *diags)
{
  g_autoptr (ProfileSet) profiles = predict_profiles (options);
  g_autoptr (ReplayPlan) plan = replay_plan_for_memory (scenario, profiles, NULL, diags);
  PlanMemory             memory;

  if (plan == NULL)
    return FALSE;
  memory = replay_plan_fullest (plan);
  self->values[METRIC_FITS] = !memory.hbm.overflowed;
  self->memory_share = (double) memory.hbm.device.bytes / (double) memory.hbm.capacity;
  read_peaks (self,
              logs_rank_0 (scenario, profiles, diags) ? replay_plan_memory (plan, 0) : memory);
  if (self->profiles == NULL)
    self->profiles = profiles_used (profiles, replay_plan_resolved (plan)->cluster, NULL);
  return TRUE;
}

/* Of rank 0, where its framework says so, and as its plan has it: a replay finds the same. */
static gboolean
plan_first (Outcome *self, const PredictOptions *options, Scenario *scenario, DiagList *diags)
{
  g_autoptr (ProfileSet) profiles = predict_profiles (options);
  g_autoptr (ReplayPlan) plan = NULL;

  if (!plan_is_enough (scenario) || !logs_rank_0 (scenario, profiles, diags))
    return TRUE;
  plan = replay_plan_for_memory (scenario, profiles, NULL, diags);
  if (plan != NULL)
    read_peaks (self, replay_plan_memory (plan, 0));
  return plan != NULL;
}

/* Nothing to predict where that is all that is asked; else the scenario. */
static Scenario *
build_run (gpointer user, guint i, DiagList *diags)
{
  const Runs           *runs = user;
  Outcome              *self = &runs->outcomes[runs->order[i]];
  const GArray         *settings = self->first != NULL ? self->first->settings : NULL;
  g_autoptr (GPtrArray) scenarios = NULL;

  if (settings != NULL)
    scenarios =
        scenario_load (NULL, NULL, (const ScenarioOverride *) settings->data, settings->len, diags);
  if (scenarios == NULL)
    return NULL;
  if (!self->speed && plan_is_enough (g_ptr_array_index (scenarios, 0)))
    {
      self->planned = plan_run (self, runs->options, g_ptr_array_index (scenarios, 0), diags);
      return NULL;
    }
  return g_ptr_array_steal_index (scenarios, 0);
}

static void
read_run (gpointer user, guint i, Predicted *one)
{
  const Runs *runs = user;
  Outcome    *self = &runs->outcomes[runs->order[i]];
  gboolean    good = one->prediction != NULL;

  if (good)
    {
      read_prediction (self, one->prediction);
      good = plan_first (self, runs->options, one->scenario, one->diags);
    }
  if (!good && !self->planned && self->first != NULL)
    self->reason =
        g_strdup (one->error != NULL ? one->error->message : diag_list_first_message (one->diags));
}

/* Numbers the distinct runs of TABLE in RUN_OF [rows]; how many there are. */
static guint
number_runs (const TrainingTable *table, guint *run_of)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < table->rows->len; i++)
    {
      const TrainingRow *row = &g_array_index (table->rows, TrainingRow, i);
      gpointer           known;

      if (!g_hash_table_lookup_extended (seen, row->configuration, NULL, &known))
        {
          known = GUINT_TO_POINTER (g_hash_table_size (seen));
          g_hash_table_insert (seen, (gpointer) row->configuration, known);
        }
      run_of[i] = GPOINTER_TO_UINT (known);
    }
  return g_hash_table_size (seen);
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Blocks times micro-steps: about what simulating a run takes, in no unit. */
static double
expected_work (const Outcome *run)
{
  static const char *const keys[] = { "model.n_layers", "training.grad_accum" };
  double                   work = 1;

  for (guint i = 0; run->first != NULL && i < run->first->settings->len; i++)
    {
      const ScenarioOverride *set = &g_array_index (run->first->settings, ScenarioOverride, i);

      for (guint k = 0; k < G_N_ELEMENTS (keys); k++)
        if (strcmp (set->key, keys[k]) == 0)
          work *= MAX (1, g_ascii_strtod (set->value, NULL));
    }
  return work;
}

/* Newly allocated. */
static guint *
order_runs (const Outcome *outcomes, guint n)
{
  g_autofree double *work = g_new (double, n);

  for (guint i = 0; i < n; i++)
    work[i] = expected_work (&outcomes[i]);
  return run_order_new (work, n);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void
validated_training_clear (gpointer data)
{
  ValidatedTraining *self = data;

  g_free (self->reason);
  g_free (self->profiles);
}

static void
add_row (TrainingValidation *self, const TrainingRow *measured, const Outcome *outcome)
{
  const char       *reason = measured->unmodelled != NULL ? measured->unmodelled : outcome->reason;
  ValidatedTraining row = { .measured = measured, .reason = g_strdup (reason) };

  if (row.reason == NULL)
    {
      row.predicted = outcome->values[measured->metric];
      row.error = measured->metric != METRIC_FITS ? row.predicted / measured->value - 1 : 0;
      row.step_time_s = outcome->values[METRIC_STEP_TIME_S];
      row.memory_share = outcome->memory_share;
      row.profiles = g_strdup (outcome->profiles);
    }
  self->n_failed += row.reason != NULL;
  self->n_calibrating += measured->calibrates;
  g_array_append_val (self->rows, row);
}

static void
predict_rows (TrainingValidation *self, const PredictOptions *options, guint n_threads)
{
  const guint              n_rows = self->table->rows->len;
  g_autofree guint        *run_of = g_new (guint, n_rows), *order = NULL;
  Runs                     runs = { .options = options };
  g_auto (PredictionBatch) batch = {
    .n_threads = n_threads, .options = options, .build = build_run, .read = read_run, .user = &runs
  };

  self->n_simulated = batch.n = number_runs (self->table, run_of);
  runs.outcomes = g_new0 (Outcome, self->n_simulated);
  for (guint i = n_rows; i-- > 0;)
    {
      Outcome           *outcome = &runs.outcomes[run_of[i]];
      const TrainingRow *row = &g_array_index (self->table->rows, TrainingRow, i);

      if (row->unmodelled != NULL)
        continue;
      outcome->first = row;
      outcome->speed |= training_metric_is_speed (row->metric);
    }
  order = order_runs (runs.outcomes, self->n_simulated);
  runs.order = order;
  prediction_batch_run (&batch);
  for (guint i = 0; i < self->n_simulated; i++)
    if (runs.outcomes[i].profiles == NULL && runs.outcomes[i].reason == NULL)
      runs.outcomes[i].reason = g_strdup (STOP_LEFT_OUT);
  for (guint i = 0; i < n_rows; i++)
    add_row (self, &g_array_index (self->table->rows, TrainingRow, i), &runs.outcomes[run_of[i]]);
  for (guint i = 0; i < self->n_simulated; i++)
    {
      g_free (runs.outcomes[i].reason);
      g_free (runs.outcomes[i].profiles);
    }
  g_free (runs.outcomes);
}

static void
calibrated_figures_clear (gpointer data)
{
  CalibratedFigures *self = data;

  g_free (self->basis);
  g_free (self->figures);
}

TrainingValidation *
training_validation_new (TrainingTable *table)
{
  TrainingValidation *self = g_new0 (TrainingValidation, 1);

  self->table = table;
  self->rows = g_array_new (FALSE, FALSE, sizeof (ValidatedTraining));
  g_array_set_clear_func (self->rows, validated_training_clear);
  self->errors = g_array_new (FALSE, FALSE, sizeof (TrainingErrors));
  self->nodes = g_array_new (FALSE, FALSE, sizeof (NodesErrors));
  self->trends = g_array_new (FALSE, FALSE, sizeof (NodesTrend));
  self->layouts = g_array_new (FALSE, FALSE, sizeof (LayoutRanking));
  self->rankings = g_array_new (FALSE, FALSE, sizeof (RankingSummary));
  self->fits.offenders = g_array_new (FALSE, FALSE, sizeof (guint));
  self->goals = g_array_new (FALSE, FALSE, sizeof (GoalResult));
  self->calibrated = g_array_new (FALSE, FALSE, sizeof (CalibratedFigures));
  g_array_set_clear_func (self->calibrated, calibrated_figures_clear);
  return self;
}

TrainingValidation *
validate_training (TrainingTable *table, const PredictOptions *options, guint n_threads)
{
  TrainingValidation *self = training_validation_new (table);

  predict_rows (self, options, n_threads);
  training_summarise (self);
  training_count_calibrated (self, options);
  return self;
}

void
training_validation_free (TrainingValidation *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->rows);
  g_array_unref (self->errors);
  g_array_unref (self->nodes);
  g_array_unref (self->trends);
  g_array_unref (self->layouts);
  g_array_unref (self->rankings);
  g_array_unref (self->fits.offenders);
  g_array_unref (self->goals);
  g_array_unref (self->calibrated);
  training_table_free (self->table);
  g_free (self);
}
