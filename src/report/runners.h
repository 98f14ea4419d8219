/* Which frameworks run a configuration, for a search to ask (analysis/search.h). */
#pragma once

#include "analysis/prediction.h"

typedef struct _Runners Runners;

/* PREDICT: as the configurations are predicted. */
Runners *runners_new (const PredictOptions *predict);
void     runners_free (Runners *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Runners, runners_free)

/* SearchRunners; USER: Runners. Frameworks and profiles are read when it is first asked. */
char *runners_find (const Scenario *scenario, gpointer user);
