/* What pipeline a stage is of, and where its chunks lie; closed forms read it as well. */
#include "driver/policy/pipeline.h"

Pipeline
pipeline_of (const Workload *workload)
{
  const MeshOptions *mesh = workload_mesh (workload);

  return (Pipeline){ .kind = mesh_pipeline (mesh),
                     .stages = (guint) MAX (mesh->pp, 1),
                     .chunks = workload_n_chunks (workload),
                     .micros = (guint) workload_training (workload)->grad_accum,
                     .group = (guint) mesh->micro_batch_group,
                     .beside = mesh->moe_overlap };
}

guint
pipeline_group_size (const Pipeline *self)
{
  return self->group > 0 ? self->group : self->stages;
}

guint
pipeline_chunk_micros (const Pipeline *self)
{
  return self->kind == PIPELINE_DUALPIPE ? self->micros / 2 : self->micros;
}

gboolean
pipeline_is_concurrent (const Pipeline *self)
{
  return self->kind == PIPELINE_DUALPIPE || self->beside;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* One step on from AT along the model, or back. */
static gboolean
step_from (const Pipeline *self, PipelinePlace at, gboolean back, PipelinePlace *to)
{
  gboolean up = (self->kind == PIPELINE_ZBV || self->kind == PIPELINE_DUALPIPE) && at.chunk == 1;
  gboolean down = up == back; /* towards later stages */
  gboolean last = down ? at.stage + 1 == self->stages : at.stage == 0;

  *to = at;
  if (!last)
    to->stage = down ? at.stage + 1 : at.stage - 1;
  else if (self->kind == PIPELINE_ZBV && at.chunk == (back ? 1 : 0) && at.stage + 1 == self->stages)
    to->chunk = back ? 0 : 1;
  else if (self->kind == PIPELINE_INTERLEAVED
           && (back ? at.chunk > 0 : at.chunk + 1 < self->chunks))
    *to = (PipelinePlace){ back ? self->stages - 1 : 0, back ? at.chunk - 1 : at.chunk + 1 };
  else
    return FALSE;
  return TRUE;
}

gboolean
pipeline_next (const Pipeline *self, PipelinePlace at, PipelinePlace *next)
{
  return step_from (self, at, FALSE, next);
}

gboolean
pipeline_previous (const Pipeline *self, PipelinePlace at, PipelinePlace *previous)
{
  return step_from (self, at, TRUE, previous);
}
