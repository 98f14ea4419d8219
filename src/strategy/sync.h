/*
 * Syncs: how workers exchange what they have learned. A strategy names one and fills in an
 * Exchange: who, how often, as which type.
 */
#pragma once

#include "driver/strategy.h"

/*
 * At the end of a round an average of what each rank holds, in place; the next step waits for it.
 */
extern const Sync sync_blocking;

/*
 * At the end of a round parameters are sent by an all-reduce that the next round hides. The outer
 * step (momentum over outer parameters, both fp32 and of what each rank holds) takes the average of
 * the round before.
 */
extern const Sync sync_late;
