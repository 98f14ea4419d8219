/*
 * Goodput: the closed form against arithmetic by hand, Daly's published optima, the Monte Carlo of
 * the same inputs (within four standard errors of its mean; seeds are fixed), and a published run.
 * Not asserted: that a real cluster's failures are Poisson.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "../suite.h"
#include "decide/plan/goodput.h"

#define MINUTE 60.0
#define HOUR   3600.0
#define DAY    86400.0

static void
near (double got, double want, double relative, const char *what)
{
  ck_assert_msg (fabs (got - want) <= relative * fabs (want), "%s: got %.9g, want %.9g", what, got,
                 want);
}

/* Figs. 3 to 5 of Daly 2006: a checkpoint takes 5 min; the best interval at three mean times. */
START_TEST (test_daly)
{
  static const struct
  {
    double mtbf_min, best_min, digits;
  } published[] = { { 24 * 60, 117, 0.5 }, { 6 * 60, 57, 0.5 }, { 15, 9.1, 0.05 } };

  for (guint i = 0; i < G_N_ELEMENTS (published); i++)
    {
      const GoodputInput in = { .step_s = 1,
                                .n_steps = 1800000,
                                .n_gpus = 1,
                                .n_nodes = 1,
                                .job_mtbf_s = published[i].mtbf_min * MINUTE,
                                .checkpoint_s = 5 * MINUTE,
                                .restart_s = 10 * MINUTE };
      Goodput            best;

      goodput_expect (&in, &best);
      ck_assert_msg (fabs (best.daly_s / MINUTE - published[i].best_min) <= published[i].digits,
                     "got %g min, published %g min", best.daly_s / MINUTE, published[i].best_min);
      near (best.young_s, sqrt (2 * 5 * published[i].mtbf_min) * MINUTE, 1e-12, "Young");
    }
}
END_TEST

/* No interval near the best one does better by more than what rounding to steps costs. */
START_TEST (test_best_interval)
{
  GoodputInput in = { .step_s = 1,
                      .n_steps = 1000000,
                      .n_gpus = 64,
                      .n_nodes = 8,
                      .gpu_mtbf_s = 64 * 6 * HOUR,
                      .checkpoint_s = 60,
                      .restart_s = 300 };
  Goodput      best, other;

  goodput_expect (&in, &best);
  for (double factor = 0.5; factor <= 2; factor *= 1.1)
    {
      in.interval_s = best.daly_s * factor;
      goodput_expect (&in, &other);
      ck_assert_msg (other.wall_s >= best.wall_s * (1 - 1e-4), "times %g: %g < %g", factor,
                     other.wall_s, best.wall_s);
    }
}
END_TEST

START_TEST (test_by_hand)
{
  GoodputInput in = { .step_s = 2, .n_steps = 1000, .n_gpus = 16, .n_nodes = 2 };
  Goodput      out;

  goodput_expect (&in, &out); /* nothing fails */
  near (out.wall_s, 2000, 0, "plain");
  near (out.useful, 1, 0, "plain");
  ck_assert_uint_eq (out.interval_steps, 0);

  in.interval_s = 200; /* ten checkpoints of 5 s all the same */
  in.checkpoint_s = 5;
  goodput_expect (&in, &out);
  ck_assert_uint_eq (out.interval_steps, 100);
  near (out.wall_s, 2050, 1e-12, "checkpoints");

  /* 16 GPUs of 32 000 s and 2 nodes of 4000 s and a job of 1000 s: 1/2000 + 1/2000 + 1/1000 */
  in.gpu_mtbf_s = 32000;
  in.node_mtbf_s = 4000;
  in.job_mtbf_s = 1000;
  in.restart_s = 50;
  goodput_expect (&in, &out);
  near (out.mtbf_s, 500, 1e-12, "mtbf");
  /* 500 e^0.1 (e^0.41 - 1), ten times */
  near (out.wall_s, 10 * 500 * 1.1051709180756477 * 0.5068177851128535, 1e-12, "Daly");
  near (out.n_interruptions, out.wall_s / 500, 1e-12, "interruptions");

  /* nodes fail every 1000 s and are away for 1000 s: a load of 1 on 1 server loses a half, on 2
     servers a fifth */
  in.repair_s = 1000;
  goodput_expect (&in, &out);
  near (out.waiting, 0.5, 1e-12, "no spares");
  in.n_spares = 1;
  goodput_expect (&in, &out);
  near (out.waiting, 0.2, 1e-12, "one spare");
}
END_TEST

START_TEST (test_stragglers_by_hand)
{
  /* 10 nodes, each slow every 1000 s for 100 s: busy 1 - 1/e of the time; half the speed then */
  const GoodputInput in = { .step_s = 1,
                            .n_steps = 1000,
                            .n_gpus = 80,
                            .n_nodes = 10,
                            .straggler_mtbf_s = 1000,
                            .straggler_s = 100,
                            .straggler_slowdown = 2 };
  Goodput            out;

  goodput_expect (&in, &out);
  near (out.useful, 1 - (1 - exp (-1)) / 2, 1e-12, "stragglers");
}
END_TEST

/* 10 nodes of which each is slow in one run of ten: 1 - 0.9^10 = 0.6513215599 of runs wait. */
START_TEST (test_slow_node_by_hand)
{
  GoodputInput in = { .step_s = 2,
                      .n_steps = 1000,
                      .n_gpus = 80,
                      .n_nodes = 10,
                      .slow_node_probability = 0.1,
                      .slow_step_s = 3 };
  Goodput      out;

  goodput_expect (&in, &out);
  near (out.slow, 0.6513215599, 1e-12, "probability");
  near (out.wall_s, 2000 + 1000 * 0.6513215599, 1e-12, "slow node");
  near (out.useful, 2000 / 2651.3215599, 1e-12, "slow node");

  /* ten checkpoints of 5 s in either kind of run */
  in.interval_s = 200;
  in.checkpoint_s = 5;
  goodput_expect (&in, &out);
  near (out.wall_s, 2050 + 1000 * 0.6513215599, 1e-12, "checkpoints");

  /* another that is slow for a while, no slower than the slow one: only others' runs wait for it */
  in.interval_s = in.checkpoint_s = 0;
  in.straggler_mtbf_s = 1000;
  in.straggler_s = 100;
  in.straggler_slowdown = 1.5;
  goodput_expect (&in, &out);
  near (out.wall_s, 3000 * 0.6513215599 + 2000 / (1 - (1 - exp (-1)) / 3) * (1 - 0.6513215599),
        1e-12, "the slowest part");

  in.slow_node_probability = 1;
  goodput_expect (&in, &out);
  near (out.wall_s, 3000, 0, "certain");
  in.slow_node_probability = 0;
  in.straggler_mtbf_s = 0;
  goodput_expect (&in, &out);
  near (out.wall_s, 2000, 0, "off");
  near (out.slow, 0, 0, "off");
}
END_TEST

/*
 * It is one node for a whole run: with nothing else two wall times, of which the one comes as often
 * as the probability says, however many steps there are. Jitter of steps averages out.
 */
START_TEST (test_slow_node_is_slow_throughout)
{
  GoodputInput  in = { .step_s = 2,
                       .n_steps = 1000,
                       .n_gpus = 80,
                       .n_nodes = 10,
                       .slow_node_probability = 0.05,
                       .slow_step_s = 3 };
  const double  slow = 1 - pow (0.95, 10); /* 0.401 */
  Goodput       expected;
  GoodputSample sample;

  for (guint times = 1; times <= 100; times *= 100)
    {
      in.n_steps = 1000 * times;
      goodput_expect (&in, &expected);
      goodput_sample (&in, &expected, 3, 1000, &sample);
      near (sample.p10_s, 2000.0 * times, 1e-9, "none");
      near (sample.p50_s, 2000.0 * times, 1e-9, "none");
      near (sample.p90_s, 3000.0 * times, 1e-9, "one");
      near (sample.mean_s / times, 2000 + 1000 * slow,
            4 * 1000 * sqrt (slow * (1 - slow) / 1000) / 2400, "mean");
    }
  in.jitter = 0.1; /* of a step; of 100 000 a three-hundredth of that */
  in.slow_node_probability = 0;
  goodput_expect (&in, &expected);
  goodput_sample (&in, &expected, 3, 200, &sample);
  ck_assert_double_lt (sample.p90_s - sample.p10_s, 0.002 * sample.mean_s);
}
END_TEST

/*
 * 8 sites of which each is lost every 96 h for 1 h, so one of them every 12 h. A job of one piece
 * stands still for 1 h in 13. Where others go on in rounds of 45 min: e^-(1/128) = 0.99221794 of
 * rounds end without a loss, and e^-0.75 = 0.47236655 of repairs take longer than a round. A site
 * takes part for 0.75 / (1/0.99221794 - 1) = 95.625488 h and misses 0.75 (1 + (0.52763345 -
 * 0.00778206) / 95 / (0.00778206 x 0.52763345)) = 1.7494990 h. All wait 10 s and 30 min for each
 * that leaves and joins.
 */
START_TEST (test_sites_by_hand)
{
  GoodputInput in = { .step_s = 20,
                      .n_steps = 100000,
                      .n_gpus = 64,
                      .n_nodes = 8,
                      .n_sites = 8,
                      .site_mtbf_s = 96 * HOUR,
                      .site_repair_s = HOUR,
                      .interval_s = HOUR,
                      .checkpoint_s = 60,
                      .restart_s = 600 };
  const double cycle = 95.625488 + 1.7494990, missing = 8 * 1.7494990 / cycle;
  Goodput      out;

  goodput_expect (&in, &out);
  near (out.mtbf_s, 12 * HOUR, 1e-12, "whole job");
  near (out.waiting, 1.0 / 13, 1e-12, "whole job");
  near (out.missing, 0, 0, "whole job");
  in.round_s = 45 * MINUTE;
  in.site_share = 0.125;
  in.notice_s = 10;
  in.join_s = 30 * MINUTE;
  in.interval_s = 0;
  goodput_expect (&in, &out);
  near (out.mtbf_s, 0, 0, "nothing stops the job");
  near (out.waiting, 0, 0, "nothing stops the job");
  near (out.missing, missing, 1e-5, "missing");
  near (out.site_loss_s, cycle / 8 * HOUR, 1e-6, "losses");
  near (out.useful,
        1 - 1810 / (cycle / 8 * HOUR)
            - (missing - (1800 * missing * 7 / 8 + 10 * (missing * 7 / 8 + 1)) / (cycle / 8 * HOUR))
                  / 8,
        1e-6, "useful");

  /* 8 GPUs of 800 h and a node of 400 h at each: every 80 h; with 96 h every 43.636 h */
  in.gpu_mtbf_s = 800 * HOUR;
  in.node_mtbf_s = 400 * HOUR;
  in.repair_s = HOUR - in.restart_s;
  goodput_expect (&in, &out);
  near (out.mtbf_s, 0, 0, "nor does a node");
  near (out.site_loss_s / HOUR, (1 / (1 / 80.0 + 1 / 96.0) + 1 + 0.375) / 8, 1e-3, "nodes");
  in.n_spares = 1; /* 10 min until it has started */
  goodput_expect (&in, &out);
  near (out.site_loss_s / HOUR, (1 / (1 / 80.0 + 1 / 96.0) + (96 / 6.0 + 80) / 176 + 0.375) / 8,
        2e-3, "a spare node");
}
END_TEST

/* What the two ways share is the input. */
static const struct
{
  const char  *name;
  GoodputInput in;
} runs[] = {
  { "failures of GPUs",
    { .step_s = 10,
      .n_steps = 40000,
      .n_gpus = 1024,
      .n_nodes = 128,
      .gpu_mtbf_s = 1024 * 3 * HOUR,
      .checkpoint_s = 60,
      .restart_s = 600 } },
  { "all kinds of failures, long restarts",
    { .step_s = 30,
      .n_steps = 8000,
      .n_gpus = 512,
      .n_nodes = 64,
      .gpu_mtbf_s = 512 * 4 * HOUR,
      .node_mtbf_s = 64 * 6 * HOUR,
      .job_mtbf_s = 5 * HOUR,
      .checkpoint_s = 120,
      .restart_s = 1800 } },
  { "jitter",
    { .step_s = 10,
      .n_steps = 40000,
      .n_gpus = 8,
      .n_nodes = 1,
      .job_mtbf_s = 4 * HOUR,
      .checkpoint_s = 30,
      .restart_s = 300,
      .jitter = 0.1 } },
  { "no spare nodes",
    { .step_s = 10,
      .n_steps = 80000,
      .n_gpus = 256,
      .n_nodes = 32,
      .node_mtbf_s = 32 * 10 * HOUR,
      .checkpoint_s = 30,
      .restart_s = 300,
      .repair_s = 4 * HOUR } },
  { "two spare nodes",
    { .step_s = 10,
      .n_steps = 80000,
      .n_gpus = 256,
      .n_nodes = 32,
      .node_mtbf_s = 32 * 3 * HOUR,
      .checkpoint_s = 30,
      .restart_s = 300,
      .n_spares = 2,
      .repair_s = 4 * HOUR } },
  { "stragglers",
    { .step_s = 1,
      .n_steps = 200000,
      .n_gpus = 64,
      .n_nodes = 8,
      .straggler_mtbf_s = 8 * HOUR,
      .straggler_s = 1800,
      .straggler_slowdown = 1.5 } },
  { "sites that stop the job",
    { .step_s = 20,
      .n_steps = 80000,
      .n_gpus = 64,
      .n_nodes = 8,
      .n_sites = 8,
      .site_mtbf_s = 96 * HOUR,
      .site_repair_s = 3 * HOUR,
      .checkpoint_s = 60,
      .restart_s = 600 } },
  { "sites, nodes without spares and the job",
    { .step_s = 20,
      .n_steps = 80000,
      .n_gpus = 64,
      .n_nodes = 8,
      .n_sites = 8,
      .site_mtbf_s = 200 * HOUR,
      .site_repair_s = 3 * HOUR,
      .node_mtbf_s = 100 * HOUR,
      .repair_s = 2 * HOUR,
      .job_mtbf_s = 30 * HOUR,
      .checkpoint_s = 60,
      .restart_s = 600 } },
  { "slow nodes and failures",
    { .step_s = 10,
      .n_steps = 40000,
      .n_gpus = 256,
      .n_nodes = 32,
      .gpu_mtbf_s = 256 * 6 * HOUR,
      .checkpoint_s = 60,
      .restart_s = 600,
      .slow_node_probability = 0.02,
      .slow_step_s = 11.5 } },
};

START_TEST (test_monte_carlo)
{
  GoodputInput  in = runs[_i].in;
  Goodput       expected;
  GoodputSample sample, again;

  goodput_expect (&in, &expected);
  goodput_sample (&in, &expected, 7, 150, &sample);
  ck_assert_uint_eq (sample.n_unfinished, 0);
  ck_assert_msg (fabs (sample.mean_s - expected.wall_s) < 4 * sample.error_s,
                 "%s: sampled %g +- %g, expected %g", runs[_i].name, sample.mean_s, sample.error_s,
                 expected.wall_s);
  ck_assert_double_lt (sample.error_s, 0.02 * sample.mean_s); /* so that the above says something */
  near (sample.mean_interruptions, expected.n_interruptions, 0.05, runs[_i].name);
  ck_assert (sample.p10_s <= sample.p50_s && sample.p50_s <= sample.p90_s);
  ck_assert (sample.p10_s < sample.mean_s && sample.mean_s < sample.p90_s);
  goodput_sample (&in, &expected, 7, 150, &again);
  ck_assert_double_eq (again.mean_s, sample.mean_s);
  goodput_sample (&in, &expected, 8, 150, &again);
  ck_assert_double_ne (again.mean_s, sample.mean_s);
}
END_TEST

/* Runs too long to be followed are sums of parts: their spread grows as a root. */
START_TEST (test_long)
{
  GoodputInput  in = runs[0].in;
  Goodput       expected;
  GoodputSample one, many;

  goodput_expect (&in, &expected);
  goodput_sample (&in, &expected, 7, 150, &one);
  in.n_steps *= 10000;
  goodput_expect (&in, &expected);
  goodput_sample (&in, &expected, 7, 150, &many);
  ck_assert_double_lt (fabs (many.mean_s - expected.wall_s), 4 * many.error_s);
  near (many.mean_interruptions, expected.n_interruptions, 0.01, "interruptions");
  near (many.p90_s - many.p10_s, 100 * (one.p90_s - one.p10_s), 0.3, "spread");

  /* parts of a run are slow together: the two kinds of runs are as far apart as their steps */
  in.slow_node_probability = 0.004; /* of 128: 0.40 */
  in.slow_step_s = 12;
  goodput_expect (&in, &expected);
  goodput_sample (&in, &expected, 7, 150, &many);
  ck_assert_double_lt (fabs (many.mean_s - expected.wall_s), 4 * many.error_s);
  near (many.p90_s / many.p10_s, 1.2, 0.01, "slow throughout");
}
END_TEST

/* Failures and stragglers together: the closed form takes the mean speed in each segment. */
START_TEST (test_together)
{
  GoodputInput  in = runs[0].in;
  Goodput       expected;
  GoodputSample sample;

  in.straggler_mtbf_s = 128 * 12 * HOUR;
  in.straggler_s = HOUR;
  in.straggler_slowdown = 1.3;
  goodput_expect (&in, &expected);
  goodput_sample (&in, &expected, 7, 150, &sample);
  near (expected.wall_s, sample.mean_s, 0.01, "failures and stragglers");
}
END_TEST

/* Sites that others go on without: nothing interrupts the job, which is slower for a while. */
START_TEST (test_sites)
{
  GoodputInput  in = { .step_s = 20,
                       .n_steps = 80000,
                       .n_gpus = 64,
                       .n_nodes = 8,
                       .n_sites = 8,
                       .site_mtbf_s = 96 * HOUR,
                       .site_repair_s = 6 * HOUR,
                       .round_s = 2000,
                       .site_share = 0.12,
                       .notice_s = 10,
                       .join_s = 600 };
  Goodput       expected;
  GoodputSample sample;

  for (guint with = 0; with < 5; with++)
    {
      if (with == 1) /* often, and rounds as long as repairs */
        {
          in.site_mtbf_s = 30 * HOUR;
          in.round_s = 6 * HOUR;
        }
      if (with == 2)
        {
          in.node_mtbf_s = 60 * HOUR;
          in.job_mtbf_s = 20 * HOUR;
          in.checkpoint_s = 60;
          in.restart_s = 600;
        }
      if (with == 3) /* all wait for most of the time */
        {
          in.node_mtbf_s = in.job_mtbf_s = 0;
          in.site_mtbf_s = 10 * HOUR;
          in.round_s = 2000;
          in.join_s = HOUR / 2;
        }
      if (with == 4) /* few rounds end without a loss */
        {
          in.round_s = 20 * HOUR;
          in.site_share = 0.125;
          in.join_s = 0;
        }
      goodput_expect (&in, &expected);
      goodput_sample (&in, &expected, 7, 150, &sample);
      ck_assert_double_lt (expected.useful, 0.985);
      ck_assert_msg (fabs (sample.mean_s - expected.wall_s) < 4 * sample.error_s,
                     "sites %u: sampled %g +- %g, expected %g", with, sample.mean_s, sample.error_s,
                     expected.wall_s);
      ck_assert_double_lt (sample.error_s, 0.01 * sample.mean_s);
      ck_assert (sample.p10_s < sample.mean_s && sample.mean_s < sample.p90_s);
    }
  in.site_mtbf_s = 1; /* nobody is there */
  in.site_repair_s = 1000 * HOUR;
  goodput_expect (&in, &expected);
  ck_assert_double_lt (expected.useful, 0.05);
}
END_TEST

/* A job that fails faster than it restarts never ends, and says so. */
START_TEST (test_hopeless)
{
  const GoodputInput in = { .step_s = 10,
                            .n_steps = 100,
                            .n_gpus = 8,
                            .n_nodes = 1,
                            .job_mtbf_s = 60,
                            .checkpoint_s = 60,
                            .restart_s = 600 };
  Goodput            expected;
  GoodputSample      sample;

  goodput_expect (&in, &expected);
  ck_assert_double_lt (expected.useful, 1e-4);
  goodput_sample (&in, &expected, 1, 10, &sample);
  ck_assert_uint_eq (sample.n_unfinished, 10);
  ck_assert (isinf (sample.p50_s));
}
END_TEST

/*
 * Llama 3 405B (arXiv:2407.21783, 3.3.4): 16 384 H100, 419 unexpected interruptions in 54 days and
 * over 90 % effective training time. What a restart and a checkpoint took is not published. Over 5
 * to 15 minutes for the one and 10 to 60 s for the other the closed form has 83 to 93 %: the
 * published bound lies in it, at its quick end. Nothing is fitted; the rate is the published count.
 */
START_TEST (test_llama)
{
  static const double restarts[] = { 5 * MINUTE, 15 * MINUTE }, writes[] = { 10, 60 };
  double              least = 1, most = 0;

  for (guint r = 0; r < 2; r++)
    for (guint w = 0; w < 2; w++)
      {
        const GoodputInput in = { .step_s = 10,
                                  .n_steps = (guint64) (54 * DAY / 10),
                                  .n_gpus = 16384,
                                  .n_nodes = 2048,
                                  .gpu_mtbf_s = 54 * DAY / 419 * 16384,
                                  .checkpoint_s = writes[w],
                                  .restart_s = restarts[r] };
        Goodput            out;

        goodput_expect (&in, &out);
        near (out.mtbf_s / HOUR, 3.093, 1e-3, "hours between interruptions");
        least = MIN (least, out.useful);
        most = MAX (most, out.useful);
      }
  near (least, 0.830, 1e-3, "slow");
  near (most, 0.933, 1e-3, "quick");
}
END_TEST

SUITE_MAIN (goodput)
{
  Suite *suite = suite_create ("goodput");
  TCase *tests = tcase_create ("goodput");

  tcase_add_test (tests, test_daly);
  tcase_add_test (tests, test_best_interval);
  tcase_add_test (tests, test_by_hand);
  tcase_add_test (tests, test_stragglers_by_hand);
  tcase_add_test (tests, test_slow_node_by_hand);
  tcase_add_test (tests, test_slow_node_is_slow_throughout);
  tcase_add_loop_test (tests, test_monte_carlo, 0, G_N_ELEMENTS (runs));
  tcase_add_test (tests, test_long);
  tcase_add_test (tests, test_together);
  tcase_add_test (tests, test_sites_by_hand);
  tcase_add_test (tests, test_sites);
  tcase_add_test (tests, test_hopeless);
  tcase_add_test (tests, test_llama);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
