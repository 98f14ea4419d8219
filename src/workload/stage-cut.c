#include "workload/stage-cut.h"

static guint
even_begin (guint blocks, guint chunk, guint n)
{
  guint even = blocks / n, extra = blocks % n;

  if (extra != 0 && (blocks + 2) % n == 0)
    return (blocks + 2) / n * chunk;
  return 1 + even * chunk + MIN (chunk, extra);
}

/* Blocks up to the C-th of N shares: the first that reach it. Exact: integers below 2^53. */
static guint
blocks_to_share (double block, double whole, guint blocks, guint c, guint n)
{
  guint k = 0;

  while (k <= blocks && block * k * n < whole * c)
    k++;
  return k;
}

static void
cut_by_cost (const ModelShape *shape, guint n, guint *begins)
{
  const guint  blocks = (guint) shape->n_layers;
  const double heads = (double) shape->n_heads * (double) shape->head_dim;
  const double block = (double) shape->d_model * (4 * heads + 3 * (double) shape->d_ff);
  const double whole = block * blocks + (double) shape->vocab * (double) shape->d_model;
  guint        last = blocks + 1;

  for (guint chunk = 1; chunk < n; chunk++)
    {
      guint k = blocks_to_share (block, whole, blocks, chunk, n);

      if (k > blocks) /* the chunk before has the head */
        last = MIN (last, MAX (begins[chunk - 1], 1));
      begins[chunk] = MIN (k + 1, last);
    }
  for (guint chunk = n - 1; chunk > 0; chunk--)
    begins[chunk] = MIN (begins[chunk], chunk + 1 < n ? begins[chunk + 1] - 1 : last);
  for (guint chunk = 1; chunk < n; chunk++)
    begins[chunk] = MAX (begins[chunk], chunk + 1);
}

guint *
stage_cut (const ModelShape *shape, const MeshOptions *mesh)
{
  guint  n = mesh_model_chunks (mesh), blocks = (guint) shape->n_layers;
  guint *begins = g_new0 (guint, n + 1);

  if (mesh->cut == MESH_CUT_COST)
    cut_by_cost (shape, n, begins);
  else
    for (guint chunk = 1; chunk < n; chunk++)
      begins[chunk] = even_begin (blocks, chunk, n);
  begins[n] = blocks + 2;
  return begins;
}
