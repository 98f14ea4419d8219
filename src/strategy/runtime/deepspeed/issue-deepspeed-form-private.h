/* What the files of the closed form of DeepSpeed's coordinator share. */
#pragma once

#include "driver/policy/strategy.h"

/* Padded elements of some modules. */
typedef struct
{
  double once;            /* of each */
  double trained;         /* of those that are, in part at least */
  double gathered, slack; /* in a micro-step */
} Gathers;

/* The same of modules by what becomes of their copies. */
typedef struct
{
  Gathers all;    /* modules, */
  Gathers cached; /* and those of them whose copies stay on the GPU (FCDP-Cache) */
  Gathers frozen; /* and those whose shards rest encoded */
} DeepspeedGathers;

/* What a micro-step gathers where tensors are padded for M ranks; copies stay in ROOM elements. */
DeepspeedGathers deepspeed_gathers (const PlanInput *in, const Policy *policy, guint m,
                                    double room);
