/*
 * What makes tokens worth another amount, of scenarios whose routes are known: what sends gradients
 * as less than they were computed, over a group that has others to send to; and what experts drop.
 * Not asserted: what exchanges between workers say, which tests/cli/golden has.
 */
#include "../replay/fixture.h"
#include "../suite.h"
#include "scenario/resolved.h"

#define NONE       "training.micro_batch", "1"
#define SENT(what) "convergence is not modelled: gradients sent " what

static const struct
{
  const char *nodes, *gpus, *precision, *strategy;
  const char *key[2];   /* and its value */
  const char *expected; /* NULL: nothing */
} cases[] = {
  /* mixed precision as it is usual: in the type that computes, or wider */
  { "2", "8", "bf16-mixed", "ddp", { NONE }, NULL },
  { "2", "8", "bf16", "ddp", { NONE }, NULL },
  { "2", "8", "fp16-mixed", "zero2", { NONE }, NULL },
  { "2", "8", "bf16-mixed", "fsdp2", { "training.reduce_dtype", "bf16" }, NULL },
  { "2", "8", "bf16-mixed", "fsdp2", { "training.reduce_dtype", "fp32" }, NULL },
  { "2", "8", "fp32", "fsdp2", { NONE }, NULL },
  { "2", "8", "bf16-mixed", "ddp", { "strategy.compression", "bf16" }, NULL },
  /* narrower than it, whoever asks for it */
  { "2", "8", "fp32", "ddp", { "strategy.compression", "fp16" }, SENT ("as fp16") },
  { "2", "8", "fp32", "hsdp", { "strategy.compression", "bf16" }, SENT ("as bf16") },
  { "2", "8", "fp32", "fsdp2", { "training.reduce_dtype", "bf16" }, SENT ("as bf16") },
  /* codes, inside the shard group and between its replicas: said once */
  { "2", "8", "bf16-mixed", "zeropp", { NONE }, SENT ("as int4-block") },
  { "2", "8", "bf16-mixed", "ddp", { "strategy.compression", "qsgd" }, SENT ("as qsgd-4") },
  { "2", "8", "bf16-mixed", "hsdp", { "strategy.compression", "fp8" }, SENT ("as fp8") },
  /* a GPU a node: the shard group is of one, its replicas of two */
  { "2", "1", "bf16", "hsdp", { "strategy.compression", "int4-block" }, SENT ("as int4-block") },
  { "2", "8", "bf16-mixed", "ddp", { "strategy.compression", "powersgd" }, SENT ("by powersgd") },
  /* one GPU sends nothing */
  { "1", "1", "fp32", "ddp", { "strategy.compression", "fp16" }, NULL },
  { "1", "1", "bf16-mixed", "ddp", { "strategy.compression", "int8-block" }, NULL },
  { "1", "1", "bf16-mixed", "ddp", { "strategy.compression", "powersgd" }, NULL },
  { "1", "1", "bf16-mixed", "ddp", { "strategy.compression", "top-k" }, NULL },
  { "1", "1", "bf16-mixed", "zeropp", { NONE }, NULL },
};

START_TEST (test_caveats)
{
  const char *const     *key = cases[_i].key;
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Scenario)   scenario = fixture_scenario (
        "cluster.node", "dgx-h100", "cluster.nodes", cases[_i].nodes, "cluster.gpus_per_node",
        cases[_i].gpus, "model.config", "gpt2-xl", "training.seq_len", "1024", "training.precision",
        cases[_i].precision, "strategy.name", cases[_i].strategy, key[0], key[1], NULL);
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);
  g_autofree char             *said = NULL;

  ck_assert_msg (resolved != NULL, "%s", diag_list_first_message (diags));
  said = strategy_caveats (&resolved->input, resolved->strategy);
  ck_assert_pstr_eq (said, cases[_i].expected);
}
END_TEST

/* Tokens that experts have no room for are another training; enough capacity for all is not. */
START_TEST (test_dropped)
{
  static const struct
  {
    const char *skew, *capacity, *expected;
  } dropping[] = {
    { "2", "0", NULL },
    { "2", "2", NULL },
    { "1", "1.25", NULL },
    { "1", "0.001",
      "convergence is not modelled: experts drop 99.9 % of the tokens routed to them" },
    { "2", "1", "convergence is not modelled: experts drop 12.5 % of the tokens routed to them" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (dropping); i++)
    {
      g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Scenario)   scenario = fixture_scenario (
            "cluster.node", "dgx-h100", "cluster.nodes", "2", "model.config", "mixtral-8x7b",
            "training.seq_len", "128", "strategy.name", "ddp", "mesh.ep", "8", "mesh.routing_skew",
            dropping[i].skew, "mesh.capacity_factor", dropping[i].capacity, NULL);
      g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);
      g_autofree char             *said = NULL;

      ck_assert_msg (resolved != NULL, "%s", diag_list_first_message (diags));
      said = strategy_caveats (&resolved->input, resolved->strategy);
      ck_assert_pstr_eq (said, dropping[i].expected);
    }
}
END_TEST

SUITE_MAIN (caveats)
{
  Suite *suite = suite_create ("caveats");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_dropped);
  tcase_add_loop_test (tcase, test_caveats, 0, G_N_ELEMENTS (cases));
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
