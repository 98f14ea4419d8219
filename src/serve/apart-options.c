#include "serve/apart.h"

#define OPTION(member) .offset = G_STRUCT_OFFSET (ApartOptions, member)
#define PRICE(key_, pool_)                                                                         \
  {                                                                                                \
    .key = #key_, .type = OPTION_QUANTITY, .kind = QUANTITY_COUNT, OPTION (key_), .fallback = "1", \
    .min = 1e-6, .max = 1e9,                                                                       \
    .help = "of a GPU of " pool_ ", in any unit: tokens/s are counted by it"                       \
  }

const OptionSpec apart_options[] = {
  { .key = "experts_apart",
    .type = OPTION_BOOL,
    OPTION (apart),
    .fallback = "false",
    .help = "attention and routed experts run on GPUs of their own, micro-batches in ping-pong "
            "between them: what a step of --tp ranks a replica then takes",
    .source = "arXiv:2504.02263" },
  { .key = "expert_cluster",
    .type = OPTION_STRING,
    OPTION (expert_cluster),
    .optional = TRUE,
    .help = "cluster of the experts, as --cluster; without it both are on one" },
  { .key = "attention_replicas",
    .type = OPTION_INT,
    OPTION (attention_replicas),
    .fallback = "1",
    .min = 1,
    .max = 1 << 16,
    .help = "of attention, which share the experts" },
  { .key = "expert_tp",
    .type = OPTION_INT,
    OPTION (expert_tp),
    .fallback = "0",
    .min = 0,
    .max = 1 << 10,
    .help = "tensor-parallel ranks of a node of experts; 0: as attention has" },
  { .key = "expert_nodes",
    .type = OPTION_INT,
    OPTION (expert_nodes),
    .fallback = "0",
    .min = 0,
    .max = 1 << 16,
    .help = "that a layer's experts are divided over; 0: a node an expert" },
  { .key = "micro_batches",
    .type = OPTION_INT,
    OPTION (micro_batches),
    .fallback = "3",
    .min = 1,
    .max = 64,
    .help = "of a replica's batch, between the pools" },
  { .key = "transport",
    .type = OPTION_ENUM,
    .choices = exchange_transport_names,
    OPTION (transport),
    .fallback = "m2n",
    .help = "of tokens between pools: the library's grouped send and receive, or writes to remote "
            "memory that take no SMs" },
  PRICE (attention_price, "attention"),
  PRICE (expert_price, "experts"),
  { .key = "fit_pools",
    .type = OPTION_BOOL,
    OPTION (fit),
    .fallback = "false",
    .help = "search --tp, --expert-tp, --attention-replicas and --micro-batches for the most "
            "tokens/s a price" },
  { 0 },
};
