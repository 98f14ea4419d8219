/* Tables of measured matrix products: diagnostics, or points that a kernel model can work with. */
#include <math.h>

#include "fuzz.h"
#include "hardware/profile/matmul-curve.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *file = fuzz_file ("fuzz.matmul.csv", data, size);
  g_autoptr (GArray)   curve = NULL;

  fuzz_begin ();
  curve = matmul_curve_load (file, diags);
  fuzz_check_diags (diags, curve == NULL);
  for (guint i = 0; curve != NULL && i < curve->len; i++)
    {
      const MatmulPoint *point = &g_array_index (curve, MatmulPoint, i);

      g_assert (point->batch >= 1 && point->m >= 1 && point->n >= 1 && point->k >= 1);
      g_assert (isfinite (point->batch * point->m * point->n * point->k));
      g_assert (isfinite (point->seconds) && point->seconds > 0);
    }
  return 0;
}
