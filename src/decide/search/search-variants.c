/* Variants of a search: strategies from the registry, with their options. */
#include "base/intern.h"
#include "decide/explore/levers.h"
#include "decide/search/search-space-private.h"
#include "scenario/software.h"

#define MOST_VARIANTS 10000 /* that a user names: each is a scenario in memory */

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
add_variant (SpaceMaker *self, const ScenarioOverride *options, guint n, guint base)
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
add_changed (SpaceMaker *self, const ScenarioOverride *head, guint n_head, const char *key,
             const char *value, guint base)
{
  ScenarioOverride options[2];

  if (n_head > 0)
    options[0] = *head;
  options[n_head] = (ScenarioOverride){ intern_text (key), intern_text (value), "search" };
  add_variant (self, options, n_head + 1, base);
}

/* Groups to shard over: a node, and its doubles up to half of all. */
static void
add_shards (SpaceMaker *self, const ScenarioOverride *head, guint n_head, const char *key,
            guint base)
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
add_changes (SpaceMaker *self, const StrategyConfig *config, const ScenarioOverride *head,
             guint n_head, const char *prefix, guint base)
{
  for (const OptionSpec *spec = config->marks.table; spec != NULL && spec->key != NULL; spec++)
    {
      g_autofree char *key = g_strdup_printf ("%s.%s", prefix, spec->key);
      g_autofree char *now = option_format (spec, config->options);
      g_auto (GStrv)   values = lever_values (spec, now, FALSE);

      if (spec->what_if || option_marks_has (&config->marks, spec->key))
        continue;
      if (g_str_equal (spec->key, "shard"))
        add_shards (self, head, n_head, key, base);
      for (guint i = 0; values[i] != NULL; i++)
        add_changed (self, head, n_head, key, values[i], base);
    }
}

/* The strategy that HEAD names (or, without HEAD, the scenario's), and each change of it. */
static void
add_strategy (SpaceMaker *self, const ScenarioOverride *head, guint n_head)
{
  g_autoptr (GString)   prefix = g_string_new ("strategy");
  const guint           base = add_variant (self, head, n_head, G_MAXUINT);
  const SearchVariant  *variant;
  const StrategyConfig *config;

  if (base == G_MAXUINT)
    return;
  variant = g_ptr_array_index (self->space->variants, base);
  config = scenario_innermost (variant->scenario, prefix);
  if (!self->space->only)
    add_changes (self, config, head, n_head, prefix->str, base);
}

/* Every combination of what the user lets vary of strategies, strategy.name first; FALSE: none. */
static gboolean
add_varied_strategies (SpaceMaker *self, DiagList *diags)
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
          if (n > MOST_VARIANTS)
            {
              diag_error (diags, &self->vary[i].mark, "give fewer values, or fewer options",
                          "the values of 'strategy' options have more than %d combinations",
                          MOST_VARIANTS);
              return TRUE;
            }
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
          const ScenarioOverride option = { intern_text (vary->key),
                                            intern_text (vary->values[rest % length]), "--vary" };

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

GPtrArray *
search_variants_new (void)
{
  return g_ptr_array_new_with_free_func (variant_free);
}

void
search_variants_add (SpaceMaker *self, DiagList *diags)
{
  if (add_varied_strategies (self, diags))
    return;
  if (self->space->scenario->strategy != NULL)
    add_strategy (self, NULL, 0);
  else
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
}

void
search_space_set_software (const SearchSpace *self, SearchVariant *variant, const GArray *software,
                           const char *architecture, ProfileSet *profiles)
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
  variant->in_force = architecture != NULL
                          ? scenario_in_force_on (variant->scenario, profiles, architecture, diags)
                          : scenario_in_force (variant->scenario, profiles, diags);
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
