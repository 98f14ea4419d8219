/* Which kernels the variants of a search run, and who runs the same. */
#include <string.h>

#include "decide/explore/levers.h"
#include "decide/search/search-private.h"

/* What runs the variants of one chain of strategies. */
typedef struct
{
  GArray *settings; /* ScenarioOverride */
  guint   group;
  guint   contexts; /* search_context_kinds */
} Choice;

static void
choice_free (gpointer data)
{
  Choice *self = data;

  g_array_unref (self->settings);
  g_free (self);
}

static char *
chain_of (const SearchVariant *variant)
{
  GString *chain = g_string_new (NULL);

  for (const StrategyConfig *c = variant->scenario->strategy; c != NULL; c = c->inner)
    g_string_append_printf (chain, "%s/", c->strategy->name);
  return g_string_free (chain, FALSE);
}

/* ---- what is settled ------------------------------------------------------------------------- */

/*
 * Of the moves that are open the one that saves most of *WORK, laid over SCENARIO: then it is
 * appended to SETTINGS. NULL: none does.
 */
static Scenario *
take_best_move (const Search *self, const Scenario *scenario, gboolean run, double *work,
                GArray *settings)
{
  g_autoptr (GArray) moves = lever_moves (scenario, self->strategies, self->n_gpus, LEVER_KERNELS);
  g_autoptr (Scenario) best = NULL;
  ScenarioOverride     taken = { 0 };

  for (guint i = 0; i < moves->len; i++)
    {
      const Move            *move = &g_array_index (moves, Move, i);
      const ScenarioOverride setting = { move->key, move->value, "search" };
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Scenario)   with = NULL;
      double                 took;

      if (!search_space_is_open (self->space, move->key))
        continue;
      with = scenario_with (scenario, self->strategies, &setting, 1, diags);
      took = with != NULL ? search_work (self, with).work : 0;
      if (took == 0 || took >= *work * (1 - 1e-9) || (run && !search_is_run (self, with)))
        continue;
      scenario_free (best);
      best = g_steal_pointer (&with);
      taken = setting;
      *work = took;
    }
  if (best != NULL)
    g_array_append_val (settings, taken);
  return g_steal_pointer (&best);
}

/* What VARIANT runs best on the first structure. */
static GArray *
settle (const Search *self, const SearchVariant *variant)
{
  GArray              *settings = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) scenario =
      search_space_scenario (self->space, node_at (self, 0)->index, variant, diags);
  const gboolean run = scenario != NULL && search_is_run (self, scenario);
  double         work = scenario != NULL ? search_work (self, scenario).work : 0;

  while (work > 0 && scenario != NULL)
    {
      Scenario *better = take_best_move (self, scenario, run, &work, settings);

      scenario_free (scenario);
      scenario = better;
    }
  return settings;
}

/* ---- who runs the same ----------------------------------------------------------------------- */

/* All that decides which kernels run, as text. Newly allocated. */
static char *
software_text (const SearchVariant *variant)
{
  GString           *text = g_string_new (NULL);
  g_autoptr (GArray) settings =
      scenario_settings (variant->in_force != NULL ? variant->in_force : variant->scenario);

  for (guint i = 0; i < settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (settings, ScenarioSetting, i);

      if (!g_str_has_prefix (setting->section, "strategy"))
        g_string_append_printf (text, "%s.%s=%s\n", setting->section, setting->spec->key,
                                setting->value);
    }
  return g_string_free (text, FALSE);
}

/* What VARIANT's GPUs are; NULL: its cluster is not the scenario's. */
static const char *
architecture_of (const Search *self, const SearchVariant *variant)
{
  g_autofree char *own = cluster_options_text (&variant->scenario->cluster);
  g_autofree char *common = cluster_options_text (&self->scenario->cluster);

  return g_str_equal (own, common) ? self->architecture : NULL;
}

void
search_settle_software (Search *self)
{
  GPtrArray             *variants = self->space->variants;
  g_autoptr (GHashTable) groups = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) choices =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, choice_free);

  for (guint v = 0; v < variants->len; v++)
    {
      SearchVariant   *variant = g_ptr_array_index (variants, v);
      g_autofree char *chain = chain_of (variant);
      Choice          *choice = g_hash_table_lookup (choices, chain);
      const gboolean   known = choice != NULL;

      if (!known)
        {
          choice = g_new0 (Choice, 1);
          choice->settings = settle (self, variant);
          g_hash_table_insert (choices, g_steal_pointer (&chain), choice);
        }
      search_space_set_software (self->space, variant, choice->settings,
                                 architecture_of (self, variant), self->profiles);
      if (!known)
        {
          char *text = software_text (variant);

          if (!g_hash_table_contains (groups, text))
            g_hash_table_insert (groups, g_strdup (text),
                                 GUINT_TO_POINTER (g_hash_table_size (groups)));
          choice->group = GPOINTER_TO_UINT (g_hash_table_lookup (groups, text));
          choice->contexts = search_context_kinds (self, variant);
          g_free (text);
        }
      variant->group = choice->group;
      variant->contexts = choice->contexts;
    }
  self->space->n_groups = g_hash_table_size (groups);
  search_drop_contexts (self);
}
