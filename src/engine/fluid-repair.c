/*
 * Repairing the groups of one tier after ops have come, gone or changed.
 *
 * The state: each op i belongs to one node g(i), its group; a node with a group has a level,
 * level_c = (capacity_c - sum over the other ops of level_g(i) * weight_ic) / (sum over its group
 * of weight_ic); one without has level infinity and its ops take no more than its capacity. The
 * rates are the max-min fair ones if no op's level exceeds the level of a node that it demands:
 * then its group's node is its bottleneck.
 *
 * A node whose ops have changed is dirty. Working on it means: find its level with the group that
 * it has; take over ops of others whose level is above it, the highest first, until none is left
 * (each raises the level); and where its level has changed, or ops have come over, mark what these
 * ops demand besides. Nodes are worked on in the order of their levels: what happens at a level
 * changes nothing below it (removing an op leaves all ops with lower levels as they are), so that
 * nearly every node is worked on once, and those that an event does not reach not at all. The
 * outcome does not depend on the order: sums are taken afresh in the order in which ops were added.
 * The order decides only how soon the work ends; where that takes too long, which rounding can
 * cause among levels that are all but equal, the tier is filled from nothing instead.
 */
#include "engine/fluid-private.h"

#include <stdlib.h>
#include <string.h>

#define SAME        1e-15 /* relative: a level that differs by less has not changed */
#define AFTER       (1 + 2 / (double) (1 << BUCKET_BITS)) /* puts a node behind those of a level */
#define AHEAD       8 /* ops that are fetched before their turn */
#define BUCKET_BITS 6 /* a bucket of the queue spans 2^-6 octaves */

/* ---- the queue ------------------------------------------------------------------------------- */

static gint64
bucket_number (double level)
{
  guint64 bits;

  memcpy (&bits, &level, sizeof bits);
  return (gint64) (bits >> (52 - BUCKET_BITS));
}

static guint
bucket_of (const FluidQueue *queue, double level)
{
  gint64 number = bucket_number (level) - queue->base;

  return (guint) CLAMP (number, 0, QUEUE_BUCKETS - 1);
}

static void
queue_push (Fluid *self, NodeId id, double level)
{
  FluidQueue *queue = &self->queue;
  guint       bucket = bucket_of (queue, level), word = bucket / 64;
  guint64     bit = G_GUINT64_CONSTANT (1) << bucket % 64;

  self->flags[id] = (self->flags[id] & FLUID_OPEN) | FLUID_QUEUED;
  self->nodes[id].next = queue->bits[word] & bit ? queue->heads[bucket] : NOBODY;
  queue->heads[bucket] = id;
  queue->bits[word] |= bit;
  queue->words |= G_GUINT64_CONSTANT (1) << word;
}

/* The lowest bucket with a node, or QUEUE_BUCKETS. */
static inline guint
queue_first (const FluidQueue *queue)
{
  if (queue->words == 0)
    return QUEUE_BUCKETS;

  guint word = (guint) __builtin_ctzll (queue->words);
  return 64 * word + (guint) __builtin_ctzll (queue->bits[word]);
}

static NodeId
queue_pop (Fluid *self, guint bucket)
{
  FluidQueue *queue = &self->queue;
  guint       word = bucket / 64;
  NodeId      id = queue->heads[bucket];

  queue->heads[bucket] = self->nodes[id].next;
  self->flags[id] &= FLUID_OPEN;
  if (queue->heads[bucket] == NOBODY)
    {
      queue->bits[word] &= ~(G_GUINT64_CONSTANT (1) << bucket % 64);
      if (queue->bits[word] == 0)
        queue->words &= ~(G_GUINT64_CONSTANT (1) << word);
    }
  return id;
}

/* Where a node probably stands: its level, or the least that it can have. */
static inline double
likely_level (const Fluid *self, NodeId id)
{
  const FluidNode *node = &self->nodes[id];

  if (isfinite (self->levels[id]))
    return self->levels[id];
  return node->weight > 0 ? node->capacity / node->weight : 0;
}

/* LEAST: the lowest level that the queue is likely to see. */
static inline void
queue_base (Fluid *self, double least)
{
  self->queue.base = MAX (0, bucket_number (least) - (2 << BUCKET_BITS));
}

/* ---- the sums of a node ---------------------------------------------------------------------- */

typedef struct
{
  double others; /* taken by ops of other groups, but for those without one */
  double weight; /* of its own group */
  double top;    /* the highest level of another group's op */
} Sums;

/*
 * Puts the node's own ops into OWN, which has room for one more than its uses, and their number
 * into *N_OWN. No branches on what an op is: nothing predicts them.
 */
static Sums
sum_uses (const Fluid *self, NodeId id, FluidOp *own, guint *n_own)
{
  const FluidNode *node = &self->nodes[id];
  const FluidOp   *ops = node->ops;
  const double    *levels = self->levels, *weights = node->weights;
  const NodeId    *owners = self->owners;
  double           others = 0, weight = 0, top = 0;
  guint            n_uses = node->n_uses, n = 0, n_new = 0;

  for (guint i = 0; i < n_uses; i++)
    {
      NodeId  owner = owners[ops[i]];
      guint32 mine = owner == id;
      double  level = levels[owner & (mine - 1)]; /* of nobody, which is 0, where it is mine */

      own[n] = ops[i];
      n += mine;
      n_new += owner == NOBODY;
      top = level > top ? level : top;
      if (weights == NULL)
        others += level;
      else
        {
          others += level * weights[i];
          weight += weights[i] * (double) (gint32) mine;
        }
    }
  *n_own = n;
  return (Sums){ others, weights == NULL ? n : weight, n_new > 0 ? INFINITY : top };
}

static inline double
level_of (const FluidNode *node, const Sums *sums)
{
  return MAX (0.0, node->capacity - sums->others) / sums->weight;
}

/* TRUE when the node must take an op of LEVEL from another group. */
static gboolean
must_take (const FluidNode *node, const Sums *sums, double level)
{
  if (sums->weight == 0)
    return sums->others > node->capacity * (1 + ABOVE) && level > 0;
  return level > (node->capacity - sums->others) / sums->weight * (1 + ABOVE);
}

static int
compare_candidates (const void *a, const void *b)
{
  const FluidCandidate *x = a, *y = b;

  if (x->level != y->level)
    return x->level > y->level ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

/* The ops without a group, which every node takes at first. */
static void
collect_new (Fluid *self, NodeId id, Sums *sums)
{
  const FluidNode *node = &self->nodes[id];

  for (guint i = 0; i < node->n_uses; i++)
    {
      FluidCandidate candidate = { INFINITY, fluid_use_weight (node, i), node->ops[i], i };
      if (self->owners[node->ops[i]] != NOBODY)
        continue;
      sums->weight += candidate.weight;
      vector_push (self->candidates, candidate);
    }
}

/* The ops of other groups that the node may have to take, from the highest level. */
static void
collect_others (Fluid *self, NodeId id, const Sums *sums)
{
  const FluidNode *node = &self->nodes[id];
  guint            n_new = self->candidates->len;

  for (guint i = 0; i < node->n_uses; i++)
    {
      NodeId         owner = self->owners[node->ops[i]];
      FluidCandidate candidate = { self->levels[owner], fluid_use_weight (node, i), node->ops[i],
                                   i };
      if (owner != id && owner != NOBODY && must_take (node, sums, candidate.level))
        vector_push (self->candidates, candidate);
    }
  if (self->candidates->len - n_new > 1)
    qsort (&vector_at (self->candidates, FluidCandidate, n_new), self->candidates->len - n_new,
           sizeof (FluidCandidate), compare_candidates);
}

/* ---- changes and whom they touch ------------------------------------------------------------- */

/*
 * An op stands CHANGE higher than before: what that is to its link I, the node ID, which is not
 * open nor in the queue.
 */
static void
pass_change (Fluid *self, NodeId id, FluidOp op, guint i, double change)
{
  FluidNode *node = &self->nodes[id];

  if (isfinite (self->levels[id]) || node->below != NOBODY)
    {
      queue_push (self, id, likely_level (self, id));
      return;
    }
  node->load += change * fluid_weight_of (self, op, i);
  if (node->load > node->capacity * (1 + ABOVE))
    queue_push (self, id, node->top * AFTER);
}

/*
 * Tells the nodes of an op, OWNER apart, of another level. Those in the queue will see for
 * themselves.
 */
static inline void
change_level_of (Fluid *self, FluidOp op, NodeId owner, double change)
{
  const NodeId *nodes = self->peers[op].nodes;
  guint         n = FLUID_FEW;

  if (nodes[0] == NOBODY)
    {
      nodes = self->routes[op].nodes;
      n = self->routes[op].n_links;
    }
  for (guint i = 0; i < n && nodes[i] != NOBODY; i++)
    {
      NodeId id = nodes[i];
      guint8 flags = self->flags[id];

      if (flags & FLUID_QUEUED || id == owner)
        continue;
      if (!(flags & FLUID_OPEN))
        pass_change (self, id, op, i, change);
      else if ((self->rooms[id] -= change) < 0)
        queue_push (self, id, self->nodes[id].top * AFTER);
    }
}

/*
 * Collects what a node must take into `candidates`. Returns how many of them it takes; the others
 * it may leave.
 */
static guint
choose_candidates (Fluid *self, NodeId id, Sums *sums)
{
  guint n;

  vector_cut (self->candidates, 0);
  if (isinf (sums->top))
    collect_new (self, id, sums);
  n = self->candidates->len;
  collect_others (self, id, sums);
  for (; n < self->candidates->len; n++)
    {
      FluidCandidate *c = &vector_at (self->candidates, FluidCandidate, n);
      if (!must_take (&self->nodes[id], sums, c->level))
        break;
      sums->weight += c->weight;
      sums->others -= c->level * c->weight;
    }
  return n;
}

/* ---- one node -------------------------------------------------------------------------------- */

static void
set_level (Fluid *self, NodeId id, double level, const FluidOp *own, guint n_own)
{
  double before = self->levels[id];

  if (isfinite (before) && fabs (level - before) <= SAME * before)
    return;
  fluid_set_level (self, id, level);
  for (guint i = 0; i < n_own; i++)
    {
      __builtin_prefetch (&self->peers[own[MIN (i + AHEAD, n_own - 1)]]);
      change_level_of (self, own[i], id, level - before);
    }
}

/* Its group has none left, and nobody takes too much. */
static void
release (Fluid *self, NodeId id, const Sums *sums)
{
  FluidNode *node = &self->nodes[id];

  node->load = sums->others;
  node->top = sums->top;
  if (isfinite (self->levels[id]))
    fluid_set_level (self, id, INFINITY);
  if (node->below != NOBODY || node->weights != NULL)
    return;
  self->flags[id] |= FLUID_OPEN;
  self->rooms[id] = node->capacity * (1 + ABOVE) - node->load;
}

/* A node that has no group, or must take ops of others. OWN: its group so far. */
static void
take_over (Fluid *self, NodeId id, Sums *sums, FluidOp *own, guint n_own)
{
  FluidOp *all = own + n_own + 1;
  guint    n = choose_candidates (self, id, sums), n_all;

  if (n == 0)
    {
      release (self, id, sums);
      return;
    }
  for (guint i = 0; i < n; i++)
    fluid_set_owner (self, vector_at (self->candidates, FluidCandidate, i).op, id);
  *sums = sum_uses (self, id, all, &n_all);
  set_level (self, id, level_of (&self->nodes[id], sums), own, n_own);
  /* Each op that the node has taken stands at its level now. */
  for (guint i = 0; i < n; i++)
    {
      const FluidCandidate *c = &vector_at (self->candidates, FluidCandidate, i);
      change_level_of (self, c->op, id, self->levels[id] - (isfinite (c->level) ? c->level : 0));
    }
}

static void
work_on (Fluid *self, NodeId id, guint bucket)
{
  FluidNode *node = &self->nodes[id];
  guint      n_own;

  if (self->own->len < 2 * node->n_uses + 2) /* take_over needs them twice */
    vector_extend (self->own, 4 * node->n_uses + 2 - self->own->len);
  FluidOp *own = (FluidOp *) (gpointer) self->own->data;
  Sums     sums = sum_uses (self, id, own, &n_own);

  self->visited += node->n_uses;
  if (node->below != NOBODY)
    vector_push (self->watched, id);
  if (n_own == 0 || must_take (node, &sums, sums.top))
    {
      take_over (self, id, &sums, own, n_own);
      return;
    }

  double level = level_of (node, &sums);
  guint  next = bucket_of (&self->queue, level);
  if (next > bucket && next > queue_first (&self->queue))
    queue_push (self, id, level); /* others come before it */
  else
    set_level (self, id, level, own, n_own);
}

/* ---- an op alone ----------------------------------------------------------------------------- */

/* What place_alone has found out about a new op and its nodes, in the order of the queue. */
typedef struct
{
  FluidOp op;
  guint   n;
  NodeId  nodes[FLUID_FEW];
  guint   buckets[FLUID_FEW];
} Alone;

/* FALSE: the dirty nodes are something else than those of one new op that nobody shares. */
static gboolean
find_alone (const Fluid *self, guint32 tier, Alone *alone)
{
  const Vector *dirty = fluid_tier_at (self, tier)->dirty;
  const NodeId *ids = vector_data (dirty, NodeId);

  if (dirty->len == 0 || dirty->len > FLUID_FEW || self->nodes[ids[0]].n_uses != 1)
    return FALSE;
  *alone = (Alone){ .op = self->nodes[ids[0]].ops[0], .n = dirty->len };
  if (self->owners[alone->op] != NOBODY || self->routes[alone->op].n_links != dirty->len)
    return FALSE;
  for (guint i = 0; i < dirty->len; i++)
    {
      const FluidNode *node = &self->nodes[ids[i]];

      if (!(self->flags[ids[i]] & FLUID_LISTED) || node->tier != tier || node->n_uses != 1
          || node->ops[0] != alone->op || isfinite (self->levels[ids[i]]))
        return FALSE;
      for (guint j = 0; j < i; j++)
        if (ids[j] == ids[i])
          return FALSE;
    }
  return TRUE;
}

/* As the queue would: by bucket, in one bucket as they became dirty. */
static void
order_alone (Fluid *self, guint32 tier, Alone *alone)
{
  const NodeId *ids = vector_data (fluid_tier_at (self, tier)->dirty, NodeId);
  double        levels[FLUID_FEW], least = INFINITY;

  for (guint i = 0; i < alone->n; i++)
    {
      levels[i] = likely_level (self, ids[i]);
      least = MIN (least, levels[i]);
    }
  queue_base (self, least);
  for (guint i = 0; i < alone->n; i++)
    {
      guint bucket = bucket_of (&self->queue, levels[i]), at = i;

      for (; at > 0 && alone->buckets[at - 1] > bucket; at--)
        {
          alone->buckets[at] = alone->buckets[at - 1];
          alone->nodes[at] = alone->nodes[at - 1];
        }
      alone->buckets[at] = bucket;
      alone->nodes[at] = ids[i];
    }
}

/* What an op at LEVEL takes of a node that it has for itself. */
static inline double
taken_alone (const FluidNode *node, double level)
{
  return node->weights == NULL ? level : level * node->weights[0];
}

/*
 * Most kernels run alone. What the queue would do about one that begins so: its first node takes it
 * and the others see that they need not. FALSE, and nothing has changed, where that is not so.
 */
static gboolean
place_alone (Fluid *self, guint32 tier)
{
  Alone  alone;
  double level;

  if (!find_alone (self, tier, &alone))
    return FALSE;
  order_alone (self, tier, &alone);
  level = MAX (0.0, self->nodes[alone.nodes[0]].capacity)
          / fluid_use_weight (&self->nodes[alone.nodes[0]], 0);
  for (guint i = 1; i < alone.n; i++)
    {
      const FluidNode *node = &self->nodes[alone.nodes[i]];
      const Sums       sums = { taken_alone (node, level), 0, level };

      if (must_take (node, &sums, level))
        return FALSE;
    }

  fluid_clear_dirty (self, tier);
  for (guint i = 0; i < alone.n; i++)
    {
      NodeId           id = alone.nodes[i];
      const FluidNode *node = &self->nodes[id];

      self->visited++;
      self->flags[id] &= FLUID_OPEN;
      if (node->below != NOBODY)
        vector_push (self->watched, id);
      if (i > 0)
        {
          release (self, id, &(Sums){ taken_alone (node, level), 0, level });
          continue;
        }
      fluid_set_owner (self, alone.op, id);
      fluid_set_level (self, id, level);
    }
  return TRUE;
}

/* ---- the tier -------------------------------------------------------------------------------- */

static void
queue_clear (Fluid *self)
{
  for (guint bucket; (bucket = queue_first (&self->queue)) < QUEUE_BUCKETS;)
    queue_pop (self, bucket);
}

gboolean
fluid_repair_tier (Fluid *self, guint32 tier)
{
  guint64 allowed = self->visited + 1024 + 64 * self->n_links;
  Vector *dirty = vector_at (self->tiers, FluidTier, tier).dirty;
  double  least = INFINITY;

  if (place_alone (self, tier))
    return TRUE;
  for (guint i = 0; i < dirty->len; i++)
    least = MIN (least, likely_level (self, vector_at (dirty, NodeId, i)));
  queue_base (self, least);
  for (guint i = dirty->len; i-- > 0;)
    {
      NodeId id = vector_at (dirty, NodeId, i);
      /* the limit of an op that has gone may stand there twice, or have come to another tier */
      if (self->flags[id] & FLUID_LISTED && self->nodes[id].tier == tier)
        queue_push (self, id, likely_level (self, id));
    }
  fluid_clear_dirty (self, tier);
  for (guint bucket; (bucket = queue_first (&self->queue)) < QUEUE_BUCKETS;)
    {
      if (self->visited > allowed)
        {
          queue_clear (self);
          return FALSE;
        }
      work_on (self, queue_pop (self, bucket), bucket);
    }
  return TRUE;
}
