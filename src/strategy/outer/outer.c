#include "strategy/outer/outer.h"

const char *const outer_payloads[] = { "fp32",       "bf16",       "fp16",     "fp8", "int8-block",
                                       "int4-block", "uint8-ring", "fp4-e3m0", NULL };
const char *const outer_states[] = { "gpu", "pinned", "pageable", NULL };
const char *const outer_host_states[] = { "pinned", "pageable", NULL };
const char *const outer_optimizers[] = { "gpu", "host", NULL };

gboolean
outer_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const OuterOptions *o = opt;
  Exchange            exchange = { 0 };
  guint               nodes = mesh_n_nodes (&in->mesh);
  gboolean            on_gpu = o->outer_state == PLACE_HBM;

  if (!workers_check (in, opt, diags))
    return FALSE;
  workers_exchange (in, &o->workers, DTYPE_FP32, &exchange);
  if (nodes > 0 && exchange.across.size > nodes) /* no replicas over a slow network */
    return diag_option_error (diags, "worker", "let a worker have a node at least: 'worker: node'",
                              "%u replicas are more than the %u nodes", exchange.across.size,
                              nodes);
  if (o->optimizer == OUTER_ON_HOST && (on_gpu || o->workers.transport != TRANSPORT_HOST))
    return diag_option_error (diags, on_gpu ? "outer_state" : "transport",
                              on_gpu ? "take 'outer_state: pinned' or 'pageable'" : "take 'host'",
                              "the hosts' cores take the outer step, from what is in their memory");
  return TRUE;
}

void
outer_exchange (const PlanInput *in, gconstpointer opt, Exchange *exchange)
{
  const OuterOptions *o = opt;
  const char         *name = outer_payloads[o->payload];

  workers_exchange (in, &o->workers, DTYPE_FP32, exchange);
  exchange->dtype = DTYPE_FP32;
  if (g_str_equal (name, "bf16"))
    exchange->dtype = DTYPE_BF16;
  else if (g_str_equal (name, "fp16"))
    exchange->dtype = DTYPE_FP16;
  else if (!g_str_equal (name, "fp32"))
    exchange->codec = codec_find (name);
  exchange->what = EXCHANGE_DIFFERENCES;
  exchange->outer = OUTER_MOMENTUM;
  exchange->outer_home = (Place) o->outer_state;
  exchange->on_host = o->optimizer == OUTER_ON_HOST;
  exchange->latency = o->control;
  exchange->elastic = o->elastic;
}

OuterOptions
outer_on_host (const OuterOptions *o)
{
  OuterOptions all = *o;

  all.outer_state += PLACE_PINNED;
  all.optimizer = OUTER_ON_HOST;
  all.workers.transport = TRANSPORT_HOST;
  return all;
}

guint
outer_leader_role (const PlanInput *in, const WorkersOptions *o, guint rank)
{
  Exchange exchange = { 0 };

  workers_exchange (in, o, DTYPE_FP32, &exchange);
  return rank % exchange.worker.size == 0 ? 0 : 1;
}

gboolean
outer_check_leaders (const PlanInput *in, DiagList *diags)
{
  if (!mesh_parts_experts (&in->mesh))
    return TRUE;
  diag_error (diags, NULL, "take 'mesh.ep: 1', or an exchange in which every rank takes part",
              "the leader of a worker does not hold the experts of its other ranks");
  return FALSE;
}
