/*
 * How many rows a rank's experts get, as the kernel tables of aiconfigurator distribute them.
 * "balanced": evenly. "power_law_A": loads of experts are drawn from x^-A, scaled to the tokens
 * times the experts each goes to, and the rank that has most is the one that is measured (the
 * collector's sampling, from memory; confidence: estimate).
 */
#pragma once

#include <glib.h>

typedef struct
{
  double tokens, topk, experts, ranks;
} ExpertRouting;

/* Rows of an expert that one tile takes: 8, 16, .. 256. */
#define EXPERT_LEAST_SIDE 8
#define EXPERT_N_SIDES    6

/* Of the measured rank: rows in all, experts that have any, at least 1; and their tiles. */
typedef struct
{
  double rows, used;
  double tiles[EXPERT_N_SIDES]; /* of that many rows, each expert's last one rounded up */
} ExpertLoads;

/* FALSE where DISTRIBUTION is of neither kind. Deterministic: means over seeded draws. */
gboolean expert_loads (const ExpertRouting *routing, const char *distribution, ExpertLoads *loads);
