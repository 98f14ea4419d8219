/* results.csv of the runner from arbitrary bytes: rows that can be calibrated from, or errors. */
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/bench-results.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (BenchResults) self = NULL;
  int                      fd = memfd_create ("fuzz", 0);
  g_autofree char         *file = g_strdup_printf ("/proc/self/fd/%d", fd);
  const char              *files[] = { file, NULL };

  g_assert (fd >= 0 && write (fd, data, size) == (gssize) size);
  self = bench_results_load (files, diags);
  close (fd);
  g_assert ((self == NULL) == diag_list_has_errors (diags));
  for (guint i = 0; self != NULL && i < self->rows->len; i++)
    {
      const BenchRow *row = &g_array_index (self->rows, BenchRow, i);

      g_assert (isfinite (row->low) && row->low <= row->value && row->value <= row->high);
      g_assert (isfinite (row->high) && *row->benchmark != '\0' && row->unit < BENCH_UNIT_N);
    }
  return 0;
}
