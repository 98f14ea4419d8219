/* A model whose units can be counted by hand, and a strategy's options as text. */
#pragma once

#include "strategy/registry.h"

/*
 * A llama of BLOCKS blocks, without clipping. MESH (NULL: none) with stages: stage 0, and *LAST the
 * other of two.
 */
Workload *llama_of (guint blocks, guint micros, const MeshOptions *mesh, Workload **last);

/* The same on one stage, with clipping. */
Workload *llama_clipped (guint blocks, guint micros);

/*
 * The same, whose blocks are recomputed: each keeps its input alone, LLAMA_CHECKPOINT bytes of 32
 * tokens of 64 values; in host memory with ON_HOST.
 */
#define LLAMA_CHECKPOINT (32 * 64 * 2)
Workload *llama_checkpointed (guint blocks, guint micros, gboolean on_host);

/* Of two tensor ranks, which keep a slice each: half of the bytes. */
Workload *llama_sliced (guint blocks, guint micros, gboolean on_host);

/* The first, of which nothing is updated. */
Workload *llama_without_optimizer (guint blocks);

/* The first with options of `training`: "key=value;key=value". */
Workload *llama_trained (guint blocks, const char *training);

/* The same of stage 0 of MESH, and *LAST. */
Workload *llama_staged (guint blocks, const char *training, const MeshOptions *mesh,
                        Workload **last);

/* The first, whose blocks' linears are cut into IN_SPLITS x OUT_SPLITS tiles. */
Workload *llama_tiled (guint blocks, guint in_splits, guint out_splits);

/* The first, with LoRA adapters of rank 8 on all linears of its blocks. */
Workload *llama_lora (guint blocks, guint micros);

/* The first, of a framework that does as TRAITS say, with options of `training` as above. */
Workload *llama_of_framework (guint blocks, const FrameworkTraits *traits, const char *training);

/*
 * The schedule of WORKLOAD on MESH under STRATEGY with such OPTIONS, which the checker found sound.
 */
Schedule *schedule_under (const Workload *workload, const Mesh *mesh, const char *strategy,
                          const char *options);

/* Fills OPTIONS of STRATEGY: "key=value,key=value", the others at their defaults. */
void set_options (const Strategy *strategy, gpointer options, const char *text);
