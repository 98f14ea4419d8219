/*
 * Two parameters varied together: figures of the hardware or options, each combination simulated.
 *
 * A parameter is written NAME=VALUES: the name of a figure ("nic.bandwidth") or of an option
 * ("training.micro_batch"), and its values with commas between them. FROM..TO:N stands for N of
 * them, both ends included, in equal ratios: "nic.bandwidth=50 Gbit/s..800 Gbit/s:5". Of an option
 * of whole numbers they are rounded, and equal ones are one.
 */
#pragma once

#include "predict/variation.h"

#define HEAT_MAP_MAX_VALUES 64 /* of a parameter */

typedef struct
{
  char          *name;
  gboolean       is_figure;
  HardwareFigure figure;
  GPtrArray     *texts;  /* what each value is called */
  GArray        *values; /* double, of a figure */
} HeatAxis;

typedef struct
{
  gboolean    possible; /* else it is refused, and what follows is zero */
  gboolean    fits;
  double      step_time_s, tokens_per_s_per_gpu;
  guint64     peak_bytes;       /* of the fullest GPU */
  const char *binding_resource; /* interned, like the next one */
  const char *caveats;          /* of a Prediction; NULL: none */
} HeatCell;

typedef struct
{
  char    *strategy, *model, *cluster; /* of the scenario as it is */
  HeatAxis x, y;
  GArray  *cells;  /* HeatCell: all of the first value of y, then of the second, ... */
  char    *reason; /* why the first of those that are not possible is not; NULL: all are */
} HeatMap;

/*
 * X, Y: parameters as above. STRATEGIES: of scenario_load. OPTIONS->count is told of simulations.
 * NULL after diagnostics. The result does not depend on N_THREADS.
 */
HeatMap *heat_map_find (const Scenario *scenario, const StrategySet *strategies, const char *x,
                        const char *y, const PredictOptions *options, guint n_threads,
                        DiagList *diags);
void     heat_map_free (HeatMap *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HeatMap, heat_map_free)

const HeatCell *heat_map_cell (const HeatMap *self, guint x, guint y);
