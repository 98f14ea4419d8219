#include "measure/figure-runs.h"

#include <string.h>

#include "base/layout.h"
#include "base/parallel.h"

char *
figure_file (const char *folder, const char *name, const char *suffix)
{
  g_autofree char *file = g_strconcat (name, suffix, NULL);

  return g_build_filename (folder, file, NULL);
}

char *
figure_profile_path (const char *folder, const char *name, const char *dir)
{
  g_autofree char *own = g_build_filename (folder, name, NULL);
  g_autofree char *shipped = layout_data_file ("hwprofiles");

  return g_strjoin (G_SEARCHPATH_SEPARATOR_S, own, dir != NULL ? dir : shipped, NULL);
}

char *
figure_setting (const Scenario *scenario, const char *key)
{
  g_autoptr (GArray) settings = scenario_settings (scenario);

  for (guint i = 0; i < settings->len; i++)
    {
      const ScenarioSetting *one = &g_array_index (settings, ScenarioSetting, i);
      gsize                  section = strlen (one->section);

      if (strncmp (key, one->section, section) == 0 && key[section] == '.'
          && strcmp (key + section + 1, one->spec->key) == 0)
        return g_strdup (one->value);
    }
  return NULL;
}

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
  for (guint i = 0; i < scenarios->len; i++)
    if (self->predictions[i] == NULL && self->reasons[i] == NULL)
      self->reasons[i] = g_strdup (STOP_LEFT_OUT);
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
