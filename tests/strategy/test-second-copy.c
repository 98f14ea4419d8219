/*
 * A second copy that stays in GPU memory as far as there is room, by hand on a small model: which
 * units stay, what the others move to the host and back, what lies where; and against the closed
 * form at any room. Not asserted here: time (worked/fcdp), and how much room a cluster's plan
 * leaves (replay-room).
 */
#include <check.h>

#include "../cases.h"
#include "../suite.h"
#include "random-plan.h"
#include "small-llama.h"

#define BLOCKS 4

/* Elements: a table, four blocks (4 x 64 x 64 + 3 x 64 x 128 + 2 x 64), the last norm and head. */
#define TABLE (100 * 64)
#define BLOCK (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64)
#define HEAD  (100 * 64 + 64)
#define ALL   (TABLE + BLOCKS * BLOCK + HEAD)

/* Every tensor is cut, and gathered at each use. */
#define PLAIN "param_persistence_threshold=0,max_reuse_distance=0,prefetch_bucket_size=0,"

static const MeshGroup node = { .size = 2, .stride = 1 }, all = { .size = 4, .stride = 1 };

/* A steady step of STRATEGY on two nodes of two GPUs with ROOM in their memory. */
static PlanTotals
step_of (const char *name, const char *options_text, guint micro_steps, PlanRoom room)
{
  const Strategy      *strategy = strategy_find (name);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload) workload = llama_of (BLOCKS, micro_steps, NULL, NULL);
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 },
                              .hbm = room };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;
  PlanTotals           totals = { 0 };

  ck_assert_uint_eq (workload_n_parameters (workload), ALL);
  set_options (strategy, options, options_text);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  ck_assert (schedule_check (schedule, &in.mesh, NULL, diags));
  schedule_totals (schedule, 0, &totals);
  option_table_clear (strategy->options, options);
  return totals;
}

static double
moved (const PlanTotals *totals, Place from, Place to)
{
  return totals->moves[move_kind (from, to)];
}

/* What rooms leave of four equal layers: two bytes an element, of which a rank has half. */
static const struct
{
  guint64 bytes; /* of room, */
  double  kept;  /* elements whose slices stay */
} rooms[] = {
  { 0, 0 },
  { TABLE - 1, 0 },
  { TABLE, TABLE },
  { TABLE + 2 * BLOCK, TABLE + 2 * BLOCK },
  /* one byte short of two layers: the last module, a matrix of 64 x 128, goes */
  { TABLE + 2 * BLOCK - 1, TABLE + 2 * BLOCK - 64 * 128 },
  /* the third layer's first module is a norm of 64 */
  { TABLE + 2 * BLOCK + 63, TABLE + 2 * BLOCK },
  { TABLE + 2 * BLOCK + 64, TABLE + 2 * BLOCK + 64 },
  { ALL - 1, ALL - 100 * 64 },
  { ALL, ALL },
  { 10 * ALL, ALL },
};

/*
 * A slices' first use in a step fills it, and each of the other 2 A - 1 uses reads it: over PCIe
 * what does not stay. The network and the gathers inside the node are the same.
 */
START_TEST (room_decides)
{
  const guint    micro_steps = 1 + 2 * (_i % 2);
  const PlanRoom room = { .capacity = 2 * (1000 + rooms[_i / 2].bytes), .taken = 1000 };
  double         kept = rooms[_i / 2].kept, gone = ALL - kept, reads = 2 * micro_steps - 1;
  PlanTotals     s = step_of ("fcdp", PLAIN "cache_threshold=0.5", micro_steps, room);
  PlanTotals     sched = step_of ("fcdp", PLAIN "cache_threshold=0", micro_steps, room);

  ck_assert_double_eq (moved (&s, PLACE_HBM, PLACE_PINNED), gone);
  ck_assert_double_eq (moved (&s, PLACE_PINNED, PLACE_HBM), reads * gone);
  ck_assert_double_eq (moved (&s, PLACE_HBM, PLACE_HBM), kept);
  ck_assert_double_eq (s.high[PLACE_PINNED], gone);
  ck_assert_double_eq (s.states, sched.states + kept);
  ck_assert_double_eq (plan_totals_traffic (&s, COLLECTIVE_ALL_GATHER, node), reads * 2 * ALL);
  ck_assert_double_eq (plan_totals_traffic (&s, COLLECTIVE_ALL_GATHER, all), 2 * ALL);
}
END_TEST

static void
assert_same (const PlanTotals *a, const PlanTotals *b)
{
  g_autofree char *why = NULL;

  ck_assert_msg (plan_totals_match (a, b, &why), "%s", why);
  ck_assert_double_eq (a->states, b->states);
}

/* No threshold is FCDP-Sched, whatever the GPU; enough room is hpZ, which never sees the host. */
START_TEST (ends_are_known)
{
  const PlanRoom huge = { .capacity = 1 << 30 };
  const char    *hpz = PLAIN "zero_quantized_weights=false,zero_quantized_gradients=false";
  PlanTotals     sched = step_of ("fcdp", PLAIN "cache_threshold=0.5", 2, (PlanRoom){ 0 });
  PlanTotals     none = step_of ("fcdp", PLAIN "cache_threshold=0", 2, huge);
  PlanTotals     full = step_of ("fcdp", PLAIN "cache_threshold=1", 2, huge);
  PlanTotals     hbm = step_of ("zeropp", hpz, 2, huge);

  assert_same (&none, &sched);
  assert_same (&full, &hbm);
  ck_assert_double_eq (full.high[PLACE_PINNED], 0);
}
END_TEST

/* A plan that is over the threshold without copies keeps none; neither does one on unknown GPUs. */
START_TEST (no_room)
{
  const PlanRoom rooms_[] = { { 0, 0 }, { 1 << 30, 1 << 30 }, { 1 << 30, 2u << 30 } };
  PlanTotals     s = step_of ("fcdp", PLAIN "cache_threshold=0.9", 1, rooms_[_i]);

  ck_assert_double_eq (moved (&s, PLACE_HBM, PLACE_PINNED), ALL);
  ck_assert_double_eq (s.high[PLACE_PINNED], ALL);
}
END_TEST

/* Bytes of the copies of PLAN in host memory where none stays on the GPU. */
static double
all_copies (RandomPlan *plan)
{
  PlanTotals totals = { 0 };

  plan->in.hbm = (PlanRoom){ 0 };
  ck_assert (strategy_expect (&plan->in, plan->choice, &totals));
  return totals.low[PLACE_PINNED];
}

/*
 * Emission and closed form at a part of the room that all copies take, windows and all. Plans that
 * keep no copy (one rank, a GPU a node, all tensors persistent) are compared, and not counted: of
 * N others a third at least has some units' copies on each side.
 */
START_TEST (any_room_is_expected)
{
  const Strategy *strategy = strategy_find ("fcdp");
  guint           mixed = 0, with_copies = 0, n = cases_of (500);

  for (guint i = 0; with_copies < n && i < 10 * n; i++)
    {
      g_autoptr (RandomPlan) plan = random_plan_new (strategy, 4000 + i, i);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Schedule)   schedule = NULL;
      g_autofree char       *why = NULL;
      PlanTotals             measured = { 0 }, expected = { 0 };
      double                 copies;

      option_set_key (strategy->options, (gpointer) plan->choice->options, "cache_threshold", "0.5",
                      NULL, diags);
      copies = all_copies (plan);
      with_copies += copies > 0;
      plan->in.hbm.capacity = (guint64) (2 * copies * (1 + i % 8) / 8);
      schedule = schedule_build (&plan->in, plan->choice, diags);
      ck_assert_msg (schedule != NULL && schedule_check (schedule, &plan->in.mesh, NULL, diags),
                     "%s", plan->text);
      ck_assert (strategy_expect (&plan->in, plan->choice, &expected));
      schedule_totals (schedule, 0, &measured);
      ck_assert_msg (plan_totals_match (&measured, &expected, &why), "%s\n%s", plan->text, why);
      mixed += expected.low[PLACE_PINNED] > 0 && moved (&measured, PLACE_HBM, PLACE_HBM) > 0;
    }
  ck_assert_uint_eq (with_copies, n);
  ck_assert_uint_gt (mixed, n / 3);
}
END_TEST

SUITE_MAIN (second_copy)
{
  Suite *suite = suite_create ("second-copy");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, room_decides, 0, 2 * G_N_ELEMENTS (rooms));
  tcase_add_test (tcase, ends_are_known);
  tcase_add_loop_test (tcase, no_room, 0, 3);
  tcase_add_test (tcase, any_room_is_expected);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
