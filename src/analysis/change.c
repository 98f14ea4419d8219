#include "analysis/change-private.h"

#include <string.h>

/* Of SCENARIO with CHANGE. */
static gint64
micro_steps_of (const Change *change, const Scenario *scenario)
{
  gint64 n = scenario->training.grad_accum;

  for (guint i = 0; i < change->n; i++)
    n = n * change->moves[i]->micro_steps / change->moves[i]->fewer;
  return n;
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
      const ScenarioOverride own = { .key = "training.grad_accum",
                                     .value = g_intern_string (value) };

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

/* "--micro-batch 1", "--compile=true", "--set strategy.cpu_offload=true". */
static void
append_option (GString *out, const ScenarioOverride *override, gboolean is_switch)
{
  const char      *dot = strchr (override->key, '.');
  g_autofree char *name = g_strdelimit (g_strdup (dot + 1), "_", '-');

  if (out->len > 0)
    g_string_append_c (out, ' ');
  if (g_str_equal (override->key, "strategy.name"))
    g_string_append_printf (out, "--strategy %s", override->value);
  else if (g_str_has_prefix (override->key, "strategy."))
    g_string_append_printf (out, "--set %s=%s", override->key, override->value);
  else
    g_string_append_printf (out, "--%s%s%s", name, is_switch ? "=" : " ", override->value);
}

char *
change_options (const Change *change, const Scenario *scenario)
{
  g_autoptr (GArray)  overrides = overrides_of (change, scenario);
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint i = 0; i < overrides->len; i++)
    {
      const ScenarioOverride *override = &g_array_index (overrides, ScenarioOverride, i);
      gboolean                is_switch = FALSE;

      for (guint m = 0; m < change->n; m++)
        is_switch |= change->moves[m]->key == override->key && change->moves[m]->is_switch;
      append_option (out, override, is_switch);
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
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
