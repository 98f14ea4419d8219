/*
 * What a rank holds for each parameter under each precision and type of a role, by hand: weights,
 * gradients that live for ever, what the optimizer keeps. One rank, so that nothing is divided or
 * padded. Not asserted: times.
 */
#include <check.h>

#include "strategy/registry.h"

typedef struct
{
  const char *strategy, *precision, *master, *moments;
  guint       bytes; /* a parameter, from the first step on for ever */
} Case;

static const Case cases[] = {
  /* weights 2, gradients 2, copy 4, moments 2 x 4 */
  { "ddp", "bf16-mixed", "auto", "auto", 2 + 2 + 4 + 8 },
  { "ddp", "bf16-mixed", "auto", "bf16", 2 + 2 + 4 + 4 },
  { "ddp", "bf16", "auto", "auto", 2 + 2 + 4 },
  { "ddp", "bf16", "auto", "fp32", 2 + 2 + 8 },
  { "ddp", "bf16", "fp32", "auto", 2 + 2 + 4 + 4 },
  { "ddp", "fp16", "auto", "auto", 2 + 2 + 4 },
  { "ddp", "fp32", "auto", "auto", 4 + 4 + 8 },
  { "zero3", "bf16-mixed", "auto", "auto", 2 + 2 + 4 + 8 },
  { "zero3", "bf16", "auto", "auto", 2 + 2 + 4 },
  /* the optimizer updates the shards; gradients come and go */
  { "fsdp2", "bf16-mixed", "auto", "auto", 4 + 8 },
  { "fsdp2", "bf16-mixed", "auto", "bf16", 4 + 4 },
  { "fsdp2", "bf16", "auto", "auto", 2 + 4 },
  { "fsdp1", "fp16", "auto", "fp32", 2 + 8 },
};

static gint
choice_of (const char *key, const char *value)
{
  TrainingOptions      training = { 0 };
  g_autoptr (DiagList) diags = diag_list_new ();
  const OptionSpec    *spec = option_table_find (training_options, key);

  ck_assert (option_set (spec, &training, value, NULL, diags));
  return G_STRUCT_MEMBER (gint, &training, spec->offset);
}

START_TEST (test_states)
{
  const Case          *c = &cases[_i];
  const Strategy      *strategy = strategy_find (c->strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  const StrategyChoice choice = { strategy, options, NULL };
  ModelOptions         model = { .arch = (char *) "llama" };
  TrainingOptions      training;
  ModelShape           shape;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Workload) workload = NULL;
  g_autoptr (Schedule) schedule = NULL;
  PlanInput            in = { .mesh = { .n_ranks = 1, .ranks_per_node = 1, .world = 1 } };
  PlanTotals           totals = { 0 };
  double               bucket = 0;

  model.n_layers = 2;
  model.d_model = 64;
  model.n_heads = 4;
  model.d_ff = 128;
  model.vocab = 100;
  memset (&training, 0, sizeof training);
  option_table_defaults (training_options, &training);
  training.seq_len = 32;
  training.precision = choice_of ("precision", c->precision);
  training.master_dtype = choice_of ("master_dtype", c->master);
  training.moment_dtype = choice_of ("moment_dtype", c->moments);
  ck_assert (model_resolve (&model, NULL, NULL, &shape, NULL, diags));
  in.workload = workload = workload_new (&shape, &training);
  option_table_defaults (strategy->options, options);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_ptr_nonnull (schedule);
  schedule_totals (schedule, 0, &totals);
  /* DeepSpeed's bucket holds all gradients; all tensors are small, and whole beside the shards */
  if (g_str_equal (c->strategy, "zero3"))
    bucket = 2 + 2;
  ck_assert_double_eq_tol (totals.states / (double) workload_n_parameters (workload),
                           c->bytes + bucket, 1e-9);
  option_table_clear (strategy->options, options);
  option_table_clear (training_options, &training);
  model_shape_clear (&shape);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("precision");
  TCase   *tcase = tcase_create ("all");
  SRunner *runner = srunner_create (suite);
  int      failed;

  tcase_add_loop_test (tcase, test_states, 0, G_N_ELEMENTS (cases));
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
