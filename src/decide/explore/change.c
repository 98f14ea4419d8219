#include "base/intern.h"
#include "decide/explore/change-private.h"

#include <string.h>

/* Of SCENARIO with CHANGE. */
static gint64
micro_steps_of (const Change *change, const Scenario *scenario)
{
  gint64 n = scenario->training.grad_accum, fewer = 1;

  for (guint i = 0; i < change->n; i++)
    {
      n *= change->moves[i]->micro_steps;
      fewer *= change->moves[i]->fewer;
    }
  return n / fewer;
}

/* Newly allocated array of ScenarioOverride; strings interned. */
static GArray *
overrides_of (const Change *change, const Scenario *scenario)
{
  GArray *overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  gint64  steps = micro_steps_of (change, scenario);

  for (guint i = 0; i < change->n; i++)
    {
      const Move            *move = change->moves[i];
      const ScenarioOverride own = { .key = move->key, .value = move->value };
      const ScenarioOverride also = { .key = move->also_key, .value = move->also_value };

      g_array_append_val (overrides, own);
      if (also.key != NULL)
        g_array_append_val (overrides, also);
    }
  if (steps != scenario->training.grad_accum
      && scenario->training.global_batch == 0) /* else they follow */
    {
      g_autofree char       *value = g_strdup_printf ("%" G_GINT64_FORMAT, steps);
      const ScenarioOverride own = { .key = "training.grad_accum", .value = intern_text (value) };

      g_array_append_val (overrides, own);
    }
  return overrides;
}

Scenario *
change_scenario (const Change *change, const Scenario *scenario, const StrategySet *strategies)
{
  g_autoptr (GArray)   overrides = overrides_of (change, scenario);
  g_autoptr (DiagList) diags = diag_list_new ();

  return scenario_with (scenario, strategies,
                        (const ScenarioOverride *) (gconstpointer) overrides->data, overrides->len,
                        diags);
}

static void
append_option (GString *out, const ScenarioOverride *override)
{
  g_autofree char *text = scenario_option_text (override->key, override->value);

  g_string_append_printf (out, "%s%s", out->len > 0 ? " " : "", text);
}

char *
change_options (const Change *change, const Scenario *scenario, const StrategySet *strategies,
                const PredictOptions *options)
{
  g_autoptr (GArray)           overrides = overrides_of (change, scenario);
  g_autoptr (GString)          out = g_string_new (NULL);
  static const char *const     sections[] = { "training", "mesh", "memory", "collective" };
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (ProfileSet)       profiles = predict_profiles (options);
  g_autoptr (Scenario)         other = change_scenario (change, scenario, strategies);
  g_autoptr (ResolvedScenario) given = resolved_new (scenario, profiles, diags);
  g_autoptr (ResolvedScenario) changed =
      other != NULL ? resolved_new (other, profiles, diags) : NULL;

  for (guint i = 0; i < overrides->len; i++)
    append_option (out, &g_array_index (overrides, ScenarioOverride, i));
  for (guint i = 0; given != NULL && changed != NULL && i < G_N_ELEMENTS (sections); i++)
    {
      const OptionSpec *table = scenario_section_table (sections[i]);

      for (const OptionSpec *option = table; option->key != NULL; option++)
        {
          g_autofree char       *key = g_strdup_printf ("%s.%s", sections[i], option->key);
          const ScenarioOverride reset = { .key = key, .value = option->fallback };

          if (option->fallback != NULL
              && !option_is_default (option, scenario_options (scenario, table))
              && !resolved_is_idle (given, table, option)
              && resolved_is_idle (changed, table, option))
            append_option (out, &reset);
        }
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

void
change_add (Change *change, const Move *move)
{
  guint at = change->n++;

  g_assert (change->n <= REMEDY_MAX_CHANGES);
  for (; at > 0 && change->moves[at - 1] > move; at--)
    change->moves[at] = change->moves[at - 1];
  change->moves[at] = move;
}

gboolean
change_has_lever (const Change *change, guint lever)
{
  for (guint i = 0; i < change->n; i++)
    if (change->moves[i]->lever == lever)
      return TRUE;
  return FALSE;
}

gboolean
change_has_move (const Change *change, const Move *move)
{
  for (guint i = 0; i < change->n; i++)
    if (change->moves[i] == move)
      return TRUE;
  return FALSE;
}

gboolean
change_sets (const Change *change, const char *key)
{
  for (guint i = 0; i < change->n; i++)
    if (change->moves[i]->key == key || change->moves[i]->also_key == key)
      return TRUE;
  return FALSE;
}

gboolean
change_has_levers_of (const Change *a, const Change *b)
{
  if (a->n != b->n)
    return FALSE;
  for (guint i = 0; i < a->n; i++)
    if (!change_has_lever (b, a->moves[i]->lever))
      return FALSE;
  return TRUE;
}

gboolean
change_is_part (const Change *part, const Change *whole)
{
  for (guint i = 0; i < part->n; i++)
    if (!change_has_move (whole, part->moves[i]))
      return FALSE;
  return part->n < whole->n;
}
