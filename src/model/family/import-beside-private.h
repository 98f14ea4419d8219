/*
 * What a config.json says beside the shape of the language model, and what that means here: towers
 * that are left out, and how the checkpoint's weights are kept. Internal to the layer.
 */
#pragma once

#include "base/config/config.h"

/* The map of the language model within ROOT, or ROOT; NULL after a diagnostic. */
const ConfigNode *import_text_map (const ConfigNode *root, DiagList *diags);

/* Warns of what ROOT has beside TEXT, the map of the language model. */
void import_warn_of_towers (const ConfigNode *root, const ConfigNode *text, DiagList *diags);

/* Says what weights the checkpoint holds, where they are not those that are trained. */
void import_warn_of_quantization (const ConfigNode *root, const ConfigNode *text, DiagList *diags);
