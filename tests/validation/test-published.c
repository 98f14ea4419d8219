/*
 * Predictions against results that others published. Nothing is fitted to these rows: hardware
 * figures are the shipped profiles'. The bounds are wide because the settings are not all stated;
 * the table of errors goes to stderr.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "analysis/prediction.h"

typedef enum
{
  STEP_SECONDS,
  HARDWARE_TFLOPS, /* recomputation counted, as the source does */
  ALLOCATED_GIB,
} Quantity;

typedef struct
{
  const char *title, *nodes, *micro_batch, *bucket;
  Quantity    quantity;
  double      published, bound; /* largest relative error */
} Row;

/*
 * GPT of 40 layers x 6144 with 32 heads (18B), sequences of 512, fp16, activation checkpointing,
 * V100-32GB in DGX-2 with one IB card.
 */
static const Row rows[] = {
  { "DeepSpeed, ZeRO++ tutorial: ZeRO-3, 64 GPUs, step", "4", "1", "1e7", STEP_SECONDS, 9.9559,
    0.10 },
  { "DeepSpeed, ZeRO++ tutorial: ZeRO-3, 64 GPUs, peak allocated", "4", "1", "1e7", ALLOCATED_GIB,
    8284.7 / 1024, 0.15 },
  { "DeepSpeed, ZeRO++ blog: ZeRO-3, 384 GPUs, 1K tokens a GPU", "24", "2", "5e8", HARDWARE_TFLOPS,
    14, 0.15 },
  { "DeepSpeed, ZeRO++ blog: ZeRO-3, 384 GPUs, 2K tokens a GPU", "24", "4", "5e8", HARDWARE_TFLOPS,
    26, 0.15 },
};

static Prediction *
predict_row (const Row *row)
{
  const ScenarioOverride overrides[] = {
    { "cluster.node", "dgx-2", "test" },
    { "cluster.nodes", row->nodes, "test" },
    { "cluster.nics", "1", "test" },
    { "cluster.nic", "ib-edr-100", "test" },
    { "model.arch", "gpt", "test" },
    { "model.n_layers", "40", "test" },
    { "model.d_model", "6144", "test" },
    { "model.n_heads", "32", "test" },
    { "model.vocab", "50257", "test" },
    { "training.seq_len", "512", "test" },
    { "training.micro_batch", row->micro_batch, "test" },
    { "training.activation_checkpointing", "full", "test" },
    { "training.precision", "fp16-mixed", "test" },
    { "strategy.name", "zero3", "test" },
    { "strategy.reduce_bucket_size", row->bucket, "test" },
  };
  const PredictOptions  options = { .replay = { 0 } };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GError)    error = NULL;
  g_autoptr (GPtrArray) scenarios =
      scenario_load (NULL, NULL, overrides, G_N_ELEMENTS (overrides), diags);

  ck_assert_msg (scenarios != NULL, "%s", diag_list_first_message (diags));
  return predict (g_ptr_array_index (scenarios, 0), &options, diags, &error);
}

START_TEST (test_row)
{
  const Row             *row = &rows[_i];
  g_autoptr (Prediction) p = predict_row (row);
  double                 predicted, error;

  ck_assert_ptr_nonnull (p);
  predicted = row->quantity == STEP_SECONDS      ? p->step_time_s
              : row->quantity == HARDWARE_TFLOPS ? p->hardware_tflops_per_gpu
                                                 : (double) p->hbm.allocated / 1073741824.0;
  error = predicted / row->published - 1;
  fprintf (stderr, "%-64s published %8.3f predicted %8.3f error %+5.1f %%\n", row->title,
           row->published, predicted, 100 * error);
  ck_assert_double_le (fabs (error), row->bound);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("published");
  TCase   *tcase = tcase_create ("all");
  SRunner *runner = srunner_create (suite);
  int      failed;

  tcase_add_loop_test (tcase, test_row, 0, G_N_ELEMENTS (rows));
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
