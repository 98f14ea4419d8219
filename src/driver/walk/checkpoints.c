/*
 * Checkpoints of activations that do not stay whole on the GPU. With training.cpu_checkpointing
 * what a layer saved leaves for pageable host memory behind its forward pass and returns before its
 * backward pass, on the compute stream; the host waits for each copy (tensor.cpu(),
 * tensor.to(device)). With training.partition_activations each tensor rank keeps a slice of it, in
 * GPU memory or on the host, and the group gathers it again. Sources: Rajbhandari et al.,
 * ZeRO-Infinity, arXiv:2104.07857, 5.1.2; ZeRO, arXiv:1910.02054, 6.1; DeepSpeed,
 * deepspeed/runtime/activation_checkpointing/checkpointing.py.
 */
#include "driver/walk/driver-private.h"

static void
uses (Driver *self, BufferRef from, BufferRef to)
{
  schedule_uses (self->b, from, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (self->b, to, SCHEDULE_WHOLE, ACCESS_WRITE);
}

/* Copies *AT, BYTES of it, to a buffer TO_PLACE, which is *AT from then on. */
static void
copy (Driver *self, BufferRef *at, Place from_place, Place to_place, guint64 bytes)
{
  BufferRef to = schedule_alloc (self->b, to_place, POOL_ACTIVATION, bytes,
                                 to_place == PLACE_HBM ? "saved" : "checkpoint");

  schedule_move (self->b, SCHEDULE_COMPUTE, from_place, to_place, bytes, "checkpoint");
  uses (self, *at, to);
  schedule_host_wait (self->b, schedule_record (self->b, SCHEDULE_COMPUTE));
  schedule_free (self->b, *at);
  *at = to;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static gboolean
is_cut (const LayerDesc *layer)
{
  return layer->kept_bytes < layer->saved_bytes;
}

/* ---- of a layer ------------------------------------------------------------------------------ */

void
checkpoint_leaves (Driver *self, const LayerDesc *layer, BufferRef *saved)
{
  if (is_cut (layer))
    {
      double     bytes = (double) layer->kept_bytes;
      KernelDesc work =
          kernel_desc_stream (KERNEL_COPY, "checkpoint_slice", DTYPE_BF16, bytes, bytes, 1);
      BufferRef slice =
          schedule_alloc (self->b, PLACE_HBM, POOL_ACTIVATION, layer->kept_bytes, "checkpoint");

      schedule_kernel (self->b, SCHEDULE_COMPUTE, &work);
      uses (self, *saved, slice);
      schedule_free (self->b, *saved);
      *saved = slice;
    }
  if (layer->offloaded)
    copy (self, saved, PLACE_HBM, PLACE_PAGEABLE, layer->kept_bytes);
}

void
checkpoint_returns (Driver *self, const LayerDesc *layer, BufferRef *saved)
{
  if (layer->offloaded)
    {
      copy (self, saved, PLACE_PAGEABLE, PLACE_HBM, layer->kept_bytes);
      if (!is_cut (layer))
        schedule_buffer_restored (self->b, *saved, &layer->forward_memory);
    }
  if (is_cut (layer))
    {
      MeshGroup group = plan_axis_group (&self->at->levels[0].in, MESH_TENSOR);
      CommRef   comm = schedule_sharing_comm (self->b, driver_axis_name (self, MESH_TENSOR), group);
      BufferRef whole =
          schedule_alloc (self->b, PLACE_HBM, POOL_ACTIVATION, layer->saved_bytes, "saved");

      schedule_buffer_restored (self->b, whole, &layer->forward_memory);
      schedule_collective (self->b, SCHEDULE_COMPUTE, comm, COLLECTIVE_ALL_GATHER,
                           payload_of_bytes (layer->kept_bytes * group.size),
                           "all_gather_checkpoint");
      uses (self, *saved, whole);
      schedule_free (self->b, *saved);
      *saved = whole;
    }
}
