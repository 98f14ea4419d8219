/* The second half of a block: an MLP, or experts behind a router. */
#include "model/layer/layer-experts-private.h"

TapeValue
layer_add_feed_forward (LayerBuilder *b, TapeValue x)
{
  gboolean experts = b->layer.block.feed == MODEL_FEED_EXPERTS;
  guint    outer = tape_enter (b->tape, experts ? PART_MOE : PART_MLP);

  if (experts)
    x = layer_add_moe (b, x);
  else
    x = layer_add_mlp (b, x);
  b->tape->parts = outer;
  return x;
}
