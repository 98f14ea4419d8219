/*
 * Bandwidth for utilisation: the network that training with rare exchanges needs so that it
 * computes for a given part of its time, by the rules of an idealised simulator, beside published
 * numbers. NAME.utilisation.csv has a line a model and method.
 *
 * Set: L equal layers with N / L parameters each; a step of T seconds, a third of it forward; B
 * bits of a parameter on the wire, 2 (M - 1) / M times each; one link, first come, first served,
 * without latency. A layer's payload is ready when its backward pass ends. Data parallelism sends
 * all layers each step; DiLoCo every H steps; streaming one fragment of some layers, strided, each
 * H / P steps. A layer's forward pass in the step after its exchange, and `overlap` steps later
 * where training goes on meanwhile, waits until it is over.
 * Computed: the part of the time in which layers are computed, cold, over `steps` steps; the least
 * bandwidth of 50 logarithmic ones from 0.1 to 1000 Gbit/s that reaches a target.
 * Source: Douillard et al., arXiv:2501.18512 (figure and table of bandwidth).
 */
#pragma once

#include "evidence/figures/figure.h"

#define UTILISATION_N_TARGETS 5
#define UTILISATION_N_RATES   50

extern const double utilisation_targets[UTILISATION_N_TARGETS]; /* 0.5 to 0.99 */

/* The I-th bandwidth, bit/s. */
double utilisation_rate (guint i);

/* A line of the table. */
typedef struct
{
  const char *figure, *model, *method, *assumptions;
  double      parameters, step_s, bits, replicas;
  guint       layers, every, fragment_layers, overlap, steps;
  double      published[UTILISATION_N_TARGETS]; /* bit/s; 0: not */
  double      of_rate[UTILISATION_N_RATES];     /* utilisation at each bandwidth */
} UtilisationLine;

/* A row: a target of a line. */
typedef struct
{
  const UtilisationLine *line;
  guint                  target;
  double                 published; /* bit/s; NAN: not */
  double                 predicted; /* bit/s; NAN: no bandwidth does */
  double                 off;       /* bandwidths of the grid above the published one; NAN */
} UtilisationCell;

/* The utilisation of LINE, whose first members are set, over a link of RATE bit/s. */
double utilisation_of (const UtilisationLine *line, double rate);
