/*
 * Tokens between the GPUs of two pools: M that send, N that receive, each pair a message.
 *
 * Set: a GPU at one end has p peers and a message of s bytes for, or from, each. Its way into the
 * network moves W bytes a second: of a card that several share, its part. Computed: what the slower
 * of both ends takes for its p messages (the exchange of MegaScale-Infer, arXiv:2504.02263: the
 * longer of bytes over bandwidth of either side), by how they are sent:
 *
 * - The library's grouped send and receive (NCCL). A launch runs so many operations side by side
 *   (`p2p_batch` of the library's profile, 8): ceil (p / 8) of them, one after another, each with
 *   the latency of a message, its fill among it, and the longer of what the link takes for all and
 *   a message's channels for one. Its thread blocks hold SMs meanwhile.
 * - M2N: the CPU writes to the receiver's memory as soon as the stream has come so far, message by
 *   message, and lets the stream go on when the cards have completed them; the receiver polls for
 *   them. No SMs, no copies; what host and cards take to start and to see it done is an estimate.
 */
#pragma once

#include "cost/collective/library/collective.h"

typedef enum
{
  EXCHANGE_NCCL,
  EXCHANGE_M2N,
  EXCHANGE_N_TRANSPORTS,
} ExchangeTransport;

extern const char *const exchange_transport_names[EXCHANGE_N_TRANSPORTS + 1]; /* "nccl" */

/* One end: how a GPU of a pool sends to another node, and receives. */
typedef struct _ExchangeEnd ExchangeEnd;

/*
 * Of the first GPU of CLUSTER to its last: to another node, unless there is only one. There it
 * LEAVES by the node's card, which it has, to one of another pool; or else it stays inside. Both
 * must outlive the result, and CLUSTER has two GPUs at least.
 */
ExchangeEnd *exchange_end_new (const Cluster *cluster, gboolean leaves,
                               const CollectiveOptions *library);
void         exchange_end_free (ExchangeEnd *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ExchangeEnd, exchange_end_free)

/* Seconds of PEERS messages of BYTES by TRANSPORT at this end. */
double exchange_end_seconds (ExchangeEnd *self, ExchangeTransport transport, double peers,
                             double bytes);

/* The share of a GPU's SMs that it holds meanwhile. */
double exchange_end_held (ExchangeEnd *self, ExchangeTransport transport, double peers,
                          double bytes);
