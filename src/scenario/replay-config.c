#include "scenario/replay-config.h"

static const char *const granularities[] = { "kernel", "module", "layer", "pass", NULL };

static const char *const skews[] = { "expected", "sampled", "off", NULL };

#define OPTION(member) G_STRUCT_OFFSET (ReplayConfig, member)

const OptionSpec replay_options[] = {
  { .key = "granularity",
    .type = OPTION_ENUM,
    .choices = granularities,
    .offset = OPTION (granularity),
    .fallback = "pass",
    .help = "kernels that run back to back are simulated one by one, or as few ops: of a module, a "
            "layer, or a whole pass" },
  { .key = "extrapolate",
    .type = OPTION_BOOL,
    .offset = OPTION (extrapolate),
    .fallback = "true",
    .help = "identical micro-batches, and steps of a round, are replayed until they repeat, then "
            "extrapolated; a trace shows all of them" },
  { .key = "skew",
    .type = OPTION_ENUM,
    .choices = skews,
    .offset = OPTION (skew),
    .fallback = "expected",
    .needs = "a second node",
    .help =
        "many GPUs go at the pace of the slowest: as expected of that many, drawn once, or not at "
        "all",
    .source = "arXiv:2208.11035" },
  { .key = "seed",
    .type = OPTION_INT,
    .offset = OPTION (seed),
    .fallback = "0",
    .min = 0,
    .max = 1e9,
    .needs = "skew: sampled",
    .help = "of a drawn pace" },
  { 0 },
};
