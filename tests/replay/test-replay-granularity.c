/*
 * Kernels that run back to back as one op: over random clusters, models, training and strategies a
 * replay by modules, layers and passes has the step time of one by kernels within 1 %, the same
 * memory peaks and traffic, and fewer ops. Alone on its GPU, and bound by the host however much, a
 * run of kernels ends when its kernels would, to the picoseconds that rounding takes.
 */
#include <math.h>
#include <stdio.h>

#include "../cases.h"
#include "../suite.h"
#include "fixture.h"

#define SEEDS 6 /* of one test of a loop */

static Replay *
replay_at (const Scenario *scenario, ProfileSet *profiles, Granularity granularity)
{
  g_autoptr (Scenario) copy = scenario_copy (scenario);

  copy->replay.granularity = granularity;
  return fixture_replay (copy, profiles, FALSE, 0);
}

static void
compare_peaks (const Replay *a, const Replay *b, guint seed)
{
  ck_assert_uint_eq (replay_n_ranks (a), replay_n_ranks (b));
  for (guint i = 0; i < replay_n_ranks (a); i++)
    {
      const PoolStats *p = engine_pool_stats (replay_engine (a), replay_rank (a, i)->hbm);
      const PoolStats *q = engine_pool_stats (replay_engine (b), replay_rank (b, i)->hbm);

      ck_assert_msg (p->allocated.bytes == q->allocated.bytes, "seed %u: allocated peak", seed);
    }
}

static void
compare_traffic (const Replay *a, const Replay *b, guint seed)
{
  g_autoptr (GArray) x = replay_bound_traffic (replay_bound (a), WHOLE_PERIOD);
  g_autoptr (GArray) y = replay_bound_traffic (replay_bound (b), WHOLE_PERIOD);

  ck_assert_uint_eq (x->len, y->len);
  for (guint i = 0; i < x->len; i++)
    ck_assert_msg (g_array_index (x, ReplayTraffic, i).bytes
                       == g_array_index (y, ReplayTraffic, i).bytes,
                   "seed %u: traffic", seed);
  ck_assert (replay_bound_executed_flops (replay_bound (a), WHOLE_PERIOD)
             == replay_bound_executed_flops (replay_bound (b), WHOLE_PERIOD));
}

/* What ops used of every resource is what the kernels do, waves that reservations add left out. */
static void
compare_used (const Replay *a, const Replay *b, guint seed)
{
  const Engine *x = replay_engine (a), *y = replay_engine (b);

  if (replay_n_boundaries (a) != replay_n_boundaries (b))
    return;
  for (ResourceId r = 0; r < engine_n_resources (x); r++)
    {
      double p = engine_resource_used (x, r), q = engine_resource_used (y, r);
      double bound = g_str_has_suffix (engine_resource_name (x, r), ".sm") ? 0.05 : 1e-9;

      ck_assert_msg (fabs (p - q) <= bound * MAX (p, q), "seed %u: %s used %.12g, by kernels %.12g",
                     seed, engine_resource_name (x, r), q, p);
    }
}

/* Returns whether the periods of all granularities came to repeat. */
static gboolean
compare (const Scenario *scenario, guint seed, ProfileSet *profiles)
{
  g_autoptr (Replay) kernels = replay_at (scenario, profiles, GRANULARITY_KERNEL);
  double             exact = replay_step_time (kernels);
  gboolean           steady = replay_is_steady (kernels);

  for (Granularity g = GRANULARITY_MODULE; g <= GRANULARITY_PASS; g++)
    {
      g_autoptr (Replay) fused = replay_at (scenario, profiles, g);
      double             error = replay_step_time (fused) / exact - 1;

      fprintf (stderr, "seed %u: granularity %u: %+.4f %%, %u of %u ops\n", seed, g, 100 * error,
               engine_n_ops (replay_engine (fused)), engine_n_ops (replay_engine (kernels)));
      if (fabs (error) > 0.005)
        {
          g_autofree char *text = scenario_print (scenario);

          fprintf (stderr, "%s", text);
        }
      ck_assert_msg (fabs (error) <= 0.01, "seed %u: granularity %u: off by %.3f %%", seed, g,
                     100 * error);
      steady = steady && replay_is_steady (fused);
      compare_peaks (kernels, fused, seed);
      compare_traffic (kernels, fused, seed);
      compare_used (kernels, fused, seed);
    }
  return steady;
}

START_TEST (test_within_one_per_cent)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  guint                  n_steady = 0;

  for (guint i = 0; i < SEEDS; i++)
    {
      guint                seed = (guint) _i * SEEDS + i + 1;
      g_autoptr (GRand)    rand = g_rand_new_with_seed (seed);
      g_autoptr (Scenario) scenario = fixture_random (rand, profiles);

      n_steady += compare (scenario, seed, profiles);
    }
  /* Rounds that send while the next one trains may take turns for ever. */
  ck_assert_uint_ge (n_steady + 1, SEEDS);
}
END_TEST

/* Every axis of the mesh. Periods of stages in a circle may go on differing by a picosecond. */
START_TEST (test_meshes_within_one_per_cent)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  for (guint i = 0; i < SEEDS; i++)
    {
      guint                case_ = (guint) _i * SEEDS + i;
      g_autoptr (GRand)    rand = g_rand_new_with_seed (9000 + case_);
      g_autoptr (Scenario) scenario = fixture_random_mesh (rand, case_, profiles);

      compare (scenario, 9000 + case_, profiles);
    }
}
END_TEST

/* From models whose kernels take less than their launches to ones that leave the host far ahead. */
START_TEST (test_alone_it_is_exact)
{
  static const char *const widths[] = { "64", "256", "512", "1024", "2048", "4096" };
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);

  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.node", "dgx-a100", "cluster.nodes", "1", "model.arch", "llama", "model.n_layers",
      "3", "model.d_model", widths[_i], "model.n_heads", "2", "model.d_ff", "1000", "model.vocab",
      "1000", "training.seq_len", "512", "training.micro_batch", "1", "training.grad_accum", "2",
      "strategy.name", "ddp", NULL);

  g_autoptr (Replay) kernels = NULL;
  double             exact, ps;

  scenario->cluster.gpus_per_node = 1;
  g_clear_pointer (&scenario->cluster.node, g_free);
  scenario->cluster.gpu = g_strdup ("a100-sxm-80");
  scenario->cluster.intra = g_strdup ("nvlink3-switch");
  kernels = replay_at (scenario, profiles, GRANULARITY_KERNEL);
  exact = replay_step_time (kernels);
  ps = 1e-12 * engine_n_ops (replay_engine (kernels));
  for (Granularity g = GRANULARITY_MODULE; g <= GRANULARITY_PASS; g++)
    {
      g_autoptr (Replay) fused = replay_at (scenario, profiles, g);

      ck_assert_msg (fabs (replay_step_time (fused) - exact) <= ps,
                     "width %s: %.15g s, by kernels %.15g s", widths[_i], replay_step_time (fused),
                     exact);
      ck_assert (engine_n_ops (replay_engine (fused)) < engine_n_ops (replay_engine (kernels)));
    }
}
END_TEST

static Suite *
granularity_suite (void)
{
  Suite *suite = suite_create ("replay-granularity");
  TCase *tcase = tcase_create ("property");

  tcase_add_loop_test (tcase, test_within_one_per_cent, 0, (int) cases_of (960) / SEEDS);
  tcase_add_loop_test (tcase, test_meshes_within_one_per_cent, 0, (int) cases_of (420) / SEEDS);
  tcase_add_loop_test (tcase, test_alone_it_is_exact, 0, 6);
  suite_add_tcase (suite, tcase);
  return suite;
}

SUITE_MAIN (replay_granularity)
{
  return fixture_main (granularity_suite ());
}
