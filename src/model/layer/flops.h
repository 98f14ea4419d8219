/*
 * FLOP conventions (PaLM, arXiv:2204.02311, appendix B; Narayanan et al., arXiv:2104.04473;
 * Korthikanti et al.). A multiply-add counts 2. All figures are per token of the given sequence
 * length, training (forward + backward), without recomputation: what is executed again counts in
 * HFU only, by the same convention (KernelDesc.recomputed_flops).
 */
#pragma once

#include "model/mesh/parallel.h"
#include "model/shape/model.h"
#include "model/step/training.h"

/*
 * Model FLOPs a token under CONVENTION: the numerator of MFU. N of PALM and CAUSAL is
 * flops_matrix_parameters; H is heads times the width of a head (the mean of key and value width);
 * CAUSAL also leaves out what lies outside of sliding windows; 6N counts the parameters that a
 * token uses (all of a dense model, the chosen experts of another), embeddings included.
 */
double flops_per_token (const ModelShape *shape, FlopsConvention convention, gint64 seq_len);

/*
 * The same of TRAINING on MESH, whose documents may end within a sequence, and which may freeze
 * parameters (model/shape/peft.h, trained_slices): their weights have no gradients, so a frozen
 * parameter counts 4 FLOPs a token, not 6, and an adapter's 6. What experts drop is no work
 * (mesh_rows_kept).
 */
double flops_trained_per_token (const ModelShape *shape, const TrainingOptions *training,
                                const MeshOptions *mesh, FlopsConvention convention,
                                gint64 seq_len);

/* Of one forward pass, whatever is trained: a third of what training without frozen ones counts. */
double flops_forward_per_token (const ModelShape *shape, const TrainingOptions *training,
                                const MeshOptions *mesh, FlopsConvention convention,
                                gint64 seq_len);

/*
 * Pairs of a query and a key that CONVENTION counts for a sequence of SEQ_LEN tokens in one layer:
 * PALM all, CAUSAL those that the mask of TRAINING, the ends of its documents and (WINDOWED) the
 * window leave, 6N none.
 */
double flops_attention_pairs (const ModelShape *shape, const TrainingOptions *training,
                              FlopsConvention convention, gboolean windowed, double seq_len);

/* Of one token's states in a block whose mixer has some, forwards; else 0. */
double flops_state (const ModelShape *shape, ModelMixer mixer);

/*
 * Parameters that enter matrix products for one token: blocks' active matrices and the head (V*H
 * also when tied, and again for each further token that is predicted), no embedding look-up.
 */
double flops_matrix_parameters (const ModelShape *shape);

/* Of these, those of the experts that a router chooses for a token. */
double flops_routed_parameters (const ModelShape *shape);

/* "palm"; what it counts of attention, in words. */
const char *flops_convention_name (FlopsConvention convention);
const char *flops_convention_words (FlopsConvention convention);
