#include "base/config/diag.h"
#include "base/intern.h"

#include <string.h>

/*
 * Longest message and longest piece of a source line that is shown: inputs may be one line of
 * megabytes.
 */
#define MAX_MESSAGE 600
#define MAX_EXCERPT 96

#define MAX_KEPT_LINE 4096 /* longest source line that a mark keeps */

typedef struct
{
  DiagSeverity severity;
  const char  *file; /* interned */
  guint        line;
  guint        column;
  char        *message;
  char        *hint;      /* or NULL */
  char        *excerpt;   /* printable part of the source line, or NULL */
  guint        caret;     /* terminal column of the caret in excerpt, from 0 */
  guint        underline; /* width in terminal columns; 0 = no caret */
} Diag;

struct _DiagList
{
  GPtrArray    *diags;
  guint         n_errors;
  guint         n_dropped;
  SourceMark    place; /* of diagnostics without one */
  const char   *key;   /* what they are about; NULL: no option in particular */
  DiagFindKey   find;
  gconstpointer user;
  GHashTable   *seen; /* places and messages, while repeats are dropped; else NULL */
};

SourceMark
source_mark_keep (const SourceMark *mark)
{
  SourceMark kept = *mark;
  gboolean   shown = mark->text != NULL && strnlen (mark->text, MAX_KEPT_LINE + 1) <= MAX_KEPT_LINE;

  kept.text = shown ? intern_text (mark->text) : NULL;
  return kept;
}

static void
diag_free (Diag *diag)
{
  g_free (diag->message);
  g_free (diag->hint);
  g_free (diag->excerpt);
  g_free (diag);
}

DiagList *
diag_list_new (void)
{
  DiagList *self = g_new0 (DiagList, 1);

  self->diags = g_ptr_array_new_with_free_func ((GDestroyNotify) diag_free);
  return self;
}

void
diag_list_free (DiagList *self)
{
  if (!self)
    return;
  g_ptr_array_unref (self->diags);
  g_clear_pointer (&self->seen, g_hash_table_unref);
  g_free (self);
}

/* Appends C as one printable character: user text must not send control sequences to a terminal. */
static void
append_printable (GString *out, gunichar c)
{
  if (c == '\t' || c == '\n' || c == '\r')
    g_string_append_c (out, ' ');
  else if (g_unichar_isprint (c) || g_unichar_ismark (c))
    g_string_append_unichar (out, c);
  else
    g_string_append_unichar (out, 0xFFFD);
}

/* Next character of TEXT and its end; bytes that are not UTF-8 count as one character each. */
static const char *
next_char (const char *text, gunichar *c)
{
  gunichar got = g_utf8_get_char_validated (text, -1);

  if (got == (gunichar) -1 || got == (gunichar) -2)
    {
      *c = 0xFFFD;
      return text + 1;
    }
  *c = got;
  return g_utf8_next_char (text);
}

static char *
printable_line (const char *text, guint max_chars)
{
  GString *out = g_string_new (NULL);
  gunichar c;

  for (guint n = 0; *text; n++)
    {
      if (n == max_chars)
        {
          g_string_append (out, "...");
          break;
        }
      text = next_char (text, &c);
      append_printable (out, c);
    }
  return g_string_free (out, FALSE);
}

static guint
char_width (gunichar c)
{
  if (g_unichar_iszerowidth (c))
    return 0;
  return g_unichar_iswide (c) ? 2 : 1;
}

/*
 * Cuts the part of the source line that is shown: without its indentation, and of a long line only
 * a window around the marked column.
 */
static void
set_excerpt (Diag *diag, const SourceMark *mark)
{
  GString    *out = g_string_new (NULL);
  const char *text = mark->text;
  guint       first = 1; /* column of the first shown character */
  guint       width = 0;
  guint       length = MAX (mark->length, 1);
  gunichar    c;

  while ((*text == ' ' || *text == '\t') && (mark->column == 0 || first < mark->column))
    {
      text++;
      first++;
    }
  if (mark->column > first + MAX_EXCERPT / 2)
    {
      for (guint target = mark->column - MAX_EXCERPT / 3; first < target && *text; first++)
        text = next_char (text, &c);
      g_string_append (out, "...");
      width = 3;
    }

  diag->caret = width;
  for (guint column = first; *text; column++)
    {
      if (column == first + MAX_EXCERPT)
        {
          g_string_append (out, "...");
          break;
        }
      text = next_char (text, &c);
      append_printable (out, c);
      if (column < mark->column)
        diag->caret += char_width (c);
      else if (column - mark->column < length)
        diag->underline += char_width (c);
    }
  if (mark->column > 0)
    diag->underline = MAX (diag->underline, 1); /* also at the end of the line */
  else
    diag->underline = 0;
  diag->excerpt = g_strchomp (g_string_free (out, FALSE));
}

/* Notes MESSAGE at a place in SEEN; FALSE when it is there. */
static gboolean
note_seen (GHashTable *seen, const char *file, guint line, guint column, const char *message)
{
  return g_hash_table_add (
      seen, g_strdup_printf ("%s:%u:%u:%s", file != NULL ? file : "", line, column, message));
}

/* Whether MESSAGE at MARK is new, where repeats are dropped. */
static gboolean
is_new (DiagList *self, const SourceMark *mark, const char *message)
{
  static const SourceMark nowhere = { 0 };
  const SourceMark       *at = mark != NULL ? mark : &nowhere;

  return self->seen == NULL || note_seen (self->seen, at->file, at->line, at->column, message);
}

/* NULL: none. */
static const SourceMark *
default_place (const DiagList *self)
{
  const SourceMark *mark =
      self->key != NULL && self->find != NULL ? self->find (self->key, self->user) : NULL;

  return mark == NULL && self->place.file != NULL ? &self->place : mark;
}

static void G_GNUC_PRINTF (5, 0)
    diag_add (DiagList *self, DiagSeverity severity, const SourceMark *mark, const char *hint,
              const char *format, va_list args)
{
  g_autofree char *message = g_strdup_vprintf (format, args);

  if (mark == NULL)
    mark = default_place (self);
  if (!is_new (self, mark, message))
    return;
  if (severity == DIAG_ERROR)
    self->n_errors += 1;
  if (self->diags->len >= DIAG_LIST_MAX)
    {
      self->n_dropped += 1;
      return;
    }

  Diag *diag = g_new0 (Diag, 1);

  diag->severity = severity;
  diag->message = printable_line (message, MAX_MESSAGE);
  diag->hint = hint ? printable_line (hint, MAX_MESSAGE) : NULL;
  if (mark)
    {
      diag->file = mark->file;
      diag->line = mark->line;
      diag->column = mark->column;
      if (mark->text && *mark->text && mark->line > 0)
        set_excerpt (diag, mark);
    }
  g_ptr_array_add (self->diags, diag);
}

static Diag *
diag_copy (const Diag *source)
{
  Diag *copy = g_new (Diag, 1);

  *copy = *source;
  copy->message = g_strdup (source->message);
  copy->hint = g_strdup (source->hint);
  copy->excerpt = g_strdup (source->excerpt);
  return copy;
}

void
diag_list_append (DiagList *self, const DiagList *source)
{
  guint n_kept = 0; /* errors among those of SOURCE that are not only counted */

  for (guint i = 0; i < source->diags->len; i++)
    {
      const Diag *diag = g_ptr_array_index (source->diags, i);

      n_kept += diag->severity == DIAG_ERROR;
      if (self->seen != NULL
          && !note_seen (self->seen, diag->file, diag->line, diag->column, diag->message))
        continue;
      self->n_errors += diag->severity == DIAG_ERROR;
      if (self->diags->len < DIAG_LIST_MAX)
        g_ptr_array_add (self->diags, diag_copy (diag));
      else
        self->n_dropped++;
    }
  self->n_errors += source->n_errors - n_kept;
  self->n_dropped += source->n_dropped;
}

void
diag_list_append_warnings (DiagList *self, const DiagList *source)
{
  g_autoptr (DiagList) lighter = diag_list_new ();

  for (guint i = 0; i < source->diags->len; i++)
    {
      Diag *diag = diag_copy (g_ptr_array_index (source->diags, i));

      diag->severity = DIAG_WARNING;
      g_ptr_array_add (lighter->diags, diag);
    }
  lighter->n_dropped = source->n_dropped;
  diag_list_append (self, lighter);
}

void
diag_list_hide_lines (DiagList *self, gboolean (*hide) (const char *excerpt))
{
  for (guint i = 0; i < self->diags->len; i++)
    {
      Diag *diag = g_ptr_array_index (self->diags, i);

      if (diag->excerpt != NULL && hide (diag->excerpt))
        g_clear_pointer (&diag->excerpt, g_free);
    }
}

gboolean
diag_list_is_empty (const DiagList *self)
{
  return self->diags->len == 0;
}

/* Repeats are told from others by their text. */
gboolean
diag_list_count_unread (DiagList *self)
{
  if (self->diags->len < DIAG_LIST_MAX || self->seen != NULL)
    return FALSE;
  self->n_errors += 1;
  self->n_dropped += 1;
  return TRUE;
}

void
diag_error (DiagList *self, const SourceMark *mark, const char *hint, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  diag_add (self, DIAG_ERROR, mark, hint, format, args);
  va_end (args);
}

void
diag_warning (DiagList *self, const SourceMark *mark, const char *hint, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  diag_add (self, DIAG_WARNING, mark, hint, format, args);
  va_end (args);
}

void
diag_list_set_place (DiagList *self, const SourceMark *mark)
{
  self->place = mark != NULL ? *mark : (SourceMark){ 0 };
}

void
diag_list_drop_repeats (DiagList *self, gboolean drop)
{
  g_clear_pointer (&self->seen, g_hash_table_unref);
  if (drop)
    self->seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

void
diag_list_drop_said (DiagList *self, GHashTable *said)
{
  guint kept = 0;

  while (kept < self->diags->len)
    {
      const Diag *diag = g_ptr_array_index (self->diags, kept);

      if (note_seen (said, diag->file, diag->line, diag->column, diag->message))
        kept++;
      else
        g_ptr_array_remove_index (self->diags, kept);
    }
}

void
diag_list_set_finder (DiagList *self, DiagFindKey find, gconstpointer user)
{
  self->find = find;
  self->user = user;
}

void
diag_list_set_key (DiagList *self, const char *key)
{
  self->key = key;
}

gboolean
diag_option_error (DiagList *self, const char *key, const char *hint, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  diag_list_set_key (self, key);
  diag_add (self, DIAG_ERROR, NULL, hint, format, args);
  diag_list_set_key (self, NULL);
  va_end (args);
  return FALSE;
}

void
diag_option_warning (DiagList *self, const char *key, const char *hint, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  diag_list_set_key (self, key);
  diag_add (self, DIAG_WARNING, NULL, hint, format, args);
  diag_list_set_key (self, NULL);
  va_end (args);
}

guint
diag_list_n_errors (const DiagList *self)
{
  return self->n_errors;
}

gboolean
diag_list_has_errors (const DiagList *self)
{
  return self->n_errors > 0;
}

static void
append_place (GString *out, const Diag *diag)
{
  g_autofree char *file = NULL;

  if (!diag->file)
    return;
  file = printable_line (diag->file, MAX_MESSAGE);
  g_string_append (out, file);
  if (diag->line > 0)
    g_string_append_printf (out, ":%u", diag->line);
  if (diag->line > 0 && diag->column > 0)
    g_string_append_printf (out, ":%u", diag->column);
  g_string_append (out, ": ");
}

static void
append_excerpt (GString *out, const Diag *diag, const char *colour_on, const char *colour_off)
{
  if (!diag->excerpt)
    return;
  g_string_append_printf (out, "  %s\n", diag->excerpt);
  if (diag->underline == 0)
    return;
  g_string_append_printf (out, "%*s%s^", (int) diag->caret + 2, "", colour_on);
  for (guint i = 1; i < diag->underline; i++)
    g_string_append_c (out, '~');
  g_string_append_printf (out, "%s\n", colour_off);
}

char *
diag_list_format (const DiagList *self, gboolean colour)
{
  static const char *const words[] = { "error", "warning", "note" };
  static const char *const colours[] = { "\033[1;31m", "\033[1;35m", "\033[1;36m" };
  GString                 *out = g_string_new (NULL);
  const char              *off = colour ? "\033[0m" : "";

  for (guint i = 0; i < self->diags->len; i++)
    {
      const Diag *diag = g_ptr_array_index (self->diags, i);
      const char *on = colour ? colours[diag->severity] : "";

      append_place (out, diag);
      g_string_append_printf (out, "%s%s:%s %s\n", on, words[diag->severity], off, diag->message);
      append_excerpt (out, diag, on, off);
      if (diag->hint)
        g_string_append_printf (out, "  hint: %s\n", diag->hint);
    }
  if (self->n_dropped > 0)
    g_string_append_printf (out, "and %u more\n", self->n_dropped);
  return g_string_free (out, FALSE);
}

gboolean
diag_list_get (const DiagList *self, guint i, DiagView *view)
{
  const Diag *diag = i < self->diags->len ? g_ptr_array_index (self->diags, i) : NULL;

  if (diag == NULL)
    return FALSE;
  *view =
      (DiagView){ diag->severity, diag->file, diag->line, diag->column, diag->message, diag->hint };
  return TRUE;
}

/* The first error, else the first of all; NULL where there is none. */
static const Diag *
first_of (const DiagList *self)
{
  for (guint i = 0; i < self->diags->len; i++)
    if (((const Diag *) g_ptr_array_index (self->diags, i))->severity == DIAG_ERROR)
      return g_ptr_array_index (self->diags, i);
  return self->diags->len > 0 ? g_ptr_array_index (self->diags, 0) : NULL;
}

const char *
diag_list_first_message (const DiagList *self)
{
  const Diag *first = first_of (self);

  return first != NULL ? first->message : NULL;
}

static char *
reason_of (const Diag *diag)
{
  return diag->hint == NULL ? g_strdup (diag->message)
                            : g_strdup_printf ("%s (%s)", diag->message, diag->hint);
}

char *
diag_list_first_reason (const DiagList *self)
{
  const Diag *first = first_of (self);

  return first != NULL ? reason_of (first) : NULL;
}

char *
diag_list_first_of (const DiagList *self, DiagSeverity severity)
{
  for (guint i = 0; i < self->diags->len; i++)
    {
      const Diag *diag = g_ptr_array_index (self->diags, i);

      if (diag->severity == severity)
        return reason_of (diag);
    }
  return NULL;
}
