#include "cli/validation-arguments.h"

gboolean
validation_arguments_check (ValidationArguments *self, const Common *common, guint n_files)
{
  g_autofree char *why = NULL;

  self->limit = -1;
  if (common->files[0] == NULL)
    {
      stream_say ("shardsim %s: no file of measurements given\n  see 'shardsim %s --help'\n",
                  common->command, common->command);
      return FALSE;
    }
  if (!common_want_words (common, n_files))
    return FALSE;
  if (self->max_error == NULL
      || quantity_parse (QUANTITY_RATIO, self->max_error, &self->limit, &why))
    return TRUE;
  stream_say ("shardsim %s: --max-error: %s\n", common->command, why);
  return FALSE;
}

void
validation_arguments_clear (ValidationArguments *self)
{
  g_free (self->plot);
  g_free (self->max_error);
}

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
  stream_say ("shardsim %s: none of the %u rows could be predicted\n", common->command, n_rows);
  return EXIT_RUNTIME;
}

ExitStatus
validation_check_limit (const ValidationArguments *self, const Common *common, const char *kind,
                        guint n, double median)
{
  if (self->limit < 0 || (n > 0 && median <= self->limit))
    return EXIT_DONE;
  if (n == 0)
    stream_say ("shardsim %s: none of the %s could be simulated\n", common->command, kind);
  else
    stream_say ("shardsim %s: the median error of the %s is %.1f %%, above %.1f %%\n",
                common->command, kind, 100 * median, 100 * self->limit);
  return EXIT_NO;
}
