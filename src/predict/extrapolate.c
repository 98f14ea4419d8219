/*
 * Identical micro-batches: few are replayed, the rest follows.
 *
 * Set: f (m) is what is said of a steady step of m micro-batches: its time, where it goes, traffic,
 * FLOPs. Once a pipeline is full (or, without one, the first micro-batch over) each further one
 * repeats what the one before did, so f grows by the same amount with each k more, where k is the
 * pipeline's own period. What it grows by is read off first steps, F (m): where they issue what
 * steady ones do they differ from those at their ends only, and take a third of the replay.
 * Computed: F (m), F (m + j k), F (m + 2 j k) for rising m and j up to 3, until both increments of
 * everything agree to 1e-9 of what they add to and the peak of allocated memory has stopped rising;
 * then f (m), and from it f (all) by the last increment. Where that does not happen before it costs
 * as much as all of them, all are replayed. A stage that is not on the critical path may drift for
 * longer, until it runs into one that is: the time of the step does not move, how long it waits
 * (bubble, exposed communication) may by a hundredth of the step. So waits need not agree as well
 * as the rest: the bubble to 1e-4 of the step, others to 1e-5 where j is 1. Of pipelines a first
 * step of twice as many micro-batches has to go on so.
 */
#include "base/own-memory.h"
#include "predict/columns.h"
#include "predict/few-runs.h"
#include "predict/growth.h"
#include "predict/micro-period.h"

#include <math.h>

#define TOLERANCE    1e-9
#define LOOSE        1e-4 /* of the bubble */
#define DRIFT        1e-5 /* of other waits: a larger one may still reach the critical path */
#define FAR          1e-3 /* of waits in a step twice as long: of all they are no hundredth then */
#define MOST_PERIODS 3
#define PAYS         0.8  /* of what all micro-batches take: more is not tried */
#define PAYS_FILLED  0.7  /* the same where a first step of few precedes all of them */
#define PERIODS_FEW  2    /* that the steady run of few takes */
#define PERIODS_ALL  3    /* that a run of all takes where its first step has as many */
#define SLACK        1.02 /* of a limit: what the first two steps may be off by [estimate] */

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
bindings_grow (const Prediction *const *p, double drift)
{
  for (guint i = 0; i < p[2]->bindings->len; i++)
    {
      const BindingUse *c = &g_array_index (p[2]->bindings, BindingUse, i);
      const BindingUse *b = growth_binding (p[1], c->resource),
                       *a = growth_binding (p[0], c->resource);

      if (a == NULL || b == NULL
          || !grows_evenly (a->seconds, b->seconds, c->seconds, p[2]->step_time_s)
          || !grows_within (a->utilisation * p[0]->step_time_s, b->utilisation * p[1]->step_time_s,
                            c->utilisation * p[2]->step_time_s, p[2]->step_time_s, drift))
        return FALSE;
    }
  return p[0]->bindings->len == p[2]->bindings->len && p[1]->bindings->len == p[2]->bindings->len;
}

static gboolean
traffic_grows (const Prediction *const *p, double drift)
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
          || !grows_within (a->exposed_s, b->exposed_s, c->exposed_s, p[2]->step_time_s, drift))
        return FALSE;
    }
  return TRUE;
}

/* DRIFT: of the step, by how much the increments of waits but for the bubble may differ. */
static gboolean
repeats (const Prediction *const *p, double drift)
{
  for (guint i = 0; i < 2; i++)
    if (!growth_same_memory (&p[i]->hbm, &p[2]->hbm, i > 0)
        || !growth_same_memory (&p[i]->host, &p[2]->host, i > 0)
        || !growth_same_memory (&p[i]->drives, &p[2]->drives, i > 0)
        || p[i]->exposed_rank != p[2]->exposed_rank)
      return FALSE;
  for (const Column *column = prediction_columns; column->kind != COLUMN_END; column++)
    {
      const double *a, *b, *c;

      if (!(column->flags & COLUMN_GROWS) || column->flags & COLUMN_WAITS)
        continue;
      a = column_place (column, (gpointer) p[0]);
      b = column_place (column, (gpointer) p[1]);
      c = column_place (column, (gpointer) p[2]);
      if (!grows_evenly (*a, *b, *c, 0)
          && !(c >= p[2]->parts && c < p[2]->parts + TIME_N
               && grows_evenly (*a, *b, *c, p[2]->step_time_s)))
        return FALSE;
    }
  return grows_within (p[0]->bubble_s, p[1]->bubble_s, p[2]->bubble_s, p[2]->step_time_s, LOOSE)
         && grows_within (p[0]->exposed_comm_s, p[1]->exposed_comm_s, p[2]->exposed_comm_s,
                          p[2]->step_time_s, drift)
         && bindings_grow (p, drift) && traffic_grows (p, drift);
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

/* First steps of numbers of micro-batches that rise by a period. */
typedef struct
{
  const ResolvedScenario *resolved;
  const PredictOptions   *options;
  FewFamily              *family; /* keeps all runs: that of the options, or */
  FewFamily              *own;    /* one for this scenario alone */
  GPtrArray              *first;  /* const Prediction, of `family` */
  const ReplayBound      *bound;  /* of N_BOUND micro-batches, or NULL */
  guint                   n_bound;
  Lockstep                lockstep; /* of which no run has had too much */
} Few;

/* Binds N micro-batches in the place of those before. FALSE where there are none. */
static gboolean
few_bind (Few *self, guint n)
{
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (ResolvedScenario) few = NULL;
  g_autoptr (ReplayPlan)       plan = NULL;

  if (self->bound != NULL && self->n_bound == n)
    return TRUE;
  g_clear_pointer (&self->bound, replay_bound_unref);
  self->n_bound = n;
  few = resolved_with_micro_steps (self->resolved, n, diags);
  if (few != NULL)
    plan = replay_plan_new (few, predict_plan_options (self->options), diags);
  if (plan != NULL)
    self->bound = predict_bind (plan, self->options, self->lockstep);
  return self->bound != NULL;
}

/* The run that has been bound, as QUICK asks; NULL where there is none. */
static Prediction *
few_predict (Few *self, const ReplayOptions *quick)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Replay) run = NULL;
  Prediction        *made = predict_bound (self->bound, quick, self->options, &run, &error);

  if (made != NULL && replay_bound (run) != self->bound)
    {
      replay_bound_unref (self->bound);
      self->bound = replay_bound_ref (replay_bound (run));
      self->lockstep = replay_bound_lockstep (self->bound);
    }
  return made;
}

/* The FIRST, or a steady, step of N micro-batches; NULL where there is none. */
static const Prediction *
few_run (Few *self, guint n, gboolean first)
{
  ReplayOptions     quick = self->options->replay;
  const Prediction *known = NULL;
  Prediction       *made = NULL;

  if (few_family_find (self->family, n, first ? FEW_FIRST : FEW_STEADY, &known))
    return known;
  quick.first_only = first;
  quick.min_periods = 1;
  if (few_bind (self, n))
    made = few_predict (self, &quick);
  if (made == NULL && own_memory_was_over ())
    return NULL; /* it says nothing of the next */
  few_family_add (self->family, n, first ? FEW_FIRST : FEW_STEADY, made);
  return made;
}

/* Adds the first step of N micro-batches; FALSE where there is none. */
static gboolean
few_add (Few *self, guint n)
{
  const Prediction *first = few_run (self, n, TRUE);

  if (first != NULL)
    g_ptr_array_add (self->first, (gpointer) first);
  return first != NULL;
}

/*
 * Whether the step is slower than the limit by the last two of first steps, one PERIOD apart, that
 * are known: each further period takes as long as that between them, but for what SLACK allows.
 */
static gboolean
few_are_slow (const Few *self, guint n, guint period)
{
  const gint64      all = self->resolved->scenario->training.grad_accum;
  StepLimit        *limit = self->options->limit;
  const guint       known = self->first->len;
  const Prediction *last, *before;
  double            sequences, took;

  if (limit == NULL || known < 2)
    return FALSE;
  last = g_ptr_array_index (self->first, known - 1);
  before = g_ptr_array_index (self->first, known - 2);
  took =
      last->step_time_s + (double) (all - n) / period * (last->step_time_s - before->step_time_s);
  sequences = last->samples_per_s * last->step_time_s / n * (double) all;
  if (sequences / took * SLACK >= limit->least)
    return FALSE;
  limit->took = took;
  return TRUE;
}

/* The last one, and those EACH and twice as many before it, fewest first. FALSE: too few are. */
static gboolean
few_last (const Few *self, guint each, const Prediction **p)
{
  const guint last = self->first->len - 1;

  if (last < 2 * each)
    return FALSE;
  for (guint i = 0; i < 3; i++)
    p[i] = g_ptr_array_index (self->first, last - (2 - i) * each);
  return TRUE;
}

/* Whether first steps until three are known, and a steady run, take no more than MOST. */
static gboolean
pays (guint n, guint period, guint known, double replayed, double most)
{
  guint  missing = known < 2 ? 3 - known : 1; /* first steps until three are known */
  guint  last = n + (missing - 1) * period;
  double more = missing * (n + last) / 2.0 + PERIODS_FEW * (double) (last - 2 * period);

  return replayed + more <= most;
}

/*
 * From first steps of N - 2 periods, N - 1 period and N: a steady step of the first of them, or
 * where the allocator still reserved more, or a period is one micro-batch and costs little, of a
 * later one, and what follows. NULL when it is not as they are.
 */
static Prediction *
predict_rest (Few *few, const Prediction *const *p, guint n, guint period)
{
  const Scenario   *scenario = few->resolved->scenario;
  gboolean          early = growth_same_memory (&p[0]->hbm, &p[2]->hbm, TRUE);
  guint             m = period == 1 ? n : n - (early ? 2 : 1) * period;
  const Prediction *steady = few_run (few, m, FALSE);
  Prediction       *self;

  if (steady == NULL || !matches (steady, p[2]))
    return NULL;
  self = prediction_copy (steady);
  self->n_replayed = n;
  prediction_set_scenario (self, few->resolved);
  growth_follow (self, p[1], p[2], (double) (scenario->training.grad_accum - m) / period);
  return self;
}

/*
 * Whether a first step of twice as many micro-batches waits for what the last of P, of N, and its
 * increment over EACH make of it. A stage that is ahead of the critical path by as much with each
 * micro-batch repeats to the picosecond until it runs into it: only a longer step shows that.
 */
static gboolean
goes_on (Few *few, const Prediction *const *p, guint n, guint each)
{
  const guint            more = (n + each - 1) / each;
  const Prediction      *far;
  g_autoptr (Prediction) followed = NULL;

  if (few->resolved->scenario->mesh.pp <= 1)
    return TRUE;
  if (n + more * each >= few->resolved->scenario->training.grad_accum)
    return FALSE;
  far = few_run (few, n + more * each, TRUE);
  if (far == NULL)
    return FALSE;
  followed = prediction_copy (p[2]);
  growth_follow (followed, p[1], p[2], more);
  return fabs (far->exposed_comm_s - followed->exposed_comm_s) <= FAR * far->step_time_s
         && fabs (far->bubble_s - followed->bubble_s) <= FAR * far->step_time_s;
}

/*
 * What follows from the first steps that are known, the last of N micro-batches. Stages may swap
 * their parts from period to period, so that only two or three of them repeat.
 */
static Prediction *
predict_if_repeats (Few *few, guint n, guint period)
{
  gint64            all = few->resolved->scenario->training.grad_accum;
  const Prediction *p[3];

  for (guint each = 1; each <= MOST_PERIODS && few_last (few, each, p); each++)
    if ((all - n) % ((gint64) each * period) == 0 && repeats (p, each == 1 ? DRIFT : TOLERANCE)
        && goes_on (few, p, n, each * period))
      return predict_rest (few, p, n, each * period);
  return NULL;
}

Prediction *
predict_extrapolated (const ResolvedScenario *resolved, const PredictOptions *options)
{
  const MicroPeriod micros = micro_period_of (&resolved->scenario->mesh);
  const gint64      all = resolved->scenario->training.grad_accum;
  const guint       period = micros.period;
  guint             n = micros.filled;
  /* a part of those of a first and a steady step of all */
  const double most =
      micros.fills ? PAYS_FILLED * ((double) all + n) : PAYS * PERIODS_ALL * (double) all;
  double      replayed = 0;
  Few         few;
  Prediction *self = NULL;

  n += (guint) ((all - n) % period + period) % period;
  if (!pays (n, period, 0, replayed, most))
    return NULL;
  few = (Few){ .resolved = resolved,
               .options = options,
               .first = g_ptr_array_new (),
               .lockstep = LOCKSTEP_WHOLE };
  few.family = options->few != NULL ? few_runs_family (options->few, resolved) : NULL;
  if (few.family == NULL)
    few.family = few.own = few_family_new ();
  for (guint known = 0; self == NULL && pays (n, period, known, replayed, most);
       known++, n += period)
    {
      if (!few_add (&few, n))
        break;
      replayed += n;
      if (few_are_slow (&few, n, period))
        break;
      self = predict_if_repeats (&few, n, period);
    }
  g_ptr_array_unref (few.first);
  few_family_free (few.own);
  g_clear_pointer (&few.bound, replay_bound_unref);
  return self;
}
