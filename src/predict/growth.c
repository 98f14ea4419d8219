#include "predict/growth.h"
#include "predict/columns.h"

const BindingUse *
growth_binding (const Prediction *p, const char *resource)
{
  for (guint i = 0; i < p->bindings->len; i++)
    {
      const BindingUse *use = &g_array_index (p->bindings, BindingUse, i);

      if (g_str_equal (use->resource, resource))
        return use;
    }
  return NULL;
}

gboolean
growth_same_memory (const MemoryUse *a, const MemoryUse *b, gboolean last)
{
  return a->allocated == b->allocated && a->fits == b->fits && g_str_equal (a->place, b->place)
         && (!last || a->reserved == b->reserved);
}

gboolean
growth_is_alike (const Prediction *a, const Prediction *b)
{
  if (!growth_same_memory (&a->hbm, &b->hbm, TRUE) || !growth_same_memory (&a->host, &b->host, TRUE)
      || !growth_same_memory (&a->drives, &b->drives, TRUE) || a->bindings->len != b->bindings->len
      || a->traffic->len != b->traffic->len || a->exposed_rank != b->exposed_rank)
    return FALSE;
  for (guint i = 0; i < b->bindings->len; i++)
    if (growth_binding (a, g_array_index (b->bindings, BindingUse, i).resource) == NULL)
      return FALSE;
  for (guint i = 0; i < b->traffic->len; i++)
    {
      const TrafficUse *x = &g_array_index (a->traffic, TrafficUse, i);
      const TrafficUse *y = &g_array_index (b->traffic, TrafficUse, i);

      if (!g_str_equal (x->group, y->group) || !g_str_equal (x->collective, y->collective))
        return FALSE;
    }
  return TRUE;
}

/* What grows by the increment from one to another, TIMES over. */
static double
follow (double value, double b, double c, double times)
{
  return value + times * (c - b);
}

/* The same of every column of a ROW that grows. */
static void
follow_row (const Column *columns, gpointer row, gpointer b, gpointer c, double times)
{
  for (const Column *column = columns; column->kind != COLUMN_END; column++)
    if (column->flags & COLUMN_GROWS)
      {
        double *place = column_place (column, row);

        *place = follow (*place, *column_place (column, b), *column_place (column, c), times);
      }
}

static void
scale_row (const Column *columns, gpointer row, double factor)
{
  for (const Column *column = columns; column->kind != COLUMN_END; column++)
    if (column->flags & COLUMN_GROWS)
      *column_place (column, row) *= factor;
}

static gpointer
row_of (const GArray *rows, guint i)
{
  return rows->data + (gsize) i * g_array_get_element_size ((GArray *) rows);
}

/* Row by row: ROWS may be NULL, and B and C have as many. */
static void
follow_rows (const Column *columns, GArray *rows, const GArray *b, const GArray *c, double times)
{
  for (guint i = 0; rows != NULL && i < rows->len; i++)
    follow_row (columns, row_of (rows, i), row_of (b, i), row_of (c, i), times);
}

static void
scale_rows (const Column *columns, GArray *rows, double factor)
{
  for (guint i = 0; rows != NULL && i < rows->len; i++)
    scale_row (columns, row_of (rows, i), factor);
}

/* By name, for their order differs; a share of the step is one of the step that SELF has now. */
static void
follow_bindings (Prediction *self, const double seconds[3], const Prediction *b,
                 const Prediction *c, double times)
{
  for (guint i = 0; i < self->bindings->len; i++)
    {
      BindingUse       *use = &g_array_index (self->bindings, BindingUse, i);
      const BindingUse *x = growth_binding (b, use->resource),
                       *y = growth_binding (c, use->resource);
      double used = use->utilisation * seconds[0];

      if (x != NULL && y != NULL)
        {
          used = follow (used, x->utilisation * seconds[1], y->utilisation * seconds[2], times);
          follow_row (binding_columns, use, (gpointer) x, (gpointer) y, times);
        }
      use->utilisation = used / self->step_time_s;
    }
}

void
growth_follow (Prediction *self, const Prediction *b, const Prediction *c, double times)
{
  const double seconds[3] = { self->step_time_s, b->step_time_s, c->step_time_s }; /* before */

  follow_row (prediction_columns, self, (gpointer) b, (gpointer) c, times);
  follow_bindings (self, seconds, b, c, times);
  follow_rows (traffic_columns, self->traffic, b->traffic, c->traffic, times);
  follow_rows (stage_columns, self->stages, b->stages, c->stages, times);
  prediction_sort_bindings (self);
  prediction_derive (self);
}

void
growth_scale (Prediction *self, double factor)
{
  scale_row (prediction_columns, self, factor);
  scale_rows (binding_columns, self->bindings, factor);
  scale_rows (traffic_columns, self->traffic, factor);
  scale_rows (stage_columns, self->stages, factor);
  prediction_derive (self);
}
