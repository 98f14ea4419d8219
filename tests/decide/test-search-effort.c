/*
 * Whether a search looks long enough: of ten questions, each with the tensor ranks, the
 * micro-batch, the checkpointing and some with the context ranks or the stages of a strategy open,
 * what it finds is at most 2 % slower than with ten times the effort. Four of them end at their
 * number of simulations, one of these with ten times of it, too; the bounds of the others prove
 * their answers before. Not asserted: the same of large models and clusters.
 */
#include <check.h>

#include "../suite.h"
#include "decide/search/search.h"

#define WITHIN 1.02

/* `cut`: the usual number of simulations is too few to try or rule out all. */
static const struct
{
  const char *cluster, *strategy, *layers, *width, *seq_len, *batch;
  const char *context, *stages; /* NULL: open */
  gboolean    cut;
} questions[] = {
  { "1 x dgx-h100", "fsdp2", "8", "1024", "2048", "64", "1", "1", FALSE },
  { "1 x dgx-h100", "zero1", "8", "2048", "4096", "32", NULL, "1", FALSE },
  { "4 x dgx-a100", "zero3", "4", "1024", "1024", "128", NULL, NULL, TRUE },
  { "1 x dgx-a100", "zero2", "8", "2048", "2048", "64", NULL, "1", FALSE },
  { "2 x dgx-h100", "hsdp", "4", "4096", "4096", "64", "1", NULL, FALSE },
  { "2 x dgx-h100", "zero1", "8", "4096", "8192", "64", NULL, "1", FALSE },
  { "4 x a40x8-nvlink-pairs", "fsdp1", "4", "2048", "4096", "128", NULL, "1", FALSE },
  { "2 x a40x8-nvlink-pairs", "zero1", "8", "1024", "2048", "64", "1", "1", TRUE },
  { "4 x a40x8-nvlink-pairs", "hsdp", "4", "2048", "2048", "64", NULL, NULL, TRUE },
  { "4 x a40x8-nvlink-pairs", "zero2", "4", "1024", "1024", "128", NULL, "1", TRUE },
};

/* Seconds a step of the fastest of question I. */
static double
fastest_of (guint i, double effort)
{
  ScenarioOverride list[12] = {
    { "cluster.name", questions[i].cluster, "test" },
    { "strategy.name", questions[i].strategy, "test" },
    { "model.arch", "llama", "test" },
    { "model.n_layers", questions[i].layers, "test" },
    { "model.d_model", questions[i].width, "test" },
    { "model.n_heads", "16", "test" },
    { "model.d_ff", "5632", "test" },
    { "model.vocab", "32000", "test" },
    { "training.seq_len", questions[i].seq_len, "test" },
    { "training.global_batch", questions[i].batch, "test" },
  };
  const SearchOptions      wanted = { .n_threads = 2,
                                      .refine = TRUE,
                                      .within = WITHIN - 1,
                                      .effort = effort,
                                      .max_simulated = (guint) (300 * effort) };
  PredictOptions           predict = { .files = input_files_new () };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GPtrArray)    all = NULL;
  g_autoptr (SearchResult) result = NULL;
  guint                    n = 10;

  if (questions[i].context != NULL)
    list[n++] = (ScenarioOverride){ "mesh.cp", questions[i].context, "test" };
  if (questions[i].stages != NULL)
    list[n++] = (ScenarioOverride){ "mesh.pp", questions[i].stages, "test" };
  all = scenario_load_open (NULL, NULL, list, n, diags);
  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  result =
      search_run (g_ptr_array_index (all, 0), NULL, NULL, 0, FALSE, &wanted, &predict, diags, NULL);
  ck_assert_msg (result != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_gt (result->found->len, 0);
  input_files_free (predict.files);
  g_printerr ("question %u: effort %g, %u simulated\n", i, effort, result->n_simulated);
  if (effort == 1)
    ck_assert_int_eq (questions[i].cut, result->n_open > result->n_alike);
  return ((const SearchFound *) g_ptr_array_index (result->found, 0))->prediction->step_time_s;
}

START_TEST (test_ten_times_the_effort)
{
  const double usual = fastest_of (_i, 1), longest = fastest_of (_i, 10);

  ck_assert_msg (usual <= WITHIN * longest, "%g s a step, and %g s with ten times the effort",
                 usual, longest);
}
END_TEST

SUITE_MAIN (search_effort)
{
  Suite *suite = suite_create ("search-effort");
  TCase *tcase = tcase_create ("effort");

  tcase_set_timeout (tcase, 300);
  tcase_add_loop_test (tcase, test_ten_times_the_effort, 0, G_N_ELEMENTS (questions));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
