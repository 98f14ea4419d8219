/*
 * What the pages of docs/strategies promise to overlap, by time.
 *
 * A strategy's schedule runs as it is, and with all of its streams made one, so that nothing
 * overlaps. What a layer costs in each is the difference between two depths of a model, which
 * leaves out what has no neighbour to hide behind. The time that a layer saves is held against its
 * closed forms: the sum of what its streams do when each is alone, less the longest of them, or at
 * least all kernels. Rounds of workers are held against theirs, and each option that overlaps
 * against its absence.
 *
 * Not asserted: how long ops take (the tests of kernel and collective), which hop is on which
 * stream (strategy's test-hops), the order of issue (test-order).
 */
#include "../suite.h"
#include "base/intern.h"
#include "fixture.h"
#include "schedule/schedule-private.h"
#include "strategy/registry.h"

#define MAX_STREAMS 16
#define MAX_KEYS    24
#define MAX_ALL     64

typedef const char *Keys[MAX_KEYS]; /* of a scenario, and values */

/* Toys of round numbers; their hosts issue in next to no time, and all kernels run one by one. */
static const char *const toy[] = {
  "cluster.node",       "toy-quick", "model.arch",  "llama", "model.d_model",        "1024",
  "model.n_heads",      "8",         "model.d_ff",  "4096",  "model.vocab",          "1000",
  "replay.granularity", "kernel",    "replay.skew", "off",   "collective.nchannels", "4",
  "replay.extrapolate", "false",
};

#define NODE   "cluster.nodes", "1"
#define NODES  "cluster.nodes", "2", "cluster.nics", "2", "cluster.nic", "toy-card"
#define LENGTH "training.seq_len"

/* DeepSpeed: every module comes and goes by itself, the next ones ahead, a layer's gradients go. */
#define MODULES                                                               \
  "strategy.max_reuse_distance", "0", "strategy.prefetch_bucket_size", "2e6", \
      "strategy.reduce_bucket_size", "16777216", "strategy.overlap_comm", "true"
#define BUCKETS "strategy.bucket_bytes", "1 B", "strategy.overlap_comm", "true"
#define SLICES  "strategy.reduce_bucket_size", "1", "strategy.overlap_comm", "true"

/* ---- runs ------------------------------------------------------------------------------------ */

/* A period, and how long its ops keep each of their streams in a phase: as if alone, if serial. */
typedef struct
{
  const char *names[MAX_STREAMS]; /* interned */
  double      busy[MAX_STREAMS][PHASE_N];
  double      kernels[PHASE_N]; /* of all streams */
  guint       n;
  double      step, period;
} Run;

static Scenario *
scenario_of (const char *strategy, const char *layers, const Keys keys)
{
  ScenarioOverride      list[MAX_ALL] = { { "strategy.name", strategy, "test" },
                                          { "model.n_layers", layers, "test" } };
  guint                 n = 2;
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (toy); i += 2)
    list[n++] = (ScenarioOverride){ toy[i], toy[i + 1], "test" };
  /* MeZO has none, and says so */
  if (!g_str_has_suffix (strategy, "zo2"))
    list[n++] = (ScenarioOverride){ "training.clip_gradients", "false", "test" };
  for (guint i = 0; i < MAX_KEYS && keys[i] != NULL; i += 2)
    list[n++] = (ScenarioOverride){ keys[i], keys[i + 1], "test" };
  all = scenario_load (NULL, NULL, list, n, diags);
  ck_assert_msg (all != NULL, "%s: %s", strategy, diag_list_first_message (diags));
  return scenario_copy (g_ptr_array_index (all, 0));
}

/* Where the items of the first role's SECTION stand: a stream each. */
static guint32 *
streams_of (const Schedule *schedule, ScheduleSection section)
{
  ScheduleItems items = schedule_items (schedule, 0, section);
  guint32      *streams = g_new (guint32, items.n + 1);

  for (guint i = 0; i < items.n; i++)
    streams[i] = items.items[i].stream;
  return streams;
}

static void
make_serial (Schedule *schedule)
{
  for (guint role = 0; role < schedule->n_roles; role++)
    for (guint section = 0; section < SECTION_N; section++)
      {
        Vector *items = schedule->roles[role].programs[section].items;

        for (guint i = 0; items != NULL && i < items->len; i++)
          if (vector_at (items, ScheduleItem, i).stream != SCHEDULE_NONE)
            vector_at (items, ScheduleItem, i).stream = SCHEDULE_COMPUTE;
      }
}

static void
read_busy (const Replay *replay, guint32 *const streams[SECTION_N], Run *self)
{
  const Engine      *engine = replay_engine (replay);
  g_autoptr (GArray) members = g_array_new (FALSE, FALSE, sizeof (guint));
  guint              n = replay_n_boundaries (replay);

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      const OpRecord *record = engine_op_record (engine, op);
      const ReplayOp  of = replay_op (replay, op);
      const double    time = (double) (record->end - record->begin) / SIM_TIME_PER_SECOND;

      replay_op_members_into (replay, op, members);
      if (g_array_index (members, guint, 0) != 0 || of.section == SECTION_INIT
          || record->end <= replay_boundary (replay, n - 2)
          || record->end > replay_boundary (replay, n - 1))
        continue;
      self->busy[streams[of.section][of.index]][of.item->phase] += time;
      if (of.item->kind == ITEM_KERNEL)
        self->kernels[of.item->phase] += time;
    }
}

static Run
run (const char *strategy, const char *layers, const Keys keys, gboolean serial)
{
  g_autoptr (ProfileSet)  profiles = fixture_toy_profiles ();
  Scenario               *scenario = scenario_of (strategy, layers, keys);
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (GError)      error = NULL;
  g_autoptr (ReplayPlan)  plan = replay_plan_scenario (scenario, profiles, diags);
  g_autoptr (ReplayBound) bound = NULL;
  g_autoptr (Replay)      replay = NULL;
  Schedule               *schedule;
  guint32                *streams[SECTION_N];
  Run                     self = { .n = 0 };

  ck_assert_msg (plan != NULL, "%s: %s", strategy, diag_list_first_message (diags));
  schedule = (Schedule *) replay_plan_schedule (plan);
  for (guint s = 0; s < SECTION_N; s++)
    streams[s] = streams_of (schedule, (ScheduleSection) s);
  if (serial)
    make_serial (schedule);
  bound = replay_bound_new (plan, FALSE);
  replay = replay_new (bound, NULL, &error);
  ck_assert_msg (replay != NULL, "%s", error != NULL ? error->message : strategy);
  read_busy (replay, streams, &self);
  self.step = replay_step_time (replay);
  self.period = (double) replay_period (replay) / SIM_TIME_PER_SECOND;
  for (; self.n < schedule_n_streams (schedule); self.n++)
    self.names[self.n] = intern_text (schedule_stream_info (schedule, self.n)->name);
  for (guint s = 0; s < SECTION_N; s++)
    g_free (streams[s]);
  scenario_free (scenario);
  return self;
}

/* ---- a layer --------------------------------------------------------------------------------- */

typedef struct
{
  const char *strategy;
  Keys        keys;
  const char *joined; /* streams that take turns, on one communicator or behind one another */
  double      least;  /* part of the saving by the closed form of kernels in turn; see below */
} LayerCase;

/*
 * As much as the closed form says at most. Where kernels take turns in it, less where kernels and
 * collectives that run at once share SMs and memory, up to a tenth of what is hidden here; and
 * where the runtime waits: DeepSpeed computes behind all that was gathered so far.
 */
static const LayerCase layer_cases[] = {
  /* Replicas: reductions behind what the backward pass goes on with. */
  { "ddp", { NODE, LENGTH, "512", BUCKETS }, "", 0.9 },
  { "ddp", { NODE, LENGTH, "2048", BUCKETS }, "", 0.9 },
  { "zero1", { NODE, LENGTH, "2048", BUCKETS }, "", 0.9 },
  { "zero2", { NODE, LENGTH, "2048", SLICES }, "", 0.9 },
  { "zero-offload", { NODE, LENGTH, "2048", SLICES }, "", 0.9 },
  /* A layer takes max (kernels, all-gather), then max (kernels, all-gather + reduce-scatter). */
  { "fsdp1", { NODE, LENGTH, "512" }, "unshard post_backward", 0.9 },
  { "fsdp1", { NODE, LENGTH, "2048" }, "unshard post_backward", 0.9 },
  { "fsdp2", { NODE, LENGTH, "256" }, "all_gather reduce_scatter", 0.9 },
  { "fsdp2", { NODE, LENGTH, "512" }, "all_gather reduce_scatter", 0.9 },
  { "fsdp2", { NODE, LENGTH, "2048" }, "all_gather reduce_scatter", 0.9 },
  { "vescale", { NODE, LENGTH, "512" }, "all_gather reduce_scatter", 0.9 },
  { "simplefsdp", { NODE, LENGTH, "512" }, "", 0.9 },
  { "simplefsdp", { NODE, LENGTH, "2048" }, "", 0.9 },
  { "megatron-fsdp", { NODE, LENGTH, "512" }, "all_gather reduce", 0.9 },
  { "megatron-fsdp", { NODE, LENGTH, "2048" }, "all_gather reduce", 0.9 },
  /* With replicas max (kernels, all-gather + reduce-scatter, all-reduce) backward. */
  { "fsdp1", { NODES, LENGTH, "512", "strategy.shard", "node" }, "unshard post_backward", 0.9 },
  { "hsdp", { NODES, LENGTH, "256" }, "all_gather reduce_scatter", 0.9 },
  { "hsdp", { NODES, LENGTH, "512" }, "all_gather reduce_scatter", 0.9 },
  { "hsdp", { NODES, LENGTH, "2048" }, "all_gather reduce_scatter", 0.9 },
  /* Modules ahead; a bucket behind the next layer's backward pass. */
  { "zero3", { NODE, LENGTH, "2048", MODULES }, "all_gather reduce", 0.9 },
  { "mics", { NODES, LENGTH, "2048", MODULES }, "all_gather reduce", 0.9 },
  { "zeropp", { NODES, LENGTH, "8192", MODULES }, "all_gather reduce", 0.9 },
  { "fcdp", { NODES, LENGTH, "2048", MODULES }, "all_gather reduce", 0.85 },
  { "zero-infinity", { NODE, LENGTH, "2048", MODULES }, "all_gather reduce", 0.9 },
  /* A block takes max (upload, compute, offload). */
  { "zo2", { NODE, LENGTH, "512" }, "", 0.95 },
  { "zo2", { NODE, LENGTH, "4096" }, "", 0.95 },
  { "distzo2", { NODE, LENGTH, "2048" }, "", 0.95 },
};

/*
 * What the streams of ALONE save in forward, recomputed and backward passes: where one runs on SMs
 * that others leave idle, or (IN_TURN) where kernels of all streams take turns, as they share a GPU
 * and its memory.
 */
static double
saving_of (const Run *alone, const char *joined, gboolean in_turn)
{
  g_auto (GStrv) names = g_strsplit (joined, " ", -1);
  double         saved = 0;

  for (guint phase = 0; phase < PHASE_OPTIMIZER; phase++)
    {
      double sum = 0, most = in_turn ? alone->kernels[phase] : 0, turns = 0;

      for (guint s = 0; s < alone->n; s++)
        {
          double busy = alone->busy[s][phase];

          sum += busy;
          if (g_strv_contains ((const char *const *) names, alone->names[s]))
            turns += busy;
          else
            most = MAX (most, busy);
        }
      saved += sum - MAX (most, turns);
    }
  return saved;
}

START_TEST (test_layer)
{
  const LayerCase *c = &layer_cases[_i];
  Run              shallow = run (c->strategy, "6", c->keys, FALSE),
      deep = run (c->strategy, "10", c->keys, FALSE);
  Run first = run (c->strategy, "6", c->keys, TRUE), alone = run (c->strategy, "10", c->keys, TRUE);
  double saved = (alone.step - first.step - (deep.step - shallow.step)) / 4, least, most;

  for (guint phase = 0; phase < PHASE_N; phase++)
    {
      for (guint s = 0; s < alone.n; s++)
        alone.busy[s][phase] = (alone.busy[s][phase] - first.busy[s][phase]) / 4;
      alone.kernels[phase] = (alone.kernels[phase] - first.kernels[phase]) / 4;
    }
  least = saving_of (&alone, c->joined, TRUE);
  most = saving_of (&alone, c->joined, FALSE);
  ck_assert_double_gt (least, 0);
  ck_assert_msg (saved >= c->least * least && saved <= 1.05 * most,
                 "%s, %s %s: a layer saves %.3f ms of %.3f, %.3f", c->strategy, c->keys[2],
                 c->keys[3], 1e3 * saved, 1e3 * least, saved / least);
}
END_TEST

/* ---- with and without ------------------------------------------------------------------------ */

typedef struct
{
  const char *strategy;
  Keys        keys;
  const char *option, *with, *without;
  double      least; /* a step without takes so many times as long, at least */
} OptionCase;

static const OptionCase option_cases[] = {
  { "ddp", { NODE, LENGTH, "512" }, "overlap_comm", "true", "false", 1.05 },
  { "zero1", { NODE, LENGTH, "512", BUCKETS }, "overlap_comm", "true", "false", 1.05 },
  { "zero2", { NODE, LENGTH, "512", SLICES }, "overlap_comm", "true", "false", 1.05 },
  { "zero-offload", { NODE, LENGTH, "2048", SLICES }, "overlap_comm", "true", "false", 1.02 },
  /* cores update while the GPU trains on: the shorter of the two goes */
  { "zero-offload", { NODE, LENGTH, "8192", SLICES }, "delayed_update", "true", "false", 1.4 },
  { "zero3", { NODE, LENGTH, "2048", MODULES }, "overlap_comm", "true", "false", 1.05 },
  { "mics", { NODES, LENGTH, "2048", MODULES }, "overlap_comm", "true", "false", 1.05 },
  { "zeropp", { NODES, LENGTH, "2048", MODULES }, "overlap_comm", "true", "false", 1.05 },
  { "fcdp", { NODES, LENGTH, "2048", MODULES }, "overlap_comm", "true", "false", 1.05 },
  { "zero-infinity", { NODE, LENGTH, "2048", MODULES }, "overlap_comm", "true", "false", 1.02 },
  { "zero-infinity",
    { NODE, LENGTH, "512", "strategy.sub_group_size", "4e6", "strategy.offload_optimizer", "nvme" },
    "pipeline_read",
    "true",
    "false",
    1.05 },
  { "zero-infinity",
    { NODE, LENGTH, "512", "strategy.sub_group_size", "4e6", "strategy.offload_optimizer", "nvme" },
    "pipeline_write",
    "true",
    "false",
    1.05 },
  { "fsdp1", { NODE, LENGTH, "512" }, "backward_prefetch", "pre", "none", 1.05 },
  { "fsdp1", { NODE, LENGTH, "512" }, "backward_prefetch", "pre", "post", 1.01 },
  { "fsdp2", { NODE, LENGTH, "512" }, "backward_prefetch", "true", "false", 1.05 },
  /* replicas add up once in four micro-steps */
  { "hsdp",
    { NODES, LENGTH, "256", "training.grad_accum", "4" },
    "requires_all_reduce",
    "false",
    "true",
    1.05 },
  { "vescale", { NODE, LENGTH, "512" }, "backward_prefetch", "true", "false", 1.05 },
  { "simplefsdp", { NODE, LENGTH, "512" }, "reordering", "true", "false", 1.1 },
  { "megatron-fsdp",
    { NODE, LENGTH, "512", "strategy.data_parallel_sharding_strategy", "optim" },
    "overlap_param_gather",
    "true",
    "false",
    1.05 },
  { "megatron-fsdp",
    { NODE, LENGTH, "512", "strategy.data_parallel_sharding_strategy", "optim" },
    "overlap_grad_reduce",
    "true",
    "false",
    1.05 },
  { "zo2", { NODE, LENGTH, "512" }, "overlap", "true", "false", 1.5 },
  { "distzo2", { NODE, LENGTH, "512" }, "overlap", "true", "false", 1.2 },
};

/* KEYS with KEY set to VALUE; later ones count. */
static void
keys_with (const Keys keys, const char *key, const char *value, Keys out)
{
  guint n = 0;

  for (; keys[n] != NULL; n++)
    out[n] = keys[n];
  ck_assert_uint_le (n + 3, MAX_KEYS);
  out[n] = key;
  out[n + 1] = value;
  out[n + 2] = NULL;
}

START_TEST (test_option)
{
  const OptionCase *c = &option_cases[_i];
  g_autofree char  *key = g_strdup_printf ("strategy.%s", c->option);
  Keys              keys;
  double            with, without;

  keys_with (c->keys, key, c->with, keys);
  with = run (c->strategy, "6", keys, FALSE).step;
  keys_with (c->keys, key, c->without, keys);
  without = run (c->strategy, "6", keys, FALSE).step;
  ck_assert_msg (without >= c->least * with, "%s: %s %s %.3f ms, %s %.3f ms, %.3f", c->strategy,
                 c->option, c->with, 1e3 * with, c->without, 1e3 * without, without / with);
}
END_TEST

/* ---- rounds of workers ----------------------------------------------------------------------- */

typedef enum
{
  ROUND_WAITS,  /* the exchange is added to the steps */
  ROUND_FLAT,   /* so it is, and gradients are averaged in the worker as one flat copy */
  ROUND_TRAINS, /* the next steps hide it, as far as they last */
} RoundKind;

typedef struct
{
  const char *strategy;
  RoundKind   kind;
  Keys        keys;
} RoundCase;

/* Two workers of a node; inside of them nothing overlaps. */
#define ROUND \
  NODES, "strategy.inner.name", "ddp", "strategy.inner.overlap_comm", "false", LENGTH, "2048"
#define FRAGMENTS "strategy.local_steps", "6", "strategy.fragments", "3", "strategy.overlap"

static const RoundCase round_cases[] = {
  { "local-sgd", ROUND_WAITS, { ROUND, "strategy.local_steps", "3" } },
  { "slowmo",
    ROUND_FLAT,
    { ROUND, "strategy.local_steps", "4", "strategy.localsgd_frequency", "2" } },
  { "diloco", ROUND_WAITS, { ROUND, "strategy.local_steps", "3" } },
  { "opendiloco",
    ROUND_WAITS,
    { ROUND, "strategy.local_steps", "3", "strategy.matchmaking_time", "0 s" } },
  { "prime", ROUND_WAITS, { ROUND, "strategy.local_steps", "3" } },
  { "streaming-diloco", ROUND_WAITS, { ROUND, FRAGMENTS, "0" } },
  { "ppu", ROUND_WAITS, { ROUND, FRAGMENTS, "0", "training.trained_slices", "2" } },
  { "co2", ROUND_TRAINS, { ROUND, "strategy.local_steps", "3" } },
  { "eager-diloco", ROUND_TRAINS, { ROUND, "strategy.local_steps", "3" } },
  { "streaming-diloco", ROUND_TRAINS, { ROUND, FRAGMENTS, "1" } },
  { "ppu", ROUND_TRAINS, { ROUND, FRAGMENTS, "1", "training.trained_slices", "2" } },
};

/*
 * H steps of the inner strategy on a worker, which is a node. Where gradients are FLAT there is one
 * bucket; they are divided, copied together and copied back: each pass reads and writes 2 bytes a
 * parameter, of 6 blocks, the table, the head and the last norm, at 0.8 of 1 TB/s.
 */
static double
steps_of_worker (const Run *round, gboolean flat)
{
  const char *bucket = flat ? "1 GB" : "25 MiB";
  const Keys  keys = {
     NODE, LENGTH, "2048", "strategy.overlap_comm", "false", "strategy.bucket_bytes", bucket
  };
  const double block = 4 * 1024.0 * 1024 + 3 * 1024.0 * 4096 + 2 * 1024;
  const double passes = 3 * (2 + 2) * (6 * block + 2 * 1000 * 1024.0 + 1024) / 0.8e12;

  return round->period / round->step * (run ("ddp", "6", keys, TRUE).step + (flat ? passes : 0));
}

/*
 * A round that waits takes its steps and all of the exchange; one that goes on does without what is
 * on the wire, but for what kernels beside it take longer.
 */
START_TEST (test_round)
{
  const RoundCase *c = &round_cases[_i];
  Run              alone = run (c->strategy, "6", c->keys, TRUE);
  Run              real = run (c->strategy, "6", c->keys, FALSE);
  double           sent = 0, exchange = 0, steps, form;

  for (guint s = 0; s < alone.n; s++)
    {
      exchange += alone.busy[s][PHASE_OUTER];
      if (g_str_equal (alone.names[s], "average"))
        sent += alone.busy[s][PHASE_OUTER];
    }
  /* nobody else trains slices: its steps are its own */
  steps = g_str_equal (c->strategy, "ppu") ? alone.period - exchange
                                           : steps_of_worker (&alone, c->kind == ROUND_FLAT);
  ck_assert_double_gt (sent, 0.02 * steps);
  form = steps + exchange - (c->kind == ROUND_TRAINS ? sent : 0);
  ck_assert_msg (real.period >= 0.995 * form
                     && real.period <= form + (c->kind == ROUND_TRAINS ? 0.2 * sent : 0.005 * form),
                 "%s: %.3f ms, by its closed form %.3f, with %.3f on the wire", c->strategy,
                 1e3 * real.period, 1e3 * form, 1e3 * sent);
}
END_TEST

/* ---- all ------------------------------------------------------------------------------------- */

START_TEST (test_all_strategies)
{
  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    {
      gboolean found = FALSE;

      for (guint i = 0; i < G_N_ELEMENTS (layer_cases); i++)
        found |= g_str_equal (layer_cases[i].strategy, (*list)->name);
      for (guint i = 0; i < G_N_ELEMENTS (round_cases); i++)
        found |= g_str_equal (round_cases[i].strategy, (*list)->name);
      ck_assert_msg (found, "nobody wrote down what %s overlaps", (*list)->name);
    }
}
END_TEST

SUITE_MAIN (overlap)
{
  Suite *suite = suite_create ("overlap");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, test_layer, 0, G_N_ELEMENTS (layer_cases));
  tcase_add_loop_test (tcase, test_option, 0, G_N_ELEMENTS (option_cases));
  tcase_add_loop_test (tcase, test_round, 0, G_N_ELEMENTS (round_cases));
  tcase_add_test (tcase, test_all_strategies);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
