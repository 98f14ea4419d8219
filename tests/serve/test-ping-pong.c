/*
 * Ping-pong of micro-batches: schedules drawn by hand, the closed form against one that is run
 * place by place, that against the engine, and the paper's own form where its conditions hold. Not
 * asserted: that GPUs take such times.
 */
#include <check.h>
#include <math.h>

#include "../suite.h"
#include "engine/engine.h"
#include "serve/ping-pong.h"

#define CLOSE(a, b) ck_assert_double_eq_tol (a, b, 1e-9 * fabs (1.0 * (b)))

static double
run_of (const PingPong *self)
{
  g_autofree PingPongLayer *layers = g_new (PingPongLayer, self->layers);

  for (guint l = 0; l < self->layers; l++)
    layers[l] =
        (PingPongLayer){ self->attention_s, self->experts_s, self->exchange_s, .experts = TRUE };
  return ping_pong_run (layers, self->layers, self->micro_batches).seconds;
}

/*
 * T_a = T_e = 4, T_c = 1, two layers. One micro-batch: 4 + 1 + 4 + 1 twice, 20. Two: the second one
 * follows 4 behind, and the first one's second layer starts at 10, when attention has been free
 * since 8: 24. Three: attention has 1, 2, 3 until 12, and then again without a pause until 24; the
 * last one returns at 24 + 1 + 4 + 1 = 30, which is 10 + 4 (6 - 1).
 */
START_TEST (test_by_hand)
{
  static const double expected[] = { 20, 24, 30, 38 };

  for (guint m = 1; m <= 4; m++)
    {
      const PingPong p = { 4, 4, 1, .layers = 2, .micro_batches = m };

      CLOSE (run_of (&p), expected[m - 1]);
      CLOSE (ping_pong_seconds (&p), expected[m - 1]);
      if (m >= 3) /* 2 (1 + 1/4) = 2.5 */
        CLOSE (ping_pong_published_seconds (&p), expected[m - 1]);
      else
        ck_assert_double_lt (ping_pong_published_seconds (&p), expected[m - 1]);
      ck_assert (ping_pong_check (&p, PING_PONG_FILLED).holds == (m >= 3));
    }
}
END_TEST

/*
 * A layer without experts, as a model's first ones may be, stays where it is: with T_a = 2 twice
 * through attention, then 2 + 1 + 3 + 1; of two micro-batches the second waits for its experts.
 */
START_TEST (test_unlike_layers)
{
  const PingPongLayer layers[] = { { .attention_s = 2 },
                                   { 2, 3, 1, .experts = TRUE },
                                   { .attention_s = 5 } }; /* the head */
  const PingPongRun   one = ping_pong_run (layers, 3, 1), two = ping_pong_run (layers, 3, 2);

  CLOSE (one.seconds, 2 + 7 + 5);
  CLOSE (two.seconds, 4 + 2 + 1 + 3 + 1 + 5 + 5); /* the first one's head begins at 11 */
  CLOSE (two.attention_busy_s, 2 * 9);
  CLOSE (two.experts_busy_s, 2 * 3);
  CLOSE (two.network_busy_s, 2 * 1);
}
END_TEST

/* The conditions name what is violated. */
START_TEST (test_conditions)
{
  const PingPong good = { 4, 4.5, 1, 10, 3 }, unlike = { 1, 4, 1, 10, 3 }, far = { 4, 4, 5, 10, 8 };

  for (guint c = 0; c < PING_PONG_N_CONDITIONS; c++)
    {
      ck_assert (ping_pong_check (&good, (PingPongCondition) c).holds);
      ck_assert (ping_pong_check (&unlike, (PingPongCondition) c).holds == (c != 0));
      ck_assert (ping_pong_check (&far, (PingPongCondition) c).holds == (c != 1));
    }
  CLOSE (ping_pong_check (&far, PING_PONG_FILLED).left, 2 * (1 + 5 / 4.0));
}
END_TEST

/*
 * Whatever the times: the closed form is what the schedule takes, and never less than the paper's,
 * which it is where the exchange is hidden and micro-batches are enough. A token's bounds enclose
 * it there, too, up to what the last micro-batches take behind the first.
 */
START_TEST (test_closed_form)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (44);
  guint             met = 0;

  for (guint i = 0; i < 5000; i++)
    {
      const PingPong p = { g_rand_double_range (rand, 0.1, 5), g_rand_double_range (rand, 0.1, 5),
                           g_rand_double_range (rand, 0, i % 2 ? 1 : 8),
                           .layers = (guint) g_rand_int_range (rand, 1, 60),
                           .micro_batches = (guint) g_rand_int_range (rand, 1, 9) };
      const double   slower = MAX (p.attention_s, p.experts_s), run = run_of (&p);
      const gboolean hidden = p.exchange_s <= slower;
      const gboolean filled = p.micro_batches >= 2 * (1 + p.exchange_s / slower);

      CLOSE (ping_pong_seconds (&p), run);
      ck_assert_double_ge (run, ping_pong_published_seconds (&p) * (1 - 1e-12));
      if (!hidden || !filled)
        continue;
      met++;
      CLOSE (ping_pong_published_seconds (&p), run);
      ck_assert_double_le (ping_pong_token_least (&p), run * (1 + 1e-12));
      ck_assert_double_ge (ping_pong_token_most (&p) * (1 + 1e-12), ping_pong_token_least (&p));
    }
  ck_assert_uint_gt (met, 1000);
}
END_TEST

/* An op of so many SECONDS on STREAM, once AFTER is over. */
static OpId
submit (Engine *engine, StreamId stream, OpId after, double seconds)
{
  const OpSpec spec = { .class_ = OP_KERNEL,
                        .latency = sim_time_from_seconds (seconds),
                        .waves = { .resource = ENGINE_NONE },
                        .pieces_on = ENGINE_NONE,
                        .share = 1,
                        .members = 1,
                        .order = ENGINE_NONE };
  const OpId   op = engine_op_new (engine, &spec);

  if (after != ENGINE_NONE)
    engine_stream_wait (engine, stream, after);
  engine_submit (engine, op, stream, ENGINE_NONE, 0);
  return op;
}

/* The engine's streams are the places: M micro-batches through LAYERS, in order on each. */
static double
engine_seconds (const PingPongLayer *layers, guint n, guint m)
{
  static const char *const names[] = { "attention", "out", "experts", "back" };
  g_autoptr (Engine)       engine = engine_new ();
  g_autofree OpId         *last = g_new (OpId, m);
  StreamId                 places[4];

  for (guint p = 0; p < 4; p++)
    places[p] = engine_add_stream (engine, names[p], 0, 0);
  for (guint i = 0; i < m; i++)
    last[i] = ENGINE_NONE;
  for (guint l = 0; l < n; l++)
    for (guint i = 0; i < m; i++)
      {
        last[i] = submit (engine, places[0], last[i], layers[l].attention_s);
        if (!layers[l].experts)
          continue;
        last[i] = submit (engine, places[1], last[i], layers[l].exchange_s);
        last[i] = submit (engine, places[2], last[i], layers[l].experts_s);
        last[i] = submit (engine, places[3], last[i], layers[l].exchange_s);
      }
  ck_assert (engine_run (engine, NULL));
  return sim_time_to_seconds (engine_now (engine));
}

/* Layers of all sorts, some without experts: the schedule is what the engine makes of the same. */
START_TEST (test_engine)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2504);

  for (guint i = 0; i < 200; i++)
    {
      PingPongLayer layers[20];
      const guint   n = (guint) g_rand_int_range (rand, 1, 20);
      const guint   m = (guint) g_rand_int_range (rand, 1, 7);

      for (guint l = 0; l < n; l++)
        layers[l] = (PingPongLayer){ g_rand_double_range (rand, 1e-4, 1e-3),
                                     g_rand_double_range (rand, 1e-4, 1e-3),
                                     g_rand_double_range (rand, 1e-5, 1e-3),
                                     g_rand_int_range (rand, 0, 4) > 0 };
      ck_assert_double_eq_tol (engine_seconds (layers, n, m), ping_pong_run (layers, n, m).seconds,
                               1e-9); /* whole picoseconds, op by op */
    }
}
END_TEST

SUITE_MAIN (ping_pong)
{
  Suite *suite = suite_create ("ping-pong");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_by_hand);
  tcase_add_test (tcase, test_unlike_layers);
  tcase_add_test (tcase, test_conditions);
  tcase_add_test (tcase, test_closed_form);
  tcase_add_test (tcase, test_engine);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
