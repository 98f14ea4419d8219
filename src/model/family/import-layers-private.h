/*
 * Keys that say which layers are special: lists with an entry a layer, and numbers that count
 * layers. Internal to the layer.
 */
#pragma once

#include "model/family/import-family-private.h"
#include "model/shape/family-private.h"

ImportReader import_layer_types;    /* layer_types: which layers attend over a window */
ImportReader import_qwen_windows;   /* use_sliding_window, max_window_layers; then layer_types */
ImportReader import_dense_layers;   /* mlp_only_layers */
ImportReader import_moe_layer_freq; /* of each so many layers the first, or a list of 0 and 1 */

/* sliding_window_pattern: of each so many layers the last one attends to all. */
ImportReader import_window_pattern;

/* Which layers attend over the window; by a rule where there is one. WINDOWED: an entry a layer. */
void import_set_windows (ModelShape *shape, const gboolean *windowed);
/* The same of those that have an MLP in the place of experts. */
void import_set_dense (ModelShape *shape, const gboolean *dense);

ImportReader import_indexers; /* of GLM-5: every layer has its own */
