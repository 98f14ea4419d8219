/* The options of strategies whose workers train on their own and exchange now and then. */
#pragma once

#include "driver/policy/strategy.h"

typedef struct
{
  gint64 local_steps;
  char  *worker;
  gint   transport; /* Transport */
} WorkersOptions;

/* Their rows for a struct that begins with WorkersOptions. */
#define WORKERS_STEPS(fallback_, source_)                                                     \
  {                                                                                           \
    .key = "local_steps", .type = OPTION_INT,                                                 \
    .offset = G_STRUCT_OFFSET (WorkersOptions, local_steps), .fallback = fallback_, .min = 1, \
    .max = 10000, .help = "steps between two averages (H)", .source = source_                 \
  }
#define WORKERS_WORKER                                                                          \
  {                                                                                             \
    .key = "worker", .type = OPTION_STRING, .offset = G_STRUCT_OFFSET (WorkersOptions, worker), \
    .fallback = "node", .help = "ranks that train together: node, all, or a number",            \
    .source = "Lin et al., arXiv:1808.07217 (hierarchical local SGD)"                           \
  }
#define WORKERS_TRANSPORT                                                                      \
  {                                                                                            \
    .key = "transport", .type = OPTION_ENUM, .choices = workers_transports,                    \
    .offset = G_STRUCT_OFFSET (WorkersOptions, transport), .fallback = "gpu",                  \
    .help = "who carries the average: the GPUs' library, or the hosts' from their own memory", \
    .source = "torch.distributed: backends nccl and gloo"                                      \
  }
/* All of them, with the default of local_steps. */
#define WORKERS_OPTIONS(steps_, source_) \
  WORKERS_STEPS (steps_, source_), WORKERS_WORKER, WORKERS_TRANSPORT

extern const char *const workers_transports[]; /* as Transport */

/* Whether workers tile the mesh and hold whole expert groups. */
gboolean workers_check (const PlanInput *in, gconstpointer opt, DiagList *diags);

/* Workers, the ranks across them and the period; parameters travel as DTYPE. */
void workers_exchange (const PlanInput *in, const WorkersOptions *o, Dtype dtype,
                       Exchange *exchange);
