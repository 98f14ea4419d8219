/*
 * Lines of nccl-tests' table: its header, which differs from release to release, and its rows.
 * Private to the reader of logs.
 */
#pragma once

#include "import/log/nccl-log-private.h"

/*
 * A line of a log. TEXT starts where the launcher's prefix ends, and lives as long as the reader;
 * LINE counts from 1.
 */
typedef struct
{
  const char *file;  /* interned */
  const char *whole; /* the line */
  const char *text;
  guint       line;
} LogLine;

#define LOG_MAX_WORDS 64
typedef struct
{
  guint       n;
  const char *words[LOG_MAX_WORDS]; /* in the line's text, not ended */
  gsize       lengths[LOG_MAX_WORDS];
} LogWords;

/* The words of TEXT, at most LOG_MAX_WORDS. */
void     log_split (const char *text, LogWords *words);
gboolean log_word_is (const LogWords *words, guint i, const char *text);

/* Place of LENGTH bytes from START of LINE's text. */
SourceMark log_mark (const LogLine *line, const char *start, gsize length);
SourceMark log_word_mark (const LogLine *line, const LogWords *words, guint i);

typedef struct
{
  gboolean redop, root; /* columns that it has */
  guint    n_halves;
  guint    cells; /* of a half: time, algbw, busbw, error; #bitdiff where compared bit by bit */
  guint    order[LOG_N_HALVES]; /* LOG_OUT_OF_PLACE first, but where the heading says otherwise */
  guint    ends[LOG_N_HALVES];  /* where the columns of time end, in bytes */
  gboolean tail; /* columns after the last half: a time stamp, or what shardsim adds */
  double   us;   /* of the unit of time */
} LogHeader;

/* TEXT, behind its '#', names the columns of a table of some release. */
gboolean log_is_header (const LogWords *words);

/* FALSE after a diagnostic: a release that is not known. */
gboolean log_read_header (LogHeader *self, const LogLine *line, const LogWords *words,
                          DiagList *diags);

/* The line below it: "(B) (elements) (us) ...". */
void log_read_units (LogHeader *self, const LogLine *line, const LogWords *words, DiagList *diags);

/* WORDS begin like a row: a size, and a count. */
gboolean log_is_row (const LogWords *words);

/* The row is all there, of one half or of all. */
gboolean log_row_is_complete (const LogHeader *header, const LogWords *words);

/* The same, and nothing more; FALSE after a warning that it is left out. */
gboolean log_row_is_whole (const LogHeader *header, const LogLine *line, const LogWords *words,
                           DiagList *diags);

/*
 * WORDS are a row under the usual header, which is not there: its bandwidths are what its size and
 * times make.
 */
gboolean log_is_lone_row (const LogWords *words);
void     log_usual_header (LogHeader *self);

/* FALSE after diagnostics. The row is whole. */
gboolean log_read_row (const LogHeader *header, const LogLine *line, const LogWords *words,
                       LogRow *row, DiagList *diags);
