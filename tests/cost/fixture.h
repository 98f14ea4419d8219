/* Clusters for the tests of collectives, and sums over the loads of a plan. */
#pragma once

#include "cost/collective/library/collective.h"

#include <check.h>
#include <math.h>

#define assert_near(a, b)                                                 \
  ck_assert_msg (fabs ((a) - (b)) <= 1e-12 * fabs ((double) (b)) + 1e-15, \
                 "%s = %.15g, expected %.15g", #a, (double) (a), (double) (b))

typedef struct
{
  ProfileSet    *profiles;
  ClusterOptions options; /* change before fixture_cluster */
} Fixture;

/* NAME: a node profile. */
void fixture_init (Fixture *self, const char *node, guint nodes);
/* Nodes of one socket, whose three GPUs reach each other through its memory, of MEMORY B/s. */
void     fixture_init_staged (Fixture *self, guint nodes, double memory, guint cards);
void     fixture_clear (Fixture *self);
Cluster *fixture_cluster (Fixture *self);

/* What one algorithm under the Simple protocol puts on the links, whatever the size. */
typedef struct
{
  CollectivePlan       *plan;
  CollectiveKind        kind;
  CollectiveAlgorithm   algorithm;
  guint                 n_ranks, n_nodes;
  const CollectiveLoad *loads; /* per byte of S */
  guint                 n_loads;
  double                latency, channels;
  double                link_seconds_per_byte; /* max over all loads of service / capacity */
} Laid;

/* ALGORITHM_N: pairwise for all-to-all and send/receive, otherwise the ring. */
Laid *laid_new (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks, guint n_ranks,
                CollectiveAlgorithm algorithm);

/* The same with messages that leave as PXN (PxnWish) says. */
Laid *laid_new_with (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks,
                     guint n_ranks, CollectiveAlgorithm algorithm, PxnWish pxn);
void  laid_free (Laid *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Laid, laid_free)

double laid_time (const Laid *self, double bytes);

/* All GPUs of CLUSTER in order. Newly allocated. */
guint32 *fixture_all (const Cluster *cluster);

/* Plan of KIND over all GPUs. */
Laid *fixture_plan (const Cluster *cluster, CollectiveKind kind, CollectiveAlgorithm algorithm);

/* Payload on one resource; 0 when the plan does not name it. */
double plan_payload (const Laid *plan, guint32 resource);

/* Payload on all resources of KIND, on NODE or (G_MAXUINT32) everywhere. */
double plan_sum (const Laid *plan, const Cluster *cluster, ResourceKind kind, guint32 node);

/*
 * The largest and smallest payload on the resources of KIND that the plan names, and their number.
 */
guint plan_range (const Laid *plan, const Cluster *cluster, ResourceKind kind, double *low,
                  double *high);
