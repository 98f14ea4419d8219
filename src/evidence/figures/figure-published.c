#include "evidence/figures/figure-published.h"

#include <math.h>
#include <string.h>

#include "evidence/figures/figure-metric.h"
#include "evidence/figures/figure-private.h"

/* ---- the table ------------------------------------------------------------------------------- */

/* A scenario of a row. */
typedef struct
{
  const char *figure, *row, *scenario, *metric, *published, *over, *assumptions;
  double      low, high; /* of what was published; NAN: nothing */
} Line;

#define CELL(member) G_STRUCT_OFFSET (Line, member)

static const FigureColumn columns[] = {
  { "figure", CELL (figure), .type = FIGURE_WORD },
  { "row", CELL (row), .type = FIGURE_WORD },
  { "scenario", CELL (scenario), .type = FIGURE_WORD },
  { "metric", CELL (metric), .type = FIGURE_METRIC },
  { "published", CELL (published), .type = FIGURE_WORD },
  { "assumptions", CELL (assumptions), .type = FIGURE_WORD },
  { "over", CELL (over), .type = FIGURE_WORD },
};

#define TO " to " /* between the ends of a published range */

/* "1.5", or "1.11 to 1.66": all between are as good. Nothing: a prediction for itself. */
static void
check_line (gpointer self, gpointer data, const CsvReader *reader, DiagList *diags)
{
  Line            *line = data;
  const SourceMark mark = figure_table_mark (reader, "published");
  const char      *text = line->published, *rest = strstr (text, TO);
  char            *end;

  (void) self;
  line->low = line->high = NAN;
  if (*text == '\0')
    return;
  line->low = line->high = g_ascii_strtod (text, &end);
  if (end != text && end == (rest != NULL ? rest : text + strlen (text)))
    {
      if (rest != NULL)
        line->high = g_ascii_strtod (rest + strlen (TO), &end);
      if (*end == '\0' && (rest == NULL || end != rest + strlen (TO)) && line->low > 0
          && isfinite (line->high) && line->high >= line->low)
        return;
    }
  diag_error (diags, &mark, "1.5, or a range: 1.11 to 1.66",
              "expected a number above 0 for 'published', got '%s'", text);
}

void
figure_row_clear (gpointer data)
{
  g_array_unref (((FigureRow *) data)->cases);
}

/* Lines of the same row one after another are the cases of its band. */
static void
add_line (Figures *self, const Line *line)
{
  const gboolean ratio = *line->over != '\0';
  FigureCase     one = { .scenario = line->scenario, .over = ratio ? line->over : NULL };
  FigureRow  *last = self->rows->len > 0 ? FIGURE_ROW (self, FigureRow, self->rows->len - 1) : NULL;
  const char *picture = figure_metric_find (line->metric)->name;
  g_autofree char *title = g_strconcat (line->metric, ratio ? ", ratio" : "", NULL);
  g_autofree char *drawn = g_strconcat (picture, ratio ? ", ratio" : "", NULL);

  if (last == NULL || strcmp (last->figure, line->figure) != 0 || strcmp (last->row, line->row) != 0
      || strcmp (last->metric, line->metric) != 0)
    {
      const FigureRow row = { .figure = line->figure,
                              .row = line->row,
                              .metric = line->metric,
                              .assumptions = line->assumptions,
                              .ratio = ratio,
                              .title = figure_keep (self, title),
                              .picture = figure_keep (self, drawn),
                              .published = line->low,
                              .published_high = line->high,
                              .cases = g_array_new (FALSE, TRUE, sizeof (FigureCase)) };

      g_array_append_val (self->rows, row);
      last = FIGURE_ROW (self, FigureRow, self->rows->len - 1);
    }
  g_array_append_val (last->cases, one);
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* METRIC of the scenario NAME. NULL with a reason in SELF: there is none. */
static const Prediction *
find_value (Figures *figure, FigureCase *self, const FigureRuns *runs, const char *name,
            const char *metric, double *value)
{
  g_autofree char *reason = NULL;

  for (guint i = 0; i < runs->scenarios->len && reason == NULL; i++)
    {
      const Scenario *scenario = g_ptr_array_index (runs->scenarios, i);

      if (strcmp (scenario->name, name) != 0)
        continue;
      if (runs->predictions[i] == NULL)
        reason = g_strdup (runs->reasons[i]);
      else if (figure_metric_of (runs->predictions[i], metric, value))
        return runs->predictions[i];
      else
        reason = g_strdup_printf ("'%s' has no '%s'", name, metric);
    }
  if (reason == NULL)
    reason = g_strdup_printf ("there is no scenario '%s'", name);
  self->reason = figure_keep (figure, reason);
  return NULL;
}

static void
fill_case (Figures *figure, FigureCase *self, const char *metric, const FigureRuns *runs)
{
  double            value, base = 1;
  const Prediction *of = find_value (figure, self, runs, self->scenario, metric, &value);
  const Prediction *over = of != NULL && self->over != NULL
                               ? find_value (figure, self, runs, self->over, metric, &base)
                               : NULL;

  if (of == NULL || (self->over != NULL && over == NULL))
    return;
  if (base == 0)
    {
      g_autofree char *zero = g_strdup_printf ("'%s' of '%s' is 0", metric, self->over);

      self->reason = figure_keep (figure, zero);
      return;
    }
  self->predicted = value / base;
  self->seconds = of->step_time_s;
  self->work = value * self->seconds;
  self->over_seconds = over != NULL ? over->step_time_s : 1;
  self->over_work = base * self->over_seconds;
  self->mfu_percent = of->mfu_percent;
  self->fits = of->fits && (over == NULL || over->fits);
  self->profiles = figure_keep (figure, of->profiles);
}

/* Takes the cases that were predicted: those that fit, or, with MISFITS, all. */
static void
take_cases (FigureRow *self, gboolean misfits)
{
  const FigureSpeed speed =
      self->ratio ? FIGURE_NO_SPEED : figure_metric_find (self->metric)->speed;

  for (guint i = 0; i < self->cases->len; i++)
    {
      const FigureCase *one = &g_array_index (self->cases, FigureCase, i);
      const double      mfu = speed != FIGURE_NO_SPEED ? one->mfu_percent : 0;
      const gboolean    first = self->n_used == 0;

      if (one->reason != NULL || (!one->fits && !misfits))
        continue;
      if (first && speed != FIGURE_NO_SPEED)
        {
          /* the published number as MFU: as much more or less than this case's */
          const double low = self->published / one->predicted;
          const double high = self->published_high / one->predicted;

          self->mfu_published = mfu * (speed == FIGURE_TIME ? 1 / high : low);
          self->mfu_published_high = mfu * (speed == FIGURE_TIME ? 1 / low : high);
        }
      self->mfu_low = first ? mfu : MIN (self->mfu_low, mfu);
      self->mfu_high = first ? mfu : MAX (self->mfu_high, mfu);
      self->low = first ? one->predicted : MIN (self->low, one->predicted);
      self->high = first ? one->predicted : MAX (self->high, one->predicted);
      self->n_used++;
    }
  self->misfits = misfits && self->n_used > 0;
}

/* All work over all seconds of the cases that are used. */
static void
join_steps (FigureRow *self)
{
  double work = 0, seconds = 0, over_work = 0, over_seconds = 0;

  for (guint i = 0; i < self->cases->len; i++)
    {
      const FigureCase *one = &g_array_index (self->cases, FigureCase, i);

      if (one->reason != NULL || (!one->fits && !self->misfits))
        continue;
      work += one->work;
      seconds += one->seconds;
      over_work += one->over_work;
      over_seconds += one->over_seconds;
    }
  self->low = self->high = work / seconds / (over_work / over_seconds);
}

/* From the nearer end of what was published to the nearer one of what is predicted. */
static double
error_of (const FigureRow *self)
{
  if (self->n_used == 0)
    return 0;
  if (isnan (self->published))
    return NAN;
  if (self->low > self->published_high)
    return self->low / self->published_high - 1;
  return self->high < self->published ? self->high / self->published - 1 : 0;
}

static void
fill_row (Figures *figure, FigureRow *self, const FigureRuns *runs)
{
  const gboolean largest = figure_metric_find (self->metric)->largest;
  const gboolean run = figure_metric_find (self->metric)->run;
  FigureEvidence one = { .row = self->row,
                         .metric = self->title,
                         .published = self->published,
                         .published_high = self->published_high,
                         .low = NAN };

  for (guint i = 0; i < self->cases->len; i++)
    fill_case (figure, &g_array_index (self->cases, FigureCase, i), self->metric, runs);
  take_cases (self, FALSE);
  if (self->n_used == 0 && !largest)
    take_cases (self, TRUE);
  if (largest)
    self->low = self->high;
  if (run && self->n_used > 0)
    join_steps (self);
  self->error = error_of (self);
  one.low = self->n_used > 0 ? self->low : NAN;
  one.high = self->high;
  one.fits = !self->misfits;
  if (!isnan (self->published))
    g_array_append_val (figure->evidence, one);
}

static gboolean
compute (Figures *self, const FigureInput *input, DiagList *diags)
{
  PredictOptions         asked = *input->options;
  g_autoptr (FigureRuns) runs = NULL;

  (void) diags;
  for (guint i = 0; i < self->lines->len; i++)
    add_line (self, FIGURE_LINE (self, Line, i));
  for (guint i = 0; i < self->rows->len; i++)
    figure_metric_ask (FIGURE_ROW (self, FigureRow, i)->metric, &asked);
  runs = figure_runs_new (input->scenarios, &asked, input->n_threads);
  for (guint i = 0; i < self->rows->len; i++)
    fill_row (self, FIGURE_ROW (self, FigureRow, i), runs);
  return TRUE;
}

gboolean
figure_take_published (Figures *self, const FigureInput *input, DiagList *diags)
{
  self->base = figure_of_kind (self->folder, self->name, FIGURE_PUBLISHED, input, diags);
  if (self->base == NULL)
    return FALSE;
  g_array_append_vals (self->evidence, self->base->evidence->data, self->base->evidence->len);
  for (guint i = 0; i < self->base->rows->len; i++)
    {
      const FigureRow *row = FIGURE_ROW (self->base, FigureRow, i);

      g_array_ref (row->cases);
      g_array_append_vals (self->rows, row, 1);
    }
  return TRUE;
}

const FigureComputation figure_published = {
  .suffix = ".csv",
  .lines = { columns, G_N_ELEMENTS (columns), .n_optional = 1, .size = sizeof (Line),
             .check = check_line, .open = TRUE },
  .row_size = sizeof (FigureRow),
  .clear_row = figure_row_clear,
  .compute = compute,
};
