/*
 * A sweep: scenarios laid over a few bases by a source of settings, predicted in threads. Nothing
 * of it grows with the number of points.
 */
#pragma once

#include "decide/sweep/sweep-keeper.h"
#include "decide/sweep/vary.h"
#include "predict/prediction.h"

/* Where settings come from. Points are asked for in rising order; the last one maybe again. */
typedef struct _SweepSource SweepSource;
struct _SweepSource
{
  const char *const *options; /* strv: "training.micro_batch"; owned by the source */
  const gboolean    *gaps;    /* an option each: some point leaves it to the base; NULL: none */
  const char        *origin;  /* "--vary": for messages; owned by the source */
  guint64            length;
  /*
   * The value of each option at POINT ("": the base's own), strv, and *LABEL, what to call it: both
   * newly allocated. NULL with ERROR.
   */
  char **(*values) (SweepSource *self, guint64 point, char **label, GError **error);
  void (*free) (SweepSource *self);
};

/* The grid VARY, which outlives it. */
SweepSource *sweep_source_of_vary (const Vary *vary);

typedef struct
{
  const GPtrArray    *bases; /* Scenario: each takes every point of the source */
  SweepSource        *source;
  const StrategySet  *strategies;
  PredictOptions      predict;
  const ResultColumn *columns;
  /* Fills VALUES, zeroed, by `columns`. */
  void (*results) (const Prediction *prediction, ResultValue *values);
} SweepPlan;

/* Points of the sweep; G_MAXUINT64 for as many or more. Point i is of base i % n. */
guint64 sweep_length (const SweepPlan *plan);

/*
 * The scenario at POINT; NULL after diagnostics, or with ERROR when the source fails. DIGEST, newly
 * allocated, tells its run; it is set for scenarios that cannot be as well.
 */
Scenario *sweep_scenario (const SweepPlan *plan, guint64 point, char **digest, DiagList *diags,
                          GError **error);

/*
 * Works off what DESK hands out, in N_THREADS. BASE_IDS: the store's, one a base. FALSE with ERROR
 * when the source fails.
 */
gboolean sweep_work (const SweepPlan *plan, const char *const *base_ids, SweepDesk *desk,
                     guint n_threads, GError **error);

/*
 * After work that ended early: counts the runs that KEEPER's store has from before, of points that
 * the work did not come to.
 */
void sweep_count_left (const SweepPlan *plan, SweepKeeper *keeper);

/*
 * What a prediction depends on beside its scenario and the program: a hash of all files in the
 * folders of PATH (as of profile_set_new; NULL: shipped), the shipped models, and FILES (strv;
 * NULL: none). Newly allocated.
 */
char *sweep_inputs_hash (const char *path, const char *const *files);
