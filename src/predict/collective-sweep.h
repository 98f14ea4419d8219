/*
 * One collective over a range of sizes, as nccl-tests runs it: what each size takes, by which
 * algorithm and protocol, and what binds it. Sizes, counts and bandwidths follow nccl-tests
 * (doc/PERFORMANCE.md): bandwidths are decimal GB/s, algbw = S / t, busbw = algbw x
 * collective_bus_factor.
 */
#pragma once

#include "predict/quantile-band.h"
#include "replay/run/collective-run.h"
#include "replay/run/replay.h"

/* How exact: closed form without contention, one op of the engine, every step of the algorithm. */
typedef enum
{
  FIDELITY_ANALYTIC,
  FIDELITY_FLUID,
  FIDELITY_STEP,
} Fidelity;

/* A collective that runs at the same time as that of a row, on a communicator of its own. */
typedef struct
{
  CollectiveKind    kind;
  const guint32    *ranks; /* in group order; borrowed */
  guint             n_ranks;
  CollectiveOptions library;
  guint64           bytes; /* S; 0: that of the row, where that leaves each rank something */
  double            start; /* s after the row's; >= 0 */
} CollectiveNeighbour;

typedef struct
{
  CollectiveKind kind;
  guint64        min_bytes, max_bytes; /* as asked for; S of a row is collective_whole_size of it */
  guint64        step_bytes;           /* 0: the next size is step_factor times this one */
  double         step_factor;          /* > 1 */
  Fidelity       fidelity;             /* analytic only without neighbours */
  const CollectiveNeighbour *concurrent; /* [n_concurrent] */
  guint                      n_concurrent;
  WorkCount                 *count; /* is told of the sizes; may be NULL */
} CollectiveSweepOptions;

typedef struct
{
  guint64 bytes;              /* S */
  guint64 count;              /* elements of 4 bytes as nccl-tests prints them: of a rank's part for
                                all-gather, reduce-scatter and all-to-all, else of S */
  double  time, algbw, busbw; /* s, B/s; with the concurrent ones, where there are any */
  CollectiveAlgorithm algorithm;
  CollectiveProtocol  protocol;
  guint               channels;
  char               *binding;   /* what binds it: a resource, "channels" (their rate) or "latency";
                                  concurrent the neighbours in `fluid`, else alone */
  QuantileBand        time_band; /* s, over the draws of the sweep's n_placements */
  double              alone;     /* s, without the neighbours */
  double *concurrent; /* [n_concurrent] s that each took, from its own start; NULL without any */
} CollectiveSample;

typedef struct
{
  CollectiveKind         kind;
  char                  *cluster;  /* title */
  GArray                *measured; /* ClusterMeasured that its network is scaled to, or NULL */
  double                 network_scale;
  char                  *profiles; /* what profiles_used says of it; the caller's to fill */
  guint                  n_ranks;
  Fidelity               fidelity;
  GArray                *samples; /* CollectiveSample */
  double                 mean_busbw;
  guint                  n_placements; /* draws of the samples' bands: placement-band.h; 0 = none */
  gboolean               is_drawn;     /* they differ; else placement and hashes decide nothing */
  CollectiveSweepOptions options;      /* as asked for */
  CollectiveNeighbour   *concurrent;   /* [options.n_concurrent]; without their ranks and library */
} CollectiveSweep;

/*
 * BYTES rounded down to what nccl-tests runs: whole elements, and whole blocks of 16 bytes in each
 * rank's part of all-gather, reduce-scatter and all-to-all. 0: nothing is left.
 */
guint64 collective_whole_size (CollectiveKind kind, guint n_ranks, guint64 bytes);

/* Sizes from min_bytes to max_bytes, counted up to one more than the bound. */
#define COLLECTIVE_SWEEP_MAX_SIZES 100000
guint collective_sweep_n_sizes (const CollectiveSweepOptions *options);

/*
 * RANKS: GPUs in group order. Sizes that leave a rank nothing are passed over. NULL with ERROR set
 * when a size takes too long for the engine's clock.
 */
CollectiveSweep *collective_sweep (const Cluster *cluster, const guint32 *ranks, guint n_ranks,
                                   const CollectiveOptions      *library,
                                   const CollectiveSweepOptions *options, GError **error);
void             collective_sweep_free (CollectiveSweep *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CollectiveSweep, collective_sweep_free)
