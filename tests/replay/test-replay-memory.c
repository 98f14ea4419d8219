/*
 * The peak of allocated memory in a replay is that of the schedule in host order, to the byte, and
 * lies inside the closed form's bounds, beside libraries' workspaces, with every allocator; the
 * device holds at least as much, runtime included; what an allocator reserves is no less, and
 * without one it is the same. Random scenarios. Not asserted here: when memory is released on the
 * device (the engine's tests work that out by hand), and host memory, whose pools are shared.
 */
#include "../cases.h"
#include "../suite.h"
#include "fixture.h"

#include "replay/bind/plan-memory.h"
#include "replay/memory/device-heap.h"
#include "replay/memory/runtime-memory.h"

#define CASES 800

static gint64
head_room (PlanMemory plan)
{
  return (gint64) (plan.hbm.capacity - plan.hbm.device.bytes);
}

/* A plan without a run: the same bytes in the host's order, and a reserved peak that holds them. */
static void
check_plan (const Replay *replay, guint role, guint64 allocated, guint seed)
{
  PlanMemory plan = replay_plan_memory (replay_plan (replay), role);

  ck_assert_msg (plan.hbm.allocated.bytes == allocated,
                 "seed %u, role %u: %" G_GUINT64_FORMAT " B in the plan, %" G_GUINT64_FORMAT
                 " B in the run",
                 seed, role, plan.hbm.allocated.bytes, allocated);
  ck_assert_uint_ge (plan.hbm.reserved.bytes, allocated);
  ck_assert_uint_eq (schedule_role_of_rank (replay_schedule (replay), plan.rank), role);
  ck_assert_int_le (head_room (replay_plan_fullest (replay_plan (replay))), head_room (plan));
}

static void
check_rank (const Replay *replay, guint i, const PlanTotals *expected, guint seed)
{
  const ReplayRank         *rank = replay_rank (replay, i);
  const PoolStats          *hbm = engine_pool_stats (replay_engine (replay), rank->hbm);
  g_autoptr (RuntimeMemory) memory = runtime_memory_new (replay_plan (replay));
  guint64                   runtime = runtime_memory_bytes (memory, rank->rank);
  const ResolvedScenario   *resolved = replay_resolved (replay);
  const GpuProfile         *gpu = cluster_gpu_profile (resolved->cluster, rank->rank);
  const Scenario           *scenario = resolved->scenario;
  guint64                   kept = device_heap_workspaces (&scenario->memory, gpu, &scenario->mesh);
  guint64                   allocated = hbm->allocated.bytes - kept, sum = 0;
  PlanTotals                measured = { 0 };

  schedule_totals (replay_schedule (replay), rank->role, &measured);
  ck_assert_msg ((double) allocated == measured.high[PLACE_HBM],
                 "seed %u, rank %u: %" G_GUINT64_FORMAT " B allocated, the schedule has %.17g",
                 seed, rank->rank, allocated, measured.high[PLACE_HBM]);
  ck_assert_msg ((double) allocated >= expected->low[PLACE_HBM]
                     && (double) allocated <= expected->high[PLACE_HBM],
                 "seed %u, rank %u: %" G_GUINT64_FORMAT " B allocated, expected %.17g to %.17g",
                 seed, rank->rank, allocated, expected->low[PLACE_HBM], expected->high[PLACE_HBM]);
  if (replay_resolved (replay)->scenario->memory.allocator == ALLOCATOR_IDEAL)
    ck_assert_uint_eq (hbm->reserved.bytes, allocated + kept);
  else
    ck_assert_uint_eq (hbm->reserved.bytes + runtime, hbm->device.bytes);
  ck_assert_uint_ge (hbm->reserved.bytes, allocated + kept);
  check_plan (replay, rank->role, allocated + kept, seed);
  ck_assert_uint_ge (hbm->device.bytes, allocated + kept + runtime);
  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    sum += hbm->device.by_category[c];
  ck_assert_uint_eq (sum + hbm->device.cached, hbm->device.bytes);
  ck_assert_uint_le (hbm->device.waiting, hbm->device.bytes);
}

START_TEST (test_allocated_is_the_schedule_s)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  guint                  waited = 0;

  for (guint seed = 0; seed < cases_of (CASES); seed++)
    {
      g_autoptr (GRand)    rand = g_rand_new_with_seed (4200 + seed);
      g_autoptr (Scenario) scenario = fixture_random (rand, profiles);
      g_autoptr (Replay)   replay = NULL;
      PlanTotals           expected = { 0 };

      scenario->memory.allocator = (gint) (seed % 3);
      scenario->memory.workspaces = (gint) (seed / 3 % 3);
      replay = fixture_replay (scenario, profiles, FALSE, 0);
      ck_assert (replay_plan_expect (replay_plan (replay), &expected));
      for (guint i = 0; i < replay_n_ranks (replay); i++)
        {
          check_rank (replay, i, &expected, 4200 + seed);
          waited += engine_pool_stats (replay_engine (replay), replay_rank (replay, i)->hbm)
                        ->device.waiting
                    > 0;
        }
    }
  ck_assert_uint_ge (waited, cases_of (CASES) / 4); /* else the two peaks are hardly told apart */
}
END_TEST

/*
 * Of two llama blocks of width 64 with 4096 columns, 128 tokens, under zero1 on 8 GPUs; KEY and
 * VALUE: one setting more.
 */
static guint64
planned_peak (const char *framework, const char *grad_accum, const char *key, const char *value)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();

  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.node", "dgx-a100", "cluster.nodes", "1", "model.arch", "llama", "model.n_layers",
      "2", "model.d_model", "64", "model.n_heads", "2", "model.d_ff", "128", "model.vocab", "4096",
      "training.seq_len", "128", "training.micro_batch", "1", "training.grad_accum", grad_accum,
      "training.framework", framework, "memory.workspaces", "none", "strategy.name", "zero1", key,
      value, NULL);

  g_autoptr (ReplayPlan) plan = replay_plan_scenario (scenario, profiles, diags);

  ck_assert_msg (plan != NULL, "%s", diag_list_first_message (diags));
  return replay_plan_memory (plan, 0).hbm.allocated.bytes;
}

/*
 * At the loss's backward pass a framework that holds the logits of two micro-steps, 128 x 4096 x 2
 * = 1 MiB each, has those beside the same tensors as another one, and in each of two layers 4 x 128
 * x 32 x 2 = 32 KiB of rotary tables. One micro-step leaves one.
 */
START_TEST (test_held_logits)
{
  guint64 one = 1 << 20, tables = 2 << 15;

  for (guint i = 0; i < 3; i++)
    {
      const char *grad_accum = i == 0 ? "1" : i == 1 ? "2" : "5";

      ck_assert_uint_eq (planned_peak ("aleph-alpha-scaling-2023", grad_accum, NULL, NULL)
                             - planned_peak ("modalities-2024", grad_accum, NULL, NULL),
                         (i == 0 ? 1 : 2) * one + tables);
    }
}
END_TEST

/* Memory beside the allocator of a rank whose tensor parallelism overlaps BY; WORKSPACE of both. */
static guint64
planned_runtime (const char *by, const char *cp, const char *fp8, guint64 *workspace)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();

  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.node", "dgx-h100", "cluster.nodes", "1", "model.arch", "llama", "model.n_layers",
      "2", "model.d_model", "64", "model.n_heads", "4", "model.d_ff", "128", "model.vocab", "4096",
      "training.seq_len", "128", "training.micro_batch", "1", "training.fp8_recipe", fp8, "mesh.tp",
      "2", "mesh.sp", "1", "mesh.cp", cp, "mesh.async_tp", "true", "mesh.async_tp_by", by,
      "memory.workspaces", "transformer-engine", "strategy.name", "ddp", NULL);

  g_autoptr (ReplayPlan) plan = replay_plan_scenario (scenario, profiles, diags);
  PlanMemory             memory;

  ck_assert_msg (plan != NULL, "%s", diag_list_first_message (diags));
  memory = replay_plan_memory (plan, 0);
  *workspace = device_heap_workspaces (
      &scenario->memory, cluster_gpu_profile (replay_plan_resolved (plan)->cluster, 0),
      &scenario->mesh);
  return memory.hbm.peak_by_category[POOL_RUNTIME];
}

/*
 * Transformer Engine's userbuffers beside the same run without: 10 buffers of 128 tokens x 64 x 2 B
 * = 16 KiB, of which 6 are half as large in fp8; half the tokens on each of two context ranks. And
 * two more of the library's workspaces of 32 MiB.
 */
START_TEST (test_userbuffers)
{
  static const struct
  {
    const char *cp, *fp8;
    guint64     kib;
  } cases[] = { { "1", "none", 160 }, { "2", "none", 80 }, { "1", "delayed", 4 * 16 + 6 * 8 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      guint64 more, less;
      guint64 with = planned_runtime ("userbuffers", cases[i].cp, cases[i].fp8, &more);
      guint64 without = planned_runtime ("slices", cases[i].cp, cases[i].fp8, &less);

      ck_assert_uint_eq (with - without, cases[i].kib << 10);
      ck_assert_uint_eq (more - less, 2 * (guint64) 32 << 20);
    }
}
END_TEST

/*
 * 2 x 4096 x 64 + 2 x (4 x 64 x 64 + 3 x 64 x 128 + 2 x 64) + 64 = 606528 parameters. At the head's
 * backward pass fp32 gradients have the 4096 x 64 that it computes beside them; with all that was
 * computed they have 2 bytes a parameter.
 */
START_TEST (test_computed_gradients)
{
  const char *key = "strategy.gradient_dtype", *framework = "megatron-deepspeed-2022";

  ck_assert_uint_eq (planned_peak (framework, "2", key, "fp32-beside")
                         - planned_peak (framework, "2", key, "fp32"),
                     2 * 606528 - 2 * 4096 * 64);
}
END_TEST

SUITE_MAIN (replay_memory)
{
  Suite *suite = suite_create ("replay-memory");
  TCase *tcase = tcase_create ("peaks");

  tcase_add_test (tcase, test_allocated_is_the_schedule_s);
  tcase_add_test (tcase, test_held_logits);
  tcase_add_test (tcase, test_computed_gradients);
  tcase_add_test (tcase, test_userbuffers);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
