/*
 * Scenarios from a file and from overrides: all errors in one pass, each once although a section may serve many scenarios.
 */
#include "base/suggest.h"
#include "replay/scenario-private.h"

#include <string.h>

typedef enum
{
  SEEN_CLUSTER = 1 << 0,
  SEEN_MODEL = 1 << 1,
  SEEN_STRATEGY = 1 << 2, /* named, though perhaps an unknown one */
} Seen;

/* Scenarios of one file. */
#define SCENARIO_MAX 10000u

/* A scenario on its way, and which of its necessary sections were given. */
typedef struct
{
  Scenario *scenario;
  guint     seen;
} Draft;

/* Lists of a comparison file, each a dimension of the product. */
typedef enum
{
  AXIS_SCENARIOS,
  AXIS_MODELS,
  AXIS_STRATEGIES,
  AXIS_N,
} Axis;

static const char *const axis_names[AXIS_N + 1] = { "scenarios", "models", "strategies", NULL };

typedef struct
{
  const StrategySet *strategies;
  DiagList          *diags;
  DiagList *repeats; /* errors of an entry that has been reported are of no further interest */
  GHashTable *reported; /* entries with errors, by address, and texts of findings about whole scenarios */
  const ConfigNode *axes[AXIS_N];
} Loader;

/* ---- each error once -------------------------------------------------------------------------------------------- */

typedef void (*ApplyFunc) (Loader *self, Draft *draft, gconstpointer entry, DiagList *diags);

/* Applies ENTRY, which many scenarios share, to one of them. */
static void
apply_once (Loader *self, Draft *draft, ApplyFunc apply, gconstpointer entry)
{
  g_autofree char *key = g_strdup_printf ("%p", entry);
  gboolean         repeat = g_hash_table_contains (self->reported, key);
  DiagList        *diags = repeat ? self->repeats : self->diags;
  guint            n_errors = diag_list_n_errors (diags);

  apply (self, draft, entry, diags);
  if (!repeat && diag_list_n_errors (diags) > n_errors)
    g_hash_table_add (self->reported, g_steal_pointer (&key));
}

/* Reports a finding about a whole scenario, unless an earlier one had the same at the same place. */
static void
report_once (Loader *self, const SourceMark *mark, const char *hint, const char *message)
{
  char *key = g_strdup_printf ("%s:%u:%u:%s", mark->file != NULL ? mark->file : "", mark->line,
                               mark->column, message);

  if (g_hash_table_add (self->reported, key))
    diag_error (self->diags, mark, hint, "%s", message);
}

/* ---- strategies ------------------------------------------------------------------------------------------------- */

static const Strategy *
find_strategy (const Loader *self, const char *name)
{
  return self->strategies != NULL ? strategy_set_find (self->strategies, name) : strategy_find (name);
}

static void
diagnose_strategy (const Loader *self, const char *name, const SourceMark *mark, DiagList *diags)
{
  const Strategy *const *list =
      self->strategies != NULL ? strategy_set_list (self->strategies) : strategy_list ();
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char      *all = NULL;
  g_autofree char      *hint = NULL;
  const char           *nearest;

  for (guint i = 0; list[i] != NULL; i++)
    g_ptr_array_add (names, (gpointer) list[i]->name);
  g_ptr_array_add (names, NULL);
  all = g_strjoinv (", ", (char **) names->pdata);
  nearest = suggest_nearest (name, (const char *const *) names->pdata);
  hint = nearest != NULL ? g_strdup_printf ("did you mean '%s'? strategies: %s", nearest, all)
                         : g_strdup_printf ("strategies: %s", all);
  diag_error (diags, mark, hint, "unknown strategy '%s'", name);
}

/* Puts the strategy NAME with its defaults in the place of *SLOT; NULL when there is none of that name. */
static gboolean
replace_strategy (const Loader *self, StrategyConfig **slot, const char *name,
                  const SourceMark *mark, DiagList *diags)
{
  const Strategy *strategy = find_strategy (self, name);

  strategy_config_free (g_steal_pointer (slot));
  if (strategy == NULL)
    diagnose_strategy (self, name, mark, diags);
  else
    *slot = strategy_config_new (strategy);
  return strategy != NULL;
}

static void load_strategy (const Loader *self, StrategyConfig **slot, const ConfigNode *node,
                           DiagList *diags);

static void
load_inner (const Loader *self, StrategyConfig *outer, const ConfigNode *node, DiagList *diags)
{
  if (!outer->strategy->outer)
    diag_error (diags, config_node_mark (node), NULL, "strategy '%s' takes no inner strategy",
                outer->strategy->name);
  else
    load_strategy (self, &outer->inner, node, diags);
}

/* 'label' names the scenario of an entry of `strategies`; it is read elsewhere. */
static void
load_strategy_map (const Loader *self, StrategyConfig **slot, const ConfigNode *node, DiagList *diags)
{
  static const char *const ignore[] = { "name", "inner", "label", NULL };
  const ConfigNode        *name = config_node_get (node, "name");
  const ConfigNode        *inner = config_node_get (node, "inner");

  if (name != NULL)
    {
      if (!config_node_expect (name, CONFIG_SCALAR, diags)
          || !replace_strategy (self, slot, config_node_text (name), config_node_mark (name), diags))
        return;
    }
  else if (*slot == NULL)
    {
      diag_error (diags, config_node_mark (node), NULL, "a strategy needs a 'name'");
      return;
    }
  (*slot)->shard_set |= config_node_get (node, "shard") != NULL;
  option_load_map (scenario_strategy_table ((*slot)->strategy), (*slot)->options, node, ignore, diags);
  if (inner != NULL)
    load_inner (self, *slot, inner, diags);
}

static void
load_strategy (const Loader *self, StrategyConfig **slot, const ConfigNode *node, DiagList *diags)
{
  if (config_node_kind (node) == CONFIG_SCALAR && !config_node_is_null (node))
    replace_strategy (self, slot, config_node_text (node), config_node_mark (node), diags);
  else if (config_node_expect (node, CONFIG_MAP, diags))
    load_strategy_map (self, slot, node, diags);
}

static void
apply_strategy (Loader *self, Draft *draft, gconstpointer entry, DiagList *diags)
{
  const ConfigNode *node = entry;

  draft->seen |= SEEN_STRATEGY;
  draft->scenario->strategy_mark = *config_node_mark (node);
  load_strategy (self, &draft->scenario->strategy, node, diags);
}

/* ---- sections --------------------------------------------------------------------------------------------------- */

static void
mark_seen (Draft *draft, const ScenarioSection *section, const SourceMark *mark)
{
  if (g_str_equal (section->name, "cluster"))
    draft->seen |= SEEN_CLUSTER;
  if (g_str_equal (section->name, "model"))
    draft->seen |= SEEN_MODEL;
  if (section->mark != 0)
    *(SourceMark *) G_STRUCT_MEMBER_P (draft->scenario, section->mark) = *mark;
}

/* Axes of the mesh that no schedule knows yet must stay at one rank. */
static void
check_axis (const Draft *draft, const char *key, const SourceMark *mark, DiagList *diags)
{
  const OptionSpec *spec = option_table_find (mesh_options, key);
  gint64            value;

  if (spec == NULL || spec->type != OPTION_INT)
    return;
  value = *(const gint64 *) G_STRUCT_MEMBER_P (&draft->scenario->mesh, spec->offset);
  if (value != g_ascii_strtoll (spec->fallback, NULL, 10))
    diag_error (diags, mark, NULL, "not modelled yet: '%s' of %" G_GINT64_FORMAT " (%s)", key,
                value, spec->help);
}

static void
check_axes (const Draft *draft, const ConfigNode *node, DiagList *diags)
{
  for (guint i = 0; i < config_node_length (node); i++)
    check_axis (draft, config_node_key (node, i), config_node_mark (config_node_item (node, i)),
                diags);
}

static void
load_section (Draft *draft, const ScenarioSection *section, const ConfigNode *node, DiagList *diags)
{
  gpointer options = scenario_section_options (draft->scenario, section);

  mark_seen (draft, section, config_node_mark (node));
  if (section->shorthand != NULL && config_node_kind (node) == CONFIG_SCALAR
      && !config_node_is_null (node))
    option_set_key (section->table, options, section->shorthand, config_node_text (node),
                    config_node_mark (node), diags);
  else if (config_node_expect (node, CONFIG_MAP, diags))
    {
      option_load_map (section->table, options, node, NULL, diags);
      if (section->table == mesh_options)
        check_axes (draft, node, diags);
    }
}

static const ScenarioSection *
find_section (const char *name)
{
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    if (g_str_equal (scenario_sections[i].name, name))
      return &scenario_sections[i];
  return NULL;
}

static void
diagnose_key (const char *key, gboolean top, const SourceMark *mark, DiagList *diags)
{
  const char      *names[SCENARIO_N_SECTIONS + AXIS_N + 3];
  g_autofree char *hint = NULL;
  guint            n = 0;

  names[n++] = "name";
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    names[n++] = scenario_sections[i].name;
  names[n++] = "strategy";
  for (guint i = 0; top && i < AXIS_N; i++)
    names[n++] = axis_names[i];
  names[n] = NULL;
  hint = suggest_hint (key, names);
  diag_error (diags, mark, hint, "unknown key '%s'", key);
}

static void
load_name (Draft *draft, const ConfigNode *node, DiagList *diags)
{
  if (!config_node_expect (node, CONFIG_SCALAR, diags))
    return;
  g_free (draft->scenario->name);
  draft->scenario->name = g_strdup (config_node_text (node));
}

/* Index of KEY among the lists of a comparison file, or AXIS_N. */
static Axis
find_axis (const char *key)
{
  Axis axis = AXIS_SCENARIOS;

  while (axis < AXIS_N && !g_str_equal (axis_names[axis], key))
    axis++;
  return axis;
}

/* The keys of one scenario, or (TOP) of the file. */
static void
load_keys (Loader *self, Draft *draft, const ConfigNode *node, gboolean top, DiagList *diags)
{
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const char            *key = config_node_key (node, i);
      const ConfigNode      *item = config_node_item (node, i);
      const ScenarioSection *section = find_section (key);

      if (section != NULL)
        load_section (draft, section, item, diags);
      else if (g_str_equal (key, "strategy"))
        apply_strategy (self, draft, item, diags);
      else if (g_str_equal (key, "name"))
        load_name (draft, item, diags);
      else if (!top || find_axis (key) == AXIS_N)
        diagnose_key (key, top, config_node_key_mark (node, i), diags);
    }
}

/* ---- entries of the lists --------------------------------------------------------------------------------------- */

static void
apply_scenario (Loader *self, Draft *draft, gconstpointer entry, DiagList *diags)
{
  if (config_node_expect (entry, CONFIG_MAP, diags))
    load_keys (self, draft, entry, FALSE, diags);
}

/* An entry of `models` is a model of its own: nothing of the file's `model` section is left. */
static void
apply_model (G_GNUC_UNUSED Loader *self, Draft *draft, gconstpointer entry, DiagList *diags)
{
  option_table_clear (model_options, &draft->scenario->model);
  option_table_defaults (model_options, &draft->scenario->model);
  load_section (draft, find_section ("model"), entry, diags);
}

static const ApplyFunc axis_apply[AXIS_N] = { apply_scenario, apply_model, apply_strategy };

static char *
model_label (const ModelOptions *model)
{
  g_autofree char *base = NULL;

  if (model->name != NULL)
    return g_strdup (model->name);
  if (model->config == NULL)
    return g_strdup (model->arch != NULL ? model->arch : "model");
  base = g_path_get_basename (model->config);
  if (g_str_has_suffix (base, ".json"))
    base[strlen (base) - strlen (".json")] = '\0';
  return g_steal_pointer (&base);
}

static char *
strategy_label (const StrategyConfig *config)
{
  GString *label = g_string_new (NULL);

  for (; config != NULL; config = config->inner)
    g_string_append_printf (label, "%s%s", label->len > 0 ? "+" : "", config->strategy->name);
  return g_string_free (label, FALSE);
}

/* What tells this entry's scenario from the others'. NULL: nothing. */
static char *
entry_label (const Draft *draft, Axis axis, const ConfigNode *entry)
{
  const ConfigNode *given = config_node_get (entry, axis == AXIS_SCENARIOS ? "name" : "label");

  if (axis != AXIS_MODELS && given != NULL && config_node_text (given) != NULL)
    return g_strdup (config_node_text (given));
  if (axis == AXIS_MODELS)
    return model_label (&draft->scenario->model);
  return axis == AXIS_STRATEGIES ? strategy_label (draft->scenario->strategy) : NULL;
}

static void
read_axes (Loader *self, const ConfigNode *root)
{
  guint64 n = 1;

  for (Axis axis = 0; axis < AXIS_N; axis++)
    {
      const ConfigNode *list = config_node_get (root, axis_names[axis]);

      self->axes[axis] = NULL;
      if (list == NULL || !config_node_expect (list, CONFIG_LIST, self->diags))
        continue;
      n *= config_node_length (list);
      if (config_node_length (list) == 0)
        diag_error (self->diags, config_node_mark (list), NULL, "'%s' is empty", axis_names[axis]);
      else if (n > SCENARIO_MAX)
        diag_error (self->diags, config_node_mark (list), "split the file",
                    "'%s' makes %" G_GUINT64_FORMAT " scenarios (at most %u)", axis_names[axis], n,
                    SCENARIO_MAX);
      else
        self->axes[axis] = list;
    }
}

/* ---- overrides -------------------------------------------------------------------------------------------------- */

static SourceMark
override_mark (const ScenarioOverride *override)
{
  g_autofree char *place = NULL;

  if (g_strcmp0 (override->origin, "--set") == 0)
    place = g_strdup_printf ("--set %s=%s", override->key, override->value);
  else
    place = g_strdup_printf ("%s %s", override->origin != NULL ? override->origin : override->key,
                             override->value);
  return (SourceMark){ .file = g_intern_string (place) };
}

/* 1 for an override that names the strategy, 2 its inner one, ...; 0 for one that sets anything else. */
static guint
strategy_depth (const ScenarioOverride *override)
{
  const char *key = override->key;
  guint       depth = 1;

  if (!g_str_has_prefix (key, "strategy."))
    return 0;
  for (key += strlen ("strategy."); g_str_has_prefix (key, "inner."); key += strlen ("inner."))
    depth++;
  return g_str_equal (key, "name") ? depth : 0;
}

/* The strategy that KEY ("inner.inner.x") means, with *LEAF set to "x". NULL after a diagnostic. */
static StrategyConfig **
walk_inner (StrategyConfig **slot, const char *key, const char **leaf, const SourceMark *mark,
            DiagList *diags)
{
  for (; g_str_has_prefix (key, "inner."); key += strlen ("inner."))
    {
      if (*slot == NULL || !(*slot)->strategy->outer)
        {
          diag_error (diags, mark, NULL, "strategy '%s' takes no inner strategy",
                      *slot != NULL ? (*slot)->strategy->name : "");
          return NULL;
        }
      slot = &(*slot)->inner;
    }
  *leaf = key;
  return slot;
}

static void
override_strategy (Loader *self, Draft *draft, const char *key, const char *value,
                   const SourceMark *mark, DiagList *diags)
{
  StrategyConfig **slot = walk_inner (&draft->scenario->strategy, key, &key, mark, diags);

  if (slot == NULL)
    return;
  if (slot == &draft->scenario->strategy && g_str_equal (key, "name"))
    {
      draft->seen |= SEEN_STRATEGY;
      draft->scenario->strategy_mark = *mark;
    }
  if (g_str_equal (key, "name"))
    replace_strategy (self, slot, value, mark, diags);
  else if (*slot != NULL)
    {
      (*slot)->shard_set |= g_str_equal (key, "shard");
      option_set_key (scenario_strategy_table ((*slot)->strategy), (*slot)->options, key, value,
                      mark, diags);
    }
  else if (!(draft->seen & SEEN_STRATEGY)) /* else the unknown name has been reported */
    diag_error (diags, mark, "set 'strategy.name'", "there is no strategy whose '%s' could be set",
                key);
}

/* For a bare key: the section that has an option of that name, "training.micro_batch". */
static char *
hint_section_of (const char *key)
{
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    if (option_table_find (scenario_sections[i].table, key) != NULL)
      return g_strdup_printf ("did you mean '%s.%s'?", scenario_sections[i].name, key);
  return NULL;
}

static void
override_section (Draft *draft, const ScenarioOverride *override, const SourceMark *mark,
                  DiagList *diags)
{
  const char      *dot = strchr (override->key, '.');
  g_autofree char *name =
      dot != NULL ? g_strndup (override->key, dot - override->key) : g_strdup (override->key);
  const ScenarioSection *section = dot != NULL ? find_section (name) : NULL;

  if (section == NULL)
    {
      g_autofree char *hint = dot == NULL ? hint_section_of (name) : NULL;

      if (hint != NULL)
        diag_error (diags, mark, hint, "unknown key '%s'", name);
      else
        diagnose_key (name, FALSE, mark, diags);
      return;
    }
  mark_seen (draft, section, mark);
  if (option_set_key (section->table, scenario_section_options (draft->scenario, section), dot + 1,
                      override->value, mark, diags)
      && section->table == mesh_options)
    check_axis (draft, dot + 1, mark, diags);
}

static void
apply_override (Loader *self, Draft *draft, gconstpointer entry, DiagList *diags)
{
  const ScenarioOverride *override = entry;
  SourceMark              mark = override_mark (override);

  if (g_str_equal (override->key, "name"))
    {
      g_free (draft->scenario->name);
      draft->scenario->name = g_strdup (override->value);
    }
  else if (g_str_has_prefix (override->key, "strategy."))
    override_strategy (self, draft, override->key + strlen ("strategy."), override->value, &mark,
                       diags);
  else
    override_section (draft, override, &mark, diags);
}

/* Names of strategies first, the outermost before the inner ones: they put fresh options in place. */
static void
apply_overrides (Loader *self, Draft *draft, const ScenarioOverride *overrides, guint n)
{
  guint deepest = 0;

  for (guint i = 0; i < n; i++)
    deepest = MAX (deepest, strategy_depth (&overrides[i]));
  for (guint pass = 1; pass <= deepest + 1; pass++)
    for (guint i = 0; i < n; i++)
      if (strategy_depth (&overrides[i]) == (pass <= deepest ? pass : 0))
        apply_once (self, draft, apply_override, &overrides[i]);
}

/* ---- whole scenarios -------------------------------------------------------------------------------------------- */

static void
check_required (Loader *self, const OptionSpec *table, gconstpointer options, const char *what,
                const SourceMark *mark)
{
  for (const OptionSpec *spec = table; spec->key != NULL; spec++)
    if (spec->fallback == NULL && !spec->optional && scenario_option_is_unset (spec, options))
      {
        g_autofree char *message = g_strdup_printf ("%s lacks '%s'", what, spec->key);

        report_once (self, mark, spec->help, message);
      }
}

static void
check_strategies (Loader *self, const Scenario *scenario)
{
  for (const StrategyConfig *c = scenario->strategy; c != NULL; c = c->inner)
    {
      g_autofree char *what = g_strdup_printf ("strategy '%s'", c->strategy->name);

      check_required (self, scenario_strategy_table (c->strategy), c->options, what,
                      &scenario->strategy_mark);
      if (c->strategy->outer && c->inner == NULL)
        {
          g_autofree char *message = g_strdup_printf ("%s needs an inner strategy", what);

          report_once (self, &scenario->strategy_mark, "add 'inner: { name: ... }'", message);
        }
    }
}

/* The innermost strategy with an option 'shard', or NULL. */
static StrategyConfig *
find_sharding (StrategyConfig *config)
{
  StrategyConfig *found = NULL;

  for (; config != NULL; config = config->inner)
    if (option_table_find (scenario_strategy_table (config->strategy), "shard") != NULL)
      found = config;
  return found;
}

/* `mesh.shard` is the strategy's own option of that name. */
static void
hand_shard_on (Loader *self, const Scenario *scenario)
{
  StrategyConfig   *config = find_sharding (scenario->strategy);
  const char       *shard = scenario->mesh.shard;
  const OptionSpec *spec;
  g_autofree char  *own = NULL;
  g_autofree char  *message = NULL;

  if (shard == NULL || scenario->strategy == NULL)
    return;
  if (config == NULL)
    {
      message = g_strdup_printf ("strategy '%s' shards nothing: 'shard' of the mesh has no meaning",
                                 scenario->strategy->strategy->name);
      report_once (self, &scenario->mesh_mark,
                   "leave it out, or set it for the scenarios whose strategy shards", message);
      return;
    }
  spec = option_table_find (scenario_strategy_table (config->strategy), "shard");
  own = option_format (spec, config->options);
  if (config->shard_set && !g_str_equal (own, shard))
    {
      message = g_strdup_printf ("'shard' is '%s' in the mesh and '%s' in strategy '%s'", shard,
                                 own, config->strategy->name);
      report_once (self, &scenario->mesh_mark, NULL, message);
      return;
    }
  option_set (spec, config->options, shard, &scenario->mesh_mark, self->diags);
  config->shard_set = TRUE;
}

static void
check_draft (Loader *self, const Draft *draft, const SourceMark *file)
{
  if (!(draft->seen & SEEN_CLUSTER))
    report_once (self, file, "add 'cluster: { name: 4 x dgx-a100 }'", "a scenario needs a 'cluster'");
  if (!(draft->seen & SEEN_MODEL))
    report_once (self, file, "add 'model: { config: llama-3-8b }'", "a scenario needs a 'model'");
  if (!(draft->seen & SEEN_STRATEGY))
    report_once (self, file, "add 'strategy: { name: fsdp2 }'", "a scenario needs a 'strategy'");
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    {
      const ScenarioSection *section = &scenario_sections[i];
      const SourceMark      *mark =
          section->mark != 0 ? G_STRUCT_MEMBER_P (draft->scenario, section->mark) : file;
      g_autofree char *what = g_strdup_printf ("section '%s'", section->name);

      check_required (self, section->table, scenario_section_options (draft->scenario, section),
                      what, mark);
    }
  check_strategies (self, draft->scenario);
  hand_shard_on (self, draft->scenario);
}

/* Names within a comparison are unique: the second of a name gets a number. */
static void
name_uniquely (GHashTable *names, Scenario *scenario)
{
  g_autofree char *base = g_strdup (scenario->name);

  for (guint n = 2; g_hash_table_contains (names, scenario->name); n++)
    {
      g_free (scenario->name);
      scenario->name = g_strdup_printf ("%s (%u)", base, n);
    }
  g_hash_table_add (names, g_strdup (scenario->name));
}

static char *
join_labels (GPtrArray *labels)
{
  g_ptr_array_add (labels, NULL);
  return g_strjoinv (" / ", (char **) labels->pdata);
}

/* One scenario: BASE with one entry of each list (INDEX) laid over it, then the overrides. */
static Draft
make_scenario (Loader *self, const Draft *base, const guint *index,
               const ScenarioOverride *overrides, guint n_overrides)
{
  Draft                 draft = { scenario_copy (base->scenario), base->seen };
  g_autoptr (GPtrArray) labels = g_ptr_array_new_with_free_func (g_free);

  for (Axis axis = 0; axis < AXIS_N; axis++)
    {
      const ConfigNode *entry =
          self->axes[axis] != NULL ? config_node_item (self->axes[axis], index[axis]) : NULL;
      char *label;

      if (entry == NULL)
        continue;
      apply_once (self, &draft, axis_apply[axis], entry);
      label = entry_label (&draft, axis, entry);
      if (label != NULL)
        g_ptr_array_add (labels, label);
    }
  if (labels->len > 0)
    {
      g_free (draft.scenario->name);
      draft.scenario->name = join_labels (labels);
    }
  apply_overrides (self, &draft, overrides, n_overrides);
  return draft;
}

static guint
axis_length (const Loader *self, Axis axis)
{
  return self->axes[axis] != NULL ? config_node_length (self->axes[axis]) : 1;
}

static GPtrArray *
make_all (Loader *self, const Draft *base, const SourceMark *file,
          const ScenarioOverride *overrides, guint n_overrides)
{
  GPtrArray             *all = g_ptr_array_new_with_free_func ((GDestroyNotify) scenario_free);
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint                  index[AXIS_N];

  for (index[0] = 0; index[0] < axis_length (self, 0); index[0]++)
    for (index[1] = 0; index[1] < axis_length (self, 1); index[1]++)
      for (index[2] = 0; index[2] < axis_length (self, 2); index[2]++)
        {
          Draft draft = make_scenario (self, base, index, overrides, n_overrides);

          check_draft (self, &draft, file);
          name_uniquely (names, draft.scenario);
          g_ptr_array_add (all, draft.scenario);
        }
  return all;
}

static char *
default_name (const char *file)
{
  g_autofree char *base = NULL;
  char            *dot;

  if (file == NULL)
    return g_strdup ("scenario");
  base = g_path_get_basename (file);
  dot = strrchr (base, '.');
  if (dot != NULL && dot != base)
    *dot = '\0';
  return g_steal_pointer (&base);
}

static Draft
base_draft (const char *file)
{
  Draft base = { scenario_new (), 0 };

  base.scenario->name = default_name (file);
  base.scenario->base_dir = file != NULL ? g_path_get_dirname (file) : NULL;
  return base;
}

GPtrArray *
scenario_load (const StrategySet *strategies, const char *file, const ScenarioOverride *overrides,
               guint n_overrides, DiagList *diags)
{
  guint                  n_errors = diag_list_n_errors (diags);
  g_autoptr (DiagList)   repeats = diag_list_new ();
  g_autoptr (GHashTable) reported = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (ConfigDoc)  doc = file != NULL ? config_load (file, diags) : NULL;
  Loader                 self = { strategies, diags, repeats, reported, { NULL } };
  SourceMark             mark = { .file = file != NULL ? g_intern_string (file) : NULL };
  g_autoptr (GPtrArray)  all = NULL;
  Draft                  base;

  if (file != NULL && doc == NULL)
    return NULL;
  if (doc != NULL && !config_node_expect (config_doc_root (doc), CONFIG_MAP, diags))
    return NULL;
  base = base_draft (file);
  if (doc != NULL)
    {
      load_keys (&self, &base, config_doc_root (doc), TRUE, diags);
      read_axes (&self, config_doc_root (doc));
    }
  all = make_all (&self, &base, &mark, overrides, n_overrides);
  scenario_free (base.scenario);
  return diag_list_n_errors (diags) == n_errors ? g_steal_pointer (&all) : NULL;
}
