/* The sections of one scenario in a file, laid over what a draft holds. */
#include "base/config/suggest.h"
#include "hardware/profile/figure-settings.h"
#include "scenario/scenario-private.h"
#include "scenario/strategy-hint.h"

const char *const scenario_axis_names[AXIS_N + 1] = { "scenarios", "models", "strategies", NULL };

/* ---- lists of values ------------------------------------------------------------------------- */

/* NODE, or of a list of values the one that the draft has. */
static const ConfigNode *
pick (const ScenarioDraft *draft, const ConfigNode *node)
{
  const ConfigNode *value = NULL;

  if (draft->picks != NULL && node != NULL)
    value = g_hash_table_lookup (draft->picks, node);
  return value != NULL ? value : node;
}

/* option_load_map over the draft's picks. */
static void
load_options (const ScenarioDraft *draft, const OptionSpec *table, gpointer options,
              const ConfigNode *node, const char *const *ignore, DiagList *diags)
{
  g_autoptr (GPtrArray) skipped = g_ptr_array_new ();

  for (guint i = 0; ignore != NULL && ignore[i] != NULL; i++)
    g_ptr_array_add (skipped, (gpointer) ignore[i]);
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const char       *key = config_node_key (node, i);
      const ConfigNode *item = config_node_item (node, i), *value = pick (draft, item);

      if (value == item || option_table_find (table, key) == NULL
          || (ignore != NULL && g_strv_contains (ignore, key)))
        continue;
      g_ptr_array_add (skipped, (gpointer) key);
      option_set_key (table, options, key, config_node_text (value), config_node_mark (value),
                      diags);
    }
  g_ptr_array_add (skipped, NULL);
  option_load_map (table, options, node, (const char *const *) skipped->pdata, diags);
}

/* ---- strategies ------------------------------------------------------------------------------ */

/*
 * Puts the strategy NAME with its defaults in the place of *SLOT; NULL when there is none of that
 * name.
 */
gboolean
scenario_replace_strategy (const StrategySet *strategies, StrategyConfig **slot, const char *name,
                           const SourceMark *mark, DiagList *diags)
{
  const Strategy *strategy =
      strategies != NULL ? strategy_set_find (strategies, name) : strategy_find (name);

  strategy_config_free (g_steal_pointer (slot));
  if (strategy == NULL)
    {
      g_autofree char *hint = strategy_hint (strategies, name);

      diag_error (diags, mark, hint, "unknown strategy '%s'", name);
    }
  else
    {
      *slot = strategy_config_new (strategy);
      option_marks_set_section (&(*slot)->marks, mark);
    }
  return strategy != NULL;
}

static void load_strategy (const ScenarioDraft *draft, StrategyConfig **slot,
                           const ConfigNode *node, DiagList *diags);

/* 'label' names the scenario of an entry of `strategies`; it is read elsewhere. */
static void
load_strategy_map (const ScenarioDraft *draft, StrategyConfig **slot, const ConfigNode *node,
                   DiagList *diags)
{
  const ConfigNode *name = pick (draft, config_node_get (node, "name"));
  const ConfigNode *inner = config_node_get (node, "inner");
  const char       *ignore[] = { "name", "label", "inner", NULL };

  if (name != NULL)
    {
      if (!config_node_expect (name, CONFIG_SCALAR, diags)
          || !scenario_replace_strategy (draft->strategies, slot, config_node_text (name),
                                         config_node_mark (name), diags))
        return;
    }
  else if (*slot == NULL)
    {
      diag_error (diags, config_node_mark (node), NULL, "a strategy needs a 'name'");
      return;
    }
  if (inner == NULL && !(*slot)->strategy->outer) /* no key of it: none to suggest */
    ignore[2] = NULL;
  (*slot)->shard_set |= config_node_get (node, "shard") != NULL;
  option_marks_load (&(*slot)->marks, node);
  load_options (draft, scenario_strategy_table ((*slot)->strategy), (*slot)->options, node, ignore,
                diags);
  if (inner != NULL)
    {
      if (!(*slot)->strategy->outer)
        diag_error (diags, config_node_mark (inner), NULL, "strategy '%s' takes no inner strategy",
                    (*slot)->strategy->name);
      else
        load_strategy (draft, &(*slot)->inner, inner, diags);
    }
}

static void
load_strategy (const ScenarioDraft *draft, StrategyConfig **slot, const ConfigNode *node,
               DiagList *diags)
{
  node = pick (draft, node);
  if (config_node_kind (node) == CONFIG_SCALAR && !config_node_is_null (node))
    scenario_replace_strategy (draft->strategies, slot, config_node_text (node),
                               config_node_mark (node), diags);
  else if (config_node_expect (node, CONFIG_MAP, diags))
    load_strategy_map (draft, slot, node, diags);
}

void
draft_read_strategy (ScenarioDraft *draft, const ConfigNode *node, DiagList *diags)
{
  draft->seen |= SEEN_STRATEGY;
  draft->scenario->strategy_mark = source_mark_keep (config_node_mark (node));
  load_strategy (draft, &draft->scenario->strategy, node, diags);
}

/* ---- sections -------------------------------------------------------------------------------- */

void
draft_mark_seen (ScenarioDraft *draft, const ScenarioSection *section)
{
  if (g_str_equal (section->name, "cluster"))
    draft->seen |= SEEN_CLUSTER;
  if (g_str_equal (section->name, "model"))
    draft->seen |= SEEN_MODEL;
}

OptionMarks *
draft_marks (const ScenarioDraft *draft, const ScenarioSection *section)
{
  return &draft->scenario->marks[section - scenario_sections];
}

void
draft_read_section (ScenarioDraft *draft, const ScenarioSection *section, const ConfigNode *node,
                    DiagList *diags)
{
  gpointer         options = scenario_section_options (draft->scenario, section);
  g_autofree char *below = g_strdup (draft->scenario->cluster.figure);

  node = pick (draft, node);
  draft_mark_seen (draft, section);
  option_marks_load (draft_marks (draft, section), node);
  if (section->shorthand != NULL && config_node_kind (node) == CONFIG_SCALAR
      && !config_node_is_null (node))
    {
      option_marks_set (draft_marks (draft, section), section->shorthand, config_node_mark (node));
      option_set_key (section->table, options, section->shorthand, config_node_text (node),
                      config_node_mark (node), diags);
    }
  else if (config_node_expect (node, CONFIG_MAP, diags))
    {
      load_options (draft, section->table, options, node, NULL, diags);
      if (section->table == training_options && config_node_get (node, "seq_len") != NULL)
        draft->seen |= SEEN_SEQ_LEN;
    }
  if (section->table == cluster_options)
    {
      /*
       * What NODE says of figures is laid over those BELOW (NULL: none), one by one, and null takes
       * them all away. As one text that is the same for the same figures.
       */
      char           **figure = &draft->scenario->cluster.figure;
      g_autofree char *given = g_steal_pointer (figure);

      if (config_node_kind (node) != CONFIG_MAP || config_node_get (node, "figure") == NULL)
        *figure = g_strdup (below);
      else if (given != NULL)
        {
          *figure = g_strdup (below);
          figure_settings_add (figure, given,
                               option_mark (draft_marks (draft, section), "figure", NULL), diags);
        }
    }
}

const ScenarioSection *
scenario_find_section (const char *name)
{
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    if (g_str_equal (scenario_sections[i].name, name))
      return &scenario_sections[i];
  return NULL;
}

void
scenario_diagnose_key (const char *key, gboolean top, const SourceMark *mark, DiagList *diags)
{
  const char      *names[SCENARIO_N_SECTIONS + AXIS_N + 3];
  g_autofree char *hint = NULL;
  guint            n = 0;

  names[n++] = "name";
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    names[n++] = scenario_sections[i].name;
  names[n++] = "strategy";
  for (guint i = 0; top && i < AXIS_N; i++)
    names[n++] = scenario_axis_names[i];
  names[n] = NULL;
  hint = suggest_hint (key, names);
  diag_error (diags, mark, hint, "unknown key '%s'", key);
}

static void
load_name (ScenarioDraft *draft, const ConfigNode *node, DiagList *diags)
{
  if (!config_node_expect (node, CONFIG_SCALAR, diags))
    return;
  g_free (draft->scenario->name);
  draft->scenario->name = g_strdup (config_node_text (node));
}

/* Index of KEY among the lists of a comparison file, or AXIS_N. */
ScenarioAxis
scenario_find_axis (const char *key)
{
  ScenarioAxis axis = AXIS_SCENARIOS;

  while (axis < AXIS_N && !g_str_equal (scenario_axis_names[axis], key))
    axis++;
  return axis;
}

/* The keys of one scenario, or (TOP) of the file. */
void
draft_read_keys (ScenarioDraft *draft, const ConfigNode *node, gboolean top, DiagList *diags)
{
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const char            *key = config_node_key (node, i);
      const ConfigNode      *item = config_node_item (node, i);
      const ScenarioSection *section = scenario_find_section (key);

      if (section != NULL)
        draft_read_section (draft, section, item, diags);
      else if (g_str_equal (key, "strategy"))
        draft_read_strategy (draft, item, diags);
      else if (g_str_equal (key, "name"))
        load_name (draft, item, diags);
      else if (!top || scenario_find_axis (key) == AXIS_N)
        scenario_diagnose_key (key, top, config_node_key_mark (node, i), diags);
    }
}
