/* What each stage of a pipeline holds and does, read off a replay; without a pipeline one stage. */
#pragma once

#include "predict/prediction.h"

typedef struct
{
  guint     stage;
  gboolean  embedding, head;
  guint     n_blocks, n_mtp; /* the latter predict further tokens */
  char     *layers; /* "embedding, blocks 0-3 8-11": chunk by chunk, from 0 as ops call them */
  double    n_parameters; /* on one of its ranks */
  MemoryUse hbm;          /* at its fullest rank */
  /* of a step, means over its ranks: */
  double busy_s;         /* kernels run on a stream that computes */
  double bubble_s;       /* nothing runs, as Prediction's */
  double exposed_comm_s; /* collectives and messages run, and no such kernel */
} StageUse;

/* Of STRETCH of REPLAY: an array of StageUse, first stage first; to be unreferenced. */
GArray *stages_new (const Replay *replay, const ReplayStretch *stretch);
GArray *stages_copy (const GArray *stages);
