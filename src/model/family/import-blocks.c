/* Blocks of a shape by words, by numbers, by turns. */
#include "model/family/import-blocks-private.h"

#include "model/family/import-values-private.h"
#include "model/shape/family-private.h"

ModelLayer *
import_new_blocks (guint n)
{
  return g_new0 (ModelLayer, MAX (n, 1));
}

void
import_list_blocks (ModelShape *shape, ModelLayer *blocks, guint n)
{
  g_free (shape->layers);
  shape->layers = blocks;
  shape->n_listed = n;
}

gboolean
import_check_length (const ConfigNode *list, const char *key, const ModelShape *shape,
                     DiagList *diags)
{
  const guint n = config_node_length (list);

  if (n > 0 && n == shape->n_layers)
    return TRUE;
  diag_error (diags, config_node_mark (list), NULL,
              "'%s' has %u entries for %" G_GINT64_FORMAT " layers", key, n, shape->n_layers);
  return FALSE;
}

static gboolean
find_mixer (const ConfigNode *item, const ImportMixerWord *words, ModelMixer *mixer,
            DiagList *diags)
{
  const char         *text = config_node_text (item);
  g_autoptr (GString) hint = g_string_new ("supported: ");

  for (const ImportMixerWord *word = words; word->word != NULL; word++)
    if (g_strcmp0 (text, word->word) == 0)
      {
        *mixer = word->mixer;
        return TRUE;
      }
  for (const ImportMixerWord *word = words; word->word != NULL; word++)
    g_string_append_printf (hint, "%s%s", word == words ? "" : ", ", word->word);
  diag_error (diags, config_node_mark (item), hint->str, "unsupported layer type '%s'",
              text != NULL ? text : "(not a word)");
  return FALSE;
}

gboolean
import_read_words (const ConfigNode *map, const char *key, const ImportMixerWord *words,
                   ModelShape *shape, DiagList *diags)
{
  const ConfigNode      *list = config_node_get (map, key);
  g_autofree ModelLayer *blocks = NULL;
  guint                  n;

  if (import_absent (list) || !config_node_expect (list, CONFIG_LIST, diags)
      || !import_check_length (list, key, shape, diags))
    return FALSE;
  n = config_node_length (list);
  blocks = import_new_blocks (n);
  for (guint i = 0; i < n; i++)
    {
      blocks[i].feed = model_layer (shape, i).feed;
      if (!find_mixer (config_node_item (list, i), words, &blocks[i].mixer, diags))
        return FALSE;
    }
  import_list_blocks (shape, g_steal_pointer (&blocks), n);
  return TRUE;
}

void
import_alternate (ModelShape *shape, ModelMixer mixer, gint64 period, gint64 ahead)
{
  const guint n = (guint) CLAMP (shape->n_layers, 1, 100000);
  ModelLayer *blocks = import_new_blocks (n);

  for (guint i = 0; i < n; i++)
    {
      blocks[i].feed = model_layer (shape, i).feed;
      blocks[i].mixer = (i + ahead) % period == 0 ? MODEL_MIXER_ATTENTION : mixer;
    }
  import_list_blocks (shape, blocks, n);
}

gboolean
import_mark_numbers (const ConfigNode *node, const char *key, gint64 base, ModelMixer mixer,
                     ModelShape *shape, DiagList *diags)
{
  if (import_absent (node))
    return TRUE;
  if (!config_node_expect (node, CONFIG_LIST, diags))
    return FALSE;
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const ConfigNode *item = config_node_item (node, i);
      gint64            number = 0;

      if (!import_integer (item, key, base, &number, diags))
        return FALSE;
      if (number - base >= shape->n_listed)
        {
          diag_error (diags, config_node_mark (item), NULL,
                      "'%s' names layer %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, key, number,
                      shape->n_listed);
          return FALSE;
        }
      shape->layers[number - base].mixer = mixer;
    }
  return TRUE;
}
