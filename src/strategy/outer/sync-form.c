/*
 * Closed forms of the outer loop: what a round of an exchange moves, computes and holds, from the
 * elements that a rank holds (E) and what the exchange says. A rank that leads its worker is meant
 * where one does.
 */
#include "driver/oracle/expect.h"
#include "strategy/outer/resident-parameters.h"
#include "strategy/outer/sync-private.h"

#include <math.h>

typedef struct
{
  const PlanInput *in;
  const Exchange  *exchange;
  double           times, elements;
  double           sliced, whole; /* of them slices; all, with the slices that others train */
  double           largest;       /* of a fragment, at most, with these */
  double           wire;          /* bytes of an element that is exchanged, not encoded */
  gboolean         late, copies, at_home, stages;
  PlanTotals      *totals;
} SyncForm;

/* Of LAYER: slices that a rank trains. */
static double
sliced_of (const LayerDesc *layer)
{
  double sum = 0;

  for (guint t = 0; t < layer->n_tensors; t++)
    if (layer->tensors[t].sliced && !layer->tensors[t].frozen)
      sum += (double) layer->tensors[t].elements;
  return sum;
}

/* Of the ELEMENTS that a rank holds of what is trained those of slices: as many as in the model. */
static double
count_sliced (const PlanInput *in, double elements)
{
  double sliced = 0, all = 0;

  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    {
      sliced += sliced_of (workload_layer (in->workload, l));
      all += (double) workload_layer (in->workload, l)->trainable_elements;
    }
  return all > 0 ? floor (elements * sliced / all) : 0;
}

/*
 * The part of the model that its largest fragment has, at most: as many blocks as any, with the
 * embedding and the head.
 */
static double
largest_part (const PlanInput *in, const Exchange *exchange)
{
  double blocks = 0, most = 0, ends = 0, all = 0;

  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    {
      const LayerDesc *layer = workload_layer (in->workload, l);
      double           elements = (double) layer->trainable_elements
                        + (MAX (exchange->slices, 1) - 1.0) * sliced_of (layer);

      all += elements;
      if (layer->kind != LAYER_BLOCK)
        {
          ends += elements;
          continue;
        }
      blocks++;
      most = MAX (most, elements);
    }
  if (exchange->fragments == 1 || all == 0)
    return 1;
  return MIN (1, (ceil (blocks / exchange->fragments) * most + ends) / all);
}

/* Payloads of a round that may each end in a block that is not full. */
static double
count_payloads (const PlanInput *in, const Exchange *exchange)
{
  double n = 0;

  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    n += workload_layer (in->workload, l)->n_tensors;
  return exchange->pieces == EXCHANGE_AT_ONCE ? exchange->fragments : n;
}

static void
add_high (SyncForm *self, Place place, double bytes)
{
  self->totals->high[place] += bytes;
}

static void
add_state (SyncForm *self, Place place, double bytes)
{
  self->totals->low[place] += bytes;
  self->totals->high[place] += bytes;
  if (place == PLACE_HBM)
    self->totals->states += bytes;
}

/* ---- what moves ------------------------------------------------------------------------------ */

/* Where the hosts carry what is in GPU memory: a hop between it and theirs. */
static void
add_move (const SyncForm *self, Place from, Place to, PolicyRoute *route)
{
  if (self->stages)
    route->hops[route->n++] =
        (PolicyHop){ .hop = HOP_MOVE, .from = from, .to = to, .dtype = self->exchange->dtype };
}

/*
 * A sum over GROUP by the hosts or by the GPUs, or parts that are encoded, added up and put
 * together; then parts of PEERS (one: of none) put together.
 */
static void
add_exchanged (SyncForm *self, double elements, MeshGroup group, MeshGroup peers)
{
  const Exchange *exchange = self->exchange;
  gboolean        parts = exchange->codec != NULL && exchange->transport == TRANSPORT_GPU;
  PolicyHop       hop = { .hop = HOP_COLLECTIVE,
                          .kind = parts ? COLLECTIVE_ALL_TO_ALL : COLLECTIVE_ALL_REDUCE,
                          .group = group,
                          .dtype = exchange->dtype,
                          .codec = exchange->codec,
                          .transport = exchange->transport };
  PolicyRoute     route = { .n = 0 };

  add_move (self, PLACE_HBM, PLACE_PINNED, &route);
  route.hops[route.n++] = hop;
  hop.kind = COLLECTIVE_ALL_GATHER;
  if (parts)
    route.hops[route.n++] = hop;
  hop.group = peers;
  if (peers.size > 1)
    route.hops[route.n++] = hop;
  add_move (self, PLACE_PINNED, PLACE_HBM, &route);
  expect_exchanged (self->in, &route, self->times * elements,
                    self->times * count_payloads (self->in, exchange), self->totals);
}

/* What all train over all; slices over those who train them, and then to all. */
static void
add_averaged (SyncForm *self)
{
  const Exchange *exchange = self->exchange;
  const MeshGroup none = { .size = 1, .stride = 1 };

  add_exchanged (self, self->elements - self->sliced, exchange->across, none);
  if (exchange->slices > 1)
    add_exchanged (self, self->sliced, exchange_owners (exchange), exchange_peers (exchange));
}

/* Sums to owners of parts, and what they send out. */
static void
add_owned (SyncForm *self)
{
  double bytes = self->times * self->elements * self->wire;

  double part = self->elements / self->exchange->owners + self->exchange->owners;

  add_high (self, PLACE_HBM, part * self->wire); /* the flat copy of one */
  plan_totals_add (self->totals, COLLECTIVE_REDUCE, self->exchange->across, bytes);
  plan_totals_add (self->totals, COLLECTIVE_BROADCAST, self->exchange->across, bytes);
}

/* What leaders tell the other ranks of their workers, and each other in between. */
static void
add_led (SyncForm *self)
{
  const Exchange *exchange = self->exchange;
  double          base =
      exchange->base_every > 0 ? floor ((exchange->every - 1.0) / exchange->base_every) : 0;
  double bytes = self->times * self->elements * self->wire;

  if (base > 0)
    plan_totals_add (self->totals, COLLECTIVE_ALL_REDUCE,
                     mesh_across (&self->in->mesh, exchange->worker), base * bytes);
  plan_totals_add (self->totals, COLLECTIVE_BROADCAST, exchange->worker,
                   (base + (exchange->leader ? 1 : 0)) * bytes);
}

/* ELEMENTS come LOADS times, go STORES times, at most PEAK of them at a time. */
static void
resident_fetch_form (double loads, double stores, double elements, double peak, PlanTotals *totals)
{
  double bytes = dtype_bytes (totals->resident_dtype);
  Place  home = totals->resident_home;

  if (home == PLACE_HBM)
    return;
  totals->moves[move_kind (home, PLACE_HBM)] += loads * elements * bytes;
  totals->moves[move_kind (PLACE_HBM, home)] += stores * elements * bytes;
  totals->high[PLACE_HBM] += peak * bytes;
}

/* The host goes on from its own copy of what the GPU has. */
static void
resident_refresh_form (double times, PlanTotals *totals)
{
  if (totals->resident_home != PLACE_HBM || totals->updated_home == PLACE_HBM)
    return;
  totals->moves[move_kind (PLACE_HBM, totals->updated_home)] +=
      times * totals->updated * dtype_bytes (totals->resident_dtype);
  totals->host[HOST_STREAM] += times * totals->mastered;
}

/* Parameters that live on the host come to the GPU to be sent, and where something is mixed in. */
static void
add_fetched (SyncForm *self)
{
  gboolean ahead = self->exchange->delay > 0 && !self->late;

  if (self->at_home || self->exchange->on_host)
    return;
  if (ahead)
    resident_fetch_form (self->times, 0, self->elements, 0, self->totals);
  resident_fetch_form (ahead && !self->exchange->merges ? 0 : self->times, self->times, self->whole,
                       self->largest, self->totals);
}

/* Outer parameters likewise. */
static void
add_lifted (SyncForm *self)
{
  const Exchange *exchange = self->exchange;
  double          bytes = self->times * self->whole * OUTER_BYTES;

  if (exchange->on_host || exchange->outer_home == PLACE_HBM)
    return;
  self->totals->moves[move_kind (exchange->outer_home, PLACE_HBM)] +=
      bytes + (exchange->delay > 0 ? self->times * self->elements * OUTER_BYTES : 0);
  self->totals->moves[move_kind (PLACE_HBM, exchange->outer_home)] += bytes;
  add_high (self, PLACE_HBM, self->largest * OUTER_BYTES);
}

/* ---- what the hosts do ----------------------------------------------------------------------- */

/* They subtract, and take the outer step; parameters that are not theirs come and go. */
static void
add_host (SyncForm *self)
{
  const Exchange *exchange = self->exchange;
  double          bytes = self->times * self->elements * dtype_bytes (self->totals->resident_dtype);

  if (self->at_home)
    self->totals->host[HOST_STREAM] += self->times * self->elements;
  if (!exchange->on_host)
    return;
  self->totals->host[HOST_STREAM] += 2 * self->times * self->elements;
  if (self->totals->resident_home != PLACE_HBM)
    return;
  self->totals->moves[move_kind (PLACE_HBM, exchange->outer_home)] += bytes;
  self->totals->moves[move_kind (exchange->outer_home, PLACE_HBM)] += bytes;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Outer parameters and their momentum, of a part where there are owners. */
static void
add_outer (SyncForm *self)
{
  const Exchange *exchange = self->exchange;
  double          owners = MAX (exchange->owners, 1);
  double          bytes = ceil (self->whole / owners) * OUTER_BYTES;

  if (exchange->outer == OUTER_NONE)
    return;
  add_state (self, exchange->outer_home, bytes);
  add_state (self, exchange->on_host ? exchange->outer_home : PLACE_HBM, bytes);
}

/* What is sent where it is not the parameters themselves. */
static void
add_sent (SyncForm *self)
{
  const Exchange *exchange = self->exchange;
  double          each = dtype_bytes (self->totals->resident_dtype);

  if (exchange->on_host)
    add_state (self, exchange->outer_home, self->elements * MAX (self->wire, OUTER_BYTES));
  else if (self->late)
    add_state (self, PLACE_HBM, self->elements * self->wire * (exchange->eager ? 2 : 1));
  else if (self->copies)
    add_high (self, PLACE_HBM, self->largest * self->wire);
  if (exchange->clones)
    add_high (self, PLACE_HBM, self->largest * each);
  /* parts and sums, encoded and plain */
  if (exchange->codec != NULL && exchange->transport == TRANSPORT_GPU)
    add_high (self, PLACE_HBM, 4 * (self->largest + exchange->across.size) * (self->wire + 1) + 64);
}

void
sync_form (const PlanInput *in, const Exchange *exchange, double times, PlanTotals *totals)
{
  SyncForm self = { .in = in,
                    .exchange = exchange,
                    .times = times,
                    .elements = totals->resident,
                    .wire = dtype_bytes (exchange->dtype),
                    .late = exchange->delay == EXCHANGE_ROUND_LATE,
                    .totals = totals };

  self.sliced = exchange->slices > 1 ? count_sliced (in, self.elements) : 0;
  self.whole = self.elements + (MAX (exchange->slices, 1) - 1.0) * self.sliced;
  self.largest = MIN (self.whole, self.whole * largest_part (in, exchange)
                                      + (exchange->fragments + count_payloads (in, exchange))
                                            * MAX (exchange->slices, 1));
  self.copies = exchange->what == EXCHANGE_DIFFERENCES || exchange->delay > 0;
  self.at_home = exchange->transport == TRANSPORT_HOST && !exchange->on_host && !self.copies
                 && totals->resident_home != PLACE_HBM;
  self.stages = exchange->transport == TRANSPORT_HOST && !exchange->on_host && !self.at_home;
  if (exchange->owners > 0)
    add_owned (&self);
  else
    add_averaged (&self);
  add_led (&self);
  if (self.stages)
    {
      self.totals->low[PLACE_PINNED] += self.whole / self.exchange->fragments * self.wire;
      add_high (&self, PLACE_PINNED, self.largest * self.wire);
    }
  add_fetched (&self);
  add_lifted (&self);
  add_host (&self);
  add_outer (&self);
  add_sent (&self);
  resident_refresh_form (times, totals);
}
