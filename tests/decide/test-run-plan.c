/*
 * A run's plan, by arithmetic: a chooser whose steps are known. Asserted: steps from tokens,
 * days from steps, GPU-hours, money and energy, the fewest nodes and which numbers are asked for,
 * what is missed and by how much, numbers of nodes that cannot run or cannot be in time, a choice
 * that is asked for again, lists of numbers of nodes, what a checkpoint holds. Not asserted:
 * predictions of steps, searches.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "../suite.h"
#include "decide/plan/plans.h"

#define DAY 86400.0

/* 8 GPUs a node; a step of a million tokens takes 64 s on one node, as much less on more; one node
   is too small, 3 divide nothing. */
static Prediction *
choose (guint n_nodes, gpointer who, RunChoice *choice, DiagList *diags, GError **error)
{
  Prediction *p;

  (void) choice;
  (void) error;
  (*(guint *) who)++;
  if (n_nodes == 3)
    {
      diag_error (diags, NULL, NULL, "3 nodes do not divide the batch");
      return NULL;
    }
  p = g_new0 (Prediction, 1);
  p->settings = g_array_new (FALSE, FALSE, sizeof (ScenarioSetting));
  p->bindings = g_array_new (FALSE, FALSE, sizeof (BindingUse));
  p->traffic = g_array_new (FALSE, FALSE, sizeof (TrafficUse));
  p->fits = n_nodes > 1;
  p->n_gpus = 8 * n_nodes;
  p->step_time_s = 64.0 / n_nodes;
  p->tokens_per_step = 1e6;
  p->n_parameters = 1e9;
  return p;
}

/* The same; WHO: what it says of a step with a slow node. */
static Prediction *
choose_slow (guint n_nodes, gpointer who, RunChoice *choice, DiagList *diags, GError **error)
{
  guint n = 0;

  choice->slow_step_s = *(double *) who;
  return choose (n_nodes, &n, choice, diags, error);
}

static const RunGoal plain = { .tokens = 10.8e9, .n_runs = 20, .price = 2, .power_w = 1000 };

START_TEST (test_arithmetic)
{
  const guint         nodes[] = { 4 };
  guint               n = 0;
  g_autoptr (RunPlan) plan = run_plan_new (&plain, "hand", nodes, 1, FALSE, choose, &n, NULL);
  const RunOption    *option = plan->best;

  ck_assert_ptr_nonnull (option);
  ck_assert_uint_eq (option->n_steps, 10800);
  /* 10800 steps of 16 s are two days; 32 GPUs of 48 hours */
  ck_assert_double_eq_tol (option->sample.p90_s, 2 * DAY, 1e-6);
  ck_assert_double_eq_tol (option->gpu_hours, 1536, 1e-9);
  ck_assert_double_eq_tol (option->money, 3072, 1e-9);
  ck_assert_double_eq_tol (option->energy_j, 32e3 * 2 * DAY, 1e-3);
  ck_assert_double_eq (option->goodput.useful, 1);
}
END_TEST

START_TEST (test_fewest)
{
  const guint         nodes[] = { 1, 2, 3, 4, 8, 16 };
  RunGoal             goal = plain;
  guint               n = 0, all = 0;
  g_autoptr (RunPlan) plan = NULL, every = NULL;

  goal.deadline_s = 1.5 * DAY; /* 4 nodes take two days, 8 one, 6 one and a third */
  plan = run_plan_new (&goal, "hand", nodes, 6, FALSE, choose, &n, NULL);
  ck_assert_uint_eq (plan->best->n_nodes, 6);
  ck_assert_uint_eq (n, 7); /* nobody asked for 16; in between for 6 and 5 */
  ck_assert_uint_eq (plan->options->len, 7);
  ck_assert_ptr_null (plan->nearest);
  every = run_plan_new (&goal, "hand", nodes, 6, TRUE, choose, &all, NULL);
  ck_assert_uint_eq (every->best->n_nodes, 8);
  ck_assert_uint_eq (all, 6);
  {
    const RunOption *one = g_ptr_array_index (plan->options, 0);
    const RunOption *three = g_ptr_array_index (plan->options, 2);
    const RunOption *four = g_ptr_array_index (plan->options, 3);

    ck_assert_str_eq (one->why, "it does not fit into memory");
    ck_assert_str_eq (three->why, "3 nodes do not divide the batch");
    ck_assert (!one->meets && !three->meets && !four->meets);
    ck_assert_double_eq_tol (four->late_s, 0.5 * DAY, 1e-6);
  }
}
END_TEST

START_TEST (test_missed)
{
  const guint         nodes[] = { 1, 2, 4 };
  RunGoal             goal = plain;
  guint               n = 0;
  g_autoptr (RunPlan) late = NULL, dear = NULL;

  goal.deadline_s = DAY;
  late = run_plan_new (&goal, "hand", nodes, 3, FALSE, choose, &n, NULL);
  ck_assert_ptr_null (late->best);
  ck_assert_uint_eq (late->nearest->n_nodes, 4);
  ck_assert_double_eq_tol (late->nearest->late_s, DAY, 1e-6);
  goal.deadline_s = 0;
  goal.budget = 3000; /* all take 1536 GPU-hours of 2 */
  dear = run_plan_new (&goal, "hand", nodes, 3, FALSE, choose, &n, NULL);
  ck_assert_ptr_null (dear->best);
  ck_assert_double_eq_tol (dear->nearest->over, 72, 1e-6);
}
END_TEST

/* Failures cost time, spare nodes money, and a checkpoint is what its bytes over the rate take. */
START_TEST (test_failures)
{
  const guint         nodes[] = { 4 };
  RunGoal             goal = plain;
  guint               n = 0;
  g_autoptr (RunPlan) plan = NULL, job = NULL;
  const RunOption    *option;

  goal.failures = (GoodputInput){
    .gpu_mtbf_s = 32 * 4 * 3600, .restart_s = 600, .n_spares = 1, .repair_s = 3600
  };
  goal.bytes_per_parameter = 12;
  goal.checkpoint_node_bps = 100e6;
  plan = run_plan_new (&goal, "hand", nodes, 1, FALSE, choose, &n, NULL);
  option = plan->best;
  ck_assert_double_eq (option->checkpoint_bytes, 12e9);
  ck_assert_double_eq_tol (option->input.checkpoint_s, 30, 1e-9);
  ck_assert_double_eq_tol (option->goodput.mtbf_s, 4 * 3600, 1e-6);
  ck_assert (option->goodput.useful < 0.95 && option->goodput.useful > 0.85);
  ck_assert (option->sample.p90_s > option->goodput.wall_s);
  /* five nodes are paid, four burn power */
  ck_assert_double_eq_tol (option->gpu_hours, option->sample.p90_s / 3600 * 40, 1e-6);
  ck_assert_double_eq_tol (option->energy_j, option->sample.p90_s * 32e3, 1);

  goal.checkpoint_bps = 1.2e9;
  job = run_plan_new (&goal, "hand", nodes, 1, FALSE, choose, &n, NULL);
  ck_assert_double_eq_tol (job->best->input.checkpoint_s, 10, 1e-9);
}
END_TEST

/* With a slow node a step takes what the chooser says, or as long as its rate implies. */
START_TEST (test_slow_node)
{
  static const double says[] = { 0, 20, 15 }, steps[] = { 32, 20, 16 };
  const guint         nodes[] = { 4 };
  RunGoal             goal = plain;

  goal.slow_node_rate = 0.5;
  goal.failures.slow_node_probability = 1; /* so that every run is a slow one */
  for (guint i = 0; i < G_N_ELEMENTS (says); i++)
    {
      double              slow = says[i];
      g_autoptr (RunPlan) plan =
          run_plan_new (&goal, "hand", nodes, 1, FALSE, choose_slow, &slow, NULL);

      ck_assert_double_eq (plan->best->input.step_s, 16);
      ck_assert_double_eq (plan->best->input.slow_step_s, steps[i]);
      ck_assert_double_eq_tol (plan->best->sample.p10_s, 10800 * steps[i], 1e-6);
      ck_assert_double_eq_tol (plan->best->goodput.wall_s, 10800 * steps[i], 1e-6);
    }
}
END_TEST

/* The numbers of nodes of PLAN: "1 2 4". Newly allocated. */
static char *
numbers_of (const RunPlan *plan)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < plan->options->len; i++)
    g_string_append_printf (text, "%s%u", i > 0 ? " " : "",
                            ((const RunOption *) g_ptr_array_index (plan->options, i))->n_nodes);
  return g_string_free (text, FALSE);
}

/* Between the doublings those are tried whose odd part divides the batch with the ranks' own. */
START_TEST (test_bisection)
{
  static const struct
  {
    gint64      batch, node_gpus, replica, micro;
    double      days; /* n nodes take 8 / n */
    guint       best;
    const char *tried;
  } cases[] = {
    { 0, 0, 0, 0, 0.49, 17, "4 8 16 17 18 20 24 32" },
    { 1024, 8, 1, 0, 0.4, 32, "4 8 16 32" },
    { 960, 8, 1, 0, 0.4, 20, "4 8 16 20 24 32" },
    { 960, 8, 7, 0, 0.3, 28, "4 8 16 24 28 30 32" },
    { 960, 8, 1, 0, 0.21, 40, "4 8 16 32 40 48 64" },
    { 960, 8, 1, 0, 2.5, 4, "4" },
    /* a mesh as it is: all data ranks divide the batch */
    { 1024, 8, 1, 1, 0.4, 32, "4 8 16 32" },
    { 960, 8, 1, 1, 0.4, 20, "4 8 16 20 24 32" },
    { 960, 8, 1, 2, 0.4, 20, "4 8 16 20 30 32" },
    { 1920, 8, 4, 4, 0.3, 30, "4 8 16 24 30 32" },
  };
  const guint nodes[] = { 4, 8, 16, 32, 64 };

  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    {
      RunGoal             goal = plain;
      guint               n = 0;
      g_autoptr (RunPlan) plan = NULL;
      g_autofree char    *tried = NULL;

      goal.deadline_s = cases[c].days * DAY;
      goal.batch = cases[c].batch;
      goal.node_gpus = cases[c].node_gpus;
      goal.replica = cases[c].replica;
      goal.micro = cases[c].micro;
      plan = run_plan_new (&goal, "hand", nodes, 5, FALSE, choose, &n, NULL);
      tried = numbers_of (plan);
      ck_assert_str_eq (tried, cases[c].tried);
      ck_assert_uint_eq (plan->best->n_nodes, cases[c].best);
      ck_assert_uint_eq (n, plan->options->len);
    }
}
END_TEST

/* A node at full speed takes two days: less than one cannot be had with fewer than three. */
START_TEST (test_full_speed)
{
  const guint         nodes[] = { 1, 2, 4, 8, 16 };
  RunGoal             goal = plain;
  guint               n = 0;
  g_autoptr (RunPlan) plan = NULL, patient = NULL;
  const RunOption    *two;

  goal.deadline_s = 0.9 * DAY;
  goal.token_s = 2 * DAY / goal.tokens;
  plan = run_plan_new (&goal, "hand", nodes, 5, FALSE, choose, &n, NULL);
  two = g_ptr_array_index (plan->options, 1);
  ck_assert_str_eq (two->why, "cannot: even at the GPUs' full speed it takes 1.000 days");
  ck_assert (two->answered && !two->meets && two->prediction == NULL);
  ck_assert_uint_eq (plan->best->n_nodes, 9);
  ck_assert_uint_eq (n, plan->options->len - 2);
  goal.deadline_s = 0; /* then there is nothing that they cannot */
  n = 0;
  patient = run_plan_new (&goal, "hand", nodes, 2, TRUE, choose, &n, NULL);
  ck_assert_uint_eq (n, 2);
  ck_assert_uint_eq (patient->best->n_nodes, 2);
}
END_TEST

/* Two days of a node of 8 GPUs at a price of 2 are 768 of any number of nodes. */
START_TEST (test_full_speed_costs)
{
  const guint         nodes[] = { 2, 4 };
  RunGoal             goal = plain;
  guint               n = 0;
  g_autoptr (RunPlan) little = NULL, enough = NULL;
  const RunOption    *four;

  goal.token_s = 2 * DAY / goal.tokens;
  goal.node_gpus = 8;
  goal.budget = 767;
  little = run_plan_new (&goal, "hand", nodes, 2, FALSE, choose, &n, NULL);
  four = g_ptr_array_index (little->options, 1);
  ck_assert_str_eq (four->why, "cannot: even at the GPUs' full speed it costs 768");
  ck_assert_uint_eq (n, 0);
  goal.budget = 769;
  enough = run_plan_new (&goal, "hand", nodes, 2, FALSE, choose, &n, NULL);
  ck_assert_uint_eq (n, 2);
  ck_assert_ptr_null (enough->best); /* the chooser's four times slower */
}
END_TEST

/* Nodes beyond those that are in time only cost more; fewer may still cost less. */
START_TEST (test_dear)
{
  const guint         nodes[] = { 2, 4, 8, 16, 32 };
  RunGoal             goal = plain;
  guint               n = 0;
  g_autoptr (RunPlan) plan = NULL;
  g_autofree char    *tried = NULL;

  goal.deadline_s = 2.5 * DAY;
  goal.budget = 3000;
  plan = run_plan_new (&goal, "hand", nodes, 5, FALSE, choose, &n, NULL);
  tried = numbers_of (plan);
  ck_assert_str_eq (tried, "2 3 4 8");
  ck_assert_ptr_null (plan->best);
  ck_assert_uint_eq (plan->nearest->n_nodes, 4);
}
END_TEST

/* A search that finds little for two nodes until it was asked for four. */
static Prediction *
choose_poorly (guint n_nodes, gpointer who, RunChoice *choice, DiagList *diags, GError **error)
{
  guint      *most = who;
  Prediction *p;

  if (n_nodes == 1)
    {
      choice->why = g_strdup ("nothing that was tried fits");
      return NULL;
    }
  p = choose (n_nodes, &(guint){ 0 }, choice, diags, error);
  p->step_time_s *= n_nodes == 2 && *most < 4 ? 1.5 : 1;
  choice->label = g_strdup (n_nodes == 2 && *most < 4 ? "poor" : "good");
  *most = MAX (*most, n_nodes);
  return p;
}

START_TEST (test_asked_again)
{
  const guint         nodes[] = { 1, 2, 4 };
  RunGoal             goal = plain;
  guint               most = 0;
  g_autoptr (RunPlan) plan = NULL;
  const RunOption    *one;

  goal.deadline_s = 4.5 * DAY; /* two nodes take four days, or six */
  plan = run_plan_new (&goal, "hand", nodes, 3, FALSE, choose_poorly, &most, NULL);
  ck_assert_uint_eq (plan->best->n_nodes, 2);
  ck_assert_str_eq (plan->best->choice.label, "good");
  ck_assert_uint_eq (plan->options->len, 3);
  one = g_ptr_array_index (plan->options, 0);
  ck_assert_str_eq (one->why, "nothing that was tried fits");
  ck_assert (one->answered);
}
END_TEST

/* ---- words ----------------------------------------------------------------------------------- */

START_TEST (test_counts)
{
  static const char *const good[] = { "4", "1,3", "1..8", "1..4,8..32" };
  static const char *const bad[] = {
    "", "0", "4x", "4x..8", "4..8x", "4..", "8..4", "4,2", "1,,2"
  };

  for (guint i = 0; i < G_N_ELEMENTS (good) + G_N_ELEMENTS (bad); i++)
    {
      const gboolean       is_good = i < G_N_ELEMENTS (good);
      const char          *text = is_good ? good[i] : bad[i - G_N_ELEMENTS (good)];
      g_autoptr (DiagList) diags = diag_list_new ();
      const PlanWords      words = { .run.goal.tokens = 1, .counts = (char *) text };

      ck_assert_msg (plan_words_check (&words, diags) == is_good, "'%s'", text);
    }
}
END_TEST

/* Weights and every moment: of 8-bit AdamW bytes, as many of LAMB as of AdamW. */
START_TEST (test_checkpoint)
{
  static const struct
  {
    OptimizerKind optimizer;
    double        bytes;
  } cases[] = {
    { OPTIMIZER_ADAMW, 12 }, { OPTIMIZER_ADAMW_8BIT, 6 },   { OPTIMIZER_LAMB, 12 },
    { OPTIMIZER_SGD, 4 },    { OPTIMIZER_SGD_MOMENTUM, 8 },
  };
  Scenario          scenario = { 0 };
  const PlanChooser chooser = { .scenario = &scenario };

  option_table_defaults (training_options, &scenario.training);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      scenario.training.optimizer = cases[i].optimizer;
      ck_assert_msg (plan_chooser_facts (&chooser, FALSE).bytes_per_parameter == cases[i].bytes,
                     "case %u", i);
    }
  option_table_clear (training_options, &scenario.training);
}
END_TEST

SUITE_MAIN (run_plan)
{
  Suite *suite = suite_create ("run-plan");
  TCase *tests = tcase_create ("run-plan");

  tcase_add_test (tests, test_arithmetic);
  tcase_add_test (tests, test_fewest);
  tcase_add_test (tests, test_missed);
  tcase_add_test (tests, test_failures);
  tcase_add_test (tests, test_slow_node);
  tcase_add_test (tests, test_bisection);
  tcase_add_test (tests, test_full_speed);
  tcase_add_test (tests, test_full_speed_costs);
  tcase_add_test (tests, test_dear);
  tcase_add_test (tests, test_asked_again);
  tcase_add_test (tests, test_counts);
  tcase_add_test (tests, test_checkpoint);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
