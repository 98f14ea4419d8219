/*
 * Collectives in a replay cost what their plans say at each size: two sizes that run by different
 * algorithms and protocols one after another, and two kinds side by side on one link, which divides
 * itself by their weights.
 */
#include <math.h>

#include "../schedule/anywhere.h"
#include "../suite.h"
#include "fixture.h"

typedef struct
{
  gint64 first,
      second; /* S of two all-reduces one after another; first = 0: an all-reduce beside an
                 all-gather of `second` */
} PairOptions;

static const OptionSpec pair_options[] = {
  { .key = "first",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (PairOptions, first),
    .fallback = "0",
    .help = "S" },
  { .key = "second",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (PairOptions, second),
    .fallback = "0",
    .help = "S" },
  { 0 },
};

typedef struct
{
  StreamRef side;
  CommRef   one, other;
} PairState;

static void
pair_init (StrategyRun *run)
{
  PairState *s = run->state;

  data_anywhere (run);
  s->side = schedule_stream (run->b, "side", 0);
  s->one = schedule_comm (run->b, "one", mesh_all (&run->in->mesh));
  s->other = schedule_comm (run->b, "other", mesh_all (&run->in->mesh));
}

static void
pair_step_end (StrategyRun *run)
{
  const PairOptions *options = run->options;
  const PairState   *s = run->state;

  schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
  if (options->first > 0)
    {
      schedule_all_reduce (run->b, SCHEDULE_COMPUTE, s->one,
                           payload_of_bytes ((guint64) options->first), "first");
      schedule_all_reduce (run->b, SCHEDULE_COMPUTE, s->one,
                           payload_of_bytes ((guint64) options->second), "second");
    }
  else
    {
      schedule_all_reduce (run->b, SCHEDULE_COMPUTE, s->one,
                           payload_of_bytes ((guint64) options->second / 2), "first");
      schedule_all_gather (run->b, s->side, s->other, payload_of_bytes ((guint64) options->second),
                           "second");
      schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->side);
    }
  schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
}

static const Strategy pair = {
  .api = STRATEGY_API_VERSION,
  .name = "pair",
  .title = "two collectives after the model's kernels",
  .options_size = sizeof (PairOptions),
  .options = pair_options,
  .hooks = { .state_size = sizeof (PairState), .init = pair_init, .step_end = pair_step_end },
};

static Scenario *
pair_scenario (const char *cluster, gint64 first, gint64 second)
{
  Scenario *scenario = fixture_scenario (
      "cluster.name", cluster, "model.arch", "llama", "model.n_layers", "1", "model.d_model", "64",
      "model.n_heads", "2", "model.d_ff", "128", "model.vocab", "100", "training.seq_len", "16",
      "training.micro_batch", "1", "strategy.name", "ddp", NULL);

  scenario->strategy->strategy = &pair;
  g_free (scenario->strategy->options);
  scenario->strategy->options = g_new0 (PairOptions, 1);
  *(PairOptions *) scenario->strategy->options = (PairOptions){ first, second };
  return scenario;
}

/* The last op that was issued with LABEL. */
static OpId
last_op (const Replay *replay, const char *label)
{
  OpId found = ENGINE_NONE;

  for (OpId op = 0; op < engine_n_ops (replay_engine (replay)); op++)
    if (g_strcmp0 (replay_op (replay, op).item->label, label) == 0)
      found = op;
  ck_assert_uint_ne (found, ENGINE_NONE);
  return found;
}

/* ---- one after another ----------------------------------------------------------------------- */

/*
 * OP took what a plan over all GPUs costs: the latency and the slowest of its loads, or the cap.
 * Rounded up twice to picoseconds.
 */
static CollectiveCost
check_alone (const Replay *replay, OpId op, double bytes)
{
  const Cluster             *cluster = replay_cluster (replay);
  const OpRecord            *record = engine_op_record (replay_engine (replay), op);
  guint                      n = cluster_n_gpus (cluster), channels;
  g_autofree guint32        *ranks = g_new (guint32, n);
  g_autoptr (CollectivePlan) plan = NULL;
  CollectiveAlgorithm        algorithm;
  CollectiveProtocol         protocol;
  CollectiveCost             cost;
  double                     seconds;

  for (guint i = 0; i < n; i++)
    ranks[i] = i;
  plan = collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, n, NULL);
  collective_plan_cost (plan, bytes, &cost);
  seconds = cost.rate_cap > 0 ? bytes / cost.rate_cap : 0;
  for (guint i = 0; i < cost.n_loads; i++)
    seconds = MAX (seconds, bytes * cost.loads[i].service * cost.service_scale
                                / cluster_resource (cluster, cost.loads[i].resource)->capacity);
  ck_assert (replay_op_choice (replay, op, &algorithm, &protocol, &channels));
  ck_assert_int_eq (algorithm, cost.algorithm);
  ck_assert_int_eq (protocol, cost.protocol);
  ck_assert_uint_eq (channels, cost.channels);
  ck_assert_double_eq_tol ((double) (record->end - record->begin), (cost.latency + seconds) * 1e12,
                           2);
  return cost;
}

/*
 * The second is issued while the first runs, so the two take the sum. They run by different
 * algorithms and protocols.
 */
static void
check_sum (const char *cluster, double first, double second, gboolean unfolded)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = pair_scenario (cluster, (gint64) first, (gint64) second);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, unfolded, 0);
  OpId                   a = last_op (replay, "first"), b = last_op (replay, "second");
  CollectiveCost one = check_alone (replay, a, first), two = check_alone (replay, b, second);

  ck_assert_int_ne (one.algorithm, two.algorithm);
  ck_assert_int_ne (one.protocol, two.protocol);
  ck_assert_uint_eq (engine_op_record (replay_engine (replay), b)->begin,
                     engine_op_record (replay_engine (replay), a)->end);
}

START_TEST (test_two_sizes)
{
  check_sum ("2 x dgx-h100", 1e9, 4096, _i);
  check_sum ("4 x dgx-a100", 1e9, 65536, _i);
}
END_TEST

/* ---- side by side ---------------------------------------------------------------------------- */

/*
 * Over two GPUs an all-reduce of 100 MB and an all-gather of 200 MB each put 100 MB on the bridge
 * of 50 GB/s. The all-reduce has it alone until the other one's latency is over, then its part by
 * weight.
 */
START_TEST (test_divided_by_weight)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  g_autoptr (Scenario)   scenario = pair_scenario ("1 x toy-pair", 0, 200000000);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, _i, 0);
  OpId                   ops[] = { last_op (replay, "first"), last_op (replay, "second") };
  double                 start[2], weight[2], alone, part;
  const guint32          ranks[] = { 0, 1 };

  for (guint i = 0; i < 2; i++)
    {
      CollectiveKind             kind = i == 0 ? COLLECTIVE_ALL_REDUCE : COLLECTIVE_ALL_GATHER;
      g_autoptr (CollectivePlan) plan =
          collective_plan_new (replay_cluster (replay), kind, ranks, 2, NULL);
      CollectiveCost cost;

      collective_plan_cost (plan, 1e8 * (i + 1), &cost);
      weight[i] = cost.weight;
      start[i] =
          (double) engine_op_record (replay_engine (replay), ops[i])->begin * 1e-12 + cost.latency;
    }
  ck_assert_double_lt (start[0], start[1]);
  alone = (start[1] - start[0]) * 50e9;
  part = 50e9 * weight[0] / (weight[0] + weight[1]);
  ck_assert_double_eq_tol ((double) engine_op_record (replay_engine (replay), ops[0])->end * 1e-12,
                           start[1] + (1e8 - alone) / part, 1e-11);
}
END_TEST

static Suite *
collectives_suite (void)
{
  Suite *suite = suite_create ("replay-collectives");
  TCase *tcase = tcase_create ("by hand");

  tcase_add_loop_test (tcase, test_two_sizes, 0, 2);
  tcase_add_loop_test (tcase, test_divided_by_weight, 0, 2);
  suite_add_tcase (suite, tcase);
  return suite;
}

SUITE_MAIN (replay_collectives)
{
  return fixture_main (collectives_suite ());
}
