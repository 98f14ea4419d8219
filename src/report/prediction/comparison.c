/* Predictions as an answer: all that is known of one; of several a table, and why they differ. */
#include <stdlib.h>

#include "base/config/printable.h"
#include "predict/columns.h"
#include "report/document/html-private.h"
#include "report/prediction/describe.h"
#include "report/prediction/differences-private.h"

#define MAX_EACH           200   /* scenarios whose details a page of several shows */
#define MAX_SLICES_OF_EACH 10000 /* ops of a timeline: about 30 bytes each */

typedef struct
{
  const GPtrArray     *predictions;
  const Replay *const *replays; /* one each, or NULL */
  gboolean             explained;
} Predictions;

static const Prediction *
prediction_at (const GPtrArray *predictions, guint i)
{
  return g_ptr_array_index (predictions, i);
}

/* ---- the table of several -------------------------------------------------------------------- */

/*
 * Of the predictions of each model that has several, the one that fits with the most tokens/s/GPU,
 * the first of equals: a flag each, newly allocated.
 */
static gboolean *
find_best (const GPtrArray *predictions)
{
  gboolean              *best = g_new0 (gboolean, predictions->len);
  g_autoptr (GHashTable) counts = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) winners = g_hash_table_new (g_str_hash, g_str_equal); /* index + 1 */

  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = prediction_at (predictions, i);
      guint             winner = GPOINTER_TO_UINT (g_hash_table_lookup (winners, p->model));
      guint             count = GPOINTER_TO_UINT (g_hash_table_lookup (counts, p->model));

      g_hash_table_insert (counts, p->model, GUINT_TO_POINTER (count + 1));
      if (p->fits
          && (winner == 0
              || prediction_at (predictions, winner - 1)->tokens_per_s_per_gpu
                     < p->tokens_per_s_per_gpu))
        g_hash_table_insert (winners, p->model, GUINT_TO_POINTER (i + 1));
    }
  for (guint i = 0; i < predictions->len; i++)
    {
      const char *model = prediction_at (predictions, i)->model;

      best[i] = GPOINTER_TO_UINT (g_hash_table_lookup (counts, model)) > 1
                && GPOINTER_TO_UINT (g_hash_table_lookup (winners, model)) == i + 1;
    }
  return best;
}

/* What stands before the results in a row of the table. */
typedef struct
{
  const char *mark, *scenario;
  guint       i;
} Head;

COLUMN_TEXT_OF (Head, difference_text, ((const DifferenceColumn *) column->of)->cells[p->i])
COLUMN_NUMBER_OF (Head, difference_number,
                  g_ascii_strtod (((const DifferenceColumn *) column->of)->cells[p->i], NULL))

static char *
show_difference (const Column *column, gconstpointer row)
{
  return g_strdup (difference_text (column, row));
}

/* A mark, the name, and a column each of DIFFERENCES; newly allocated. */
static Column *
head_columns (const GPtrArray *differences)
{
  Column *columns = g_new0 (Column, differences->len + 3);

  columns[0] = (Column){ NULL, "", COLUMN_WORD, 0, COLUMN_MEMBER (Head, mark) };
  columns[1] = (Column){ NULL, "scenario", COLUMN_WORD, 0, COLUMN_MEMBER (Head, scenario) };
  for (guint d = 0; d < differences->len; d++)
    {
      const DifferenceColumn *difference = g_ptr_array_index (differences, d);

      columns[2 + d] = (Column){ .title = difference->title,
                                 .kind = difference->right ? COLUMN_NUMBER : COLUMN_WORD,
                                 .text = difference_text,
                                 .number = difference_number,
                                 .show = show_difference,
                                 .of = difference };
    }
  return columns;
}

static void
describe_table (Document *document, const GPtrArray *predictions)
{
  g_autoptr (GPtrArray) differences = differences_find (predictions);
  g_autofree gboolean  *best = find_best (predictions);
  g_autofree Column    *columns = head_columns (differences);
  g_autofree Head      *heads = g_new (Head, predictions->len);
  g_autofree HtmlTone  *tones = g_new (HtmlTone, predictions->len);
  const TableBlock      blocks[] = { { columns, { heads, predictions->len, sizeof (Head) }, NULL },
                                     { prediction_columns, rows_of_pointers (predictions), NULL } };
  gboolean              misfit = FALSE, any = FALSE, tight = FALSE;

  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = prediction_at (predictions, i);

      heads[i] = (Head){ !p->fits ? "!" : best[i] ? "*" : "", p->scenario, i };
      tones[i] = !p->fits ? HTML_BAD : best[i] ? HTML_GOOD : HTML_PLAIN;
      misfit |= !p->fits;
      tight |= prediction_is_tight (p);
      any |= best[i];
    }
  document_blocks (document, blocks, G_N_ELEMENTS (blocks), tones);
  if (any)
    document_line (document, "* the most tokens/s/GPU of what fits, of each model");
  if (misfit)
    document_line (document, "! does not fit");
  if (tight)
    document_line (document, "%s", PREDICTION_TIGHT_MARK);
  document_line (document, "MFU counts model FLOPs; peaks are what the driver reports; inter-node "
                           "bytes are payload sent.");
}

/* ---- why they differ ------------------------------------------------------------------------- */

/* The first prediction of the model of number I. */
static const Prediction *
reference_of (const GPtrArray *predictions, guint i)
{
  const char *model = prediction_at (predictions, i)->model;
  guint       at = 0;

  while (!g_str_equal (prediction_at (predictions, at)->model, model))
    at++;
  return prediction_at (predictions, at);
}

/* Tokens of such rows are worth another amount than those of synchronous training. */
static void
append_caveats (const GPtrArray *predictions, guint n, GString *out)
{
  for (guint i = 0; i < n; i++)
    {
      const Prediction *p = prediction_at (predictions, i);
      g_autofree char  *name = printable_name (p->scenario);

      if (p->caveats != NULL)
        g_string_append_printf (out, "~ %s: %s\n", name, p->caveats);
    }
}

/* By how much rows do not fit, and why each differs from the first one of its model. */
static void
append_reasons (const GPtrArray *predictions, guint n, GString *out)
{
  for (guint i = 0; i < n; i++)
    {
      const Prediction *p = prediction_at (predictions, i);
      g_autofree char  *name = printable_name (p->scenario);
      const struct
      {
        const char      *tier;
        const MemoryUse *use;
      } tiers[] = { { "GPU memory", &p->hbm },
                    { "host memory", &p->host },
                    { "NVMe drives", &p->drives } };

      for (guint t = 0; t < G_N_ELEMENTS (tiers); t++)
        if (!tiers[t].use->fits)
          {
            g_autofree char *excess =
                quantity_format (QUANTITY_BYTES, (double) tiers[t].use->excess, 3);

            g_string_append_printf (out, "! %s does not fit: %s too much in the %s of %s at '%s'\n",
                                    name, excess, tiers[t].tier, tiers[t].use->place,
                                    tiers[t].use->peak_op);
          }
    }
  for (guint i = 0; i < n; i++)
    {
      const Prediction *p = prediction_at (predictions, i);
      const Prediction *reference = reference_of (predictions, i);
      g_autofree char  *name = printable_name (p->scenario);
      g_autofree char  *first = printable_name (reference->scenario);
      g_auto (GStrv)    reasons = NULL;

      if (p == reference)
        continue;
      reasons = compare_explain (reference, p);
      g_string_append_printf (out, "\n%s against %s\n", name, first);
      for (guint r = 0; reasons[r] != NULL; r++)
        g_string_append_printf (out, "  - %s\n", reasons[r]);
    }
}

/* Of a page that cannot show all: the first. */
static void
describe_reasons (Document *document, const Predictions *self)
{
  const guint         all = self->predictions->len;
  const guint         n = document_page (document) != NULL ? MIN (all, MAX_EACH) : all;
  g_autoptr (GString) text = g_string_new (NULL);

  append_caveats (self->predictions, n, text);
  if (document_page (document) == NULL && !self->explained)
    {
      document_lines (document, text->str);
      document_line (document, "--explain says by how much rows do not fit, and why each differs "
                               "from the first of its model");
      return;
    }
  append_reasons (self->predictions, n, text);
  document_section (document, "Why they differ");
  document_lines (document, g_strchug (text->str));
  if (n < all)
    document_line (document, "Of the first %u scenarios; --explain says it of all.", n);
}

/* ---- each of several, for pages -------------------------------------------------------------- */

COLUMN_NUMBER_OF (Prediction, category_bytes, p->hbm.by_category[GPOINTER_TO_UINT (column->of)])

/* A row a scenario, a column a category. */
static void
describe_categories (Document *document, const GPtrArray *predictions)
{
  g_autofree HtmlTone *tones = g_new (HtmlTone, predictions->len);
  Column               columns[POOL_N_CATEGORIES + 3] = {
                  { NULL, "scenario", COLUMN_WORD, 0, COLUMN_MEMBER (Prediction, scenario) },
                  { NULL, "peak", COLUMN_BYTES, 0, COLUMN_MEMBER (Prediction, hbm.device) },
  };
  const TableBlock block = { columns, rows_of_pointers (predictions), NULL };

  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    columns[2 + c] = (Column){ .title = pool_category_name ((PoolCategory) c),
                               .kind = COLUMN_BYTES,
                               .flags = COLUMN_OPTIONAL,
                               .number = category_bytes,
                               .of = GUINT_TO_POINTER (c) };
  for (guint i = 0; i < predictions->len; i++)
    tones[i] = prediction_at (predictions, i)->fits ? HTML_PLAIN : HTML_BAD;
  document_section (document, "GPU memory at the peak");
  document_blocks (document, &block, 1, tones);
}

typedef struct
{
  const Prediction *prediction;
  guint             index;
} Ranked;

/* What fits first, by throughput. */
static int
compare_ranked (const void *a, const void *b)
{
  const Ranked *x = a, *y = b;

  if (x->prediction->fits != y->prediction->fits)
    return x->prediction->fits ? -1 : 1;
  if (x->prediction->tokens_per_s_per_gpu != y->prediction->tokens_per_s_per_gpu)
    return x->prediction->tokens_per_s_per_gpu > y->prediction->tokens_per_s_per_gpu ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static void
describe_each (Document *document, const Predictions *self)
{
  const guint          n = self->predictions->len;
  g_autofree gboolean *is_shown = g_new0 (gboolean, n);
  g_autofree Ranked   *ranked = g_new (Ranked, n);

  for (guint i = 0; i < n; i++)
    ranked[i] = (Ranked){ prediction_at (self->predictions, i), i };
  qsort (ranked, n, sizeof (Ranked), compare_ranked);
  for (guint i = 0; i < MIN (n, MAX_EACH); i++)
    is_shown[ranked[i].index] = TRUE;
  document_section (document, "Each scenario");
  if (n > MAX_EACH)
    document_line (document,
                   "The %u with the most tokens/s/GPU of those that fit. All results has every "
                   "scenario, and 'shardsim simulate' the details of any.",
                   MAX_EACH);
  for (guint i = 0; i < n; i++)
    if (is_shown[i])
      {
        const Prediction *p = prediction_at (self->predictions, i);

        document_begin_fold (document, p->scenario);
        document_line (document, "%s: %s on %s", p->strategy, p->model, p->cluster);
        describe_misfits (document, p);
        describe_headline (document, p);
        describe_time (document, p);
        if (self->replays != NULL && self->replays[i] != NULL)
          describe_streams (document, self->replays[i], MAX_SLICES_OF_EACH);
        describe_memory (document, p);
        describe_traffic (document, p);
        describe_scenario (document, p);
      }
  document_end_fold (document);
}

static void
describe_several (Document *document, gconstpointer answer)
{
  const Predictions  *self = answer;
  g_autoptr (GString) common = g_string_new (NULL);

  if (document_page (document) != NULL)
    document_title (document, "%u scenarios compared", self->predictions->len);
  differences_append_common (self->predictions, common);
  document_lines (document, g_strstrip (common->str));
  document_section (document, "Comparison");
  describe_table (document, self->predictions);
  document_picture (document, PICTURE_SCALING);
  document_picture (document, PICTURE_PARETO);
  document_picture (document, PICTURE_HEAT_MAP);
  if (document_page (document) != NULL)
    document_section (document, "Where the time goes");
  document_picture (document, PICTURE_TIME_SPLIT);
  describe_reasons (document, self);
  document_results (document, NULL, prediction_columns, rows_of_pointers (self->predictions));
  if (document_page (document) == NULL)
    return;
  describe_categories (document, self->predictions);
  describe_each (document, self);
  describe_provenance (document, self->predictions);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
describe (Document *document, gconstpointer answer)
{
  const Predictions *self = answer;

  const Prediction *p = prediction_at (self->predictions, 0);

  if (self->predictions->len > 1)
    {
      describe_several (document, self);
      return;
    }
  describe_prediction (document, p, self->replays != NULL ? self->replays[0] : NULL);
  document_results (document, NULL, prediction_columns, rows_of_pointers (self->predictions));
  if (document_page (document) == NULL)
    return;
  document_section (document, "Scenario");
  describe_scenario (document, p);
}

static gboolean
draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer, GError **error)
{
  const Predictions *self = answer;

  return plot_add_predictions (pictures, scripts, self->predictions, self->replays, error);
}

static const PageKind predictions_page = { .draw = draw, .describe = describe };
static const PageKind comparison = { .describe = describe_several };

void
report_prediction_text (const Prediction *self, GString *out)
{
  g_autoptr (GPtrArray) one = g_ptr_array_new ();
  const Predictions     answer = { .predictions = one };

  g_ptr_array_add (one, (gpointer) self);
  report_answer (&predictions_page, &answer, FORMAT_TEXT, out);
}

static void
describe_verdict (Document *document, gconstpointer answer)
{
  describe_misfits (document, answer);
}

void
report_verdict_text (const Prediction *self, GString *out)
{
  static const PageKind verdict = { .describe = describe_verdict };

  report_answer (&verdict, self, FORMAT_TEXT, out);
}

void
report_comparison_text (const GPtrArray *predictions, GString *out)
{
  const Predictions answer = { .predictions = predictions };

  report_answer (&comparison, &answer, FORMAT_TEXT, out);
}

void
report_comparison_explained (const GPtrArray *predictions, GString *out)
{
  const Predictions answer = { .predictions = predictions, .explained = TRUE };

  report_answer (&comparison, &answer, FORMAT_TEXT, out);
}

gboolean
report_page_write (const GPtrArray *predictions, const Replay *const *replays,
                   const char *style_file, const char *file, GError **error)
{
  const Predictions answer = { predictions, replays, FALSE };

  return report_page_of (&predictions_page, &answer, NULL, style_file, file, error);
}

gboolean
report_plot_write (const GPtrArray *predictions, const Replay *const *replays, const char *dir,
                   const char *style_file, GError **error)
{
  const Predictions answer = { predictions, replays, FALSE };

  return predictions->len == 0
         || report_pictures_of (&predictions_page, &answer, style_file, dir, error);
}
