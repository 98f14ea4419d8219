#include "decide/parts/tensor-grid.h"

typedef enum
{
  COLUMNS,
  ROWS,
  DEPTH,
  DATA,
} Axis;

/* GB/s of a group of N ranks inside a node, P apart. */
typedef struct
{
  guint  p, n;
  double rate;
} Inside;

typedef struct
{
  guint         node;       /* ranks of it */
  double        latency_ms; /* of an all-gather, a rank; the script takes it for all kinds */
  double        network;    /* GB/s of an all-gather, by a node */
  const Inside *inside;
} Machine;

static const Inside perlmutter[] = { { 1, 2, 76 }, { 1, 4, 225 }, { 2, 2, 76 }, { 0 } };
static const Inside frontier[] = { { 1, 2, 129 }, { 1, 4, 52 }, { 1, 8, 135 }, { 2, 2, 50 },
                                   { 2, 4, 72 },  { 4, 2, 36 }, { 0 } };

static const Machine machines[] = {
  { 4, 0.009, 59.52, perlmutter },
  { 8, 0.039, 109.98, frontier },
};

const char *const tensor_grid_machines[] = { "perlmutter", "frontier", NULL };

static double
bandwidth (const Machine *machine, guint p, guint n)
{
  for (const Inside *i = machine->inside; i->n > 0; i++)
    if (i->p == p && i->n == n)
      return i->rate;
  return machine->network / MIN (machine->node, p);
}

/*
 * The operations are those of the script, one after the other: equal times of it are equal here.
 */
static double
product_time (const Machine *machine, const TensorGridModel *model, double h2,
              const guint degrees[TENSOR_GRID_AXES], double gib[TENSOR_GRID_AXES])
{
  const double c = degrees[COLUMNS], r = degrees[ROWS], d = degrees[DEPTH], n = degrees[DATA];
  const double h1 = (double) model->d_model, sequences = (double) model->samples / n / d;
  const double tokens = sequences * (double) model->seq_len;
  double       time = 0;
  guint        before = 1;

  gib[DATA] = 4 * (n - 1) / n * h1 * h2 / (c * r * d) * 2 / 1024 / 1024 / 1024;
  gib[DEPTH] = 3. / 2 * 2 * (d - 1) / d * h1 * h2 / (c * r) * 2 / 1024 / 1024 / 1024;
  gib[ROWS] = 2 * (r - 1) / r * (tokens * h1 / c) * 2 / 1024 / 1024 / 1024;
  gib[COLUMNS] = 2 * (c - 1) / c * (tokens * h2 / r) * 2 / 1024 / 1024 / 1024;
  for (guint axis = 0; axis < TENSOR_GRID_AXES; axis++)
    {
      if (degrees[axis] > 1)
        time += machine->latency_ms * degrees[axis] / 1000
                + gib[axis] / bandwidth (machine, before, degrees[axis]);
      before *= degrees[axis];
    }
  return time;
}

/* The four products of a layer; those that are swapped count columns as rows. */
static void
cost (const Machine *machine, const TensorGridModel *model, TensorGrid *grid)
{
  const guint64 whole = 2 * model->d_model / model->groups; /* features of keys and values */
  const double  h = (double) model->d_model, keys = (double) whole;
  const struct
  {
    double   h2, times;
    gboolean swapped;
  } products[] = {
    { h + keys, 1, FALSE },
    { h, 1, TRUE },
    { (double) model->d_ff, model->gated ? 2 : 1, FALSE },
    { (double) model->d_ff, 1, TRUE },
  };
  const double layers = (double) model->n_layers;

  for (gsize i = 0; i < G_N_ELEMENTS (products); i++)
    {
      const gboolean swapped = products[i].swapped;
      const guint   *g = grid->degrees;
      const guint    degrees[] = { g[swapped], g[!swapped], g[DEPTH], g[DATA] };
      double         gib[TENSOR_GRID_AXES];

      grid->time_s +=
          products[i].times * product_time (machine, model, products[i].h2, degrees, gib);
      for (guint axis = 0; axis < TENSOR_GRID_AXES; axis++)
        grid->gib[swapped && axis <= ROWS ? !axis : axis] += layers * products[i].times * gib[axis];
    }
}

static gint
compare_times (gconstpointer a, gconstpointer b)
{
  const TensorGrid *p = a, *q = b;

  return (p->time_s > q->time_s) - (p->time_s < q->time_s);
}

GArray *
tensor_grids (guint machine, const TensorGridModel *model, guint ranks, guint least)
{
  GArray *grids = g_array_new (FALSE, FALSE, sizeof (TensorGrid));

  for (guint c = 1; c <= ranks; c *= 2)
    for (guint r = 1; (guint64) c * r <= ranks; r *= 2)
      for (guint d = 1; (guint64) c * r * d <= ranks; d *= 2)
        {
          const guint model_ranks = c * r * d;
          TensorGrid  grid = { .degrees = { c, r, d, ranks / model_ranks } };

          if (ranks % model_ranks != 0 || (grid.degrees[DATA] & (grid.degrees[DATA] - 1)) != 0
              || model_ranks < least || model->samples % ((guint64) d * grid.degrees[DATA]) != 0)
            continue;
          cost (&machines[machine], model, &grid);
          g_array_append_val (grids, grid);
        }
  g_array_sort (grids, compare_times); /* stable, and of a layer, as the script sorts them */
  for (guint i = 0; i < grids->len; i++)
    g_array_index (grids, TensorGrid, i).time_s *= (double) model->n_layers;
  return grids;
}
