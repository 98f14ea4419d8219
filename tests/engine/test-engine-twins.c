/*
 * Twins of ops, by arithmetic done by hand: an op and its twin each on a link of its own (100 bytes
 * a second), alone and beside others, end together or the run says that they do not; or, where they
 * may, apart. Not here: that runs of ranks in lockstep are those of all ranks (test-replay-fold,
 * test-replay-apart).
 */
#include "../suite.h"
#include "fixture.h"

#define SECOND SIM_TIME_PER_SECOND
#define BYTES  100.0 /* of an op: a second alone on a link */

typedef struct
{
  Engine    *engine;
  ResourceId own, other; /* links: the op's, its twin's */
} Links;

static Links
links_new (void)
{
  Links self = { .engine = engine_new () };

  self.own = engine_add_resource (self.engine, "own", 100);
  self.other = engine_add_resource (self.engine, "other", 100);
  return self;
}

static TestOp
traffic_on (ResourceId link, double bytes)
{
  return (TestOp){ .class_ = OP_TRAFFIC, .demands = { { link, bytes } }, .share = 1 / BYTES };
}

/* OP with a twin that moves BYTES over the other link, at the end of STREAM. */
static OpId
submit_twin_on (const Links *links, StreamId stream, TestOp op, double bytes)
{
  const Demand demand = { links->other, bytes };
  OpId         id = test_op_new (links->engine, op);

  engine_op_add_twin (links->engine, id, &demand, 1);
  engine_submit (links->engine, id, stream, ENGINE_NONE, 0);
  return id;
}

/* The same alone on its stream. */
static OpId
submit_with_twin (const Links *links, TestOp op, double bytes)
{
  return submit_twin_on (links, engine_add_stream (links->engine, "s", 0, 0), op, bytes);
}

static void
submit (const Links *links, TestOp op)
{
  test_submit (links->engine, engine_add_stream (links->engine, "s", 0, 0), op);
}

static void
assert_unlike (Engine *engine)
{
  g_autoptr (GError) error = NULL;

  ck_assert (!engine_run (engine, &error));
  ck_assert (g_error_matches (error, ENGINE_ERROR, ENGINE_ERROR_UNLIKE));
}

/* The twin has no record, but its bytes count. */
START_TEST (alone)
{
  Links              links = links_new ();
  g_autoptr (Engine) e = links.engine;
  OpId               op = submit_with_twin (&links, traffic_on (links.own, BYTES), BYTES);

  test_run (e);
  ck_assert_uint_eq (engine_n_ops (e), 1);
  ck_assert_uint_eq (test_end (e, op), SECOND);
  ck_assert (engine_resource_used (e, links.own) == BYTES);
  ck_assert (engine_resource_used (e, links.other) == BYTES);
}
END_TEST

/* Each shares its link with one more for two seconds, and moves the second half alone in one. */
START_TEST (both_are_held_up)
{
  Links              links = links_new ();
  g_autoptr (Engine) e = links.engine;
  OpId               op = submit_with_twin (&links, traffic_on (links.own, 2 * BYTES), 2 * BYTES);

  submit (&links, traffic_on (links.own, BYTES));
  submit (&links, traffic_on (links.other, BYTES));
  test_run (e);
  ck_assert_uint_eq (test_end (e, op), 3 * SECOND);
  ck_assert (engine_resource_used (e, links.other) == 3 * BYTES);
}
END_TEST

/* The other op takes half of the twin's link, and of nothing else. */
START_TEST (a_twin_that_is_late)
{
  Links              links = links_new ();
  g_autoptr (Engine) e = links.engine;

  submit_with_twin (&links, traffic_on (links.own, BYTES), BYTES);
  submit (&links, traffic_on (links.other, BYTES));
  assert_unlike (e);
}
END_TEST

/* And takes half of the op's: the twin, at its end, has been done for half of the time. */
START_TEST (a_twin_that_is_early)
{
  Links              links = links_new ();
  g_autoptr (Engine) e = links.engine;

  submit_with_twin (&links, traffic_on (links.own, BYTES), BYTES);
  submit (&links, traffic_on (links.own, BYTES));
  assert_unlike (e);
}
END_TEST

/* A twin of half the bytes is as fast where a cap holds both, and is early where none does. */
START_TEST (a_twin_that_moves_less)
{
  Links              capped = links_new (), free_ = links_new ();
  g_autoptr (Engine) e = capped.engine, f = free_.engine;
  TestOp             op = traffic_on (capped.own, BYTES);
  OpId               id;

  submit_with_twin (&free_, op, BYTES / 2);
  assert_unlike (f);
  op.cap = 0.5;
  id = submit_with_twin (&capped, op, BYTES / 2);
  test_run (e);
  ck_assert_uint_eq (test_end (e, id), 2 * SECOND);
  ck_assert (engine_resource_used (e, capped.other) == BYTES / 2);
}
END_TEST

/* What moves nothing ends with the latency: the op, its twin, or both. */
START_TEST (nothing_to_move)
{
  const double bytes[][2] = { { BYTES, 0 }, { 0, BYTES }, { 0, 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (bytes); i++)
    {
      Links              links = links_new ();
      g_autoptr (Engine) e = links.engine;
      TestOp             op = traffic_on (links.own, bytes[i][0]);

      op.latency = SECOND;
      submit_with_twin (&links, op, bytes[i][1]);
      if (bytes[i][0] > 0 || bytes[i][1] > 0)
        assert_unlike (e);
      else
        test_run (e);
    }
}
END_TEST

/* Half way, what a twin has moved so far counts: half of its bytes. */
static void
note_used (Engine *e, gpointer user)
{
  double *used = user;

  used[0] = engine_resource_used (e, 0);
  used[1] = engine_resource_used (e, 1);
}

START_TEST (used_in_mid_run)
{
  Links              links = links_new ();
  g_autoptr (Engine) e = links.engine;
  double             used[2] = { 0 };
  TestCall           calls[] = { { SECOND / 2, note_used, used } };
  TestTimer          timer = { .calls = calls, .n = 1 };

  test_add_timer (e, "half way", &timer);
  submit_with_twin (&links, traffic_on (links.own, BYTES), BYTES);
  test_run (e);
  ck_assert_double_eq_tol (used[0], BYTES / 2, 1e-9);
  ck_assert_double_eq_tol (used[1], BYTES / 2, 1e-9);
}
END_TEST

/* ---- apart ----------------------------------------------------------------------------------- */

static Links
links_apart (void)
{
  Links self = links_new ();

  engine_set_twins_apart (self.engine, TRUE);
  return self;
}

/* What only waits. */
static TestOp
pause_of (SimTime latency)
{
  return (TestOp){ .class_ = OP_KERNEL, .latency = latency };
}

/*
 * The twin takes four seconds. Its op has half of its link, and has flown after two: then the other
 * half of the bytes there take one. As long as both held it, they would take two.
 */
START_TEST (each_leaves_its_link_at_its_end)
{
  Links              links = links_apart ();
  g_autoptr (Engine) e = links.engine;
  TestOp             beside = traffic_on (links.own, 2 * BYTES);
  OpId op = submit_with_twin (&links, traffic_on (links.own, BYTES), 4 * BYTES), other;

  beside.share /= 2;
  other = test_submit (e, engine_add_stream (e, "s", 0, 0), beside);
  test_run (e);
  ck_assert_uint_eq (test_end (e, other), 3 * SECOND);
  ck_assert_uint_eq (test_end (e, op), 4 * SECOND);
  ck_assert (engine_op_record (e, op)->apart);
  ck_assert (!engine_op_record (e, other)->apart);
  ck_assert (engine_resource_used (e, links.own) == 3 * BYTES);
  ck_assert (engine_resource_used (e, links.other) == 4 * BYTES);
}
END_TEST

/* The twin may be the sooner one, or as late. */
START_TEST (the_last_ends_the_op)
{
  for (guint half = 1; half <= 2; half++)
    {
      Links              links = links_apart ();
      g_autoptr (Engine) e = links.engine;
      OpId op = submit_with_twin (&links, traffic_on (links.own, 2 * BYTES), half * BYTES);

      test_run (e);
      ck_assert_uint_eq (test_end (e, op), 2 * SECOND);
      ck_assert (engine_op_record (e, op)->apart == (half == 1));
    }
}
END_TEST

/* A pause behind it is as far apart; those who meet then are not, and may flow. */
START_TEST (who_meets_is_together)
{
  Links              links = links_apart ();
  g_autoptr (Engine) e = links.engine;
  StreamId           stream = engine_add_stream (e, "s", 0, 0);
  TestOp             meeting = traffic_on (links.own, BYTES);
  OpId               pause, met;

  submit_twin_on (&links, stream, traffic_on (links.own, BYTES), 2 * BYTES);
  pause = test_submit (e, stream, pause_of (SECOND));
  meeting.meets = TRUE;
  met = test_submit (e, stream, meeting);
  test_run (e);
  ck_assert_uint_eq (test_end (e, pause), 3 * SECOND);
  ck_assert (engine_op_record (e, pause)->apart);
  ck_assert_uint_eq (test_end (e, met), 4 * SECOND);
  ck_assert (!engine_op_record (e, met)->apart);
}
END_TEST

/* What flows behind it would flow sooner for one of the two. */
START_TEST (none_may_flow_apart)
{
  Links              links = links_apart ();
  g_autoptr (Engine) e = links.engine;
  StreamId           stream = engine_add_stream (e, "s", 0, 0);

  submit_twin_on (&links, stream, traffic_on (links.own, BYTES), 2 * BYTES);
  test_submit (e, stream, traffic_on (links.own, BYTES));
  assert_unlike (e);
}
END_TEST

/*
 * It may where its other member comes no sooner, after PAUSE: at three seconds that is later than
 * the two of the twin, at two as late, at one sooner.
 */
START_TEST (a_member_that_is_last_for_all)
{
  const guint pause = (guint) _i;

  Links              links = links_apart ();
  g_autoptr (Engine) e = links.engine;
  StreamId stream = engine_add_stream (e, "s", 0, 0), peer = engine_add_stream (e, "p", 0, 0);
  TestOp   both = traffic_on (links.own, BYTES);
  OpId     op;

  submit_twin_on (&links, stream, traffic_on (links.own, BYTES), 2 * BYTES);
  test_submit (e, peer, pause_of (pause * SECOND));
  both.members = 2;
  op = test_submit (e, stream, both);
  engine_submit (e, op, peer, ENGINE_NONE, 0);
  if (pause < 2)
    {
      assert_unlike (e);
      return;
    }
  test_run (e);
  ck_assert_uint_eq (test_end (e, op), (pause + 1) * SECOND);
  ck_assert (!engine_op_record (e, op)->apart);
}
END_TEST

SUITE_MAIN (engine_twins)
{
  Suite *suite = suite_create ("engine-twins");
  TCase *tcase = tcase_create ("twins");

  tcase_add_test (tcase, alone);
  tcase_add_test (tcase, both_are_held_up);
  tcase_add_test (tcase, a_twin_that_is_late);
  tcase_add_test (tcase, a_twin_that_is_early);
  tcase_add_test (tcase, a_twin_that_moves_less);
  tcase_add_test (tcase, nothing_to_move);
  tcase_add_test (tcase, used_in_mid_run);
  tcase_add_test (tcase, each_leaves_its_link_at_its_end);
  tcase_add_test (tcase, the_last_ends_the_op);
  tcase_add_test (tcase, who_meets_is_together);
  tcase_add_test (tcase, none_may_flow_apart);
  tcase_add_loop_test (tcase, a_member_that_is_last_for_all, 1, 4);
  suite_add_tcase (suite, tcase);
  return test_main (suite);
}
