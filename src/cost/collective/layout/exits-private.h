/*
 * By which cards messages between nodes leave and arrive, lane by lane. They arrive by a card that
 * serves the receiver. Without PXN they leave by one that serves the sender. With PXN they leave by
 * the card of the receiver's rail: the one that serves the member with the receiver's number in its
 * node. The sender hands them over NVLink to the member next to that card, which relays them
 * (NVIDIA/nccl src/graph/search.cc, ncclTopoGetNetDev). Where there is no such member, no NVLink to
 * the relay, or its card is not near, they leave by the sender's own card.
 */
#pragma once

#include "cost/collective/layout/rings-private.h"

/* Where messages leave a node. */
typedef struct
{
  guint32 sender; /* GPU that the card reads: a relay, or the one whose message it is */
  guint   member; /* whose rail it is */
  gint    card;   /* -1: none to choose */
} Exit;

typedef struct
{
  const RoutingContext *context;
  const Members        *members;
  Numbering             numbers;   /* of members by GPU: as in Members.gpus */
  guint                 lanes;     /* as many as the member with most has cards */
  guint                 n_classes; /* of receivers: their numbers in their nodes; 1 without PXN */
  guint32              *slots;     /* [member] */
  guint                *n_cards;   /* [member] */
  gint                 *cards;     /* [member * lanes + lane] */
  guint32              *relays;    /* likewise: the member next to that card, or EXITS_NONE */
  guint32              *by_class;  /* [slot * n_classes + class]: member, or EXITS_NONE */
  gboolean             *joined;    /* [member * n_classes + class]: NVLink to that member */
} Exits;

#define EXITS_NONE G_MAXUINT32

void exits_init (Exits *self, const RoutingContext *context, const Members *members);
void exits_clear (Exits *self);

/* FROM, TO: members, here and below. Receivers of one class have one exit. */
guint exits_class (const Exits *self, guint to);
Exit  exits_get (const Exits *self, guint from, guint class_, guint lane);

/* Over how many lanes a message is spread evenly. */
guint exits_lanes (const Exits *self, guint from, guint to);

/* The card by which TO receives. */
gint exits_entry (const Exits *self, guint to, guint lane);
