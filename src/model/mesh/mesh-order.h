/*
 * The order in which world ranks count the axes: a permutation as Megatron-Core's RankGenerator
 * takes it ("tp-cp-ep-dp-pp"). Each axis has the product of those before it as its stride. Rows of
 * the tensor axis stand next to its columns: "tp_rows-tp-cp-dp-pp", or behind them, named or not.
 *
 * Experts have ranks of their own, which count tensor, expert and data ranks in the same order
 * (arXiv:2504.14960); the stages must be the same.
 */
#pragma once

#include "model/mesh/mesh.h"
#include "model/mesh/parallel.h"

#define MESH_ORDER_DEFAULT "tp-cp-dp-pp"

/* From a rank to the next of the axis. */
typedef struct
{
  guint    tp, cp, dp, pp;
  gboolean rows_first; /* of the tensor axis, whose rows may stand before its columns */
} MeshStrides;

/*
 * Of `order`, whose degrees divide WORLD; EXPERTS: the model has some. FALSE, and why in *WHY,
 * where it is not an order of these axes, or none that is modelled.
 */
gboolean mesh_strides (const MeshOptions *mesh, guint world, gboolean experts, MeshStrides *strides,
                       char **why);

/* The mesh that a strategy of all data ranks spans; `order` has been checked. */
Mesh mesh_of_options (const MeshOptions *mesh, guint world, guint ranks_per_node, gboolean experts);

/* Whether ORDER has all stages outside (Megatron's default), or only data ranks outside of them. */
typedef enum
{
  MESH_ORDER_STAGES_LAST,
  MESH_ORDER_DATA_LAST,
  MESH_ORDER_OTHER,
} MeshOrderKind;

MeshOrderKind mesh_order_kind (const MeshOptions *mesh, guint world);
