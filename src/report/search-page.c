/* What a search found, as a page: `search --html` and `--plot`. */
#include "report/html-private.h"
#include "report/report.h"
#include "report/search.h"

#define GIB         1073741824.0
#define MAX_REASONS 8

static const SearchFound *
found_at (const SearchResult *self, guint i)
{
  return g_ptr_array_index (self->found, i);
}

/* ---- pictures -------------------------------------------------------------------------------- */

static gboolean
add_front (GArray *pictures, const PlotScripts *scripts, const SearchResult *self, GError **error)
{
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (PlotPoint));

  for (guint i = 0; i < self->found->len; i++)
    {
      const SearchFound *found = found_at (self, i);
      PlotPoint          point = { .x = (double) found->prediction->hbm.device / GIB,
                                   .y = found->prediction->tokens_per_s_per_gpu,
                                   .label = found->label,
                                   .fits = TRUE };

      g_array_append_val (points, point);
    }
  return plot_add_pareto (pictures, scripts, "pareto", "Throughput against memory, of what is best",
                          "peak GPU memory (GiB)", "tokens/s/GPU", points, error);
}

static gboolean
draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer, GError **error)
{
  const SearchAnswer   *self = answer;
  g_autoptr (GPtrArray) best = g_ptr_array_new ();

  if (self->result->found->len == 0)
    return TRUE;
  g_ptr_array_add (best, self->result->headline->prediction);
  return plot_add_predictions (pictures, scripts, best, &self->replay, error)
         && (self->result->found->len == 1 || add_front (pictures, scripts, self->result, error));
}

/* ---- the answer ------------------------------------------------------------------------------ */

static char *
title (gconstpointer answer)
{
  const SearchResult *self = ((const SearchAnswer *) answer)->result;
  const Prediction   *p = self->headline != NULL ? self->headline->prediction : NULL;

  return p != NULL ? g_strdup_printf ("The best for %s on %s", p->model, p->cluster)
                   : g_strdup ("Nothing meets the constraints");
}

#define COUNT "%" G_GUINT64_FORMAT

static void
add_verdict (HtmlPage *page, const SearchResult *self)
{
  const SearchFound *best = self->headline, *fastest = found_at (self, 0);
  const Prediction  *p = best->prediction;
  g_autofree char   *step = quantity_format (QUANTITY_TIME, p->step_time_s, 4);
  g_autofree char   *text =
      g_strdup_printf ("%s: %s a step, %.1f tokens/s/GPU, MFU %.1f %%; bound by %s.", best->label,
                       step, p->tokens_per_s_per_gpu, p->mfu_percent, p->binding_resource);
  g_autofree char *faster = search_faster_text (self);

  html_page_add_verdict (page, HTML_GOOD, text);
  if (best->runs_on != NULL)
    html_page_add_text (page, "Settings can be written for %s.", best->runs_on);
  if (faster != NULL)
    html_page_add_text (page, "The simplest of those as good; %s is %s.", fastest->label, faster);
  if (self->n_failed > 0)
    html_page_add_text (page, "%u of those that were simulated failed: %s", self->n_failed,
                        self->failure);
  if (self->n_open == 0 && self->n_failed == 0)
    html_page_add_text (page, "Proved: nothing with a better bound is left.");
  else if (self->n_open > 0)
    html_page_add_text (page,
                        "Not proved: " COUNT " configurations were not tried; by their bounds none "
                        "is more than %.2f times as fast (--effort 4 tries more).",
                        self->n_open, self->open_gain);
}

static void
add_row (HtmlTable *table, const SearchResult *self, guint i, gboolean priced)
{
  const SearchFound *found = found_at (self, i);
  const Prediction  *p = found->prediction;
  g_autofree char   *place = g_strdup_printf ("%u%s%s", i + 1, found->pareto ? "P" : "",
                                            prediction_is_tight (p) ? "!" : "");
  g_autofree char   *step = quantity_format (QUANTITY_TIME, p->step_time_s, 4);
  g_autofree char   *tokens = g_strdup_printf ("%.1f", p->tokens_per_s_per_gpu);
  g_autofree char   *mfu = g_strdup_printf ("%.1f %%", p->mfu_percent);
  g_autofree char   *device = g_strdup_printf ("%.1f GiB", (double) p->hbm.device / GIB);
  g_autofree char   *host = g_strdup_printf ("%.1f GiB", (double) p->host.device / GIB);
  g_autofree char   *money = g_strdup_printf ("%.4g", found->money_per_million_tokens);

  html_table_mark_row (table, found == self->headline ? HTML_GOOD : HTML_PLAIN);
  html_table_add_number (table, place, i + 1);
  html_table_add_number (table, step, p->step_time_s);
  html_table_add_number (table, tokens, p->tokens_per_s_per_gpu);
  html_table_add_number (table, mfu, p->mfu_percent);
  html_table_add_number (table, device, (double) p->hbm.device);
  html_table_add_number (table, host, (double) p->host.device);
  html_table_add_text (table, p->binding_resource);
  if (priced)
    html_table_add_number (table, money, found->money_per_million_tokens);
  html_table_add_text (table, found->label);
}

static void
add_table (HtmlPage *page, const SearchResult *self)
{
  const gboolean   priced = found_at (self, 0)->money_per_million_tokens > 0;
  const HtmlColumn columns[] = {
    { "#", TRUE },
    { "step", TRUE },
    { "tokens/s/GPU", TRUE },
    { "MFU", TRUE },
    { "peak GPU memory", TRUE },
    { "peak host memory", TRUE },
    { "bound by", FALSE },
    { priced ? "money/Mtoken" : "configuration", priced },
    { "configuration", FALSE },
  };
  HtmlTable *table = html_table_new (columns, G_N_ELEMENTS (columns) - (priced ? 0 : 1));

  for (guint i = 0; i < self->found->len; i++)
    add_row (table, self, i, priced);
  html_page_take_table (page, table);
  html_page_add_text (page, "P: on the Pareto front of throughput, memory and GPUs.");
}

static void
add_runner_up (HtmlPage *page, const SearchResult *self)
{
  const gboolean      is_fastest = self->headline == found_at (self, 0);
  const SearchFound  *second = found_at (self, is_fastest ? 1 : 0);
  g_auto (GStrv)      reasons = compare_explain (self->headline->prediction, second->prediction);
  g_autoptr (GString) text = g_string_new (second->label);

  html_page_add_section (page,
                         is_fastest ? "Why not the second" : "What the fastest has otherwise");
  for (guint i = 0; reasons[i] != NULL && i < MAX_REASONS; i++)
    g_string_append_printf (text, "\n- %s", reasons[i]);
  html_page_add_lines (page, text->str);
}

/* ---- what is not the answer ------------------------------------------------------------------ */

static void
add_misses (HtmlPage *page, const SearchResult *self)
{
  static const HtmlColumn columns[] = { { "lacks", TRUE },
                                        { "configuration", FALSE },
                                        { "options", FALSE } };
  HtmlTable              *table;

  if (self->missed->len == 0)
    return;
  html_page_add_section (page, "Near misses");
  html_page_add_text (page, self->found->len > 0
                                ? "They do not fit, and could be faster than the best by their "
                                  "bounds."
                                : "What lacks least.");
  table = html_table_new (columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < self->missed->len; i++)
    {
      const SearchMiss *miss = g_ptr_array_index (self->missed, i);
      g_autofree char  *excess = quantity_format (QUANTITY_BYTES, miss->excess, 3);

      html_table_add_number (table, excess, miss->excess);
      html_table_add_text (table, miss->label);
      html_table_add_text (table, miss->options);
    }
  html_page_take_table (page, table);
}

static void
add_counts (HtmlPage *page, const SearchResult *self)
{
  static const HtmlColumn columns[] = { { "configurations", TRUE },
                                        { "what became of them", FALSE } };
  const struct
  {
    guint64     n;
    const char *what;
  } rows[] = {
    { self->n_configurations,
      "all: meshes with micro-batch and checkpointing, under every variant" },
    { self->n_cut, "cut: by a bound of their time they are no better" },
    { self->n_too_large, "too large" },
    { self->n_refused, "do not go together" },
    { self->n_planned, "planned" },
    { self->n_simulated, "simulated" },
    { self->n_open, "not tried, though their bounds are better" },
    { self->n_alike,
      "of these: move the same bytes as their strategy's defaults, tried around the best only" },
    { self->n_hopeless, "of these: do not fit, judged by what others of their strategy took" },
  };
  HtmlTable *table = html_table_new (columns, G_N_ELEMENTS (columns));

  html_page_add_section (page, "What was searched");
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (rows[i].n > 0)
      {
        g_autofree char *n = g_strdup_printf (COUNT, rows[i].n);

        html_table_add_number (table, n, (double) rows[i].n);
        html_table_add_text (table, rows[i].what);
      }
  html_page_take_table (page, table);
}

static void
add_drops (HtmlPage *page, const SearchResult *self)
{
  static const HtmlColumn columns[] = { { "configurations", TRUE }, { "such as", FALSE } };
  HtmlTable              *table;

  if (self->drops->len == 0)
    return;
  html_page_begin_fold (page, "What does not go together, most often");
  table = html_table_new (columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < self->drops->len; i++)
    {
      const SearchDrop *drop = &g_array_index (self->drops, SearchDrop, i);
      g_autofree char  *n = g_strdup_printf (COUNT, drop->n);

      html_table_add_number (table, n, (double) drop->n);
      html_table_add_text (table, drop->reason);
    }
  html_page_take_table (page, table);
  html_page_end_fold (page);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void
add_best (HtmlPage *page, const PagePictures *pictures, const SearchAnswer *self)
{
  const SearchResult *result = self->result;

  add_verdict (page, result);
  page_add_headline (page, result->headline->prediction);
  if (self->command != NULL)
    html_page_add_copyable (page, self->command);
  html_page_add_section (page, "The best");
  add_table (page, result);
  page_add_picture (page, pictures, "pareto");
  if (result->found->len > 1)
    add_runner_up (page, result);
}

static void
fill (HtmlPage *page, const PagePictures *pictures, gconstpointer answer)
{
  const SearchAnswer   *self = answer;
  const SearchResult   *result = self->result;
  g_autoptr (GPtrArray) predictions = g_ptr_array_new ();

  for (guint i = 0; i < result->found->len; i++)
    g_ptr_array_add (predictions, found_at (result, i)->prediction);
  if (predictions->len > 0)
    add_best (page, pictures, self);
  else
    html_page_add_verdict (page, HTML_BAD,
                           result->is_cut ? "Nothing was found yet."
                                          : "No configuration fits and meets the constraints.");
  add_misses (page, result);
  add_counts (page, result);
  add_drops (page, result);
  if (predictions->len > 0)
    {
      const Prediction *best = result->headline->prediction;

      page_add_details (page, best, self->replay, pictures);
      page_add_all_results (page, predictions);
      html_page_add_section (page, "Scenario of the best");
      page_add_scenario (page, best);
    }
  html_page_add_section (page, "Provenance");
  page_add_provenance (page, predictions);
}

const PageKind search_page = { title, draw, fill };
