#include "api/shardsim.h"
#include "base/config/units.h"
#include "base/own-memory.h"
#include "report/document/answer.h"

char *
shardsim_max_memory_use (const char *size)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *why = NULL;
  GString             *out = g_string_new (NULL);
  double               bytes = 0;

  if (size != NULL && !quantity_parse (QUANTITY_BYTES, size, &bytes, &why))
    diag_error (diags, NULL, NULL, "max_memory_use: %s", why);
  else if (size != NULL && bytes < 1)
    diag_error (diags, NULL, NULL, "max_memory_use: nothing runs in no memory, got '%s'", size);
  else
    own_memory_set_limit (bytes < (double) G_MAXINT64 ? (guint64) bytes : (guint64) G_MAXINT64);
  report_answer_around (NULL, diags, NULL, out);
  return g_string_free (out, FALSE);
}
