/* The end of a sweep as text; its store as a page: `sweep --html`, `merge --html`, `--plot`. */
#include <string.h>

#include "predict/columns.h"
#include "report/answer/sweep.h"
#include "report/document/html-private.h"
#include "report/prediction/describe.h"

static const StoreRun *
run_at (const GPtrArray *runs, guint i)
{
  return g_ptr_array_index (runs, i);
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* The front of all runs, and the best of them behind it. */
#define COUNT "%" G_GUINT64_FORMAT

static gboolean
add_front (GArray *pictures, const PlotScripts *scripts, const StoreView *view, GError **error)
{
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (PlotPoint));
  const GPtrArray   *lists[] = { view->front, view->best };

  for (guint list = 0; list < G_N_ELEMENTS (lists); list++)
    for (guint i = 0; i < lists[list]->len; i++)
      {
        const StoreRun *run = run_at (lists[list], i);
        PlotPoint       point = { .x = run->peak_gib,
                                  .y = run->tokens_per_s_per_gpu,
                                  .label = run->scenario,
                                  .fits = run->fits };

        if (g_str_equal (run->model, view->model))
          g_array_append_val (points, point);
      }
  return points->len < 3
         || plot_add_pareto (pictures, scripts, PICTURE_PARETO, "Throughput against memory",
                             "peak GPU memory (GiB)", "tokens/s/GPU", points, error);
}

static gboolean
add_heat_map (GArray *pictures, const PlotScripts *scripts, const StoreView *view, GError **error)
{
  PlotMatrix matrix = { .title = view->n_axes > 2 ? "tokens/s/GPU, the best that fits of each cell"
                                                  : "tokens/s/GPU of what fits",
                        .z_title = "tokens/s/GPU",
                        .values = view->cells };

  if (view->cells == NULL)
    return TRUE;
  matrix.x_title = view->x->name;
  matrix.y_title = view->y->name;
  matrix.x_names = (const char *const *) view->x->values->pdata;
  matrix.y_names = (const char *const *) view->y->values->pdata;
  return plot_add_heat_map (pictures, scripts, PICTURE_HEAT_MAP, &matrix, error);
}

static gboolean
add_scaling (GArray *pictures, const PlotScripts *scripts, const StoreView *view, GError **error)
{
  const GPtrArray   *sizes = view->scaling;
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (PlotPoint));

  if (sizes->len == 0 || run_at (sizes, 0)->n_gpus == run_at (sizes, sizes->len - 1)->n_gpus)
    return TRUE;
  for (guint i = 0; i < sizes->len; i++)
    {
      const StoreRun *run = run_at (sizes, i);
      PlotPoint       point = {
              .x = run->n_gpus, .y = run->tokens_per_s, .series = run->strategy, .fits = TRUE
      };

      g_array_append_val (points, point);
    }
  return plot_add_scaling (pictures, scripts, PICTURE_SCALING,
                           "Throughput over GPUs, the best that fits (dotted: in step with them)",
                           "GPUs", "tokens/s in all", points, error);
}

static gboolean
draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer, GError **error)
{
  const StoreView *view = ((const SweepAnswer *) answer)->view;

  return view->model == NULL
         || (add_front (pictures, scripts, view, error)
             && add_heat_map (pictures, scripts, view, error)
             && add_scaling (pictures, scripts, view, error));
}

/* ---- the best -------------------------------------------------------------------------------- */

static char *
show_peak (const Column *column, gconstpointer row)
{
  const StoreRun *run = row;

  (void) column;
  return g_strdup_printf ("%.1f GiB%s", run->peak_gib,
                          !run->fits   ? ", too much"
                          : run->tight ? "!"
                                       : "");
}

static const Column result_columns[] = {
  { "step_time_s", "step", COLUMN_TIME, 0, COLUMN_MEMBER (StoreRun, step_time_s) },
  { "tokens_per_s_per_gpu", "tokens/s/GPU", COLUMN_RATE, 0,
    COLUMN_MEMBER (StoreRun, tokens_per_s_per_gpu) },
  { "mfu_percent", "MFU", COLUMN_PERCENT, 0, COLUMN_MEMBER (StoreRun, mfu_percent) },
  { "peak_device_gib", "peak GPU memory", COLUMN_GIB, 0, COLUMN_MEMBER (StoreRun, peak_gib),
    .show = show_peak },
  { "n_gpus", "GPUs", COLUMN_COUNT, 0, COLUMN_MEMBER (StoreRun, n_gpus) },
  { "binding_resource", "bound by", COLUMN_WORD, 0, COLUMN_MEMBER (StoreRun, binding) },
  { 0 },
};

COLUMN_TEXT_OF (StoreRun, setting, p->settings[GPOINTER_TO_UINT (column->of)])

/* The name, and a column an option that runs differ in. */
static Column *
setting_columns (const StoreView *view)
{
  const guint n = g_strv_length (view->options);
  Column     *columns = g_new0 (Column, n + 2);

  columns[0] = (Column){ NULL, "scenario", COLUMN_WORD, 0, COLUMN_MEMBER (StoreRun, scenario) };
  for (guint i = 0; i < n; i++)
    columns[1 + i] = (Column){
      .title = view->options[i], .kind = COLUMN_WORD, .text = setting, .of = GUINT_TO_POINTER (i)
    };
  return columns;
}

/*
 * What leaves little memory, and whose tokens are worth another amount than those of synchronous
 * training.
 */
static void
describe_marks (Document *document, const StoreView *view)
{
  gboolean tight = FALSE;

  for (guint i = 0; i < view->best->len; i++)
    tight |= run_at (view->best, i)->tight;
  if (tight)
    document_line (document, "%s", PREDICTION_TIGHT_MARK);
  for (guint i = 0; i < view->best->len; i++)
    if (*run_at (view->best, i)->caveats != '\0')
      document_line (document, "~ %s: %s", run_at (view->best, i)->scenario,
                     run_at (view->best, i)->caveats);
}

static void
describe_best (Document *document, const SweepAnswer *self)
{
  const StoreView     *view = self->view;
  const Rows           runs = rows_of_pointers (view->best);
  const guint64        left = view->n - view->n_failed - view->best->len;
  g_autofree Column   *settings = setting_columns (view);
  g_autofree HtmlTone *tones = g_new (HtmlTone, runs.n);
  g_autofree char     *file = g_shell_quote (self->file);
  g_autofree char     *command = g_strdup_printf ("shardsim sweep --store %s --format csv", file);
  const TableBlock     blocks[] = { { settings, runs, NULL }, { result_columns, runs, NULL } };

  for (guint i = 0; i < runs.n; i++)
    tones[i] = !run_at (view->best, i)->fits ? HTML_BAD : i == 0 ? HTML_GOOD : HTML_PLAIN;
  document_section (document, "The best");
  document_blocks (document, blocks, G_N_ELEMENTS (blocks), tones);
  document_line (document, "What fits first, the most tokens/s/GPU first. Red: does not fit.");
  describe_marks (document, view);
  if (left > 0)
    document_line (document, COUNT " more that were predicted are left out. All runs:", left);
  else
    document_line (document, "All runs with all their results:");
  document_copyable (document, command);
}

/* The scenario that the best is laid over, and the command that lays it. */
static void
describe_origin (Document *document, const StoreView *view)
{
  const StoreRun     *best = view->best->len > 0 ? run_at (view->best, 0) : NULL;
  g_autoptr (GString) command = g_string_new ("shardsim simulate scenario.yaml");

  if (best == NULL || view->base == NULL)
    return;
  for (guint i = 0; best->settings[i] != NULL; i++)
    {
      g_autofree char *set = g_strdup_printf ("%s=%s", view->options[i], best->settings[i]);
      g_autofree char *quoted = g_shell_quote (set);

      if (*best->settings[i] != '\0')
        g_string_append_printf (command, " --set %s", quoted);
    }
  document_section (document, "Scenario of the best");
  document_line (document, "With what follows as scenario.yaml:");
  document_copyable (document, command->str);
  document_copyable (document, view->base);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
describe_verdict (Document *document, const SweepAnswer *self)
{
  const StoreView *view = self->view;
  const StoreRun  *best = view->best->len > 0 ? run_at (view->best, 0) : NULL;
  g_autofree char *step = best != NULL ? document_seconds (best->step_time_s) : NULL;

  document_title (document, COUNT " run%s in '%s'", view->n, view->n == 1 ? "" : "s", self->file);
  if (best != NULL && best->fits)
    document_verdict (document, HTML_GOOD,
                      "The fastest a GPU: %s: %s a step, %.1f tokens/s/GPU, MFU %.1f %%; bound by "
                      "%s.",
                      best->scenario, step, best->tokens_per_s_per_gpu, best->mfu_percent,
                      best->binding);
  else
    document_verdict (document, HTML_BAD, "%s",
                      best != NULL ? "Nothing fits." : "Nothing could be predicted.");
  document_tile (document, "runs", g_strdup_printf (COUNT, view->n), NULL);
  document_tile (document, "fit",
                 g_strdup_printf (COUNT, view->n - view->n_misfits - view->n_failed), NULL);
  document_tile (document, "do not fit", g_strdup_printf (COUNT, view->n_misfits), NULL);
  document_tile (document, "failed", g_strdup_printf (COUNT, view->n_failed), NULL);
  if (view->n_others > 0)
    document_line (document,
                   "The store also holds " COUNT " runs of another version, other profiles or "
                   "options, which count nowhere here.",
                   view->n_others);
}

static void
describe_failures (Document *document, const StoreView *view)
{
  static const Column columns[] = {
    { NULL, "runs", COLUMN_COUNT, 0, COLUMN_MEMBER (CountedText, n) },
    { NULL, "why", COLUMN_WORD, 0, COLUMN_MEMBER (CountedText, text) },
    { 0 },
  };
  guint64 told = 0;

  if (view->n_failed == 0)
    return;
  for (guint i = 0; i < view->reasons->len; i++)
    told += g_array_index (view->reasons, CountedText, i).n;
  document_section (document, "Failures");
  document_table (document, columns, rows_of_array (view->reasons));
  if (told < view->n_failed)
    document_line (document, COUNT " more failed for other reasons: column 'failure'.",
                   view->n_failed - told);
}

static void
describe (Document *document, gconstpointer answer)
{
  const SweepAnswer    *self = answer;
  const StoreView      *view = self->view;
  g_autoptr (GPtrArray) none = g_ptr_array_new ();

  describe_verdict (document, self);
  if (view->model != NULL)
    document_section (document, "Pictures");
  if (view->model != NULL && view->n_models > 1)
    document_line (document, "Of %s, the model with the most runs that fit.", view->model);
  document_picture (document, PICTURE_PARETO);
  document_picture (document, PICTURE_HEAT_MAP);
  document_picture (document, PICTURE_SCALING);
  if (view->best->len > 0)
    describe_best (document, self);
  describe_failures (document, view);
  describe_origin (document, view);
  describe_provenance (document, none);
  if (view->program_version == NULL)
    return;
  document_fact (document, "the best was made by", g_strdup (view->program_version),
                 "shardsim's version");
  document_fact (document, "profiles", g_strdup (view->profiles),
                 "a hash of all profiles, models and plug-ins");
  document_fact (document, "options", g_strdup (view->run_options), NULL);
}

const PageKind sweep_page = { .draw = draw, .describe = describe };

/* ---- the end of a sweep ---------------------------------------------------------------------- */

static void
append_count (GString *out, guint64 n, const char *what)
{
  if (n > 0)
    g_string_append_printf (out, ", " COUNT " %s", n, what);
}

static void
describe_end (Document *document, gconstpointer answer)
{
  static const char *const keys[] = { "step_time_s",     "tokens_per_s_per_gpu", "mfu_percent",
                                      "peak_device_gib", "binding_resource",     NULL };
  static const Column      name_columns[] = {
         { NULL, "scenario", COLUMN_WORD, 0, COLUMN_MEMBER (StoreRun, scenario) },
         { 0 },
  };
  const SweepEnd     *self = answer;
  const SweepSummary *summary = self->summary;
  const Rows          runs = rows_of_pointers (self->best->best);
  const TableBlock    blocks[] = { { name_columns, runs, NULL }, { result_columns, runs, keys } };
  g_autoptr (GString) counts = g_string_new (NULL);

  append_count (counts, summary->known, "of them from before");
  append_count (counts, summary->equal, "of them with the settings of another");
  append_count (counts, summary->misfits, summary->misfits == 1 ? "does not fit" : "do not fit");
  append_count (counts, summary->failed, "failed");
  document_line (document, COUNT " run%s in '%s'%s", summary->n, summary->n == 1 ? "" : "s",
                 self->file, counts->str);
  if (runs.n == 0)
    return;
  document_section (document, "The fastest of what fits:");
  document_blocks (document, blocks, G_N_ELEMENTS (blocks), NULL);
  describe_marks (document, self->best);
}

const PageKind sweep_end = { .describe = describe_end };
