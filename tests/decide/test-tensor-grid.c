/*
 * AxoNN's communication model: one grid by hand, and the order of all grids against a table that an
 * independent transcription of the authors' script (in Python) made. Does not judge whether the
 * model is right of any machine.
 */
#include <check.h>
#include <math.h>

#include "../suite.h"
#include "base/config/csv.h"
#include "base/config/suggest.h"
#include "decide/parts/tensor-grid.h"

/*
 * 4 ranks of Perlmutter as 2 columns and 2 data ranks, 16 sequences of a token, H 4, d_ff 16, a
 * layer. A data rank has 8 tokens. Bytes, 2 an element:
 *
 *            columns                      data, fp32
 *   qkv      2 x 1/2 x 8 x 12 x 2 = 192   4 x 1/2 x 4 x 12 / 2 x 2 =  96
 *   out      gradients: 8 x 4 x 2 =  64   4 x 1/2 x 4 x  4 / 2 x 2 =  32
 *   up       8 x 16 x 2           = 256   4 x 1/2 x 4 x 16 / 2 x 2 = 128
 *   down     8 x  4 x 2           =  64   (H to d_ff again)          128
 *   sum                             576                              384
 *
 * Each of the eight takes 0.009 ms x 2 and its bytes at 76 GiB/s: groups of 2 in a node, next to
 * each other and 2 apart. All four ranks are in one node.
 */
START_TEST (test_one_grid)
{
  const TensorGridModel model = {
    .samples = 16, .seq_len = 1, .d_model = 4, .d_ff = 16, .n_layers = 1, .groups = 1
  };
  g_autoptr (GArray) grids = tensor_grids (0, &model, 4, 1);
  const double       gib = 1073741824;
  guint              found = 0;

  for (guint i = 0; i < grids->len; i++)
    {
      const TensorGrid *grid = &g_array_index (grids, TensorGrid, i);

      ck_assert_uint_eq (grid->degrees[0] * grid->degrees[1] * grid->degrees[2] * grid->degrees[3],
                         4);
      if (grid->degrees[0] != 2 || grid->degrees[3] != 2)
        continue;
      found++;
      ck_assert_double_eq_tol (grid->gib[0], 576 / gib, 1e-15);
      ck_assert_double_eq (grid->gib[1], 0);
      ck_assert_double_eq (grid->gib[2], 0);
      ck_assert_double_eq_tol (grid->gib[3], 384 / gib, 1e-15);
      ck_assert_double_eq_tol (grid->time_s, 8 * 18e-6 + 960 / gib / 76, 1e-15);
    }
  ck_assert_uint_eq (found, 1);
  ck_assert_uint_eq (grids->len, 10); /* one 4 in four places, two twos in six */
}
END_TEST

/* Two ranks of each axis by themselves; out and down swap columns and rows. */
START_TEST (test_axes)
{
  const TensorGridModel model = {
    .samples = 16,
    .seq_len = 1,
    .d_model = 4,
    .d_ff = 16,
    .n_layers = 3,
    .groups = 2,
    .gated = TRUE,
  };
  g_autoptr (GArray) grids = tensor_grids (1, &model, 2, 2);
  const double       gib = 1073741824;

  /* 2 columns, 2 rows, 2 ranks of depth: data ranks would leave fewer than two for the model */
  ck_assert_uint_eq (grids->len, 3);
  for (guint i = 0; i < grids->len; i++)
    {
      const TensorGrid *grid = &g_array_index (grids, TensorGrid, i);

      if (grid->degrees[0] == 2) /* qkv 16 x 8, out 16 x 4, up 2 x 16 x 16, down 16 x 4 */
        ck_assert_double_eq_tol (grid->gib[0], 3 * 2 * 16 * (8 + 4 + 32 + 4) / gib, 1e-15);
      else if (grid->degrees[1] == 2) /* qkv 16 x 4, out 16 x 4, up 2 x 16 x 4, down 16 x 16 */
        ck_assert_double_eq_tol (grid->gib[1], 3 * 2 * 16 * (4 + 4 + 8 + 16) / gib, 1e-15);
      else /* 3 x 1/2 of weights of 4 x (8 + 4 + 32 + 16) */
        ck_assert_double_eq_tol (grid->gib[2], 3 * 2 * 1.5 * 4 * (8 + 4 + 32 + 16) / gib, 1e-15);
    }
}
END_TEST

/* ---- the table ------------------------------------------------------------------------------- */

static guint64
cell (const CsvReader *reader, const char *column)
{
  return g_ascii_strtoull (csv_reader_field (reader, (guint) csv_reader_find (reader, column)),
                           NULL, 10);
}

/* The grid at which READER is, among those of its case. */
static void
assert_grid (const CsvReader *reader, const GArray *grids)
{
  static const char *const axes[] = { "columns", "rows", "depth", "data" };
  const char       *time = csv_reader_field (reader, (guint) csv_reader_find (reader, "time_s"));
  const TensorGrid *grid;

  ck_assert_uint_eq (grids->len, cell (reader, "n"));
  grid = &g_array_index (grids, TensorGrid, (guint) cell (reader, "place"));
  for (guint axis = 0; axis < TENSOR_GRID_AXES; axis++)
    ck_assert_uint_eq (grid->degrees[axis], cell (reader, axes[axis]));
  ck_assert_double_eq_tol (grid->time_s / g_ascii_strtod (time, NULL), 1, 1e-14);
}

START_TEST (test_order)
{
  g_autofree char      *file = g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "tests", "data",
                                                 "tensor-grids.csv", NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  guint                 n = 0;

  ck_assert_ptr_nonnull (reader);
  while (csv_reader_next (reader, diags))
    {
      const char *machine = csv_reader_field (reader, (guint) csv_reader_find (reader, "machine"));
      const TensorGridModel model = { .samples = cell (reader, "samples"),
                                      .seq_len = cell (reader, "seq_len"),
                                      .d_model = cell (reader, "d_model"),
                                      .d_ff = cell (reader, "d_ff"),
                                      .n_layers = cell (reader, "n_layers"),
                                      .groups = cell (reader, "groups"),
                                      .gated = cell (reader, "gated") == 1 };
      g_autoptr (GArray)    grids =
          tensor_grids ((guint) name_index (machine, tensor_grid_machines), &model,
                        (guint) cell (reader, "ranks"), (guint) cell (reader, "least"));

      assert_grid (reader, grids);
      n++;
    }
  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
  ck_assert_uint_eq (n, 70); /* 10 of one case, the first 20 of three */
}
END_TEST

SUITE_MAIN (tensor_grid)
{
  Suite *suite = suite_create ("tensor-grid");
  TCase *tcase = tcase_create ("tensor-grid");

  tcase_add_test (tcase, test_one_grid);
  tcase_add_test (tcase, test_axes);
  tcase_add_test (tcase, test_order);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
