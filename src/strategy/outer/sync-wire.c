/* The way of an exchange: who takes part, over which hops, and what is put on them. */
#include "strategy/emit/common.h"
#include "strategy/emit/route.h"
#include "strategy/outer/fragments.h"
#include "strategy/outer/resident-parameters.h"
#include "strategy/outer/sync-private.h"

/* ---- who, and over what ---------------------------------------------------------------------- */

/* Syncs stack: those around others have a number behind NAME. */
char *
sync_name (const StrategyRun *run, const char *name)
{
  guint n = 1;

  for (const StrategyRun *inner = run->inner; inner != NULL; inner = inner->inner)
    n += inner->exchange != NULL;
  return n > 1 ? g_strdup_printf ("%s %u", name, n) : g_strdup (name);
}

/* Whether this rank exchanges: where a leader does for all, others wait for what it broadcasts. */
gboolean
sync_exchanges (const StrategyRun *run)
{
  return !run->exchange->leader || run->role == 0;
}

gboolean
sync_is_late (const StrategyRun *run)
{
  return run->exchange->delay == EXCHANGE_ROUND_LATE;
}

/* What is sent is a buffer of its own, not the parameters. */
gboolean
sync_sends_copy (const StrategyRun *run)
{
  return run->exchange->what == EXCHANGE_DIFFERENCES || run->exchange->delay > 0;
}

gboolean
sync_averages_at_home (const StrategyRun *run)
{
  return run->exchange->transport == TRANSPORT_HOST && !run->exchange->on_host
         && !sync_sends_copy (run) && resident_home (run) != PLACE_HBM;
}

/* Whether what is sent is in GPU memory, and the hosts carry it. */
gboolean
sync_stages (const StrategyRun *run)
{
  return run->exchange->transport == TRANSPORT_HOST && !run->exchange->on_host
         && !sync_averages_at_home (run);
}

/* Where what is sent is, and becomes what arrived. */
static Place
flying_place (const StrategyRun *run)
{
  if (run->exchange->on_host)
    return run->exchange->outer_home;
  return sync_averages_at_home (run) ? resident_home (run) : PLACE_HBM;
}

void
sync_use_parameters (StrategyRun *run, ScheduleAccess access)
{
  const SyncState *s = sync_state (run);

  if (s->fetched != SCHEDULE_NONE)
    schedule_uses (run->b, s->fetched, SCHEDULE_WHOLE, access);
  else if (run->exchange->outer == OUTER_NONE)
    resident_use (run, access);
  else
    schedule_uses_kept (run->b, resident_home (run), POOL_PARAMETER, access);
}

/* ---- setting up ------------------------------------------------------------------------------ */

/* Over GROUP; GPUs whose payload is encoded exchange parts, add these up and gather the sums. */
static void
add_collectives (const Exchange *exchange, MeshGroup group, PolicyRoute *route)
{
  Transport  transport = exchange->transport;
  PolicyHop *hop;

  if (transport == TRANSPORT_GPU && exchange->codec != NULL)
    {
      hop = policy_add_collective (route, COLLECTIVE_ALL_TO_ALL, "workers", group, exchange->dtype,
                                   CADENCE_MICRO_STEP);
      hop->codec = exchange->codec;
      hop = policy_add_collective (route, COLLECTIVE_ALL_GATHER, "workers", group, exchange->dtype,
                                   CADENCE_MICRO_STEP);
    }
  else
    hop = policy_add_collective (route,
                                 exchange->owners > 0 ? COLLECTIVE_REDUCE : COLLECTIVE_ALL_REDUCE,
                                 "workers", group, exchange->dtype, CADENCE_MICRO_STEP);
  hop->codec = exchange->codec;
  hop->transport = transport;
  hop->label = "average";
}

static CommRef
open_comm (StrategyRun *run, const char *called, MeshGroup group)
{
  g_autofree char *name = sync_name (run, called);

  return run->exchange->transport == TRANSPORT_HOST
             ? schedule_host_ring (run->b, name, group, run->exchange->order)
             : schedule_comm (run->b, name, group);
}

static void
add_way_down (const StrategyRun *run, PolicyRoute *route)
{
  if (sync_stages (run))
    policy_add_move (route, PLACE_HBM, PLACE_PINNED, run->exchange->dtype, CADENCE_MICRO_STEP)
        ->label = "to the host";
}

static void
add_way_up (const StrategyRun *run, PolicyRoute *route)
{
  if (sync_stages (run))
    policy_add_move (route, PLACE_PINNED, PLACE_HBM, run->exchange->dtype, CADENCE_MICRO_STEP)
        ->label = "from the host";
}

void
sync_open_route (StrategyRun *run)
{
  SyncState      *s = sync_state (run);
  const Exchange *exchange = run->exchange;
  CommRef         comm = open_comm (run, "workers", exchange->across);

  add_way_down (run, &s->route);
  add_collectives (exchange, exchange->across, &s->route);
  add_way_up (run, &s->route);
  for (guint h = 0; h < s->route.n; h++)
    s->comms[h] = comm;
  if (exchange->slices > 1)
    {
      /*
       * A slice is averaged over those who train it; each of them hands it to those who train
       * others.
       */
      MeshGroup  owners = exchange_owners (exchange), peers = exchange_peers (exchange);
      CommRef    owning = open_comm (run, "owners", owners);
      CommRef    giving = open_comm (run, "slices", peers);
      PolicyHop *hop;

      add_way_down (run, &s->slice_route);
      add_collectives (exchange, owners, &s->slice_route);
      for (guint h = 0; h < s->slice_route.n; h++)
        s->slice_comms[h] = owning;
      hop = policy_add_collective (&s->slice_route, COLLECTIVE_ALL_GATHER, "slices", peers,
                                   exchange->dtype, CADENCE_MICRO_STEP);
      hop->codec = exchange->codec;
      hop->transport = exchange->transport;
      hop->label = "slices of others";
      s->slice_comms[s->slice_route.n - 1] = giving;
      add_way_up (run, &s->slice_route);
    }
}

/* ---- over the wire --------------------------------------------------------------------------- */

static void
use_flying (StrategyRun *run, gconstpointer data, ScheduleAccess access)
{
  const SyncState *s = sync_state (run);

  (void) data;
  if (s->flying != SCHEDULE_NONE)
    schedule_uses (run->b, s->flying, SCHEDULE_WHOLE, access);
  else
    sync_use_parameters (run, access);
}

static void
use_staged (StrategyRun *run, gconstpointer data, ScheduleAccess access)
{
  (void) data;
  schedule_uses (run->b, sync_state (run)->staged, SCHEDULE_WHOLE, access);
}

static void
send_piece (StrategyRun *run, const PolicyRoute *route, const CommRef *comms, guint64 elements)
{
  static const RouteEnd staging = { .buffer = SCHEDULE_NONE, .use = use_staged };
  const SyncState      *s = sync_state (run);
  const RouteEnd        end = { .buffer = SCHEDULE_NONE, .use = use_flying };

  if (elements == 0)
    return;
  emit_route (run, &(RouteWalk){ .route = ROUTE_EXCHANGE,
                                 .own = route,
                                 .comms = comms,
                                 .place = flying_place (run),
                                 .end = route->n,
                                 .held = elements,
                                 .moves = s->stream,
                                 .collectives = s->stream,
                                 .staging = sync_stages (run) ? &staging : NULL,
                                 .from = end,
                                 .to = end,
                                 .passing = "differences on their way" });
}

/* The control plane answers before data move: who takes part, in which order. */
static void
await_answer (StrategyRun *run, gboolean blocks)
{
  HostDesc work = host_desc_answer ("control_plane", run->exchange->latency);

  if (run->exchange->latency > 0 && run->exchange->host_waits == blocks)
    schedule_host_op (run->b, sync_state (run)->stream, &work, blocks);
}

void
sync_ask (StrategyRun *run)
{
  await_answer (run, TRUE);
}

void
sync_send (StrategyRun *run, guint fragment)
{
  const SyncState *s = sync_state (run);

  schedule_wait_stream (run->b, s->stream, SCHEDULE_COMPUTE);
  await_answer (run, FALSE);
  if (run->exchange->slices > 1)
    {
      send_piece (run, &s->route, s->comms, s->shares[fragment] - s->sliced[fragment]);
      send_piece (run, &s->slice_route, s->slice_comms, s->sliced[fragment]);
      return;
    }
  for (guint i = 0; i < s->pieces->len; i++)
    {
      const FragmentPiece *piece = &g_array_index (s->pieces, FragmentPiece, i);

      if (piece->fragment == fragment)
        send_piece (run, &s->route, s->comms, piece->elements);
    }
}

/* The op emitted last copies a part of the parameters into FLAT, or (BACK) from there. */
static void
copy_part (StrategyRun *run, BufferRef flat, guint64 elements, gboolean back)
{
  double bytes = (double) elements * sync_bytes_each (run);

  emit_stream_kernel (run->b, sync_state (run)->stream, KERNEL_COPY, back ? "unflatten" : "flatten",
                      run->exchange->dtype, bytes, bytes);
  schedule_uses (run->b, flat, SCHEDULE_WHOLE, back ? ACCESS_READ : ACCESS_WRITE);
  sync_use_parameters (run, back ? ACCESS_WRITE : ACCESS_READ);
}

/* Each owner sums its part, and sends it out when BACK: of a flat copy (fairscale, communicate). */
void
sync_send_parts (StrategyRun *run, gboolean back)
{
  const SyncState *s = sync_state (run);
  guint64          all = strategy_trainable_share (run), had = 0;

  if (back)
    schedule_wait_stream (run->b, s->stream, SCHEDULE_COMPUTE);
  for (guint k = 1; k <= run->exchange->owners; k++)
    {
      guint64   end = all / run->exchange->owners * k;
      BufferRef flat;

      if (k == run->exchange->owners)
        end = all;
      flat = schedule_alloc_on (run->b, s->stream, PLACE_HBM, POOL_COMMUNICATION,
                                (end - had) * sync_bytes_each (run), "flat part");
      if (flat == SCHEDULE_NONE)
        continue;
      copy_part (run, flat, end - had, FALSE);
      schedule_collective (run->b, s->stream, s->comms[0],
                           back ? COLLECTIVE_BROADCAST : COLLECTIVE_REDUCE,
                           payload_plain (end - had, run->exchange->dtype),
                           back ? "broadcast_updated" : "reduce_to_owner");
      schedule_uses (run->b, flat, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
      copy_part (run, flat, end - had, TRUE);
      schedule_free (run->b, flat);
      had = end;
    }
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->stream);
}

/* The first of a worker's ranks has what all of them go on from. */
void
sync_broadcast (StrategyRun *run)
{
  const SyncState *s = sync_state (run);
  Dtype            dtype = run->exchange->dtype;

  schedule_wait_stream (run->b, s->stream, SCHEDULE_COMPUTE);
  for (guint i = 0; i < s->pieces->len; i++)
    {
      schedule_collective (
          run->b, s->stream, s->worker, COLLECTIVE_BROADCAST,
          payload_plain (g_array_index (s->pieces, FragmentPiece, i).elements, dtype),
          "broadcast in the worker");
      resident_use (run, ACCESS_READ_WRITE);
    }
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->stream);
}
