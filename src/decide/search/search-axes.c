/* Axes of a search: levers that are open, and what the user lets vary. */
#include <string.h>

#include "base/intern.h"
#include "decide/explore/levers.h"
#include "decide/search/search-space-private.h"

/* In the order of structures: that of the first changes fastest. */
static const char *const open_axes[] = {
  "mesh.tp",
  "mesh.cp",
  "mesh.context",
  "mesh.ep",
  "mesh.pp",
  "training.micro_batch",
  "training.activation_checkpointing",
};

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

  g_ptr_array_unref (self->choices);
  g_free (self);
}

GPtrArray *
search_axes_new (void)
{
  return g_ptr_array_new_with_free_func (axis_free);
}

/* The axis of LEVER; NULL: of an option that is none. */
static SearchAxis *
add_axis (SpaceMaker *self, const Lever *lever)
{
  SearchAxis *axis = g_new0 (SearchAxis, 1);

  axis->pipeline = lever != NULL && lever->stages;
  axis->mesh = axis->recompute = TRUE;
  axis->choices = g_ptr_array_new_with_free_func (choice_free);
  g_ptr_array_add (self->space->axes, axis);
  return axis;
}

/* Whether KEY says what hardware there is, or what runs on it. */
static gboolean
is_of_cluster (const char *key)
{
  return !(g_str_has_prefix (key, "mesh.") || g_str_has_prefix (key, "training."))
         || g_str_equal (key, "training.kernels") || g_str_equal (key, "training.framework");
}

/* What BEFORE sets (NULL: nothing), and VALUE of KEY, which is LEVER's or of none. */
static SearchChoice *
add_choice (SearchAxis *axis, const SearchChoice *before, const Lever *lever, const char *key,
            const char *value)
{
  const ScenarioOverride option = { intern_text (key), intern_text (value), "search" };
  SearchChoice          *choice = g_new0 (SearchChoice, 1);
  const gint64           number = g_ascii_strtoll (value, NULL, 10);

  choice->options = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  choice->degree = before != NULL ? before->degree : 1;
  if (before != NULL)
    g_array_append_vals (choice->options, before->options->data, before->options->len);
  g_array_append_val (choice->options, option);
  if (lever != NULL && lever->divides)
    choice->degree *= MAX (number, 1);
  axis->mesh = axis->mesh && g_str_has_prefix (key, "mesh.");
  axis->recompute = axis->recompute && g_str_equal (key, "training.activation_checkpointing");
  axis->cluster = axis->cluster || is_of_cluster (key);
  if (g_str_equal (key, "training.micro_batch"))
    choice->batch = number;
  g_ptr_array_add (axis->choices, choice);
  return choice;
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

static void add_choices (SpaceMaker *self, SearchAxis *axis, const char *key,
                         const SearchChoice *before, gint64 above);

/*
 * Adds VALUE of LEVER, with BEFORE, and what is tried with it. ABOVE: the number that its words
 * stand below.
 */
static void
add_value (SpaceMaker *self, SearchAxis *axis, const Lever *lever, const char *value,
           const SearchChoice *before, gint64 above)
{
  const OptionSpec *spec = option_table_find (scenario_section_table (lever->section), lever->key);
  const gint64      number = g_ascii_strtoll (value, NULL, 10);
  g_autofree char  *key = g_strdup_printf ("%s.%s", lever->section, lever->key);
  SearchChoice     *choice = add_choice (axis, before, lever, key, value);
  gboolean          is_kind = FALSE;

  if (g_strcmp0 (value, spec->fallback) == 0)
    return;
  for (const char *const *with = lever->with; *with != NULL; with++)
    {
      const char *only = lever_find (*with)->only_with;

      if (!search_space_is_open (self->space, *with)
          || (only != NULL && !g_str_equal (only, value)))
        continue;
      is_kind = lever->apart;
      add_choices (self, axis, *with, choice, number > 0 ? number : above);
    }
  if (is_kind)
    g_ptr_array_remove (axis->choices, choice);
}

/* Adds what is tried of KEY, with BEFORE, in which the option above it has the value ABOVE. */
static void
add_choices (SpaceMaker *self, SearchAxis *axis, const char *key, const SearchChoice *before,
             gint64 above)
{
  const Lever   *lever = lever_find (key);
  g_auto (GStrv) values = lever_choices (lever, self->space->scenario, self->room, above);

  for (guint i = 0; values[i] != NULL; i++)
    add_value (self, axis, lever, values[i], before, above);
}

/* The ranks that LEVER is about, if the scenario sets them; 1: it is about none. */
static gint64
ranks_set (const SpaceMaker *self, const Lever *lever)
{
  return lever->of != NULL ? lever_degree (self->space->scenario, lever->of) : 1;
}

/*
 * Whether LEVER is an axis of its own: kinds of ranks come with each number of these, unless
 * somebody set it.
 */
static gboolean
is_open_axis (const SpaceMaker *self, const Lever *lever)
{
  const SearchSpace *space = self->space;
  g_autofree char   *key = g_strdup_printf ("%s.%s", lever->section, lever->key);
  g_autofree char   *of = g_strdup_printf ("mesh.%s", lever->of);

  if (lever->of != NULL
      && (search_space_is_open (space, of) || g_hash_table_contains (space->varied, of)
          || ranks_set (self, lever) <= 1))
    return FALSE;
  return search_space_is_open (space, key);
}

void
search_axes_add_open (SpaceMaker *self)
{
  GPtrArray *axes = self->space->axes;

  for (guint i = 0; i < G_N_ELEMENTS (open_axes); i++)
    if (is_open_axis (self, lever_find (open_axes[i])))
      {
        SearchAxis *axis = add_axis (self, lever_find (open_axes[i]));

        add_choices (self, axis, open_axes[i], NULL, ranks_set (self, lever_find (open_axes[i])));
        if (axis->choices->len == 0)
          g_ptr_array_set_size (axes, axes->len - 1);
      }
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
static void
add_varied (SpaceMaker *self, const SearchVary *vary, DiagList *diags)
{
  const Lever *lever;
  SearchAxis  *axis;

  if (g_str_has_prefix (vary->key, "strategy."))
    return;
  if (find_option (vary->key) == NULL && !scenario_key_is_figure (vary->key))
    {
      diag_error (diags, &vary->mark, "name section and key, such as 'mesh.tp'",
                  "there is no option '%s'", vary->key);
      return;
    }
  lever = lever_find (vary->key);
  axis = add_axis (self, lever);
  for (guint i = 0; vary->values[i] != NULL; i++)
    if (lever != NULL && lever->apart)
      add_value (self, axis, lever, vary->values[i], NULL, 1);
    else
      add_choice (axis, NULL, lever, vary->key, vary->values[i]);
}

void
search_axes_add_varied (SpaceMaker *self, DiagList *diags)
{
  for (guint i = 0; i < self->n_vary; i++)
    add_varied (self, &self->vary[i], diags);
}
