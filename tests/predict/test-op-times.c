/*
 * How long single ops take, on hardware of round numbers, by arithmetic on a block's bytes: the
 * median is a block's, though embedding and head have ops of the same labels. Not asserted: what
 * concurrent ops cost each other.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "predict/prediction.h"
#include "predict/trace/op-times.h"

#define LAYERS 8
/* elements: biases and two norms are 13 D */
#define BLOCK (12.0 * 512 * 512 + 13.0 * 512)

static Prediction *
predicted (gboolean op_times)
{
  static const ScenarioOverride set[] = {
    { "cluster.node", "hand-pair", "test" }, { "cluster.nodes", "1", "test" },
    { "model.arch", "gpt", "test" },         { "model.n_layers", G_STRINGIFY (LAYERS), "test" },
    { "model.d_model", "512", "test" },      { "model.n_heads", "4", "test" },
    { "model.d_ff", "2048", "test" },        { "model.vocab", "1024", "test" },
    { "training.seq_len", "256", "test" },   { "training.micro_batch", "1", "test" },
    { "strategy.name", "fsdp2", "test" },
  };
  g_autofree char *dir =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", "hwprofiles", NULL);
  const PredictOptions  options = { .profile_dir = dir, .op_times = op_times };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) scenarios = scenario_load (NULL, NULL, set, G_N_ELEMENTS (set), diags);
  Prediction           *self = predict (g_ptr_array_index (scenarios, 0), &options, diags, NULL);

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  return self;
}

static const OpTime *
find (const Prediction *self, const char *label)
{
  for (guint i = 0; i < self->op_times->len; i++)
    if (strcmp (g_array_index (self->op_times, OpTime, i).label, label) == 0)
      return &g_array_index (self->op_times, OpTime, i);
  ck_abort_msg ("no op '%s'", label);
}

/*
 * All layers forward, blocks backward: the head's parameters stay, and gradients of the embedding
 * need no table. A copy reads and writes 2 B an element at 1 TB/s, 0.1 us after its launch; half of
 * what is gathered crosses at 50 GB/s.
 */
START_TEST (test_a_block)
{
  g_autoptr (Prediction) p = predicted (TRUE);
  const OpTime          *out = find (p, "copy_out"), *gather = find (p, "all_gather");
  const double           copied = 4 * BLOCK / 1e12 + 0.1e-6, gathered = BLOCK / 50e9;

  ck_assert_uint_eq (out->n, 2 * LAYERS + 2);
  ck_assert_uint_eq (gather->n, out->n);
  ck_assert_double_ge (out->median_s, copied);
  ck_assert_double_le (out->median_s, 1.15 * copied); /* a gathering may take its part of memory */
  ck_assert_double_ge (gather->median_s, gathered);
  ck_assert_double_le (gather->median_s, gathered + 15e-6); /* and what NCCL's steps take */
}
END_TEST

/* Kernels that may stand for several have no place among them. */
START_TEST (test_no_products)
{
  g_autoptr (Prediction) p = predicted (TRUE), not_asked = predicted (FALSE);

  for (guint i = 0; i < p->op_times->len; i++)
    ck_assert_ptr_null (strstr (g_array_index (p->op_times, OpTime, i).label, "mlp."));
  ck_assert_ptr_null (not_asked->op_times);
}
END_TEST

START_TEST (test_a_copy)
{
  g_autoptr (Prediction) p = predicted (TRUE), copy = prediction_copy (p);
  const OpTime          *time = find (p, "copy_out"), *same = find (copy, "copy_out");

  ck_assert_ptr_ne (time->label, same->label);
  ck_assert_uint_eq (time->n, same->n);
  ck_assert_double_eq (time->median_s, same->median_s);
}
END_TEST

SUITE_MAIN (op_times)
{
  Suite *suite = suite_create ("op-times");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_a_block);
  tcase_add_test (tcase, test_no_products);
  tcase_add_test (tcase, test_a_copy);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
