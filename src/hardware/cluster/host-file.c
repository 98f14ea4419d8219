#include "base/file/file-roles.h"
#include "hardware/cluster/host-file-private.h"

#include <errno.h>
#include <string.h>

#include "base/config/config.h"
#include "base/intern.h"

#define MOST_HOSTS 1000000

static void
line_clear (gpointer data)
{
  g_free (((HostLine *) data)->name);
}

static void
lines_free (gpointer data)
{
  g_array_unref (data);
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* The number behind KEY in WORD, as in 'slots=8'; FALSE where WORD is no such. */
static gboolean
read_number (const char *word, const char *key, guint *number)
{
  guint64 value;

  if (!g_str_has_prefix (word, key)
      || !g_ascii_string_to_unsigned (word + strlen (key), 10, 1, G_MAXUINT16, &value, NULL))
    return FALSE;
  *number = (guint) value;
  return TRUE;
}

/* What stands behind a name: how many processes. FALSE where it is not that. */
static gboolean
read_words (HostLine *host, char **words)
{
  char *colon = strrchr (host->name, ':');
  guint most;

  if (colon != NULL)
    {
      if (!read_number (colon, ":", &host->slots))
        return FALSE;
      *colon = '\0';
    }
  for (guint i = 0; words[i] != NULL; i++)
    if (*words[i] != '\0' && !read_number (words[i], "slots=", &host->slots)
        && !read_number (words[i], "max_slots=", &most)
        && !read_number (words[i], "max-slots=", &most))
      return FALSE;
  return *host->name != '\0';
}

/* LINE of TEXT, which may say nothing. */
static void
read_line (GArray *lines, const char *file, guint number, const char *text, DiagList *diags)
{
  g_autofree char *said = g_strndup (text, strcspn (text, "#\r"));
  g_auto (GStrv)   words = NULL;
  HostLine         host = { 0 };

  words = g_strsplit_set (g_strstrip (said), " \t", -1);
  if (words[0] == NULL)
    return;
  host.name = g_strdup (words[0]);
  host.mark = source_mark_keep (&(SourceMark){ .file = intern_text (file),
                                               .line = number,
                                               .column = (guint) strspn (text, " \t") + 1,
                                               .length = (guint) strlen (words[0]),
                                               .text = text });
  if (read_words (&host, words + 1))
    g_array_append_val (lines, host);
  else
    {
      diag_error (diags, &host.mark, "write a host a line: 'gpu17', 'gpu17 slots=8' or 'gpu17:8'",
                  "no host: '%s'", said);
      g_free (host.name);
    }
}

/* The text of FILE with a NUL behind it; NULL with *WHY, newly allocated. */
static GByteArray *
read_text (const char *file, char **why)
{
  int                    error = 0;
  g_autoptr (GByteArray) bytes = config_read_file (file, &error);

  if (bytes == NULL)
    *why = g_strdup (error == EISDIR ? "it is a folder" : file_roles_why (error));
  else if (bytes->len > CONFIG_MAX_BYTES)
    *why = g_strdup_printf ("it has more than %u MiB", CONFIG_MAX_BYTES >> 20);
  else if (bytes->len > 0 /* no NULs either */
           && !g_utf8_validate ((const char *) bytes->data, bytes->len, NULL))
    *why = g_strdup ("it is not text");
  else
    {
      g_byte_array_append (bytes, (const guint8 *) "", 1);
      return g_steal_pointer (&bytes);
    }
  return NULL;
}

static gpointer
read_hosts (gconstpointer user, DiagList *diags)
{
  const char            *file = user;
  g_autofree char       *why = NULL;
  g_autoptr (GByteArray) bytes = read_text (file, &why);
  g_auto (GStrv)         texts = NULL;
  GArray                *lines;

  if (bytes == NULL)
    return NULL;
  lines = g_array_new (FALSE, FALSE, sizeof (HostLine));
  g_array_set_clear_func (lines, line_clear);
  texts = g_strsplit ((const char *) bytes->data, "\n", -1);
  for (guint i = 0; texts[i] != NULL; i++)
    read_line (lines, file, i + 1, texts[i], diags);
  return lines;
}

/* Why FILE could not be read; newly allocated. What is kept of files does not say it. */
static char *
why_not (const char *file)
{
  char       *why = NULL;
  GByteArray *bytes = read_text (file, &why);

  if (bytes != NULL)
    g_byte_array_unref (bytes);
  return bytes != NULL ? g_strdup ("it has just come") : why;
}

const GArray *
host_file_get (InputFiles *files, const char *file, const SourceMark *mark, const char *hint,
               DiagList *diags)
{
  g_autofree char *key = g_strdup_printf ("hosts of %s", file);
  const GArray    *lines = input_files_get (files, key, read_hosts, file, lines_free, diags);

  if (lines == NULL)
    {
      g_autofree char *why = why_not (file);

      diag_error (diags, mark, hint, "no placement and no list of hosts: '%s': %s", file, why);
    }
  return lines;
}

/* ---- names in one word ----------------------------------------------------------------------- */

static gboolean
add_name (GPtrArray *names, char *name)
{
  g_ptr_array_add (names, name);
  return *name != '\0' && names->len <= MOST_HOSTS;
}

/* '001-128' or '7', between BEFORE and AFTER. */
static gboolean
add_range (GPtrArray *names, const char *before, const char *range, const char *after)
{
  g_auto (GStrv) ends = g_strsplit (range, "-", 2);
  guint64        first, last;
  int            width;

  if (ends[0] == NULL || !g_ascii_string_to_unsigned (ends[0], 10, 0, G_MAXUINT32, &first, NULL))
    return FALSE;
  last = first;
  if (ends[1] != NULL
      && (!g_ascii_string_to_unsigned (ends[1], 10, first, G_MAXUINT32, &last, NULL)))
    return FALSE;
  width = (int) MIN (strlen (ends[0]), 10);
  for (guint64 i = first; i <= last; i++)
    if (!add_name (names, g_strdup_printf ("%s%0*" G_GUINT64_FORMAT "%s", before, width, i, after)))
      return FALSE;
  return TRUE;
}

/* One of the list, 'gpu[001-128,200]-ib' or 'login1'. */
static gboolean
add_item (GPtrArray *names, const char *item)
{
  const char      *open = strchr (item, '['), *close = strchr (item, ']');
  g_autofree char *before = NULL, *inside = NULL;
  g_auto (GStrv)   ranges = NULL;

  if (open == NULL && close == NULL)
    return add_name (names, g_strdup (item));
  if (open == NULL || close == NULL || close < open || strchr (open + 1, '[') != NULL
      || strchr (close + 1, ']') != NULL)
    return FALSE;
  before = g_strndup (item, (gsize) (open - item));
  inside = g_strndup (open + 1, (gsize) (close - open - 1));
  ranges = g_strsplit (inside, ",", -1);
  for (guint i = 0; ranges[i] != NULL; i++)
    if (!add_range (names, before, ranges[i], close + 1))
      return FALSE;
  return ranges[0] != NULL;
}

/* The end of the item that begins at TEXT: a comma outside of brackets. */
static const char *
item_end (const char *text)
{
  gboolean inside = FALSE;

  for (; *text != '\0' && (inside || *text != ','); text++)
    inside = *text == '[' || (inside && *text != ']');
  return text;
}

GPtrArray *
host_names_expand (const char *text, const SourceMark *mark, DiagList *diags)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  for (const char *at = text; at != NULL;)
    {
      const char      *end = item_end (at);
      g_autofree char *item = g_strndup (at, (gsize) (end - at));

      if (!add_item (names, g_strstrip (item)))
        {
          if (names->len > MOST_HOSTS)
            diag_error (diags, mark, "as many as the fabric has nodes",
                        "'hosts' names more than %d nodes: '%s'", MOST_HOSTS, text);
          else
            diag_error (diags, mark, "write them as Slurm does: 'gpu[001-128]' or 'a1,a2,b[1-4]'",
                        "no names of hosts: '%s'", text);
          return NULL;
        }
      at = *end == ',' ? end + 1 : NULL;
    }
  return g_steal_pointer (&names);
}
