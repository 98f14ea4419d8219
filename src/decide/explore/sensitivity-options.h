/* What is asked of `sensitivity`, as words: of the command line and of requests. */
#pragma once

#include "base/config/option.h"
#include "decide/explore/heat-map.h"
#include "decide/explore/sensitivity.h"

typedef enum
{
  SENSITIVITY_BOTH,
  SENSITIVITY_FIGURES,
  SENSITIVITY_OPTIONS,
} SensitivityPart;

typedef struct
{
  double   factor;
  gint     only; /* SensitivityPart */
  gboolean no_break_even;
  char   **figures; /* --figure; NULL: all there are */
  char   **map;     /* --map; NULL: no map */
} SensitivityWords;

extern const OptionSpec sensitivity_options[]; /* all but the lists */

void sensitivity_words_clear (SensitivityWords *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SensitivityWords, sensitivity_words_clear)

/*
 * OPTIONS, without threads. Asking about some figures is asking about figures; ONE_TABLE: the
 * answer has one form, that of figures unless options are asked for. FALSE after diagnostics.
 */
gboolean sensitivity_words_apply (const SensitivityWords *self, gboolean one_table,
                                  SensitivityOptions *options, DiagList *diags);
