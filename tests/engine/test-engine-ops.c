/*
 * Single ops and how they share, by arithmetic done by hand (capacities and amounts are round
 * numbers). Not here: streams, hosts, collectives (test-engine-streams), memory
 * (test-engine-pools), random cases (test-fluid).
 */
#include "../suite.h"
#include "fixture.h"

#include <string.h>

#define TRAFFIC(resource, bytes, weight)                                                  \
  (TestOp)                                                                                \
  {                                                                                       \
    .class_ = OP_TRAFFIC, .demands = { { resource, bytes } }, .share = (weight) / (bytes) \
  }

/* A stream of its own for each op: they all start together. */
static OpId
start (Engine *e, TestOp op)
{
  return test_submit (e, engine_add_stream (e, "s", 0, 0), op);
}

static OpId
start_with_priority (Engine *e, gint priority, TestOp op)
{
  return test_submit (e, engine_add_stream (e, "s", priority, 0), op);
}

static void
check_segment (const Engine *e, OpId op, guint i, SimTime duration, Cause cause,
               ResourceId resource)
{
  const OpRecord *record = engine_op_record (e, op);

  ck_assert_uint_lt (i, record->n_segments);
  const TraceSegment *segment = &engine_segments (e, record)[i];
  ck_assert_uint_eq (segment->duration, duration);
  ck_assert_int_eq (segment->cause, cause);
  ck_assert_uint_eq (segment->resource, resource);
}

/*
 * Two kernels that share a resource: what is taken changes when one begins or ends, adds up to
 * their amounts, and ends at 0.
 */
START_TEST (use_log)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId hbm = engine_add_resource (e, "hbm", 100), sm = engine_add_resource (e, "sm", 10);
  const UseChange *log;
  double           sum = 0;
  guint            n;

  engine_keep_use (e, hbm);
  start (e,
         (TestOp){ .class_ = OP_KERNEL, .demands = { { sm, 1 }, { hbm, 300 } }, .share = 1 / 3.0 });
  start (e, (TestOp){ .class_ = OP_KERNEL, .demands = { { hbm, 100 } }, .share = 1 });
  test_run (e);
  log = engine_use_log (e, &n);
  ck_assert_uint_ge (n, 2);
  for (guint i = 0; i < n; i++)
    {
      ck_assert_uint_eq (log[i].resource, hbm);
      ck_assert (log[i].use >= 0 && log[i].use <= 100 * (1 + 1e-12));
      if (i + 1 < n)
        {
          ck_assert_uint_lt (log[i].time, log[i + 1].time);
          sum += log[i].use * sim_time_to_seconds (log[i + 1].time - log[i].time);
        }
    }
  ck_assert (log[n - 1].use == 0);
  ck_assert (ABS (sum - 400) < 1e-9);
}
END_TEST

/*
 * Notes of use: of an op that has ended, now; of one that runs, at its end. By hand: two ops of 100
 * share a link of 100 a second until the first, which demands 50, ends after 1 s.
 */
START_TEST (use_is_noted_at_ends)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         link = engine_add_resource (e, "link", 100);
  OpId               small = start (e, (TestOp){ .demands = { { link, 50 } }, .share = 1. / 50 });
  guint              before, end;

  start (e, (TestOp){ .demands = { { link, 100 } }, .share = 1. / 100 });
  before = engine_note_use (e, ENGINE_NONE);
  end = engine_note_use (e, small);
  ck_assert_ptr_null (engine_use_note (e, end)->used);
  test_run (e);
  ck_assert (engine_use_note (e, before)->time == 0);
  ck_assert (engine_use_note (e, before)->used[link] == 0);
  ck_assert_uint_eq (engine_use_note (e, end)->time, SECONDS (1));
  ck_assert (ABS (engine_use_note (e, end)->used[link] - 100) < 1e-9);
}
END_TEST

START_TEST (roofline)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId sm = engine_add_resource (e, "sm", 100), hbm = engine_add_resource (e, "hbm", 1e12);
  /* latency 5 ps, then max (50 / 100, 2e12 / 1e12) = 2 s */
  OpId op = start (e, (TestOp){ .class_ = OP_KERNEL,
                                .latency = 5,
                                .demands = { { sm, 50 }, { hbm, 2e12 } },
                                .share = 0.5 });

  ck_assert_uint_eq (engine_n_resources (e), 2);
  ck_assert_str_eq (engine_resource_name (e, hbm), "hbm");
  ck_assert (engine_resource_capacity (e, hbm) == 1e12);
  test_run (e);
  ck_assert_uint_eq (test_begin (e, op), 0);
  ck_assert_uint_eq (test_end (e, op), SECONDS (2) + 5);
  ck_assert_uint_eq (engine_op_record (e, op)->n_segments, 2);
  check_segment (e, op, 0, 5, CAUSE_LATENCY, ENGINE_NONE);
  check_segment (e, op, 1, SECONDS (2), CAUSE_RESOURCE, hbm);
  ck_assert (engine_resource_used (e, sm) == 50);
  ck_assert (engine_resource_used (e, hbm) == 2e12);
}
END_TEST

START_TEST (roofline_does_not_depend_on_share)
{
  static const double shares[] = { 1e-3, 0.1, 1, 7, 300, 1e4 };

  for (guint i = 0; i < G_N_ELEMENTS (shares); i++)
    {
      g_autoptr (Engine) e = engine_new ();
      ResourceId         link = engine_add_resource (e, "link", 3e9);
      OpId               op = start (

          e, (TestOp){ .class_ = OP_TRAFFIC, .demands = { { link, 1e9 } }, .share = shares[i] });

      test_run (e);
      ck_assert_uint_eq (test_end (e, op), 333333333334); /* 1/3 s, rounded up */
    }
}
END_TEST

START_TEST (two_flows_share_a_link)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         link = engine_add_resource (e, "link", 100);
  OpId small = start (e, TRAFFIC (link, 100.0, 1)), large = start (e, TRAFFIC (link, 300.0, 1));

  /* 50 each until 2 s; then 200 left at 100 */
  test_run (e);
  ck_assert_uint_eq (test_end (e, small), SECONDS (2));
  ck_assert_uint_eq (test_end (e, large), SECONDS (4));
  ck_assert_uint_eq (engine_op_record (e, large)->n_segments, 1); /* one cause throughout: merged */
  ck_assert (engine_resource_used (e, link) == 400);
}
END_TEST

START_TEST (weights)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         link = engine_add_resource (e, "link", 100);
  OpId heavy = start (e, TRAFFIC (link, 300.0, 3)), light = start (e, TRAFFIC (link, 200.0, 1));

  /* 75 and 25 until 4 s; then 100 left at 100 */
  test_run (e);
  ck_assert_uint_eq (test_end (e, heavy), SECONDS (4));
  ck_assert_uint_eq (test_end (e, light), SECONDS (5));
}
END_TEST

START_TEST (parking_lot)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         a = engine_add_resource (e, "a", 10), b = engine_add_resource (e, "b", 10),
             c = engine_add_resource (e, "c", 10);
  OpId through = start (e, (TestOp){ .class_ = OP_TRAFFIC,
                                     .demands = { { a, 10 }, { b, 10 }, { c, 10 } },
                                     .share = 0.1 });
  OpId on_a = start (e, TRAFFIC (a, 20.0, 1)), on_c = start (e, TRAFFIC (c, 40.0, 1));
  OpId on_b = start (e, TRAFFIC (b, 10.0, 1)), on_b2 = start (e, TRAFFIC (b, 10.0, 1));

  /* b has three flows: 10/3 each; a and c leave 20/3 to theirs. At 3 s only on_c is left, with 20
     of 40, alone: 2 s more */
  test_run (e);
  ck_assert_uint_eq (test_end (e, through), SECONDS (3));
  ck_assert_uint_eq (test_end (e, on_a), SECONDS (3));
  ck_assert_uint_eq (test_end (e, on_b), SECONDS (3));
  ck_assert_uint_eq (test_end (e, on_b2), SECONDS (3));
  ck_assert_uint_eq (test_end (e, on_c), SECONDS (5));
  check_segment (e, through, 0, SECONDS (3), CAUSE_RESOURCE, b);
}
END_TEST

START_TEST (caps)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         link = engine_add_resource (e, "link", 10);
  TestOp             capped = TRAFFIC (link, 6.0, 1);
  capped.cap = 2.0 / 6.0; /* 2 per second */
  OpId slow = start (e, capped), fast = start (e, TRAFFIC (link, 34.0, 1));

  /* 2 and 8 until 3 s; then 10 left at 10 */
  test_run (e);
  ck_assert_uint_eq (test_end (e, slow), SECONDS (3));
  ck_assert_uint_eq (test_end (e, fast), SECONDS (4));
  check_segment (e, slow, 0, SECONDS (3), CAUSE_CAP, ENGINE_NONE);
  check_segment (e, fast, 0, SECONDS (4), CAUSE_RESOURCE, link);
}
END_TEST

START_TEST (kernels_take_what_traffic_leaves)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId link = engine_add_resource (e, "link", 30), hbm = engine_add_resource (e, "hbm", 1000);
  OpId       copy = start (e, (TestOp){ .class_ = OP_TRAFFIC,
                                        .demands = { { link, 300 }, { hbm, 2000 } },
                                        .share = 1.0 / 300 });
  OpId       kernel =
      start (e, (TestOp){ .class_ = OP_KERNEL, .demands = { { hbm, 12000 } }, .share = 1.0 / 12 });

  /* the copy: 10 s by its link, 200 of HBM; the kernel: 800 until 10 s, 4000 left at 1000 */
  test_run (e);
  ck_assert_uint_eq (test_end (e, copy), SECONDS (10));
  ck_assert_uint_eq (test_end (e, kernel), SECONDS (14));
  check_segment (e, copy, 0, SECONDS (10), CAUSE_RESOURCE, link);
}
END_TEST

START_TEST (starved_kernel_goes_on)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         hbm = engine_add_resource (e, "hbm", 3);
  OpId               copy = start (e, TRAFFIC (hbm, 7.0, 1));
  OpId kernel = start (e, (TestOp){ .class_ = OP_KERNEL, .demands = { { hbm, 3 } }, .share = 1 });

  test_run (e);
  ck_assert_uint_eq (test_end (e, copy), 2333333333334);
  ck_assert_uint_eq (test_end (e, kernel), 3333333333334);
  check_segment (e, kernel, 0, 3333333333334, CAUSE_RESOURCE, hbm);
}
END_TEST

START_TEST (kernels_share_by_stand_alone_speed)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         hbm = engine_add_resource (e, "hbm", 1000);
  OpId fast = start (e, (TestOp){ .class_ = OP_KERNEL, .demands = { { hbm, 1000 } }, .share = 1 });
  OpId slow =
      start (e, (TestOp){ .class_ = OP_KERNEL, .demands = { { hbm, 3000 } }, .share = 1.0 / 3 });

  /* both at half speed: 2 s; by then slow has done 1/3 of itself, 2 of 3 s follow alone */
  test_run (e);
  ck_assert_uint_eq (test_end (e, fast), SECONDS (2));
  ck_assert_uint_eq (test_end (e, slow), SECONDS (4));
}
END_TEST

START_TEST (priorities)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         sm = engine_add_resource (e, "sm", 100);
  OpId               low = start_with_priority (
                    e, 0, (TestOp){ .class_ = OP_KERNEL, .demands = { { sm, 100 } }, .share = 1 });
  OpId lowest = start_with_priority (
      e, -1, (TestOp){ .class_ = OP_KERNEL, .demands = { { sm, 10 } }, .share = 10 });
  OpId high = start_with_priority (
      e, 2, (TestOp){ .class_ = OP_KERNEL, .demands = { { sm, 60 } }, .share = 1, .cap = 1 });

  /* high: 60 for 1 s. low: 40 until then, 60 left at 100: 1.6 s. lowest: nothing, then 0.1 s */
  test_run (e);
  ck_assert_uint_eq (test_end (e, high), SECONDS (1));
  ck_assert_uint_eq (test_end (e, low), SECONDS (1.6));
  ck_assert_uint_eq (test_end (e, lowest), SECONDS (1.7));
}
END_TEST

START_TEST (a_cause_of_no_duration_leaves_no_trace)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         link = engine_add_resource (e, "link", 10),
             other = engine_add_resource (e, "other", 10);
  OpId op = start (
      e,
      (TestOp){ .class_ = OP_TRAFFIC, .demands = { { link, 20 }, { other, 16 } }, .share = 0.1 });
  /* at 1 s a flow so small that it ends as it begins moves the bottleneck to `other` */
  StreamId s = engine_add_stream (e, "s", 0, 0);
  test_submit (e, s, (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (1) });
  OpId small = test_submit (e, s, TRAFFIC (other, 1e-22, 1));

  test_run (e);
  ck_assert_uint_eq (test_end (e, small), SECONDS (1));
  ck_assert_uint_eq (test_end (e, op), SECONDS (2));
  ck_assert_uint_eq (engine_op_record (e, op)->n_segments, 1);
  check_segment (e, op, 0, SECONDS (2), CAUSE_RESOURCE, link);
}
END_TEST

START_TEST (latency_only)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         sm = engine_add_resource (e, "sm", 100);
  OpId               bare = start (e, (TestOp){ .class_ = OP_TRAFFIC, .latency = 1234 });
  OpId               nothing = start (e, (TestOp){ .class_ = OP_TRAFFIC });
  Demand             zero = { sm, 0 };
  OpSpec             spec = { .class_ = OP_KERNEL,
                              .latency = 77,
                              .demands = &zero,
                              .n_demands = 1,
                              .members = 1,
                              .waves = { sm, 0, 1 },
                              .order = ENGINE_NONE };
  OpId               zeroes = engine_op_new (e, &spec);
  engine_submit (e, zeroes, engine_add_stream (e, "z", 0, 0), ENGINE_NONE, 0);

  test_run (e);
  ck_assert_uint_eq (test_end (e, bare), 1234);
  ck_assert_uint_eq (test_end (e, nothing), 0);
  ck_assert_uint_eq (engine_op_record (e, nothing)->n_segments, 0);
  ck_assert_uint_eq (test_end (e, zeroes), 77);
  check_segment (e, zeroes, 0, 77, CAUSE_LATENCY, ENGINE_NONE);
}
END_TEST

/* ---- waves and reservations ------------------------------------------------------------------ */

/* Holds `slots` of SM for ten seconds from now on. */
static OpId
hold (Engine *e, ResourceId sm, double slots)
{
  OpId op = test_op_new (e, (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (10) });

  engine_submit (e, op, engine_add_stream (e, "hold", 0, 0), sm, slots);
  return op;
}

static TestOp
waves (ResourceId sm, double units, double seconds)
{
  return (TestOp){ .class_ = OP_KERNEL, .waves = { sm, units, seconds }, .share = 1 };
}

START_TEST (waves_are_whole)
{
  static const struct
  {
    double reserved, units, seconds, used;
  } cases[] = {
    { 0, 25, 3, 30 },   /* 10 slots: 3 waves of 1 s */
    { 0, 30, 3, 30 },   /* just full */
    { 0, 31, 4, 40 },   /* one more */
    { 0, 1, 1, 10 },    /* a wave occupies all slots */
    { 2, 25, 4, 32 },   /* 8 slots: 4 waves */
    { 2.5, 25, 4, 28 }, /* 7.5 are 7 slots: 4 waves, although 7.5 would do more */
    { 5, 25, 5, 25 },   { 9, 25, 25, 25 },
    { 10, 25, 25, 25 }, /* all reserved: one slot keeps it going */
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (Engine) e = engine_new ();
      ResourceId         sm = engine_add_resource (e, "sm", 10);
      if (cases[i].reserved > 0)
        {
          OpId op = test_op_new (e, (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (100) });
          engine_submit (e, op, engine_add_stream (e, "hold", 0, 0), sm, cases[i].reserved);
        }
      OpId later = test_op_new (e, waves (sm, cases[i].units, 1));
      /* the kernel comes after the reservation */
      OpId     first = start (e, (TestOp){ .class_ = OP_TRAFFIC, .latency = 1 });
      StreamId s = engine_add_stream (e, "k", 0, 0);
      engine_stream_wait (e, s, first);
      engine_submit (e, later, s, ENGINE_NONE, 0);

      test_run (e);
      ck_assert_uint_eq (test_end (e, later) - 1, SECONDS (cases[i].seconds));
      ck_assert (ABS (engine_resource_used (e, sm) - cases[i].used) < 1e-9);
      check_segment (e, later, 0, SECONDS (cases[i].seconds), CAUSE_RESOURCE, sm);
    }
}
END_TEST

/*
 * Two runs of 10 units in waves of 1 s and one of 7 units in waves of 2 s, on the slots that are
 * left of 5.
 */
START_TEST (waves_of_several_kernels)
{
  static const WavePart parts[] = { { 10, 1, 2 }, { 7, 2, 1 } };
  static const double   reserved[] = { 0, 1, 4 }, seconds[] = { 8, 10, 34 }, slots[] = { 5, 4, 1 };
  g_autoptr (Engine)    e = engine_new ();
  ResourceId            sm = engine_add_resource (e, "sm", 5);
  OpId   holder = test_op_new (e, (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (100) });
  OpSpec spec = { .class_ = OP_KERNEL,
                  .latency = 1, /* the kernel comes after the reservation */
                  .waves = { .resource = sm },
                  .wave_parts = parts,
                  .n_wave_parts = G_N_ELEMENTS (parts),
                  .share = 1,
                  .members = 1,
                  .order = ENGINE_NONE };
  OpId   kernel = engine_op_new (e, &spec);

  if (reserved[_i] > 0)
    engine_submit (e, holder, engine_add_stream (e, "hold", 0, 0), sm, reserved[_i]);
  else
    engine_submit (e, holder, engine_add_stream (e, "hold", 0, 0), ENGINE_NONE, 0);
  engine_submit (e, kernel, engine_add_stream (e, "k", 0, 0), ENGINE_NONE, 0);
  test_run (e);
  ck_assert_uint_eq (test_end (e, kernel) - 1, SECONDS (seconds[_i]));
  ck_assert (ABS (engine_resource_used (e, sm) - seconds[_i] * slots[_i]) < 1e-9);
}
END_TEST

START_TEST (waves_and_bandwidth)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId sm = engine_add_resource (e, "sm", 10), hbm = engine_add_resource (e, "hbm", 100);
  TestOp     op = waves (sm, 20, 1); /* 2 s of waves, 3 s of memory */
  op.demands[0] = (Demand){ hbm, 300 };
  OpId kernel = start (e, op);

  test_run (e);
  ck_assert_uint_eq (test_end (e, kernel), SECONDS (3));
  check_segment (e, kernel, 0, SECONDS (3), CAUSE_RESOURCE, hbm);
}
END_TEST

START_TEST (plain_demand_sees_reservation)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         sm = engine_add_resource (e, "sm", 10);
  hold (e, sm, 2.5);
  OpId kernel = start (e, (TestOp){ .class_ = OP_KERNEL, .demands = { { sm, 15 } }, .share = 1 });
  OpId copy = start (e, TRAFFIC (engine_add_resource (e, "other", 1), 1.0, 1));

  test_run (e);
  ck_assert_uint_eq (test_end (e, kernel), SECONDS (2)); /* 15 / 7.5 */
  ck_assert_uint_eq (test_end (e, copy), SECONDS (1));
}
END_TEST

typedef struct
{
  ResourceId sm;
  OpId       op;
} Late;

static void
hold_now (Engine *e, gpointer user)
{
  Late *late = user;

  late->op = hold (e, late->sm, 2);
}

START_TEST (reservation_drains_a_wave)
{
  g_autoptr (Engine) e = engine_new ();
  Late               late = { engine_add_resource (e, "sm", 10), 0 };
  TestCall           calls[] = { { SECONDS (0.5), hold_now, &late } };
  TestTimer          timer = { calls, 1, 0 };
  OpId               kernel = start (e, waves (late.sm, 25, 1));
  test_add_timer (e, "h", &timer);

  /* ready at 0.5 s, the first of 3 waves ends at 1 s; 2/3 are left at 4 waves of 1 s: 8/3 s */
  test_run (e);
  const OpRecord *record = engine_op_record (e, late.op);
  ck_assert_uint_eq (record->begin, SECONDS (1));
  ck_assert_uint_eq (record->first_arrival, SECONDS (1));
  ck_assert_uint_eq (record->drain, SECONDS (0.5));
  ck_assert_uint_eq (record->drain_op, kernel);
  ck_assert_uint_eq (record->issue, SECONDS (0.5));
  ck_assert_uint_eq (record->end, SECONDS (11));
  ck_assert_uint_eq (test_end (e, kernel), 3666666666667);
  /* 1/3 of 3 * 10 and 2/3 of 4 * 8 */
  ck_assert (ABS (engine_resource_used (e, late.sm) - (10 + 64.0 / 3)) < 1e-9);
}
END_TEST

/*
 * Apart: a kernel of 3 waves, traffic of 4 s over the same link twice, and what reserves slots amid
 * the kernel end as each would alone; what holds each back is said as ever.
 */
START_TEST (apart)
{
  g_autoptr (Engine) e = engine_new ();
  Late               late = { engine_add_resource (e, "sm", 10), 0 };
  ResourceId         link = engine_add_resource (e, "link", 2);
  TestCall           calls[] = { { SECONDS (0.5), hold_now, &late } };
  TestTimer          timer = { calls, 1, 0 };
  OpId               kernel, flows[2], capped;
  TestOp             slow = TRAFFIC (link, 8.0, 1);

  engine_set_apart (e, TRUE);
  kernel = start (e, waves (late.sm, 25, 1));
  flows[0] = start (e, TRAFFIC (link, 8.0, 1));
  flows[1] = start (e, TRAFFIC (link, 8.0, 7));
  slow.cap = 0.1;
  capped = start (e, slow);
  test_add_timer (e, "h", &timer);
  test_run (e);
  ck_assert_uint_eq (engine_op_record (e, late.op)->begin, SECONDS (0.5));
  ck_assert_uint_eq (test_end (e, kernel), SECONDS (3));
  ck_assert_uint_eq (test_end (e, flows[0]), SECONDS (4));
  ck_assert_uint_eq (test_end (e, flows[1]), SECONDS (4));
  ck_assert_uint_eq (test_end (e, capped), SECONDS (10));
  check_segment (e, kernel, 0, SECONDS (3), CAUSE_RESOURCE, late.sm);
  check_segment (e, flows[0], 0, SECONDS (4), CAUSE_RESOURCE, link);
  check_segment (e, capped, 0, SECONDS (10), CAUSE_CAP, ENGINE_NONE);
}
END_TEST

/*
 * Waves and other work on the same slots, as of several kernels that are one op, add up: 3 waves of
 * 1 s and 20 slot-seconds more on 10 slots take 5 s, apart as ever.
 */
START_TEST (waves_and_a_demand_add_up)
{
  for (guint is_apart = 0; is_apart < 2; is_apart++)
    {
      g_autoptr (Engine) e = engine_new ();
      ResourceId         sm = engine_add_resource (e, "sm", 10);
      TestOp             both = waves (sm, 25, 1);
      OpId               op;

      both.demands[0] = (Demand){ sm, 20 };
      both.share = 1.0 / 5;
      engine_set_apart (e, is_apart);
      op = start (e, both);
      test_run (e);
      ck_assert_uint_eq (test_end (e, op), SECONDS (5));
    }
}
END_TEST

/*
 * A copy of 1 s beside a kernel that memory holds back gets half of it and ends after 2 s. Beside
 * the same one with more to compute, 1.25 s alone, each loses as much of its own pace: 1 : 0.8 of
 * the memory, so that the copy ends after 1.8 s, and the kernel after 2.05 instead of 2. Where the
 * copy is on the critical path, more work thus makes a shorter step.
 */
START_TEST (copy_beside_more_work)
{
  static const double seconds[] = { 1, 1.25 }, copied[] = { 2, 1.8 }, computed[] = { 2, 2.05 };

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (Engine) e = engine_new ();
      ResourceId         sm = engine_add_resource (e, "sm", 1);
      ResourceId         hbm = engine_add_resource (e, "hbm", 1);
      TestOp copy = { .class_ = OP_KERNEL, .demands = { { sm, 0.5 }, { hbm, 1 } }, .share = 1 };
      TestOp kernel = { .class_ = OP_KERNEL,
                        .demands = { { sm, i == 0 ? 0.9 : 1.25 }, { hbm, 1 } },
                        .share = 1 / seconds[i] };
      OpId   ops[] = { start (e, copy), start (e, kernel) };

      test_run (e);
      ck_assert_double_eq_tol (sim_time_to_seconds (test_end (e, ops[0])), copied[i], 1e-9);
      ck_assert_double_eq_tol (sim_time_to_seconds (test_end (e, ops[1])), computed[i], 1e-9);
    }
}
END_TEST

/*
 * One wave of 8 leaves the 2 slots that a reservation wants: it need not drain, and is as long as
 * it was.
 */
START_TEST (reservation_beside_a_part_of_a_wave)
{
  g_autoptr (Engine) e = engine_new ();
  Late               late = { engine_add_resource (e, "sm", 10), 0 };
  TestCall           calls[] = { { SECONDS (0.5), hold_now, &late } };
  TestTimer          timer = { calls, 1, 0 };
  OpId               kernel = start (e, waves (late.sm, 8, 1));

  test_add_timer (e, "h", &timer);
  test_run (e);
  ck_assert_uint_eq (engine_op_record (e, late.op)->begin, SECONDS (0.5));
  ck_assert_uint_eq (engine_op_record (e, late.op)->drain, 0);
  ck_assert_uint_eq (engine_op_record (e, late.op)->drain_op, ENGINE_NONE);
  ck_assert_uint_eq (test_end (e, kernel), SECONDS (1));
}
END_TEST

/*
 * Thread blocks of a kernel are dispatched before those of one that comes later: a reservation
 * waits for the whole kernel, of several as one op for the one that runs, whether it runs in 3
 * waves of 1 s or takes 10 slots for 2 s.
 */
START_TEST (reservation_waits_for_a_piece)
{
  static const double pieces[] = { 1, 2, 1, 4 }, begins[] = { 3, 1.5, 2, 1 };
  g_autoptr (Engine)  e = engine_new ();
  Late                late = { engine_add_resource (e, "sm", 10), 0 };
  TestCall            calls[] = { { SECONDS (0.5), hold_now, &late } };
  TestTimer           timer = { calls, 1, 0 };
  Demand              stream = { late.sm, 20 };
  gboolean            in_waves = _i < 2;
  OpSpec              spec = { .class_ = OP_KERNEL,
                               .demands = &stream,
                               .n_demands = in_waves ? 0 : 1,
                               .waves = { in_waves ? late.sm : ENGINE_NONE, 25, 1 },
                               .pieces_on = late.sm,
                               .pieces = pieces[_i],
                               .share = 1,
                               .members = 1,
                               .order = ENGINE_NONE };
  engine_submit (e, engine_op_new (e, &spec), engine_add_stream (e, "k", 0, 0), ENGINE_NONE, 0);
  test_add_timer (e, "h", &timer);

  test_run (e);
  ck_assert_uint_eq (test_begin (e, late.op), SECONDS (begins[_i]));
}
END_TEST

START_TEST (drain_waits_for_the_longest_wave)
{
  g_autoptr (Engine) e = engine_new ();
  Late               late = { engine_add_resource (e, "sm", 10), 0 };
  TestCall           calls[] = { { SECONDS (1), hold_now, &late } };
  TestTimer          timer = { calls, 1, 0 };
  TestOp             fast = waves (late.sm, 20, 0.75), slow = waves (late.sm, 20, 2);
  fast.share = 2;
  OpId slowest = start (e, slow);
  start (e, fast);
  test_add_timer (e, "h", &timer);

  /* 2 * 15 L + 40 L = 10 slots: L = 1/7. First waves end at 1.75 s (fast) and 3.5 s (slow) */
  test_run (e);
  ck_assert_uint_eq (test_begin (e, late.op), SECONDS (3.5));
  ck_assert_uint_eq (engine_op_record (e, late.op)->drain_op, slowest);
}
END_TEST

START_TEST (drain_follows_the_rates)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         hbm = engine_add_resource (e, "hbm", 100);
  Late               late = { engine_add_resource (e, "sm", 10), 0 };
  TestCall           calls[] = { { SECONDS (1), hold_now, &late } };
  TestTimer          timer = { calls, 1, 0 };
  TestOp             op = waves (late.sm, 20, 4); /* 2 waves of 4 s, and HBM at 100 throughout */
  op.demands[0] = (Demand){ hbm, 800 };
  start (e, op);
  /* a copy takes half of HBM from 2 s to 4 s */
  StreamId s = engine_add_stream (e, "c", 0, 0);
  test_submit (e, s, (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (2) });
  test_submit (
      e, s, (TestOp){ .class_ = OP_TRAFFIC, .demands = { { hbm, 100 } }, .share = 1, .cap = 0.5 });
  test_add_timer (e, "h", &timer);

  /* the wave is half done at 2 s, 3/4 at 4 s, over at 5 s */
  test_run (e);
  ck_assert_uint_eq (test_begin (e, late.op), SECONDS (5));
  ck_assert_uint_eq (engine_op_record (e, late.op)->drain, SECONDS (4));
}
END_TEST

START_TEST (drain_outlasts_one_of_two_kernels)
{
  g_autoptr (Engine) e = engine_new ();
  Late               late = { engine_add_resource (e, "sm", 10), 0 };
  TestCall           calls[] = { { SECONDS (1), hold_now, &late } };
  TestTimer          timer = { calls, 1, 0 };
  TestOp             fast = waves (late.sm, 10, 0.75), slow = waves (late.sm, 10, 4);
  fast.share = 2;
  start (e, fast);
  OpId slowest = start (e, slow);
  test_add_timer (e, "h", &timer);

  /* 2 * 7.5 L + 40 L = 10: L = 2/11. Fast ends at 2.75 s, when slow is half done: 2 s more alone */
  test_run (e);
  ck_assert_uint_eq (test_begin (e, late.op), SECONDS (4.75));
  ck_assert_uint_eq (engine_op_record (e, late.op)->drain_op, slowest);
}
END_TEST

START_TEST (drains_stand_still_with_their_kernel)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId hbm = engine_add_resource (e, "hbm", 10), sm = engine_add_resource (e, "sm", 10);
  Late       first = { sm, 0 }, second = { sm, 0 };
  TestCall   calls[] = { { SECONDS (0.25), hold_now, &first },
                         { SECONDS (0.75), hold_now, &second } };
  TestTimer  timer = { calls, 2, 0 };
  TestOp     op = waves (sm, 12, 1);
  op.demands[0] = (Demand){ hbm, 1 };
  OpId     kernel = start (e, op);
  StreamId s = engine_add_stream (e, "c", 0, 0);
  test_submit (e, s, (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (0.5) });
  test_submit (e, s, TRAFFIC (hbm, 10.0, 1));
  test_add_timer (e, "h", &timer);

  /* 2 waves of 1 s. A copy takes all of HBM from 0.5 s to 1.5 s: the first wave ends at 2 s for
     both. On 6 slots there are still 2 waves, so the other half takes 1 s */
  test_run (e);
  ck_assert_uint_eq (test_begin (e, first.op), SECONDS (2));
  ck_assert_uint_eq (engine_op_record (e, first.op)->drain, SECONDS (1.75));
  ck_assert_uint_eq (test_begin (e, second.op), SECONDS (2));
  ck_assert_uint_eq (engine_op_record (e, second.op)->drain, SECONDS (1.25));
  ck_assert_uint_eq (engine_op_record (e, second.op)->drain_op, kernel);
  ck_assert_uint_eq (test_end (e, kernel), SECONDS (3));
}
END_TEST

START_TEST (drain_at_the_instant_of_a_start)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         sm = engine_add_resource (e, "sm", 10);
  OpId               first = hold (e, sm, 2); /* before the kernel in order, at the same time */
  OpId               kernel = start (e, waves (sm, 20, 1));

  test_run (e);
  ck_assert_uint_eq (test_begin (e, first), SECONDS (1));
  ck_assert_uint_eq (test_end (e, kernel), SECONDS (2.5)); /* half of 3 waves on 8 slots is left */
}
END_TEST

START_TEST (last_wave_ends_with_its_op)
{
  g_autoptr (Engine) e = engine_new ();
  Late               late = { engine_add_resource (e, "sm", 7), 0 };
  TestCall           calls[] = { { SECONDS (2.4), hold_now, &late } };
  TestTimer          timer = { calls, 1, 0 };
  OpId kernel = start (e, waves (late.sm, 20, 1.0 / 1.1)); /* 3 waves: 2.727272... s */
  test_add_timer (e, "h", &timer);

  test_run (e);
  ck_assert_uint_eq (test_end (e, kernel), 2727272727273);
  ck_assert_uint_eq (test_begin (e, late.op), 2727272727273);
}
END_TEST

typedef struct
{
  ResourceId resource;
  double     used;
} Probe;

static void
probe (Engine *e, gpointer user)
{
  Probe *p = user;

  p->used = engine_resource_used (e, p->resource);
}

START_TEST (used_in_mid_run)
{
  g_autoptr (Engine) e = engine_new ();
  Probe              link = { engine_add_resource (e, "link", 10), 0 },
        sm = { engine_add_resource (e, "sm", 10), 0 };
  TestCall  calls[] = { { SECONDS (0.5), probe, &link }, { SECONDS (3), probe, &sm } };
  TestTimer timer = { calls, 2, 0 };
  start (e, TRAFFIC (link.resource, 10.0, 1));
  start (e, waves (sm.resource, 25, 1));
  test_add_timer (e, "h", &timer);
  hold (e, sm.resource, 2); /* from 1 s on */

  test_run (e);
  ck_assert (link.used == 5);
  /* 1 s on 10 slots, then 2 s on 8 */
  ck_assert (ABS (sm.used - 26) < 1e-9);
}
END_TEST

START_TEST (a_stuck_run_keeps_its_amounts)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         link = engine_add_resource (e, "link", 10);
  OpId               flow = start (e, TRAFFIC (link, 10.0, 1));
  OpId               never = test_op_new (e, (TestOp){ .class_ = OP_TRAFFIC, .members = 2 });
  engine_submit (e, never, engine_add_stream (e, "lonely", 0, 0), ENGINE_NONE, 0);

  g_autoptr (GError) error = NULL;
  ck_assert (!engine_run (e, &error));
  ck_assert (g_error_matches (error, ENGINE_ERROR, ENGINE_ERROR_DEADLOCK));
  ck_assert_ptr_nonnull (strstr (error->message, "'lonely'"));
  ck_assert_ptr_nonnull (strstr (error->message, "1 of 2 members"));
  ck_assert (engine_op_done (e, flow) && !engine_op_done (e, never));
  ck_assert (engine_resource_used (e, link) == 10);
}
END_TEST

static HostYield
endless_step (Engine *e, HostId host, gpointer user)
{
  (void) e;
  (void) host;
  (void) user;
  return (HostYield){ .kind = HOST_WORK, .work = SIM_TIME_MAX / 3 };
}

static void
assert_too_long (Engine *e, const char *where)
{
  g_autoptr (GError) error = NULL;
  g_autofree char   *text =
      g_strdup_printf ("the simulated time passes 213 days at %s: the scenario is "
                       "too large or a rate too small",
                       where);

  ck_assert (!engine_run (e, &error));
  ck_assert (g_error_matches (error, ENGINE_ERROR, ENGINE_ERROR_TOO_LONG));
  ck_assert_str_eq (error->message, text);
}

/*
 * 2^64 ps are 213.5 days: an op that ends before is an answer, one that ends later no deadlock.
 * What waits for it is not blamed.
 */
START_TEST (a_clock_has_an_end)
{
  g_autoptr (Engine) latency = engine_new (), flow = engine_new (), sum = engine_new (),
                     host = engine_new (), good = engine_new ();
  ResourceId link = engine_add_resource (flow, "link", 1);
  StreamId   behind;
  OpId       op;

  test_submit (latency, engine_add_stream (latency, "late", 0, 0),
               (TestOp){ .class_ = OP_TRAFFIC, .latency = SIM_TIME_MAX });
  assert_too_long (latency, "op 0 of stream 'late'");

  op = start (flow, TRAFFIC (link, 2e7, 1)); /* 231 days */
  behind = engine_add_stream (flow, "waits", 0, 0);
  engine_stream_wait (flow, behind, op);
  test_submit (flow, behind, (TestOp){ .class_ = OP_TRAFFIC });
  assert_too_long (flow, "op 0 of stream 's'");

  engine_add_stream (sum, "sum", 0, 0);
  for (guint i = 0; i < 4; i++)
    test_submit (sum, 0, (TestOp){ .class_ = OP_TRAFFIC, .latency = SIM_TIME_MAX / 3 });
  assert_too_long (sum, "op 2 of stream 'sum'"); /* the third would end at the clock's last tick */

  engine_add_host (host, "busy", endless_step, NULL);
  assert_too_long (host, "host 'busy'");

  op = test_submit (good, engine_add_stream (good, "s", 0, 0),
                    (TestOp){ .class_ = OP_TRAFFIC, .latency = SIM_TIME_MAX - 1 });
  test_run (good);
  ck_assert_uint_eq (test_end (good, op), SIM_TIME_MAX - 1);
}
END_TEST

SUITE_MAIN (engine_ops)
{
  Suite *suite = suite_create ("engine-ops");
  TCase *sharing = tcase_create ("sharing"), *slots = tcase_create ("waves");

  tcase_add_test (sharing, roofline);
  tcase_add_test (sharing, use_is_noted_at_ends);
  tcase_add_test (sharing, use_log);
  tcase_add_test (sharing, roofline_does_not_depend_on_share);
  tcase_add_test (sharing, two_flows_share_a_link);
  tcase_add_test (sharing, weights);
  tcase_add_test (sharing, parking_lot);
  tcase_add_test (sharing, caps);
  tcase_add_test (sharing, kernels_take_what_traffic_leaves);
  tcase_add_test (sharing, starved_kernel_goes_on);
  tcase_add_test (sharing, kernels_share_by_stand_alone_speed);
  tcase_add_test (sharing, priorities);
  tcase_add_test (sharing, latency_only);
  tcase_add_test (sharing, a_cause_of_no_duration_leaves_no_trace);
  tcase_add_test (sharing, a_stuck_run_keeps_its_amounts);
  tcase_add_test (sharing, a_clock_has_an_end);
  tcase_add_test (slots, used_in_mid_run);
  tcase_add_test (slots, waves_are_whole);
  tcase_add_loop_test (slots, waves_of_several_kernels, 0, 3);
  tcase_add_test (slots, waves_and_bandwidth);
  tcase_add_test (slots, plain_demand_sees_reservation);
  tcase_add_test (slots, reservation_drains_a_wave);
  tcase_add_test (slots, apart);
  tcase_add_test (slots, waves_and_a_demand_add_up);
  tcase_add_test (slots, copy_beside_more_work);
  tcase_add_test (slots, reservation_beside_a_part_of_a_wave);
  tcase_add_loop_test (slots, reservation_waits_for_a_piece, 0, 4);
  tcase_add_test (slots, drain_waits_for_the_longest_wave);
  tcase_add_test (slots, drain_follows_the_rates);
  tcase_add_test (slots, drain_outlasts_one_of_two_kernels);
  tcase_add_test (slots, drains_stand_still_with_their_kernel);
  tcase_add_test (slots, drain_at_the_instant_of_a_start);
  tcase_add_test (slots, last_wave_ends_with_its_op);
  suite_add_tcase (suite, sharing);
  suite_add_tcase (suite, slots);
  return test_main (suite);
}
