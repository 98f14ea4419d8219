/*
 * A prediction is the same with what others of its thread left: over strategies, meshes, clusters
 * and ways of the library that come again in any order. What binds alike is bound once, and nothing
 * else is taken for it: a size, an end of a message, an option of the library, a cluster that
 * differs. Not asserted: how much is kept.
 */
#include "../suite.h"
#include "predict/batch.h"
#include "predict/leavings.h"

#define MOST_CHANGES 5

typedef struct
{
  ScenarioOverride changes[MOST_CHANGES];
  gboolean         alike; /* it binds as the one before */
} Case;

/* clang-format off */
static const Case cases[] = {
  { { { "strategy.name", "fsdp2", "test" } }, FALSE },
  { { { "strategy.name", "fsdp2", "test" }, { "training.seq_len", "768", "test" } }, TRUE },
  { { { "strategy.name", "fsdp2", "test" }, { "training.compile", "true", "test" } }, TRUE },
  { { { "strategy.name", "fsdp2", "test" }, { "cluster.nodes", "4", "test" } }, FALSE },
  { { { "strategy.name", "fsdp2", "test" }, { "model.d_ff", "2048", "test" } }, FALSE },
  { { { "strategy.name", "fsdp2", "test" }, { "strategy.cpu_offload", "true", "test" } }, FALSE },
  { { { "strategy.name", "fsdp2", "test" }, { "collective.algorithm", "ring", "test" } }, FALSE },
  { { { "strategy.name", "fsdp2", "test" }, { "collective.protocol", "simple", "test" } }, FALSE },
  { { { "strategy.name", "fsdp2", "test" }, { "collective.nccl", "2.18.1", "test" } }, FALSE },
  { { { "strategy.name", "fsdp2", "test" }, { "collective.nchannels", "2", "test" } }, FALSE },
  { { { "strategy.name", "fsdp2", "test" }, { "cluster.oversubscription", "4", "test" } }, FALSE },
  { { { "strategy.name", "ddp", "test" } }, FALSE },
  { { { "strategy.name", "zero1", "test" } }, FALSE },
  { { { "strategy.name", "zero1", "test" }, { "mesh.tp", "2", "test" } }, FALSE },
  { { { "strategy.name", "zero1", "test" }, { "mesh.tp", "2", "test" },
      { "mesh.order", "tp-pp-dp", "test" } }, TRUE },
  { { { "strategy.name", "zero1", "test" }, { "mesh.pp", "2", "test" },
      { "training.grad_accum", "4", "test" } }, FALSE },
  { { { "strategy.name", "zero1", "test" }, { "mesh.pp", "2", "test" },
      { "training.grad_accum", "3", "test" } }, TRUE },
  { { { "strategy.name", "zero1", "test" }, { "mesh.pp", "2", "test" },
      { "training.grad_accum", "3", "test" }, { "training.seq_len", "768", "test" } }, FALSE },
  { { { "strategy.name", "zero1", "test" }, { "mesh.pp", "4", "test" },
      { "training.grad_accum", "3", "test" }, { "training.seq_len", "768", "test" } }, FALSE },
};
/* clang-format on */

static Scenario *
scenario_of (const Case *which)
{
  static const ScenarioOverride base[] = {
    { "cluster.node", "dgx-a100", "test" }, { "cluster.nodes", "2", "test" },
    { "model.arch", "llama", "test" },      { "model.n_layers", "4", "test" },
    { "model.d_model", "512", "test" },     { "model.n_heads", "4", "test" },
    { "model.d_ff", "1024", "test" },       { "model.vocab", "4096", "test" },
    { "training.seq_len", "512", "test" },
  };
  ScenarioOverride      all[G_N_ELEMENTS (base) + MOST_CHANGES];
  guint                 n = 0;
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) loaded = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (base); i++)
    all[n++] = base[i];
  for (guint i = 0; i < MOST_CHANGES && which->changes[i].key != NULL; i++)
    all[n++] = which->changes[i];
  loaded = scenario_load (NULL, NULL, all, n, diags);
  ck_assert_msg (diag_list_n_errors (diags) == 0, "%s", diag_list_first_message (diags));
  return g_ptr_array_steal_index (loaded, 0);
}

static Prediction *
predict_with (const Scenario *scenario, Leavings *left, InputFiles *files)
{
  const PredictOptions options = { .left = left, .files = files };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  Prediction          *self = predict (scenario, &options, diags, &error);

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  return self;
}

static void
check_same (const Prediction *a, const Prediction *b)
{
  ck_assert_double_eq (a->step_time_s, b->step_time_s);
  ck_assert_uint_eq (a->hbm.device, b->hbm.device);
  ck_assert_uint_eq (a->n_replayed, b->n_replayed);
  ck_assert_uint_eq (a->traffic->len, b->traffic->len);
  for (guint i = 0; i < a->traffic->len; i++)
    {
      const TrafficUse *x = &g_array_index (a->traffic, TrafficUse, i);
      const TrafficUse *y = &g_array_index (b->traffic, TrafficUse, i);

      ck_assert_str_eq (x->group, y->group);
      ck_assert_double_eq (x->bytes, y->bytes);
      ck_assert_double_eq (x->exposed_s, y->exposed_s);
    }
}

START_TEST (what_others_left_changes_nothing)
{
  g_autoptr (InputFiles) files = input_files_new ();
  g_autoptr (Leavings)   left = leavings_new ();

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++)
    {
      const guint            at = i % G_N_ELEMENTS (cases), again = i / G_N_ELEMENTS (cases);
      const guint            before = binding_store_n_found (left->bindings);
      g_autoptr (Scenario)   scenario = scenario_of (&cases[at]);
      g_autoptr (Prediction) beside = predict_with (scenario, left, files);
      g_autoptr (Prediction) alone = predict_with (scenario, NULL, files);
      const guint            found = binding_store_n_found (left->bindings) - before;

      check_same (beside, alone);
      ck_assert_msg ((found > 0) == (again > 0 || cases[at].alike), "case %u, %u found", i, found);
    }
}
END_TEST

/* A band's draws, and figures at the ends of their ranges, are clusters of their own. */
START_TEST (other_figures_bind_for_themselves)
{
  g_autoptr (InputFiles) files = input_files_new ();
  g_autoptr (Leavings)   left = leavings_new ();
  g_autoptr (Scenario)   scenario = scenario_of (&cases[0]);
  const FigureChange     change = { "link", "ib-hdr-200", "bandwidth", 5e9, FALSE };
  const PredictOptions slow = { .left = left, .files = files, .changes = &change, .n_changes = 1 };
  const PredictOptions apart = { .files = files, .changes = &change, .n_changes = 1 };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Prediction) given = predict_with (scenario, left, files);
  g_autoptr (Prediction) beside = predict (scenario, &slow, diags, NULL);
  g_autoptr (Prediction) alone = predict (scenario, &apart, diags, NULL);

  ck_assert_ptr_nonnull (beside);
  ck_assert_ptr_nonnull (alone);
  check_same (beside, alone);
  ck_assert_double_gt (beside->step_time_s, given->step_time_s);
  ck_assert_uint_eq (binding_store_n_found (left->bindings), 0);
}
END_TEST

static Scenario *
build (gpointer user, guint i, DiagList *diags)
{
  (void) user;
  (void) diags;
  return scenario_of (&cases[i % G_N_ELEMENTS (cases)]);
}

/* Threads find, make and drop the same parts at the same time. */
START_TEST (threads_share_what_is_left)
{
  g_autoptr (InputFiles)   files = input_files_new ();
  g_autoptr (Leavings)     left = leavings_new ();
  const PredictOptions     options = { .left = left, .files = files };
  g_auto (PredictionBatch) batch = {
    .n = 2 * G_N_ELEMENTS (cases), .n_threads = 4, .options = &options, .build = build
  };

  prediction_batch_run (&batch);
  for (guint i = 0; i < batch.n; i++)
    {
      g_autoptr (Prediction) alone = predict_with (batch.each[i].scenario, NULL, files);

      ck_assert_ptr_nonnull (batch.each[i].prediction);
      check_same (batch.each[i].prediction, alone);
    }
  ck_assert_uint_gt (binding_store_n_found (left->bindings), 0);
}
END_TEST

SUITE_MAIN (leavings)
{
  Suite *suite = suite_create ("leavings");
  TCase *tcase = tcase_create ("leavings");

  tcase_add_test (tcase, what_others_left_changes_nothing);
  tcase_add_test (tcase, other_figures_bind_for_themselves);
  tcase_add_test (tcase, threads_share_what_is_left);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
