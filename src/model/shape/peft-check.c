/* Which adapters a model can have. */
#include <string.h>

#include "model/shape/peft.h"

/* Names of the linear modules that blocks have, each once. */
static GPtrArray *
linear_modules (const ModelShape *shape, const TrainingOptions *training)
{
  g_autoptr (Workload) workload = workload_new (shape, training);
  GPtrArray           *names = g_ptr_array_new ();

  for (guint l = 0; l < workload_n_layers (workload); l++)
    {
      const LayerDesc *layer = workload_layer (workload, l);

      if (l > 0 && layer == workload_layer (workload, l - 1))
        continue;
      for (guint m = 0; m < layer->n_modules; m++)
        if (layer->modules[m].linear
            && !g_ptr_array_find (names, layer->modules[m].name, NULL)) /* interned */
          g_ptr_array_add (names, (gpointer) layer->modules[m].name);
    }
  return names;
}

static gboolean
has_target (const GPtrArray *names, const char *target)
{
  for (guint i = 0; i < names->len; i++)
    if (peft_is_target (g_ptr_array_index (names, i), target))
      return TRUE;
  return FALSE;
}

static gboolean
check_targets (const ModelShape *shape, const TrainingOptions *training, const OptionMarks *marks,
               DiagList *diags)
{
  g_autoptr (GPtrArray) names = linear_modules (shape, training);
  GString              *text = g_string_new ("linear modules of its blocks: ");
  g_autofree char      *hint = NULL;
  g_auto (GStrv)        targets = peft_targets (training);
  guint                 before = diag_list_n_errors (diags), n = 0;

  for (guint i = 0; i < names->len; i++)
    g_string_append_printf (text, "%s, ", (const char *) g_ptr_array_index (names, i));
  g_string_append (text, "or " PEFT_ALL_LINEAR);
  hint = g_string_free (text, FALSE);
  for (char **target = targets; *target != NULL; target++)
    {
      n += **target != '\0';
      if (**target != '\0' && !g_str_equal (*target, PEFT_ALL_LINEAR)
          && !has_target (names, *target))
        diag_error (diags, option_mark (marks, "lora_target_modules", NULL), hint,
                    "'lora_target_modules' names '%s', which '%s' does not have", *target,
                    shape->name);
    }
  if (n == 0)
    diag_error (diags, option_mark (marks, "lora_target_modules", NULL), hint,
                "'lora_target_modules' names no module");
  return diag_list_n_errors (diags) == before;
}

/* KEY does not go with what is set: HINT says what to do. */
static gboolean
fails (const OptionMarks *marks, const char *key, DiagList *diags, const char *hint,
       const char *why)
{
  diag_error (diags, option_mark (marks, key, NULL), hint, "'%s' %s", key, why);
  return FALSE;
}

static gboolean
check_packing (const ModelShape *shape, const TrainingOptions *training, const OptionMarks *marks,
               DiagList *diags)
{
  if (training->load_in_4bit && shape->n_experts > 0)
    return fails (marks, "load_in_4bit", diags, "leave it out",
                  "does not go with experts: their weights in 4 bits are not modelled");
  if (training->load_in_4bit && dtype_bits (training_compute_dtype (training)) != 16)
    return fails (marks, "load_in_4bit", diags, "set 'precision' to bf16 or bf16-mixed",
                  "needs products in 16 bits");
  if (training->load_in_4bit && training->fp8_recipe != FP8_NONE)
    return fails (marks, "load_in_4bit", diags, "set 'fp8_recipe' to none",
                  "does not go with fp8: what is kept in 4 bits is multiplied in 16");
  return TRUE;
}

gboolean
peft_check (const ModelShape *shape, const TrainingOptions *training, const OptionMarks *marks,
            DiagList *diags)
{
  if (training->peft == PEFT_NONE)
    return TRUE;
  return check_packing (shape, training, marks, diags)
         && check_targets (shape, training, marks, diags);
}
