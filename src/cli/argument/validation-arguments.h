/* What `shardsim validate SUBJECT` commands share. */
#pragma once

#include "cli/argument/common.h"

typedef struct
{
  char    *plot;
  gboolean rows, own_network;
  double   limit; /* of the median; negative: none */
} ValidationArguments;

/* --rows and, of the median |error| of WHAT, --max-error, into ValidationArguments MEMBER. */
#define OPTION_ROWS(member) \
  OPTION ("rows", VALUE_SWITCH, member.rows, NULL, "text: print every row as well")
#define OPTION_MAX_ERROR(member, what)                                                    \
  OPTION ("max-error", VALUE_QUANTITY, member.limit, "X",                                 \
          "exit with 3 when the median |error| of " what " is above X: '0.1' or '10 %'"), \
      .kind = QUANTITY_RATIO, .fallback = -1

#define NO_MEASUREMENTS "no file of measurements given"

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
