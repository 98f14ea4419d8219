/*
 * A scenario as the settings of the framework that runs it.
 *
 * Every option of the scenario becomes one of the framework's, or a comment, or nothing where that
 * is its default, or it cannot be said there: then nothing is written, and every such option is
 * named. What maps to what is data: scenario/framework.h, docs/emit.md.
 */
#pragma once

#include "scenario/framework.h"
#include "scenario/resolved.h"

/*
 * Appends RESOLVED's settings in SELF's form. FALSE after diagnostics, one for each option that
 * SELF cannot say, at the place where it was set, and then the frameworks that can say all. In a
 * form without comments what would be one is a warning.
 */
gboolean emit_settings (const Framework *self, const ResolvedScenario *resolved, GString *out,
                        DiagList *diags);

/* Names of those of FRAMEWORKS that can say RESOLVED, "deepspeed, torchtitan"; NULL: none can. */
char *emit_runners (const GPtrArray *frameworks, const ResolvedScenario *resolved);
