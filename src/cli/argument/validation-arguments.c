#include "cli/argument/validation-arguments.h"

ExitStatus
validation_print (const ValidationArguments *self, const Common *common, const GString *rows,
                  const GString *summary)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (common->format != FORMAT_TEXT)
    g_string_append (out, rows->str);
  else if (self->rows)
    g_string_append_printf (out, "%s\n", rows->str);
  if (common->format == FORMAT_TEXT)
    g_string_append (out, summary->str);
  else if (common->format == FORMAT_CSV)
    stream_say ("%s", summary->str);
  return stream_print (out);
}

ExitStatus
validation_check_any (const Common *common, guint n_rows, guint n_failed, ExitStatus status)
{
  if (status != EXIT_DONE || n_failed < n_rows)
    return status;
  common_say (common, "none of the %u rows could be predicted\n", n_rows);
  return EXIT_RUNTIME;
}

ExitStatus
validation_check_limit (const ValidationArguments *self, const Common *common, const char *kind,
                        guint n, double median)
{
  if (self->limit < 0 || (n > 0 && median <= self->limit))
    return EXIT_DONE;
  if (n == 0)
    common_say (common, "none of the %s could be simulated\n", kind);
  else
    common_say (common, "the median error of the %s is %.1f %%, above %.1f %%\n", kind,
                100 * median, 100 * self->limit);
  return EXIT_NO;
}
