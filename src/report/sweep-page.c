/* The store of a sweep as a page: `sweep --html`, `merge --html` and their `--plot`. */
#include <math.h>
#include <string.h>

#include "report/html-private.h"
#include "report/report.h"
#include "report/sweep.h"

static const StoreRun *
run_at (const GPtrArray *runs, guint i)
{
  return g_ptr_array_index (runs, i);
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* The front of all runs, and the best of them behind it. */
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
         || plot_add_pareto (pictures, scripts, "pareto", "Throughput against memory",
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
  return plot_add_heat_map (pictures, scripts, "heat-map", &matrix, error);
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
  return plot_add_scaling (pictures, scripts, "scaling",
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

/* ---- the answer ------------------------------------------------------------------------------ */

#define COUNT "%" G_GUINT64_FORMAT

static char *
title (gconstpointer answer)
{
  const SweepAnswer *self = answer;

  return g_strdup_printf (COUNT " run%s in '%s'", self->view->n, self->view->n == 1 ? "" : "s",
                          self->file);
}

static void
add_verdict (HtmlPage *page, const StoreView *view)
{
  const StoreRun *best = view->best->len > 0 ? run_at (view->best, 0) : NULL;

  if (best != NULL && best->fits)
    {
      g_autofree char *step = quantity_format (QUANTITY_TIME, best->step_time_s, 4);
      g_autofree char *text = g_strdup_printf (
          "The fastest a GPU: %s: %s a step, %.1f tokens/s/GPU, MFU %.1f %%; "
          "bound by %s.",
          best->scenario, step, best->tokens_per_s_per_gpu, best->mfu_percent, best->binding);

      html_page_add_verdict (page, HTML_GOOD, text);
    }
  else
    html_page_add_verdict (page, HTML_BAD,
                           best != NULL ? "Nothing fits." : "Nothing could be predicted.");
}

static void
add_tiles (HtmlPage *page, const StoreView *view)
{
  g_autofree char *n = g_strdup_printf (COUNT, view->n);
  g_autofree char *fit = g_strdup_printf (COUNT, view->n - view->n_misfits - view->n_failed);
  g_autofree char *misfits = g_strdup_printf (COUNT, view->n_misfits);
  g_autofree char *failed = g_strdup_printf (COUNT, view->n_failed);
  const HtmlFact   facts[] = {
      { "runs", n, NULL },
      { "fit", fit, NULL },
      { "do not fit", misfits, NULL },
      { "failed", failed, NULL },
  };

  html_page_add_tiles (page, facts, G_N_ELEMENTS (facts));
  if (view->n_others > 0)
    html_page_add_text (page,
                        "The store also holds " COUNT " runs of another version, other profiles or "
                        "options, which count nowhere here.",
                        view->n_others);
}

/* ---- the best -------------------------------------------------------------------------------- */

static const HtmlColumn columns[] = {
  { "step", TRUE }, { "tokens/s/GPU", TRUE }, { "MFU", TRUE }, { "peak GPU memory", TRUE },
  { "GPUs", TRUE }, { "bound by", FALSE },
};

static void
add_row (HtmlTable *table, const StoreRun *run, gboolean best)
{
  g_autofree char *step = quantity_format (QUANTITY_TIME, run->step_time_s, 4);
  g_autofree char *tokens = g_strdup_printf ("%.1f", run->tokens_per_s_per_gpu);
  g_autofree char *mfu = g_strdup_printf ("%.1f %%", run->mfu_percent);
  g_autofree char *peak = g_strdup_printf ("%.1f GiB%s", run->peak_gib, run->fits ? "" : " !");
  g_autofree char *gpus = g_strdup_printf ("%.0f", run->n_gpus);

  html_table_mark_row (table, !run->fits ? HTML_BAD : best ? HTML_GOOD : HTML_PLAIN);
  html_table_add_text (table, run->scenario);
  for (guint i = 0; run->settings[i] != NULL; i++)
    html_table_add_either (table, run->settings[i]);
  html_table_add_number (table, step, run->step_time_s);
  html_table_add_number (table, tokens, run->tokens_per_s_per_gpu);
  html_table_add_number (table, mfu, run->mfu_percent);
  html_table_add_number (table, peak, run->peak_gib);
  html_table_add_number (table, gpus, run->n_gpus);
  html_table_add_text (table, run->binding);
}

/* Tokens of such runs are worth another amount than those of synchronous training. */
static void
add_caveats (HtmlPage *page, const StoreView *view)
{
  g_autoptr (GString) lines = g_string_new (NULL);

  for (guint i = 0; i < view->best->len; i++)
    {
      const StoreRun *run = run_at (view->best, i);

      if (*run->caveats != '\0')
        g_string_append_printf (lines, "%s~ %s: %s", lines->len > 0 ? "\n" : "", run->scenario,
                                run->caveats);
    }
  if (lines->len > 0)
    html_page_add_lines (page, lines->str);
}

static void
add_table (HtmlPage *page, const SweepAnswer *self)
{
  const StoreView       *view = self->view;
  const guint            n_options = g_strv_length (view->options);
  const guint            n = 1 + n_options + G_N_ELEMENTS (columns);
  g_autofree HtmlColumn *titles = g_new0 (HtmlColumn, n);
  const guint64          left = view->n - view->n_failed - view->best->len;
  HtmlTable             *table;

  titles[0].title = "scenario";
  for (guint i = 0; i < n_options; i++)
    titles[1 + i].title = view->options[i];
  memcpy (titles + 1 + n_options, columns, sizeof columns);
  table = html_table_new (titles, n);
  for (guint i = 0; i < view->best->len; i++)
    add_row (table, run_at (view->best, i), i == 0);
  html_page_add_section (page, "The best");
  html_page_take_table (page, table);
  html_page_add_text (page,
                      "What fits first, the most tokens/s/GPU first. Red, '!': does not fit.");
  add_caveats (page, view);
  if (left > 0)
    html_page_add_text (page, COUNT " more that were predicted are left out. All runs:", left);
  else
    html_page_add_text (page, "All runs with all their results:");
  {
    g_autofree char *file = g_shell_quote (self->file);
    g_autofree char *command = g_strdup_printf ("shardsim sweep --store %s --format csv", file);

    html_page_add_copyable (page, command);
  }
}

static void
add_pictures (HtmlPage *page, const PagePictures *pictures, const StoreView *view)
{
  static const char *const shown[] = { "pareto", "heat-map", "scaling" };

  if (pictures->pictures->len == 0)
    return;
  html_page_add_section (page, "Pictures");
  if (view->n_models > 1)
    html_page_add_text (page, "Of %s, the model with the most runs that fit.", view->model);
  for (guint i = 0; i < G_N_ELEMENTS (shown); i++)
    page_add_picture (page, pictures, shown[i]);
}

static void
add_failures (HtmlPage *page, const StoreView *view)
{
  static const HtmlColumn titles[] = { { "runs", TRUE }, { "why", FALSE } };
  HtmlTable              *table;
  guint64                 told = 0;

  if (view->n_failed == 0)
    return;
  html_page_add_section (page, "Failures");
  table = html_table_new (titles, G_N_ELEMENTS (titles));
  for (guint i = 0; i < view->reasons->len; i++)
    {
      const SweepReason *reason = &g_array_index (view->reasons, SweepReason, i);
      g_autofree char   *n = g_strdup_printf (COUNT, reason->n);

      html_table_add_number (table, n, (double) reason->n);
      html_table_add_text (table, reason->text);
      told += reason->n;
    }
  html_page_take_table (page, table);
  if (told < view->n_failed)
    html_page_add_text (page, COUNT " more failed for other reasons: column 'failure'.",
                        view->n_failed - told);
}

/* The scenario that the best is laid over, and the command that lays it. */
static void
add_origin (HtmlPage *page, const StoreView *view)
{
  const StoreRun     *best = view->best->len > 0 ? run_at (view->best, 0) : NULL;
  g_autoptr (GString) command = g_string_new ("shardsim simulate scenario.yaml");

  if (best == NULL || view->base == NULL)
    return;
  html_page_add_section (page, "Scenario of the best");
  for (guint i = 0; best->settings[i] != NULL; i++)
    {
      g_autofree char *set = g_strdup_printf ("%s=%s", view->options[i], best->settings[i]);
      g_autofree char *quoted = g_shell_quote (set);

      if (*best->settings[i] != '\0')
        g_string_append_printf (command, " --set %s", quoted);
    }
  html_page_add_text (page, "With what follows as scenario.yaml:");
  html_page_add_copyable (page, command->str);
  html_page_add_copyable (page, view->base);
}

static void
add_provenance (HtmlPage *page, const StoreView *view)
{
  g_autoptr (GPtrArray) none = g_ptr_array_new ();
  const HtmlFact        facts[] = {
           { "the best was made by", view->program_version, "shardsim's version" },
           { "profiles", view->profiles, "a hash of all profiles, models and plug-ins" },
           { "options", view->run_options, NULL },
  };

  html_page_add_section (page, "Provenance");
  page_add_provenance (page, none);
  if (view->program_version != NULL)
    html_page_add_facts (page, facts, G_N_ELEMENTS (facts));
}

/* ---- the page -------------------------------------------------------------------------------- */

static void
fill (HtmlPage *page, const PagePictures *pictures, gconstpointer answer)
{
  const SweepAnswer *self = answer;

  add_verdict (page, self->view);
  add_tiles (page, self->view);
  add_pictures (page, pictures, self->view);
  if (self->view->best->len > 0)
    add_table (page, self);
  add_failures (page, self->view);
  add_origin (page, self->view);
  add_provenance (page, self->view);
}

const PageKind sweep_page = { title, draw, fill };
