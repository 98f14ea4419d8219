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
#include "analysis/growth.h"

#include <math.h>

#define TOLERANCE 1e-9
#define LOOSE     1e-4
#define PAYS      0.8 /* of what all micro-batches take: more is not tried */

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

static gboolean
bindings_grow (Prediction *const *p)
{
  for (guint i = 0; i < p[2]->bindings->len; i++)
    {
      const BindingUse *c = &g_array_index (p[2]->bindings, BindingUse, i);
      const BindingUse *b = growth_binding (p[1], c->resource),
                       *a = growth_binding (p[0], c->resource);

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

static gboolean
repeats (Prediction *const *p)
{
  GrowthFields a = growth_fields (p[0]), b = growth_fields (p[1]), c = growth_fields (p[2]);

  for (guint i = 0; i < 2; i++)
    if (!growth_same_memory (&p[i]->hbm, &p[2]->hbm, i > 0)
        || !growth_same_memory (&p[i]->host, &p[2]->host, i > 0)
        || !growth_same_memory (&p[i]->drives, &p[2]->drives, i > 0)
        || p[i]->exposed_rank != p[2]->exposed_rank)
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

/*
 * Whether SELF is steady, bound by all that C is, and exchanges the same. What crosses the end of a
 * period (an asynchronous outer collective) hides behind more micro-batches, or holds up fewer of
 * them: then nothing follows.
 */
static gboolean
matches (const Prediction *self, const Prediction *c)
{
  for (guint i = 0; i < c->bindings->len; i++)
    if (growth_binding (self, g_array_index (c->bindings, BindingUse, i).resource) == NULL)
      return FALSE;
  return self->steady && self->quiet && self->traffic->len == c->traffic->len;
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

/* First steps of the last three numbers of micro-batches, fewest first; what the last is of. */
typedef struct
{
  Prediction  *first[3];
  ReplayBound *bound;
} Few;

static void
few_clear (Few *self)
{
  for (guint i = 0; i < 3; i++)
    prediction_free (self->first[i]);
  g_clear_pointer (&self->bound, replay_bound_unref);
}

/* Binds N micro-batches of RESOLVED in the place of those before. FALSE where there are none. */
static gboolean
few_bind (Few *self, const ResolvedScenario *resolved, const PredictOptions *options, guint n)
{
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (ResolvedScenario) few = resolved_with_micro_steps (resolved, n, diags);
  g_autoptr (ReplayPlan)       plan = NULL;

  g_clear_pointer (&self->bound, replay_bound_unref);
  if (few != NULL)
    plan = replay_plan_new (few, 0, diags);
  if (plan != NULL)
    self->bound = replay_bound_new (plan, options->unfolded);
  return self->bound != NULL;
}

/* FIRST: the first step of those that are bound. */
static Prediction *
few_run (const Few *self, const PredictOptions *options, gboolean first)
{
  g_autoptr (GError) error = NULL;
  ReplayOptions      quick = options->replay;

  quick.first_only = first;
  quick.min_periods = 1;
  return predict_bound (self->bound, &quick, NULL, &error);
}

/* Adds the first step of N micro-batches; FALSE where there is none. */
static gboolean
few_add (Few *self, const ResolvedScenario *resolved, const PredictOptions *options, guint n)
{
  prediction_free (self->first[0]);
  self->first[0] = self->first[1];
  self->first[1] = self->first[2];
  self->first[2] = NULL;
  if (few_bind (self, resolved, options, n))
    self->first[2] = few_run (self, options, TRUE);
  return self->first[2] != NULL;
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
predict_rest (Few *few, const ResolvedScenario *resolved, const PredictOptions *options, guint n,
              guint period)
{
  Prediction *const     *p = few->first;
  gboolean               early = growth_same_memory (&p[0]->hbm, &p[2]->hbm, TRUE);
  guint                  m = period == 1 ? n : n - (early ? 2 : 1) * period;
  g_autoptr (Prediction) self = NULL;

  if (m == n || few_bind (few, resolved, options, m))
    self = few_run (few, options, FALSE);
  if (self == NULL || !matches (self, p[2]))
    return NULL;
  self->n_replayed = n;
  prediction_set_settings (self, resolved->scenario);
  growth_follow (self, p[1], p[2], (double) (resolved->scenario->training.grad_accum - m) / period);
  return g_steal_pointer (&self);
}

Prediction *
predict_extrapolated (const ResolvedScenario *resolved, const PredictOptions *options)
{
  gint64      all = resolved->scenario->training.grad_accum;
  double      replayed = 0;
  guint       period, n;
  Few         few = { 0 };
  Prediction *self = NULL;

  period_of (&resolved->scenario->mesh, &period, &n);
  n += (guint) ((all - n) % period + period) % period;
  for (guint known = 0; self == NULL && pays (n, period, known, replayed, all);
       known++, n += period)
    {
      if (!few_add (&few, resolved, options, n))
        break;
      replayed += n;
      if (known >= 2 && repeats (few.first))
        self = predict_rest (&few, resolved, options, n, period);
    }
  few_clear (&few);
  return self;
}
