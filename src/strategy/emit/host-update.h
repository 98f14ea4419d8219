/* The optimizer on the host's cores, for policies whose optimizer states live there. */
#pragma once

#include "driver/policy/strategy.h"

/* The stream of the host's cores: what works on optimizer states there follows in order. */
StreamRef host_update_stream (StrategyRun *run);

/* Whether there is an optimizer; whether gradients are clipped before. */
gboolean host_updates (const StrategyRun *run);
gboolean host_update_clips (const StrategyRun *run);

/*
 * The norm of ELEMENTS of gradients, GRADIENT_BYTES each, by the cores, for which the host waits;
 * the pass that scales them. The caller declares the gradients.
 */
void emit_host_norm (StrategyRun *run, StreamRef stream, guint64 elements, guint gradient_bytes);
void emit_host_clip (StrategyRun *run, StreamRef stream, guint64 elements, guint gradient_bytes,
                     gboolean blocks);

/*
 * Updates this rank's share of the optimizer on STREAM, with COPY_BYTES an element of a
 * low-precision copy that is written too (0: none); with BLOCKS the host waits for it. It touches
 * what init allocated for optimizer states; the caller declares gradients and parameters. Where
 * there is no optimizer it is an op of no time.
 */
void emit_host_update (StrategyRun *run, StreamRef stream, guint copy_bytes, gboolean blocks);
/* The same of ELEMENTS of it. */
void emit_host_update_of (StrategyRun *run, StreamRef stream, guint64 elements, guint copy_bytes,
                          gboolean blocks);
