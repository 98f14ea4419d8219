/*
 * Files are read once, however many predictions ask for them: the model, the profiles, the cluster
 * and the table of lengths are deleted after the first prediction, and all others, in threads, say
 * what they would say with the files still there. A mistake in a file is said for each scenario.
 * Not asserted: how often a scenario's own file is read.
 */
#include <check.h>
#include <glib/gstdio.h>

#include "../suite.h"
#include "base/parallel.h"
#include "predict/prediction.h"

#define N_SCENARIOS 16
#define N_THREADS   4

static const char *const folders[] = { "node", "cluster", "link", NULL };

static const struct
{
  const char *name, *text;
} inputs[] = {
  { "model.json", "{ \"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 200, \"n_head\": 2, "
                  "\"n_positions\": 100, \"vocab_size\": 500 }" },
  { "lengths.csv", "length\n100\n90\n80\n70\n60\n50\n40\n30\n" },
  { "node/own.yaml", "extends: hand-pair\n" },
  { "cluster/two.yaml", "title: two of them\ngroups:\n  - { nodes: 2, node: own }\n" },
};

typedef struct
{
  char          *folder, *profiles;
  GPtrArray     *scenarios;
  PredictOptions options;
  char          *steps[N_SCENARIOS];
} Fixture;

static char *
path_of (const Fixture *self, const char *name)
{
  return g_build_filename (self->folder, name, NULL);
}

static void
write_inputs (const Fixture *self)
{
  for (guint i = 0; folders[i] != NULL; i++)
    {
      g_autofree char *path = path_of (self, folders[i]);

      ck_assert_int_eq (g_mkdir_with_parents (path, 0700), 0);
    }
  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++)
    {
      g_autofree char *path = path_of (self, inputs[i].name);

      ck_assert (g_file_set_contents (path, inputs[i].text, -1, NULL));
    }
}

static void
remove_input (const Fixture *self, const char *name)
{
  g_autofree char *path = path_of (self, name);

  ck_assert_int_eq (g_remove (path), 0);
}

static void
remove_inputs (const Fixture *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (inputs); i++)
    remove_input (self, inputs[i].name);
}

static GPtrArray *
load (const char *cluster, const char *model, const char *lengths, guint i)
{
  static const char *const checkpointing[] = { "none", "full", "layers:1" };
  const ScenarioOverride   list[] = {
      { "cluster.name", cluster, "test" },
      { "model.config", model, "test" },
      { "training.seq_len", "100", "test" },
      { "training.precision", "fp32", "test" },
      { "training.lengths", lengths, "test" },
      { "training.attention", "flash2", "test" },
      { "training.micro_batch", i % 2 == 0 ? "1" : "2", "test" },
      { "training.activation_checkpointing", checkpointing[i % 3], "test" },
      { "strategy.name", i % 4 < 2 ? "fsdp2" : "ddp", "test" },
  };
  g_autoptr (DiagList) diags = diag_list_new ();
  GPtrArray           *all = scenario_load (NULL, NULL, list, G_N_ELEMENTS (list), diags);

  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  return all;
}

static void
fixture_start (Fixture *self)
{
  g_autofree char *model = NULL, *lengths = NULL;

  *self = (Fixture){ .folder = g_dir_make_tmp ("shardsim-files-XXXXXX", NULL) };
  self->profiles = g_strdup_printf ("%s" G_SEARCHPATH_SEPARATOR_S "%s/docs/worked/hwprofiles",
                                    self->folder, g_getenv ("SHARDSIM_SOURCE_ROOT"));
  self->options.profile_dir = self->profiles;
  self->scenarios = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  write_inputs (self);
  model = path_of (self, "model.json");
  lengths = path_of (self, "lengths.csv");
  for (guint i = 0; i < N_SCENARIOS; i++)
    g_ptr_array_add (self->scenarios, load ("two", model, lengths, i));
}

static void
fixture_end (Fixture *self)
{
  for (guint i = 0; folders[i] != NULL; i++)
    {
      g_autofree char *path = path_of (self, folders[i]);

      ck_assert_int_eq (g_rmdir (path), 0);
    }
  ck_assert_int_eq (g_rmdir (self->folder), 0);
  for (guint i = 0; i < N_SCENARIOS; i++)
    g_free (self->steps[i]);
  g_ptr_array_unref (self->scenarios);
  g_free (self->profiles);
  g_free (self->folder);
}

/* What is said of scenario I: a prediction, or why there is none. */
static char *
predict_one (const Fixture *self, guint i)
{
  const GPtrArray       *all = g_ptr_array_index (self->scenarios, i);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  g_autoptr (Prediction) prediction =
      predict (g_ptr_array_index (all, 0), &self->options, diags, &error);

  if (prediction == NULL)
    return diag_list_format (diags, FALSE);
  return g_strdup_printf ("%s %.17g %" G_GUINT64_FORMAT " %s", prediction->cluster,
                          prediction->step_time_s, prediction->hbm.device, prediction->profiles);
}

static void
predict_job (guint i, gpointer user)
{
  Fixture *self = user;

  self->steps[i] = predict_one (self, i);
}

START_TEST (test_read_once)
{
  Fixture                fixture;
  g_autoptr (InputFiles) files = input_files_new ();
  char                  *alone[N_SCENARIOS], *first;
  guint                  n_read;

  fixture_start (&fixture);
  for (guint i = 0; i < N_SCENARIOS; i++)
    {
      alone[i] = predict_one (&fixture, i);
      ck_assert_msg (strstr (alone[i], "error") == NULL, "%s", alone[i]);
    }
  fixture.options.files = files;
  for (guint i = 0; i < 4; i++) /* both sizes of the table, both strategies */
    {
      first = predict_one (&fixture, i);
      ck_assert_str_eq (first, alone[i]);
      g_free (first);
    }
  n_read = input_files_n_read (files);
  remove_inputs (&fixture);
  parallel_run (N_SCENARIOS, N_THREADS, predict_job, &fixture, NULL);
  for (guint i = 0; i < N_SCENARIOS; i++)
    {
      ck_assert_str_eq (fixture.steps[i], alone[i]);
      g_free (alone[i]);
    }
  ck_assert_uint_eq (input_files_n_read (files), n_read);
  fixture_end (&fixture);
}
END_TEST

/* The place and the text in each list, though the file is read for the first one only. */
START_TEST (test_mistakes_are_said_again)
{
  Fixture                fixture;
  g_autoptr (InputFiles) files = input_files_new ();
  g_autofree char       *node = NULL;

  fixture_start (&fixture);
  node = path_of (&fixture, "node/own.yaml");
  ck_assert (g_file_set_contents (node, "extends: hand-pair\ngpus: many\n", -1, NULL));
  fixture.options.files = files;
  parallel_run (N_SCENARIOS, N_THREADS, predict_job, &fixture, NULL);
  ck_assert_ptr_nonnull (strstr (fixture.steps[0], "node/own.yaml:2:7: error: "));
  for (guint i = 1; i < N_SCENARIOS; i++)
    ck_assert_str_eq (fixture.steps[i], fixture.steps[0]);
  remove_inputs (&fixture);
  fixture_end (&fixture);
}
END_TEST

/* What was missing is looked for again. */
START_TEST (test_missing_may_come)
{
  Fixture                fixture;
  g_autoptr (InputFiles) files = input_files_new ();
  g_autofree char       *missing = NULL, *there = NULL;

  fixture_start (&fixture);
  fixture.options.files = files;
  remove_input (&fixture, "cluster/two.yaml");
  missing = predict_one (&fixture, 0);
  ck_assert_ptr_nonnull (strstr (missing, "unknown cluster or node 'two'"));
  write_inputs (&fixture);
  there = predict_one (&fixture, 0);
  ck_assert_msg (strstr (there, "error") == NULL, "%s", there);
  remove_inputs (&fixture);
  fixture_end (&fixture);
}
END_TEST

SUITE_MAIN (input_files)
{
  Suite *suite = suite_create ("input-files");
  TCase *tcase = tcase_create ("input-files");

  tcase_add_test (tcase, test_read_once);
  tcase_add_test (tcase, test_mistakes_are_said_again);
  tcase_add_test (tcase, test_missing_may_come);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
