/*
 * How predictions grow with what is repeated, micro-batches or steps: what follows when the columns
 * that grow (columns.h) do so evenly.
 */
#pragma once

#include "predict/prediction.h"

/* The entry of RESOURCE; NULL when there is none. */
const BindingUse *growth_binding (const Prediction *p, const char *resource);

/*
 * The peak must stand. What an allocator's cuts leave over creeps on for many micro-batches, by a
 * segment now and then: it must stand for the LAST two only.
 */
gboolean growth_same_memory (const MemoryUse *a, const MemoryUse *b, gboolean last);

/* Whether A and B peak alike in all places, and are bound by and exchange the same things. */
gboolean growth_is_alike (const Prediction *a, const Prediction *b);

/* SELF, with TIMES the increment from B to C more; SELF may be C. Derives the rest. */
void growth_follow (Prediction *self, const Prediction *b, const Prediction *c, double times);

/* SELF, with TIMES what MORE says of a stretch of it (read-replay.h). Derives the rest. */
void growth_repeat (Prediction *self, const Prediction *more, double times);

/* All sums FACTOR times as large. */
void growth_scale (Prediction *self, double factor);
