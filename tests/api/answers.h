/* What tests of effects ask: the answer to settings, and what is said of them. */
#pragma once

#include "base/file/input-files.h"
#include "scenario/scenario.h"

/*
 * The scenario of SETTINGS, "section.key=value" with semicolons between them, and with KEY (may be
 * NULL) at VALUE. NULL: refused.
 */
Scenario *answers_scenario (const char *settings, const char *key, const char *value,
                            DiagList *diags);

/* All that is predicted of it, without what only repeats it. Newly allocated; NULL: refused. */
char *answer_to (InputFiles *files, const char *settings, const char *key, const char *value,
                 DiagList *diags);

/* Whether DIAGS say that NAME has no effect. */
gboolean answers_are_warned (const DiagList *diags, const char *name);
