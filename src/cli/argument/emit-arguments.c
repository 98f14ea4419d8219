#include "cli/argument/emit-arguments.h"

#include <string.h>

#define OWN "scenario" /* shardsim's own form */

/* One --emit. */
typedef struct
{
  Framework *framework; /* NULL: a scenario of shardsim */
  char      *file;      /* NULL: standard output */
  GString   *text;
} Target;

struct _EmitArguments
{
  GPtrArray *targets;
};

static void
target_free (gpointer data)
{
  Target *self = data;

  framework_free (self->framework);
  g_free (self->file);
  g_string_free (self->text, TRUE);
  g_free (self);
}

/* "NAME", "NAME:FILE" or "NAME=FILE". */
static void
add_target (EmitArguments *self, const char *word, DiagList *diags)
{
  const gsize      n = strcspn (word, ":=");
  g_autofree char *name = g_strndup (word, n);
  Target          *target = g_new0 (Target, 1);

  target->text = g_string_new (NULL);
  target->file = word[n] != '\0' ? g_strdup (word + n + 1) : NULL;
  g_ptr_array_add (self->targets, target);
  if (target->file != NULL && *target->file == '\0')
    diag_error (diags, NULL, "'FRAMEWORK:FILE', or the framework alone to print its settings",
                "--emit: no file in '%s'", word);
  if (!g_str_equal (name, OWN))
    target->framework = framework_load (name, diags);
  if (target->framework != NULL && !target->framework->emits)
    diag_error (diags, NULL, "'shardsim help --emit' lists those that are written",
                "--emit: jobs of '%s' are read, not written", name);
}

EmitArguments *
emit_arguments_new (char *const *words, DiagList *diags)
{
  EmitArguments *self = g_new0 (EmitArguments, 1);

  self->targets = g_ptr_array_new_with_free_func (target_free);
  for (; words != NULL && *words != NULL; words++)
    add_target (self, *words, diags);
  if (!diag_list_has_errors (diags))
    return self;
  emit_arguments_free (self);
  return NULL;
}

void
emit_arguments_free (EmitArguments *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->targets);
  g_free (self);
}

gboolean
emit_arguments_prints (const EmitArguments *self)
{
  for (guint i = 0; i < self->targets->len; i++)
    if (((const Target *) g_ptr_array_index (self->targets, i))->file == NULL)
      return TRUE;
  return FALSE;
}

ExitStatus
emit_argument_check (const char *option, const char *word)
{
  const gsize n = strcspn (word, ":=");

  return word[n] != '\0' ? stream_check_file (option, word + n + 1) : EXIT_DONE;
}

static void
make_text (Target *target, const Common *common, const Scenario *scenario,
           const ResolvedScenario *resolved, DiagList *diags)
{
  if (target->framework != NULL)
    emit_settings (target->framework, resolved, target->text, diags);
  else
    {
      /* Without a file it goes to stdout, and from there into a file here. */
      g_autofree char *dir = g_path_get_dirname (target->file != NULL ? target->file : ".");
      g_autofree char *own = common_print_scenario (common, scenario, dir);

      g_string_append (target->text, own);
    }
}

gboolean
emit_arguments_can (const EmitArguments *self, const Common *common, const Scenario *scenario)
{
  g_autoptr (DiagList)         diags = diag_list_new ();
  PredictOptions               options = common_predict_options (common);
  g_autoptr (ProfileSet)       profiles = predict_profiles (&options);
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);

  for (guint i = 0; resolved != NULL && i < self->targets->len; i++)
    {
      const Target       *target = g_ptr_array_index (self->targets, i);
      g_autoptr (GString) text = g_string_new (NULL);

      if (target->framework != NULL)
        emit_settings (target->framework, resolved, text, diags);
    }
  return resolved != NULL && !diag_list_has_errors (diags);
}

ExitStatus
emit_arguments_make (EmitArguments *self, const Common *common, const Scenario *scenario)
{
  g_autoptr (DiagList)         diags = diag_list_new ();
  PredictOptions               options = common_predict_options (common);
  g_autoptr (ProfileSet)       profiles = NULL;
  g_autoptr (ResolvedScenario) resolved = NULL;
  g_autoptr (ReplayPlan)       plan = NULL;
  g_autoptr (GString)          out = g_string_new (NULL);

  if (self->targets->len == 0)
    return EXIT_DONE;
  profiles = predict_profiles (&options);
  resolved = resolved_new (scenario, profiles, diags);
  if (resolved != NULL && emit_arguments_prints (self))
    { /* what is simulated is checked there */
      plan = replay_plan_new (resolved, (PlanOptions){ .round_steps = 1 }, diags);
      if (plan == NULL)
        {
          stream_report_diags (diags);
          return EXIT_USAGE;
        }
    }
  for (guint i = 0; resolved != NULL && i < self->targets->len; i++)
    {
      Target *target = g_ptr_array_index (self->targets, i);

      make_text (target, common, scenario, resolved, diags);
      if (target->file == NULL)
        g_string_append (out, target->text->str);
    }
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  return emit_arguments_prints (self) ? stream_print (out) : EXIT_DONE;
}

ExitStatus
emit_arguments_write (const EmitArguments *self, ExitStatus status)
{
  for (guint i = 0; i < self->targets->len; i++)
    {
      const Target      *target = g_ptr_array_index (self->targets, i);
      g_autoptr (GError) error = NULL;
      gboolean           written;

      if (target->file == NULL)
        continue;
      written = output_file_write (target->file, target->text->str, &error);
      status = stream_note_output (status, written, error);
    }
  return status;
}
