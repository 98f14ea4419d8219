/* A cluster and the plans of one or two collectives on it, run step by step and as one flow. */
#pragma once

#include "cost/collective/steps/steps.h"
#include "replay/run/collective-run.h"

#define LARGE (64.0 * 1024 * 1024)
#define PS    (1.0 / SIM_TIME_PER_SECOND)

typedef struct
{
  ProfileSet     *profiles;
  ClusterOptions  options; /* change before fixture_build */
  Cluster        *cluster;
  CollectivePlan *plans[2];
} Fixture;

void fixture_init (Fixture *self, const char *node, guint nodes);
void fixture_build (Fixture *self);
void fixture_clear (Fixture *self);

/* A plan over RANKS (NULL: all GPUs), owned by SELF. */
CollectivePlan *fixture_plan (Fixture *self, guint place, CollectiveKind kind,
                              CollectiveAlgorithm algorithm, CollectiveProtocol protocol,
                              const guint32 *ranks, guint n);

/* All GPUs, those of even number first, then the odd ones: two groups that share cards. */
guint32 *fixture_even_and_odd (const Fixture *self);

/* s of PLAN alone. */
double fixture_step (const Fixture *self, CollectivePlan *plan, double bytes);
double fixture_fluid (const Fixture *self, CollectivePlan *plan, double bytes);

/* The share of its time by which the two may differ at BYTES. */
double fixture_allowed (double bytes);
