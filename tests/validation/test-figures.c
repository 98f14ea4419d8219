/*
 * The bands that docs/figures-results.md quotes of FCDP's paper, so that a change that moves them
 * is seen and the page is written again. It does not assert that they meet what was published: the
 * page says where they do not.
 */
#include <check.h>
#include <math.h>

#include "../suite.h"
#include "evidence/figures/figure-published.h"

typedef struct
{
  const char *row;
  double      low, high; /* to two digits or three */
} Band;

static const Band fcdp[] = {
  { "LoRA, ZeRO-3, forward", 7.02e9, 7.18e9 },
  { "LoRA, ZeRO-3, backward", 6.70e9, 6.71e9 },
  { "LoRA, FCDP-Sched, forward", 6.87e9, 6.90e9 },
  { "LoRA, FCDP-Sched, backward", 3.32e6, 4.42e6 },
  { "LoRA, FCDP-Comm, forward", 4.22e6, 5.63e6 },
  { "LoRA, FCDP-Comm, backward", 3.32e6, 4.42e6 },
  { "full fine-tuning on 4 nodes, FCDP over ZeRO-3", 1.008, 1.032 }, /* two communicators */
  { "full fine-tuning on 4 nodes, FCDP over ZeRO-3, one communicator", 1.13, 1.395 },
  { "LoRA at 1 Gb/s, FCDP over ZeRO-3", 57.65, 106.9 },
  { "LoRA at 1 Gb/s over 100 Gb/s, FCDP", 0.8789, 0.9373 },
  { "LoRA at 1 Gb/s over 100 Gb/s, ZeRO-3", 0.01848, 0.02042 },
  { "LoRA at 100 Gb/s, FCDP over ZeRO-3", 1.256, 2.28 },
  { "LoRA, ZeRO++, forward", 6.87e9, 6.90e9 },
  { "LoRA, ZeRO++, backward", 3.32e6, 4.42e6 },
  { "LoRA at 1 Gb/s, FCDP over ZeRO++", 30.03, 54.11 },
  { "largest model, ZeRO++ on 4 nodes", 2.931e10, 2.931e10 },
  { "LoRA, FCDP-Cache over FCDP-Comm", 0.9984, 1.003 },
};

START_TEST (test_fcdp)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *folder =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "workloads", "figures", NULL);
  PredictOptions      options = { .replay = { 0 } };
  g_autoptr (Figures) figures = figures_compute (folder, "fcdp", &options, 2, diags);

  ck_assert_msg (figures != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (figures->rows->len, G_N_ELEMENTS (fcdp));
  for (guint i = 0; i < figures->rows->len; i++)
    {
      const FigureRow *row = &g_array_index (figures->rows, FigureRow, i);

      ck_assert_str_eq (row->row, fcdp[i].row);
      ck_assert_uint_eq (row->n_used, row->cases->len);
      ck_assert_msg (fabs (row->low / fcdp[i].low - 1) < 0.01
                         && fabs (row->high / fcdp[i].high - 1) < 0.01,
                     "%s: %g to %g", row->row, row->low, row->high);
    }
}
END_TEST

SUITE_MAIN (figures)
{
  Suite *suite = suite_create ("figures");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_fcdp);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
