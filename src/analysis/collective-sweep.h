/*
 * One collective over a range of sizes, as nccl-tests runs it: what each size takes, by which
 * algorithm and protocol, and what binds it. Sizes, counts and bandwidths follow nccl-tests
 * (doc/PERFORMANCE.md): bandwidths are decimal GB/s, algbw = S / t, busbw = algbw x
 * collective_bus_factor.
 */
#pragma once

#include "replay/collective-run.h"
#include "replay/replay.h"

/* How exact: closed form without contention, one op of the engine, every step of the algorithm. */
typedef enum
{
  FIDELITY_ANALYTIC,
  FIDELITY_FLUID,
  FIDELITY_STEP,
} Fidelity;

typedef struct
{
  CollectiveKind kind;
  guint64 min_bytes, max_bytes; /* as asked for; S of a row is rounded down to whole elements a rank */
  guint64  step_bytes;          /* 0: the next size is step_factor times this one */
  double   step_factor;         /* > 1 */
  Fidelity fidelity;
} CollectiveSweepOptions;

typedef struct
{
  guint64             bytes; /* S */
  guint64             count; /* elements of 4 bytes as nccl-tests prints them: of a rank's part for all-gather, reduce-scatter and all-to-all, else of S */
  double              time, algbw, busbw; /* s, B/s */
  CollectiveAlgorithm algorithm;
  CollectiveProtocol  protocol;
  guint               channels;
  char               *binding; /* resource, "channels" (their rate) or "latency" */
} CollectiveSample;

typedef struct
{
  CollectiveKind kind;
  char          *cluster; /* title */
  guint          n_ranks;
  Fidelity       fidelity;
  GArray        *samples; /* CollectiveSample */
  double         mean_busbw;
} CollectiveSweep;

/*
 * RANKS: GPUs in group order. Sizes that leave a rank nothing are passed over. NULL with ERROR set
 * when a size takes too long for the engine's clock.
 */
CollectiveSweep *collective_sweep (const Cluster *cluster, const guint32 *ranks, guint n_ranks,
                                   const CollectiveOptions      *library,
                                   const CollectiveSweepOptions *options, GError **error);
void             collective_sweep_free (CollectiveSweep *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CollectiveSweep, collective_sweep_free)
