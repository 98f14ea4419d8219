/*
 * The strategies that the program knows: the list that meson writes from src/strategy/meson.build,
 * and plug-ins.
 */
#pragma once

#include "driver/policy/strategy.h"

/* All built-in strategies in the order of their names, NULL-terminated. */
const Strategy *const *strategy_list (void);

/*
 * A set of strategies: the built-in ones and those of plug-ins. Strategies stay valid while the set
 * lives. Read-only once loaded, so that threads may share it.
 */
typedef struct _StrategySet StrategySet;

StrategySet *strategy_set_new (void);
void         strategy_set_free (StrategySet *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StrategySet, strategy_set_free)

/*
 * Loads the shared object FILE, which exports `const Strategy shardsim_strategy`. Fails with a
 * message when it cannot be loaded, has no such symbol, was built for another STRATEGY_API_VERSION,
 * or names a strategy that exists.
 */
gboolean strategy_set_load (StrategySet *self, const char *file, GError **error);

/* NULL when unknown. */
const Strategy *strategy_set_find (const StrategySet *self, const char *name);

/* NULL-terminated, in the order of names; owned by the set. */
const Strategy *const *strategy_set_list (const StrategySet *self);

/* The same among the built-in ones. */
const Strategy *strategy_find (const char *name);

/*
 * What to say of NAME, which no strategy of SET (NULL: the built-in ones) bears: those that people
 * mean by it, else the nearest or all. Newly allocated.
 */
char *strategy_set_hint (const StrategySet *set, const char *name);
