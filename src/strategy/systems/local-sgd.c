/*
 * Local SGD (periodic parameter averaging): groups of ranks, the workers, train on their own for H
 * steps under any inner strategy, then average their parameters over the workers. Every rank
 * averages what it holds: its shard, or everything.
 *
 * Bytes of a period: the inner strategy's of H steps inside each worker, and one all-reduce of 4
 * bytes an element held across workers. Source: Stich, "Local SGD Converges Fast and Communicates
 * Little", arXiv:1805.09767; Lin et al., arXiv:1808.07217.
 */
#include "strategy/outer/sync.h"
#include "strategy/outer/workers.h"

static const OptionSpec local_sgd_options[] = {
  WORKERS_OPTIONS ("8", "Stich, arXiv:1805.09767"),
  { 0 },
};

static void
local_sgd_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  workers_exchange (in, opt, DTYPE_FP32, exchange);
}

const Strategy strategy_local_sgd = {
  .api = STRATEGY_API_VERSION,
  .name = "local-sgd",
  .title = "local SGD: H steps of an inner strategy in each worker, then a parameter average",
  .source = "Stich, arXiv:1805.09767",
  .options_size = sizeof (WorkersOptions),
  .options = local_sgd_options,
  .check = workers_check,
  .exchange = local_sgd_exchange,
  .sync = &sync_outer,
  .outer = TRUE,
  .states = "as the inner strategy, on every worker\n"
            "the average is taken in place on what each rank holds, in fp32",
  .missing =
      "outer momentum (DiLoCo), overlap of the average with the next steps, compression\n"
      "over ddp and zero1: the kernel that refreshes the low-precision copy after the average",
};
