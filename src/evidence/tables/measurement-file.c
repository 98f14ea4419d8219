#include "evidence/tables/measurement-file.h"

#include <stdio.h>
#include <string.h>

#include "base/file/same-file.h"
#include "base/intern.h"
#include "import/log/nccl-log.h"

#define HEAD_BYTES 4096 /* enough to see what a file is */

/*
 * The first bytes of FILE, NUL-terminated; "" where it cannot be read. Gzipped tables are inflated
 * by their reader alone.
 */
static char *
read_head (const char *file)
{
  char  *head = g_malloc0 (HEAD_BYTES + 1);
  FILE  *stream = fopen (file, "rbe");
  size_t n = stream != NULL ? fread (head, 1, HEAD_BYTES, stream) : 0;

  head[n] = '\0';
  g_clear_pointer (&stream, fclose);
  return head;
}

/* The first line of TEXT has the word NAME as a column of a CSV header. */
static gboolean
has_column (const char *text, const char *name)
{
  g_autofree char *line = g_strndup (text, strcspn (text, "\r\n"));
  g_auto (GStrv)   cells = g_strsplit (line, ",", -1);

  for (guint i = 0; cells[i] != NULL; i++)
    {
      g_autofree char *cell =
          g_strndup (cells[i] + (*cells[i] == '"'), strcspn (cells[i] + (*cells[i] == '"'), "\""));

      if (strcmp (g_strstrip (cell), name) == 0)
        return TRUE;
    }
  return FALSE;
}

MeasurementFileKind
measurement_file_kind (const char *file)
{
  g_autofree char *head = read_head (file);
  const char      *start = head;

  if (g_str_has_prefix (head, "\x1F\x8B"))
    return MEASUREMENT_FILE_TABLE;
  if (g_str_has_prefix (start, "\xEF\xBB\xBF"))
    start += 3;
  start += strspn (start, " \t\r\n");
  if (*start == '{')
    return MEASUREMENT_FILE_JSON;
  if (g_str_has_prefix (start, "format,") && has_column (start, "benchmark"))
    return MEASUREMENT_FILE_RESULTS;
  if (has_column (start, "numCycle"))
    return MEASUREMENT_FILE_UNKNOWN;
  if (has_column (start, "collective") || has_column (start, "time_us") || has_column (start, "id"))
    return MEASUREMENT_FILE_TABLE;
  return nccl_log_recognise (file) ? MEASUREMENT_FILE_LOG : MEASUREMENT_FILE_UNKNOWN;
}

static GPtrArray *
refuse_results (const char *file, DiagList *diags)
{
  const SourceMark mark = { .file = intern_text (file), .line = 1 };

  diag_error (diags, &mark, "shardsim calibrate FILE -o PROFILE.yaml reads them",
              "results of shardsim-bench, where measured collectives are expected");
  return NULL;
}

/* What is neither table nor log, and can be read. FALSE: a table's reader says what is wrong. */
static gboolean
refuse_unknown (const char *file, DiagList *diags)
{
  const SourceMark mark = { .file = intern_text (file), .line = 1 };
  g_autofree char *head = read_head (file);
  const char      *item = *head == '[' ? head + 1 + strspn (head + 1, " \t\r\n") : "";
  const gboolean   rccl = *item == '{' || *item == ']' || has_column (head, "numCycle");

  if (*head == '\0' || (!rccl && (has_column (head, "bytes") || has_column (head, "nodes"))))
    return FALSE;
  if (rccl)
    diag_error (diags, &mark, "its text has what is needed",
                "output of rccl-tests -Z, which is not read");
  else
    diag_error (diags, &mark, NULL,
                "neither a table of measured collectives nor a log of nccl-tests");
  return TRUE;
}

GPtrArray *
measurement_file_load (const char *file, const MeasurementContext *context, DiagList *diags)
{
  const BadRows bad_rows = context->measured ? BAD_ROWS_FAIL : BAD_ROWS_EXPLAIN;

  switch (measurement_file_kind (file))
    {
    case MEASUREMENT_FILE_LOG:
      return nccl_log_load (file, context, diags);
    case MEASUREMENT_FILE_JSON:
      return nccl_json_load (file, context, diags);
    case MEASUREMENT_FILE_RESULTS:
      return refuse_results (file, diags);
    case MEASUREMENT_FILE_UNKNOWN:
      return refuse_unknown (file, diags) ? NULL : measurement_table_load (file, bad_rows, diags);
    default:
      return measurement_table_load (file, bad_rows, diags);
    }
}

GPtrArray *
measurement_files_load (char *const *files, const MeasurementContext *context, DiagList *diags)
{
  g_autoptr (GPtrArray) all = measurement_array_new ();
  guint                 errors = diag_list_n_errors (diags);

  for (guint i = 0; files[i] != NULL; i++)
    {
      g_autoptr (GPtrArray) rows = NULL;

      if (file_is_repeated ((const char *const *) files, i))
        diag_error (diags, NULL, NULL, "'%s' is given twice", files[i]);
      else
        rows = measurement_file_load (files[i], context, diags);

      if (rows != NULL)
        g_ptr_array_extend_and_steal (all, g_steal_pointer (&rows));
    }
  return diag_list_n_errors (diags) == errors ? g_steal_pointer (&all) : NULL;
}
