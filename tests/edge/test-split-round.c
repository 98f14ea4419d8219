/*
 * Split learning around a server: rates, phases and rounds by hand; the engine against the closed
 * form where both must say the same, and by hand where the clients' ends differ. Not asserted: that
 * the formulas are those of a paper.
 */
#include <check.h>
#include <math.h>

#include "../suite.h"
#include "edge/split-replay.h"

#define CLOSE(a, b) ck_assert_double_eq_tol (a, b, 1e-9 * fabs (1.0 * (b)))

/* ---- radio ----------------------------------------------------------------------------------- */

START_TEST (test_capacity)
{
  /* signal over noise 3: log2 (4) = 2 bit/s a Hz */
  CLOSE (radio_capacity (1e6, 0.3, 1e-9, 1e-16), 2e6);
  /* 1e-20: the logarithm is linear, and no rounding makes it nothing */
  CLOSE (radio_capacity (1e6, 1, 1e-20, 1e-6), 1e6 * 1e-20 / 0.6931471805599453);
}
END_TEST

START_TEST (test_gain)
{
  const Radio      radio = { .bandwidth = 1e9, .frequency = 1e9, .exponent = 2 };
  const Radio      lossy = { .bandwidth = 1e9, .frequency = 1e9, .exponent = 3 };
  const EdgeClient at = { .distance = 10 }, given = { .gain = 1e-7 };

  /* c / (4 pi 1 GHz) = 0.0238567 m; squared 5.69143e-4; over 10^2 and 10^3 */
  ck_assert_double_eq_tol (radio_gain (&radio, &at, 0), 5.69143e-6, 1e-11);
  ck_assert_double_eq_tol (radio_gain (&lossy, &at, 0), 5.69143e-7, 1e-12);
  /* the second channel is at twice the frequency: a quarter */
  ck_assert_double_eq_tol (radio_gain (&radio, &at, 1), 5.69143e-6 / 4, 1e-11);
  ck_assert_double_eq (radio_gain (&radio, &given, 1), 1e-7);
}
END_TEST

/* ---- a round of a star ----------------------------------------------------------------------- */

/*
 * Channels of 8 MHz with a noise of 1e-9 W. Client a sends 1 W in each of two, with a gain of 3e-9:
 * 2 bit a Hz, 2 MB/s a channel, 4 MB/s. Client b sends 1 W in one, 7e-9: 3 bit a Hz, 3 MB/s. The
 * server sends 1 W in each of four: 4 and 3 MB/s, and to all min (8, 12) = 8 MB/s.
 */
static SplitSettings
settings_of (double aggregation, SplitMethod method)
{
  return (SplitSettings){ .radio = { .bandwidth = 8e6, .noise = 1.25e-16 },
                          .n_channels = 4,
                          .cut = 1,
                          .server_compute = 1e9,
                          .server_power = 4,
                          .element = 4,
                          .aggregation = aggregation,
                          .method = method };
}

static EdgeStar *
star_new (void)
{
  static const EdgeLayer layers[] = {
    { "one", 10e6, 20e6, 1000, 1000, NARROWS_BOTH },
    { "two", 20e6, 40e6, 500, 2000, NARROWS_BOTH },
    { "three", 5e6, 10e6, 10, 300, NARROWS_BOTH },
  };
  const guint channels[] = { 0, 1, 3 };
  EdgeClient  clients[] = {
     { .name = "a", .gain = 3e-9, .power = 2, .compute = 100e6, .batch = 10 },
     { .name = "b", .gain = 7e-9, .power = 1, .compute = 40e6, .batch = 4 },
  };
  EdgeStar *self = g_new0 (EdgeStar, 1);

  self->clients = g_array_new (FALSE, FALSE, sizeof (EdgeClient));
  self->layers = g_array_new (FALSE, FALSE, sizeof (EdgeLayer));
  for (guint i = 0; i < 2; i++)
    clients[i].channels = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_append_vals (clients[0].channels, channels, 2);
  g_array_append_vals (clients[1].channels, channels + 2, 1);
  g_array_append_vals (self->clients, clients, 2);
  g_array_append_vals (self->layers, layers, G_N_ELEMENTS (layers));
  return self;
}

static void
star_done (EdgeStar *self)
{
  for (guint i = 0; i < self->clients->len; i++)
    g_array_unref (EDGE_CLIENT (self, i)->channels);
  g_array_unref (self->clients);
  g_array_unref (self->layers);
  g_free (self);
}

static double
part_of (const EdgeStar *star, const SplitSettings *settings, SplitPart part)
{
  g_autofree char      *why = NULL;
  g_autoptr (SplitWork) work = split_work_new (star, settings, &why);

  ck_assert_msg (work != NULL, "%s", why);
  return split_closed_form (work, part);
}

START_TEST (test_parts)
{
  EdgeStar           *star = star_new ();
  const SplitSettings half = settings_of (0.5, SPLIT_EPSL);

  /* a: 10 x 10 MFLOP at 100 MFLOP/s, 10 x 4000 B at 4 MB/s; b: 1 s, 16000 B at 3 MB/s */
  CLOSE (part_of (star, &half, PART_CLIENTS_UP), 1 + 0.01);
  /* 14 samples of 25 MFLOP at 1 GFLOP/s */
  CLOSE (part_of (star, &half, PART_SERVER_FORWARD), 0.35);
  /* the last layer 14 x 10; the other 5 averaged + 5 of a + 2 of b, x 40 MFLOP */
  CLOSE (part_of (star, &half, PART_SERVER_BACKWARD), 0.14 + 0.48);
  /* 5 gradients of 4000 B at 8 MB/s */
  CLOSE (part_of (star, &half, PART_BROADCAST), 0.0025);
  /* a: 5 x 4000 B at 4 MB/s, 10 x 20 MFLOP at 100 MFLOP/s; b: 8000 B at 3 MB/s, 2 s */
  CLOSE (part_of (star, &half, PART_CLIENTS_DOWN), 0.005 + 2);
  ck_assert_double_eq (part_of (star, &half, PART_AVERAGE), 0);
  CLOSE (part_of (star, &half, PART_ROUND), 3.9875);
  star_done (star);
}
END_TEST

/* None averaged, and all; ceil (0.3 x 4) = 2 and ceil (0.3 x 10) = 3, not 4 by a rounding. */
START_TEST (test_aggregation)
{
  EdgeStar           *star = star_new ();
  const SplitSettings none = settings_of (0, SPLIT_EPSL), all = settings_of (1, SPLIT_EPSL);
  const SplitSettings some = settings_of (0.3, SPLIT_EPSL), psl = settings_of (0.3, SPLIT_PSL);

  CLOSE (part_of (star, &none, PART_SERVER_BACKWARD), 0.14 + 14 * 0.04);
  ck_assert_double_eq (part_of (star, &none, PART_BROADCAST), 0);
  CLOSE (part_of (star, &all, PART_SERVER_BACKWARD), 0.14 + 10 * 0.04);
  CLOSE (part_of (star, &all, PART_BROADCAST), 10 * 4000 / 8e6);
  CLOSE (part_of (star, &all, PART_CLIENTS_DOWN), 2);
  CLOSE (part_of (star, &some, PART_SERVER_BACKWARD), 0.14 + (3 + 7 + 2) * 0.04);
  CLOSE (part_of (star, &psl, PART_ROUND), part_of (star, &none, PART_ROUND));
  star_done (star);
}
END_TEST

/* Layer one's 1000 parameters go up at 4 and 3 MB/s, and their average comes at 8 MB/s. */
START_TEST (test_sfl)
{
  EdgeStar           *star = star_new ();
  const SplitSettings sfl = settings_of (0.5, SPLIT_SFL);

  CLOSE (part_of (star, &sfl, PART_CLIENTS_DOWN),
         fmax (0.01 + 2 + 0.001, 16e3 / 3e6 + 2 + 4e3 / 3e6));
  CLOSE (part_of (star, &sfl, PART_AVERAGE), 4000 / 8e6);
  star_done (star);
}
END_TEST

/* With all layers but the last at the client, the server has nothing that averaging would save. */
START_TEST (test_last_cut)
{
  EdgeStar     *star = star_new ();
  SplitSettings settings = settings_of (1, SPLIT_EPSL);

  settings.cut = 2;
  CLOSE (part_of (star, &settings, PART_SERVER_BACKWARD), 0.14);
  star_done (star);
}
END_TEST

static void
assert_refused (const EdgeStar *star, const SplitSettings *settings, const char *words)
{
  g_autofree char *why = NULL;

  ck_assert_ptr_null (split_work_new (star, settings, &why));
  ck_assert_msg (g_strrstr (why, words) != NULL, "%s", why);
}

START_TEST (test_refusals)
{
  EdgeStar     *star = star_new ();
  SplitSettings settings = settings_of (0, SPLIT_EPSL);

  settings.cut = 3;
  assert_refused (star, &settings, "a cut after layer 3 of 3 leaves the server none");
  settings.cut = 1;
  settings.n_channels = 3;
  assert_refused (star, &settings, "client 'b' has channel 4 of 3");
  settings.n_channels = 4;
  g_array_index (EDGE_CLIENT (star, 1)->channels, guint, 0) = 1;
  assert_refused (star, &settings, "client 'b' has channel 2, which is another's or twice there");
  g_array_index (EDGE_CLIENT (star, 1)->channels, guint, 0) = 3;
  EDGE_CLIENT (star, 1)->gain = 1e-25;
  assert_refused (star, &settings, "nothing gets through to or from client 'b': its uplink");
  star_done (star);
}
END_TEST

/* ---- the engine ------------------------------------------------------------------------------ */

/*
 * Unlike ends. Client a: forward 1 s, upload 3, backward 1; b: forward 2, upload 1, unicast 1,
 * backward 4. The server: forward 1 s each, backward 3 (1 and 2 where nothing is averaged).
 */
static SplitWork *
unlike (guint aggregated)
{
  const SplitClient clients[] = {
    { 1, 1, 1, 3, 0, 0, 1, 1, 1, 1 },
    { 2, 4, 1, 1, 1, 0, 1, 1, 1, 2 },
  };
  SplitWork *self = g_new0 (SplitWork, 1);

  self->clients = g_array_new (FALSE, FALSE, sizeof (SplitClient));
  g_array_append_vals (self->clients, clients, 2);
  self->server_compute = 1;
  self->forward_flops = 2;
  self->backward_flops = 3;
  self->broadcast = 1;
  self->broadcast_bytes = aggregated > 0 ? 1 : 0;
  self->aggregated = aggregated;
  return self;
}

static double
replay (const SplitWork *work, SplitClock clock)
{
  g_autoptr (GError) error = NULL;
  const double       seconds = split_replay (work, clock, &error);

  ck_assert_msg (error == NULL, "%s", error != NULL ? error->message : "");
  return seconds;
}

START_TEST (test_unlike_ends)
{
  g_autoptr (SplitWork) work = unlike (1);

  /* max (4, 3) + 2 + 3 + 1 + max (1, 5) */
  CLOSE (split_closed_form (work, PART_ROUND), 15);
  CLOSE (replay (work, SPLIT_BARRIER), 15);
  /* 2 + 3 + 1 + max (5, 8): a's long upload runs while b still computes */
  CLOSE (replay (work, SPLIT_FREE), 14);
  /* a's samples are through the server before b's arrive: 1 + 3 + 1 + 8 */
  CLOSE (replay (work, SPLIT_EAGER), 13);
}
END_TEST

/* Nothing averaged: b's gradients need not wait for a's, nor for a broadcast. */
START_TEST (test_no_aggregation)
{
  g_autoptr (SplitWork) work = unlike (0);

  CLOSE (replay (work, SPLIT_BARRIER), 14);
  CLOSE (replay (work, SPLIT_FREE), 13);
  /* 2 + 1, the server 1 + 2, 1 + 4 */
  CLOSE (replay (work, SPLIT_EAGER), 11);
}
END_TEST

/* Layers that are averaged are a barrier: up 1 and 2 s, down 1 s. */
START_TEST (test_averaged_layers)
{
  g_autoptr (SplitWork) work = unlike (0);

  SPLIT_CLIENT (work, 0)->model_bytes = 1;
  SPLIT_CLIENT (work, 1)->model_bytes = 2;
  work->average_bytes = 1;
  /* 4 + 2 + 3 + max (1 + 1, 5 + 2) + 1 */
  CLOSE (split_closed_form (work, PART_ROUND), 17);
  CLOSE (replay (work, SPLIT_BARRIER), 17);
  CLOSE (replay (work, SPLIT_FREE), 17);
}
END_TEST

/* The greatest sum of what a client does in a round, and the server's part. */
static double
free_period (const SplitWork *work)
{
  double most = 0;

  for (guint i = 0; i < work->clients->len; i++)
    {
      const SplitClient *c = SPLIT_CLIENT (work, i);

      most = fmax (most, (c->forward_flops + c->backward_flops) / c->compute + c->up_bytes / c->up
                             + c->unicast_bytes / c->down);
    }
  return most + (work->forward_flops + work->backward_flops) / work->server_compute
         + work->broadcast_bytes / work->broadcast;
}

/* On random stars: the barrier's round is the closed form's, and who waits less is no slower. */
START_TEST (test_property)
{
  g_autoptr (GRand)  rand = g_rand_new_with_seed ((guint32) _i);
  SplitWork          work = { .server_compute = g_rand_double_range (rand, 1, 100),
                              .broadcast = g_rand_double_range (rand, 1, 10),
                              .aggregated = (guint) g_rand_int_range (rand, 0, 2) };
  g_autoptr (GArray) clients = g_array_new (FALSE, FALSE, sizeof (SplitClient));
  double             barrier, free_running;

  for (gint i = g_rand_int_range (rand, 1, 8); i > 0; i--)
    {
      const SplitClient client = {
        .forward_flops = g_rand_double_range (rand, 1, 10),
        .backward_flops = g_rand_double_range (rand, 1, 20),
        .compute = g_rand_double_range (rand, 1, 10),
        .up_bytes = g_rand_double_range (rand, 1, 10),
        .unicast_bytes = g_rand_boolean (rand) ? g_rand_double_range (rand, 1, 10) : 0,
        .up = g_rand_double_range (rand, 1, 10),
        .down = g_rand_double_range (rand, 1, 10),
        .server_flops = g_rand_double_range (rand, 1, 10),
        .server_backward_flops = g_rand_double_range (rand, 1, 20),
      };

      work.forward_flops += client.server_flops;
      work.backward_flops += client.server_backward_flops;
      g_array_append_val (clients, client);
    }
  work.clients = clients;
  if (work.aggregated > 0)
    work.broadcast_bytes = g_rand_double_range (rand, 1, 10);
  barrier = replay (&work, SPLIT_BARRIER);
  free_running = replay (&work, SPLIT_FREE);
  CLOSE (barrier, split_closed_form (&work, PART_ROUND));
  CLOSE (free_running, free_period (&work));
  ck_assert_double_le (free_running, barrier * (1 + 1e-9));
  ck_assert_double_le (replay (&work, SPLIT_EAGER), free_running * (1 + 1e-9));
}
END_TEST

START_TEST (test_too_long)
{
  g_autoptr (SplitWork) work = unlike (1);
  g_autoptr (GError)    error = NULL;

  work->server_compute = 1e-9;
  ck_assert (isnan (split_replay (work, SPLIT_BARRIER, &error)));
  ck_assert_ptr_nonnull (error);
}
END_TEST

SUITE_MAIN (split_round)
{
  Suite *suite = suite_create ("split-round");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_capacity);
  tcase_add_test (tcase, test_gain);
  tcase_add_test (tcase, test_parts);
  tcase_add_test (tcase, test_aggregation);
  tcase_add_test (tcase, test_sfl);
  tcase_add_test (tcase, test_last_cut);
  tcase_add_test (tcase, test_refusals);
  tcase_add_test (tcase, test_unlike_ends);
  tcase_add_test (tcase, test_no_aggregation);
  tcase_add_test (tcase, test_averaged_layers);
  tcase_add_loop_test (tcase, test_property, 0, 100);
  tcase_add_test (tcase, test_too_long);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
