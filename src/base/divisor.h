/* The greatest common divisor; of A and 0 that is A. */
#pragma once

#include <glib.h>

static inline gint64
common_divisor (gint64 a, gint64 b)
{
  return b == 0 ? a : common_divisor (b, a % b);
}
