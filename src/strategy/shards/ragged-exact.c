/*
 * The least shard by branch and bound, over all orders of few tensors: an oracle of the planner.
 *
 * Of tensors that are placed only where the last one ends counts for those that are not, and the
 * earlier that is the better: a set of tensors is tried again only if it ends earlier.
 */
#include "strategy/shards/ragged-private.h"

typedef struct
{
  const RaggedTensor *tensors;
  guint               n;
  guint64             room, shard;
  guint64 *ends; /* [set of tensors]: the earliest end of an order of them that was tried */
} Search;

/* Whether the tensors that are not in PLACED, which end at AT and leave LEFT, have room. */
static gboolean
places_rest (Search *self, guint placed, guint64 at, guint64 left)
{
  if (at + left > self->room)
    return FALSE;
  if (left == 0)
    return TRUE;
  if (at >= self->ends[placed])
    return FALSE; /* an order of the same tensors that ends no later was tried in vain */
  self->ends[placed] = at;
  for (guint i = 0; i < self->n; i++)
    {
      const RaggedTensor *tensor = &self->tensors[i];
      guint64             start;

      if ((placed & 1u << i) != 0)
        continue;
      start = ragged_earliest (tensor, at, self->shard);
      if (start != G_MAXUINT64
          && places_rest (self, placed | 1u << i, start + tensor->elements,
                          left - tensor->elements))
        return TRUE;
    }
  return FALSE;
}

guint64
ragged_exact (const RaggedTensor *tensors, guint n, guint64 m, guint64 alignment)
{
  const gsize         n_sets = (gsize) 1 << n;
  g_autofree guint64 *ends = g_new (guint64, n_sets);
  Search              self = { .tensors = tensors, .n = n, .ends = ends };
  guint64             sum = 0;

  g_assert (n <= RAGGED_EXACT_MOST);
  for (guint i = 0; i < n; i++)
    sum += tensors[i].elements;
  self.shard = ((sum + m - 1) / m + alignment - 1) / alignment * alignment;
  for (; sum > 0; self.shard += alignment)
    {
      self.room = m * self.shard;
      for (gsize i = 0; i < n_sets; i++)
        ends[i] = G_MAXUINT64;
      if (places_rest (&self, 0, 0, sum))
        return self.shard;
    }
  return 0;
}
