/* Clusters for the tests of collectives, and sums over the loads of a plan. */
#pragma once

#include "collective/collective.h"

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
void     fixture_init (Fixture *self, const char *node, guint nodes);
void     fixture_clear (Fixture *self);
Cluster *fixture_cluster (Fixture *self);

/* All GPUs of CLUSTER in order. Newly allocated. */
guint32 *fixture_all (const Cluster *cluster);

/* Plan of KIND over all GPUs. */
CollectivePlan *fixture_plan (const Cluster *cluster, CollectiveKind kind,
                              CollectiveAlgorithm algorithm);

/* Payload on one resource; 0 when the plan does not name it. */
double plan_payload (const CollectivePlan *plan, guint32 resource);

/* Payload on all resources of KIND, on NODE or (G_MAXUINT32) everywhere. */
double plan_sum (const CollectivePlan *plan, const Cluster *cluster, ResourceKind kind, guint32 node);

/*
 * The largest and smallest payload on the resources of KIND that the plan names, and their number.
 */
guint plan_range (const CollectivePlan *plan, const Cluster *cluster, ResourceKind kind,
                  double *low, double *high);
