#include "cost/collective/time/ring-fold-private.h"

#include <math.h>

/*
 * Steps that are played, one less of an odd number: with two credits every other step is longer.
 * More follow at the mean pace of the last ones, as it does not settle where links are nearly full:
 * it varies by one part in a hundred.
 */
#define MAX_PLAYED 64
#define LAST       32

#define ROUNDING 1e-9 /* of an item */

typedef struct
{
  double   at;   /* when the next item begins; INFINITY: not known, or at work */
  double   end;  /* of the last item */
  guint    item; /* that is sent, or next */
  gboolean at_work;
  double  *came; /* [item] when it arrived */
} Place;

/* An item inside the node at work. All of them progress alike, so they end as they began. */
typedef struct
{
  guint  place;
  double until; /* what is done then */
} Item;

typedef struct
{
  const RingFold *fold;
  guint           steps; /* that are played */
  Place          *places;
  double          now;
  double          done;  /* items that an edge inside that never waits has sent */
  GArray         *items; /* Item: begun so far */
  guint           first; /* of them that is at work, unless all have ended */
  double          left;  /* of the last place's item, which has a pace of its own */
} Play;

static Place *
last_place (const Play *self)
{
  return &self->places[self->fold->places - 1];
}

/* When PLACE may begin its next item, if that is known. */
static void
note_start (Play *self, guint place)
{
  const guint n = self->fold->places;
  Place      *one = &self->places[place], *before = &self->places[(place + n - 1) % n];
  Place      *after = self->fold->credits ? &self->places[(place + 1) % n] : before;

  if (one->at_work || one->item == self->steps || MIN (before->item, after->item) < one->item)
    return;
  one->at = one->end;
  if (one->item > 0)
    one->at = MAX (one->at, MAX (before->came[one->item - 1], after->came[one->item - 1]));
}

static void
finish (Play *self, guint place)
{
  const RingFold *fold = self->fold;
  const guint     n = fold->places;
  Place          *one = &self->places[place];

  one->at_work = FALSE;
  one->end = self->now;
  one->came[one->item++] = self->now + (place + 1 == n ? fold->hop_net : fold->hop_intra);
  for (guint i = 0; i < 3; i++)
    note_start (self, (place + n - 1 + i) % n);
}

static void
begin (Play *self, guint place)
{
  const Item item = { place, self->done + 1 };

  self->places[place].at = INFINITY;
  self->places[place].at_work = TRUE;
  if (place + 1 == self->fold->places)
    self->left = 1;
  else
    g_array_append_val (self->items, item);
}

/* Items per second of an edge; 0: none is at work. */
typedef struct
{
  double inside, leaving;
} Rates;

/* Equal shares of a link, or less. */
static Rates
find_rates (const Play *self)
{
  const RingFold *fold = self->fold;
  const guint     n = self->items->len - self->first, leaves = last_place (self)->at_work;
  const double    use = fold->link * fold->meet * n, use_net = fold->link * fold->meet_net * leaves;
  Rates           rates = { 0, 0 };

  if (n > 0)
    rates.inside = MIN (1 / (use + use_net), 1 / fold->inside);
  if (leaves)
    rates.leaving =
        use_net > 0 ? MIN ((1 - use * rates.inside) / use_net, 1 / fold->net) : 1 / fold->net;
  if (n > 0) /* what those that leave do not take */
    rates.inside = MIN ((1 - use_net * rates.leaving) / use, 1 / fold->inside);
  return rates;
}

/*
 * Goes on to the next start or end. FALSE: there is none. What ends next has nothing left then,
 * whatever the clock's rounding: between links a billion times apart it rounds away what is left.
 */
static gboolean
advance (Play *self)
{
  const Rates  rates = find_rates (self);
  const double until = rates.inside > 0
                           ? MAX (g_array_index (self->items, Item, self->first).until, self->done)
                           : self->done;
  const double inside =
      rates.inside > 0 ? self->now + (until - self->done) / rates.inside : INFINITY;
  const double leaving =
      rates.leaving > 0 ? self->now + MAX (self->left, 0) / rates.leaving : INFINITY;
  double next = MIN (inside, leaving);

  for (guint i = 0; i < self->fold->places; i++)
    next = MIN (next, self->places[i].at);
  if (!isfinite (next))
    return FALSE;
  self->done = inside <= next ? until : self->done + (next - self->now) * rates.inside;
  self->left = leaving <= next ? 0 : self->left - (next - self->now) * rates.leaving;
  self->now = next;
  return TRUE;
}

static void
handle_events (Play *self)
{
  while (self->first < self->items->len
         && g_array_index (self->items, Item, self->first).until <= self->done + ROUNDING)
    finish (self, g_array_index (self->items, Item, self->first++).place);
  if (last_place (self)->at_work && self->left <= ROUNDING)
    finish (self, self->fold->places - 1);
  for (guint i = 0; i < self->fold->places; i++)
    if (self->places[i].at <= self->now)
      begin (self, i);
}

/* When the last of the places' items ITEM arrived. */
static double
arrival (const Play *self, guint item)
{
  double latest = 0;

  for (guint i = 0; i < self->fold->places; i++)
    latest = MAX (latest, self->places[i].came[item]);
  return latest;
}

double
ring_fold_seconds (const RingFold *self)
{
  const guint        steps = MIN (self->steps, MAX_PLAYED - self->steps % 2);
  g_autofree Place  *places = g_new0 (Place, self->places);
  g_autofree double *came = g_new (double, (gsize) self->places *steps);
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (Item));
  Play               play = { .fold = self, .steps = steps, .places = places, .items = items };
  double             pace;

  for (guint i = 0; i < self->places; i++)
    places[i].came = came + (gsize) i * steps;
  do
    handle_events (&play);
  while (advance (&play));
  if (steps == self->steps)
    return arrival (&play, steps - 1);
  pace = (arrival (&play, steps - 1) - arrival (&play, steps - LAST - 1)) / LAST;
  return arrival (&play, steps - 1) + (self->steps - steps) * pace;
}
