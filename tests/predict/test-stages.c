/*
 * What --stages says: parameters by arithmetic from the shape, chunks by their layers; pieces of
 * time that add up to the step; the peak and the mean bubble of the stages are those of the whole;
 * the same from few micro-batches as from all. Not asserted: when a stage does what.
 */
#include <check.h>

#include "../suite.h"
#include "predict/trace/stages.h"

#define D     512
#define FF    1024
#define VOCAB 4096
#define BLOCK (4 * D * D + 3 * D * FF + 2 * D) /* q, k, v, output; gate, up, down; two norms */

static Prediction *
predict_it (const char *const (*set)[2], guint n, gboolean extrapolate)
{
  static const char *const always[][2] = {
    { "cluster.node", "dgx-a100" },
    { "cluster.nodes", "1" },
    { "model.arch", "llama" },
    { "model.n_layers", "8" },
    { "model.d_model", G_STRINGIFY (D) },
    { "model.n_heads", "4" },
    { "model.d_ff", G_STRINGIFY (FF) },
    { "model.vocab", G_STRINGIFY (VOCAB) },
    { "training.seq_len", "512" },
    { "strategy.name", "zero1" },
  };
  g_autoptr (GArray)    overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) scenarios = NULL;
  PredictOptions        options = { .stages = TRUE };
  Prediction           *self;

  for (guint i = 0; i < G_N_ELEMENTS (always) + n; i++)
    {
      const char *const *pair =
          i < G_N_ELEMENTS (always) ? always[i] : set[i - G_N_ELEMENTS (always)];
      const ScenarioOverride one = { pair[0], pair[1], "test" };

      g_array_append_val (overrides, one);
    }
  scenarios =
      scenario_load (NULL, NULL, (const ScenarioOverride *) overrides->data, overrides->len, diags);
  ck_assert_ptr_nonnull (scenarios);
  ((Scenario *) g_ptr_array_index (scenarios, 0))->replay.extrapolate = extrapolate;
  self = predict (g_ptr_array_index (scenarios, 0), &options, diags, NULL);
  ck_assert_ptr_nonnull (self);
  return self;
}

static const StageUse *
stage_at (const Prediction *p, guint i)
{
  return &g_array_index (p->stages, StageUse, i);
}

/* The stages make the whole: nothing is copied here, so a step is kernels, messages and bubbles. */
static void
assert_whole (const Prediction *p)
{
  double  bubble = 0;
  guint64 peak = 0;

  for (guint i = 0; i < p->stages->len; i++)
    {
      const StageUse *use = stage_at (p, i);

      ck_assert_double_eq_tol (use->busy_s + use->bubble_s + use->exposed_comm_s, p->step_time_s,
                               1e-9 * p->step_time_s);
      ck_assert_double_gt (use->busy_s, 0);
      bubble += use->bubble_s / p->stages->len;
      peak = MAX (peak, use->hbm.device);
    }
  ck_assert_uint_eq (peak, p->hbm.device);
  if (p->stages->len > 1)
    ck_assert_double_eq_tol (bubble, p->bubble_s, 1e-9 * p->step_time_s);
}

START_TEST (test_stages)
{
  static const char *const pipeline[][2] = { { "mesh.pp", "2" },
                                             { "training.grad_accum", "4" },
                                             { "cluster.gpus_per_node", "2" } };
  g_autoptr (Prediction)   p = predict_it (pipeline, G_N_ELEMENTS (pipeline), TRUE);

  ck_assert_uint_eq (p->stages->len, 2);
  ck_assert_str_eq (stage_at (p, 0)->layers, "embedding, blocks 0-3");
  ck_assert_str_eq (stage_at (p, 1)->layers, "blocks 4-7, head");
  ck_assert (stage_at (p, 0)->embedding && !stage_at (p, 0)->head);
  ck_assert (!stage_at (p, 1)->embedding && stage_at (p, 1)->head);
  ck_assert_double_eq (stage_at (p, 0)->n_parameters, 4 * BLOCK + VOCAB * D);
  ck_assert_double_eq (stage_at (p, 1)->n_parameters, 4 * BLOCK + D + VOCAB * D);
  assert_whole (p);
}
END_TEST

START_TEST (test_chunks)
{
  static const char *const interleaved[][2] = { { "mesh.pp", "2" },
                                                { "mesh.vp", "5" },
                                                { "training.grad_accum", "4" },
                                                { "cluster.gpus_per_node", "2" } };
  g_autoptr (Prediction)   p = predict_it (interleaved, G_N_ELEMENTS (interleaved), TRUE);

  /* ten chunks of ten layers: the first is the embedding, the last the head */
  ck_assert_str_eq (stage_at (p, 0)->layers, "embedding, blocks 1 3 5 7");
  ck_assert_str_eq (stage_at (p, 1)->layers, "blocks 0 2 4 6, head");
  ck_assert_uint_eq (stage_at (p, 0)->n_blocks, 4);
  assert_whole (p);
}
END_TEST

/* Two directions: both ends of the model on both ends of the pipeline. */
START_TEST (test_both_ends)
{
  static const char *const both[][2] = { { "mesh.pp", "2" },
                                         { "mesh.pipeline", "dualpipe" },
                                         { "training.grad_accum", "4" },
                                         { "cluster.gpus_per_node", "2" } };
  g_autoptr (Prediction)   p = predict_it (both, G_N_ELEMENTS (both), TRUE);

  ck_assert_str_eq (stage_at (p, 0)->layers, "embedding, blocks 0-3 4-7, head");
  ck_assert_str_eq (stage_at (p, 1)->layers, "embedding, blocks 4-7 0-3, head");
}
END_TEST

/*
 * 1F1B of four stages: what a stage handed on and does not free lies there once for each
 * micro-batch in flight, 4 - s on stage s; the last stage hands nothing on.
 */
START_TEST (test_outputs)
{
  static const char *const sets[2][4][2] = {
    { { "mesh.pp", "4" },
      { "training.grad_accum", "8" },
      { "cluster.gpus_per_node", "4" },
      { "mesh.deallocate_pipeline_outputs", "true" } },
    { { "mesh.pp", "4" },
      { "training.grad_accum", "8" },
      { "cluster.gpus_per_node", "4" },
      { "mesh.deallocate_pipeline_outputs", "false" } },
  };
  g_autoptr (Prediction) freed = predict_it (sets[0], 4, TRUE);
  g_autoptr (Prediction) kept = predict_it (sets[1], 4, TRUE);
  const guint64          output = 512 * D * 2; /* tokens, width, bytes */

  for (guint s = 0; s < 4; s++)
    ck_assert_uint_eq (stage_at (kept, s)->hbm.allocated - stage_at (freed, s)->hbm.allocated,
                       s < 3 ? (4 - s) * output : 0);
}
END_TEST

START_TEST (test_no_pipeline)
{
  static const char *const ranks[][2] = { { "mesh.tp", "2" }, { "cluster.gpus_per_node", "4" } };
  g_autoptr (Prediction)   p = predict_it (ranks, G_N_ELEMENTS (ranks), TRUE);

  ck_assert_uint_eq (p->stages->len, 1);
  ck_assert_str_eq (stage_at (p, 0)->layers, "embedding, blocks 0-7, head");
  /* a tensor rank has half of each matrix, and the norms whole */
  ck_assert_double_eq (stage_at (p, 0)->n_parameters,
                       (8 * (BLOCK - 2 * D) + 2 * VOCAB * D) / 2 + 8 * 2 * D + D);
  assert_whole (p);
}
END_TEST

START_TEST (test_few_micro_batches)
{
  static const char *const many[][2] = { { "mesh.pp", "4" },
                                         { "training.grad_accum", "64" },
                                         { "cluster.gpus_per_node", "4" } };
  g_autoptr (Prediction)   few = predict_it (many, G_N_ELEMENTS (many), TRUE);
  g_autoptr (Prediction)   all = predict_it (many, G_N_ELEMENTS (many), FALSE);
  g_autoptr (Prediction)   copy = prediction_copy (few);

  ck_assert_uint_gt (few->n_replayed, 0);
  ck_assert_uint_eq (all->n_replayed, 0);
  for (guint i = 0; i < 4; i++)
    {
      ck_assert_double_eq_tol (stage_at (few, i)->busy_s, stage_at (all, i)->busy_s,
                               1e-6 * all->step_time_s);
      ck_assert_double_eq_tol (stage_at (few, i)->bubble_s, stage_at (all, i)->bubble_s,
                               1e-2 * all->step_time_s);
      ck_assert_uint_eq (stage_at (few, i)->hbm.allocated, stage_at (all, i)->hbm.allocated);
      ck_assert_str_eq (stage_at (copy, i)->layers, stage_at (few, i)->layers);
    }
}
END_TEST

SUITE_MAIN (stages)
{
  Suite *suite = suite_create ("stages");
  TCase *tcase = tcase_create ("all");

  tcase_set_timeout (tcase, 60);
  tcase_add_test (tcase, test_stages);
  tcase_add_test (tcase, test_chunks);
  tcase_add_test (tcase, test_both_ends);
  tcase_add_test (tcase, test_outputs);
  tcase_add_test (tcase, test_no_pipeline);
  tcase_add_test (tcase, test_few_micro_batches);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
