/*
 * Partial Parameter Updates: a worker trains what all share (attention, norms, embeddings) and one
 * slice of each MLP, with a whole forward pass, for H steps. What it has learned of its slice is
 * averaged over the workers that train the same one, what is shared over all of them; then every
 * worker gets the averages of all slices, and takes an outer Nesterov step on all parameters. In
 * fragments, as Streaming DiLoCo.
 *
 * Source: Filippova et al., arXiv:2509.22418. Which slice a worker trains, and over which
 * collectives the averages travel, it does not say: workers next to each other train different
 * ones here, each average is summed once and gathered once.
 */
#include "strategy/outer/streaming.h"
#include "strategy/outer/sync.h"

static const OptionSpec ppu_options[] = {
  WORKERS_OPTIONS ("100", "not published; Douillard et al., arXiv:2501.18512"),
  OUTER_PAYLOAD ("fp32", "not published: as they are"),
  OUTER_STATE ("gpu", "not published"),
  OUTER_CONTROL_PLANE ("torchft (a quorum)"),
  STREAMING_FRAGMENTS,
  STREAMING_ORDER,
  STREAMING_OVERLAP ("steps that go on while a fragment travels (tau)"),
  STREAMING_MERGE,
  { 0 },
};

static void
ppu_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  streaming_exchange (in, opt, exchange);
  exchange->slices = training_slices (workload_training (in->workload));
}

static gboolean
ppu_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  Exchange exchange = { 0 };
  guint    slices, workers, run;

  if (!streaming_check (in, opt, diags))
    return FALSE;
  ppu_exchange (in, opt, &exchange);
  slices = exchange.slices;
  workers = exchange.across.size;
  run = exchange.across.run > 0 ? exchange.across.run : workers;
  if (slices == 1)
    return diag_option_error (
        diags, "name", "set 'training.trained_slices' to 2 or more, or take streaming-diloco",
        "'training.trained_slices' is 1: every worker would train everything");
  if (workers % slices == 0 && (run % slices == 0 || slices % run == 0))
    return TRUE;
  return diag_option_error (
      diags, "worker", "as many workers train each slice",
      "%u workers are no multiple of the %u slices of 'training.trained_slices'", workers, slices);
}

const Strategy strategy_ppu = {
  .api = STRATEGY_API_VERSION,
  .name = "ppu",
  .title = "Partial Parameter Updates: a worker trains one slice of each MLP, all hold all",
  .source = "Filippova et al., arXiv:2509.22418",
  .options_size = sizeof (StreamingOptions),
  .options = ppu_options,
  .check = ppu_check,
  .exchange = ppu_exchange,
  .sync = &sync_outer,
  .outer = TRUE,
  .states = "parameters: all, as the inner strategy has them, on every worker\n"
            "gradients, optimizer: of what a worker trains alone\n"
            "outer parameters: fp32, of all, where outer_state says\n"
            "outer momentum: fp32, of all, HBM\n"
            "differences of a fragment, all slices: HBM, while it travels",
  .missing = "the optimizer's own copy of the parameters: the outer step does not refresh it\n"
             "slices of experts: 'trained_slices' takes dense models",
  .caveat = "forward passes and gradients of activations are as long as ever",
};
