/* Tables of figures: a line is a struct, a column a member of it. */
#pragma once

#include "base/config/csv.h"

typedef enum
{
  FIGURE_WORD,     /* const char *; with WORDS one of them */
  FIGURE_METRIC,   /* const char *: a name of figure-metric.h */
  FIGURE_NUMBER,   /* double, from min to max */
  FIGURE_OPTIONAL, /* the same; NAN where it is empty */
  FIGURE_WHOLE,    /* guint, from min to max */
  FIGURE_ABOVE_0,  /* double */
  FIGURE_FROM_0,   /* double; 0 where it is empty */
  FIGURE_GAIN,     /* double above 0; NAN where it is empty */
} FigureColumnType;

typedef struct
{
  const char        *name;
  gsize              offset; /* of the member */
  FigureColumnType   type;
  double             min, max;
  double             scale; /* of a double: the member's unit over the column's; 0: 1 */
  const char *const *words;
} FigureColumn;

/* What else is to be said of LINE, at which READER is; SELF is the caller's. */
typedef void (*FigureCheck) (gpointer self, gpointer line, const CsvReader *reader,
                             DiagList *diags);

typedef struct
{
  const FigureColumn *columns;
  guint n, n_optional; /* the last so many of the N may be missing: their cells are empty */
  gsize size;          /* of a line's struct */
  GDestroyNotify clear;
  FigureCheck    check;
  gboolean       open; /* columns that are none of these are of no matter */
  /*
   * Where a word of the column LISTS is the name of a column of numbers, the cell of that is a
   * list: the line is there once for each, as the double at LISTED has it. NULL: no lists.
   */
  const char *lists;
  gsize       listed;
} FigureTable;

/*
 * Appends the lines of FILE to LINES, an array of TABLE's structs; words go into STRINGS. CHECK
 * sees each line before it is appended, if its cells are good. FALSE after diagnostics.
 */
gboolean figure_table_read (const char *file, const FigureTable *table, gpointer self,
                            GArray *lines, GStringChunk *strings, DiagList *diags);

/* An empty array for lines of TABLE. */
GArray *figure_table_lines (const FigureTable *table);

/* The place of the field of COLUMN; nowhere, if there is no such column. */
SourceMark figure_table_mark (const CsvReader *reader, const char *column);

/* What READER has in COLUMN; "", if there is no such column. */
const char *figure_table_cell (const CsvReader *reader, const char *column);

/* Half of the last digit of NUMBER: "0.25" is any number from 0.245 to 0.255. */
double figure_rounding (const char *number);
