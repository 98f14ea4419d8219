/*
 * What cannot be is refused, and what does nothing is warned of: values that are right by
 * themselves and absurd beside the model, the cluster or each other. The nearest value that is not
 * absurd passes without a word.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "predict/prediction.h"

#define LLAMA "model.config=llama-3-8b;training.seq_len=2048;"
#define NODE  "cluster.name=dgx-h100;strategy.name=fsdp2;" LLAMA
#define TILES                                                                          \
  "cluster.name=dgx-h100;strategy.name=ddp;model.config=gpt2-xl;training.seq_len=512;" \
  "training.optimizer=adamw-8bit"
#define OWNERS                                                                                \
  "cluster.name=2 x dgx-h100;model.config=gpt2-xl;training.seq_len=512;strategy.name=slowmo;" \
  "strategy.inner.name=ddp;"
#define LOCAL "cluster.name=2 x dgx-h100;strategy.name=diloco;strategy.inner.name=fsdp2;" LLAMA

static const struct
{
  const char *settings, *key, *good, *absurd, *message;
  gboolean    warning;
} cases[] = {
  { NODE "training.activation_checkpointing=full", "training.recompute_layers", "32", "5000",
    "'recompute_layers' of 5000, but the model has 32 blocks", FALSE },
  { NODE, "training.activation_checkpointing", "layers:32", "layers:99",
    "every 99th block is none of 32 blocks", FALSE },
  { NODE "training.peft=lora", "training.lora_r", "4096", "4097",
    "'lora_r' of 4097 is above the rank of every matrix that it adapts, 4096 at most", FALSE },
  { NODE, "cluster.nics", "64", "256", "256 network cards for 8 GPUs: at most 8 each", FALSE },
  { NODE, "cluster.name", "p5", "unknown", "unknown cluster or node 'unknown'", FALSE },
  { TILES, "training.optimizer_tile", "1600", "1601",
    "'optimizer_tile' of 1601 is above the shorter side of every matrix, 1600 at most", FALSE },
  { TILES, "training.optimizer_tile", "32", "33",
    "'optimizer_tile' of 33 divides no matrix: tiles at all edges are parts", TRUE },
  { NODE "training.loss=chunked", "training.loss_chunk", "2048", "67108864",
    "'loss_chunk' of 67108864 is more than the 2048 tokens of a micro-batch: nothing is cut",
    TRUE },
  { NODE, "training.seq_len", "8192", "16384",
    "sequences of 16384 tokens, but 'llama-3-8b' was made for 8192", TRUE },
  { NODE, "strategy.shard", "2", "1", "strategy 'fsdp2' shards nothing: its groups have one rank",
    TRUE },
  { "strategy.name=hsdp;cluster.name=dgx-h100;" LLAMA, "cluster.gpus_per_node", "2", "1",
    "strategy 'hsdp' shards nothing: its groups have one rank", TRUE },
  { LOCAL, "strategy.worker", "node", "all",
    "strategy 'diloco' has one worker, of 16 ranks: there is nobody to average with", TRUE },
  /* of whose parts all ranks are owners: of one worker, too */
  { OWNERS, "strategy.worker", "node", "all",
    "strategy 'slowmo' has one worker, of 16 ranks: there is nobody to average with", TRUE },
  { OWNERS "strategy.name=co2;strategy.variant=release", "strategy.worker", "node", "all",
    "strategy 'co2' has one worker, of 16 ranks: there is nobody to average with", TRUE },
  /* none of whose states is cut, or which is about other places than the GPU */
  { "strategy.name=ddp;cluster.name=dgx-h100;model.config=gpt2-xl;training.seq_len=512",
    "cluster.gpus_per_node", "1", NULL, NULL, FALSE },
  { "strategy.name=zero-offload;cluster.name=dgx-h100;model.config=gpt2-xl;training.seq_len=512",
    "cluster.gpus_per_node", "1", NULL, NULL, FALSE },
};

/* FALSE: refused. */
static gboolean
take (const char *settings, const char *key, const char *value, DiagList *diags)
{
  g_auto (GStrv)         list = g_strsplit (settings, ";", -1);
  g_autoptr (GArray)     overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  const ScenarioOverride last = { key, value, "--set" };
  const PredictOptions   options = { 0 };
  g_autoptr (GPtrArray)  scenarios = NULL;
  g_autoptr (GError)     error = NULL;
  g_autoptr (Prediction) prediction = NULL;

  for (char **entry = list; *entry != NULL; entry++)
    {
      char            *equals = strchr (*entry, '=');
      ScenarioOverride override = { .key = *entry, .origin = "base" };

      if (equals == NULL)
        continue;
      *equals = '\0';
      override.value = equals + 1;
      g_array_append_val (overrides, override);
    }
  g_array_append_val (overrides, last);
  scenarios = scenario_load (NULL, NULL, (const ScenarioOverride *) (gpointer) overrides->data,
                             overrides->len, diags);
  if (scenarios != NULL)
    prediction = predict (g_ptr_array_index (scenarios, 0), &options, diags, &error);
  return prediction != NULL;
}

START_TEST (test_values)
{
  g_autoptr (DiagList) good = diag_list_new (), absurd = NULL;
  g_autofree char     *text = NULL;
  guint                n = 0;
  DiagView             view;

  ck_assert (take (cases[_i].settings, cases[_i].key, cases[_i].good, good));
  text = diag_list_format (good, FALSE);
  ck_assert_str_eq (text, "");
  if (cases[_i].absurd == NULL)
    return;
  absurd = diag_list_new ();
  ck_assert_int_eq (take (cases[_i].settings, cases[_i].key, cases[_i].absurd, absurd),
                    cases[_i].warning);
  ck_assert_str_eq (diag_list_first_message (absurd), cases[_i].message);
  for (; diag_list_get (absurd, n, &view); n++)
    ck_assert_int_eq (view.severity, cases[_i].warning ? DIAG_WARNING : DIAG_ERROR);
  ck_assert_uint_eq (n, 1); /* once */
}
END_TEST

/* An average in an average in an average ... */
START_TEST (test_nested)
{
  g_autoptr (GString)  settings = g_string_new (LLAMA "cluster.name=16 x dgx-h100");
  g_autoptr (GString)  path = g_string_new ("strategy");
  g_autoptr (DiagList) diags = diag_list_new ();

  for (guint i = 0; i < 60; i++)
    {
      g_string_append_printf (settings, ";%s.name=local-sgd", path->str);
      g_string_append (path, ".inner");
    }
  g_string_append (path, ".name");
  ck_assert (!take (settings->str, path->str, "ddp", diags));
  ck_assert_str_eq (diag_list_first_message (diags), "strategies are nested 61 deep, at most 4");
}
END_TEST

SUITE_MAIN (absurd_values)
{
  Suite *suite = suite_create ("absurd-values");
  TCase *tcase = tcase_create ("values");

  tcase_add_loop_test (tcase, test_values, 0, G_N_ELEMENTS (cases));
  tcase_add_test (tcase, test_nested);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
