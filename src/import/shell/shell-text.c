/* Texts of which every character knows where it was written. */
#include <stdarg.h>
#include <string.h>

#include "base/intern.h"
#include "import/shell/shell-private.h"

#define MAX_SHOWN 400 /* characters of a line that a message shows */

static GArray *
line_starts (const char *text, gsize length)
{
  GArray *lines = g_array_new (FALSE, FALSE, sizeof (gsize));
  gsize   at = 0;

  g_array_append_val (lines, at);
  for (at = 1; at <= length; at++)
    if (text[at - 1] == '\n')
      g_array_append_val (lines, at);
  return lines;
}

/* MADE is taken over. */
ShellSource *
shell_source_new (Shell *shell, const char *file, const char *text, ShellText *made)
{
  ShellSource *self = g_new0 (ShellSource, 1);

  self->file = intern_text (file);
  self->text = g_strdup (text);
  self->length = strlen (text);
  self->made = made;
  for (gsize i = 0; made == NULL && i < self->length; i++)
    if (self->text[i] == SHELL_UNKNOWN || self->text[i] == SHELL_KNOWN)
      self->text[i] = '?';
  if (made == NULL)
    self->lines = line_starts (self->text, self->length);
  g_ptr_array_add (shell->sources, self);
  return self;
}

void
shell_source_free (ShellSource *self)
{
  g_free (self->text);
  g_clear_pointer (&self->lines, g_array_unref);
  g_clear_pointer (&self->made, shell_text_free);
  g_free (self);
}

ShellText *
shell_text_new (void)
{
  ShellText *self = g_new0 (ShellText, 1);

  self->chars = g_string_new (NULL);
  self->runs = g_array_new (FALSE, FALSE, sizeof (ShellRun));
  return self;
}

void
shell_text_free (ShellText *self)
{
  if (self == NULL)
    return;
  g_string_free (self->chars, TRUE);
  g_array_unref (self->runs);
  g_free (self);
}

gboolean
shell_spend (Shell *shell, gsize bytes, ShellPlace place)
{
  if (shell->failed)
    return FALSE;
  if (bytes <= shell->budget)
    {
      shell->budget -= bytes;
      return TRUE;
    }
  shell->budget = 0;
  shell_fail (shell, place, NULL, "the expansions of the script take more than %u MiB",
              SHELL_BUDGET >> 20);
  return FALSE;
}

/* Adds a run where PLACE does not follow the last character. */
static gboolean
continue_run (Shell *shell, ShellText *self, ShellPlace place)
{
  const ShellRun run = { self->chars->len, place };

  if (self->runs->len > 0)
    {
      const ShellRun *last = &g_array_index (self->runs, ShellRun, self->runs->len - 1);

      if (last->place.source == place.source
          && last->place.at + (self->chars->len - last->from) == place.at)
        return TRUE;
    }
  if (!shell_spend (shell, sizeof run, place))
    return FALSE;
  g_array_append_val (self->runs, run);
  return TRUE;
}

void
shell_text_append (Shell *shell, ShellText *self, char c, ShellPlace place)
{
  place = shell_place_origin (place);
  if (shell_spend (shell, 1, place) && continue_run (shell, self, place))
    g_string_append_c (self->chars, c);
}

/* Every character of STRING is of PLACE. */
void
shell_text_append_string (Shell *shell, ShellText *self, const char *string, ShellPlace place)
{
  place = shell_place_origin (place);
  if (!shell_spend (shell, strlen (string), place) || !continue_run (shell, self, place))
    return;
  g_string_append (self->chars, string);
}

static guint
run_of (const ShellText *self, gsize at)
{
  guint low = 0, high = self->runs->len;

  while (high - low > 1)
    {
      const guint middle = low + (high - low) / 2;

      if (g_array_index (self->runs, ShellRun, middle).from <= at)
        low = middle;
      else
        high = middle;
    }
  return low;
}

ShellPlace
shell_text_place (const ShellText *self, gsize at)
{
  const ShellRun *run;

  if (self->runs->len == 0)
    return (ShellPlace){ NULL, 0 };
  run = &g_array_index (self->runs, ShellRun, run_of (self, at));
  return (ShellPlace){ run->place.source, run->place.at + (at - MIN (at, run->from)) };
}

void
shell_text_append_range (Shell *shell, ShellText *self, const ShellText *other, gsize from,
                         gsize to)
{
  while (from < to && !shell->failed)
    {
      const guint i = run_of (other, from);
      const gsize end = i + 1 < other->runs->len ? g_array_index (other->runs, ShellRun, i + 1).from
                                                 : other->chars->len;
      const gsize until = MIN (MAX (end, from + 1), to);
      const ShellPlace place = shell_text_place (other, from);

      if (!shell_spend (shell, until - from, place) || !continue_run (shell, self, place))
        return;
      g_string_append_len (self->chars, other->chars->str + from, (gssize) (until - from));
      from = until;
    }
}

ShellText *
shell_text_copy (Shell *shell, const ShellText *other)
{
  ShellText *self = shell_text_new ();

  shell_text_append_range (shell, self, other, 0, other->chars->len);
  return self;
}

gboolean
shell_text_is_known (const ShellText *self)
{
  return strchr (self->chars->str, SHELL_UNKNOWN) == NULL;
}

char *
shell_text_spell (const ShellText *self)
{
  GString *out = g_string_sized_new (self->chars->len);

  for (const char *p = self->chars->str; *p != '\0'; p++)
    if (*p != SHELL_UNKNOWN && *p != SHELL_KNOWN)
      g_string_append_c (out, *p);
  return g_string_free (out, FALSE);
}

ShellPlace
shell_place_origin (ShellPlace place)
{
  for (guint i = 0; place.source != NULL && place.source->made != NULL && i < SHELL_MAX_DEPTH; i++)
    place = shell_text_place (place.source->made, place.at);
  return place;
}

gboolean
shell_name_is_secret (const char *name)
{
  static const char *const words[] = { "TOKEN", "SECRET",     "PASSWORD", "PASSWD",
                                       "_KEY",  "CREDENTIAL", "APIKEY",   NULL };
  static const char *const plain[] = { "TOKENIZER", "TOKENS", "TOKEN_", NULL };
  g_autofree char         *upper = g_ascii_strup (name, -1);

  g_strdelimit (upper, "-", '_');
  for (char *p = upper; (p = strstr (p, "TOKEN")) != NULL; p++)
    for (guint i = 0; plain[i] != NULL; i++)
      if (g_str_has_prefix (p, plain[i]))
        memset (p, '.', 5);
  for (guint i = 0; words[i] != NULL; i++)
    if (strstr (upper, words[i]) != NULL)
      return TRUE;
  return FALSE;
}

/* Whether a line assigns to a name that looks like a secret, or holds what looks like one. */
gboolean
shell_line_may_hold_secret (const char *line)
{
  static const char *const marks[] = { "hf_", "sk-", "ghp_", "nvapi-", "Bearer ", NULL };
  const char              *p = line;

  for (guint i = 0; marks[i] != NULL; i++)
    if (strstr (line, marks[i]) != NULL)
      return TRUE;
  while (*p != '\0')
    {
      const gsize      n = strspn (p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"
                                           "0123456789");
      g_autofree char *name = g_strndup (p, n);

      if (n > 0 && shell_name_is_secret (name))
        return TRUE;
      p += n > 0 ? n : 1;
    }
  return FALSE;
}

static SourceMark
mark_in (const ShellSource *source, gsize at, guint length)
{
  guint            low = 0, high = source->lines->len;
  const char      *line, *end;
  gsize            n;
  g_autofree char *text = NULL;

  while (high - low > 1)
    {
      const guint middle = low + (high - low) / 2;

      if (g_array_index (source->lines, gsize, middle) <= at)
        low = middle;
      else
        high = middle;
    }
  line = source->text + g_array_index (source->lines, gsize, low);
  end = strchr (line, '\n');
  n = end == NULL ? strlen (line) : (gsize) (end - line);
  text = g_strndup (line, n);
  return (SourceMark){
    source->file,
    low + 1,
    (guint) (at - g_array_index (source->lines, gsize, low)) + 1,
    length,
    n > MAX_SHOWN || !g_utf8_validate (text, -1, NULL) || shell_line_may_hold_secret (text)
        ? NULL
        : intern_text (text),
  };
}

SourceMark
shell_place_mark (ShellPlace place, guint length)
{
  place = shell_place_origin (place);
  if (place.source == NULL || place.source->made != NULL)
    return (SourceMark){ 0 };
  return mark_in (place.source, MIN (place.at, place.source->length), length);
}

void
shell_fail (Shell *shell, ShellPlace place, const char *hint, const char *format, ...)
{
  const SourceMark mark = shell_place_mark (place, 1);
  g_autofree char *message = NULL;
  va_list          args;

  if (shell->failed)
    return;
  shell->failed = TRUE;
  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  diag_error (shell->diags, &mark, hint, "%s", message);
}

gboolean
shell_enter (Shell *shell, ShellPlace place)
{
  if (shell->failed)
    return FALSE;
  if (shell->depth >= SHELL_MAX_DEPTH)
    {
      shell_fail (shell, place, NULL, "commands and expansions are in each other more than %d deep",
                  SHELL_MAX_DEPTH);
      return FALSE;
    }
  shell->depth++;
  return TRUE;
}
