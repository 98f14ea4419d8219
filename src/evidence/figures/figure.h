/*
 * A figure: what others published, beside what comes of the same runs, models or rules. Its table,
 * NAME.csv or NAME.KIND.csv, has a struct a line (figure-table.h); the function of its kind
 * computes rows of them, which text, CSV, JSON and pictures show. NAME.yaml has the scenarios of
 * what is predicted; profiles that only the figure needs lie in the folder NAME beside it, over the
 * others.
 */
#pragma once

#include "evidence/figures/figure-claims.h"
#include "predict/prediction.h"

/* By what is computed: a file figure-KIND.h each; figure-edge.h has SLIM and SPLIT. */
typedef enum
{
  FIGURE_PUBLISHED,
  FIGURE_APART,
  FIGURE_CURVES,
  FIGURE_GRIDS,
  FIGURE_MAP,
  FIGURE_MEMBAND,
  FIGURE_PADDING,
  FIGURE_REGION,
  FIGURE_SCALING,
  FIGURE_SLIM,
  FIGURE_SPLIT,
  FIGURE_SUBMISSIONS,
  FIGURE_UTILISATION,
  FIGURE_N_KINDS,
} FigureKind;

typedef struct Figures
{
  FigureKind      kind;
  char           *folder, *name;
  GStringChunk   *strings;  /* what the structs point to */
  GArray         *lines;    /* of the table */
  GArray         *rows;     /* what comes of them */
  GArray         *evidence; /* FigureEvidence: of what has a published number */
  GArray         *regions;  /* Region: what lines of a region say together; GridRow: grids of
                               lines; else NULL */
  struct Figures *base;     /* the published numbers that a region or grids go with; else NULL */
  gpointer        extra;    /* what else its kind has to show: an EdgeFigure; else NULL */
  GDestroyNotify  free_extra;
} Figures;

#define FIGURE_LINE(self, Line, i) (&g_array_index ((self)->lines, Line, i))
#define FIGURE_ROW(self, Row, i)   (&g_array_index ((self)->rows, Row, i))

/* Names of the figures in FOLDER, sorted: strv, newly allocated. */
char **figures_list (const char *folder);

/*
 * Reads the figure NAME in FOLDER and computes it, its scenarios in N_THREADS threads. NULL after
 * diagnostics. The numbers do not depend on the threads.
 */
Figures *figures_compute (const char *folder, const char *name, const PredictOptions *options,
                          guint n_threads, DiagList *diags);
void     figures_free (Figures *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Figures, figures_free)
