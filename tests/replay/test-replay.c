/*
 * Replays by hand and their laws: exact times on a node of round numbers, determinism alone and
 * among threads, the steady period, stragglers, memory that does not fit, and what the accessors
 * say. Folding has a test of its own (test-replay-fold).
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "../cases.h"
#include "../schedule/anywhere.h"
#include "../suite.h"
#include "fixture.h"

#define US G_GUINT64_CONSTANT (1000000) /* in ps */

/* ---- by hand --------------------------------------------------------------------------------- */

typedef enum
{
  TAIL_NONE,
  TAIL_ALL_REDUCE,
  TAIL_COPY_KERNEL,
  TAIL_TO_HOST,
  TAIL_HOOKS,
  TAIL_BOTH,
  TAIL_THERE_AND_BACK,
  TAIL_CHAIN,
} Tail;

typedef struct
{
  gint64 tail;
} ToyOptions;

static const OptionSpec toy_options[] = {
  { .key = "tail",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (ToyOptions, tail),
    .fallback = "0",
    .help = "what a step ends with" },
  { 0 },
};

typedef struct
{
  StreamRef side, other;
  CommRef   all;
} ToyState;

static void
toy_init (StrategyRun *run)
{
  ToyState *s = run->state;

  data_anywhere (run);
  s->side = schedule_stream (run->b, "side", 0);
  s->other = schedule_stream (run->b, "other", 0);
  s->all = schedule_comm (run->b, "all", mesh_all (&run->in->mesh));
  schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER, G_GUINT64_CONSTANT (2) << 30, "parameters");
  schedule_alloc (run->b, PLACE_PINNED, POOL_CACHE, G_GUINT64_CONSTANT (3) << 30, "cache");
}

static void
toy_step_end (StrategyRun *run)
{
  const ToyOptions *options = run->options;
  const ToyState   *s = run->state;
  Tail              tail = (Tail) options->tail;
  KernelDesc        kernel = kernel_desc_stream (KERNEL_COPY, "copy", DTYPE_BF16, 5e8, 5e8, 1);

  schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
  if (tail == TAIL_ALL_REDUCE || tail == TAIL_BOTH)
    schedule_all_reduce (run->b, SCHEDULE_COMPUTE, s->all, payload_of_bytes (100000000),
                         "all_reduce");
  if (tail == TAIL_COPY_KERNEL)
    schedule_kernel (run->b, SCHEDULE_COMPUTE, &kernel);
  if (tail == TAIL_TO_HOST || tail == TAIL_BOTH || tail == TAIL_THERE_AND_BACK)
    schedule_move (run->b, s->side, PLACE_HBM, PLACE_PINNED, 1000000000, "offload");
  if (tail == TAIL_THERE_AND_BACK)
    {
      schedule_move (run->b, s->other, PLACE_PINNED, PLACE_HBM, 1000000000, "fetch");
      schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->other);
    }
  if (tail == TAIL_CHAIN)
    {
      kernel.launches = 10;
      schedule_kernel (run->b, SCHEDULE_COMPUTE, &kernel);
      schedule_all_reduce (run->b, s->side, s->all, payload_of_bytes (8), "all_reduce");
    }
  if (tail == TAIL_HOOKS)
    schedule_host_hooks (run->b, 3);
  /* An event behind nothing but a wait: it stands for the side stream's work all the same. */
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->side);
  schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
}

static const Strategy toy = {
  .api = STRATEGY_API_VERSION,
  .name = "toy",
  .title = "a tail after the model's kernels",
  .options_size = sizeof (ToyOptions),
  .options = toy_options,
  .hooks = { .state_size = sizeof (ToyState), .init = toy_init, .step_end = toy_step_end },
};

static Scenario *
toy_scenario (Tail tail)
{
  ToyOptions *options = g_new0 (ToyOptions, 1);

  options->tail = tail;
  return fixture_toy_scenario ("toy-pair", &toy, options);
}

static SimTime
toy_period (Tail tail, gboolean unfolded)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  g_autoptr (Scenario)   scenario = toy_scenario (tail);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, unfolded, 0);

  ck_assert (replay_is_steady (replay));
  ck_assert_uint_eq (replay_n_ranks (replay), unfolded ? 2 : 1);
  return replay_period (replay);
}

/*
 * Every kernel of the toy model is shorter than the 10 us that its launch takes: the step is
 * launches, and the last kernel.
 */
START_TEST (test_launch_bound)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  g_autoptr (Scenario)   scenario = toy_scenario (TAIL_NONE);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, FALSE, 0);
  ScheduleItems          items = schedule_items (replay_schedule (replay), 0, SECTION_STEADY);
  KernelCost             last = { 0 };
  guint                  launches = 0;

  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_KERNEL)
      {
        launches += items.items[i].kernel->launches;
        kernel_cost (cluster_gpu_profile (replay_cluster (replay), 0), items.items[i].kernel,
                     &last);
        ck_assert (last.alone < 1e-5);
      }
  ck_assert_uint_gt (launches, 20);
  ck_assert_uint_eq (replay_period (replay),
                     (SimTime) launches * 10 * US + (SimTime) ceil (last.alone * 1e12 - 1e-3));
}
END_TEST

/*
 * The same kernels where the host waits for each: a step is every launch of 10 us and every kernel,
 * one after another.
 */
START_TEST (test_launch_blocking)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  g_autoptr (Scenario)   scenario = toy_scenario (TAIL_NONE);
  g_autoptr (Replay)     replay = NULL;
  ScheduleItems          items;
  double                 seconds = 0;
  guint                  kernels = 0;

  scenario->training.launch_blocking = TRUE;
  replay = fixture_replay (scenario, profiles, FALSE, 0);
  items = schedule_items (replay_schedule (replay), 0, SECTION_STEADY);
  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_KERNEL)
      {
        KernelCost cost;

        kernel_cost (cluster_gpu_profile (replay_cluster (replay), 0), items.items[i].kernel,
                     &cost);
        seconds += items.items[i].kernel->launches * 1e-5 + cost.alone;
        kernels++;
      }
  ck_assert_uint_gt (kernels, 20);
  ck_assert_double_eq_tol ((double) replay_period (replay), seconds * 1e12, 3.0 * kernels);
}
END_TEST

/*
 * A collective's issue, 20 us, is waited for as a launch is; the two waits for the stream cost the
 * host nothing.
 */
START_TEST (test_launch_blocking_collective)
{
  SimTime                without = toy_period (TAIL_ALL_REDUCE, FALSE), with;
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  g_autoptr (Scenario)   scenario = toy_scenario (TAIL_ALL_REDUCE);
  g_autoptr (Scenario)   none = toy_scenario (TAIL_NONE);
  g_autoptr (Replay)     replay = NULL, bare = NULL;

  scenario->training.launch_blocking = none->training.launch_blocking = TRUE;
  replay = fixture_replay (scenario, profiles, FALSE, 0);
  bare = fixture_replay (none, profiles, FALSE, 0);
  with = replay_period (replay);
  ck_assert_uint_gt (with, without);
  /* 20 us of issue, 8.4 us, 2 hops of 3.4 us and 100 MB over 50 GB/s, as in test_by_hand */
  ck_assert_double_eq_tol ((double) (with - replay_period (bare)), 2035.2 * US, 0.1 * US);
}
END_TEST

/*
 * What each tail adds to the step, to the picosecond:
 *   all-reduce   2035.2 us: 20 us of issue + 8.4 us + 2 hops of 3.4 us + 100 MB over 50 GB/s,
 *                once: 2 (n-1)/n = 1
 *   copy kernel  1260 us: 10 us + 1 GB / 0.8 / 1 TB/s
 *   to host      66676.666667 us: 10 us + 2 GPUs x 1 GB over the socket's 30 GB/s (the links would
 *                do 20 GB/s each)
 *   hooks        150 us: 3 x 50 us
 *   both         66696.666667 us: 20 us + the copy: the all-reduce ends under it
 */
START_TEST (test_by_hand)
{
  const SimTime want[] = {
    [TAIL_ALL_REDUCE] = 2035200000,
    [TAIL_COPY_KERNEL] = 1260 * US,
    [TAIL_TO_HOST] = G_GUINT64_CONSTANT (66676666667),
    [TAIL_HOOKS] = 150 * US,
    [TAIL_BOTH] = G_GUINT64_CONSTANT (66696666667),
  };
  SimTime base = toy_period (TAIL_NONE, FALSE);

  for (Tail tail = TAIL_ALL_REDUCE; tail <= TAIL_BOTH; tail++)
    for (guint unfolded = 0; unfolded < 2; unfolded++)
      ck_assert_uint_eq (toy_period (tail, unfolded) - base, want[tail]);
}
END_TEST

/* What TAIL adds to the step where the host's memory is no limit, with these figures of the GPU. */
static SimTime
copy_period (Tail tail, double latency, double duplex, gboolean unfolded)
{
  SimTime period[2];

  for (guint with = 0; with < 2; with++)
    {
      g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
      g_autoptr (Scenario)   scenario = toy_scenario (with ? tail : TAIL_NONE);
      g_autoptr (Replay)     replay = NULL;

      ck_assert (profile_set_override (profiles, "node", "toy-pair", "dram_bandwidth", 1e12));
      ck_assert (profile_set_override (profiles, "gpu", "toy", "host_copy_latency", latency));
      ck_assert (profile_set_override (profiles, "gpu", "toy", "host_duplex_efficiency", duplex));
      replay = fixture_replay (scenario, profiles, unfolded, 0);
      period[with] = replay_period (replay);
    }
  return period[1] - period[0];
}

/*
 * Copies of 1 GB take 50 ms each over a link of 25 GB/s at 0.8; issuing one takes 10 us.
 *
 *   start-up of 7 us                 10 + 7 + 50000 us
 *   there and back, not in the way   20 + 50000 us
 *   at 0.75 of each                  the first starts at 10 us, alone at 20 GB/s for 10 us
 *                                    (200 kB); then each has 15 GB/s: it has 999.8 MB to go, for
 *                                    66653.333333 us; the second's last 200 kB take 10 us alone
 *                                    again: 66683.333333 us
 *   with both                        all of it 7 us later
 */
START_TEST (test_copies_by_hand)
{
  for (guint unfolded = 0; unfolded < 2; unfolded++)
    {
      ck_assert_uint_eq (copy_period (TAIL_TO_HOST, 0, 0, unfolded), 50010 * US);
      ck_assert_uint_eq (copy_period (TAIL_TO_HOST, 7e-6, 1, unfolded), 50017 * US);
      ck_assert_uint_eq (copy_period (TAIL_TO_HOST, 7e-6, 0.75, unfolded), 50017 * US);
      ck_assert_uint_eq (copy_period (TAIL_THERE_AND_BACK, 0, 1, unfolded), 50020 * US);
      ck_assert_double_eq_tol ((double) copy_period (TAIL_THERE_AND_BACK, 0, 0.75, unfolded),
                               66683333333, 2);
      ck_assert_double_eq_tol ((double) copy_period (TAIL_THERE_AND_BACK, 7e-6, 0.75, unfolded),
                               66690333333, 2);
    }
}
END_TEST

/*
 * An eager chain of 10 kernels, issued for 100 us, runs for 1250 us, 125 us each; an all-reduce
 * that is issued 20 us later finds an SM when the first of them has ended, not when all have.
 */
START_TEST (test_chain)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  g_autoptr (Scenario)   scenario = toy_scenario (TAIL_CHAIN);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, FALSE, 0);
  const Engine          *engine = replay_engine (replay);
  const OpRecord        *chain = NULL, *all_reduce = NULL;

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      if (g_str_equal (replay_op_name (replay, op), "copy"))
        chain = engine_op_record (engine, op);
      if (g_str_equal (replay_op_name (replay, op), "all_reduce"))
        all_reduce = engine_op_record (engine, op);
    }
  ck_assert (chain != NULL && all_reduce != NULL);
  ck_assert_double_eq_tol ((double) (chain->end - chain->begin), 1250 * US, 30 * US); /* shared */
  ck_assert_double_eq_tol ((double) (all_reduce->begin - chain->begin), 125 * US, 2);
  ck_assert_double_eq_tol ((double) all_reduce->drain, 105 * US, 2);
}
END_TEST

/*
 * Of two ranks in one class, the node's memory holds both shares: 2 x 3 GiB; each GPU 2 GiB,
 * activations, and 1 GiB of runtime.
 */
START_TEST (test_memory_by_hand)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  g_autoptr (Scenario)   scenario = toy_scenario (TAIL_NONE);
  g_autoptr (Replay)     replay = NULL;
  guint                  node = 7;
  const PoolStats       *host, *hbm;

  scenario->memory.allocator = ALLOCATOR_IDEAL;
  replay = fixture_replay (scenario, profiles, FALSE, 0);
  host = engine_pool_stats (replay_engine (replay), replay_host_pool (replay, 0, &node));
  hbm = engine_pool_stats (replay_engine (replay), replay_rank (replay, 0)->hbm);

  ck_assert_uint_eq (replay_n_host_pools (replay), 1);
  ck_assert_uint_eq (node, 0);
  ck_assert_uint_eq (host->device.bytes, G_GUINT64_CONSTANT (6) << 30);
  ck_assert_uint_eq (host->capacity, G_GUINT64_CONSTANT (64) << 30);
  ck_assert_uint_eq (hbm->peak_by_category[POOL_PARAMETER], G_GUINT64_CONSTANT (2) << 30);
  ck_assert_uint_eq (hbm->device.bytes, hbm->allocated.bytes + (G_GUINT64_CONSTANT (1) << 30));
  ck_assert_uint_gt (hbm->peak_by_category[POOL_ACTIVATION], 0);
  ck_assert (!hbm->overflowed);
}
END_TEST

/* ---- laws ------------------------------------------------------------------------------------ */

#define SMALL_MODEL                                                                             \
  "model.arch", "llama", "model.n_layers", "4", "model.d_model", "2048", "model.n_heads", "16", \
      "model.d_ff", "5632", "model.vocab", "32000", "training.seq_len", "2048",                 \
      "training.micro_batch", "2"

static guint
n_strategies (void)
{
  guint n = 0;

  while (strategy_list ()[n] != NULL)
    n++;
  return n;
}

static Scenario *
strategy_scenario (const Strategy *strategy, const char *cluster)
{
  const char *slices = g_str_equal (strategy->name, "ppu") ? "2" : "1";

  return fixture_scenario ("cluster.name", cluster, SMALL_MODEL, "training.trained_slices", slices,
                           "strategy.name", strategy->name,
                           strategy->outer ? "strategy.local_steps" : NULL, "12",
                           "strategy.inner.name", strategy->role != NULL ? "zero2" : "fsdp2", NULL);
}

START_TEST (test_periods_do_not_matter)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario =
      strategy_scenario (strategy_list ()[_i], "2 x a40x8-nvlink-pairs");
  g_autoptr (Replay) one =
      fixture_replay (scenario, profiles, FALSE, 1); /* proves itself, or runs more */
  g_autoptr (Replay) two = fixture_replay (scenario, profiles, FALSE, 2);
  g_autoptr (Replay) three = fixture_replay (scenario, profiles, FALSE, 3);
  g_autoptr (Replay) five = fixture_replay (scenario, profiles, FALSE, 5);

  ck_assert (replay_is_steady (one) && replay_is_steady (two));
  ck_assert_uint_ge (replay_n_boundaries (five), 7);
  ck_assert_uint_eq (replay_period (one), replay_period (two));
  ck_assert_uint_eq (replay_period (two), replay_period (three));
  ck_assert_uint_eq (replay_period (two), replay_period (five));
}
END_TEST

/*
 * fcdp's caches are cold in its first period; fsdp2's periods are alike, and hold no buffers of
 * their own.
 */
START_TEST (test_like_periods_share_a_program)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   alike = fixture_scenario ("cluster.name", "2 x dgx-a100", SMALL_MODEL,
                                                   "strategy.name", "fsdp2", NULL);
  g_autoptr (Scenario)   unlike =
      fixture_scenario ("cluster.name", "2 x dgx-a100", SMALL_MODEL, "strategy.name", "fcdp", NULL);
  g_autoptr (Replay) a = fixture_replay (alike, profiles, FALSE, 0);
  g_autoptr (Replay) b = fixture_replay (unlike, profiles, FALSE, 0);
  const Schedule    *schedule = replay_schedule (a);
  ScheduleItems      first = schedule_items (schedule, 0, SECTION_FIRST);

  ck_assert (schedule_first_is_steady (schedule));
  ck_assert_ptr_eq (first.items, schedule_items (schedule, 0, SECTION_STEADY).items);
  for (guint i = 0; i < first.n; i++)
    if (first.items[i].kind == ITEM_ALLOC)
      ck_assert_uint_lt (first.items[i].ref, schedule_n_buffers (schedule, 0));
  ck_assert (!schedule_first_is_steady (replay_schedule (b)));
}
END_TEST

START_TEST (test_one_rank_communicates_nothing)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const Strategy        *strategy = strategy_list ()[_i];

  if (g_str_equal (strategy->name, "ppu")) /* a worker a slice: never one rank */
    return;

  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.gpu", "h100-sxm-80", "cluster.nodes", "1", "cluster.gpus_per_node", "1", SMALL_MODEL,
      "strategy.name", strategy->name, strategy->outer ? "strategy.inner.name" : NULL, "ddp", NULL);

  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);
  g_autoptr (GArray) traffic = replay_bound_traffic (replay_bound (replay), WHOLE_PERIOD);

  ck_assert_uint_eq (traffic->len, 0);
  for (OpId op = 0; op < engine_n_ops (replay_engine (replay)); op++)
    ck_assert_uint_ne (replay_op (replay, op).item->kind, ITEM_COLLECTIVE);
}
END_TEST

static gpointer
record_alone (gpointer data)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = fixture_replay (data, profiles, FALSE, 0);

  return fixture_record (replay);
}

START_TEST (test_deterministic)
{
  g_autoptr (Scenario) scenario =
      strategy_scenario (strategy_list ()[_i], "2 x a40x8-nvlink-pairs");
  g_autoptr (GBytes) alone = record_alone (scenario);
  pthread_t          threads[4]; /* ThreadSanitizer knows these, not GLib's */

  ck_assert_uint_gt (g_bytes_get_size (alone), 1000);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    ck_assert_int_eq (pthread_create (&threads[i], NULL, record_alone, scenario), 0);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    {
      g_autoptr (GBytes) beside = NULL;
      void              *result;

      ck_assert_int_eq (pthread_join (threads[i], &result), 0);
      beside = result;
      ck_assert (g_bytes_equal (alone, beside));
    }
}
END_TEST

/* ---- a thousand side by side ----------------------------------------------------------------- */

#define N_THREADS 8
#define N_RUNS    1000 /* in the suite full */

typedef struct
{
  Scenario **scenarios; /* by strategy */
  char     **digests;
  guint      first; /* runs first, first + N_THREADS, ... */
  guint      n_wrong;
} Lane;

static char *
digest_of (const Scenario *scenario)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, FALSE, 0);
  g_autoptr (GBytes)     bytes = fixture_record (replay);

  return g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, bytes);
}

static gpointer
run_lane (gpointer data)
{
  Lane *lane = data;

  for (guint i = lane->first; i < cases_of (N_RUNS); i += N_THREADS)
    {
      guint            s = i % n_strategies ();
      g_autofree char *digest = digest_of (lane->scenarios[s]);

      lane->n_wrong += !g_str_equal (digest, lane->digests[s]);
    }
  return NULL;
}

/* Each gives the bytes that it gives alone. */
START_TEST (test_many_side_by_side)
{
  guint                 n = n_strategies ();
  g_autofree Scenario **scenarios = g_new (Scenario *, n);
  g_auto (GStrv)        digests = g_new0 (char *, n + 1);
  Lane                  lanes[N_THREADS];
  pthread_t             threads[N_THREADS];

  for (guint s = 0; s < n; s++)
    {
      scenarios[s] = strategy_scenario (strategy_list ()[s], "2 x dgx-h100");
      digests[s] = digest_of (scenarios[s]);
    }
  for (guint t = 0; t < N_THREADS; t++)
    {
      lanes[t] = (Lane){ scenarios, digests, t, 0 };
      ck_assert_int_eq (pthread_create (&threads[t], NULL, run_lane, &lanes[t]), 0);
    }
  for (guint t = 0; t < N_THREADS; t++)
    {
      ck_assert_int_eq (pthread_join (threads[t], NULL), 0);
      ck_assert_uint_eq (lanes[t].n_wrong, 0);
    }
  for (guint s = 0; s < n; s++)
    scenario_free (scenarios[s]);
}
END_TEST

static double
slow_step (const char *slow)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = fixture_scenario (
        "cluster.name", "1 x dgx-h100", SMALL_MODEL, "training.compile", "true", "strategy.name",
        "ddp", slow != NULL ? "cluster.slow_gpus" : NULL, slow, NULL);
  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);

  return replay_step_time (replay);
}

/* One slow GPU holds all up: nearly as long as when all are as slow, never longer. */
START_TEST (test_straggler)
{
  double even = slow_step (NULL), one = slow_step ("3:0.5");
  double all = slow_step ("0:0.5,1:0.5,2:0.5,3:0.5,4:0.5,5:0.5,6:0.5,7:0.5");

  ck_assert (all > 1.5 * even);
  ck_assert (one > 0.95 * all);
  ck_assert (one <= all * (1 + 1e-9));
}
END_TEST

/*
 * A straggler makes two classes: itself and the 31 others. Where they have memory of their nodes,
 * which it takes as slowly as it computes, the 7 others of its node are a third one.
 */
START_TEST (test_straggler_splits_classes)
{
  const gboolean         hosts = _i == 1;
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const char            *offload = hosts ? "true" : "false";
  g_autoptr (Scenario)   even =
      fixture_scenario ("cluster.name", "4 x dgx-h100", SMALL_MODEL, "strategy.name", "fsdp2",
                        "strategy.cpu_offload", offload, NULL);
  g_autoptr (Scenario) slow =
      fixture_scenario ("cluster.name", "4 x dgx-h100", SMALL_MODEL, "strategy.name", "fsdp2",
                        "strategy.cpu_offload", offload, "cluster.slow_gpus", "9:0.5", NULL);
  g_autoptr (Replay) a = fixture_replay (even, profiles, FALSE, 0);
  g_autoptr (Replay) b = fixture_replay (slow, profiles, FALSE, 0);
  guint              n = 0;

  if (!hosts)
    {
      ck_assert_uint_eq (replay_n_ranks (a), 1);
      ck_assert_uint_eq (replay_rank (a, 0)->size, 32);
      ck_assert_uint_eq (replay_n_ranks (b), 2);
    }
  else
    ck_assert_uint_ge (replay_n_ranks (b), 3);
  for (guint i = 0; i < replay_n_ranks (b); i++)
    {
      n += replay_rank (b, i)->size;
      ck_assert (replay_rank (b, i)->rank != 9 || replay_rank (b, i)->size == 1);
    }
  ck_assert_uint_eq (n, 32);
}
END_TEST

START_TEST (test_does_not_fit)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario =
      fixture_scenario ("cluster.name", "1 x a40x8-nvlink-pairs", "model.config", "llama-3-70b",
                        "training.seq_len", "2048", "strategy.name", "ddp", NULL);
  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);
  const PoolStats   *hbm = engine_pool_stats (replay_engine (replay), replay_rank (replay, 0)->hbm);

  ck_assert (hbm->overflowed);
  ck_assert_uint_gt (hbm->overflow.bytes, hbm->capacity);
  ck_assert_uint_ge (hbm->device.bytes, hbm->overflow.bytes);
  ck_assert (replay_step_time (replay) > 0);
}
END_TEST

/* ---- accessors ------------------------------------------------------------------------------- */

START_TEST (test_ops)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = fixture_scenario (
        "cluster.name", "2 x a40x8-nvlink-pairs", SMALL_MODEL, "strategy.name", "local-sgd",
        "strategy.local_steps", "3", "strategy.inner.name", "fsdp2", NULL);
  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);
  const Engine      *engine = replay_engine (replay);
  guint              last_period = replay_n_boundaries (replay) - 2;
  guint              n_last = 0, most_members = 0;

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      ReplayOp           what = replay_op (replay, op);
      g_autoptr (GArray) members = replay_op_members (replay, op);
      g_autofree char   *label = replay_op_label (replay, op);

      ck_assert (what.item->kind <= ITEM_MOVE);
      ck_assert_uint_gt (strlen (label), 0);
      ck_assert_uint_lt (what.step, 3);
      ck_assert_uint_le (what.period, last_period);
      ck_assert (what.section == SECTION_STEADY ? what.period >= 1 : what.period == 0);
      ck_assert (what.item->kind == ITEM_COLLECTIVE || members->len == 1);
      n_last += what.period == last_period && what.step == 2;
      most_members = MAX (most_members, members->len);
    }
  ck_assert_uint_gt (n_last, 0);
  ck_assert_uint_eq (most_members, replay_n_ranks (replay));
}
END_TEST

/*
 * Ring all-gather over 2 nodes of 8 with one card each: S (n-1)/n leaves each node, so 15/16 S / 8
 * a GPU.
 */
START_TEST (test_traffic)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = fixture_scenario ("cluster.name", "2 x a40x8-nvlink-pairs",
                                                      SMALL_MODEL, "strategy.name", "fsdp2", NULL);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, FALSE, 0);
  g_autoptr (GArray)     traffic = replay_bound_traffic (replay_bound (replay), WHOLE_PERIOD);
  guint                  found = 0;

  for (guint i = 0; i < traffic->len; i++)
    {
      const ReplayTraffic *t = &g_array_index (traffic, ReplayTraffic, i);

      if (t->kind != COLLECTIVE_ALL_GATHER && t->kind != COLLECTIVE_REDUCE_SCATTER)
        continue;
      found++;
      ck_assert (fabs (t->inter_node_per_gpu / (t->bytes * 15 / 16 / 8) - 1) < 1e-9);
      ck_assert (t->intra_node_per_gpu > t->inter_node_per_gpu);
    }
  ck_assert_uint_eq (found, 2);
}
END_TEST

START_TEST (test_diagnostics)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  g_autoptr (Scenario)   scenario =
      fixture_scenario ("cluster.name", "2 x no-such-node", "model.config", "no-such-model",
                        "training.seq_len", "2048", "strategy.name", "fsdp2", NULL);

  ck_assert_ptr_null (replay_run (scenario, profiles, NULL, diags, &error));
  ck_assert_ptr_null (error);
  ck_assert_uint_ge (diag_list_n_errors (diags), 2); /* the cluster and the model, in one pass */
}
END_TEST

START_TEST (test_shard_must_divide)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  g_autoptr (Scenario)   scenario =
      fixture_scenario ("cluster.name", "1 x dgx-h100", SMALL_MODEL, "strategy.name", "fsdp2",
                        "mesh.shard", "3", NULL);

  ck_assert_ptr_null (replay_run (scenario, profiles, NULL, diags, &error));
  ck_assert_ptr_null (error);
  ck_assert (diag_list_has_errors (diags));
}
END_TEST

START_TEST (test_bf16_needs_units)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Scenario)   scenario =
      fixture_scenario ("cluster.name", "1 x dgx-1v", SMALL_MODEL, "strategy.name", "ddp",
                        "training.precision", "bf16-mixed", NULL);

  ck_assert_ptr_null (replay_run (scenario, profiles, NULL, diags, NULL));
  ck_assert_str_eq (diag_list_first_message (diags), "GPU 'v100-sxm-32' has no bf16 matrix units");
}
END_TEST

static Suite *
replay_suite (void)
{
  Suite *suite = suite_create ("replay");
  TCase *hand = tcase_create ("hand"), *laws = tcase_create ("laws"),
        *rest = tcase_create ("accessors");

  tcase_add_test (hand, test_launch_bound);
  tcase_add_test (hand, test_launch_blocking);
  tcase_add_test (hand, test_launch_blocking_collective);
  tcase_add_test (hand, test_by_hand);
  tcase_add_test (hand, test_copies_by_hand);
  tcase_add_test (hand, test_chain);
  tcase_add_test (hand, test_memory_by_hand);
  suite_add_tcase (suite, hand);
  tcase_add_loop_test (laws, test_periods_do_not_matter, 0, (int) n_strategies ());
  tcase_add_test (laws, test_like_periods_share_a_program);
  tcase_add_loop_test (laws, test_one_rank_communicates_nothing, 0, (int) n_strategies ());
  tcase_add_loop_test (laws, test_deterministic, 0, (int) n_strategies ());
  tcase_set_timeout (laws, 300);
  tcase_add_test (laws, test_many_side_by_side);
  tcase_add_test (laws, test_straggler);
  tcase_add_loop_test (laws, test_straggler_splits_classes, 0, 2);
  tcase_add_test (laws, test_does_not_fit);
  suite_add_tcase (suite, laws);
  tcase_add_test (rest, test_ops);
  tcase_add_test (rest, test_traffic);
  tcase_add_test (rest, test_diagnostics);
  tcase_add_test (rest, test_shard_must_divide);
  tcase_add_test (rest, test_bf16_needs_units);
  suite_add_tcase (suite, rest);
  return suite;
}

SUITE_MAIN (replay)
{
  return fixture_main (replay_suite ());
}
