/*
 * The solver of the fluid engine: rates of ops that share resources, weighted max-min fair by
 * progressive filling. The only one: whatever shares bandwidth anywhere is asked of it.
 *
 * Three loops run on it, because an event means something else in each, and each would pay for what
 * the others need. engine/engine.h plays hosts, streams, events and memory, and records every op;
 * engine/flow-net.h, nothing but flows, moves a clock a group instead of a rate an op, so that ten
 * thousand of them at once cost what changes levels; step-run.h carries items along edges
 * and takes those that nothing can hold back out of the solver and off the agenda altogether.
 *
 * Set: capacities c_r, what is reserved of them, and the running ops with their demands a_ir,
 * shares s_i, caps and waves. Computed: rates x_i (1/s). A level rises from 0; an op's rate is
 * level * s_i until a resource that it demands is saturated (sum over its ops of x_i a_ir reaches
 * what there is to share) or its own cap binds; then it is frozen. Traffic shares whole
 * capacities. Kernels share what traffic and reservations leave, tier by tier of priority.
 *
 * The answer is the only one in which each op has a bottleneck: a saturated resource (or its own
 * limit) on which no op of its tier has a higher level. The ops with one bottleneck form a *group*,
 * which has one level; an op's rate is the level of its group times its share. The solver keeps the
 * groups from one solve to the next and repairs those that an event has touched, in the order of
 * their levels: see fluid-repair.c.
 */
#pragma once

#include "engine/engine.h"

typedef struct _Fluid Fluid;
typedef guint32       FluidOp; /* recycled after removal */
typedef guint32 FluidGroup; /* small; 0 = none yet. One a resource and tier, or op with a limit */

typedef struct
{
  OpClass         class_;
  gint            priority; /* of kernels */
  const Demand   *demands;  /* copied; amounts > 0 */
  guint           n_demands;
  WaveDemand      waves;
  const WavePart *wave_parts; /* as in OpSpec */
  guint           n_wave_parts;
  double          share, cap;
  guint32         user; /* the caller's */
} FluidSpec;

/* What holds a rate down: CAUSE_RESOURCE and the resource, or CAUSE_CAP and ENGINE_NONE. */
typedef struct
{
  double     rate;
  Cause      cause;
  ResourceId resource;
} FluidRate;

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

/* What reservations leave of a resource's capacity. */
double fluid_slots (const Fluid *self, ResourceId id);

/* An op's rate is known after the next solve, and 0 until then. */
FluidOp fluid_add (Fluid *self, const FluidSpec *spec);
void    fluid_remove (Fluid *self, FluidOp op);

/*
 * Brings the rates up to date. Returns the ops whose rate, cause or amounts changed (valid until
 * the next call).
 */
const FluidOp *fluid_solve (Fluid *self, guint *n_changed);
gboolean       fluid_is_dirty (const Fluid *self);

/*
 * The same for callers that keep one clock a group, because an event changes the levels of few
 * groups but the rates of many ops: the groups that may have a new level, and the ops that have
 * come to another group or into their first one. Both without repetition, valid until the next
 * call.
 */
typedef struct
{
  const FluidGroup *groups;
  guint             n_groups;
  const FluidOp    *moved;
  guint             n_moved;
} FluidChange;
FluidChange fluid_solve_groups (Fluid *self);
double      fluid_level (const Fluid *self, FluidGroup group); /* INFINITY of an empty group */
FluidGroup  fluid_group (const Fluid *self, FluidOp op);
FluidGroup  fluid_group_before (const Fluid *self, FluidOp moved); /* 0: it had none */

FluidRate fluid_rate (const Fluid *self, FluidOp op);
guint32   fluid_user (const Fluid *self, FluidOp op);

/*
 * Waves that OP needs on the slots left at present, 0 for an op without; and the amount that they
 * take.
 */
/*
 * Waves of the op on the slots that are left; of several parts, as many as there are of the mean
 * length of a running wave.
 */
double fluid_n_waves (const Fluid *self, FluidOp op);
double fluid_wave_amount (const Fluid *self, FluidOp op);

/*
 * The ops of a class that demand a resource, in the order in which they were added; valid until the
 * next call.
 */
const FluidOp *fluid_users (Fluid *self, ResourceId id, OpClass class_, guint *n);

/* What the whole op takes of a resource. */
double fluid_amount (const Fluid *self, FluidOp op, ResourceId id);

/* Fills every tier from nothing at every solve: the reference that tests compare with. */
void fluid_set_full (Fluid *self, gboolean full);

/*
 * Before ops are added: each has the rate that it would have with nothing else running. No resource
 * has users then.
 */
void fluid_set_apart (Fluid *self, gboolean apart);

/* `visited` counts ops, each as often as a solve looks at it on one of its resources. */
void fluid_counters (const Fluid *self, guint64 *solves, guint64 *visited);
