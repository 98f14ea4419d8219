#include "evidence/figures/figure-published.h"

#include <math.h>

#include "base/words.h"
#include "report/figure/figure-report-private.h"

/* A band that is wider says nothing of the number within it. */
#define NARROW_BAND 1.5

/* Why ROW has no number; NULL when it has one. */
static const char *
reason_of (const FigureRow *row)
{
  const FigureCase *first = &g_array_index (row->cases, FigureCase, 0);

  if (row->n_used > 0)
    return NULL;
  return first->reason != NULL ? first->reason : "no layout fits";
}

/*
 * Of its first scenario that was predicted: those of a row differ in how the cluster is used, not
 * in what it is.
 */
static const char *
profiles_of (const FigureRow *row)
{
  for (guint i = 0; i < row->cases->len; i++)
    if (g_array_index (row->cases, FigureCase, i).profiles != NULL)
      return g_array_index (row->cases, FigureCase, i).profiles;
  return NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* A band that says too little to count. */
static gboolean
is_wide (const FigureRow *row)
{
  return row->n_used > 1 && row->high > NARROW_BAND * row->low;
}

static char *
range_text (gboolean there, double low, double high)
{
  if (!there)
    return g_strdup ("");
  return low == high ? g_strdup_printf ("%.4g", low) : g_strdup_printf ("%.4g to %.4g", low, high);
}

/* NOTE: of the assumptions; 0 without details. */
static void
add_line (struct libscols_table *table, const FigureRow *row, guint note)
{
  const gboolean there = row->n_used > 0, said = !isnan (row->published);
  char          *error = there && said ? terminal_percent (row->error, TRUE) : g_strdup ("");
  char          *remark = NULL;

  if (!there)
    remark = g_strdup (reason_of (row));
  else if (row->misfits)
    remark = g_strdup_printf ("%s memory%s", row->cases->len > 1 ? "none fits" : "does not fit",
                              is_wide (row) ? ", too wide to tell" : "");
  else
    remark = g_strdup (is_wide (row) ? "too wide to tell" : "");
  figure_line (table, g_strdup (row->figure), g_strdup (row->row), g_strdup (row->title),
               range_text (said, row->published, row->published_high),
               range_text (there, row->low, row->high), error,
               note > 0 ? g_strdup_printf ("(%u)", note) : remark, note > 0 ? remark : NULL);
}

/* A case by itself says what the row says; in a band each is shown. */
static void
append_band (const FigureRow *row, GString *out)
{
  g_string_append_printf (out, "\n%s, %s", row->row, row->title);
  if (row->n_used > 1)
    g_string_append_printf (out, ", greatest / least %.3g%s", row->high / row->low,
                            is_wide (row) ? ": too wide to tell" : "");
  g_string_append (out, ":\n");
  for (guint i = 0; i < row->cases->len; i++)
    {
      const FigureCase *one = &g_array_index (row->cases, FigureCase, i);

      if (one->reason != NULL)
        g_string_append_printf (out, "  %s: %s\n", one->scenario, one->reason);
      else
        g_string_append_printf (out, "  %s%s%s: %.4g%s\n", one->scenario,
                                one->over != NULL ? " over " : "",
                                one->over != NULL ? one->over : "", one->predicted,
                                one->fits      ? ""
                                : row->misfits ? ", does not fit"
                                               : ", does not fit: left out");
    }
}

static void
text (const Figures *self, gboolean details, GString *out)
{
  const TerminalColumn columns[] = {
    { "FIGURE", FALSE },
    { "ROW", FALSE },
    { "METRIC", FALSE },
    { "PUBLISHED", TRUE },
    { "PREDICTED", TRUE },
    { "ERROR", TRUE },
    { details ? "NOTE" : "", FALSE },
    { "", FALSE },
  };
  struct libscols_table *table =
      terminal_table_new (columns, G_N_ELEMENTS (columns) - (details ? 0 : 1));
  g_autoptr (GPtrArray) notes = words_of (self->rows, G_STRUCT_OFFSET (FigureRow, assumptions));

  for (guint i = 0; i < self->rows->len; i++)
    {
      const FigureRow *row = FIGURE_ROW (self, FigureRow, i);
      guint            note = 0;

      g_ptr_array_find_with_equal_func (notes, row->assumptions, g_str_equal, &note);
      add_line (table, row, details ? note + 1 : 0);
    }
  terminal_table_finish (table, out);
  for (guint i = 0; i < self->rows->len && details; i++)
    if (FIGURE_ROW (self, FigureRow, i)->cases->len > 1)
      append_band (FIGURE_ROW (self, FigureRow, i), out);
  if (details)
    g_string_append (out, "\nAssumed:\n");
  for (guint i = 0; i < notes->len && details; i++)
    g_string_append_printf (out, "  (%u) %s\n", i + 1, (const char *) g_ptr_array_index (notes, i));
  g_string_append (
      out, "\nerror = predicted / published - 1; of a band, of its nearer end, 0 within it\n");
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

COLUMN_NUMBER_OF (FigureRow, row_low, p->n_used > 0 ? p->low : NAN)
COLUMN_NUMBER_OF (FigureRow, row_high, p->n_used > 0 ? p->high : NAN)
COLUMN_NUMBER_OF (FigureRow, row_error, p->n_used > 0 ? p->error : NAN)
COLUMN_NUMBER_OF (FigureRow, row_band, p->n_used > 0 && p->low > 0 ? p->high / p->low : NAN)
COLUMN_NUMBER_OF (FigureRow, row_fits, p->n_used > 0 && !p->misfits)
COLUMN_NUMBER_OF (FigureRow, row_mfu_published, p->mfu_published > 0 ? p->mfu_published : NAN)
COLUMN_NUMBER_OF (FigureRow, row_mfu_low, p->mfu_low > 0 ? p->mfu_low : NAN)
COLUMN_NUMBER_OF (FigureRow, row_mfu_high, p->mfu_high > 0 ? p->mfu_high : NAN)
COLUMN_TEXT_OF (FigureRow, row_reason, reason_of (p))
COLUMN_TEXT_OF (FigureRow, row_profiles, profiles_of (p))

const Column published_columns[] = {
  { "figure", .kind = COLUMN_WORD, COLUMN_MEMBER (FigureRow, figure) },
  { "row", .kind = COLUMN_WORD, COLUMN_MEMBER (FigureRow, row) },
  { "metric", .kind = COLUMN_WORD, COLUMN_MEMBER (FigureRow, title) },
  { "published", .kind = COLUMN_NUMBER, COLUMN_MEMBER (FigureRow, published) },
  { "predicted_low", .kind = COLUMN_NUMBER, .number = row_low },
  { "predicted_high", .kind = COLUMN_NUMBER, .number = row_high },
  { "error", .kind = COLUMN_NUMBER, .number = row_error },
  { "assumptions", .kind = COLUMN_WORD, COLUMN_MEMBER (FigureRow, assumptions) },
  { "reason", .kind = COLUMN_WORD, .text = row_reason },
  { "profiles", .kind = COLUMN_WORD, .flags = COLUMN_CSV_ONLY, .text = row_profiles },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { "band", .kind = COLUMN_NUMBER, .number = row_band },
  { "fits", .kind = COLUMN_BOOL, .number = row_fits },
  { "published_mfu_percent", .kind = COLUMN_NUMBER, .number = row_mfu_published },
  { "predicted_mfu_percent_low", .kind = COLUMN_NUMBER, .number = row_mfu_low },
  { "predicted_mfu_percent_high", .kind = COLUMN_NUMBER, .number = row_mfu_high },
  { "published_high", .kind = COLUMN_NUMBER, COLUMN_MEMBER (FigureRow, published_high) },
  { 0 },
};

COLUMN_NUMBER_OF (FigureCase, case_predicted, p->reason == NULL ? p->predicted : NAN)

static const Column case_columns[] = {
  { "scenario", .kind = COLUMN_WORD, COLUMN_MEMBER (FigureCase, scenario) },
  { "over", .kind = COLUMN_WORD, COLUMN_MEMBER (FigureCase, over) },
  { "predicted", .kind = COLUMN_NUMBER, .number = case_predicted },
  { "fits", .kind = COLUMN_BOOL, COLUMN_MEMBER (FigureCase, fits) },
  { "reason", .kind = COLUMN_WORD, COLUMN_MEMBER (FigureCase, reason) },
  { "profiles", .kind = COLUMN_WORD, COLUMN_MEMBER (FigureCase, profiles) },
  { 0 },
};

static void
json (const Figures *self, struct json_object *root)
{
  struct json_object *rows = json_object_new_array ();

  for (guint i = 0; i < self->rows->len; i++)
    {
      const FigureRow    *row = FIGURE_ROW (self, FigureRow, i);
      struct json_object *object = column_object (published_columns, row);

      json_object_object_add (object, "scenarios",
                              column_list (case_columns, rows_of_array (row->cases)));
      json_object_array_add (rows, object);
    }
  json_object_object_add (root, "figures", rows);
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* What all metrics of speed are drawn as together. */
static const char mfu_title[] = "MFU, % of the GPUs' peak";

#define MAX_NAME 80
#define LOG_FROM 20 /* of the largest number over the smallest */

/*
 * METRIC, or of all that are of speed the MFU: a line a row, with a cross where the published
 * number is and a bar from the least to the greatest prediction. Between them, or their nearer
 * ends, is a thin line: the error; between the ends of a published range another one.
 */
static void
add_picture (const Figures *self, const char *metric, const char *style, GArray *pictures)
{
  const gboolean        mfu = metric == mfu_title;
  g_auto (GStrv)        words = g_strsplit (metric, ", ", -1); /* "step_time_s, ratio" */
  g_autofree char      *word = mfu ? g_strdup ("mfu") : g_strjoinv ("-", words);
  g_autofree char      *title = g_strdup_printf ("%s: published and predicted", self->name);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  Facets               *facets = facets_new ("%s-%s", self->name, word);
  double                least = G_MAXDOUBLE, most = 0;
  glong                 widest = 0; /* characters of a name */

  facets_block (facets, "line published predicted_low predicted_high published_high");
  for (guint i = 0; i < self->rows->len; i++)
    {
      const FigureRow *row = FIGURE_ROW (self, FigureRow, i);
      const gboolean   there = row->n_used > 0;
      const double     numbers[] = { mfu ? row->mfu_published : row->published,
                                 !there ? NAN
                                     : mfu  ? row->mfu_low
                                            : row->low,
                                 !there ? NAN
                                 : mfu  ? row->mfu_high
                                        : row->high,
                                 mfu ? row->mfu_published_high : row->published_high };

      if (mfu ? !(row->mfu_published > 0) : !g_str_equal (row->picture, metric))
        continue;
      facets_line (facets, names->len, numbers[0], numbers[1], numbers[2], numbers[3]);
      for (guint n = 0; n < G_N_ELEMENTS (numbers); n++)
        {
          least = fmin (least, numbers[n]);
          most = fmax (most, numbers[n]);
        }
      widest = MAX (widest, MIN (g_utf8_strlen (row->row, -1), MAX_NAME));
      g_ptr_array_add (names, (gpointer) row->row);
    }
  facets_text (facets, "set title", title, MAX_NAME);
  facets_command (facets,
                  "set xlabel \"%s\" noenhanced\nset yrange [%u.6:-0.6]\n"
                  "set grid noytics xtics back ls 21\nset key outside center top horizontal\n"
                  "set bars 0\nset lmargin %ld\nset format x '%%g'",
                  metric, names->len - 1, widest + 2);
  if (least > 0 && most > LOG_FROM * least)
    facets_command (facets, "set logscale x\nset xrange [%g/1.2:%g*1.2]", least, most);
  else
    facets_command (facets, "set xrange [0:*]");
  gnuplot_append_tics (facets->panels, 'y', (const char *const *) names->pdata, names->len,
                       MAX_NAME);
  facets_command (facets, "far(p, q, low, high) = low > q ? low - q : high < p ? high - p : 0");
  facets_draw (facets, NULL,
               "data using ($3 > $5 ? $5 : $2):1:(far($2, $5, $3, $4)):(0) with vectors nohead "
               "ls 10 lw 2");
  facets_draw (facets, NULL, "data using 2:1:($5 - $2):(0) with vectors nohead ls 1 lw 2");
  facets_draw (facets, NULL, "data using 3:1:($4 - $3):(0) with vectors nohead ls 4 lw 6");
  facets_draw (facets, "predicted", "data using 3:1 with points ls 4 pt 7 ps 1");
  facets_draw (facets, NULL, "data using 4:1 with points ls 4 pt 7 ps 1");
  facets_draw (facets, "published", "data using 2:1 with points ls 1 pt 2 lw 2 ps 1");
  facets_draw (facets, NULL, "data using 5:1 with points ls 1 pt 2 lw 2 ps 1");
  facets_finish (facets, NULL, 1000, 150 + 24 * names->len, style, pictures);
}

/* A picture a metric, in order of appearance; where several are of speed, one more with all. */
static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  g_autoptr (GPtrArray) metrics = words_of (self->rows, G_STRUCT_OFFSET (FigureRow, picture));
  g_autoptr (GPtrArray) speeds = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    {
      const FigureRow *row = FIGURE_ROW (self, FigureRow, i);

      if (row->mfu_published > 0
          && !g_ptr_array_find_with_equal_func (speeds, row->picture, g_str_equal, NULL))
        g_ptr_array_add (speeds, (gpointer) row->picture);
    }
  if (speeds->len > 1)
    g_ptr_array_add (metrics, (gpointer) mfu_title);
  for (guint i = 0; i < metrics->len; i++)
    add_picture (self, g_ptr_array_index (metrics, i), style, pictures);
}

const FigureReport report_published = { .columns = published_columns,
                                        .json = json,
                                        .text = text,
                                        .plot = plot };
