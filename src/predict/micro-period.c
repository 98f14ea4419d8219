#include "predict/micro-period.h"

MicroPeriod
micro_period_of (const MeshOptions *mesh)
{
  const guint stages = (guint) MAX (mesh->pp, 1);
  MicroPeriod self = { 1, stages > 1 ? stages : 2,
                       stages > 1 && mesh_pipeline (mesh) != PIPELINE_GPIPE };

  switch (mesh_pipeline (mesh))
    {
    case PIPELINE_INTERLEAVED:
      self.period = (guint) (mesh->micro_batch_group > 0 ? mesh->micro_batch_group : stages);
      self.filled = 2 * self.period; /* of as many as stages all forward passes come first */
      break;
    case PIPELINE_ZB_H2:
    case PIPELINE_ZBV:
      self.filled = 2 * stages;
      break;
    case PIPELINE_DUALPIPE:
      self.period = 2;
      self.filled = 2 * stages;
      break;
    default:
      break;
    }
  return self;
}
