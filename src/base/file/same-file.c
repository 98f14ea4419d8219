#include "base/file/same-file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as Linux */

gboolean
file_is_same (const char *file, const char *other)
{
  GStatBuf a, b;

  return g_stat (file, &a) == 0 && g_stat (other, &b) == 0 && a.st_dev == b.st_dev
         && a.st_ino == b.st_ino;
}

gboolean
file_is_repeated (const char *const *files, guint i)
{
  for (guint before = 0; before < i; before++)
    if (file_is_same (files[before], files[i]))
      return TRUE;
  return FALSE;
}

char *
file_follow_links (const char *file)
{
  char *path = g_strdup (file);

  for (guint i = 0; i <= MAX_LINKS; i++)
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

int
file_own_output (const GStatBuf *info)
{
  struct stat own;

  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
    if (fstat (fd, &own) == 0 && own.st_dev == info->st_dev && own.st_ino == info->st_ino)
      return fd;
  return -1;
}
