#include "base/file/output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/file-roles.h"
#include "base/file/same-file.h"
#include "base/file/temporary.h"

struct _OutputFile
{
  char *path;   /* as given, for messages */
  char *target; /* where its links lead; NULL when PATH itself is written */
  char *draft;  /* the temporary file; NULL without one, and when it has its name */
  FILE *stream; /* NULL once it is closed */
};

static gboolean
fail (GError **error, const char *path, int code)
{
  g_set_error (error, G_IO_ERROR, (gint) g_io_error_from_errno (code), "cannot write '%s': %s",
               path, g_strerror (code));
  return FALSE;
}

/* ---- where a name leads ---------------------------------------------------------------------- */

/* Whether PATH is written as it is; INFO is filled then. */
static gboolean
is_in_place (const char *path, GStatBuf *info)
{
  return g_stat (path, info) == 0 && (!S_ISREG (info->st_mode) || file_own_output (info) >= 0);
}

/* ---- before the work ------------------------------------------------------------------------- */

static gboolean G_GNUC_PRINTF (3, 4)
    refuse (GError **error, const char *path, const char *format, ...)
{
  g_autofree char *why = NULL;
  va_list          arguments;

  va_start (arguments, format);
  why = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "cannot write '%s': %s", path, why);
  return FALSE;
}

/* FOLDER is there and takes files. */
static gboolean
check_folder (const char *path, const char *folder, GError **error)
{
  if (!g_file_test (folder, G_FILE_TEST_IS_DIR))
    return g_str_equal (path, folder)
               ? refuse (error, path, "it is not a folder: name another place")
               : refuse (error, path, "'%s' is not a folder: name another place", folder);
  if (g_access (folder, W_OK | X_OK) != 0)
    return refuse (error, path, "the folder '%s' takes no files (%s): name another place", folder,
                   g_strerror (errno));
  return TRUE;
}

/* The nearest folder above PATH that is there, or whatever stands in its place. */
static char *
nearest_above (const char *path)
{
  char *folder = g_path_get_dirname (path);

  while (!g_file_test (folder, G_FILE_TEST_EXISTS) && !g_str_equal (folder, ".")
         && !g_str_equal (folder, "/"))
    {
      g_autofree char *below = folder;

      folder = g_path_get_dirname (below);
    }
  return folder;
}

/* Makes a file in the folder of TARGET, and removes it: only that shows that one has room. */
static gboolean
try_draft (const char *path, const char *target, GError **error)
{
  g_autofree char *draft = g_strconcat (target, ".XXXXXX", NULL);
  int              fd = temporary_file (draft);

  if (fd < 0)
    return fail (error, path, errno);
  close (fd);
  temporary_remove (draft);
  return TRUE;
}

/* Makes a folder in FOLDER, and removes it: /proc says that it takes some. */
static gboolean
try_folder (const char *path, const char *folder, GError **error)
{
  g_autofree char *draft = g_build_filename (folder, ".shardsim-XXXXXX", NULL);

  if (!temporary_folder (draft))
    return refuse (error, path, "the folder '%s' takes no folders (%s): name another place", folder,
                   g_strerror (errno));
  temporary_remove (draft);
  return TRUE;
}

static gboolean
check_file (const char *path, OutputKind kind, GError **error)
{
  g_autofree char *target = file_follow_links (path);
  const int        code = errno;
  g_autofree char *folder = target != NULL ? g_path_get_dirname (target) : NULL;
  g_autofree char *above = target != NULL ? nearest_above (target) : NULL;
  GStatBuf         info;

  if (*path == '\0')
    return refuse (error, path, "a file's name is wanted");
  if (g_file_test (path, G_FILE_TEST_IS_DIR))
    return refuse (error, path, "it is a folder: name a file in it");
  if (is_in_place (path, &info))
    return g_access (path, W_OK) == 0 || fail (error, path, errno);
  if (target == NULL)
    return fail (error, path, code);
  if (g_access (target, F_OK) == 0 && g_access (target, W_OK) != 0)
    return fail (error, path, errno);
  if (g_str_has_suffix (target, "/"))
    return refuse (error, path, "there is no such folder: make it, and name a file in it");
  if (g_file_test (folder, G_FILE_TEST_IS_DIR))
    return check_folder (path, folder, error) && try_draft (path, target, error);
  if (kind != OUTPUT_FILE_ANYWHERE && g_file_test (above, G_FILE_TEST_IS_DIR))
    return refuse (error, path, "there is no folder '%s': make it, or name another place", folder);
  return check_folder (path, above, error) && try_folder (path, above, error);
}

static gboolean
check_new_folder (const char *path, GError **error)
{
  g_autofree char *above = NULL;

  if (*path == '\0')
    return refuse (error, path, "a folder's name is wanted");
  above = g_file_test (path, G_FILE_TEST_EXISTS) ? g_strdup (path) : nearest_above (path);
  return check_folder (path, above, error) && try_folder (path, above, error);
}

gboolean
output_check (const char *path, OutputKind kind, GError **error)
{
  const FileRole role = kind == OUTPUT_UPDATED ? FILE_ROLE_UPDATED : FILE_ROLE_OUTPUT;

  return (kind == OUTPUT_FOLDER ? check_new_folder (path, error) : check_file (path, kind, error))
         && file_roles_add (path, role, error);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* An output's own descriptor knows how far it is written. */
static int
open_in_place (const char *path, const GStatBuf *info)
{
  int output = file_own_output (info);

  if (S_ISDIR (info->st_mode))
    {
      errno = EISDIR;
      return -1;
    }
  return output >= 0 ? fcntl (output, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                     : g_open (path, O_WRONLY | O_CLOEXEC | O_NOCTTY, 0);
}

int
output_keep_mode (const char *draft, const char *target)
{
  const mode_t bits = S_IRWXU | S_IRWXG | S_IRWXO;
  GStatBuf     wanted, own;

  if (g_stat (target, &wanted) != 0)
    return errno == ENOENT ? 0 : errno;
  if (!S_ISREG (wanted.st_mode))
    return 0;
  if (g_access (target, W_OK) != 0 || g_stat (draft, &own) != 0)
    return errno;
  if ((own.st_mode & bits) == (wanted.st_mode & bits)) /* not every file system has modes to set */
    return 0;
  return g_chmod (draft, (int) (wanted.st_mode & bits)) == 0 ? 0 : errno;
}

static int
open_draft (OutputFile *self)
{
  int fd = -1, code;

  self->target = file_follow_links (self->path);
  if (self->target == NULL)
    return -1;
  self->draft = g_strconcat (self->target, ".XXXXXX", NULL);
  fd = temporary_file (self->draft);
  if (fd < 0)
    {
      g_clear_pointer (&self->draft, g_free);
      return -1;
    }
  code = output_keep_mode (self->draft, self->target);
  if (code == 0)
    return fd;
  close (fd); /* output_file_free removes it */
  errno = code;
  return -1;
}

OutputFile *
output_file_open (const char *path, GError **error)
{
  g_autoptr (OutputFile) self = g_new0 (OutputFile, 1);
  GStatBuf               info;
  int                    fd, code;

  if (!file_roles_replace (path, error))
    return NULL;
  self->path = g_strdup (path);
  fd = is_in_place (path, &info) ? open_in_place (path, &info) : open_draft (self);
  code = errno;
  if (fd >= 0)
    {
      self->stream = fdopen (fd, "w");
      code = errno;
      if (self->stream != NULL)
        return g_steal_pointer (&self);
      close (fd);
    }
  fail (error, path, code);
  return NULL;
}

FILE *
output_file_stream (OutputFile *self)
{
  return self->stream;
}

void
output_file_free (OutputFile *self)
{
  if (self == NULL)
    return;
  if (self->stream != NULL)
    fclose (self->stream);
  if (self->draft != NULL)
    temporary_remove (self->draft);
  g_free (self->draft);
  g_free (self->target);
  g_free (self->path);
  g_free (self);
}

/* Everything is on the disk and closed; 0 or an errno. */
static int
finish (OutputFile *self)
{
  FILE *stream = g_steal_pointer (&self->stream);
  int   code = 0;

  errno = 0;
  if (fflush (stream) != 0 || ferror (stream)
      || (self->draft != NULL && fsync (fileno (stream)) != 0))
    code = errno != 0 ? errno : EIO;
  if (fclose (stream) != 0 && code == 0)
    code = errno;
  return code;
}

gboolean
output_files_publish (OutputFile *const *files, guint n, GError **error)
{
  g_autoptr (GPtrArray) from = g_ptr_array_new (), to = g_ptr_array_new (),
                        paths = g_ptr_array_new ();
  guint failed;
  int   code;

  for (guint i = 0; i < n; i++)
    {
      code = finish (files[i]);
      if (code != 0)
        return fail (error, files[i]->path, code);
      if (files[i]->draft == NULL)
        continue;
      g_ptr_array_add (from, files[i]->draft);
      g_ptr_array_add (to, files[i]->target);
      g_ptr_array_add (paths, files[i]->path);
    }
  code = temporary_rename ((const char *const *) from->pdata, (const char *const *) to->pdata,
                           from->len, &failed);
  for (guint i = 0; i < n; i++)
    g_clear_pointer (&files[i]->draft, g_free);
  return code == 0 || fail (error, g_ptr_array_index (paths, failed), code);
}

gboolean
output_file_write (const char *path, const char *text, GError **error)
{
  g_autoptr (OutputFile) file = output_file_open (path, error);

  if (file == NULL)
    return FALSE;
  if (fputs (text, file->stream) == EOF)
    return fail (error, path, errno);
  return output_files_publish (&file, 1, error);
}
