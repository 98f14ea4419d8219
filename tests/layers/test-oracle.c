/*
 * Closed forms say what a schedule must hold; a property test compares the two. That is worth
 * something only while neither is computed by the other's code: a mistake in a function that both
 * call passes. So no file that emits calls a function of a closed form, and no closed form one of a
 * file that emits. What both read is neither: facts about the input, as short as can be.
 */
#include <check.h>
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"

typedef enum
{
  SIDE_NONE,
  SIDE_FORM,
  SIDE_EMISSION,
} Side;

/* The first pattern that a file matches says its side. */
static const struct
{
  const char *pattern; /* below src/ */
  Side        side;
} sides[] = {
  { "driver/oracle/*", SIDE_FORM },
  { "strategy/*-form.c", SIDE_FORM },
  /* what both read: the mesh, periods, where chunks lie, which rank has which matrix or fragment */
  { "driver/matrix/*", SIDE_NONE },
  { "driver/policy/*", SIDE_NONE },
  { "strategy/shards/*", SIDE_NONE },
  { "strategy/outer/fragments.c", SIDE_NONE },
  { "strategy/compression/l-greco.c", SIDE_NONE },
  { "strategy/compression/layer-*.c", SIDE_NONE },
  { "driver/walk/*", SIDE_EMISSION },
  { "strategy/*", SIDE_EMISSION },
};

static Side
side_of (const char *path)
{
  for (guint i = 0; i < G_N_ELEMENTS (sides); i++)
    if (g_pattern_match_simple (sides[i].pattern, path))
      return sides[i].side;
  return SIDE_NONE;
}

/* ---- reading code ---------------------------------------------------------------------------- */

/* TEXT without comments, strings and preprocessor lines; newly allocated. */
static char *
bare_code (const char *text)
{
  g_autoptr (GRegex) regex = g_regex_new ("/\\*.*?\\*/|\"(?:\\\\.|[^\"\\\\\\n])*\"|^#[^\\n]*",
                                          G_REGEX_DOTALL | G_REGEX_MULTILINE, 0, NULL);

  return g_regex_replace_literal (regex, text, -1, 0, "", 0, NULL);
}

/* Every text of group 1 of PATTERN in CODE: a list of new strings. */
static GPtrArray *
all_matches (const char *pattern, const char *code)
{
  GPtrArray             *list = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GRegex)     regex = g_regex_new (pattern, G_REGEX_MULTILINE, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  for (g_regex_match (regex, code, 0, &match); g_match_info_matches (match);
       g_match_info_next (match, NULL))
    g_ptr_array_add (list, g_match_info_fetch (match, 1));
  return list;
}

/* The same as a set. */
static GHashTable *
names_of (const char *pattern, const char *code)
{
  g_autoptr (GPtrArray) list = all_matches (pattern, code);
  GHashTable           *set = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < list->len; i++)
    g_hash_table_add (set, g_strdup (list->pdata[i]));
  return set;
}

/* The code of every C file below ROOT/FOLDER, by its path below ROOT. */
static void
read_folder (const char *root, const char *folder, GHashTable *files)
{
  g_autofree char *path = g_build_filename (root, folder, NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char      *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *relative = g_build_filename (folder, name, NULL);
      g_autofree char *file = g_build_filename (root, relative, NULL), *text = NULL;

      if (g_file_test (file, G_FILE_TEST_IS_DIR))
        read_folder (root, relative, files);
      else if (g_str_has_suffix (name, ".c") && g_file_get_contents (file, &text, NULL, NULL))
        g_hash_table_insert (files, g_strdup (relative), bare_code (text));
    }
}

/* Functions that others can call: name -> path of the file that defines it. */
static GHashTable *
defined_in (GHashTable *files)
{
  GHashTable    *owners = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter iter;
  gpointer       path, code;

  g_hash_table_iter_init (&iter, files);
  while (g_hash_table_iter_next (&iter, &path, &code))
    {
      g_autoptr (GPtrArray) names =
          all_matches ("^(?!static )\\w[^\\n;(){}=]*\\n([a-z]\\w*) \\(", code);

      for (guint i = 0; i < names->len; i++)
        g_hash_table_insert (owners, g_strdup (names->pdata[i]), path);
    }
  return owners;
}

/* Calls from one side to the other among FILES; each is printed. */
static guint
count_crossings (GHashTable *files, guint n_calls[3])
{
  g_autoptr (GHashTable) owners = defined_in (files);
  GHashTableIter         iter;
  gpointer               path, code;
  guint                  n = 0;

  g_hash_table_iter_init (&iter, files);
  while (g_hash_table_iter_next (&iter, &path, &code))
    {
      Side                   side = side_of (path);
      g_autoptr (GHashTable) own = names_of ("^([a-z]\\w*) \\(", code);
      g_autoptr (GPtrArray)  calls = all_matches ("(?<![\\w.>\\n])([a-z]\\w*_\\w+) \\(", code);

      for (guint i = 0; i < calls->len && side != SIDE_NONE; i++)
        {
          const char *owner = g_hash_table_lookup (owners, calls->pdata[i]);

          if (g_hash_table_contains (own, calls->pdata[i]))
            continue;
          n_calls[side] += owner != NULL;
          if (owner == NULL || side_of (owner) == SIDE_NONE || side_of (owner) == side)
            continue;
          n++;
          fprintf (stderr, "%s calls %s of %s\n", (char *) path, (char *) calls->pdata[i], owner);
        }
    }
  return n;
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST (test_sides)
{
  g_autoptr (GHashTable) files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autofree char       *src = g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "src", NULL);
  guint                  n_calls[3] = { 0 };

  read_folder (src, "driver", files);
  read_folder (src, "strategy", files);
  ck_assert_uint_eq (count_crossings (files, n_calls), 0);
  ck_assert_uint_gt (n_calls[SIDE_FORM], 100);
  ck_assert_uint_gt (n_calls[SIDE_EMISSION], 500);
}
END_TEST

/* Calls of either direction are found, of facts and of the own side not. */
START_TEST (test_crossings_are_found)
{
  static const struct
  {
    const char *path, *code;
  } files[] = {
    { "driver/oracle/a.c", "double\nexpect_a (void)\n{\n  return the_fact (walk_a ());\n}\n" },
    { "driver/walk/a.c", "int\nwalk_a (void)\n{\n  expect_a ();\n  walk_a ();\n}\n" },
    { "driver/policy/input.c", "int\nthe_fact (int n)\n{\n  return n;\n}\n" },
    { "strategy/runtime/a/a-form.c", "void\nthe_form (void)\n{\n  expect_a ();\n}\n" },
  };
  g_autoptr (GHashTable) table = g_hash_table_new (g_str_hash, g_str_equal);
  guint                  n_calls[3] = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    g_hash_table_insert (table, (gpointer) files[i].path, (gpointer) files[i].code);
  ck_assert_uint_eq (count_crossings (table, n_calls), 2);
}
END_TEST

SUITE_MAIN (oracle)
{
  Suite *suite = suite_create ("oracle");
  TCase *tcase = tcase_create ("calls");

  tcase_add_test (tcase, test_sides);
  tcase_add_test (tcase, test_crossings_are_found);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
