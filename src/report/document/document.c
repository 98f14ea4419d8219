#include "report/document/document.h"

#include <math.h>

#include "base/config/csv.h"
#include "base/config/printable.h"
#include "base/config/units.h"
#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/document/terminal-private.h"

#define FACT_WIDTH 26

struct _Document
{
  DocumentFormat      format;
  GString            *out;  /* of all but a page */
  struct json_object *root; /* of JSON */
  HtmlPage           *page;
  const PagePictures *pictures;
  gsize               table_end; /* of a text: where its last table ends */
};

DocumentFormat
document_format (const Document *self)
{
  return self->format;
}

HtmlPage *
document_page (const Document *self)
{
  return self->page;
}

struct json_object *
document_json (const Document *self)
{
  return self->root;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* FORMAT as a line of text; newly allocated, NULL where nobody reads it. */
#define TEXT_OF_FORMAT(text)                                      \
  g_autofree char *text = NULL;                                   \
  if (self->format == FORMAT_TEXT || self->format == FORMAT_PAGE) \
    {                                                             \
      va_list arguments;                                          \
                                                                  \
      va_start (arguments, format);                               \
      text = g_strdup_vprintf (format, arguments);                \
      va_end (arguments);                                         \
    }                                                             \
  if (text == NULL)                                               \
  return

void
document_title (Document *self, const char *format, ...)
{
  TEXT_OF_FORMAT (text);
  if (self->page != NULL)
    html_page_set_title (self->page, text);
  else
    g_string_append_printf (self->out, "%s%s\n", self->out->len > 0 ? "\n" : "", text);
}

void
document_verdict (Document *self, HtmlTone tone, const char *format, ...)
{
  TEXT_OF_FORMAT (text);
  if (self->page != NULL)
    html_page_add_verdict (self->page, tone, text);
  else if (tone == HTML_BAD)
    g_string_append_printf (self->out, PRINTABLE_ALERT "%s" PRINTABLE_PLAIN "\n", text);
  else
    g_string_append_printf (self->out, "%s\n", text);
}

void
document_section (Document *self, const char *title)
{
  if (self->page != NULL)
    html_page_add_section (self->page, title);
  else if (self->format == FORMAT_TEXT)
    g_string_append_printf (self->out, "%s%s\n", self->out->len > 0 ? "\n" : "", title);
}

void
document_subheading (Document *self, const char *title)
{
  if (self->page != NULL)
    html_page_add_subheading (self->page, title);
  else
    document_section (self, title);
}

void
document_line (Document *self, const char *format, ...)
{
  TEXT_OF_FORMAT (text);
  if (self->page != NULL)
    html_page_add_text (self->page, "%s", text);
  else
    g_string_append_printf (self->out, "%s\n", text);
}

void
document_lines (Document *self, const char *text)
{
  g_autofree char *lines = g_strchomp (g_strdup (text));

  if (*lines == '\0')
    return;
  if (self->page != NULL)
    html_page_add_lines (self->page, lines);
  else if (self->format == FORMAT_TEXT)
    g_string_append_printf (self->out, "%s\n", lines);
}

void
document_copyable (Document *self, const char *text)
{
  if (self->page != NULL)
    html_page_add_copyable (self->page, text);
  else if (self->format == FORMAT_TEXT)
    g_string_append_printf (self->out, "\n  %s\n", text);
}

static void
add_fact (Document *self, const char *class, const char *name, char *value, const char *note)
{
  g_autofree char *owned = value;

  if (self->page != NULL)
    html_page_add_fact (self->page, class, name, owned, note);
  else if (self->format == FORMAT_TEXT)
    g_string_append_printf (self->out, "  %-*s %s%s%s\n", FACT_WIDTH, name, owned,
                            note != NULL ? ", " : "", note != NULL ? note : "");
}

void
document_fact (Document *self, const char *name, char *value, const char *note)
{
  add_fact (self, "facts", name, value, note);
}

void
document_tile (Document *self, const char *name, char *value, const char *note)
{
  add_fact (self, "tiles", name, value, note);
}

static gboolean
is_worth_showing (const Column *column, gconstpointer row)
{
  return column_has (column, row) && (column_is_text (column) || column_number (column, row) != 0);
}

void
document_facts (Document *self, const Column *columns, gconstpointer row)
{
  for (const Column *column = columns; column->kind != COLUMN_END; column++)
    if (column->title != NULL && is_worth_showing (column, row))
      document_fact (self, column->title, column_show (column, row), NULL);
}

void
document_picture (Document *self, const char *name)
{
  if (self->page != NULL)
    page_add_picture (self->page, self->pictures, name);
}

void
document_begin_fold (Document *self, const char *summary)
{
  if (self->page != NULL)
    html_page_begin_fold (self->page, summary);
  else
    document_section (self, summary);
}

void
document_end_fold (Document *self)
{
  if (self->page != NULL)
    html_page_end_fold (self->page);
}

char *
document_seconds (double seconds)
{
  return quantity_format (QUANTITY_TIME, seconds, 4);
}

char *
document_bytes (double bytes)
{
  return quantity_format (QUANTITY_BYTES, bytes, 4);
}

char *
document_share (double part, double whole)
{
  return whole > 0 ? g_strdup_printf ("%.1f %%", 100 * part / whole) : g_strdup ("");
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* A column that is shown, and the rows that it is over. */
typedef struct
{
  const Column *column;
  const Rows   *rows;
} Shown;

static gboolean
any_is_worth_showing (const Column *column, const Rows *rows)
{
  for (guint i = 0; i < rows->n; i++)
    if (is_worth_showing (column, rows_at (rows, i)))
      return TRUE;
  return FALSE;
}

static void
add_shown (GArray *shown, const Column *column, const Rows *rows)
{
  const Shown one = { column, rows };

  if (!(column->flags & COLUMN_IF_ANY) || any_is_worth_showing (column, rows))
    g_array_append_val (shown, one);
}

/* Of Shown: newly allocated. */
static GArray *
shown_of (const TableBlock *blocks, guint n_blocks)
{
  GArray *shown = g_array_new (FALSE, FALSE, sizeof (Shown));

  for (const TableBlock *block = blocks; block < blocks + n_blocks; block++)
    if (block->keys != NULL)
      for (guint k = 0; block->keys[k] != NULL; k++)
        add_shown (shown, column_find (block->columns, block->keys[k]), &block->rows);
    else
      for (const Column *column = block->columns; column->kind != COLUMN_END; column++)
        if (column->title != NULL)
          add_shown (shown, column, &block->rows);
  return shown;
}

static void
append_terminal (const GArray *shown, guint n_rows, GString *out)
{
  struct libscols_table *table = terminal_table_new (NULL, 0);

  for (guint c = 0; c < shown->len; c++)
    {
      const Column    *column = g_array_index (shown, Shown, c).column;
      g_autofree char *capitals = g_ascii_strup (column->title, -1);

      scols_table_new_column (table, capitals, 0, column_is_text (column) ? 0 : SCOLS_FL_RIGHT);
    }
  for (guint i = 0; i < n_rows; i++)
    {
      g_autofree char **cells = g_new0 (char *, shown->len + 1);

      for (guint c = 0; c < shown->len; c++)
        {
          const Shown *one = &g_array_index (shown, Shown, c);

          cells[c] = column_show (one->column, rows_at (one->rows, i));
        }
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

static HtmlTable *
page_table (const GArray *shown, guint n_rows, const HtmlTone *tones)
{
  g_autofree HtmlColumn *titles = g_new (HtmlColumn, shown->len);
  HtmlTable             *table;

  for (guint c = 0; c < shown->len; c++)
    {
      const Column *column = g_array_index (shown, Shown, c).column;

      titles[c] = (HtmlColumn){ column->title, !column_is_text (column) };
    }
  table = html_table_new (titles, shown->len);
  for (guint i = 0; i < n_rows; i++)
    {
      html_table_mark_row (table, tones != NULL ? tones[i] : HTML_PLAIN);
      for (guint c = 0; c < shown->len; c++)
        {
          const Shown     *one = &g_array_index (shown, Shown, c);
          gconstpointer    row = rows_at (one->rows, i);
          g_autofree char *text = column_show (one->column, row);

          if (column_is_text (one->column))
            html_table_add_either (table, text);
          else
            html_table_add_number (table, text, column_number (one->column, row));
        }
    }
  return table;
}

void
document_blocks (Document *self, const TableBlock *blocks, guint n_blocks, const HtmlTone *tones)
{
  g_autoptr (GArray) shown = NULL;
  const guint        n_rows = blocks[0].rows.n;

  if ((self->format != FORMAT_TEXT && self->format != FORMAT_PAGE) || n_rows == 0)
    return;
  shown = shown_of (blocks, n_blocks);
  if (self->page != NULL)
    html_page_take_table (self->page, page_table (shown, n_rows, tones));
  else
    {
      if (self->out->len > 0 && self->out->len == self->table_end)
        g_string_append_c (self->out, '\n'); /* tables stand apart */
      append_terminal (shown, n_rows, self->out);
      self->table_end = self->out->len;
    }
}

void
document_table (Document *self, const Column *columns, Rows rows)
{
  const TableBlock block = { columns, rows, NULL };

  document_blocks (self, &block, 1, NULL);
}

/* ---- results --------------------------------------------------------------------------------- */

static struct json_object *
value_of (const Column *column, gconstpointer row)
{
  double number;

  if (column_is_text (column))
    {
      const char *text = column_text (column, row);

      return text != NULL                  ? json_object_new_string (text)
             : column->kind == COLUMN_TEXT ? json_object_new_string ("")
                                           : NULL;
    }
  number = column_number (column, row);
  if (!isfinite (number))
    return NULL;
  return column->kind == COLUMN_BOOL    ? json_object_new_boolean (number != 0)
         : column->kind == COLUMN_COUNT ? json_object_new_uint64 ((guint64) number)
                                        : json_number (number);
}

void
column_add_keys (const Column *columns, gconstpointer row, struct json_object *object)
{
  for (const Column *column = columns; column->kind != COLUMN_END; column++)
    if (column->key != NULL && !(column->flags & COLUMN_CSV_ONLY)
        && (!(column->flags & COLUMN_LEFT_OUT) || column_has (column, row)))
      json_object_object_add (object, column->key, value_of (column, row));
}

struct json_object *
column_object (const Column *columns, gconstpointer row)
{
  struct json_object *object = json_object_new_object ();

  column_add_keys (columns, row, object);
  return object;
}

struct json_object *
column_list (const Column *columns, Rows rows)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < rows.n; i++)
    json_object_array_add (list, column_object (columns, rows_at (&rows, i)));
  return list;
}

void
document_results (Document *self, const char *key, const Column *columns, Rows rows)
{
  g_autoptr (GString) csv = g_string_new (NULL);

  if (self->format == FORMAT_CSV)
    columns_csv (columns, rows, self->out);
  if (self->root != NULL && key != NULL)
    json_object_object_add (self->root, key, column_list (columns, rows));
  if (self->page == NULL)
    return;
  columns_csv (columns, rows, csv);
  html_page_add_section (self->page, "All results");
  html_page_begin_fold (self->page, "Every column of --format csv");
  html_page_add_csv (self->page, csv->str);
  html_page_end_fold (self->page);
}

/* ---- rendering ------------------------------------------------------------------------------- */

void
report_answer (const PageKind *kind, gconstpointer answer, DocumentFormat format, GString *out)
{
  Document document = { .format = format, .out = out };

  if (format == FORMAT_JSON)
    document.root = json_document_new ();
  kind->describe (&document, answer);
  if (format == FORMAT_JSON)
    json_finish (document.root, out);
}

void
page_describe (const PageKind *kind, gconstpointer answer, HtmlPage *page,
               const PagePictures *pictures)
{
  Document document = { .format = FORMAT_PAGE, .page = page, .pictures = pictures };

  kind->describe (&document, answer);
}
