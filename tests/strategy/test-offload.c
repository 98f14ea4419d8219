/*
 * Offload by hand: what a step moves between GPU, host memory and drives, what the cores work on,
 * and what lies where, from the papers' formulas on a small model. Not asserted here: time.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "small-llama.h"

#define RANKS 4

typedef struct
{
  PlanTotals totals;
  double     parameters;
} Step;

/*
 * A steady step of STRATEGY with OPTIONS over WORKLOAD, which is freed, on RANKS data ranks of two
 * nodes.
 */
static Step
step_over (Workload *workload, const char *strategy_name, const char *options_text)
{
  const guint         tp = (guint) MAX (workload_mesh (workload)->tp, 1);
  const Strategy     *strategy = strategy_find (strategy_name);
  g_autofree gpointer options = g_malloc0 (strategy->options_size);
  const PlanInput     in = {
        .workload = workload,
        .mesh = { .n_ranks = RANKS, .ranks_per_node = 2 * tp, .world = RANKS * tp, .stride = tp }
  };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;
  Step                 step = { .parameters = (double) workload_n_parameters (workload) };

  set_options (strategy, options, options_text);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  ck_assert (schedule_check (schedule, &in.mesh, NULL, diags));
  schedule_totals (schedule, 0, &step.totals);
  option_table_clear (strategy->options, options);
  workload_free (workload);
  return step;
}

static Step
step_of (const char *strategy_name, const char *options_text, guint grad_accum)
{
  return step_over (llama_clipped (3, grad_accum), strategy_name, options_text);
}

static double
moved (const Step *step, Place from, Place to)
{
  return step->totals.moves[move_kind (from, to)];
}

/* Every tensor of the model is a multiple of the ranks: no padding. */
#define SHARE(step) ((step).parameters / RANKS)

/* ---- ZeRO-Offload ---------------------------------------------------------------------------- */

/*
 * 4 bytes an element go down as DeepSpeed casts them, 2 as the paper sends them; 2 come back. Each
 * micro-step after the first brings the sum to the GPU and back. Of host work: clipping, then Adam.
 */
START_TEST (zero_offload_moves_slices)
{
  const gboolean paper = _i % 2 == 1;
  const guint    micro_steps = 1 + 2 * (_i / 2);
  const double   kept = paper ? 2 : 4;
  Step   step = step_of ("zero-offload", paper ? "gradient_dtype=compute" : "gradient_dtype=fp32",
                         micro_steps);
  double share = SHARE (step);

  ck_assert_double_eq (moved (&step, PLACE_HBM, PLACE_PINNED), micro_steps * kept * share);
  ck_assert_double_eq (moved (&step, PLACE_PINNED, PLACE_HBM),
                       (micro_steps - 1) * kept * share + 2 * share);
  ck_assert_double_eq (step.totals.host[HOST_ADAM], share);
  ck_assert_double_eq (step.totals.host[HOST_STREAM], share);
}
END_TEST

/* DeepSpeed's bucket is all-reduced, and a rank's slice of it goes down all the same. */
START_TEST (zero_offload_reduces_as_deepspeed)
{
  const MeshGroup all = { .size = RANKS, .stride = 1 };
  Step            step = step_of ("zero-offload", "reduce=all_reduce", 1);

  ck_assert_double_eq (plan_totals_traffic (&step.totals, COLLECTIVE_REDUCE_SCATTER, all), 0);
  ck_assert_double_eq (plan_totals_traffic (&step.totals, COLLECTIVE_ALL_REDUCE, all),
                       2 * step.parameters + 4);
  ck_assert_double_eq (moved (&step, PLACE_HBM, PLACE_PINNED), 4 * SHARE (step));
}
END_TEST

/* The norm crosses the ranks once: 4 bytes. fully_shard's is the host's, and a pass of its own. */
START_TEST (the_norm_of_offloaded_gradients)
{
  const MeshGroup all = { .size = RANKS, .stride = 1 };
  Step            slices = step_of ("zero-offload", "", 1);
  Step            shards = step_of ("fsdp2", "cpu_offload=true", 1);

  ck_assert_double_eq (plan_totals_traffic (&slices.totals, COLLECTIVE_ALL_REDUCE, all), 4);
  ck_assert_double_eq (plan_totals_traffic (&shards.totals, COLLECTIVE_ALL_REDUCE, all), 4);
  ck_assert_double_eq (slices.totals.host[HOST_STREAM], SHARE (slices));
  ck_assert_double_eq (shards.totals.host[HOST_STREAM], 2 * SHARE (shards));
}
END_TEST

/* ---- ZeRO-3 and ZeRO-Infinity ---------------------------------------------------------------- */

/* Every tensor is cut, and gathered at each use. */
#define PLAIN \
  "param_persistence_threshold=0,max_reuse_distance=0,prefetch_bucket_size=0,host_copies=false,"

#define DRIVES PLAIN "offload_optimizer=nvme,offload_param=nvme,params_buffer_size=30000,"

/* W = 2 P bytes. The optimizer on the host: 4 P / R down, 2 P / R up (arXiv:2101.06840, 4). */
START_TEST (optimizer_on_the_host)
{
  Step   step = step_of ("zero3", PLAIN "offload_optimizer=cpu", 1);
  double share = SHARE (step);

  ck_assert_double_eq (moved (&step, PLACE_HBM, PLACE_PINNED), 4 * share);
  ck_assert_double_eq (moved (&step, PLACE_PINNED, PLACE_HBM), 2 * share);
  ck_assert_double_eq (step.totals.host[HOST_ADAM], share);
  ck_assert_double_eq (step.totals.host[HOST_STREAM], share); /* clipping */
  /* fp32 gradients, master and moments, and the new parameters of the only sub-group */
  ck_assert_double_eq (step.totals.high[PLACE_PINNED], (4 + 12 + 2) * share);
}
END_TEST

/*
 * Parameters on the host as well: shards come up for each of two uses, in each micro-step, and the
 * host updates them where they are (arXiv:2104.07857, 5.2).
 */
START_TEST (parameters_on_the_host)
{
  const guint micro_steps = 1 + 2 * _i;
  Step   step = step_of ("zero3", PLAIN "offload_optimizer=cpu,offload_param=cpu", micro_steps);
  double share = SHARE (step);

  ck_assert_double_eq (moved (&step, PLACE_PINNED, PLACE_HBM),
                       2 * micro_steps * 2 * share + (micro_steps - 1) * 4 * share);
  ck_assert_double_eq (moved (&step, PLACE_HBM, PLACE_PINNED), micro_steps * 4 * share);
  ck_assert_double_eq (step.totals.high[PLACE_PINNED], (2 + 4 + 12) * share);
  ck_assert_double_eq (step.totals.high[PLACE_NVME], 0);
}
END_TEST

/*
 * All on drives: 12 P / R of states and 4 of gradients are read for the update, 12 written; shards
 * are read for each of two uses and written once. In pinned memory there are buffers alone.
 */
START_TEST (all_on_drives)
{
  const gboolean pipelined = _i == 1;
  Step           step = step_of ("zero-infinity",
                       pipelined ? DRIVES "pipeline_read=true" : DRIVES "pipeline_read=false", 1);
  double         share = SHARE (step);
  double         buffers = 5 * 30000 * 2 + (pipelined ? 2 : 1) * 4 * 4 * share + 2 * share;

  ck_assert_double_eq (moved (&step, PLACE_NVME, PLACE_PINNED), (12 + 4) * share + 2 * 2 * share);
  ck_assert_double_eq (moved (&step, PLACE_PINNED, PLACE_NVME), (12 + 4) * share + 2 * share);
  ck_assert_double_eq (moved (&step, PLACE_PINNED, PLACE_HBM), 2 * 2 * share);
  ck_assert_double_eq (moved (&step, PLACE_HBM, PLACE_PINNED), 4 * share);
  ck_assert_double_eq (step.totals.high[PLACE_NVME], (2 + 4 + 12) * share);
  ck_assert_double_eq (step.totals.high[PLACE_PINNED], buffers); /* gradients pass them, too */
}
END_TEST

/*
 * Gradients go to drives through the buffers of a sub-group, however small those are beside all
 * gradients: as many times as it takes.
 */
START_TEST (gradients_pass_bounded_buffers)
{
  Step step = step_of ("zero-infinity", DRIVES "sub_group_size=1,reduce_bucket_size=1", 1 + 2 * _i);
  double share = SHARE (step), tile = ceil (share / 64);

  ck_assert_double_eq (moved (&step, PLACE_HBM, PLACE_PINNED), (1 + 2 * _i) * 4 * share);
  ck_assert_double_eq (step.totals.high[PLACE_PINNED], 5 * 30000 * 2 + 4 * 4 * tile + 2 * tile);
}
END_TEST

/* Nobody updates: gradients go to drives through the buffers of one sub-group, and that is all. */
START_TEST (drives_without_an_optimizer)
{
  Step step = step_over (llama_without_optimizer (3), "zero-infinity",
                         PLAIN "offload_optimizer=nvme,offload_param=none,pipeline_read=true");

  ck_assert_double_eq (moved (&step, PLACE_NVME, PLACE_PINNED), 0);
  ck_assert_double_eq (moved (&step, PLACE_PINNED, PLACE_NVME), 4 * SHARE (step));
  ck_assert_double_eq (moved (&step, PLACE_PINNED, PLACE_HBM), 0);
  ck_assert_double_eq (step.totals.high[PLACE_PINNED], 4 * 4 * SHARE (step));
}
END_TEST

/*
 * Pinned memory comes in powers of two. A rank has 34 032 of the 136 128 elements; its shards were
 * made tensor by tensor: two tables of 3 200 bytes, and in each of 3 blocks four matrices of 2 048,
 * three of 4 096 and two norms of 32; another norm. Moments (and stage 3's master) are not pinned.
 */
START_TEST (pinned_blocks_are_rounded)
{
  static const struct
  {
    const char *strategy, *options;
    guint64     bytes;
  } by_hand[] = {
    { "zero-infinity", "param_persistence_threshold=0",
      131072 /* parameters */ + 131072 /* reduced gradients */ + 262144 /* fp32 gradients */
          + 12 * 34032 + (2 * 4096 + 3 * (4 * 2048 + 3 * 4096 + 2 * 32) + 32) },
    { "zero3", "param_persistence_threshold=0,offload_optimizer=cpu",
      131072 + 262144 + 12 * 34032 + 2 * 34032 /* new parameters */ },
    { "zero-offload", "",
      262144 /* master */ + 262144 /* gradients */ + 131072 /* parameters */ + 8 * 34032 },
  };
  Step step = step_of (by_hand[_i].strategy, by_hand[_i].options, 1);

  ck_assert_double_eq (step.totals.high[PLACE_PINNED], (double) by_hand[_i].bytes);
}
END_TEST

/* An option of drives where there are none is said to have no effect, and is no error. */
START_TEST (options_without_effect)
{
  static const struct
  {
    const char *strategy, *options, *message;
  } without[] = {
    { "zero3", "offload_optimizer=cpu,pipeline_read=true",
      "'pipeline_read' has no effect without 'offload_optimizer: nvme'" },
    { "zero-infinity", "params_buffer_count=7",
      "'params_buffer_count' has no effect without 'offload_param: nvme'" },
    { "fsdp2", "pin_memory=false", "'pin_memory' has no effect without 'cpu_offload: true'" },
    { "zero3", "offload_optimizer=nvme,pipeline_read=true,optimizer_buffer_count=5", NULL },
    { "zero-infinity", "", NULL },
    { "fsdp2", "pin_memory=false,cpu_offload=true", NULL },
  };
  const Strategy      *strategy = strategy_find (without[_i].strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload) workload = llama_clipped (1, 1);
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 2, .ranks_per_node = 2, .world = 2 } };
  StrategyChoice       choice = { .strategy = strategy };
  g_autoptr (DiagList) diags = diag_list_new ();

  set_options (strategy, options, without[_i].options);
  choice.options = options;
  ck_assert (strategy_check (&in, &choice, diags));
  if (without[_i].message == NULL)
    ck_assert (diag_list_is_empty (diags));
  else
    ck_assert_str_eq (diag_list_first_message (diags), without[_i].message);
  option_table_clear (strategy->options, options);
}
END_TEST

/* Twin-Flow: of the optimizer's elements a quarter goes to the host, and so do their gradients. */
START_TEST (a_part_stays_on_the_gpu)
{
  Step   all = step_of ("zero3", PLAIN "offload_optimizer=cpu", 1);
  Step   part = step_of ("zero3", PLAIN "offload_optimizer=cpu,ratio=0.25", 1);
  double share = SHARE (part), away = share - floor (0.75 * share);

  ck_assert_double_eq (part.totals.host[HOST_ADAM], away);
  ck_assert_double_eq (moved (&part, PLACE_HBM, PLACE_PINNED), 4 * away);
  ck_assert_double_eq (moved (&part, PLACE_PINNED, PLACE_HBM), 2 * away);
  ck_assert_double_eq (part.totals.high[PLACE_PINNED], (4 + 12 + 2) * away);
  ck_assert_double_eq (part.totals.states - all.totals.states, 16 * (share - away));
}
END_TEST

/* ---- tiles ----------------------------------------------------------------------------------- */

static double
sum_products (const KernelDesc *kernels, guint n, guint *n_products, guint64 *widest)
{
  double flops = 0;

  for (guint i = 0; i < n; i++)
    if (kernels[i].kind == KERNEL_MATMUL && kernels[i].module >= 0)
      {
        flops += kernels[i].flops;
        *widest = MAX (*widest, kernels[i].n);
        ++*n_products;
      }
  return flops;
}

/*
 * The seven linears of a block, 64 or 128 features wide, in 2 x 4 tiles: as many modules beside its
 * two norms, each with a product; together the same FLOPs and parameters.
 */
START_TEST (tiles_of_a_block)
{
  g_autoptr (Workload) whole = llama_tiled (1, 1, 1), tiled = llama_tiled (1, 2, 4);
  const LayerDesc     *a = workload_layer (whole, 1), *b = workload_layer (tiled, 1);
  guint                n[2] = { 0 };
  guint64              widest[2] = { 0 };

  ck_assert_uint_eq (a->n_modules, 2 + 7);
  ck_assert_uint_eq (b->n_modules, 2 + 7 * 8);
  ck_assert_uint_eq (a->elements, b->elements);
  ck_assert_double_eq (sum_products (a->forward, a->n_forward, &n[0], &widest[0]),
                       sum_products (b->forward, b->n_forward, &n[1], &widest[1]));
  ck_assert_uint_eq (n[0], 7);
  ck_assert_uint_eq (n[1], 7 * 8);
  ck_assert_uint_eq (widest[0], 128);
  ck_assert_uint_eq (widest[1], 32);
  ck_assert_uint_eq (a->saved_bytes, b->saved_bytes);
}
END_TEST

/* Gathering tiles one after the other moves the same bytes. */
START_TEST (tiles_are_gathered_in_turn)
{
  const MeshGroup all = { .size = RANKS, .stride = 1 };
  const char     *options = PLAIN "offload_optimizer=cpu,offload_param=cpu,reduce_bucket_size=1";
  Step            whole = step_over (llama_tiled (3, 1, 1), "zero-infinity", options);
  Step            tiled = step_over (llama_tiled (3, 1, 4), "zero-infinity", options);

  ck_assert_double_eq (plan_totals_traffic (&whole.totals, COLLECTIVE_ALL_GATHER, all),
                       plan_totals_traffic (&tiled.totals, COLLECTIVE_ALL_GATHER, all));
  ck_assert_double_eq (moved (&whole, PLACE_PINNED, PLACE_HBM),
                       moved (&tiled, PLACE_PINNED, PLACE_HBM));
}
END_TEST

/* ---- checkpoints ----------------------------------------------------------------------------- */

/*
 * Three blocks' inputs cross the link once each way in each micro-step, under any strategy, and all
 * three are on the host at the end of a forward pass. ddp needs most when the last block runs
 * backward: the other two are not on the GPU then.
 */
START_TEST (checkpoints_on_the_host)
{
  static const char *const strategies[] = { "ddp", "fsdp2", "zero3" };
  const guint              micro_steps = 1 + 2 * (_i % 2);
  const char              *name = strategies[_i / 2];
  Step                     gpu = step_over (llama_checkpointed (3, micro_steps, FALSE), name, "");
  Step                     host = step_over (llama_checkpointed (3, micro_steps, TRUE), name, "");

  ck_assert_double_eq (moved (&gpu, PLACE_HBM, PLACE_PAGEABLE), 0);
  ck_assert_double_eq (moved (&host, PLACE_HBM, PLACE_PAGEABLE),
                       micro_steps * 3 * LLAMA_CHECKPOINT);
  ck_assert_double_eq (moved (&host, PLACE_PAGEABLE, PLACE_HBM),
                       micro_steps * 3 * LLAMA_CHECKPOINT);
  ck_assert_double_eq (host.totals.high[PLACE_PAGEABLE], 3 * LLAMA_CHECKPOINT);
  if (_i / 2 == 0)
    ck_assert_double_eq (gpu.totals.high[PLACE_HBM] - host.totals.high[PLACE_HBM],
                         2 * LLAMA_CHECKPOINT);
}
END_TEST

/*
 * Two tensor ranks keep half of each of the three inputs, on the GPU or on the host, and gather all
 * of it once in each micro-step.
 */
START_TEST (checkpoints_in_slices)
{
  const gboolean  on_host = _i % 2 == 1;
  const guint     micro_steps = 1 + _i / 2;
  const MeshGroup pair = { .size = 2, .stride = 1 };
  const double    half = 3.0 * LLAMA_CHECKPOINT / 2;
  Step            step = step_over (llama_sliced (3, micro_steps, on_host), "ddp", "");

  ck_assert_double_eq (plan_totals_traffic (&step.totals, COLLECTIVE_ALL_GATHER, pair),
                       micro_steps * 2 * half);
  ck_assert_double_eq (moved (&step, PLACE_HBM, PLACE_PAGEABLE), on_host ? micro_steps * half : 0);
  ck_assert_double_eq (moved (&step, PLACE_PAGEABLE, PLACE_HBM), on_host ? micro_steps * half : 0);
  ck_assert_double_eq (step.totals.high[PLACE_PAGEABLE], on_host ? half : 0);
}
END_TEST

/* A ratio has nothing to divide where the optimizer does not leave, or the parameters do. */
START_TEST (a_ratio_without_its_split)
{
  static const char *const bad[] = { "ratio=0.5",
                                     "ratio=0.5,offload_optimizer=cpu,offload_param=cpu" };
  const Strategy          *strategy = strategy_find ("zero3");
  g_autofree gpointer      options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload)     workload = llama_clipped (1, 1);
  const PlanInput          in = { .workload = workload,
                                  .mesh = { .n_ranks = 2, .ranks_per_node = 2, .world = 2 } };
  g_autoptr (DiagList)     diags = diag_list_new ();

  set_options (strategy, options, bad[_i]);
  ck_assert (!strategy->check (&in, options, diags));
  ck_assert (strstr (diag_list_first_message (diags), "stays on the GPU") != NULL);
  option_table_clear (strategy->options, options);
}
END_TEST

SUITE_MAIN (offload)
{
  Suite *suite = suite_create ("offload");
  TCase *tcase = tcase_create ("by hand");

  tcase_add_loop_test (tcase, zero_offload_moves_slices, 0, 4);
  tcase_add_test (tcase, zero_offload_reduces_as_deepspeed);
  tcase_add_test (tcase, the_norm_of_offloaded_gradients);
  tcase_add_test (tcase, optimizer_on_the_host);
  tcase_add_loop_test (tcase, parameters_on_the_host, 0, 2);
  tcase_add_loop_test (tcase, all_on_drives, 0, 2);
  tcase_add_loop_test (tcase, gradients_pass_bounded_buffers, 0, 2);
  tcase_add_test (tcase, drives_without_an_optimizer);
  tcase_add_loop_test (tcase, options_without_effect, 0, 6);
  tcase_add_loop_test (tcase, pinned_blocks_are_rounded, 0, 3);
  tcase_add_test (tcase, a_part_stays_on_the_gpu);
  tcase_add_test (tcase, tiles_of_a_block);
  tcase_add_test (tcase, tiles_are_gathered_in_turn);
  tcase_add_loop_test (tcase, checkpoints_on_the_host, 0, 6);
  tcase_add_loop_test (tcase, checkpoints_in_slices, 0, 4);
  tcase_add_loop_test (tcase, a_ratio_without_its_split, 0, 2);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
