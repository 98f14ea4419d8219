#include "base/config/csv-values.h"

#include <math.h>

#include "base/config/units.h"

gint
csv_reader_require (const CsvReader *reader, const char *name, const char *hint, DiagList *diags)
{
  const gint place = csv_reader_find (reader, name);

  if (place < 0)
    csv_reader_missing (reader, name, hint, diags);
  return place;
}

double
csv_reader_number (const CsvReader *reader, gint place, double least, double most, gboolean whole,
                   DiagList *diags)
{
  const char *text = csv_reader_field (reader, (guint) place);
  SourceMark  mark = csv_reader_mark (reader, (guint) place);
  char       *end;
  double      value = g_ascii_strtod (text, &end);

  if (end != text && *end == '\0' && number_is_usable (value) && value >= least && value <= most
      && (!whole || value == floor (value)))
    return value;
  diag_error (diags, &mark, NULL, "expected a %snumber from %g to %g in column '%s', got '%s'",
              whole ? "whole " : "", least, most, csv_reader_column (reader, (guint) place), text);
  return NAN;
}
