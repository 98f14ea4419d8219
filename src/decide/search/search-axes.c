/* Axes of a search: levers that are open, and what the user lets vary. */
#include <string.h>

#include "base/intern.h"
#include "decide/explore/levers.h"
#include "decide/search/search-space-private.h"

/* In the order of structures: that of the first changes fastest. */
static const char *const open_axes[] = {
  "mesh.tp",
  "mesh.cp",
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
  axis->choices = g_ptr_array_new_with_free_func (choice_free);
  g_ptr_array_add (self->space->axes, axis);
  return axis;
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

/* Adds what is tried of KEY, with BEFORE, in which the option above it has the value ABOVE. */
static void
add_choices (SpaceMaker *self, SearchAxis *axis, const char *key, const SearchChoice *before,
             gint64 above)
{
  const Lever      *lever = lever_find (key);
  const OptionSpec *spec = option_table_find (scenario_section_table (lever->section), lever->key);
  g_auto (GStrv)    values = lever_choices (lever, self->space->scenario, self->room, above);

  for (guint i = 0; values[i] != NULL; i++)
    {
      const SearchChoice *choice = add_choice (axis, before, lever, key, values[i]);

      if (g_strcmp0 (values[i], spec->fallback) == 0)
        continue;
      for (const char *const *with = lever->with; *with != NULL; with++)
        if (search_space_is_open (self->space, *with))
          add_choices (self, axis, *with, choice, g_ascii_strtoll (values[i], NULL, 10));
    }
}

void
search_axes_add_open (SpaceMaker *self)
{
  GPtrArray *axes = self->space->axes;

  for (guint i = 0; i < G_N_ELEMENTS (open_axes); i++)
    if (search_space_is_open (self->space, open_axes[i]))
      {
        SearchAxis *axis = add_axis (self, lever_find (open_axes[i]));

        add_choices (self, axis, open_axes[i], NULL, 1);
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
  SearchAxis *axis;

  if (g_str_has_prefix (vary->key, "strategy."))
    return;
  if (find_option (vary->key) == NULL && !scenario_key_is_figure (vary->key))
    {
      diag_error (diags, &vary->mark, "name section and key, such as 'mesh.tp'",
                  "there is no option '%s'", vary->key);
      return;
    }
  axis = add_axis (self, lever_find (vary->key));
  for (guint i = 0; vary->values[i] != NULL; i++)
    add_choice (axis, NULL, lever_find (vary->key), vary->key, vary->values[i]);
}

void
search_axes_add_varied (SpaceMaker *self, DiagList *diags)
{
  for (guint i = 0; i < self->n_vary; i++)
    add_varied (self, &self->vary[i], diags);
}
