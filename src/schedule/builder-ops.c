/* What a strategy puts on streams, and on the host: ops. */
#include "schedule/schedule-private.h"

/* ---- items ----------------------------------------------------------------------------------- */

static OpRef
append_op (ScheduleBuilder *b, const ScheduleItem *item)
{
  g_assert (item->stream < b->schedule->streams->len);
  b->last_op = builder_append (b, item);
  return b->last_op;
}

/* An op that would have stood on STREAM is left out. */
static OpRef
leave_out (ScheduleBuilder *b, StreamRef stream)
{
  b->last_op = SCHEDULE_NONE;
  b->last_at = b->program->items->len;
  b->last_stream = builder_stream (b, stream);
  return SCHEDULE_NONE;
}

static gboolean
range_holds (const KernelDesc *kernels, guint n, const KernelDesc *kernel)
{
  return n > 0 && (guintptr) kernel >= (guintptr) kernels
         && (guintptr) kernel < (guintptr) (kernels + n);
}

static gboolean
workload_owns (const ScheduleBuilder *b, const KernelDesc *kernel)
{
  for (guint i = 0; i < b->layers->len; i++)
    {
      const LayerDesc *layer = g_ptr_array_index (b->layers, i);

      if (range_holds (layer->forward, layer->n_forward, kernel)
          || range_holds (layer->backward, layer->n_backward, kernel)
          || range_holds (layer->recompute, layer->n_recompute, kernel))
        return TRUE;
    }
  return FALSE;
}

/* One of equal kernels stands for all, so that each is costed once. */
static const KernelDesc *
recent_kernel (const ScheduleBuilder *b, const KernelDesc *kernel)
{
  for (guint i = 0; i < MIN (b->n_kept, RECENT_KERNELS); i++)
    if (kernel_desc_equal (b->recent[i], kernel))
      return b->recent[i];
  return NULL;
}

const KernelDesc *
schedule_keep_kernel (ScheduleBuilder *b, const KernelDesc *kernel)
{
  const KernelDesc *known;
  KernelDesc       *copy;

  if (workload_owns (b, kernel))
    return kernel;
  known = recent_kernel (b, kernel);
  if (known != NULL)
    return known;
  copy = g_memdup2 (kernel, sizeof *kernel);
  copy->name = builder_intern (b, kernel->name);
  g_ptr_array_add (b->schedule->kernels, copy);
  b->recent[b->n_kept++ % RECENT_KERNELS] = copy;
  return copy;
}

OpRef
schedule_layer_kernel (ScheduleBuilder *b, const KernelDesc *kernel)
{
  ScheduleItem item = builder_item (b, ITEM_KERNEL);

  item.stream = b->compute;
  item.kernel = kernel;
  item.label = kernel->name;
  item.layer = TRUE;
  return append_op (b, &item);
}

void
schedule_layer_collective (ScheduleBuilder *b, OpRef op, guint own_sms)
{
  ScheduleItem *item;

  if (op == SCHEDULE_NONE)
    return;
  item = &vector_at (b->program->items, ScheduleItem, op);
  item->layer = TRUE;
  item->peer = own_sms;
}

OpRef
schedule_kernel (ScheduleBuilder *b, StreamRef stream, const KernelDesc *kernel)
{
  ScheduleItem item = builder_item (b, ITEM_KERNEL);

  item.stream = builder_stream (b, stream);
  item.kernel = schedule_keep_kernel (b, kernel);
  item.label = item.kernel->name;
  return append_op (b, &item);
}

OpRef
schedule_collective (ScheduleBuilder *b, StreamRef stream, CommRef comm, CollectiveKind kind,
                     Payload payload, const char *label)
{
  ScheduleItem item = builder_item (b, ITEM_COLLECTIVE);

  g_assert (comm < b->schedule->comms->len && kind < COLLECTIVE_N_KINDS);
  item.bytes = payload_bytes (payload);
  if (g_array_index (b->schedule->comms, ScheduleComm, comm).group.size == 1 || item.bytes == 0)
    return leave_out (b, stream);
  item.collective = (guint8) kind;
  item.stream = builder_stream (b, stream);
  item.ref = comm;
  item.codec = payload.codec;
  item.label = builder_intern (b, label);
  return append_op (b, &item);
}

OpRef
schedule_all_gather (ScheduleBuilder *b, StreamRef stream, CommRef comm, Payload payload,
                     const char *label)
{
  return schedule_collective (b, stream, comm, COLLECTIVE_ALL_GATHER, payload, label);
}

OpRef
schedule_reduce_scatter (ScheduleBuilder *b, StreamRef stream, CommRef comm, Payload payload,
                         const char *label)
{
  return schedule_collective (b, stream, comm, COLLECTIVE_REDUCE_SCATTER, payload, label);
}

OpRef
schedule_all_reduce (ScheduleBuilder *b, StreamRef stream, CommRef comm, Payload payload,
                     const char *label)
{
  return schedule_collective (b, stream, comm, COLLECTIVE_ALL_REDUCE, payload, label);
}

/* The host does nothing else until what was emitted last is over. */
static void
block_host (ScheduleBuilder *b, StreamRef stream)
{
  OpRef op = b->last_op;

  schedule_host_wait (b, schedule_record (b, stream));
  b->last_op = op; /* what is declared next is about it */
}

OpRef
schedule_move (ScheduleBuilder *b, StreamRef stream, Place from, Place to, guint64 bytes,
               const char *label)
{
  ScheduleItem item = builder_item (b, ITEM_MOVE);
  guint        kind = move_kind (from, to);

  g_assert (from < PLACE_N && to < PLACE_N);
  if (bytes == 0)
    return leave_out (b, stream);
  item.collective = (guint8) kind;
  item.stream = builder_stream (b, stream);
  item.bytes = bytes;
  item.label = builder_intern (b, label);
  append_op (b, &item);
  if (move_blocks_host (kind))
    block_host (b, stream);
  return b->last_op;
}

OpRef
schedule_host_op (ScheduleBuilder *b, StreamRef stream, const HostDesc *host, gboolean blocks)
{
  if (host->elements > 0 || host->seconds > 0)
    {
      ScheduleItem item = builder_item (b, ITEM_HOST_OP);
      HostDesc    *copy = g_memdup2 (host, sizeof *host);

      copy->name = builder_intern (b, host->name);
      g_ptr_array_add (b->schedule->kernels, copy);
      item.stream = builder_stream (b, stream);
      item.host = copy;
      item.label = copy->name;
      append_op (b, &item);
    }
  else
    leave_out (b, stream);
  if (blocks)
    block_host (b, stream);
  return b->last_op;
}

OpRef
schedule_p2p (ScheduleBuilder *b, StreamRef stream, const ScheduleP2p *messages, guint n)
{
  leave_out (b, stream);
  for (guint i = 0; i < n; i++)
    {
      const ScheduleP2p *m = &messages[i];
      ScheduleItem       item = builder_item (b, ITEM_P2P);
      MeshGroup          group;

      g_assert (m->comm < b->schedule->comms->len && m->way < MESSAGE_N);
      group = g_array_index (b->schedule->comms, ScheduleComm, m->comm).group;
      g_assert (m->peer < group.size);
      if (group.size == 1 || m->bytes == 0)
        continue;
      if (b->last_op != SCHEDULE_NONE)
        vector_at (b->program->items, ScheduleItem, b->last_op).more = TRUE;
      item.collective = (guint8) m->way;
      item.stream = builder_stream (b, stream);
      item.ref = m->comm;
      item.peer = m->peer;
      item.bytes = m->bytes;
      item.label = builder_intern (b, m->label);
      append_op (b, &item);
      schedule_uses (b, m->buffer, SCHEDULE_WHOLE,
                     m->way == MESSAGE_SEND ? ACCESS_READ : ACCESS_WRITE);
    }
  return b->last_op;
}

void
schedule_host_hooks (ScheduleBuilder *b, guint n)
{
  ScheduleItem item = builder_item (b, ITEM_HOST_HOOK);

  if (n == 0)
    return;
  item.ref = n;
  builder_append (b, &item);
}
