/*
 * CO2: workers train on their own for H steps, then send their parameters to each other by an
 * asynchronous all-reduce that the next round hides; the average that is used is one round old. A
 * rank averages what it holds: its shard under ZeRO-3, everything under ZeRO-1 and ZeRO-2.
 *
 * At the end of round t: wait for the average of round t - 1; m <- beta m + (x_old - average) /
 * Lambda, clipped; send x; x_old <- x_old - alpha m; go on from x_old. Source: arXiv:2401.16265,
 * algorithm 2.
 */
#include "strategy/sync.h"
#include "strategy/workers.h"

static const OptionSpec co2_options[] = {
  WORKERS_OPTIONS ("48", "fairscale-CO2, outer_frequency"),
  { 0 },
};

/* Parameters travel as kernels read them. */
static void
co2_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  workers_exchange (in, opt, training_compute_dtype (workload_training (in->workload)), exchange);
  exchange->delay = EXCHANGE_ROUND_LATE;
  exchange->outer = OUTER_MOMENTUM;
}

const Strategy strategy_co2 = {
  .api = STRATEGY_API_VERSION,
  .name = "co2",
  .title = "CO2: local steps, and an asynchronous average that is one round late",
  .source = "arXiv:2401.16265",
  .options_size = sizeof (WorkersOptions),
  .options = co2_options,
  .check = workers_check,
  .exchange = co2_exchange,
  .sync = &sync_outer,
  .outer = TRUE,
  .states = "as the inner strategy, on every worker\n"
            "outer parameters and outer momentum: fp32, of what the rank holds, HBM\n"
            "what is averaged: a copy in compute precision, always in flight, HBM",
  .missing =
      "the released code's schedule (a blocking outer step over all ranks, sharded over 32)\n"
      "the staleness gap penalty's own arithmetic (a factor in the momentum's kernel here)\n"
      "the optimizer's own copy of the parameters on the GPU: the outer step does not refresh it",
};
