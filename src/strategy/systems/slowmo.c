/*
 * SlowMo: local SGD with a slow momentum. Every f steps the first ranks of the workers average
 * parameters and broadcast them; every H steps all ranks take an exact average and a step with
 * momentum on outer parameters, of which a rank owns a part.
 *
 * m <- beta m + (old - average) / lr; old <- old - alpha lr m; parameters <- old.
 * Source: Wang et al., arXiv:1910.00643; fairscale, slowmo_comm.
 */
#include "strategy/outer/leader-average.h"
#include "strategy/outer/sync.h"

static const OptionSpec slowmo_options[] = {
  WORKERS_STEPS ("48", "fairscale, slowmo_frequency"),
  WORKERS_WORKER,
  LEADER_AVERAGE_BASE ("fairscale, localsgd_frequency"),
  LEADER_AVERAGE_SHARDS (NULL),
  { 0 },
};

static void
slowmo_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  leader_average_exchange (in, opt, exchange);
}

static guint
slowmo_role (const PlanInput *in, gconstpointer opt, guint rank)
{
  return leader_average_role (in, opt, rank);
}

const Strategy strategy_slowmo = {
  .api = STRATEGY_API_VERSION,
  .name = "slowmo",
  .title = "SlowMo: local SGD, and now and then a step with a slow momentum",
  .source = "Wang et al., arXiv:1910.00643",
  .options_size = sizeof (LeaderAverageOptions),
  .options = slowmo_options,
  .check = leader_average_check,
  .role = slowmo_role,
  .narrow = leader_average_narrow,
  .exchange = slowmo_exchange,
  .sync = &sync_outer,
  .outer = TRUE,
  .states = "as the inner strategy, which keeps parameters whole on every rank\n"
            "outer parameters and outer momentum: fp32, a part of them on each of the first 32 "
            "ranks, HBM",
  .missing = "stochastic gradient push as the base\n"
             "error feedback of averages in fp16",
};
