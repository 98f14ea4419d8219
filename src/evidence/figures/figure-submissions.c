#include "evidence/figures/figure-submissions.h"

#include <math.h>
#include <string.h>

#include "evidence/figures/figure-private.h"
#include "evidence/tables/validate-training.h"
#include "import/job/job.h"

#define TABLE ".submissions.csv"
#define JOBS  ".jobs.csv"

/* ---- words ----------------------------------------------------------------------------------- */

/* What a submission's settings have for KEY; NULL: nothing. */
typedef const char *(*Lookup) (gpointer settings, const char *key);

/* Degrees of the mesh in the order in which layouts are quoted. */
static const char *const degrees[] = { "tp", "cp", "pp", "vp", "ep" };

static gboolean
is_said (const char *value)
{
  return value != NULL && *value != '\0' && strcmp (value, "none") != 0;
}

static void
append_layout (GString *out, Lookup find, gpointer settings)
{
  const char *space = ", ";

  for (guint i = 0; i < G_N_ELEMENTS (degrees); i++)
    {
      g_autofree char *key = g_strdup_printf ("mesh.%s", degrees[i]);
      const char      *value = find (settings, key);

      if (value == NULL || g_ascii_strtoull (value, NULL, 10) <= 1)
        continue;
      g_string_append_printf (out, "%s%s %s", space, degrees[i], value);
      space = " ";
    }
}

/* "126 x 16384, tp 8 cp 2 pp 8 vp 8, 1 x 288 sequences, fp8" */
static char *
configuration_of (Lookup find, gpointer settings)
{
  GString    *out = g_string_new (NULL);
  const char *config = find (settings, "model.config"), *peft = find (settings, "training.peft");
  const char *recipe = find (settings, "training.fp8_recipe");
  const char *micro_batch = find (settings, "training.micro_batch");
  const char *grad_accum = find (settings, "training.grad_accum");
  const char *precision = find (settings, "training.precision");

  if (is_said (config))
    g_string_append (out, config);
  else
    g_string_append_printf (out, "%s x %s", find (settings, "model.n_layers"),
                            find (settings, "model.d_model"));
  append_layout (out, find, settings);
  g_string_append_printf (out, ", %s x %s sequences", micro_batch != NULL ? micro_batch : "1",
                          grad_accum != NULL ? grad_accum : "1");
  if (is_said (recipe))
    g_string_append_printf (out, ", %s%s", g_str_equal (recipe, "nvfp4") ? "" : "fp8 ", recipe);
  else if (is_said (precision))
    g_string_append_printf (out, ", %s", precision);
  if (is_said (peft))
    g_string_append_printf (out, ", %s", peft);
  return g_string_free (out, FALSE);
}

/* "64 x 8 h100-sxm-80", or the cluster's name. */
static char *
hardware_of (Lookup find, gpointer settings)
{
  const char *gpu = find (settings, "cluster.gpu"), *name = find (settings, "cluster.name");

  if (!is_said (gpu))
    return g_strdup (is_said (name) ? name : find (settings, "cluster.node"));
  return g_strdup_printf ("%s x %s %s", find (settings, "cluster.nodes"),
                          find (settings, "cluster.gpus_per_node"), gpu);
}

/* Takes SELF, whose words it keeps, and counts it as evidence. */
static void
add_row (Figures *figure, Submission self, Lookup find, gpointer settings)
{
  g_autofree char *round = training_source_of_id (self.id);
  g_autofree char *hardware = hardware_of (find, settings);
  g_autofree char *configuration = configuration_of (find, settings);

  self.round = figure_keep (figure, round);
  self.id = figure_keep (figure, self.id);
  self.hardware = figure_keep (figure, hardware);
  self.configuration = figure_keep (figure, configuration);
  self.reason = figure_keep (figure, self.reason);
  if (self.reason != NULL)
    self.predicted = self.memory_share = NAN;
  g_array_append_val (figure->rows, self);
  figure_add_evidence (figure, self.id, "step_time_s", self.published, self.predicted,
                       self.predicted);
}

/* ---- rows of the table ----------------------------------------------------------------------- */

static const char *
find_in_row (gpointer settings, const char *key)
{
  const GArray *array = settings;

  for (guint i = 0; i < array->len; i++)
    {
      const ScenarioOverride *one = &g_array_index (array, ScenarioOverride, i);

      if (strcmp (one->key, key) == 0)
        return one->value;
    }
  return NULL;
}

static gboolean
add_table (Figures *self, const FigureInput *input, DiagList *diags)
{
  g_autofree char               *file = figure_file (self->folder, self->name, TABLE);
  g_autoptr (ProfileSet)         profiles = profile_set_new (input->options->profile_dir);
  TrainingTable                 *table = training_table_load (file, profiles, diags);
  g_autoptr (TrainingValidation) runs =
      table != NULL ? validate_training (table, input->options, input->n_threads) : NULL;

  for (guint i = 0; runs != NULL && i < runs->rows->len; i++)
    {
      const ValidatedTraining *run = &g_array_index (runs->rows, ValidatedTraining, i);

      if (run->measured->metric == METRIC_STEP_TIME_S)
        add_row (self,
                 (Submission){ .id = run->measured->id,
                               .published = run->measured->value,
                               .predicted = run->predicted,
                               .memory_share = run->memory_share,
                               .reason = run->reason },
                 find_in_row, run->measured->settings);
    }
  return runs != NULL;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

typedef struct
{
  const char *id, *job, *cluster, *model, *framework;
  double      step_time_s;
} JobLine;

#define CELL(member) G_STRUCT_OFFSET (JobLine, member)

static const FigureColumn job_columns[] = {
  { "id", CELL (id), .type = FIGURE_WORD },
  { "job", CELL (job), .type = FIGURE_WORD },
  { "cluster", CELL (cluster), .type = FIGURE_WORD },
  { "model", CELL (model), .type = FIGURE_WORD },
  { "framework", CELL (framework), .type = FIGURE_WORD },
  { "step_time_s", CELL (step_time_s), .type = FIGURE_ABOVE_0 },
};

static const FigureTable job_table = { job_columns, G_N_ELEMENTS (job_columns),
                                       .size = sizeof (JobLine) };

/* The scenario of LINE, whose cells go before the job. NULL after diagnostics. */
static Scenario *
load_job (const Figures *self, const JobLine *line, const FigureInput *input, DiagList *diags)
{
  g_autofree char       *file = g_build_filename (self->folder, self->name, line->job, NULL);
  const ScenarioOverride cells[] = { { "cluster.name", line->cluster, "cluster" },
                                     { "model.config", line->model, "model" },
                                     { "training.framework", line->framework, "framework" } };
  g_autoptr (GArray)     said = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  g_autoptr (GPtrArray)  scenarios = NULL;
  JobRequest             request = { .profile_dir = input->options->profile_dir, .lenient = TRUE };

  for (guint i = 0; i < G_N_ELEMENTS (cells); i++)
    if (*cells[i].value != '\0')
      g_array_append_val (said, cells[i]);
  request.overrides = (const ScenarioOverride *) (gconstpointer) said->data;
  request.n_overrides = said->len;
  scenarios = job_load (file, NULL, &request, NULL, diags);
  return scenarios != NULL && scenarios->len > 0 ? g_ptr_array_steal_index (scenarios, 0) : NULL;
}

/* What a job sets, and its cluster, whose parts its name stands for. */
typedef struct
{
  const Scenario *scenario;
  GStringChunk   *strings;
} JobSettings;

static const char *
find_in_scenario (gpointer settings, const char *key)
{
  const JobSettings *self = settings;
  g_autofree char   *value = figure_setting (self->scenario, key);

  return value != NULL ? g_string_chunk_insert_const (self->strings, value) : NULL;
}

static void
add_jobs_rows (Figures *self, const GArray *lines, const FigureRuns *runs)
{
  for (guint i = 0; i < lines->len; i++)
    {
      const JobLine    *line = &g_array_index (lines, JobLine, i);
      const Prediction *p = runs->predictions[i];
      JobSettings       settings = { runs->scenarios->pdata[i], self->strings };

      add_row (self,
               (Submission){ .id = line->id,
                             .published = line->step_time_s,
                             .predicted = p != NULL ? p->step_time_s : NAN,
                             .memory_share = p != NULL
                                                 ? (double) p->hbm.device / (double) p->hbm.capacity
                                                 : NAN,
                             .reason = runs->reasons[i] },
               find_in_scenario, &settings);
    }
}

/* FALSE after diagnostics; a figure need not have jobs. */
static gboolean
add_jobs (Figures *self, const FigureInput *input, DiagList *diags)
{
  g_autofree char      *file = figure_file (self->folder, self->name, JOBS);
  g_autoptr (GArray)    lines = figure_table_lines (&job_table);
  g_autoptr (GPtrArray) scenarios = g_ptr_array_new_with_free_func ((GDestroyNotify) scenario_free);
  g_autoptr (FigureRuns) runs = NULL;

  if (!g_file_test (file, G_FILE_TEST_EXISTS))
    return TRUE;
  if (!figure_table_read (file, &job_table, self, lines, self->strings, diags))
    return FALSE;
  for (guint i = 0; i < lines->len; i++)
    {
      Scenario *scenario = load_job (self, &g_array_index (lines, JobLine, i), input, diags);

      if (scenario == NULL)
        return FALSE;
      g_ptr_array_add (scenarios, scenario);
    }
  runs = figure_runs_new (scenarios, input->options, input->n_threads);
  add_jobs_rows (self, lines, runs);
  return TRUE;
}

/* ---- the whole ------------------------------------------------------------------------------- */

SubmissionSummary
figure_submissions_summary (const Figures *self)
{
  SubmissionSummary  all = { 0 };
  g_autofree double *errors = g_new (double, self->rows->len);
  ErrorStatistics    statistics;

  for (guint i = 0; i < self->rows->len; i++)
    {
      const Submission *row = FIGURE_ROW (self, Submission, i);

      if (row->reason != NULL)
        continue;
      errors[all.n] = row->predicted / row->published - 1;
      all.n_near += fabs (errors[all.n]) <= SUBMISSION_NEAR;
      all.n_unfit += row->memory_share > 1;
      all.n++;
    }
  statistics = statistics_of_errors (errors, all.n);
  all.median_abs = statistics.median_abs;
  all.p90_abs = statistics.p90_abs;
  return all;
}

static gboolean
compute (Figures *self, const FigureInput *input, DiagList *diags)
{
  return add_table (self, input, diags) && add_jobs (self, input, diags);
}

const FigureComputation figure_submissions = {
  .suffix = TABLE,
  .alone = TRUE,
  .row_size = sizeof (Submission),
  .compute = compute,
};
