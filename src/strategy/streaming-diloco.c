/*
 * Streaming DiLoCo: the model in fragments of some blocks, each exchanged every H steps, in turn.
 * What a fragment sends travels while training goes on for some steps; when it is there, an outer
 * Nesterov step is taken, and the parameters are mixed with what the worker has learned since.
 *
 * Source: Douillard et al., arXiv:2501.18512, algorithm 2; torchft/local_sgd.py (variant torchft).
 */
#include "strategy/outer.h"
#include "strategy/sync.h"

enum
{
  VARIANT_PAPER,
  VARIANT_TORCHFT,
};

typedef struct
{
  OuterOptions outer;
  gint64       fragments, overlap;
  gint         order, variant;
  double       merge;
} StreamingOptions;

static const char *const variants[] = { "paper", "torchft", NULL };
static const char *const orders[] = { "strided", "sequential", NULL };

#define OPTION(member) G_STRUCT_OFFSET (StreamingOptions, member)

static const OptionSpec streaming_options[] = {
  WORKERS_OPTIONS ("100", "Douillard et al., arXiv:2501.18512"),
  OUTER_PAYLOAD ("fp4-e3m0", "Douillard et al., arXiv:2501.18512, 3"),
  OUTER_STATE ("pinned", "torchft/local_sgd.py (pinned memory of the host)"),
  OUTER_CONTROL_PLANE ("torchft/local_sgd.py (a quorum)"),
  OUTER_ELASTIC ("false", "torchft: a quorum of those that are there"),
  { .key = "fragments",
    .type = OPTION_INT,
    .offset = OPTION (fragments),
    .fallback = "0",
    .min = 0,
    .max = 1024,
    .help = "parts of the model that are exchanged in turn; 0: one for each three blocks",
    .source = "Douillard et al., arXiv:2501.18512" },
  { .key = "order",
    .type = OPTION_ENUM,
    .choices = orders,
    .offset = OPTION (order),
    .fallback = "strided",
    .help = "which blocks a fragment has: each P-th, or neighbours",
    .source = "Douillard et al., arXiv:2501.18512" },
  { .key = "overlap",
    .type = OPTION_INT,
    .offset = OPTION (overlap),
    .fallback = "1",
    .min = 0,
    .max = 10000,
    .help = "steps that go on while a fragment travels (tau; torchft: fragment_sync_delay)",
    .source = "Douillard et al., arXiv:2501.18512 (at most 5 recommended)" },
  { .key = "merge",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    .offset = OPTION (merge),
    .fallback = "0.5",
    .max = 1,
    .help = "part of what a worker has learned meanwhile that stays in its parameters (alpha)",
    .source = "Douillard et al., arXiv:2501.18512 (memory); torchft: fragment_update_alpha" },
  { .key = "variant",
    .type = OPTION_ENUM,
    .choices = variants,
    .offset = OPTION (variant),
    .fallback = "paper",
    .help = "torchft: as many steps between all fragments, mixing from a copy",
    .source = "torchft/local_sgd.py" },
  { 0 },
};

static guint
count_blocks (const PlanInput *in)
{
  return (guint) workload_shape (in->workload)->n_layers;
}

static void
streaming_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  const StreamingOptions *o = opt;

  outer_exchange (in, opt, exchange);
  exchange->fragments = o->fragments > 0 ? (guint) o->fragments : (count_blocks (in) + 2) / 3;
  exchange->strided = o->order == 0;
  exchange->delay = (guint) o->overlap;
  exchange->merges = o->merge > 0;
  exchange->clones = exchange->merges && o->variant == VARIANT_TORCHFT;
}

static gboolean
fails (DiagList *diags, const char *key, const char *hint, const char *message)
{
  diag_list_set_key (diags, key);
  diag_error (diags, NULL, hint, "%s", message);
  diag_list_set_key (diags, NULL);
  return FALSE;
}

static gboolean
streaming_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const StreamingOptions *o = opt;
  Exchange                exchange = { 0 };
  g_autofree char        *text = NULL;

  if (!outer_check (in, opt, diags))
    return FALSE;
  streaming_exchange (in, opt, &exchange);
  if (exchange.fragments > count_blocks (in))
    {
      text = g_strdup_printf ("%u fragments are more than the %u blocks of the model",
                              exchange.fragments, count_blocks (in));
      return fails (diags, "fragments", "0 takes one for each three blocks", text);
    }
  if (o->variant == VARIANT_TORCHFT && exchange.every % exchange.fragments > 0)
    {
      text = g_strdup_printf ("torchft exchanges %u fragments in equal parts of a round, and %u "
                              "steps are no multiple of them",
                              exchange.fragments, exchange.every);
      return fails (diags, "local_steps", "take a multiple, or 'variant: paper', which rounds",
                    text);
    }
  if (exchange.fragments > exchange.every || exchange.delay >= exchange_gap (&exchange))
    {
      text = g_strdup_printf ("a fragment travels for %u steps, and the next one is due after %u",
                              exchange.delay, exchange_gap (&exchange));
      return fails (diags, "overlap", "take fewer fragments, less overlap or longer rounds", text);
    }
  return TRUE;
}

const Strategy strategy_streaming_diloco = {
  .api = STRATEGY_API_VERSION,
  .name = "streaming-diloco",
  .title = "Streaming DiLoCo: fragments exchanged in turn, in few bits, while training goes on",
  .source = "Douillard et al., arXiv:2501.18512",
  .options_size = sizeof (StreamingOptions),
  .options = streaming_options,
  .check = streaming_check,
  .exchange = streaming_exchange,
  .sync = &sync_outer,
  .outer = TRUE,
  .states = "as the inner strategy, on every worker\n"
            "outer parameters: fp32, of what the rank holds, where outer_state says\n"
            "outer momentum: fp32, HBM\n"
            "differences of a fragment: HBM, while it travels",
  .missing = "the optimizer's own copy of the parameters: the outer step does not refresh it\n"
             "the first exchange of each fragment at an offset of its own: it comes once a round",
};
