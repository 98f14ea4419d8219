/* What the tests of the base layer share. */
#pragma once

#include <check.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "base/config/diag.h"

/* Fails unless DIAGS prints exactly as EXPECTED. */
static inline void
assert_diags (const DiagList *diags, const char *expected)
{
  g_autofree char *text = diag_list_format (diags, FALSE);

  ck_assert_str_eq (text, expected);
}

/* Writes LENGTH bytes (-1: up to NUL) to NAME in a new temporary folder; path newly allocated. */
static inline char *
write_temporary (const char *folder, const char *name, const char *data, gssize length)
{
  char *path = g_build_filename (folder, name, NULL);

  FILE *file = fopen (path, "wb"); /* g_file_set_contents would wait for the disk */
  gsize size = length < 0 ? strlen (data) : (gsize) length;

  ck_assert_ptr_nonnull (file);
  ck_assert_uint_eq (fwrite (data, 1, size, file), size);
  ck_assert_int_eq (fclose (file), 0);
  return path;
}

/* A new empty folder; newly allocated path, see remove_folder. */
static inline char *
make_folder (void)
{
  char *folder = g_dir_make_tmp ("shardsim-base-XXXXXX", NULL);

  ck_assert_ptr_nonnull (folder);
  return folder;
}

/* Removes FOLDER and the files in it, and frees the path. */
static inline void
remove_folder (char *folder)
{
  GDir       *dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      g_remove (path);
    }
  g_dir_close (dir);
  g_rmdir (folder);
  g_free (folder);
}

/* Runs one suite of one case; the program's exit status. */
static inline int
run_case (Suite *suite, TCase *tcase)
{
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
