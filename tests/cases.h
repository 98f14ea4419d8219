/*
 * How many seeded cases a property test runs. Tests say how many make it thorough, for the suite
 * 'full'; the default suite runs SHARDSIM_CASES percent of them (tests/meson.build).
 */
#pragma once

#include <glib.h>

static inline guint
cases_of (guint full)
{
  const char *percent = g_getenv ("SHARDSIM_CASES");

  return percent != NULL ? MAX (1, (guint) (full * g_ascii_strtoull (percent, NULL, 10) / 100))
                         : full;
}
