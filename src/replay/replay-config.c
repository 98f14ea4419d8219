#include "replay/replay-config.h"

static const char *const granularities[] = { "kernel", "module", "layer", NULL };

#define OPTION(member) G_STRUCT_OFFSET (ReplayConfig, member)

const OptionSpec replay_options[] = {
  { .key = "granularity",
    .type = OPTION_ENUM,
    .choices = granularities,
    .offset = OPTION (granularity),
    .fallback = "kernel",
    .help = "kernels that run back to back are simulated one by one, or as one op a module or layer" },
  { 0 },
};
