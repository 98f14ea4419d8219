/*
 * Parts of a block that selective checkpointing recomputes: training.recompute_modules. A part of
 * the first kind is checkpointed as it is: its inputs are kept, and of its results those that are
 * wanted outside of it; all of it runs again. Of the second kind the results are discarded, too,
 * and made again when the first operation wants them.
 *
 * Source: NVIDIA/Megatron-LM, --recompute-modules; norms within attention: arXiv:2412.19437, 3.2.3.
 */
#pragma once

#include "base/config/option.h"
#include "model/shape/model.h"
#include "model/step/training.h"

typedef enum
{
  PART_CORE_ATTN = 1 << 0,
  PART_MLP = 1 << 1, /* of dense blocks */
  PART_MOE = 1 << 2, /* router, experts and shared experts, with their collectives */
  PART_SHARED_EXPERTS = 1 << 3,
  PART_LAYERNORM = 1 << 4,    /* the norms before (behind) attention and MLP */
  PART_QK_LAYERNORM = 1 << 5, /* those of queries, keys and latents */
  PART_MLA_UP_PROJ = 1 << 6,  /* from latents to queries, keys and values, rotary included */
  PART_MOE_ACT = 1 << 7,      /* the activation of routed experts */
} BlockPart;

#define PARTS_DISCARDED (PART_LAYERNORM | PART_QK_LAYERNORM | PART_MLA_UP_PROJ | PART_MOE_ACT)

/* Those that lie within WHOLE. */
guint block_parts_within (guint whole);

/* Those that TRAINING names; words that are none are left out. */
guint block_parts_recomputed (const TrainingOptions *training);

/* Names that are none, parts that the model has not, names without selective checkpointing. */
gboolean block_parts_check (const ModelShape *shape, const TrainingOptions *training,
                            const OptionMarks *marks, DiagList *diags);
