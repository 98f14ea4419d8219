#include "report/assumptions-private.h"

void
report_assumed_once (const char *assumptions, GPtrArray *said, GString *out)
{
  if (*assumptions == '\0'
      || g_ptr_array_find_with_equal_func (said, assumptions, g_str_equal, NULL))
    return;
  g_ptr_array_add (said, (gpointer) assumptions);
  g_string_append_printf (out, "Assumed: %s\n", assumptions);
}
