/*
 * What a rank holds of the parameters that are trained, as an exchange between workers finds it:
 * shards or everything, in GPU memory or in the host's, with the optimizer's own copy beside it or
 * on the host. Each function that emits has its closed form beside it.
 */
#pragma once

#include "driver/policy/strategy.h"

/* Where it lives, and the bytes of an element there. */
Place resident_home (const StrategyRun *run);
guint resident_bytes_each (const StrategyRun *run);

/* The op emitted last uses it, with the fp32 copy of the optimizer where that is there too. */
void resident_use (StrategyRun *run, ScheduleAccess access);

/*
 * ELEMENTS of what lives off the GPU come to a buffer there on the compute stream; with LOADS they
 * are moved, else all of them will be written. SCHEDULE_NONE: they are there.
 */
BufferRef resident_fetch (StrategyRun *run, guint64 elements, gboolean loads);
/* What resident_fetch gave goes back, with STORES, and is freed. */
void resident_return (StrategyRun *run, BufferRef fetched, guint64 elements, gboolean stores);

/*
 * Where the host updates parameters that are on the GPU, it goes on from its own copy: what STREAM
 * has made of ELEMENTS of the own slice goes there, behind an update that is still at work, which
 * would write over it.
 */
void resident_refresh_host (StrategyRun *run, StreamRef stream, guint64 elements);
