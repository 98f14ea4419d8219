#include "evidence/figures/figure-memband.h"

#include <math.h>
#include <string.h>

#include "base/config/suggest.h"
#include "evidence/figures/figure-private.h"

/* ---- the table ------------------------------------------------------------------------------- */

static const char *const part_names[] = { "search", "bound", "measured", "series", NULL };
static const char *const y_names[] = { "mfu", "hfu", "longest", "tokens_per_s", NULL };

#define CELL(member) G_STRUCT_OFFSET (MembandRow, member)
static const FigureColumn columns[] = {
  { "part", CELL (word), .type = FIGURE_WORD, .words = part_names },
  { "figure", CELL (figure), .type = FIGURE_WORD },
  { "title", CELL (title), .type = FIGURE_WORD },
  { "model", CELL (name), .type = FIGURE_WORD },
  { "scenario", CELL (scenario), .type = FIGURE_WORD },
  { "options", CELL (options), .type = FIGURE_WORD },
  { "x", CELL (x), .type = FIGURE_WORD },
  { "y", CELL (y), .type = FIGURE_WORD },
  { "assumptions", CELL (assumptions), .type = FIGURE_WORD },
  { "n_layers", CELL (model.n_layers), .type = FIGURE_ABOVE_0 },
  { "d_model", CELL (model.d_model), .type = FIGURE_ABOVE_0 },
  { "n_parameters", CELL (model.n_parameters), .type = FIGURE_FROM_0 },
  { "seq_len", CELL (model.seq_len), .type = FIGURE_ABOVE_0 },
  { "n_ranks", CELL (cluster.n_ranks), .type = FIGURE_ABOVE_0 },
  { "memory_gb", CELL (cluster.memory_bytes), .type = FIGURE_ABOVE_0, .scale = 1e9 },
  { "gbit_per_s", CELL (cluster.bytes_per_s), .type = FIGURE_ABOVE_0, .scale = 1e9 / 8 },
  { "tflops", CELL (cluster.peak_flops), .type = FIGURE_ABOVE_0, .scale = 1e12 },
  { "efficiency", CELL (cluster.efficiency), .type = FIGURE_ABOVE_0 },
  { "passes", CELL (cluster.passes), .type = FIGURE_ABOVE_0 },
  { "latency_us", CELL (cluster.latency_s), .type = FIGURE_FROM_0, .scale = 1e-6 },
  { "tokens", CELL (tokens), .type = FIGURE_FROM_0 },
  { "compute_s", CELL (compute_s), .type = FIGURE_FROM_0 },
  { "measured_s", CELL (measured), .type = FIGURE_FROM_0 },
};

static void
check_line (gpointer self, gpointer line, const CsvReader *reader, DiagList *diags)
{
  MembandRow      *row = line;
  const SourceMark mark = figure_table_mark (reader, "y");
  g_autofree char *hint = suggest_hint (row->y, y_names);

  (void) self;
  row->part = (MembandPart) name_index (row->word, part_names);
  row->closed = row->simulated = row->same = row->three = row->gamma = NAN;
  row->model.element_bytes = 2;
  if (row->part == MEMBAND_SERIES && name_index (row->y, y_names) < 0)
    diag_error (diags, &mark, hint, "unknown value '%s' for 'y'", row->y);
}

/* ---- the closed form ------------------------------------------------------------------------- */

static void
compute_row (MembandRow *row)
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
      {
        const double values[] = { 100 * row->best.mfu, 100 * row->best.hfu, row->bounds.longest,
                                  row->best.tokens_per_s };

        row->closed = values[name_index (row->y, y_names)];
      }
      break;
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct
{
  GArray       *overrides; /* ScenarioOverride */
  GStringChunk *strings;
} Settings;

static void
set (Settings *self, const char *key, const char *value)
{
  const ScenarioOverride override = { g_string_chunk_insert (self->strings, key),
                                      g_string_chunk_insert (self->strings, value), "the table" };

  g_array_append_val (self->overrides, override);
}

static void
set_number (Settings *self, const char *key, double value)
{
  g_autofree char *text = g_strdup_printf ("%.0f", value);

  set (self, key, text);
}

/* Of the best point with the run's gamma. */
static double
mfu_percent_at (const MembandRow *row, double passes)
{
  const MembandPoint *best = &row->best;
  MembandCluster      cluster = row->cluster;

  cluster.passes = passes;
  return 100 * memband_evaluate (&row->model, &cluster, best->stage, row->gamma, best->tokens).mfu;
}

/*
 * The stage, tokens and gamma of the best point. Checkpoints are of whole blocks, one in K: a run
 * keeps 0, 1/2, 2/3, ... or all of the activations: the most that is not more than gamma.
 */
static void
set_point (Settings *self, MembandRow *row)
{
  const double     period = floor (1 / (1 - row->best.gamma) + 1e-9);
  g_autofree char *some = g_strdup_printf ("layers:%.0f", period);
  const gboolean   all = row->best.gamma >= 1, none = !all && period < 2;

  row->gamma = all ? 1 : none ? 0 : 1 - 1 / period;
  row->same = mfu_percent_at (row, row->cluster.passes);
  row->three = mfu_percent_at (row, 3);
  set (self, "training.activation_checkpointing", all ? "none" : none ? "full" : some);
  set_number (self, "training.micro_batch", row->best.tokens / row->model.seq_len);
  set (self, "strategy.name", row->best.stage == MEMBAND_STAGE_3 ? "fsdp2" : "zero2");
}

/* The scenario of ROW. NULL, with a *REASON to be freed. */
static Scenario *
scenario_of (MembandRow *row, const GPtrArray *bases, char **reason)
{
  g_autoptr (GArray)       overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  g_autoptr (GStringChunk) strings = g_string_chunk_new (1024);
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_auto (GStrv)           options = g_strsplit (row->options, " ", -1);
  Settings                 settings = { overrides, strings };
  const Scenario          *base = NULL;
  Scenario                *scenario;

  for (guint i = 0; i < bases->len; i++)
    if (g_str_equal (((Scenario *) g_ptr_array_index (bases, i))->name, row->scenario))
      base = g_ptr_array_index (bases, i);
  if (base == NULL)
    {
      *reason = g_strdup_printf ("there is no scenario '%s'", row->scenario);
      return NULL;
    }
  set_number (&settings, "model.n_layers", row->model.n_layers);
  set_number (&settings, "model.d_model", row->model.d_model);
  set_number (&settings, "training.seq_len", row->model.seq_len);
  for (guint i = 0; options[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (options[i], "=", 2);

      if (pair[0] == NULL) /* of two spaces */
        continue;
      if (pair[1] == NULL)
        {
          *reason = g_strdup_printf ("'%s' is no section.key=value", options[i]);
          return NULL;
        }
      set (&settings, pair[0], pair[1]);
    }
  if (row->part == MEMBAND_SEARCH)
    set_point (&settings, row);
  scenario = scenario_with (base, NULL, (const ScenarioOverride *) (void *) overrides->data,
                            overrides->len, diags);
  if (scenario == NULL)
    *reason = g_strdup (diag_list_first_message (diags));
  return scenario;
}

static gboolean
compute (Figures *self, const FigureInput *input, DiagList *diags)
{
  g_autoptr (GPtrArray) scenarios = g_ptr_array_new_with_free_func ((GDestroyNotify) scenario_free);
  g_autoptr (GPtrArray) rows = g_ptr_array_new (); /* of the scenarios */
  g_autoptr (FigureRuns) runs = NULL;

  (void) diags;
  for (guint i = 0; i < self->rows->len; i++)
    {
      MembandRow      *row = FIGURE_ROW (self, MembandRow, i);
      g_autofree char *reason = NULL;
      Scenario        *scenario;

      compute_row (row);
      if (*row->scenario == '\0' || !row->found)
        continue;
      scenario = scenario_of (row, input->scenarios, &reason);
      row->reason = figure_keep (self, reason);
      if (scenario == NULL)
        continue;
      g_ptr_array_add (scenarios, scenario);
      g_ptr_array_add (rows, row);
    }
  runs = figure_runs_new (scenarios, input->options, input->n_threads);
  for (guint i = 0; i < scenarios->len; i++)
    {
      MembandRow       *row = g_ptr_array_index (rows, i);
      const Prediction *prediction = runs->predictions[i];

      row->reason = figure_keep (self, runs->reasons[i]);
      if (prediction == NULL)
        continue;
      row->fits = prediction->fits;
      row->profiles = figure_keep (self, prediction->profiles);
      row->simulated = row->part == MEMBAND_MEASURED
                           ? prediction->step_time_s
                           : 300 * memband_forward_flops (&row->model)
                                 * prediction->tokens_per_s_per_gpu / row->cluster.peak_flops;
    }
  for (guint i = 0; i < self->rows->len; i++)
    {
      const MembandRow *row = FIGURE_ROW (self, MembandRow, i);
      g_autofree char  *run = g_strdup_printf ("%s, %.0f GPUs", row->name, row->cluster.n_ranks);

      if (row->part == MEMBAND_MEASURED)
        figure_add_evidence (self, run, "step_time_s", row->measured, row->simulated,
                             row->simulated);
    }
  return TRUE;
}

const FigureComputation figure_memband = {
  .suffix = ".memband.csv",
  .lines = { columns, G_N_ELEMENTS (columns), .n_optional = G_N_ELEMENTS (columns),
             .size = sizeof (MembandRow), .check = check_line, .lists = "x", .listed = CELL (at) },
  .compute = compute,
};
