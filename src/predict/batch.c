#include "predict/batch.h"

#include "base/parallel.h"

/* What takes memory. */
static void
release (Predicted *self)
{
  g_clear_pointer (&self->prediction, prediction_free);
  prediction_inputs_clear (&self->inputs);
  g_clear_pointer (&self->scenario, scenario_free);
}

/* Some of a batch, in the order in which they begin. */
typedef struct
{
  const PredictionBatch *batch;
  guint                 *order;
} BatchJobs;

static void
predict_one (guint job, gpointer user)
{
  const BatchJobs       *jobs = user;
  const PredictionBatch *self = jobs->batch;
  const guint            i = jobs->order[job];
  Predicted             *one = &self->each[i];
  PredictOptions         options = *self->options;
  EngineWork             work = { .most = self->most_events };
  StepLimit              limit = { .least = self->least != NULL ? self->least[i] : 0 };
  const gboolean         keeps = self->replays || self->read != NULL;
  const Scenario        *scenario;

  if (self->scenarios == NULL)
    one->scenario = self->build (self->user, i, one->diags);
  scenario = self->scenarios != NULL ? g_ptr_array_index (self->scenarios, i) : one->scenario;
  if (self->most_events > 0)
    options.replay.work = &work;
  options.limit = limit.least > 0 ? &limit : NULL;
  if (scenario != NULL)
    one->prediction = predict_with_inputs (scenario, &options, self->replays,
                                           keeps ? &one->inputs : NULL, one->diags, &one->error);
  one->n_events = work.done;
  one->slow_s = limit.took;
  if (one->prediction == NULL)
    one->reason =
        g_strdup (one->error != NULL ? one->error->message : diag_list_first_message (one->diags));
  one->done = TRUE;
  if (self->read != NULL)
    {
      self->read (self->user, i, one);
      release (one);
    }
}

static gint
compare_effort (gconstpointer a, gconstpointer b, gpointer user)
{
  const double *effort = user;
  const guint   x = *(const guint *) a, y = *(const guint *) b;

  if (effort[x] != effort[y])
    return effort[x] > effort[y] ? -1 : 1;
  return x < y ? -1 : 1;
}

/* A long one that begins last would leave the other threads idle. Newly allocated. */
static guint *
order_of (const PredictionBatch *self)
{
  guint *order = g_new (guint, MAX (self->n, 1));

  for (guint i = 0; i < self->n; i++)
    order[i] = i;
  if (self->effort != NULL && self->n > 1)
    g_qsort_with_data (order, (gint) self->n, sizeof *order, compare_effort,
                       (gpointer) self->effort);
  return order;
}

void
prediction_batch_run (PredictionBatch *self)
{
  g_autofree guint *order = order_of (self);
  BatchJobs         jobs = { self, order };

  self->each = g_new0 (Predicted, MAX (self->n, 1));
  for (guint i = 0; i < self->n; i++)
    self->each[i].diags = diag_list_new ();
  parallel_run (self->n, MAX (self->n_threads, 1), predict_one, &jobs, self->options->count);
  for (guint i = 0; i < self->n; i++)
    if (!self->each[i].done)
      self->each[i].reason = g_strdup (STOP_LEFT_OUT);
}

PredictionBatch
prediction_batch_of (const GPtrArray *scenarios, const PredictOptions *options, guint n_threads,
                     gboolean replays)
{
  PredictionBatch self = { .n = scenarios->len,
                           .n_threads = n_threads,
                           .options = options,
                           .replays = replays,
                           .scenarios = scenarios };

  prediction_batch_run (&self);
  return self;
}

void
prediction_batch_clear (PredictionBatch *self)
{
  for (guint i = 0; self->each != NULL && i < self->n; i++)
    {
      release (&self->each[i]);
      g_free (self->each[i].reason);
      diag_list_free (self->each[i].diags);
      g_clear_error (&self->each[i].error);
    }
  g_clear_pointer (&self->each, g_free);
}

gboolean
predicted_failed (const Predicted *self)
{
  return self->prediction == NULL || diag_list_has_errors (self->diags);
}
