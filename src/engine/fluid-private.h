/*
 * What the two halves of the solver share: fluid.c keeps ops, resources and components,
 * fluid-fill.c fills one tier.
 */
#pragma once

#include "engine/fluid.h"

#define N_CLASSES 2
#define RESIDUE   1e-12 /* less of a capacity than this is rounding, not something to share */

typedef struct
{
  GArray  *uses; /* FluidUse */
  gboolean dirty;
} FluidClassUses;

typedef struct
{
  double         capacity;
  double         reserved;
  double         traffic; /* taken by traffic, per second */
  FluidClassUses by_class[N_CLASSES];
  /* scratch of a solve */
  guint64 stamp;
  double  base;   /* what this tier shares */
  double  left;   /* of it, not yet frozen; kept by differences */
  double  weight; /* sum of share * amount over the ops that are not frozen; kept by differences */
  guint   n_left; /* ops that are not frozen */
  FluidOp one;    /* of them, the last at the start of the tier */
} FluidResource;

/* A level at which something may freeze: a resource, or an op at its limit. */
typedef struct
{
  double  key;
  guint32 id;
} FluidLevel;

typedef struct
{
  OpClass    class_;
  gint       priority;
  gboolean   live;
  guint32    user;
  Demand    *demands; /* the one of the waves comes last */
  guint      n_demands, size;
  double     share, cap;
  WaveDemand waves;
  double     n_waves;
  FluidRate  rate;
  /* scratch of a solve */
  guint64    stamp;
  gboolean   frozen, changed;
  FluidRate  next;
  FluidLevel own; /* the lowest of the resources that no other op of the tier demands */
} FluidFlow;

struct _Fluid
{
  GArray  *resources;        /* FluidResource */
  GArray  *ops;              /* FluidFlow, by FluidOp */
  GArray  *unused;           /* FluidOp */
  GArray  *dirty[N_CLASSES]; /* ResourceId */
  GArray  *changed;          /* FluidOp */
  GArray  *component;        /* ResourceId */
  GArray  *component_ops;    /* FluidOp */
  GArray  *levels;           /* FluidLevel: a binary min-heap */
  guint64  stamp;
  gboolean full;
  guint64  solves, visited;
};

static inline FluidResource *
fluid_resource_at (const Fluid *self, ResourceId id)
{
  return &g_array_index (self->resources, FluidResource, id);
}

static inline FluidFlow *
fluid_flow_at (const Fluid *self, FluidOp id)
{
  return &g_array_index (self->ops, FluidFlow, id);
}

static inline FluidUse *
fluid_uses_of (const FluidResource *resource, OpClass class_, guint *n)
{
  GArray *uses = resource->by_class[class_].uses;

  *n = uses->len;
  return (FluidUse *) (gpointer) uses->data;
}

static inline gboolean
fluid_has_waves (const FluidFlow *op)
{
  return op->n_waves > 0;
}

/*
 * Finds `next` of OPS, which are of one class and priority, from the `base` of the resources of
 * `component`. The ops of the tier are told from the others by their stamp, which is a new one
 * afterwards.
 */
void fluid_fill_tier (Fluid *self, OpClass class_, const FluidOp *ops, guint n_ops);
