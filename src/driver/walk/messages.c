/*
 * What pipeline stages send each other, and gradients of parameters that several of them hold.
 *
 * A received activation is the input that the first layer of the chunk saves: its buffer passes
 * into the layer's own when the slot begins. An output lives until it is sent, or (without
 * Megatron-LM's deallocate_pipeline_outputs) until its backward pass is over. With scatter_gather
 * every tensor rank sends its part of the activation and the receivers gather it over the tensor
 * group (arXiv:2104.04473, 4.1).
 */
#include "driver/walk/driver-private.h"

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Bytes that the chunk at PLACE hands on for a micro-batch. */
static guint64
output_bytes (const Driver *self, PipelinePlace place, guint micro)
{
  const Workload *workload = driver_workload (self, place.stage, place.chunk, micro);
  guint           first, end;

  workload_chunk (workload, place.chunk, &first, &end);
  return workload_layer (workload, end - 1)->output_bytes;
}

/* Of the activation or gradient on which MESSAGE (of this stage) bears. */
static guint64
whole_bytes (const Driver *self, const PipelineMessage *message)
{
  PipelinePlace at = { self->stage, message->chunk }, from = at;

  if (message->gradient == (message->way == MESSAGE_SEND)) /* our input, or its gradient */
    pipeline_previous (&self->pipeline, at, &from);
  return output_bytes (self, from, message->micro);
}

static DriverMail *
mail_of (Driver *self, guint gradient, guint chunk, guint micro)
{
  return &self->mail[gradient][micro % self->ring * self->pipeline.chunks + chunk];
}

static DriverMail *
handed_by (Driver *self, guint chunk, guint micro)
{
  return &self->handed[micro % self->ring * self->pipeline.chunks + chunk];
}

/* ---- calls ----------------------------------------------------------------------------------- */

static const char *const labels[MESSAGE_N][2] = { { "send_activation", "send_gradient" },
                                                  { "receive_activation", "receive_gradient" } };

/*
 * Messages of forward and of backward passes have a communicator each: two stages may exchange both
 * ways at once.
 */
static CommRef
comm_of (Driver *self, gboolean gradient)
{
  return schedule_comm (self->b, gradient ? "pipeline_backward" : "pipeline_forward",
                        mesh_stages (&self->in->mesh));
}

/*
 * One stream for batched calls, as for a process group of PyTorch; else one for each kind of
 * message and peer, so that none waits for another of which its peer knows nothing.
 */
static StreamRef
stream_of (Driver *self, const PipelineMessage *message)
{
  static const char *const names[2][MESSAGE_N][2] = {
    { { "send_forward", "send_backward" }, { "receive_forward", "receive_backward" } },
    { { "send_forward_up", "send_backward_up" }, { "receive_forward_up", "receive_backward_up" } },
  };
  PipelineKind kind = self->pipeline.kind;
  gboolean     up = (kind == PIPELINE_ZBV || kind == PIPELINE_DUALPIPE) && message->chunk == 1;

  if (mesh_batches_messages (workload_mesh (self->at->workload)))
    return schedule_stream (self->b, "pipeline", 0);
  return schedule_stream (self->b, names[up][message->way][message->gradient], 0);
}

/*
 * After the call: the compute stream waits for what it needs, at once or (EVENT) when the slot
 * begins.
 */
static void
finish_call (Driver *self, const PipelineAction *call, EventRef event, gboolean waited)
{
  for (guint i = 0; i < call->n_messages; i++)
    {
      const PipelineMessage *m = &call->messages[i];

      if (m->way == MESSAGE_RECEIVE)
        mail_of (self, m->gradient, m->chunk, m->micro)->there = waited ? SCHEDULE_NONE : event;
      else
        {
          /*
           * The message has been sent once the event is past: it goes, or stays for its backward
           * pass.
           */
          EventRef  when = waited ? SCHEDULE_NONE : event;
          BufferRef sent = self->leaving[m->gradient];

          self->leaving[m->gradient] = SCHEDULE_NONE;
          if (m->gradient || workload_mesh (self->at->workload)->deallocate_pipeline_outputs)
            schedule_free_after (self->b, sent, when);
          else
            *handed_by (self, m->chunk, m->micro) = (DriverMail){ sent, when };
        }
    }
}

void
messages_call (Driver *self, const PipelineAction *call)
{
  const MeshOptions *mesh = workload_mesh (self->at->workload);
  gboolean           batched = mesh_batches_messages (mesh);
  StreamRef          stream = stream_of (self, &call->messages[0]);
  ScheduleP2p        messages[PIPELINE_MAX_MESSAGES];
  EventRef           event;

  schedule_set_unit (self->b, SCHEDULE_NONE);
  schedule_set_phase (self->b, call->messages[0].gradient ? PHASE_BACKWARD : PHASE_FORWARD);
  for (guint i = 0; i < call->n_messages; i++)
    {
      const PipelineMessage *m = &call->messages[i];
      guint64                whole = whole_bytes (self, m);
      guint                  tp = mesh_tensor_columns (&self->in->mesh).size;
      guint64 bytes = plan_scatters (self->at->workload) ? (whole + tp - 1) / tp : whole;

      if (m->way == MESSAGE_RECEIVE)
        {
          DriverMail *mail = mail_of (self, m->gradient, m->chunk, m->micro);

          g_assert (mail->buffer == SCHEDULE_NONE);
          mail->buffer = schedule_alloc (self->b, PLACE_HBM, POOL_COMMUNICATION, bytes,
                                         labels[MESSAGE_RECEIVE][m->gradient]);
        }
      messages[i] = (ScheduleP2p){ m->way,
                                   comm_of (self, m->gradient),
                                   m->peer,
                                   m->way == MESSAGE_SEND
                                       ? self->leaving[m->gradient]
                                       : mail_of (self, m->gradient, m->chunk, m->micro)->buffer,
                                   bytes,
                                   labels[m->way][m->gradient] };
    }
  schedule_wait_stream (self->b, stream, SCHEDULE_COMPUTE);
  schedule_p2p (self->b, stream, messages, call->n_messages);
  event = schedule_record (self->b, stream);
  if (batched)
    schedule_wait (self->b, SCHEDULE_COMPUTE, event);
  if (batched && mesh->p2p == MESH_P2P_BATCHED_SYNC) /* the framework's habit: no data needs it */
    schedule_host_pace (self->b, schedule_record (self->b, SCHEDULE_COMPUTE));
  finish_call (self, call, event, batched);
}

/* ---- around slots ---------------------------------------------------------------------------- */

/* The parts of all tensor ranks, put together. */
static BufferRef
gather_parts (Driver *self, BufferRef part, guint64 bytes, gboolean gradient)
{
  CommRef tensor = schedule_sharing_comm (self->b, driver_axis_name (self, MESH_TENSOR),
                                          mesh_tensor_columns (&self->in->mesh));
  guint64 padded = (bytes + mesh_tensor_columns (&self->in->mesh).size - 1)
                   / mesh_tensor_columns (&self->in->mesh).size
                   * mesh_tensor_columns (&self->in->mesh).size;
  BufferRef whole = schedule_alloc (self->b, PLACE_HBM, POOL_COMMUNICATION, bytes,
                                    labels[MESSAGE_RECEIVE][gradient]);

  schedule_all_gather (self->b, SCHEDULE_COMPUTE, tensor, payload_of_bytes (padded),
                       gradient ? "gather_gradient" : "gather_activation");
  schedule_uses (self->b, part, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (self->b, whole, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free (self->b, part);
  return whole;
}

void
messages_receive (Driver *self, const PipelineSlot *slot)
{
  PipelineMessage message = { MESSAGE_RECEIVE, slot->pass != PASS_FORWARD, 0, slot->chunk,
                              slot->micro };
  DriverMail     *mail = mail_of (self, message.gradient, slot->chunk, slot->micro);

  if (slot->pass == PASS_WEIGHT || mail->buffer == SCHEDULE_NONE)
    return;
  schedule_set_unit (self->b, SCHEDULE_NONE);
  schedule_set_phase (self->b, message.gradient ? PHASE_BACKWARD : PHASE_FORWARD);
  schedule_wait (self->b, SCHEDULE_COMPUTE, mail->there);
  if (plan_scatters (self->at->workload))
    mail->buffer =
        gather_parts (self, mail->buffer, whole_bytes (self, &message), message.gradient);
  schedule_touches (self->b, SCHEDULE_COMPUTE, mail->buffer, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_free (self->b, mail->buffer);
  *mail = (DriverMail){ SCHEDULE_NONE, SCHEDULE_NONE };
}

void
messages_leave (Driver *self, const PipelineSlot *slot)
{
  gboolean      gradient = slot->pass != PASS_FORWARD;
  PipelinePlace at = { self->stage, slot->chunk }, to;

  if (slot->pass == PASS_WEIGHT
      || !(gradient ? pipeline_previous : pipeline_next) (&self->pipeline, at, &to)
      || to.stage == self->stage)
    return;
  schedule_set_unit (self->b, SCHEDULE_NONE);
  schedule_set_phase (self->b, gradient ? PHASE_BACKWARD : PHASE_FORWARD);
  g_assert (self->leaving[gradient] == SCHEDULE_NONE);
  self->leaving[gradient] = schedule_alloc (self->b, PLACE_HBM, POOL_ACTIVATION,
                                            output_bytes (self, gradient ? to : at, slot->micro),
                                            gradient ? "gradient of the input" : "output");
  schedule_touches (self->b, SCHEDULE_COMPUTE, self->leaving[gradient], SCHEDULE_WHOLE,
                    ACCESS_WRITE);
}

void
messages_let_go (Driver *self, const PipelineSlot *slot)
{
  DriverMail *handed = handed_by (self, slot->chunk, slot->micro);

  if (slot->pass == PASS_FORWARD || handed->buffer == SCHEDULE_NONE)
    return;
  schedule_free_after (self->b, handed->buffer, handed->there);
  *handed = (DriverMail){ SCHEDULE_NONE, SCHEDULE_NONE };
}

/* ---- gradients that are shared --------------------------------------------------------------- */

/*
 * Two stages add up what each has of the units [FIRST, END): as much goes either way as in a ring
 * of two.
 */
static void
exchange (Driver *self, guint peer, guint64 bytes, const char *label, guint first, guint end)
{
  CommRef     comm = schedule_comm (self->b, "pipeline_shared", mesh_stages (&self->in->mesh));
  ScheduleP2p messages[] = { { MESSAGE_SEND, comm, peer, SCHEDULE_NONE, bytes, label },
                             { MESSAGE_RECEIVE, comm, peer, SCHEDULE_NONE, bytes, label } };
  KernelDesc  sum = kernel_desc_stream (KERNEL_ELEMENTWISE, "shared_gradient_add", DTYPE_FP32,
                                        2.0 * (double) bytes, (double) bytes, 1);
  BufferRef   other;

  if (bytes == 0)
    return;
  messages[1].buffer = other =
      schedule_alloc (self->b, PLACE_HBM, POOL_COMMUNICATION, bytes, label);
  schedule_p2p (self->b, SCHEDULE_COMPUTE, messages, G_N_ELEMENTS (messages));
  data_reduced (self, first, end); /* sent */
  schedule_kernel (self->b, SCHEDULE_COMPUTE, &sum);
  schedule_uses (self->b, other, SCHEDULE_WHOLE, ACCESS_READ);
  data_reduced (self, first, end);
  schedule_free (self->b, other);
}

/* What a rank holds of the gradient of ELEMENTS at the end of a step. */
static Payload
gradient_of (const Driver *self, guint64 elements)
{
  PlanGradient held = plan_gradient (&self->at->levels[0].in, self->at->policy);

  return payload_plain ((elements + held.ranks - 1) / held.ranks, held.dtype);
}

/*
 * Elements of the stage's parameters that are whole on every tensor rank, and whose gradients there
 * are partial sums.
 */
static guint64
partial_elements (const Workload *workload)
{
  guint64 sum = 0;

  for (guint l = 0; l < workload_n_layers (workload) && workload_mesh (workload)->sp; l++)
    {
      const LayerDesc *layer = workload_layer (workload, l);

      for (guint t = 0; t < layer->n_tensors; t++)
        if (layer->tensors[t].replicated && !layer->tensors[t].frozen)
          sum += layer->tensors[t].elements;
    }
  return sum;
}

void
messages_shared_gradients (Driver *self)
{
  const Workload *workload = self->at->workload;
  guint           last = self->pipeline.stages - 1;

  schedule_set_phase (self->b, PHASE_BACKWARD);
  schedule_set_unit (self->b, SCHEDULE_NONE);
  if (schedule_all_reduce (self->b, SCHEDULE_COMPUTE,
                           schedule_sharing_comm (self->b, driver_axis_name (self, MESH_TENSOR),
                                                  mesh_tensor_columns (&self->in->mesh)),
                           gradient_of (self, partial_elements (workload)),
                           "all_reduce_norm_weights")
      != SCHEDULE_NONE)
    data_reduced (self, 0, self->at->n_units);
  for (guint l = 0; l < workload_n_layers (workload) && last > 0; l++)
    {
      const LayerDesc *layer = workload_layer (workload, l);

      if (layer->tied_copy || layer->tied_peer)
        exchange (self, layer->tied_copy ? 0 : last,
                  payload_bytes (gradient_of (self, layer->tied_elements)), "tied_gradient",
                  self->at->first_unit[l], self->at->first_unit[l + 1]);
    }
  if (self->pipeline.kind == PIPELINE_DUALPIPE && last > 0)
    exchange (self, last - self->stage,
              payload_bytes (gradient_of (self, workload_n_trainable_parameters (workload))),
              "copy_gradient", 0, self->at->n_units);
}
