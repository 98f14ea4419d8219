/* What a replay, or a stretch of it, says of a step: how a Prediction is filled. */
#pragma once

#include "predict/prediction.h"

/*
 * What STRETCH of REPLAY, a span of its micro-batches that repeats, adds to each column of WHOLE
 * that grows (columns.h), for so many micro-batches (n_replayed); other columns mean nothing. WHOLE
 * is read off the same replay. To be freed. NULL: the critical path does not go the same way
 * through the stretch and the one before it, or STOP, which may be NULL, came first.
 */
Prediction *prediction_of_stretch (const Replay *replay, const ReplayStretch *stretch,
                                   const Prediction *whole, Stop *stop);
