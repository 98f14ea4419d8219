#include "driver/matrix/matrix-spread.h"

#include "driver/matrix/matrix-balance.h"

void
matrix_shapes_add (GArray *shapes, MatrixShape shape)
{
  for (guint i = 0; i < shapes->len; i++)
    {
      MatrixShape *one = &g_array_index (shapes, MatrixShape, i);

      if (one->rows == shape.rows && one->columns == shape.columns && one->stack == shape.stack)
        {
          one->count += shape.count;
          return;
        }
    }
  g_array_append_val (shapes, shape);
}

guint
matrix_busiest (const double *loads, guint n)
{
  guint busiest = 0;

  for (guint rank = 1; rank < n; rank++)
    if (loads[rank] > loads[busiest])
      busiest = rank;
  return busiest;
}

static MatrixBalance *
share_out (const GArray *items, guint m, const double *start, double *before)
{
  g_autofree guint64 *counts = g_new0 (guint64, items->len + 1);
  g_autofree double  *weights = g_new0 (double, items->len + 1);

  for (guint i = 0; i < items->len; i++)
    {
      counts[i] = g_array_index (items, MatrixItem, i).n;
      weights[i] = g_array_index (items, MatrixItem, i).weight;
    }
  return matrix_balance_new (counts, weights, items->len, m, start, before);
}

MatrixSpread
matrix_spread_new (const TrainingOptions *training, const GArray *items, guint m,
                   const double *start, double *before, guint64 *bytes)
{
  MatrixSpread              result = { .shapes = g_array_new (FALSE, FALSE, sizeof (MatrixShape)) };
  g_autofree double        *flops = g_new0 (double, m);
  g_autoptr (MatrixBalance) balance = share_out (items, m, start, before);

  for (guint rank = 0; rank < m; rank++)
    {
      flops[rank] = start != NULL ? start[rank] : 0;
      for (guint i = 0; i < items->len; i++)
        {
          MatrixShape shape = g_array_index (items, MatrixItem, i).shape;
          guint64     n = shape.count * balance->counts[(gsize) rank * items->len + i];

          flops[rank] += (double) n * optimizer_matrix_flops (training, shape);
          bytes[rank] += n * optimizer_matrix_bytes (training, shape);
        }
    }
  result.rank = matrix_busiest (flops, m);
  /* The rank with most work has these items. */
  for (guint i = 0; i < items->len; i++)
    {
      MatrixShape shape = g_array_index (items, MatrixItem, i).shape;

      shape.count *= (balance->counts + (gsize) result.rank * items->len)[i];
      if (shape.count > 0)
        matrix_shapes_add (result.shapes, shape);
      result.held += shape.count * shape.rows * shape.columns;
    }
  return result;
}

void
matrix_spread_clear (MatrixSpread *self)
{
  g_array_unref (self->shapes);
}
