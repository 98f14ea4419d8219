#include "strategy/outer/streaming.h"

const char *const streaming_orders[] = { "strided", "sequential", NULL };

static guint
count_blocks (const PlanInput *in)
{
  return (guint) model_n_blocks (workload_shape (in->workload));
}

void
streaming_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  const StreamingOptions *o = opt;

  outer_exchange (in, opt, exchange);
  exchange->fragments = o->fragments > 0 ? (guint) o->fragments : (count_blocks (in) + 2) / 3;
  exchange->strided = o->order == 0;
  exchange->delay = (guint) o->overlap;
  exchange->merges = o->merge > 0;
}

gboolean
streaming_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  Exchange exchange = { 0 };

  if (!outer_check (in, opt, diags))
    return FALSE;
  streaming_exchange (in, opt, &exchange);
  if (exchange.fragments > count_blocks (in))
    return diag_option_error (diags, "fragments", "0 takes one for each three blocks",
                              "%u fragments are more than the %u blocks of the model",
                              exchange.fragments, count_blocks (in));
  if (exchange.fragments > exchange.every || exchange.delay >= exchange_gap (&exchange))
    return diag_option_error (diags, "overlap",
                              "take fewer fragments, less overlap or longer rounds",
                              "a fragment travels for %u steps, and the next one is due after %u",
                              exchange.delay, exchange_gap (&exchange));
  return TRUE;
}
