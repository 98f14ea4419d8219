/*
 * Folded equals unfolded: over random clusters (sizes, links, leaves, oversubscription, rails, slow
 * GPUs), models, training and every strategy and one whose ranks differ, and over random meshes
 * (tensor, sequence, context, expert, data ranks, all pipelines), a replay of one rank a class has
 * the same step time within 1e-9 relative, the same peaks, the same traffic; and without the links
 * that cannot move a time the same step time and peaks of HBM. Ranks in lockstep say that they do
 * not stay so, or are as many, and as fast, as all of them. A replay also never deadlocks and
 * finds a steady period. Not asserted: that folding folds much (test-replay does), but where hashes
 * load links unalike, and where trees and an odd node are the only difference.
 */
#include "../cases.h"
#include "../schedule/anywhere.h"
#include "../suite.h"
#include "fixture.h"

#include <math.h>
#include <stdio.h>

#define N_CASES 960
/* A tenth is a multiple of the pipelines, and of how often there is one stage. */
#define N_MESHES 420
#define SEEDS    6 /* of one test of a loop */

static void
assert_close (double a, double b, double tolerance, guint seed, const char *what)
{
  if (fabs (a - b) > tolerance * MAX (fabs (a), fabs (b)))
    ck_abort_msg ("seed %u: %s: folded %.17g, unfolded %.17g", seed, what, a, b);
}

static void
compare_ranks (const Replay *folded, const Replay *full, guint seed)
{
  guint n = 0;

  for (guint i = 0; i < replay_n_ranks (folded); i++)
    {
      const ReplayRank *a = replay_rank (folded, i), *b = replay_rank (full, a->rank);
      const PoolStats  *p = engine_pool_stats (replay_engine (folded), a->hbm);
      const PoolStats  *q = engine_pool_stats (replay_engine (full), b->hbm);

      n += a->size;
      ck_assert_uint_eq (b->rank, a->rank);
      ck_assert_msg (p->device.bytes == q->device.bytes, "seed %u: HBM peak of rank %u", seed,
                     a->rank);
      ck_assert_msg (p->allocated.bytes == q->allocated.bytes, "seed %u: allocated peak of rank %u",
                     seed, a->rank);
    }
  ck_assert_uint_eq (n, cluster_n_gpus (replay_cluster (full)));
}

static void
compare_hosts (const Replay *folded, const Replay *full, guint seed)
{
  for (guint i = 0; i < replay_n_host_pools (folded); i++)
    {
      guint            node, same;
      const PoolStats *p =
          engine_pool_stats (replay_engine (folded), replay_host_pool (folded, i, &node));
      const PoolStats *q =
          engine_pool_stats (replay_engine (full), replay_host_pool (full, node, &same));

      ck_assert_uint_eq (node, same);
      ck_assert_msg (p->device.bytes == q->device.bytes, "seed %u: memory peak of node %u", seed,
                     node);
    }
}

static void
compare_traffic (const Replay *folded, const Replay *full, guint seed)
{
  g_autoptr (GArray) a = replay_bound_traffic (replay_bound (folded), WHOLE_PERIOD);
  g_autoptr (GArray) b = replay_bound_traffic (replay_bound (full), WHOLE_PERIOD);

  ck_assert_uint_eq (a->len, b->len);
  for (guint i = 0; i < a->len; i++)
    {
      const ReplayTraffic *x = &g_array_index (a, ReplayTraffic, i),
                          *y = &g_array_index (b, ReplayTraffic, i);

      ck_assert_uint_eq (x->comm, y->comm);
      ck_assert_uint_eq (x->kind, y->kind);
      ck_assert_uint_eq (x->calls, y->calls);
      assert_close (x->bytes, y->bytes, 0, seed, "bytes of a collective");
      assert_close (x->inter_node_per_gpu, y->inter_node_per_gpu, 1e-9, seed, "inter-node bytes");
      assert_close (x->intra_node_per_gpu, y->intra_node_per_gpu, 1e-9, seed, "intra-node bytes");
    }
}

/* ---- a strategy whose ranks play different parts --------------------------------------------- */

/*
 * What no shipped strategy does yet: roles that differ in kernels, copies, memory, and in the
 * groups that they use.
 */
typedef struct
{
  gint64 pattern;
} RolesOptions;

static const OptionSpec roles_options[] = {
  { .key = "pattern",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (RolesOptions, pattern),
    .fallback = "0",
    .help = "odd and even ranks, the first and the rest, two halves, or two halves with messages" },
  { 0 },
};

typedef struct
{
  StreamRef side;
  CommRef   all, pairs, halves;
  gboolean  has_pairs, has_messages;
} RolesState;

static guint
roles_role (const PlanInput *in, gconstpointer opt, guint rank)
{
  const RolesOptions *options = opt;
  guint               n = in->mesh.n_ranks;

  if (n == 1)
    return 0;
  return options->pattern == 0 ? rank % 2 : options->pattern == 1 ? rank > 0 : rank >= n / 2;
}

static void
roles_init (StrategyRun *run)
{
  RolesState         *s = run->state;
  const RolesOptions *options = run->options;

  data_anywhere (run);
  s->side = schedule_stream (run->b, "side", 1);
  s->all = schedule_comm (run->b, "all", mesh_all (&run->in->mesh));
  s->has_pairs = options->pattern == 2 && run->in->mesh.n_ranks % 4 == 0 && run->role == 0;
  if (s->has_pairs)
    s->pairs = schedule_comm (run->b, "pairs", (MeshGroup){ .size = 2, .stride = 1 });
  s->has_messages = options->pattern == 3 && run->in->mesh.n_ranks % 2 == 0;
  if (s->has_messages)
    s->halves = schedule_comm (run->b, "halves",
                               (MeshGroup){ .size = 2, .stride = run->in->mesh.n_ranks / 2 });
  schedule_alloc (run->b, PLACE_PINNED, POOL_CACHE, (guint64) 1000000 * (run->role + 1), "cache");
  schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER, (guint64) 1000000 * (run->role + 2),
                  "parameters");
}

static void
roles_use_end (StrategyRun *run, const UnitSlot *slot)
{
  RolesState *s = run->state;
  guint64     bytes = 2 * slot->plan->elements;
  KernelDesc  kernel =
      kernel_desc_stream (KERNEL_COPY, "extra", DTYPE_BF16, (double) bytes, (double) bytes, 1);

  if (slot->use != USE_FORWARD)
    return;
  for (guint i = 0; i < run->role; i++)
    schedule_kernel (run->b, s->side, &kernel);
  if (s->has_pairs)
    schedule_all_gather (run->b, s->side, s->pairs, payload_of_bytes (bytes), "pairs");
  if (s->has_messages)
    schedule_p2p (run->b, s->side,
                  &(ScheduleP2p){ run->role == 0 ? MESSAGE_SEND : MESSAGE_RECEIVE, s->halves,
                                  1 - run->role, SCHEDULE_NONE, bytes, "forward" },
                  1);
  if (run->role == 1)
    schedule_move (run->b, s->side, PLACE_HBM, PLACE_PINNED, bytes / 4, "offload");
}

static void
roles_gradient_ready (StrategyRun *run, const UnitSlot *slot)
{
  RolesState *s = run->state;

  schedule_wait_stream (run->b, s->side, SCHEDULE_COMPUTE);
  if (s->has_messages)
    {
      const ScheduleP2p both[] = {
        { MESSAGE_SEND, s->halves, 1 - run->role, SCHEDULE_NONE, slot->plan->elements, "backward" },
        { MESSAGE_RECEIVE, s->halves, 1 - run->role, SCHEDULE_NONE, slot->plan->elements,
          "backward" },
      };

      schedule_p2p (run->b, s->side, both, G_N_ELEMENTS (both));
    }
  schedule_all_reduce (run->b, s->side, s->all, payload_of_bytes (2 * slot->plan->elements),
                       "all_reduce");
}

static void
roles_step_end (StrategyRun *run)
{
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, ((RolesState *) run->state)->side);
}

static const Strategy roles = {
  .api = STRATEGY_API_VERSION,
  .name = "roles",
  .title = "ranks that differ",
  .options_size = sizeof (RolesOptions),
  .options = roles_options,
  .role = roles_role,
  .hooks = { .state_size = sizeof (RolesState),
             .init = roles_init,
             .use_end = roles_use_end,
             .gradient_ready = roles_gradient_ready,
             .step_end = roles_step_end },
};

static void
give_roles (Scenario *scenario, guint pattern)
{
  StrategyConfig *config = scenario->strategy;

  if (config->inner != NULL) /* an outer one is left as it is */
    return;
  if (config->strategy->options != NULL)
    option_table_clear (config->strategy->options, config->options);
  g_free (config->options);
  config->strategy = &roles;
  config->options = g_new0 (RolesOptions, 1);
  ((RolesOptions *) config->options)->pattern = pattern;
}

/* ---- the property ---------------------------------------------------------------------------- */

/* What is forced runs in no group of the cluster: it is left to the library. */
static void
leave_what_runs_nowhere (Scenario *scenario, ProfileSet *profiles)
{
  const CollectiveOptions options = collective_config_options (&scenario->collective);
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (Cluster)     cluster = scenario_cluster_new (scenario, profiles, diags);
  g_autofree char        *wish = NULL, *forced = NULL;
  RefusedWish             about;

  ck_assert_ptr_nonnull (cluster);
  wish = collective_options_refusal (&options, cluster, NULL);
  forced = collective_forced_refusal (&options, cluster, &about);
  if (wish != NULL || forced != NULL)
    scenario->collective.algorithm = scenario->collective.protocol = 0;
}

/*
 * An algorithm and protocol by name, or the library's choice; what a collective does not have is
 * left to the library.
 */
static void
force_library (Scenario *scenario, GRand *rand, ProfileSet *profiles)
{
  const char *nic = scenario->cluster.nic;

  scenario->collective.algorithm = g_rand_int_range (rand, 0, ALGORITHM_N + 1);
  scenario->collective.protocol = g_rand_int_range (rand, 0, PROTOCOL_N + 1);
  /* only where switches can reduce: anything else is refused */
  scenario->collective.collnet =
      g_rand_boolean (rand) && nic != NULL && g_str_has_prefix (nic, "ib-");
  leave_what_runs_nowhere (scenario, profiles);
}

/* NULL where the ranks did not stay in lockstep. */
static Replay *
replay_in_lockstep (const Scenario *scenario, ProfileSet *profiles)
{
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (GError)      error = NULL;
  g_autoptr (ReplayPlan)  plan = replay_plan_scenario (scenario, profiles, diags);
  g_autoptr (ReplayBound) bound =
      replay_bound_new_with (plan, &(BoundOptions){ .lockstep = LOCKSTEP_WHOLE });
  Replay *replay = replay_new (bound, NULL, &error);

  ck_assert (replay != NULL || g_error_matches (error, ENGINE_ERROR, ENGINE_ERROR_UNLIKE));
  return replay;
}

static guint64
fullest (const Replay *replay)
{
  guint64 most = 0;

  for (guint i = 0; i < replay_n_ranks (replay); i++)
    most = MAX (
        most,
        engine_pool_stats (replay_engine (replay), replay_rank (replay, i)->hbm)->device.bytes);
  return most;
}

static void
compare_lockstep (const Scenario *scenario, const Replay *full, guint seed, ProfileSet *profiles)
{
  g_autoptr (Replay) replay = replay_in_lockstep (scenario, profiles);

  if (replay == NULL)
    return;
  assert_close (replay_step_time (replay), replay_step_time (full), 1e-9, seed, "in lockstep");
  compare_ranks (replay, full, seed);
  ck_assert_uint_eq (fullest (replay), fullest (full));
  compare_hosts (replay, full, seed);
  compare_traffic (replay, full, seed);
}

/* Returns whether the periods came to repeat. */
static gboolean
compare_replays (const Scenario *scenario, const char *text, guint seed, ProfileSet *profiles)
{
  fprintf (stderr, "seed %u:\n", seed);
  g_autoptr (Replay) folded = fixture_replay (scenario, profiles, FALSE, 0);
  g_autoptr (Replay) full = fixture_replay (scenario, profiles, TRUE, 0);
  g_autoptr (Replay) times =
      fixture_replay_bound (scenario, profiles, &(BoundOptions){ .times_only = TRUE }, 0);

  assert_close (replay_step_time (times), replay_step_time (full), 1e-9, seed, "times alone");
  compare_ranks (times, full, seed);
  if (fabs (replay_step_time (folded) - replay_step_time (full)) > 1e-9 * replay_step_time (full))
    fprintf (stderr, "%s", text);
  assert_close (replay_step_time (folded), replay_step_time (full), 1e-9, seed, "step time");
  ck_assert_int_eq (replay_is_steady (folded), replay_is_steady (full));
  assert_close (replay_bound_executed_flops (replay_bound (folded), WHOLE_PERIOD),
                replay_bound_executed_flops (replay_bound (full), WHOLE_PERIOD), 1e-9, seed,
                "FLOPs");
  compare_ranks (folded, full, seed);
  compare_hosts (folded, full, seed);
  compare_traffic (folded, full, seed);
  compare_lockstep (scenario, full, seed, profiles);
  return replay_is_steady (folded);
}

static gboolean
compare (guint seed, ProfileSet *profiles)
{
  g_autoptr (GRand)    rand = g_rand_new_with_seed (seed);
  g_autoptr (Scenario) scenario = fixture_random (rand, profiles);
  g_autofree char     *text = NULL;

  force_library (scenario, rand, profiles);
  text = scenario_print (scenario);
  if (seed % 4 == 0)
    give_roles (scenario, seed / 4 % 4);
  return compare_replays (scenario, text, seed, profiles);
}

/* Rounds that send while the next one trains may take turns for ever: a long one, a short one. */
static void
assert_most_repeat (guint n_steady)
{
  ck_assert_msg (n_steady + 1 >= SEEDS, "%u of %u have no steady period", SEEDS - n_steady, SEEDS);
}

START_TEST (test_folded_equals_unfolded)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  guint                  n_steady = 0;

  for (guint i = 0; i < SEEDS; i++)
    n_steady += compare ((guint) _i * SEEDS + i + 1, profiles);
  assert_most_repeat (n_steady);
}
END_TEST

/* Every axis of the mesh, each with every strategy that takes it. */
START_TEST (test_meshes_fold)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  guint                  n_steady = 0;

  for (guint i = 0; i < SEEDS; i++)
    {
      guint                case_ = (guint) _i * SEEDS + i;
      g_autoptr (GRand)    rand = g_rand_new_with_seed (7000 + case_);
      g_autoptr (Scenario) scenario = fixture_random_mesh (rand, case_, profiles);
      g_autofree char     *text = scenario_print (scenario);

      n_steady += compare_replays (scenario, text, 7000 + case_, profiles);
    }
  assert_most_repeat (n_steady);
}
END_TEST

/*
 * Hashes load thousands of links, each a little differently, and split what is alike: eight groups
 * of 16 nodes into eight classes, or more. Of the links that hold them up few are left: each of
 * the groups' two ops (and one over all ranks) loads its fullest link, and the memory of a rank.
 */
START_TEST (test_times_need_few_links)
{
  static const char *const strategies[] = { "hsdp", "zeropp" };
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
    {
      g_autoptr (Scenario) scenario = fixture_scenario (
          "cluster.node", "dgx-h100", "cluster.nodes", "16", "cluster.nic", "roce-400",
          "cluster.leaf_nodes", "4", "cluster.routing", "ecmp", "cluster.qps", "4",
          "cluster.placement", "random", "cluster.fabric_nodes", "64", "model.arch", "gpt",
          "model.n_layers", "4", "model.d_model", "1024", "model.n_heads", "16", "model.vocab",
          "4096", "training.seq_len", "512", "strategy.name", strategies[i], NULL);
      g_autoptr (Replay) full = fixture_replay (scenario, profiles, FALSE, 0);
      g_autoptr (Replay) times =
          fixture_replay_bound (scenario, profiles, &(BoundOptions){ .times_only = TRUE }, 0);

      assert_close (replay_step_time (times), replay_step_time (full), 1e-9, i, "times alone");
      ck_assert_uint_le (replay_n_ranks (times), replay_n_ranks (full));
      ck_assert_uint_ge (engine_n_resources (replay_engine (full)), 500);
      ck_assert_uint_le (engine_n_resources (replay_engine (times)), 60);
    }
}
END_TEST

/*
 * The norm's four bytes go over a tree, which loads nodes unalike: all ranks of a stage stay one
 * class, at the time of all of them.
 */
START_TEST (test_few_bytes_split_no_class)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.node", "dgx-a100", "cluster.nodes", "8", "model.arch", "gpt", "model.n_layers", "4",
      "model.d_model", "1024", "model.n_heads", "16", "model.vocab", "4096", "training.seq_len",
      "512", "training.micro_batch", "1", "training.grad_accum", "4", "mesh.tp", "8", "mesh.pp",
      "2", "strategy.name", "zero1", NULL);

  g_autoptr (Replay) folded = fixture_replay (scenario, profiles, FALSE, 0);
  g_autoptr (Replay) full = fixture_replay (scenario, profiles, TRUE, 0);

  ck_assert_uint_eq (replay_n_ranks (folded), 2);
  ck_assert_uint_eq (replay_n_ranks (full), 64);
  assert_close (replay_step_time (folded), replay_step_time (full), 1e-9, 0, "step time");
  compare_ranks (folded, full, 0);
  compare_traffic (folded, full, 0);
}
END_TEST

/*
 * Experts over half of the nodes, and a tree over all of them: its ends carry half of what the
 * others do, and end no sooner. A stage is one class in lockstep, and several without.
 */
START_TEST (test_ends_of_trees_in_lockstep)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.node", "dgx-h100", "cluster.nodes", "16", "model.config", "qwen3-30b-a3b",
      "training.seq_len", "1024", "training.micro_batch", "1", "training.grad_accum", "4",
      "mesh.pp", "2", "mesh.ep", "32", "strategy.name", "zero1", NULL);

  g_autoptr (Replay) folded = fixture_replay (scenario, profiles, FALSE, 0);
  g_autoptr (Replay) lockstep = replay_in_lockstep (scenario, profiles);

  ck_assert_ptr_nonnull (lockstep);
  ck_assert_uint_gt (replay_n_ranks (folded), 2);
  ck_assert_uint_eq (replay_n_ranks (lockstep), 2);
  ck_assert_uint_eq (replay_period (lockstep), replay_period (folded));
  compare_traffic (lockstep, folded, 0);
}
END_TEST

/*
 * The second of two stages begins in the middle of a node: no rank sees who else is there, so that
 * in lockstep each stage is one class; and of all 40 ranks these say what they do.
 */
START_TEST (test_stages_share_a_node)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.node", "dgx-h100", "cluster.nodes", "5", "model.arch", "gpt", "model.n_layers", "4",
      "model.d_model", "1024", "model.n_heads", "16", "model.vocab", "4096", "training.seq_len",
      "512", "training.micro_batch", "1", "training.grad_accum", "4", "mesh.tp", "2", "mesh.pp",
      "2", "strategy.name", "zero1", NULL);

  g_autoptr (Replay) folded = fixture_replay (scenario, profiles, FALSE, 0);
  g_autoptr (Replay) full = fixture_replay (scenario, profiles, TRUE, 0);
  g_autoptr (Replay) lockstep = replay_in_lockstep (scenario, profiles);

  ck_assert_ptr_nonnull (lockstep);
  ck_assert_uint_eq (replay_n_ranks (lockstep), 2);
  ck_assert_uint_eq (replay_n_ranks (full), 40);
  assert_close (replay_step_time (lockstep), replay_step_time (full), 1e-9, 0, "in lockstep");
  assert_close (replay_step_time (folded), replay_step_time (full), 1e-9, 0, "step time");
  compare_ranks (folded, full, 0);
  compare_traffic (folded, full, 0);
}
END_TEST

static Suite *
fold_suite (void)
{
  Suite *suite = suite_create ("replay-fold");
  TCase *tcase = tcase_create ("property");

  tcase_add_loop_test (tcase, test_folded_equals_unfolded, 0, (int) cases_of (N_CASES) / SEEDS);
  tcase_add_loop_test (tcase, test_meshes_fold, 0, (int) cases_of (N_MESHES) / SEEDS);
  tcase_add_test (tcase, test_times_need_few_links);
  tcase_add_test (tcase, test_few_bytes_split_no_class);
  tcase_add_test (tcase, test_ends_of_trees_in_lockstep);
  tcase_add_test (tcase, test_stages_share_a_node);
  suite_add_tcase (suite, tcase);
  return suite;
}

SUITE_MAIN (replay_fold)
{
  return fixture_main (fold_suite ());
}
