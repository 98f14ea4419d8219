#include "evidence/figures/figure-runs.h"

#include <string.h>

#include "predict/batch.h"

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

FigureRuns *
figure_runs_new (const GPtrArray *scenarios, const PredictOptions *options, guint n_threads)
{
  g_auto (PredictionBatch) batch = prediction_batch_of (scenarios, options, n_threads, FALSE);
  FigureRuns              *self = g_new0 (FigureRuns, 1);

  self->scenarios = scenarios;
  self->predictions = g_new0 (Prediction *, scenarios->len);
  self->reasons = g_new0 (char *, scenarios->len);
  for (guint i = 0; i < batch.n; i++)
    {
      self->predictions[i] = g_steal_pointer (&batch.each[i].prediction);
      self->reasons[i] = g_steal_pointer (&batch.each[i].reason);
    }
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
