/*
 * The CSV reader over a file of arbitrary bytes: no header or at least one column; each row has
 * all fields, and what csv_append_row writes of the rows reads back the same.
 */
#include <string.h>

#include "base/config/csv.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* Reads all rows of FILE and returns them as csv_append_row writes them; NULL without a header. */
static GString *
rewrite (const char *file, DiagList *diags)
{
  g_autoptr (CsvReader)   reader = csv_reader_open (file, diags);
  g_autofree const char **fields = NULL;
  guint                   n;
  GString                *out;

  g_assert (reader != NULL || diag_list_has_errors (diags));
  if (reader == NULL)
    return NULL;
  n = csv_reader_n_columns (reader);
  g_assert (n > 0);
  fields = g_new0 (const char *, n);
  out = g_string_new (NULL);
  for (guint i = 0; i < n; i++)
    fields[i] = csv_reader_column (reader, i);
  csv_append_row (out, fields, n);
  while (csv_reader_next (reader, diags))
    {
      for (guint i = 0; i < n; i++)
        {
          SourceMark mark = csv_reader_mark (reader, i);

          g_assert (mark.line > 0);
          fields[i] = csv_reader_field (reader, i);
        }
      csv_append_row (out, fields, n);
    }
  return out;
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (DiagList) none = diag_list_new ();
  g_autofree char     *file = fuzz_file ("first.csv", data, size);
  g_autoptr (GString)  first = NULL;

  fuzz_begin ();
  first = rewrite (file, diags);
  /*
   * A byte order mark that blank lines precede is part of a name, and would be none at the start
   * of a file.
   */
  if (first != NULL && !g_str_has_prefix (first->str, "\357\273\277"))
    {
      g_autofree char    *again = fuzz_file ("second.csv", first->str, first->len);
      g_autoptr (GString) second = rewrite (again, none);

      g_assert (!diag_list_has_errors (none));
      g_assert (second != NULL && g_string_equal (first, second));
    }
  return 0;
}
