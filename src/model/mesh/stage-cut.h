/*
 * Where a model is cut into the chunks of a pipeline. Layers are counted as in workload.h: 0 the
 * embedding, then the blocks, last the head.
 *
 * even: as many blocks each. Blocks that do not divide evenly: where embedding and head, counted as
 * one block each, make them even, the ends have one block less; else the first chunks have one
 * more. So with as many chunks as blocks and two, the ends have no block (Llama 3).
 *
 * cost: a block costs 4 d_model n_heads head_dim + 3 d_model d_ff (its products, with whole keys
 * and values, gated or not), the head vocab d_model, the embedding nothing. Chunk c of n ends with
 * the first layer that brings the sum of costs to (c + 1) / n of the whole. Where that leaves later
 * chunks without a layer because the head alone is several shares, the last one begins where the
 * head's would, and those before give up a block each: every chunk has one. nanotron
 * (models/base.py, build_model; models/llama.py, get_block_compute_costs), whose empty chunks pass
 * logits on to the loss.
 *
 * A list of blocks goes before both: "7, 14 x 8, 7" is 7 blocks, 14 chunks of 8, and 7. The first
 * chunk has the embedding as well, the last the head; these two may have 0 blocks.
 */
#pragma once

#include "model/mesh/parallel.h"
#include "model/shape/model.h"

#define STAGE_CHUNKS_MAX 65536

/*
 * The first layer of each model chunk, and behind the last one how many there are: to be freed.
 * Blocks that predict further tokens are cut nowhere: the last chunk has them all (Megatron-LM).
 */
guint *stage_cut (const ModelShape *shape, const MeshOptions *mesh);

/*
 * Blocks of each chunk that TEXT lists; NULL, with the reason in WHY, where it is no such list or
 * of more than STAGE_CHUNKS_MAX chunks. Newly allocated array of guint.
 */
GArray *stage_layers_parse (const char *text, char **why);
