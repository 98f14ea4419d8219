/*
 * Totals of a schedule against arithmetic done by hand, their comparison, closed forms of nested
 * strategies, and the dump.
 */
#include <check.h>
#include <stdlib.h>

#include "../suite.h"
#include "toy.h"

/*
 * Parameters of toy_shape: embedding 512 x 64 = 32768; block 4 x 64 x 64 + 3 x 64 x 256 + 2 x 64 =
 * 65664, twice; head 64 + 512 x 64 = 32832. Together 196928.
 */
#define PARAMETERS 196928.0

static const ToyOptions sound = { 0 };

static void
toy_totals (const Workload *workload, PlanTotals *totals)
{
  const StrategyChoice choice = { &toy_layer, &sound, NULL };
  g_autoptr (Schedule) schedule = toy_build (workload, 4, &choice);

  schedule_totals (schedule, 0, totals);
}

START_TEST (traffic_is_counted_by_kind_and_group)
{
  TrainingOptions      training = toy_training;
  g_autoptr (Workload) workload = NULL;
  PlanTotals           totals;

  training.grad_accum = 3;
  workload = workload_new (&toy_shape, &training);
  toy_totals (workload, &totals);
  ck_assert_uint_eq (totals.n_traffic, 2);
  /*
   * two bytes an element, gathered for forward and backward of three micro-steps; reduced once in
   * each
   */
  ck_assert_double_eq (
      plan_totals_traffic (&totals, COLLECTIVE_ALL_GATHER, (MeshGroup){ .size = 4, .stride = 1 }),
      3 * 2 * 2 * PARAMETERS);
  ck_assert_double_eq (plan_totals_traffic (&totals, COLLECTIVE_REDUCE_SCATTER,
                                            (MeshGroup){ .size = 4, .stride = 1 }),
                       3 * 2 * PARAMETERS);
  ck_assert_double_eq (
      plan_totals_traffic (&totals, COLLECTIVE_ALL_REDUCE, (MeshGroup){ .size = 4, .stride = 1 }),
      0);
  ck_assert_double_eq (
      plan_totals_traffic (&totals, COLLECTIVE_ALL_GATHER, (MeshGroup){ .size = 2, .stride = 2 }),
      0);
}
END_TEST

static double
listed_flops (const KernelDesc *kernels, guint n, gboolean matmul)
{
  double flops = 0;

  for (guint k = 0; k < n; k++)
    if (matmul
            ? kernels[k].kind == KERNEL_MATMUL
            : kernels[k].kind == KERNEL_ATTENTION || kernels[k].kind == KERNEL_ATTENTION_BACKWARD)
      flops += kernels[k].flops;
  return flops;
}

START_TEST (traffic_of_every_communicator_counts)
{
  g_autoptr (Workload)  workload = workload_new (&toy_shape, &toy_training);
  const ToyOuterOptions five = { 5 };
  const StrategyChoice  inner = { &toy_layer, &sound, NULL };
  const StrategyChoice  outer = { &toy_outer, &five, &inner };
  g_autoptr (Schedule)  schedule = toy_build (workload, 8, &outer);
  PlanTotals            totals;

  schedule_totals (schedule, 0, &totals);
  ck_assert_double_eq (
      plan_totals_traffic (&totals, COLLECTIVE_ALL_REDUCE, (MeshGroup){ .size = 2, .stride = 4 }),
      1000);
  ck_assert_double_eq (plan_totals_traffic (&totals, COLLECTIVE_REDUCE_SCATTER,
                                            (MeshGroup){ .size = 4, .stride = 1 }),
                       5 * 2 * PARAMETERS);
}
END_TEST

/*
 * 32 tokens a micro-step; products: 2 blocks of 65536 weights and the head's 32768, 6 FLOPs a
 * weight and token: 6 x 163840 x 32 = 31457280. Flash attention comes on top, as the workload lists
 * it.
 */
START_TEST (flops_are_those_of_products_and_attention)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  const LayerDesc     *block = workload_layer (workload, 1);
  double               attention = 2
                     * (listed_flops (block->forward, block->n_forward, FALSE)
                        + listed_flops (block->backward, block->n_backward, FALSE));
  PlanTotals totals;

  toy_totals (workload, &totals);
  ck_assert_double_gt (attention, 0);
  ck_assert_double_eq (totals.flops, 31457280 + attention);
}
END_TEST

/*
 * Peak of a strategy that holds one gathered layer: over all places of the walk, what host order
 * has allocated there.
 */
START_TEST (peak_is_the_largest_sum_in_host_order)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  double               shard = 2 * PARAMETERS / 4, saved = 0, peak = 0;
  PlanTotals           totals;

  for (guint l = 0; l < 4; l++)
    {
      const LayerDesc *layer = workload_layer (workload, l);

      saved += (double) layer->saved_bytes;
      peak =
          MAX (peak, shard + saved + (double) layer->working_bytes + 2 * (double) layer->elements);
      peak =
          MAX (peak, shard + saved + (double) layer->backward_bytes + 2 * (double) layer->elements);
    }
  toy_totals (workload, &totals);
  ck_assert_double_eq (totals.low[PLACE_HBM], peak);
  ck_assert_double_eq (totals.high[PLACE_HBM], peak);
  ck_assert_double_eq (totals.high[PLACE_PINNED], 4096); /* of the first section alone */
}
END_TEST

START_TEST (copies_are_those_of_the_steady_period)
{
  g_autoptr (Workload)  workload = workload_new (&toy_shape, &toy_training);
  const ToyOuterOptions five = { 5 };
  const StrategyChoice  inner = { &toy_layer, &sound, NULL };
  const StrategyChoice  outer = { &toy_extending, &five, &inner };
  g_autoptr (Schedule)  schedule = toy_build (workload, 4, &outer);
  PlanTotals            totals;

  schedule_totals (schedule, 0, &totals);
  ck_assert_double_eq (totals.moves[move_kind (PLACE_HBM, PLACE_PINNED)], 50);
  ck_assert_double_eq (totals.moves[move_kind (PLACE_PINNED, PLACE_HBM)], 0);
}
END_TEST

/* ---- comparison ------------------------------------------------------------------------------ */

static PlanTotals
some_totals (void)
{
  PlanTotals totals = { .flops = 1e15,
                        .low = { [PLACE_HBM] = 100, [PLACE_PINNED] = 7 },
                        .high = { [PLACE_HBM] = 100, [PLACE_PINNED] = 7 } };

  totals.moves[move_kind (PLACE_HBM, PLACE_PINNED)] = 10;
  totals.moves[move_kind (PLACE_PINNED, PLACE_HBM)] = 20;
  plan_totals_add (&totals, COLLECTIVE_ALL_GATHER, (MeshGroup){ .size = 8, .stride = 1 }, 1e9);
  plan_totals_add (&totals, COLLECTIVE_ALL_GATHER, (MeshGroup){ .size = 1, .stride = 1 },
                   1e9); /* nobody to talk to */
  plan_totals_add (&totals, COLLECTIVE_ALL_REDUCE, (MeshGroup){ .size = 4, .stride = 8 }, 0);
  return totals;
}

static void
assert_differs (const PlanTotals *measured, const PlanTotals *expected, const char *message)
{
  g_autofree char *why = NULL;

  ck_assert (!plan_totals_match (measured, expected, &why));
  ck_assert_str_eq (why, message);
}

START_TEST (equal_totals_match)
{
  PlanTotals       measured = some_totals (), expected = some_totals ();
  g_autofree char *why = NULL;

  ck_assert_uint_eq (measured.n_traffic, 1);
  expected.low[PLACE_HBM] = 90;
  expected.high[PLACE_HBM] = 110;
  expected.flops *= 1 + 1e-12;
  ck_assert (plan_totals_match (&measured, &expected, &why));
  ck_assert_ptr_null (why);
}
END_TEST

START_TEST (each_difference_is_named)
{
  PlanTotals measured = some_totals (), expected = some_totals ();

  expected.traffic[0].bytes = 2e9;
  assert_differs (
      &measured, &expected,
      "all_gather bytes in groups of 8, stride 1: the schedule has 1000000000, expected "
      "2000000000");
  expected = some_totals ();
  plan_totals_add (&measured, COLLECTIVE_REDUCE_SCATTER, (MeshGroup){ .size = 2, .stride = 4 }, 5);
  assert_differs (&measured, &expected,
                  "reduce_scatter bytes in groups of 2, stride 4: the schedule has 5, expected 0");
  assert_differs (&expected, &measured,
                  "reduce_scatter bytes in groups of 2, stride 4: the schedule has 0, expected 5");
  measured = some_totals ();
  expected.moves[move_kind (PLACE_PINNED, PLACE_HBM)] = 21;
  assert_differs (&measured, &expected,
                  "bytes moved from pinned to hbm: the schedule has 20, expected 21");
  expected = some_totals ();
  expected.flops *= 1 + 1e-8;
  assert_differs (&measured, &expected,
                  "FLOPs: the schedule has 1000000000000000, expected 1000000010000000");
  expected = some_totals ();
  expected.high[PLACE_HBM] = expected.low[PLACE_HBM] = 99;
  assert_differs (&measured, &expected, "peak of GPU memory: the schedule has 100, expected 99");
  expected = some_totals ();
  expected.low[PLACE_PINNED] = 8;
  expected.high[PLACE_PINNED] = 9;
  assert_differs (&measured, &expected,
                  "peak of pinned host memory: the schedule has 7, expected 8 to 9");
}
END_TEST

START_TEST (slack_allows_less_not_more)
{
  PlanTotals       measured = some_totals (), expected = some_totals ();
  g_autofree char *why = NULL;

  expected.traffic[0].bytes = 1e9 + 50;
  expected.traffic[0].slack = 50;
  ck_assert (plan_totals_match (&measured, &expected, &why));
  expected.traffic[0].slack = 40;
  assert_differs (&measured, &expected,
                  "all_gather bytes in groups of 8, stride 1: the schedule has 1000000000, "
                  "expected 1000000010 to 1000000050");
  expected.traffic[0].bytes = 1e9 - 10;
  assert_differs (
      &measured, &expected,
      "all_gather bytes in groups of 8, stride 1: the schedule has 1000000000, expected 999999950 "
      "to 999999990");
}
END_TEST

/* ---- nested closed forms --------------------------------------------------------------------- */

static gboolean
inner_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals)
{
  (void) opt;
  plan_totals_add (totals, COLLECTIVE_ALL_GATHER, mesh_all (&in->mesh), 100);
  totals->moves[move_kind (PLACE_HBM, PLACE_PINNED)] += 3;
  totals->flops += 7;
  totals->low[PLACE_HBM] = totals->high[PLACE_HBM] = 50;
  return TRUE;
}

static gboolean
outer_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals)
{
  (void) opt;
  plan_totals_add (totals, COLLECTIVE_ALL_REDUCE,
                   (MeshGroup){ .size = 2, .stride = in->mesh.n_ranks / 2 }, 11);
  totals->high[PLACE_HBM] += 5;
  return TRUE;
}

START_TEST (closed_forms_nest)
{
  g_autoptr (Workload)  workload = workload_new (&toy_shape, &toy_training);
  const PlanInput       in = { .workload = workload,
                               .mesh = { .n_ranks = 8, .ranks_per_node = 4, .world = 8 } };
  const ToyOuterOptions six = { 6 };
  Strategy              inner_strategy = toy_layer, outer_strategy = toy_outer;
  const StrategyChoice  inner = { &inner_strategy, &sound, NULL };
  const StrategyChoice  outer = { &outer_strategy, &six, &inner };
  PlanTotals            totals;

  inner_strategy.expect = inner_expect;
  ck_assert (!strategy_expect (&in, &outer, &totals)); /* the outer one states none */
  outer_strategy.expect = outer_expect;
  ck_assert (strategy_expect (&in, &outer, &totals));
  ck_assert_double_eq (
      plan_totals_traffic (&totals, COLLECTIVE_ALL_GATHER, (MeshGroup){ .size = 4, .stride = 1 }),
      600);
  ck_assert_double_eq (
      plan_totals_traffic (&totals, COLLECTIVE_ALL_REDUCE, (MeshGroup){ .size = 2, .stride = 4 }),
      11);
  ck_assert_double_eq (totals.moves[move_kind (PLACE_HBM, PLACE_PINNED)], 18);
  ck_assert_double_eq (totals.flops, 42);
  ck_assert_double_eq (totals.low[PLACE_HBM], 50);
  ck_assert_double_eq (totals.high[PLACE_HBM], 55);
}
END_TEST

/* ---- builder and dump ------------------------------------------------------------------------ */

static void
emit_everything (ScheduleBuilder *b)
{
  KernelDesc product = { .kind = KERNEL_MATMUL,
                         .name = "product",
                         .m = 2,
                         .n = 3,
                         .k = 4,
                         .batch = 5,
                         .flops = 240,
                         .read_bytes = 200,
                         .write_bytes = 60,
                         .launches = 1,
                         .module = -1 };
  StreamRef  side = schedule_stream (b, "side", -1);
  CommRef    all = schedule_comm (b, "all", (MeshGroup){ .size = 4, .stride = 1 }),
          self = schedule_comm (b, "self", (MeshGroup){ .size = 1, .stride = 1 });
  BufferRef buffer = schedule_alloc (b, PLACE_PINNED, POOL_CACHE, 64, "cache");

  schedule_set_phase (b, PHASE_BACKWARD);
  schedule_set_unit (b, 1);
  schedule_kernel (b, SCHEDULE_COMPUTE, &product);
  schedule_wait_stream (b, side, SCHEDULE_COMPUTE);
  schedule_wait_stream (b, side, side); /* nothing */
  ck_assert_uint_eq (schedule_all_reduce (b, side, self, payload_of_bytes (100), "alone"),
                     SCHEDULE_NONE);
  schedule_uses (b, SCHEDULE_NONE, SCHEDULE_WHOLE, ACCESS_READ); /* of no buffer: nothing */
  ck_assert_uint_eq (schedule_all_gather (b, side, all, payload_of_bytes (0), "empty"),
                     SCHEDULE_NONE);
  schedule_reduce_scatter (b, side, all, payload_of_bytes (100), "reduce");
  schedule_move (b, side, PLACE_PINNED, PLACE_HBM, 32, "fetch");
  schedule_uses (b, buffer, SCHEDULE_WHOLE, ACCESS_WRITE);
  ck_assert_uint_eq (schedule_alloc (b, PLACE_HBM, POOL_CACHE, 0, "empty"), SCHEDULE_NONE);
  schedule_free (b, SCHEDULE_NONE);
  schedule_wait (b, side, SCHEDULE_NONE);
  schedule_host_hooks (b, 0);
  schedule_host_hooks (b, 3);
  schedule_free_after (b, buffer, schedule_record (b, side));
  schedule_builder_end_step (b);
}

START_TEST (dump_has_a_line_an_item)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = toy_builder (workload, 1, NULL, 4);
  g_autoptr (GString)  text = g_string_new (NULL);
  g_autoptr (Schedule) schedule = NULL;

  schedule_builder_select (b, 0, SECTION_STEADY);
  emit_everything (b);
  schedule = schedule_builder_finish (b);
  schedule_dump (schedule, 0, SECTION_STEADY, text);
  ck_assert_str_eq (
      text->str,
      "     0  -          -                   alloc       cache b0 pinned cache 64 B\n"
      "     1  backward   block 0             kernel      [compute] product matmul 2x3x4 batch 5 "
      "240 FLOP 260 B\n"
      "     2  backward   block 0             record      [compute] e0\n"
      "     3  backward   block 0             wait        [side] e0\n"
      "     4  backward   block 0             collective  [side] reduce reduce_scatter over all "
      "100 B\n"
      "     5  backward   block 0             copy        [side] fetch pinned to hbm 32 B\n"
      "     6  backward   block 0             host_hook   x3\n"
      "     7  backward   block 0             record      [side] e1\n"
      "     8  backward   block 0             free        cache b0 pinned cache after e1\n"
      "     9  backward   block 0             step\n");
}
END_TEST

START_TEST (kernels_are_copied_unless_the_workloads)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = toy_builder (workload, 1, NULL, 4);
  const KernelDesc    *theirs = &workload_layer (workload, 1)->backward[1];
  g_autofree char     *name = g_strdup ("temporary");
  KernelDesc           mine = *theirs;
  g_autoptr (Schedule) schedule = NULL;
  ScheduleItems        items;

  mine.name = name;
  schedule_kernel (b, SCHEDULE_COMPUTE, theirs);
  schedule_kernel (b, SCHEDULE_COMPUTE, &mine);
  name[0] = 'T';
  schedule = schedule_builder_finish (b);
  items = schedule_items (schedule, 0, SECTION_INIT);
  ck_assert_ptr_eq (items.items[0].kernel, theirs);
  ck_assert_ptr_ne (items.items[1].kernel, &mine);
  ck_assert_str_eq (items.items[1].kernel->name, "temporary");
  ck_assert_double_eq (items.items[1].kernel->flops, theirs->flops);
}
END_TEST

/* Equal kernels are kept once, however often their turn comes; one figure apart, they are two. */
START_TEST (equal_kernels_are_kept_once)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = toy_builder (workload, 1, NULL, 4);
  KernelDesc           product = { .kind = KERNEL_MATMUL, .name = "product", .m = 2, .batch = 1 };
  KernelDesc           scaled = product, wide = product, other = product;
  const KernelDesc    *kept = schedule_keep_kernel (b, &product), *kept_scaled;
  g_autofree char     *name = g_strdup ("product");
  g_autoptr (Schedule) schedule = NULL;

  scaled.block_scaled = TRUE;
  wide.weight_bytes = 0.5;
  other.name = "other";
  kept_scaled = schedule_keep_kernel (b, &scaled);
  ck_assert_ptr_ne (kept_scaled, kept);
  ck_assert_ptr_ne (schedule_keep_kernel (b, &wide), kept);
  ck_assert_ptr_ne (schedule_keep_kernel (b, &other), kept);
  product.name = name;
  ck_assert_ptr_eq (schedule_keep_kernel (b, &product), kept);
  ck_assert_ptr_eq (schedule_keep_kernel (b, &scaled), kept_scaled);
  schedule = schedule_builder_finish (b);
}
END_TEST

START_TEST (streams_and_communicators_are_made_once)
{
  g_autoptr (Workload) workload = workload_new (&toy_shape, &toy_training);
  ScheduleBuilder     *b = toy_builder (workload, 1, NULL, 4);
  StreamRef side = schedule_stream (b, "side", -1), other = schedule_compute_stream (b, "other");
  CommRef   all = schedule_comm (b, "all", (MeshGroup){ .size = 4, .stride = 1 }),
          half = schedule_comm (b, "half", (MeshGroup){ .size = 2, .stride = 1 });
  g_autoptr (Schedule) schedule = NULL;

  ck_assert_uint_eq (schedule_compute_stream (b, "compute"), SCHEDULE_COMPUTE);
  ck_assert_uint_eq (schedule_stream (b, "side", -1), side);
  ck_assert_uint_eq (schedule_comm (b, "all", (MeshGroup){ .size = 4, .stride = 1 }), all);
  ck_assert_uint_ne (all, half);
  schedule = schedule_builder_finish (b);
  ck_assert_uint_eq (schedule_n_streams (schedule), 3);
  ck_assert_uint_eq (schedule_n_comms (schedule), 2);
  ck_assert_int_eq (schedule_stream_info (schedule, side)->priority, -1);
  ck_assert_int_eq (schedule_stream_info (schedule, side)->role, STREAM_SERVES);
  ck_assert_int_eq (schedule_stream_info (schedule, other)->role, STREAM_COMPUTES);
  ck_assert_int_eq (schedule_stream_info (schedule, SCHEDULE_COMPUTE)->role, STREAM_COMPUTES);
}
END_TEST

SUITE_MAIN (schedule_totals)
{
  Suite *suite = suite_create ("schedule-totals");
  TCase *tcase = tcase_create ("totals");

  tcase_add_test (tcase, traffic_is_counted_by_kind_and_group);
  tcase_add_test (tcase, traffic_of_every_communicator_counts);
  tcase_add_test (tcase, flops_are_those_of_products_and_attention);
  tcase_add_test (tcase, peak_is_the_largest_sum_in_host_order);
  tcase_add_test (tcase, copies_are_those_of_the_steady_period);
  tcase_add_test (tcase, equal_totals_match);
  tcase_add_test (tcase, each_difference_is_named);
  tcase_add_test (tcase, slack_allows_less_not_more);
  tcase_add_test (tcase, closed_forms_nest);
  tcase_add_test (tcase, dump_has_a_line_an_item);
  tcase_add_test (tcase, kernels_are_copied_unless_the_workloads);
  tcase_add_test (tcase, equal_kernels_are_kept_once);
  tcase_add_test (tcase, streams_and_communicators_are_made_once);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
