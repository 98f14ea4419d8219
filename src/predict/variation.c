#include "predict/variation.h"

Scenario *
scenario_varied (const Scenario *scenario, const StrategySet *strategies,
                 const Variation *variations, guint n, DiagList *diags)
{
  g_auto (GStrv)   texts = g_new0 (char *, n + 1);
  ScenarioOverride overrides[VARIATIONS_MAX];

  g_assert (n <= VARIATIONS_MAX);
  for (guint i = 0; i < n; i++)
    {
      const Variation      *one = &variations[i];
      const HardwareFigure *figure = one->figure;

      texts[i] =
          figure != NULL ? hardware_figure_format_exact (figure, one->value) : g_strdup (one->text);
      overrides[i] =
          (ScenarioOverride){ figure != NULL ? figure->name : one->key, texts[i], "--set" };
    }
  return scenario_with (scenario, strategies, overrides, n, diags);
}

PredictOptions
predict_what_if (const PredictOptions *options)
{
  PredictOptions bare = *options;

  bare.interval = FALSE;
  bare.no_band = TRUE;
  bare.idle_figures = FALSE;
  bare.replay.keep_pools = FALSE;
  return bare;
}

Prediction *
predict_varied (const Scenario *scenario, const StrategySet *strategies,
                const Variation *variations, guint n, const PredictOptions *options)
{
  const PredictOptions bare = predict_what_if (options);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (Scenario) varied = scenario_varied (scenario, strategies, variations, n, diags);

  return varied != NULL ? predict (varied, &bare, diags, &error) : NULL;
}

GArray *
scenario_figures (const Scenario *scenario, const PredictOptions *options, DiagList *diags)
{
  g_autoptr (ProfileSet)       profiles = predict_profiles (options);
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);

  return resolved != NULL ? resolved_figures (resolved) : NULL;
}
