/*
 * quantity_parse over every kind: either a finite value that is not negative, or a message; the
 * value reads back bit by bit from quantity_format_exact, and within 1e-12 from quantity_format
 * with 17 digits where an input's value could lie (at the ends of the range of a double the
 * printed number may be past it: percent are a hundred times the value).
 */
#include <math.h>

#include "base/config/units.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
check_kind (QuantityKind kind, const char *text)
{
  g_autofree char *why = NULL;
  g_autofree char *exact = NULL, *printed = NULL;
  double           value = -1, again = -1;

  if (!quantity_parse (kind, text, &value, &why))
    {
      g_assert (why != NULL && *why != '\0');
      g_assert (!quantity_parse (kind, text, &value, NULL));
      return;
    }
  g_assert (why == NULL);
  g_assert (isfinite (value) && value >= 0);
  exact = quantity_format_exact (kind, value);
  g_assert (quantity_parse (kind, exact, &again, NULL) && again == value);
  if (value != 0 && (value < 1e-30 || value > 1e30))
    return;
  printed = quantity_format (kind, value, 17);
  g_assert (quantity_parse (kind, printed, &again, NULL));
  g_assert (fabs (again - value) <= 1e-12 * value);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);

  for (QuantityKind kind = QUANTITY_TIME; kind < QUANTITY_N_KINDS; kind++)
    check_kind (kind, text);
  return 0;
}
