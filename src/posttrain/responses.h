/*
 * The responses of a step of reinforcement learning: how long each is, and how they are packed into
 * micro-batches.
 */
#pragma once

#include "scenario/rl-config.h"
#include "serve/requests.h"

/*
 * N responses, ServeRequest, that all arrive at once, cut where prompt and response together are
 * LONGEST tokens: the share that does not end, and a log-normal distribution whose mean behind the
 * cut makes that of all what CONFIG says. Evenly spaced quantiles of it, in an order that the seed
 * draws: N lengths have that mean for any seed. The caller's.
 */
GArray *responses_draw (const RlConfig *config, guint n, double longest);

/* What N_RANKS data ranks make of responses. */
typedef struct
{
  double windows; /* of the rank that has most of them: micro-batches of each */
  double filled;  /* tokens of a window, mean */
  double length;  /* tokens of a prompt with its response, mean */
} PackedResponses;

/*
 * Packs N of RESPONSES from FIRST on, dealt to the ranks in turn, into windows of WINDOW tokens:
 * first fit, the longest first.
 */
PackedResponses responses_pack (const GArray *responses, guint first, guint n, guint n_ranks,
                                double window);
