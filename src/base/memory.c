#include "base/memory.h"

#include <glib.h>

const char *
pool_category_name (PoolCategory category)
{
  static const char *const names[POOL_N_CATEGORIES] = {
    [POOL_PARAMETER] = "parameter",
    [POOL_GRADIENT] = "gradient",
    [POOL_OPTIMIZER] = "optimizer",
    [POOL_ACTIVATION] = "activation",
    [POOL_GATHERED] = "gathered",
    [POOL_CACHE] = "cache",
    [POOL_COMMUNICATION] = "communication",
    [POOL_WORKSPACE] = "workspace",
    [POOL_RUNTIME] = "runtime",
    [POOL_OUTER] = "outer",
  };

  g_assert (category < POOL_N_CATEGORIES);
  return names[category];
}
