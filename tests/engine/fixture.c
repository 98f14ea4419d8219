#include "fixture.h"

static OpSpec
spec_of (const TestOp *op)
{
  OpSpec spec = {
    .class_ = op->class_,
    .tag = op->tag,
    .latency = op->latency,
    .demands = op->demands,
    .waves = op->waves.units > 0 ? op->waves : (WaveDemand){ ENGINE_NONE, 0, 0 },
    .share = op->share,
    .cap = op->cap,
    .members = MAX (op->members, 1),
    .meets = op->meets,
    .order = op->order > 0 ? op->order - 1 : ENGINE_NONE,
  };

  while (spec.n_demands < G_N_ELEMENTS (op->demands) && op->demands[spec.n_demands].amount > 0)
    spec.n_demands++;
  return spec;
}

OpId
test_op_new (Engine *engine, TestOp op)
{
  OpSpec spec = spec_of (&op);

  return engine_op_new (engine, &spec);
}

OpId
test_submit (Engine *engine, StreamId stream, TestOp op)
{
  OpId id = test_op_new (engine, op);

  engine_submit (engine, id, stream, ENGINE_NONE, 0);
  return id;
}

void
test_run (Engine *engine)
{
  g_autoptr (GError) error = NULL;
  gboolean           done = engine_run (engine, &error);

  ck_assert_msg (done, "%s", error != NULL ? error->message : "no message");
}

SimTime
test_begin (const Engine *engine, OpId op)
{
  return engine_op_record (engine, op)->begin;
}

SimTime
test_end (const Engine *engine, OpId op)
{
  return engine_op_record (engine, op)->end;
}

static HostYield
timer_step (Engine *engine, HostId host, gpointer user)
{
  TestTimer *timer = user;

  (void) host;
  while (timer->next < timer->n && timer->calls[timer->next].time == engine_now (engine))
    {
      const TestCall *call = &timer->calls[timer->next++];
      call->call (engine, call->user);
    }
  if (timer->next == timer->n)
    return (HostYield){ .kind = HOST_END };
  return (HostYield){ .kind = HOST_WORK,
                      .work = timer->calls[timer->next].time - engine_now (engine) };
}

HostId
test_add_timer (Engine *engine, const char *name, TestTimer *timer)
{
  return engine_add_host (engine, name, timer_step, timer);
}

void
test_check_segments (const Engine *engine)
{
  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      const OpRecord     *record = engine_op_record (engine, op);
      const TraceSegment *segments = engine_segments (engine, record);
      SimTime             sum = 0;

      for (guint i = 0; i < record->n_segments; i++)
        {
          ck_assert (segments[i].duration > 0);
          ck_assert (segments[i].cause == CAUSE_LATENCY || segments[i].cause == CAUSE_RESOURCE
                     || segments[i].cause == CAUSE_CAP);
          ck_assert_int_eq (segments[i].cause == CAUSE_RESOURCE,
                            segments[i].resource != ENGINE_NONE);
          if (i > 0)
            ck_assert (segments[i].cause != segments[i - 1].cause
                       || segments[i].resource != segments[i - 1].resource);
          sum += segments[i].duration;
        }
      ck_assert_uint_eq (sum, record->end - record->begin);
    }
}

/*
 * The op whose end the host had last been waiting for at TIME (ENGINE_NONE: it never waited); the
 * time since is its own.
 */
static OpId
walk_host (const Engine *engine, HostId host, SimTime *time, SimTime parts[CAUSE_N])
{
  guint            n;
  const HostBlock *blocks = engine_host_blocks (engine, host, &n);

  while (n > 0 && blocks[n - 1].end > *time)
    n--;
  SimTime since = n > 0 ? blocks[n - 1].end : 0;
  parts[CAUSE_HOST] += *time - since;
  *time = since;
  return n > 0 ? blocks[n - 1].op : ENGINE_NONE;
}

void
test_walk (const Engine *engine, OpId op, SimTime parts[CAUSE_N])
{
  SimTime total = test_end (engine, op), time = total, before = 0, sum = 0;

  for (guint c = 0; c < CAUSE_N; c++)
    before += parts[c];
  for (guint steps = 0; op != ENGINE_NONE; steps++)
    {
      const OpRecord     *record = engine_op_record (engine, op);
      const TraceSegment *segments = engine_segments (engine, record);

      ck_assert_uint_lt (steps, engine_n_ops (engine) * (guint64) 2);
      ck_assert_uint_eq (record->end, time);
      for (guint i = 0; i < record->n_segments; i++)
        parts[segments[i].cause] += segments[i].duration;
      parts[CAUSE_DRAIN] += record->drain;
      time = record->begin - record->drain;
      ck_assert_int_eq (record->gate == CAUSE_HOST, record->gate_op == ENGINE_NONE);
      if (record->gate == CAUSE_HOST && record->gate_host == ENGINE_NONE)
        break;
      op = record->gate == CAUSE_HOST ? walk_host (engine, record->gate_host, &time, parts)
                                      : record->gate_op;
    }
  ck_assert_uint_eq (time, 0);
  for (guint c = 0; c < CAUSE_N; c++)
    sum += parts[c];
  ck_assert_uint_eq (sum - before, total);
}

int
test_main (Suite *suite)
{
  SRunner *runner = srunner_create (suite);

  srunner_run_all (runner, CK_ENV);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed != 0;
}
