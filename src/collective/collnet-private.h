/*
 * CollNet: the network's switches reduce. Of an all-reduce each node's cards carry S up and S down.
 * Chain: the members form a chain from the one at the card. Direct: every member hands each member
 * at a card its part, and gets the result back.
 */
#pragma once

#include "collective/tree-private.h"

void collnet_lay (const LayContext *context, const Members *members, gboolean chain);
