/*
 * The region of a ratio: the rules by hand on a made-up table, the numbers that
 * docs/figures-results.md quotes of the shipped one, and what is wrong in a table. Not asserted:
 * that runs follow the rules.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>

#include "../suite.h"
#include "base/file/layout.h"
#include "evidence/figures/figure-region.h"

#define HEADER "figure,row,gpus,nodes,every,hidden,published,over,assumptions\n"
#define BASE   "f,base,8,1,1,0.5,1000.0000,,\n"

/* A folder with the figures "hand", whose regions are of TABLE and whose rows are none. */
static char *
folder_new (const char *table)
{
  static const char *const files[][2] = {
    { "hand.yaml", "cluster: 1 x dgx-a100\nstrategy: ddp\ntraining: { seq_len: 128 }\n"
                   "model: { arch: gpt, n_layers: 1, d_model: 128, n_heads: 1, vocab: 500 }\n" },
    { "hand.csv", "figure,row,scenario,metric,published,assumptions\n" },
  };
  char            *folder = g_dir_make_tmp ("region-XXXXXX", NULL);
  g_autofree char *region = g_build_filename (folder, "hand.region.csv", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *file = g_build_filename (folder, files[i][0], NULL);

      ck_assert (g_file_set_contents (file, files[i][1], -1, NULL));
    }
  ck_assert (g_file_set_contents (region, table, -1, NULL));
  return folder;
}

static void
folder_remove (const char *folder)
{
  static const char *const names[] = { "hand.yaml", "hand.csv", "hand.region.csv" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *file = g_build_filename (folder, names[i], NULL);

      g_unlink (file);
    }
  g_rmdir (folder);
}

static Figures *
load (const char *folder, DiagList *diags)
{
  const PredictOptions options = { .replay = { 0 } };

  return figures_compute (folder, "hand", &options, 1, diags);
}

static Figures *
load_text (const char *table)
{
  g_autofree char     *folder = folder_new (table);
  g_autoptr (DiagList) diags = diag_list_new ();
  Figures             *self = load (folder, diags);

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  folder_remove (folder);
  return self;
}

static Figures *
load_table (const char *lines)
{
  g_autofree char *table = g_strconcat (HEADER BASE, lines, NULL);

  return load_text (table);
}

static const RegionLine *
find_row (const Figures *self, const char *name)
{
  for (guint i = 0; i < self->lines->len; i++)
    if (g_str_equal (FIGURE_LINE (self, RegionLine, i)->row, name))
      return FIGURE_LINE (self, RegionLine, i);
  ck_abort_msg ("no row '%s'", name);
}

static void
check_row (const Figures *self, const char *name, double low, double high, double beyond)
{
  const RegionLine *row = find_row (self, name);

  ck_assert_double_eq_tol (row->low, low, 1e-3);
  ck_assert_double_eq_tol (row->high, high, 1e-3);
  ck_assert_double_eq_tol (row->beyond, beyond, 1e-3);
}

static void
check_region (const Figures *self, guint i, guint gpus, double low, double high)
{
  const Region *region = &g_array_index (self->regions, Region, i);

  ck_assert_uint_eq (region->gpus, gpus);
  ck_assert_double_eq_tol (region->low, low, 1e-3);
  ck_assert_double_eq_tol (region->high, high, 1e-3);
  ck_assert_int_eq (region_explains (region), low <= high && region->n_beyond == 0);
}

/* A GPU of the base makes 125, and here 31.25: a step of 4 T0, of which 0 to 0.5 is hidden. */
#define EACH_STEP "f,each step,16,2,1,0.5,500.0000,,\n"

START_TEST (test_each_step)
{
  g_autoptr (Figures) self = load_table (EACH_STEP
                                         /* 200 of them: faster than the base, by 60 % */
                                         "f,fast,16,2,1,0.5,3200.0000,,\n");

  check_row (self, "each step", 3, 3.5, 0);
  check_row (self, "fast", 0, 0.5, 0.6);
  ck_assert (isnan (find_row (self, "base")->low));
  /* no r is both above 3 and below 0.5 */
  check_region (self, 0, 16, 3, 0.5);
  check_region (self, 1, 0, 3, 0.5);
  ck_assert_uint_eq (g_array_index (self->regions, Region, 1).n_beyond, 1);
}
END_TEST

START_TEST (test_rounds)
{
  g_autoptr (Figures) self = load_table (/* 62.5 a GPU: steps of 2 T0, so 4 of them 8 */
                                         "f,slow,32,4,4,0.5,2000.0000,,\n"
                                         /* 125: all is hidden behind 16 steps */
                                         "f,hidden,32,4,16,0.5,4000.0000,,\n");

  check_row (self, "slow", 8, 8, 0);
  check_row (self, "hidden", 0, 16, 0);
  check_region (self, 0, 32, 8, 8);
}
END_TEST

START_TEST (test_ratios)
{
  g_autoptr (Figures) self =
      load_table (EACH_STEP
                  /* r of 3 to 3.5 hides behind 4 steps; of 2 it makes 1.5 to 1.75 T0 */
                  "f,four,16,2,4,0.5,,,\n"
                  "f,two,16,2,2,0.5,,,\n"
                  /* 0.45 to 0.55 of full speed: 4 / 0.55 to 4 / 0.45 */
                  "f,over four,32,4,4,0.5,0.5,four,\n"
                  /* 1.45 / 1.75 to 1.55 / 1.5 of full speed: at most 8 * 1.75 / 1.45 */
                  "f,over two,32,4,8,0.5,1.5,two,\n"
                  /* 1.15 to 1.25 of full speed */
                  "f,faster,32,4,8,0.5,1.2,four,\n"
                  /* 0.19875 to 0.20125 of full speed: 4.969 to 5.031 T0 */
                  "f,over each,32,4,1,0.5,0.80,each step,\n"
                  "f,over base,32,4,1,0.5,0.500,base,\n");

  ck_assert (isnan (find_row (self, "four")->low));
  check_row (self, "over four", 7.2727, 8.8889, 0);
  check_row (self, "over two", 0, 9.6552, 0);
  check_row (self, "faster", 0, 8, 0.15);
  check_row (self, "over each", 3.9689, 4.5315, 0);
  /* 1 / 0.5005 and 1 / 0.4995 of T0, 0.5 of it hidden or not */
  check_row (self, "over base", 0.998, 1.502, 0);
}
END_TEST

START_TEST (test_regions)
{
  g_autoptr (Figures) self = load_table (EACH_STEP "f,slow,32,4,4,0.5,2000.0000,,\n"
                                                   "f,quick,32,4,1,0.5,1000.0000,,\n");
  const Region       *few = &g_array_index (self->regions, Region, 0);
  double              low, high;

  /* "quick" is 31.25 a GPU as well: 3 to 3.5, where "slow" needs 8 */
  ck_assert_uint_eq (self->regions->len, 3);
  check_region (self, 0, 16, 3, 3.5);
  check_region (self, 1, 32, 8, 3.5);
  check_region (self, 2, 0, 8, 3.5);
  ck_assert_str_eq (few[1].from->row, "slow");
  ck_assert_str_eq (few[1].to->row, "quick");
  /* from 3 to 3.5 to what lies between both, 3.5 to 8 */
  region_growth (few, few + 1, &low, &high);
  ck_assert_double_eq_tol (low, 1, 1e-3);
  ck_assert_double_eq_tol (high, 8.0 / 3, 1e-3);
  /* 2 * 15 / 16 and 2 * 31 / 32; 2 * 1 / 2 and 2 * 3 / 4 */
  ck_assert_double_eq_tol (region_ring_growth (16, 32), 31.0 / 30, 1e-12);
  ck_assert_double_eq_tol (region_ring_growth (2, 4), 1.5, 1e-12);
}
END_TEST

/* 36888 / 3488 = 10.5757, 295104 / 22810 = 12.9375, 295104 / 304736 = 0.9684, 12 / 0.86 = 13.953 */
START_TEST (test_beyond)
{
  g_autoptr (Figures) self = load_table (EACH_STEP
                                         /* 262.5 a GPU, of any r up to 16 at most 125 */
                                         "f,fast,16,2,16,0.5,4200.0000,,\n"
                                         /* the same, and nothing else of as many */
                                         "f,alone,32,4,16,0.5,8400.0000,,\n");

  check_row (self, "fast", 0, 16, 1.1);
  check_row (self, "alone", 0, 16, 1.1);
  /* no r explains them, whatever the others leave */
  check_region (self, 0, 16, 3, 3.5);
  check_region (self, 1, 32, 0, 16);
  check_region (self, 2, 0, 3, 3.5);
  for (guint i = 0; i < self->regions->len; i++)
    ck_assert (!region_explains (&g_array_index (self->regions, Region, i)));
}
END_TEST

START_TEST (test_shipped)
{
  g_autofree char    *file = layout_data_file ("workloads/figures/co2.region.csv");
  g_autofree char    *table = NULL;
  g_autoptr (Figures) self = NULL;

  ck_assert (g_file_get_contents (file, &table, NULL, NULL));
  self = load_text (table);
  check_row (self, "AdamW, 16 GPUs", 9.5739, 10.2442, 0);
  check_row (self, "AdamW, 128 GPUs", 11.9368, 12.6048, 0);
  check_row (self, "CO2 of 48 steps, 128 GPUs", 0, 48, 0.0326);
  check_row (self, "CO2 of 48 steps, 128 GPUs over 16", 0, 48, 0.055);
  check_row (self, "CO2 of 12 steps, 128 GPUs over 16", 13.8728, 14.0351, 0);
  ck_assert_uint_eq (self->regions->len, 3);
  check_region (self, 0, 16, 9.5739, 10.2442);
  check_region (self, 1, 128, 13.8728, 12.6048);
  check_region (self, 2, 0, 13.8728, 10.2442);
}
END_TEST

static const struct
{
  const char *table, *message;
} bad[] = {
  { "figure,row,gpus,nodes,every,published,over,assumptions\n", "missing column 'hidden'" },
  { HEADER BASE "f,a,16,2,1,0.5,-5,,\n", "hand.region.csv:3" },
  { HEADER BASE "f,a,16,2,1,0.5,-5,,\n", "number from 1e-06 to 1e+15 for 'published', got '-5'" },
  { HEADER BASE "f,a,16,2,1,0.5,1e3,,\n", "expected a number in digits for 'published'" },
  { HEADER BASE "f,a,16,2,1.5,0.5,10,,\n", "a whole number from 1 to 1e+07 for 'every'" },
  { HEADER BASE "f,a,16,2,1,1.5,10,,\n", "for 'hidden', got '1.5'" },
  { HEADER BASE "f,a,1,2,1,0.5,10,,\n", "1 GPUs cannot be on 2 nodes" },
  { HEADER BASE "f,a,16,2,1,0.5,10,bass,\n", "no row 'bass' stands above this one" },
  { HEADER BASE "f,a,16,2,1,0.5,10,bass,\n", "did you mean 'base'?" },
  { HEADER BASE "f,a,16,2,4,0.5,,,\nf,b,32,4,1,0.5,0.9,a,\n", "nothing says what 'a' takes on 16" },
  { HEADER BASE "f,a,16,2,1,0.5,,bass,\n", "no row 'bass' stands above this one" },
  { HEADER BASE "f,,16,2,1,0.5,10,,\n", "expected a name for 'row'" },
  { HEADER, "hand.region.csv:1: error: the table has no rows" },
  { HEADER BASE "f,base,16,2,1,0.5,10,,\n", "a row 'base' stands above" },
  { HEADER BASE "f,a,4,1,1,0.5,10,,\n", "'a' and 'base' are both on one node" },
  { HEADER "f,a,8,1,1,0.5,,,\n", "expected a throughput of 'a', which is on one node" },
  { HEADER "f,a,16,2,1,0.5,10,,\n", "the row of one node has to stand above 'a'" },
};

START_TEST (test_bad)
{
  g_autofree char     *folder = folder_new (bad[_i].table);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *said = NULL;

  ck_assert_ptr_null (load (folder, diags));
  said = diag_list_format (diags, FALSE);
  ck_assert_msg (g_strrstr (said, bad[_i].message) != NULL, "%s", said);
  folder_remove (folder);
}
END_TEST

SUITE_MAIN (figure_region)
{
  Suite *suite = suite_create ("figure-region");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_each_step);
  tcase_add_test (tcase, test_rounds);
  tcase_add_test (tcase, test_ratios);
  tcase_add_test (tcase, test_regions);
  tcase_add_test (tcase, test_beyond);
  tcase_add_test (tcase, test_shipped);
  tcase_add_loop_test (tcase, test_bad, 0, G_N_ELEMENTS (bad));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
