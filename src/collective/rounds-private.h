/*
 * Rounds of messages between plain hosts: an all-to-all in which round r takes every rank's message
 * to the rank r places after it.
 */
#pragma once

#include "collective/ring-private.h"

/*
 * Every member sends BYTES to every other, a lane of edges a round. Between an even number of
 * members one round joins each rank with one that also sends to it. Where exchanges are serial
 * (LinkProfile) it takes two lanes, one way and then the other: of pairs that are laid next to each
 * other one begins at this end and the next at that.
 */
void rounds_lay (const LayContext *context, const Members *members, double bytes);
