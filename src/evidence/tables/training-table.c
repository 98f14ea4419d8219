#include "evidence/tables/training-table.h"

#include <math.h>
#include <string.h>

#include "base/config/units.h"
#include "base/intern.h"
#include "evidence/tables/implied.h"
#include "evidence/tables/training-columns.h"
#include "evidence/tables/training-slow.h"

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const metric_names[METRIC_N + 1] = {
  [METRIC_TOKENS_PER_S_PER_GPU] = "tokens_per_s_per_gpu",
  [METRIC_STEP_TIME_S] = "step_time_s",
  [METRIC_MFU_PERCENT] = "mfu_percent",
  [METRIC_HARDWARE_TFLOPS_PER_GPU] = "hardware_tflops_per_gpu",
  [METRIC_FITS] = "fits",
  [METRIC_PEAK_ALLOCATED_GIB] = "peak_allocated_gib",
  [METRIC_PEAK_RESERVED_GIB] = "peak_reserved_gib",
  [METRIC_PEAK_DEVICE_GB] = "peak_device_gb",
  [METRIC_PEAK_GIB] = "peak_gib",
};

const char *
training_metric_name (TrainingMetric metric)
{
  g_assert ((guint) metric < METRIC_N);
  return metric_names[metric];
}

gboolean
training_metric_is_speed (TrainingMetric metric)
{
  return metric < METRIC_FITS;
}

gboolean
training_metric_is_time (TrainingMetric metric)
{
  return metric == METRIC_STEP_TIME_S;
}

/*
 * Bytes of TEXT before a last "-" and digits, with or without PREFIX before the digits; TEXT's
 * length where it does not end so.
 */
static gsize
length_without_number (const char *text, gsize length, const char *prefix)
{
  gsize end = length, before = strlen (prefix) + 1;

  while (end > 0 && g_ascii_isdigit (text[end - 1]))
    end--;
  if (end == length || end <= before || text[end - before] != '-'
      || strncmp (text + end - before + 1, prefix, before - 1) != 0)
    return length;
  return end - before;
}

char *
training_source_of_id (const char *id)
{
  gsize length = length_without_number (id, strlen (id), "r");

  return g_strndup (id, length_without_number (id, length, ""));
}

/* ---- cells ----------------------------------------------------------------------------------- */

/*
 * A row on its way. What is wrong with it is its own matter: DIAGS holds this row's findings only.
 */
typedef struct
{
  TrainingTable  *table;
  TrainingRow     row;
  const Strategy *strategy; /* NULL: unknown, or not read yet */
  const char     *shard;    /* cells that need the strategy */
  SourceMark      shard_mark;
  const char     *options;
  SourceMark      options_mark;
  const char     *framework;
  const char     *fp8;     /* what the cell of precision says of it; NULL: nothing */
  Scenario       *scratch; /* where options are tried */
  DiagList       *diags;
  Implied        *implied;
  GPtrArray      *libraries; /* of profile_set_libraries; NULL: a profile has mistakes */
  DiagList       *all;       /* of the table: a mistake in a profile is none of the row */
} Draft;

static const char *
keep (Draft *self, const char *text)
{
  return g_string_chunk_insert_const (self->table->strings, text);
}

/*
 * What was measured ran on the release that it says, whose tables may be unknown: then those of the
 * nearest one.
 */
static const char *
known_release (const Draft *self, const char *version)
{
  const LibraryProfile *found = NULL;

  if (self->libraries != NULL && library_profile_find (self->libraries, version) == NULL)
    found = library_profile_nearest (self->libraries, version);
  return found != NULL ? found->version : version;
}

static void
add_setting (Draft *self, const char *key, const char *value)
{
  const gboolean         release = strcmp (key, "collective.nccl") == 0;
  const ScenarioOverride setting = {
    .key = intern_text (key),
    .value = keep (self, release ? known_release (self, value) : value),
  };

  g_array_append_val (self->row.settings, setting);
}

static void
read_metric (Draft *self, const char *text, const SourceMark *mark)
{
  g_autofree char *hint = NULL;

  self->row.metric_name = keep (self, text);
  if (name_index (text, metric_names) >= 0)
    {
      self->row.metric = (TrainingMetric) name_index (text, metric_names);
      self->row.metric_name = metric_names[self->row.metric];
      return;
    }
  hint = suggest_hint (text, metric_names);
  diag_error (self->diags, mark, hint, "unknown value '%s' for 'metric'", text);
}

static void
read_use (Draft *self, const char *text, const SourceMark *mark)
{
  static const char *const uses[] = { "test", "calibrate", NULL };
  g_autofree char         *hint = NULL;

  self->row.calibrates = name_index (text, uses) == 1;
  if (*text == '\0' || name_index (text, uses) >= 0)
    return;
  hint = suggest_hint (text, uses);
  diag_error (self->diags, mark, hint, "unknown value '%s' for 'use'", text);
}

/* A bare number; whether it suits the metric is seen when the row is complete. */
static void
read_value (Draft *self, const char *text, const SourceMark *mark)
{
  char  *end;
  double number = g_ascii_strtod (text, &end);

  while (g_ascii_isspace (*end))
    end++;
  if (end != text && *end == '\0' && number_is_usable (number))
    self->row.value = number;
  else
    diag_error (self->diags, mark, *end != '\0' && end != text ? "no unit belongs here" : NULL,
                "expected a number for 'value', got '%s'", text);
}

static void
read_strategy (Draft *self, const char *text, const SourceMark *mark)
{
  self->strategy = training_find_strategy (text, mark, self->diags);
  if (self->strategy != NULL)
    add_setting (self, "strategy.name", self->strategy->name);
}

static gpointer
scratch_of (const Draft *self, guint section)
{
  return (guint8 *) self->scratch + training_sections[section].offset;
}

#define FP8_KEY       "training.fp8_recipe"
#define FRAMEWORK_KEY "training.framework"
#define FP8_BY_NAME   "fp8" /* which recipe is the framework's own */

/* Precisions of tables that are two settings of a scenario. */
static const struct
{
  const char *word, *precision, *recipe;
} fp8_words[] = {
  { "fp8", "bf16-mixed", FP8_BY_NAME },
  { "mxfp8", "bf16-mixed", "mxfp8" },
  { "nvfp4", "bf16-mixed", "nvfp4" },
};

static gboolean
read_fp8 (Draft *self, const TrainingColumn *column, const char *text)
{
  for (guint i = 0; i < G_N_ELEMENTS (fp8_words); i++)
    if (strcmp (column->key, "training.precision") == 0
        && g_ascii_strcasecmp (text, fp8_words[i].word) == 0)
      {
        add_setting (self, column->key, fp8_words[i].precision);
        self->fp8 = fp8_words[i].recipe;
        return TRUE;
      }
  return FALSE;
}

static void
read_setting (Draft *self, const TrainingColumn *column, const char *text, const SourceMark *mark)
{
  if (*text == '\0')
    return;
  if (strcmp (column->key, "cluster.gpu") == 0)
    self->row.gpu = keep (self, text);
  if (!read_fp8 (self, column, text)
      && option_set (column->spec, scratch_of (self, column->section), text, mark, self->diags))
    add_setting (self, column->key, text);
}

/*
 * "188.9" of all_reduce_bus_gbs, in front of the next: what was measured over all GPUs before the
 * run. An empty cell says nothing.
 */
static void
read_network (Draft *self, const TrainingColumn *column, const char *text, const SourceMark *mark)
{
  char            *end;
  double           number = g_ascii_strtod (text, &end);
  const char      *before = self->row.measured;
  g_autofree char *all = NULL;

  while (g_ascii_isspace (*end))
    end++;
  if (*text == '\0')
    return;
  if (end == text || *end != '\0' || !number_is_usable (number) || number <= 0)
    {
      diag_error (self->diags, mark, *end != '\0' && number > 0 ? "no unit belongs here" : NULL,
                  "expected a bandwidth in GB/s for '%s', got '%s'", column->key, text);
      return;
    }
  all =
      g_strdup_printf ("%s%s%s " TRAINING_MEASURED_SIZE " %.*s GB/s", before != NULL ? before : "",
                       before != NULL ? ", " : "", collective_kind_name (column->collective),
                       (int) strcspn (text, " "), text);
  self->row.measured = keep (self, all);
}

static void
read_cell (Draft *self, const TrainingColumn *column, const char *name, const char *text,
           const SourceMark *mark)
{
  if (*text == '\0' && column->required)
    {
      diag_error (self->diags, mark, column->spec != NULL ? column->spec->help : NULL,
                  "no value for '%s'", name);
      return;
    }
  switch (column->kind)
    {
    case COLUMN_ID:
      self->row.id = keep (self, text);
      break;
    case COLUMN_METRIC:
      read_metric (self, text, mark);
      break;
    case COLUMN_VALUE:
      read_value (self, text, mark);
      break;
    case COLUMN_USE:
      read_use (self, text, mark);
      break;
    case COLUMN_STRATEGY:
      read_strategy (self, text, mark);
      break;
    case COLUMN_SHARD:
      self->shard = text;
      self->shard_mark = *mark;
      break;
    case COLUMN_OPTIONS:
      self->options = text;
      self->options_mark = *mark;
      break;
    case COLUMN_NETWORK:
      read_network (self, column, text, mark);
      break;
    case COLUMN_SETTING:
      if (strcmp (name, "framework") == 0)
        self->framework = text;
      read_setting (self, column, text, mark);
      break;
    default:
      break;
    }
}

/* ---- what a framework does ------------------------------------------------------------------- */

static ScenarioOverride *
find_override (const Draft *self, const char *key)
{
  for (guint i = 0; i < self->row.settings->len; i++)
    {
      ScenarioOverride *setting = &g_array_index (self->row.settings, ScenarioOverride, i);

      if (strcmp (setting->key, key) == 0)
        return setting;
    }
  return NULL;
}

/* What the row has for KEY; NULL: nothing. An ImpliedLookup. */
static const char *
find_value (gconstpointer self, const char *key)
{
  const ScenarioOverride *set = find_override (self, key);

  return set != NULL ? set->value : NULL;
}

/*
 * As the settings say it, by parts or as "4 x dgx-a100". The strings are to be freed with
 * option_table_clear.
 */
static ClusterOptions
read_cluster (const Draft *self)
{
  static const char *const keys[] = { "nodes", "name", "gpu", "gpus_per_node" };
  g_autoptr (DiagList)     diags = diag_list_new ();
  ClusterOptions           cluster = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      g_autofree char        *key = g_strdup_printf ("cluster.%s", keys[i]);
      const ScenarioOverride *set = find_override (self, key);

      if (set != NULL)
        option_set_key (cluster_options, &cluster, keys[i], set->value, NULL, diags);
    }
  cluster_options_split_name (&cluster);
  return cluster;
}

/* Of the row's GPUs; NULL where no profile has them, which the row is told elsewhere. */
static const char *
find_architecture (const Draft *self)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ClusterOptions       cluster = read_cluster (self);
  const NodeProfile   *node = NULL;
  const GpuProfile    *gpu = NULL;

  if (cluster.gpu == NULL && cluster.name != NULL)
    node = profile_set_node (implied_profiles (self->implied), cluster.name, NULL, diags);
  if (cluster.gpu != NULL || node != NULL)
    gpu = profile_set_gpu (implied_profiles (self->implied),
                           cluster.gpu != NULL ? cluster.gpu : node->gpu, NULL, diags);
  option_table_clear (cluster_options, &cluster);
  return gpu != NULL ? gpu->architecture : NULL;
}

static void
finish_framework (Draft *self)
{
  const GArray *settings = NULL;

  if (self->framework != NULL && self->strategy != NULL)
    settings = implied_find (self->implied, self->framework, self->all);
  for (guint i = 0; settings != NULL && i < settings->len; i++)
    {
      const FrameworkImplied *setting = &g_array_index (settings, FrameworkImplied, i);
      ScenarioOverride       *set = find_override (self, setting->set);
      const char             *gpus = setting->gpus != NULL ? find_architecture (self) : NULL;

      /* A cell or a word of `options` goes before what the framework implies. */
      if (!implied_holds (setting, self->framework, self->strategy->name, gpus)
          || !implied_fits (setting, find_value, self))
        continue;
      if (set == NULL && setting->instead_of == NULL)
        add_setting (self, setting->set, setting->to);
      else if (set != NULL && g_strcmp0 (set->value, setting->instead_of) == 0)
        set->value = keep (self, setting->to);
    }
}

/* `options` goes before the precision's word, and that by its framework's sense. */
static void
finish_fp8 (Draft *self)
{
  ScenarioOverride *recipe;

  if (self->fp8 != NULL && find_override (self, FP8_KEY) == NULL)
    add_setting (self, FP8_KEY, self->fp8);
  finish_framework (self);
  recipe = find_override (self, FP8_KEY);
  if (recipe != NULL && strcmp (recipe->value, FP8_BY_NAME) == 0)
    recipe->value = "tensorwise"; /* what both libraries make of the bare word today */
}

/* ---- what needs the whole row ---------------------------------------------------------------- */

static const OptionSpec *
find_strategy_option (const Draft *self, const char *key)
{
  if (self->strategy == NULL || self->strategy->options == NULL)
    return NULL;
  return option_table_find (self->strategy->options, key);
}

/* `all` is what a strategy without a shard group does anyhow. */
static void
finish_shard (Draft *self)
{
  if (self->shard == NULL || *self->shard == '\0' || self->strategy == NULL)
    return;
  if (strcmp (self->shard, "grad-op") != 0)
    {
      if (find_strategy_option (self, "shard") != NULL || strcmp (self->shard, "all") != 0)
        add_setting (self, "mesh.shard", self->shard);
      return;
    }
  if (find_strategy_option (self, "reshard_after_forward") == NULL)
    {
      diag_error (self->diags, &self->shard_mark, NULL,
                  "strategy '%s' gathers nothing that grad-op could keep", self->strategy->name);
      return;
    }
  add_setting (self, "mesh.shard", "all");
  add_setting (self, "strategy.reshard_after_forward", "false");
}

static void
finish_options (Draft *self)
{
  g_auto (GStrv) words = self->options != NULL ? g_strsplit_set (self->options, " ;\t", -1) : NULL;

  for (guint i = 0; words != NULL && words[i] != NULL; i++)
    if (*words[i] != '\0')
      {
        const char       *word = words[i];
        const char       *equals = strchr (word, '=');
        g_autofree char  *name = equals != NULL ? g_strndup (word, equals - word) : g_strdup (word);
        g_autofree char  *key = NULL;
        guint             section = 0;
        const OptionSpec *spec = training_find_setting (name, &section);

        /*
         * An option of the strategy cannot be tried here without its struct: the scenario says what
         * is wrong with it.
         */
        if (equals == NULL)
          diag_error (self->diags, &self->options_mark, NULL, "expected 'option=value', got '%s'",
                      word);
        else if (find_strategy_option (self, name) != NULL)
          {
            key = g_strdup_printf ("strategy.%s", name);
            add_setting (self, key, equals + 1);
          }
        else if (spec == NULL)
          diag_error (self->diags, &self->options_mark, NULL, "unknown option '%s'", name);
        else if (option_set (spec, scratch_of (self, section), equals + 1, &self->options_mark,
                             self->diags))
          {
            key = g_strdup_printf ("%s.%s", training_sections[section].name, name);
            add_setting (self, key, equals + 1);
          }
      }
}

static void
check_value (Draft *self, const SourceMark *mark)
{
  const double value = self->row.value;

  if (self->row.metric == METRIC_FITS ? value != 0 && value != 1 : value <= 0)
    diag_error (self->diags, mark, NULL, "expected %s for 'value', got %g",
                self->row.metric == METRIC_FITS ? "0 or 1" : "a number above 0", value);
  else if (self->row.metric == METRIC_MFU_PERCENT && value > 100)
    diag_error (self->diags, mark,
                "of the GPU's peak without sparsity, in the type of the products",
                "an MFU of %g %% is above what the GPU can do", value);
}

static void
finish_cluster (Draft *self)
{
  ClusterOptions          cluster = read_cluster (self);
  const ScenarioOverride *tp = find_override (self, "mesh.tp");

  self->row.n_nodes = (guint) cluster.nodes;
  if (tp != NULL && cluster.gpus_per_node > 0)
    self->row.tensor_over_nodes =
        g_ascii_strtoll (tp->value, NULL, 10) > (gint64) cluster.gpus_per_node;
  option_table_clear (cluster_options, &cluster);
}

static void
append_cell (GString *key, const char *text)
{
  g_string_append (key, text);
  g_string_append_c (key, '\x1f');
}

/*
 * All that the row's scenario is made of. Releases of a framework that have one profile are one
 * run: what else their names imply is among the settings.
 */
static const char *
keep_configuration (Draft *self)
{
  g_autoptr (GString)     run = g_string_new (NULL);
  const FrameworkProfile *framework =
      self->framework != NULL ? implied_framework (self->implied, self->framework, self->all)
                              : NULL;

  for (guint i = 0; i < self->row.settings->len; i++)
    {
      const ScenarioOverride *set = &g_array_index (self->row.settings, ScenarioOverride, i);
      const gboolean          profiled = framework != NULL && strcmp (set->key, FRAMEWORK_KEY) == 0;

      append_cell (run, set->key);
      append_cell (run, profiled ? framework->id : set->value);
    }
  return keep (self, run->str);
}

/*
 * The first thing that is wrong with the row is why it counts nowhere. IS_RUN: the table has
 * figures of training.
 */
static void
finish_reason (Draft *self, gboolean is_run)
{
  g_autofree char *reason = diag_list_first_reason (self->diags);

  if (reason != NULL)
    self->row.unmodelled = keep (self, reason);
  else if (!is_run)
    self->row.unmodelled =
        "a measured network, not a run: 'validate collectives' takes its figures";
}

static void
read_row (Draft *common, const CsvReader *reader, const GArray *columns)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Draft                self = *common;
  gint                 value = csv_reader_find (reader, "value");
  g_autoptr (GString)  group = g_string_new (NULL), model = g_string_new (NULL);
  g_autofree char     *source = NULL;

  self.diags = diags;
  self.row.settings = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  self.row.id = self.row.metric_name = "";
  self.row.metric = METRIC_N;
  self.row.value = NAN;
  for (guint i = 0; i < columns->len; i++)
    {
      const TrainingColumn *column = &g_array_index (columns, TrainingColumn, i);
      const char           *text = csv_reader_field (reader, i);
      SourceMark            mark = csv_reader_mark (reader, i);

      read_cell (&self, column, csv_reader_column (reader, i), text, &mark);
      if (column->same_rank)
        append_cell (group, text);
      if (column->same_model)
        append_cell (model, text);
    }
  finish_shard (&self);
  finish_options (&self);
  finish_fp8 (&self);
  if (find_override (&self, "replay.granularity") == NULL)
    add_setting (&self, "replay.granularity", "pass"); /* the fastest; kernels agree within 1 % */
  if (find_override (&self, "training.flops_convention") == NULL)
    add_setting (&self, "training.flops_convention", "palm"); /* what most publish */
  if (value != NO_COLUMN && !diag_list_has_errors (diags))
    {
      SourceMark mark = csv_reader_mark (reader, (guint) value);

      check_value (&self, &mark);
    }
  finish_reason (&self, csv_reader_find (reader, "metric") != NO_COLUMN);
  source = training_source_of_id (self.row.id);
  self.row.source = keep (&self, source);
  self.row.configuration = keep_configuration (&self);
  append_cell (group, source);
  self.row.layout_group = keep (&self, group->str);
  append_cell (model, source);
  self.row.model_group = keep (&self, model->str);
  finish_cluster (&self);
  g_array_append_val (self.table->rows, self.row);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void
training_row_clear (gpointer data)
{
  TrainingRow *self = data;

  g_array_unref (self->settings);
}

static TrainingTable *
training_table_new (const char *file, DiagList *diags)
{
  TrainingTable *self = g_new0 (TrainingTable, 1);

  self->rows = g_array_new (FALSE, FALSE, sizeof (TrainingRow));
  g_array_set_clear_func (self->rows, training_row_clear);
  self->strings = g_string_chunk_new (65536);
  self->goals = training_goals_load (file, diags);
  return self;
}

void
training_table_free (TrainingTable *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->rows);
  g_array_unref (self->goals);
  g_string_chunk_free (self->strings);
  g_free (self);
}

void
training_table_use_networks (TrainingTable *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    {
      TrainingRow           *row = &g_array_index (self->rows, TrainingRow, i);
      const ScenarioOverride setting = { .key = "cluster.measured", .value = row->measured };
      g_autofree char       *run = NULL;

      if (row->measured == NULL || row->n_nodes == 1)
        continue;
      run = g_strconcat (row->configuration, row->measured, NULL);
      row->configuration = g_string_chunk_insert_const (self->strings, run);
      row->network = row->measured;
      g_array_append_val (row->settings, setting);
      self->n_networks++;
    }
}

TrainingTable *
training_table_load (const char *file, ProfileSet *profiles, DiagList *diags)
{
  g_autoptr (CsvReader)     reader = csv_reader_open (file, diags);
  g_autoptr (TrainingTable) self = NULL;
  g_autofree Scenario      *scratch = g_new0 (Scenario, 1);
  g_autoptr (GArray)        columns = NULL;
  g_autoptr (Implied)       implied = implied_new (profiles);
  g_autoptr (DiagList)      own = diag_list_new (); /* mistakes in profiles are the runs' to tell */
  g_autoptr (GPtrArray)     libraries = profile_set_libraries (profiles, own);
  Draft draft = { .scratch = scratch, .implied = implied, .libraries = libraries, .all = diags };
  guint n_errors = diag_list_n_errors (diags);

  if (reader == NULL)
    return NULL;
  draft.table = self = training_table_new (file, diags);
  columns = training_columns_read (reader, diags);
  while (csv_reader_next (reader, diags))
    read_row (&draft, reader, columns);
  training_find_slow (self->rows);
  for (guint s = 0; s < TRAINING_N_SECTIONS; s++)
    option_table_clear (scenario_section_table (training_sections[s].name),
                        (guint8 *) scratch + training_sections[s].offset);
  if (self->rows->len == 0 && diag_list_n_errors (diags) == n_errors)
    {
      const SourceMark mark = { .file = intern_text (file) };

      diag_error (diags, &mark, NULL, "a header without rows: expected a measurement a row");
    }
  return diag_list_n_errors (diags) == n_errors ? g_steal_pointer (&self) : NULL;
}
