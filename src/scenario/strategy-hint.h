/* What to say of a word that names no strategy. */
#pragma once

#include "strategy/registry.h"

/*
 * What to say of NAME, which no strategy of SET (NULL: the built-in ones) bears: a framework leads
 * to the strategies that it is today's software of, or to its jobs; else strategy_set_hint. Newly
 * allocated.
 */
char *strategy_hint (const StrategySet *set, const char *name);
