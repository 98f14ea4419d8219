/*
 * Checkpoints of activations in host memory (training.cpu_checkpointing): what a layer saved leaves
 * behind its forward pass and returns before its backward pass, both on one stream beside the
 * compute stream, through pinned memory. The GPU's memory goes back when the copy is done; the
 * host's too. Sources: Rajbhandari et al., ZeRO-Infinity, arXiv:2104.07857, 5.1.3; DeepSpeed,
 * deepspeed/runtime/activation_checkpointing/offload_activations.py.
 */
#include "driver/driver-private.h"

static StreamRef
copy_stream (const Driver *self)
{
  return schedule_stream (self->b, "checkpoints", 0);
}

/* The op that copies SAVED bytes from FROM to TO; it gives FROM's memory back. */
static void
copy (Driver *self, Place from_place, BufferRef from, Place to_place, BufferRef to, guint64 bytes)
{
  StreamRef stream = copy_stream (self);

  schedule_move (self->b, stream, from_place, to_place, bytes, "checkpoint");
  schedule_uses (self->b, from, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (self->b, to, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free_after (self->b, from, schedule_record (self->b, stream));
}

void
checkpoint_leaves (Driver *self, const LayerDesc *layer, BufferRef *saved)
{
  BufferRef host;

  if (!layer->offloaded)
    return;
  host = schedule_alloc (self->b, PLACE_PINNED, POOL_ACTIVATION, layer->saved_bytes, "checkpoint");
  schedule_wait_stream (self->b, copy_stream (self), SCHEDULE_COMPUTE);
  copy (self, PLACE_HBM, *saved, PLACE_PINNED, host, layer->saved_bytes);
  *saved = host;
}

void
checkpoint_returns (Driver *self, const LayerDesc *layer, BufferRef *saved)
{
  BufferRef back;

  if (!layer->offloaded)
    return;
  back = schedule_alloc_on (self->b, copy_stream (self), PLACE_HBM, POOL_ACTIVATION,
                            layer->saved_bytes, "saved");
  schedule_buffer_restored (self->b, back, &layer->forward_memory);
  copy (self, PLACE_PINNED, *saved, PLACE_HBM, back, layer->saved_bytes);
  schedule_wait_stream (self->b, SCHEDULE_COMPUTE, copy_stream (self));
  *saved = back;
}

void
checkpoint_ends (Driver *self, const LayerDesc *layer, BufferRef saved)
{
  if (layer->offloaded) /* its memory is the other stream's */
    schedule_free_after (self->b, saved, schedule_record (self->b, SCHEDULE_COMPUTE));
  else
    schedule_free (self->b, saved);
}
