/*
 * Slices of gradients and the optimizer in pinned host memory: each reduced slice goes there as it
 * is made, the host's cores update, and the parameters come back. An issue whose policy has them
 * there calls these. Source: Ren et al., ZeRO-Offload, arXiv:2101.06840, 4; deepspeed/runtime/zero/
 * stage_1_and_2.py (async_accumulate_grad_in_cpu_via_gpu).
 */
#pragma once

#include "strategy/runtime/buckets/gradient-bucket.h"

/* The row of FIELD (a gboolean) of OPTIONS, for Policy.host_copies. */
#define HOST_COPIES(options, field)                                                              \
  {                                                                                              \
    .key = "host_copies", .needs = "states in host memory or on drives", .type = OPTION_BOOL,    \
    .offset = G_STRUCT_OFFSET (options, field), .fallback = "true",                              \
    .help = "host memory beyond the states, as DeepSpeed has it since v0.6: "                    \
            "gradients as they were reduced and shards as they were made (stage 3), blocks "     \
            "that are powers of two; false: states and buffers alone",                           \
    .source = "deepspeed/runtime/zero/stage3.py, stage_1_and_2.py; pytorch, aten/src/ATen/core/" \
              "CachingHostAllocator.h"                                                           \
  }

typedef struct
{
  StreamRef        cpu;
  const StreamRef *drives;     /* on which gradients go to drives and come from there; or NULL */
  BufferRef        staging;    /* pinned memory through which they do, */
  guint64          room;       /* for so many elements at once; */
  guint64          staged;     /* since it was last empty, */
  guint            slot;       /* the last of them as the so many-th slice */
  BufferRef        states;     /* the optimizer's, at their home */
  BufferRef        gradients;  /* where updates show late, of this step: the next one frees it */
  BufferRef        updated;    /* parameters in compute precision, as the host wrote them */
  guint64          all[2];     /* elements of each kind of unit */
  guint64          reduced[2]; /* of them in this micro-step so far */
} HostSlices;

void host_slices_init (HostSlices *self, StrategyRun *run);
/* The same without a place for what the host has updated. */
void host_slices_init_states (HostSlices *self, StrategyRun *run);
void host_slices_begin_step (HostSlices *self, StrategyRun *run);

/*
 * On STREAM: this rank's slice of BUCKET, whose reduced gradients are in INPUT, WIRE bytes an
 * element, goes to the host; after a step's first micro-step with what the host has of it added.
 */
void host_slices_store (HostSlices *self, StrategyRun *run, const GradientBucket *bucket,
                        BufferRef input, guint wire);
void host_slices_end_micro_step (HostSlices *self);

/*
 * The optimizer on the host, at once or one step late, and its PARAMETERS whole on the GPU again.
 */
void host_slices_update (const HostSlices *self, StrategyRun *run, BufferRef parameters);

/* Of SHARE elements of the optimizer: those that are not kept on the GPU. */
guint64 host_slices_off_gpu (const StrategyRun *run, guint64 share);
