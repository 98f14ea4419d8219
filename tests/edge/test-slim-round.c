/*
 * Slimmable networks over fading channels: probabilities, bytes, times and energy by hand, and the
 * probabilities against drawn channels that are decoded message by message. Not asserted: that the
 * formulas are those of a paper.
 */
#include <check.h>
#include <math.h>

#include "../suite.h"
#include "edge/slim-round.h"

#define CLOSE(a, b) ck_assert_double_eq_tol (a, b, 1e-5 * fabs (1.0 * (b)))

/*
 * One dense layer of 4M weights of a byte; half the width is 1M. In 1 s and 8 MHz message 1 needs
 * 1 bit/s a Hz (tau 1), message 2 needs 3 (tau 7), both as one 4 (tau 15). A sample is 4 + 8 MFLOP,
 * half the width 1 + 2; 2 samples, 5 steps, 100 MFLOP/s, 2 W; 0.5 W are sent.
 */
typedef struct
{
  EdgeStar     star;
  SlimSettings settings;
} Fixture;

static Fixture
fixture_new (double snr, double power_share)
{
  const EdgeLayer  layer = { "dense", 4e6, 8e6, 0, 4e6, NARROWS_BOTH };
  const EdgeClient client = { .name = "a", .power = 0.5, .compute = 100e6, .batch = 2, .draw = 2 };
  Fixture          self = { .settings = { .radio = { .bandwidth = 8e6, .noise = 1e-16 },
                                          .power_share = power_share,
                                          .upload = 1,
                                          .element = 1,
                                          .snr = snr,
                                          .steps = 5 } };

  self.star.clients = g_array_new (FALSE, FALSE, sizeof (EdgeClient));
  self.star.layers = g_array_new (FALSE, FALSE, sizeof (EdgeLayer));
  g_array_append_val (self.star.clients, client);
  g_array_append_val (self.star.layers, layer);
  return self;
}

static void
fixture_clear (Fixture *self)
{
  g_array_unref (self->star.clients);
  g_array_unref (self->star.layers);
}

static SlimClient
client_of (const Fixture *self, SlimSystem system)
{
  SlimClient       client = { 0 };
  g_autofree char *why = NULL;

  ck_assert_msg (slim_client (&self->star, &self->settings, system, 0, &client, &why), "%s", why);
  return client;
}

static double
quantity (Fixture *self, SlimSystem system, SlimQuantity quantity)
{
  g_autofree char *why = NULL;

  self->settings.system = (gint) system;
  self->settings.quantity = (gint) quantity;
  return slim_quantity (&self->star, &self->settings, &why);
}

START_TEST (test_probabilities)
{
  Fixture          f = fixture_new (10, 0.8);
  const SlimClient slim = client_of (&f, SLIM_SLIM), vanilla = client_of (&f, SLIM_VANILLA);
  const SlimClient half = client_of (&f, SLIM_HALF), full = client_of (&f, SLIM_FULL);

  CLOSE (slim.half, 0.846482);    /* exp (-1 / (0.8 - 0.2) / 10) */
  CLOSE (slim.full, 0.0301974);   /* exp (-7 / 0.2 / 10) */
  CLOSE (vanilla.half, 0.904837); /* exp (-1 / 10) */
  CLOSE (vanilla.full, 0.223130); /* exp (-15 / 10) */
  CLOSE (half.half, 0.904837);
  ck_assert_double_eq (half.full, 0);
  CLOSE (full.half, 0.223130);
  CLOSE (full.full, 0.223130);
  CLOSE (slim.bytes, 937074);     /* 0.846482 x 1M + 0.0301974 x 3M */
  CLOSE (vanilla.bytes, 1797357); /* 0.904837 x 1M + 0.223130 x 4M */
  fixture_clear (&f);
}
END_TEST

/* Little power for message 1: it is what message 2 waits for. 1 / (0.52 - 0.48) = 25 > 7 / 0.48. */
START_TEST (test_message_1_limits)
{
  Fixture          f = fixture_new (10, 0.52);
  const SlimClient slim = client_of (&f, SLIM_SLIM);

  CLOSE (slim.half, 0.0820850); /* exp (-2.5) */
  CLOSE (slim.full, 0.0820850);
  fixture_clear (&f);
}
END_TEST

START_TEST (test_time_and_energy)
{
  Fixture f = fixture_new (10, 0.8);

  CLOSE (client_of (&f, SLIM_SLIM).compute_s, 1.5); /* 10 x 15 MFLOP */
  CLOSE (client_of (&f, SLIM_VANILLA).compute_s, 1.5);
  CLOSE (client_of (&f, SLIM_HALF).compute_s, 0.3);
  CLOSE (client_of (&f, SLIM_FULL).compute_s, 1.2);
  CLOSE (client_of (&f, SLIM_SLIM).joules, 2 * 1.5 + 0.5);
  CLOSE (client_of (&f, SLIM_VANILLA).joules, 2 * 1.5 + 2 * 0.5);
  CLOSE (quantity (&f, SLIM_SLIM, SLIM_ROUND_S), 2.5);
  CLOSE (quantity (&f, SLIM_SLIM, SLIM_FULL_S), 2.5 / 0.0301974);
  CLOSE (quantity (&f, SLIM_VANILLA, SLIM_BYTES_A_JOULE), 1797357 / 4.0);
  CLOSE (quantity (&f, SLIM_SLIM, SLIM_SPECTRAL), 0.937074); /* 8 x 937074 over 8 MHz x 1 s */
  CLOSE (quantity (&f, SLIM_VANILLA, SLIM_SPECTRAL), 1.797357 / 2);
  f.settings.shared_forward = TRUE;
  CLOSE (client_of (&f, SLIM_SLIM).compute_s, 1.4); /* the half's forward pass is the whole's */
  CLOSE (client_of (&f, SLIM_VANILLA).compute_s, 1.5);
  fixture_clear (&f);
}
END_TEST

/* Two more layers that narrow on one side and on none: 1M + 2M + 4M of 12M. */
START_TEST (test_narrow_sides)
{
  Fixture   f = fixture_new (10, 0.8);
  EdgeLayer layer = *EDGE_LAYER (&f.star, 0);

  ck_assert_double_eq (slim_half_share (&f.star), 0.25);
  layer.narrows = NARROWS_ONE;
  g_array_append_val (f.star.layers, layer);
  layer.narrows = NARROWS_NONE;
  g_array_append_val (f.star.layers, layer);
  CLOSE (slim_half_share (&f.star), 7.0 / 12);
  fixture_clear (&f);
}
END_TEST

/* A client's own ratio: 0.5 W x 1.6e-8 over 1e-16 W/Hz x 8 MHz = 10. Means are over clients. */
START_TEST (test_unlike_clients)
{
  Fixture    f = fixture_new (0, 0.8);
  EdgeClient far = *EDGE_CLIENT (&f.star, 0);

  EDGE_CLIENT (&f.star, 0)->gain = 1.6e-8;
  CLOSE (client_of (&f, SLIM_SLIM).snr, 10);
  far.gain = 1.6e-9;
  far.compute = 50e6;
  g_array_append_val (f.star.clients, far);
  CLOSE (quantity (&f, SLIM_HALF, SLIM_HALF_ARRIVES), (0.904837 + 0.367879) / 2);
  CLOSE (quantity (&f, SLIM_HALF, SLIM_BYTES), (0.904837 + 0.367879) * 1e6);
  CLOSE (quantity (&f, SLIM_SLIM, SLIM_ROUND_S), 3 + 1); /* the slower one */
  CLOSE (quantity (&f, SLIM_FULL, SLIM_FULL_S), (2.4 + 1) / exp (-15));
  fixture_clear (&f);
}
END_TEST

START_TEST (test_never)
{
  Fixture          f = fixture_new (10, 0.5);
  SlimClient       client;
  g_autofree char *why = NULL, *deaf = NULL;

  /* half of the power is at most as much as the other half: log2 (1 + 1) is never above 1 */
  ck_assert (!slim_client (&f.star, &f.settings, SLIM_SLIM, 0, &client, &why));
  ck_assert_msg (g_str_has_prefix (why, "message 1 never arrives: with a power share of 0.5"), "%s",
                 why);
  f.settings.power_share = 0.8;
  f.settings.snr = 0.01; /* exp (-166) */
  ck_assert (isnan (slim_quantity (&f.star, &f.settings, &deaf)));
  ck_assert_msg (g_str_has_prefix (deaf, "nothing arrives"), "%s", deaf);
  fixture_clear (&f);
}
END_TEST

/*
 * 100000 channels: message 1 is decoded by its capacity against message 2 and noise, message 2 by
 * that without message 1, if that was decoded.
 */
START_TEST (test_drawn_channels)
{
  static const double shares[] = { 0.55, 0.7, 0.9 };
  const double        snr = 20, share = shares[_i];
  const guint         n = 100000;
  g_autoptr (GRand)   rand = g_rand_new_with_seed (7);
  Fixture             f = fixture_new (snr, share);
  const SlimClient    slim = client_of (&f, SLIM_SLIM);
  guint               first = 0, both = 0;

  for (guint i = 0; i < n; i++)
    {
      const double power = -log (1 - g_rand_double (rand)) * snr; /* over the noise */

      if (log2 (1 + share * power / ((1 - share) * power + 1)) < 1)
        continue;
      first++;
      both += log2 (1 + (1 - share) * power) >= 3;
    }
  ck_assert_double_eq_tol ((double) first / n, slim.half, 4 * 0.5 / sqrt (n));
  ck_assert_double_eq_tol ((double) both / n, slim.full, 4 * 0.5 / sqrt (n));
  fixture_clear (&f);
}
END_TEST

SUITE_MAIN (slim_round)
{
  Suite *suite = suite_create ("slim-round");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_probabilities);
  tcase_add_test (tcase, test_message_1_limits);
  tcase_add_test (tcase, test_time_and_energy);
  tcase_add_test (tcase, test_narrow_sides);
  tcase_add_test (tcase, test_unlike_clients);
  tcase_add_test (tcase, test_never);
  tcase_add_loop_test (tcase, test_drawn_channels, 0, 3);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
