/*
 * What the grouped feed-forward of one rank's experts takes, as TensorRT-LLM runs it on an idle
 * GPU: kernels that route and sort tokens, up and gate in one grouped product, the activation, down
 * in another, and the sum of what a token's experts gave.
 *
 * A grouped product is one kernel. Each expert has tiles of its own, the last one rounded up, so
 * few rows an expert fill no tile; all of them go over the SMs in whole waves, and none is cut
 * along the inner dimension. Its bytes are the weights of the experts that have rows, and the rows.
 * A table's kernel is repeated on the same tensors: what fits two thirds of l2_bytes is found
 * there, of up to twice as much the rest. No training is so: this is no part of cost/kernel.
 */
#pragma once

#include "evidence/tables/expert-loads.h"
#include "hardware/profile/profile.h"
#include "vocabulary/dtype.h"

typedef struct
{
  const ExpertLoads *loads;
  double             hidden, inter; /* sizes of a token, and inside an expert, on one rank */
  double             gates;         /* matrices of up: 2 with a gate */
  Dtype              dtype;
  gboolean           block_scaled;
  double             bytes; /* of an operand's element, its share of scales included */
} ExpertWork;

/*
 * Bytes a second of a kernel that goes through ALL bytes and is run again and again: those in L2 at
 * l2_bandwidth, the others as streaming kernels have them.
 */
double repeated_bandwidth (const GpuProfile *gpu, double all);

/* Seconds at the clock that GPU says. */
double expert_seconds (const GpuProfile *gpu, const ExpertWork *work);
