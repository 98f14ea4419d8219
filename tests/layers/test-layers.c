/*
 * Holds the source tree to the table of docs/decisions/001-layer-includes.md: reads every
 * `#include "layer/..."` of src/, and every call of a function that a header of src/ declares, and
 * fails on a pair of layers that the table does not name. So a header that arrives through another
 * one is no loophole. It sees text only: #if is not evaluated. And holds src/cli to its one way to
 * stderr.
 */
#include <check.h>
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"

typedef struct
{
  const char *layer;
  const char *includes; /* words, or ABOVE */
} LayerRule;

#define ABOVE "^" /* all layers that stand above in the table */

/* A layer is a folder of src/, or a room of it where its rooms have rules of their own. */
static const LayerRule rules[] = {
  { "base", "" },
  { "vocabulary", "base" },
  { "engine", "base" },
  { "edge", "base engine" },
  { "hardware", "base vocabulary engine" },
  { "model", "base vocabulary" },
  { "cost/kernel", "base vocabulary engine hardware model" },
  { "cost/collective", "base vocabulary engine hardware" },
  { "schedule", "base vocabulary model" },
  { "driver", "base vocabulary model schedule" },
  { "strategy", "base vocabulary model schedule driver" },
  { "serve", "base vocabulary engine hardware model cost/kernel cost/collective" },
  { "scenario",
    "base vocabulary hardware model cost/kernel cost/collective driver strategy serve" },
  { "replay", ABOVE },
  { "predict", ABOVE },
  { "posttrain", ABOVE },
  { "decide", ABOVE },
  { "import/topology", "base vocabulary engine hardware" },
  { "import/shell", "base" },
  { "import/job", "base vocabulary hardware model scenario strategy driver import/shell" },
  { "import/trace", "base vocabulary" },
  { "import/log", "base vocabulary engine hardware model cost/kernel cost/collective replay" },
  { "evidence", ABOVE },
  { "calibrate", ABOVE },
  { "report", ABOVE },
  { "api", ABOVE },
  { "cli", ABOVE },
  { "bench", "" },
};

static const LayerRule *
rule_find (const char *layer)
{
  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if (g_str_equal (rules[i].layer, layer))
      return &rules[i];
  return NULL;
}

static gboolean
rule_allows (const LayerRule *rule, const char *target)
{
  g_auto (GStrv) words = g_strsplit (rule->includes, " ", -1);

  if (g_str_equal (rule->includes, ABOVE))
    return rule_find (target) <= rule;
  return g_str_equal (rule->layer, target) || g_strv_contains ((const char *const *) words, target);
}

/* The layer of PATH below src/, newly allocated; NULL: there is none. */
static char *
layer_of (const char *path)
{
  g_auto (GStrv)   parts = g_strsplit (path, "/", 3);
  g_autofree char *room = NULL;

  if (parts[0] == NULL || parts[1] == NULL)
    return NULL;
  room = g_strdup_printf ("%s/%s", parts[0], parts[1]);
  if (rule_find (room) != NULL)
    return g_steal_pointer (&room);
  return rule_find (parts[0]) != NULL ? g_strdup (parts[0]) : NULL;
}

/*
 * Text between the quotes of an #include line, or NULL for any other line (system headers among
 * them).
 */
static char *
include_of_line (const char *line)
{
  const char *p = line + strspn (line, " \t");
  const char *end;

  if (*p != '#')
    return NULL;
  p++;
  p += strspn (p, " \t");
  if (!g_str_has_prefix (p, "include"))
    return NULL;
  p += strlen ("include");
  p += strspn (p, " \t");
  if (*p != '"' || (end = strchr (p + 1, '"')) == NULL)
    return NULL;
  return g_strndup (p + 1, end - p - 1);
}

/* What is wrong with LINE in a file of LAYER, newly allocated, or NULL. */
static char *
line_fault (const char *layer, const char *line)
{
  const LayerRule *rule = rule_find (layer);
  g_autofree char *include = include_of_line (line);
  g_autofree char *target = NULL;
  const char      *slash;

  if (include == NULL)
    return NULL;
  if (rule == NULL)
    return g_strdup_printf ("folder '%s' is no layer", layer);
  slash = strchr (include, '/');
  if (slash == NULL) /* no folder: only what is generated at the include path's root */
    return g_str_equal (include, "shardsim-config.h")
               ? NULL
               : g_strdup_printf ("'%s' names no layer", include);
  target = layer_of (include);
  if (target == NULL)
    return g_strdup_printf ("'%.*s' is no layer", (int) (slash - include), include);
  if (!rule_allows (rule, target))
    return g_strdup_printf ("'%s' may not include '%s'", layer, target);
  return NULL;
}

typedef struct
{
  guint n_files;
  guint n_includes;
  guint n_faults;
} Tally;

static void
check_file (const char *layer, const char *path, Tally *tally)
{
  g_autofree char   *text = NULL;
  g_auto (GStrv)     lines = NULL;
  g_autoptr (GError) error = NULL;

  if (!g_file_get_contents (path, &text, NULL, &error))
    ck_abort_msg ("%s", error->message);
  tally->n_files++;
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autofree char *include = include_of_line (lines[i]);
      g_autofree char *fault = line_fault (layer, lines[i]);

      tally->n_includes += include != NULL;
      if (fault == NULL)
        continue;
      tally->n_faults++;
      fprintf (stderr, "%s:%u: %s\n", path, i + 1, fault);
    }
}

/* Every *.c and *.h below ROOT/BELOW. */
static void
check_folder (const char *root, const char *below, Tally *tally)
{
  g_autofree char   *path = g_build_filename (root, below, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GDir)   dir = g_dir_open (path, 0, &error);
  const char        *name;

  if (dir == NULL)
    ck_abort_msg ("%s", error->message);
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (below, name, NULL);
      g_autofree char *file = g_build_filename (root, child, NULL);
      g_autofree char *layer = layer_of (child);

      if (g_file_test (file, G_FILE_TEST_IS_DIR))
        check_folder (root, child, tally);
      else if (g_str_has_suffix (name, ".c") || g_str_has_suffix (name, ".h"))
        check_file (layer != NULL ? layer : below, file, tally);
    }
}

START_TEST (test_source_tree)
{
  const char      *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  g_autofree char *src = NULL;
  Tally            tally = { 0 };

  ck_assert_ptr_nonnull (root);
  src = g_build_filename (root, "src", NULL);
  check_folder (src, "", &tally);
  fprintf (stderr, "%u files, %u includes of the project\n", tally.n_files, tally.n_includes);
  ck_assert_uint_gt (tally.n_files, 0);
  ck_assert_uint_gt (tally.n_includes, 0);
  ck_assert_uint_eq (tally.n_faults, 0);
}
END_TEST

static void
assert_fault (const char *layer, const char *line, const char *expected)
{
  g_autofree char *fault = line_fault (layer, line);

  if (expected == NULL)
    ck_assert_ptr_null (fault);
  else
    ck_assert_pstr_eq (fault, expected);
}

START_TEST (test_faults_are_caught)
{
  assert_fault ("base", "#include \"engine/engine.h\"", "'base' may not include 'engine'");
  assert_fault ("engine", "  #  include \"hardware/cluster/cluster.h\" /* why */",
                "'engine' may not include 'hardware'");
  assert_fault ("strategy", "#include \"engine/engine.h\"", "'strategy' may not include 'engine'");
  assert_fault ("schedule", "#include \"driver/policy/strategy.h\"",
                "'schedule' may not include 'driver'");
  assert_fault ("decide", "#include \"report/text.h\"", "'decide' may not include 'report'");
  assert_fault ("cost/collective", "#include \"cost/kernel/kernel.h\"",
                "'cost/collective' may not include 'cost/kernel'");
  assert_fault ("bench", "#include \"base/config/units.h\"", "'bench' may not include 'base'");
  assert_fault ("cli", "#include \"bench/bench.h\"", "'cli' may not include 'bench'");
  assert_fault ("base", "#include \"units.h\"", "'units.h' names no layer");
  assert_fault ("base", "#include \"misc/units.h\"", "'misc' is no layer");
  assert_fault ("misc", "#include \"base/config/units.h\"", "folder 'misc' is no layer");
}
END_TEST

START_TEST (test_permitted_lines_pass)
{
  assert_fault ("base", "#include \"base/config/units.h\"", NULL);
  assert_fault ("cost/kernel", "#include \"model/step/workload.h\"", NULL);
  assert_fault ("replay", "#include \"strategy/registry.h\"", NULL);
  assert_fault ("base", "#include <glib.h>", NULL);
  assert_fault ("base", "#include \"shardsim-config.h\"", NULL);
  assert_fault ("base", "static const char *text = \"engine/engine.h\";", NULL);
}
END_TEST

/* The walk itself must report: a folder with one bad file gives one fault. */
START_TEST (test_bad_file_is_caught)
{
  g_autofree char *root = g_dir_make_tmp ("shardsim-layers-XXXXXX", NULL);
  g_autofree char *folder = g_build_filename (root, "engine", "deep", NULL);
  g_autofree char *parent = g_build_filename (root, "engine", NULL);
  g_autofree char *file = g_build_filename (folder, "bad.c", NULL);
  Tally            tally = { 0 };

  ck_assert_int_eq (g_mkdir_with_parents (folder, 0700), 0);
  ck_assert (g_file_set_contents (
      file, "#include \"base/config/units.h\"\n#include \"report/text.h\"\n", -1, NULL));
  check_folder (root, "", &tally);
  remove (file);
  remove (folder);
  remove (parent);
  remove (root);
  ck_assert_uint_eq (tally.n_files, 1);
  ck_assert_uint_eq (tally.n_includes, 2);
  ck_assert_uint_eq (tally.n_faults, 1);
}
END_TEST

/* ---- calls ----------------------------------------------------------------------------------- */

/* TEXT without comments, strings and includes; newly allocated. */
static char *
bare_code (const char *text)
{
  g_autoptr (GRegex) regex = g_regex_new ("/\\*.*?\\*/|\"(?:\\\\.|[^\"\\\\\\n])*\"|^#[^\\n]*",
                                          G_REGEX_DOTALL | G_REGEX_MULTILINE, 0, NULL);

  return g_regex_replace_literal (regex, text, -1, 0, "", 0, NULL);
}

/* What a file of a layer is shown to, with its bare code. */
typedef void (*FileCheck) (const char *layer, const char *path, const char *code, gpointer user);

static void
for_each_file (const char *src, const char *below, const char *suffix, FileCheck check,
               gpointer user)
{
  g_autofree char *folder = g_build_filename (src, below, NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char      *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (below, name, NULL);
      g_autofree char *path = g_build_filename (src, child, NULL);
      g_autofree char *layer = layer_of (child), *text = NULL, *code = NULL;

      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        for_each_file (src, child, suffix, check, user);
      if (layer == NULL || !g_str_has_suffix (name, suffix))
        continue;
      ck_assert (g_file_get_contents (path, &text, NULL, NULL));
      code = bare_code (text);
      check (rule_find (layer)->layer, path, code, user);
    }
}

/* Calls ON_MATCH with every text of group 1 of PATTERN in CODE. */
static void
for_each_match (const char *pattern, const char                             *code,
                void (*on_match) (const char *name, gpointer user), gpointer user)
{
  g_autoptr (GRegex)     regex = g_regex_new (pattern, G_REGEX_MULTILINE, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  for (g_regex_match (regex, code, 0, &match); g_match_info_matches (match);
       g_match_info_next (match, NULL))
    {
      g_autofree char *name = g_match_info_fetch (match, 1);

      on_match (name, user);
    }
}

typedef struct
{
  GHashTable *owners; /* name of a function -> its layer; "" where several declare one */
  GHashTable *own;    /* what the current file defines itself */
  const char *layer, *path;
  guint       n_calls, n_faults;
} Calls;

static void
note_function (const char *name, gpointer user)
{
  Calls      *self = user;
  const char *owner = g_hash_table_lookup (self->owners, name);
  gboolean    shared = owner != NULL && !g_str_equal (owner, self->layer);

  g_hash_table_insert (self->owners, g_strdup (name), (gpointer) (shared ? "" : self->layer));
}

static void
note_call (const char *name, gpointer user)
{
  Calls      *self = user;
  const char *owner = g_hash_table_lookup (self->owners, name);

  if (owner == NULL || *owner == '\0' || g_hash_table_contains (self->own, name))
    return;
  self->n_calls++;
  if (rule_allows (rule_find (self->layer), owner))
    return;
  self->n_faults++;
  fprintf (stderr, "%s: '%s' may not call '%s' of '%s'\n", self->path, self->layer, name, owner);
}

static void
read_declarations (const char *layer, const char *path, const char *code, gpointer user)
{
  Calls *self = user;

  (void) path;
  self->layer = layer;
  for_each_match ("^\\w[\\w \\*]*?[ \\*]([a-z]\\w*_\\w+) \\(", code, note_function, self);
}

static void
note_definition (const char *name, gpointer user)
{
  g_hash_table_add (((Calls *) user)->own, g_strdup (name));
}

static void
read_calls (const char *layer, const char *path, const char *code, gpointer user)
{
  Calls *self = user;

  self->layer = layer;
  self->path = path;
  g_hash_table_remove_all (self->own);
  for_each_match ("^([a-z]\\w*) \\(", code, note_definition, self);
  for_each_match ("(?<![\\w.>])([a-z]\\w*_\\w+) \\(", code, note_call, self);
}

static Calls
check_calls (const char *src)
{
  Calls calls = { .owners = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                  .own = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };

  for_each_file (src, "", ".h", read_declarations, &calls);
  for_each_file (src, "", ".c", read_calls, &calls);
  for_each_file (src, "", ".h", read_calls, &calls);
  g_hash_table_unref (calls.owners);
  g_hash_table_unref (calls.own);
  return calls;
}

START_TEST (test_calls)
{
  g_autofree char *src = g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "src", NULL);
  Calls            calls = check_calls (src);

  fprintf (stderr, "%u calls of the project's functions\n", calls.n_calls);
  ck_assert_uint_gt (calls.n_calls, 1000);
  ck_assert_uint_eq (calls.n_faults, 0);
}
END_TEST

/* A strategy that calls the engine without its header; comments and strings are no calls. */
START_TEST (test_bad_call_is_caught)
{
  static const struct
  {
    const char *folder, *file, *text;
  } files[] = {
    { "engine", "engine/e.h", "void engine_go (int n);\n" },
    { "strategy", "strategy/s.c", "/* engine_go (1) */ f (\"engine_go (2)\"); engine_go (3);\n" },
    { "replay", "replay/r.c", "  engine_go (4);\n" },
  };
  g_autofree char *root = g_dir_make_tmp ("shardsim-layers-XXXXXX", NULL);
  Calls            calls;

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *folder = g_build_filename (root, files[i].folder, NULL);
      g_autofree char *path = g_build_filename (root, files[i].file, NULL);

      ck_assert_int_eq (g_mkdir_with_parents (folder, 0700), 0);
      ck_assert (g_file_set_contents (path, files[i].text, -1, NULL));
    }
  calls = check_calls (root);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *folder = g_build_filename (root, files[i].folder, NULL);
      g_autofree char *path = g_build_filename (root, files[i].file, NULL);

      remove (path);
      remove (folder);
    }
  remove (root);
  ck_assert_uint_eq (calls.n_calls, 3); /* its declaration, which reads as one, among them */
  ck_assert_uint_eq (calls.n_faults, 1);
}
END_TEST

/* ---- what reaches a terminal ----------------------------------------------------------------- */

/*
 * Text for stderr holds names out of files, so it leaves through stream_say, which makes it
 * printable. These files may write there: the functions of stream.c print printable texts alone,
 * and the progress line holds words of the program's own.
 */
static const struct
{
  const char *file;
  guint       n; /* times */
} writers[] = {
  { "stream.c", 2 },        /* stream_say and stream_report_diags */
  { "progress.c", 4 },      /* draw, its flush, the line's end, and the note of long work */
  { "out-of-memory.c", 1 }, /* there is no memory for stream_say */
};

/* How often TEXT writes to stderr apart from stream_say. Comments do not look like that. */
static guint
count_writes (const char *text)
{
  g_autoptr (GRegex) regex = g_regex_new (
      "[(,?:=]\\s*stderr\\b|\\b(g_printerr|g_message|g_warning|g_critical|perror|psignal)\\s*\\("
      "|\\b(write|dprintf|vdprintf)\\s*\\(\\s*(STDERR_FILENO|2)\\b",
      0, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  guint                  n = 0;

  for (g_regex_match (regex, text, 0, &match); g_match_info_matches (match);
       g_match_info_next (match, NULL))
    n++;
  return n;
}

/* Holds the files below PATH to `writers`; how many of these are there. */
static guint
check_writers (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char      *name;
  guint            n_found = 0;

  ck_assert_ptr_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL), *text = NULL;
      guint            allowed = 0, n;

      if (g_file_test (file, G_FILE_TEST_IS_DIR))
        n_found += check_writers (file);
      if (!g_str_has_suffix (name, ".c") && !g_str_has_suffix (name, ".h"))
        continue;
      ck_assert (g_file_get_contents (file, &text, NULL, NULL));
      for (guint i = 0; i < G_N_ELEMENTS (writers); i++)
        if (g_str_equal (writers[i].file, name))
          allowed = writers[i].n;
      n = count_writes (text);
      n_found += allowed > 0;
      ck_assert_msg (n == allowed, "%s writes to stderr %u times, not %u: use stream_say", file, n,
                     allowed);
    }
  return n_found;
}

START_TEST (test_stderr)
{
  g_autofree char *cli = g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "src", "cli", NULL);

  ck_assert_uint_eq (check_writers (cli), G_N_ELEMENTS (writers));
}
END_TEST

START_TEST (test_writes_are_caught)
{
  static const char *const bad[] = {
    "fprintf (stderr, \"%s\", name);",  "fputs (name,\n       stderr);", "g_printerr (\"x\");",
    "print (asked ? stdout : stderr);", "FILE *out = stderr;",           "perror (name);",
    "write (STDERR_FILENO, name, 1);",  "dprintf (2, \"%s\", name);",
  };
  static const char *const good[] = { "/* prints to stderr */", "stream_say (\"%s\", name);",
                                      "isatty (STDERR_FILENO)", "write (STDOUT_FILENO, a, n);" };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    ck_assert_msg (count_writes (bad[i]) == 1, "%s", bad[i]);
  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    ck_assert_msg (count_writes (good[i]) == 0, "%s", good[i]);
}
END_TEST

SUITE_MAIN (layers)
{
  Suite *suite = suite_create ("layers");
  TCase *tcase = tcase_create ("includes");

  tcase_add_test (tcase, test_source_tree);
  tcase_add_test (tcase, test_faults_are_caught);
  tcase_add_test (tcase, test_permitted_lines_pass);
  tcase_add_test (tcase, test_bad_file_is_caught);
  tcase_add_test (tcase, test_calls);
  tcase_add_test (tcase, test_bad_call_is_caught);
  tcase_add_test (tcase, test_stderr);
  tcase_add_test (tcase, test_writes_are_caught);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
