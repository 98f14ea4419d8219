/*
 * What a rank's GPU ran in training steps, out of a trace of a real run: kernels with their
 * durations, and as far as the trace shows it whose they are. The readers (kineto-trace.h,
 * chakra-trace.h) say under which named ranges a kernel was launched; what these names mean stands
 * here, once for both:
 *
 *   ProfilerStep#N                              the step N
 *   Optimizer.step#...                          the optimizer
 *   autograd::engine::evaluate_function: ...    the backward pass; CheckpointFunctionBackward:
 *                                               recomputation
 *   ...layers.N, h.N, block(s).N, layer.N       block N; inside of a backward function:
 *   nn.Module: ...Block_N, ...Layer_N             recomputation of it
 *   FSDP::, fsdp::, FullyShardedDataParallel._, the strategy's own copies
 *   c10d::, record_param_comms, nccl:,
 *   torch.distributed.ddp.reducer
 *
 * A kernel under none of the others is of the forward pass, or, behind the step's last backward
 * pass, of the optimizer (clipping has no range). Of nested blocks the outer one counts. NCCL's and
 * RCCL's kernels are communication.
 */
#pragma once

#include <glib.h>

#include "base/config/diag.h"

typedef enum
{
  TRACE_FORWARD,
  TRACE_RECOMPUTE,
  TRACE_BACKWARD,
  TRACE_OPTIMIZER,
  TRACE_STRATEGY,      /* launched by the strategy's runtime */
  TRACE_COMMUNICATION, /* collectives and messages */
  TRACE_UNKNOWN,       /* nothing says who launched it */
  TRACE_N_PARTS,
} TracePart;

const char *trace_part_name (TracePart part); /* "forward", "strategy's own" */

#define TRACE_LONGEST_US 3.6e9 /* a kernel of more than an hour is none; sums stay in 64 bits */

/* Blocks are counted from 0. */
#define TRACE_NO_BLOCK  -1 /* the trace does not say */
#define TRACE_EMBEDDING -2
#define TRACE_HEAD      -3

/* What the name of a range means. */
typedef enum
{
  RANGE_NOTHING,
  RANGE_STEP,
  RANGE_OPTIMIZER,
  RANGE_BACKWARD,
  RANGE_CHECKPOINT, /* a backward function that runs the forward pass again */
  RANGE_BLOCK,
  RANGE_STRATEGY,
} RangeKind;

typedef struct
{
  RangeKind kind;
  gint64    number; /* of a step or a block */
} RangeMeaning;

RangeMeaning range_meaning (const char *name);

/* Whose a kernel is, found from the ranges around its launch, the outermost first. */
typedef struct
{
  TracePart part;
  gint32    block; /* or TRACE_NO_BLOCK */
} TraceOwner;

/* BLOCK: of the forward op whose gradient a RANGE_BACKWARD computes, or TRACE_NO_BLOCK. */
void trace_owner_enter (TraceOwner *self, RangeMeaning meaning, gint32 block);

typedef struct
{
  const char *name; /* interned in the trace */
  gint64      start_ns, duration_ns;
  gint64      launch; /* order of the launches: a time, or a number */
  gint64      step;   /* its number, or -1 */
  TraceOwner  owner;
  const char *collective; /* what the trace calls it; NULL: no communication */
  double      bytes;      /* its size S (vocabulary/collective-kind.h); 0: not said */
  guint       group;      /* ranks; 0: not said */
} TraceKernel;

/* The GPU that ran the kernels, as far as the trace says. */
typedef struct
{
  char  *name;  /* or NULL */
  gint64 sms;   /* or -1 */
  double bytes; /* of its memory, as the driver reports them; 0: not said */
} TraceDevice;

typedef struct
{
  GStringChunk *strings;
  GArray       *kernels; /* TraceKernel, by launch */
  gint64        rank;    /* or -1 */
  gint64        n_ranks; /* of the run, or -1 */
  TraceDevice   device;
  gboolean      has_times; /* start_ns is said */
  char         *seen; /* "cpu_op 512, cuda_runtime 80": categories of its events; NULL: not said */
} StepTrace;

StepTrace *step_trace_new (void);
void       step_trace_free (StepTrace *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StepTrace, step_trace_free)

/*
 * Keeps the kernels of step STEP alone; -1: of the last one that has both a forward and a backward
 * pass; a trace without steps is one. FALSE after a diagnostic at FILE. *STEP becomes the one
 * taken, or -1.
 */
gboolean step_trace_select_step (StepTrace *self, const char *file, gint64 *step, DiagList *diags);

/*
 * Gives embedding and head what lies before and behind the blocks, and blocks what lies between
 * their kernels, where the trace names blocks at all.
 */
void step_trace_place_layers (StepTrace *self);

/* A collective, or message, with all that are like it. */
typedef struct
{
  const char *collective;
  double      bytes;
  guint       group, n;
  gint64      total_ns, exposed_ns; /* of it while no other kernel ran; -1: times are not said */
} TraceCollective;

/* Newly allocated array of TraceCollective, the longest first. */
GArray *step_trace_collectives (const StepTrace *self);
