/*
 * ZO2 and DistZO2 by hand: what a step moves over the host link, what the ranks of a node exchange,
 * what lies on the host and how many blocks lie on the GPU, from the papers' arithmetic. Not
 * asserted here: time.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "small-llama.h"

#include "model/shape/model.h"

#define RANKS 4
#define GIB   1073741824.0

typedef struct
{
  PlanTotals totals;
  guint64    block; /* parameters of one */
  Schedule  *schedule;
} Step;

/* A steady step of STRATEGY with OPTIONS over WORKLOAD, which is freed, on RANKS of two nodes. */
static Step
step_over (Workload *workload, guint ranks, const char *name, const char *options_text)
{
  const Strategy     *strategy = strategy_find (name);
  g_autofree gpointer options = g_malloc0 (strategy->options_size);
  const Mesh          mesh = { .n_ranks = ranks, .ranks_per_node = MIN (ranks, 2), .world = ranks };
  const PlanInput     in = { .workload = workload, .mesh = mesh };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  Step                 step = { .block = workload_layer (workload, 1)->elements };

  set_options (strategy, options, options_text);
  step.schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (step.schedule != NULL, "%s", diag_list_first_message (diags));
  ck_assert (schedule_check (step.schedule, &in.mesh, NULL, diags));
  schedule_totals (step.schedule, 0, &step.totals);
  option_table_clear (strategy->options, options);
  return step;
}

static void
step_clear (Step *step)
{
  schedule_free_all (step->schedule);
}

static Workload *
opt (const char *name, gint64 seq_len, guint micros)
{
  g_autofree char     *file = g_strdup_printf ("opt-%s", name);
  ModelOptions         options = { 0 };
  TrainingOptions      training = { 0 };
  ModelShape           shape = { 0 };
  g_autoptr (DiagList) diags = diag_list_new ();
  Workload            *workload;

  option_table_defaults (model_options, &options);
  option_table_defaults (training_options, &training);
  g_free (options.config);
  options.config = g_steal_pointer (&file);
  training.seq_len = seq_len;
  training.micro_batch = 1;
  training.grad_accum = micros;
  training.precision = PRECISION_FP16;
  ck_assert_msg (model_resolve (&options, NULL, NULL, &shape, NULL, diags), "%s",
                 diag_list_first_message (diags));
  workload = workload_new (&shape, &training);
  model_shape_clear (&shape);
  option_table_clear (model_options, &options);
  option_table_clear (training_options, &training);
  return workload;
}

static double
moved (const Step *step, Place from, Place to)
{
  return step->totals.moves[move_kind (from, to)];
}

/* ---- host memory ----------------------------------------------------------------------------- */

/*
 * A block of OPT-175B: four matrices of 288 MiB and two of 1152 MiB take 4 x 512 MiB and 2 x 2 GiB
 * pinned, 6 GiB; 96 of them 576 GiB, and biases and norms less than 64 KiB each: 10 a block.
 */
START_TEST (pinned_tensors_are_powers_of_two)
{
  g_autoptr (Workload) workload = opt ("175b", 64, 1);
  Step                 step = step_over (workload, 1, "zo2", "");
  double               pinned = step.totals.high[PLACE_PINNED] / GIB;

  ck_assert_double_ge (pinned, 576);
  ck_assert_double_le (pinned, 576 + 96 * 10 * 131072 / GIB);
  step_clear (&step);
}
END_TEST

/* Unrounded, or pageable, it is the model: 2 bytes a parameter of 96 blocks. */
START_TEST (other_memory_takes_what_it_holds)
{
  static const char *const options[] = { "pinned_power_of_two=false", "host_memory=pageable" };
  g_autoptr (Workload)     workload = opt ("175b", 64, 1);
  Step                     step = step_over (workload, 1, "zo2", options[_i]);
  Place                    place = _i == 0 ? PLACE_PINNED : PLACE_PAGEABLE;

  ck_assert_double_eq (step.totals.high[place], 96.0 * 2 * (double) step.block);
  ck_assert_double_eq (step.totals.high[_i == 0 ? PLACE_PAGEABLE : PLACE_PINNED], 0);
  step_clear (&step);
}
END_TEST

/* A bucket is rounded once: 1.8 G parameters of 2 bytes, 3.38 GiB, to 4 GiB. */
START_TEST (a_bucket_is_one_tensor)
{
  g_autoptr (Workload) workload = opt ("175b", 64, 1);
  Step                 step = step_over (workload, 1, "zo2", "communicate_optimize_method=bucket");

  ck_assert_double_eq (step.totals.high[PLACE_PINNED], 96 * 4 * GIB);
  step_clear (&step);
}
END_TEST

/* ---- what moves ------------------------------------------------------------------------------ */

/* Each block once each way, for each micro-batch; the ends never. */
START_TEST (blocks_cross_the_host_link_once)
{
  const guint          micros = 1 + _i;
  g_autoptr (Workload) workload = opt ("1.3b", 64, micros);
  Step                 step = step_over (workload, 1, "zo2", "");
  const double         bytes = micros * 24.0 * 2 * (12.0 * 2048 * 2048 + 13.0 * 2048);

  ck_assert_double_eq (moved (&step, PLACE_PINNED, PLACE_HBM), bytes);
  ck_assert_double_eq (moved (&step, PLACE_HBM, PLACE_PINNED), bytes);
  ck_assert_uint_eq (step.totals.n_traffic, 0);
  step_clear (&step);
}
END_TEST

/* With two GPUs a node each brings half; they gather all of it; the ranks add up 4 bytes a step. */
START_TEST (slices_are_gathered_in_the_node)
{
  const MeshGroup      node = { .size = 2, .stride = 1 }, all = { .size = RANKS, .stride = 1 };
  g_autoptr (Workload) workload = opt ("1.3b", 64, 1);
  Step                 step = step_over (workload, RANKS, "distzo2", "");
  const double         bytes = 24.0 * 2 * (double) step.block;

  ck_assert_double_eq (moved (&step, PLACE_PINNED, PLACE_HBM), bytes / 2);
  ck_assert_double_eq (moved (&step, PLACE_HBM, PLACE_PINNED), bytes / 2);
  ck_assert_double_eq (plan_totals_traffic (&step.totals, COLLECTIVE_ALL_GATHER, node), bytes);
  ck_assert_double_eq (plan_totals_traffic (&step.totals, COLLECTIVE_ALL_REDUCE, all), 4);
  step_clear (&step);
}
END_TEST

/*
 * A pair tells each other two losses, and one of each pair's ranks adds up with those of the other
 * pairs; each GPU computes half of what it would alone.
 */
START_TEST (pairs_share_a_batch)
{
  const MeshGroup      pair = { .size = 2, .stride = 1 }, across = { .size = 2, .stride = 2 };
  g_autoptr (Workload) workload = opt ("1.3b", 64, 1);
  Step                 alone = step_over (workload, RANKS, "distzo2", "sliced_upload=false");
  Step                 step =
      step_over (workload, RANKS, "distzo2", "sliced_upload=false,perturbation_parallel=true");

  ck_assert_double_eq (plan_totals_traffic (&step.totals, COLLECTIVE_ALL_GATHER, pair), 8);
  ck_assert_double_eq (plan_totals_traffic (&step.totals, COLLECTIVE_ALL_REDUCE, across), 4);
  ck_assert_double_eq (2 * step.totals.flops, alone.totals.flops);
  ck_assert_double_eq (moved (&step, PLACE_PINNED, PLACE_HBM),
                       moved (&alone, PLACE_PINNED, PLACE_HBM));
  step_clear (&step);
  step_clear (&alone);
}
END_TEST

/* ---- kernels and order ----------------------------------------------------------------------- */

/* Kernels called NAME of unit UNIT in a steady step: their number, and the bytes of the last. */
static guint
count_kernels (const Schedule *schedule, guint unit, const char *name, double *bytes)
{
  ScheduleItems items = schedule_items (schedule, 0, SECTION_STEADY);
  guint         n = 0;

  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_KERNEL && items.items[i].unit == unit
        && g_str_equal (items.items[i].kernel->name, name))
      {
        n++;
        *bytes = items.items[i].kernel->read_bytes + items.items[i].kernel->write_bytes;
      }
  return n;
}

/*
 * A block: one update, three perturbations, two passes; with one pass a rank two perturbations.
 * What a perturbation reads and writes: z, two products, the sum: 1 + 2 + 2 + 3 tensors.
 */
START_TEST (a_use_is_two_passes)
{
  const gboolean       pairs = _i == 1;
  g_autoptr (Workload) workload = opt ("1.3b", 64, 1);
  Step   step = step_over (workload, 2, "distzo2", pairs ? "perturbation_parallel=true" : "");
  double bytes = 0, update = 0;

  ck_assert_uint_eq (count_kernels (step.schedule, 3, "mlp.up", &bytes), pairs ? 1 : 2);
  ck_assert_uint_eq (count_kernels (step.schedule, 3, "perturb", &bytes), pairs ? 2 : 3);
  ck_assert_double_eq (bytes, 8.0 * 2 * (double) step.block);
  ck_assert_uint_eq (count_kernels (step.schedule, 3, "zo_update", &update), 1);
  /* matrices pass 13 times, with weight decay; biases and norms 6 times */
  ck_assert_double_eq (update, 2.0 * (13 * 12.0 * 2048 * 2048 + 6 * 13.0 * 2048));
  step_clear (&step);
}
END_TEST

/* The update is the step's, not the micro-batch's. */
START_TEST (micro_batches_share_an_update)
{
  g_autoptr (Workload) workload = opt ("1.3b", 64, 3);
  Step                 step = step_over (workload, 1, "zo2", "");
  double               bytes = 0;

  ck_assert_uint_eq (count_kernels (step.schedule, 3, "perturb", &bytes), 9);
  ck_assert_uint_eq (count_kernels (step.schedule, 3, "zo_update", &bytes), 1);
  step_clear (&step);
}
END_TEST

/* Most blocks that are in GPU memory at once, in the order of the host. */
START_TEST (three_blocks_are_on_the_gpu)
{
  g_autoptr (Workload) workload = opt ("1.3b", 64, 1);
  Step                 step = step_over (workload, 1, "zo2", _i == 0 ? "" : "overlap=false");
  ScheduleItems        items = schedule_items (step.schedule, 0, SECTION_STEADY);
  gint                 now = 0, most = 0;

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];

      if ((item->kind != ITEM_ALLOC && item->kind != ITEM_FREE)
          || g_strcmp0 (schedule_buffer_info (step.schedule, 0, item->ref)->label, "block") != 0)
        continue;
      now += item->kind == ITEM_ALLOC ? 1 : -1;
      most = MAX (most, now);
    }
  ck_assert_int_eq (now, 0);
  ck_assert_int_eq (most, _i == 0 ? 3 : 2);
  step_clear (&step);
}
END_TEST

/* ---- what has no meaning --------------------------------------------------------------------- */

static const struct
{
  const char *strategy, *options, *message;
  guint       ranks, pp, checkpointing, fp8;
} bad[] = {
  { "zo2", "", "strategy 'zo2' has no backward pass: 'activation_checkpointing' has no meaning", 1,
    1, CHECKPOINT_FULL, FP8_NONE },
  { "zo2", "", "strategy 'zo2' changes weights between passes: copies of them in fp8 do not stay",
    1, 1, CHECKPOINT_NONE, FP8_TENSORWISE },
  { "distzo2", "perturbation_parallel=true",
    "distzo2 pairs data ranks for the two passes, and 3 are odd", 3, 1, CHECKPOINT_NONE, FP8_NONE },
};

START_TEST (is_refused)
{
  const Strategy      *strategy = strategy_find (bad[_i].strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Workload) plain = opt ("1.3b", 64, 1), workload = NULL;
  TrainingOptions      training = *workload_training (plain);
  const guint          n = bad[_i].ranks;
  PlanInput            in = { .mesh = { .n_ranks = n, .ranks_per_node = n, .world = n } };

  training.checkpointing = (gint) bad[_i].checkpointing;
  training.fp8_recipe = (gint) bad[_i].fp8;
  workload = workload_new (workload_shape (plain), &training);
  in.workload = workload;
  set_options (strategy, options, bad[_i].options);
  ck_assert_ptr_null (schedule_build (&in, &choice, diags));
  ck_assert_str_eq (diag_list_first_message (diags), bad[_i].message);
  option_table_clear (strategy->options, options);
}
END_TEST

SUITE_MAIN (zo)
{
  Suite *suite = suite_create ("zo");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, pinned_tensors_are_powers_of_two);
  tcase_add_loop_test (tcase, other_memory_takes_what_it_holds, 0, 2);
  tcase_add_test (tcase, a_bucket_is_one_tensor);
  tcase_add_loop_test (tcase, blocks_cross_the_host_link_once, 0, 3);
  tcase_add_test (tcase, slices_are_gathered_in_the_node);
  tcase_add_test (tcase, pairs_share_a_batch);
  tcase_add_loop_test (tcase, a_use_is_two_passes, 0, 2);
  tcase_add_test (tcase, micro_batches_share_an_update);
  tcase_add_loop_test (tcase, three_blocks_are_on_the_gpu, 0, 2);
  tcase_add_loop_test (tcase, is_refused, 0, G_N_ELEMENTS (bad));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
