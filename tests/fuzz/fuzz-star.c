/* Stars of clients, of both kinds: diagnostics, or points that are numbers or none. */
#include <math.h>

#include "evidence/figures/figure-edge.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* What comes of DATA as the figure NAME, whose file ends in SUFFIX. */
static void
check_kind (const char *name, const char *suffix, const guint8 *data, gsize size)
{
  const PredictOptions           options = { 0 };
  g_autoptr (DiagList)           diags = diag_list_new ();
  g_autofree char               *base = g_strconcat (name, suffix, NULL);
  G_GNUC_UNUSED g_autofree char *file = fuzz_file (base, data, size);
  g_autoptr (Figures)            self = figures_compute (fuzz_folder (), name, &options, 1, diags);

  fuzz_check_diags (diags, self == NULL);
  for (guint i = 0; self != NULL && i < self->rows->len; i++)
    {
      const CurvePoint *row = FIGURE_ROW (self, CurvePoint, i);

      g_assert (isfinite (row->x) && !isinf (row->value));
      g_assert (isnan (row->value) ? row->panel->reason != NULL : row->value >= 0);
    }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  fuzz_begin ();
  check_kind ("split", ".star.yaml", data, size);
  check_kind ("slim", ".slim.yaml", data, size);
  return 0;
}
