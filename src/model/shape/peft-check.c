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
      g_auto (GStrv) parts = g_strsplit (*target, PEFT_JOIN, -1);

      n += **target != '\0';
      for (char **part = parts; *part != NULL; part++)
        if (**part != '\0' && !g_str_equal (*part, PEFT_ALL_LINEAR) && !has_target (names, *part))
          diag_error (diags, option_mark (marks, "lora_target_modules", NULL), hint,
                      "'lora_target_modules' names '%s', which '%s' does not have", *part,
                      shape->name);
    }
  if (n == 0)
    diag_error (diags, option_mark (marks, "lora_target_modules", NULL), hint,
                "'lora_target_modules' names no module");
  return diag_list_n_errors (diags) == before;
}

/*
 * Modules of one input alone share A: of those that a target joins in a layer, one has it. The
 * modules stand in the blocks' order.
 */
static gboolean
check_joined (const ModelShape *shape, const TrainingOptions *training, const OptionMarks *marks,
              DiagList *diags)
{
  g_autoptr (Workload) workload = workload_new (shape, training);

  for (guint l = 0; l < workload_n_layers (workload); l++)
    {
      const LayerDesc       *layer = workload_layer (workload, l);
      g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

      for (guint m = 0; m < layer->n_modules; m++)
        {
          g_autofree char *name = g_strdup (layer->modules[m].name);
          char            *end = strstr (name, ".lora_A");
          guint            target;

          if (end == NULL)
            continue;
          *end = '\0';
          target = peft_joined (training, name);
          if (target == 0 || g_hash_table_add (seen, GUINT_TO_POINTER (target)))
            continue;
          diag_error (diags, option_mark (marks, "lora_target_modules", NULL),
                      "join modules of one input, such as q_proj+k_proj+v_proj",
                      "'lora_target_modules' joins '%s' to a module that takes another input",
                      name);
          return FALSE;
        }
    }
  return TRUE;
}

/* KEY does not go with what is set: HINT says what to do. */
static gboolean
fails (const OptionMarks *marks, const char *key, DiagList *diags, const char *hint,
       const char *why)
{
  diag_error (diags, option_mark (marks, key, NULL), hint, "'%s' %s", key, why);
  return FALSE;
}

/* Its norms are those of one module's matrix. */
static gboolean
check_dora (const TrainingOptions *training, const OptionMarks *marks, DiagList *diags)
{
  if (training->use_dora && strstr (training->lora_target_modules, PEFT_JOIN) != NULL)
    return fails (marks, "use_dora", diags, "put commas between 'lora_target_modules'",
                  "does not go with modules that '" PEFT_JOIN "' joins: not modelled");
  return TRUE;
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
  return check_packing (shape, training, marks, diags) && check_dora (training, marks, diags)
         && check_targets (shape, training, marks, diags)
         && check_joined (shape, training, marks, diags);
}
