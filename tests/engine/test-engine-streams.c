/*
 * Streams, waits, communicators, collectives, hosts, and the causes that the trace gives, worked
 * out by hand. Not here: how ops share (test-engine-ops), memory (test-engine-pools).
 */
#include "../suite.h"
#include "fixture.h"

#include <string.h>

static TestOp
latency (double seconds)
{
  return (TestOp){ .class_ = OP_TRAFFIC, .latency = SECONDS (seconds) };
}

static void
check_gate (const Engine *e, OpId op, Cause cause, OpId gate_op)
{
  ck_assert_int_eq (engine_op_record (e, op)->gate, cause);
  ck_assert_uint_eq (engine_op_record (e, op)->gate_op, gate_op);
}

START_TEST (streams_are_in_order)
{
  g_autoptr (Engine) e = engine_new ();
  StreamId           s = engine_add_stream (e, "s", 0, 0), t = engine_add_stream (e, "t", 0, 0);
  OpId               a = test_submit (e, s, latency (2)), b = test_submit (e, s, latency (1)),
       c = test_submit (e, t, latency (1));

  ck_assert_uint_eq (engine_stream_last (e, s), b);
  test_run (e);
  ck_assert_uint_eq (test_begin (e, a), 0);
  ck_assert_uint_eq (test_begin (e, b), SECONDS (2));
  ck_assert_uint_eq (test_begin (e, c), 0);
  check_gate (e, a, CAUSE_HOST, ENGINE_NONE);
  check_gate (e, b, CAUSE_STREAM, a);
  ck_assert_uint_eq (engine_op_record (e, b)->stream, s);
  ck_assert_uint_eq (engine_op_record (e, b)->issue, 0);
}
END_TEST

START_TEST (waits_hold_what_comes_after)
{
  g_autoptr (Engine) e = engine_new ();
  StreamId           s = engine_add_stream (e, "s", 0, 0), t = engine_add_stream (e, "t", 0, 0),
           u = engine_add_stream (e, "u", 0, 0);
  OpId a = test_submit (e, s, latency (3)), b = test_submit (e, u, latency (5));
  OpId before = test_submit (e, t, latency (1));
  engine_stream_wait (e, t, a);
  engine_stream_wait (e, t, b);
  OpId after = test_submit (e, t, latency (1)), next = test_submit (e, t, latency (1));

  test_run (e);
  ck_assert_uint_eq (test_begin (e, before), 0);
  ck_assert_uint_eq (test_begin (e, after), SECONDS (5));
  ck_assert_uint_eq (test_begin (e, next), SECONDS (6));
  check_gate (e, after, CAUSE_WAIT, b);
  check_gate (e, next, CAUSE_STREAM, after);
}
END_TEST

START_TEST (a_wait_at_the_end_holds_nothing)
{
  g_autoptr (Engine) e = engine_new ();
  StreamId           s = engine_add_stream (e, "s", 0, 0), t = engine_add_stream (e, "t", 0, 0);
  OpId               a = test_submit (e, s, latency (3));

  ck_assert_uint_eq (engine_stream_last (e, t), ENGINE_NONE);
  engine_stream_wait (e, t, a);
  test_run (e);
  engine_stream_wait (e, t, a); /* has ended: no effect */
  OpId b = test_submit (e, t, latency (1));
  test_run (e);
  ck_assert_uint_eq (test_begin (e, b), SECONDS (3));
}
END_TEST

/* ---- collectives ----------------------------------------------------------------------------- */

typedef struct
{
  OpId       op;
  StreamId   stream;
  ResourceId reserve_on;
  double     reserve;
} Join;

static void
join (Engine *e, gpointer user)
{
  const Join *j = user;

  engine_submit (e, j->op, j->stream, j->reserve_on, j->reserve);
}

START_TEST (a_collective_waits_for_its_last_member)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId sm = engine_add_resource (e, "sm0", 10), link = engine_add_resource (e, "link", 100);
  StreamId   comm[] = { engine_add_stream (e, "c0", 0, 0), engine_add_stream (e, "c1", 0, 0) };
  StreamId   compute = engine_add_stream (e, "k0", 0, 0);
  OpId       all_gather = test_op_new (e, (TestOp){ .class_ = OP_TRAFFIC,
                                                    .members = 2,
                                                    .latency = SECONDS (1),
                                                    .demands = { { link, 300 } },
                                                    .share = 1 });
  Join       early = { all_gather, comm[0], sm, 2 }, late = { all_gather, comm[1], ENGINE_NONE, 0 };
  TestCall   calls0[] = { { 0, join, &early } }, calls1[] = { { SECONDS (4), join, &late } };
  TestTimer  rank0 = { calls0, 1, 0 }, rank1 = { calls1, 1, 0 };
  test_add_timer (e, "rank0", &rank0);
  HostId host1 = test_add_timer (e, "rank1", &rank1);
  /* rank 0's kernel begins after 1 s, when the early member already spins on 2 of 10 slots */
  test_submit (e, compute, latency (1));
  OpId kernel =
      test_submit (e, compute, (TestOp){ .class_ = OP_KERNEL, .waves = { sm, 25, 1 }, .share = 1 });
  OpId last =
      test_submit (e, compute, (TestOp){ .class_ = OP_KERNEL, .waves = { sm, 50, 1 }, .share = 1 });

  test_run (e);
  const OpRecord *record = engine_op_record (e, all_gather);
  ck_assert_uint_eq (record->first_arrival, 0);
  ck_assert_uint_eq (record->begin, SECONDS (4));
  ck_assert_uint_eq (record->end, SECONDS (8));
  ck_assert_int_eq (record->gate, CAUSE_HOST);
  ck_assert_uint_eq (record->gate_host, host1);
  ck_assert_uint_eq (record->stream, comm[1]);
  ck_assert_uint_eq (record->issue, SECONDS (4));
  /* 4 waves on 8 slots: 1 s to 5 s. Then 7 waves on 8; at 8 s 3/7 are done, and 4/7 of 5 waves
     on 10 follow */
  ck_assert_uint_eq (test_end (e, kernel), SECONDS (5));
  ck_assert_uint_eq (test_end (e, last), 10857142857143);
}
END_TEST

START_TEST (a_communicator_runs_in_order_of_creation)
{
  g_autoptr (Engine) e = engine_new ();
  OrderId            comm = engine_add_order (e, "comm"), other = engine_add_order (e, "other");
  StreamId           a = engine_add_stream (e, "a", 0, 0), b = engine_add_stream (e, "b", 0, 0);
  StreamId           c = engine_add_stream (e, "c", 0, 0), d = engine_add_stream (e, "d", 0, 0);
  TestOp             two = {
                .class_ = OP_TRAFFIC, .latency = SECONDS (1), .members = 2, .order = ORDER_OF (comm)
  };
  OpId   first = test_op_new (e, two);
  TestOp one = two;
  one.members = 1;
  OpId second = test_submit (e, c, one);
  one.order = ORDER_OF (other);
  OpId      elsewhere = test_submit (e, d, one);
  Join      late = { first, b, ENGINE_NONE, 0 };
  TestCall  calls[] = { { SECONDS (5), join, &late } };
  TestTimer timer = { calls, 1, 0 };
  engine_submit (e, first, a, ENGINE_NONE, 0);
  test_add_timer (e, "late", &timer);

  /* the second is ready at 0, but the first stands before it and waits for a member until 5 s */
  test_run (e);
  ck_assert_uint_eq (test_begin (e, first), SECONDS (5));
  ck_assert_uint_eq (test_begin (e, second), SECONDS (6));
  check_gate (e, second, CAUSE_ORDER, first);
  ck_assert_uint_eq (test_begin (e, elsewhere), 0);
}
END_TEST

START_TEST (a_member_behind_its_order_does_not_spin)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId         sm = engine_add_resource (e, "sm", 10);
  OrderId            comm = engine_add_order (e, "comm");
  StreamId           a = engine_add_stream (e, "a", 0, 0), b = engine_add_stream (e, "b", 0, 0),
           k = engine_add_stream (e, "k", 0, 0);
  TestOp op = { .class_ = OP_TRAFFIC, .latency = SECONDS (4), .order = ORDER_OF (comm) };
  test_submit (e, a, op);
  OpId second = test_op_new (e, op);
  engine_submit (e, second, b, sm, 5);
  test_submit (e, k, latency (1));
  OpId kernel =
      test_submit (e, k, (TestOp){ .class_ = OP_KERNEL, .waves = { sm, 20, 1 }, .share = 1 });

  test_run (e);
  ck_assert_uint_eq (test_end (e, kernel), SECONDS (3)); /* on all 10 slots */
  ck_assert_uint_eq (test_begin (e, second), SECONDS (4));
}
END_TEST

/* ---- hosts ----------------------------------------------------------------------------------- */

typedef struct
{
  StreamId stream;
  TestOp   op;
  guint    n, issued;
  SimTime  cost;
  gboolean paid;
  OpId     ops[8];
} Issuer;

/* Issues `n` ops, each after `cost` of work. */
static HostYield
issue_step (Engine *e, HostId host, gpointer user)
{
  Issuer *issuer = user;

  (void) host;
  if (issuer->paid)
    issuer->ops[issuer->issued++] = test_submit (e, issuer->stream, issuer->op);
  issuer->paid = TRUE;
  if (issuer->issued == issuer->n)
    return (HostYield){ .kind = HOST_END };
  return (HostYield){ .kind = HOST_WORK, .work = issuer->cost };
}

START_TEST (short_ops_are_launch_bound)
{
  g_autoptr (Engine) e = engine_new ();

  Issuer issuer = {
    .stream = engine_add_stream (e, "s", 0, 0), .op = latency (3), .n = 5, .cost = SECONDS (10)
  };
  HostId  host = engine_add_host (e, "h", issue_step, &issuer);
  SimTime parts[CAUSE_N] = { 0 };

  test_run (e);
  for (guint i = 0; i < 5; i++)
    {
      ck_assert_uint_eq (test_begin (e, issuer.ops[i]), SECONDS (10) * (i + 1));
      check_gate (e, issuer.ops[i], CAUSE_HOST, ENGINE_NONE);
      ck_assert_uint_eq (engine_op_record (e, issuer.ops[i])->gate_host, host);
    }
  test_walk (e, issuer.ops[4], parts);
  ck_assert_uint_eq (parts[CAUSE_HOST], SECONDS (50));
  ck_assert_uint_eq (parts[CAUSE_LATENCY], SECONDS (3));
}
END_TEST

START_TEST (long_ops_hide_the_launch)
{
  g_autoptr (Engine) e = engine_new ();

  Issuer issuer = {
    .stream = engine_add_stream (e, "s", 0, 0), .op = latency (30), .n = 5, .cost = SECONDS (10)
  };

  SimTime parts[CAUSE_N] = { 0 };
  engine_add_host (e, "h", issue_step, &issuer);

  test_run (e);
  ck_assert_uint_eq (test_end (e, issuer.ops[4]), SECONDS (160));
  check_gate (e, issuer.ops[4], CAUSE_STREAM, issuer.ops[3]);
  test_walk (e, issuer.ops[4], parts);
  ck_assert_uint_eq (parts[CAUSE_HOST], SECONDS (10));
  ck_assert_uint_eq (parts[CAUSE_LATENCY], SECONDS (150));
}
END_TEST

/* Submits whenever the stream has room, then works for 1 s; waits for room otherwise. */
static HostYield
run_ahead_step (Engine *e, HostId host, gpointer user)
{
  Issuer *issuer = user;
  OpId    room = engine_stream_room (e, issuer->stream);

  (void) host;
  if (issuer->issued == issuer->n)
    return (HostYield){ .kind = HOST_END };
  if (room != ENGINE_NONE)
    return (HostYield){ .kind = HOST_WAIT, .wait = room };
  issuer->ops[issuer->issued++] = test_submit (e, issuer->stream, issuer->op);
  return (HostYield){ .kind = HOST_WORK, .work = SECONDS (1) };
}

START_TEST (run_ahead_is_bounded)
{
  g_autoptr (Engine) e = engine_new ();
  Issuer issuer = { .stream = engine_add_stream (e, "s", 0, 2), .op = latency (10), .n = 4 };
  HostId host = engine_add_host (e, "h", run_ahead_step, &issuer);
  guint  n;

  /* submits at 0 and 1 s; full at 2 s until 10 s; submits; full at 11 s until 20 s; submits */
  test_run (e);
  ck_assert_uint_eq (engine_op_record (e, issuer.ops[1])->issue, SECONDS (1));
  ck_assert_uint_eq (engine_op_record (e, issuer.ops[2])->issue, SECONDS (10));
  ck_assert_uint_eq (engine_op_record (e, issuer.ops[3])->issue, SECONDS (20));
  ck_assert_uint_eq (test_end (e, issuer.ops[3]), SECONDS (40));
  const HostBlock *blocks = engine_host_blocks (e, host, &n);
  ck_assert_uint_eq (n, 2);
  ck_assert_uint_eq (blocks[0].start, SECONDS (2));
  ck_assert_uint_eq (blocks[0].end, SECONDS (10));
  ck_assert_int_eq (blocks[0].cause, CAUSE_WAIT);
  ck_assert_uint_eq (blocks[0].op, issuer.ops[0]);
  ck_assert_uint_eq (blocks[1].start, SECONDS (11));
  ck_assert_uint_eq (blocks[1].op, issuer.ops[1]);
}
END_TEST

START_TEST (room_of_an_overfull_stream)
{
  g_autoptr (Engine) e = engine_new ();
  StreamId           s = engine_add_stream (e, "s", 0, 2), free_ = engine_add_stream (e, "f", 0, 0);

  test_submit (e, s, latency (1));
  ck_assert_uint_eq (engine_stream_room (e, s), ENGINE_NONE);
  test_submit (e, s, latency (1));
  ck_assert_uint_eq (engine_stream_room (e, s), 0);
  OpId third = test_submit (e, s, latency (1));
  ck_assert_uint_eq (engine_stream_room (e, s), 1); /* its end leaves one */
  ck_assert_uint_eq (third, 2);
  test_submit (e, free_, latency (1));
  ck_assert_uint_eq (engine_stream_room (e, free_), ENGINE_NONE);
  test_run (e);
  ck_assert_uint_eq (engine_stream_room (e, s), ENGINE_NONE);
}
END_TEST

typedef struct
{
  guint    phase;
  StreamId stream;
  OpId     first, second;
} Blocking;

/* Works 1 s, submits an op of 5 s, waits for it, works 2 s, submits another. */
static HostYield
blocking_step (Engine *e, HostId host, gpointer user)
{
  Blocking *b = user;

  (void) host;
  switch (b->phase++)
    {
    case 0:
      return (HostYield){ .kind = HOST_WORK, .work = SECONDS (1) };
    case 1:
      b->first = test_submit (e, b->stream, latency (5));
      return (HostYield){ .kind = HOST_WAIT, .wait = b->first };
    case 2:
      ck_assert (engine_op_done (e, b->first));
      return (HostYield){ .kind = HOST_WAIT, .wait = b->first }; /* has ended: goes on at once */
    case 3:
      return (HostYield){ .kind = HOST_WORK, .work = SECONDS (2) };
    default:
      b->second = test_submit (e, b->stream, latency (5));
      return (HostYield){ .kind = HOST_END };
    }
}

START_TEST (a_blocking_wait_is_on_the_critical_path)
{
  g_autoptr (Engine) e = engine_new ();
  Blocking           b = { .stream = engine_add_stream (e, "s", 0, 0) };
  HostId             host = engine_add_host (e, "h", blocking_step, &b);
  SimTime            parts[CAUSE_N] = { 0 };
  guint              n;

  test_run (e);
  ck_assert_uint_eq (test_begin (e, b.first), SECONDS (1));
  ck_assert_uint_eq (test_begin (e, b.second), SECONDS (8));
  const HostBlock *blocks = engine_host_blocks (e, host, &n);
  ck_assert_uint_eq (n, 1);
  ck_assert_uint_eq (blocks[0].start, SECONDS (1));
  ck_assert_uint_eq (blocks[0].end, SECONDS (6));
  test_walk (e, b.second, parts);
  ck_assert_uint_eq (parts[CAUSE_HOST], SECONDS (3));
  ck_assert_uint_eq (parts[CAUSE_LATENCY], SECONDS (10));
}
END_TEST

static HostYield
note_step (Engine *e, HostId host, gpointer user)
{
  GString *text = user;

  g_string_append_printf (text, "%u", host);
  return (HostYield){ .kind = engine_now (e) < 3 ? HOST_WORK : HOST_END, .work = 1 };
}

START_TEST (hosts_of_one_time_go_by_id)
{
  g_autoptr (Engine)  e = engine_new ();
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < 3; i++)
    engine_add_host (e, "h", note_step, text);
  test_run (e);
  ck_assert_str_eq (text->str, "012012012012");
}
END_TEST

START_TEST (a_wait_for_nothing_is_a_deadlock)
{
  g_autoptr (Engine) e = engine_new ();
  g_autoptr (GError) error = NULL;
  OpId               never = test_op_new (e, (TestOp){ .class_ = OP_TRAFFIC, .members = 2 });
  StreamId           stuck = engine_add_stream (e, "idle", 0, 0) + 1;
  ck_assert_uint_eq (engine_add_stream (e, "stuck", 0, 0), stuck);
  engine_stream_wait (e, stuck, never);
  OpId op = test_submit (e, stuck, latency (1));

  ck_assert (!engine_run (e, &error));
  ck_assert_int_eq (error->code, ENGINE_ERROR_DEADLOCK);
  g_autofree char *expected =
      g_strdup_printf ("stream 'stuck' stands at op %u, which waits for op %u", op, never);
  ck_assert_msg (strstr (error->message, expected) != NULL, "%s", error->message);
}
END_TEST

START_TEST (a_stuck_communicator_is_named)
{
  g_autoptr (Engine) e = engine_new ();
  g_autoptr (GError) error = NULL;
  OrderId            comm = engine_add_order (e, "tensor-parallel");
  StreamId           behind = engine_add_stream (e, "behind", 0, 0),
           ahead = engine_add_stream (e, "ahead", 0, 0);
  TestOp op = { .class_ = OP_TRAFFIC, .members = 2, .order = ORDER_OF (comm) };
  OpId   first = test_submit (e, ahead, op);
  op.members = 1;
  OpId second = test_submit (e, behind, op);

  ck_assert (!engine_run (e, &error));
  g_autofree char *expected = g_strdup_printf (
      "stream 'behind' stands at op %u, which waits for op %u of 'tensor-parallel'", second, first);
  ck_assert_msg (strstr (error->message, expected) != NULL, "%s", error->message);
}
END_TEST

static HostYield
wait_step (Engine *e, HostId host, gpointer user)
{
  (void) e;
  (void) host;
  return (HostYield){ .kind = HOST_WAIT, .wait = *(OpId *) user };
}

START_TEST (a_stuck_host_is_named)
{
  g_autoptr (Engine) e = engine_new ();
  g_autoptr (GError) error = NULL;
  OpId               never = test_op_new (e, (TestOp){ .class_ = OP_TRAFFIC });

  engine_add_host (e, "rank7", wait_step, &never);
  ck_assert (!engine_run (e, &error));
  ck_assert_msg (strstr (error->message, "host 'rank7' waits for op 0") != NULL, "%s",
                 error->message);
}
END_TEST

START_TEST (walking_over_every_kind_of_gate)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId sm = engine_add_resource (e, "sm", 10), link = engine_add_resource (e, "link", 10);
  OrderId    order = engine_add_order (e, "comm");
  StreamId   k = engine_add_stream (e, "k", 0, 0), c = engine_add_stream (e, "c", 0, 0),
           d = engine_add_stream (e, "d", 0, 0);
  Issuer issuer = {
    .stream = k,
    .op = { .class_ = OP_KERNEL, .latency = SECONDS (1), .waves = { sm, 40, 1 }, .share = 1 },
    .n = 1,
    .cost = SECONDS (2)
  };
  SimTime parts[CAUSE_N] = { 0 };
  engine_add_host (e, "h", issue_step, &issuer);
  /* kernel: issued at 2 s, latency until 3 s, waves end at 4, 5, ... s.
     first: cap 1/2.5 -> ends at 3.5 s.
     second (behind it in order, reserves): drains until 4 s, moves 5 at 10: 4.5 s.
     third waits for it: latency 1 s. */
  OpId first = test_submit (e, d,
                            (TestOp){ .class_ = OP_TRAFFIC,
                                      .demands = { { link, 1 } },
                                      .share = 1,
                                      .cap = 1 / 3.5,
                                      .order = ORDER_OF (order) });
  OpId second = test_op_new (e, (TestOp){ .class_ = OP_TRAFFIC,
                                          .demands = { { link, 5 } },
                                          .share = 1,
                                          .order = ORDER_OF (order) });
  engine_submit (e, second, c, sm, 2);
  engine_stream_wait (e, d, second);
  OpId third = test_submit (e, d, latency (1));

  test_run (e);
  check_gate (e, second, CAUSE_ORDER, first);
  check_gate (e, third, CAUSE_WAIT, second);
  ck_assert_uint_eq (test_end (e, third), SECONDS (5.5));
  test_walk (e, third, parts);
  ck_assert_uint_eq (parts[CAUSE_CAP], SECONDS (3.5));
  ck_assert_uint_eq (parts[CAUSE_DRAIN], SECONDS (0.5));
  ck_assert_uint_eq (parts[CAUSE_RESOURCE], SECONDS (0.5));
  ck_assert_uint_eq (parts[CAUSE_LATENCY], SECONDS (1));
  test_check_segments (e);
}
END_TEST

START_TEST (causes_have_names)
{
  for (Cause c = 0; c < CAUSE_N; c++)
    for (Cause d = 0; d < c; d++)
      ck_assert_str_ne (cause_name (c), cause_name (d));
}
END_TEST

/* Host calls of the test below. */
typedef struct
{
  StreamId stream;
  OpId     early, late;
} Forgetful;

static TestOp
op_of_a_second (guint64 tag)
{
  return (TestOp){ .latency = SECONDS (1), .tag = tag };
}

static void
forget_and_go_on (Engine *engine, gpointer user)
{
  Forgetful *self = user;

  engine_forget_past (engine);
  ck_assert_uint_eq (engine_first_op (engine), self->early + 1);
  ck_assert (engine_op_done (engine, self->early));
  engine_stream_wait (engine, self->stream, self->early);
  self->late = test_submit (engine, self->stream, op_of_a_second (7));
}

/*
 * A stream's op ends at 1 s; at 3 s it is forgotten, waited for, which takes no time, and followed
 * by another one, of which all is known.
 */
START_TEST (what_is_forgotten_has_ended)
{
  g_autoptr (Engine) e = engine_new ();
  Forgetful          self = { .stream = engine_add_stream (e, "s", 0, 0) };
  const TestCall     calls[] = { { SECONDS (3), forget_and_go_on, &self } };
  TestTimer          timer = { calls, G_N_ELEMENTS (calls), 0 };

  self.early = test_submit (e, self.stream, op_of_a_second (6));
  test_add_timer (e, "host", &timer);
  test_run (e);
  ck_assert_uint_eq (engine_n_ops (e), 2);
  ck_assert_uint_eq (engine_op_end (e, self.early), SECONDS (1));
  ck_assert_uint_eq (engine_op_record (e, self.late)->tag, 7);
  ck_assert_uint_eq (engine_op_record (e, self.late)->begin, SECONDS (3));
  ck_assert_int_eq (engine_op_record (e, self.late)->gate, CAUSE_HOST);
  ck_assert_uint_eq (engine_op_end (e, self.late), SECONDS (4));
  ck_assert_uint_eq (engine_segments (e, engine_op_record (e, self.late))->duration, SECONDS (1));
}
END_TEST

SUITE_MAIN (engine_streams)
{
  Suite *suite = suite_create ("engine-streams");
  TCase *streams = tcase_create ("streams"), *collectives = tcase_create ("collectives"),
        *hosts = tcase_create ("hosts");

  tcase_add_test (streams, streams_are_in_order);
  tcase_add_test (streams, waits_hold_what_comes_after);
  tcase_add_test (streams, a_wait_at_the_end_holds_nothing);
  tcase_add_test (streams, a_wait_for_nothing_is_a_deadlock);
  tcase_add_test (streams, a_stuck_communicator_is_named);
  tcase_add_test (streams, walking_over_every_kind_of_gate);
  tcase_add_test (streams, causes_have_names);
  tcase_add_test (collectives, a_collective_waits_for_its_last_member);
  tcase_add_test (collectives, a_communicator_runs_in_order_of_creation);
  tcase_add_test (collectives, a_member_behind_its_order_does_not_spin);
  tcase_add_test (hosts, short_ops_are_launch_bound);
  tcase_add_test (hosts, long_ops_hide_the_launch);
  tcase_add_test (hosts, run_ahead_is_bounded);
  tcase_add_test (hosts, room_of_an_overfull_stream);
  tcase_add_test (hosts, a_blocking_wait_is_on_the_critical_path);
  tcase_add_test (hosts, hosts_of_one_time_go_by_id);
  tcase_add_test (hosts, a_stuck_host_is_named);
  tcase_add_test (streams, what_is_forgotten_has_ended);
  suite_add_tcase (suite, streams);
  suite_add_tcase (suite, collectives);
  suite_add_tcase (suite, hosts);
  return test_main (suite);
}
