#include "strategy/outer/sync-private.h"

#include "strategy/emit/common.h"
#include "strategy/outer/fragments.h"
#include "strategy/outer/resident-parameters.h"

/* ---- setting up ------------------------------------------------------------------------------ */

static void
cut_fragments (StrategyRun *run)
{
  SyncState *s = sync_state (run);
  guint      n = run->exchange->fragments;
  guint64    updated = strategy_share (run, STATE_OPTIMIZER);

  s->pieces = fragment_pieces (run);
  s->shares = g_new0 (guint64, n);
  s->sliced = g_new (guint64, n);
  s->whole = g_new (guint64, n);
  s->updated = g_new (guint64, n);
  for (guint i = 0; i < s->pieces->len; i++)
    {
      const FragmentPiece *piece = &g_array_index (s->pieces, FragmentPiece, i);

      s->shares[piece->fragment] += piece->elements;
    }
  for (guint f = 0; f < n; f++)
    {
      s->updated[f] = fragment_share (run, f, updated);
      s->sliced[f] = MIN (s->shares[f], fragment_sliced (run, f, strategy_trainable_share (run)));
      s->whole[f] = s->shares[f] + (MAX (run->exchange->slices, 1) - 1) * s->sliced[f];
    }
}

static guint64
largest_fragment (const StrategyRun *run)
{
  const SyncState *s = sync_state (run);
  guint64          most = 0;

  for (guint f = 0; f < run->exchange->fragments; f++)
    most = MAX (most, s->whole[f]);
  return most;
}

/* What lives for ever besides outer parameters and their momentum. */
static void
open_buffers (StrategyRun *run)
{
  SyncState *s = sync_state (run);
  guint64    bytes = largest_fragment (run) * sync_bytes_each (run);

  if (sync_stages (run))
    s->staged =
        schedule_alloc (run->b, PLACE_PINNED, POOL_COMMUNICATION, bytes, "parameters on their way");
  if (sync_is_late (run))
    {
      s->flying = s->sent =
          schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION, bytes, "average");
      /* the first round finds what training began with */
      schedule_touches (run->b, SCHEDULE_COMPUTE, s->sent, SCHEDULE_WHOLE, ACCESS_WRITE);
    }
  if (run->exchange->eager)
    {
      s->own =
          schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION, bytes, "own part of the average");
      schedule_touches (run->b, SCHEDULE_COMPUTE, s->own, SCHEDULE_WHOLE, ACCESS_WRITE);
    }
  if (run->exchange->on_host)
    s->flying = schedule_alloc (run->b, run->exchange->outer_home, POOL_COMMUNICATION,
                                largest_fragment (run) * MAX (sync_bytes_each (run), OUTER_BYTES),
                                "differences");
}

static void
sync_init (StrategyRun *run)
{
  SyncState       *s = sync_state (run);
  g_autofree char *average = sync_name (run, "average"), *worker = sync_name (run, "worker");

  s->staged = s->sent = s->own = s->flying = s->lifted = s->fetched = SCHEDULE_NONE;
  s->anchor = s->moment = SCHEDULE_NONE;
  s->arrived = SCHEDULE_NONE;
  s->stream = schedule_stream (run->b, average, 0);
  if (run->exchange->leader || run->exchange->base_every > 0)
    s->worker = schedule_comm (run->b, worker, run->exchange->worker);
  cut_fragments (run);
  if (!sync_exchanges (run))
    return;
  sync_open_route (run);
  outer_init (run);
  open_buffers (run);
}

static void
sync_clear (StrategyRun *run)
{
  SyncState *s = sync_state (run);

  g_array_unref (s->pieces);
  g_free (s->shares);
  g_free (s->sliced);
  g_free (s->whole);
  g_free (s->updated);
}

/* ---- what a step's end brings ---------------------------------------------------------------- */

/* A sum becomes an average, where it is. */
static void
emit_scale (StrategyRun *run, guint64 elements)
{
  const SyncState *s = sync_state (run);
  double           bytes = (double) (dtype_bytes (run->exchange->dtype) * elements);
  HostDesc         work = host_desc_stream ("scale", elements, bytes, bytes);

  if (sync_averages_at_home (run))
    schedule_host_op (run->b, s->stream, &work, FALSE);
  else
    emit_stream_kernel (run->b, s->stream, KERNEL_ELEMENTWISE, "scale", DTYPE_FP32, bytes, bytes);
  sync_use_parameters (run, ACCESS_READ_WRITE);
}

static void
fetch (StrategyRun *run, guint64 elements, gboolean loads)
{
  SyncState *s = sync_state (run);

  if (!run->exchange->on_host && !sync_averages_at_home (run))
    s->fetched = resident_fetch (run, elements, loads);
}

static void
put_back (StrategyRun *run, guint64 elements, gboolean stores)
{
  SyncState *s = sync_state (run);

  resident_return (run, s->fetched, elements, stores);
  s->fetched = SCHEDULE_NONE;
}

static void
take_off (StrategyRun *run, guint fragment)
{
  SyncState *s = sync_state (run);

  if (run->exchange->what == EXCHANGE_PARAMETERS)
    {
      outer_copy (run, fragment);
      return;
    }
  if (!sync_is_late (run) && !run->exchange->on_host)
    s->flying = schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION,
                                s->whole[fragment] * sync_bytes_each (run), "differences");
  if (run->exchange->on_host)
    schedule_wait_stream (run->b, s->stream, SCHEDULE_COMPUTE);
  outer_difference (run, fragment);
}

/* What has been sent is there. Then replicas vote, where they do. */
static void
await_arrival (StrategyRun *run, EventRef arrived, guint64 elements)
{
  if (!run->exchange->host_waits)
    {
      schedule_wait (run->b, SCHEDULE_COMPUTE, arrived);
      return;
    }
  schedule_host_wait (run->b, arrived);
  outer_vote (run, elements);
}

static void
land (StrategyRun *run)
{
  SyncState *s = sync_state (run);

  if (sync_is_late (run) || run->exchange->on_host || s->flying == SCHEDULE_NONE)
    return;
  schedule_free (run->b, s->flying);
  s->flying = SCHEDULE_NONE;
}

/* Nothing goes on until FRAGMENT has been exchanged. */
static void
exchange_now (StrategyRun *run, guint fragment)
{
  const SyncState *s = sync_state (run);
  guint64          elements = s->whole[fragment];

  sync_ask (run);
  fetch (run, elements, TRUE);
  if (sync_sends_copy (run))
    take_off (run, fragment);
  sync_send (run, fragment);
  if (run->exchange->what == EXCHANGE_PARAMETERS)
    emit_scale (run, elements);
  if (run->exchange->on_host)
    outer_step (run, elements, s->shares[fragment]);
  await_arrival (run, schedule_record (run->b, s->stream), elements);
  if (run->exchange->outer != OUTER_NONE && !run->exchange->on_host)
    {
      outer_momentum (run, elements);
      outer_step (run, elements, s->shares[fragment]);
    }
  land (run);
  put_back (run, elements, TRUE);
  resident_refresh_host (run, SCHEDULE_COMPUTE, s->updated[fragment]);
}

/* A sum, a step and a broadcast by each owner of a part. */
static void
exchange_owned (StrategyRun *run)
{
  const SyncState *s = sync_state (run);
  guint            owners = run->exchange->owners;
  guint64          part = (s->shares[0] + owners - 1) / owners;

  fetch (run, s->shares[0], TRUE);
  schedule_wait_stream (run->b, s->stream, SCHEDULE_COMPUTE);
  emit_scale (run, s->shares[0]);
  sync_send_parts (run, FALSE);
  outer_momentum (run, part);
  outer_step (run, part, part);
  sync_send_parts (run, TRUE);
  put_back (run, s->shares[0], TRUE);
  resident_refresh_host (run, SCHEDULE_COMPUTE, s->updated[0]);
}

/* What the round before sent is used, and what this one has learned is sent. */
static void
exchange_late (StrategyRun *run)
{
  const SyncState *s = sync_state (run);
  g_autofree char *name = sync_name (run, "average");

  schedule_wait (run->b, SCHEDULE_COMPUTE, schedule_carried (run->b, name));
  outer_momentum (run, s->shares[0]);
  fetch (run, s->shares[0], TRUE);
  take_off (run, 0);
  sync_send (run, 0);
  schedule_carry (run->b, name, schedule_record (run->b, s->stream));
  outer_step (run, s->shares[0], s->shares[0]);
  put_back (run, s->shares[0], TRUE);
  resident_refresh_host (run, SCHEDULE_COMPUTE, s->updated[0]);
}

static void
send_ahead (StrategyRun *run, guint fragment)
{
  SyncState *s = sync_state (run);

  sync_ask (run);
  fetch (run, s->shares[fragment], TRUE);
  take_off (run, fragment);
  put_back (run, s->shares[fragment], FALSE);
  sync_send (run, fragment);
  s->arrived = schedule_record (run->b, s->stream);
}

static void
use_arrived (StrategyRun *run, guint fragment)
{
  const SyncState *s = sync_state (run);
  guint64          elements = s->whole[fragment];

  await_arrival (run, s->arrived, elements);
  fetch (run, elements, run->exchange->merges);
  outer_momentum (run, elements);
  outer_step (run, elements, s->shares[fragment]);
  land (run);
  put_back (run, elements, TRUE);
  resident_refresh_host (run, SCHEDULE_COMPUTE, s->updated[fragment]);
}

/* FRAGMENT, after so many STEPS of the round. */
static void
exchange_due (StrategyRun *run, guint fragment, guint steps)
{
  const Exchange *exchange = run->exchange;
  gboolean        waits = exchange->delay == 0, used, sent;

  used = exchange_used_after (exchange, fragment) == steps;
  sent = exchange_sent_after (exchange, fragment) == steps;
  if (!exchange_sends (exchange, fragment) || sync_state (run)->shares[fragment] == 0
      || (!used && !sent))
    return;
  if (exchange->owners > 0)
    exchange_owned (run);
  else if (waits)
    exchange_now (run, fragment);
  else if (sync_is_late (run))
    exchange_late (run);
  else if (sent)
    send_ahead (run, fragment);
  else
    use_arrived (run, fragment);
}

/* ---- plain averages in between --------------------------------------------------------------- */

static void
sync_step_over (StrategyRun *run)
{
  const Exchange *exchange = run->exchange;
  guint           steps = run->step % exchange->every + 1;

  if (exchange->base_every > 0 && steps % exchange->base_every == 0 && steps < exchange->every)
    {
      /* Leaders average among themselves; the others get what they have. */
      SyncState       *s = sync_state (run);
      g_autofree char *name = sync_name (run, "leaders");
      guint64          elements = strategy_trainable_share (run);
      CommRef          leaders;

      schedule_wait_stream (run->b, s->stream, SCHEDULE_COMPUTE);
      if (run->role == 0)
        {
          leaders =
              schedule_comm (run->b, name, mesh_across (&run->in->mesh, run->exchange->worker));
          schedule_all_reduce (run->b, s->stream, leaders,
                               payload_plain (elements, run->exchange->dtype),
                               "average of leaders");
          resident_use (run, ACCESS_READ_WRITE);
          emit_scale (run, elements);
        }
      sync_broadcast (run);
    }
  for (guint f = 0; f < exchange->fragments && sync_exchanges (run); f++)
    exchange_due (run, f, steps);
  if (exchange->leader && steps == exchange->every)
    sync_broadcast (run);
}

const Sync sync_outer = {
  .hooks = { .state_size = sizeof (SyncState),
             .init = sync_init,
             .clear = sync_clear,
             .step_over = sync_step_over },
  .even_steps = TRUE,
  .form = sync_form,
};
