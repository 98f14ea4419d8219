/* Single lines of a log, whatever run they belong to. Private to the reader of logs. */
#pragma once

#include "import/log/nccl-log-row-private.h"

/* nccl-log-text.c: the text of FILE as UTF-8, newly allocated; NULL after a diagnostic. */
char *log_read_text (const char *file, DiagList *diags);

/*
 * nccl-log-prefix.c. Behind what a launcher puts before the lines of its ranks: "[1,0]<stdout>:"
 * (also with words before it), "[0] ", "0: ", "pod-0: ", "[pod/x/y] ", a time stamp, or several of
 * them. The same tags amid TEXT, where a rank's pieces of a line are one line, become blanks, and
 * so do escape sequences.
 */
const char *log_skip_prefix (char *text);

/* nccl-log-command.c: what lines of a shell, or of words about it, say of the run below them. */
typedef struct
{
  char    *test;      /* that is started, "all_reduce"; NULL: not said */
  guint    n_ranks;   /* processes times threads times GPUs; 0: not said */
  GArray  *settings;  /* of variables of the library */
  gboolean used;      /* by a run: the next line is about another one */
  GString *continued; /* lines that end on others */
} LogCommand;

void log_command_init (LogCommand *self);
void log_command_clear (LogCommand *self);

/* CONTENT of LINE; RUN, whose head it stands in, or NULL, hears of it at once. */
void log_command_read (LogCommand *self, const LogLine *line, const char *content, LogRun *run,
                       DiagList *diags);

/* RUN, which is new, is what was started. */
void log_command_begin (LogCommand *self, LogRun *run, DiagList *diags);

/*
 * NCCL_DEBUG's text in TEXT, behind "host:pid:tid [gpu] "; *START is where all of it begins. NULL
 * where there is none.
 */
const char *log_find_debug (const char *text, const char **start);

/*
 * Length of what precedes GLUED, a word that is a cell and the beginning of a host's name: 2 of
 * "-1node7:12:34".
 */
gsize log_cell_length (const char *glued);

/*
 * " 3 Group  0 Pid  1234 on  host1 device  3 [0000:0f:00] NVIDIA H100", which follows "Rank" on
 * LINE; the oldest have no group and no process. FALSE: another line, or one that is not complete,
 * which is diagnosed. RANK's strings are newly allocated.
 */
gboolean log_read_rank (const LogLine *line, const char *content, LogRank *rank, DiagList *diags);
