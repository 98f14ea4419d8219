/* How an engine schedules requests: the `serving` section of a scenario. */
#pragma once

#include "base/config/option.h"

typedef struct
{
  gint64   max_sequences; /* of a replica at a time */
  gboolean whole_prompts; /* computed in steps of their own */
  double   prefix_reuse;  /* share of a prompt that is in the cache already */
  gint64   block_tokens;
  gint64   prefill_instances; /* that compute prompts alone; 0: all do both */
  double   first_token_limit_s, between_tokens_limit_s; /* of goodput; 0: none */
} ServingOptions;

extern const OptionSpec serving_options[];
