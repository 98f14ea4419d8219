/*
 * Blocks of tensors that no boundary of shards may cut, where the format of the shards heeds them
 * (format.h): rows, so that optimizers and codecs that work on tiles find whole ones.
 *
 * A SPEC is rules with commas between, "PATTERN=BLOCK" or "BLOCK"; of those whose pattern, with *
 * and ?, matches a tensor's name the first one counts, and without one a block is a row. BLOCK is
 * "16rows" or a tile, "32x32": in memory rows follow each other, so whole tiles are as many whole
 * rows as a tile is high. A row is the last dimension. Vectors are cut anywhere.
 */
#pragma once

#include "model/step/workload.h"

/*
 * Elements of the block that SPEC (NULL: a row each) has for TENSOR, cut off at the whole tensor. A
 * SPEC that is none counts as NULL.
 */
guint64 shard_block_of (const char *spec, const TensorDesc *tensor);

/* Whether SPEC is one: diagnoses at MARK. */
gboolean shard_block_check (const char *spec, const SourceMark *mark, DiagList *diags);

/* The pattern of each of its rules. The caller's: g_strfreev. */
GStrv shard_block_patterns (const char *spec);

/* Whether the block that it has for TENSOR divides it: the same, naming the tensor. */
gboolean shard_block_check_tensor (const char *spec, const TensorDesc *tensor,
                                   const SourceMark *mark, DiagList *diags);
