#include "workload/expert-dispatch.h"

#define SCALED 128 /* elements that share a scale */

Dispatch
expert_dispatch (const ModelShape *shape, const MeshOptions *mesh)
{
  if (mesh->dispatch != DISPATCH_TWO_LEVEL || shape->n_experts == 0)
    return (Dispatch){ 0 };
  return (Dispatch){ .experts = (guint) shape->n_experts,
                     .chosen = (guint) shape->n_experts_per_token,
                     .most_nodes = (guint) mesh->nodes_per_token,
                     .sms = (guint) mesh->dispatch_sms };
}

double
expert_dispatch_bytes (const ModelShape *shape, const MeshOptions *mesh)
{
  const gint64 scales = (shape->d_model + SCALED - 1) / SCALED;

  if (mesh->dispatch_dtype != DISPATCH_DTYPE_FP8)
    return 0;
  return 1 + 4.0 * (double) scales / (double) shape->d_model;
}
