/*
 * How the coordinator's parameters come and go: by the policy's route from the shards, or from the
 * second copy once that is valid.
 */
#include "strategy/emit/common.h"
#include "strategy/emit/route.h"
#include "strategy/runtime/deepspeed/issue-deepspeed-private.h"

/* Kernels read what is gathered, or the shard of a lone rank, and what is persistent. */
void
deepspeed_place_parameters (StrategyRun *run, guint unit)
{
  const DeepspeedState *s = run->state;
  const DeepspeedUnit  *u = &s->units[unit];
  BufferRef             shared =
      run->shares[unit].cut < run->units[unit].elements ? s->persistent : SCHEDULE_NONE;

  if (s->m == 1 && u->full == SCHEDULE_NONE && !deepspeed_is_away (run, STATE_PARAMETERS))
    shared = s->shards;
  strategy_data (run, unit, UNIT_PARAMETERS, u->full, shared);
}

/* Units that are gathered as one. */
typedef struct
{
  const guint *units;
  guint        n;
  BufferRef    source; /* of their parts */
} UnitList;

static void
use_gathered (StrategyRun *run, gconstpointer data, ScheduleAccess access)
{
  const DeepspeedState *s = run->state;
  const UnitList       *list = data;

  for (guint i = 0; i < list->n; i++)
    schedule_uses (run->b, s->units[list->units[i]].full, SCHEDULE_WHOLE, access);
}

static void
use_parts (StrategyRun *run, gconstpointer data, ScheduleAccess access)
{
  const UnitList *list = data;

  for (guint i = 0; i < list->n; i++)
    schedule_uses (run->b, list->source, list->units[i], access);
}

/* On which UNIT's second copy is made: what stays on the GPU is made between kernels. */
static StreamRef
copy_stream (const StrategyRun *run, guint unit)
{
  return run->shares[unit].keeps_copy ? SCHEDULE_COMPUTE
                                      : ((const DeepspeedState *) run->state)->copy;
}

/* Where UNIT is gathered from. */
static PolicyRouteKind
source_of (const StrategyRun *run, guint unit)
{
  gboolean frozen = run->units[unit].trainable_elements == 0;

  if (!((const DeepspeedState *) run->state)->units[unit].cached)
    return frozen && policy_frozen_codec (deepspeed_unit_policy (run)) != NULL ? ROUTE_FROZEN
                                                                               : ROUTE_GATHER;
  return run->shares[unit].keeps_copy ? ROUTE_KEPT : ROUTE_COPY;
}

/* Tensors of UNIT that are cut. */
static guint
n_cut (const StrategyRun *run, guint unit)
{
  const PlanUnit *plan = &run->units[unit];
  guint           n = 0;

  for (guint t = 0; t < plan->n_tensors; t++)
    n += plan->tensors[t].elements > run->policy->whole_below;
  return n;
}

/* Elements of FETCH with their padding. */
static guint64
padded_of (const StrategyRun *run, const DeepspeedFetch *fetch, gboolean copy)
{
  guint64 padded = 0;

  for (guint i = 0; i < fetch->n; i++)
    padded +=
        copy ? run->shares[fetch->units[i]].copy_padded : run->shares[fetch->units[i]].cut_padded;
  return padded;
}

/* ---- the flat buffer ------------------------------------------------------------------------- */

/* Own shards are put together where the collective sends them from. Those of moves come so. */
static void
put_together (StrategyRun *run, PolicyRouteKind route, guint64 held, const DeepspeedFetch *fetch,
              const UnitList *list)
{
  const DeepspeedState *s = run->state;
  double                bytes = (double) held * compute_bytes (run->policy);

  if (fetch->flat == SCHEDULE_NONE || fetch->n == 1
      || deepspeed_unit_policy (run)->routes[route].hops[0].hop == HOP_MOVE)
    return;
  emit_stream_kernel (run->b, s->assemble, KERNEL_COPY, "copy_in", DTYPE_FP16, bytes, bytes);
  use_parts (run, list, ACCESS_READ);
  schedule_uses (run->b, fetch->flat, SCHEDULE_WHOLE, ACCESS_WRITE);
}

static BufferRef
alloc_full (StrategyRun *run, guint unit, StreamRef home, guint64 elements)
{
  DeepspeedState *s = run->state;
  DeepspeedUnit  *u = &s->units[unit];
  guint           old = schedule_set_unit (run->b, unit);

  u->home = home;
  u->full = schedule_alloc_on (run->b, home, PLACE_HBM, POOL_GATHERED,
                               elements * compute_bytes (run->policy), "gathered parameters");
  schedule_set_unit (run->b, old);
  return u->full;
}

/* What came encoded becomes plain: one tensor where kernels read it. */
static BufferRef
decode (StrategyRun *run, DeepspeedFetch *fetch)
{
  const DeepspeedState *s = run->state;
  PayloadWork           work = payload_decode_work (fetch->landed);
  KernelDesc            kernel =
      kernel_desc_stream (KERNEL_CODEC, "decode", fetch->landed.dtype, work.read, work.write, 1);
  BufferRef plain;

  if (fetch->n == 1 && n_cut (run, fetch->units[0]) == 1)
    plain = alloc_full (run, fetch->units[0], s->assemble, fetch->landed.elements);
  else
    plain = fetch->decoded = schedule_alloc_on (
        run->b, s->assemble, PLACE_HBM, POOL_GATHERED,
        payload_bytes (payload_plain (fetch->landed.elements, fetch->landed.dtype)),
        "decoded flat buffer");
  schedule_kernel (run->b, s->assemble, &kernel);
  schedule_uses (run->b, fetch->flat, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, plain, SCHEDULE_WHOLE, ACCESS_WRITE);
  return plain;
}

/* Each tensor of the flat buffer is put together of the ranks' parts. */
static void
copy_out (StrategyRun *run, const DeepspeedFetch *fetch, BufferRef plain)
{
  const DeepspeedState *s = run->state;
  guint                 old = schedule_set_unit (run->b, fetch->units[0]);

  for (guint i = 0; i < fetch->n; i++)
    {
      guint           unit = fetch->units[i];
      const PlanUnit *plan = &run->units[unit];
      BufferRef       full = alloc_full (run, unit, s->assemble, run->shares[unit].cut);

      schedule_set_unit (run->b, unit);
      for (guint t = 0; t < plan->n_tensors; t++)
        {
          double bytes = (double) plan->tensors[t].elements * compute_bytes (run->policy);

          if (plan->tensors[t].elements <= run->policy->whole_below)
            continue;
          emit_stream_kernel (run->b, s->assemble, KERNEL_COPY, "copy_out", DTYPE_FP16, bytes,
                              bytes);
          schedule_uses (run->b, plain, SCHEDULE_WHOLE, ACCESS_READ);
          schedule_uses (run->b, full, SCHEDULE_WHOLE, ACCESS_WRITE);
        }
    }
  schedule_set_unit (run->b, old);
}

/* ---- fetches --------------------------------------------------------------------------------- */

/* From the shards, or from the second copy, of which a rank holds a slice. */
static void
gather_from (StrategyRun *run, PolicyRouteKind route, DeepspeedFetch *fetch)
{
  const DeepspeedState *s = run->state;
  gboolean              copy = route == ROUTE_COPY || route == ROUTE_KEPT;
  const UnitList        list = { fetch->units, fetch->n,
                          !copy                 ? s->shards
                                 : route == ROUTE_KEPT ? s->kept
                                                       : s->cache };
  gboolean              ring = !copy && s->n_ring > 0;
  guint64               padded = padded_of (run, fetch, copy);
  const guint           ranks = copy ? s->copies : s->m;
  guint64               held;
  RouteEnd              staging = { 0 }, to = { .use = use_gathered, .data = &list };
  guint                 slot = 0;

  g_assert (ranks > 0);
  held = padded / ranks;
  if (ring)
    {
      slot = deepspeed_ring_take (run, held);
      staging = route_whole (s->ring[slot]);
    }
  if (fetch->flat != SCHEDULE_NONE)
    to = route_whole (fetch->flat);
  put_together (run, route, held, fetch, &list);
  if (s->gather != s->assemble)
    schedule_wait_stream (run->b, s->gather, s->assemble);
  emit_route (run, &(RouteWalk){ .route = route,
                                 .end = POLICY_MAX_HOPS,
                                 .held = held,
                                 .moves = copy ? s->copy : s->fetch,
                                 .drives = copy ? NULL : &s->drives,
                                 .staging = ring ? &staging : NULL,
                                 .collectives = s->gather,
                                 .from = { .use = use_parts, .data = &list },
                                 .to = to,
                                 .passing = copy ? "slices of the node copy" : "shards",
                                 .landed = fetch->flat != SCHEDULE_NONE ? &fetch->landed : NULL });
  if (ring)
    deepspeed_ring_give (run, slot);
  fetch->arrived = schedule_record (run->b, s->gather);
}

static void
fetch_units (StrategyRun *run, PolicyRouteKind route, const guint *units, guint n)
{
  DeepspeedState    *s = run->state;
  DeepspeedFetch     fetch = { .units = g_memdup2 (units, n * sizeof *units),
                               .n = n,
                               .waiting = n,
                               .flat = SCHEDULE_NONE,
                               .decoded = SCHEDULE_NONE };
  Payload            payload;
  guint              tensors = 0;
  const PolicyRoute *hops = &deepspeed_unit_policy (run)->routes[route];
  gboolean           gathered = FALSE;

  /*
   * Several tensors are gathered into one buffer, in the order of ranks; one is gathered where
   * kernels read it, unless it comes encoded. Source: partition_parameters.py,
   * all_gather_coalesced.
   */
  for (guint i = 0; i < fetch.n; i++)
    tensors += n_cut (run, fetch.units[i]);
  for (guint h = 0; h < hops->n; h++)
    if (hops->hops[h].hop == HOP_COLLECTIVE && hops->hops[h].group.size > 1)
      {
        payload = (Payload){ padded_of (run, &fetch, route == ROUTE_COPY || route == ROUTE_KEPT),
                             hops->hops[h].dtype, hops->hops[h].codec };
        gathered = TRUE;
      }

  if (gathered && ((tensors > 1 && !s->in_place) || payload.codec != NULL))
    fetch.flat = schedule_alloc_on (run->b, s->assemble, PLACE_HBM, POOL_GATHERED,
                                    payload_bytes (payload), "flat buffer of a fetch");
  for (guint i = 0; i < n; i++)
    {
      s->units[units[i]].fetch = s->fetches->len;
      if (fetch.flat == SCHEDULE_NONE)
        {
          /*
           * One rank's shard is the whole, and used where it is (partition_parameters.py,
           * NoGatherHandle). What comes by a move alone lies where that stream puts it.
           */
          const DeepspeedUnit *u = &s->units[units[i]];
          const UnitShare     *share = &run->shares[units[i]];
          StreamRef            home = s->assemble;

          if (u->cached && s->copies == 1 && copy_stream (run, units[i]) != SCHEDULE_COMPUTE)
            home = s->copy;
          else if (!u->cached && s->m == 1 && deepspeed_is_away (run, STATE_PARAMETERS))
            home = s->fetch;
          if (s->m > 1 || u->cached || deepspeed_is_away (run, STATE_PARAMETERS))
            alloc_full (run, units[i], home, MAX (share->cut_padded, share->copy_padded));
        }
    }
  gather_from (run, route, &fetch);
  g_array_append_val (s->fetches, fetch);
}

void
deepspeed_gather (StrategyRun *run, const guint *units, guint n)
{
  static const PolicyRouteKind sources[] = { ROUTE_GATHER, ROUTE_FROZEN, ROUTE_COPY, ROUTE_KEPT };

  DeepspeedState   *s = run->state;
  g_autofree guint *alike = g_new (guint, n);
  guint             old = schedule_set_unit (run->b, units[0]);

  for (guint source = 0; source < G_N_ELEMENTS (sources); source++)
    {
      guint n_alike = 0;

      for (guint i = 0; i < n; i++)
        if (source_of (run, units[i]) == sources[source])
          alike[n_alike++] = units[i];
      if (n_alike > 0)
        fetch_units (run, sources[source], alike, n_alike);
    }
  for (guint i = 0; i < n; i++)
    {
      s->units[units[i]].available = TRUE;
      s->live += (gint64) run->shares[units[i]].cut;
    }
  schedule_set_unit (run->b, old);
}

/* FETCH is waited for, once, and what it brought goes to where kernels read it. */
static void
complete (StrategyRun *run, DeepspeedFetch *fetch)
{
  const DeepspeedState *s = run->state;

  if (fetch->complete)
    return;
  fetch->complete = TRUE;
  if (s->gather != s->assemble)
    schedule_wait (run->b, s->assemble, fetch->arrived);
  if (fetch->flat != SCHEDULE_NONE)
    {
      BufferRef plain = fetch->landed.codec != NULL ? decode (run, fetch) : fetch->flat;

      if (fetch->decoded != SCHEDULE_NONE || fetch->landed.codec == NULL)
        copy_out (run, fetch, plain);
    }
  for (guint i = 0; i < fetch->n; i++)
    deepspeed_place_parameters (run, fetch->units[i]);
}

/*
 * The first coordinator waits for the device, whatever runs there, where parameters were on their
 * way. Source: stage3.py before v0.6, _synchronize_communication (torch.cuda.synchronize).
 */
static void
synchronise (StrategyRun *run)
{
  const DeepspeedState *s = run->state;
  const StreamRef       streams[] = { s->gather, s->reduce, s->fetch };
  EventRef              all = schedule_record (run->b, SCHEDULE_COMPUTE);

  for (guint i = 0; i < G_N_ELEMENTS (streams); i++)
    if (streams[i] != SCHEDULE_COMPUTE)
      all = schedule_join (run->b, all, schedule_record (run->b, streams[i]));
  schedule_host_pace (run->b, all);
}

/*
 * DeepSpeed waits tensor by tensor: before each wait at most three are outstanding. The buffers of
 * a fetch are its handle's, which goes with the use of its last tensor. Source:
 * partitioned_param_coordinator.py, fetch_sub_module.
 */
void
deepspeed_await (StrategyRun *run, guint unit)
{
  DeepspeedState *s = run->state;
  DeepspeedFetch *fetch;
  EventRef        assembled = SCHEDULE_NONE;

  if (s->units[unit].fetch == SCHEDULE_NONE)
    return;
  fetch = &g_array_index (s->fetches, DeepspeedFetch, s->units[unit].fetch);
  s->units[unit].fetch = SCHEDULE_NONE;
  for (guint t = n_cut (run, unit); t > 0; t--)
    {
      schedule_host_pace (run->b, s->outstanding[0]);
      complete (run, fetch);
      if (assembled == SCHEDULE_NONE)
        assembled = schedule_record (run->b, s->assemble);
      push_outstanding (s->outstanding, DEEPSPEED_OUTSTANDING, assembled);
    }
  if (s->synchronises)
    synchronise (run);
  if (--fetch->waiting > 0)
    return;
  schedule_free (run->b, fetch->flat);
  schedule_free (run->b, fetch->decoded);
}

void
deepspeed_drop_fetches (DeepspeedState *s)
{
  for (guint i = 0; i < s->fetches->len; i++)
    g_free (g_array_index (s->fetches, DeepspeedFetch, i).units);
  g_array_set_size (s->fetches, 0);
}

void
deepspeed_stash (StrategyRun *run, guint unit)
{
  DeepspeedState *s = run->state;
  DeepspeedUnit  *u = &s->units[unit];
  gboolean        kept = run->shares[unit].keeps_copy;
  StreamRef       stream = copy_stream (run, unit);

  if (!deepspeed_has_copy (run) || u->cached || run->shares[unit].cut == 0)
    return;
  schedule_wait_stream (run->b, stream, SCHEDULE_COMPUTE);
  emit_route (run, &(RouteWalk){ .route = kept ? ROUTE_KEEP : ROUTE_FILL,
                                 .end = POLICY_MAX_HOPS,
                                 .held = run->shares[unit].copy_padded / s->copies,
                                 .moves = stream,
                                 .collectives = stream,
                                 .from = u->full != SCHEDULE_NONE ? route_whole (u->full)
                                                                  : route_part (s->shards, unit),
                                 .to = route_part (kept ? s->kept : s->cache, unit),
                                 .passing = "slice on its way" });
  u->cached = TRUE;
  if (stream != SCHEDULE_COMPUTE)
    u->stashed = schedule_record (run->b, stream);
  else /* so that no all-gather comes before it: partition_parameters.py, _partition_param_sec */
    schedule_host_wait (run->b, schedule_record (run->b, stream));
}

/*
 * When the gathered parameters of U have had their last use, by compute and by the copy to the
 * host, if that waited for compute. They may have stayed gathered since that copy.
 */
static EventRef
last_use (StrategyRun *run, const DeepspeedUnit *u, gboolean copied_now)
{
  if (copied_now && u->stashed != SCHEDULE_NONE)
    return u->stashed;
  return schedule_join (run->b, schedule_record (run->b, SCHEDULE_COMPUTE), u->stashed);
}

void
deepspeed_free_gathered (StrategyRun *run, DeepspeedUnit *u, gboolean copied_now)
{
  if (u->stashed == SCHEDULE_NONE && u->home == SCHEDULE_COMPUTE)
    schedule_free (run->b, u->full);
  else
    schedule_free_after (run->b, u->full, last_use (run, u, copied_now));
  u->full = SCHEDULE_NONE;
  u->stashed = SCHEDULE_NONE;
}
