/*
 * Which figure of the hardware, and which option, buys how much: figures up and down, each option
 * set otherwise, re-simulated.
 *
 * Set: a factor f. Computed, of the step time T and a figure x: the elasticity d ln T / d ln x, as
 * ln (T (x f) / T (x / f)) over the logarithm of what x really changed by (plausible values end;
 * counts are whole). -1: the step takes as much less as there is more of x; 0: x does not matter.
 *
 * Of each rate (bandwidths, FLOP/s) its break-even point: the least x from which on all that could
 * be added shortens the step by less than BREAK_EVEN_SHARE, found by halving ln x between a
 * hundredth and a thousand times of what it is, where a step is taken to grow no longer with x.
 */
#pragma once

#include "decide/explore/option-effects.h"
#include "predict/variation.h"

#define BREAK_EVEN_SHARE 0.01

/* A step with another value of a figure. */
typedef struct
{
  double   value;       /* base unit; NAN: none was simulated, or it cannot be */
  double   step_time_s; /* > 0 where there is one */
  gboolean fits;
} FigureSample;

typedef enum
{
  BREAK_EVEN_NOT_ASKED, /* no rate, or not wanted */
  BREAK_EVEN_NEVER,     /* a hundredth is enough too */
  BREAK_EVEN_AT,
} BreakEvenKind;

typedef struct
{
  BreakEvenKind kind;
  double        value;              /* of BREAK_EVEN_AT */
  double        least;              /* the lowest value that was simulated */
  double        unlimited_step_s;   /* with the most of the figure */
  char  *binds_below, *binds_above; /* what binds most of a step with least and most; owned */
  double binds_at; /* where what binds is no longer the former; 0: they are the same */
} BreakEven;

typedef struct
{
  HardwareFigure figure;
  FigureSample   down, up;
  double         elasticity; /* of the step time */
  gboolean       matters;    /* changes the step, or whether it fits */
  BreakEven      break_even;
  char          *setback; /* why a better figure takes longer; owned, NULL: it does not */
} FigureEffect;

typedef struct
{
  Prediction *prediction; /* of the scenario as it is */
  double      factor;
  GArray     *figures; /* FigureEffect, the largest elasticity first */
  GArray     *options; /* OptionEffect, the largest gain first; empty: not asked for */
  guint       n_simulated;
} Sensitivity;

typedef struct
{
  double             factor;     /* > 1 */
  const char *const *figures;    /* names, NULL-terminated; NULL: all there are */
  gboolean           no_figures; /* options only */
  gboolean           break_even; /* look for break-even points */
  gboolean           options;    /* set the options otherwise too */
  guint              n_threads;
} SensitivityOptions;

/*
 * STRATEGIES: of scenario_load. OPTIONS->count is told of simulations. NULL after diagnostics or
 * with ERROR set. The result does not depend on the number of threads.
 */
Sensitivity *sensitivity_find (const Scenario *scenario, const StrategySet *strategies,
                               const SensitivityOptions *wanted, const PredictOptions *options,
                               DiagList *diags, GError **error);
void         sensitivity_free (Sensitivity *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Sensitivity, sensitivity_free)
