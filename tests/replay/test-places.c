/*
 * Places, moves between them, work of the host's cores, and events that cross the end of a period:
 * times by hand on a node of round numbers, two GPUs on one socket, folded and not.
 */
#include "../schedule/anywhere.h"
#include "../suite.h"
#include "fixture.h"

#define US G_GUINT64_CONSTANT (1000000) /* in ps */
#define GB G_GUINT64_CONSTANT (1000000000)

/* What a step ends with: a function of the table `tails`. */
typedef void (*Tail) (StrategyRun *run);

static const Tail tails[16];

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

static void
toy_init (StrategyRun *run)
{
  data_anywhere (run);
}

static StreamRef
side_of (StrategyRun *run)
{
  return schedule_stream (run->b, "side", 0);
}

static void
toy_step_end (StrategyRun *run)
{
  schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
  tails[((const ToyOptions *) run->options)->tail](run);
}

static const Strategy toy = {
  .api = STRATEGY_API_VERSION,
  .name = "toy",
  .title = "a tail after the model's kernels",
  .options_size = sizeof (ToyOptions),
  .options = toy_options,
  .hooks = { .init = toy_init, .step_end = toy_step_end },
};

static gint64
tail_index (Tail tail)
{
  gint64 index = 0;

  while (tails[index] != tail)
    index++;
  return index;
}

static Scenario *
toy_scenario (const char *node, Tail tail)
{
  ToyOptions *options = g_new0 (ToyOptions, 1);

  options->tail = tail_index (tail);
  return fixture_toy_scenario (node, &toy, options);
}

static SimTime
period_with (Tail tail, gboolean unfolded)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  g_autoptr (Scenario)   scenario = toy_scenario ("toy-host", tail);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, unfolded, 0);

  ck_assert (replay_is_steady (replay));
  return replay_period (replay);
}

static void
no_tail (G_GNUC_UNUSED StrategyRun *run)
{
}

/* What TAIL adds to the step, to the picosecond, is WANT. */
static void
assert_adds (Tail tail, SimTime want)
{
  for (guint unfolded = 0; unfolded < 2; unfolded++)
    ck_assert_uint_eq (period_with (tail, unfolded) - period_with (no_tail, unfolded), want);
}

/* ---- work of the host ------------------------------------------------------------------------ */

/* Of each rank; with BLOCKS the host waits. */
static void
update (StrategyRun *run, gboolean blocks)
{
  HostDesc adam = host_desc_adam ("cpu_adam", 160000000, 12, 4, 0);

  schedule_host_op (run->b, side_of (run), &adam, blocks);
}

static void
update_alone (StrategyRun *run)
{
  update (run, TRUE);
  schedule_host_hooks (run->b, 1);
}

static void
update_concurrent (StrategyRun *run)
{
  update (run, FALSE);
  schedule_host_hooks (run->b, 1);
  schedule_host_wait (run->b, schedule_record (run->b, side_of (run)));
}

static void
add_up (StrategyRun *run)
{
  HostDesc sum = host_desc_stream ("sum", GB / 4, 2e9, 1e9);

  schedule_host_op (run->b, side_of (run), &sum, TRUE);
}

/*
 * Two ranks of 160 M parameters at 800 M/s a node: 400 ms; memory would take 2 x 160 M x 28 B over
 * 30 GB/s, 298.7 ms. A hook of 50 us comes after an update that blocks, and while one goes on
 * that does not. A stream of 3 GB a rank: 6 GB over 30 GB/s, 200 ms.
 */
START_TEST (host_work_by_hand)
{
  assert_adds (update_alone, (400000 + 50) * US);
  assert_adds (update_concurrent, 400000 * US);
  assert_adds (add_up, 200000 * US);
}
END_TEST

/* ---- moves ----------------------------------------------------------------------------------- */

static void
move (StrategyRun *run, Place from, Place to)
{
  schedule_move (run->b, side_of (run), from, to, GB, "move");
  schedule_host_hooks (run->b, 1);
  schedule_host_wait (run->b, schedule_record (run->b, side_of (run)));
}

#define MOVE(name_, from_, to_)        \
  static void name_ (StrategyRun *run) \
  {                                    \
    move (run, from_, to_);            \
  }
MOVE (hbm_to_pinned, PLACE_HBM, PLACE_PINNED)
MOVE (hbm_to_hbm, PLACE_HBM, PLACE_HBM)
MOVE (hbm_to_pageable, PLACE_HBM, PLACE_PAGEABLE)
MOVE (pageable_to_hbm, PLACE_PAGEABLE, PLACE_HBM)
MOVE (pinned_to_pageable, PLACE_PINNED, PLACE_PAGEABLE)
MOVE (pinned_to_nvme, PLACE_PINNED, PLACE_NVME)
MOVE (nvme_to_pinned, PLACE_NVME, PLACE_PINNED)
MOVE (hbm_to_nvme, PLACE_HBM, PLACE_NVME)

/*
 * 1 GB a rank, 10 us of issue each:
 *   hbm to pinned       2 GB over the socket's 30 GB/s (its links do 20 GB/s each)
 *   hbm to hbm          read and written, 2 GB over 1 TB/s
 *   hbm to pageable     a core moves it on: memory takes it three times; the host waits, then 50 us
 *   pinned to pageable  read and written: twice (a third of a picosecond counts as one); the host
 *                       waits
 *   pinned to nvme      2 GB over the drives' 5 GB/s
 *   nvme to pinned      2 GB over 10 GB/s
 */
START_TEST (moves_by_hand)
{
  assert_adds (hbm_to_pinned, 10 * US + G_GUINT64_CONSTANT (66666666667));
  assert_adds (hbm_to_hbm, (10 + 2000) * US);
  assert_adds (hbm_to_pageable, (10 + 200000 + 50) * US);
  assert_adds (pageable_to_hbm, (10 + 200000 + 50) * US);
  assert_adds (pinned_to_pageable, 10 * US + G_GUINT64_CONSTANT (133333333334) + 50 * US);
  assert_adds (pinned_to_nvme, (10 + 400000) * US);
  assert_adds (nvme_to_pinned, (10 + 200000) * US);
  assert_adds (hbm_to_nvme, (10 + 400000) * US);
}
END_TEST

/* ---- memory of the drives -------------------------------------------------------------------- */

static void
keep_on_drives (StrategyRun *run)
{
  schedule_free (run->b, schedule_alloc (run->b, PLACE_NVME, POOL_OPTIMIZER, 400 * GB, "states"));
}

/* Two ranks keep 400 GB each on drives of 1 TB; memory has nothing of it. */
START_TEST (drives_fill_up)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  g_autoptr (Scenario)   scenario = toy_scenario ("toy-host", keep_on_drives);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, FALSE, 0);
  const Engine          *engine = replay_engine (replay);
  guint                  node = 7;
  const PoolStats       *drives = engine_pool_stats (engine, replay_drive_pool (replay, 0, &node));

  ck_assert_uint_eq (node, 0);
  ck_assert_uint_eq (drives->device.bytes, 800 * GB);
  ck_assert_uint_eq (drives->capacity, 1000 * GB);
  ck_assert (!drives->overflowed);
  ck_assert_uint_eq (engine_pool_stats (engine, replay_host_pool (replay, 0, NULL))->device.bytes,
                     0);
}
END_TEST

/* ---- events that cross the end of a period --------------------------------------------------- */

/* A copy of BYTES that the end of the next step waits for. */
static void
late_copy (StrategyRun *run, guint64 bytes)
{
  schedule_wait (run->b, SCHEDULE_COMPUTE, schedule_carried (run->b, "copy"));
  schedule_wait_stream (run->b, side_of (run), SCHEDULE_COMPUTE);
  schedule_move (run->b, side_of (run), PLACE_HBM, PLACE_PINNED, bytes, "late");
  schedule_carry (run->b, "copy", schedule_record (run->b, side_of (run)));
}

static void
long_copy (StrategyRun *run)
{
  late_copy (run, GB);
}

static void
short_copy (StrategyRun *run)
{
  late_copy (run, 150000);
}

/*
 * The short copy takes 10 us (2 x 150 kB over 30 GB/s) and is over long before the next step ends:
 * its issue, 10 us, is all that shows. The long one holds up the step after it: copies follow each
 * other at once, so a step takes as long as one.
 */
START_TEST (a_carried_event_holds_up_the_next_step)
{
  assert_adds (short_copy, 10 * US);
  for (guint unfolded = 0; unfolded < 2; unfolded++)
    ck_assert_double_eq_tol ((double) period_with (long_copy, unfolded), 66666666667.0,
                             1e-3 * 66666666667.0);
}
END_TEST

/* ---- buffers that cross the end of a period -------------------------------------------------- */

/* 1 GB is written and copied to the host; the next step waits for the copy and frees it. */
static void
late_fragment (StrategyRun *run)
{
  StreamRef side = side_of (run);
  BufferRef fragment = schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION, GB, "fragment");
  EventRef  sent = schedule_carried (run->b, "sent");

  schedule_touches (run->b, SCHEDULE_COMPUTE, fragment, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_wait_stream (run->b, side, SCHEDULE_COMPUTE);
  schedule_move (run->b, side, PLACE_HBM, PLACE_PINNED, GB, "late");
  schedule_uses (run->b, fragment, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_carry (run->b, "sent", schedule_record (run->b, side));
  schedule_wait (run->b, SCHEDULE_COMPUTE, sent);
  schedule_free_after (run->b, schedule_carried_buffer (run->b, "fragment"), sent);
  schedule_carry_buffer (run->b, "fragment", fragment);
}

/*
 * A step's fragment is there while the one before is still read. Two blocks are enough for ever.
 */
START_TEST (carried_buffers_take_turns)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();

  for (gint allocator = 0; allocator < 3; allocator++)
    for (guint unfolded = 0; unfolded < 2; unfolded++)
      {
        g_autoptr (Scenario) scenario = toy_scenario ("toy-host", late_fragment);
        g_autoptr (Scenario) without = toy_scenario ("toy-host", no_tail);
        g_autoptr (Replay)   replay = NULL;
        g_autoptr (Replay)   plain = NULL;
        const PoolStats     *hbm, *base;

        scenario->memory.allocator = without->memory.allocator = allocator;
        replay = fixture_replay (scenario, profiles, unfolded, 5);
        plain = fixture_replay (without, profiles, unfolded, 5);
        hbm = engine_pool_stats (replay_engine (replay), replay_rank (replay, 0)->hbm);
        base = engine_pool_stats (replay_engine (plain), replay_rank (plain, 0)->hbm);
        ck_assert (replay_is_steady (replay));
        ck_assert_uint_eq (hbm->peak_by_category[POOL_COMMUNICATION], 2 * GB);
        ck_assert_uint_eq (hbm->now[POOL_COMMUNICATION], GB);
        ck_assert_uint_ge (hbm->reserved.bytes, 2 * GB);
        ck_assert_uint_le (hbm->reserved.bytes, base->reserved.bytes + 2 * GB + GB / 10);
      }
}
END_TEST

/* ---- what a cluster lacks -------------------------------------------------------------------- */

START_TEST (drives_that_are_not_there_are_named)
{
  g_autoptr (ProfileSet) profiles = fixture_toy_profiles ();
  g_autoptr (Scenario)   scenario = toy_scenario ("toy-pair", pinned_to_nvme);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autofree char       *text = NULL;

  ck_assert_ptr_null (replay_plan_scenario (scenario, profiles, diags));
  text = diag_list_format (diags, FALSE);
  ck_assert_msg (strstr (text, "strategy 'toy' uses NVMe drives, but node 'toy-pair' has none"),
                 "%s", text);
  ck_assert_ptr_nonnull (strstr (text, "'nvme_read', 'nvme_write' and 'nvme_bytes'"));
}
END_TEST

static const Tail tails[16] = {
  no_tail,         update_alone,    update_concurrent,  add_up,         hbm_to_pinned,  hbm_to_hbm,
  hbm_to_pageable, pageable_to_hbm, pinned_to_pageable, pinned_to_nvme, nvme_to_pinned, hbm_to_nvme,
  long_copy,       short_copy,      keep_on_drives,     late_fragment,
};

SUITE_MAIN (places)
{
  Suite *suite = suite_create ("places");
  TCase *tcase = tcase_create ("by hand");

  tcase_add_test (tcase, host_work_by_hand);
  tcase_add_test (tcase, moves_by_hand);
  tcase_add_test (tcase, drives_fill_up);
  tcase_add_test (tcase, a_carried_event_holds_up_the_next_step);
  tcase_add_test (tcase, carried_buffers_take_turns);
  tcase_add_test (tcase, drives_that_are_not_there_are_named);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
