#include "base/config/printable.h"

#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

static const struct
{
  const char *mark, *colour;
} marks[] = {
  { PRINTABLE_ALERT, "\033[1;31m" },
  { PRINTABLE_PLAIN, "\033[0m" },
};

/* Bytes at P that are printed as they are: all, nearly always. */
static gsize
plain_length (const char *p, const char *end)
{
  const char *start = p;

  while (p < end && ((*p >= ' ' && *p < 0x7f) || *p == '\n' || *p == '\t'))
    p++;
  return (gsize) (p - start);
}

/* Length of the character at P; 0 where the bytes are none. */
static gsize
character_length (const char *p, gsize left)
{
  gunichar c = g_utf8_get_char_validated (p, (gssize) left);

  if (*p == '\0') /* stands for itself here */
    return 1;
  return c == (gunichar) -1 || c == (gunichar) -2 ? 0 : (gsize) g_unichar_to_utf8 (c, NULL);
}

/* Turns what stands after it round, or breaks the line: a name would read as another. */
static gboolean
is_direction (gunichar c)
{
  static const struct
  {
    gunichar first, last;
  } ranges[] = {
    { 0x061C, 0x061C },
    { 0x200E, 0x200F },
    { 0x2028, 0x202E },
    { 0x2066, 0x2069 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (ranges); i++)
    if (c >= ranges[i].first && c <= ranges[i].last)
      return TRUE;
  return FALSE;
}

static gboolean
is_control (const char *p, const char *end)
{
  const gunichar c = g_utf8_get_char (p);

  if (*p == '\r')
    return end - p < 2 || p[1] != '\n';
  return *p != '\n' && *p != '\t' && (g_unichar_iscntrl (c) || is_direction (c));
}

/* The colour of the mark at P; NULL when there is none. */
static const char *
colour_at (const char *p, gsize length)
{
  for (guint i = 0; i < G_N_ELEMENTS (marks); i++)
    if (length == strlen (marks[i].mark) && memcmp (p, marks[i].mark, length) == 0)
      return marks[i].colour;
  return NULL;
}

char *
printable_text (const char *text, gsize length, gboolean colour)
{
  GString    *out = g_string_sized_new (length);
  const char *end = text + length;

  for (const char *p = text; p < end;)
    {
      gsize       plain = plain_length (p, end), n;
      const char *own;

      g_string_append_len (out, p, (gssize) plain);
      p += plain;
      if (p == end)
        break;
      n = character_length (p, (gsize) (end - p));
      own = colour_at (p, n);
      if (own != NULL)
        g_string_append (out, colour ? own : "");
      else if (n == 0 || is_control (p, end))
        g_string_append (out, REPLACEMENT);
      else
        g_string_append_len (out, p, (gssize) n);
      p += MAX (n, 1);
    }
  return g_string_free (out, FALSE);
}

char *
printable_name (const char *text)
{
  GString *out = g_string_new (NULL);

  for (; *text != '\0'; text++)
    if (g_ascii_iscntrl (*text))
      g_string_append (out, REPLACEMENT);
    else
      g_string_append_c (out, *text);
  return g_string_free (out, FALSE);
}

char *
printable_shell_word (const char *word)
{
  static const char plain[] = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_./:=,+-";

  return *word != '\0' && word[strspn (word, plain)] == '\0' ? g_strdup (word)
                                                             : g_shell_quote (word);
}
