#include "report/answer/track-record.h"

#include "api/shardsim.h"
#include "report/document/answer.h"

char *
shardsim_track_record (void)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GString)  document = g_string_new (NULL);
  GString             *out = g_string_new (NULL);

  report_track_record_json (NULL, diags, document);
  report_answer_around (document, diags, NULL, out);
  return g_string_free (out, FALSE);
}
