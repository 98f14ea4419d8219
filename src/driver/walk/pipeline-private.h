/*
 * Interleaved pipelines: pass k of a stage, forward and backward counted apart. All stages count
 * alike.
 */
#pragma once

#include "driver/walk/pipeline-slots.h"

#define PIPELINE_NO_PASS G_MAXUINT

/* The K-th forward (backward) pass, and which one SLOT is. */
PipelineSlot pipeline_interleaved_slot (const Pipeline *self, guint k, gboolean backward);
guint        pipeline_interleaved_index (const Pipeline *self, const PipelineSlot *slot);

/* Passes before the first backward one (Megatron-LM, core/pipeline_parallel/schedules.py). */
guint pipeline_interleaved_warm_up (const Pipeline *self, guint stage);

/*
 * The pass whose input is received where pass K is next. Its own, but for what comes from the other
 * end of the pipeline: that end made it n passes before its user where n micro-batches are a group,
 * and it is received p passes after it was made, so that it does not wait there for as long as it
 * waits here. PIPELINE_NO_PASS: there is none.
 */
guint pipeline_interleaved_arrives (const Pipeline *self, guint stage, guint k, gboolean backward);
