/*
 * Diagnostics about user input: collected in a list, each with file, line, column, the source line,
 * a caret and a hint, so that one pass over a file reports all its errors.
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

/*
 * A place in an input. line and column count from 1; 0 = unknown (then only the file, or nothing,
 * is printed).
 */
typedef struct
{
  const char *file; /* interned (base/intern.h) name as the user gave it, "--set", or NULL */
  guint       line;
  guint       column;
  guint       length; /* characters to underline; 0 = a single caret */
  const char *text;   /* the source line without its newline, interned or NULL */
} SourceMark;

/* MARK with a text that outlives the input: its line is interned, an endless one dropped. */
SourceMark source_mark_keep (const SourceMark *mark);

typedef struct _DiagList DiagList;

DiagList *diag_list_new (void);
void      diag_list_free (DiagList *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DiagList, diag_list_free)

/*
 * Adds a diagnostic. MARK may be NULL (no place). HINT may be NULL; it is copied. The message is
 * one line, lower case, no full stop, the subject in single quotes. At most DIAG_LIST_MAX are kept;
 * the rest is counted.
 */
#define DIAG_LIST_MAX 100

/*
 * Where the list is full: counts one more error and returns TRUE. For those whose text or place
 * takes long to make, as nobody would read it. To be asked before diag_error; FALSE: that is still
 * to be called.
 */
gboolean diag_list_count_unread (DiagList *self);

void diag_error (DiagList *self, const SourceMark *mark, const char *hint, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
void diag_warning (DiagList *self, const SourceMark *mark, const char *hint, const char *format,
                   ...) G_GNUC_PRINTF (4, 5);

/*
 * Diagnostics that are added without a place get MARK's from now on (NULL: none again). For checks
 * that know no source, such as those of strategies. MARK is copied; what it points to must live
 * until the next call.
 */
void diag_list_set_place (DiagList *self, const SourceMark *mark);

/*
 * From now on (DROP), a diagnostic with the place and the message of one that was added since is
 * dropped: for inputs that are read many times.
 */
void diag_list_drop_repeats (DiagList *self, gboolean drop);

/*
 * Drops the diagnostics whose place and message stand in SAID, a set of strings that it owns, and
 * adds those of the others to it: for several lists that are printed one after the other. What was
 * counted as an error stays so.
 */
void diag_list_drop_said (DiagList *self, GHashTable *said);

/*
 * The same for an option: diagnostics that are added without a place between diag_list_set_key
 * (KEY) and diag_list_set_key (NULL) are about
 * option KEY, and get the place that FIND says it was set at, where it says one. KEY is not copied.
 */
typedef const SourceMark *(*DiagFindKey) (const char *key, gconstpointer user);
void diag_list_set_finder (DiagList *self, DiagFindKey find, gconstpointer user);
void diag_list_set_key (DiagList *self, const char *key);

/* One diagnostic about option KEY. An error returns FALSE, as the check does that it ends. */
gboolean diag_option_error (DiagList *self, const char *key, const char *hint, const char *format,
                            ...) G_GNUC_PRINTF (4, 5);
void     diag_option_warning (DiagList *self, const char *key, const char *hint, const char *format,
                              ...) G_GNUC_PRINTF (4, 5);

/* Adds copies of all that SOURCE holds, in order, as if it had been diagnosed here. */
void diag_list_append (DiagList *self, const DiagList *source);

/* The same as warnings: of what is left out, where the rest goes on. */
void diag_list_append_warnings (DiagList *self, const DiagList *source);

/* Leaves out the source lines, as they would be printed, of which HIDE is true. */
void diag_list_hide_lines (DiagList *self, gboolean (*hide) (const char *excerpt));

gboolean diag_list_is_empty (const DiagList *self);
guint    diag_list_n_errors (const DiagList *self);
gboolean diag_list_has_errors (const DiagList *self);

/*
 * All diagnostics in order of addition as printable text, "" when empty. COLOUR adds ANSI colours.
 * Newly allocated.
 */
char *diag_list_format (const DiagList *self, gboolean colour);

/* One of them, as data. All borrowed from the list. */
typedef struct
{
  DiagSeverity severity;
  const char  *file;           /* or NULL */
  guint        line, column;   /* from 1; 0 = unknown */
  const char  *message, *hint; /* HINT: or NULL */
} DiagView;

/* The I-th in order of addition, from 0; FALSE: there are not so many. */
gboolean diag_list_get (const DiagList *self, guint i, DiagView *view);

/*
 * Message of the first error, else of the first (no place), for tests and nested reports; NULL:
 * empty. Owned by the list.
 */
const char *diag_list_first_message (const DiagList *self);

/*
 * The same with its hint: "unknown value 'bf61' for 'precision' (did you mean 'bf16'?)". NULL when
 * empty. Newly allocated.
 */
char *diag_list_first_reason (const DiagList *self);

/* The same of the first one of SEVERITY; NULL: there is none. */
char *diag_list_first_of (const DiagList *self, DiagSeverity severity);
