/*
 * The solver of the fluid engine: rates of ops that share resources, weighted max-min fair by
 * progressive filling.
 *
 * Set: capacities c_r, what is reserved of them, and the running ops with their demands a_ir,
 * shares s_i, caps and waves. Computed: rates x_i (1/s). A level rises from 0; an op's rate is
 * level * s_i until a resource that it demands is saturated (sum over its ops of x_i a_ir reaches
 * what there is to share) or its own cap binds; then it is frozen. Traffic shares whole
 * capacities. Kernels share what traffic and reservations leave, tier by tier of priority.
 *
 * Incremental: adding or removing an op, or changing a reservation, marks the resources that it
 * touches. A solve visits only the connected components (through resources that ops of one class
 * share) of the marked ones; traffic first, then the kernels where traffic takes more or less than
 * before.
 */
#pragma once

#include "engine/engine.h"

typedef struct _Fluid Fluid;
typedef guint32       FluidOp; /* recycled after removal */

typedef struct
{
  OpClass       class_;
  gint          priority; /* of kernels */
  const Demand *demands;  /* copied; amounts > 0 */
  guint         n_demands;
  WaveDemand    waves;
  double        share, cap;
  guint32       user; /* the caller's */
} FluidSpec;

/* What holds a rate down: CAUSE_RESOURCE and the resource, or CAUSE_CAP and ENGINE_NONE. */
typedef struct
{
  double     rate;
  Cause      cause;
  ResourceId resource;
} FluidRate;

/* An op on a resource, and how much of it the whole op takes. */
typedef struct
{
  FluidOp op;
  double  amount;
} FluidUse;

Fluid *fluid_new (void);
void   fluid_free (Fluid *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Fluid, fluid_free)

/* Resources are numbered from 0 in order of creation. */
void   fluid_add_resource (Fluid *self, double capacity);
double fluid_capacity (const Fluid *self, ResourceId id);

/*
 * Sets what is held back from the kernels of a resource. At least one slot (or the capacity, if
 * smaller) always remains.
 */
void fluid_set_reserved (Fluid *self, ResourceId id, double reserved);

/* An op's rate is known after the next solve, and 0 until then. */
FluidOp fluid_add (Fluid *self, const FluidSpec *spec);
void    fluid_remove (Fluid *self, FluidOp op);

/*
 * Brings the rates up to date. Returns the ops whose rate, cause or amounts changed (valid until
 * the next call).
 */
const FluidOp *fluid_solve (Fluid *self, guint *n_changed);
gboolean       fluid_is_dirty (const Fluid *self);

FluidRate fluid_rate (const Fluid *self, FluidOp op);
guint32   fluid_user (const Fluid *self, FluidOp op);

/*
 * Waves that OP needs on the slots left at present, 0 for an op without; and the amount that they
 * take.
 */
double fluid_n_waves (const Fluid *self, FluidOp op);
double fluid_wave_amount (const Fluid *self, FluidOp op);

/* The ops of a class that demand a resource, in the order in which they were added. */
const FluidUse *fluid_uses (const Fluid *self, ResourceId id, OpClass class_, guint *n);

/* Re-solves everything at every solve, as one component: the reference that tests compare with. */
void fluid_set_full (Fluid *self, gboolean full);

void fluid_counters (const Fluid *self, guint64 *solves, guint64 *visited);
