/* Matrices of sites: diagnostics, or links that a cluster can be built with. */
#include <math.h>

#include "fuzz.h"
#include "hardware/sites/site-matrix.h"
#include "hardware/sites/tcp.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (InputFiles) files = input_files_new ();
  g_autofree char       *file = fuzz_file ("fuzz.sites.csv", data, size);
  const SiteMatrix      *matrix;

  fuzz_begin ();
  matrix = site_matrix_get (files, file, NULL, diags);
  fuzz_check_diags (diags, matrix == NULL);
  for (guint i = 0; matrix != NULL && i < matrix->n * matrix->n; i++)
    {
      const SiteLink *link = &matrix->links[i];

      if (i / matrix->n == i % matrix->n)
        continue;
      g_assert (isfinite (link->rate) && link->rate > 0);
      g_assert (link->rtt > 0 && link->rtt <= 3600 && link->loss >= 0 && link->loss < 1);
      g_assert (tcp_connection_rate (link->rtt, link->loss, 0) >= 0);
    }
  return 0;
}
