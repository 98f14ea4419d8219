/*
 * What the files of the outer loop share.
 *
 *   sync.c        when what is sent and used
 *   sync-wire.c   the way over the wire
 *   outer-step.c  the outer step, on the GPU or by the host's cores
 *   sync-form.c   closed forms, which share nothing with these
 */
#pragma once

#include "strategy/outer/sync.h"

#define OUTER_BYTES 4 /* outer parameters and momentum are fp32 */

typedef struct
{
  StreamRef   stream; /* of the exchange */
  PolicyRoute route;
  CommRef     comms[POLICY_MAX_HOPS];
  PolicyRoute slice_route; /* of slices: over those who train one, then to all */
  CommRef     slice_comms[POLICY_MAX_HOPS];
  CommRef     worker;         /* of a worker's ranks, for its leader's broadcast */
  BufferRef   staged;         /* in pinned memory, where the hosts carry it; else SCHEDULE_NONE */
  BufferRef   sent;           /* of what is a round late: always under way */
  BufferRef   own;            /* and of an eager worker's own part of it */
  BufferRef   anchor, moment; /* the outer parameters, and their momentum */
  GArray     *pieces;         /* FragmentPiece */
  guint64    *shares;         /* [fragment]: elements that the rank holds, */
  guint64    *sliced;         /* of them slices that only some workers train, */
  guint64    *whole;          /* all with the slices that others train, */
  guint64    *updated;        /* and those whose optimizer it runs */
  /* of the fragment that is under way; fragments follow each other */
  BufferRef flying;  /* its differences */
  BufferRef lifted;  /* its outer parameters on the GPU, where they live elsewhere */
  BufferRef fetched; /* its parameters there, likewise */
  EventRef  arrived;
} SyncState;

static inline SyncState *
sync_state (const StrategyRun *run)
{
  return run->state;
}

/* Bytes of an element that is exchanged, not encoded. */
static inline guint
sync_bytes_each (const StrategyRun *run)
{
  return dtype_bytes (run->exchange->dtype);
}

/* ---- sync-wire.c ----------------------------------------------------------------------------- */

/* Syncs stack: those around others have a number behind NAME. Newly allocated. */
char *sync_name (const StrategyRun *run, const char *name);
/* Whether this rank exchanges: where a leader does for all, others wait for what it broadcasts. */
gboolean sync_exchanges (const StrategyRun *run);
gboolean sync_is_late (const StrategyRun *run);
/* Whether what is sent is a buffer of its own, not the parameters. */
gboolean sync_sends_copy (const StrategyRun *run);
/* Whether the hosts average what is in their memory anyway. */
gboolean sync_averages_at_home (const StrategyRun *run);
/* Whether what is sent is in GPU memory, and the hosts carry it. */
gboolean sync_stages (const StrategyRun *run);
/* The op emitted last uses the parameters of the fragment, where kernels find them. */
void sync_use_parameters (StrategyRun *run, ScheduleAccess access);
/* Fills in `route` and `comms`. */
void sync_open_route (StrategyRun *run);
/* The issuing thread waits for the control plane, where it does so before it has data made. */
void sync_ask (StrategyRun *run);
/* What is flying of FRAGMENT is averaged, behind what compute has done, on `stream`. */
void sync_send (StrategyRun *run, guint fragment);
/* Each owner sums its part, or (BACK) sends it out. */
void sync_send_parts (StrategyRun *run, gboolean back);
/* The first of a worker's ranks has what all of them go on from. */
void sync_broadcast (StrategyRun *run);

/* ---- outer-step.c ---------------------------------------------------------------------------- */

/* Outer parameters and momentum: allocates them. */
void outer_init (StrategyRun *run);
/* The issuing thread waits for what arrived, and until outer parameters of ELEMENTS are back. */
void outer_vote (StrategyRun *run, guint64 elements);
/* `flying` := how far the parameters of FRAGMENT are from the outer ones. */
void outer_difference (StrategyRun *run, guint fragment);
/* `sent` := the parameters as they are now. */
void outer_copy (StrategyRun *run, guint fragment);
/* The momentum takes in what has arrived of ELEMENTS. */
void outer_momentum (StrategyRun *run, guint64 elements);
/* Outer parameters follow it, and parameters these, MERGED of which may be a mixture. */
void outer_step (StrategyRun *run, guint64 elements, guint64 merged);

/* ---- sync-form.c ----------------------------------------------------------------------------- */

/* The closed form of TIMES rounds. */
void sync_form (const PlanInput *in, const Exchange *exchange, double times, PlanTotals *totals);
