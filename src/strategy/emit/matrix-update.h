/*
 * The update of what an optimizer must have as a whole: matrices of Muon, Shampoo and SOAP, blocks
 * of 8-bit AdamW. Where shards cut them, they travel to who owns them and back: the rounds of
 * driver/matrix/matrix-plan.h.
 *
 * All-to-all: packing, both all-to-alls and the update of parameters are on a stream of their own;
 * the next round's matrices are under way while a round's are computed, in two slots (torchtitan,
 * _optimizer_reshard_runtime.py). Owner: all matrices set off before the first is computed, and
 * parameters are updated when all are back (arXiv:2602.22437, Algorithm 2). All-gather: round by
 * round, nothing at the same time.
 */
#pragma once

#include "driver/matrix/matrix-plan.h"

/* The rounds of PLAN, of KIND. SHARE: of an element, as the strategy keeps it. */
void emit_matrix_update (StrategyRun *run, const MatrixPlan *plan, guint kind,
                         const OptimizerShare *share);
