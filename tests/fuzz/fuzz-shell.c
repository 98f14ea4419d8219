/*
 * Scripts out of arbitrary bytes: settings with keys and values, or diagnostics. No secret comes
 * out, and nothing that stands for what is not known.
 */
#include <string.h>

#include "fuzz.h"
#include "import/job/job-shell.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char      *text = g_strndup ((const char *) data, size);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) settings = NULL;

  fuzz_begin ();
  settings = job_shell_read ("run.sh", text, diags);
  fuzz_check_diags (diags, settings == NULL);
  for (guint i = 0; settings != NULL && i < settings->len; i++)
    {
      const JobSetting *setting = g_ptr_array_index (settings, i);

      g_assert (setting->key[0] != '\0' && setting->value != NULL);
      g_assert (strpbrk (setting->value, "\001\002") == NULL);
      g_assert (strstr (setting->key, "PASSWORD") == NULL);
    }
  return 0;
}
