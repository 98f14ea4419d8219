/*
 * Tables of a page: rows of HTML, and behind the first hundreds rows of data, which are a few bytes
 * where they repeat the row before.
 */
#include <math.h>
#include <string.h>

#include "base/config/printable.h"
#include "report/document/html-parts-private.h"

struct _HtmlTable
{
  GString            *text, *rest; /* the rows that the page has; those that its script draws */
  guint               n_columns, at, n_rows; /* cells of the row so far */
  HtmlTone            tone;                  /* of the row */
  char              **above;                 /* texts of the row before, in `rest` */
  struct json_object *row;                   /* of `rest` */
};

HtmlTable *
html_table_new (const HtmlColumn *columns, guint n)
{
  HtmlTable *self = g_new0 (HtmlTable, 1);

  self->n_columns = n;
  self->rest = g_string_new (NULL);
  self->above = g_new0 (char *, n + 1);
  self->text = g_string_new ("<div class=\"scroll\"><table>\n<thead><tr>");
  for (guint i = 0; i < n; i++)
    {
      g_string_append_printf (self->text, "<th scope=\"col\"%s>",
                              columns[i].right ? " class=\"right\"" : "");
      html_append_escaped (self->text, columns[i].title);
      g_string_append (self->text, "</th>");
    }
  g_string_append (self->text, "</tr></thead>\n<tbody>\n");
  return self;
}

void
html_table_mark_row (HtmlTable *self, HtmlTone tone)
{
  self->tone = tone;
}

static void
append_cell (HtmlTable *self, const char *attributes, const char *text)
{
  if (self->at == 0)
    g_string_append_printf (self->text, "<tr class=\"%s\">", html_tone_names[self->tone]);
  g_string_append_printf (self->text, "<td%s>", attributes);
  html_append_escaped (self->text, text);
  g_string_append (self->text, "</td>");
}

/* The text of a cell as data; with VALUE where that does not follow from it. 0: as above. */
static struct json_object *
cell_json (const char *text, const double *value)
{
  struct json_object *cell = json_object_new_string (text), *pair;
  char                digits[G_ASCII_DTOSTR_BUF_SIZE];

  if (value == NULL)
    return cell;
  g_ascii_formatd (digits, sizeof digits, "%.9g", *value);
  pair = json_object_new_array ();
  json_object_array_add (pair, cell);
  json_object_array_add (pair,
                         isfinite (*value) ? json_object_new_double_s (*value, digits) : NULL);
  return pair;
}

/* A cell of a row that is data. */
static void
keep_cell (HtmlTable *self, const char *text, const double *value)
{
  g_autofree char *plain = printable_text (text, strlen (text), FALSE);

  if (self->at == 0)
    {
      self->row = json_object_new_array ();
      json_object_array_add (self->row, json_object_new_int ((gint32) self->tone));
    }
  if (g_strcmp0 (self->above[self->at], plain) == 0)
    json_object_array_add (self->row, json_object_new_int (0));
  else
    json_object_array_add (self->row, cell_json (plain, value));
  g_free (self->above[self->at]);
  self->above[self->at] = g_steal_pointer (&plain);
}

static void
end_row (HtmlTable *self)
{
  if (self->row != NULL)
    {
      g_string_append (self->rest, self->rest->len > 0 ? ",\n" : "");
      html_append_json (self->rest, self->row);
      g_clear_pointer (&self->row, json_object_put);
    }
  else
    g_string_append (self->text, "</tr>\n");
  self->n_rows++;
  self->at = 0;
  self->tone = HTML_PLAIN;
}

/*
 * ATTRIBUTES begin with a space. VALUE: what it sorts by where it is no text, and NULL where the
 * text says that itself.
 */
static void
add_cell (HtmlTable *self, const char *attributes, const char *text, const double *value)
{
  if (self->n_rows >= HTML_MAX_ROWS)
    keep_cell (self, text, value);
  else
    append_cell (self, attributes, text);
  if (++self->at == self->n_columns)
    end_row (self);
}
void
html_table_add_text (HtmlTable *self, const char *text)
{
  add_cell (self, "", text, NULL);
}

/* PLAIN: TEXT is VALUE and no more. */
static void
add_number (HtmlTable *self, const char *text, double value, gboolean plain)
{
  g_autofree char *number = number_format_exact (value);
  g_autofree char *attributes =
      g_strdup_printf (" class=\"right\" data-value=\"%s\"", isfinite (value) ? number : "");

  add_cell (self, attributes, text, plain ? NULL : &value);
}

void
html_table_add_number (HtmlTable *self, const char *text, double value)
{
  add_number (self, text, value, FALSE);
}

void
html_table_add_either (HtmlTable *self, const char *text)
{
  char  *end;
  double value = g_ascii_strtod (text, &end);

  if (end > text && *end == '\0')
    add_number (self, text, value, TRUE);
  else
    html_table_add_text (self, text);
}

void
html_table_finish (HtmlTable *self, GString *out)
{
  g_assert (self->at == 0);
  g_string_append (out, self->text->str);
  g_string_append (out, "</tbody>\n</table></div>\n");
  if (self->rest->len > 0)
    g_string_append_printf (out,
                            "<div class=\"rest\"><script type=\"application/json\">[\n%s\n]"
                            "</script><noscript>%u more rows are drawn by the page's own script."
                            "</noscript></div>\n",
                            self->rest->str, self->n_rows - HTML_MAX_ROWS);
  g_string_free (self->text, TRUE);
  g_string_free (self->rest, TRUE);
  for (guint i = 0; i < self->n_columns; i++)
    g_free (self->above[i]);
  g_free (self->above);
  g_free (self);
}
