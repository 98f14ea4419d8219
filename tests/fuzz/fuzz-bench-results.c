/* results.csv of the runner from arbitrary bytes: rows that can be calibrated from, or errors. */
#include <math.h>

#include "fuzz.h"
#include "import/log/bench-results.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (BenchResults) self = NULL;
  g_autofree char         *file = fuzz_file ("results.csv", data, size);
  const char              *files[] = { file, NULL };

  fuzz_begin ();
  self = bench_results_load (files, diags);
  fuzz_check_diags (diags, self == NULL);
  for (guint i = 0; self != NULL && i < self->rows->len; i++)
    {
      const BenchRow *row = &g_array_index (self->rows, BenchRow, i);

      g_assert (isfinite (row->low) && row->low <= row->value && row->value <= row->high);
      g_assert (isfinite (row->high) && *row->benchmark != '\0' && row->unit < BENCH_UNIT_N);
    }
  return 0;
}
