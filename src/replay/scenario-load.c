/*
 * Scenarios from a file and from overrides: all errors in one pass, each once although a section may serve many scenarios.
 */
#include "base/suggest.h"
#include "replay/scenario-private.h"

#include <string.h>

#define MAX_KEPT_LINE 4096

/* Scenarios of one file. */
#define SCENARIO_MAX 10000u

typedef struct
{
  const StrategySet *strategies;
  DiagList          *diags;
  DiagList *repeats; /* errors of an entry that has been reported are of no further interest */
  GHashTable *reported; /* entries with errors, by address, and texts of findings about whole scenarios */
  const ConfigNode *axes[AXIS_N];
} Loader;

/* ---- each error once -------------------------------------------------------------------------------------------- */

typedef void (*ApplyFunc) (ScenarioDraft *draft, gconstpointer entry, DiagList *diags);

/* Applies ENTRY, which many scenarios share, to one of them. */
static void
apply_once (Loader *self, ScenarioDraft *draft, ApplyFunc apply, gconstpointer entry)
{
  g_autofree char *key = g_strdup_printf ("%p", entry);
  gboolean         repeat = g_hash_table_contains (self->reported, key);
  DiagList        *diags = repeat ? self->repeats : self->diags;
  guint            n_errors = diag_list_n_errors (diags);

  apply (draft, entry, diags);
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

/* ---- entries of the lists --------------------------------------------------------------------------------------- */

static void
apply_scenario (ScenarioDraft *draft, gconstpointer entry, DiagList *diags)
{
  if (config_node_expect (entry, CONFIG_MAP, diags))
    draft_read_keys (draft, entry, FALSE, diags);
}

/* An entry of `models` is a model of its own: nothing of the file's `model` section is left. */
static void
apply_model (ScenarioDraft *draft, gconstpointer entry, DiagList *diags)
{
  option_table_clear (model_options, &draft->scenario->model);
  option_table_defaults (model_options, &draft->scenario->model);
  draft_read_section (draft, scenario_find_section ("model"), entry, diags);
}

static void
apply_strategy (ScenarioDraft *draft, gconstpointer entry, DiagList *diags)
{
  draft_read_strategy (draft, entry, diags);
}

static void
apply_override (ScenarioDraft *draft, gconstpointer entry, DiagList *diags)
{
  draft_override (draft, entry, diags);
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
entry_label (const ScenarioDraft *draft, ScenarioAxis axis, const ConfigNode *entry)
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

  for (ScenarioAxis axis = 0; axis < AXIS_N; axis++)
    {
      const ConfigNode *list = config_node_get (root, scenario_axis_names[axis]);

      self->axes[axis] = NULL;
      if (list == NULL || !config_node_expect (list, CONFIG_LIST, self->diags))
        continue;
      n *= config_node_length (list);
      if (config_node_length (list) == 0)
        diag_error (self->diags, config_node_mark (list), NULL, "'%s' is empty",
                    scenario_axis_names[axis]);
      else if (n > SCENARIO_MAX)
        diag_error (self->diags, config_node_mark (list), "split the file",
                    "'%s' makes %" G_GUINT64_FORMAT " scenarios (at most %u)",
                    scenario_axis_names[axis], n, SCENARIO_MAX);
      else
        self->axes[axis] = list;
    }
}

/* Names of strategies first, the outermost before the inner ones: they put fresh options in place. */
static void
apply_overrides (Loader *self, ScenarioDraft *draft, const ScenarioOverride *overrides, guint n)
{
  guint deepest = 0;

  for (guint i = 0; i < n; i++)
    deepest = MAX (deepest, scenario_override_depth (&overrides[i]));
  for (guint pass = 1; pass <= deepest + 1; pass++)
    for (guint i = 0; i < n; i++)
      if (scenario_override_depth (&overrides[i]) == (pass <= deepest ? pass : 0))
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
      message = g_strdup_printf (
          "strategy '%s' has no shard group to choose: leave out 'shard' of the mesh",
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
check_draft (Loader *self, const ScenarioDraft *draft, const SourceMark *file)
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

      if (section->table != training_options || !(draft->seen & SEEN_SEQ_LEN))
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
static ScenarioDraft
make_scenario (Loader *self, const ScenarioDraft *base, const guint *index,
               const ScenarioOverride *overrides, guint n_overrides)
{
  ScenarioDraft         draft = { scenario_copy (base->scenario), base->seen, base->strategies };
  g_autoptr (GPtrArray) labels = g_ptr_array_new_with_free_func (g_free);

  for (ScenarioAxis axis = 0; axis < AXIS_N; axis++)
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
axis_length (const Loader *self, ScenarioAxis axis)
{
  return self->axes[axis] != NULL ? config_node_length (self->axes[axis]) : 1;
}

static GPtrArray *
make_all (Loader *self, const ScenarioDraft *base, const SourceMark *file,
          const ScenarioOverride *overrides, guint n_overrides)
{
  GPtrArray             *all = g_ptr_array_new_with_free_func ((GDestroyNotify) scenario_free);
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint                  index[AXIS_N];

  for (index[0] = 0; index[0] < axis_length (self, 0); index[0]++)
    for (index[1] = 0; index[1] < axis_length (self, 1); index[1]++)
      for (index[2] = 0; index[2] < axis_length (self, 2); index[2]++)
        {
          ScenarioDraft draft = make_scenario (self, base, index, overrides, n_overrides);

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

static ScenarioDraft
base_draft (const StrategySet *strategies, const char *file)
{
  ScenarioDraft base = { scenario_new (), 0, strategies };

  base.scenario->name = default_name (file);
  base.scenario->base_dir = file != NULL ? g_path_get_dirname (file) : NULL;
  return base;
}

/* Marks outlive the document whose text they show: their lines are interned, endless ones dropped. */
static void
keep_mark (SourceMark *mark)
{
  gboolean shown = mark->text != NULL && strnlen (mark->text, MAX_KEPT_LINE + 1) <= MAX_KEPT_LINE;

  mark->text = shown ? g_intern_string (mark->text) : NULL;
}

static void
keep_marks (Scenario *scenario)
{
  SourceMark *const marks[] = { &scenario->cluster_mark, &scenario->model_mark,
                                &scenario->training_mark, &scenario->mesh_mark,
                                &scenario->strategy_mark };

  for (guint i = 0; i < G_N_ELEMENTS (marks); i++)
    keep_mark (marks[i]);
  for (guint i = 0; i < MESH_N_OPTIONS; i++)
    keep_mark (&scenario->mesh_marks[i]);
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
  ScenarioDraft          base;

  if (file != NULL && doc == NULL)
    return NULL;
  if (doc != NULL && !config_node_expect (config_doc_root (doc), CONFIG_MAP, diags))
    return NULL;
  base = base_draft (strategies, file);
  if (doc != NULL)
    {
      draft_read_keys (&base, config_doc_root (doc), TRUE, diags);
      read_axes (&self, config_doc_root (doc));
    }
  all = make_all (&self, &base, &mark, overrides, n_overrides);
  scenario_free (base.scenario);
  for (guint i = 0; i < all->len; i++)
    keep_marks (g_ptr_array_index (all, i));
  return diag_list_n_errors (diags) == n_errors ? g_steal_pointer (&all) : NULL;
}
