#include "model/layer/expert-dispatch.h"

#define SCALED 128 /* elements that share a scale */

Dispatch
expert_dispatch (const ModelShape *shape, const MeshOptions *mesh)
{
  if (!mesh_dispatches_by_node (mesh) || shape->n_experts == 0)
    return (Dispatch){ 0 };
  return (Dispatch){ .experts = (guint) shape->n_experts,
                     .chosen = (guint) shape->n_experts_per_token,
                     .most_nodes = (guint) mesh->nodes_per_token,
                     .sms = (guint) mesh->dispatch_sms };
}

double
expert_dispatch_bytes (const ModelShape *shape, const MeshOptions *mesh)
{
  const gint64 width = model_expert_width (shape), scales = (width + SCALED - 1) / SCALED;

  if (!mesh_dispatches_fp8 (mesh))
    return 0;
  return 1 + 4.0 * (double) scales / (double) width;
}
