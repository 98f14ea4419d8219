/*
 * Single ops and sharing, by arithmetic done by hand. Times are in ps; capacities are round numbers per second.
 * Asserts ends, causes and amounts; does not assert anything about hosts, pools or collectives.
 */
#include "engine/engine.h"

#include <check.h>

#define S SIM_TIME_PER_SECOND

typedef struct
{
  Engine *engine;
} World;

static OpId
submit (Engine *e, StreamId stream, OpClass class_, SimTime latency, const Demand *demands, guint n, double share, double cap)
{
  OpSpec spec = { .class_ = class_, .latency = latency, .demands = demands, .n_demands = n, .waves = { ENGINE_NONE, 0, 0 },
                  .share = share, .cap = cap, .members = 1, .order = ENGINE_NONE };
  OpId   op = engine_op_new (e, &spec);
  engine_submit (e, op, stream, ENGINE_NONE, 0);
  return op;
}

START_TEST (roofline)
{
  g_autoptr (Engine) e = engine_new ();
  ResourceId sm = engine_add_resource (e, "sm", 100), hbm = engine_add_resource (e, "hbm", 1e12);
  StreamId   s = engine_add_stream (e, "s", 0, 0);
  Demand     d[] = { { sm, 50 }, { hbm, 2e12 } };
  OpId       op = submit (e, s, OP_KERNEL, 5, d, 2, 0.5, 0);
  ck_assert (engine_run (e, NULL));
  ck_assert_uint_eq (engine_op_record (e, op)->end, 2 * S + 5);
  ck_assert (engine_resource_used (e, sm) == 50);
}
END_TEST

int
main (void)
{
  Suite *suite = suite_create ("engine-basic");
  TCase *tc = tcase_create ("basic");
  tcase_add_test (tc, roofline);
  suite_add_tcase (suite, tc);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed != 0;
}
