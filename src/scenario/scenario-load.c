/*
 * Scenarios from a file and from overrides: all errors in one pass, each once although a section
 * may serve many scenarios.
 */
#include "base/config/suggest.h"
#include "base/intern.h"
#include "scenario/scenario-private.h"

#include <string.h>

/*
 * What one file and the command line say; its diagnostics drop repeats, as an entry may serve many
 * scenarios.
 */
typedef struct
{
  const StrategySet      *strategies;
  const char             *file; /* NULL: none */
  const ConfigNode       *root; /* NULL: none */
  const ScenarioOverride *overrides;
  guint                   n_overrides;
  DiagList               *diags;
  gboolean                open;  /* no strategy need be named */
  const ScenarioGiven    *given; /* laid under the overrides, in the place of the file's text */
  guint                   n_given;
} Loader;

/* ---- entries of the lists -------------------------------------------------------------------- */

static void
apply_scenario (ScenarioDraft *draft, const ConfigNode *entry, DiagList *diags)
{
  if (config_node_expect (entry, CONFIG_MAP, diags))
    draft_read_keys (draft, entry, FALSE, diags);
}

/* An entry of `models` is a model of its own: nothing of the file's `model` section is left. */
static void
apply_model (ScenarioDraft *draft, const ConfigNode *entry, DiagList *diags)
{
  option_marks_clear (draft_marks (draft, scenario_find_section ("model")));
  option_table_clear (model_options, &draft->scenario->model);
  option_table_defaults (model_options, &draft->scenario->model);
  draft_read_section (draft, scenario_find_section ("model"), entry, diags);
}

static void (*const axis_apply[AXIS_N]) (ScenarioDraft *draft, const ConfigNode *entry,
                                         DiagList *diags) = {
  [AXIS_SCENARIOS] = apply_scenario,
  [AXIS_MODELS] = apply_model,
  [AXIS_STRATEGIES] = draft_read_strategy,
};

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
  return g_utf8_make_valid (base, -1); /* file names are bytes, labels are text */
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

/* Names of strategies first, the outermost before inner ones: they put fresh options in place. */
static void
apply_given (const Loader *self, ScenarioDraft *draft)
{
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < self->n_given; i++)
      if ((scenario_key_depth (self->given[i].key) > 0) == (pass == 0))
        draft_set (draft, self->given[i].key, self->given[i].value, &self->given[i].mark,
                   self->diags);
}

/* The same. */
static void
apply_overrides (const Loader *self, ScenarioDraft *draft)
{
  guint deepest = 0;

  for (guint i = 0; i < self->n_overrides; i++)
    deepest = MAX (deepest, scenario_key_depth (self->overrides[i].key));
  for (guint pass = 1; pass <= deepest + 1; pass++)
    for (guint i = 0; i < self->n_overrides; i++)
      if (scenario_key_depth (self->overrides[i].key) == (pass <= deepest ? pass : 0))
        draft_override (draft, &self->overrides[i], self->diags);
}

/* ---- whole scenarios ------------------------------------------------------------------------- */

static void
check_required (const Loader *self, const OptionSpec *table, gconstpointer options,
                const char *what, const SourceMark *mark)
{
  for (const OptionSpec *spec = table; spec->key != NULL; spec++)
    if (spec->fallback == NULL && !spec->optional && scenario_option_is_unset (spec, options))
      diag_error (self->diags, mark, spec->help, "%s lacks '%s'", what, spec->key);
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
hand_shard_on (const Loader *self, const Scenario *scenario)
{
  StrategyConfig   *config = find_sharding (scenario->strategy);
  const char       *shard = scenario->mesh.shard;
  const OptionSpec *spec;
  g_autofree char  *own = NULL;
  const SourceMark *mark = option_mark (scenario_marks (scenario, mesh_options), "shard", NULL);

  if (shard == NULL || scenario->strategy == NULL)
    return;
  if (config == NULL)
    {
      diag_error (self->diags, mark,
                  "leave it out, or set it for the scenarios whose strategy shards",
                  "strategy '%s' has no shard group to choose: leave out 'shard' of the mesh",
                  scenario->strategy->strategy->name);
      return;
    }
  spec = option_table_find (scenario_strategy_table (config->strategy), "shard");
  own = option_format (spec, config->options);
  if (config->shard_set && !g_str_equal (own, shard))
    {
      diag_error (self->diags, mark, NULL, "'shard' is '%s' in the mesh and '%s' in strategy '%s'",
                  shard, own, config->strategy->name);
      return;
    }
  option_set (spec, config->options, shard, mark, self->diags);
  option_marks_set (&config->marks, "shard", mark);
  config->shard_set = TRUE;
}

static void
check_draft (const Loader *self, const ScenarioDraft *draft, const SourceMark *file)
{
  if (!(draft->seen & SEEN_CLUSTER))
    diag_error (self->diags, file, "add 'cluster: { name: 4 x dgx-a100 }'",
                "a scenario needs a 'cluster'");
  if (!(draft->seen & SEEN_MODEL))
    diag_error (self->diags, file, "add 'model: { config: llama-3-8b }'",
                "a scenario needs a 'model'");
  if (!(draft->seen & SEEN_STRATEGY) && !self->open)
    diag_error (self->diags, file, "add 'strategy: { name: fsdp2 }'",
                "a scenario needs a 'strategy'");
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    {
      const ScenarioSection *section = &scenario_sections[i];
      const OptionMarks     *marks = draft_marks (draft, section);
      const SourceMark      *mark = marks->section.file != NULL ? &marks->section : file;
      g_autofree char       *what = g_strdup_printf ("section '%s'", section->name);

      if (section->table != training_options || !(draft->seen & SEEN_SEQ_LEN))
        check_required (self, section->table, scenario_section_options (draft->scenario, section),
                        what, mark);
    }
  for (const StrategyConfig *c = draft->scenario->strategy; c != NULL; c = c->inner)
    {
      g_autofree char *what = g_strdup_printf ("strategy '%s'", c->strategy->name);

      check_required (self, c->marks.table, c->options, what, &c->marks.section);
      if (c->strategy->outer && c->inner == NULL)
        diag_error (self->diags, &c->marks.section, "add 'inner: { name: ... }'",
                    "%s needs an inner strategy", what);
    }
  hand_shard_on (self, draft->scenario);
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
  return g_utf8_make_valid (base, -1);
}

/* The file's scenario I: its own keys, its lists' entries laid over them, then the overrides. */
static ScenarioDraft
make_scenario (const Loader *self, const ScenarioGrid *grid, guint i)
{
  g_autoptr (GHashTable) picks = scenario_grid_picks (grid, i);
  g_autoptr (GPtrArray)  labels = g_ptr_array_new_with_free_func (g_free);
  ScenarioDraft          draft = { scenario_new (), 0, self->strategies, NULL };

  draft.scenario->name = default_name (self->file);
  draft.scenario->base_dir = self->file != NULL ? g_path_get_dirname (self->file) : NULL;
  draft.picks = picks;
  if (self->root != NULL)
    draft_read_keys (&draft, self->root, TRUE, self->diags);
  for (ScenarioAxis axis = 0; axis <= AXIS_N; axis++)
    {
      const ConfigNode *entry = axis < AXIS_N ? scenario_grid_entry (grid, i, axis) : NULL;
      g_autofree char  *label = NULL, *values = scenario_grid_label (grid, i, axis);

      if (entry != NULL)
        {
          axis_apply[axis](&draft, entry, self->diags);
          label = entry_label (&draft, axis, entry);
        }
      if (label != NULL && values != NULL)
        g_ptr_array_add (labels, g_strdup_printf ("%s, %s", label, values));
      else if (label != NULL || values != NULL)
        g_ptr_array_add (labels, g_strdup (label != NULL ? label : values));
    }
  if (labels->len > 0)
    {
      g_free (draft.scenario->name);
      g_ptr_array_add (labels, NULL);
      draft.scenario->name = g_strjoinv (" / ", (char **) labels->pdata);
    }
  apply_given (self, &draft);
  apply_overrides (self, &draft);
  draft.picks = NULL;
  return draft;
}

static GPtrArray *
make_all (const Loader *self)
{
  GPtrArray               *all = g_ptr_array_new_with_free_func ((GDestroyNotify) scenario_free);
  g_autoptr (GHashTable)   names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (ScenarioGrid) grid =
      scenario_grid_new (self->root, self->overrides, self->n_overrides, self->diags);
  SourceMark mark = { .file = self->file != NULL ? intern_text (self->file) : NULL };

  for (guint i = 0; i < scenario_grid_length (grid); i++)
    {
      ScenarioDraft draft = make_scenario (self, grid, i);

      check_draft (self, &draft, &mark);
      /* Names within a comparison are unique: the second of a name gets a number. */
      g_autofree char *base = g_strdup (draft.scenario->name);

      for (guint n = 2; g_hash_table_contains (names, draft.scenario->name); n++)
        {
          g_free (draft.scenario->name);
          draft.scenario->name = g_strdup_printf ("%s (%u)", base, n);
        }
      g_hash_table_add (names, g_strdup (draft.scenario->name));
      g_ptr_array_add (all, draft.scenario);
    }
  return all;
}

/* NULL after diagnostics, of which N_ERRORS were there before. */
static GPtrArray *
load_all (const Loader *self, guint n_errors)
{
  g_autoptr (GPtrArray) all = NULL;

  diag_list_drop_repeats (self->diags, TRUE);
  all = make_all (self);
  diag_list_drop_repeats (self->diags, FALSE);
  return diag_list_n_errors (self->diags) == n_errors ? g_steal_pointer (&all) : NULL;
}

/* The scenarios of DOC (NULL: it could not be read). */
static GPtrArray *
load_document (Loader *self, const ConfigDoc *doc, guint n_errors)
{
  if (doc == NULL || !config_node_expect (config_doc_root (doc), CONFIG_MAP, self->diags))
    return NULL;
  self->root = config_doc_root (doc);
  return load_all (self, n_errors);
}

static GPtrArray *
load_file (Loader *self)
{
  guint                 n_errors = diag_list_n_errors (self->diags);
  g_autoptr (ConfigDoc) doc = self->file != NULL ? config_load (self->file, self->diags) : NULL;

  return self->file != NULL ? load_document (self, doc, n_errors) : load_all (self, n_errors);
}

GPtrArray *
scenario_load (const StrategySet *strategies, const char *file, const ScenarioOverride *overrides,
               guint n_overrides, DiagList *diags)
{
  Loader self = { .strategies = strategies,
                  .file = file,
                  .overrides = overrides,
                  .n_overrides = n_overrides,
                  .diags = diags };

  return load_file (&self);
}

GPtrArray *
scenario_load_open (const StrategySet *strategies, const char *file,
                    const ScenarioOverride *overrides, guint n_overrides, DiagList *diags)
{
  Loader self = { .strategies = strategies,
                  .file = file,
                  .overrides = overrides,
                  .n_overrides = n_overrides,
                  .diags = diags,
                  .open = TRUE };

  return load_file (&self);
}

GPtrArray *
scenario_load_given (const StrategySet *strategies, const char *file, const ScenarioGiven *given,
                     guint n_given, const ScenarioOverride *overrides, guint n_overrides,
                     gboolean open, DiagList *diags)
{
  const Loader self = { .strategies = strategies,
                        .file = file,
                        .overrides = overrides,
                        .n_overrides = n_overrides,
                        .diags = diags,
                        .open = open,
                        .given = given,
                        .n_given = n_given };

  return load_all (&self, diag_list_n_errors (diags));
}

static GPtrArray *
load_text (Loader *self, const char *text)
{
  guint                 n_errors = diag_list_n_errors (self->diags);
  g_autoptr (ConfigDoc) doc = config_load_text (self->file, text, -1, self->diags);

  return load_document (self, doc, n_errors);
}

GPtrArray *
scenario_load_text (const StrategySet *strategies, const char *name, const char *text,
                    const ScenarioOverride *overrides, guint n_overrides, DiagList *diags)
{
  Loader self = { .strategies = strategies,
                  .file = name,
                  .overrides = overrides,
                  .n_overrides = n_overrides,
                  .diags = diags };

  return load_text (&self, text);
}

GPtrArray *
scenario_load_text_open (const StrategySet *strategies, const char *name, const char *text,
                         const ScenarioOverride *overrides, guint n_overrides, DiagList *diags)
{
  Loader self = { .strategies = strategies,
                  .file = name,
                  .overrides = overrides,
                  .n_overrides = n_overrides,
                  .diags = diags,
                  .open = TRUE };

  return load_text (&self, text);
}

Scenario *
scenario_with (const Scenario *source, const StrategySet *strategies,
               const ScenarioOverride *overrides, guint n_overrides, DiagList *diags)
{
  guint        n_errors = diag_list_n_errors (diags);
  const Loader self = {
    .strategies = strategies, .overrides = overrides, .n_overrides = n_overrides, .diags = diags
  };
  const SourceMark mark = { 0 };
  ScenarioDraft    draft = { scenario_copy (source),
                             SEEN_CLUSTER | SEEN_MODEL | SEEN_STRATEGY | SEEN_SEQ_LEN, strategies,
                             NULL };

  /* what the mesh handed to the strategy is the mesh's, which may now say otherwise */
  for (StrategyConfig *c = draft.scenario->strategy; source->mesh.shard != NULL && c != NULL;
       c = c->inner)
    c->shard_set = FALSE;
  apply_overrides (&self, &draft);
  check_draft (&self, &draft, &mark);
  if (diag_list_n_errors (diags) == n_errors)
    return draft.scenario;
  scenario_free (draft.scenario);
  return NULL;
}
