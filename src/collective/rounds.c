#include "collective/rounds-private.h"

typedef struct
{
  const LayContext *context;
  const Members    *members;
  CardsInUse        cards;
  double            bytes; /* of one message over one card */
  guint             lane;  /* that is laid at present */
} Rounds;

static void
lay_message (const Rounds *self, guint from, guint to)
{
  guint32 sender = self->members->gpus[from], receiver = self->members->gpus[to];

  for (guint card = 0; card < self->cards.n_lanes; card++)
    {
      Route route;

      ring_route (self->context, sender, receiver,
                  (gint) cards_in_use_get (&self->cards, from, card),
                  (gint) cards_in_use_get (&self->cards, to, card), &route);
      load_sum_add_route (self->context->sum, &route, self->bytes);
      if (self->context->edges != NULL)
        lay_edges_add (self->context->edges, sender, receiver, self->lane, NULL, &route,
                       self->bytes);
    }
}

static void
lay_round (Rounds *self, guint distance)
{
  guint n = self->members->n_gpus;

  for (guint i = 0; i < n; i++)
    lay_message (self, i, (i + distance) % n);
  self->lane++;
}

static void
lay_exchange (Rounds *self)
{
  guint half = self->members->n_gpus / 2;

  for (guint way = 0; way < 2; way++, self->lane++)
    for (guint i = 0; i < half; i++)
      if (i % 2 == way)
        lay_message (self, i, i + half);
      else
        lay_message (self, i + half, i);
}

void
rounds_lay (const LayContext *context, const Members *members, double bytes)
{
  Rounds             self = { .context = context, .members = members };
  const LinkProfile *nic = cluster_nic_profile (context->sum->cluster, members->nodes[0].node);

  g_assert (members->n_nodes == members->n_gpus);
  cards_in_use_init (&self.cards, context->sum->cluster, members);
  self.bytes = bytes / self.cards.n_lanes;
  for (guint distance = 1; distance < members->n_gpus; distance++)
    if (2 * distance == members->n_gpus && nic->serial_exchange)
      lay_exchange (&self);
    else
      lay_round (&self, distance);
  cards_in_use_clear (&self.cards);
}
