/*
 * What a shared fabric leaves open: where the scheduler puts a job, and which links the hashes
 * name. The same scenario with N seeds of what its cluster draws (from those of the scenario on),
 * and the quantiles of what comes out. Where nothing is drawn all are the same, and one is enough.
 *
 * A quantile q of n sorted values is at place (n - 1) q, linear between its neighbours.
 */
#pragma once

#include "predict/collective-sweep.h"
#include "predict/prediction.h"

/* As predict. */
typedef Prediction *(*PredictDraw) (const Scenario *, const PredictOptions *, DiagList *,
                                    GError **);

/*
 * The band of SELF, the prediction of RESOLVED by OPTIONS, which stands for the first seeds; in
 * OPTIONS' threads, whose number changes nothing; DRAW makes the others. Nothing is done where the
 * scenario asks for none. FALSE after diagnostics or with ERROR set.
 */
gboolean placement_band_predict (Prediction *self, const ResolvedScenario *resolved,
                                 const PredictOptions *options, PredictDraw draw, DiagList *diags,
                                 GError **error);

/* How a collective is run again: all that collective_sweep took, and the cluster's options. */
typedef struct
{
  const ClusterOptions         *cluster;
  const char                   *profile_dir; /* of profile_set_new */
  InputFiles                   *files;
  const guint32                *ranks;
  guint                         n_ranks, n_threads;
  const CollectiveOptions      *library;
  const CollectiveSweepOptions *options;
} CollectiveBandInput;

/* The same on a cluster of WANTED, by FIDELITY. NULL with ERROR set. */
CollectiveSweep *collective_sweep_again (const CollectiveBandInput *input,
                                         const ClusterOptions *wanted, Fidelity fidelity,
                                         GError **error);

/*
 * The band of every sample of SELF, which ran on CLUSTER; none where INPUT's cluster asks for none.
 * FALSE with ERROR set.
 */
gboolean placement_band_collective (CollectiveSweep *self, const Cluster *cluster,
                                    const CollectiveBandInput *input, GError **error);
