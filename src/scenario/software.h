/*
 * The software that a scenario runs on. A scenario names a framework, or 'none'; one that says
 * nothing runs on its innermost strategy's framework of today, where PROFILES were asked to have
 * such (ProfileVariant.todays_frameworks). What the release implies goes into every option that
 * nobody set, and stays unmarked: it is nobody's word. Docs: docs/decisions/010-todays-software.md.
 */
#pragma once

#include "scenario/scenario.h"

typedef struct
{
  const FrameworkProfile *framework; /* NULL: none */
  gboolean                by_default;
} Software;

/*
 * Names the framework in SCENARIO's options, and sets there what it implies on GPUs of ARCHITECTURE
 * (NULL: not known). FALSE after diagnostics.
 */
gboolean software_apply (Scenario *scenario, ProfileSet *profiles, const char *architecture,
                         Software *out, DiagList *diags);

/* That of CLUSTER's first GPU; NULL: no CLUSTER. */
const char *software_architecture (const Cluster *cluster);

/*
 * A copy of SOURCE with all of that: printed, it is the same scenario to any later release. NULL
 * after diagnostics.
 */
Scenario *scenario_in_force (const Scenario *source, ProfileSet *profiles, DiagList *diags);

/* The same where the cluster's is known: none is made, which takes long of a large one. */
Scenario *scenario_in_force_on (const Scenario *source, ProfileSet *profiles,
                                const char *architecture, DiagList *diags);
