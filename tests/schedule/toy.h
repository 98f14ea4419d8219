/*
 * Small strategies for the tests of the schedule layer: parameters sharded over the mesh, gathered
 * and freed unit by unit, gradients reduced unit by unit; with faults to order. And an outer one
 * that averages over halves of the mesh.
 */
#pragma once

#include "driver/walk/driver-private.h"
#include "schedule/schedule-private.h"

typedef enum
{
  TOY_SOUND,
  TOY_WAIT_UNRECORDED,
  TOY_WAIT_OLD_EVENT,     /* recorded in the init section */
  TOY_FREE_AFTER_NOTHING, /* a free that waits for an event nobody recorded */
  TOY_DOUBLE_FREE,
  TOY_USE_AFTER_FREE,
  TOY_LEAK,
  TOY_OLD_BUFFER,      /* the steady section uses a buffer that only the first one has */
  TOY_FREE_PERSISTENT, /* frees a buffer of init in a step */
  TOY_BYTES_DIFFER,    /* role 1 gathers another amount */
  TOY_KIND_DIFFERS,    /* role 1 broadcasts instead */
  TOY_TAIL_DIFFERS,    /* role 1 does not issue role 0's last gather */
  TOY_COUNT_DIFFERS,   /* role 1 gathers once less */
  TOY_DEADLOCK,        /* roles issue two communicators in opposite order on one stream */
  TOY_ROLES_WITH_GAPS,
  TOY_NOT_DECLARED, /* a later stage does not say where its gradients are */
} ToyFault;

typedef struct
{
  ToyFault fault;
  guint    n_roles; /* role = rank % n_roles; 0 = 1 */
  gboolean apart;   /* gather over {2, 2}: of a mesh of 4, ranks of unlike roles never meet */
} ToyOptions;

typedef struct
{
  guint64 period;
} ToyOuterOptions;

extern const Strategy toy_layer, toy_module; /* granularities */
extern const Strategy toy_outer;             /* round_end only: everything else falls through */
extern const Strategy toy_extending; /* also extends init, step_end and unit_forward_begin */

/* Gated MLP, RMSNorm, rotary: 2 blocks of d_model 64 with 4 heads, d_ff 256, vocabulary 512. */
extern const ModelShape      toy_shape;
extern const TrainingOptions toy_training; /* 2 x 16 tokens, no accumulation or checkpointing */

/* A builder over WORKLOAD's layers; takes ROLES ([n_ranks], or NULL). */
ScheduleBuilder *toy_builder (const Workload *workload, guint n_roles, guint32 *roles,
                              guint n_ranks);

/* Asserts that building gives no diagnostic. */
Schedule *toy_build (const Workload *workload, guint n_ranks, const StrategyChoice *choice);
