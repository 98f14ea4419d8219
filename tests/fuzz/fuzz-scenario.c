/*
 * scenario_load over arbitrary bytes: diagnostics, or scenarios that print as what reads back to
 * the same; small ones are replayed. Files of more than ten scenarios are only loaded.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autofree char      *file = fuzz_file ("scenario.yaml", data, size);
  g_autoptr (GPtrArray) all = NULL;

  fuzz_begin ();
  all = scenario_load (NULL, file, NULL, 0, diags);
  fuzz_check_diags (diags, all == NULL);
  for (guint i = 0; all != NULL && all->len <= 10 && i < all->len; i++)
    {
      const Scenario *scenario = g_ptr_array_index (all, i);

      fuzz_check_round_trip (scenario);
      fuzz_check_prediction (scenario, fuzz_profiles ());
    }
  return 0;
}
