#include "evidence/figures/figure-submissions.h"

#include <math.h>

#include "report/figure/figure-report-private.h"

COLUMN_NUMBER_OF (Submission, submission_error, p->predicted / p->published - 1)
COLUMN_NUMBER_OF (Submission, submission_fits, p->reason == NULL ? p->memory_share <= 1 : NAN)

static const Column result_columns[] = {
  { "round", .kind = COLUMN_WORD, COLUMN_MEMBER (Submission, round) },
  { "id", .kind = COLUMN_WORD, COLUMN_MEMBER (Submission, id) },
  { "hardware", .kind = COLUMN_WORD, COLUMN_MEMBER (Submission, hardware) },
  { "configuration", .kind = COLUMN_WORD, COLUMN_MEMBER (Submission, configuration) },
  { "published_step_time_s", .kind = COLUMN_NUMBER, COLUMN_MEMBER (Submission, published) },
  { "predicted_step_time_s", .kind = COLUMN_NUMBER, COLUMN_MEMBER (Submission, predicted) },
  { "error", .kind = COLUMN_NUMBER, .number = submission_error },
  { "memory_share", .kind = COLUMN_NUMBER, COLUMN_MEMBER (Submission, memory_share) },
  { "fits", .kind = COLUMN_BOOL, .number = submission_fits },
  { "reason", .kind = COLUMN_WORD, COLUMN_MEMBER (Submission, reason) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* ---- text ------------------------------------------------------------------------------------ */

/* "yes, 84 %", or why there is no prediction. */
static char *
fits_text (const Submission *row)
{
  if (row->reason != NULL)
    return g_strdup (row->reason);
  return g_strdup_printf ("%s, %.0f %%", row->memory_share <= 1 ? "yes" : "NO",
                          100 * row->memory_share);
}

static void
append_summary (const Figures *self, GString *out)
{
  const SubmissionSummary all = figure_submissions_summary (self);

  g_string_append_printf (out,
                          "\n%u submissions: median error %.1f %%, nine in ten within %.1f %%, %u "
                          "within %.0f %%; %u predicted not to fit, all of which ran\n"
                          "error = predicted / published - 1; of memory the fullest GPU's part\n",
                          all.n, 100 * all.median_abs, 100 * all.p90_abs, all.n_near,
                          100 * SUBMISSION_NEAR, all.n_unfit);
}

static void
text (const Figures *self, gboolean details, GString *out)
{
  static const TerminalColumn columns[] = {
    { "ID", FALSE },          { "GPUS", FALSE },        { "CONFIGURATION", FALSE },
    { "PUBLISHED, s", TRUE }, { "PREDICTED, s", TRUE }, { "ERROR", TRUE },
    { "FITS", FALSE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  (void) details; /* the table's remarks say what is assumed */
  for (guint i = 0; i < self->rows->len; i++)
    {
      const Submission *row = FIGURE_ROW (self, Submission, i);

      figure_line (
          table, g_strdup (row->id), g_strdup (row->hardware), g_strdup (row->configuration),
          figure_number ("%.4g", row->published), figure_number ("%.4g", row->predicted),
          figure_number ("%+.1f %%", 100 * (row->predicted / row->published - 1)), fits_text (row));
    }
  terminal_table_finish (table, out);
  append_summary (self, out);
}

/* ---- the picture ----------------------------------------------------------------------------- */

/*
 * Rows of the round that the row FIRST begins: filled points fit, hollow ones do not. Whether there
 * are any of these.
 */
static gboolean
draw_round (const Figures *self, guint first, guint colour, Facets *facets)
{
  const char *round = FIGURE_ROW (self, Submission, first)->round;
  const guint block = facets_block (facets, "published, predicted where it fits and where not");
  gboolean    any_unfit = FALSE;

  for (guint i = first; i < self->rows->len; i++)
    {
      const Submission *row = FIGURE_ROW (self, Submission, i);
      const gboolean    fits = row->memory_share <= 1;

      if (row->round != round || row->reason != NULL)
        continue;
      any_unfit = any_unfit || !fits;
      facets_line (facets, row->published, fits ? row->predicted : NAN,
                   fits ? NAN : row->predicted);
    }
  facets_draw (facets, round, "data index %u using 1:2 with points ls %u pt 7 ps 0.9", block,
               colour);
  if (any_unfit)
    facets_draw (facets, NULL, "data index %u using 1:3 with points ls %u pt 6 lw 2 ps 1.1", block,
                 colour);
  return any_unfit;
}

static gboolean
begins_round (const Figures *self, guint i)
{
  for (guint k = 0; k < i; k++)
    if (FIGURE_ROW (self, Submission, k)->round == FIGURE_ROW (self, Submission, i)->round)
      return FALSE;
  return TRUE;
}

static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  static const guint colours[] = { 1, 4, 6, 5, 8, 3, 7 };
  Facets            *facets = facets_new ("%s-step-time", self->name);
  gboolean           any_unfit = FALSE;
  guint              n = 0;

  g_string_append (facets->head, "set logscale xy\nset xlabel 'published step time, s'\n"
                                 "set ylabel 'predicted step time, s'\nset format '%g'\n"
                                 "set grid xtics ytics back ls 21\nset key outside right top\n");
  facets_command (facets, "set size ratio 1");
  facets_draw (facets, NULL, "x with lines ls 20");
  facets_draw (facets, "15 %", "1.15 * x with lines ls 22");
  facets_draw (facets, NULL, "x / 1.15 with lines ls 22");
  for (guint i = 0; i < self->rows->len; i++)
    if (begins_round (self, i))
      any_unfit |= draw_round (self, i, colours[n++ % G_N_ELEMENTS (colours)], facets);
  if (any_unfit)
    facets_draw (facets, "does not fit", "NaN with points lc rgb '#404040' pt 6 lw 2 ps 1.1");
  facets_finish (facets, NULL, 760, 600, style, pictures);
}

const FigureReport report_submissions = { .columns = result_columns,
                                          .name_key = "figures",
                                          .rows_key = "submissions",
                                          .text = text,
                                          .plot = plot };
