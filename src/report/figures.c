#include "report/figures.h"

#include <math.h>

#include "report/fields-private.h"
#include "report/terminal-private.h"

/* A band that is wider says nothing of the number within it. */
#define NARROW_BAND 1.5

static const FigureRow *
row_at (const Figures *self, guint i)
{
  return &g_array_index (self->rows, FigureRow, i);
}

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

/* Numbers the different assumptions in order of appearance, from 1. */
static guint
note_of (GPtrArray *notes, const char *assumptions)
{
  guint at;

  if (!g_ptr_array_find_with_equal_func (notes, assumptions, g_str_equal, &at))
    {
      at = notes->len;
      g_ptr_array_add (notes, (gpointer) assumptions);
    }
  return at + 1;
}

/* A band that says too little to count. */
static gboolean
is_wide (const FigureRow *row)
{
  return row->n_used > 1 && row->high > NARROW_BAND * row->low;
}

/* What is to be said beside the numbers; newly allocated. */
static char *
remark_of (const FigureRow *row)
{
  if (row->n_used == 0)
    return g_strdup (reason_of (row));
  if (!row->misfits)
    return g_strdup (is_wide (row) ? "too wide to tell" : "");
  return g_strdup_printf ("%s memory%s", row->cases->len > 1 ? "none fits" : "does not fit",
                          is_wide (row) ? ", too wide to tell" : "");
}

static char *
range_text (double low, double high)
{
  if (low == high)
    return g_strdup_printf ("%.4g", low);
  return g_strdup_printf ("%.4g to %.4g", low, high);
}

static char *
published_text (const FigureRow *row)
{
  return isnan (row->published) ? g_strdup ("") : range_text (row->published, row->published_high);
}

static char *
predicted_text (const FigureRow *row)
{
  return row->n_used > 0 ? range_text (row->low, row->high) : g_strdup ("");
}

/* NOTE is 0 without details. */
static void
add_line (struct libscols_table *table, const FigureRow *row, guint note)
{
  char *cells[9] = { NULL };
  guint n = 0;

  cells[n++] = g_strdup (row->figure);
  cells[n++] = g_strdup (row->row);
  cells[n++] = g_strdup (row->title);
  cells[n++] = published_text (row);
  cells[n++] = predicted_text (row);
  cells[n++] = row->n_used > 0 && !isnan (row->published) ? terminal_percent (row->error, TRUE)
                                                          : g_strdup ("");
  if (note > 0)
    cells[n++] = g_strdup_printf ("(%u)", note);
  cells[n] = remark_of (row);
  terminal_table_take (table, cells);
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
append_details (const Figures *self, const GPtrArray *notes, GString *out)
{
  for (guint i = 0; i < self->rows->len; i++)
    if (row_at (self, i)->cases->len > 1)
      append_band (row_at (self, i), out);
  g_string_append (out, "\nAssumed:\n");
  for (guint i = 0; i < notes->len; i++)
    g_string_append_printf (out, "  (%u) %s\n", i + 1, (const char *) g_ptr_array_index (notes, i));
}

void
report_figures_text (const Figures *self, gboolean details, GString *out)
{
  static const TerminalColumn detailed[] = {
    { "FIGURE", FALSE },   { "ROW", FALSE },  { "METRIC", FALSE }, { "PUBLISHED", TRUE },
    { "PREDICTED", TRUE }, { "ERROR", TRUE }, { "NOTE", FALSE },   { "", FALSE },
  };
  static const TerminalColumn brief[] = {
    { "FIGURE", FALSE },   { "ROW", FALSE },  { "METRIC", FALSE }, { "PUBLISHED", TRUE },
    { "PREDICTED", TRUE }, { "ERROR", TRUE }, { "", FALSE },
  };
  struct libscols_table *table = details ? terminal_table_new (detailed, G_N_ELEMENTS (detailed))
                                         : terminal_table_new (brief, G_N_ELEMENTS (brief));
  g_autoptr (GPtrArray)  notes = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    add_line (table, row_at (self, i),
              details ? note_of (notes, row_at (self, i)->assumptions) : 0);
  terminal_table_finish (table, out);
  if (details)
    append_details (self, notes, out);
  g_string_append (
      out, "\nerror = predicted / published - 1; of a band, of its nearer end, 0 within it\n");
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

FIELD_TEXT_OF (FigureRow, row_figure, p->figure)
FIELD_TEXT_OF (FigureRow, row_row, p->row)
FIELD_TEXT_OF (FigureRow, row_metric, p->title)
FIELD_NUMBER_OF (FigureRow, row_published, p->published)
FIELD_NUMBER_OF (FigureRow, row_published_high, p->published_high)
FIELD_NUMBER_OF (FigureRow, row_low, p->n_used > 0 ? p->low : NAN)
FIELD_NUMBER_OF (FigureRow, row_high, p->n_used > 0 ? p->high : NAN)
FIELD_NUMBER_OF (FigureRow, row_error, p->n_used > 0 ? p->error : NAN)
FIELD_NUMBER_OF (FigureRow, row_band, p->n_used > 0 && p->low > 0 ? p->high / p->low : NAN)
FIELD_NUMBER_OF (FigureRow, row_fits, p->n_used > 0 && !p->misfits)
FIELD_NUMBER_OF (FigureRow, row_mfu_published, p->mfu_published > 0 ? p->mfu_published : NAN)
FIELD_NUMBER_OF (FigureRow, row_mfu_low, p->mfu_low > 0 ? p->mfu_low : NAN)
FIELD_NUMBER_OF (FigureRow, row_mfu_high, p->mfu_high > 0 ? p->mfu_high : NAN)
FIELD_TEXT_OF (FigureRow, row_assumptions, p->assumptions)
FIELD_TEXT_OF (FigureRow, row_reason, reason_of (p))
FIELD_TEXT_OF (FigureRow, row_profiles, profiles_of (p))

static const Field row_fields[] = {
  { .name = "figure", .type = FIELD_WORD, .text = row_figure },
  { .name = "row", .type = FIELD_WORD, .text = row_row },
  { .name = "metric", .type = FIELD_WORD, .text = row_metric },
  { .name = "published", .type = FIELD_NUMBER, .number = row_published },
  { .name = "predicted_low", .type = FIELD_NUMBER, .number = row_low },
  { .name = "predicted_high", .type = FIELD_NUMBER, .number = row_high },
  { .name = "error", .type = FIELD_NUMBER, .number = row_error },
  { .name = "assumptions", .type = FIELD_WORD, .text = row_assumptions },
  { .name = "reason", .type = FIELD_WORD, .text = row_reason },
  { .name = "profiles", .type = FIELD_WORD, .text = row_profiles, .place = FIELD_IN_CSV },
  FIELDS_OF_THE_PROGRAM,
  { .name = "band", .type = FIELD_NUMBER, .number = row_band },
  { .name = "fits", .type = FIELD_BOOL, .number = row_fits },
  { .name = "published_mfu_percent", .type = FIELD_NUMBER, .number = row_mfu_published },
  { .name = "predicted_mfu_percent_low", .type = FIELD_NUMBER, .number = row_mfu_low },
  { .name = "predicted_mfu_percent_high", .type = FIELD_NUMBER, .number = row_mfu_high },
  { .name = "published_high", .type = FIELD_NUMBER, .number = row_published_high },
  { 0 },
};

FIELD_TEXT_OF (FigureCase, case_scenario, p->scenario)
FIELD_TEXT_OF (FigureCase, case_over, p->over)
FIELD_NUMBER_OF (FigureCase, case_predicted, p->reason == NULL ? p->predicted : NAN)
FIELD_NUMBER_OF (FigureCase, case_fits, p->fits)
FIELD_TEXT_OF (FigureCase, case_reason, p->reason)
FIELD_TEXT_OF (FigureCase, case_profiles, p->profiles)

static const Field case_fields[] = {
  { .name = "scenario", .type = FIELD_WORD, .text = case_scenario },
  { .name = "over", .type = FIELD_WORD, .text = case_over },
  { .name = "predicted", .type = FIELD_NUMBER, .number = case_predicted },
  { .name = "fits", .type = FIELD_BOOL, .number = case_fits },
  { .name = "reason", .type = FIELD_WORD, .text = case_reason },
  { .name = "profiles", .type = FIELD_WORD, .text = case_profiles },
  { 0 },
};

void
report_figures_csv (const Figures *self, GString *out)
{
  fields_csv (row_fields, self->rows->data, self->rows->len, sizeof (FigureRow), out);
}

static struct json_object *
row_json (const FigureRow *row)
{
  struct json_object *object = fields_json (row_fields, row);

  json_object_object_add (
      object, "scenarios",
      fields_json_list (case_fields, row->cases->data, row->cases->len, sizeof (FigureCase)));
  return object;
}

void
report_figures_add_json (const Figures *self, struct json_object *root)
{
  struct json_object *rows = json_object_new_array ();

  for (guint i = 0; i < self->rows->len; i++)
    json_object_array_add (rows, row_json (row_at (self, i)));
  json_object_object_add (root, "figures", rows);
}

void
report_figures_json (const Figures *self, GString *out)
{
  struct json_object *root = json_document_new ();

  report_figures_add_json (self, root);
  json_finish (root, out);
}
