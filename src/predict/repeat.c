/*
 * Micro-batches of a pipeline, behind a first step of only as many as fill it.
 *
 * A steady step is what it is by the state that it begins in: where it ends in that state, whatever
 * led there, those behind it are the same to the picosecond. So the first one need not have all
 * micro-batches. Nor need the steady one: where a stretch of it repeats the one before in all that
 * the run did (replay_find_repeat), and so does the critical path, any number of further
 * micro-batches put as many more of them there, and each adds what the stretch says to all that
 * grows. Otherwise all are replayed.
 */
#include "base/own-memory.h"
#include "predict/few-runs.h"
#include "predict/growth.h"
#include "predict/micro-period.h"
#include "predict/read-replay.h"

#define PERIODS 4 /* behind the filling, of several micro-batches; */
#define SINGLE  8 /* of one micro-batch so many, and as many as fill it: stages settle one by one */
#define PART    3 /* no more than one in so many is replayed for it: it may be in vain */

/* A steady step of RESOLVED, and its run with marks where REPLAY is not NULL. NULL: none is. */
static Prediction *
run_behind_few (const ResolvedScenario *resolved, const PredictOptions *options, Replay **replay)
{
  const MicroPeriod       micros = micro_period_of (&resolved->scenario->mesh);
  const gint64            all = resolved->scenario->training.grad_accum;
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (ReplayPlan)  plan = NULL;
  g_autoptr (ReplayBound) bound = NULL;
  g_autoptr (GError)      error = NULL;
  PlanOptions             part = predict_plan_options (options);
  ReplayOptions           run = options->replay;

  part.first_micros = micros.filled + (guint) ((all - micros.filled) % micros.period);
  run.marks_micros = replay != NULL;
  plan = replay_plan_new (resolved, part, diags);
  if (plan != NULL)
    bound = predict_bind (plan, options, LOCKSTEP_WHOLE);
  return bound != NULL ? predict_bound (bound, &run, options, replay, &error) : NULL;
}

/* ---- what repeats ---------------------------------------------------------------------------- */

typedef struct
{
  const ResolvedScenario *resolved; /* of all micro-batches */
  const PredictOptions   *options;
  MicroPeriod             micros;
  FewFamily              *family; /* keeps all runs */
} Repeats;

/*
 * What the last stretch of RUN, of N micro-batches, that repeats adds to STEP, which is read off
 * it. The path is walked from the end of the step, and may settle only some stretches before it.
 */
static Prediction *
stretch_of (const Repeats *self, const Replay *run, guint n, const Prediction *step)
{
  const MicroPeriod *micros = &self->micros;
  Prediction        *more = NULL;
  ReplayStretch      stretch;

  if (!step->steady || !step->quiet || schedule_steps_per_period (replay_schedule (run)) > 1)
    return NULL;
  for (guint end = n - 1;
       more == NULL && replay_find_repeat (run, micros->filled, micros->period, end, &stretch);
       end -= micros->period)
    more = prediction_of_stretch (run, &stretch, step, self->options->replay.stop);
  return more;
}

/* Replays N micro-batches. FALSE: there are none. */
static gboolean
replay_some (const Repeats *self, guint n)
{
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (ResolvedScenario) few = resolved_with_micro_steps (self->resolved, n, diags);
  g_autoptr (Replay)           run = NULL;
  Prediction *step = few != NULL ? run_behind_few (few, self->options, &run) : NULL;

  if (step == NULL && own_memory_was_over ())
    return FALSE; /* it says nothing of the next */
  few_family_add (self->family, n, FEW_BEHIND, step);
  few_family_add (self->family, n, FEW_STRETCH,
                  step != NULL ? stretch_of (self, run, n, step) : NULL);
  return step != NULL;
}

/*
 * All, of which N were replayed as STEP, with as many more of STRETCH as there are. NULL: slower
 * than anybody wants.
 */
static Prediction *
follow (const Repeats *self, guint n, const Prediction *step, const Prediction *stretch)
{
  const gint64           all = self->resolved->scenario->training.grad_accum;
  StepLimit             *limit = self->options->limit;
  g_autoptr (Prediction) followed = prediction_copy (step);

  followed->n_replayed = n;
  prediction_set_scenario (followed, self->resolved);
  growth_repeat (followed, stretch, (double) (all - n) / stretch->n_replayed);
  if (limit == NULL || followed->samples_per_s >= limit->least)
    return g_steal_pointer (&followed);
  limit->took = followed->step_time_s;
  return NULL;
}

/* The step of N micro-batches, and what repeats in it. FALSE: nothing does. */
static gboolean
find_both (const Repeats *self, guint n, const Prediction **step, const Prediction **stretch)
{
  if (!few_family_find (self->family, n, FEW_BEHIND, step) && !replay_some (self, n))
    return FALSE;
  return few_family_find (self->family, n, FEW_BEHIND, step) && *step != NULL
         && few_family_find (self->family, n, FEW_STRETCH, stretch) && *stretch != NULL;
}

/* Where two or three periods repeat, as many that those left are whole stretches. */
static Prediction *
predict_from_stretch (const Repeats *self)
{
  const guint       all = (guint) self->resolved->scenario->training.grad_accum;
  const MicroPeriod micros = self->micros;
  guint n = micros.filled + (micros.period > 1 ? PERIODS * micros.period : micros.filled + SINGLE);
  const Prediction *step, *stretch;

  n += (all - n % micros.period) % micros.period;
  while (PART * n <= all && find_both (self, n, &step, &stretch))
    {
      const guint left = (all - n) % stretch->n_replayed;

      if (left == 0)
        return follow (self, n, step, stretch);
      n += left;
    }
  return NULL;
}

Prediction *
predict_repeated (const ResolvedScenario *resolved, const PredictOptions *options)
{
  Repeats               self = { .resolved = resolved,
                                 .options = options,
                                 .micros = micro_period_of (&resolved->scenario->mesh) };
  g_autoptr (FewFamily) own = few_family_new (); /* where there is no other */

  if (!self.micros.fills)
    return NULL;
  if (options->few != NULL)
    self.family = few_runs_family (options->few, resolved);
  if (self.family == NULL)
    self.family = own;
  return predict_from_stretch (&self);
}

/* ---- all of them ----------------------------------------------------------------------------- */

Prediction *
predict_after_few (const ResolvedScenario *resolved, const PredictOptions *options)
{
  const MicroPeriod micros = micro_period_of (&resolved->scenario->mesh);

  if (!micros.fills || resolved->scenario->training.grad_accum <= micros.filled)
    return NULL;
  return run_behind_few (resolved, options, NULL);
}
