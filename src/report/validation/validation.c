#include "report/validation/validation-private.h"

/* Counts REASON among the DIFFERENT ones. */
static void
count_reason (GPtrArray *different, GArray *counts, const char *reason)
{
  guint at, one = 1;

  if (g_ptr_array_find_with_equal_func (different, reason, g_str_equal, &at))
    {
      g_array_index (counts, guint, at)++;
      return;
    }
  g_ptr_array_add (different, (gpointer) reason);
  g_array_append_val (counts, one);
}

void
validation_append_reasons (const GPtrArray *reasons, GString *out)
{
  g_autoptr (GPtrArray) different = g_ptr_array_new ();
  g_autoptr (GArray)    counts = g_array_new (FALSE, FALSE, sizeof (guint));
  guint                 n_failed = 0;

  for (guint i = 0; i < reasons->len; i++)
    if (g_ptr_array_index (reasons, i) != NULL)
      {
        count_reason (different, counts, g_ptr_array_index (reasons, i));
        n_failed++;
      }
  if (n_failed > 0)
    g_string_append_printf (out, "\n%u of %u rows could not be simulated\n", n_failed,
                            reasons->len);
  for (guint i = 0; i < different->len; i++)
    g_string_append_printf (out, "  %u: %s\n", g_array_index (counts, guint, i),
                            (const char *) g_ptr_array_index (different, i));
}
