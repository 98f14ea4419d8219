/* Between plain hosts: an all-to-all with all messages at once. */
#include "cost/collective/algorithm/algorithm-private.h"

const Algorithm algorithm_linear = { BETWEEN_HOSTS,
                                     .id = ALGORITHM_LINEAR,
                                     .kinds = KIND_BIT (COLLECTIVE_ALL_TO_ALL),
                                     .route = route_all_to_all,
                                     .edges = EDGES_ARE_SUMS,
                                     .latency = timed_message_latency,
                                     .stepped = timed_message_latency,
                                     .hops = timed_message_hops,
                                     .build = step_build_at_once };
