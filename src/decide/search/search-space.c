#include "decide/search/search-space.h"

#include <string.h>

#include "decide/search/search-space-private.h"

/* Whether an axis sets LEVER, which then each of its choices does. */
static gboolean
is_chosen (const SearchSpace *self, const Lever *lever)
{
  for (guint a = 0; a < self->axes->len; a++)
    {
      const SearchChoice *first = search_space_choice (self, 0, a);

      for (guint i = 0; i < first->options->len; i++)
        if (lever_sets (lever, g_array_index (first->options, ScenarioOverride, i).key))
          return TRUE;
    }
  return FALSE;
}

SearchSpace *
search_space_new (const Scenario *scenario, const StrategySet *strategies, const SearchRoom *room,
                  const SearchVary *vary, guint n_vary, gboolean only, DiagList *diags)
{
  g_autoptr (SearchSpace) space = g_new0 (SearchSpace, 1);
  SpaceMaker              self = { space, room, vary, n_vary };
  guint                   n_errors = diag_list_n_errors (diags);

  space->scenario = scenario;
  space->strategies = strategies;
  space->axes = search_axes_new ();
  space->variants = search_variants_new ();
  space->n_groups = 1;
  space->varied = g_hash_table_new (g_str_hash, g_str_equal);
  space->only = only;
  for (guint i = 0; i < n_vary; i++)
    g_hash_table_add (space->varied, (gpointer) vary[i].key);
  search_axes_add_varied (&self, diags);
  search_axes_add_open (&self);
  search_variants_add (&self, diags);
  space->fixed_degree = 1;
  for (const Lever *lever = levers; lever->section != NULL; lever++)
    if (lever->divides && !is_chosen (space, lever))
      space->fixed_degree *= lever_degree (scenario, lever->key);
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

static gboolean
is_of_pipeline (const SearchAxis *axis)
{
  return axis->pipeline;
}

static gboolean
is_of_recompute (const SearchAxis *axis)
{
  return axis->recompute;
}

static gboolean
is_of_mesh (const SearchAxis *axis)
{
  return axis->mesh;
}

/* STRUCTURE with the first choice of each axis that IS_LEFT_OUT. */
static guint64
without (const SearchSpace *self, guint64 structure,
         gboolean (*is_left_out) (const SearchAxis *axis))
{
  guint64 key = 0, times = 1;

  for (guint a = 0; a < self->axes->len; a++)
    {
      const SearchAxis *axis = g_ptr_array_index (self->axes, a);

      if (!is_left_out (axis))
        key += structure % axis->choices->len * times;
      times *= axis->choices->len;
      structure /= axis->choices->len;
    }
  return key;
}

guint64
search_space_without_pipeline (const SearchSpace *self, guint64 structure)
{
  return without (self, structure, is_of_pipeline);
}

guint64
search_space_without_recompute (const SearchSpace *self, guint64 structure)
{
  return without (self, structure, is_of_recompute);
}

guint64
search_space_without_mesh (const SearchSpace *self, guint64 structure)
{
  return without (self, structure, is_of_mesh);
}

gboolean
search_space_has_one_cluster (const SearchSpace *self)
{
  for (guint a = 0; a < self->axes->len; a++)
    if (((const SearchAxis *) g_ptr_array_index (self->axes, a))->cluster)
      return FALSE;
  return TRUE;
}

gint64
search_space_once (const SearchSpace *self, guint64 structure, gint64 n_gpus, gint64 micro_batch)
{
  gint64 replica = self->fixed_degree, batch = micro_batch;

  for (guint a = 0; a < self->axes->len; a++)
    {
      const SearchChoice *choice = search_space_choice (self, structure, a);

      replica *= choice->degree;
      if (choice->batch > 0)
        batch = choice->batch;
    }
  return n_gpus % replica == 0 ? n_gpus / replica * batch : 0;
}

gboolean
search_space_divides (const SearchSpace *self, guint64 structure, gint64 n_gpus,
                      gint64 global_batch, gint64 micro_batch)
{
  const gint64 once = search_space_once (self, structure, n_gpus, micro_batch);

  return once > 0 && global_batch % once == 0;
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
