/*
 * Predictions against a stored baseline: what moved, by how much, and which input moved it.
 *
 * A row is a scenario's results with all that they were made of: options, the figures of the
 * profiles, the model's shape. Two rows are compared result by result, each within its limit. Where
 * one moved, the changed inputs are told apart by simulation: R0 is what this program predicts with
 * the inputs of the baseline; an input alone moves R0 to R_i; from the baseline's own result to R0
 * it is the program that moved. What the inputs do together and none does alone is left over.
 */
#pragma once

#include "predict/prediction.h"

/* The number of the form of a baseline's file; see docs/regress.md. */
#define BASELINE_SCHEMA 1

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct
{
  char      *name;   /* "step_time_s" */
  char      *text;   /* of a result in words, such as what binds; NULL: a number */
  double     number; /* NAN: there is none */
  SourceMark mark;   /* in the baseline's file */
} RegressResult;

typedef struct
{
  char    *group; /* "options", "model", "gpu h100-sxm-80", "lengths" */
  char    *key;   /* "training.micro_batch", "matmul_efficiency" */
  char    *value;
  gboolean is_default; /* an option that nobody set; FALSE where that is not known */
} RegressInput;

typedef struct
{
  char      *scenario;
  char      *program_version;
  GArray    *results; /* RegressResult, by name */
  GArray    *inputs;  /* RegressInput, by group, then key */
  SourceMark mark;    /* in the baseline's file */
} RegressRow;

void regress_row_free (RegressRow *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RegressRow, regress_row_free)

/* What a prediction says, in any order: a layer above knows the names. Array of RegressResult. */
typedef GArray *(*RegressRead) (const Prediction *prediction);

/* An empty array of RegressResult that frees them. */
GArray *regress_results_new (void);

/* The input KEY of GROUP, or NULL. */
const RegressInput  *regress_row_input (const RegressRow *self, const char *group, const char *key);
gboolean             regress_row_has_group (const RegressRow *self, const char *group);
const RegressResult *regress_row_result (const RegressRow *self, const char *name);

/* A row that has nothing in it yet; those of regress_row_sort are then in order. */
RegressRow *regress_row_new (const char *scenario, const char *program_version);
void        regress_row_add_input (RegressRow *self, const char *group, const char *key,
                                   const char *value);
void        regress_row_sort (RegressRow *self);

/* That of PREDICTION, of SCENARIO, which was made of INPUTS. */
RegressRow *regress_row_read (const Scenario *scenario, const Prediction *prediction,
                              const PredictionInputs *inputs, RegressRead read);

/* Predicts SCENARIO, and the same. NULL as predict, as which it is thread-safe. */
RegressRow *regress_row_predict (const Scenario *scenario, const PredictOptions *options,
                                 RegressRead read, DiagList *diags, GError **error);

/* ---- the baseline ---------------------------------------------------------------------------- */

/* Rows by the scenario's name, in its order; owned. */
typedef struct
{
  GPtrArray *rows; /* RegressRow */
} Baseline;

Baseline *baseline_new (void);
void      baseline_free (Baseline *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Baseline, baseline_free)

/* Reads FILE. NULL after diagnostics: all its mistakes in one pass. */
Baseline *baseline_load (const char *file, DiagList *diags);

const RegressRow *baseline_find (const Baseline *self, const char *scenario); /* or NULL */

/* ROW in the place of the one of its name, or beside the others. */
void baseline_put (Baseline *self, RegressRow *row);

/* Drops the rows that no scenario of ROWS (RegressRow) has. */
void baseline_prune (Baseline *self, const GPtrArray *rows);

/* ---- limits ---------------------------------------------------------------------------------- */

#define REGRESS_EQUAL 1e-9 /* relative: numbers that differ by no more are the same */

typedef struct
{
  const char *name;
  double      value;
  gboolean    relative; /* to the baseline's number; else in the result's own unit */
  gboolean    any;      /* it may move as it likes */
} RegressLimit;

/*
 * "NAME=0.5%", "NAME=0.2" (in the result's unit) or "NAME=any"; "all" for those that have none of
 * their own. NAMES: of the results, NULL-terminated. FALSE after a diagnostic.
 */
gboolean regress_limit_parse (const char *text, const char *const *names, RegressLimit *limit,
                              DiagList *diags);

/* ---- comparison ------------------------------------------------------------------------------ */

typedef enum
{
  REGRESS_SAME,
  REGRESS_WITHIN, /* differs, within its limit */
  REGRESS_MOVED,
  REGRESS_NEW, /* the baseline has none */
  REGRESS_N,
} RegressVerdict;

const char *regress_verdict_name (RegressVerdict verdict); /* "moved" */

typedef struct
{
  const RegressRow    *row;
  const RegressResult *was, *now; /* was NULL: new; now NULL: gone */
  double               change; /* relative; not finite where the baseline is 0 or it is no number */
  RegressLimit         limit;
  RegressVerdict       verdict;
} RegressChange;

/* An input that changed. */
typedef struct
{
  char   *group, *key, *was, *now; /* NULL: it is not there */
  GArray *effects; /* double, by changes: what it does alone, relative to the baseline; NAN where
                      that is not known; NULL: not simulated */
} RegressCause;

typedef struct
{
  const RegressRow *was, *now; /* was NULL: the baseline has no such row */
  GArray           *changes;   /* RegressChange, by name */
  GArray           *causes;    /* RegressCause */
  GArray           *program;   /* effects of the program itself, as above; NULL: not simulated */
  guint             n[REGRESS_N];
} RegressComparison;

void regress_comparison_free (RegressComparison *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RegressComparison, regress_comparison_free)

/*
 * NOW against the row of its name in BASELINE, within LIMITS (RegressLimit; the last that fits
 * counts). Borrows both rows. Diagnoses a result of the baseline that is no number and should be.
 */
RegressComparison *regress_compare (const Baseline *baseline, const RegressRow *now,
                                    const GArray *limits, DiagList *diags);

#define REGRESS_MAX_CAUSES 24 /* simulated one by one; of more only their names are told */

/*
 * Simulates what each cause does alone, where a result moved; SCENARIO is that of `now`. Without
 * such simulations the effects stay NULL. Thread-safe as predict.
 */
void regress_explain (RegressComparison *self, const Scenario *scenario,
                      const StrategySet *strategies, const PredictOptions *options,
                      RegressRead read);

/*
 * The change that text tells the causes by, and its place: the step time where it moved, else the
 * throughput, the peak, any other number; NULL: none moved.
 */
const RegressChange *regress_headline (const RegressComparison *self, guint *index);
