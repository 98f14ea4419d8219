/*
 * Strategies of fairscale's gossip module: plain averages by the first ranks of workers every few
 * steps, and a step on outer parameters, each part of them by its owner, every H.
 */
#pragma once

#include "strategy/outer/outer.h"

typedef struct
{
  WorkersOptions workers;
  gint64         base_every;
  gint64         shards;
} LeaderAverageOptions;

#define LEADER_AVERAGE_BASE(source_)                                                           \
  {                                                                                            \
    .key = "localsgd_frequency", .type = OPTION_INT,                                           \
    .offset = G_STRUCT_OFFSET (LeaderAverageOptions, base_every), .fallback = "3", .min = 0,   \
    .max = 10000, .help = "steps between plain averages of the workers' first ranks; 0: none", \
    .source = source_                                                                          \
  }
#define LEADER_AVERAGE_SHARDS(needs_)                                                            \
  {                                                                                              \
    .key = "outer_shards", .needs = needs_, .type = OPTION_INT,                                  \
    .offset = G_STRUCT_OFFSET (LeaderAverageOptions, shards), .fallback = "32", .min = 1,        \
    .max = 1024,                                                                                 \
    .help = "ranks that each own a part of outer parameters and momentum, if there are so many", \
    .source = "fairscale, slowmo_num_shards"                                                     \
  }

gboolean leader_average_check (const PlanInput *in, gconstpointer opt, DiagList *diags);
void     leader_average_exchange (const PlanInput *in, const LeaderAverageOptions *o,
                                  Exchange *exchange);
guint    leader_average_role (const PlanInput *in, const LeaderAverageOptions *o, guint rank);
/* Gradients are averaged in a worker as fairscale's hook does it (co2.py, __make_backward_hook). */
void leader_average_narrow (const PlanInput *in, gconstpointer opt, PlanInput *inner);
