/*
 * The framework of a scenario: the one that it names, else its strategy's of today; and what a
 * release of it implies, where nobody set anything else.
 */
#include "scenario/software.h"

#include <string.h>

#include "scenario/scenario-private.h"

#define NO_FRAMEWORK "none" /* PyTorch as the node's profile has it */

/* FALSE after diagnostics. */
static gboolean
find_framework (Scenario *scenario, ProfileSet *profiles, Software *out, DiagList *diags)
{
  const StrategyConfig *innermost = scenario_innermost (scenario, NULL);
  const char           *named = scenario->training.framework;
  const char           *strategy = innermost != NULL ? innermost->strategy->name : NULL;
  const guint           errors = diag_list_n_errors (diags);
  const SourceMark     *mark =
      option_mark (scenario_marks (scenario, training_options), "framework", NULL);

  if (named != NULL && g_ascii_strcasecmp (named, NO_FRAMEWORK) != 0)
    out->framework = profile_set_framework (profiles, named, mark, diags);
  else if (named == NULL && strategy != NULL)
    {
      out->framework = profile_set_todays_framework (profiles, strategy);
      out->by_default = out->framework != NULL;
    }
  if (out->by_default)
    scenario->training.framework = g_strdup (out->framework->id);
  return diag_list_n_errors (diags) == errors;
}

/* ---- what it implies ------------------------------------------------------------------------- */

typedef struct
{
  Scenario   *scenario;
  const char *architecture;
  DiagList   *diags;
} Imply;

/*
 * Of a scenario: a table's words are the table's, and the model is what it is, whatever runs it.
 */
static gboolean
is_of_scenarios (const FrameworkImplied *setting)
{
  return setting->instead_of == NULL && setting->called == NULL && setting->below == NULL
         && setting->where == NULL && !g_str_has_prefix (setting->set, "model.");
}

/* Who sets the same says nothing new: read from what was printed. */
static void
imply_key (Imply *self, const FrameworkImplied *setting, OptionMarks *marks, gpointer structure,
           const char *key)
{
  const OptionSpec *spec = option_table_find (marks->table, key);

  if (!option_marks_has (marks, key))
    option_set_key (marks->table, structure, key, setting->to, &setting->mark, self->diags);
  else if (spec != NULL)
    option_marks_imply (marks, key, option_has_value (spec, structure, setting->to));
}

static void
imply (Imply *self, const FrameworkImplied *setting)
{
  const char            *dot = strchr (setting->set, '.');
  g_autofree char       *name = dot != NULL ? g_strndup (setting->set, dot - setting->set) : NULL;
  const gboolean         is_strategy = g_strcmp0 (name, "strategy") == 0;
  const ScenarioSection *section = name != NULL ? scenario_find_section (name) : NULL;

  for (StrategyConfig *c = self->scenario->strategy; c != NULL; c = c->inner)
    {
      if (!framework_implied_holds (setting, c->strategy->name, self->architecture))
        continue;
      if (is_strategy && option_table_find (scenario_strategy_table (c->strategy), dot + 1) != NULL)
        imply_key (self, setting, &c->marks, c->options, dot + 1);
      else if (section != NULL)
        imply_key (self, setting, &self->scenario->marks[section - scenario_sections],
                   scenario_section_options (self->scenario, section), dot + 1);
    }
}

/* ---- entry points ---------------------------------------------------------------------------- */

gboolean
software_apply (Scenario *scenario, ProfileSet *profiles, const char *architecture, Software *out,
                DiagList *diags)
{
  Imply         self = { scenario, architecture, diags };
  const guint   errors = diag_list_n_errors (diags);
  const GArray *implies;

  *out = (Software){ NULL, FALSE };
  if (!find_framework (scenario, profiles, out, diags) || out->framework == NULL)
    return diag_list_n_errors (diags) == errors;
  implies = out->framework->implies;
  for (guint i = 0; implies != NULL && i < implies->len; i++)
    if (is_of_scenarios (&g_array_index (implies, FrameworkImplied, i)))
      imply (&self, &g_array_index (implies, FrameworkImplied, i));
  return diag_list_n_errors (diags) == errors;
}

const char *
software_architecture (const Cluster *cluster)
{
  return cluster != NULL ? cluster_gpu_profile (cluster, 0)->architecture : NULL;
}

Scenario *
scenario_in_force_on (const Scenario *source, ProfileSet *profiles, const char *architecture,
                      DiagList *diags)
{
  g_autoptr (Scenario) scenario = scenario_copy (source);
  Software             software;

  if (!software_apply (scenario, profiles, architecture, &software, diags))
    return NULL;
  return g_steal_pointer (&scenario);
}

Scenario *
scenario_in_force (const Scenario *source, ProfileSet *profiles, DiagList *diags)
{
  g_autoptr (Cluster) cluster = scenario_cluster_new (source, profiles, diags);

  if (cluster == NULL)
    return NULL;
  return scenario_in_force_on (source, profiles, software_architecture (cluster), diags);
}
