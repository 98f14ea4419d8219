/* Lists of blocks that readers of hybrids make. Internal to the layer. */
#pragma once

#include "base/config/config.h"
#include "model/shape/model.h"

/* What a word says of a block; the last entry of a table has no word. */
typedef struct
{
  const char *word;
  ModelMixer  mixer;
} ImportMixerWord;

ModelLayer *import_new_blocks (guint n);

/* The N blocks of SHAPE are BLOCKS, which it owns from here on, and no others. */
void import_list_blocks (ModelShape *shape, ModelLayer *blocks, guint n);

/* LIST, called KEY, has an entry for each layer of SHAPE, or that is diagnosed. */
gboolean import_check_length (const ConfigNode *list, const char *key, const ModelShape *shape,
                              DiagList *diags);

/*
 * A block for each word of the list called KEY, with the feed-forward half that it has without.
 * FALSE: there is no such list, or not as it should be, which is diagnosed.
 */
gboolean import_read_words (const ConfigNode *map, const char *key, const ImportMixerWord *words,
                            ModelShape *shape, DiagList *diags);

/* Blocks [0, n_layers) of MIXER, but those I where (I + AHEAD) % PERIOD == 0, which attend. */
void import_alternate (ModelShape *shape, ModelMixer mixer, gint64 period, gint64 ahead);

/* Blocks of SHAPE, which lists them, whose numbers from BASE stand in NODE, are of MIXER. */
gboolean import_mark_numbers (const ConfigNode *node, const char *key, gint64 base,
                              ModelMixer mixer, ModelShape *shape, DiagList *diags);
