#include "model/layer/userbuffers.h"

#include "model/layer/fp8.h"

/*
 * A buffer of all tokens of a context rank for each overlapped product: those of the attention's
 * and the feed-forward's two linear layers forwards and of their inputs' gradients, and the two of
 * weights beside which something is reduced. With fp8 what is gathered, or is reduced beside, goes
 * as fp8: both forward products that gather, and all four of inputs' gradients. With fp4 they are
 * made in 16 bits (Megatron-LM, initialize_ub's use_fp8).
 */
#define BUFFERS     10
#define FP8_BUFFERS 6

#define STREAMS 3 /* _NUM_MAX_UB_STREAMS */

gboolean
userbuffers_on (const MeshOptions *mesh)
{
  return mesh->tp > 1 && mesh->sp == 1 && mesh->async_tp
         && mesh->async_tp_by == MESH_ASYNC_TP_USERBUFFERS;
}

guint64
userbuffers_bytes (const Workload *workload)
{
  const MeshOptions     *mesh = workload_mesh (workload);
  const TrainingOptions *training = workload_training (workload);
  guint64                tokens =
      (guint64) training->seq_len * (guint64) training->micro_batch / (guint64) mesh->cp;
  guint fp8 = fp8_recipe (training).dtype == DTYPE_FP8 ? FP8_BUFFERS : 0;
  guint wide = dtype_bytes (training_compute_dtype (training));

  if (!userbuffers_on (mesh))
    return 0;
  return tokens * (guint64) workload_shape (workload)->d_model
         * ((BUFFERS - fp8) * wide + fp8 * dtype_bytes (DTYPE_FP8));
}

guint
userbuffers_workspaces (const MeshOptions *mesh)
{
  return userbuffers_on (mesh) ? STREAMS : 1;
}
