#include "cli/output/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config/printable.h"
#include "base/file/file-roles.h"
#include "report/document/page.h"
#include "report/plot/plot.h"

static gboolean
has_colour (int fd)
{
  const char *no_color = g_getenv ("NO_COLOR");

  return (no_color == NULL || *no_color == '\0') && isatty (fd)
         && g_strcmp0 (g_getenv ("TERM"), "dumb") != 0;
}

void
stream_say (const char *format, ...)
{
  g_autofree char *text = NULL, *printable = NULL;
  va_list          arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  printable = printable_text (text, strlen (text), has_colour (STDERR_FILENO));
  fputs (printable, stderr);
}

ExitStatus
stream_worse (ExitStatus a, ExitStatus b)
{
  return a > b ? a : b;
}

ExitStatus
stream_report_diags (const DiagList *diags)
{
  g_autofree char *text = diag_list_format (diags, has_colour (STDERR_FILENO));

  fputs (text, stderr);
  return diag_list_has_errors (diags) ? EXIT_USAGE : EXIT_DONE;
}

ExitStatus
stream_report_error (const GError *error)
{
  stream_say ("shardsim: %s\n", error->message);
  return EXIT_RUNTIME;
}

/* Writes N bytes to stdout; 0 or an errno. */
static int
write_result (const char *bytes, gsize n)
{
  while (n > 0)
    {
      gssize written = write (STDOUT_FILENO, bytes, n);

      if (written < 0 && errno != EINTR)
        return errno;
      bytes += MAX (written, 0);
      n -= (gsize) MAX (written, 0);
    }
  return 0;
}

/* Who closes the pipe, as `head` does, has seen enough: that is no news. */
static ExitStatus
report_stdout (int code)
{
  if (code != 0 && code != EPIPE)
    stream_say ("shardsim: cannot write the result: %s\n", g_strerror (code));
  return code == 0 ? EXIT_DONE : EXIT_RUNTIME;
}

ExitStatus
stream_print (const GString *out)
{
  g_autofree char *text = printable_text (out->str, out->len, has_colour (STDOUT_FILENO));

  return report_stdout (write_result (text, strlen (text)));
}

ExitStatus
stream_close_stdout (ExitStatus status)
{
  ExitStatus flushed;

  errno = 0;
  flushed = report_stdout (fflush (stdout) == 0 && !ferror (stdout) ? 0 : errno != 0 ? errno : EIO);
  return flushed != EXIT_DONE ? flushed : status;
}

/*
 * A file that is opened later must not become standard output. Each is opened the wrong way round,
 * so that whoever writes the result to nowhere hears of it.
 */
void
stream_open_all (void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl (fd, F_GETFD) < 0 && errno == EBADF
        && open ("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
      abort ();
}

/* ---- files beside the result ---------------------------------------------------------------- */

ExitStatus
stream_note_output (ExitStatus status, gboolean written, const GError *error)
{
  if (written)
    return status;
  stream_report_error (error);
  return g_error_matches (error, FILE_ROLES_ERROR, FILE_ROLES_REFUSED) ? EXIT_USAGE : EXIT_RUNTIME;
}

static ExitStatus
report_check (const char *option, gboolean good, GError **error)
{
  if (!good)
    g_prefix_error (error, "%s: ", option);
  return stream_note_output (EXIT_DONE, good, *error);
}

ExitStatus
stream_check_output (const char *option, const char *path, OutputKind kind)
{
  g_autoptr (GError) error = NULL;

  return report_check (option, path == NULL || output_check (path, kind, &error), &error);
}

ExitStatus
stream_check_file (const char *option, const char *path)
{
  return stream_check_output (option, path, OUTPUT_FILE);
}

ExitStatus
stream_check_anywhere (const char *option, const char *path)
{
  return stream_check_output (option, path, OUTPUT_FILE_ANYWHERE);
}

ExitStatus
stream_check_folder (const char *option, const char *path)
{
  return stream_check_output (option, path, OUTPUT_FOLDER);
}

ExitStatus
stream_check_pictures (const char *option, const char *path)
{
  g_autoptr (GError) error = NULL;

  return report_check (option, path == NULL || report_plot_check (path, &error), &error);
}

ExitStatus
stream_check_page (const char *option, const char *path)
{
  g_autoptr (GError) error = NULL;

  return report_check (option, path == NULL || report_page_check (path, &error), &error);
}
