/*
 * Scenarios whose every value is allowed and whose whole is beyond reason (sequences of 64 Mi
 * tokens, thousands of layers, GPUs at a thousandth of their speed, fp32) end in a prediction or in
 * a message, never in an assertion or a wrapped number: what is predicted is finite and not
 * negative. Not asserted: which of them are too much.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "../suite.h"
#include "predict/prediction.h"

#define N_CASES 120

typedef struct
{
  ScenarioOverride list[48];
  guint            n;
} Overrides;

/* Words that a key may take, the first of them the modest one. */
typedef struct
{
  const char *key, *words[9];
} Choice;

static const Choice choices[] = {
  { "cluster.nodes", { "1", "2", "16", "512" } },
  { "cluster.gpus_per_node", { "8", "1", "2" } },
  { "cluster.gpu", { "h100-sxm-80", "t4-16", "a40-48", "mi300x-192" } },
  { "cluster.slow_gpus", { "0:1", "0:0.001", "0:0.5" } },
  { "model.arch", { "llama", "gpt" } },
  { "model.n_layers", { "4", "2", "400" } },
  { "model.d_model", { "1024", "64", "65536" } },
  { "model.n_heads", { "8", "64" } },
  { "model.d_ff", { "4096", "64", "1048576" } },
  { "model.vocab", { "32000", "64", "16777216" } },
  { "training.seq_len", { "2048", "64", "1048576", "67108864" } },
  { "training.micro_batch", { "1", "8", "64", "1048576" } },
  { "training.grad_accum", { "1", "2", "1000000000" } },
  { "training.precision", { "bf16-mixed", "fp16-mixed", "fp32" } },
  { "training.activation_checkpointing", { "none", "full", "selective" } },
  { "training.optimizer", { "adamw", "sgd", "none" } },
  { "training.attention", { "flash2", "eager", "fused-softmax" } },
  { "training.launch_blocking", { "off", "on" } },
  { "replay.granularity", { "pass", "kernel", "layer" } },
  { "mesh.tp", { "1", "2", "8" } },
  { "mesh.pp", { "1", "1", "2" } },
  { "mesh.cp", { "1", "1", "2" } },
  { "strategy.name",
    { "fsdp2", "ddp", "zero1", "zero2", "zero3", "fsdp1", "fcdp", "hsdp", "mics" } },
};

/* The modest word, or (EXTREME) any. */
static const char *
pick (GRand *rand, const Choice *choice, gboolean extreme)
{
  guint n = 0;

  while (n < G_N_ELEMENTS (choice->words) && choice->words[n] != NULL)
    n++;
  return choice->words[extreme ? g_rand_int_range (rand, 0, (gint) n) : 0];
}

static void
set (Overrides *self, const char *key, const char *value)
{
  self->list[self->n++] = (ScenarioOverride){ key, value, "test" };
}

static Scenario *
random_scenario (guint seed, DiagList *diags)
{
  g_autoptr (GRand)     rand = g_rand_new_with_seed (seed);
  g_autoptr (GPtrArray) all = NULL;
  Overrides             o = { .n = 0 };

  set (&o, "cluster.intra", "pcie4");
  set (&o, "cluster.nic", "ib-edr-100");
  set (&o, "cluster.nics", "1");
  set (&o, "cluster.node", "a40x8-nvlink-pairs");
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++)
    set (&o, choices[i].key, pick (rand, &choices[i], g_rand_int_range (rand, 0, 3) == 0));
  if (seed % 2 == 0) /* a GPU's longest: its kernels pass the clock, one or all */
    {
      set (&o, "training.seq_len", "67108864");
      set (&o, "training.micro_batch", "1");
      set (&o, "training.precision", "fp32");
      set (&o, "mesh.tp", "1");
    }
  all = scenario_load (NULL, NULL, o.list, o.n, diags);
  return all != NULL ? scenario_copy (g_ptr_array_index (all, 0)) : NULL;
}

/* Any number but an infinite or negative one. */
static gboolean
is_sound (double value)
{
  return isfinite (value) && value >= 0;
}

static void
check_prediction (const Prediction *p, guint seed)
{
  ck_assert_msg (is_sound (p->step_time_s) && p->step_time_s > 0, "case %u: a step of %g s", seed,
                 p->step_time_s);
  for (guint part = 0; part < TIME_N; part++)
    ck_assert_msg (is_sound (p->parts[part]), "case %u: part %u of %g s", seed, part,
                   p->parts[part]);
  ck_assert_msg (is_sound (p->tokens_per_s), "case %u: %g tokens/s", seed, p->tokens_per_s);
  ck_assert_msg (is_sound (p->mfu_percent), "case %u: MFU %g", seed, p->mfu_percent);
}

START_TEST (test_extremes)
{
  guint predicted = 0, refused = 0, failed = 0;

  for (guint seed = 0; seed < N_CASES; seed++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (GError)   error = NULL;
      Scenario            *scenario = random_scenario (seed, diags);
      PredictOptions       options = { 0 };
      Prediction          *prediction = NULL;

      if (scenario != NULL)
        prediction = predict (scenario, &options, diags, &error);
      if (prediction != NULL)
        check_prediction (prediction, seed);
      else
        ck_assert_msg (error != NULL || diag_list_n_errors (diags) > 0, "case %u says nothing",
                       seed);
      predicted += prediction != NULL;
      failed += error != NULL;
      refused += prediction == NULL && error == NULL;
      if (prediction != NULL)
        prediction_free (prediction);
      if (scenario != NULL)
        scenario_free (scenario);
    }
  fprintf (stderr, "%u predicted, %u refused, %u too long\n", predicted, refused, failed);
  /* The cases are what they are meant to be: some of each kind. */
  ck_assert_uint_gt (predicted, N_CASES / 4);
  ck_assert_uint_gt (refused, 0);
  ck_assert_uint_gt (failed, 0);
}
END_TEST

SUITE_MAIN (extremes)
{
  Suite *suite = suite_create ("extremes");
  TCase *tcase = tcase_create ("extremes");

  tcase_add_test (tcase, test_extremes);
  tcase_set_timeout (tcase, 280);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
