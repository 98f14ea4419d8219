/* What `shardsim validate SUBJECT` commands share. */
#pragma once

#include "cli/common.h"

typedef struct
{
  char    *plot, *max_error;
  gboolean rows, own_network;
  double   limit; /* of the median; negative: none */
} ValidationArguments;

/* A file was named, at most N_FILES of them, and --max-error is a ratio; FALSE after a message. */
gboolean validation_arguments_check (ValidationArguments *self, const Common *common,
                                     guint n_files);
void     validation_arguments_clear (ValidationArguments *self);

/*
 * Prints ROWS and SUMMARY as the format wants it: text (ROWS with --rows only), CSV (SUMMARY to
 * stderr), JSON (ROWS hold all).
 */
ExitStatus validation_print (const ValidationArguments *self, const Common *common,
                             const GString *rows, const GString *summary);

/*
 * STATUS, unless it is EXIT_DONE and none of N_ROWS could be predicted (N_FAILED): then
 * EXIT_RUNTIME after a message.
 */
ExitStatus validation_check_any (const Common *common, guint n_rows, guint n_failed,
                                 ExitStatus status);

/*
 * EXIT_NO after a message when MEDIAN, the |error| of N rows of KIND ("healthy rows"), is above the
 * limit. None at all is no better than a bad prediction.
 */
ExitStatus validation_check_limit (const ValidationArguments *self, const Common *common,
                                   const char *kind, guint n, double median);
