/* Passes and messages of a pipeline's stage, in the order in which it emits them. */
#pragma once

#include "driver/policy/pipeline.h"
#include "schedule/schedule.h"

typedef enum
{
  PASS_FORWARD,
  PASS_BACKWARD, /* gradients of inputs and weights */
  PASS_INPUT,    /* of inputs only: a PASS_WEIGHT follows */
  PASS_WEIGHT,
} PipelinePass;

typedef struct
{
  PipelinePass pass;
  guint chunk, micro; /* micro-batches are counted by chunk: dualpipe's have half of them each */
} PipelineSlot;

/* Slots in the order in which STAGE runs them: a new array of PipelineSlot. */
GArray *pipeline_slots (const Pipeline *self, guint stage);

guint pipeline_in_flight (
    const GArray *slots); /* most micro-batches of a chunk between forward and last backward */

/* A message of a stage: the input or output of one of its chunks. */
typedef struct
{
  ScheduleMessage way;
  gboolean        gradient; /* the gradient of the activation, which goes back */
  guint           peer;     /* stage */
  guint           chunk,
      micro; /* of this stage: whose input (received activation, sent gradient) or output it is */
} PipelineMessage;

#define PIPELINE_MAX_MESSAGES 4

/*
 * What a stage does next: a slot, or (n_messages > 0) a group call. CONCURRENT: the slot runs at
 * the same time as the one before it (a backward pass and the forward pass of another micro-batch
 * or chunk, so that either computes while the other communicates: dualpipe, and `beside`).
 */
typedef struct
{
  PipelineSlot    slot;
  gboolean        concurrent;
  guint           n_messages;
  PipelineMessage messages[PIPELINE_MAX_MESSAGES];
} PipelineAction;

/*
 * Slots and messages of STAGE in order: a new array of PipelineAction. BATCHED (gpipe, 1f1b and
 * interleaved): as Megatron-LM calls them, what a slot sends together with what the next one
 * receives, one call after another. Else every message is a call of its own: a receive is posted
 * before the slot that precedes its user, a send follows its slot.
 */
GArray *pipeline_actions (const Pipeline *self, guint stage, gboolean batched);
