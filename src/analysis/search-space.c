/* Axes from the option tables, variants from the registry. */
#include "analysis/search-space.h"

#include <string.h>

#include "scenario/software.h"

#define D "%" G_GINT64_FORMAT

#define MOST_TENSOR  64 /* ranks of the axes that are tried unasked */
#define MOST_CONTEXT 16
#define MOST_STAGES  64
#define MOST_CHUNKS  8 /* of a stage */
#define MOST_BATCH   16
#define MOST_LAYERS  8 /* K of layers:K */

typedef struct
{
  SearchSpace      *space;
  const SearchRoom *room;
  const SearchVary *vary;
  guint             n_vary;
} Maker;

/* ---- choices --------------------------------------------------------------------------------- */

static void
choice_free (gpointer data)
{
  SearchChoice *self = data;

  g_array_unref (self->options);
  g_free (self);
}

static void
axis_free (gpointer data)
{
  SearchAxis *self = data;

  g_free (self->name);
  g_ptr_array_unref (self->choices);
  g_free (self);
}

static SearchAxis *
add_axis (Maker *self, const char *name)
{
  SearchAxis *axis = g_new0 (SearchAxis, 1);

  axis->name = g_strdup (name);
  axis->choices = g_ptr_array_new_with_free_func (choice_free);
  g_ptr_array_add (self->space->axes, axis);
  return axis;
}

static SearchChoice *
add_choice (SearchAxis *axis)
{
  SearchChoice *choice = g_new0 (SearchChoice, 1);

  choice->options = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  choice->degree = 1;
  g_ptr_array_add (axis->choices, choice);
  return choice;
}

static gboolean
divides_replicas (const char *key)
{
  return g_str_equal (key, "mesh.tp") || g_str_equal (key, "mesh.cp")
         || g_str_equal (key, "mesh.pp");
}

static gboolean
is_of_pipeline (const char *key)
{
  return g_str_equal (key, "mesh.pp") || g_str_equal (key, "mesh.vp")
         || g_str_equal (key, "mesh.pipeline");
}

static void
set_option (SearchChoice *choice, const char *key, const char *value)
{
  const ScenarioOverride option = { g_intern_string (key), g_intern_string (value), "search" };

  g_array_append_val (choice->options, option);
  if (divides_replicas (key))
    choice->degree *= MAX (g_ascii_strtoll (value, NULL, 10), 1);
  if (g_str_equal (key, "training.micro_batch"))
    choice->batch = g_ascii_strtoll (value, NULL, 10);
}

static void
set_number (SearchChoice *choice, const char *key, gint64 value)
{
  g_autofree char *text = g_strdup_printf (D, value);

  set_option (choice, key, text);
}

/* ---- what is open ---------------------------------------------------------------------------- */

gboolean
search_space_is_open (const SearchSpace *self, const char *key)
{
  const char        *dot = strchr (key, '.');
  g_autofree char   *section = g_strndup (key, dot - key);
  const OptionSpec  *table = scenario_section_table (section);
  const OptionMarks *marks = scenario_marks (self->scenario, table);

  return !self->only && !option_marks_has (marks, dot + 1)
         && !g_hash_table_contains (self->varied, key);
}

static gboolean
is_open (const Maker *self, const char *section, const char *key)
{
  g_autofree char *name = g_strdup_printf ("%s.%s", section, key);

  return search_space_is_open (self->space, name);
}

/* ---- axes of the tables ---------------------------------------------------------------------- */

/*
 * Tensor ranks stay inside a node; with them activations may be divided along the sequence, and
 * then experts may be whole on a rank (etp), as frameworks have them.
 */
static void
add_tensor (Maker *self)
{
  SearchAxis    *axis;
  gint64         most = MIN (self->room->gpus_per_node, MOST_TENSOR);
  const gboolean folds = self->room->n_experts > 0 && is_open (self, "mesh", "etp");

  if (!is_open (self, "mesh", "tp"))
    return;
  axis = add_axis (self, "tensor");
  for (gint64 tp = 1; tp <= most; tp *= 2)
    {
      set_number (add_choice (axis), "mesh.tp", tp);
      if (tp > 1 && is_open (self, "mesh", "sp"))
        {
          SearchChoice *choice = add_choice (axis);

          set_number (choice, "mesh.tp", tp);
          set_number (choice, "mesh.sp", 1);
          if (folds)
            {
              choice = add_choice (axis);
              set_number (choice, "mesh.tp", tp);
              set_number (choice, "mesh.sp", 1);
              set_number (choice, "mesh.etp", 1);
            }
        }
    }
}

static void
add_context (Maker *self)
{
  SearchAxis *axis;

  if (!is_open (self, "mesh", "cp"))
    return;
  axis = add_axis (self, "context");
  for (gint64 cp = 1; cp <= MIN (MOST_CONTEXT, (gint64) self->room->n_gpus); cp *= 2)
    set_number (add_choice (axis), "mesh.cp", cp);
}

static void
add_experts (Maker *self)
{
  SearchAxis *axis;

  if (self->room->n_experts == 0 || !is_open (self, "mesh", "ep"))
    return;
  axis = add_axis (self, "experts");
  for (gint64 ep = 1; ep <= MIN (self->room->n_experts, (gint64) self->room->n_gpus); ep++)
    if (self->room->n_experts % ep == 0 && self->room->n_gpus % ep == 0)
      set_number (add_choice (axis), "mesh.ep", ep);
}

/* STAGES under every kind of pipeline; interleaved with each number of chunks that divides. */
static void
add_pipelines (Maker *self, SearchAxis *axis, gint64 stages)
{
  const OptionSpec *kinds = option_table_find (mesh_options, "pipeline");

  set_number (add_choice (axis), "mesh.pp", stages);
  if (stages == 1)
    return;
  for (guint i = 0; kinds->choices[i] != NULL && is_open (self, "mesh", "pipeline"); i++)
    if (i != PIPELINE_AUTO && i != PIPELINE_1F1B && i != PIPELINE_INTERLEAVED)
      {
        SearchChoice *choice = add_choice (axis);

        set_number (choice, "mesh.pp", stages);
        set_option (choice, "mesh.pipeline", kinds->choices[i]);
      }
  for (gint64 vp = 2; vp <= MOST_CHUNKS && is_open (self, "mesh", "vp"); vp++)
    if (self->room->n_layers % (stages * vp) == 0)
      {
        SearchChoice *choice = add_choice (axis);

        set_number (choice, "mesh.pp", stages);
        set_number (choice, "mesh.vp", vp);
      }
}

/* Stages that divide the layers, or the layers with embedding and head (Llama 3: 126 over 16). */
static void
add_stages (Maker *self)
{
  SearchAxis *axis;

  if (!is_open (self, "mesh", "pp"))
    return;
  axis = add_axis (self, "pipeline");
  axis->pipeline = TRUE;
  for (gint64 pp = 1; pp <= MIN (MOST_STAGES, (gint64) self->room->n_gpus); pp++)
    if (self->room->n_gpus % pp == 0
        && (self->room->n_layers % pp == 0 || (self->room->n_layers + 2) % pp == 0))
      add_pipelines (self, axis, pp);
}

static void
add_micro_batches (Maker *self)
{
  const Scenario *scenario = self->space->scenario;
  SearchAxis     *axis;

  if (!is_open (self, "training", "micro_batch") || scenario->training.lengths != NULL)
    return;
  axis = add_axis (self, "micro_batch");
  for (gint64 batch = 1; batch <= MOST_BATCH; batch *= 2)
    set_number (add_choice (axis), "training.micro_batch", batch);
}

static void
add_words (SearchAxis *axis, const char *key, const OptionSpec *spec)
{
  for (guint i = 0; spec->choices[i] != NULL; i++)
    if (!g_str_has_suffix (spec->choices[i], ":K"))
      set_option (add_choice (axis), key, spec->choices[i]);
    else
      for (guint k = 2; k <= MOST_LAYERS; k *= 2)
        {
          g_autofree char *value =
              g_strdup_printf ("%.*s%u", (int) strlen (spec->choices[i]) - 1, spec->choices[i], k);

          set_option (add_choice (axis), key, value);
        }
}

static void
add_checkpointing (Maker *self)
{
  static const char key[] = "activation_checkpointing";

  if (is_open (self, "training", key))
    add_words (add_axis (self, "checkpointing"), "training.activation_checkpointing",
               option_table_find (training_options, key));
}

/* ---- axes of the user ------------------------------------------------------------------------ */

static const OptionSpec *
find_option (const char *key)
{
  const char       *dot = strchr (key, '.');
  g_autofree char  *section = dot != NULL ? g_strndup (key, dot - key) : NULL;
  const OptionSpec *table = section != NULL ? scenario_section_table (section) : NULL;

  return table != NULL ? option_table_find (table, dot + 1) : NULL;
}

/* Keys of strategies are variants, those of sections axes. */
static gboolean
add_varied (Maker *self, const SearchVary *vary, DiagList *diags)
{
  SearchAxis *axis;

  if (g_str_has_prefix (vary->key, "strategy."))
    return TRUE;
  if (find_option (vary->key) == NULL && !scenario_key_is_figure (vary->key))
    {
      diag_error (diags, &vary->mark, "name section and key, such as 'mesh.tp'",
                  "there is no option '%s'", vary->key);
      return FALSE;
    }
  axis = add_axis (self, vary->key);
  axis->pipeline = is_of_pipeline (vary->key);
  for (guint i = 0; vary->values[i] != NULL; i++)
    set_option (add_choice (axis), vary->key, vary->values[i]);
  return axis->choices->len > 0;
}

/* ---- variants -------------------------------------------------------------------------------- */

static void
variant_free (gpointer data)
{
  SearchVariant *self = data;

  scenario_free (self->scenario);
  g_clear_pointer (&self->in_force, scenario_free);
  g_free (self->choice);
  g_array_unref (self->options);
  g_array_unref (self->software);
  g_free (self);
}

/*
 * The variant that the N OPTIONS make of the scenario's strategy; nothing where they do not go
 * together. Returns its index, or BASE.
 */
static guint
add_variant (Maker *self, const ScenarioOverride *options, guint n, guint base)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) scenario =
      scenario_with (self->space->scenario, self->space->strategies, options, n, diags);
  SearchVariant *variant;

  if (scenario == NULL)
    return base;
  variant = g_new0 (SearchVariant, 1);
  variant->scenario = g_steal_pointer (&scenario);
  variant->choice = scenario_strategy_choice (variant->scenario);
  variant->options = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  if (n > 0)
    g_array_append_vals (variant->options, options, n);
  variant->software = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  variant->base = base == G_MAXUINT ? self->space->variants->len : base;
  g_ptr_array_add (self->space->variants, variant);
  return self->space->variants->len - 1;
}

/* One option of the strategy that HEAD names, set to VALUE. */
static void
add_changed (Maker *self, const ScenarioOverride *head, guint n_head, const char *key,
             const char *value, guint base)
{
  ScenarioOverride options[2];

  if (n_head > 0)
    options[0] = *head;
  options[n_head] = (ScenarioOverride){ g_intern_string (key), g_intern_string (value), "search" };
  add_variant (self, options, n_head + 1, base);
}

/* Groups to shard over: a node, and its doubles up to half of all. */
static void
add_shards (Maker *self, const ScenarioOverride *head, guint n_head, const char *key, guint base)
{
  add_changed (self, head, n_head, key, "node", base);
  for (guint n = 2 * self->room->gpus_per_node; n < self->room->n_gpus; n *= 2)
    {
      g_autofree char *value = g_strdup_printf ("%u", n);

      add_changed (self, head, n_head, key, value, base);
    }
}

/* CONFIG's options, each changed by itself; those that somebody set stay. */
static void
add_changes (Maker *self, const StrategyConfig *config, const ScenarioOverride *head, guint n_head,
             const char *prefix, guint base)
{
  static const char *const switches[] = { "true", "false", NULL };

  for (const OptionSpec *spec = config->marks.table; spec != NULL && spec->key != NULL; spec++)
    {
      g_autofree char   *key = g_strdup_printf ("%s.%s", prefix, spec->key);
      g_autofree char   *now = option_format (spec, config->options);
      const char *const *words = spec->type == OPTION_BOOL ? switches : spec->choices;

      if (spec->what_if || option_marks_has (&config->marks, spec->key))
        continue;
      if (g_str_equal (spec->key, "shard"))
        add_shards (self, head, n_head, key, base);
      if (spec->type != OPTION_BOOL && spec->type != OPTION_ENUM)
        continue;
      for (guint i = 0; words[i] != NULL; i++)
        if (!g_str_has_suffix (words[i], "K") && !g_str_equal (words[i], now))
          add_changed (self, head, n_head, key, words[i], base);
    }
}

static const StrategyConfig *
innermost (const StrategyConfig *config, GString *prefix)
{
  for (; config->inner != NULL; config = config->inner)
    g_string_append (prefix, ".inner");
  return config;
}

/* The strategy that HEAD names (or, without HEAD, the scenario's), and each change of it. */
static void
add_strategy (Maker *self, const ScenarioOverride *head, guint n_head)
{
  g_autoptr (GString)   prefix = g_string_new ("strategy");
  const guint           base = add_variant (self, head, n_head, G_MAXUINT);
  const SearchVariant  *variant;
  const StrategyConfig *config;

  if (base == G_MAXUINT)
    return;
  variant = g_ptr_array_index (self->space->variants, base);
  config = innermost (variant->scenario->strategy, prefix);
  if (!self->space->only)
    add_changes (self, config, head, n_head, prefix->str, base);
}

static void
add_strategies (Maker *self)
{
  const SearchSpace     *space = self->space;
  const Strategy *const *list =
      space->strategies != NULL ? strategy_set_list (space->strategies) : strategy_list ();

  for (; *list != NULL; list++)
    {
      const ScenarioOverride head = { "strategy.name", (*list)->name, "search" };

      if (!(*list)->outer && !strategy_perturbs (*list))
        add_strategy (self, &head, 1);
    }
}

/* Every combination of what the user lets vary of strategies, strategy.name first. */
static gboolean
add_varied_strategies (Maker *self, DiagList *diags)
{
  g_autoptr (GArray) options = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  g_autoptr (GArray) keys = g_array_new (FALSE, FALSE, sizeof (guint));
  guint64            n = 1;

  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < self->n_vary; i++)
      if (g_str_has_prefix (self->vary[i].key, "strategy.")
          && g_str_equal (self->vary[i].key, "strategy.name") == (pass == 0))
        {
          g_array_append_val (keys, i);
          n *= g_strv_length ((char **) self->vary[i].values);
        }
  if (keys->len == 0)
    return FALSE;
  for (guint64 point = 0; point < n; point++)
    {
      guint64 rest = point;

      g_array_set_size (options, 0);
      for (guint k = 0; k < keys->len; k++)
        {
          const SearchVary      *vary = &self->vary[g_array_index (keys, guint, k)];
          guint                  length = g_strv_length ((char **) vary->values);
          const ScenarioOverride option = { g_intern_string (vary->key),
                                            g_intern_string (vary->values[rest % length]),
                                            "--vary" };

          g_array_append_val (options, option);
          rest /= length;
        }
      add_variant (self, (const ScenarioOverride *) (gpointer) options->data, options->len,
                   G_MAXUINT);
    }
  if (self->space->variants->len == 0)
    diag_error (diags, &self->vary[g_array_index (keys, guint, 0)].mark,
                "see 'shardsim strategies'", "no strategy takes these options together");
  return TRUE;
}

/* ---- entry points ---------------------------------------------------------------------------- */

SearchSpace *
search_space_new (const Scenario *scenario, const StrategySet *strategies, const SearchRoom *room,
                  const SearchVary *vary, guint n_vary, gboolean only, DiagList *diags)
{
  g_autoptr (SearchSpace) space = g_new0 (SearchSpace, 1);
  Maker                   self = { space, room, vary, n_vary };
  guint                   n_errors = diag_list_n_errors (diags);

  space->scenario = scenario;
  space->strategies = strategies;
  space->axes = g_ptr_array_new_with_free_func (axis_free);
  space->variants = g_ptr_array_new_with_free_func (variant_free);
  space->n_groups = 1;
  space->varied = g_hash_table_new (g_str_hash, g_str_equal);
  space->only = only;
  for (guint i = 0; i < n_vary; i++)
    g_hash_table_add (space->varied, (gpointer) vary[i].key);
  for (guint i = 0; i < n_vary; i++)
    add_varied (&self, &vary[i], diags);
  add_tensor (&self);
  add_context (&self);
  add_experts (&self);
  add_stages (&self);
  add_micro_batches (&self);
  add_checkpointing (&self);
  if (!add_varied_strategies (&self, diags))
    {
      if (scenario->strategy != NULL)
        add_strategy (&self, NULL, 0);
      else
        add_strategies (&self);
    }
  return diag_list_n_errors (diags) == n_errors ? g_steal_pointer (&space) : NULL;
}

void
search_space_free (SearchSpace *self)
{
  g_ptr_array_unref (self->axes);
  g_ptr_array_unref (self->variants);
  g_hash_table_unref (self->varied);
  g_free (self);
}

void
search_space_set_software (const SearchSpace *self, SearchVariant *variant, const GArray *software,
                           ProfileSet *profiles)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Scenario            *scenario =
      scenario_with (variant->scenario, self->strategies,
                     (const ScenarioOverride *) (gpointer) software->data, software->len, diags);

  if (scenario != NULL)
    {
      scenario_free (variant->scenario);
      variant->scenario = scenario;
      if (software->len > 0)
        g_array_append_vals (variant->software, software->data, software->len);
    }
  variant->in_force = scenario_in_force (variant->scenario, profiles, diags);
  g_free (variant->choice);
  variant->choice =
      scenario_strategy_choice (variant->in_force != NULL ? variant->in_force : variant->scenario);
}

const SearchVariant *
search_space_group (const SearchSpace *self, guint group)
{
  for (guint v = 0; v < self->variants->len; v++)
    {
      const SearchVariant *variant = g_ptr_array_index (self->variants, v);

      if (variant->group == group)
        return variant;
    }
  g_assert_not_reached ();
}

guint64
search_space_n_structures (const SearchSpace *self)
{
  guint64 n = 1;

  for (guint a = 0; a < self->axes->len; a++)
    {
      guint length = ((const SearchAxis *) g_ptr_array_index (self->axes, a))->choices->len;

      if (!g_uint64_checked_mul (&n, n, length))
        return G_MAXUINT64;
    }
  return n;
}

/* The first axis changes fastest. */
const SearchChoice *
search_space_choice (const SearchSpace *self, guint64 structure, guint axis)
{
  const SearchAxis *found = NULL;

  for (guint a = 0; a <= axis; a++)
    {
      if (a > 0)
        structure /= found->choices->len;
      found = g_ptr_array_index (self->axes, a);
    }
  return g_ptr_array_index (found->choices, structure % found->choices->len);
}

guint64
search_space_without_pipeline (const SearchSpace *self, guint64 structure)
{
  guint64 key = 0, times = 1;

  for (guint a = 0; a < self->axes->len; a++)
    {
      const SearchAxis *axis = g_ptr_array_index (self->axes, a);

      if (!axis->pipeline)
        key += structure % axis->choices->len * times;
      times *= axis->choices->len;
      structure /= axis->choices->len;
    }
  return key;
}

gboolean
search_space_divides (const SearchSpace *self, guint64 structure, gint64 n_gpus,
                      gint64 global_batch, gint64 micro_batch)
{
  const MeshOptions *mesh = &self->scenario->mesh;
  gint64             replica = 1, batch = micro_batch;
  gboolean           has[3] = { FALSE };
  const gint64       fixed[3] = { mesh->tp, mesh->cp, mesh->pp };

  for (guint a = 0; a < self->axes->len; a++)
    {
      const SearchChoice *choice = search_space_choice (self, structure, a);

      replica *= choice->degree;
      if (choice->batch > 0)
        batch = choice->batch;
      for (guint i = 0; i < choice->options->len; i++)
        {
          const char *key = g_array_index (choice->options, ScenarioOverride, i).key;

          has[0] |= g_str_equal (key, "mesh.tp");
          has[1] |= g_str_equal (key, "mesh.cp");
          has[2] |= g_str_equal (key, "mesh.pp");
        }
    }
  for (guint i = 0; i < G_N_ELEMENTS (fixed); i++)
    if (!has[i])
      replica *= MAX (fixed[i], 1);
  return n_gpus % replica == 0
         && (global_batch == 0 || global_batch % (n_gpus / replica * batch) == 0);
}

Scenario *
search_space_scenario (const SearchSpace *self, guint64 structure, const SearchVariant *variant,
                       DiagList *diags)
{
  g_autoptr (GArray) options = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));

  if (variant == NULL)
    variant = g_ptr_array_index (self->variants, 0);
  for (guint a = 0; a < self->axes->len; a++)
    {
      const SearchChoice *choice = search_space_choice (self, structure, a);

      g_array_append_vals (options, choice->options->data, choice->options->len);
    }
  return scenario_with (variant->scenario, self->strategies,
                        (const ScenarioOverride *) (gpointer) options->data, options->len, diags);
}

static void
append_options (GString *label, const GArray *options)
{
  for (guint i = 0; i < options->len; i++)
    {
      const ScenarioOverride *option = &g_array_index (options, ScenarioOverride, i);
      g_autofree char        *key = scenario_short_key (option->key);

      if (!g_str_has_suffix (option->key, ".name"))
        g_string_append_printf (label, " %s=%s", key, option->value);
    }
}

char *
search_space_label (const SearchSpace *self, guint64 structure, const SearchVariant *variant)
{
  GString *label = g_string_new (NULL);

  for (const StrategyConfig *c = variant->scenario->strategy; c != NULL; c = c->inner)
    g_string_append_printf (label, "%s%s", label->len > 0 ? "/" : "", c->strategy->name);
  append_options (label, variant->options);
  for (guint a = 0; a < self->axes->len; a++)
    {
      const SearchChoice *choice = search_space_choice (self, structure, a);
      const char         *value = g_array_index (choice->options, ScenarioOverride, 0).value;

      if (choice->options->len == 1 && choice->degree == 1 && g_str_equal (value, "1")
          && choice->batch == 0)
        continue; /* no ranks of that axis */
      append_options (label, choice->options);
    }
  return g_string_free (label, FALSE);
}
