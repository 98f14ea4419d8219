/*
 * Runs that are slow for a reason that no column says: what they did not share with their
 * neighbours, a broken link or a busy host, is in no table.
 *
 * Of the runs of one source with the same model, GPU, checkpointing and tensor ranks, one over
 * several nodes is slow where a pass of a micro-step over all stages,
 *
 *   step / (grad_accum + pp - 1) * pp
 *
 * takes more than twice the shortest pass of a run with at least as many tokens a micro-step. The
 * rule looks at measurements alone, never at a prediction.
 */
#pragma once

#include "evidence/tables/training-table.h"

#define TRAINING_SLOW_FACTOR 2

/* Sets `slow` of the rows of METRIC_STEP_TIME_S and METRIC_TOKENS_PER_S_PER_GPU. */
void training_find_slow (GArray *rows);
