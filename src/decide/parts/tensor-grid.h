/*
 * AxoNN's communication model: the time that the collectives of a transformer's products take on
 * each grid of columns x rows x depth x data ranks, and the grids in its order. A closed form that
 * the authors ranked grids by (arXiv:2502.08145; axonn-ai/Megatron-AxoNN, examples/comm_model.py,
 * and its later form for gated MLPs). Nothing of it is used by a simulation.
 *
 * Of a product of H1 to H2 features on B tokens a step, in elements of 2 bytes and GiB:
 *
 *   columns  2 (c - 1) / c x B / (data depth) x H2 / rows       all-reduce of outputs
 *   rows     2 (r - 1) / r x B / (data depth) x H1 / columns    all-reduce of input gradients
 *   depth    3 (d - 1) / d x H1 H2 / (c r)                      two all-gathers, a reduce-scatter
 *   data     4 (n - 1) / n x H1 H2 / (c r d)                    all-reduce of fp32 gradients
 *
 * An axis of n ranks takes latency x n + GiB / bandwidth, 0 of one rank. The bandwidth depends on n
 * and on the product p of the axes before it, the columns first: measured where p n ranks fit a
 * node, else the node's over min (ranks of a node, p), as so many groups share it.
 *
 * A layer is four products: qkv of H to H + 2 H / groups, out of H to H, up and down of H to d_ff.
 * Out and down swap columns and rows, in the order of the axes as well: the rows are then the
 * nearest. As in the authors' script, down is H to d_ff, too, and of a gated MLP the time of up
 * counts twice. What these columns divide are inputs of qkv: `mesh.tp_rows`.
 */
#pragma once

#include "base/config/option.h"

#define TENSOR_GRID_AXES 4 /* columns, rows, depth, data */

typedef struct
{
  guint64  samples, seq_len; /* of a step: sequences, and tokens of each */
  guint64  d_model, d_ff, n_layers;
  guint64  groups; /* query heads of a key head */
  gboolean gated;  /* the MLP */
} TensorGridModel;

typedef struct
{
  guint  degrees[TENSOR_GRID_AXES];
  double gib[TENSOR_GRID_AXES]; /* of a rank and step, over each axis */
  double time_s;                /* of a step */
} TensorGrid;

/* Machines that the authors measured; NULL-terminated. */
extern const char *const tensor_grid_machines[];

/*
 * Grids of RANKS ranks on MACHINE (an index of those above), the fastest first, in the order of
 * columns, rows, depth and data where they are as fast: powers of two, of which columns x rows x
 * depth are at least LEAST (what the model needs to fit) and depth x data divide the samples. RANKS
 * are at most 2^20. Array of TensorGrid, the caller's.
 */
GArray *tensor_grids (guint machine, const TensorGridModel *model, guint ranks, guint least);
