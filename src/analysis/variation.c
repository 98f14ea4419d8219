#include "analysis/variation.h"

static gboolean
is_option (const HardwareFigure *figure)
{
  return g_str_equal (figure->kind, "cluster");
}

static ScenarioOverride
override_of (const Variation *variation)
{
  g_autofree char *number = NULL;

  if (variation->figure == NULL)
    return (ScenarioOverride){ variation->key, variation->text, "--set" };
  number = number_format_exact (variation->value);
  return (ScenarioOverride){ variation->figure->name, g_intern_string (number), "--set" };
}

Prediction *
predict_varied (const Scenario *scenario, const StrategySet *strategies,
                const Variation *variations, guint n, const PredictOptions *options,
                DiagList *diags)
{
  g_autoptr (DiagList) own = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (Scenario) varied = NULL;
  g_autoptr (GArray)   changes = g_array_new (FALSE, FALSE, sizeof (FigureChange));
  ScenarioOverride     overrides[VARIATIONS_MAX];
  PredictOptions       inner = *options;
  Prediction          *prediction = NULL;
  guint                n_overrides = 0;

  g_assert (n <= VARIATIONS_MAX);
  g_array_append_vals (changes, options->changes, options->n_changes);
  inner.interval = FALSE;
  inner.replay.keep_pools = FALSE;
  inner.count = NULL;
  for (guint i = 0; i < n; i++)
    if (variations[i].figure == NULL || is_option (variations[i].figure))
      overrides[n_overrides++] = override_of (&variations[i]);
    else
      {
        const HardwareFigure *figure = variations[i].figure;
        const FigureChange change = { figure->kind, figure->id, figure->key, variations[i].value };

        g_array_append_val (changes, change);
      }
  inner.changes = (const FigureChange *) (gconstpointer) changes->data;
  inner.n_changes = changes->len;
  varied = scenario_with (scenario, strategies, overrides, n_overrides, own);
  if (varied != NULL)
    prediction = predict (varied, &inner, own, &error);
  if (prediction == NULL && error != NULL && diags != NULL)
    diag_error (diags, NULL, NULL, "%s", error->message);
  if (prediction == NULL && diags != NULL)
    diag_list_append (diags, own);
  return prediction;
}
