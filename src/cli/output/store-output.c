#include "cli/output/store-output.h"

#include "base/file/file-roles.h"
#include "report/answer/sweep.h"

ExitStatus
store_report_error (const GError *error)
{
  stream_report_error (error);
  return g_error_matches (error, RESULT_STORE_ERROR, RESULT_STORE_REFUSED)
                 || g_error_matches (error, FILE_ROLES_ERROR, FILE_ROLES_REFUSED)
             ? EXIT_USAGE
             : EXIT_RUNTIME;
}

ExitStatus
store_write_pages (const Common *common, ResultStore *store, const char *file, ExitStatus status)
{
  g_autoptr (StoreView) view = NULL;
  g_autoptr (GError)    error = NULL;
  SweepAnswer           answer = { .file = file };

  if (common->plot == NULL && common->html == NULL)
    return status;
  answer.view = view = store_view_new (store, &error);
  return view != NULL ? common_write_pages (common, &sweep_page, &answer, status)
                      : stream_worse (status, store_report_error (error));
}
