/*
 * The `replay` section of a scenario: how finely it is replayed. The same table drives the command
 * line.
 */
#pragma once

#include "base/config/option.h"

/*
 * Kernels that run back to back on one stream, with nothing in between that could come between
 * them, as one op: see fuse.c.
 */
typedef enum
{
  GRANULARITY_KERNEL, /* every kernel by itself */
  GRANULARITY_MODULE, /* those of a module of a layer */
  GRANULARITY_LAYER,  /* those of a layer */
  GRANULARITY_PASS,   /* those of a forward or backward pass */
} Granularity;

/* How many GPUs wait for the slowest of them: see skew.h. */
typedef enum
{
  SKEW_EXPECTED, /* its expected pace */
  SKEW_SAMPLED,  /* one draw of it */
  SKEW_OFF,      /* all go at one pace */
} Skew;

typedef struct
{
  gint     granularity; /* Granularity */
  gboolean extrapolate; /* identical micro-batches and steps: few are replayed, the rest follows */
  gint     skew;        /* Skew */
  gint64   seed;        /* of SKEW_SAMPLED */
} ReplayConfig;

extern const OptionSpec replay_options[];
