/* Whose the kernels of a trace of the profiler are: by the ranges around their launches. */
#include "import/trace/kineto-private.h"

static gint
compare_ranges (gconstpointer a, gconstpointer b)
{
  const KinetoRange *x = a, *y = b;

  if (x->thread != y->thread)
    return x->thread < y->thread ? -1 : 1;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->end > y->end ? -1 : x->end < y->end; /* the outer one first */
}

static gint
compare_ids (gconstpointer a, gconstpointer b)
{
  const KinetoLaunch *x = a, *y = b;

  return x->id < y->id ? -1 : x->id > y->id;
}

/* A place on a thread whose ranges are wanted: of kernel `index`, or of forward op `index`. */
typedef struct
{
  guint64  thread;
  gint64   at;
  guint32  index;
  gboolean is_op;
} Point;

static gint
compare_points (gconstpointer a, gconstpointer b)
{
  const Point *x = a, *y = b;

  if (x->thread != y->thread)
    return x->thread < y->thread ? -1 : 1;
  if (x->at != y->at)
    return x->at < y->at ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static const KinetoLaunch *
find_launch (const GArray *launches, gint64 correlation)
{
  guint low = 0, high = launches->len;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (g_array_index (launches, KinetoLaunch, middle).id < correlation)
        low = middle + 1;
      else
        high = middle;
    }
  if (low < launches->len && g_array_index (launches, KinetoLaunch, low).id == correlation)
    return &g_array_index (launches, KinetoLaunch, low);
  return NULL;
}

/* Kernels get the time of their launch. */
static GArray *
collect_points (KinetoReading *self)
{
  GArray *points = g_array_new (FALSE, FALSE, sizeof (Point));

  g_array_sort (self->launches, compare_ids);
  for (guint i = 0; i < self->trace->kernels->len; i++)
    {
      TraceKernel        *kernel = &g_array_index (self->trace->kernels, TraceKernel, i);
      const KinetoLaunch *launch =
          find_launch (self->launches, g_array_index (self->correlations, gint64, i));
      Point point = { .index = i };

      if (launch == NULL)
        continue;
      kernel->launch = point.at = launch->at;
      point.thread = launch->thread;
      if (kernel->owner.part == TRACE_UNKNOWN)
        kernel->owner.part = TRACE_FORWARD;
      g_array_append_val (points, point);
    }
  for (guint i = 0; i < self->ops->len; i++)
    {
      const KinetoLaunch *op = &g_array_index (self->ops, KinetoLaunch, i);
      Point               point = { op->thread, op->at, i, TRUE };

      g_array_append_val (points, point);
    }
  g_array_sort (points, compare_points);
  return points;
}

/* BLOCKS: of forward ops by sequence number, plus one. */
static TraceOwner
owner_at (const GArray *stack, GHashTable *blocks)
{
  TraceOwner owner = { TRACE_FORWARD, TRACE_NO_BLOCK };

  for (guint i = 0; i < stack->len; i++)
    {
      const KinetoRange *range = &g_array_index (stack, KinetoRange, i);
      gpointer           block = g_hash_table_lookup (blocks, &range->sequence);

      trace_owner_enter (&owner, range->meaning,
                         block != NULL ? (gint32) GPOINTER_TO_INT (block) - 1 : TRACE_NO_BLOCK);
    }
  return owner;
}

static void
note_op (const KinetoReading *self, guint32 index, TraceOwner owner, GHashTable *blocks)
{
  const KinetoLaunch *op = &g_array_index (self->ops, KinetoLaunch, index);

  if (owner.part == TRACE_FORWARD && owner.block >= 0)
    g_hash_table_insert (blocks, g_memdup2 (&op->id, sizeof op->id),
                         GINT_TO_POINTER (owner.block + 1));
}

/*
 * Walks POINTS, those of forward ops (OPS) or of kernels, with a stack of the ranges around each.
 * First ops, so that backward functions find the blocks of their forward ops.
 */
static void
walk (const KinetoReading *self, const GArray *points, gboolean ops, GHashTable *blocks)
{
  g_autoptr (GArray) stack = g_array_new (FALSE, FALSE, sizeof (KinetoRange));
  guint              next = 0;

  for (guint i = 0; i < points->len; i++)
    {
      const Point *point = &g_array_index (points, Point, i);

      for (; next < self->ranges->len; next++)
        {
          const KinetoRange *range = &g_array_index (self->ranges, KinetoRange, next);

          if (range->thread > point->thread
              || (range->thread == point->thread && range->start > point->at))
            break;
          if (range->thread == point->thread && range->meaning.kind != RANGE_STEP)
            g_array_append_val (stack, *range);
        }
      for (guint k = stack->len; k-- > 0;)
        if (g_array_index (stack, KinetoRange, k).thread != point->thread
            || g_array_index (stack, KinetoRange, k).end <= point->at)
          g_array_remove_index (stack, k);
      if (point->is_op != ops)
        continue;
      if (ops)
        note_op (self, point->index, owner_at (stack, blocks), blocks);
      else if (g_array_index (self->trace->kernels, TraceKernel, point->index).owner.part
               != TRACE_COMMUNICATION)
        g_array_index (self->trace->kernels, TraceKernel, point->index).owner =
            owner_at (stack, blocks);
    }
}

static gint
compare_starts (gconstpointer a, gconstpointer b)
{
  const KinetoRange *x = a, *y = b;

  return x->start < y->start ? -1 : x->start > y->start;
}

/* A step is of all threads; a kernel without a launch is in the step that it runs in. */
static void
find_steps (KinetoReading *self)
{
  g_autoptr (GArray) steps = g_array_new (FALSE, FALSE, sizeof (KinetoRange));

  for (guint i = 0; i < self->ranges->len; i++)
    if (g_array_index (self->ranges, KinetoRange, i).meaning.kind == RANGE_STEP)
      g_array_append_val (steps, g_array_index (self->ranges, KinetoRange, i));
  g_array_sort (steps, compare_starts);
  for (guint k = 0; k < self->trace->kernels->len; k++)
    {
      TraceKernel *kernel = &g_array_index (self->trace->kernels, TraceKernel, k);
      guint        low = 0, high = steps->len;

      while (low < high) /* the first one that starts behind the launch */
        {
          guint middle = (low + high) / 2;

          if (g_array_index (steps, KinetoRange, middle).start <= kernel->launch)
            low = middle + 1;
          else
            high = middle;
        }
      if (low > 0 && kernel->launch < g_array_index (steps, KinetoRange, low - 1).end)
        kernel->step = g_array_index (steps, KinetoRange, low - 1).meaning.number;
    }
}

void
kineto_place_kernels (KinetoReading *self)
{
  g_autoptr (GHashTable) blocks = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr (GArray)     points = collect_points (self);

  g_array_sort (self->ranges, compare_ranges);
  walk (self, points, TRUE, blocks);
  walk (self, points, FALSE, blocks);
  find_steps (self);
}
