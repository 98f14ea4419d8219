#include "analysis/growth.h"
#include "analysis/stages.h"

GrowthFields
growth_fields (Prediction *p)
{
  GrowthFields self = { { &p->step_time_s, &p->tokens_per_step, &p->model_flops, &p->hardware_flops,
                          &p->inter_node_bytes_per_gpu, &p->intra_node_bytes_per_gpu,
                          &p->host_link_bytes_per_gpu, &p->inter_node_bytes_per_nic,
                          &p->inter_node_forward_bytes_per_gpu,
                          &p->inter_node_backward_bytes_per_gpu },
                        10 };

  for (guint i = 0; i < TIME_N; i++)
    self.values[self.n++] = &p->parts[i];
  return self;
}

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

static double
follow (double value, double b, double c, double times)
{
  return value + times * (c - b);
}

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
          use->seconds = follow (use->seconds, x->seconds, y->seconds, times);
        }
      use->utilisation = used / self->step_time_s;
    }
}

static void
follow_traffic (Prediction *self, const Prediction *b, const Prediction *c, double times)
{
  for (guint i = 0; i < self->traffic->len; i++)
    {
      TrafficUse       *use = &g_array_index (self->traffic, TrafficUse, i);
      const TrafficUse *x = &g_array_index (b->traffic, TrafficUse, i);
      const TrafficUse *y = &g_array_index (c->traffic, TrafficUse, i);

      use->calls = follow (use->calls, x->calls, y->calls, times);
      use->bytes = follow (use->bytes, x->bytes, y->bytes, times);
      use->inter_node_per_gpu =
          follow (use->inter_node_per_gpu, x->inter_node_per_gpu, y->inter_node_per_gpu, times);
      use->intra_node_per_gpu =
          follow (use->intra_node_per_gpu, x->intra_node_per_gpu, y->intra_node_per_gpu, times);
      use->exposed_s = follow (use->exposed_s, x->exposed_s, y->exposed_s, times);
    }
}

/* The pieces of time of stage I of P; there are stages. */
static void
stage_fields (Prediction *p, guint i, double *values[3])
{
  StageUse *stage = &g_array_index (p->stages, StageUse, i);

  values[0] = &stage->busy_s;
  values[1] = &stage->bubble_s;
  values[2] = &stage->exposed_comm_s;
}

static void
follow_stages (Prediction *self, Prediction *b, Prediction *c, double times)
{
  double *to[3], *x[3], *y[3];

  for (guint i = 0; self->stages != NULL && i < self->stages->len; i++)
    {
      stage_fields (self, i, to);
      stage_fields (b, i, x);
      stage_fields (c, i, y);
      for (guint f = 0; f < G_N_ELEMENTS (to); f++)
        *to[f] = follow (*to[f], *x[f], *y[f], times);
    }
}

static void
scale_stages (Prediction *self, double factor)
{
  double *values[3];

  for (guint i = 0; self->stages != NULL && i < self->stages->len; i++)
    {
      stage_fields (self, i, values);
      for (guint f = 0; f < G_N_ELEMENTS (values); f++)
        *values[f] *= factor;
    }
}

void
growth_follow (Prediction *self, const Prediction *b, const Prediction *c, double times)
{
  GrowthFields to = growth_fields (self);
  GrowthFields x = growth_fields ((Prediction *) b), y = growth_fields ((Prediction *) c);
  double       seconds[3] = { self->step_time_s, b->step_time_s, c->step_time_s }; /* before */

  for (guint i = 0; i < to.n; i++)
    *to.values[i] = follow (*to.values[i], *x.values[i], *y.values[i], times);
  follow_bindings (self, seconds, b, c, times);
  follow_traffic (self, b, c, times);
  follow_stages (self, (Prediction *) b, (Prediction *) c, times);
  self->exposed_comm_s = follow (self->exposed_comm_s, b->exposed_comm_s, c->exposed_comm_s, times);
  self->bubble_s = follow (self->bubble_s, b->bubble_s, c->bubble_s, times);
  prediction_sort_bindings (self);
  prediction_derive (self);
}

void
growth_scale (Prediction *self, double factor)
{
  GrowthFields fields = growth_fields (self);

  for (guint i = 0; i < fields.n; i++)
    *fields.values[i] *= factor;
  for (guint i = 0; i < self->bindings->len; i++)
    g_array_index (self->bindings, BindingUse, i).seconds *= factor;
  for (guint i = 0; i < self->traffic->len; i++)
    {
      TrafficUse *use = &g_array_index (self->traffic, TrafficUse, i);

      use->calls *= factor;
      use->bytes *= factor;
      use->inter_node_per_gpu *= factor;
      use->intra_node_per_gpu *= factor;
      use->exposed_s *= factor;
    }
  self->exposed_comm_s *= factor;
  self->bubble_s *= factor;
  scale_stages (self, factor);
  prediction_derive (self);
}
