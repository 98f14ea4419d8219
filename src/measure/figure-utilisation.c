#include "measure/figure-utilisation.h"

#include <math.h>

#include "base/csv.h"
#include "driver/exchange.h"

#define SUFFIX ".utilisation.csv"

const double utilisation_targets[UTILISATION_N_TARGETS] = { 0.5, 0.8, 0.9, 0.95, 0.99 };

static const char *const target_columns[UTILISATION_N_TARGETS] = { "p50", "p80", "p90", "p95",
                                                                   "p99" };

double
utilisation_rate (guint i)
{
  return 1e9 * pow (10, -1 + 4.0 * i / (UTILISATION_N_RATES - 1));
}

/* ---- the rules ------------------------------------------------------------------------------- */

/* Whether LAYER leaves after so many STEPS. */
static gboolean
is_sent (const UtilisationRow *row, const Exchange *exchange, guint layer, guint steps)
{
  guint turn = (steps - 1) % row->every + 1;

  if (row->fragment_layers == 0)
    return turn == row->every;
  return exchange_used_after (exchange, layer % exchange->fragments) == turn;
}

double
utilisation_of (const UtilisationRow *row, double rate)
{
  const double forward = row->step_s / 3 / row->layers, backward = 2 * forward;
  const double payload =
      row->parameters / row->layers * row->bits * 2 * (row->replicas - 1) / row->replicas / rate;
  const Exchange     exchange = { .every = row->every,
                                  .fragments = row->fragment_layers > 0
                                                   ? MAX (row->layers / row->fragment_layers, 1)
                                                   : 1 };
  g_autofree double *there = g_new0 (double, row->layers); /* when its exchange is over */
  g_autofree guint  *due = g_new0 (guint, row->layers);    /* in which step it is waited for */
  double             now = 0, link = 0;

  for (guint step = 1; step <= row->steps; step++)
    {
      for (guint l = 0; l < row->layers; l++)
        now = (due[l] == step ? MAX (now, there[l]) : now) + forward;
      for (guint l = row->layers; l-- > 0;)
        {
          now += backward;
          if (!is_sent (row, &exchange, l, step))
            continue;
          link = MAX (link, now) + payload;
          there[l] = link;
          due[l] = step + 1 + row->overlap;
        }
    }
  return row->steps * row->step_s / now;
}

static void
compute (UtilisationRow *row)
{
  for (guint r = 0; r < UTILISATION_N_RATES; r++)
    row->of_rate[r] = utilisation_of (row, utilisation_rate (r));
  for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
    {
      guint r = 0;

      while (r < UTILISATION_N_RATES && row->of_rate[r] < utilisation_targets[t])
        r++;
      row->predicted[t] = r;
      if (row->published[t] > 0)
        row->off[t] =
            (gint) r
            - (gint) lround ((log10 (row->published[t] / 1e9) + 1) * (UTILISATION_N_RATES - 1) / 4);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW(member) G_STRUCT_OFFSET (UtilisationRow, member)

static const struct
{
  const char *name;
  gsize       offset; /* of a const char * */
} words[] = { { "figure", ROW (figure) },
              { "model", ROW (model) },
              { "method", ROW (method) },
              { "assumptions", ROW (assumptions) } };

static const struct
{
  const char *name;
  gsize       offset; /* of a double, or (WHOLE) of a guint */
  gboolean    whole;
  double      min, max;
} numbers[] = { { "parameters", ROW (parameters), FALSE, 1, 1e15 },
                { "step_s", ROW (step_s), FALSE, 1e-6, 1e6 },
                { "bits", ROW (bits), FALSE, 1, 64 },
                { "replicas", ROW (replicas), FALSE, 1, 1e6 },
                { "layers", ROW (layers), TRUE, 1, 10000 },
                { "every", ROW (every), TRUE, 1, 10000 },
                { "fragment_layers", ROW (fragment_layers), TRUE, 0, 10000 },
                { "overlap", ROW (overlap), TRUE, 0, 10000 },
                { "steps", ROW (steps), TRUE, 1, 100000 } };

/* The number in COLUMN, from MIN to MAX. FALSE after a diagnostic. */
static gboolean
read_number (const CsvReader *reader, const char *column, double min, double max, double *value,
             DiagList *diags)
{
  gint        at = csv_reader_find (reader, column);
  const char *text = at >= 0 ? csv_reader_field (reader, (guint) at) : "";
  SourceMark  mark = at >= 0 ? csv_reader_mark (reader, (guint) at) : (SourceMark){ 0 };
  char       *end;

  *value = g_ascii_strtod (text, &end);
  if (*text != '\0' && *end == '\0' && *value >= min && *value <= max)
    return TRUE;
  diag_error (diags, &mark, NULL, "expected a number from %g to %g for '%s', got '%s'", min, max,
              column, text);
  return FALSE;
}

static void
read_line (FigureUtilisation *self, const CsvReader *reader, DiagList *diags)
{
  UtilisationRow row = { 0 };
  guint          n_errors = diag_list_n_errors (diags);

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      gint at = csv_reader_find (reader, words[i].name);

      G_STRUCT_MEMBER (const char *, &row, words[i].offset) = g_string_chunk_insert_const (
          self->strings, at >= 0 ? csv_reader_field (reader, (guint) at) : "");
    }
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      double value;

      if (!read_number (reader, numbers[i].name, numbers[i].min, numbers[i].max, &value, diags))
        continue;
      if (numbers[i].whole)
        G_STRUCT_MEMBER (guint, &row, numbers[i].offset) = (guint) value;
      else
        G_STRUCT_MEMBER (double, &row, numbers[i].offset) = value;
    }
  for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
    if (read_number (reader, target_columns[t], 0, 1e6, &row.published[t], diags))
      row.published[t] *= 1e9;
  if (diag_list_n_errors (diags) == n_errors)
    g_array_append_val (self->rows, row);
}

static gboolean
read_table (FigureUtilisation *self, const char *file, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  guint                 n_errors = diag_list_n_errors (diags), n = 0;
  const char *names[G_N_ELEMENTS (words) + G_N_ELEMENTS (numbers) + UTILISATION_N_TARGETS + 1];

  if (reader == NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    names[n++] = words[i].name;
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    names[n++] = numbers[i].name;
  for (guint i = 0; i < UTILISATION_N_TARGETS; i++)
    names[n++] = target_columns[i];
  names[n] = NULL;
  csv_reader_check_names (reader, names, diags);
  while (diag_list_n_errors (diags) == n_errors && csv_reader_next (reader, diags))
    read_line (self, reader, diags);
  return diag_list_n_errors (diags) == n_errors;
}

/* ---- the figure ------------------------------------------------------------------------------ */

static char *
file_of (const char *folder, const char *name)
{
  g_autofree char *file = g_strconcat (name, SUFFIX, NULL);

  return g_build_filename (folder, file, NULL);
}

gboolean
figure_utilisation_is (const char *folder, const char *name)
{
  g_autofree char *file = file_of (folder, name);

  return g_file_test (file, G_FILE_TEST_EXISTS);
}

FigureUtilisation *
figure_utilisation_predict (const char *folder, const char *name, DiagList *diags)
{
  g_autoptr (FigureUtilisation) self = g_new0 (FigureUtilisation, 1);
  g_autofree char              *csv = file_of (folder, name);

  self->name = g_strdup (name);
  self->strings = g_string_chunk_new (4096);
  self->rows = g_array_new (FALSE, TRUE, sizeof (UtilisationRow));
  if (!read_table (self, csv, diags))
    return NULL;
  for (guint i = 0; i < self->rows->len; i++)
    compute (&g_array_index (self->rows, UtilisationRow, i));
  return g_steal_pointer (&self);
}

void
figure_utilisation_free (FigureUtilisation *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->rows);
  g_string_chunk_free (self->strings);
  g_free (self->name);
  g_free (self);
}
