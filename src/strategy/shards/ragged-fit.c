/*
 * Tensors in the order that leaves the least gaps, with a few steps back: where the ones that fit
 * best lead nowhere, the next best are tried, until so many tensors have been placed that it is not
 * worth it.
 */
#include "strategy/shards/ragged-private.h"

/* Tensors of one size and one block: which of them comes first does not matter. */
typedef struct
{
  guint   first, n; /* in the problem's order */
  guint   used;     /* of them, placed */
  guint64 weight;   /* what one of them adds to a state */
} Alike;

#define BEYOND 256 /* tensors that are placed at most beyond all of them once */

typedef struct
{
  guint64 state, end;
} Tried;

typedef struct
{
  const RaggedProblem *problem;
  guint64              shard, *starts;
  GArray              *alike; /* Alike */
  guint                tries; /* so many tensors may still be placed */
  Tried               *tried; /* by state, in open addressing; end G_MAXUINT64: none */
  guint                n_tried;
} Fit;

static GArray *
find_alike (const RaggedProblem *problem)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (Alike));

  for (guint i = 0; i < problem->n; i++)
    {
      const RaggedTensor *tensor = &problem->tensors[problem->order[i]], *other;
      Alike              *last = all->len > 0 ? &g_array_index (all, Alike, all->len - 1) : NULL;
      Alike               next = { .first = i, .n = 1, .weight = 1 };

      other = last != NULL ? &problem->tensors[problem->order[last->first]] : NULL;
      if (last != NULL && other->elements == tensor->elements && other->block == tensor->block)
        {
          last->n++;
          continue;
        }
      if (last != NULL)
        next.weight = last->weight * (last->n + 1);
      g_array_append_val (all, next);
    }
  return all;
}

/*
 * Whether the same tensors as in STATE were placed before, to end no later than AT; else they have
 * been now. States of many tensors may be taken for one another: then a way is left out.
 */
static gboolean
was_tried (Fit *self, guint64 state, guint64 at)
{
  guint i = (guint) ((state * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) >> 32) % self->n_tried);

  while (self->tried[i].end != G_MAXUINT64 && self->tried[i].state != state)
    i = (i + 1) % self->n_tried;
  if (self->tried[i].end != G_MAXUINT64 && self->tried[i].end <= at)
    return TRUE;
  self->tried[i] = (Tried){ state, at };
  return FALSE;
}

/* Of what is left, the kind that starts earliest from AT on, but behind START and LAST. */
static guint
next_best (const Fit *self, guint64 at, guint last, guint64 *start)
{
  guint   best = self->alike->len;
  guint64 least = G_MAXUINT64;

  for (guint a = 0; a < self->alike->len; a++)
    {
      const Alike *some = &g_array_index (self->alike, Alike, a);
      guint64      begin;

      if (some->used == some->n)
        continue;
      begin = ragged_earliest (&self->problem->tensors[self->problem->order[some->first]], at,
                               self->shard);
      if (begin >= least || begin < *start || (begin == *start && a <= last && last != G_MAXUINT))
        continue;
      best = a;
      least = begin;
    }
  *start = least;
  return best;
}

/* Whether N tensors that are left, of so many ELEMENTS, have room from AT on. */
static gboolean
place_rest (Fit *self, guint64 state, guint64 at, guint n, guint64 elements)
{
  guint64 start = at;
  guint   last = G_MAXUINT;

  if (at + elements > self->problem->m * self->shard)
    return FALSE;
  if (n == 0)
    return TRUE;
  if (self->tries == 0 || was_tried (self, state, at))
    return FALSE;
  self->tries--;
  while ((last = next_best (self, at, last, &start)) < self->alike->len)
    {
      Alike  *some = &g_array_index (self->alike, Alike, last);
      guint   tensor = self->problem->order[some->first + some->used];
      guint64 size = self->problem->tensors[tensor].elements;

      if (self->starts != NULL)
        self->starts[tensor] = start;
      some->used++;
      if (place_rest (self, state + some->weight, start + size, n - 1, elements - size))
        return TRUE;
      some->used--;
    }
  return FALSE;
}

gboolean
ragged_place_fitting (const RaggedProblem *problem, guint64 shard, guint64 *starts)
{
  Fit      self = { .problem = problem, .shard = shard, .starts = starts };
  guint64  elements = 0;
  gboolean fits;

  for (guint i = 0; i < problem->n; i++)
    elements += problem->tensors[i].elements;
  self.alike = find_alike (problem);
  self.tries = problem->n + BEYOND;
  self.n_tried = 2 * self.tries;
  self.tried = g_new (Tried, self.n_tried);
  for (guint i = 0; i < self.n_tried; i++)
    self.tried[i].end = G_MAXUINT64;
  fits = place_rest (&self, 0, 0, problem->n, elements);
  g_array_unref (self.alike);
  g_free (self.tried);
  return fits;
}
