/*
 * Copies that stay in GPU memory below a threshold (FCDP-Cache), on a cluster whose capacity is
 * known: the room is what the plan without them leaves, counted from the threshold; the two ends
 * are FCDP-Sched and hpZ to the picosecond; what stays on the GPU pays nothing for host copies. By
 * hand in bytes: strategy/test-second-copy.c. And optimizer states in unified memory, which stay
 * where they have room and else go to the host.
 */
#include "../suite.h"
#include "fixture.h"

#include "replay/bind/plan-memory.h"

/* Untied, and every tensor is cut: two bytes an element, an eighth of them on a GPU. */
#define LLAMA_OF_4                                                                             \
  "model.arch", "llama", "model.n_layers", "4", "model.d_model", "1024", "model.n_heads", "8", \
      "model.d_ff", "4096", "model.vocab", "32000", "training.seq_len", "256"
#define LLAMA(strategy, grad_accum)                                                                \
  LLAMA_OF_4, "cluster.node", "dgx-a100", "cluster.nodes", "2", "training.grad_accum", grad_accum, \
      "strategy.name", strategy, "strategy.param_persistence_threshold", "0"

static Scenario *
fcdp (const char *grad_accum, const char *threshold)
{
  return fixture_scenario (LLAMA ("fcdp", grad_accum), "strategy.cache_threshold", threshold, NULL);
}

static ReplayPlan *
plan_of (const Scenario *scenario, ProfileSet *profiles)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ReplayPlan          *plan = replay_plan_scenario (scenario, profiles, diags);

  ck_assert_msg (plan != NULL, "%s", diag_list_first_message (diags));
  return plan;
}

/*
 * Without the prefetcher, whose fetches are of one source each and so of other sizes where some
 * copies stay: the allocator's segments would be others.
 */
static PlanMemory
memory_of (const char *grad_accum, const char *threshold, ProfileSet *profiles)
{
  g_autoptr (Scenario) scenario =
      fixture_scenario (LLAMA ("fcdp", grad_accum), "strategy.cache_threshold", threshold,
                        "strategy.prefetch_bucket_size", "0", NULL);
  g_autoptr (ReplayPlan) plan = plan_of (scenario, profiles);

  return replay_plan_fullest (plan);
}

/* Bytes of a GPU's slices of the first N layers, the embedding among them; 0: of all. */
static guint64
slices (guint n, ProfileSet *profiles)
{
  g_autoptr (Scenario)   scenario = fcdp ("1", "0");
  g_autoptr (ReplayPlan) plan = plan_of (scenario, profiles);
  const Workload        *workload = replay_plan_resolved (plan)->workload;
  guint64                elements = 0;

  for (guint i = 0; i < (n > 0 ? n : workload_n_layers (workload)); i++)
    elements += workload_layer (workload, i)->elements;
  return 2 * elements / 8;
}

/*
 * The threshold that leaves room for two blocks and the table, and 100 bytes, where the next norm
 * takes 256.
 */
static char *
threshold_of (const PlanMemory *bare, ProfileSet *profiles)
{
  guint64 upto = bare->hbm.device.bytes + slices (3, profiles) + 100;
  char    text[G_ASCII_DTOSTR_BUF_SIZE];

  return g_strdup (g_ascii_dtostr (text, sizeof text, (double) upto / (double) bare->hbm.capacity));
}

START_TEST (test_room)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  PlanMemory             bare = memory_of ("2", "0", profiles), cached;
  g_autofree char       *threshold = threshold_of (&bare, profiles);
  guint64                kept = slices (3, profiles), all = slices (0, profiles);

  cached = memory_of ("2", threshold, profiles);
  ck_assert_uint_eq (bare.host_bytes, all);
  ck_assert_uint_eq (cached.host_bytes, all - kept);
  ck_assert_uint_eq (cached.hbm.allocated.bytes, bare.hbm.allocated.bytes + kept);
  /* the allocator's segment is rounded up to 2 MiB */
  ck_assert_uint_le (cached.hbm.device.bytes, bare.hbm.device.bytes + kept + (2 << 20));
}
END_TEST

/* Few micro-steps stand for many: they find the same room. */
START_TEST (test_micro_steps)
{
  static const char *const accums[] = { "3", "7" };
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);
  PlanMemory               bare = memory_of ("2", "0", profiles);
  g_autofree char         *threshold = threshold_of (&bare, profiles);

  ck_assert_uint_eq (memory_of (accums[_i], threshold, profiles).host_bytes,
                     slices (0, profiles) - slices (3, profiles));
}
END_TEST

/* A period of SCENARIO, which is freed, in ps; LATENCY: seconds until a host copy starts. */
static guint64
period_of (Scenario *scenario, double latency)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = NULL;

  ck_assert (profile_set_override (profiles, "gpu", "a100-sxm-80", "host_copy_latency", latency));
  replay = fixture_replay (scenario, profiles, FALSE, 0);
  scenario_free (scenario);
  return (guint64) replay_period (replay);
}

/*
 * A threshold that the plan is above without copies keeps nothing; one on a GPU that has room for
 * all makes it hpZ, which pays nothing for host copies to start.
 */
START_TEST (test_ends)
{
  Scenario *hpz = fixture_scenario (LLAMA ("zeropp", "2"), "strategy.zero_quantized_weights",
                                    "false", "strategy.zero_quantized_gradients", "false", NULL);
  guint64   sched = period_of (fcdp ("2", "0"), 0), cache = period_of (fcdp ("2", "1"), 0);

  ck_assert_uint_eq (period_of (fcdp ("2", "0.000001"), 0), sched);
  ck_assert_uint_eq (period_of (hpz, 0), cache);
  ck_assert_uint_eq (period_of (fcdp ("2", "1"), 1e-4), cache);
  ck_assert_uint_gt (period_of (fcdp ("2", "0"), 1e-4), sched);
}
END_TEST

/* ---- states in unified memory ---------------------------------------------------------------- */

/*
 * One GPU that holds everything in bf16, in 4 + 4 bytes an element: matrices of 4 blocks and two
 * tables. Nine norms of 1024 are no pages.
 */
#define MATRICES (4 * (4 * 1024 * 1024 + 3 * 1024 * 4096) + 2 * 32000 * 1024)
#define PAGES    (4 * (guint64) MATRICES)

typedef struct
{
  PlanMemory memory;
  double     period; /* s */
} Paged;

static Scenario *
paged_scenario (const char *paged)
{
  return fixture_scenario (LLAMA_OF_4, "cluster.node", "dgx-a100", "cluster.nodes", "1",
                           "cluster.gpus_per_node", "1", "training.precision", "bf16",
                           "training.optimizer", "adamw-fused", "training.optimizer_paged", paged,
                           "strategy.name", "ddp", NULL);
}

static Paged
run_paged (const char *paged, guint64 capacity)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = paged_scenario (paged);
  g_autoptr (ReplayPlan) plan = NULL;
  g_autoptr (Replay)     replay = NULL;

  if (capacity > 0)
    ck_assert (
        profile_set_override (profiles, "gpu", "a100-sxm-80", "hbm_bytes", (double) capacity));
  plan = plan_of (scenario, profiles);
  replay = fixture_replay (scenario, profiles, FALSE, 0);
  return (Paged){ replay_plan_fullest (plan), (double) replay_period (replay) * 1e-12 };
}

/* Pages that have room are what states are without them, up to the last byte. */
START_TEST (test_pages_stay)
{
  Paged plain = run_paged ("false", 0), paged = run_paged ("true", 0);

  ck_assert (paged.period == plain.period);
  ck_assert_uint_eq (paged.memory.host_bytes, 0);
  ck_assert_uint_eq (run_paged ("true", plain.memory.hbm.device.bytes).memory.host_bytes, 0);
}
END_TEST

/*
 * Where half of them have room all are on the host, and all go both ways, one after the other, over
 * a link of 25 GB/s: what comes in takes the place of what is needed next.
 */
START_TEST (test_pages_leave)
{
  Paged   plain = run_paged ("false", 0);
  guint64 capacity = plain.memory.hbm.device.bytes - PAGES / 2;
  Paged   paged = run_paged ("true", capacity);
  double  moved = paged.period - plain.period, expected = 2 * (double) PAGES / 25e9;

  ck_assert_uint_eq (paged.memory.host_bytes, PAGES);
  ck_assert_uint_le (paged.memory.hbm.device.bytes, capacity);
  ck_assert_uint_eq (paged.memory.hbm.allocated.bytes, plain.memory.hbm.allocated.bytes - PAGES);
  ck_assert_msg (moved >= expected && moved <= 1.01 * expected, "%g s is not %g s", moved,
                 expected);
}
END_TEST

SUITE_MAIN (room)
{
  Suite *suite = suite_create ("replay-room");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_room);
  tcase_add_loop_test (tcase, test_micro_steps, 0, 2);
  tcase_add_test (tcase, test_ends);
  tcase_add_test (tcase, test_pages_stay);
  tcase_add_test (tcase, test_pages_leave);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
