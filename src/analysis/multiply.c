/*
 * Identical micro-batches: few are replayed, the rest follows.
 *
 * Set: f (m) is what is said of a steady step of m micro-batches: its time, where it goes, traffic,
 * FLOPs. Once a pipeline is full (or, without one, the first micro-batch over) each further one
 * repeats what the one before did, so f grows by the same amount with each k more, where k is the
 * pipeline's own period. What it grows by is read off first steps, F (m): where they issue what
 * steady ones do they differ from those at their ends only, and take a third of the replay.
 * Computed: F (m), F (m + k), F (m + 2 k) for rising m, until both increments of everything agree
 * to 1e-9 of what they add to (the bubble to 1e-4) and the peak of allocated memory has stopped
 * rising; then f (m), and from it f (all) by the last increment. Where that does not happen before
 * it costs as much as all of them, all are replayed. A stage that is not on the critical path may
 * drift for longer, until it runs into one that is: the time of the step does not move, how long it
 * waits (bubble, exposed communication) may by a hundredth of the step.
 */
#include "analysis/prediction.h"

#include <math.h>

#define TOLERANCE 1e-9
#define LOOSE     1e-4
#define PAYS      0.8 /* of what all micro-batches take: more is not tried */

/* Fields that grow with the number of micro-batches, in a fixed order. */
typedef struct
{
  double *values[8 + TIME_N];
  guint   n;
} Linear;

static Linear
linear_fields (Prediction *p)
{
  Linear self = { { &p->step_time_s, &p->tokens_per_step, &p->model_flops, &p->hardware_flops,
                    &p->inter_node_bytes_per_gpu, &p->intra_node_bytes_per_gpu,
                    &p->host_link_bytes_per_gpu, &p->inter_node_bytes_per_nic },
                  8 };

  for (guint i = 0; i < TIME_N; i++)
    self.values[self.n++] = &p->parts[i];
  return self;
}

/* ---- whether it repeats ---------------------------------------------------------------------- */

/* SCALE: what the value is a part of. */
static gboolean
grows_within (double a, double b, double c, double scale, double tolerance)
{
  return fabs ((c - b) - (b - a)) <= tolerance * MAX (fabs (c), scale);
}

static gboolean
grows_evenly (double a, double b, double c, double scale)
{
  return grows_within (a, b, c, scale, TOLERANCE);
}

static const BindingUse *
find_binding (const Prediction *p, const char *resource)
{
  for (guint i = 0; i < p->bindings->len; i++)
    {
      const BindingUse *use = &g_array_index (p->bindings, BindingUse, i);

      if (g_str_equal (use->resource, resource))
        return use;
    }
  return NULL;
}

static gboolean
bindings_grow (Prediction *const *p)
{
  for (guint i = 0; i < p[2]->bindings->len; i++)
    {
      const BindingUse *c = &g_array_index (p[2]->bindings, BindingUse, i);
      const BindingUse *b = find_binding (p[1], c->resource), *a = find_binding (p[0], c->resource);

      if (a == NULL || b == NULL
          || !grows_evenly (a->seconds, b->seconds, c->seconds, p[2]->step_time_s)
          || !grows_evenly (a->utilisation * p[0]->step_time_s, b->utilisation * p[1]->step_time_s,
                            c->utilisation * p[2]->step_time_s, p[2]->step_time_s))
        return FALSE;
    }
  return p[0]->bindings->len == p[2]->bindings->len && p[1]->bindings->len == p[2]->bindings->len;
}

static gboolean
traffic_grows (Prediction *const *p)
{
  if (p[0]->traffic->len != p[2]->traffic->len || p[1]->traffic->len != p[2]->traffic->len)
    return FALSE;
  for (guint i = 0; i < p[2]->traffic->len; i++)
    {
      const TrafficUse *a = &g_array_index (p[0]->traffic, TrafficUse, i);
      const TrafficUse *b = &g_array_index (p[1]->traffic, TrafficUse, i);
      const TrafficUse *c = &g_array_index (p[2]->traffic, TrafficUse, i);

      if (!g_str_equal (a->group, c->group) || !g_str_equal (b->group, c->group)
          || !g_str_equal (a->collective, c->collective)
          || !g_str_equal (b->collective, c->collective)
          || !grows_evenly (a->calls, b->calls, c->calls, 0)
          || !grows_evenly (a->bytes, b->bytes, c->bytes, 0)
          || !grows_evenly (a->exposed_s, b->exposed_s, c->exposed_s, p[2]->step_time_s))
        return FALSE;
    }
  return TRUE;
}

/*
 * The peak must stand. What an allocator's cuts leave over creeps on for many micro-batches, by a
 * segment now and then: it must stand for the LAST two only.
 */
static gboolean
same_memory (const MemoryUse *a, const MemoryUse *b, gboolean last)
{
  return a->allocated == b->allocated && a->fits == b->fits && g_str_equal (a->place, b->place)
         && (!last || a->reserved == b->reserved);
}

static gboolean
repeats (Prediction *const *p)
{
  Linear a = linear_fields (p[0]), b = linear_fields (p[1]), c = linear_fields (p[2]);

  for (guint i = 0; i < 2; i++)
    if (!same_memory (&p[i]->hbm, &p[2]->hbm, i > 0)
        || !same_memory (&p[i]->host, &p[2]->host, i > 0))
      return FALSE;
  for (guint i = 0; i < c.n; i++)
    if (!grows_evenly (*a.values[i], *b.values[i], *c.values[i], 0)
        && !(c.values[i] >= p[2]->parts && c.values[i] < p[2]->parts + TIME_N
             && grows_evenly (*a.values[i], *b.values[i], *c.values[i], p[2]->step_time_s)))
      return FALSE;
  return grows_within (p[0]->bubble_s, p[1]->bubble_s, p[2]->bubble_s, p[2]->step_time_s, LOOSE)
         && grows_evenly (p[0]->exposed_comm_s, p[1]->exposed_comm_s, p[2]->exposed_comm_s,
                          p[2]->step_time_s)
         && bindings_grow (p) && traffic_grows (p);
}

/* ---- what follows ---------------------------------------------------------------------------- */

static double
follow (double value, double b, double c, double times)
{
  return value + times * (c - b);
}

static void
extrapolate_bindings (Prediction *self, double seconds, const Prediction *b, const Prediction *c,
                      double times)
{
  for (guint i = 0; i < self->bindings->len; i++)
    {
      BindingUse       *use = &g_array_index (self->bindings, BindingUse, i);
      const BindingUse *x = find_binding (b, use->resource), *y = find_binding (c, use->resource);
      double            used = use->utilisation * seconds;

      if (x != NULL && y != NULL)
        {
          used = follow (used, x->utilisation * b->step_time_s, y->utilisation * c->step_time_s,
                         times);
          use->seconds = follow (use->seconds, x->seconds, y->seconds, times);
        }
      use->utilisation = used / self->step_time_s;
    }
}

static void
extrapolate_traffic (Prediction *self, const Prediction *b, const Prediction *c, double times)
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

/* SELF, with TIMES the increment from B to C more. */
static void
extrapolate (Prediction *self, const Prediction *b, const Prediction *c, double times)
{
  Linear to = linear_fields (self);
  Linear x = linear_fields ((Prediction *) b), y = linear_fields ((Prediction *) c);
  double seconds = self->step_time_s; /* before */

  for (guint i = 0; i < to.n; i++)
    *to.values[i] = follow (*to.values[i], *x.values[i], *y.values[i], times);
  extrapolate_bindings (self, seconds, b, c, times);
  extrapolate_traffic (self, b, c, times);
  self->exposed_comm_s = follow (self->exposed_comm_s, b->exposed_comm_s, c->exposed_comm_s, times);
  self->bubble_s = follow (self->bubble_s, b->bubble_s, c->bubble_s, times);
  prediction_sort_bindings (self);
  prediction_derive (self);
}

/* Whether SELF is steady, bound by all that C is, and exchanges the same. */
static gboolean
matches (const Prediction *self, const Prediction *c)
{
  for (guint i = 0; i < c->bindings->len; i++)
    if (find_binding (self, g_array_index (c->bindings, BindingUse, i).resource) == NULL)
      return FALSE;
  return self->steady && self->traffic->len == c->traffic->len;
}

/* ---- which ones are replayed ----------------------------------------------------------------- */

/* Micro-batches after which a pipeline's slots repeat, and how many fill it. */
static void
period_of (const MeshOptions *mesh, guint *period, guint *first)
{
  guint stages = (guint) MAX (mesh->pp, 1);

  *period = 1;
  *first = stages > 1 ? stages : 2;
  switch (mesh_pipeline (mesh))
    {
    case PIPELINE_INTERLEAVED:
      *period = stages;
      *first = 2 * stages; /* of as many as stages all forward passes come first */
      break;
    case PIPELINE_ZB_H2:
    case PIPELINE_ZBV:
      *first = 2 * stages;
      break;
    case PIPELINE_DUALPIPE:
      *period = 2;
      *first = 2 * stages;
      break;
    default:
      break;
    }
}

/* FIRST: its first step. */
static Prediction *
predict_few (const Scenario *scenario, const PredictOptions *options, ProfileSet *profiles, guint n,
             gboolean first)
{
  g_autoptr (Scenario) few = scenario_copy (scenario);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  PredictOptions       quick = *options;

  few->training.grad_accum = n;
  quick.replay.first_only = first;
  quick.replay.min_periods = 1;
  return predict_replayed (few, &quick, profiles, NULL, diags, &error);
}

/*
 * Micro-batches, counted once a period, that a replay until a period repeats takes: of few, and of
 * all.
 */
#define PERIODS_FEW 2
#define PERIODS_ALL 3

static gboolean
pays (guint n, guint period, guint known, double replayed, gint64 all)
{
  guint  missing = known < 2 ? 3 - known : 1; /* first steps until three are known */
  guint  last = n + (missing - 1) * period;
  double more = missing * (n + last) / 2.0 + PERIODS_FEW * (double) (last - 2 * period);

  return replayed + more <= PAYS * PERIODS_ALL * (double) all;
}

/*
 * From first steps of N - 2 periods, N - 1 period and N: a steady step of the first of them, or
 * where the allocator still reserved more, or a period is one micro-batch and costs little, of a
 * later one, and what follows. NULL when it is not as they are.
 */
static Prediction *
predict_rest (const Scenario *scenario, const PredictOptions *options, ProfileSet *profiles,
              Prediction *const *p, guint n, guint period)
{
  gboolean               early = same_memory (&p[0]->hbm, &p[2]->hbm, TRUE);
  guint                  m = period == 1 ? n : n - (early ? 2 : 1) * period;
  g_autoptr (Prediction) self = predict_few (scenario, options, profiles, m, FALSE);

  if (self == NULL || !matches (self, p[2]))
    return NULL;
  self->n_replayed = n;
  prediction_set_settings (self, scenario);
  extrapolate (self, p[1], p[2], (double) (scenario->training.grad_accum - m) / period);
  return g_steal_pointer (&self);
}

Prediction *
predict_multiplied (const Scenario *scenario, const PredictOptions *options, ProfileSet *profiles)
{
  gint64      all = scenario->training.grad_accum;
  double      replayed = 0;
  guint       period, n;
  Prediction *last[3] = { NULL }, *self = NULL;

  period_of (&scenario->mesh, &period, &n);
  n += (guint) ((all - n) % period + period) % period;
  for (guint known = 0; self == NULL && pays (n, period, known, replayed, all);
       known++, n += period)
    {
      g_clear_pointer (&last[0], prediction_free);
      last[0] = last[1];
      last[1] = last[2];
      last[2] = predict_few (scenario, options, profiles, n, TRUE);
      if (last[2] == NULL)
        break;
      replayed += n;
      if (known >= 2 && repeats (last))
        self = predict_rest (scenario, options, profiles, last, n, period);
    }
  for (guint i = 0; i < 3; i++)
    prediction_free (last[i]);
  return self;
}
