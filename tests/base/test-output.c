/* Output files: whole or not there, what is said before the work, and texts for a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../suite.h"
#include "base/config/printable.h"
#include "base/file/file-roles.h"
#include "base/file/given-files.h"
#include "base/file/output.h"
#include "base/file/temporary.h"
#include "base/limits.h"
#include "fixture.h"

/* ---- a file system without hard links, and a user who is not root: the C library's, replaced - */

static gboolean no_links, is_root = TRUE;

int
link (const char *from, const char *to)
{
  if (!no_links)
    return linkat (AT_FDCWD, from, AT_FDCWD, to, 0);
  errno = g_access (from, F_OK) == 0 ? EPERM : ENOENT;
  return -1;
}

int
access (const char *path, int how)
{
  struct stat info;

  if (is_root || (how & W_OK) == 0)
    return faccessat (AT_FDCWD, path, how, 0);
  if (stat (path, &info) == 0 && (info.st_mode & S_IWUSR) != 0)
    return 0;
  errno = EACCES;
  return -1;
}

static void
assert_text (const char *file, const char *expected)
{
  g_autofree char *text = NULL;

  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  ck_assert_str_eq (text, expected);
}

static guint
count_entries (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  guint            n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

START_TEST (test_whole_or_nothing)
{
  char            *folder = make_folder ();
  g_autofree char *file = write_temporary (folder, "t", "old", -1);
  OutputFile      *output = output_file_open (file, NULL);

  fputs ("new", output_file_stream (output));
  fflush (output_file_stream (output));
  assert_text (file, "old");
  ck_assert_uint_eq (count_entries (folder), 2);
  output_file_free (output); /* given up */
  assert_text (file, "old");
  ck_assert_uint_eq (count_entries (folder), 1);
  ck_assert (output_file_write (file, "new", NULL));
  assert_text (file, "new");
  ck_assert_uint_eq (count_entries (folder), 1);
  remove_folder (folder);
}
END_TEST

/*
 * The third of four cannot take its name: the first is as it was, one that was not there is not
 * there. On a file system with hard links (0) and on one without (1).
 */
START_TEST (test_all_or_none)
{
  char              *folder = make_folder ();
  g_autofree char   *old = write_temporary (folder, "old", "old", -1);
  g_autofree char   *fresh = g_build_filename (folder, "fresh", NULL);
  g_autofree char   *taken = g_build_filename (folder, "taken", NULL);
  g_autofree char   *in_it = g_build_filename (taken, "x", NULL);
  g_autofree char   *last = write_temporary (folder, "last", "last", -1);
  OutputFile        *files[4];
  g_autoptr (GError) error = NULL;
  const char *const  paths[] = { old, fresh, taken, last };

  no_links = _i == 1;
  for (guint i = 0; i < 4; i++)
    {
      files[i] = output_file_open (paths[i], NULL);
      fputs ("new", output_file_stream (files[i]));
    }
  ck_assert_int_eq (g_mkdir (taken, 0700), 0); /* meanwhile */
  ck_assert_int_eq (g_mkdir (in_it, 0700), 0);
  ck_assert (!output_files_publish (files, 4, &error));
  ck_assert_ptr_nonnull (strstr (error->message, taken));
  for (guint i = 0; i < 4; i++)
    output_file_free (files[i]);
  no_links = FALSE;
  assert_text (old, "old");
  assert_text (last, "last");
  ck_assert (!g_file_test (fresh, G_FILE_TEST_EXISTS));
  ck_assert (g_file_test (in_it, G_FILE_TEST_IS_DIR));
  ck_assert_uint_eq (count_entries (folder), 3);
  g_rmdir (in_it);
  g_rmdir (taken);
  remove_folder (folder);
}
END_TEST

/* All of two, one of them there before, on both kinds of file system: nothing else is left. */
START_TEST (test_all)
{
  char            *folder = make_folder ();
  g_autofree char *old = write_temporary (folder, "old", "old", -1);
  g_autofree char *fresh = g_build_filename (folder, "fresh", NULL);
  OutputFile      *files[] = { output_file_open (old, NULL), output_file_open (fresh, NULL) };

  fputs ("new", output_file_stream (files[0]));
  fputs ("new", output_file_stream (files[1]));
  no_links = _i == 1;
  ck_assert (output_files_publish (files, 2, NULL));
  no_links = FALSE;
  assert_text (old, "new");
  assert_text (fresh, "new");
  ck_assert_uint_eq (count_entries (folder), 2);
  output_file_free (files[0]);
  output_file_free (files[1]);
  remove_folder (folder);
}
END_TEST

/* ---- modes ----------------------------------------------------------------------------------- */

static guint
mode_of (const char *file)
{
  GStatBuf info;

  ck_assert_int_eq (g_stat (file, &info), 0);
  return info.st_mode & 07777;
}

/* What is replaced has the mode that it had; the draft, too, as it holds the same. */
START_TEST (test_modes)
{
  static const guint modes[] = { 0600, 0644, 0640, 0666, 0444 };
  char              *folder = make_folder ();
  g_autofree char   *fresh = g_build_filename (folder, "fresh", NULL);
  const mode_t       mask = umask (022);

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char       *file = write_temporary (folder, "t", "old", -1);
      g_autoptr (OutputFile) output = NULL;
      struct stat            draft;

      ck_assert_int_eq (g_chmod (file, (int) modes[i]), 0);
      is_root = modes[i] == 0444;
      ck_assert (output_check (file, OUTPUT_FILE, NULL) || getuid () != 0);
      output = output_file_open (file, NULL);
      if (getuid () != 0 && modes[i] == 0444)
        continue;
      ck_assert_int_eq (fstat (fileno (output_file_stream (output)), &draft), 0);
      ck_assert_uint_eq (draft.st_mode & 07777, modes[i]);
      ck_assert (output_files_publish (&output, 1, NULL));
      ck_assert_uint_eq (mode_of (file), modes[i]);
      g_unlink (file);
    }
  is_root = TRUE;
  ck_assert (output_file_write (fresh, "new", NULL));
  ck_assert_uint_eq (mode_of (fresh), 0644);
  umask (mask);
  remove_folder (folder);
}
END_TEST

/* The reason of a full disk is said of a text, be it longer than what is buffered or not. */
START_TEST (test_full_disk)
{
  static const gsize sizes[] = { 10, 10 << 20 };
  g_autofree char   *text = g_strnfill (sizes[_i], 'x');
  g_autoptr (GError) error = NULL;

  if (g_access ("/dev/full", W_OK) != 0)
    return;
  ck_assert (!output_file_write ("/dev/full", text, &error));
  ck_assert_str_eq (error->message, "cannot write '/dev/full': No space left on device");
}
END_TEST

/* A file that is not to be written stays, and that is said before the work. */
START_TEST (test_read_only)
{
  char             *folder = make_folder ();
  g_autofree char  *file = write_temporary (folder, "t", "old", -1);
  g_autofree char  *link = g_build_filename (folder, "l", NULL);
  const char *const paths[] = { file, link };

  ck_assert_int_eq (symlink ("t", link), 0);
  ck_assert_int_eq (g_chmod (file, 0444), 0);
  is_root = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GError) early = NULL, late = NULL;

      ck_assert (!output_check (paths[i], OUTPUT_FILE, &early));
      ck_assert_int_eq (early->code, G_IO_ERROR_PERMISSION_DENIED);
      ck_assert (!output_file_write (paths[i], "new", &late));
      ck_assert_str_eq (early->message, late->message);
    }
  is_root = TRUE;
  assert_text (file, "old");
  ck_assert_uint_eq (count_entries (folder), 2);
  remove_folder (folder);
}
END_TEST

/* ---- what cannot be opened ------------------------------------------------------------------- */

/* As many links as the system follows are followed; one more is an error with its reason. */
START_TEST (test_long_chain)
{
  char              *folder = make_folder ();
  g_autofree char   *good = g_build_filename (folder, "40", NULL);
  g_autofree char   *bad = g_build_filename (folder, "41", NULL);
  g_autofree char   *end = g_build_filename (folder, "0", NULL);
  g_autoptr (GError) error = NULL;

  for (guint i = 1; i <= 41; i++)
    {
      g_autofree char *to = g_strdup_printf ("%u", i - 1);
      g_autofree char *name = g_strdup_printf ("%s/%u", folder, i);

      ck_assert_int_eq (symlink (to, name), 0);
    }
  ck_assert (output_check (good, OUTPUT_FILE, NULL));
  ck_assert (output_file_write (good, "new", NULL));
  assert_text (end, "new");
  ck_assert (!output_check (bad, OUTPUT_FILE, &error));
  ck_assert_int_eq (error->code, G_IO_ERROR_TOO_MANY_LINKS);
  remove_folder (folder);
}
END_TEST

/* An output of this process that is open for reading alone: an error, no assertion. */
START_TEST (test_no_stream)
{
  char              *folder = make_folder ();
  g_autofree char   *file = write_temporary (folder, "t", "old", -1);
  g_autoptr (GError) error = NULL;
  const int          kept = dup (STDOUT_FILENO), fd = g_open (file, O_RDONLY, 0);

  ck_assert_int_eq (dup2 (fd, STDOUT_FILENO), STDOUT_FILENO);
  close (fd);
  ck_assert_ptr_null (output_file_open (file, &error));
  dup2 (kept, STDOUT_FILENO);
  close (kept);
  ck_assert_ptr_nonnull (strstr (error->message, file));
  assert_text (file, "old");
  ck_assert_uint_eq (count_entries (folder), 1);
  remove_folder (folder);
}
END_TEST

/* ---- the child process ----------------------------------------------------------------------- */

START_TEST (test_run)
{
  static const char *const fails[] = { "sh", "-c", "pwd >&2; echo out; exit 3", NULL };
  static const char *const long_[] = { "sh", "-c", "head -c 300000 /dev/zero >&2", NULL };
  static const char *const absent[] = { "shardsim-no-such-program", NULL };
  g_autoptr (GError)       error = NULL;
  g_autofree char         *first = NULL, *second = NULL;
  gboolean                 good;

  ck_assert (temporary_run ("/", fails, &good, &first, NULL));
  ck_assert (!good);
  ck_assert_str_eq (first, "/\n");
  ck_assert (temporary_run ("/", long_, &good, &second, NULL)); /* read to its end, not kept */
  ck_assert (good);
  ck_assert (!temporary_run ("/", absent, &good, &second, &error));
  ck_assert (g_error_matches (error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT));
}
END_TEST

/* ---- before the work ------------------------------------------------------------------------- */

static void
assert_refused (const char *folder, const char *name, OutputKind kind, const char *why)
{
  g_autofree char   *path = g_build_filename (folder, name, NULL), *got = NULL;
  g_autoptr (GError) error = NULL;
  const guint        before = count_entries (folder);
  g_auto (GStrv)     pieces = NULL;

  ck_assert_msg (!output_check (path, kind, &error), "%s is not refused", name);
  pieces = g_strsplit (error->message, folder, -1);
  got = g_strjoinv ("D", pieces);
  ck_assert_str_eq (got, why);
  ck_assert_uint_eq (count_entries (folder), before);
}

START_TEST (test_checks)
{
  static const char *const good[] = { "new", "file", "link" };
  char                    *folder = make_folder ();
  g_autofree char         *link = g_build_filename (folder, "link", NULL);
  g_autofree char         *deep = g_build_filename (folder, "a/b/c", NULL);

  g_free (write_temporary (folder, "file", "x", -1));
  ck_assert_int_eq (symlink ("new", link), 0);
  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autofree char *path = g_build_filename (folder, good[i], NULL);

      ck_assert (output_check (path, OUTPUT_FILE, NULL));
    }
  ck_assert (output_check (deep, OUTPUT_FILE_ANYWHERE, NULL));
  ck_assert (output_check (deep, OUTPUT_FOLDER, NULL));
  ck_assert (output_check (folder, OUTPUT_FOLDER, NULL));
  ck_assert (output_check ("/dev/null", OUTPUT_FILE, NULL));
  ck_assert_uint_eq (count_entries (folder), 2);
  assert_refused (folder, "a/b", OUTPUT_FILE,
                  "cannot write 'D/a/b': there is no folder 'D/a': make it, or name another place");
  assert_refused (folder, "a/", OUTPUT_FILE,
                  "cannot write 'D/a/': there is no such folder: make it, and name a file in it");
  assert_refused (folder, "", OUTPUT_FILE, "cannot write 'D': it is a folder: name a file in it");
  assert_refused (folder, "file/b", OUTPUT_FILE,
                  "cannot write 'D/file/b': 'D/file' is not a folder: name another place");
  assert_refused (folder, "file/b/c", OUTPUT_FILE_ANYWHERE,
                  "cannot write 'D/file/b/c': 'D/file' is not a folder: name another place");
  assert_refused (folder, "file", OUTPUT_FOLDER,
                  "cannot write 'D/file': it is not a folder: name another place");
  remove_folder (folder);
}
END_TEST

/* A folder of its own goes with what is in it, one that is to stay does not. */
START_TEST (test_folders)
{
  char            *folder = make_folder ();
  g_autofree char *work = g_build_filename (folder, "w-XXXXXX", NULL);
  g_autofree char *made = g_build_filename (folder, "made", NULL);

  ck_assert (temporary_folder (work));
  ck_assert (temporary_new_folder (made));
  ck_assert (!temporary_new_folder (made));
  g_free (write_temporary (work, "x", "x", -1));
  temporary_keep (made);
  temporary_remove (made); /* forgotten: nothing happens */
  temporary_remove (work);
  ck_assert (!g_file_test (work, G_FILE_TEST_EXISTS));
  ck_assert (g_file_test (made, G_FILE_TEST_IS_DIR));
  g_rmdir (made);
  remove_folder (folder);
}
END_TEST

/*
 * What is read or written is no output as well, under whatever name and in whatever order; what is
 * updated is read and written.
 */
START_TEST (test_roles)
{
  char              *folder = make_folder ();
  g_autofree char   *read = write_temporary (folder, "read", "x", -1);
  g_autofree char   *link = g_build_filename (folder, "link", NULL);
  g_autofree char   *fresh = g_build_filename (folder, "fresh", NULL);
  g_autofree char   *other = g_build_filename (folder, "none", "..", "fresh", NULL);
  g_autofree char   *store = g_build_filename (folder, "store", NULL);
  g_autoptr (GError) error = NULL;

  ck_assert (file_roles_add (read, FILE_ROLE_OUTPUT, NULL));
  ck_assert_int_eq (file_roles_read (read), 0);
  file_roles_keep ();
  ck_assert_int_eq (file_roles_read (read), 0);
  ck_assert_int_eq (file_roles_read (read), 0);
  ck_assert_int_eq (symlink ("read", link), 0);
  ck_assert (file_roles_check (NULL));
  ck_assert (!output_check (link, OUTPUT_FILE, &error));
  ck_assert (g_error_matches (error, FILE_ROLES_ERROR, FILE_ROLES_REFUSED));
  ck_assert (!file_roles_check (NULL));
  ck_assert (!output_file_write (read, "new", NULL));
  assert_text (read, "x");

  ck_assert (output_check (fresh, OUTPUT_FILE, NULL));
  ck_assert (!output_check (other, OUTPUT_FILE, NULL));
  ck_assert_int_eq (file_roles_read (fresh), ETXTBSY);
  ck_assert (!file_roles_add (fresh, FILE_ROLE_UPDATED, NULL));

  ck_assert (output_check (store, OUTPUT_UPDATED, NULL));
  ck_assert_int_eq (file_roles_read (store), 0);
  ck_assert (output_file_write (store, "new", NULL));
  ck_assert (!output_file_write (store, "newer", NULL));
  assert_text (store, "new");

  for (guint i = 0; i < 2; i++)
    ck_assert (output_check ("/dev/null", OUTPUT_FILE, NULL));
  g_unlink (link);
  g_unlink (read);
  g_unlink (store);
  remove_folder (folder);
}
END_TEST

/* Who reads below a folder alone reads nothing beside it, by whatever name, nor what is missing. */
START_TEST (test_only_below)
{
  char            *folder = make_folder ();
  g_autofree char *inside = g_build_filename (folder, "inside", NULL);
  g_autofree char *beside = write_temporary (folder, "inside-not", "x", -1);
  g_autofree char *link = g_build_filename (inside, "link", NULL);
  g_autofree char *around = g_build_filename (inside, "..", "inside-not", NULL);
  g_autofree char *missing = g_build_filename (folder, "missing", NULL);
  g_autofree char *file = NULL;

  ck_assert_int_eq (g_mkdir (inside, 0700), 0);
  file = write_temporary (inside, "file", "x", -1);
  ck_assert_int_eq (symlink (beside, link), 0);
  file_roles_only_below (inside); /* each test is a process of its own */
  ck_assert_int_eq (file_roles_read (file), 0);
  ck_assert_int_eq (file_roles_read (beside), EACCES);
  ck_assert_int_eq (file_roles_read (link), EACCES);
  ck_assert_int_eq (file_roles_read (around), EACCES);
  ck_assert_int_eq (file_roles_read (missing), EACCES);
  ck_assert_int_eq (file_roles_read (""), EACCES);
  g_unlink (link);
  g_unlink (file);
  g_rmdir (inside);
  g_unlink (beside);
  remove_folder (folder);
}
END_TEST

START_TEST (test_given_files)
{
  g_autofree char *a = given_files_add ("{}", 2, ".json"), *again = NULL, *empty = NULL;
  g_autofree char *long_text = g_malloc0 (CONFIG_MAX_BYTES + 1);
  GBytes          *text = given_files_find (a);

  ck_assert (g_str_has_prefix (a, "given/") && g_str_has_suffix (a, ".json"));
  ck_assert_uint_eq (g_bytes_get_size (text), 2);
  g_bytes_unref (text);
  again = given_files_add ("{}", 2, ".json");
  ck_assert_str_eq (a, again);
  empty = given_files_add ("", 0, ".yaml");
  text = given_files_find (empty);
  ck_assert_uint_eq (g_bytes_get_size (text), 0);
  g_bytes_unref (text);
  ck_assert_ptr_null (given_files_add (long_text, CONFIG_MAX_BYTES + 1, ".json"));
  ck_assert_ptr_null (given_files_find ("given/nothing"));
  ck_assert_ptr_null (given_files_find ("/etc/hostname"));
  for (guint i = 0; i < GIVEN_FILES_MOST; i++)
    {
      g_autofree char *number = g_strdup_printf ("%u", i);

      g_free (given_files_add (number, strlen (number), ".json"));
    }
  ck_assert_ptr_null (given_files_find (a)); /* the oldest went */
}
END_TEST

static const struct
{
  const char *text;
  gssize      length;
  gboolean    colour;
  const char *expected;
} texts[] = {
  { "plain\n\ttext, \303\274\n", -1, FALSE, "plain\n\ttext, \303\274\n" },
  { "a\033[31mb\a\177", -1, TRUE, "a\357\277\275[31mb\357\277\275\357\277\275" },
  { "\302\2332J\302\240", -1, FALSE, "\357\277\2752J\302\240" }, /* one-character control code */
  { "a\342\200\256b\342\201\246c\342\200\223", -1, FALSE,
    "a\357\277\275b\357\277\275c\342\200\223" }, /* U+202E, U+2066; a dash stays */
  { "a\r\nb\rc", -1, FALSE, "a\r\nb\357\277\275c" },
  { "J\374rgen\303", -1, FALSE, "J\357\277\275rgen\357\277\275" },
  { "a\0b", 3, FALSE, "a\357\277\275b" },
  { PRINTABLE_ALERT "x" PRINTABLE_PLAIN, -1, TRUE, "\033[1;31mx\033[0m" },
  { PRINTABLE_ALERT "x" PRINTABLE_PLAIN, -1, FALSE, "x" },
};

START_TEST (test_printable)
{
  const gsize length = texts[_i].length < 0 ? strlen (texts[_i].text) : (gsize) texts[_i].length;
  g_autofree char *got = printable_text (texts[_i].text, length, texts[_i].colour);

  ck_assert_str_eq (got, texts[_i].expected);
}
END_TEST

SUITE_MAIN (output)
{
  TCase *tcase = tcase_create ("output");

  tcase_add_test (tcase, test_whole_or_nothing);
  tcase_add_loop_test (tcase, test_all_or_none, 0, 2);
  tcase_add_loop_test (tcase, test_all, 0, 2);
  tcase_add_test (tcase, test_modes);
  tcase_add_test (tcase, test_read_only);
  tcase_add_loop_test (tcase, test_full_disk, 0, 2);
  tcase_add_test (tcase, test_long_chain);
  tcase_add_test (tcase, test_no_stream);
  tcase_add_test (tcase, test_run);
  tcase_add_test (tcase, test_checks);
  tcase_add_test (tcase, test_folders);
  tcase_add_test (tcase, test_roles);
  tcase_add_test (tcase, test_only_below);
  tcase_add_test (tcase, test_given_files);
  tcase_add_loop_test (tcase, test_printable, 0, G_N_ELEMENTS (texts));
  return run_case (suite_create ("output"), tcase);
}
