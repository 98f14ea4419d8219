/*
 * The CSV reader over a file of arbitrary bytes: no header or at least one column; each row has all fields, and what
 * csv_append_row writes of the rows reads back the same.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/csv.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* Path of an unnamed file of these bytes that lives in memory; *FD to be closed. */
static char *
memory_file (const void *data, gsize size, int *fd)
{
  *fd = memfd_create ("fuzz", 0);
  g_assert (*fd >= 0);
  g_assert (write (*fd, data, size) == (gssize) size);
  return g_strdup_printf ("/proc/self/fd/%d", *fd);
}

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
  int                  fd;
  g_autofree char     *file = memory_file (data, size, &fd);
  g_autoptr (GString)  first = rewrite (file, diags);

  close (fd);
  /* A byte order mark that blank lines precede is part of a name, and would be none at the start of a file. */
  if (first != NULL && !g_str_has_prefix (first->str, "\357\273\277"))
    {
      g_autofree char    *again = memory_file (first->str, first->len, &fd);
      g_autoptr (GString) second = rewrite (again, none);

      close (fd);
      g_assert (!diag_list_has_errors (none));
      g_assert (second != NULL && g_string_equal (first, second));
    }
  return 0;
}
