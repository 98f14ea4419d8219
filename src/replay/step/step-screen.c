#include "replay/step/step-private.h"

#include <math.h>
#include <stdlib.h>

/* A load of a lane, for the search of resources that can never be full. */
typedef struct
{
  guint32 resource, anchor;
  double  most;  /* the lane's largest use of the resource, per second */
  double  ratio; /* of its use to its use of the anchor */
} Use;

typedef struct
{
  const double      *capacity;
  guint              n_resources;
  const StepRunItem *items;
  guint              n_items;
  double            *most;    /* [resource] sum over the lanes of their largest uses */
  gboolean          *open;    /* [resource] it may be full, as far as is known */
  gboolean          *anchors; /* [resource] the narrowest one that may be full of some lane */
} Screen;

/* Whether uses that add up to SUM can exceed CAPACITY; rounding is no excess. */
static gboolean
can_bind (double sum, double capacity)
{
  return sum > capacity * (1 + 1e-12);
}

double
step_largest_rate (const double *capacity, const StepProgram *program, const StepEdge *edge)
{
  double rate = edge->cap > 0 ? edge->cap : INFINITY;

  for (guint i = 0; i < edge->n_loads; i++)
    {
      const StepLoad *load = &g_array_index (program->loads, StepLoad, edge->first_load + i);

      rate = MIN (rate, capacity[load->resource] / load->service);
    }
  return rate;
}

/* The load of EDGE that is the narrowest of those still open; NULL without. */
static const StepLoad *
find_anchor (const Screen *screen, const StepProgram *program, const StepEdge *edge)
{
  const StepLoad *best = NULL;
  double          lowest = INFINITY;

  for (guint i = 0; i < edge->n_loads; i++)
    {
      const StepLoad *load = &g_array_index (program->loads, StepLoad, edge->first_load + i);
      double          rate = screen->capacity[load->resource] / load->service;

      if (screen->open[load->resource] && rate < lowest)
        {
          lowest = rate;
          best = load;
        }
    }
  return best;
}

/* First pass: a resource that is not full with every lane at its largest rate. */
static void
screen_sums (Screen *self)
{
  for (guint p = 0; p < self->n_items; p++)
    {
      const StepProgram *program = self->items[p].program;

      for (guint e = 0; e < program->edges->len; e++)
        {
          const StepEdge *edge = step_program_edge (program, e);
          double          rate = step_largest_rate (self->capacity, program, edge);

          for (guint i = 0; i < edge->n_loads; i++)
            {
              const StepLoad *load =
                  &g_array_index (program->loads, StepLoad, edge->first_load + i);

              self->most[load->resource] += rate * load->service;
            }
        }
    }
  for (guint r = 0; r < self->n_resources; r++)
    self->open[r] = can_bind (self->most[r], self->capacity[r]);
}

static int
compare_uses (const void *a, const void *b)
{
  const Use *x = a, *y = b;

  if (x->resource != y->resource)
    return x->resource < y->resource ? -1 : 1;
  return (x->anchor > y->anchor) - (x->anchor < y->anchor);
}

static GArray *
collect_uses (Screen *self)
{
  GArray *uses = g_array_new (FALSE, FALSE, sizeof (Use));

  for (guint p = 0; p < self->n_items; p++)
    {
      const StepProgram *program = self->items[p].program;

      for (guint e = 0; e < program->edges->len; e++)
        {
          const StepEdge *edge = step_program_edge (program, e);
          const StepLoad *anchor = find_anchor (self, program, edge);
          double          rate = step_largest_rate (self->capacity, program, edge);

          if (anchor == NULL)
            continue;
          self->anchors[anchor->resource] = TRUE;
          for (guint i = 0; i < edge->n_loads; i++)
            {
              const StepLoad *load =
                  &g_array_index (program->loads, StepLoad, edge->first_load + i);
              Use use = { load->resource, anchor->resource, rate * load->service,
                          load->service / anchor->service };

              if (self->open[load->resource])
                g_array_append_val (uses, use);
            }
        }
    }
  if (uses->len > 0) /* an empty array has no data to sort */
    qsort (uses->data, uses->len, sizeof (Use), compare_uses);
  return uses;
}

/*
 * Second pass: the lanes that share an anchor use no more of another resource than the anchor
 * passes on. Anchors themselves stay.
 */
static void
screen_anchors (Screen *self)
{
  g_autoptr (GArray) uses = collect_uses (self);
  double             sum = 0;

  for (guint i = 0, j; i < uses->len; i = j)
    {
      const Use *first = &g_array_index (uses, Use, i);
      double     most = 0, ratio = 0;

      if (i == 0 || first[-1].resource != first->resource)
        sum = 0;
      for (j = i; j < uses->len && compare_uses (first, &g_array_index (uses, Use, j)) == 0; j++)
        {
          most += g_array_index (uses, Use, j).most;
          ratio = MAX (ratio, g_array_index (uses, Use, j).ratio);
        }
      sum += MIN (most, ratio * self->capacity[first->anchor]);
      if (j == uses->len || g_array_index (uses, Use, j).resource != first->resource)
        self->open[first->resource] =
            self->anchors[first->resource] || can_bind (sum, self->capacity[first->resource]);
    }
}

gboolean *
step_screen (const double *capacity, guint n_resources, const StepRunItem *items, guint n)
{
  gsize                size = MAX (n_resources, 1);
  g_autofree double   *most = g_new0 (double, size);
  g_autofree gboolean *anchors = g_new0 (gboolean, size);
  gboolean            *open = g_new0 (gboolean, size);
  Screen               screen = { capacity, n_resources, items, n, most, open, anchors };

  screen_sums (&screen);
  screen_anchors (&screen);
  return open;
}
