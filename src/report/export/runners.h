/* Which frameworks run a configuration, for a search to ask (decide/search/search.h). */
#pragma once

#include "predict/prediction.h"

typedef struct _Runners Runners;

/* PREDICT: as the configurations are predicted. */
Runners *runners_new (const PredictOptions *predict);
void     runners_free (Runners *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Runners, runners_free)

/* SearchRunners; USER: Runners. Frameworks and profiles are read when it is first asked. */
char *runners_find (const Scenario *scenario, gpointer user);
