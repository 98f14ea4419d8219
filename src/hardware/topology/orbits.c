/*
 * Colour refinement by splitting cells (Hopcroft's rule: of the parts that a cell splits into,
 * all but the largest have to split others again), O (edges * log nodes). What a node sees of a
 * splitting cell is kept as a 64-bit sum of mixed labels: equal views give equal sums, so a cell
 * is never split wrongly, and whether different views ever gave equal sums is checked exactly at
 * the end. Such a check that fails repeats everything with other mixing constants.
 */
#include "hardware/topology/orbits.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbering of 64-bit keys by first occurrence -------------------------------------------- */

typedef struct
{
  guint64 *keys;
  guint32 *numbers; /* G_MAXUINT32 = free */
  gsize    mask;
  guint    n;
} KeyTable;

static guint64
mix (guint64 x)
{
  x ^= x >> 33;
  x *= G_GUINT64_CONSTANT (0xff51afd7ed558ccd);
  x ^= x >> 33;
  x *= G_GUINT64_CONSTANT (0xc4ceb9fe1a85ec53);
  return x ^ (x >> 33);
}

static void
key_table_init (KeyTable *self, gsize capacity)
{
  gsize size = 16;
  while (size < 2 * capacity)
    size *= 2;
  self->keys = g_new (guint64, size);
  self->numbers = g_new (guint32, size);
  memset (self->numbers, 0xff, size * sizeof *self->numbers);
  self->mask = size - 1;
  self->n = 0;
}

static void
key_table_clear (KeyTable *self)
{
  g_free (self->keys);
  g_free (self->numbers);
}

static gsize
key_table_slot (const KeyTable *self, guint64 key)
{
  gsize slot = mix (key) & self->mask;
  while (self->numbers[slot] != G_MAXUINT32 && self->keys[slot] != key)
    slot = (slot + 1) & self->mask;
  return slot;
}

static void
key_table_grow (KeyTable *self)
{
  KeyTable bigger;
  key_table_init (&bigger, self->mask + 1);
  for (gsize i = 0; i <= self->mask; i++)
    if (self->numbers[i] != G_MAXUINT32)
      {
        gsize slot = key_table_slot (&bigger, self->keys[i]);
        bigger.keys[slot] = self->keys[i];
        bigger.numbers[slot] = self->numbers[i];
      }
  bigger.n = self->n;
  key_table_clear (self);
  *self = bigger;
}

static guint32
key_table_number (KeyTable *self, guint64 key)
{
  gsize slot = key_table_slot (self, key);
  if (self->numbers[slot] == G_MAXUINT32)
    {
      if (2 * (gsize) self->n > self->mask)
        {
          key_table_grow (self);
          slot = key_table_slot (self, key);
        }
      self->keys[slot] = key;
      self->numbers[slot] = self->n++;
    }
  return self->numbers[slot];
}

/* ---- the graph ------------------------------------------------------------------------------- */

/*
 * One end of an edge as the node at that end sees it: what the relation is, and who is at the
 * other end.
 */
typedef struct
{
  guint32 view; /* 2 * number of (relation, label) + end */
  guint32 other;
} Incidence;

typedef struct
{
  guint      n_nodes, n_views;
  gsize     *first; /* [n_nodes + 1] into incidences */
  Incidence *incidences;
} Graph;

/* (relation, label) as dense numbers: first the distinct labels, then the distinct pairs. */
static guint32 *
number_labels (const OrbitEdge *edges, gsize n_edges, guint *n)
{
  guint32 *numbers = g_new (guint32, n_edges);
  KeyTable labels, pairs;
  key_table_init (&labels, 64);
  key_table_init (&pairs, 64);
  for (gsize i = 0; i < n_edges; i++)
    {
      const double label = edges[i].label == 0 ? 0 : edges[i].label; /* -0 is 0 */
      guint64      bits;
      memcpy (&bits, &label, sizeof bits);
      const guint64 pair = (guint64) edges[i].relation << 32 | key_table_number (&labels, bits);
      numbers[i] = key_table_number (&pairs, pair);
    }
  *n = pairs.n;
  key_table_clear (&labels);
  key_table_clear (&pairs);
  return numbers;
}

static void
graph_init (Graph *self, guint n_nodes, const OrbitEdge *edges, gsize n_edges)
{
  guint               n_labels;
  g_autofree guint32 *numbers = number_labels (edges, n_edges, &n_labels);
  g_autofree gsize   *next = g_new (gsize, n_nodes + 1);
  self->n_nodes = n_nodes;
  self->n_views = 2 * n_labels;
  self->first = g_new0 (gsize, n_nodes + 1);
  self->incidences = g_new0 (Incidence, 2 * n_edges);
  for (gsize i = 0; i < n_edges; i++)
    {
      g_assert (edges[i].a < n_nodes && edges[i].b < n_nodes);
      self->first[edges[i].a + 1]++;
      self->first[edges[i].b + 1]++;
    }
  for (guint v = 0; v < n_nodes; v++)
    self->first[v + 1] += self->first[v];
  memcpy (next, self->first, (n_nodes + 1) * sizeof *next);
  for (gsize i = 0; i < n_edges; i++)
    {
      self->incidences[next[edges[i].a]++] = (Incidence){ 2 * numbers[i], edges[i].b };
      self->incidences[next[edges[i].b]++] = (Incidence){ 2 * numbers[i] + 1, edges[i].a };
    }
}

/* ---- the partition --------------------------------------------------------------------------- */

typedef struct
{
  guint32  first, size; /* in `order` */
  guint32  touched;     /* members in this round's list, moved to the front */
  gboolean queued;
} Cell;

typedef struct
{
  guint64 sum;
  guint32 node;
} Touched;

typedef struct
{
  const Graph *graph;
  guint32     *order;    /* nodes, cell after cell */
  guint32     *members;  /* of the current splitter */
  guint32     *position; /* in `order` */
  guint32     *cell_of;
  Cell        *cells; /* [n_nodes] allocated */
  guint        n_cells;
  guint32     *queue; /* ring of n_nodes: a cell is in it at most once */
  guint        queue_first, queue_length;
  guint64     *sums; /* [n_nodes], all 0 between rounds */
  guint32     *touched_cells;
  guint        n_touched_cells;
  Touched     *scratch; /* [n_nodes] */
  guint64     *view_mix;
} Partition;

static void
enqueue (Partition *self, guint32 cell)
{
  const guint n = self->graph->n_nodes;
  if (self->cells[cell].queued)
    return;
  self->cells[cell].queued = TRUE;
  self->queue[(self->queue_first + self->queue_length++) % n] = cell;
}

static guint32
dequeue (Partition *self)
{
  const guint32 cell = self->queue[self->queue_first];
  self->queue_first = (self->queue_first + 1) % self->graph->n_nodes;
  self->queue_length--;
  self->cells[cell].queued = FALSE;
  return cell;
}

/* Cells of equal colours, in order of the colours' first members. */
static void
start_cells (Partition *self, const guint64 *colours)
{
  const guint n = self->graph->n_nodes;
  KeyTable    table;
  key_table_init (&table, 64);
  for (guint v = 0; v < n; v++)
    {
      self->cell_of[v] = key_table_number (&table, colours[v]);
      self->cells[self->cell_of[v]].size++;
    }
  self->n_cells = table.n;
  key_table_clear (&table);
  for (guint c = 1; c < self->n_cells; c++)
    self->cells[c].first = self->cells[c - 1].first + self->cells[c - 1].size;
  for (guint v = 0; v < n; v++)
    {
      Cell *cell = &self->cells[self->cell_of[v]];
      self->position[v] = cell->first + cell->touched++;
      self->order[self->position[v]] = v;
    }
  for (guint c = 0; c < self->n_cells; c++)
    {
      self->cells[c].touched = 0;
      enqueue (self, c);
    }
}

static void
partition_init (Partition *self, const Graph *graph, const guint64 *colours, guint64 seed)
{
  const guint n = graph->n_nodes;
  *self = (Partition){ .graph = graph };
  self->order = g_new (guint32, n);
  self->members = g_new (guint32, n);
  self->position = g_new (guint32, n);
  self->cell_of = g_new (guint32, n);
  self->cells = g_new0 (Cell, n);
  self->queue = g_new (guint32, n);
  self->sums = g_new0 (guint64, n);
  self->touched_cells = g_new (guint32, n);
  self->scratch = g_new (Touched, n);
  self->view_mix = g_new0 (guint64, graph->n_views);
  for (guint i = 0; i < graph->n_views; i++)
    self->view_mix[i] = mix (mix (seed) + i + 1) | 1; /* never 0 */
  start_cells (self, colours);
}

static void
partition_clear (Partition *self)
{
  g_free (self->order);
  g_free (self->members);
  g_free (self->position);
  g_free (self->cell_of);
  g_free (self->cells);
  g_free (self->queue);
  g_free (self->sums);
  g_free (self->touched_cells);
  g_free (self->scratch);
  g_free (self->view_mix);
}

static void
swap_to (Partition *self, guint32 node, guint32 target)
{
  const guint32 other = self->order[target], from = self->position[node];
  self->order[target] = node;
  self->order[from] = other;
  self->position[node] = target;
  self->position[other] = from;
}

/*
 * A node that sees a splitter moves to the front of its cell. A sum may pass through 0 again:
 * harmless, see touched_end.
 */
static void
touch (Partition *self, guint32 node, guint64 amount)
{
  Cell *cell = &self->cells[self->cell_of[node]];
  if (self->position[node] >= cell->first + cell->touched)
    {
      if (cell->touched == 0)
        self->touched_cells[self->n_touched_cells++] = self->cell_of[node];
      swap_to (self, node, cell->first + cell->touched++);
    }
  self->sums[node] += amount;
}

static int
compare_touched (const void *a, const void *b)
{
  const Touched *x = a, *y = b;
  if (x->sum != y->sum)
    return x->sum < y->sum ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

/* Makes order[first .. first + size) a new cell. */
static guint32
new_cell (Partition *self, guint32 first, guint32 size)
{
  const guint32 c = self->n_cells++;
  self->cells[c] = (Cell){ .first = first, .size = size };
  for (guint32 i = first; i < first + size; i++)
    self->cell_of[self->order[i]] = c;
  return c;
}

/* All touched members alike and none left out: nothing to split. */
static gboolean
is_whole (const Partition *self, const Cell *cell)
{
  const guint64 sum = self->sums[self->order[cell->first]];
  if (cell->touched < cell->size)
    return FALSE;
  for (guint32 i = 1; i < cell->size; i++)
    if (self->sums[self->order[cell->first + i]] != sum)
      return FALSE;
  return TRUE;
}

static void
sort_touched (Partition *self, const Cell *cell)
{
  for (guint32 i = 0; i < cell->touched; i++)
    {
      const guint32 node = self->order[cell->first + i];
      self->scratch[i] = (Touched){ self->sums[node], node };
    }
  qsort (self->scratch, cell->touched, sizeof *self->scratch, compare_touched);
  for (guint32 i = 0; i < cell->touched; i++)
    {
      self->order[cell->first + i] = self->scratch[i].node;
      self->position[self->scratch[i].node] = cell->first + i;
    }
}

/*
 * Splits one touched cell: runs of equal sums, then the untouched rest. The cell keeps its last
 * part.
 */
static void
split (Partition *self, guint32 c)
{
  const Cell    old = self->cells[c];
  const guint32 begin = self->n_cells;
  guint32       run = 0;
  sort_touched (self, &old);
  for (guint32 i = 1; i <= old.touched; i++)
    {
      const gboolean ends = i == old.touched || self->scratch[i].sum != self->scratch[run].sum;
      if (!ends)
        continue;
      if (i < old.size)
        new_cell (self, old.first + run, i - run);
      else
        break;
      run = i;
    }
  self->cells[c].first = old.first + run;
  self->cells[c].size = old.size - run;
  guint32 largest = c;
  for (guint32 i = begin; i < self->n_cells; i++)
    if (self->cells[i].size > self->cells[largest].size)
      largest = i;
  for (guint32 i = begin; i < self->n_cells; i++)
    if (i != largest || old.queued)
      enqueue (self, i);
  if (c != largest && !old.queued)
    enqueue (self, c);
}

static void
refine_by (Partition *self, guint32 splitter)
{
  const Graph *graph = self->graph;
  const Cell   cell = self->cells[splitter];
  /* Touching reorders cells, the splitter's own too: walk a copy of its members. */
  guint32 *members = self->members;
  for (guint32 i = 0; i < cell.size; i++)
    members[i] = self->order[cell.first + i];
  self->n_touched_cells = 0;
  for (guint32 i = 0; i < cell.size; i++)
    for (gsize e = graph->first[members[i]]; e < graph->first[members[i] + 1]; e++)
      touch (self, graph->incidences[e].other, self->view_mix[graph->incidences[e].view]);
  for (guint i = 0; i < self->n_touched_cells; i++)
    {
      const guint32 c = self->touched_cells[i];
      const Cell    touched = self->cells[c];
      if (!is_whole (self, &touched))
        split (self, c);
      self->cells[c].touched = 0;
      for (guint32 k = 0; k < touched.touched; k++)
        self->sums[self->order[touched.first + k]] = 0;
    }
}

/* ---- the check ------------------------------------------------------------------------------- */

static guint64
seen (const Partition *self, const Incidence *incidence)
{
  return (guint64) incidence->view << 32 | self->cell_of[incidence->other];
}

/* Whether NODE sees exactly what the table counts. COUNTS is used up and restored. */
static gboolean
sees_the_same (const Partition *self, const KeyTable *table, gint32 *counts, guint32 node)
{
  const Graph *graph = self->graph;
  gboolean     same = TRUE;
  gsize        e = graph->first[node];
  for (; same && e < graph->first[node + 1]; e++)
    {
      const gsize slot = key_table_slot (table, seen (self, &graph->incidences[e]));
      if (table->numbers[slot] == G_MAXUINT32)
        return FALSE;
      same = --counts[table->numbers[slot]] >= 0;
    }
  for (gsize undo = graph->first[node]; undo < e; undo++)
    counts[table->numbers[key_table_slot (table, seen (self, &graph->incidences[undo]))]]++;
  return same;
}

static gboolean
cell_is_equitable (const Partition *self, const Cell *cell)
{
  const Graph       *graph = self->graph;
  const guint32      model = self->order[cell->first];
  const gsize        degree = graph->first[model + 1] - graph->first[model];
  g_autofree gint32 *counts = g_new0 (gint32, degree + 1);
  KeyTable           table;
  gboolean           same = TRUE;
  key_table_init (&table, degree);
  for (gsize e = graph->first[model]; e < graph->first[model + 1]; e++)
    counts[key_table_number (&table, seen (self, &graph->incidences[e]))]++;
  for (guint32 i = 1; same && i < cell->size; i++)
    {
      const guint32 node = self->order[cell->first + i];
      same = graph->first[node + 1] - graph->first[node] == degree
             && sees_the_same (self, &table, counts, node);
    }
  key_table_clear (&table);
  return same;
}

static gboolean
is_equitable (const Partition *self)
{
  for (guint c = 0; c < self->n_cells; c++)
    if (self->cells[c].size > 1 && !cell_is_equitable (self, &self->cells[c]))
      return FALSE;
  return TRUE;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Classes are numbered by their lowest members, whatever order the splitting made them in. */
static Orbits *
number_classes (const Partition *self)
{
  const guint         n = self->graph->n_nodes;
  Orbits             *result = g_new0 (Orbits, 1);
  g_autofree guint32 *class_of_cell = g_new (guint32, self->n_cells);
  for (guint c = 0; c < self->n_cells; c++)
    class_of_cell[c] = G_MAXUINT32;
  result->n_nodes = n;
  result->class_of = g_new (guint32, n);
  result->representative = g_new (guint32, self->n_cells);
  result->size = g_new (guint32, self->n_cells);
  for (guint v = 0; v < n; v++)
    {
      const guint32 cell = self->cell_of[v];
      if (class_of_cell[cell] == G_MAXUINT32)
        {
          class_of_cell[cell] = result->n_classes;
          result->representative[result->n_classes] = v;
          result->size[result->n_classes++] = self->cells[cell].size;
        }
      result->class_of[v] = class_of_cell[cell];
    }
  return result;
}

Orbits *
orbits_find (guint n_nodes, const guint64 *colours, const OrbitEdge *edges, gsize n_edges,
             Stop *stop)
{
  Graph    graph;
  StopPoll poll = { .stop = stop };
  Orbits  *result = NULL;
  graph_init (&graph, n_nodes, edges, n_edges);
  for (guint64 seed = 0; result == NULL && !stop_poll_now (&poll); seed++)
    {
      Partition partition;
      partition_init (&partition, &graph, colours, seed);
      while (partition.queue_length > 0 && !stop_poll_now (&poll))
        refine_by (&partition, dequeue (&partition));
      if (!poll.cut && is_equitable (&partition))
        result = number_classes (&partition);
      partition_clear (&partition);
    }
  g_free (graph.first);
  g_free (graph.incidences);
  return result;
}

void
orbits_free (Orbits *self)
{
  g_free (self->class_of);
  g_free (self->representative);
  g_free (self->size);
  g_free (self);
}
