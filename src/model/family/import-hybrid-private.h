/*
 * Keys that list the blocks of a hybrid: an entry a block, a letter a block, or the numbers of the
 * blocks of a kind. Internal to the layer.
 */
#pragma once

#include "model/family/import-family-private.h"

ImportReader import_nemotron_blocks;   /* hybrid_override_pattern, layers_block_type */
ImportReader import_deci_blocks;       /* block_configs: kinds and widths of each block */
ImportReader import_delta_blocks;      /* layer_types, full_attention_interval */
ImportReader import_kimi_blocks;       /* linear_attn_config */
ImportReader import_lightning_blocks;  /* layer_types, attn_type_list */
ImportReader import_mamba_blocks;      /* layer_types, layers_block_type: mamba, attention */
ImportReader import_attention_indices; /* attn_layer_indices: all others are Mamba-2 */
ImportReader import_all_mamba;         /* no attention at all */
ImportReader import_all_mamba1;        /* the same of Mamba-1 */
ImportReader import_jamba_blocks;      /* periods and offsets of attention and of experts */
ImportReader import_side_blocks;       /* attention and Mamba-2 in every block */
ImportReader import_conv_blocks;       /* layer_types, full_attn_idxs: short convolutions */
ImportReader import_conv_width;        /* block_auto_adjust_ff_dim of LFM2 */
ImportReader import_mamba_heads;       /* mamba_d_head of "auto", mamba_expand */
ImportReader import_shared_mlp;        /* Granite: without experts the shared MLP is the MLP */
