/*
 * What the tests of the cluster layer share: the round-number profiles of
 * tests/hardware/hwprofiles, clusters from text.
 */
#pragma once

#include <check.h>
#include <string.h>

#include "../suite.h"
#include "hardware/cluster/cluster.h"

#ifndef GOLDEN_FOLDER
#define GOLDEN_FOLDER "tests/hardware/golden"
#endif

/* RELATIVE to the source tree; newly allocated. */
static inline char *
source_file (const char *relative)
{
  const char *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  return g_build_filename (root != NULL ? root : ".", relative, NULL);
}

/* The profiles made up for tests. */
static inline ProfileSet *
test_profiles (void)
{
  g_autofree char *dir = source_file ("tests/hardware/hwprofiles");
  return profile_set_new (dir);
}

/* A cluster from "key=value;key=value", or NULL after diagnostics. */
static inline Cluster *
try_cluster (ProfileSet *profiles, const char *text, DiagList *diags)
{
  ClusterOptions options = { 0 };
  g_auto (GStrv) settings = g_strsplit (text, ";", -1);
  gboolean       ok = TRUE;
  option_table_defaults (cluster_options, &options);
  for (guint i = 0; settings[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (settings[i], "=", 2);
      ok &= option_set_key (cluster_options, &options, pair[0], pair[1], NULL, diags);
    }
  Cluster *cluster = ok ? cluster_new (&options, profiles, NULL, diags) : NULL;
  option_table_clear (cluster_options, &options);
  return cluster;
}

static inline Cluster *
make_cluster (ProfileSet *profiles, const char *text)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Cluster             *cluster = try_cluster (profiles, text, diags);
  g_autofree char     *said = diag_list_format (diags, FALSE);
  ck_assert_msg (cluster != NULL, "'%s': %s", text, said);
  ck_assert_str_eq (said, "");
  return cluster;
}

/* What DIAGS print, with paths relative to tests/hardware. Newly allocated. */
static inline char *
diag_text (const DiagList *diags)
{
  g_autofree char *text = diag_list_format (diags, FALSE);
  g_autofree char *root = source_file ("tests/hardware/");
  g_auto (GStrv)   parts = g_strsplit (text, root, -1);
  return g_strjoinv ("", parts);
}

/* Compares with GOLDEN_FOLDER/NAME; UPDATE_GOLDEN=1 rewrites it. */
static inline void
assert_golden (const char *name, const char *text)
{
  g_autofree char *relative = g_build_filename (GOLDEN_FOLDER, name, NULL);
  g_autofree char *file = source_file (relative);
  g_autofree char *expected = NULL;
  if (g_getenv ("UPDATE_GOLDEN") != NULL)
    ck_assert (g_file_set_contents (file, text, -1, NULL));
  ck_assert_msg (g_file_get_contents (file, &expected, NULL, NULL), "no file '%s'", file);
  ck_assert_str_eq (text, expected);
}

/* Runs one suite of one case; the program's exit status. */
static inline int
run_case (const char *name, TCase *tcase)
{
  Suite *suite = suite_create (name);

  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
