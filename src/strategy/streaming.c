#include "strategy/streaming.h"

const char *const streaming_orders[] = { "strided", "sequential", NULL };

static guint
count_blocks (const PlanInput *in)
{
  return (guint) workload_shape (in->workload)->n_layers;
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
streaming_fails (DiagList *diags, const char *key, const char *hint, const char *message)
{
  diag_list_set_key (diags, key);
  diag_error (diags, NULL, hint, "%s", message);
  diag_list_set_key (diags, NULL);
  return FALSE;
}

gboolean
streaming_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  Exchange         exchange = { 0 };
  g_autofree char *text = NULL;

  if (!outer_check (in, opt, diags))
    return FALSE;
  streaming_exchange (in, opt, &exchange);
  if (exchange.fragments > count_blocks (in))
    {
      text = g_strdup_printf ("%u fragments are more than the %u blocks of the model",
                              exchange.fragments, count_blocks (in));
      return streaming_fails (diags, "fragments", "0 takes one for each three blocks", text);
    }
  if (exchange.fragments > exchange.every || exchange.delay >= exchange_gap (&exchange))
    {
      text = g_strdup_printf ("a fragment travels for %u steps, and the next one is due after %u",
                              exchange.delay, exchange_gap (&exchange));
      return streaming_fails (diags, "overlap",
                              "take fewer fragments, less overlap or longer rounds", text);
    }
  return TRUE;
}
