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

G_DEFINE_AUTOPTR_CLEANUP_FUNC (FewFamily, few_family_free)

/* What is kept of a number of micro-batches. */
typedef enum
{
  FEW_FIRST,   /* a first step */
  FEW_STEADY,  /* a steady one behind it */
  FEW_BEHIND,  /* a steady one behind a first one of fewer (repeat.c), */
  FEW_STRETCH, /* and what repeats in it, n_replayed of them (read-replay.h) */
} FewKind;

/* What is known of KIND of N micro-batches; FALSE: nothing. */
gboolean few_family_find (const FewFamily *self, guint n, FewKind kind,
                          const Prediction **prediction);

/* Takes PREDICTION, which may be NULL: there is none. */
void few_family_add (FewFamily *self, guint n, FewKind kind, Prediction *prediction);
