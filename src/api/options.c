#include "api/shardsim.h"

#include "report/answer/option-tables.h"

char *
shardsim_options (void)
{
  GString *out = g_string_new (NULL);

  report_option_tables_json (out);
  return g_string_free (out, FALSE);
}
