/* The text of a log, and whether a file is one. */
#include <string.h>

#include "base/file/file-roles.h"
#include "base/intern.h"
#include "import/log/nccl-log-line-private.h"

#define MAX_HEAD \
  (1u << 20) /* bytes in which a log shows itself as one, behind what its launcher printed */

char *
log_read_text (const char *file, DiagList *diags)
{
  SourceMark             mark = { .file = intern_text (file) };
  int                    error;
  g_autoptr (GByteArray) bytes = config_read_file (file, &error);

  if (bytes == NULL)
    diag_error (diags, NULL, NULL, "cannot read '%s': %s", file, file_roles_why (error));
  else if (bytes->len > CONFIG_MAX_BYTES)
    diag_error (diags, &mark, "grep -v 'NCCL INFO' leaves what is needed", "larger than 16 MiB");
  else if (bytes->len > 0 && memchr (bytes->data, '\0', bytes->len) != NULL)
    {
      mark.line = 1;
      for (const guint8 *c = bytes->data; *c != '\0'; c++)
        mark.line += *c == '\n';
      diag_error (diags, &mark, NULL, "a NUL byte: not a text file");
    }
  else
    return g_utf8_make_valid (bytes->data != NULL ? (const char *) bytes->data : "", bytes->len);
  return NULL;
}

/* Some line of HEAD is a row of nccl-tests without more. */
static gboolean
has_lone_row (char *head)
{
  g_auto (GStrv) lines = g_strsplit (head, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      LogWords words;

      log_split (log_skip_prefix (lines[i]), &words);
      if (log_is_lone_row (&words))
        return TRUE;
    }
  return FALSE;
}

gboolean
nccl_log_recognise (const char *file)
{
  static const char *const signs[] = { "busbw",    "algbw",    "Avg bus bandwidth",
                                       "_perf",    "nThread ", "NCCL version",
                                       "# Rank",   "#  Rank",  "#   Rank",
                                       "NCCL INFO" };
  int                      error;
  g_autoptr (GByteArray)   bytes = config_read_file (file, &error);
  g_autofree char         *head =
      bytes != NULL ? g_strndup ((const char *) bytes->data, MIN (bytes->len, MAX_HEAD)) : NULL;

  for (guint i = 0; head != NULL && i < G_N_ELEMENTS (signs); i++)
    if (strstr (head, signs[i]) != NULL)
      return TRUE;
  return head != NULL && has_lone_row (head);
}
