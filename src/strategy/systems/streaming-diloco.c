/*
 * Streaming DiLoCo: the model in fragments of some blocks, each exchanged every H steps, in turn.
 * What a fragment sends travels while training goes on for some steps; when it is there, an outer
 * Nesterov step is taken, and the parameters are mixed with what the worker has learned since.
 *
 * torchft's issuing thread waits: for a quorum before a fragment is sent, tensor by tensor; for
 * what has been sent when it is due; and for the GPU before the replicas vote on the outer step.
 *
 * Source: Douillard et al., arXiv:2501.18512, algorithm 2; torchft/local_sgd.py (DiLoCo,
 * _StreamingDiLoCoFragment: prepare_sync, perform_sync, _allreduce_per_param; use_bucketization is
 * off by default), torchft/manager.py (start_quorum, should_commit).
 */
#include "strategy/outer/streaming.h"
#include "strategy/outer/sync.h"

enum
{
  VARIANT_PAPER,
  VARIANT_TORCHFT,
};

typedef struct
{
  StreamingOptions streaming;
  gint             variant;
} StreamingDilocoOptions;

static const char *const variants[] = { "paper", "torchft", NULL };

static const OptionSpec streaming_diloco_options[] = {
  WORKERS_OPTIONS ("100", "Douillard et al., arXiv:2501.18512"),
  OUTER_PAYLOAD ("fp4-e3m0", "Douillard et al., arXiv:2501.18512, 3"),
  OUTER_STATE ("pinned", "torchft/local_sgd.py (pinned memory of the host)"),
  OUTER_CONTROL_PLANE ("torchft/local_sgd.py (a quorum)"),
  OUTER_ELASTIC ("false", "torchft: a quorum of those that are there"),
  STREAMING_FRAGMENTS,
  STREAMING_ORDER,
  STREAMING_OVERLAP (
      "steps that go on while a fragment travels (tau; torchft: fragment_sync_delay)"),
  STREAMING_MERGE,
  { .key = "variant",
    .type = OPTION_ENUM,
    .choices = variants,
    .offset = G_STRUCT_OFFSET (StreamingDilocoOptions, variant),
    .fallback = "paper",
    .help = "torchft: as many steps between all fragments, tensor by tensor, mixing from a copy; "
            "the host waits for each",
    .source = "torchft/local_sgd.py" },
  { 0 },
};

static void
exchange_variant (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  streaming_exchange (in, opt, exchange);
  if (((const StreamingDilocoOptions *) opt)->variant != VARIANT_TORCHFT)
    return;
  exchange->clones = exchange->merges;
  exchange->host_waits = TRUE;
  exchange->pieces = EXCHANGE_BY_TENSOR;
}

static gboolean
check_variant (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  Exchange exchange = { 0 };

  if (!streaming_check (in, opt, diags))
    return FALSE;
  streaming_exchange (in, opt, &exchange);
  if (((const StreamingDilocoOptions *) opt)->variant != VARIANT_TORCHFT
      || exchange.every % exchange.fragments == 0)
    return TRUE;
  return diag_option_error (diags, "local_steps",
                            "take a multiple, or 'variant: paper', which rounds",
                            "torchft exchanges %u fragments in equal parts of a round, and %u "
                            "steps are no multiple of them",
                            exchange.fragments, exchange.every);
}

const Strategy strategy_streaming_diloco = {
  .api = STRATEGY_API_VERSION,
  .name = "streaming-diloco",
  .title = "Streaming DiLoCo: fragments exchanged in turn, in few bits, while training goes on",
  .source = "Douillard et al., arXiv:2501.18512",
  .options_size = sizeof (StreamingDilocoOptions),
  .options = streaming_diloco_options,
  .check = check_variant,
  .exchange = exchange_variant,
  .sync = &sync_outer,
  .outer = TRUE,
  .states = "as the inner strategy, on every worker\n"
            "outer parameters: fp32, of what the rank holds, where outer_state says\n"
            "outer momentum: fp32, HBM\n"
            "differences of a fragment: HBM, while it travels",
  .missing = "the optimizer's own copy of the parameters: the outer step does not refresh it\n"
             "the first exchange of each fragment at an offset of its own: it comes once a round",
};
