/*
 * Systems of the sharded family against arithmetic by hand, exactly: what a step moves and what
 * lives for ever, on 4 ranks in nodes of 2. Not asserted: order (test-order) and time.
 *
 * A llama of 3 blocks, bf16-mixed, without clipping: the table 100 x 64 = 6 400; a block 4 x 64^2 +
 * 3 x 64 x 128 + 2 x 64 = 41 088; the head 6 400 + 64 = 6 464: P = 136 128.
 */
#include <check.h>

#include "../suite.h"
#include "small-llama.h"

typedef struct
{
  const char    *strategy, *options;
  guint          micros;
  CollectiveKind kind;
  guint          size;  /* ranks of the group */
  double         bytes; /* of collectives of that kind over groups of that size */
} Traffic;

/*
 * Megatron-FSDP: shards are multiples of the rows of all tensors. A block's are 64 and 128: over 4
 * ranks it is a multiple of 512, 81 x 512 = 41 472; table and head are of 256, 6 400 and 26 x 256 =
 * 6 656. P^ = 3 x 41 472 + 6 400 + 6 656 = 137 472. Over 2 ranks: 161 x 256 = 41 216, 6 400 and
 * 6 528: 136 576. Blocks are gathered twice a micro-step, the others once a step.
 */
static const Traffic traffic[] = {
  { "megatron-fsdp", "", 1, COLLECTIVE_ALL_GATHER, 4, 2.0 * (6 * 41472 + 13056) },
  { "megatron-fsdp", "", 1, COLLECTIVE_REDUCE_SCATTER, 4, 4.0 * 137472 },
  { "megatron-fsdp", "fsdp_double_buffer=true", 3, COLLECTIVE_ALL_GATHER, 4,
    2.0 * (18 * 41472 + 13056) },
  { "megatron-fsdp", "grad_reduce_in_fp32=false", 3, COLLECTIVE_REDUCE_SCATTER, 4,
    3 * 2.0 * 137472 },
  { "megatron-fsdp", "shard=node", 3, COLLECTIVE_ALL_GATHER, 2, 2.0 * (18 * 41216 + 12928) },
  { "megatron-fsdp", "shard=node", 3, COLLECTIVE_REDUCE_SCATTER, 2, 3 * 4.0 * 136576 },
  { "megatron-fsdp", "shard=node", 3, COLLECTIVE_ALL_REDUCE, 2, 4.0 * 136576 / 2 },
  /* HFSDP: parts of 4 come to shards of 2 before each gathering of the first micro-step. */
  { "megatron-fsdp", "shard=node,outer_dp_sharding_strategy=optim", 3, COLLECTIVE_ALL_GATHER, 2,
    2.0 * (18 * 41216 + 12928) + 2.0 * (6 * 41472 + 13056) / 2 },
  { "megatron-fsdp", "shard=node,outer_dp_sharding_strategy=optim", 3, COLLECTIVE_REDUCE_SCATTER, 2,
    3 * 4.0 * 136576 + 4.0 * 136576 / 2 },
  { "megatron-fsdp", "data_parallel_sharding_strategy=optim_grads", 3, COLLECTIVE_ALL_GATHER, 4,
    2.0 * 137472 },
  { "megatron-fsdp", "data_parallel_sharding_strategy=optim_grads", 3, COLLECTIVE_REDUCE_SCATTER, 4,
    3 * 4.0 * 137472 },
  { "megatron-fsdp", "data_parallel_sharding_strategy=optim", 3, COLLECTIVE_REDUCE_SCATTER, 4,
    4.0 * 137472 },
  /* ZeRO-3 as the paper counts it: 2 and 1 W a micro-step, and no more with recomputation. */
  { "zero3", "variant=paper", 3, COLLECTIVE_ALL_GATHER, 4, 3 * 2 * 2.0 * 136128 },
  { "zero3", "variant=paper", 3, COLLECTIVE_REDUCE_SCATTER, 4, 3 * 2.0 * 136128 },
  /* DeepSpeed keeps this model whole from its first use in a step to its last one. */
  { "zero3", "param_persistence_threshold=0", 3, COLLECTIVE_ALL_GATHER, 4, 3 * 2.0 * 136128 },
  /* ZeRO-1 with whole tensors: all are broadcast, by one owner each. */
  { "zero1", "partition=tensors", 3, COLLECTIVE_BROADCAST, 4, 2.0 * 136128 },
  { "zero1", "partition=tensors,shard=node", 3, COLLECTIVE_BROADCAST, 2, 2.0 * 136128 },
  { "zero1", "partition=tensors", 3, COLLECTIVE_ALL_REDUCE, 4, 2.0 * 136128 },
  /*
   * veScale: 4 shards of whole rows of 64: 25 of the table, 160.5, so 161, of each block's 41 088
   * elements, 25.25, so 26, of norm and head.
   */
  { "vescale", "", 3, COLLECTIVE_REDUCE_SCATTER, 4, 3 * 2.0 * 4 * 64 * (25 + 3 * 161 + 26) },
  /* SimpleFSDP: 4 divides all first dimensions. A graph gathers what it uses, once. */
  { "simplefsdp", "", 3, COLLECTIVE_ALL_GATHER, 4, 3 * 2 * 2.0 * 136128 },
  { "simplefsdp", "graph_passes=none", 3, COLLECTIVE_ALL_GATHER, 4, 3 * 2 * 2.0 * 136128 },
  { "simplefsdp", "reshard_after_forward=false", 3, COLLECTIVE_ALL_GATHER, 4, 3 * 2.0 * 136128 },
  { "simplefsdp", "", 3, COLLECTIVE_REDUCE_SCATTER, 4, 3 * 2.0 * 136128 },
  { "simplefsdp", "shard=node", 3, COLLECTIVE_ALL_REDUCE, 2, 3 * 2.0 * 136128 / 2 },
};

/* Bytes of GPU memory that live for ever. */
static const struct
{
  const char *strategy, *options;
  double      bytes;
} states[] = {
  /* 2 of weights, 4 of gradients, 12 of the optimizer, a quarter each */
  { "megatron-fsdp", "", 18.0 * 137472 / 4 },
  /* and two blocks as they are gathered, and as they are reduced */
  { "megatron-fsdp", "fsdp_double_buffer=true", 18.0 * 137472 / 4 + 2 * (2 + 4) * 41472 },
  { "megatron-fsdp", "nccl_ub=true,grad_reduce_in_fp32=false",
    16.0 * 137472 / 4 + 2 * (2 + 2) * 41472 },
  { "megatron-fsdp", "shard=node", 18.0 * 136576 / 2 },
  { "megatron-fsdp", "shard=node,outer_dp_sharding_strategy=optim",
    6.0 * 136576 / 2 + 18.0 * 137472 / 4 },
  { "simplefsdp", "", 12.0 * 136128 / 4 },
  /*
   * The largest first, to the owner that has least: 9 matrices of 8 192 leave 24 576 and 3 times
   * 16 384; 2 tables of 6 400: 24 576, 2 x 22 784, 16 384; 12 matrices of 4 096, four at a time:
   * 2 x 35 072 and 2 x 32 768, which get the 7 norms of 64.
   */
  { "zero1", "partition=tensors", 4.0 * 136128 + 12.0 * 35072 },
};

/*
 * The most of gathered parameters that a rank of DeepSpeed has at once, in host order: what its
 * closed form bounds. All cut matrices have 3 x (4 x 64^2 + 3 x 64 x 128) + 2 x 6 400 = 135 680
 * elements.
 */
#define BARE "param_persistence_threshold=64,max_reuse_distance=0,prefetch_bucket_size=0"

static const struct
{
  const char *strategy, *options;
  double      bytes;
} windows[] = {
  /* one module: the largest has 64 x 128 */
  { "zero3", BARE, 2.0 * 8192 },
  { "mics", BARE, 2.0 * 8192 },
  { "zeropp", BARE ",zero_quantized_weights=false,zero_quantized_gradients=false", 2.0 * 8192 },
  /* a matrix of 64 x 64 is whole on every rank */
  { "zero3", "param_persistence_threshold=8191,max_reuse_distance=0,prefetch_bucket_size=0",
    2.0 * 8192 },
  /* a window of 1e9 elements: everything, from its first use to its last one */
  /* with a flat buffer of what is fetched as one: all but the first module, the table of 6 400 */
  { "zero3", "param_persistence_threshold=64", 2.0 * (135680 + 135680 - 6400) },
  { "zero3", "param_persistence_threshold=64,prefetch_bucket_size=0", 2.0 * 135680 },
  { "mics", "param_persistence_threshold=64", 2.0 * 135680 },
};

typedef struct
{
  Workload *workload;
  gpointer  options;
  Schedule *schedule;
} Built;

static Built
build_of (Workload *workload, const char *name, const char *options)
{
  const Strategy *strategy = strategy_find (name);
  Built           built = { .workload = workload, .options = g_malloc0 (strategy->options_size) };
  const PlanInput in = { .workload = built.workload,
                         .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  const StrategyChoice choice = { strategy, built.options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();

  set_options (strategy, built.options, options);
  built.schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (built.schedule != NULL && schedule_check (built.schedule, &in.mesh, NULL, diags),
                 "%s", diag_list_first_message (diags));
  option_table_clear (strategy->options, built.options);
  return built;
}

static Built
build (const char *name, const char *options, guint micros)
{
  return build_of (llama_of (3, micros, NULL, NULL), name, options);
}

static void
clear (Built *built)
{
  schedule_free_all (built->schedule);
  workload_free (built->workload);
  g_free (built->options);
}

START_TEST (test_traffic)
{
  const Traffic *t = &traffic[_i];
  Built          built = build (t->strategy, t->options, t->micros);
  PlanTotals     totals = { 0 };
  double         sum = 0;

  schedule_totals (built.schedule, 0, &totals);
  for (guint i = 0; i < totals.n_traffic; i++)
    if (totals.traffic[i].kind == t->kind && totals.traffic[i].group.size == t->size)
      sum += totals.traffic[i].bytes;
  ck_assert_double_eq (sum, t->bytes);
  clear (&built);
}
END_TEST

START_TEST (test_states)
{
  Built      built = build (states[_i].strategy, states[_i].options, 2);
  PlanTotals totals = { 0 };

  schedule_totals (built.schedule, 0, &totals);
  ck_assert_double_eq (totals.states, states[_i].bytes);
  clear (&built);
}
END_TEST

/* The peak of gathered parameters over SECTION, by host order. */
static double
gathered_peak (const Schedule *schedule, ScheduleSection section)
{
  ScheduleItems items = schedule_items (schedule, 0, section);
  double        now = 0, most = 0;

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem   *item = &items.items[i];
      const ScheduleBuffer *buffer = item->kind == ITEM_ALLOC || item->kind == ITEM_FREE
                                         ? schedule_buffer_info (schedule, 0, item->ref)
                                         : NULL;

      if (buffer == NULL || buffer->place != PLACE_HBM || buffer->category != POOL_GATHERED)
        continue;
      now += item->kind == ITEM_ALLOC ? (double) buffer->bytes : -(double) buffer->bytes;
      most = MAX (most, now);
    }
  return most;
}

START_TEST (test_windows)
{
  Built  built = build (windows[_i].strategy, windows[_i].options, 2);
  double first = gathered_peak (built.schedule, SECTION_FIRST);

  ck_assert_double_eq (MAX (first, gathered_peak (built.schedule, SECTION_STEADY)),
                       windows[_i].bytes);
  clear (&built);
}
END_TEST

/*
 * MixZ++: of the frozen 136 128 values a rank keeps a quarter in a byte each instead of two, and a
 * scale of 4 bytes for each of the 30 modules (none has 4 x 2 048 values more). What is gathered of
 * them is a byte a value, and scales: of each gathering one for 2 048 values or a part of them.
 */
START_TEST (test_frozen_shards)
{
  static const char plain[] = "zero_hpz_partition_size=1,zero_quantized_weights=false,"
                              "param_persistence_threshold=0";
  static const char mixed[] = "zero_hpz_partition_size=1,zero_quantized_weights=false,"
                              "param_persistence_threshold=0,"
                              "zero_quantized_nontrainable_weights=true";
  const MeshGroup   all = { .size = 4, .stride = 1 };
  Built             a = build_of (llama_lora (3, 1), "zeropp", plain);
  Built             b = build_of (llama_lora (3, 1), "zeropp", mixed);
  PlanTotals        two = { 0 }, one = { 0 };
  double            encoded = 0;

  schedule_totals (a.schedule, 0, &two);
  schedule_totals (b.schedule, 0, &one);
  ck_assert_double_eq (two.states - one.states, 136128 / 4. - 30 * 4);
  for (guint i = 0; i < one.n_traffic; i++)
    if (one.traffic[i].kind == COLLECTIVE_ALL_GATHER && one.traffic[i].codec != NULL)
      encoded += one.traffic[i].bytes;
  ck_assert_double_eq (plan_totals_traffic (&two, COLLECTIVE_ALL_GATHER, all)
                           - plan_totals_traffic (&one, COLLECTIVE_ALL_GATHER, all),
                       2 * 136128); /* what stays in 16 bits is the adapters' */
  ck_assert_double_ge (encoded, 136128 + 4 * 136128 / 2048.);
  ck_assert_double_le (encoded, 136128 + 4 * (136128 / 2048. + 30));
  /* decoding reads what came and writes 16 bits; the adapters' gradients are encoded in both */
  ck_assert_double_eq (one.coded - two.coded, encoded + 2 * 136128);
  clear (&a);
  clear (&b);
}
END_TEST

/*
 * Weights that are gathered in fp8: of a block's 41 088 elements 40 960, in 7 tensors, a byte each.
 * fully_shard gathers blocks and table twice, the head once, and finds 7 scales a gathering of a
 * block or, precomputed, 21 a step. ZeRO-1 gathers all that it has updated once.
 */
static const struct
{
  const char *strategy, *training;
  gboolean    kept;              /* in fp8, and in no 16 bits */
  double      gathered, reduced; /* all-reduced: beside gradients */
} narrow[] = {
  { "fsdp2", "fp8_recipe=tensorwise", FALSE, 2 * (6 * 41088. + 2 * 6400 + 6464), 0 },
  { "fsdp2", "fp8_recipe=tensorwise;fp8_gather=searched", FALSE,
    2 * (6 * 41088. + 2 * 6400 + 6464) - 6 * 40960, 6 * 7 * 4 },
  { "fsdp2", "fp8_recipe=tensorwise;fp8_gather=precomputed", FALSE,
    2 * (6 * 41088. + 2 * 6400 + 6464) - 6 * 40960, 21 * 4 },
  { "zero1", "fp8_recipe=delayed", FALSE, 2 * 136128., 2 * 136128. },
  { "zero1", "fp8_recipe=delayed", TRUE, 2 * 136128. - 3 * 40960, 2 * 136128. },
};

START_TEST (test_gathered_in_fp8)
{
  const MeshGroup       all = { .size = 4, .stride = 1 };
  const FrameworkTraits traits = { .caches_fp8_weights = narrow[_i].kept,
                                   .fp8_params = narrow[_i].kept };
  Built                 built =
      build_of (llama_of_framework (3, &traits, narrow[_i].training), narrow[_i].strategy, "");
  PlanTotals totals = { 0 };

  schedule_totals (built.schedule, 0, &totals);
  ck_assert_double_eq (plan_totals_traffic (&totals, COLLECTIVE_ALL_GATHER, all),
                       narrow[_i].gathered);
  ck_assert_double_eq (plan_totals_traffic (&totals, COLLECTIVE_ALL_REDUCE, all),
                       narrow[_i].reduced);
  clear (&built);
}
END_TEST

/* What is refused, and what is said of it. */
static const struct
{
  const char *strategy, *options, *message;
} refused[] = {
  { "megatron-fsdp", "outer_dp_sharding_strategy=optim,data_parallel_sharding_strategy=optim",
    "outer data parallelism shards the optimizer of sharded parameters only" },
  { "megatron-fsdp", "data_parallel_sharding_strategy=no_shard,shard=2",
    "no_shard has no outer data parallelism: nothing is shared inside a group" },
  { "zero1", "partition=tensors,reduce=reduce_scatter",
    "a reduce-scatter leaves equal parts, not whole tensors" },
  { "zero3", "variant=paper,max_reuse_distance=1e6",
    "the paper's ZeRO-3 has no distance within which parameters stay" },
  { "zero3", "variant=paper,offload_param=cpu", "the paper's ZeRO-3 has no states off the GPU" },
  { "simplefsdp", "graph_passes=auto_bucketing",
    "buckets that a cost model of the compiler chooses are not modelled" },
  { "megatron-fsdp", "shard=3", "shard group of 3 ranks does not divide the 4 ranks of the mesh" },
};

START_TEST (test_refused)
{
  const Strategy      *strategy = strategy_find (refused[_i].strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload) workload = llama_of (3, 1, NULL, NULL);
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();

  set_options (strategy, options, refused[_i].options);
  ck_assert_ptr_null (schedule_build (&in, &choice, diags));
  ck_assert_str_eq (diag_list_first_message (diags), refused[_i].message);
  option_table_clear (strategy->options, options);
}
END_TEST

SUITE_MAIN (sharded)
{
  Suite *suite = suite_create ("sharded");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, test_traffic, 0, G_N_ELEMENTS (traffic));
  tcase_add_loop_test (tcase, test_states, 0, G_N_ELEMENTS (states));
  tcase_add_loop_test (tcase, test_windows, 0, G_N_ELEMENTS (windows));
  tcase_add_test (tcase, test_frozen_shards);
  tcase_add_loop_test (tcase, test_gathered_in_fp8, 0, G_N_ELEMENTS (narrow));
  tcase_add_loop_test (tcase, test_refused, 0, G_N_ELEMENTS (refused));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
