/*
 * When the host launches and waits, by hand: CUDA graphs of blocks and of a step, and waits in each
 * micro-step. The toy node's launch takes 10 us; one rank runs one stream, so that the step is a
 * recurrence over its kernels: a kernel starts when it was launched and the one before is done.
 * Not asserted: what graphs cost in memory, which is not modelled.
 */
#include <math.h>
#include <string.h>

#include "../schedule/anywhere.h"
#include "../suite.h"
#include "fixture.h"

#define LAUNCH 1e-5 /* s, of the toy node */

typedef struct
{
  gint64 waits; /* the host waits in the backward pass */
} BareOptions;

static const OptionSpec bare_options[] = {
  { .key = "waits",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (BareOptions, waits),
    .fallback = "0",
    .help = "whether it waits" },
  { 0 },
};

static void
bare_init (StrategyRun *run)
{
  data_anywhere (run);
}

static void
bare_backward_begin (StrategyRun *run)
{
  const BareOptions *options = run->options;

  if (options->waits)
    schedule_host_pace (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
}

static const Strategy bare = {
  .api = STRATEGY_API_VERSION,
  .name = "bare",
  .title = "the model's kernels alone",
  .options_size = sizeof (BareOptions),
  .options = bare_options,
  .hooks = { .init = bare_init, .backward_begin = bare_backward_begin },
};

static Scenario *
bare_scenario (GraphScope scope, MicroStepSync sync, gint64 micro_steps)
{
  Scenario *scenario = fixture_toy_scenario ("toy-pair", &bare, g_new0 (BareOptions, 1));

  scenario->training.cuda_graphs = scope;
  scenario->training.micro_step_sync = sync;
  scenario->training.grad_accum = micro_steps;
  return scenario;
}

/* The block is layer 1 of three. */
static gboolean
is_of_block (const Schedule *schedule, const ScheduleItem *item)
{
  return item->unit != SCHEDULE_NONE && schedule_unit_layer (schedule, item->unit) == 1;
}

typedef struct
{
  double seconds;
  guint  launches, waits;
} Hand;

/* LESS: s that a kernel's launches in a graph save on the device, each. */
static Hand
step_by_hand (const Replay *replay, GraphScope scope, double less)
{
  const Schedule   *schedule = replay_schedule (replay);
  const GpuProfile *gpu = cluster_gpu_profile (replay_cluster (replay), 0);
  ScheduleItems     items = schedule_items (schedule, 0, SECTION_STEADY);
  Hand              hand = { 0 };
  double            host = 0, device = 0;
  gint              open = -1; /* the phase of the open graph */

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      gboolean            passes = item->phase != PHASE_OPTIMIZER;
      gboolean            graphed =
          scope == GRAPHS_STEP ? passes : scope == GRAPHS_BLOCK && is_of_block (schedule, item);
      KernelCost cost;
      guint      launches;

      if (item->kind == ITEM_HOST_WAIT)
        {
          host = MAX (host, device);
          open = -1;
          hand.waits++;
        }
      if (item->kind != ITEM_KERNEL)
        continue;
      launches = item->kernel->launches;
      kernel_cost (gpu, item->kernel, &cost);
      if (graphed)
        cost.alone -= launches * less;
      if (!graphed)
        open = -1;
      else if (open >= 0 && (scope == GRAPHS_STEP || open == item->phase))
        launches = 0;
      else
        launches = 1;
      if (graphed)
        open = item->phase;
      hand.launches += launches;
      host += launches * LAUNCH;
      device = MAX (device, host) + cost.alone;
    }
  hand.seconds = MAX (host, device);
  return hand;
}

static double
period_of (const Replay *replay)
{
  return (double) replay_period (replay) / 1e12;
}

/*
 * A step of one block: eagerly each launch counts; with graphs of blocks two, forward and backward,
 * and those of embedding, head and optimizer; with one of the step one and those of the optimizer.
 */
START_TEST (test_graphs)
{
  guint  launches[3], optimizer = 0;
  double seconds[3];

  for (GraphScope scope = GRAPHS_NONE; scope <= GRAPHS_STEP; scope++)
    {
      g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
      g_autoptr (Scenario)   scenario = bare_scenario (scope, SYNC_NONE, 1);
      g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, FALSE, 0);
      ScheduleItems          items = schedule_items (replay_schedule (replay), 0, SECTION_STEADY);
      Hand                   hand = step_by_hand (replay, scope, 0);
      guint                  in_block = 0, eager = 0;

      optimizer = 0;
      for (guint i = 0; i < items.n; i++)
        if (items.items[i].kind == ITEM_KERNEL)
          {
            eager += items.items[i].kernel->launches;
            if (is_of_block (replay_schedule (replay), &items.items[i])
                && items.items[i].phase != PHASE_OPTIMIZER)
              in_block += items.items[i].kernel->launches;
            if (items.items[i].phase == PHASE_OPTIMIZER)
              optimizer += items.items[i].kernel->launches;
          }
      ck_assert_uint_gt (in_block, 20);
      ck_assert_uint_eq (hand.launches, scope == GRAPHS_NONE    ? eager
                                        : scope == GRAPHS_BLOCK ? eager - in_block + 2
                                                                : optimizer + 1);
      ck_assert_double_eq_tol (period_of (replay), hand.seconds, 1e-9 * hand.seconds + 1e-10);
      launches[scope] = hand.launches;
      seconds[scope] = period_of (replay);
    }
  ck_assert_uint_lt (launches[GRAPHS_BLOCK], launches[GRAPHS_NONE]);
  ck_assert_double_lt (seconds[GRAPHS_BLOCK], seconds[GRAPHS_NONE]);
  ck_assert_double_lt (seconds[GRAPHS_STEP], seconds[GRAPHS_BLOCK]);
}
END_TEST

/* Kernels of 3 us each start-up follow each other in 1 us inside of a graph. */
START_TEST (test_graph_latency)
{
  for (GraphScope scope = GRAPHS_NONE; scope <= GRAPHS_STEP; scope++)
    {
      g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
      g_autoptr (Scenario)   scenario = bare_scenario (scope, SYNC_NONE, 2);
      g_autoptr (Replay)     replay = NULL;
      Hand                   hand;

      ck_assert (profile_set_override (profiles, "gpu", "toy", "kernel_latency", 3e-6));
      ck_assert (profile_set_override (profiles, "gpu", "toy", "graph_latency", 1e-6));
      replay = fixture_replay (scenario, profiles, FALSE, 0);
      hand = step_by_hand (replay, scope, 2e-6);
      ck_assert_double_eq_tol (period_of (replay), hand.seconds, 1e-9 * hand.seconds + 1e-10);
    }
}
END_TEST

/* Where the device is behind, a wait lets it run dry until the next launch. */
START_TEST (test_waits)
{
  double seconds[3];

  for (MicroStepSync sync = SYNC_NONE; sync <= SYNC_BACKWARD; sync++)
    {
      g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
      g_autoptr (Scenario)   scenario = bare_scenario (GRAPHS_NONE, sync, 3);
      g_autoptr (Replay)     replay = NULL;
      Hand                   hand;

      scenario->training.seq_len = 1 << 14;
      replay = fixture_replay (scenario, profiles, FALSE, 0);
      hand = step_by_hand (replay, GRAPHS_NONE, 0);
      ck_assert_uint_eq (hand.waits, sync == SYNC_NONE ? 1 : 4); /* the loss of the step, 3 more */
      ck_assert_double_eq_tol (period_of (replay), hand.seconds, 1e-9 * hand.seconds + 1e-10);
      seconds[sync] = hand.seconds;
    }
  ck_assert_double_gt (seconds[SYNC_FORWARD], seconds[SYNC_NONE] + 2 * LAUNCH);
  ck_assert_double_gt (seconds[SYNC_BACKWARD], seconds[SYNC_NONE] + 2 * LAUNCH);
}
END_TEST

/*
 * Experts with a product each: each forward pass of the block waits for the numbers of rows, which
 * cuts its graph in two. A graph of the step cannot wait, and padded rows need not.
 */
START_TEST (test_experts)
{
  static const struct
  {
    GraphScope scope;
    gboolean   pads;
    guint      waits;
  } cases[] = { { GRAPHS_NONE, FALSE, 3 },
                { GRAPHS_BLOCK, FALSE, 3 },
                { GRAPHS_STEP, FALSE, 1 },
                { GRAPHS_NONE, TRUE, 1 } };
  double seconds[G_N_ELEMENTS (cases)];

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
      g_autoptr (Scenario)   scenario = bare_scenario (cases[i].scope, SYNC_NONE, 2);
      g_autoptr (Replay)     replay = NULL;
      Hand                   hand;

      scenario->model.n_experts = 4;
      scenario->model.n_experts_per_token = 1;
      scenario->training.seq_len = 1 << 14;
      scenario->training.expert_products = EXPERT_PRODUCTS_STREAMS;
      scenario->mesh.capacity_factor = cases[i].pads ? 1 : 0;
      scenario->mesh.pad_to_capacity = cases[i].pads;
      replay = fixture_replay (scenario, profiles, FALSE, 0);
      hand = step_by_hand (replay, cases[i].scope, 0);
      ck_assert_uint_eq (hand.waits, cases[i].waits);
      ck_assert_double_eq_tol (period_of (replay), hand.seconds, 1e-9 * hand.seconds + 1e-10);
      seconds[i] = hand.seconds;
    }
  ck_assert_double_gt (seconds[0], seconds[3] + 2 * LAUNCH);
}
END_TEST

static void
assert_refused (Scenario *scenario, const char *why)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ReplayPlan) plan = replay_plan_scenario (scenario, profiles, diags);
  const char            *text;

  ck_assert_ptr_null (plan);
  text = diag_list_first_message (diags);
  ck_assert_msg (strstr (text, why) != NULL, "%s", text);
}

/* What a graph cannot hold is named. */
START_TEST (test_refused)
{
  g_autoptr (Scenario) waits = bare_scenario (GRAPHS_STEP, SYNC_NONE, 1);
  g_autoptr (Scenario) synced = bare_scenario (GRAPHS_STEP, SYNC_FORWARD, 1);
  g_autoptr (Scenario) blocking = bare_scenario (GRAPHS_BLOCK, SYNC_NONE, 1);

  ((BareOptions *) waits->strategy->options)->waits = 1;
  blocking->training.launch_blocking = TRUE;
  assert_refused (waits, "the host waits during the backward pass");
  assert_refused (synced, "the host waits during the forward pass");
  assert_refused (blocking, "'launch_blocking' waits for each kernel");
}
END_TEST

static Suite *
launches_suite (void)
{
  Suite *suite = suite_create ("launches");
  TCase *hand = tcase_create ("hand");

  tcase_add_test (hand, test_graphs);
  tcase_add_test (hand, test_graph_latency);
  tcase_add_test (hand, test_waits);
  tcase_add_test (hand, test_experts);
  tcase_add_test (hand, test_refused);
  suite_add_tcase (suite, hand);
  return suite;
}

SUITE_MAIN (launches)
{
  return fixture_main (launches_suite ());
}
