/* A plug-in of another API version. */
#include "driver/policy/strategy.h"

const Strategy shardsim_strategy = { .api = STRATEGY_API_VERSION + 1,
                                     .name = "old",
                                     .title = "old" };
