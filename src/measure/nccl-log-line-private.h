/* Single lines of a log, whatever run they belong to. Private to the reader of logs. */
#pragma once

#include "measure/nccl-log-row-private.h"

/*
 * Behind the prefix of a launcher that names its ranks: "[1,0]<stdout>:" (also with words before
 * it), "0: ".
 */
const char *log_skip_prefix (const char *text);

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
