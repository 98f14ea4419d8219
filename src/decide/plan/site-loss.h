/*
 * What a job has to lose where others go on without a worker: how many parts of it may be lost, and
 * how much of the throughput goes with one.
 *
 * The part is a site of the cluster (cluster.sites), all workers of which are lost together; or a
 * worker, where there are no sites or a worker spans several. The throughput without a site is
 * predicted, as its links go with it: a ring that no longer has its slowest edge is a faster one.
 */
#pragma once

#include "predict/prediction.h"

/* Sites of which the throughput without is predicted, evenly chosen among more. */
#define SITE_LOSS_TRIES 16

typedef struct
{
  gboolean are_workers; /* the parts are workers */
  double   sites_each; /* that a part is lost with, where it is a worker over several sites; or 1 */
  guint    n_sites;    /* parts that may be lost; 0: none, the cluster is of one piece */
  double   share;      /* of the throughput that is lost with one, mean; from 0 to 1 */
  double   join_bps;   /* of the best link to a site, of that with the worst; 0: no sites */
} SiteLoss;

/* What one flow has of the best link to a site, B/s, where that is worst; 0: there are no sites. */
double site_join_rate (const Cluster *cluster);

/* SCENARIO was predicted as GIVEN. Without others that go on: the sites, and 1 for the share. */
SiteLoss site_loss_find (const Scenario *scenario, const StrategySet *strategies,
                         const Prediction *given, const PredictOptions *options);
