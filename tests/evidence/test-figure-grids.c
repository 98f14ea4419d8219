/*
 * Grids of AxoNN's communication model in a figure: which are listed, which are simulated, how
 * pairs are counted, and what is refused. Not asserted: the model (test-tensor-grid.c), and what
 * the shipped figure says.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "evidence/figures/figure-grids.h"
#include "evidence/figures/figure-published.h"

#define SCENARIOS                                                             \
  "cluster: { node: hand-pair, nodes: 1 }\n"                                  \
  "model: { arch: gpt, n_layers: 2, d_model: 200, n_heads: 2, vocab: 500 }\n" \
  "training: { seq_len: 50 }\n"                                               \
  "mesh: { order: tp_rows-tp-cp-dp-pp }\n"                                    \
  "scenarios:\n"                                                              \
  "  - { name: alone, strategy: ddp }\n"                                      \
  "  - { name: 'pair, 2x1x1x1', strategy: ddp, mesh: { tp_rows: 2 },\n"       \
  "      training: { micro_batch: 4 } }\n"                                    \
  "  - { name: 'pair, 1x1x1x2', strategy: ddp, training: { micro_batch: 2 } }\n"
#define HEADER                                                                             \
  "figure,row,machine,ranks,least,samples,seq_len,n_layers,d_model,d_ff,gated,groups,top," \
  "scenarios,assumptions\n"
#define PUBLISHED "figure,row,scenario,metric,published,assumptions\nf,r,alone,step_time_s,,\n"

static Figures *
compute_grids (const char *table, DiagList *diags)
{
  static const char *const endings[] = { "g.yaml", "g.csv", "g.grids.csv" };
  const char              *texts[] = { SCENARIOS, PUBLISHED, table };
  g_autofree char         *folder = g_dir_make_tmp ("shardsim-grids-XXXXXX", NULL);
  g_autofree char         *profiles =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", "hwprofiles", NULL);
  const PredictOptions options = { .profile_dir = profiles };
  Figures             *self;

  for (guint pass = 0; pass < 2; pass++)
    {
      if (pass == 1)
        self = figures_compute (folder, "g", &options, 2, diags);
      for (gsize i = 0; i < G_N_ELEMENTS (endings); i++)
        {
          g_autofree char *file = g_build_filename (folder, endings[i], NULL);

          if (pass == 0)
            ck_assert (g_file_set_contents (file, texts[i], -1, NULL));
          else
            g_unlink (file);
        }
    }
  g_rmdir (folder);
  return self;
}

/*
 * Two ranks of Perlmutter, one or two of them for the model, on four samples: columns, rows, depth,
 * data. Seconds: each product of an axis of two takes 18 us and its bytes at 76 GiB/s. Rows carry
 * least: 4 x 50 tokens x (200 + 200 + 200 + 800) x 2, columns 3 x 200 + 200 + 800 + 200 instead;
 * depth 3/2 x 2 x weights of 200 x 2400, data 4/2 x as many.
 */
START_TEST (listed)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self =
      compute_grids (HEADER "f,two,perlmutter,2,1,4,50,2,200,800,no,1,2,pair,why\n", diags);
  static const char *const names[] = { "1x2x1x1", "2x1x1x1", "1x1x1x2" };
  static const double      bytes[] = { 2. * 200 * 1400 * 2, 2. * 200 * 1800 * 2,
                                       2. * 2 * 200 * 2400 * 2 };
  const GridLine          *line;

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  ck_assert_int_eq (self->kind, FIGURE_GRIDS);
  line = FIGURE_LINE (self, GridLine, 0);
  ck_assert_uint_eq (line->n_grids, 4);
  ck_assert_uint_eq (line->n, 3); /* the first two, and one that has a scenario */
  for (guint i = 0; i < 3; i++)
    {
      const GridRow *row = &g_array_index (self->regions, GridRow, i);
      const double   gib = bytes[i] / 1073741824;

      ck_assert_str_eq (row->name, names[i]);
      ck_assert_double_eq_tol (row->grid.time_s, 2 * 4 * 18e-6 + gib / 76, 1e-12);
      ck_assert_int_eq (isnan (row->step_s), i == 0);
      ck_assert_ptr_null (row->reason);
    }
  ck_assert_uint_eq (g_array_index (self->regions, GridRow, 2).place, 4); /* depth is third */
  ck_assert_uint_eq (line->n_pairs, 1);
  ck_assert_uint_eq (line->n_agreeing, g_array_index (self->regions, GridRow, 1).step_s
                                           < g_array_index (self->regions, GridRow, 2).step_s);
  /* rows of CSV: the published one, whose scenario is none of the grids', and three grids */
  ck_assert_uint_eq (self->rows->len, 4);
  ck_assert_str_eq (FIGURE_ROW (self, FigureRow, 0)->row, "r");
  ck_assert_str_eq (FIGURE_ROW (self, FigureRow, 3)->row, "two, place 4: 1x1x1x2");
}
END_TEST

static const struct
{
  const char *table, *message;
} refused[] = {
  { HEADER "f,two,elsewhere,2,1,4,50,2,200,800,no,1,2,pair,\n",
    "unknown value 'elsewhere' for 'machine'" },
  { HEADER "f,two,perlmutter,0,1,4,50,2,200,800,no,1,2,pair,\n",
    "expected a whole number from 1 to 1.04858e+06 for 'ranks', got '0'" },
  { HEADER "f,two,perlmutter,2,1,4,50,2,200,800,maybe,1,2,pair,\n",
    "unknown value 'maybe' for 'gated'" },
};

START_TEST (refuses)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self = compute_grids (refused[_i].table, diags);
  g_autofree char     *text = diag_list_format (diags, FALSE);

  ck_assert_ptr_null (self);
  ck_assert_msg (strstr (text, refused[_i].message) != NULL, "no '%s' in:\n%s", refused[_i].message,
                 text);
}
END_TEST

SUITE_MAIN (figure_grids)
{
  Suite *suite = suite_create ("figure-grids");
  TCase *tcase = tcase_create ("figure-grids");

  tcase_add_test (tcase, listed);
  tcase_add_loop_test (tcase, refuses, 0, (int) G_N_ELEMENTS (refused));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
