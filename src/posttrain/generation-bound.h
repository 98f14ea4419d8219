/*
 * What writing responses takes at least, in closed form: for who compares many layouts, and
 * simulates those alone that may be the fastest.
 *
 * All responses arrive at once. A replica writes no faster than with as many of them as it runs at
 * a time in every step, and the longest one takes no less than it does alone: the larger of both.
 * The cache's room, prompts and what is computed twice are left out.
 */
#pragma once

#include "serve/generator.h"
#include "serve/serving-options.h"

/*
 * Seconds of RESPONSES (ServeRequest) on all instances of a cluster of N_GPUS; INFINITY: the
 * longest does not fit a cache that has nothing else.
 */
double generation_least_seconds (Generator *generator, const GenerationOptions *generation,
                                 const ServingOptions *serving, guint n_gpus,
                                 const GArray *responses);
