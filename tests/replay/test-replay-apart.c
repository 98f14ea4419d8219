/*
 * Pipelines over hashed links, where each rank of a tensor-parallel group gets its messages at
 * times of its own: one rank a group, with all of the group's messages, has the period of all
 * ranks to the picosecond, or says that it may not. Over random clusters, meshes, pipelines and
 * placements. Not asserted: what is said of single ranks, which is not theirs.
 */
#include "../cases.h"
#include "../suite.h"
#include "fixture.h"

#define N_CASES 240
#define SEEDS   6 /* of one test of a loop */

/* Seeds whose messages end apart, and change nothing; or something. */
#define HOLDS 4
#define FAILS 2

#define PICK(rand, list) ((list)[g_rand_int_range (rand, 0, G_N_ELEMENTS (list))])

/* Of NODES of 8 GPUs of a fabric of 64, under leaves whose uplinks a hash of QPS queue pairs fills.
 */
static Scenario *
hashed_pipeline (const char *nodes, const char *seed, const char *qps, const char *tp,
                 const char *pp, const char *vp, const char *strategy)
{
  return fixture_scenario ("cluster.node", "dgx-h100", "cluster.nodes", nodes, "cluster.nic",
                           "roce-400", "cluster.leaf_nodes", "2", "cluster.fabric_nodes", "64",
                           "cluster.routing", "ecmp", "cluster.qps", qps, "cluster.placement",
                           "random", "cluster.placement_seed", seed, "model.arch", "gpt",
                           "model.n_layers", "8", "model.d_model", "1024", "model.n_heads", "16",
                           "model.vocab", "4096", "training.seq_len", "512", "training.micro_batch",
                           "2", "training.grad_accum", "4", "mesh.tp", tp, "mesh.pp", pp, "mesh.vp",
                           vp, "strategy.name", strategy, NULL);
}

static Scenario *
random_pipeline (guint seed)
{
  static const char *const nodes[] = { "4", "8" }, *const qps[] = { "1", "4", "16" };
  static const char *const tp[] = { "4", "8" }, *const pp[] = { "2", "4" };
  static const char *const vp[] = { "1", "2" }, *const strategies[] = { "ddp", "zero1", "fsdp2" };
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autofree char  *text = g_strdup_printf ("%u", seed);
  /* one after another: compilers draw a call's arguments in orders of their own */
  const char *strategy = PICK (rand, strategies), *chunks = PICK (rand, vp);
  const char *stages = PICK (rand, pp), *tensor = PICK (rand, tp);
  const char *pairs = PICK (rand, qps), *many = PICK (rand, nodes);

  return hashed_pipeline (many, text, pairs, tensor, stages, chunks, strategy);
}

/* NULL where a run shows that the ranks may not be one; LOCKSTEP: what they were bound in. */
static Replay *
replay_apart (const Scenario *scenario, ProfileSet *profiles, Lockstep *lockstep)
{
  const BoundOptions   how = { .times_only = TRUE, .step_only = TRUE, .lockstep = LOCKSTEP_APART };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (ReplayPlan)  plan = replay_plan_scenario (scenario, profiles, diags);
  g_autoptr (ReplayBound) bound = replay_bound_new_with (plan, &how);
  Replay                 *replay = replay_new (bound, NULL, &error);

  *lockstep = replay_bound_lockstep (bound);
  ck_assert (replay != NULL || g_error_matches (error, ENGINE_ERROR, ENGINE_ERROR_UNLIKE));
  return replay;
}

/* Whether some of what an op of the run stands for may have ended before it. */
static gboolean
has_ends_apart (const Replay *replay)
{
  const Engine *engine = replay_engine (replay);

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    if (engine_op_record (engine, op)->apart)
      return TRUE;
  return FALSE;
}

/* How a case goes: not bound so; shown unlike; or as all ranks go, in step or with ends apart. */
typedef enum
{
  UNBOUND,
  UNLIKE,
  IN_STEP,
  APART,
} Outcome;

static Outcome
compare (const Scenario *scenario, guint seed, ProfileSet *profiles)
{
  Lockstep           lockstep;
  g_autoptr (Replay) apart = replay_apart (scenario, profiles, &lockstep);
  g_autoptr (Replay) full = NULL;

  if (lockstep == LOCKSTEP_NONE)
    return UNBOUND;
  if (apart == NULL)
    return UNLIKE;
  full = fixture_replay (scenario, profiles, TRUE, 0);
  ck_assert (2 * replay_n_ranks (apart) <= replay_n_ranks (full));
  ck_assert_msg (replay_period (apart) == replay_period (full),
                 "seed %u: apart %" G_GUINT64_FORMAT " ps, all ranks %" G_GUINT64_FORMAT, seed,
                 replay_period (apart), replay_period (full));
  return has_ends_apart (apart) ? APART : IN_STEP;
}

START_TEST (test_periods_are_those_of_all_ranks)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  for (guint i = 0; i < SEEDS; i++)
    {
      const guint          seed = (guint) _i * SEEDS + i + 1;
      g_autoptr (Scenario) scenario = random_pipeline (seed);

      compare (scenario, seed, profiles);
    }
}
END_TEST

/*
 * Of the cases above: messages that end apart and are waited for by kernels up to the next
 * reduction of the tensor-parallel group; and one behind which a rank at once sends the next, which
 * begins as far apart.
 */
START_TEST (test_some_ranks_are_apart)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   holds = random_pipeline (HOLDS);
  g_autoptr (Scenario)   fails = random_pipeline (FAILS);

  ck_assert_int_eq (compare (holds, HOLDS, profiles), APART);
  ck_assert_int_eq (compare (fails, FAILS, profiles), UNLIKE);
}
END_TEST

/* Where messages have streams of their own, kernels run beside them: their end lends these SMs. */
START_TEST (test_kernels_beside_messages)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = hashed_pipeline ("8", "1", "1", "8", "4", "1", "zero1");

  scenario->mesh.p2p = MESH_P2P_DIRECT;
  ck_assert_int_eq (compare (scenario, 1, profiles), UNBOUND);
}
END_TEST

static Suite *
apart_suite (void)
{
  Suite *suite = suite_create ("replay-apart");
  TCase *tcase = tcase_create ("property");

  tcase_add_loop_test (tcase, test_periods_are_those_of_all_ranks, 0,
                       (int) cases_of (N_CASES) / SEEDS);
  tcase_add_test (tcase, test_some_ranks_are_apart);
  tcase_add_test (tcase, test_kernels_beside_messages);
  suite_add_tcase (suite, tcase);
  return suite;
}

SUITE_MAIN (replay_apart)
{
  return fixture_main (apart_suite ());
}
