/*
 * Private training (DP-SGD, Abadi et al., arXiv:1607.00133): the gradient of each sample, which is
 * a sequence of the micro-batch, is clipped to a norm before they are summed, and noise is added.
 * What that costs a layer is model/tape/tape-clipped-private.h's to say.
 *
 * With flat clipping no gradient is made before all norms are known, so a backward pass is two: one
 * for the gradients of inputs and the norms, one for the gradients of weights. Reductions begin in
 * the second. Ghost clipping's second one is a whole backward pass again.
 */
#pragma once

#include "base/config/option-marks.h"
#include "model/mesh/parallel.h"
#include "model/shape/model.h"
#include "model/step/training.h"

gboolean training_is_private (const TrainingOptions *training);

/* Whether a backward pass is two. */
gboolean training_holds_gradients_back (const TrainingOptions *training);

/* Whether the second of them is all of it again, so that what is saved stays until then. */
gboolean training_repeats_backward (const TrainingOptions *training);

/* Who adds noise: NOISE_RANK, NOISE_OWNER or NOISE_NONE (of training without privacy, too). */
PrivateNoise training_noise (const TrainingOptions *training);

/*
 * Diagnoses at the MARKS (may be NULL) methods and options that contradict each other, and what no
 * method is modelled with.
 */
gboolean privacy_check (const ModelShape *shape, const TrainingOptions *training,
                        const OptionMarks *marks, DiagList *diags);

/* The same of axes of MESH (normalised) over which a sample's gradient is in parts. */
gboolean privacy_check_mesh (const TrainingOptions *training, const MeshOptions *mesh,
                             const OptionMarks *marks, DiagList *diags);
