/* The options of strategies that exchange fragments in turn, and what they mean for an exchange. */
#pragma once

#include "strategy/outer/outer.h"

typedef struct
{
  OuterOptions outer;
  gint64       fragments, overlap;
  gint         order; /* streaming_orders */
  double       merge;
} StreamingOptions;

extern const char *const streaming_orders[];

#define STREAMING_OPTION(member) G_STRUCT_OFFSET (StreamingOptions, member)

/* Their rows beside OuterOptions', for a struct that begins with StreamingOptions. */
#define STREAMING_FRAGMENTS                                                                \
  {                                                                                        \
    .key = "fragments", .type = OPTION_INT, .offset = STREAMING_OPTION (fragments),        \
    .fallback = "0", .min = 0, .max = 1024,                                                \
    .help = "parts of the model that are exchanged in turn; 0: one for each three blocks", \
    .source = "Douillard et al., arXiv:2501.18512"                                         \
  }
#define STREAMING_ORDER                                               \
  {                                                                   \
    .key = "order", .type = OPTION_ENUM, .choices = streaming_orders, \
    .offset = STREAMING_OPTION (order), .fallback = "strided",        \
    .help = "which blocks a fragment has: each P-th, or neighbours",  \
    .source = "Douillard et al., arXiv:2501.18512"                    \
  }
#define STREAMING_OVERLAP(help_)                                                                 \
  {                                                                                              \
    .key = "overlap", .type = OPTION_INT, .offset = STREAMING_OPTION (overlap), .fallback = "1", \
    .min = 0, .max = 10000, .help = help_,                                                       \
    .source = "Douillard et al., arXiv:2501.18512 (at most 5 recommended)"                       \
  }
#define STREAMING_MERGE                                                                         \
  {                                                                                             \
    .key = "merge", .type = OPTION_QUANTITY, .kind = QUANTITY_RATIO,                            \
    .offset = STREAMING_OPTION (merge), .fallback = "0.5", .max = 1,                            \
    .help = "part of what a worker has learned meanwhile that stays in its parameters (alpha)", \
    .source = "Douillard et al., arXiv:2501.18512 (memory); torchft: fragment_update_alpha"     \
  }

/* outer_check, and that fragments have blocks and do not meet on their way. */
gboolean streaming_check (const PlanInput *in, gconstpointer opt, DiagList *diags);

/* outer_exchange, in fragments. */
void streaming_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange);
