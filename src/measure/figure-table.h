/* Tables of figures that follow from rules: a line is a struct, a column a member of it. */
#pragma once

#include "base/csv.h"

typedef enum
{
  FIGURE_WORD,     /* const char * */
  FIGURE_NUMBER,   /* double */
  FIGURE_OPTIONAL, /* double; NAN where it is empty */
  FIGURE_WHOLE,    /* guint */
} FigureColumnType;

typedef struct
{
  const char      *name;
  gsize            offset; /* of the member */
  FigureColumnType type;
  double           min, max; /* of a number */
} FigureColumn;

/* What else is to be said of ROW, the line at which READER is; SELF is the caller's. */
typedef void (*FigureCheck) (gpointer self, gpointer row, const CsvReader *reader, DiagList *diags);

/*
 * Appends the lines of FILE, which has just the N COLUMNS, to ROWS, an array of cleared structs;
 * words go into STRINGS. CHECK sees each line before it is appended, if its numbers are good. FALSE
 * after diagnostics.
 */
gboolean figure_table_read (const char *file, const FigureColumn *columns, guint n,
                            FigureCheck check, gpointer self, GArray *rows, GStringChunk *strings,
                            DiagList *diags);

/* The place of the field of COLUMN, which is there. */
SourceMark figure_table_mark (const CsvReader *reader, const char *column);
