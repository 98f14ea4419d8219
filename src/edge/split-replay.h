/*
 * Rounds of split learning on the event engine: each computer and each radio link is a resource,
 * each phase an op that waits for what it needs. With a barrier behind each round that is the
 * closed form. Without it the ends of unlike clients differ: one that is done early computes the
 * next round's forward pass meanwhile, so a round takes the greatest sum of what a client does,
 * which is less than the sum of the greatest.
 */
#pragma once

#include "edge/split-round.h"

/*
 * Seconds of a round of WORK by CLOCK, which is not SPLIT_CLOSED: the mean between the ends of the
 * first and of the last of some rounds. NAN with ERROR set where they take too long for the clock.
 */
double split_replay (const SplitWork *work, SplitClock clock, GError **error);
