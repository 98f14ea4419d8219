#include "measure/figure-runs.h"

#include "base/parallel.h"

typedef struct
{
  FigureRuns           *runs;
  const PredictOptions *options;
} Job;

static void
predict_one (guint i, gpointer user)
{
  const Job           *job = user;
  FigureRuns          *runs = job->runs;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;

  runs->predictions[i] =
      predict (g_ptr_array_index (runs->scenarios, i), job->options, diags, &error);
  if (runs->predictions[i] == NULL)
    runs->reasons[i] = g_strdup (error != NULL ? error->message : diag_list_first_message (diags));
}

FigureRuns *
figure_runs_new (const GPtrArray *scenarios, const PredictOptions *options, guint n_threads)
{
  FigureRuns *self = g_new0 (FigureRuns, 1);
  Job         job = { self, options };

  self->scenarios = scenarios;
  self->predictions = g_new0 (Prediction *, scenarios->len);
  self->reasons = g_new0 (char *, scenarios->len);
  parallel_run (scenarios->len, n_threads, predict_one, &job, options->count);
  return self;
}

void
figure_runs_free (FigureRuns *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->scenarios->len; i++)
    {
      prediction_free (self->predictions[i]);
      g_free (self->reasons[i]);
    }
  g_free (self->predictions);
  g_free (self->reasons);
  g_free (self);
}
