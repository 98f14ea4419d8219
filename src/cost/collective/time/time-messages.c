#include "cost/collective/time/time-messages-private.h"

#include "cost/collective/algorithm/algorithm-private.h"

#define EAGER_LIMIT ((double) (64 << 10)) /* Open MPI over sockets */

/* Bytes that a rank sends at once. */
static double
message_bytes (const Timed *self)
{
  const gboolean whole =
      collective_kind_is_rooted (self->kind) || self->kind == COLLECTIVE_SEND_RECV;
  double bytes = whole ? self->bytes : self->bytes / self->graph->n_ranks;

  return self->algorithm->segment > 0 ? MIN (bytes, self->algorithm->segment) : bytes;
}

/* A longer message is announced, and flows when the receiver has answered. */
static gboolean
is_announced (const Timed *self)
{
  return message_bytes (self) > timed_figure_or (&self->graph->nic->eager_limit, EAGER_LIMIT);
}

/*
 * The two ends of a connection send to each other all the time, and one message has to wait for the
 * other.
 */
static gboolean
is_serial (const Timed *self)
{
  return self->graph->nic->serial_exchange && is_announced (self) && self->graph->n_ranks == 2
         && !collective_kind_is_rooted (self->kind);
}

/*
 * What the receiver's card sends before an answer, s. Nothing where the receiver has nothing to
 * send yet (chains, a single message), or waits itself (serial exchanges).
 */
static double
queue_seconds (const Timed *self)
{
  const LinkProfile *nic = self->graph->nic;

  if (collective_kind_is_rooted (self->kind) || self->kind == COLLECTIVE_SEND_RECV
      || is_serial (self))
    return 0;
  return nic->queue.value / (nic->bandwidth.value * nic->efficiency.value);
}

/*
 * What arrived is added to what is there: two reads and a write. An all-reduce does so in half of
 * its steps.
 */
static double
reduce_seconds (const Timed *self)
{
  const GpuProfile *host = self->graph->gpu;

  if (!collective_kind_sums (self->kind))
    return 0;
  return 3 * message_bytes (self) / collective_kind_rounds (self->kind)
         / (host->hbm_bandwidth.value * host->stream_efficiency.value
            * host->reduction_efficiency.value);
}

guint
timed_message_ways (const Timed *self)
{
  return is_announced (self) ? 3 : 1;
}

double
timed_message_hop (const Timed *self)
{
  double latency = self->graph->nic->latency.value;

  if (is_announced (self))
    latency = 3 * latency + queue_seconds (self);
  return latency + reduce_seconds (self);
}

double
timed_message_cap (const Timed *self, guint channels)
{
  (void) channels;
  return is_serial (self) && self->kind != COLLECTIVE_ALL_TO_ALL
             ? 1 / (2 * self->layout->link_seconds_per_byte)
             : 0;
}

double
timed_message_latency (const Timed *self, guint channels, double cap)
{
  (void) channels, (void) cap;
  return self->hop_net;
}

double
timed_message_chunk (const Timed *self, guint channels)
{
  (void) channels;
  return self->algorithm->segment > 0 ? self->algorithm->segment : MAX (self->bytes, 1);
}

StepParameters
timed_message_hops (const Timed *self)
{
  return (StepParameters){ .hop_net = self->hop_net };
}
