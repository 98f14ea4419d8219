/*
 * What stands before, and amid, the lines of a log because a launcher says whose they are: Open
 * MPI's tags, MPICH's and Intel's, srun's numbers, names of pods, workers and hosts, time stamps,
 * also those of syslog.
 */
#include <string.h>

#include "import/log/nccl-log-line-private.h"

#define MAX_PREFIXES 6

static gsize
count_digits (const char *text)
{
  return strspn (text, "0123456789");
}

/* "[0]" and, LOOSE, "[1,0]<stdout>:"; its length, 0: neither. */
static gsize
tag_length (const char *text)
{
  static const char *const streams[] = { "<stdout>", "<stderr>", "<stddiag>" };
  gsize                    at = 1;

  if (*text != '[' || count_digits (text + 1) == 0)
    return 0;
  at += strspn (text + at, "0123456789,");
  if (text[at++] != ']')
    return 0;
  for (guint i = 0; i < G_N_ELEMENTS (streams); i++)
    if (g_str_has_prefix (text + at, streams[i]))
      {
        at += strlen (streams[i]);
        return at + (text[at] == ':');
      }
  return memchr (text, ',', at) == NULL ? at + (text[at] == ':') : 0;
}

/* "[pod/nccl-launcher-x2x/nccl] " of kubectl logs --prefix. */
static gsize
pod_length (const char *text)
{
  const gsize end = strcspn (text, "] ");

  return g_str_has_prefix (text, "[pod/") && text[end] == ']' ? end + 1 : 0;
}

/* " stdout F", as container runtimes have it behind a time stamp. */
static gsize
stream_length (const char *text)
{
  static const char *const streams[] = { " stdout F", " stderr F", " stdout P", " stderr P" };

  for (guint i = 0; i < G_N_ELEMENTS (streams); i++)
    if (g_str_has_prefix (text, streams[i]))
      return strlen (streams[i]);
  return 0;
}

/* "2026-05-01T12:00:00.123456789Z ", also with a blank amid it. */
static gsize
stamp_length (const char *text)
{
  gsize at = 10;

  if (strnlen (text, 20) < 20 || text[4] != '-' || text[7] != '-'
      || (text[10] != 'T' && text[10] != ' ') || text[13] != ':' || text[16] != ':'
      || count_digits (text) != 4)
    return 0;
  at = strcspn (text + 11, " \t") + 11;
  return text[at] == '\0' ? 0 : at + stream_length (text + at);
}

/* Whether TEXT begins with "12:00:00". */
static gboolean
is_time (const char *text)
{
  return strnlen (text, 8) == 8 && count_digits (text) == 2 && text[2] == ':'
         && count_digits (text + 3) == 2 && text[5] == ':' && count_digits (text + 6) >= 2;
}

/* "[Mon Nov 30 12:00:00 2026] " of ts and dmesg, "[2026-11-30 12:00:00] ". */
static gsize
bracket_length (const char *text)
{
  const gsize end = strcspn (text, "]");
  const gsize colon = strcspn (text, ":");

  return *text == '[' && end < 40 && text[end] == ']' && colon > 2 && colon < end
                 && is_time (text + colon - 2)
             ? end + 1
             : 0;
}

/* "Nov 30 12:00:00 node1 nccl[12]: " of syslog and journalctl. */
static gsize
syslog_length (const char *text)
{
  static const char months[] = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
  gsize             at = 4;

  if (strnlen (text, 16) < 16 || text[3] != ' ' || !g_ascii_isupper (*text)
      || g_strstr_len (months, -1, (char[]){ text[0], text[1], text[2], '\0' }) == NULL)
    return 0;
  at += strspn (text + at, " ");
  at += count_digits (text + at);
  if (text[at] != ' ' || !is_time (text + at + 1))
    return 0;
  at += 1 + 8;
  at += strcspn (text + at, ":");
  return text[at] == ':' && text[at + 1] == ' ' ? at + 1 : 0;
}

/* "(RayWorker pid=123, ip=10.0.0.1) ". */
static gsize
worker_length (const char *text)
{
  const gsize end = strcspn (text, ")");

  return *text == '(' && text[end] == ')' && g_strstr_len (text, (gssize) end, " pid=") != NULL
             ? end + 1
             : 0;
}

/* "nccl-launcher-x2x7 nccl " of stern, before what nccl-tests prints. */
static gsize
stern_length (const char *text)
{
  const gsize pod = strcspn (text, " "), container = strcspn (text + pod + (text[pod] != 0), " ");
  const gsize at = pod + 1 + container;
  const char *behind;

  if (text[pod] == '\0' || container == 0 || text[at] == '\0' || memchr (text, '-', pod) == NULL
      || !g_ascii_isalpha (*text))
    return 0;
  behind = text + at + strspn (text + at, " ");
  return *behind == '#' || g_ascii_isdigit (*behind) ? at : 0;
}

/* "0: " or " 12: " of srun. */
static gsize
number_length (const char *text)
{
  const gsize blanks = strspn (text, " "), digits = count_digits (text + blanks);
  const gsize at = blanks + digits;

  return digits > 0 && text[at] == ':' && (text[at + 1] == ' ' || text[at + 1] == '\0') ? at + 1
                                                                                        : 0;
}

/* "nccl-worker-0: ", "node7: " of pdsh, "worker_1  | ": a word of a name, not one of nccl-tests. */
static gsize
name_length (const char *text)
{
  static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
  const gsize       length = strspn (text, name), blanks = strspn (text + length, " ");
  const char       *behind = text + length + blanks;

  if (length == 0 || g_str_has_prefix (text, "shardsim"))
    return 0;
  if (blanks == 0 && behind[0] == ':' && (behind[1] == ' ' || behind[1] == '\t'))
    return length + 1;
  return behind[0] == '|' && behind[1] == ' ' ? length + blanks + 1 : 0;
}

/* A tag of Open MPI with words before it: "[host:1234] [1,0]<stdout>:". */
static gsize
late_tag (const char *text)
{
  const char *tag = strstr (text, "<stdout>:");

  if (tag == NULL)
    tag = strstr (text, "<stderr>:");
  return tag != NULL ? (gsize) (tag - text) + strlen ("<stdout>:") : 0;
}

/* Behind one prefix of TEXT, from *AT on; FALSE where there is none. A tag is noted. */
static gboolean
skip_one (const char *text, gsize *at, gboolean *tagged)
{
  static gsize (*const kinds[]) (const char *text) = {
    tag_length,    pod_length,    stamp_length, bracket_length, syslog_length,
    worker_length, number_length, name_length,  stern_length,
  };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      const char *start = text + *at;
      const gsize blanks = kinds[i] != number_length ? strspn (start, " ") : 0;
      const gsize length = kinds[i](start + blanks);

      if (length == 0)
        continue;
      *tagged |= kinds[i] == tag_length;
      *at += blanks + length;
      return TRUE;
    }
  return FALSE;
}

/* Escape sequences of a terminal: "\033[0m". */
static void
blank_escapes (char *text)
{
  for (char *c = strchr (text, '\033'); c != NULL; c = strchr (c, '\033'))
    {
      gsize length = 1;

      if (c[1] == '[')
        {
          length = 2 + strspn (c + 2, "0123456789;?");
          length += c[length] != '\0';
        }
      memset (c, ' ', length);
    }
}

const char *
log_skip_prefix (char *text)
{
  gsize    at = late_tag (text);
  gboolean tagged = at > 0;

  blank_escapes (text);
  for (guint n = 0; n < MAX_PREFIXES && skip_one (text, &at, &tagged); n++)
    ;
  for (char *c = tagged ? strchr (text + at, '[') : NULL; c != NULL; c = strchr (c + 1, '['))
    memset (c, ' ', tag_length (c));
  return text + at;
}
