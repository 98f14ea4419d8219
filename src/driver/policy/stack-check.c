/* Whether the strategies of a stack go together. */
#include "driver/walk/driver-private.h"

/* A rank has one role (roles.c): that of the one strategy that tells ranks apart. */
gboolean
driver_check_roles (const Strategy *inner, const Strategy *outer, DiagList *diags)
{
  if (inner->role == NULL || outer->role == NULL)
    return TRUE;
  diag_error (diags, NULL, "take local-sgd, diloco or the like for one of them",
              "strategy '%s' inside '%s': both may tell the ranks of a worker apart", inner->name,
              outer->name);
  return FALSE;
}

/* Where workers train different slices, who exchanges must bring these together, once for all. */
gboolean
driver_check_slices (const DriverLevel *levels, guint n, DiagList *diags)
{
  guint       slices = training_slices (workload_training (levels[0].in.workload));
  const char *wrong = levels[0].run.exchange == NULL ? levels[0].strategy->name : NULL;

  for (guint i = 0; i < n; i++)
    if (levels[i].run.exchange != NULL && (i > 0 || levels[i].exchange.slices != slices))
      wrong = levels[i].strategy->name;
  if (slices == 1 || wrong == NULL)
    return TRUE;
  diag_error (diags, NULL, "take 'ppu' around an inner strategy, or 'training.trained_slices' of 1",
              "strategy '%s' does not bring together the %u slices of 'training.trained_slices'",
              wrong, slices);
  return FALSE;
}
