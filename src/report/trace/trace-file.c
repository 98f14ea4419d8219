/* The file of a trace: complete or untouched. */
#include "report/trace/trace-private.h"

gboolean
report_trace_write (const Replay *const *replays, guint n, const char *file, GError **error)
{
  g_autoptr (OutputFile) output = output_file_open (file, error);

  if (output == NULL)
    return FALSE;
  trace_write_document (output_file_stream (output), replays, n);
  return output_files_publish (&output, 1, error);
}
