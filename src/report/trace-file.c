/* The file of a trace: complete or untouched. */
#include "report/trace-private.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as Linux */

static gboolean
set_error (const char *file, int code, GError **error)
{
  g_set_error (error, G_IO_ERROR, (gint) g_io_error_from_errno (code),
               "cannot write the trace '%s': %s", file, g_strerror (code));
  return FALSE;
}

/* The descriptor of this process's output that INFO describes, or -1. */
static int
own_output (const GStatBuf *info)
{
  struct stat own;

  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
    if (fstat (fd, &own) == 0 && own.st_dev == info->st_dev && own.st_ino == info->st_ino)
      return fd;
  return -1;
}

/* Writes and closes; 0 or the error's number. Takes FD. */
static int
write_to (int fd, const Replay *const *replays, guint n)
{
  FILE *out = fdopen (fd, "w");
  int   code = 0;

  g_assert (out != NULL);
  errno = 0;
  trace_write_document (out, replays, n);
  if (fflush (out) != 0 || ferror (out))
    code = errno != 0 ? errno : EIO;
  if (fclose (out) != 0 && code == 0)
    code = errno;
  return code;
}

/*
 * A device, a pipe or an output of this process: FILE itself is written, not replaced. An output's
 * own descriptor knows how far it is written.
 */
static int
write_in_place (const char *file, const GStatBuf *info, const Replay *const *replays, guint n)
{
  int output = own_output (info);
  int fd = output >= 0 ? fcntl (output, F_DUPFD_CLOEXEC, 0)
                       : g_open (file, O_WRONLY | O_CLOEXEC | O_NOCTTY, 0);

  return fd < 0 ? errno : write_to (fd, replays, n);
}

static int
write_beside (const char *file, const Replay *const *replays, guint n)
{
  g_autofree char *temporary = g_strconcat (file, ".XXXXXX", NULL);
  int              fd = g_mkstemp_full (temporary, O_WRONLY | O_CLOEXEC, 0666), code;

  if (fd < 0)
    return errno;
  code = write_to (fd, replays, n);
  if (code == 0 && g_rename (temporary, file) != 0)
    code = errno;
  if (code != 0)
    g_unlink (temporary);
  return code;
}

/* Where the links at the end of FILE lead, there or not; NULL with errno set when they go round. */
static char *
follow_links (const char *file)
{
  char *path = g_strdup (file);

  for (guint i = 0; i < MAX_LINKS; i++)
    {
      g_autofree char *target = g_file_read_link (path, NULL);
      g_autofree char *folder = g_path_get_dirname (path);

      if (target == NULL)
        return path;
      g_free (path);
      path = g_path_is_absolute (target) ? g_steal_pointer (&target)
                                         : g_build_filename (folder, target, NULL);
    }
  g_free (path);
  errno = ELOOP;
  return NULL;
}

gboolean
report_trace_write (const Replay *const *replays, guint n, const char *file, GError **error)
{
  g_autofree char *target = NULL;
  GStatBuf         info;
  int              code;

  if (g_stat (file, &info) == 0 && (!S_ISREG (info.st_mode) || own_output (&info) >= 0))
    code = S_ISDIR (info.st_mode) ? EISDIR : write_in_place (file, &info, replays, n);
  else
    {
      target = follow_links (file);
      code = target != NULL ? write_beside (target, replays, n) : errno;
    }
  return code == 0 || set_error (file, code, error);
}
