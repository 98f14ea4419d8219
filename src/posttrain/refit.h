/*
 * What it takes to bring new weights from the layout of training to that of generation.
 *
 * Gathered: tensor after tensor, the stage that has it broadcasts each rank's part to the ranks of
 * the other stages; then tensor ranks, and of experts expert ranks, gather the parts; each rank of
 * the generator keeps what it needs (NeMo-RL's and verl's Megatron workers). Where other GPUs
 * generate, a rank of training broadcasts what it gathered to all, packed into buffers, beside the
 * gathering of the next. Resharded: each rank gets its own part from a rank that has it. The host
 * has something to do for each tensor, a matrix of an expert counted as one.
 */
#pragma once

#include "scenario/resolved.h"
#include "serve/generator.h"

typedef struct
{
  double n_tensors;   /* of the whole model */
  double bytes;       /* of the whole model, 16 bits a parameter */
  double rank_bytes;  /* that a generating rank receives */
  double host_s;      /* of all tensors */
  double gather_s;    /* collectives between training ranks */
  double hand_over_s; /* to GPUs that generate alone */
  double seconds;
} RefitTime;

/*
 * TRAINING: what trains. GENERATOR: what generates, on the same GPUs or on others (APART). WHOLE:
 * all of them.
 */
RefitTime refit_time (const RlConfig *config, const ResolvedScenario *training,
                      Generator *generator, const Cluster *whole, gboolean apart);
