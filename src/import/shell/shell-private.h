/*
 * A shell that runs no program: what the files of this reader share.
 *
 * Every character knows where it was written, also after expansions, so that an argument that
 * comes out of an array is reported where the array has it. What is not known (an unset variable,
 * a command's output) stays in a text as it is spelled, between SHELL_UNKNOWN and SHELL_KNOWN.
 */
#pragma once

#include "base/config/diag.h"

#define SHELL_UNKNOWN '\001'
#define SHELL_KNOWN   '\002'

#define SHELL_MAX_DEPTH 64          /* commands, expansions, calls and files in each other */
#define SHELL_MAX_STEPS (1u << 17)  /* commands that are followed */
#define SHELL_BUDGET    (32u << 20) /* bytes of all expansions, beside twice the script's */

typedef struct _ShellText ShellText;

/* A script, or a text that an expansion made and that is read again (eval, bash -c). */
typedef struct
{
  const char *file; /* interned */
  char       *text;
  gsize       length;
  GArray     *lines; /* gsize: where each line begins */
  ShellText  *made;  /* where its characters were written; NULL: here */
} ShellSource;

typedef struct
{
  const ShellSource *source;
  gsize              at;
} ShellPlace;

/* Characters from `from` on were written at `place` and behind it, until the next run. */
typedef struct
{
  gsize      from;
  ShellPlace place;
} ShellRun;

struct _ShellText
{
  GString *chars;
  GArray  *runs; /* ShellRun */
};

typedef struct
{
  char      *name;
  gboolean   set, is_array;
  gboolean   read;   /* an expansion used it */
  ShellPlace place;  /* of its last assignment */
  GPtrArray *values; /* ShellText* */
  GPtrArray *keys;   /* char*, of an array that has them; NULL where an element has none */
} ShellVariable;

/* A command that may be the one that trains. */
typedef struct
{
  GPtrArray *fields; /* ShellText* */
  guint      split;  /* the first of its arguments; before: its launcher */
  guint      n_arguments;
} ShellCommand;

typedef struct _Shell         Shell;
typedef struct _ShellExpander ShellExpander;
typedef struct _ShellDocument ShellDocument;

/* What a command came to. */
typedef enum
{
  SHELL_FALSE,
  SHELL_TRUE,
  SHELL_UNSURE, /* a condition on what is not known */
  SHELL_RAN,    /* a program: taken to succeed */
} ShellStatus;

/* A word may hold a command, and a command runs text of words: what is called both ways. */
typedef struct
{
  /* The inside of "${...}", [FROM, TO), or the name behind '$'. */
  void (*parameter) (ShellExpander *expander, const ShellSource *source, gsize from, gsize to,
                     gboolean quoted);

  /* The text of a program's output that needs no program (expr, echo, pwd ...); NULL: not known. */
  ShellText *(*substitute) (Shell *shell, const ShellSource *source, gsize from, gsize to);

  /* A command of these FIELDS; DOCUMENT: on its input, or NULL. */
  ShellStatus (*run) (Shell *shell, GPtrArray *fields, const ShellSource *source,
                      const ShellDocument *document);
} ShellCalls;

struct _Shell
{
  const ShellCalls *calls;
  char             *folder; /* of the script, for files beside it */
  DiagList         *diags;
  GPtrArray        *sources;   /* ShellSource* */
  GHashTable       *variables; /* name: ShellVariable*, of `order` */
  GPtrArray        *order;
  GPtrArray  *old; /* ShellText*: values that were replaced, as an expansion may still read them */
  GHashTable *functions;  /* name: ShellPlace* of its body */
  GPtrArray  *positional; /* ShellText* */
  GPtrArray  *commands;   /* ShellCommand* */
  GHashTable *launch;     /* "--nnodes": ShellText*, said by the batch system */
  gsize       budget;
  guint       depth, steps, files;
  guint       changes; /* assignments and calls that were passed over */
  gboolean    failed, stopped, returning;
  gboolean    empty_unset; /* in a condition, an unset variable is empty, as in bash */
};

/* A place in a source from which commands are read. */
typedef struct
{
  Shell             *shell;
  const ShellSource *source;
  gsize              at;
  gsize              line_end, behind; /* of a line whose here-documents end at `behind` */
} ShellReader;

/* A here-document: its body, in the reader's source. */
struct _ShellDocument
{
  char    *end; /* delimiter */
  gboolean quoted, strip;
  gsize    from, to; /* body */
};

/* ---- shell-text.c ---------------------------------------------------------------------------- */

ShellSource *shell_source_new (Shell *shell, const char *file, const char *text, ShellText *made);
void         shell_source_free (ShellSource *self);

ShellText *shell_text_new (void);
void       shell_text_free (ShellText *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ShellText, shell_text_free)

/* FALSE, after an error, once all expansions together are too large. */
gboolean shell_spend (Shell *shell, gsize bytes, ShellPlace place);

void shell_text_append (Shell *shell, ShellText *self, char c, ShellPlace place);
void shell_text_append_string (Shell *shell, ShellText *self, const char *string, ShellPlace place);
void shell_text_append_range (Shell *shell, ShellText *self, const ShellText *other, gsize from,
                              gsize to);
ShellText *shell_text_copy (Shell *shell, const ShellText *other);

/* Where the character AT of SELF was written. */
ShellPlace shell_text_place (const ShellText *self, gsize at);
gboolean   shell_text_is_known (const ShellText *self);

/* TEXT as it is spelled, without marks of what is unknown. Newly allocated. */
char *shell_text_spell (const ShellText *self);

/* The place as that of a file; its line is left out where it may hold a secret. */
SourceMark shell_place_mark (ShellPlace place, guint length);
ShellPlace shell_place_origin (ShellPlace place);
void       shell_fail (Shell *shell, ShellPlace place, const char *hint, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
gboolean shell_name_is_secret (const char *name);
gboolean shell_line_may_hold_secret (const char *line);

/* One level deeper; FALSE, after an error, where it is too deep. Then nothing is to be undone. */
gboolean shell_enter (Shell *shell, ShellPlace place);

/* ---- shell-scan.c ---------------------------------------------------------------------------- */

/* Behind the quote, expansion, escape or character at AT. Fails where it does not end. */
gsize shell_skip (Shell *shell, const ShellSource *source, gsize at);

/* Behind the word at AT; AT itself: there is none. */
gsize shell_word_end (Shell *shell, const ShellSource *source, gsize at);

/* Behind the parenthesis at AT and all up to the one that closes it. */
gsize shell_skip_parentheses (Shell *shell, const ShellSource *source, gsize at);

/* Behind blanks, continued lines and a comment; with LINES, newlines too. */
gsize shell_skip_blanks (const ShellSource *source, gsize at, gboolean lines);

/* The here-document whose operator "<<" ends at *AT, which moves behind its delimiter. */
ShellDocument *shell_document_new (Shell *shell, const ShellSource *source, gsize *at);
void           shell_document_free (ShellDocument *self);

/* Reads the body from AT, the begin of a line. Returns what is behind it. */
gsize shell_document_read (ShellDocument *self, const ShellSource *source, gsize at);

gsize    shell_name_end (const char *text, gsize at, gsize to);
gboolean shell_at (const ShellSource *source, gsize at, const char *word);

/* ---- shell-expand.c -------------------------------------------------------------------------- */

/* Fields (ShellText*) of a word. */
GPtrArray *shell_expand_fields (Shell *shell, const ShellSource *source, gsize from, gsize to);

/* The same as one text: of an assignment, a pattern, a condition. */
ShellText *shell_expand_text (Shell *shell, const ShellSource *source, gsize from, gsize to);

/* The body of a here-document. */
ShellText *shell_expand_document (Shell *shell, const ShellSource *source,
                                  const ShellDocument *document);

struct _ShellExpander
{
  Shell     *shell;
  gboolean   split;    /* into fields, at blanks that no quotes hold */
  gboolean   document; /* '"' is a character */
  GPtrArray *fields;
  ShellText *field; /* that grows; NULL: none */
};

void shell_expander_add (ShellExpander *self, const ShellSource *source, gsize from, gsize to,
                         gboolean quoted);
void shell_expander_add_text (ShellExpander *self, const ShellText *text, gboolean quoted);
void shell_expander_add_char (ShellExpander *self, char c, ShellPlace place);
void shell_expander_end_field (ShellExpander *self);

/* What is not known, as it is spelled in SOURCE. */
void shell_expander_add_unknown (ShellExpander *self, const ShellSource *source, gsize from,
                                 gsize to);

/* ---- shell-parameter.c ----------------------------------------------------------------------- */

/* The inside of "${...}", or the name behind '$'. */
void shell_expand_parameter (ShellExpander *expander, const ShellSource *source, gsize from,
                             gsize to, gboolean quoted);

/* ---- shell-variable.c ------------------------------------------------------------------------ */

/* Whether TEXT matches PATTERN with '*' and '?'. */
gboolean shell_glob (const char *pattern, const char *text);

ShellVariable *shell_variable (Shell *shell, const char *name);     /* NULL: never set */
ShellVariable *shell_variable_set (Shell *shell, const char *name); /* emptied, to be filled */
void           shell_assign (Shell *shell, const char *name, ShellText *value, ShellPlace place);

/* ---- shell-arithmetic.c ---------------------------------------------------------------------- */

/* Value of an expression whose '$' are expanded; FALSE: it is not known. */
gboolean shell_arithmetic (Shell *shell, const ShellText *expression, gint64 *value);

/* ---- shell-test.c ---------------------------------------------------------------------------- */

/* '[ ... ]' and '[[ ... ]]': READER stands behind the first bracket, and then behind the last. */
ShellStatus shell_test (ShellReader *reader, gboolean live, gboolean two);

/* ---- shell-simple.c -------------------------------------------------------------------------- */

ShellPlace shell_reader_place (const ShellReader *self);
char       shell_reader_char (const ShellReader *self); /* 0: the end */
gboolean   shell_reader_at (const ShellReader *self, const char *text);
void       shell_reader_blanks (ShellReader *self); /* goes over them */

/* The same over newlines, and over the here-documents that begin behind one. */
void shell_reader_lines (ShellReader *self);

/* Whether the reserved word WORD, or one of WORDS, stands here. */
gboolean shell_reader_at_word (const ShellReader *self, const char *word);
gboolean shell_reader_at_any (const ShellReader *self, const char *const *words);

/* Fails: what stands here does not go on what was read. */
ShellStatus shell_reader_unexpected (ShellReader *self);

/* Words, assignments and redirections up to the end of the command; runs it where LIVE. */
ShellStatus shell_read_simple (ShellReader *self, gboolean live);

/* Those behind a compound command. */
void shell_read_redirections (ShellReader *self);

/* Moves all texts of FROM to INTO. */
void shell_steal_fields (GPtrArray *into, GPtrArray *from);

/* ---- shell-read.c ---------------------------------------------------------------------------- */

/* Follows SOURCE to its end. */
void shell_follow (Shell *shell, const ShellSource *source);

/* The same for the command at PLACE: the body of a function. */
void shell_follow_body (Shell *shell, ShellPlace place);

/* ---- shell-command.c ------------------------------------------------------------------------- */

/* A command of these FIELDS; DOCUMENT: on its input, or NULL. */
ShellStatus shell_run_command (Shell *shell, GPtrArray *fields, const ShellSource *source,
                               const ShellDocument *document);

void shell_command_free (ShellCommand *self);

/* The text of a program's output that needs no program (expr, echo, pwd ...); NULL: not known. */
ShellText *shell_substitute (Shell *shell, const ShellSource *source, gsize from, gsize to);

/* Sizes among the words before a program, [0, N) of FIELDS, and how the launcher calls them. */
void shell_note_launcher (Shell *shell, const GPtrArray *fields, guint n);
