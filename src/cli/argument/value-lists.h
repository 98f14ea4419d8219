/* Values of an option in a list, "1,2,4" or "1..8": which words are one, and who takes none. */
#pragma once

#include "cli/help/page-values.h"
#include "scenario/scenario.h"

/* --vary of the commands that search, which fills a strv of the settings. */
#define OPTION_VARY(member)                                                           \
  OPTION ("vary", VALUE_TEXTS, member, "KEY=V1,V2",                                   \
          "values of an option to choose from, in the place of those that are tried " \
          "unasked"),                                                                 \
      .words = &words_keys

/* What the name of a strategy, a model or a cluster is set by: its values label scenarios alone. */
gboolean value_list_of_names (const char *key);

gboolean value_list_is_in (const ScenarioOverride *override);

/* Diagnoses the lists among OVERRIDES (ScenarioOverride); whether there are some. */
gboolean value_lists_refuse (const GArray *overrides, DiagList *diags);
