#include "model/mesh/context-heads.h"

#include "model/shape/family-private.h"

gint64
context_undivided_keys (const ModelShape *shape, gint64 tp, gint64 by)
{
  for (gint64 i = 0; shape->kv_lora_rank == 0 && i < shape->n_layers; i++)
    {
      const gint64 kv = MAX (model_layer (shape, i).n_kv_heads / tp, 1);

      if (kv % by != 0 && by % kv != 0)
        return kv;
    }
  return 0;
}

gboolean
context_can_divide (const ModelShape *shape, gint64 tp, gint64 by)
{
  return MAX (shape->n_heads / tp, 1) % by == 0 && context_undivided_keys (shape, tp, by) == 0;
}
