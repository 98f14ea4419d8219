/* The options of strategies that take an outer step, and what they mean for an exchange. */
#pragma once

#include "strategy/outer/workers.h"

typedef struct
{
  WorkersOptions workers;
  gint           payload;     /* OUTER_PAYLOADS */
  gint           outer_state; /* Place */
  gint           optimizer;   /* OUTER_ON_GPU or OUTER_ON_HOST */
  double         control;     /* s */
  gboolean       elastic;
} OuterOptions;

enum
{
  OUTER_ON_GPU,
  OUTER_ON_HOST,
};

extern const char *const outer_payloads[];    /* "fp32", "bf16", ..., codecs by their names */
extern const char *const outer_states[];      /* as Place */
extern const char *const outer_host_states[]; /* from PLACE_PINNED on */
extern const char *const outer_optimizers[];  /* as the enum above */

/* Their rows for a struct that begins with OuterOptions. */
#define OUTER_PAYLOAD(fallback_, source_)                                            \
  {                                                                                  \
    .key = "payload", .type = OPTION_ENUM, .choices = outer_payloads,                \
    .offset = G_STRUCT_OFFSET (OuterOptions, payload), .fallback = fallback_,        \
    .help = "as what differences travel: a type, or a codec that is summed in fp32", \
    .source = source_                                                                \
  }
#define OUTER_STATE(fallback_, source_)                                                      \
  {                                                                                          \
    .key = "outer_state", .type = OPTION_ENUM, .choices = outer_states,                      \
    .offset = G_STRUCT_OFFSET (OuterOptions, outer_state), .fallback = fallback_,            \
    .help = "where outer parameters live: on the GPU, or in pinned or pageable host memory", \
    .source = source_                                                                        \
  }
#define OUTER_CONTROL(key_, fallback_, help_, source_)                                     \
  {                                                                                        \
    .key = key_, .type = OPTION_QUANTITY, .kind = QUANTITY_TIME,                           \
    .offset = G_STRUCT_OFFSET (OuterOptions, control), .fallback = fallback_, .min = 1e-6, \
    .max = 86400, .or_zero = TRUE, .help = help_, .source = source_                        \
  }
/* What the control plane takes before data move, where nobody has a name for it. */
#define OUTER_CONTROL_PLANE(source_)     \
  OUTER_CONTROL ("control_plane", "0 s", \
                 "what a quorum, a barrier or the like takes before each exchange", source_)
#define OUTER_ELASTIC(fallback_, source_)                                                     \
  {                                                                                           \
    .key = "elastic", .type = OPTION_BOOL, .offset = G_STRUCT_OFFSET (OuterOptions, elastic), \
    .fallback = fallback_,                                                                    \
    .help = "others go on without a worker that is lost, which joins at a later exchange "    \
            "(what runs take: 'shardsim plan')",                                              \
    .source = source_                                                                         \
  }
/* Of strategies whose hosts do it all: outer_on_host. */
#define OUTER_HOST_STATE(fallback_, source_)                                        \
  {                                                                                 \
    .key = "outer_state", .type = OPTION_ENUM, .choices = outer_host_states,        \
    .offset = G_STRUCT_OFFSET (OuterOptions, outer_state), .fallback = fallback_,   \
    .help = "where all of the outer step lives: in pinned or pageable host memory", \
    .source = source_                                                               \
  }
#define OUTER_OPTIMIZER(fallback_, source_)                                                   \
  {                                                                                           \
    .key = "outer_optimizer", .type = OPTION_ENUM, .choices = outer_optimizers,               \
    .offset = G_STRUCT_OFFSET (OuterOptions, optimizer), .fallback = fallback_,               \
    .help = "who subtracts and takes the outer step, and has its momentum", .source = source_ \
  }

/* Whether workers hold whole nodes, and the host has in its memory what it works on. */
gboolean outer_check (const PlanInput *in, gconstpointer opt, DiagList *diags);

/* An exchange of differences that an outer step with momentum takes in; blocking, all at once. */
void outer_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange);

/* The options, as the functions above take them, where the hosts carry, subtract and step. */
OuterOptions outer_on_host (const OuterOptions *o);

/*
 * Where the first rank of each worker has a part of its own (Exchange.leader, base_every): 0 for
 * it, 1 for others. Such exchanges need parameters that every rank holds whole, without experts on
 * some ranks only: outer_check_leaders.
 */
guint    outer_leader_role (const PlanInput *in, const WorkersOptions *o, guint rank);
gboolean outer_check_leaders (const PlanInput *in, DiagList *diags);
