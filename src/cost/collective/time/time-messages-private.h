/* Messages between plain hosts, as MPI sends them over sockets. */
#pragma once

#include "cost/collective/time/time-parts-private.h"

/*
 * What a message takes beyond its bytes: one way; three times that and the wait for the answer
 * where it is announced; and the reduction of what it brings.
 */
guint  timed_message_ways (const Timed *self); /* of its parts from one end to the other */
double timed_message_hop (const Timed *self);

/*
 * B/s of S: messages of an exchange follow each other, because the answer to the one waits behind
 * the other on their connection. 0: no exchange.
 */
double timed_message_cap (const Timed *self, guint channels);

/* A message that all send at once. */
double timed_message_latency (const Timed *self, guint channels, double cap);

double         timed_message_chunk (const Timed *self, guint channels);
StepParameters timed_message_hops (const Timed *self);
