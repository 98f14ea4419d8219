/*
 * A map: which of some contenders is the fastest where. NAME.yaml has the scenarios, a grid; beside
 * it NAME.map.csv says what its axes are, by keys of scenarios (a line of its own each, two here
 * for width):
 *
 *   x,y,page,contender,assumptions
 *   cluster.nic,cluster.gpu,model.config,strategy.name,the rest is as in the file
 *
 * A cell is a value of x, of y and of the page; its scenarios with the same contender differ in
 * what may be chosen freely (the micro-batch), and the fastest of them that fits counts.
 */
#pragma once

#include "evidence/figures/figure.h"

typedef enum
{
  MAP_X,
  MAP_Y,
  MAP_PAGE,
  MAP_N_AXES,
} MapAxis;

/* The line of the table. */
typedef struct
{
  const char *keys[MAP_N_AXES], *contender, *assumptions;
  GPtrArray  *values[MAP_N_AXES]; /* const char *, in the order of the grid */
} MapAxes;

/* A row: what one contender reaches in a cell. By page, then y, then x, the fastest first. */
typedef struct
{
  guint       at[MAP_N_AXES];     /* indices of the values */
  const char *values[MAP_N_AXES]; /* the values */
  const char *map, *contender;
  const char *scenario; /* the fastest that fits; NULL: none does */
  double      tokens_per_s_per_gpu;
  const char *binding; /* what binds it */
  const char *reason;  /* of a contender without a prediction: the first one's; else NULL */
  guint       rank;    /* in its cell, from 1; those that do not fit are last */
  double      lead; /* of the first over the second, as a ratio - 1; NAN where fewer than two fit */
} MapEntry;
