/*
 * What a rank holds for each parameter under each precision and type of a role, by hand: weights,
 * gradients that live for ever, what the optimizer keeps. One rank, so that nothing is divided or
 * padded. What an update holds for as long as it runs. Not asserted: times.
 */
#include <check.h>

#include "../suite.h"
#include "driver/oracle/expect.h"
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

static void
set_option (const Strategy *strategy, gpointer options, const char *key, const char *value)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert (option_set (option_table_find (strategy->options, key), options, value, NULL, diags));
}

static void
set_training (TrainingOptions *training, const char *precision, const char *master,
              const char *moments)
{
  memset (training, 0, sizeof *training);
  option_table_defaults (training_options, training);
  training->seq_len = 32;
  training->precision = choice_of ("precision", precision);
  training->master_dtype = choice_of ("master_dtype", master);
  training->moment_dtype = choice_of ("moment_dtype", moments);
}

static void
set_shape (ModelShape *shape, const char *arch, DiagList *diags)
{
  ModelOptions model = { .arch = (char *) arch };

  model.n_layers = 2;
  model.d_model = 64;
  model.n_heads = 4;
  model.d_ff = 128;
  model.vocab = 100;
  ck_assert (model_resolve (&model, NULL, NULL, shape, NULL, diags));
}

/* Bytes a parameter that an update allocates, in so many blocks. */
typedef struct
{
  const char *strategy, *precision, *moments, *optimizer, *label;
  gboolean    lists, fused, scaling;
  guint       bytes, blocks;
} Update;

#define DENOMINATORS "denominators of AdamW"
#define GRADIENTS    "gradients for the update"
/* a block's q k v o gate up down and two norms; table, norm, head */
#define TENSORS (2 * 9 + 3)

static const Update updates[] = {
  { "ddp", "bf16-mixed", "auto", "adamw", DENOMINATORS, TRUE, FALSE, FALSE, 4, TENSORS },
  { "ddp", "bf16-mixed", "bf16", "adamw", DENOMINATORS, TRUE, FALSE, FALSE, 2, TENSORS },
  { "fsdp2", "bf16-mixed", "auto", "adamw", DENOMINATORS, TRUE, FALSE, FALSE, 4, TENSORS },
  { "ddp", "bf16-mixed", "auto", "adamw", DENOMINATORS, FALSE, FALSE, FALSE, 0, 0 },
  { "ddp", "bf16-mixed", "auto", "adamw", DENOMINATORS, TRUE, TRUE, FALSE, 0, 0 },
  { "ddp", "bf16-mixed", "auto", "adamw-fused", DENOMINATORS, TRUE, FALSE, FALSE, 0, 0 },
  { "ddp", "bf16-mixed", "auto", "sgd", DENOMINATORS, TRUE, FALSE, FALSE, 0, 0 },
  { "ddp", "fp16-mixed", "auto", "adamw", GRADIENTS, FALSE, FALSE, TRUE, 4, TENSORS },
  { "ddp", "fp16-mixed", "auto", "adamw", GRADIENTS, FALSE, FALSE, FALSE, 0, 0 },
  { "ddp", "bf16-mixed", "auto", "adamw", GRADIENTS, FALSE, FALSE, TRUE, 0, 0 },
  { "fsdp2", "fp16-mixed", "auto", "adamw", GRADIENTS, FALSE, FALSE, TRUE, 0, 0 }, /* fp32 */
};

static void
find_allocated (const Schedule *schedule, const char *label, guint64 *bytes, guint *blocks)
{
  ScheduleItems items = schedule_items (schedule, 0, SECTION_STEADY);

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleBuffer *buffer;

      if (items.items[i].kind != ITEM_ALLOC)
        continue;
      buffer = schedule_buffer_info (schedule, 0, items.items[i].ref);
      if (!g_str_equal (buffer->label, label))
        continue;
      *bytes += buffer->bytes;
      ++*blocks;
    }
}

START_TEST (test_updates)
{
  const Update        *c = &updates[_i];
  const Strategy      *strategy = strategy_find (c->strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  const StrategyChoice choice = { strategy, options, NULL };
  TrainingOptions      training;
  ModelShape           shape;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Workload) workload = NULL;
  g_autoptr (Schedule) schedule = NULL;
  PlanInput            in = { .mesh = { .n_ranks = 1, .ranks_per_node = 1, .world = 1 } };
  guint64              bytes = 0;
  guint                blocks = 0;

  set_training (&training, c->precision, "auto", c->moments);
  training.optimizer = choice_of ("optimizer", c->optimizer);
  training.traits = (FrameworkTraits){ .adam_lists = c->lists,
                                       .fused_adam = c->fused,
                                       .loss_scaling = c->scaling };
  set_shape (&shape, "llama", diags);
  in.workload = workload = workload_new (&shape, &training);
  option_table_defaults (strategy->options, options);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_ptr_nonnull (schedule);
  find_allocated (schedule, c->label, &bytes, &blocks);
  ck_assert_uint_eq (bytes, c->bytes * workload_n_parameters (workload));
  ck_assert_uint_eq (blocks, c->blocks);
  option_table_clear (strategy->options, options);
  option_table_clear (training_options, &training);
  model_shape_clear (&shape);
}
END_TEST

/*
 * ZeRO-3 on two ranks, a GPT whose head reads the table of 100 x 64 again. Nothing stays gathered
 * for a later use: the table is gathered four times a step, or once where it is the whole model's
 * as well. The head's gradient of it is held until the embedding's is there.
 */
START_TEST (test_tied_table)
{
  const Strategy      *strategy = strategy_find ("zero3");
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  const StrategyChoice choice = { strategy, options, NULL };
  PlanInput            in = { .mesh = { .n_ranks = 2, .ranks_per_node = 2, .world = 2 } };
  double               gathered[2];

  option_table_defaults (strategy->options, options);
  for (guint i = 0; i < 2; i++)
    {
      TrainingOptions      training;
      ModelShape           shape;
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (Workload) workload = NULL;
      g_autoptr (Schedule) schedule = NULL;
      g_autofree char     *why = NULL;
      PlanTotals           totals = { 0 }, expected = { 0 };
      guint64              bytes = 0;
      guint                blocks = 0;

      set_training (&training, "bf16-mixed", "auto", "auto");
      training.traits.keeps_table = i == 1;
      set_shape (&shape, "gpt", diags);
      in.workload = workload = workload_new (&shape, &training);
      set_option (strategy, options, "max_reuse_distance", "0");
      set_option (strategy, options, "param_persistence_threshold", "0");
      schedule = schedule_build (&in, &choice, diags);
      ck_assert_ptr_nonnull (schedule);
      schedule_totals (schedule, 0, &totals);
      ck_assert (strategy_expect (&in, &choice, &expected));
      ck_assert_msg (plan_totals_match (&totals, &expected, &why), "%s", why);
      gathered[i] = plan_totals_traffic (&totals, COLLECTIVE_ALL_GATHER,
                                         (MeshGroup){ .size = 2, .stride = 1 });
      find_allocated (schedule, "gradient of the tied table", &bytes, &blocks);
      ck_assert_uint_eq (bytes, 100 * 64 * 2);
      ck_assert_uint_eq (blocks, 1);
      option_table_clear (training_options, &training);
      model_shape_clear (&shape);
    }
  ck_assert_double_eq (gathered[0] - gathered[1], 3 * 100 * 64 * 2);
  option_table_clear (strategy->options, options);
}
END_TEST

START_TEST (test_states)
{
  const Case          *c = &cases[_i];
  const Strategy      *strategy = strategy_find (c->strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  const StrategyChoice choice = { strategy, options, NULL };
  TrainingOptions      training;
  ModelShape           shape;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Workload) workload = NULL;
  g_autoptr (Schedule) schedule = NULL;
  PlanInput            in = { .mesh = { .n_ranks = 1, .ranks_per_node = 1, .world = 1 } };
  PlanTotals           totals = { 0 };
  double               bucket = 0;

  set_training (&training, c->precision, c->master, c->moments);
  set_shape (&shape, "llama", diags);
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

SUITE_MAIN (precision)
{
  Suite *suite = suite_create ("precision");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, test_states, 0, G_N_ELEMENTS (cases));
  tcase_add_test (tcase, test_tied_table);
  tcase_add_loop_test (tcase, test_updates, 0, G_N_ELEMENTS (updates));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
