/*
 * The element type that gradients are reduced in, worked by hand: what a step sends where it is not
 * the type of the computation.
 *
 * Asserted, of every strategy that reduces gradients: bytes of reductions = parameters x bytes of
 * `reduce_dtype`, and gathers know nothing of it. The model's tensors divide by the four ranks, so
 * nothing is padded; nothing here calls what the strategies call. Not asserted: when the reductions
 * run, and what their buffers take.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "predict/prediction.h"

/* llama: table, head and last norm; of each block two norms, four projections, three of the MLP. */
#define D_MODEL    512
#define D_FF       1024
#define VOCAB      1024
#define N_LAYERS   2
#define PARAMETERS (2 * VOCAB * D_MODEL + D_MODEL + N_LAYERS * BLOCK)
#define BLOCK      (2 * D_MODEL + 4 * D_MODEL * D_MODEL + 3 * D_MODEL * D_FF)

/* S of a step's reductions over the parameters' elements. */
static const struct
{
  const char *strategy;
  double      reduce_scatter, all_reduce;
} cases[] = {
  { "ddp", 0, 1 },   { "zero1", 0, 1 }, { "fsdp1", 1, 0 },  { "fsdp2", 1, 0 },
  { "zero3", 1, 0 }, { "fcdp", 1, 0 },  { "hsdp", 1, 0.5 }, /* a half on each GPU of a node */
};

static const struct
{
  const char *precision, *reduce_dtype;
  guint       bytes;
} types[] = {
  { "bf16-mixed", "auto", 2 }, { "bf16-mixed", "bf16", 2 }, { "bf16-mixed", "fp32", 4 },
  { "fp16-mixed", "fp32", 4 }, { "fp32", "bf16", 2 },       { "fp32", "auto", 4 },
};

static Prediction *
predict_two_nodes (const char *strategy, const char *precision, const char *reduce_dtype)
{
  const ScenarioOverride overrides[] = {
    { "cluster.nodes", "2", "test" },
    { "cluster.gpus_per_node", "2", "test" },
    { "cluster.gpu", "a100-sxm-80", "test" },
    { "cluster.intra", "nvlink3-switch", "test" },
    { "cluster.nic", "ib-hdr-200", "test" },
    { "cluster.nics", "2", "test" },
    { "model.arch", "llama", "test" },
    { "model.n_layers", G_STRINGIFY (N_LAYERS), "test" },
    { "model.d_model", G_STRINGIFY (D_MODEL), "test" },
    { "model.d_ff", G_STRINGIFY (D_FF), "test" },
    { "model.vocab", G_STRINGIFY (VOCAB), "test" },
    { "model.n_heads", "8", "test" },
    { "training.seq_len", "128", "test" },
    { "training.micro_batch", "1", "test" },
    { "training.clip_gradients", "false", "test" },
    { "training.precision", precision, "test" },
    { "training.reduce_dtype", reduce_dtype, "test" },
    { "strategy.name", strategy, "test" },
  };
  const PredictOptions  options = { .replay = { 0 } };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GError)    error = NULL;
  g_autoptr (GPtrArray) scenarios =
      scenario_load (NULL, NULL, overrides, G_N_ELEMENTS (overrides), diags);
  Prediction *p;

  ck_assert_msg (scenarios != NULL, "%s", diag_list_first_message (diags));
  p = predict (g_ptr_array_index (scenarios, 0), &options, diags, &error);
  ck_assert_ptr_nonnull (p);
  return p;
}

/* S of a step of all communicators. */
static double
bytes_of (const Prediction *p, const char *collective)
{
  double sum = 0;

  for (guint i = 0; i < p->traffic->len; i++)
    if (strcmp (g_array_index (p->traffic, TrafficUse, i).collective, collective) == 0)
      sum += g_array_index (p->traffic, TrafficUse, i).bytes;
  return sum;
}

START_TEST (test_reduced_bytes)
{
  for (guint t = 0; t < G_N_ELEMENTS (types); t++)
    {
      g_autoptr (Prediction) p =
          predict_two_nodes (cases[_i].strategy, types[t].precision, types[t].reduce_dtype);
      const double bytes = (double) PARAMETERS * types[t].bytes;

      ck_assert_msg (bytes_of (p, "reduce_scatter") == cases[_i].reduce_scatter * bytes,
                     "%s, %s, %s: reduce-scatters of %g bytes", cases[_i].strategy,
                     types[t].precision, types[t].reduce_dtype, bytes_of (p, "reduce_scatter"));
      ck_assert_msg (bytes_of (p, "all_reduce") == cases[_i].all_reduce * bytes,
                     "%s, %s, %s: all-reduces of %g bytes", cases[_i].strategy, types[t].precision,
                     types[t].reduce_dtype, bytes_of (p, "all_reduce"));
    }
}
END_TEST

/* Parameters are gathered in the type of the computation, whatever gradients are reduced in. */
START_TEST (test_gathered_bytes)
{
  g_autoptr (Prediction) as_computed = predict_two_nodes (cases[_i].strategy, "bf16-mixed", "auto");
  g_autoptr (Prediction) wide = predict_two_nodes (cases[_i].strategy, "bf16-mixed", "fp32");

  ck_assert_double_eq (bytes_of (as_computed, "all_gather"), bytes_of (wide, "all_gather"));
}
END_TEST

/* Four bytes an element cross the cards of two nodes in more time than two. */
START_TEST (test_wide_reductions_take_longer)
{
  g_autoptr (Prediction) narrow = predict_two_nodes (cases[_i].strategy, "bf16-mixed", "bf16");
  g_autoptr (Prediction) wide = predict_two_nodes (cases[_i].strategy, "bf16-mixed", "fp32");

  ck_assert_double_gt (wide->step_time_s, narrow->step_time_s);
}
END_TEST

SUITE_MAIN (reduce_dtype)
{
  Suite *suite = suite_create ("reduce-dtype");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, test_reduced_bytes, 0, G_N_ELEMENTS (cases));
  tcase_add_loop_test (tcase, test_gathered_bytes, 0, G_N_ELEMENTS (cases));
  tcase_add_loop_test (tcase, test_wide_reductions_take_longer, 0, G_N_ELEMENTS (cases));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
