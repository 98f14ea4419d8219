/* What a kind of figures is. */
#pragma once

#include "evidence/figures/figure-runs.h"
#include "evidence/figures/figure-table.h"
#include "evidence/figures/figure.h"

typedef struct
{
  const PredictOptions *options;
  guint                 n_threads;
  const GPtrArray      *scenarios; /* of NAME.yaml; NULL: the kind has none */
} FigureInput;

typedef struct
{
  const char    *suffix;   /* of the table; figures of the kind have one */
  gboolean       alone;    /* there is no NAME.yaml */
  FigureTable    lines;    /* n = 0: the kind reads its tables itself */
  gsize          row_size; /* 0: the lines are the rows */
  GDestroyNotify clear_row;
  gboolean (*compute) (Figures *self, const FigureInput *input, DiagList *diags);
} FigureComputation;

extern const FigureComputation figure_published, figure_apart, figure_curves, figure_grids,
    figure_map, figure_memband, figure_padding, figure_region, figure_scaling, figure_slim,
    figure_split, figure_submissions, figure_utilisation;

/* The figure of KIND that goes with SELF under its name. NULL after diagnostics. */
Figures *figure_of_kind (const char *folder, const char *name, FigureKind kind,
                         const FigureInput *input, DiagList *diags);

/*
 * Makes the published figure of SELF's name its base, whose rows and evidence come first. FALSE
 * after diagnostics.
 */
gboolean figure_take_published (Figures *self, const FigureInput *input, DiagList *diags);

/* The file of the figure NAME in FOLDER that ends in SUFFIX. */
char *figure_file (const char *folder, const char *name, const char *suffix);

/* TEXT, as long as SELF; NULL stays NULL. */
const char *figure_keep (Figures *self, const char *text);

/* Adds a row, if it has a PUBLISHED number. LOW is NAN without a prediction. */
void figure_add_evidence (Figures *self, const char *row, const char *metric, double published,
                          double low, double high);
