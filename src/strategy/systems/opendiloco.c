/*
 * OpenDiLoCo: DiLoCo over the internet. The first rank of each worker holds outer parameters,
 * momentum and differences in the host's memory; it finds its peers, averages with them over TCP,
 * steps on the host's cores, and broadcasts what it has to its worker.
 *
 * Source: Jaghouar et al., arXiv:2407.07852; open_diloco/hivemind_diloco.py.
 */
#include "strategy/outer/outer.h"
#include "strategy/outer/sync.h"

static const OptionSpec open_options[] = {
  WORKERS_STEPS ("500", "Jaghouar et al., arXiv:2407.07852"),
  WORKERS_WORKER,
  OUTER_PAYLOAD ("fp32", "Jaghouar et al., arXiv:2407.07852 (fp16, 8 bits)"),
  OUTER_HOST_STATE ("pageable", "open_diloco/hivemind_diloco.py"),
  OUTER_CONTROL ("matchmaking_time", "15 s", "what finding the peers of an average takes",
                 "open_diloco/hivemind_diloco.py, matchmaking_time"),
  OUTER_ELASTIC ("true", "Jaghouar et al., OpenDiLoCo, arXiv:2407.07852 (hivemind)"),
  { 0 },
};

static gboolean
open_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  OuterOptions o = outer_on_host (opt);

  return outer_check (in, &o, diags) && outer_check_leaders (in, diags);
}

static void
open_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  OuterOptions o = outer_on_host (opt);

  outer_exchange (in, &o, exchange);
  exchange->leader = TRUE;
}

static guint
open_role (const PlanInput *in, gconstpointer opt, guint rank)
{
  return outer_leader_role (in, opt, rank);
}

const Strategy strategy_opendiloco = {
  .api = STRATEGY_API_VERSION,
  .name = "opendiloco",
  .title = "OpenDiLoCo: DiLoCo by one rank a worker, on the host, over TCP",
  .source = "Jaghouar et al., arXiv:2407.07852",
  .options_size = sizeof (OuterOptions),
  .options = open_options,
  .check = open_check,
  .role = open_role,
  .exchange = open_exchange,
  .sync = &sync_outer,
  .outer = TRUE,
  .states = "as the inner strategy, which keeps parameters whole on every rank\n"
            "outer parameters, momentum and differences: fp32, whole, memory of the host of each "
            "worker's first rank",
  .missing = "hivemind's butterfly in chunks: a ring of the same bytes\n"
             "one broadcast a tensor inside the worker: one carries all\n"
             "the optimizer's own copy of the parameters: the outer step does not refresh it",
};
