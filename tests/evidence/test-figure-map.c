/*
 * Maps: each cell against predictions of its scenarios one by one. Asserts the choice, its order
 * and its lead, not the predictions.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "evidence/figures/figure-map.h"

#define SCENARIOS                                                                 \
  "cluster: { node: hand-pair, nodes: [1, 2] }\n"                                 \
  "model: { arch: gpt, n_layers: 2, d_model: 200, n_heads: 2, vocab: 500 }\n"     \
  "training: { seq_len: [50, 100], micro_batch: [1, 2, 20000], grad_accum: 1 }\n" \
  "strategies: [ddp, fsdp2]\n"
#define ALONE                                                                 \
  "cluster: { node: hand-pair, nodes: 1 }\n"                                  \
  "model: { arch: gpt, n_layers: 2, d_model: 200, n_heads: 2, vocab: 500 }\n" \
  "training: { seq_len: 100, grad_accum: 1 }\n"                               \
  "scenarios:\n"                                                              \
  "  - { strategy: fsdp2, training: { micro_batch: 20000 } }\n"               \
  "  - { strategy: ddp }\n"
#define AXES   "cluster.nodes,training.seq_len,training.grad_accum,strategy.name,hand profiles\n"
#define HEADER "x,y,page,contender,assumptions\n"

typedef struct
{
  char *folder, *profiles;
} Fixture;

static void
put (const Fixture *self, const char *name, const char *text)
{
  g_autofree char *file = g_build_filename (self->folder, name, NULL);

  ck_assert (g_file_set_contents (file, text, -1, NULL));
}

static Fixture
fixture_new (const char *scenarios, const char *table)
{
  const char *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  Fixture     self = { .folder = g_dir_make_tmp ("shardsim-map-XXXXXX", NULL) };

  self.profiles = g_build_filename (root, "docs", "worked", "hwprofiles", NULL);
  put (&self, "m.yaml", scenarios);
  put (&self, "m.map.csv", table);
  return self;
}

static void
fixture_clear (Fixture *self)
{
  const char *const names[] = { "m.yaml", "m.map.csv" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *file = g_build_filename (self->folder, names[i], NULL);

      ck_assert_int_eq (g_unlink (file), 0);
    }
  ck_assert_int_eq (g_rmdir (self->folder), 0);
  g_free (self->folder);
  g_free (self->profiles);
}

static Figures *
predict_map (const Fixture *self, guint n_threads, DiagList *diags)
{
  const PredictOptions options = { .profile_dir = self->profiles };

  return figures_compute (self->folder, "m", &options, n_threads, diags);
}

/* Tokens a second and GPU of the best of STRATEGY's scenarios that fits, and of all strategies. */
static double
best_of (const Fixture *self, guint nodes, guint seq_len, const char *strategy)
{
  static const char *const micro_batches[] = { "1", "2", "20000" };
  const PredictOptions     options = { .profile_dir = self->profiles };
  g_autofree char         *file = g_build_filename (self->folder, "m.yaml", NULL);
  g_autofree char         *n = g_strdup_printf ("%u", nodes), *s = g_strdup_printf ("%u", seq_len);
  double                   best = 0;

  for (guint i = 0; i < G_N_ELEMENTS (micro_batches); i++)
    {
      const ScenarioOverride overrides[] = { { "cluster.nodes", n, "--set" },
                                             { "training.seq_len", s, "--set" },
                                             { "training.micro_batch", micro_batches[i], "--set" },
                                             { "strategy.name", strategy, "--set" } };
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (GPtrArray)  scenarios =
          scenario_load (NULL, file, overrides, G_N_ELEMENTS (overrides), diags);
      Prediction *prediction;

      ck_assert_msg (scenarios != NULL, "%s", diag_list_first_message (diags));
      prediction = predict (g_ptr_array_index (scenarios, 0), &options, diags, NULL);
      ck_assert_msg (prediction != NULL, "%s", diag_list_first_message (diags));
      ck_assert_int_eq (prediction->fits, i < 2);
      if (prediction->fits)
        best = MAX (best, prediction->tokens_per_s_per_gpu);
      prediction_free (prediction);
    }
  return best;
}

/* The entries from the I-th on are a cell's. */
static void
check_cell (const Fixture *self, const Figures *map, guint i)
{
  static const guint nodes[] = { 1, 2 }, lengths[] = { 50, 100 };
  double             values[2];

  for (guint e = 0; e < 2; e++)
    {
      const MapEntry *entry = FIGURE_ROW (map, MapEntry, i + e);

      ck_assert_uint_eq (entry->at[MAP_PAGE], 0);
      ck_assert_uint_eq (entry->at[MAP_Y], i / 4);
      ck_assert_uint_eq (entry->at[MAP_X], i / 2 % 2);
      ck_assert_uint_eq (entry->rank, e + 1);
      values[e] =
          best_of (self, nodes[entry->at[MAP_X]], lengths[entry->at[MAP_Y]], entry->contender);
      ck_assert_double_eq (entry->tokens_per_s_per_gpu, values[e]);
      ck_assert_ptr_nonnull (strstr (entry->scenario, entry->contender));
      ck_assert_ptr_null (entry->reason);
    }
  ck_assert_double_ge (values[0], values[1]);
  ck_assert_double_eq_tol (FIGURE_ROW (map, MapEntry, i)->lead, values[0] / values[1] - 1, 1e-12);
  ck_assert (isnan (FIGURE_ROW (map, MapEntry, i + 1)->lead));
}

START_TEST (test_cells)
{
  Fixture              fixture = fixture_new (SCENARIOS, HEADER AXES);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  map = predict_map (&fixture, 1 + (guint) _i, diags);

  ck_assert_msg (map != NULL, "%s", diag_list_first_message (diags));
  ck_assert_int_eq (map->kind, FIGURE_MAP);
  ck_assert_str_eq (FIGURE_LINE (map, MapAxes, 0)->assumptions, "hand profiles");
  ck_assert_uint_eq (map->rows->len, 8); /* four cells of two strategies */
  for (guint i = 0; i < 8; i += 2)
    check_cell (&fixture, map, i);
  fixture_clear (&fixture);
}
END_TEST

/* What does not fit has no rank, and one that is alone no lead. */
START_TEST (test_alone)
{
  Fixture              fixture = fixture_new (ALONE, HEADER AXES);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  map = predict_map (&fixture, 1, diags);

  ck_assert_msg (map != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (map->rows->len, 2);
  ck_assert_str_eq (FIGURE_ROW (map, MapEntry, 0)->contender, "ddp");
  ck_assert_ptr_null (FIGURE_ROW (map, MapEntry, 1)->scenario);
  ck_assert (isnan (FIGURE_ROW (map, MapEntry, 0)->lead));
  fixture_clear (&fixture);
}
END_TEST

static const struct
{
  const char *table, *message;
} refusals[] = {
  { "x,y,page,contender\n", "missing column 'assumptions'" },
  { HEADER, "a line with the keys of the axes is missing" },
  { HEADER "cluster.nodes,training.length,training.grad_accum,strategy.name,none\n",
    "has no 'training.length'" },
};

START_TEST (test_refused)
{
  Fixture              fixture = fixture_new (SCENARIOS, refusals[_i].table);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  map = predict_map (&fixture, 2, diags);
  g_autofree char     *text = diag_list_format (diags, FALSE);

  ck_assert_ptr_null (map);
  ck_assert_msg (strstr (text, refusals[_i].message) != NULL, "%s", text);
  fixture_clear (&fixture);
}
END_TEST

SUITE_MAIN (figure_map)
{
  Suite *suite = suite_create ("figure-map");
  TCase *tcase = tcase_create ("all");

  suite_add_tcase (suite, tcase);
  tcase_add_loop_test (tcase, test_cells, 0, 2);
  tcase_add_test (tcase, test_alone);
  tcase_add_loop_test (tcase, test_refused, 0, G_N_ELEMENTS (refusals));
  return suite_run (suite);
}
