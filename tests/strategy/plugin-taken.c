/* A plug-in whose name a built-in strategy has. */
#include "driver/policy/strategy.h"

const Strategy shardsim_strategy = { .api = STRATEGY_API_VERSION,
                                     .name = "fsdp2",
                                     .title = "taken" };
