#include "report/document/terminal-private.h"

#include "base/config/printable.h"

struct libscols_table *
terminal_table_new (const TerminalColumn *columns, guint n)
{
  struct libscols_table *table = scols_new_table ();

  g_assert (table != NULL);
  scols_table_enable_noencoding (table, TRUE);
  for (guint i = 0; i < n; i++)
    scols_table_new_column (table, columns[i].title, 0, columns[i].right ? SCOLS_FL_RIGHT : 0);
  return table;
}

void
terminal_table_take (struct libscols_table *table, char **cells)
{
  struct libscols_line *line = scols_table_new_line (table, NULL);

  for (guint i = 0; cells[i] != NULL; i++)
    {
      g_autofree char *cell = printable_name (cells[i]);

      scols_line_set_data (line, i, cell);
      g_clear_pointer (&cells[i], g_free);
    }
}

void
terminal_table_finish (struct libscols_table *table, GString *out)
{
  char *text = NULL;

  if (scols_print_table_to_string (table, &text) == 0)
    g_string_append (out, text);
  if (out->len > 0 && out->str[out->len - 1] != '\n')
    g_string_append_c (out, '\n');
  free (text);
  scols_unref_table (table);
}

char *
terminal_percent (double ratio, gboolean sign)
{
  return g_strdup_printf (sign ? "%+.1f %%" : "%.1f %%", 100 * ratio);
}
