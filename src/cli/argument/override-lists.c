#include "cli/argument/override-lists.h"

#include <string.h>

#include "base/intern.h"
#include "cli/argument/value-lists.h"
#include "decide/sweep/vary.h"
#include "hardware/profile/figure-settings.h"

/* The overrides with a list, as axes. NULL after diagnostics. */
static Vary *
collect_lists (const Common *self, DiagList *diags)
{
  g_autoptr (Vary) lists = vary_new ();
  gboolean         good = TRUE;

  for (guint i = 0; i < self->overrides->len; i++)
    {
      const ScenarioOverride *override = &g_array_index (self->overrides, ScenarioOverride, i);
      g_autofree char        *text = g_strdup_printf ("%s=%s", override->key, override->value);
      const SourceMark        mark = { .file = intern_text (override->origin) };

      if (value_list_is_in (override))
        good &= vary_add (lists, text, &mark, diags);
    }
  if (good && vary_length (lists) > SCENARIO_MAX)
    {
      diag_error (diags, NULL, "'shardsim sweep' takes that many",
                  "the lists make more than %u scenarios", SCENARIO_MAX);
      good = FALSE;
    }
  return good ? g_steal_pointer (&lists) : NULL;
}

/* "tp=4"; a figure as results print it, by which they know that the label says it. */
static void
append_setting (GString *label, const char *key, const char *value)
{
  g_autoptr (DiagList) none = diag_list_new ();
  g_autofree char     *word = scenario_short_key (key), *figure = NULL;

  if (scenario_key_is_figure (key) && figure_settings_set (&figure, key, value, NULL, none))
    g_string_append (label, figure);
  else
    g_string_append_printf (label, "%s=%s", word, value);
}

/* What POINT sets: "fsdp2 / tp=4". Newly allocated. */
static char *
label_point (const Vary *lists, guint64 point)
{
  g_autoptr (GString) label = g_string_new (NULL);

  for (guint axis = 0; axis < vary_n_axes (lists); axis++)
    {
      const char      *key = vary_key (lists, axis);
      g_autofree char *value = vary_value (lists, point, axis);

      if (axis > 0)
        g_string_append (label, value_list_of_names (vary_key (lists, axis - 1)) ? " / " : ", ");
      if (value_list_of_names (key))
        g_string_append (label, value);
      else
        append_setting (label, key, value);
    }
  return g_string_free (g_steal_pointer (&label), FALSE);
}

/* The overrides with the values of POINT in place of their lists; STRINGS owns those. */
static GArray *
overrides_at (const Common *self, const Vary *lists, guint64 point, GStringChunk *strings)
{
  GArray *overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));

  for (guint i = 0; i < self->overrides->len; i++)
    {
      ScenarioOverride override = g_array_index (self->overrides, ScenarioOverride, i);
      g_autofree char *key = scenario_whole_key (override.key);

      for (guint axis = 0; axis < vary_n_axes (lists) && value_list_is_in (&override); axis++)
        if (g_str_equal (vary_key (lists, axis), key))
          {
            g_autofree char *value = vary_value (lists, point, axis);

            override.value = g_string_chunk_insert_const (strings, value);
          }
      g_array_append_val (overrides, override);
    }
  return overrides;
}

/* Adds the scenarios of POINT to ALL; FALSE after diagnostics, those in SAID left out. */
static gboolean
load_point (Common *self, const Vary *lists, guint64 point, GPtrArray *all, GHashTable *said)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GArray)    overrides = overrides_at (self, lists, point, self->strings);
  g_autofree char      *label = label_point (lists, point);
  g_autoptr (GPtrArray) loaded =
      common_load (self, self->files[0], (const ScenarioOverride *) (void *) overrides->data,
                   overrides->len, FALSE, diags);

  for (guint i = 0; loaded != NULL && i < loaded->len; i++)
    {
      Scenario        *scenario = scenario_copy (g_ptr_array_index (loaded, i));
      g_autofree char *name = g_steal_pointer (&scenario->name);

      /* A scenario of the command line alone has no name of its own. */
      scenario->name =
          self->files[0] == NULL ? g_strdup (label) : g_strdup_printf ("%s / %s", name, label);
      g_ptr_array_add (all, scenario);
    }
  diag_list_drop_said (diags, said);
  stream_report_diags (diags);
  return loaded != NULL;
}

GPtrArray *
common_load_grid (Common *self)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Vary)       lists = collect_lists (self, diags);
  g_autoptr (GHashTable) said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray)  all = g_ptr_array_new_with_free_func ((GDestroyNotify) scenario_free);
  gboolean               good = lists != NULL;

  if (good && (vary_n_axes (lists) == 0 || g_strv_length (self->files) > 1))
    return common_load_scenarios (self);
  stream_report_diags (diags);
  for (guint64 point = 0; lists != NULL && point < vary_length (lists); point++)
    good &= load_point (self, lists, point, all, said);
  return good ? g_steal_pointer (&all) : NULL;
}
