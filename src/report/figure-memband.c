#include "report/figure-memband.h"

#include <math.h>

#include "report/fields-private.h"
#include "report/terminal-private.h"

static const MembandRow *
row_at (const FigureMemband *self, guint i)
{
  return &g_array_index (self->rows, MembandRow, i);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* What ROW's cells are; they are newly allocated, at most 12 and then NULL. */
typedef void (*FillCells) (const MembandRow *row, char **cells);

static char *
number_cell (double value, const char *format)
{
  return isfinite (value) ? g_strdup_printf (format, value) : g_strdup ("");
}

static char *
verdict_cell (const MembandRow *row)
{
  if (row->reason != NULL)
    return g_strdup (row->reason);
  return g_strdup (isfinite (row->simulated) && !row->fits ? "does not fit" : "");
}

static void
fill_search (const MembandRow *row, char **cells)
{
  cells[0] = g_strdup (row->title);
  cells[1] = g_strdup_printf ("%.0f", row->cluster.n_ranks);
  cells[2] = g_strdup (row->name);
  if (!row->found)
    {
      cells[3] = g_strdup ("no memory");
      return;
    }
  cells[3] = g_strdup_printf ("%.1f %%", row->closed);
  cells[4] = g_strdup_printf ("%.2f", row->best.gamma);
  cells[5] = g_strdup_printf ("%d", (int) row->best.stage);
  cells[6] = g_strdup_printf ("%.0f", row->best.tokens);
  cells[7] = number_cell (row->gamma, "%.2f");
  cells[8] = number_cell (row->same, "%.1f %%");
  cells[9] = number_cell (row->three, "%.1f %%");
  cells[10] = number_cell (row->simulated, "%.1f %%");
  cells[11] = verdict_cell (row);
}

static void
fill_bound (const MembandRow *row, char **cells)
{
  const gboolean limited = row->bounds.mfu < row->bounds.compute_mfu;

  cells[0] = g_strdup (row->title);
  cells[1] = g_strdup_printf ("%.0f", row->cluster.n_ranks);
  cells[2] = g_strdup (row->name);
  cells[3] = g_strdup_printf ("%.1f GB", row->bounds.free_bytes / 1e9);
  cells[4] = g_strdup_printf ("%.0f", row->bounds.longest);
  cells[5] = g_strdup_printf ("%.2f", row->bounds.mfu);
  cells[6] = g_strdup_printf ("%.0f", row->bounds.tokens_per_s);
  cells[7] = g_strdup (limited ? "the network, with all recomputed" : "");
}

static void
fill_measured (const MembandRow *row, char **cells)
{
  cells[0] = g_strdup (row->name);
  cells[1] = g_strdup_printf ("%.0f", row->cluster.n_ranks);
  cells[2] = number_cell (row->measured, "%.3f");
  cells[3] = number_cell (row->closed, "%.3f");
  cells[4] = terminal_percent (row->closed / row->measured - 1, TRUE);
  cells[5] = number_cell (row->simulated, "%.3f");
  cells[6] = isfinite (row->simulated) ? terminal_percent (row->simulated / row->measured - 1, TRUE)
                                       : g_strdup ("");
  cells[7] = verdict_cell (row);
}

static const TerminalColumn search_columns[] = {
  { "CLUSTER", FALSE },  { "RANKS", TRUE },    { "MODEL", FALSE },    { "MFU", TRUE },
  { "GAMMA", TRUE },     { "STAGE", TRUE },    { "TOKENS", TRUE },    { "GAMMA OF RUN", TRUE },
  { "MFU AT IT", TRUE }, { "3 PASSES", TRUE }, { "SIMULATED", TRUE }, { "", FALSE },
};
static const TerminalColumn bound_columns[] = {
  { "CLUSTER", FALSE },
  { "RANKS", TRUE },
  { "MODEL", FALSE },
  { "FREE", TRUE },
  { "LONGEST", TRUE },
  { "MFU BELOW", TRUE },
  { "TOKENS/S/GPU BELOW", TRUE },
  { "LIMITED BY", FALSE },
};
static const TerminalColumn measured_columns[] = {
  { "MODEL", FALSE }, { "RANKS", TRUE },       { "MEASURED s", TRUE }, { "CLOSED FORM s", TRUE },
  { "ERROR", TRUE },  { "SIMULATED s", TRUE }, { "ERROR", TRUE },      { "", FALSE },
};

static const struct
{
  MembandPart           part;
  const char           *title;
  const TerminalColumn *columns;
  guint                 n_columns;
  FillCells             fill;
} tables[] = {
  { MEMBAND_SEARCH, "The best of gamma and stage by the closed form, and runs of it",
    search_columns, G_N_ELEMENTS (search_columns), fill_search },
  { MEMBAND_BOUND, "Bounds at stage 3", bound_columns, G_N_ELEMENTS (bound_columns), fill_bound },
  { MEMBAND_MEASURED, "Measured steps", measured_columns, G_N_ELEMENTS (measured_columns),
    fill_measured },
};

/* What the rows of PART assume, each once. */
static void
append_assumptions (const FigureMemband *self, MembandPart part, GString *out)
{
  g_autoptr (GPtrArray) said = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    {
      const MembandRow *row = row_at (self, i);

      if (row->part != part || *row->assumptions == '\0'
          || g_ptr_array_find_with_equal_func (said, row->assumptions, g_str_equal, NULL))
        continue;
      g_ptr_array_add (said, (gpointer) row->assumptions);
      g_string_append_printf (out, "Assumed: %s\n", row->assumptions);
    }
}

static void
append_pictures (const FigureMemband *self, GString *out)
{
  g_autoptr (GPtrArray) said = g_ptr_array_new ();

  g_string_append (out, "Series (--format csv has their points, --plot DIR draws them):\n");
  for (guint i = 0; i < self->rows->len; i++)
    {
      const MembandRow *row = row_at (self, i);

      if (row->part != MEMBAND_SERIES
          || g_ptr_array_find_with_equal_func (said, row->figure, g_str_equal, NULL))
        continue;
      g_ptr_array_add (said, (gpointer) row->figure);
      g_string_append_printf (out, "  %s: %s over %s\n", row->figure, row->y, row->x);
    }
}

void
report_memband_text (const FigureMemband *self, gboolean details, GString *out)
{
  for (guint t = 0; t < G_N_ELEMENTS (tables); t++)
    {
      struct libscols_table *table = terminal_table_new (tables[t].columns, tables[t].n_columns);

      g_string_append_printf (out, "%s\n", tables[t].title);
      for (guint i = 0; i < self->rows->len; i++)
        if (row_at (self, i)->part == tables[t].part)
          {
            char *cells[13] = { NULL };

            tables[t].fill (row_at (self, i), cells);
            terminal_table_take (table, cells);
          }
      terminal_table_finish (table, out);
      if (details)
        append_assumptions (self, tables[t].part, out);
      g_string_append_c (out, '\n');
    }
  append_pictures (self, out);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

/* Of a bound or where nothing fits there is no point. */
static double
of_point (const MembandRow *row, double value)
{
  return row->found && row->part != MEMBAND_MEASURED && row->part != MEMBAND_BOUND ? value : NAN;
}

static double
of_bound (const MembandRow *row, double value)
{
  return row->part == MEMBAND_BOUND ? value : NAN;
}

FIELD_TEXT_OF (MembandRow, row_part, memband_part_name (p->part))
FIELD_TEXT_OF (MembandRow, row_figure, p->figure)
FIELD_TEXT_OF (MembandRow, row_title, p->title)
FIELD_TEXT_OF (MembandRow, row_name, p->name)
FIELD_TEXT_OF (MembandRow, row_x, p->x)
FIELD_TEXT_OF (MembandRow, row_y, p->y)
FIELD_TEXT_OF (MembandRow, row_assumptions, p->assumptions)
FIELD_TEXT_OF (MembandRow, row_reason, p->reason)
FIELD_TEXT_OF (MembandRow, row_profiles, p->profiles)
FIELD_NUMBER_OF (MembandRow, row_ranks, p->cluster.n_ranks)
FIELD_NUMBER_OF (MembandRow, row_seq_len, p->model.seq_len)
FIELD_NUMBER_OF (MembandRow, row_memory, p->cluster.memory_bytes / 1e9)
FIELD_NUMBER_OF (MembandRow, row_rate, p->cluster.bytes_per_s * 8 / 1e9)
FIELD_NUMBER_OF (MembandRow, row_at_x, p->part == MEMBAND_SERIES ? p->at : NAN)
FIELD_NUMBER_OF (MembandRow, row_closed, p->closed)
FIELD_NUMBER_OF (MembandRow, row_gamma, of_point (p, p->best.gamma))
FIELD_NUMBER_OF (MembandRow, row_stage, of_point (p, p->best.stage))
FIELD_NUMBER_OF (MembandRow, row_tokens, of_point (p, p->best.tokens))
FIELD_NUMBER_OF (MembandRow, row_hfu, of_point (p, 100 * p->best.hfu))
FIELD_NUMBER_OF (MembandRow, row_free, of_bound (p, p->bounds.free_bytes))
FIELD_NUMBER_OF (MembandRow, row_longest, of_bound (p, p->bounds.longest))
FIELD_NUMBER_OF (MembandRow, row_bound_mfu, of_bound (p, 100 * p->bounds.mfu))
FIELD_NUMBER_OF (MembandRow, row_bound_speed, of_bound (p, p->bounds.tokens_per_s))
FIELD_NUMBER_OF (MembandRow, row_run_gamma, p->gamma)
FIELD_NUMBER_OF (MembandRow, row_same, p->same)
FIELD_NUMBER_OF (MembandRow, row_three, p->three)
FIELD_NUMBER_OF (MembandRow, row_simulated, p->simulated)
FIELD_NUMBER_OF (MembandRow, row_fits, isfinite (p->simulated) ? p->fits : NAN)
FIELD_NUMBER_OF (MembandRow, row_measured, p->measured > 0 ? p->measured : NAN)

#define WORDS(field, getter)                          \
  {                                                   \
    .name = field, .type = FIELD_WORD, .text = getter \
  }
#define NUMBER(field, getter)                             \
  {                                                       \
    .name = field, .type = FIELD_NUMBER, .number = getter \
  }

static const Field fields[] = {
  WORDS ("part", row_part),
  WORDS ("figure", row_figure),
  WORDS ("title", row_title),
  WORDS ("model", row_name),
  NUMBER ("n_ranks", row_ranks),
  NUMBER ("seq_len", row_seq_len),
  NUMBER ("memory_gb", row_memory),
  NUMBER ("gbit_per_s", row_rate),
  WORDS ("x", row_x),
  WORDS ("y", row_y),
  NUMBER ("at", row_at_x),
  NUMBER ("closed_form", row_closed),
  NUMBER ("gamma", row_gamma),
  NUMBER ("stage", row_stage),
  NUMBER ("tokens", row_tokens),
  NUMBER ("hfu_percent", row_hfu),
  NUMBER ("free_bytes", row_free),
  NUMBER ("longest_tokens", row_longest),
  NUMBER ("bound_mfu_percent", row_bound_mfu),
  NUMBER ("bound_tokens_per_s", row_bound_speed),
  NUMBER ("run_gamma", row_run_gamma),
  NUMBER ("closed_form_at_run_gamma", row_same),
  NUMBER ("closed_form_of_3_passes", row_three),
  NUMBER ("simulated", row_simulated),
  NUMBER ("fits", row_fits),
  NUMBER ("measured_s", row_measured),
  WORDS ("assumptions", row_assumptions),
  WORDS ("reason", row_reason),
  WORDS ("profiles", row_profiles),
  FIELDS_OF_THE_PROGRAM,
  { 0 },
};

void
report_memband_csv (const FigureMemband *self, GString *out)
{
  fields_csv (fields, self->rows->data, self->rows->len, sizeof (MembandRow), out);
}

void
report_memband_json (const FigureMemband *self, GString *out)
{
  struct json_object *root = json_document_new ();

  json_add_text (root, "name", self->name);
  json_object_object_add (
      root, "rows",
      fields_json_list (fields, self->rows->data, self->rows->len, sizeof (MembandRow)));
  json_finish (root, out);
}
