#include "cli/help/listing.h"

#include <json-c/json.h>
#include <libsmartcols.h>
#include <stdio.h>

struct _Listing
{
  const char          *name;
  const ListingColumn *columns;
  guint                n_columns;
  GPtrArray           *rows; /* strv */
};

Listing *
listing_new (const char *name, const ListingColumn *columns)
{
  Listing *self = g_new0 (Listing, 1);

  self->name = name;
  self->columns = columns;
  while (columns[self->n_columns].name != NULL)
    self->n_columns++;
  self->rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  return self;
}

void
listing_free (Listing *self)
{
  g_ptr_array_unref (self->rows);
  g_free (self);
}

void
listing_add_row (Listing *self, const char *const *cells, guint n)
{
  char **row = g_new0 (char *, n + 1);

  g_assert (n == self->n_columns);
  for (guint i = 0; i < n; i++)
    row[i] = g_strdup (cells[i] != NULL ? cells[i] : "");
  g_ptr_array_add (self->rows, row);
}

static const char *const *
row_at (const Listing *self, guint i)
{
  return g_ptr_array_index (self->rows, i);
}

/* ---- text ------------------------------------------------------------------------------------ */

static struct libscols_table *
table_new (const Listing *self, guint first)
{
  struct libscols_table *table = scols_new_table ();

  g_assert (table != NULL);
  scols_table_enable_noencoding (table, TRUE);
  for (guint c = first; c < self->n_columns; c++)
    {
      g_autofree char *title = g_ascii_strup (self->columns[c].name, -1);

      scols_table_new_column (table, g_strdelimit (title, "_", ' '), 0,
                              self->columns[c].type == LISTING_NUMBER ? SCOLS_FL_RIGHT : 0);
    }
  return table;
}

void
listing_append_text (const Listing *self, guint first, const char *part, GString *out)
{
  struct libscols_table *table = table_new (self, first);
  char                  *text = NULL;
  guint                  n = 0;

  for (guint i = 0; i < self->rows->len; i++)
    if (part == NULL || g_str_equal (row_at (self, i)[0], part))
      {
        struct libscols_line *line = scols_table_new_line (table, NULL);

        for (guint c = first; c < self->n_columns; c++)
          scols_line_set_data (line, c - first, row_at (self, i)[c]);
        n++;
      }
  if (n > 0 && scols_print_table_to_string (table, &text) == 0)
    {
      g_string_append (out, text);
      if (out->str[out->len - 1] != '\n')
        g_string_append_c (out, '\n');
    }
  free (text);
  scols_unref_table (table);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

static void
append_csv (const Listing *self, GString *out)
{
  g_autofree const char **names = g_new (const char *, self->n_columns);

  for (guint c = 0; c < self->n_columns; c++)
    names[c] = self->columns[c].name;
  csv_append_row (out, names, self->n_columns);
  for (guint i = 0; i < self->rows->len; i++)
    csv_append_row (out, row_at (self, i), self->n_columns);
}

static struct json_object *
cell_json (const ListingColumn *column, const char *cell)
{
  if (column->type == LISTING_TEXT)
    return json_object_new_string (cell);
  return *cell != '\0' ? json_object_new_double_s (g_ascii_strtod (cell, NULL), cell) : NULL;
}

static void
append_json (const Listing *self, GString *out)
{
  struct json_object *root = json_object_new_object (), *rows = json_object_new_array ();

  json_object_object_add (root, "schema", json_object_new_int (1));
  for (guint i = 0; i < self->rows->len; i++)
    {
      struct json_object *row = json_object_new_object ();

      for (guint c = 0; c < self->n_columns; c++)
        json_object_object_add (row, self->columns[c].name,
                                cell_json (&self->columns[c], row_at (self, i)[c]));
      json_object_array_add (rows, row);
    }
  json_object_object_add (root, self->name, rows);
  g_string_append (out, json_object_to_json_string_ext (
                            root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
  g_string_append_c (out, '\n');
  json_object_put (root);
}

ExitStatus
listing_print (const Listing *self, DocumentFormat format, const GString *text)
{
  g_autoptr (GString) out = g_string_new (NULL);

  switch (format)
    {
    case FORMAT_CSV:
      append_csv (self, out);
      break;
    case FORMAT_JSON:
      append_json (self, out);
      break;
    default:
      if (text != NULL)
        g_string_append_len (out, text->str, (gssize) text->len);
      else
        listing_append_text (self, 0, NULL, out);
      break;
    }
  return stream_print (out);
}
