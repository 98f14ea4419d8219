/* Tables for a terminal, over libsmartcols. */
#pragma once

#include <libsmartcols.h>

#include <glib.h>

typedef struct
{
  const char *title;
  gboolean    right;
} TerminalColumn;

struct libscols_table *terminal_table_new (const TerminalColumn *columns, guint n);

/* Adds a line of CELLS, a strv that may be shorter than the columns, and frees the cells. */
void terminal_table_take (struct libscols_table *table, char **cells);

/* Prints and frees TABLE. */
void terminal_table_finish (struct libscols_table *table, GString *out);

/* "12.3 %", with SIGN "+12.3 %". Newly allocated. */
char *terminal_percent (double ratio, gboolean sign);
