#include "evidence/tables/validate-rl.h"

#include <math.h>
#include <string.h>

#include "base/config/csv-values.h"
#include "base/parallel.h"

#define HEADER       "see 'shardsim validate rl --help'"
#define MOST_COUNT   1e9
#define MOST_SECONDS 1e7
#define MOST_OPTIONS 40
#define IN_TURN      "0.6"
#define ALONE        "0.8"

const char *const rl_measured_names[RL_N_MEASURED + 1] = {
  "step", "generation", "log-probabilities", "training", "weights and states", NULL
};

/* ---- tables ---------------------------------------------------------------------------------- */

typedef enum
{
  CELL_TEXT,
  CELL_COUNT,
  CELL_SECONDS,
  CELL_TOKENS,
} CellKind;

typedef struct
{
  const char *name;
  gsize       offset;
  CellKind    kind;
  gboolean    required;
} RlColumn;

#define CELL(name_, kind_, member_, required_)                \
  {                                                           \
    name_, G_STRUCT_OFFSET (RlRow, member_), kind_, required_ \
  }

static const RlColumn columns[] = {
  CELL ("id", CELL_TEXT, id, TRUE),
  CELL ("source", CELL_TEXT, source, TRUE),
  CELL ("gpu", CELL_TEXT, gpu, TRUE),
  CELL ("gpus", CELL_COUNT, gpus, TRUE),
  CELL ("gpus_per_node", CELL_COUNT, gpus_per_node, TRUE),
  CELL ("algorithm", CELL_TEXT, algorithm, TRUE),
  CELL ("model", CELL_TEXT, model, TRUE),
  CELL ("policy", CELL_TEXT, policy, TRUE),
  CELL ("max_len", CELL_COUNT, max_len, TRUE),
  CELL ("mean_len", CELL_TOKENS, mean_len, TRUE),
  CELL ("gen_batch", CELL_COUNT, gen_batch, TRUE),
  CELL ("train_batch", CELL_COUNT, train_batch, TRUE),
  CELL ("gen_tp", CELL_COUNT, gen_tp, TRUE),
  CELL ("gen_pp", CELL_COUNT, gen_pp, TRUE),
  CELL ("train_tp", CELL_COUNT, train_tp, TRUE),
  CELL ("train_cp", CELL_COUNT, train_cp, TRUE),
  CELL ("train_ep", CELL_COUNT, train_ep, TRUE),
  CELL ("train_pp", CELL_COUNT, train_pp, TRUE),
  CELL ("train_vp", CELL_COUNT, train_vp, FALSE),
  CELL ("precision", CELL_TEXT, precision, TRUE),
  CELL ("framework", CELL_TEXT, framework, FALSE),
  CELL ("step_time_s", CELL_SECONDS, measured[RL_MEASURED_STEP], TRUE),
  CELL ("generation_s", CELL_SECONDS, measured[RL_MEASURED_GENERATION], FALSE),
  CELL ("logprobs_s", CELL_SECONDS, measured[RL_MEASURED_LOGPROBS], FALSE),
  CELL ("training_s", CELL_SECONDS, measured[RL_MEASURED_TRAINING], FALSE),
  CELL ("refit_s", CELL_SECONDS, measured[RL_MEASURED_REFIT], FALSE),
};

#define N_COLUMNS G_N_ELEMENTS (columns)

static void
row_clear (gpointer data)
{
  for (guint c = 0; c < N_COLUMNS; c++)
    if (columns[c].kind == CELL_TEXT)
      g_free (G_STRUCT_MEMBER (char *, data, columns[c].offset));
}

static void
read_cell (const CsvReader *reader, const RlColumn *column, gint place, RlRow *row, DiagList *diags)
{
  const char *text = csv_reader_field (reader, (guint) place);
  double      number;

  if (column->kind == CELL_TEXT)
    {
      G_STRUCT_MEMBER (char *, row, column->offset) = g_strdup (text);
      return;
    }
  if (*text == '\0' && !column->required)
    return;
  number = csv_reader_number (reader, place, column->kind == CELL_COUNT ? 1 : 0,
                              column->kind == CELL_SECONDS ? MOST_SECONDS : MOST_COUNT,
                              column->kind == CELL_COUNT, diags);
  if (isnan (number)) /* which was said */
    return;
  if (column->kind == CELL_COUNT)
    G_STRUCT_MEMBER (gint64, row, column->offset) = (gint64) number;
  else
    G_STRUCT_MEMBER (double, row, column->offset) = number;
}

GArray *
rl_rows_load (const char *file, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  g_autoptr (GArray)    rows = g_array_new (FALSE, TRUE, sizeof (RlRow));
  const guint           n_errors = diag_list_n_errors (diags);
  gint                  places[N_COLUMNS];

  g_array_set_clear_func (rows, row_clear);
  if (reader == NULL)
    return NULL;
  for (guint c = 0; c < N_COLUMNS; c++)
    places[c] = columns[c].required ? csv_reader_require (reader, columns[c].name, HEADER, diags)
                                    : csv_reader_find (reader, columns[c].name);
  if (diag_list_n_errors (diags) != n_errors)
    return NULL;
  while (csv_reader_next (reader, diags))
    {
      RlRow row = { 0 };

      for (guint c = 0; c < N_COLUMNS; c++)
        if (places[c] >= 0)
          read_cell (reader, &columns[c], places[c], &row, diags);
      g_array_append_val (rows, row);
    }
  return diag_list_n_errors (diags) == n_errors ? g_steal_pointer (&rows) : NULL;
}

/* ---- scenarios ------------------------------------------------------------------------------- */

/* Options of a row's scenario, with texts of their own. */
typedef struct
{
  ScenarioOverride all[MOST_OPTIONS];
  guint            n;
  GStringChunk    *texts;
} Options;

static void G_GNUC_PRINTF (3, 4)
    set_option (Options *self, const char *key, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list          arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_assert (self->n < MOST_OPTIONS);
  self->all[self->n++] =
      (ScenarioOverride){ key, g_string_chunk_insert (self->texts, text), "the table" };
}

/* "4-off" and "4-step-off" are 4; "on" is none. FALSE: it is neither. */
static gboolean
read_policy (const char *text, gint64 *steps)
{
  char *end;

  *steps = 0;
  if (g_str_equal (text, "on"))
    return TRUE;
  *steps = g_ascii_strtoll (text, &end, 10);
  return *steps > 0 && g_str_has_suffix (end, "off");
}

/* A type of node that a row may be of. */
typedef struct
{
  char  *id;
  gint64 gpus;
} NodeType;

/*
 * The type of node with so many of the GPU, a vendor's own first; else one that holds several of
 * the row's, as a rack does that is one node. Its id is the caller's; NULL: there is none.
 */
static NodeType
node_of (const RlRow *row, ProfileSet *profiles)
{
  g_auto (GStrv)       ids = profile_set_list (profiles, "node");
  g_autoptr (DiagList) ignored = diag_list_new ();
  NodeType             found = { 0 };

  for (guint i = 0; ids[i] != NULL; i++)
    {
      const NodeProfile *node = profile_set_node (profiles, ids[i], NULL, ignored);
      const gint64       gpus = node != NULL ? (gint64) node->gpus.value : 0;

      if (gpus == 0 || g_strcmp0 (node->gpu, row->gpu) != 0 || gpus % row->gpus_per_node != 0
          || (found.id != NULL && gpus > found.gpus)
          || (found.id != NULL && gpus == found.gpus && !g_str_has_prefix (ids[i], "dgx-")))
        continue;
      g_free (found.id);
      found = (NodeType){ g_strdup (ids[i]), gpus };
    }
  return found;
}

/*
 * A job takes as many GPUs of each node of a larger type, whole ones of the row's, and of each of
 * PARTS. How many nodes a part has.
 */
static gint64
set_cluster (Options *options, const RlRow *row, const NodeType *node, gint64 parts)
{
  gint64 each = row->gpus_per_node;

  for (gint64 n = each; n <= node->gpus && n * parts <= row->gpus; n += row->gpus_per_node)
    if (row->gpus % (n * parts) == 0)
      each = n;
  set_option (options, "cluster.name", "%" G_GINT64_FORMAT " x %s", row->gpus / each, node->id);
  if (each != node->gpus)
    set_option (options, "cluster.gpus_per_node", "%" G_GINT64_FORMAT, each);
  return row->gpus / each / parts;
}

#define SET_COUNT(options, key, value) set_option (options, key, "%" G_GINT64_FORMAT, value)

static void
set_training (Options *options, const RlRow *row, gboolean recomputes)
{
  set_option (options, "strategy.name", "zero1");
  if (row->framework != NULL && *row->framework != '\0')
    set_option (options, "training.framework", "%s", row->framework);
  SET_COUNT (options, "training.seq_len", row->max_len);
  SET_COUNT (options, "training.global_batch", row->train_batch);
  set_option (options, "training.reduce_dtype", "bf16");
  set_option (options, "training.activation_checkpointing", recomputes ? "full" : "none");
  SET_COUNT (options, "mesh.tp", row->train_tp);
  SET_COUNT (options, "mesh.sp", (gint64) (row->train_tp > 1));
  SET_COUNT (options, "mesh.cp", row->train_cp);
  SET_COUNT (options, "mesh.pp", row->train_pp);
  SET_COUNT (options, "mesh.ep", row->train_ep);
  if (row->train_ep > 1)
    set_option (options, "mesh.etp", "1");
  if (row->train_vp > 1)
    SET_COUNT (options, "mesh.vp", row->train_vp);
}

static void
set_generation (Options *options, const RlRow *row, gint64 off_policy, gint64 nodes)
{
  SET_COUNT (options, "generation.tp", row->gen_tp);
  SET_COUNT (options, "generation.pp", row->gen_pp);
  set_option (options, "generation.memory_utilization", off_policy > 0 ? ALONE : IN_TURN);
  if (g_str_equal (row->precision, "fp8"))
    {
      set_option (options, "generation.weights", "fp8-block");
      set_option (options, "training.fp8_recipe", "blockwise");
    }
  set_option (options, "rl.algorithm", "%s", row->algorithm);
  SET_COUNT (options, "rl.prompts", row->gen_batch);
  set_option (options, "rl.responses", "1");
  set_option (options, "rl.response_tokens", "%g", row->mean_len);
  if (off_policy == 0)
    return;
  SET_COUNT (options, "rl.off_policy_steps", off_policy);
  SET_COUNT (options, "rl.generation_nodes", nodes);
}

/* NULL after diagnostics. */
static Scenario *
scenario_of (const RlRow *row, ProfileSet *profiles, gboolean recomputes, DiagList *diags)
{
  g_autoptr (GStringChunk) texts = g_string_chunk_new (256);
  const NodeType           node = node_of (row, profiles);
  g_autofree char         *id = node.id;
  g_autoptr (GPtrArray)    loaded = NULL;
  Options                  options = { .texts = texts };
  gint64                   off_policy, nodes;

  if (id == NULL)
    diag_error (diags, NULL, NULL, "no node has %" G_GINT64_FORMAT " x %s", row->gpus_per_node,
                row->gpu);
  if (!read_policy (row->policy, &off_policy))
    diag_error (diags, NULL, "'on' or '1-off'", "policy '%s' is unknown", row->policy);
  if (diag_list_has_errors (diags))
    return NULL;
  nodes = set_cluster (&options, row, &node, off_policy > 0 ? 2 : 1);
  set_option (&options, "model.config", "%s", row->model);
  set_training (&options, row, recomputes);
  set_generation (&options, row, off_policy, nodes);
  loaded = scenario_load (NULL, NULL, options.all, options.n, diags);
  return loaded != NULL ? scenario_copy (g_ptr_array_index (loaded, 0)) : NULL;
}

/* ---- predictions ----------------------------------------------------------------------------- */

typedef struct
{
  RlValidation  *result;
  PredictOptions options;
} Job;

static void
read_step (const RlStep *step, ValidatedRl *self)
{
  const double *phases = step->phases;

  self->predicted[RL_MEASURED_STEP] = step->step_time_s;
  self->predicted[RL_MEASURED_GENERATION] = phases[RL_GENERATION];
  self->predicted[RL_MEASURED_LOGPROBS] = phases[RL_POLICY] + phases[RL_REFERENCE];
  self->predicted[RL_MEASURED_TRAINING] = phases[RL_TRAINING];
  self->predicted[RL_MEASURED_REFIT] = phases[RL_REFIT] + phases[RL_STATES];
  self->error = step->step_time_s / self->row->measured[RL_MEASURED_STEP] - 1;
  self->idle_generating = step->idle_generating;
  self->idle_training = step->idle_training;
}

static RlStep *
predict_row (const RlRow *row, const PredictOptions *options, gboolean recomputes, DiagList *diags)
{
  g_autoptr (ProfileSet) profiles = predict_profiles (options);
  g_autoptr (Scenario)   scenario = scenario_of (row, profiles, recomputes, diags);
  g_autoptr (GError)     error = NULL;
  RlStep *step = scenario != NULL ? rl_step_predict (scenario, NULL, options, diags, &error) : NULL;

  if (error != NULL)
    diag_error (diags, NULL, NULL, "%s", error->message);
  return step;
}

/* What does not fit recomputes. */
static void
run_row (guint i, gpointer user)
{
  const Job           *job = user;
  ValidatedRl         *self = &g_array_index (job->result->rows, ValidatedRl, i);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (RlStep)   step = predict_row (self->row, &job->options, FALSE, diags);

  self->recomputes = step != NULL && !step->training->fits;
  if (self->recomputes)
    {
      rl_step_free (step);
      step = predict_row (self->row, &job->options, TRUE, diags);
    }
  if (step != NULL)
    read_step (step, self);
  else
    self->reason = g_strdup (diag_list_first_message (diags));
}

static void
count_order (RlValidation *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    for (guint j = i + 1; j < self->rows->len; j++)
      {
        const ValidatedRl *a = &g_array_index (self->rows, ValidatedRl, i);
        const ValidatedRl *b = &g_array_index (self->rows, ValidatedRl, j);

        if (a->reason != NULL || b->reason != NULL || !g_str_equal (a->row->model, b->row->model)
            || !g_str_equal (a->row->source, b->row->source))
          continue;
        self->n_pairs++;
        self->n_ordered +=
            (a->row->measured[0] < b->row->measured[0]) == (a->predicted[0] < b->predicted[0]);
      }
}

static void
count_errors (RlValidation *self, RlMeasured what)
{
  g_autoptr (GArray) errors = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedRl *one = &g_array_index (self->rows, ValidatedRl, i);
      const double       measured = one->row->measured[what];
      const double       error = one->predicted[what] / measured - 1;

      if (one->reason == NULL && measured > 0)
        g_array_append_val (errors, error);
    }
  self->errors[what] =
      statistics_of_errors ((const double *) (gconstpointer) errors->data, errors->len);
}

static void
validated_clear (gpointer data)
{
  g_free (((ValidatedRl *) data)->reason);
}

RlValidation *
validate_rl (GArray *measured, const PredictOptions *options, guint n_threads)
{
  RlValidation *self = g_new0 (RlValidation, 1);
  Job           job = { self, *options };

  job.options.todays_frameworks = TRUE;
  self->measured = measured;
  self->rows = g_array_new (FALSE, TRUE, sizeof (ValidatedRl));
  g_array_set_clear_func (self->rows, validated_clear);
  for (guint i = 0; i < measured->len; i++)
    {
      const ValidatedRl one = { .row = &g_array_index (measured, RlRow, i) };

      g_array_append_val (self->rows, one);
    }
  parallel_run (self->rows->len, n_threads, run_row, &job, options->count);
  for (guint i = 0; i < self->rows->len; i++)
    self->n_failed += g_array_index (self->rows, ValidatedRl, i).reason != NULL;
  for (RlMeasured what = 0; what < RL_N_MEASURED; what++)
    count_errors (self, what);
  count_order (self);
  return self;
}

void
rl_validation_free (RlValidation *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->rows);
  g_array_unref (self->measured);
  g_free (self);
}
