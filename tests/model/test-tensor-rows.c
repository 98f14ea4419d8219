/*
 * A grid of tensor ranks, columns x rows (AxoNN, arXiv:2502.08145): parts of weights, FLOPs and the
 * collectives of both axes by hand, which groups they run in, and what is refused. It does not test
 * how collectives overlap in time.
 */
#include "../suite.h"
#include "fixture.h"

#include "model/mesh/mesh-order.h"

static const MeshOptions grid = { .tp = 2, .tp_rows = 4, .routing_skew = 1 };

static double
reduced (const KernelDesc *kernels, guint n, MeshAxis axis, guint *count)
{
  double bytes = 0;

  *count = 0;
  for (guint i = 0; i < n; i++)
    if (kernels[i].kind == KERNEL_COMMUNICATION && kernels[i].axis == axis)
      {
        ck_assert_int_eq (kernels[i].comm, COLLECTIVE_ALL_REDUCE);
        bytes += kernels[i].read_bytes;
        (*count)++;
      }
  return bytes;
}

static void
assert_reduced (const KernelDesc *kernels, guint n, MeshAxis axis, double bytes, guint count)
{
  guint  found;
  double sum = reduced (kernels, n, axis, &found);

  ck_assert_msg (sum == bytes && found == count, "%g bytes in %u, not %g in %u", sum, found, bytes,
                 count);
}

/*
 * GPT of width 64, 8 heads, d_ff 256, 1024 words; 16 tokens of 2 bytes, 2 columns, 4 rows. Bytes of
 * all-reduces:
 *
 *                     columns                     rows
 *   block, forward    out  16 x 64/4 x 2 =  512   qkv  16 x 192/2 x 2 = 3072
 *                     down                  512   up   16 x 256/2 x 2 = 4096
 *                                                 two norms, mean and mean square in fp32:
 *                                                      2 x 16 x 8     =  256
 *   backward          qkv                   512   out  16 x  64/2 x 2 = 1024
 *                     up                    512   down 16 x 256/2 x 2 = 4096
 *                                                 two norms             256
 *   embedding         the sum over words    512   -
 *   head, forward     3 floats a token      192   logits 16 x 512 x 2 = 16384, a norm 128
 *   backward          head                  512   a norm 128
 */
START_TEST (test_collectives)
{
  ModelShape           shape = arch ("gpt", 2, 64, 8, 256, 1024);
  TrainingOptions      options = training (16, 1);
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *layer;

  options.checkpointing = CHECKPOINT_FULL;
  options.traits.recomputes_all = TRUE;
  workload = workload_new_stage (&shape, &options, &grid, 0);
  layer = workload_layer (workload, 1);
  assert_reduced (layer->forward, layer->n_forward, MESH_TENSOR, 1024, 2);
  assert_reduced (layer->forward, layer->n_forward, MESH_TENSOR_ROWS, 7424, 4);
  assert_reduced (layer->recompute, layer->n_recompute, MESH_TENSOR, 1024, 2);
  assert_reduced (layer->recompute, layer->n_recompute, MESH_TENSOR_ROWS, 7424, 4);
  assert_reduced (layer->backward, layer->n_backward, MESH_TENSOR, 1024, 2);
  assert_reduced (layer->backward, layer->n_backward, MESH_TENSOR_ROWS, 5376, 4);
  layer = workload_layer (workload, 0);
  assert_reduced (layer->forward, layer->n_forward, MESH_TENSOR, 512, 1);
  assert_reduced (layer->forward, layer->n_forward, MESH_TENSOR_ROWS, 0, 0);
  layer = workload_layer (workload, 3);
  assert_reduced (layer->forward, layer->n_forward, MESH_TENSOR, 192, 3);
  assert_reduced (layer->forward, layer->n_forward, MESH_TENSOR_ROWS, 16512, 2);
  assert_reduced (layer->backward, layer->n_backward, MESH_TENSOR, 512, 1);
  assert_reduced (layer->backward, layer->n_backward, MESH_TENSOR_ROWS, 128, 1);
  ck_assert_uint_eq (workload_layer (workload, 1)->output_bytes, 512);
  model_shape_clear (&shape);
}
END_TEST

/*
 * Matrices are an eighth of 4 x 64^2 + 8 x 64^2 = 49152; the norms' four vectors have 16 of 64, the
 * biases 192 / 2, 64 / 4, 256 / 2, 64 / 4. The table is 512 x 16, positions 16 of each.
 */
START_TEST (test_parts)
{
  ModelShape           shape = arch ("gpt", 2, 64, 8, 256, 1024);
  TrainingOptions      options = training (16, 1);
  g_autoptr (Workload) workload = workload_new_stage (&shape, &options, &grid, 0);
  const LayerDesc     *block = workload_layer (workload, 1);
  const KernelDesc    *qkv = find_kernel (block->forward, block->n_forward, "attn.qkv");
  const KernelDesc    *down = find_kernel (block->forward, block->n_forward, "mlp.down");

  ck_assert_uint_eq (block->elements, 49152 / 8 + 4 * 16 + 96 + 16 + 128 + 16);
  ck_assert (qkv->m == 16 && qkv->k == 16 && qkv->n == 96);
  ck_assert (down->m == 16 && down->k == 128 && down->n == 16);
  ck_assert_uint_eq (workload_layer (workload, 0)->tensors[0].elements, 512 * 16);
  ck_assert_uint_eq (workload_layer (workload, 0)->tensors[1].shape[1], 16);
  model_shape_clear (&shape);
}
END_TEST

/* Products are divided by all ranks; attention by the columns alone: rows have the same heads. */
START_TEST (test_flops)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (512, 1);
  g_autoptr (Workload) whole = workload_new (&shape, &options);
  g_autoptr (Workload) part = workload_new_stage (&shape, &options, &grid, 0);
  const LayerDesc     *a = workload_layer (whole, 1), *b = workload_layer (part, 1);
  double               products[2] = { 0 }, attention[2] = { 0 };

  for (guint of = 0; of < 2; of++)
    {
      const LayerDesc *layer = of == 0 ? a : b;

      for (guint i = 0; i < layer->n_forward; i++)
        if (layer->forward[i].kind == KERNEL_MATMUL)
          products[of] += layer->forward[i].flops;
        else if (layer->forward[i].kind == KERNEL_ATTENTION)
          attention[of] += layer->forward[i].flops;
    }
  assert_close (products[1] * 8, products[0], 1e-12);
  assert_close (attention[1] * 2, attention[0], 1e-12);
  ck_assert (attention[0] > 0);
  model_shape_clear (&shape);
}
END_TEST

/* The attention that BLOCK computes again. */
static const KernelDesc *
again (const LayerDesc *block)
{
  const KernelDesc *found = NULL;

  for (guint i = 0; i < block->n_recompute; i++)
    if (block->recompute[i].kind == KERNEL_ATTENTION)
      found = &block->recompute[i];
  ck_assert_ptr_nonnull (found);
  return found;
}

/* MFU counts attention that is computed again once, though all four rows compute it. */
START_TEST (test_counted)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (512, 1);
  MeshOptions          columns = { .tp = 2, .routing_skew = 1 };
  g_autoptr (Workload) two = NULL, eight = NULL;
  const KernelDesc    *one, *four;

  options.checkpointing = CHECKPOINT_FULL;
  two = workload_new_stage (&shape, &options, &columns, 0);
  eight = workload_new_stage (&shape, &options, &grid, 0);
  one = again (workload_layer (two, 1));
  four = again (workload_layer (eight, 1));
  assert_close (four->flops, one->flops, 1e-12);
  assert_close (four->recomputed_flops * 4, one->recomputed_flops, 1e-12);
  ck_assert (one->recomputed_flops > 0);
  model_shape_clear (&shape);
}
END_TEST

/*
 * The gradient of a linear's input is all-reduced while the gradient of its weight is made: with
 * async_tp each of the four starts before that product, which runs concurrently with it, and the
 * kernel behind joins.
 */
START_TEST (test_async)
{
  static const char *const names[][2] = { { "mlp.down.rows.backward", "mlp.down.wgrad" },
                                          { "attn.out.rows.backward", "attn.out.wgrad" },
                                          { "mlp.gather.backward", "mlp.up.wgrad" },
                                          { "attn.gather.backward", "attn.qkv.wgrad" } };
  ModelShape               shape = arch ("gpt", 2, 64, 8, 256, 1024);
  TrainingOptions          options = training (16, 1);
  MeshOptions              mesh = grid;
  g_autoptr (Workload)     workload = NULL;
  const LayerDesc         *block;

  mesh.async_tp = TRUE;
  workload = workload_new_stage (&shape, &options, &mesh, 0);
  block = workload_layer (workload, 1);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const KernelDesc *end = block->backward + block->n_backward;
      const KernelDesc *reduce = find_kernel (block->backward, block->n_backward, names[i][0]);
      const KernelDesc *next = reduce + 1;

      ck_assert_msg (reduce->async, "%s", names[i][0]);
      ck_assert_str_eq (next->name, names[i][1]);
      for (; next < end && next->weight_gradient; next++)
        ck_assert (!next->joins);
      ck_assert (next < end && next->joins);
    }
  model_shape_clear (&shape);
}
END_TEST

/* Without rows nothing is of their axis, whatever is said of 1. */
START_TEST (test_one_row)
{
  ModelShape           shape = arch ("gpt", 2, 64, 8, 256, 1024);
  TrainingOptions      options = training (16, 1);
  MeshOptions          mesh = { .tp = 2, .tp_rows = 1, .routing_skew = 1 };
  g_autoptr (Workload) workload = workload_new_stage (&shape, &options, &mesh, 0);

  for (guint l = 0; l < workload_n_layers (workload); l++)
    {
      const LayerDesc *layer = workload_layer (workload, l);

      assert_reduced (layer->forward, layer->n_forward, MESH_TENSOR_ROWS, 0, 0);
      assert_reduced (layer->backward, layer->n_backward, MESH_TENSOR_ROWS, 0, 0);
    }
  model_shape_clear (&shape);
}
END_TEST

/* ---- groups ---------------------------------------------------------------------------------- */

/* 32 ranks: 2 columns, 4 rows, 4 data ranks. */
static const struct
{
  const char *order;
  guint       columns, rows, data; /* from one rank to the next */
} orders[] = {
  { "tp-cp-dp-pp", 1, 2, 8 },         { "tp-tp_rows-cp-dp-pp", 1, 2, 8 },
  { "tp_rows-tp-cp-dp-pp", 4, 1, 8 }, { "dp-tp-pp", 4, 8, 1 },
  { "dp-tp_rows-tp", 16, 4, 1 },
};

START_TEST (test_groups)
{
  MeshOptions options = grid;
  Mesh        mesh;

  options.cp = options.pp = options.ep = 1;
  options.order = (char *) orders[_i].order;
  mesh = mesh_of_options (&options, 32, 8, FALSE);
  ck_assert (mesh_group_equal (mesh_tensor_columns (&mesh),
                               (MeshGroup){ .size = 2, .stride = orders[_i].columns }));
  ck_assert (mesh_group_equal (mesh_tensor_rows (&mesh),
                               (MeshGroup){ .size = 4, .stride = orders[_i].rows }));
  ck_assert (
      mesh_group_equal (mesh_all (&mesh), (MeshGroup){ .size = 4, .stride = orders[_i].data }));
  ck_assert_uint_eq (mesh_tensor (&mesh).size, 8);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

static void
assert_refused (const ModelShape *shape, const TrainingOptions *options, MeshOptions mesh,
                guint world, const char *message)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *text = NULL;

  ck_assert (!mesh_check (shape, options, &mesh, world, NULL, diags));
  text = diag_list_format (diags, FALSE);
  ck_assert_msg (strstr (text, message) != NULL, "no '%s' in:\n%s", message, text);
}

START_TEST (test_refused)
{
  ModelShape      shape = arch ("llama", 12, 64, 8, 96, 100);
  TrainingOptions options = training (48, 1);
  MeshOptions     mesh = grid;

  assert_refused (&shape, &options, mesh, 12,
                  "'tp' 2 x 'tp_rows' 4 x 'cp' 1 x 'pp' 1 does not divide 12 ranks");
  mesh.tp_rows = 3;
  assert_refused (&shape, &options, mesh, 6, "'tp_rows' of 3 does not divide the width of 64");
  mesh = grid;
  mesh.sp = 1;
  assert_refused (&shape, &options, mesh, 8,
                  "'tp_rows' of 4 does not go with sequence parallelism");
  mesh = grid;
  mesh.order = (char *) "tp-cp-tp_rows-dp-pp";
  assert_refused (&shape, &options, mesh, 8, "has 'tp_rows' apart from 'tp'");
  options.loss = LOSS_CHUNKED;
  assert_refused (&shape, &options, grid, 8, "does not go with a chunked loss");
  options.loss = LOSS_FP32;
  options.peft = PEFT_LORA;
  assert_refused (&shape, &options, grid, 8, "does not go with adapters");
  model_shape_clear (&shape);
  shape = shipped ("mixtral-8x7b");
  options = training (48, 1);
  assert_refused (&shape, &options, grid, 8, "does not go with experts");
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (tensor_rows)
{
  TCase *tcase = tcase_create ("tensor-rows");

  tcase_add_test (tcase, test_collectives);
  tcase_add_test (tcase, test_parts);
  tcase_add_test (tcase, test_flops);
  tcase_add_test (tcase, test_counted);
  tcase_add_test (tcase, test_async);
  tcase_add_test (tcase, test_one_row);
  tcase_add_loop_test (tcase, test_groups, 0, (int) G_N_ELEMENTS (orders));
  tcase_add_test (tcase, test_refused);
  return run_case ("tensor-rows", tcase);
}
