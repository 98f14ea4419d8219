/* How well links are predicted that were fitted to other runs only. */
#pragma once

#include "evidence/tables/validate-collectives.h"

/*
 * validate_collectives, but every source (the ids without their trailing numbers) is predicted with
 * link profiles that are fitted to the others, as calibrate_collectives does. Rows that cross a
 * family of links which the other sources cannot fit, and those of sources without a healthy row,
 * are predicted with the fit to all rows. Uses N_THREADS threads; the result does not depend on
 * their number. COUNT, which may be NULL, is told of the sources.
 */
CollectiveValidation *validate_collectives_left_out (GPtrArray  *measurements,
                                                     const char *profile_dir, guint n_threads,
                                                     WorkCount *count);
