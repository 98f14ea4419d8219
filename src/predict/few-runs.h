/*
 * Runs of few micro-batches, kept for other scenarios that follow from the same ones: those that
 * differ in the number of micro-batches alone. For one thread, and one set of options.
 */
#pragma once

#include "predict/prediction.h"

FewRuns *few_runs_new (void);
void     few_runs_free (FewRuns *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FewRuns, few_runs_free)

/* The runs of one such scenario. */
typedef struct _FewFamily FewFamily;

FewFamily *few_family_new (void);
void       few_family_free (FewFamily *self);

/* That of RESOLVED, until the next call: so many are kept. NULL: its profiles are its own. */
FewFamily *few_runs_family (FewRuns *self, const ResolvedScenario *resolved);

/* What is known of N micro-batches, FIRST step or a steady one; FALSE: nothing. */
gboolean few_family_find (const FewFamily *self, guint n, gboolean first,
                          const Prediction **prediction);

/* Takes PREDICTION, which may be NULL: there is none. */
void few_family_add (FewFamily *self, guint n, gboolean first, Prediction *prediction);
