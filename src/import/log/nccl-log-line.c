/* Single lines of a log, whatever run they belong to. */
#include <string.h>

#include "import/log/nccl-log-line-private.h"

/* ---- the library's own lines ----------------------------------------------------------------- */

const char *
log_find_debug (const char *text, const char **start)
{
  static const char *const levels[] = { "NCCL INFO ", "NCCL WARN ", "NCCL TRACE ", "NCCL ABORT " };

  for (guint i = 0; i < G_N_ELEMENTS (levels); i++)
    {
      const char *found = strstr (text, levels[i]), *from = found;

      if (found == NULL)
        continue;
      while (from > text && from[-1] == ' ')
        from--;
      if (from > text && from[-1] == ']')
        while (from > text && *from != '[')
          from--;
      while (from > text && from[-1] == ' ')
        from--;
      while (from > text && from[-1] != ' ' && from[-1] != '\t')
        from--;
      *start = from;
      return found + strlen (levels[i]);
    }
  return NULL;
}

gsize
log_cell_length (const char *glued)
{
  static const char *const operations[] = { "none", "sum", "prod", "min", "max", "avg", "mulsum" };
  gsize                    n = glued[0] == '-';

  while (g_ascii_isdigit (glued[n]))
    n++;
  if (n > 0 && !g_ascii_isdigit (glued[n]) && glued[n] != ':' && glued[n] != '.')
    return n;
  for (guint i = 0; i < G_N_ELEMENTS (operations); i++)
    if (g_str_has_prefix (glued, operations[i]))
      return strlen (operations[i]);
  return 0;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/*
 * The value behind NAME at word *AT, which moves on; FALSE, and nothing moves, where it does not
 * stand there.
 */
static gboolean
take_value (const LogWords *words, guint *at, const char *name, gint64 *value)
{
  if (!log_word_is (words, *at, name) || *at + 1 >= words->n)
    return FALSE;
  *value = g_ascii_strtoll (words->words[*at + 1], NULL, 10);
  *at += 2;
  return TRUE;
}

/*
 * "3 [0000:0f:00" from a whole address: short ones are alike for unlike GPUs of virtual machines,
 * and hosts have none.
 */
static char *
slot_of (gint64 device, const char *bus, const char *gpu)
{
  const gsize length = bus != NULL ? strcspn (bus, "]") : 0;

  if (bus == NULL || memchr (bus, ':', length) == NULL || strcmp (gpu, "CPU") == 0)
    return NULL;
  return g_strdup_printf ("%" G_GINT64_FORMAT " %.*s", device, (int) length, bus);
}

gboolean
log_read_rank (const LogLine *line, const char *content, LogRank *rank, DiagList *diags)
{
  LogWords    words;
  gint64      device;
  guint       at = 1, host;
  const char *name = strchr (content, ']');

  *rank = (LogRank){ .pid = -1,
                     .n_ranks = 1,
                     .mark = log_mark (line, line->text, strlen (line->text)) };
  log_split (content, &words);
  if (words.n == 0 || !g_ascii_isdigit (words.words[0][0]))
    return FALSE;
  rank->rank = g_ascii_strtoll (words.words[0], NULL, 10);
  take_value (&words, &at, "Group", &rank->group);
  take_value (&words, &at, "Pid", &rank->pid);
  host = at + 1;
  at += 2;
  if (!log_word_is (&words, host - 1, "on") || !take_value (&words, &at, "device", &device)
      || name == NULL || name[1 + strspn (name + 1, " ")] == '\0')
    {
      SourceMark mark = log_mark (line, line->text, strlen (line->text));

      diag_error (
          diags, &mark,
          "such as 'Rank  0 Group  0 Pid  1234 on  host1 device  0 [0000:0f:00] NVIDIA H100'",
          "a rank's line that is not complete");
      return FALSE;
    }
  name += 1 + strspn (name + 1, " ");
  rank->host = g_strndup (words.words[host], words.lengths[host]);
  rank->gpu = g_strchomp (g_strdup (name));
  rank->slot = slot_of (device, strchr (content, '['), rank->gpu);
  rank->gpu_mark = log_mark (line, name, strlen (name));
  return TRUE;
}
