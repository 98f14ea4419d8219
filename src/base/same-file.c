#include "base/same-file.h"

#include <glib/gstdio.h>

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
