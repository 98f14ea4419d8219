/*
 * The life of a builder, for who walks a training step: which role and section comes next, what the
 * compute stream is, what the units are called. What a strategy writes with is in schedule.h.
 */
#pragma once

#include "schedule/schedule.h"

/* What items and buffers belong to: a name for who reads the schedule, and its place. */
typedef struct
{
  char *name;  /* "block 3 mlp.up" */
  guint layer; /* of the whole model: 0 the embedding */
} ScheduleUnit;

/* An array of ScheduleUnit that frees its names. */
GArray *schedule_units_new (void);

/* What a schedule is for. */
typedef struct
{
  const Workload *workload; /* of the first stage; must outlive the schedule */
  GArray         *units;    /* ScheduleUnit, of all stages in order; taken */
  guint           n_roles, n_stages;
  guint32        *role_of_rank; /* [n_ranks], taken; NULL when there is one role */
  guint           n_ranks;
  guint           steps_per_period;
  guint           gap, ahead; /* steps alike end `ahead` steps before the last of each `gap` */
  gboolean        crosses;    /* what is sent in one step is used in another */
  Stop           *stop;       /* when no more of it is wanted; NULL: never */
} ScheduleShape;

/* An empty schedule. */
ScheduleBuilder *schedule_builder_new (ScheduleShape shape);
/*
 * ROLE is of pipeline stage STAGE with WORKLOAD, whose units begin at OFFSET; units that are set
 * from now on count from there.
 */
void schedule_builder_set_stage (ScheduleBuilder *self, guint role, guint stage,
                                 const Workload *workload, guint offset);

/* A kernel of the model on SCHEDULE_COMPUTE. KERNEL is a layer's: it outlives the schedule. */
OpRef schedule_layer_kernel (ScheduleBuilder *b, const KernelDesc *kernel);
/*
 * A copy of KERNEL that does, or one like it that was kept before: for a layer's kernel that runs
 * in another way than it says.
 */
const KernelDesc *schedule_keep_kernel (ScheduleBuilder *b, const KernelDesc *kernel);
/* OP, which was emitted last, stands among the kernels of a layer. OWN_SMS: as KernelDesc's. */
void schedule_layer_collective (ScheduleBuilder *b, OpRef op, guint own_sms);
/* Items that follow go to SECTION of ROLE. */
void schedule_builder_select (ScheduleBuilder *self, guint role, ScheduleSection section);
/*
 * What is emitted on SCHEDULE_COMPUTE from now on goes to STREAM, and its memory comes from that
 * stream's pool: a pass that is concurrent with another. What one of the two frees of the other's
 * pool goes back when its own stream has come so far. SCHEDULE_COMPUTE itself ends that, and so
 * does schedule_builder_select.
 */
void schedule_builder_set_compute (ScheduleBuilder *self, StreamRef stream);
/* The forward pass of micro-step MICRO begins with the next item. */
void schedule_builder_begin_micro (ScheduleBuilder *self, guint micro);
/* Marks the end of a training step. */
void schedule_builder_end_step (ScheduleBuilder *self);
/* Items of the section so far. */
guint schedule_builder_n_items (const ScheduleBuilder *self);
/* Whether its stop is due: it takes what else is emitted, but nobody wants it. */
gboolean schedule_builder_is_cut (const ScheduleBuilder *self);
/* What is written; owned by the builder. */
const Schedule *schedule_builder_peek (const ScheduleBuilder *self);
/* Frees the builder; its schedule is the caller's. */
Schedule *schedule_builder_finish (ScheduleBuilder *self);

/*
 * Drops ROLE's steady program for its first one where they are the same; N_INIT and N_FIRST: its
 * buffers when init and the first section had been written.
 */
void schedule_builder_share_steady (ScheduleBuilder *self, guint role, guint n_init, guint n_first);

/* The op OP of the section uses BUFFER. */
void schedule_builder_use (ScheduleBuilder *self, OpRef op, BufferRef buffer, guint part,
                           ScheduleAccess access);
