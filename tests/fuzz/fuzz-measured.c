/*
 * Files of measured kernels: diagnostics, or rows whose times are finite, and a check against a
 * small model that ends.
 */
#include <math.h>

#include "fuzz.h"
#include "model/layer/measured-kernels.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char            *file = fuzz_file ("measured.yaml", data, size);
  g_autoptr (DiagList)        diags = diag_list_new (), other = diag_list_new ();
  g_autoptr (MeasuredKernels) self = NULL;
  TrainingOptions             training = { 0 };
  MeshOptions                 mesh = { 0 };
  const OptionMarks           marks = { 0 };

  fuzz_begin ();
  self = measured_kernels_load (file, diags);
  fuzz_check_diags (diags, self == NULL);
  if (self == NULL)
    return 0;
  for (guint layer = 0; layer < MEASURED_N_LAYERS; layer++)
    for (guint phase = 0; phase < MEASURED_N_PHASES; phase++)
      {
        const MeasuredRow *row = measured_kernels_row (self, layer, (MeasuredPhase) phase);

        g_assert (!row->given || (isfinite (row->seconds) && row->seconds > 0));
        g_assert (isfinite (row->flops) && isfinite (row->bytes));
      }
  option_table_defaults (training_options, &training);
  option_table_defaults (mesh_options, &mesh);
  fuzz_check_diags (other, !measured_kernels_check (self, &training, &mesh, &marks, &marks, other));
  option_table_clear (training_options, &training);
  option_table_clear (mesh_options, &mesh);
  return 0;
}
