/* What each kind of figures gives as evidence for claims: rows that have a published number. */
#pragma once

#include "measure/figure-claims.h"
#include "measure/figure-curves.h"
#include "measure/figure-memband.h"
#include "measure/figure-padding.h"
#include "measure/figure-region.h"
#include "measure/figure-scaling.h"
#include "measure/figure-utilisation.h"

/* FigureEvidence, newly allocated. */
GArray *figures_evidence (const Figures *self);
GArray *figure_region_evidence (const FigureRegion *self);           /* its figures' */
GArray *figure_curves_evidence (const FigureCurves *self);           /* a panel's range */
GArray *figure_memband_evidence (const FigureMemband *self);         /* measured steps */
GArray *figure_padding_evidence (const FigurePadding *self);         /* statements */
GArray *figure_scaling_evidence (const FigureScaling *self);         /* measured points */
GArray *figure_utilisation_evidence (const FigureUtilisation *self); /* cells, Gbit/s */
