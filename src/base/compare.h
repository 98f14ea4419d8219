/* Orders for g_ptr_array_sort, g_array_sort and qsort. */
#pragma once

#include <glib.h>
#include <string.h>

/* Of places that hold texts. */
static inline gint
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static inline gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}
