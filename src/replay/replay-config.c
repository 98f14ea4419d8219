#include "replay/replay-config.h"

static const char *const granularities[] = { "kernel", "module", "layer", "pass", NULL };

#define OPTION(member) G_STRUCT_OFFSET (ReplayConfig, member)

const OptionSpec replay_options[] = {
  { .key = "granularity",
    .type = OPTION_ENUM,
    .choices = granularities,
    .offset = OPTION (granularity),
    .fallback = "pass",
    .help =
        "kernels that run back to back are simulated one by one, or as few ops: of a module, a layer, or a whole pass" },
  { .key = "multiply",
    .type = OPTION_BOOL,
    .offset = OPTION (multiply),
    .fallback = "true",
    .help =
        "identical micro-batches are replayed until they repeat, then multiplied; a trace shows all of them" },
  { 0 },
};
