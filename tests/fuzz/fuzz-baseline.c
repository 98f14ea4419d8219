/*
 * Baselines of predictions: diagnostics, or rows that are written and read back to the same bytes,
 * and that have not moved against themselves.
 */
#include "fuzz.h"
#include "report/regress/regress.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
check_against_itself (const Baseline *self, const RegressRow *row)
{
  g_autoptr (DiagList)          diags = diag_list_new ();
  g_autoptr (RegressComparison) compared = regress_compare (self, row, NULL, diags);
  guint                         index;

  g_assert (diag_list_is_empty (diags) && compared->was == row);
  g_assert (compared->n[REGRESS_SAME] == row->results->len && compared->causes->len == 0);
  g_assert (regress_headline (compared, &index) == NULL);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char     *file = fuzz_file ("baseline.json", data, size), *again = NULL;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Baseline) self = NULL, back = NULL;
  g_autoptr (GString)  first = g_string_new (NULL), second = g_string_new (NULL);

  fuzz_begin ();
  self = baseline_load (file, diags);
  fuzz_check_diags (diags, self == NULL);
  if (self == NULL)
    return 0;
  for (guint i = 0; i < self->rows->len; i++)
    check_against_itself (self, g_ptr_array_index (self->rows, i));
  report_baseline (self, first);
  again = fuzz_file ("again.json", (const guint8 *) first->str, first->len);
  back = baseline_load (again, diags);
  g_assert (back != NULL);
  report_baseline (back, second);
  g_assert (g_string_equal (first, second));
  return 0;
}
