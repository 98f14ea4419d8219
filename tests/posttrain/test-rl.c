/*
 * Steps of reinforcement learning: lengths and windows by hand, weights on their way by the
 * collectives that they take, and phases that make up a step. Not asserted: that a real step takes
 * as long; `shardsim validate rl` says by how much it differs.
 */
#include <check.h>
#include <math.h>
#include <stdarg.h>

#include "../suite.h"
#include "posttrain/rl-step.h"

#define CLOSE(a, b, tolerance) ck_assert_double_eq_tol (a, b, (tolerance) *fabs (1.0 * (b)))

static RlConfig
config (void)
{
  RlConfig self = { 0 };

  option_table_defaults (rl_options, &self);
  return self;
}

/* ---- lengths --------------------------------------------------------------------------------- */

typedef struct
{
  double mean, longest;
  guint  at_cut;
} Lengths;

static Lengths
lengths_of (const RlConfig *rl, guint n, double longest)
{
  g_autoptr (GArray) responses = responses_draw (rl, n, longest);
  Lengths            self = { 0 };

  ck_assert_uint_eq (responses->len, n);
  for (guint i = 0; i < n; i++)
    {
      const ServeRequest *one = &g_array_index (responses, ServeRequest, i);

      ck_assert (one->arrival_s == 0 && one->prompt == rl->prompt_tokens);
      self.mean += (double) one->output / n;
      self.longest = MAX (self.longest, one->output);
      self.at_cut += one->output + rl->prompt_tokens >= longest;
    }
  return self;
}

/* The mean is that of what is written, whatever is cut, and whatever the spread. */
START_TEST (test_mean_of_responses)
{
  static const double means[] = { 300, 749, 2000, 3203 }, spreads[] = { 0, 0.3, 0.5, 1 };

  for (guint m = 0; m < G_N_ELEMENTS (means); m++)
    for (guint s = 0; s < G_N_ELEMENTS (spreads); s++)
      {
        RlConfig rl = config ();
        Lengths  lengths;

        rl.response_tokens = means[m];
        rl.length_spread = spreads[s];
        lengths = lengths_of (&rl, 2048, 4096);
        CLOSE (lengths.mean, means[m], 2e-3);
        CLOSE (lengths.longest, 4096 - rl.prompt_tokens, 1e-12);
      }
}
END_TEST

/* Three of 2048 do not end (0.001, rounded up); without them the longest is as it is drawn. */
START_TEST (test_endless)
{
  RlConfig rl = config ();

  rl.response_tokens = 300;
  rl.length_spread = 0.1;
  ck_assert_uint_eq (lengths_of (&rl, 2048, 16384).at_cut, 3);
  rl.endless = 0;
  ck_assert_uint_eq (lengths_of (&rl, 2048, 16384).at_cut, 0);
  ck_assert (lengths_of (&rl, 2048, 16384).longest < 450);
  rl.response_tokens = 1e6; /* all are cut */
  ck_assert_uint_eq (lengths_of (&rl, 64, 4096).at_cut, 64);
}
END_TEST

/* A seed deals the same lengths in another order. */
START_TEST (test_seeds)
{
  RlConfig           rl = config ();
  g_autoptr (GArray) a = responses_draw (&rl, 64, 4096);
  g_autoptr (GArray) again = responses_draw (&rl, 64, 4096);
  g_autoptr (GArray) b = NULL;
  double             sums[2] = { 0 };

  rl.seed = 7;
  b = responses_draw (&rl, 64, 4096);
  ck_assert_mem_eq (a->data, again->data, 64 * sizeof (ServeRequest));
  ck_assert_mem_ne (a->data, b->data, 64 * sizeof (ServeRequest));
  for (guint i = 0; i < 64; i++)
    {
      sums[0] += g_array_index (a, ServeRequest, i).output;
      sums[1] += g_array_index (b, ServeRequest, i).output;
    }
  CLOSE (sums[0], sums[1], 1e-12);
}
END_TEST

/*
 * Prompts of 1 with responses of 5, 4, 3, 2, 1, 7 tokens: 6, 5, 4, 3, 2, 8 of windows of 8. One
 * rank: 8 | 6 2 | 5 3 | 4. Two ranks in turn: 6 4 2 -> 6 2 | 4, and 5 3 8 -> 8 | 5 3.
 */
START_TEST (test_packing)
{
  static const guint32 outputs[] = { 5, 4, 3, 2, 1, 7 };
  g_autoptr (GArray)   responses = g_array_new (FALSE, FALSE, sizeof (ServeRequest));
  PackedResponses      packed;

  for (guint i = 0; i < G_N_ELEMENTS (outputs); i++)
    {
      const ServeRequest one = { 0, 1, outputs[i] };

      g_array_append_val (responses, one);
    }
  packed = responses_pack (responses, 0, 6, 1, 8);
  CLOSE (packed.windows, 4, 1e-12);
  CLOSE (packed.filled, 28 / 4.0, 1e-12);
  CLOSE (packed.length, 28 / 6.0, 1e-12);
  packed = responses_pack (responses, 0, 6, 2, 8);
  CLOSE (packed.windows, 2, 1e-12);
  CLOSE (packed.filled, 28 / 4.0, 1e-12);
  packed = responses_pack (responses, 4, 2, 1, 8); /* 2 and 8 */
  CLOSE (packed.windows, 2, 1e-12);
  CLOSE (packed.length, 5, 1e-12);
}
END_TEST

/* ---- steps ----------------------------------------------------------------------------------- */

#define MOST_PAIRS 32

/* The scenario of KEY, VALUE, ..., NULL on CLUSTER. NULL after diagnostics. */
static Scenario *
scenario_of (const char *cluster, DiagList *diags, va_list pairs)
{
  ScenarioOverride all[MOST_PAIRS] = {
    { "cluster.name", cluster, "test" },
    { "model.config", "qwen3-0.6b", "test" },
    { "training.seq_len", "1024", "test" },
    { "strategy.name", "zero1", "test" },
    { "training.global_batch", "64", "test" },
    { "rl.algorithm", "grpo", "test" },
    { "rl.prompts", "16", "test" },
    { "rl.responses", "8", "test" },
    { "rl.response_tokens", "400", "test" },
  };
  guint                 n = 9;
  g_autoptr (GPtrArray) loaded = NULL;

  for (const char *key = va_arg (pairs, const char *); key != NULL;
       key = va_arg (pairs, const char *))
    all[n++] = (ScenarioOverride){ key, va_arg (pairs, const char *), "test" };
  loaded = scenario_load (NULL, NULL, all, n, diags);
  return loaded != NULL ? scenario_copy (g_ptr_array_index (loaded, 0)) : NULL;
}

static RlStep *G_GNUC_NULL_TERMINATED
step_of (const char *cluster, ...)
{
  const PredictOptions options = { 0 };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (Scenario) scenario = NULL;
  RlStep              *step;
  va_list              pairs;

  va_start (pairs, cluster);
  scenario = scenario_of (cluster, diags, pairs);
  va_end (pairs);
  ck_assert_msg (scenario != NULL, "%s", diag_list_first_message (diags));
  step = rl_step_predict (scenario, NULL, &options, diags, &error);
  ck_assert_msg (step != NULL, "%s", diag_list_first_message (diags));
  return step;
}

/* The step is refused for a reason that has WORDS. */
static void G_GNUC_NULL_TERMINATED
refuses (const char *words, ...)
{
  const PredictOptions options = { 0 };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (Scenario) scenario = NULL;
  g_autoptr (RlStep)   step = NULL;
  va_list              pairs;

  va_start (pairs, words);
  scenario = scenario_of ("2 x dgx-h100", diags, pairs);
  va_end (pairs);
  if (scenario != NULL)
    step = rl_step_predict (scenario, NULL, &options, diags, &error);
  ck_assert_ptr_null (step);
  ck_assert_msg (strstr (diag_list_first_message (diags), words) != NULL, "%s",
                 diag_list_first_message (diags));
}

static double
sum_of (const RlStep *step)
{
  double sum = 0;

  for (guint p = 0; p < RL_N_PHASES; p++)
    sum += step->phases[p];
  return sum;
}

/* In turn nothing overlaps: 128 responses in two optimizer steps of 64. */
START_TEST (test_in_turn)
{
  g_autoptr (RlStep) step = step_of ("dgx-h100", NULL);

  CLOSE (step->step_time_s, sum_of (step), 1e-12);
  ck_assert_uint_eq (step->n_updates, 2);
  CLOSE (step->phases[RL_TRAINING], 2 * step->training->step_time_s, 1e-12);
  CLOSE (step->phases[RL_GENERATION], step->generation.seconds, 1e-12);
  CLOSE (step->tokens_per_s_per_gpu,
         128 * (step->prompt_tokens + step->response_tokens) / step->step_time_s / 8, 1e-12);
  ck_assert (step->phases[RL_REFERENCE] > step->phases[RL_POLICY]); /* its weights come and go */
  ck_assert (step->phases[RL_VALUES] == 0 && step->phases[RL_CRITIC_TRAINING] == 0);
  ck_assert (step->phases[RL_STATES] > 0 && step->state_bytes > 0);
}
END_TEST

/* Two pools, one after the other: each waits while the other one works. */
START_TEST (test_pools_on_policy)
{
  g_autoptr (RlStep) step = step_of ("2 x dgx-h100", "rl.generation_nodes", "1", NULL);
  const double       generating = step->phases[RL_GENERATION] + step->phases[RL_REFIT];

  CLOSE (step->step_time_s, sum_of (step), 1e-12);
  CLOSE (step->idle_generating, 1 - generating / step->step_time_s, 1e-12);
  CLOSE (step->idle_training,
         1 - (step->step_time_s - step->phases[RL_GENERATION]) / step->step_time_s, 1e-9);
  ck_assert_uint_eq (step->n_generating, 8);
  ck_assert (step->phases[RL_STATES] == 0);
}
END_TEST

/* One step off policy the slower pool sets the pace; rewards are made beside. */
START_TEST (test_pools_off_policy)
{
  g_autoptr (RlStep) on = step_of ("2 x dgx-h100", "rl.generation_nodes", "1", NULL);
  g_autoptr (RlStep) off = step_of ("2 x dgx-h100", "rl.generation_nodes", "1",
                                    "rl.off_policy_steps", "1", "rl.reward_time", "9 s", NULL);
  const double       training =
      off->phases[RL_POLICY] + off->phases[RL_REFERENCE] + off->phases[RL_TRAINING];

  CLOSE (off->step_time_s, MAX (off->phases[RL_GENERATION], training) + off->phases[RL_REFIT],
         1e-12);
  CLOSE (off->phases[RL_GENERATION], on->phases[RL_GENERATION], 1e-12);
  ck_assert (off->step_time_s < on->step_time_s);
  ck_assert (MIN (off->idle_generating, off->idle_training) < 1e-9);
}
END_TEST

/* With more steps on their way those that end late are not waited for alone. */
START_TEST (test_deep_queue)
{
  g_autoptr (RlStep) one =
      step_of ("2 x dgx-h100", "rl.generation_nodes", "1", "rl.off_policy_steps", "1", NULL);
  g_autoptr (RlStep) four =
      step_of ("2 x dgx-h100", "rl.generation_nodes", "1", "rl.off_policy_steps", "4", NULL);

  ck_assert (four->phases[RL_GENERATION] < one->phases[RL_GENERATION]);
  CLOSE (four->generation.output_tokens, 4 * one->generation.output_tokens, 1e-12);
}
END_TEST

/* PPO has a critic of the policy's size; DAPO no reference, and writes 1.6 times as many. */
START_TEST (test_algorithms)
{
  g_autoptr (RlStep) ppo = step_of ("dgx-h100", "rl.algorithm", "ppo", NULL);
  g_autoptr (RlStep) dapo =
      step_of ("dgx-h100", "rl.algorithm", "dapo", "rl.accepted", "0.625", NULL);
  g_autoptr (RlStep) twice = step_of ("dgx-h100", "rl.epochs", "2", NULL);

  CLOSE (ppo->phases[RL_VALUES], ppo->phases[RL_POLICY], 1e-12);
  CLOSE (ppo->phases[RL_CRITIC_TRAINING], ppo->phases[RL_TRAINING], 1e-12);
  ck_assert (dapo->phases[RL_REFERENCE] == 0);
  CLOSE (dapo->n_written, 205, 1e-12); /* 128 / 0.625, rounded up */
  CLOSE (dapo->n_responses, 128, 1e-12);
  ck_assert_uint_eq (twice->n_updates, 4);
}
END_TEST

/* A reward model as large as the policy reads for as long, on the GPUs that train. */
START_TEST (test_reward_model)
{
  g_autoptr (RlStep) step =
      step_of ("2 x dgx-h100", "rl.generation_nodes", "1", "rl.off_policy_steps", "1",
               "rl.reward_model", "qwen3-0.6b", "rl.reference", "false", NULL);

  CLOSE (step->phases[RL_SCORES], step->phases[RL_POLICY], 1e-12);
  CLOSE (step->idle_training,
         1
             - (step->phases[RL_SCORES] + step->phases[RL_POLICY] + step->phases[RL_TRAINING]
                + step->phases[RL_REFIT])
                   / step->step_time_s,
         1e-9);
}
END_TEST

/* For a plan the whole step trains on all responses' tokens, on all GPUs. */
START_TEST (test_as_prediction)
{
  RlStep                *step = step_of ("2 x dgx-h100", "rl.generation_nodes", "1", NULL);
  const double           seconds = step->step_time_s, rate = step->tokens_per_s_per_gpu;
  const double           one = step->training->model_flops;
  g_autoptr (Prediction) prediction = rl_step_to_prediction (step);

  CLOSE (prediction->step_time_s, seconds, 1e-12);
  CLOSE (prediction->tokens_per_s_per_gpu, rate, 1e-12);
  ck_assert_uint_eq (prediction->n_gpus, 16);
  CLOSE (prediction->model_flops, one, 1e-12); /* two optimizer steps on half of the GPUs */
  CLOSE (prediction->tokens_per_step, rate * seconds * 16, 1e-12);
}
END_TEST

/* ---- weights --------------------------------------------------------------------------------- */

static double
all_gather (const char *node, guint n, double bytes, double calls)
{
  g_autoptr (ProfileSet)     profiles = profile_set_new (NULL);
  g_autoptr (DiagList)       diags = diag_list_new ();
  g_autoptr (CollectivePlan) plan = NULL;
  g_autofree guint32        *ranks = g_new (guint32, n);
  ClusterOptions             wanted = { 0 };
  CollectiveCost             cost;
  Cluster                   *cluster;

  option_table_defaults (cluster_options, &wanted);
  g_free (wanted.name);
  wanted.name = g_strdup (node);
  cluster = cluster_new (&wanted, profiles, NULL, diags);
  for (guint i = 0; i < n; i++)
    ranks[i] = i;
  plan =
      collective_plan_new (cluster, COLLECTIVE_ALL_GATHER, ranks, n, &collective_default_options);
  collective_plan_cost (plan, bytes / calls, &cost);
  g_clear_pointer (&plan, collective_plan_free);
  cluster_free (cluster);
  option_table_clear (cluster_options, &wanted);
  return calls * cost.time;
}

/* Whole on every rank: nothing to gather, and the host's part of 311 tensors. */
START_TEST (test_refit_of_whole_weights)
{
  g_autoptr (RlStep) step = step_of ("dgx-h100", NULL);
  const double       parameters = step->training->n_parameters;

  CLOSE (step->refit.bytes, 2 * parameters, 1e-12);
  ck_assert (step->refit.gather_s == 0 && step->refit.hand_over_s == 0);
  CLOSE (step->phases[RL_REFIT], step->refit.n_tensors * 200e-6, 1e-12);
}
END_TEST

/* Two tensor ranks gather each tensor from both halves. */
START_TEST (test_refit_gathers)
{
  g_autoptr (RlStep) step = step_of ("dgx-h100", "mesh.tp", "2", "mesh.sp", "1", NULL);

  CLOSE (step->refit.gather_s, all_gather ("dgx-h100", 2, step->refit.bytes, step->refit.n_tensors),
         1e-9);
  CLOSE (step->phases[RL_REFIT], step->refit.gather_s + step->refit.host_s, 1e-12);
}
END_TEST

/* A rank gets its own part alone: of two tensor ranks about half. */
START_TEST (test_refit_reshards)
{
  g_autoptr (RlStep) step =
      step_of ("2 x dgx-h100", "rl.refit", "reshard", "generation.tp", "2", NULL);

  ck_assert (step->refit.gather_s == 0);
  ck_assert (step->refit.rank_bytes < 0.6 * step->refit.bytes);
  ck_assert (step->refit.rank_bytes > 0.45 * step->refit.bytes);
  /* over a card of 50 GB/s */
  ck_assert (step->refit.hand_over_s > step->refit.rank_bytes / 50e9);
}
END_TEST

/* ---- bad input ------------------------------------------------------------------------------- */

START_TEST (test_bad_input)
{
  refuses ("no responses wait in a queue", "rl.off_policy_steps", "1", NULL);
  refuses ("are more than 100000", "rl.prompts", "1000000", NULL);
  refuses ("leave none of the cluster's 2", "rl.generation_nodes", "2", NULL);
  refuses ("leave no room for responses", "rl.prompt_tokens", "1024", NULL);
  refuses ("is more than the 128 responses", "training.global_batch", "256", NULL);
  refuses ("does not divide the cluster's 8 GPUs", "rl.generation_nodes", "1", "generation.tp", "3",
           NULL);
  refuses ("do not stay on a GPU", "rl.keep_states", "true", "generation.memory_utilization",
           "0.99", NULL);
  refuses ("never fits", "model.config", "qwen3-4b", "generation.memory_utilization", "0.05", NULL);
}
END_TEST

/* Whoever knows training alone says so, in the place of a training step that nobody asked for. */
START_TEST (test_other_questions)
{
  const PredictOptions   options = { 0 };
  const ScenarioOverride all[] = {
    { "cluster.name", "dgx-h100", "test" }, { "model.config", "qwen3-0.6b", "test" },
    { "training.seq_len", "1024", "test" }, { "strategy.name", "zero1", "test" },
    { "rl.algorithm", "grpo", "test" },
  };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  g_autoptr (GPtrArray)  loaded = scenario_load (NULL, NULL, all, G_N_ELEMENTS (all), diags);
  g_autoptr (Prediction) prediction = NULL;

  ck_assert_ptr_nonnull (loaded);
  prediction = predict (g_ptr_array_index (loaded, 0), &options, diags, &error);
  ck_assert_ptr_null (prediction);
  ck_assert_ptr_nonnull (strstr (diag_list_first_message (diags), "reinforcement learning"));
}
END_TEST

/* What is said of the three sections is printed and read again; of others nothing is. */
START_TEST (test_print)
{
  const ScenarioOverride all[] = {
    { "cluster.name", "dgx-h100", "test" }, { "model.config", "qwen3-0.6b", "test" },
    { "training.seq_len", "1024", "test" }, { "strategy.name", "zero1", "test" },
    { "generation.tp", "2", "test" },       { "rl.algorithm", "rloo", "test" },
  };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) plain = scenario_load (NULL, NULL, all, 4, diags);
  g_autoptr (GPtrArray) loaded = scenario_load (NULL, NULL, all, G_N_ELEMENTS (all), diags);
  g_autofree char      *text = scenario_print (g_ptr_array_index (loaded, 0));
  g_autofree char      *other = scenario_print (g_ptr_array_index (plain, 0));
  g_autoptr (GPtrArray) again = scenario_load_text (NULL, "again", text, NULL, 0, diags);
  const Scenario       *read;

  ck_assert_msg (again != NULL, "%s", diag_list_first_message (diags));
  read = g_ptr_array_index (again, 0);
  ck_assert (read->rl.algorithm == RL_RLOO && read->generation.tp == 2);
  ck_assert_ptr_null (strstr (text, "serving:"));
  ck_assert_ptr_null (strstr (other, "generation:"));
  ck_assert_ptr_null (strstr (other, "rl:"));
}
END_TEST

SUITE_MAIN (rl)
{
  Suite *suite = suite_create ("rl");
  TCase *lengths = tcase_create ("lengths"), *steps = tcase_create ("steps");

  tcase_set_timeout (lengths, 60);
  tcase_add_test (lengths, test_mean_of_responses);
  tcase_add_test (lengths, test_endless);
  tcase_add_test (lengths, test_seeds);
  tcase_add_test (lengths, test_packing);
  suite_add_tcase (suite, lengths);
  tcase_set_timeout (steps, 60);
  tcase_add_test (steps, test_in_turn);
  tcase_add_test (steps, test_pools_on_policy);
  tcase_add_test (steps, test_pools_off_policy);
  tcase_add_test (steps, test_deep_queue);
  tcase_add_test (steps, test_algorithms);
  tcase_add_test (steps, test_reward_model);
  tcase_add_test (steps, test_as_prediction);
  tcase_add_test (steps, test_refit_of_whole_weights);
  tcase_add_test (steps, test_refit_gathers);
  tcase_add_test (steps, test_refit_reshards);
  tcase_add_test (steps, test_bad_input);
  tcase_add_test (steps, test_other_questions);
  tcase_add_test (steps, test_print);
  suite_add_tcase (suite, steps);
  return suite_run (suite);
}
