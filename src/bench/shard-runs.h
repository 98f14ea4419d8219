/*
 * Which bytes go where between tensors and one flat buffer of interleaved shards.
 *
 * The buffer holds RANKS chunks one behind the other; chunk r holds the r-th of RANKS equal slices
 * of every tensor, in the tensors' order. So an all-gather or a reduce-scatter of equal parts fits
 * the buffer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SHARD_RUN_BYTES 32768u

/* As the copy kernel reads it. N counts 16 bytes. */
typedef struct
{
  void    *to, *from;
  uint64_t n;
} ShardRun;

/*
 * Fills RUNS, if it is not NULL, with contiguous runs of at most SHARD_RUN_BYTES: from the tensors
 * into FLAT, or OUT of it. BYTES are the tensors', each a multiple of 16 RANKS. Returns how many
 * runs there are.
 */
unsigned shard_runs_list (void *flat, void *const *tensors, const uint64_t *bytes,
                          unsigned n_tensors, unsigned ranks, bool out, ShardRun *runs);
