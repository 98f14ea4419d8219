/* Tables of errors of layers: diagnostics, or errors that a choice can be made of. */
#include <math.h>

#include "fuzz.h"
#include "strategy/compression/layer-errors.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (InputFiles) files = input_files_new ();
  g_autofree char       *file = fuzz_file ("fuzz.errors.csv", data, size);
  const LayerErrors     *errors;

  fuzz_begin ();
  errors = layer_errors_get (files, file, diags);
  fuzz_check_diags (diags, errors == NULL);
  for (guint i = 0; errors != NULL && i < 40; i++)
    {
      double error = layer_errors_of (errors, i % 5, i % 2 == 0 ? "attn.q_proj.weight" : "", i / 5);

      g_assert (error >= 0 && (isfinite (error) || isinf (error)));
    }
  return 0;
}
