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

/* Adds to each column of a ROW that grows TIMES what it has more in C than in B (NULL: nothing). */
static void
follow_row (const Column *columns, gpointer row, gpointer b, gpointer c, double times)
{
  for (const Column *column = columns; column->kind != COLUMN_END; column++)
    if (column->flags & COLUMN_GROWS)
      *column_place (column, row) +=
          times * (*column_place (column, c) - (b != NULL ? *column_place (column, b) : 0));
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

/* ---- from the increment of one to another -------------------------------------------------- */

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
          used += times * (y->utilisation * seconds[2] - x->utilisation * seconds[1]);
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

/* ---- by what repeats ------------------------------------------------------------------------- */

static const TrafficUse *
traffic_of (const Prediction *p, const TrafficUse *like)
{
  for (guint i = 0; i < p->traffic->len; i++)
    {
      const TrafficUse *use = &g_array_index (p->traffic, TrafficUse, i);

      if (g_str_equal (use->group, like->group) && g_str_equal (use->collective, like->collective))
        return use;
    }
  return NULL;
}

/* BEFORE: seconds of the step until now. */
static void
repeat_bindings (Prediction *self, double before, const Prediction *more, double times)
{
  for (guint i = 0; i < self->bindings->len; i++)
    {
      BindingUse       *use = &g_array_index (self->bindings, BindingUse, i);
      const BindingUse *x = growth_binding (more, use->resource);
      double            used = use->utilisation * before;

      if (x != NULL)
        {
          used += times * x->utilisation * more->step_time_s;
          follow_row (binding_columns, use, NULL, (gpointer) x, times);
        }
      use->utilisation = used / self->step_time_s;
    }
}

void
growth_repeat (Prediction *self, const Prediction *more, double times)
{
  const double before = self->step_time_s;

  follow_row (prediction_columns, self, NULL, (gpointer) more, times);
  repeat_bindings (self, before, more, times);
  for (guint i = 0; i < self->traffic->len; i++)
    {
      TrafficUse       *use = &g_array_index (self->traffic, TrafficUse, i);
      const TrafficUse *x = traffic_of (more, use);

      if (x != NULL)
        follow_row (traffic_columns, use, NULL, (gpointer) x, times);
    }
  for (guint i = 0; self->stages != NULL && i < self->stages->len; i++)
    follow_row (stage_columns, row_of (self->stages, i), NULL, row_of (more->stages, i), times);
  prediction_sort_bindings (self);
  prediction_derive (self);
}

/* ---- sums ------------------------------------------------------------------------------------ */

void
growth_scale (Prediction *self, double factor)
{
  scale_row (prediction_columns, self, factor);
  scale_rows (binding_columns, self->bindings, factor);
  scale_rows (traffic_columns, self->traffic, factor);
  scale_rows (stage_columns, self->stages, factor);
  prediction_derive (self);
}
