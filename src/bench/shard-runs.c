#include "bench/shard-runs.h"

#include <stddef.h>

unsigned
shard_runs_list (void *flat, void *const *tensors, const uint64_t *bytes, unsigned n_tensors,
                 unsigned ranks, bool out, ShardRun *runs)
{
  char    *at = flat;
  unsigned n = 0;

  for (unsigned rank = 0; rank < ranks; rank++)
    for (unsigned i = 0; i < n_tensors; i++)
      {
        uint64_t shard = bytes[i] / ranks;
        char    *slice = (char *) tensors[i] + rank * shard;

        for (uint64_t done = 0; done < shard; done += SHARD_RUN_BYTES, n++)
          if (runs != NULL)
            {
              uint64_t size = shard - done < SHARD_RUN_BYTES ? shard - done : SHARD_RUN_BYTES;

              runs[n] = (ShardRun){ .to = out ? slice + done : at + done,
                                    .from = out ? at + done : slice + done,
                                    .n = size / 16 };
            }
        at += shard;
      }
  return n;
}
