/* Axes of a search: levers that are open, and what the user lets vary. */
#include <string.h>

#include "analysis/levers.h"
#include "analysis/search-space-private.h"
#include "base/intern.h"

#define D "%" G_GINT64_FORMAT

#define MOST_TENSOR  64 /* ranks of the axes that are tried unasked */
#define MOST_CONTEXT 16
#define MOST_STAGES  64
#define MOST_CHUNKS  8 /* of a stage */
#define MOST_BATCH   16

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

GPtrArray *
search_axes_new (void)
{
  return g_ptr_array_new_with_free_func (axis_free);
}

static SearchAxis *
add_axis (SpaceMaker *self, const char *name)
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
  const ScenarioOverride option = { intern_text (key), intern_text (value), "search" };

  g_array_append_val (choice->options, option);
  if (divides_replicas (key))
    choice->degree *= MAX (g_ascii_strtoll (value, NULL, 10), 1);
  if (g_str_equal (key, "training.micro_batch"))
    choice->batch = g_ascii_strtoll (value, NULL, 10);
}

/* The same unasked: of a lever that is an axis. */
static void
set_open (SearchChoice *choice, const char *key, const char *value)
{
  const Lever *lever = lever_find (key);

  g_assert (lever != NULL && (lever->uses & LEVER_AXIS) != 0);
  set_option (choice, key, value);
}

static void
set_number (SearchChoice *choice, const char *key, gint64 value)
{
  g_autofree char *text = g_strdup_printf (D, value);

  set_open (choice, key, text);
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
is_open (const SpaceMaker *self, const char *section, const char *key)
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
add_tensor (SpaceMaker *self)
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
add_context (SpaceMaker *self)
{
  SearchAxis *axis;

  if (!is_open (self, "mesh", "cp"))
    return;
  axis = add_axis (self, "context");
  for (gint64 cp = 1; cp <= MIN (MOST_CONTEXT, (gint64) self->room->n_gpus); cp *= 2)
    set_number (add_choice (axis), "mesh.cp", cp);
}

static void
add_experts (SpaceMaker *self)
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
add_pipelines (SpaceMaker *self, SearchAxis *axis, gint64 stages)
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
        set_open (choice, "mesh.pipeline", kinds->choices[i]);
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
add_stages (SpaceMaker *self)
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
add_micro_batches (SpaceMaker *self)
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
add_checkpointing (SpaceMaker *self)
{
  static const char key[] = "activation_checkpointing";
  g_auto (GStrv)    values = lever_values (option_table_find (training_options, key), NULL, TRUE);
  SearchAxis       *axis;

  if (!is_open (self, "training", key))
    return;
  axis = add_axis (self, "checkpointing");
  for (guint i = 0; values[i] != NULL; i++)
    set_open (add_choice (axis), "training.activation_checkpointing", values[i]);
}

void
search_axes_add_open (SpaceMaker *self)
{
  add_tensor (self);
  add_context (self);
  add_experts (self);
  add_stages (self);
  add_micro_batches (self);
  add_checkpointing (self);
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
  axis = add_axis (self, vary->key);
  axis->pipeline = is_of_pipeline (vary->key);
  for (guint i = 0; vary->values[i] != NULL; i++)
    set_option (add_choice (axis), vary->key, vary->values[i]);
}

void
search_axes_add_varied (SpaceMaker *self, DiagList *diags)
{
  for (guint i = 0; i < self->n_vary; i++)
    add_varied (self, &self->vary[i], diags);
}
