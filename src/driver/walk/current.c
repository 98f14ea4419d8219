/* What the current role computes, and the names of its communicators. */
#include "driver/walk/driver-private.h"

/* The two directions of DualPipe have micro-batches of their own. */
static guint
micro_index (const Driver *self, guint chunk, guint micro)
{
  guint n = pipeline_chunk_micros (&self->pipeline);

  return n < self->pipeline.micros ? chunk * n + micro : micro;
}

gboolean
driver_micro_step (const Driver *self, guint chunk, guint micro, guint *step)
{
  *step = micro_index (self, chunk, micro);
  return chunk == 0 || pipeline_chunk_micros (&self->pipeline) < self->pipeline.micros;
}

const Workload *
driver_workload (const Driver *self, guint stage, guint chunk, guint micro)
{
  const PlanBatches *batches = self->in->batches;
  guint              index = micro_index (self, chunk, micro);

  if (batches == NULL)
    return self->stages[stage].workload;
  return batches->workloads[batches->table[(gsize) self->row * batches->width + index]][stage];
}

const char *
driver_axis_name (const Driver *self, MeshAxis axis)
{
  static const char *const names[2][MESH_N_AXES] = {
    { [MESH_TENSOR] = "tensor",
      [MESH_TENSOR_ROWS] = "tensor rows",
      [MESH_CONTEXT] = "context",
      [MESH_EXPERT] = "expert",
      [MESH_EXPERT_TENSOR] = "expert tensor" },
    { [MESH_TENSOR] = "concurrent tensor",
      [MESH_TENSOR_ROWS] = "concurrent tensor rows",
      [MESH_CONTEXT] = "concurrent context",
      [MESH_EXPERT] = "concurrent expert",
      [MESH_EXPERT_TENSOR] = "concurrent expert tensor" },
  };

  return names[self->concurrent][axis];
}
