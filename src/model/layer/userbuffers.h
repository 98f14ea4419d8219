/*
 * Memory of Transformer Engine's userbuffers (`mesh.async_tp_by: userbuffers`), which all layers of
 * a process share. Source: NVIDIA/TransformerEngine, transformer_engine/pytorch/module/base.py,
 * initialize_ub; csrc/comm_gemm_overlap.h, whose objects register what they allocate beside
 * PyTorch's allocator.
 */
#pragma once

#include "model/step/workload.h"

gboolean userbuffers_on (const MeshOptions *mesh);

/* Of the buffers that a process registers; 0 without userbuffers. */
guint64 userbuffers_bytes (const Workload *workload);

/* Copies of Transformer Engine's workspace: one for each stream on which products take turns. */
guint userbuffers_workspaces (const MeshOptions *mesh);
