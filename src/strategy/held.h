/*
 * What a rank holds of the parameters that are trained, as an exchange between workers finds it:
 * shards or everything, in GPU memory or in the host's, with the optimizer's own copy beside it or
 * on the host. Each function that emits has its closed form beside it.
 */
#pragma once

#include "driver/strategy.h"

/* Where it lives, and the bytes of an element there. */
Place held_home (const StrategyRun *run);
guint held_bytes_each (const StrategyRun *run);

/* The op emitted last uses it, with the fp32 copy of the optimizer where that is there too. */
void held_use (StrategyRun *run, ScheduleAccess access);

/*
 * ELEMENTS of what lives off the GPU come to a buffer there on the compute stream; with LOADS they
 * are moved, else all of them will be written. SCHEDULE_NONE: they are there.
 */
BufferRef held_fetch (StrategyRun *run, guint64 elements, gboolean loads);
/* What held_fetch gave goes back, with STORES, and is freed. */
void held_return (StrategyRun *run, BufferRef fetched, guint64 elements, gboolean stores);
/* ELEMENTS come LOADS times, go STORES times, at most PEAK of them at a time. */
void held_fetch_form (double loads, double stores, double elements, double peak,
                      PlanTotals *totals);

/*
 * Where the host updates parameters that are on the GPU, it goes on from its own copy: what STREAM
 * has made of ELEMENTS of the own slice goes there, behind an update that is still at work, which
 * would write over it.
 */
void held_refresh_host (StrategyRun *run, StreamRef stream, guint64 elements);
void held_refresh_form (double times, PlanTotals *totals);
