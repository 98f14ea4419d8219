#include "report/page.h"

#include "base/output.h"
#include "report/comparison-private.h"
#include "report/differences-private.h"
#include "report/html-private.h"

/* Ops of a timeline: about 30 bytes each. */
#define MAX_EACH           200 /* scenarios whose details a page of several shows */
#define MAX_SLICES         40000
#define MAX_SLICES_OF_EACH 10000

gboolean
report_page_check (const char *file, GError **error)
{
  return gnuplot_is_there (error) && output_check (file, OUTPUT_FILE, error);
}

/* ---- pictures -------------------------------------------------------------------------------- */

static const struct
{
  const char *name, *caption;
} captions[] = {
  { "time-split", "Where the time of a step goes, along the critical path, whole." },
  { "stream-timeline", "What the streams do in a period." },
  { "layer-forward", "One layer in the middle, forward." },
  { "layer-backward", "The same, backward." },
  { "memory-timeline", "What fills the GPU's memory, in the order in which the host asks for it; "
                       "without what the allocator caches for nobody." },
  { "roofline", "Kernels by what they compute for a byte of GPU memory: each alone on its GPU, "
                "larger points take more of the time. Numbers: those that take longest, with "
                "their share of the kernels' time." },
  { "scaling", "Throughput over the number of GPUs." },
  { "pareto", "Throughput against memory: the front, of which nothing else has more throughput in "
              "no more memory." },
  { "days", "Days of the run over nodes; the band: eight sampled runs in ten." },
  { "money", "What the run costs over nodes, in nine sampled runs of ten no more." },
  { "heat-map", "The grid at a glance; grey: does not fit." },
  { "padding", "What each format adds to the parameters, over the ranks that share them." },
};

void
page_add_picture (HtmlPage *page, const PagePictures *pictures, const char *name)
{
  for (guint i = 0; i < pictures->pictures->len; i++)
    for (guint c = 0; c < G_N_ELEMENTS (captions); c++)
      if (g_str_equal (g_array_index (pictures->pictures, GnuplotPicture, i).name, name)
          && g_str_equal (captions[c].name, name))
        html_page_add_svg (page, pictures->svgs[i], captions[c].caption);
}

/* ---- one prediction -------------------------------------------------------------------------- */

static char *
title_of (const Prediction *p)
{
  return g_strdup_printf ("%s: %s on %s", p->strategy, p->model, p->cluster);
}

void
page_add_all_results (HtmlPage *page, const GPtrArray *predictions)
{
  g_autoptr (GString) csv = g_string_new (NULL);

  report_csv (predictions, csv);
  html_page_add_section (page, "All results");
  html_page_begin_fold (page, "Every column of --format csv");
  html_page_add_csv (page, csv->str);
  html_page_end_fold (page);
}

void
page_add_details (HtmlPage *page, const Prediction *p, const Replay *replay,
                  const PagePictures *pictures)
{
  html_page_add_section (page, "Where the time goes");
  page_add_picture (page, pictures, "time-split");
  page_add_time (page, p);
  html_page_add_section (page, "What binds it");
  page_add_bindings (page, p);
  if (p->advice != NULL)
    {
      html_page_add_section (page, "What would be faster");
      page_add_advice (page, p->advice);
    }
  if (replay != NULL)
    {
      html_page_add_section (page, "Streams");
      page_add_streams (page, replay, MAX_SLICES);
      page_add_picture (page, pictures, "layer-forward");
      page_add_picture (page, pictures, "layer-backward");
      html_page_add_section (page, "Kernels");
      page_add_picture (page, pictures, "roofline");
    }
  html_page_add_section (page, "Memory");
  page_add_picture (page, pictures, "memory-timeline");
  page_add_memory (page, p);
  html_page_add_section (page, "Traffic");
  page_add_traffic (page, p);
}

static void
add_prediction (HtmlPage *page, const GPtrArray *predictions, const Replay *replay,
                const PagePictures *pictures)
{
  const Prediction *p = g_ptr_array_index (predictions, 0);

  page_add_headline (page, p);
  page_add_details (page, p, replay, pictures);
  page_add_all_results (page, predictions);
  html_page_add_section (page, "Scenario");
  page_add_scenario (page, p);
  html_page_add_section (page, "Provenance");
  page_add_provenance (page, predictions);
}

/* ---- several --------------------------------------------------------------------------------- */

static HtmlTable *
table_begin (const GPtrArray *differences, const GPtrArray *results)
{
  guint                  n = 1 + differences->len + results->len, at = 0;
  g_autofree HtmlColumn *columns = g_new0 (HtmlColumn, n);

  columns[at++].title = "SCENARIO";
  for (guint i = 0; i < differences->len; i++)
    {
      const DifferenceColumn *column = g_ptr_array_index (differences, i);

      columns[at++] = (HtmlColumn){ column->title, column->right };
    }
  for (guint i = 0; i < results->len; i++)
    {
      const ComparisonColumn *column = g_ptr_array_index (results, i);

      columns[at++] = (HtmlColumn){ column->title, column->value != NULL };
    }
  return html_table_new (columns, n);
}

static void
add_result (HtmlTable *table, const ComparisonColumn *column, const Prediction *p)
{
  g_autofree char *text = column->cell (p);

  if (column->value != NULL)
    html_table_add_number (table, text, column->value (p));
  else
    html_table_add_text (table, text);
}

/* The table of the terminal; the best of each model is marked, and what does not fit. */
static void
add_table (HtmlPage *page, const GPtrArray *predictions)
{
  g_autoptr (GPtrArray) differences = differences_find (predictions);
  g_autoptr (GPtrArray) results = comparison_columns (predictions);
  g_autofree gboolean  *best = comparison_best (predictions);
  HtmlTable            *table = table_begin (differences, results);

  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);

      html_table_mark_row (table, !p->fits ? HTML_BAD : best[i] ? HTML_GOOD : HTML_PLAIN);
      html_table_add_text (table, p->scenario);
      for (guint d = 0; d < differences->len; d++)
        html_table_add_either (
            table, ((const DifferenceColumn *) g_ptr_array_index (differences, d))->cells[i]);
      for (guint r = 0; r < results->len; r++)
        add_result (table, g_ptr_array_index (results, r), p);
    }
  html_page_take_table (page, table);
}

/* A row a scenario, a column a category. */
static void
add_memory (HtmlPage *page, const GPtrArray *predictions)
{
  HtmlColumn columns[POOL_N_CATEGORIES + 2] = { { "SCENARIO", FALSE }, { "peak", TRUE } };
  HtmlTable *table;

  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    columns[c + 2] = (HtmlColumn){ pool_category_name ((PoolCategory) c), TRUE };
  table = html_table_new (columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);

      html_table_mark_row (table, p->fits ? HTML_PLAIN : HTML_BAD);
      html_table_add_text (table, p->scenario);
      for (guint c = 0; c <= POOL_N_CATEGORIES; c++)
        {
          guint64          bytes = c == 0 ? p->hbm.device : p->hbm.by_category[c - 1];
          g_autofree char *text = quantity_format (QUANTITY_BYTES, (double) bytes, 4);

          html_table_add_number (table, bytes > 0 ? text : "", (double) bytes);
        }
    }
  html_page_take_table (page, table);
}

typedef struct
{
  const Prediction *prediction;
  guint             index;
} Ranked;

/* What fits first, by throughput. */
static gint
compare_ranked (gconstpointer a, gconstpointer b)
{
  const Ranked *x = a, *y = b;

  if (x->prediction->fits != y->prediction->fits)
    return x->prediction->fits ? -1 : 1;
  if (x->prediction->tokens_per_s_per_gpu != y->prediction->tokens_per_s_per_gpu)
    return x->prediction->tokens_per_s_per_gpu > y->prediction->tokens_per_s_per_gpu ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Whose details are shown, a flag each: all, or MAX_EACH that fit best. Newly allocated. */
static gboolean *
find_shown (const GPtrArray *predictions)
{
  gboolean          *shown = g_new0 (gboolean, predictions->len + 1);
  g_autoptr (GArray) ranked = g_array_new (FALSE, FALSE, sizeof (Ranked));

  for (guint i = 0; i < predictions->len; i++)
    {
      const Ranked one = { g_ptr_array_index (predictions, i), i };

      g_array_append_val (ranked, one);
    }
  g_array_sort (ranked, compare_ranked);
  for (guint i = 0; i < MIN (ranked->len, MAX_EACH); i++)
    shown[g_array_index (ranked, Ranked, i).index] = TRUE;
  return shown;
}

/* Of as many as their details are shown of: the first. */
static void
add_reasons (HtmlPage *page, const GPtrArray *predictions)
{
  g_autoptr (GString)   text = g_string_new (NULL);
  g_autoptr (GPtrArray) first = g_ptr_array_new ();

  for (guint i = 0; i < MIN (predictions->len, MAX_EACH); i++)
    g_ptr_array_add (first, g_ptr_array_index (predictions, i));
  comparison_append_caveats (first, text);
  comparison_append_misfits (first, text);
  comparison_append_reasons (first, text);
  html_page_add_lines (page, g_strchug (text->str));
  if (predictions->len > first->len)
    html_page_add_text (page, "Of the first %u scenarios; --explain says it of all.", first->len);
}

static void
add_each (HtmlPage *page, const GPtrArray *predictions, const Replay *const *replays)
{
  g_autofree gboolean *shown = find_shown (predictions);

  html_page_add_section (page, "Each scenario");
  if (predictions->len > MAX_EACH)
    html_page_add_text (
        page,
        "The %u with the most tokens/s/GPU of those that fit. All results has every "
        "scenario, and 'shardsim simulate' the details of any.",
        MAX_EACH);
  for (guint i = 0; i < predictions->len; i++)
    if (shown[i])
      {
        const Prediction *p = g_ptr_array_index (predictions, i);
        g_autofree char  *title = title_of (p);

        html_page_begin_fold (page, p->scenario);
        html_page_add_text (page, "%s", title);
        page_add_headline (page, p);
        page_add_time (page, p);
        if (replays != NULL && replays[i] != NULL)
          page_add_streams (page, replays[i], MAX_SLICES_OF_EACH);
        page_add_memory (page, p);
        page_add_traffic (page, p);
        page_add_scenario (page, p);
      }
  html_page_end_fold (page);
}

static void
add_comparison (HtmlPage *page, const GPtrArray *predictions, const Replay *const *replays,
                const PagePictures *pictures)
{
  static const char *const shown[] = { "scaling", "pareto", "heat-map" };
  g_autoptr (GString)      common = g_string_new (NULL);

  differences_append_common (predictions, common);
  html_page_add_lines (page, g_strstrip (common->str));
  html_page_add_section (page, "Comparison");
  add_table (page, predictions);
  html_page_add_text (page, "Green: the most tokens/s/GPU of what fits, of each model. Red, '!': "
                            "does not fit. MFU counts model FLOPs; peaks are what the driver "
                            "reports; inter-node bytes are payload sent.");
  for (guint i = 0; i < G_N_ELEMENTS (shown); i++)
    page_add_picture (page, pictures, shown[i]);
  html_page_add_section (page, "Where the time goes");
  page_add_picture (page, pictures, "time-split");
  html_page_add_section (page, "Why they differ");
  add_reasons (page, predictions);
  html_page_add_section (page, "GPU memory at the peak");
  add_memory (page, predictions);
  add_each (page, predictions, replays);
  page_add_all_results (page, predictions);
  html_page_add_section (page, "Provenance");
  page_add_provenance (page, predictions);
}

/* ---- predictions, as an answer --------------------------------------------------------------- */

typedef struct
{
  const GPtrArray     *predictions;
  const Replay *const *replays;
} Predictions;

static char *
predictions_title (gconstpointer answer)
{
  const GPtrArray *predictions = ((const Predictions *) answer)->predictions;

  return predictions->len == 1 ? title_of (g_ptr_array_index (predictions, 0))
                               : g_strdup_printf ("%u scenarios compared", predictions->len);
}

static gboolean
predictions_draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer,
                  GError **error)
{
  const Predictions *self = answer;

  return plot_add_predictions (pictures, scripts, self->predictions, self->replays, error);
}

static void
predictions_fill (HtmlPage *page, const PagePictures *pictures, gconstpointer answer)
{
  const Predictions *self = answer;

  if (self->predictions->len == 1)
    add_prediction (page, self->predictions, self->replays != NULL ? self->replays[0] : NULL,
                    pictures);
  else
    add_comparison (page, self->predictions, self->replays, pictures);
}

static const PageKind predictions_page = { predictions_title, predictions_draw, predictions_fill };

/* ---- any answer ------------------------------------------------------------------------------ */

/* NULL with ERROR set. */
static GArray *
pictures_of (const PageKind *kind, gconstpointer answer, const char *style_file, GError **error)
{
  g_autoptr (GArray)   pictures = gnuplot_pictures_new ();
  g_auto (PlotScripts) scripts = { 0 };

  if (kind->draw != NULL
      && (!plot_scripts_read (&scripts, style_file, error)
          || !kind->draw (pictures, &scripts, answer, error)))
    return NULL;
  return g_steal_pointer (&pictures);
}

gboolean
report_pictures_of (const PageKind *kind, gconstpointer answer, const char *style_file,
                    const char *dir, GError **error)
{
  g_autoptr (GArray) pictures = pictures_of (kind, answer, style_file, error);

  return pictures != NULL
         && (pictures->len == 0
             || gnuplot_draw (&g_array_index (pictures, GnuplotPicture, 0), pictures->len, dir,
                              error));
}

gboolean
report_page_of (const PageKind *kind, gconstpointer answer, const char *partial,
                const char *style_file, const char *file, GError **error)
{
  g_autofree char     *title = kind->title (answer);
  g_autofree char     *says = partial != NULL ? g_strdup_printf ("Partial: %s.", partial) : NULL;
  g_autoptr (HtmlPage) page = html_page_new (title);
  g_autoptr (GArray)   drawn = pictures_of (kind, answer, style_file, error);
  g_auto (GStrv)       svgs = NULL;
  PagePictures         pictures = { drawn, NULL };

  if (drawn == NULL)
    return FALSE;
  if (drawn->len > 0)
    {
      svgs = gnuplot_draw_svgs (&g_array_index (drawn, GnuplotPicture, 0), drawn->len, error);
      if (svgs == NULL)
        return FALSE;
    }
  pictures.svgs = svgs;
  if (says != NULL)
    html_page_add_verdict (page, HTML_BAD, says);
  kind->fill (page, &pictures, answer);
  return html_page_write (page, file, error);
}

gboolean
report_page_write (const GPtrArray *predictions, const Replay *const *replays,
                   const char *style_file, const char *file, GError **error)
{
  const Predictions answer = { predictions, replays };

  return report_page_of (&predictions_page, &answer, NULL, style_file, file, error);
}

gboolean
report_plot_write (const GPtrArray *predictions, const Replay *const *replays, const char *dir,
                   const char *style_file, GError **error)
{
  const Predictions answer = { predictions, replays };

  return predictions->len == 0
         || report_pictures_of (&predictions_page, &answer, style_file, dir, error);
}
