/*
 * A star: unlike clients around a server, over radio. What is shared by split learning
 * (split-round.h) and by slimmable networks (slim-round.h): the radio, the clients, the layers.
 *
 * Radio. A channel of B Hz carries at most
 *   R = B log2 (1 + P g / (N B))   bit/s
 * (Shannon) with P W sent, a gain g and a noise of N W/Hz. A gain is given, or that of a distance d
 * at a frequency F: g = (c / (4 pi F))^2 (d / 1 m)^-a, which is free space over the first metre and
 * a path loss of exponent a beyond it (a = 2: free space all the way). There are no defaults: what
 * a radio is like, the input says.
 */
#pragma once

#include "base/config/option.h"

typedef struct
{
  double bandwidth; /* Hz, of a channel */
  double noise;     /* W/Hz */
  double frequency; /* Hz, of the first channel's middle; 0: gains are given */
  double exponent;  /* of path loss; 0: gains are given */
} Radio;

typedef struct
{
  char   *name;
  double  gain;     /* received power over sent; 0: that of the distance */
  double  distance; /* m; 0: the gain is given */
  double  power;    /* W that it sends, over all its channels */
  double  compute;  /* FLOP/s */
  gint64  batch;    /* samples of a step */
  double  draw;     /* W that it takes while it computes; of slimmable networks */
  GArray *channels; /* guint from 0, its own; of split learning */
} EdgeClient;

typedef struct
{
  char  *name;
  double forward, backward; /* FLOP a sample */
  double output;            /* elements a sample */
  double parameters;
  gint   narrows; /* EdgeNarrows; of slimmable networks */
} EdgeLayer;

/* Which sides of a layer's matrix have half as many features in a network of half the width. */
typedef enum
{
  NARROWS_BOTH,
  NARROWS_ONE, /* the first layer's outputs, the last one's inputs */
  NARROWS_NONE,
} EdgeNarrows;

/* A picture's panel: SETTINGS over the settings of the file, X over these, series by series. */
typedef struct
{
  char      *figure, *x, *series;
  GPtrArray *xs, *all_series; /* const ConfigNode * of the values */

  const ConfigNode *settings; /* a map; NULL: none */
} EdgePanel;

typedef struct
{
  ConfigDoc *doc; /* the file */
  GArray    *clients, *layers, *panels;
  GPtrArray *assumptions; /* char *: what is assumed of the numbers */
} EdgeStar;

#define EDGE_CLIENT(star, i) (&g_array_index ((star)->clients, EdgeClient, i))
#define EDGE_LAYER(star, i)  (&g_array_index ((star)->layers, EdgeLayer, i))

/* Capacity of a channel in bit/s, as above; not 0 for any gain above it. */
double radio_capacity (double bandwidth, double power, double gain, double noise);

/* The gain of CLIENT in CHANNEL, counted from 0, each a bandwidth above the one before. */
double radio_gain (const Radio *radio, const EdgeClient *client, guint channel);
