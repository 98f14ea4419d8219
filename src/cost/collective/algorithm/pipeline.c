/* Between plain hosts: a chain that passes segments on, where theirs of `ring` passes messages. */
#include "cost/collective/algorithm/algorithm-private.h"

#define SEGMENT ((double) (64 << 10)) /* what the library is told to take */

const Algorithm algorithm_pipeline = { BETWEEN_HOSTS,
                                       .id = ALGORITHM_PIPELINE,
                                       .kinds = KINDS_OF_CHAINS,
                                       .preferred = TRUE,
                                       .route = route_chain,
                                       .edges = EDGES_ARE_RINGS,
                                       .segment = SEGMENT,
                                       .latency = timed_chain_hops,
                                       .bound = timed_chain_bound,
                                       .stepped = timed_chain_hops,
                                       .hops = timed_message_hops,
                                       .build = step_build_chain };
