/*
 * PRIME, which trained INTELLECT-1: DiLoCo around FSDP2. Each rank keeps fp32 copies of its shard
 * in the host's memory: outer parameters, momentum, differences. Ranks of the same index in all
 * workers form a ring of their own, so the rings of a worker share its card. What travels is
 * encoded in 8 bits, and decoded, added and encoded again by the hosts at every hop.
 *
 * Source: Jaghouar et al., INTELLECT-1, arXiv:2412.01152; zeroband of the prime repository.
 */
#include "strategy/outer/outer.h"
#include "strategy/outer/sync.h"

static const OptionSpec prime_options[] = {
  WORKERS_STEPS ("100", "INTELLECT-1, arXiv:2412.01152"),
  WORKERS_WORKER,
  OUTER_PAYLOAD ("uint8-ring", "INTELLECT-1, arXiv:2412.01152"),
  OUTER_HOST_STATE ("pageable", "INTELLECT-1, arXiv:2412.01152 (the host's memory)"),
  OUTER_CONTROL_PLANE ("prime, zeroband (a monitored barrier)"),
  OUTER_ELASTIC ("true", "INTELLECT-1, arXiv:2412.01152 (ElasticDeviceMesh)"),
  { 0 },
};

static gboolean
prime_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  OuterOptions o = outer_on_host (opt);

  return outer_check (in, &o, diags);
}

static void
prime_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  OuterOptions o = outer_on_host (opt);

  outer_exchange (in, &o, exchange);
  exchange->pieces = EXCHANGE_BY_UNIT;
  exchange->order = RING_ORDER_BEST;
}

const Strategy strategy_prime = {
  .api = STRATEGY_API_VERSION,
  .name = "prime",
  .title = "PRIME (INTELLECT-1): DiLoCo of shards on the host, 8 bits in rings that share a card",
  .source = "INTELLECT-1, arXiv:2412.01152",
  .options_size = sizeof (OuterOptions),
  .options = prime_options,
  .check = prime_check,
  .exchange = prime_exchange,
  .sync = &sync_outer,
  .outer = TRUE,
  .states = "as the inner strategy, on every worker\n"
            "outer parameters, momentum and differences: fp32, of what the rank holds, memory of "
            "its host",
  .missing = "the 1 KiB codebook of each chunk on the wire\n"
             "retries of a ring that failed, heartbeats, checkpoints\n"
             "the optimizer's own copy of the parameters: the outer step does not refresh it",
};
