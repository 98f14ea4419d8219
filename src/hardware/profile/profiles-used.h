/*
 * Which hardware profiles a prediction rests on: part of every result, so that it can be told apart
 * from one that was made with other figures.
 */
#pragma once

#include "hardware/cluster/cluster.h"

#define N_CONFIDENCES (CONFIDENCE_ESTIMATE + 1)

/* A profile, and what it is in a cluster: "nic" of the kind "link". Strings of the profiles. */
typedef struct
{
  const char *role; /* "gpu", "intra", "nic" or "node" */
  const char *kind, *id;
} ProfileUse;

/* Each distinct profile of CLUSTER, in the order of its nodes: newly allocated array. */
GArray *profiles_used_list (const Cluster *cluster);

/*
 * "gpu a40-48 (1f2e3d4c), link ...": each distinct profile of CLUSTER, in the order of its nodes,
 * and the release of kernels that differs on its GPUs, with the start of a hash of its figures.
 * COUNTS (may be NULL) gets the numbers of figures with a source added, by confidence. Newly
 * allocated.
 */
char *profiles_used (ProfileSet *profiles, const Cluster *cluster, guint counts[N_CONFIDENCES]);

/*
 * "b200-sxm-180: no run under load; measured: products, attention": each GPU of CLUSTER whose speed
 * under load no run told, and which of its kernels were measured at all. NULL where there is none.
 * Newly allocated.
 */
char *profiles_used_unmeasured (const Cluster *cluster);
