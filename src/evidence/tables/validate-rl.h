/*
 * Published steps of reinforcement learning against what is predicted of them: of the whole step,
 * and of its parts where a table has them.
 *
 * A row says the model, GPUs, layouts, lengths and batches. What it does not say is assumed, and
 * the same for all rows: prompts and the spread of lengths as the `rl` section has them; of GPUs
 * that generate alone, a half; of a GPU's memory, 0.6 for generation in turn and 0.8 alone
 * (NeMo-RL's recipes); recomputation where training does not fit without; 16-bit gradient sums.
 * `fp8` is of weights and products of both, a scale a block.
 *
 * error = predicted / measured - 1, signed.
 */
#pragma once

#include "evidence/tables/statistics.h"
#include "posttrain/rl-step.h"

/* What is measured, with the phases that make it up. */
typedef enum
{
  RL_MEASURED_STEP,
  RL_MEASURED_GENERATION,
  RL_MEASURED_LOGPROBS, /* of policy and reference */
  RL_MEASURED_TRAINING,
  RL_MEASURED_REFIT, /* with the moves of states, which happen beside */
  RL_N_MEASURED,
} RlMeasured;

extern const char *const rl_measured_names[RL_N_MEASURED + 1];

/* Of a row, as it was told: 0 and NULL where it was not. */
typedef struct
{
  char  *id, *source, *gpu, *model, *algorithm, *policy, *precision, *framework;
  guint  line;
  gint64 gpus, gpus_per_node, max_len, gen_batch, train_batch;
  double mean_len;
  gint64 gen_tp, gen_pp, train_tp, train_cp, train_ep, train_pp, train_vp;
  double measured[RL_N_MEASURED]; /* s; 0: not measured */
} RlRow;

typedef struct
{
  const RlRow *row;
  char        *reason;                   /* NULL, or why it could not be predicted */
  double       predicted[RL_N_MEASURED]; /* s */
  double       error;                    /* of the step */
  double       idle_generating, idle_training;
  gboolean     recomputes;
} ValidatedRl;

typedef struct
{
  GArray         *measured; /* RlRow, owned */
  GArray         *rows;     /* ValidatedRl, in their order */
  ErrorStatistics errors[RL_N_MEASURED];
  guint n_pairs, n_ordered; /* of rows of one model and source; those in the right order */
  guint n_failed;
} RlValidation;

/* RlRow of FILE; NULL after diagnostics. The caller's. */
GArray *rl_rows_load (const char *file, DiagList *diags);

/* Predicts MEASURED (which it takes), in so many threads. Never fails. */
RlValidation *validate_rl (GArray *measured, const PredictOptions *options, guint n_threads);
void          rl_validation_free (RlValidation *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RlValidation, rl_validation_free)
