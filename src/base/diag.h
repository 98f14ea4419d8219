/*
 * Diagnostics about user input: collected in a list, each with file, line, column, the source line, a caret and a
 * hint, so that one pass over a file reports all its errors.
 *
 *   x.yaml:6:16: error: expected a bandwidth such as '900 GB/s', got 'fast'
 *     bandwidth: fast
 *                ^~~~
 *     hint: ...
 */
#pragma once

#include <glib.h>

typedef enum
{
  DIAG_ERROR,
  DIAG_WARNING,
  DIAG_NOTE,
} DiagSeverity;

/* A place in an input. line and column count from 1; 0 = unknown (then only the file, or nothing, is printed). */
typedef struct
{
  const char *file; /* interned (g_intern_string) name as the user gave it, "--set", or NULL */
  guint       line;
  guint       column;
  guint       length; /* characters to underline; 0 = a single caret */
  const char *text;   /* the source line without its newline, interned or NULL */
} SourceMark;

typedef struct _DiagList DiagList;

DiagList *diag_list_new (void);
void      diag_list_free (DiagList *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DiagList, diag_list_free)

/*
 * Adds a diagnostic. MARK may be NULL (no place). HINT may be NULL; it is copied. The message is one line, lower case,
 * no full stop, the subject in single quotes. At most DIAG_LIST_MAX are kept; the rest is counted.
 */
#define DIAG_LIST_MAX 100
void diag_error (DiagList *self, const SourceMark *mark, const char *hint, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
void diag_warning (DiagList *self, const SourceMark *mark, const char *hint, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

/*
 * Diagnostics that are added without a place get MARK's from now on (NULL: none again). For checks that know no source, such as those of
 * strategies. MARK is copied; what it points to must live until the next call.
 */
void diag_list_set_place (DiagList *self, const SourceMark *mark);

guint    diag_list_n_errors (const DiagList *self);
gboolean diag_list_has_errors (const DiagList *self);

/* All diagnostics in order of addition as printable text, "" when empty. COLOUR adds ANSI colours. Newly allocated. */
char *diag_list_format (const DiagList *self, gboolean colour);

/* First message only (no place), for tests and nested reports; NULL when empty. Owned by the list. */
const char *diag_list_first_message (const DiagList *self);
