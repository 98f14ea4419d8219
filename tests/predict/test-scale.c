/*
 * What a prediction costs grows with the model and the cluster, not with their squares: 16 times
 * the layers, or GPUs, take less than 64 times the processor time (16 times is linear, 256
 * quadratic; caches alone make twice of it on a busy machine). Both are timed in one run, of this
 * thread alone, and the least of some repetitions counts. Not asserted: any time by itself.
 */
#include <check.h>
#include <stdio.h>
#include <time.h>

#include "../suite.h"
#include "predict/prediction.h"

#define REPETITIONS 5
#define MOST_RATIO  64.0

static double
processor_seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

typedef struct
{
  const char *name, *strategy, *layers[2],
      *nodes[2]; /* the second of either: 16 times the first, or the same */
} Case;

static const Case cases[] = {
  { "layers, replicated", "zero1", { "200", "3200" }, { "2", "2" } },
  { "layers, sharded", "fsdp2", { "125", "2000" }, { "2", "2" } },
  { "GPUs, groups inside nodes", "hsdp", { "2", "2" }, { "256", "4096" } },
  { "GPUs, one group", "fsdp2", { "2", "2" }, { "256", "4096" } },
};

static double
time_once (const Case *of, guint size)
{
  const ScenarioOverride overrides[] = {
    { "cluster.node", "dgx-h100", "test" }, { "cluster.nodes", of->nodes[size], "test" },
    { "model.arch", "llama", "test" },      { "model.n_layers", of->layers[size], "test" },
    { "model.d_model", "1024", "test" },    { "model.n_heads", "8", "test" },
    { "model.d_ff", "4096", "test" },       { "model.vocab", "32000", "test" },
    { "training.seq_len", "2048", "test" }, { "strategy.name", of->strategy, "test" },
  };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GError)    error = NULL;
  g_autoptr (GPtrArray) all =
      scenario_load (NULL, NULL, overrides, G_N_ELEMENTS (overrides), diags);
  PredictOptions options = { 0 };
  Prediction    *prediction;
  double         start = processor_seconds (), seconds;

  ck_assert_ptr_nonnull (all);
  prediction = predict (g_ptr_array_index (all, 0), &options, diags, &error);
  seconds = processor_seconds () - start;
  ck_assert_ptr_nonnull (prediction);
  prediction_free (prediction);
  return seconds;
}

START_TEST (test_nearly_linear)
{
  const Case *of = &cases[_i];
  double      least[2] = { G_MAXDOUBLE, G_MAXDOUBLE };

  for (guint i = 0; i < REPETITIONS; i++)
    {
      for (guint size = 0; size < 2; size++)
        least[size] = MIN (least[size], time_once (of, size));
      if (i > 0 && least[1] < MOST_RATIO / 2 * least[0])
        break; /* plain enough */
    }
  fprintf (stderr, "%s: %.3f s, %.3f s\n", of->name, least[0], least[1]);
  ck_assert_msg (least[1] < MOST_RATIO * least[0], "%s: %.3f s and, 16 times as many, %.3f s",
                 of->name, least[0], least[1]);
}
END_TEST

SUITE_MAIN (scale)
{
  Suite *suite = suite_create ("scale");
  TCase *tcase = tcase_create ("scale");

  tcase_add_loop_test (tcase, test_nearly_linear, 0, G_N_ELEMENTS (cases));
  tcase_set_timeout (tcase, 280);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
