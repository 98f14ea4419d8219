#include "analysis/variation.h"

/* "200 Gbit/s"; of an option of the cluster, which has no unit, its number. Newly allocated. */
static char *
text_of (const Variation *variation)
{
  if (variation->figure == NULL)
    return g_strdup (variation->text);
  return hardware_figure_format_exact (variation->figure, variation->value);
}

Prediction *
predict_varied (const Scenario *scenario, const StrategySet *strategies,
                const Variation *variations, guint n, const PredictOptions *options,
                DiagList *diags)
{
  g_autoptr (DiagList) own = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_auto (GStrv)       texts = g_new0 (char *, n + 1);
  ScenarioOverride     overrides[VARIATIONS_MAX];
  g_autoptr (Scenario) varied = NULL;
  PredictOptions       inner = *options;
  Prediction          *prediction = NULL;

  g_assert (n <= VARIATIONS_MAX);
  for (guint i = 0; i < n; i++)
    {
      texts[i] = text_of (&variations[i]);
      overrides[i] = (ScenarioOverride){ variations[i].figure != NULL ? variations[i].figure->name
                                                                      : variations[i].key,
                                         texts[i], "--set" };
    }
  varied = scenario_with (scenario, strategies, overrides, n, own);
  inner.interval = FALSE;
  inner.no_band = TRUE;
  inner.replay.keep_pools = FALSE;
  inner.count = NULL;
  if (varied != NULL)
    prediction = predict (varied, &inner, own, &error);
  if (prediction == NULL && error != NULL && diags != NULL)
    diag_error (diags, NULL, NULL, "%s", error->message);
  if (prediction == NULL && diags != NULL)
    diag_list_append (diags, own);
  return prediction;
}

GArray *
scenario_figures (const Scenario *scenario, const PredictOptions *options, DiagList *diags)
{
  g_autoptr (ProfileSet)       profiles = predict_profiles (options);
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);

  return resolved != NULL ? resolved_figures (resolved) : NULL;
}
