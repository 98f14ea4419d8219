/*
 * Which option buys how much: one at a time set otherwise, and simulated again. The options are the
 * levers of levers.h, so what is trained stays what it is.
 */
#pragma once

#include "decide/explore/levers.h"
#include "predict/prediction.h"

typedef struct
{
  char       *options;  /* to add to the command line: "--micro-batch 2 --grad-accum 4"; owned */
  guint       lever;    /* changes of one lever exclude each other */
  gboolean    possible; /* else it is refused, and what follows is zero */
  gboolean    fits;
  double      gain;  /* of the throughput: 0.18 is 1.18 times as much */
  double      batch; /* tokens of a step over those of the scenario as it is */
  double      step_time_s, tokens_per_s_per_gpu;
  guint64     peak_bytes, host_peak_bytes; /* of the fullest GPU, of the fullest node's memory */
  const char *caveats;                     /* of a Prediction, interned; NULL: none */
} OptionEffect;

/*
 * Of SCENARIO, whose prediction is GIVEN: newly allocated array of OptionEffect, those that can be
 * first, the largest gain first. At most MOST are tried, one of each lever first; CUT is set where
 * there are more. LEAST (0: all) is the gain below which nobody asks for an option: one that is
 * slower still may be left out. Does not depend on N_THREADS.
 */
GArray *option_effects_find (const Scenario *scenario, const StrategySet *strategies,
                             const Prediction *given, const PredictOptions *options, guint most,
                             double least, guint n_threads, gboolean *cut);
