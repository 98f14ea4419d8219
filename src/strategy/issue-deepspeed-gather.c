/*
 * How the coordinator's parameters come and go: by the policy's route from the shards, or from the
 * second copy once that is valid.
 */
#include "strategy/common.h"
#include "strategy/issue-deepspeed-private.h"
#include "strategy/route.h"

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

/* A copy in the GPU's memory is made where nothing orders gathering behind it. */
static void
wait_for_copies (StrategyRun *run, const UnitList *list)
{
  DeepspeedState *s = run->state;
  EventRef        last = SCHEDULE_NONE;

  for (guint i = 0; i < list->n; i++)
    {
      DeepspeedUnit *u = &s->units[list->units[i]];

      if (u->filled != SCHEDULE_NONE && (last == SCHEDULE_NONE || u->filled > last))
        last = u->filled;
      u->filled = SCHEDULE_NONE;
    }
  schedule_wait (run->b, s->gather, last);
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

/* From the shards, or from the second copy, of which a rank holds a slice. */
static void
gather_from (StrategyRun *run, PolicyRouteKind route, const guint *units, guint n)
{
  const DeepspeedState *s = run->state;
  gboolean              copy = route == ROUTE_COPY || route == ROUTE_KEPT;
  const UnitList list = { units, n, !copy ? s->shards : route == ROUTE_KEPT ? s->kept : s->cache };
  gboolean       ring = !copy && s->n_ring > 0;
  guint64        padded = 0, held;
  RouteEnd       staging = { 0 };
  guint          slot = 0;

  for (guint i = 0; i < n; i++)
    padded += copy ? run->shares[units[i]].copy_padded : run->shares[units[i]].cut_padded;
  held = padded / (copy ? s->copies : s->m);
  if (copy)
    wait_for_copies (run, &list);
  if (ring)
    {
      slot = deepspeed_ring_take (run, held);
      staging = route_whole (s->ring[slot]);
    }
  emit_route (run, &(RouteWalk){ .route = route,
                                 .end = POLICY_MAX_HOPS,
                                 .held = held,
                                 .moves = copy ? s->copy : s->fetch,
                                 .drives = copy ? NULL : &s->drives,
                                 .staging = ring ? &staging : NULL,
                                 .collectives = s->gather,
                                 .from = { .use = use_parts, .data = &list },
                                 .to = { .use = use_gathered, .data = &list },
                                 .passing = copy ? "slices of the node copy" : "shards" });
  if (ring)
    deepspeed_ring_give (run, slot);
}

void
deepspeed_gather (StrategyRun *run, const guint *units, guint n)
{
  static const PolicyRouteKind sources[] = { ROUTE_GATHER, ROUTE_FROZEN, ROUTE_COPY, ROUTE_KEPT };

  DeepspeedState   *s = run->state;
  guint             compute = compute_bytes (run->policy);
  g_autofree guint *alike = g_new (guint, n);
  guint             old = schedule_set_unit (run->b, units[0]);

  for (guint i = 0; i < n; i++)
    {
      DeepspeedUnit   *u = &s->units[units[i]];
      const UnitShare *share = &run->shares[units[i]];

      schedule_set_unit (run->b, units[i]);
      /*
       * One rank's shard is the whole, and used where it is (partition_parameters.py,
       * NoGatherHandle).
       */
      u->home = s->gather;
      if (u->cached && s->copies == 1 && copy_stream (run, units[i]) != SCHEDULE_COMPUTE)
        u->home = s->copy;
      else if (!u->cached && s->m == 1 && deepspeed_is_away (run, STATE_PARAMETERS))
        u->home = s->fetch;
      if (s->m > 1 || u->cached || deepspeed_is_away (run, STATE_PARAMETERS))
        u->full = schedule_alloc_on (run->b, u->home, PLACE_HBM, POOL_GATHERED,
                                     MAX (share->cut_padded, share->copy_padded) * compute,
                                     "gathered parameters");
      deepspeed_place_parameters (run, units[i]);
      u->available = TRUE;
      s->live += (gint64) share->cut;
    }
  schedule_set_unit (run->b, units[0]);
  for (guint source = 0; source < G_N_ELEMENTS (sources); source++)
    {
      guint n_alike = 0;

      for (guint i = 0; i < n; i++)
        if (source_of (run, units[i]) == sources[source])
          alike[n_alike++] = units[i];
      if (n_alike > 0)
        gather_from (run, sources[source], alike, n_alike);
    }
  schedule_set_unit (run->b, old);
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
  else if (s->gather != SCHEDULE_COMPUTE)
    u->filled = schedule_record (run->b, stream);
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
