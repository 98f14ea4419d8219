#include "collective/time-parts-private.h"

#define EAGER_LIMIT ((double) (64 << 10)) /* Open MPI over sockets */
#define SEGMENT     ((double) (64 << 10)) /* of a pipeline; what the library is told to take */

static gboolean
is_chain (const Timed *self)
{
  return self->kind == COLLECTIVE_BROADCAST || self->kind == COLLECTIVE_REDUCE;
}

double
timed_message_chunk (const Timed *self)
{
  return self->algorithm == ALGORITHM_PIPELINE ? SEGMENT : MAX (self->bytes, 1);
}

/* Bytes that a rank sends at once. */
static double
message_bytes (const Timed *self)
{
  if (self->algorithm == ALGORITHM_PIPELINE)
    return MIN (self->bytes, SEGMENT);
  return is_chain (self) || self->kind == COLLECTIVE_SEND_RECV ? self->bytes
                                                               : self->bytes / self->graph->n_ranks;
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
         && !is_chain (self);
}

/*
 * What the receiver's card sends before an answer, s. Nothing where the receiver has nothing to
 * send yet (chains, a single message), or waits itself (serial exchanges).
 */
static double
queue_seconds (const Timed *self)
{
  const LinkProfile *nic = self->graph->nic;

  if (is_chain (self) || self->kind == COLLECTIVE_SEND_RECV || is_serial (self))
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
  double            share;

  switch (self->kind)
    {
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_REDUCE:
      share = 1;
      break;
    case COLLECTIVE_ALL_REDUCE:
      share = 0.5;
      break;
    default:
      return 0;
    }
  return share * 3 * message_bytes (self)
         / (host->hbm_bandwidth.value * host->stream_efficiency.value
            * host->reduction_efficiency.value);
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
timed_round_hop (const Timed *self)
{
  return timed_message_hop (self) * (self->graph->n_ranks - 1) / self->layout->n_steps;
}

double
timed_message_cap (const Timed *self)
{
  return is_serial (self) && self->kind != COLLECTIVE_ALL_TO_ALL
             ? 1 / (2 * self->layout->link_seconds_per_byte)
             : 0;
}

double
timed_message_latency (const Timed *self, double cap)
{
  RingPace pace;

  switch (self->algorithm)
    {
    case ALGORITHM_PAIRWISE:
      if (self->kind == COLLECTIVE_ALL_TO_ALL)
        return self->layout->n_steps * timed_round_hop (self) + timed_steps_unlike (self, cap);
      return timed_message_hop (self);
    case ALGORITHM_LINEAR:
      return timed_message_hop (self);
    default:
      pace = timed_ring_pace (self, cap);
      return timed_ring_hops (self, &pace, 1, cap);
    }
}
