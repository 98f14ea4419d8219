/*
 * Who updates what an optimizer must have as a whole: of each round which elements travel to who
 * owns them, and which matrices the rank with the most work then has.
 *
 * Where shards cut nothing that matters, ranks update what they have. Else, by `matrix_exchange`:
 * buckets of layers one after another, in each the matrices spread anew, the longest first to who
 * has least (torchtitan's DistMuon); all matrices spread at once (veScale, Algorithm 2), shown as
 * one round a layer; or every rank has all of them, layer by layer.
 */
#pragma once

#include "driver/policy/strategy.h"
#include "model/optimizer/optimizer.h"

typedef struct
{
  guint    first, end; /* units, of all of the plan's */
  gboolean travels;    /* else ranks have what they update */
  guint64  elements;   /* of the tensors that are updated */
  guint64  sent;   /* of an all-to-all's or all-gather's payload: elements, on the busiest rank */
  guint64  held;   /* elements that a rank has before it computes, at most */
  GArray  *shapes; /* MatrixShape: what the rank with most work computes; none of blocks */
} MatrixRound;

struct _MatrixPlan
{
  GArray  *rounds;           /* MatrixRound, in order */
  guint    members;          /* ranks that share them */
  guint64  elements;         /* of all rounds: those that passes over elements leave alone */
  guint64  travelled;        /* of them those that travel */
  guint    n_tensors, n_cut; /* tensors that have to be whole; of them those that shards cut */
  guint64  bytes;            /* of what lives for ever where matrices are updated, on the rank with
                                most of it */
  gboolean gathers;          /* all-gathers there; else all-to-alls */
  gboolean returns;          /* what was made travels back */
};

/* Elements of ROUND's tensors that lie on a rank. */
static inline guint64
matrix_plan_share (const MatrixPlan *self, const MatrixRound *round)
{
  return (round->elements + self->members - 1) / self->members;
}

/* Bytes that products of ROUND hold on their way, at most. */
guint64 matrix_round_workspace (const MatrixRound *round, const TrainingOptions *training);

/*
 * Of the trained tensors of KIND among UNITS under POLICY; NULL if the optimizer has nothing like
 * that. The caller's: matrix_plan_free.
 */
MatrixPlan *matrix_plan_new (const PlanInput *in, const UnitPolicy *policy, const PlanUnit *units,
                             guint n_units, guint kind);
void        matrix_plan_free (MatrixPlan *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MatrixPlan, matrix_plan_free)

/* Bytes that the optimizer keeps on a rank beside its moments, of KIND's UNITS. SELF: or NULL. */
guint64 matrix_plan_kept (const MatrixPlan *self, const PlanInput *in, const UnitPolicy *policy,
                          const PlanUnit *units, guint n_units, guint kind);
