/*
 * The outer loop: how workers exchange what they have learned. There is one; what it exchanges,
 * when, over what and who takes the outer step is data (exchange.h), which a strategy fills
 * in.
 */
#pragma once

#include "driver/policy/strategy.h"

/*
 * At the end of a round, or of its parts, a fragment of what each rank holds is averaged over
 * workers: in place, or as a copy or a difference that the next steps hide. What arrived becomes
 * the parameters, or is the gradient of an outer step.
 */
extern const Sync sync_outer;
