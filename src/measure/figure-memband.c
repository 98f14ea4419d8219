#include "measure/figure-memband.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "measure/figure-runs.h"

#define SUFFIX ".memband.csv"

/* ---- the table ------------------------------------------------------------------------------- */

static const char *const part_names[] = { "search", "bound", "measured", "series", NULL };
static const char *const y_names[] = { "mfu", "hfu", "longest", "tokens_per_s", NULL };

const char *
memband_part_name (MembandPart part)
{
  return part_names[part];
}

#define ROW(member) G_STRUCT_OFFSET (MembandRow, member)

static const struct
{
  const char *name;
  gsize       offset; /* of a const char * */
} words[] = {
  { "figure", ROW (figure) },
  { "title", ROW (title) },
  { "model", ROW (name) },
  { "scenario", ROW (scenario) },
  { "options", ROW (options) },
  { "x", ROW (x) },
  { "y", ROW (y) },
  { "assumptions", ROW (assumptions) },
};

static const struct
{
  const char *name;
  gsize       offset; /* of a double */
  double      scale;  /* from the column's unit */
  gboolean    wanted; /* 0 makes no sense */
} numbers[] = {
  { "n_layers", ROW (model.n_layers), 1, TRUE },
  { "d_model", ROW (model.d_model), 1, TRUE },
  { "n_parameters", ROW (model.n_parameters), 1, FALSE },
  { "seq_len", ROW (model.seq_len), 1, TRUE },
  { "n_ranks", ROW (cluster.n_ranks), 1, TRUE },
  { "memory_gb", ROW (cluster.memory_bytes), 1e9, TRUE },
  { "gbit_per_s", ROW (cluster.bytes_per_s), 1e9 / 8, TRUE },
  { "tflops", ROW (cluster.peak_flops), 1e12, TRUE },
  { "efficiency", ROW (cluster.efficiency), 1, TRUE },
  { "passes", ROW (cluster.passes), 1, TRUE },
  { "latency_us", ROW (cluster.latency_s), 1e-6, FALSE },
  { "tokens", ROW (tokens), 1, FALSE },
  { "compute_s", ROW (compute_s), 1, FALSE },
  { "measured_s", ROW (measured), 1, FALSE },
};

/* The cell of COLUMN, "" where the table has no such column, and its MARK. */
static const char *
cell_of (const CsvReader *reader, const char *column, SourceMark *mark)
{
  const gint at = csv_reader_find (reader, column);

  *mark = at >= 0 ? csv_reader_mark (reader, (guint) at) : (SourceMark){ 0 };
  return at >= 0 ? csv_reader_field (reader, (guint) at) : "";
}

/* The number of column C; "" is 0. FALSE after a diagnostic. */
static gboolean
read_number (const char *text, guint c, const SourceMark *mark, double *value, DiagList *diags)
{
  char *end;

  *value = g_ascii_strtod (text, &end);
  if (*end == '\0' && number_is_usable (*value)
      && (*value > 0 || (*value == 0 && !numbers[c].wanted)))
    return TRUE;
  diag_error (diags, mark, NULL, "expected a number %s 0 for '%s', got '%s'",
              numbers[c].wanted ? "above" : "from", numbers[c].name, text);
  return FALSE;
}

static gint
read_word (const CsvReader *reader, const char *column, const char *const *known, DiagList *diags)
{
  SourceMark  mark;
  const char *text = cell_of (reader, column, &mark);
  const gint  index = name_index (text, known);

  if (index < 0)
    {
      g_autofree char *hint = suggest_hint (text, known);

      diag_error (diags, &mark, hint, "unknown value '%s' for '%s'", text, column);
    }
  return index;
}

/* A row for each value of x. */
static void
read_series (FigureMemband *self, const CsvReader *reader, const MembandRow *row, DiagList *diags)
{
  SourceMark     mark, key;
  const char    *list = cell_of (reader, row->x, &mark);
  g_auto (GStrv) values = g_strsplit (list, " ", -1);
  guint          column = 0;

  while (column < G_N_ELEMENTS (numbers) && !g_str_equal (numbers[column].name, row->x))
    column++;
  if (column == G_N_ELEMENTS (numbers))
    {
      cell_of (reader, "x", &key);
      diag_error (diags, &key, NULL, "there is no column of numbers '%s'", row->x);
      return;
    }
  for (guint i = 0; values[i] != NULL; i++)
    {
      MembandRow one = *row;

      if (!read_number (values[i], column, &mark, &one.at, diags))
        return;
      G_STRUCT_MEMBER (double, &one, numbers[column].offset) = one.at * numbers[column].scale;
      g_array_append_val (self->rows, one);
    }
}

static void
read_line (FigureMemband *self, const CsvReader *reader, DiagList *diags)
{
  MembandRow row = { .closed = NAN, .simulated = NAN, .same = NAN, .three = NAN, .gamma = NAN };
  const gint part = read_word (reader, "part", part_names, diags);
  SourceMark mark;

  if (part < 0)
    return;
  row.part = (MembandPart) part;
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    G_STRUCT_MEMBER (const char *, &row, words[i].offset) =
        g_string_chunk_insert_const (self->strings, cell_of (reader, words[i].name, &mark));
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      const char *text = cell_of (reader, numbers[i].name, &mark);
      double      value;

      if (row.part == MEMBAND_SERIES && g_str_equal (numbers[i].name, row.x))
        continue;
      if (!read_number (text, i, &mark, &value, diags))
        return;
      G_STRUCT_MEMBER (double, &row, numbers[i].offset) = value * numbers[i].scale;
    }
  row.model.element_bytes = 2;
  if (row.part != MEMBAND_SERIES)
    g_array_append_val (self->rows, row);
  else if (read_word (reader, "y", y_names, diags) >= 0)
    read_series (self, reader, &row, diags);
}

static gboolean
read_table (FigureMemband *self, const char *file, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  const guint           n_errors = diag_list_n_errors (diags);
  const char           *names[G_N_ELEMENTS (words) + G_N_ELEMENTS (numbers) + 2] = { "part" };
  gboolean              complete;

  if (reader == NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    names[1 + i] = words[i].name;
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    names[1 + G_N_ELEMENTS (words) + i] = numbers[i].name;
  csv_reader_check_names (reader, names, diags);
  complete = diag_list_n_errors (diags) == n_errors;
  while (complete && csv_reader_next (reader, diags))
    read_line (self, reader, diags);
  return diag_list_n_errors (diags) == n_errors;
}

/* ---- the closed form ------------------------------------------------------------------------- */

static double
series_value (const MembandRow *row)
{
  const double values[] = { 100 * row->best.mfu, 100 * row->best.hfu, row->bounds.longest,
                            row->best.tokens_per_s };

  return values[name_index (row->y, y_names)];
}

static void
compute (MembandRow *row)
{
  row->bounds = memband_bounds (&row->model, &row->cluster);
  row->found = row->part == MEMBAND_MEASURED
               || memband_search (&row->model, &row->cluster, row->tokens, &row->best);
  if (!row->found)
    return;
  switch (row->part)
    {
    case MEMBAND_SEARCH:
      row->closed = 100 * row->best.mfu;
      break;
    case MEMBAND_BOUND:
      row->closed = 100 * MIN (row->bounds.mfu, row->bounds.compute_mfu);
      break;
    case MEMBAND_MEASURED:
      row->closed = memband_overlapped_step (&row->model, &row->cluster, row->compute_s);
      break;
    default:
      row->closed = series_value (row);
      break;
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void
take_option (GArray *overrides, GStringChunk *strings, const char *key, const char *value)
{
  const ScenarioOverride override = { g_string_chunk_insert (strings, key),
                                      g_string_chunk_insert (strings, value), "the table" };

  g_array_append_val (overrides, override);
}

static void
take_number (GArray *overrides, GStringChunk *strings, const char *key, double value)
{
  g_autofree char *text = g_strdup_printf ("%.0f", value);

  take_option (overrides, strings, key, text);
}

/* Of the best point with the run's gamma. */
static double
mfu_percent_at (const MembandRow *row, double passes)
{
  MembandCluster cluster = row->cluster;

  cluster.passes = passes;
  return 100
         * memband_evaluate (&row->model, &cluster, row->best.stage, row->gamma, row->best.tokens)
               .mfu;
}

/*
 * The stage, tokens and gamma of the best point. Checkpoints are of whole blocks, one in K: a run
 * keeps 0, 1/2, 2/3, ... or all of the activations: the most that is not more than gamma.
 */
static void
take_point (MembandRow *row, GArray *overrides, GStringChunk *strings)
{
  const double     period = floor (1 / (1 - row->best.gamma) + 1e-9);
  g_autofree char *some = g_strdup_printf ("layers:%.0f", period);
  const gboolean   all = row->best.gamma >= 1, none = !all && period < 2;

  row->gamma = all ? 1 : none ? 0 : 1 - 1 / period;
  row->same = mfu_percent_at (row, row->cluster.passes);
  row->three = mfu_percent_at (row, 3);
  take_option (overrides, strings, "training.activation_checkpointing",
               all    ? "none"
               : none ? "full"
                      : some);
  take_number (overrides, strings, "training.micro_batch", row->best.tokens / row->model.seq_len);
  take_option (overrides, strings, "strategy.name",
               row->best.stage == MEMBAND_STAGE_3 ? "fsdp2" : "zero2");
}

/* The scenario of ROW; NULL with a reason. */
static Scenario *
scenario_of (MembandRow *row, const GPtrArray *bases)
{
  g_autoptr (GArray)       overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  g_autoptr (GStringChunk) strings = g_string_chunk_new (1024);
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_auto (GStrv)           options = g_strsplit (row->options, " ", -1);
  const Scenario          *base = NULL;
  Scenario                *scenario;

  for (guint i = 0; i < bases->len; i++)
    if (g_str_equal (((Scenario *) g_ptr_array_index (bases, i))->name, row->scenario))
      base = g_ptr_array_index (bases, i);
  if (base == NULL)
    {
      row->reason = g_strdup_printf ("there is no scenario '%s'", row->scenario);
      return NULL;
    }
  take_number (overrides, strings, "model.n_layers", row->model.n_layers);
  take_number (overrides, strings, "model.d_model", row->model.d_model);
  take_number (overrides, strings, "training.seq_len", row->model.seq_len);
  for (guint i = 0; options[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (options[i], "=", 2);

      if (pair[0] == NULL) /* of two spaces */
        continue;
      if (pair[1] == NULL)
        {
          row->reason = g_strdup_printf ("'%s' is no section.key=value", options[i]);
          return NULL;
        }
      take_option (overrides, strings, pair[0], pair[1]);
    }
  if (row->part == MEMBAND_SEARCH)
    take_point (row, overrides, strings);
  scenario = scenario_with (base, NULL, (const ScenarioOverride *) (void *) overrides->data,
                            overrides->len, diags);
  if (scenario == NULL)
    row->reason = g_strdup (diag_list_first_message (diags));
  return scenario;
}

static void
take_prediction (MembandRow *row, const Prediction *prediction)
{
  row->fits = prediction->fits;
  row->profiles = g_strdup (prediction->profiles);
  row->simulated = row->part == MEMBAND_MEASURED
                       ? prediction->step_time_s
                       : 300 * memband_forward_flops (&row->model)
                             * prediction->tokens_per_s_per_gpu / row->cluster.peak_flops;
}

static void
simulate_all (FigureMemband *self, const GPtrArray *bases, const PredictOptions *options,
              guint n_threads)
{
  g_autoptr (GPtrArray) scenarios = g_ptr_array_new_with_free_func ((GDestroyNotify) scenario_free);
  g_autoptr (GPtrArray) rows = g_ptr_array_new (); /* of the scenarios */
  g_autoptr (FigureRuns) runs = NULL;

  for (guint i = 0; i < self->rows->len; i++)
    {
      MembandRow *row = &g_array_index (self->rows, MembandRow, i);
      Scenario   *scenario = *row->scenario != '\0' && row->found ? scenario_of (row, bases) : NULL;

      if (scenario == NULL)
        continue;
      g_ptr_array_add (scenarios, scenario);
      g_ptr_array_add (rows, row);
    }
  runs = figure_runs_new (scenarios, options, n_threads);
  for (guint i = 0; i < scenarios->len; i++)
    if (runs->predictions[i] != NULL)
      take_prediction (g_ptr_array_index (rows, i), runs->predictions[i]);
    else
      ((MembandRow *) g_ptr_array_index (rows, i))->reason = g_strdup (runs->reasons[i]);
}

/* ---- figures --------------------------------------------------------------------------------- */

static char *
file_of (const char *folder, const char *name, const char *suffix)
{
  g_autofree char *file = g_strconcat (name, suffix, NULL);

  return g_build_filename (folder, file, NULL);
}

gboolean
figure_memband_is (const char *folder, const char *name)
{
  g_autofree char *file = file_of (folder, name, SUFFIX);

  return g_file_test (file, G_FILE_TEST_EXISTS);
}

static void
row_clear (gpointer data)
{
  MembandRow *row = data;

  g_free (row->reason);
  g_free (row->profiles);
}

FigureMemband *
figure_memband_predict (const char *folder, const char *name, const PredictOptions *options,
                        guint n_threads, DiagList *diags)
{
  g_autoptr (FigureMemband) self = g_new0 (FigureMemband, 1);
  g_autofree char          *yaml = file_of (folder, name, ".yaml");
  g_autofree char          *csv = file_of (folder, name, SUFFIX);
  g_autoptr (GPtrArray)     bases = scenario_load (NULL, yaml, NULL, 0, diags);

  self->name = g_strdup (name);
  self->strings = g_string_chunk_new (4096);
  self->rows = g_array_new (FALSE, TRUE, sizeof (MembandRow));
  g_array_set_clear_func (self->rows, row_clear);
  if (!read_table (self, csv, diags) || bases == NULL)
    return NULL;
  for (guint i = 0; i < self->rows->len; i++)
    compute (&g_array_index (self->rows, MembandRow, i));
  simulate_all (self, bases, options, n_threads);
  return g_steal_pointer (&self);
}

void
figure_memband_free (FigureMemband *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->rows);
  g_string_chunk_free (self->strings);
  g_free (self->name);
  g_free (self);
}
