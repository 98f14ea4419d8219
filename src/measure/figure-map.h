/*
 * A map: which of some contenders is the fastest where. NAME.yaml has the scenarios, a grid; beside
 * it NAME.map.csv says what its axes are, by keys of scenarios (a line of its own each, two here
 * for width):
 *
 *   x,y,page,contender,assumptions
 *   cluster.nic,cluster.gpu,model.config,strategy.name,the rest is as in the file
 *
 * A cell is a value of x, of y and of the page; its scenarios with the same contender differ in
 * what may be chosen freely (the micro-batch), and the fastest of them that fits counts. Profiles
 * that only the map needs lie in the folder NAME beside it, over the others.
 */
#pragma once

#include "analysis/prediction.h"

/* What one contender reaches in a cell. */
typedef struct
{
  const char *contender;
  const char *scenario; /* the fastest that fits; NULL: none does */
  double      tokens_per_s_per_gpu;
  const char *binding; /* what binds it */
  const char *reason;  /* of a contender without a prediction: the first one's; else NULL */
} MapEntry;

typedef struct
{
  guint   x, y, page; /* indices into the axes */
  GArray *entries;    /* MapEntry, the fastest first, then those that do not fit */
} MapCell;

typedef enum
{
  MAP_X,
  MAP_Y,
  MAP_PAGE,
  MAP_N_AXES,
} MapAxis;

typedef struct
{
  char         *name;
  const char   *keys[MAP_N_AXES], *contender, *assumptions;
  GPtrArray    *values[MAP_N_AXES]; /* const char *, in the order of the grid */
  GArray       *cells;              /* MapCell: by page, then y, then x */
  GStringChunk *strings;
} FigureMap;

/* Whether the figures NAME in FOLDER are a map. NAME is one of figures_list. */
gboolean figure_map_is (const char *folder, const char *name);

/*
 * Predicts the scenarios of the map NAME in FOLDER in N_THREADS threads. NULL after diagnostics.
 * The result does not depend on the threads.
 */
FigureMap *figure_map_predict (const char *folder, const char *name, const PredictOptions *options,
                               guint n_threads, DiagList *diags);
void       figure_map_free (FigureMap *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FigureMap, figure_map_free)

/*
 * By how much the first of CELL is faster than the second, as a ratio - 1; NAN where fewer than two
 * fit.
 */
double map_cell_lead (const MapCell *cell);
