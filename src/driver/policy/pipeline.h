/*
 * Pipeline schedules: in which order a stage runs the passes of its micro-batches, and which
 * messages it exchanges in between.
 *
 * A stage holds one or more chunks of layers. Interleaved: chunk c of stage s is the c * p + s-th
 * part of the model. zbv: chunk 0 goes down the stages and chunk 1 back up, so that stage 0 has
 * both ends. dualpipe: two copies of the model run through the stages in opposite directions, chunk
 * 0 of stage s is part s of one, chunk 1 part p - 1 - s of the other; each takes half of the
 * micro-batches. Zero-bubble schedules split the backward pass: gradients of inputs first, those of
 * weights where a stage would wait.
 *
 * Sources: GPipe arXiv:1811.06965; 1F1B and interleaved 1F1B arXiv:2104.04473; ZB-H1, ZB-H2, ZBV
 * arXiv:2401.10241; DualPipe arXiv:2412.19437.
 */
#pragma once

#include "model/step/workload.h"

typedef struct
{
  PipelineKind kind; /* not PIPELINE_AUTO */
  guint        stages;
  guint        chunks; /* of a stage: v of interleaved, 2 of zbv and dualpipe, else 1 */
  guint        micros; /* micro-batches of a step */
  guint        group;  /* interleaved: micro-batches that go through a chunk before the next one's
                          turn (N of arXiv:2407.21783, 3.3.2); 0: as many as stages */
  gboolean     beside; /* of interleaved: a forward pass runs with the backward pass behind it */
} Pipeline;

/* The pipeline that WORKLOAD is a stage of. */
Pipeline pipeline_of (const Workload *workload);

/* Whether passes run beside each other: PipelineAction. */
gboolean pipeline_is_concurrent (const Pipeline *self);

guint pipeline_group_size (const Pipeline *self);   /* `group`, resolved */
guint pipeline_chunk_micros (const Pipeline *self); /* micro-batches that a chunk sees in a step */

typedef struct
{
  guint stage, chunk;
} PipelinePlace;

/*
 * The place that AT hands its activations to (gets them from); FALSE at the end (start) of the
 * model. It may be on the same stage.
 */
gboolean pipeline_next (const Pipeline *self, PipelinePlace at, PipelinePlace *next);
gboolean pipeline_previous (const Pipeline *self, PipelinePlace at, PipelinePlace *previous);
