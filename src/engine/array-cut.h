/* GArrays of the solver's inner loops, which are emptied several times an op. */
#pragma once

#include <glib.h>

/*
 * Leaves the first N elements, of at least as many, which need no clearing. g_array_set_size calls
 * twice for it.
 */
static inline void
array_cut (GArray *array, guint n)
{
  array->len = n;
}
