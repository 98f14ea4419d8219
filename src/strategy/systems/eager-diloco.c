/*
 * Eager updates: DiLoCo whose exchange the next round hides. At the end of a round a worker takes
 * its own fresh difference at once, with what the others sent a round ago.
 *
 * Source: Kale et al., arXiv:2502.12996 (the goal; the correction's arithmetic is from memory).
 */
#include "strategy/outer/outer.h"
#include "strategy/outer/sync.h"

static const OptionSpec eager_options[] = {
  WORKERS_OPTIONS ("500", "Douillard et al., arXiv:2311.08105"),
  OUTER_PAYLOAD ("fp32", "Douillard et al., arXiv:2311.08105"),
  { 0 },
};

static void
eager_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  outer_exchange (in, opt, exchange);
  exchange->delay = EXCHANGE_ROUND_LATE;
  exchange->eager = TRUE;
}

const Strategy strategy_eager_diloco = {
  .api = STRATEGY_API_VERSION,
  .name = "eager-diloco",
  .title = "eager updates: DiLoCo with the own difference at once, the others' a round late",
  .source = "arXiv:2502.12996",
  .options_size = sizeof (OuterOptions),
  .options = eager_options,
  .check = outer_check,
  .exchange = eager_exchange,
  .sync = &sync_outer,
  .outer = TRUE,
  .states = "as the inner strategy, on every worker\n"
            "outer parameters and outer momentum: fp32, of what the rank holds, HBM\n"
            "differences: those in flight, and the worker's own part of them, always, HBM",
  .missing = "the optimizer's own copy of the parameters: the outer step does not refresh it",
};
