/* Families by their names. */
#include "model/family/import-family-private.h"

#include <string.h>

const ImportWord import_activations[] = {
  { "relu", MODEL_ACTIVATION_RELU },
  { "relu2", MODEL_ACTIVATION_SQUARED_RELU },
  { "gelu", MODEL_ACTIVATION_GELU },
  { "gelu_new", MODEL_ACTIVATION_GELU },
  { "gelu_fast", MODEL_ACTIVATION_GELU },
  { "gelu_pytorch_tanh", MODEL_ACTIVATION_GELU },
  { 0 },
};

static const ImportFamily *const tables[] = {
  import_families_gpt,    import_families_llama,  import_families_experts,
  import_families_latent, import_families_hybrid,
};

const ImportFamily *
import_family_at (guint i)
{
  for (gsize t = 0; t < G_N_ELEMENTS (tables); t++)
    for (const ImportFamily *family = tables[t]; family->names != NULL; family++)
      if (i-- == 0)
        return family;
  return NULL;
}

char *
import_family_name (const ImportFamily *family)
{
  return g_strndup (family->names, strcspn (family->names, " "));
}

char **
import_family_names (void)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  const ImportFamily      *family;

  for (guint i = 0; (family = import_family_at (i)) != NULL; i++)
    {
      g_auto (GStrv) words = g_strsplit (family->names, " ", -1);

      g_strv_builder_addv (builder, (const char **) words);
    }
  return g_strv_builder_end (builder);
}

/* "Llama" of "LlamaForCausalLM". */
static gboolean
begins_architecture (const char *start, const char *name)
{
  const char *rest = name + strlen (start);

  return g_str_has_prefix (name, start)
         && (g_str_has_prefix (rest, "For") || g_str_has_prefix (rest, "LMHead")
             || g_str_has_prefix (rest, "Model"));
}

static gboolean
is_name (const char *word, const char *name)
{
  return strcmp (word, name) == 0;
}

/* Whether one of LIST, by blanks, is what NAME means. */
static gboolean
list_has (const char *list, const char *name, gboolean (*means) (const char *word, const char *))
{
  g_auto (GStrv) words = g_strsplit (list, " ", -1);

  for (char **word = words; *word != NULL; word++)
    if (means (*word, name))
      return TRUE;
  return FALSE;
}

const ImportFamily *
import_family_by_type (const char *name)
{
  const ImportFamily *family;

  for (guint i = 0; (family = import_family_at (i)) != NULL; i++)
    if (list_has (family->names, name, is_name))
      return family;
  return NULL;
}

const ImportFamily *
import_family_by_architecture (const char *name)
{
  const ImportFamily *family;

  for (guint i = 0; (family = import_family_at (i)) != NULL; i++)
    if (family->architectures != NULL
        && list_has (family->architectures, name, begins_architecture))
      return family;
  return NULL;
}
