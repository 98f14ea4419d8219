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

/*
 * Adds what VARIATIONS change of profiles to CHANGES. FIGURES: those of a scenario that may have
 * other profiles under the same names; NULL: it has not. FALSE after a diagnostic.
 */
static gboolean
add_changes (const Variation *variations, guint n, const GArray *figures, GArray *changes,
             DiagList *diags)
{
  for (guint i = 0; i < n; i++)
    {
      const HardwareFigure *figure = variations[i].figure;
      FigureChange          change = { .value = variations[i].value };

      if (figure == NULL || is_option (figure))
        continue;
      if (figures != NULL)
        figure = hardware_figure_find (figures, figure->name, "--map", diags);
      if (figure == NULL)
        return FALSE;
      change.kind = figure->kind;
      change.id = figure->id;
      change.key = figure->key;
      g_array_append_val (changes, change);
    }
  return TRUE;
}

/* SCENARIO with those of VARIATIONS that are options; *ANY: some are. NULL after diagnostics. */
static Scenario *
scenario_varied (const Scenario *scenario, const StrategySet *strategies,
                 const Variation *variations, guint n, gboolean *any, DiagList *diags)
{
  ScenarioOverride overrides[VARIATIONS_MAX];
  guint            n_overrides = 0;

  g_assert (n <= VARIATIONS_MAX);
  for (guint i = 0; i < n; i++)
    if (variations[i].figure == NULL || is_option (variations[i].figure))
      overrides[n_overrides++] = override_of (&variations[i]);
  *any = n_overrides > 0;
  return scenario_with (scenario, strategies, overrides, n_overrides, diags);
}

Prediction *
predict_varied (const Scenario *scenario, const StrategySet *strategies,
                const Variation *variations, guint n, const PredictOptions *options,
                DiagList *diags)
{
  g_autoptr (DiagList) own = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (GArray)   changes = g_array_new (FALSE, FALSE, sizeof (FigureChange));
  g_autoptr (GArray)   figures = NULL;
  gboolean             other = FALSE;
  g_autoptr (Scenario) varied = scenario_varied (scenario, strategies, variations, n, &other, own);
  PredictOptions       inner = *options;
  Prediction          *prediction = NULL;

  g_array_append_vals (changes, options->changes, options->n_changes);
  inner.interval = FALSE;
  inner.no_band = TRUE;
  inner.replay.keep_pools = FALSE;
  inner.count = NULL;
  if (varied != NULL && other && n > 1)
    figures = hardware_figures_of (varied, options, own);
  if (varied != NULL && !diag_list_has_errors (own)
      && add_changes (variations, n, figures, changes, own))
    {
      inner.changes = (const FigureChange *) (gconstpointer) changes->data;
      inner.n_changes = changes->len;
      prediction = predict (varied, &inner, own, &error);
    }
  if (prediction == NULL && error != NULL && diags != NULL)
    diag_error (diags, NULL, NULL, "%s", error->message);
  if (prediction == NULL && diags != NULL)
    diag_list_append (diags, own);
  return prediction;
}
