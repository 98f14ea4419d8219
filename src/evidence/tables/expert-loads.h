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

typedef struct
{
  double rows, used; /* of the measured rank: rows in all, and experts that have any; at least 1 */
} ExpertLoads;

/* FALSE where DISTRIBUTION is of neither kind. Deterministic: means over seeded draws. */
gboolean expert_loads (const ExpertRouting *routing, const char *distribution, ExpertLoads *loads);
