/*
 * DiLoCo: workers train on their own for H steps; how far each has come from the outer parameters
 * is averaged over the workers, and a Nesterov step with that average as its gradient makes the
 * parameters that all go on from. Nothing overlaps.
 *
 * Source: Douillard et al., arXiv:2311.08105, algorithm 1.
 */
#include "strategy/outer/outer.h"
#include "strategy/outer/sync.h"

static const OptionSpec diloco_options[] = {
  WORKERS_OPTIONS ("500", "Douillard et al., arXiv:2311.08105"),
  OUTER_PAYLOAD ("fp32", "Jaghouar et al., OpenDiLoCo, arXiv:2407.07852 (fp16)"),
  OUTER_STATE ("gpu", "OpenDiLoCo's reference loop keeps them in pageable memory"),
  OUTER_OPTIMIZER ("gpu", "OpenDiLoCo, hivemind_diloco.py (host)"),
  OUTER_CONTROL_PLANE ("torchft (a quorum)"),
  OUTER_ELASTIC ("false", "torchft: a quorum of those that are there"),
  { 0 },
};

const Strategy strategy_diloco = {
  .api = STRATEGY_API_VERSION,
  .name = "diloco",
  .title = "DiLoCo: H local steps, then an outer Nesterov step on averaged differences",
  .source = "Douillard et al., arXiv:2311.08105",
  .options_size = sizeof (OuterOptions),
  .options = diloco_options,
  .check = outer_check,
  .exchange = outer_exchange,
  .sync = &sync_outer,
  .outer = TRUE,
  .states = "as the inner strategy, on every worker\n"
            "outer parameters: fp32, of what the rank holds, where outer_state says\n"
            "outer momentum: fp32, HBM, or with the outer parameters where the host updates",
  .missing = "the optimizer's own copy of the parameters: the outer step does not refresh it\n"
             "a collective a tensor (the reference loop's): one carries all",
};
