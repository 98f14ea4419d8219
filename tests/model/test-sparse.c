/*
 * Sparse feed-forward layers as experts of any size (S-FFN, arXiv:2305.13999), by arithmetic done
 * by hand: 4096 cells of a layer in blocks of g, of which a token visits 256 / g. What does not
 * depend on g, what the router costs, and how many ranks a token visits. Times are not tested here
 * (tests/cost/test-kernel: tiles of products).
 */
#include "fixture.h"

#include "vocabulary/dispatch.h"

#define H     256
#define CELLS 4096
#define K     256
#define T     512

static Workload *
blocks_found_by (ModelRouter router, gint64 g)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelOptions         options = { .arch = (char *) "gpt",
                                   .n_layers = 1,
                                   .d_model = H,
                                   .n_heads = 4,
                                   .d_ff = 1024,
                                   .vocab = 1000,
                                   .n_experts = CELLS / g,
                                   .n_experts_per_token = K / g,
                                   .d_expert = g,
                                   .router = router };
  TrainingOptions      trained = training (T, 1);
  ModelShape           shape;
  Workload            *workload;

  ck_assert_msg (model_resolve (&options, NULL, NULL, &shape, NULL, diags), "%s",
                 diag_list_first_message (diags));
  workload = workload_new (&shape, &trained);
  model_shape_clear (&shape);
  return workload;
}

static Workload *
blocks_of (gint64 g)
{
  return blocks_found_by (MODEL_ROUTER_INDIRECT, g);
}

static double
flops_of (const Workload *workload, const char *name)
{
  const LayerDesc *layer = workload_layer (workload, 1);

  return find_kernel (layer->forward, layer->n_forward, name)->flops;
}

/*
 * Forward, a token: 2 x 2 H k = 4 x 256 x 256 FLOPs in the two matrices of its blocks, whatever g,
 * down to blocks of one cell. 512 tokens: 134,217,728.
 */
START_TEST (test_active_cells)
{
  for (gint64 g = 1; g <= K; g *= 4)
    {
      g_autoptr (Workload) workload = blocks_of (g);

      assert_close (flops_of (workload, "experts.up") + flops_of (workload, "experts.down"),
                    134217728, 1e-12);
    }
}
END_TEST

/*
 * The router's product has a column a block, 2 H E: of blocks of 256 cells 2 x 256 x 16 = 8192
 * FLOPs a token, of single cells 2 x 256 x 4096 = 2,097,152, eight times the blocks' own.
 */
START_TEST (test_router)
{
  g_autoptr (Workload) wide = blocks_of (256), cells = blocks_of (1);

  assert_close (flops_of (wide, "router"), 512 * 8192.0, 1e-12);
  assert_close (flops_of (cells, "router"), 512 * 2097152.0, 1e-12);
  assert_close (flops_of (cells, "router") / 134217728, 8, 1e-12);
}
END_TEST

/*
 * Avg-K: the same product with the means of keys, of which no weights are left: 256 of each block
 * fewer. Its gradients are two such products, and 4096 keys of 256 elements of 2 bytes are read for
 * the means (16 blocks of 256 x 2 bytes written), which their gradients are read and written for.
 */
START_TEST (test_router_by_means)
{
  g_autoptr (Workload) gate = blocks_of (256), means = blocks_found_by (MODEL_ROUTER_AVG_K, 256);
  const LayerDesc     *layer = workload_layer (means, 1);
  const KernelDesc    *mean = find_kernel (layer->forward, layer->n_forward, "router.means");
  const KernelDesc    *back =
      find_kernel (layer->backward, layer->n_backward, "router.means.backward");

  assert_close (flops_of (means, "router"), 512 * 8192.0, 1e-12);
  assert_close (find_kernel (layer->backward, layer->n_backward, "router.grad_a")->flops,
                512 * 8192.0, 1e-12);
  assert_close (find_kernel (layer->backward, layer->n_backward, "router.grad_b")->flops,
                512 * 8192.0, 1e-12);
  ck_assert_uint_eq (workload_n_parameters (gate) - workload_n_parameters (means), 256 * 16);
  assert_close (mean->read_bytes, 4096 * 256 * 2.0, 1e-12);
  assert_close (mean->write_bytes, 16 * 256 * 2.0, 1e-12);
  assert_close (back->read_bytes, (4096 + 16) * 256 * 2.0, 1e-12);
  assert_close (back->write_bytes, 4096 * 256 * 2.0, 1e-12);
}
END_TEST

/*
 * Direct: a product with all 4096 keys whatever the blocks, 2 x 256 x 4096 FLOPs a token, and no
 * gradient. The scores of blocks are those of their cells together; single cells are the blocks.
 */
START_TEST (test_router_by_all_keys)
{
  for (gint64 g = 1; g <= K; g *= 4)
    {
      g_autoptr (Workload) workload = blocks_found_by (MODEL_ROUTER_DIRECT, g);
      g_autoptr (Workload) gate = blocks_of (g);
      const LayerDesc     *layer = workload_layer (workload, 1);
      guint                pools = 0, back = 0;

      assert_close (flops_of (workload, "router"), 512 * 2097152.0, 1e-12);
      assert_close (flops_of (workload, "experts.up") + flops_of (workload, "experts.down"),
                    134217728, 1e-12);
      ck_assert_uint_eq (workload_n_parameters (gate) - workload_n_parameters (workload),
                         (guint64) (256 * CELLS / g));
      for (guint i = 0; i < layer->n_forward; i++)
        pools += g_str_equal (layer->forward[i].name, "router.pool");
      for (guint i = 0; i < layer->n_backward; i++)
        back += g_str_has_prefix (layer->backward[i].name, "router");
      ck_assert_uint_eq (pools, g > 1);
      ck_assert_uint_eq (back, 0);
    }
}
END_TEST

/* What MFU counts of a token is what the router multiplies: 256 columns a block, or a cell. */
START_TEST (test_router_counts)
{
  g_autoptr (Workload) gate = blocks_of (16), means = blocks_found_by (MODEL_ROUTER_AVG_K, 16),
                       all = blocks_found_by (MODEL_ROUTER_DIRECT, 16);
  const double parameters = flops_matrix_parameters (workload_shape (gate));

  assert_close (flops_matrix_parameters (workload_shape (means)), parameters, 1e-12);
  assert_close (flops_matrix_parameters (workload_shape (all)) - parameters, 256 * (4096.0 - 256),
                1e-12);
}
END_TEST

/* A rank has all keys that it scores, or the means of them are gathered. */
static const struct
{
  ModelRouter router;
  MeshOptions mesh;
  const char *error; /* NULL: it can be */
} meshes[] = {
  { MODEL_ROUTER_AVG_K, { .ep = 4, .routing_skew = 1 }, NULL },
  { MODEL_ROUTER_AVG_K, { .tp = 2, .sp = 1, .etp = 1, .routing_skew = 1 }, NULL },
  { MODEL_ROUTER_AVG_K,
    { .tp = 2, .sp = 1, .routing_skew = 1 },
    "'router: avg-k' of experts whose cells 2 tensor ranks divide is not modelled" },
  { MODEL_ROUTER_DIRECT,
    { .ep = 4, .routing_skew = 1 },
    "'router: direct' scores the keys of all experts on each rank, and 'ep' of 4 divides these" },
};

START_TEST (test_meshes)
{
  g_autoptr (Workload) workload = blocks_found_by (meshes[_i].router, 16);
  g_autoptr (DiagList) diags = diag_list_new ();
  TrainingOptions      trained = training (T, 1);
  const gboolean       good =
      mesh_check (workload_shape (workload), &trained, &meshes[_i].mesh, 8, NULL, diags);

  ck_assert_msg (good == (meshes[_i].error == NULL), "%s", diag_list_first_message (diags));
  if (!good)
    ck_assert_str_eq (diag_list_first_message (diags), meshes[_i].error);
}
END_TEST

/* Of 4 expert ranks each makes the means of its 64 blocks, and gathers 256 x 256 elements. */
START_TEST (test_means_are_gathered)
{
  g_autoptr (Workload) one = blocks_found_by (MODEL_ROUTER_AVG_K, 16), rank = NULL;
  MeshOptions          mesh = { .ep = 4, .routing_skew = 1 };
  TrainingOptions      trained = training (T, 1);
  const LayerDesc     *layer;

  mesh_normalise (&mesh);
  rank = workload_new_stage (workload_shape (one), &trained, &mesh, 0);
  layer = workload_layer (rank, 1);
  assert_close (find_kernel (layer->forward, layer->n_forward, "router.means")->read_bytes,
                1024 * 256 * 2.0, 1e-12);
  assert_close (find_kernel (layer->forward, layer->n_forward, "router.gather")->read_bytes,
                256 * 256 * 2.0, 1e-12);
  ck_assert_int_eq ((gint) find_kernel (layer->forward, layer->n_forward, "router.gather")->comm,
                    COLLECTIVE_ALL_GATHER);
}
END_TEST

/* Weights are 2 x 256 x 4096 of the cells, whatever g, and the router's 256 of each block. */
START_TEST (test_parameters)
{
  g_autoptr (Workload) wide = blocks_of (256), narrow = blocks_of (16);

  ck_assert_uint_eq (workload_n_parameters (narrow) - workload_n_parameters (wide),
                     256 * (256 - 16));
}
END_TEST

/*
 * Distinct ranks of b uniform picks over R: R (1 - (1 - 1 / R)^b). Of 8 ranks: 1 of one block, 8 (1
 * - 0.875^16) = 7.0555 of 16, 8 (1 - 0.875^256) = 8 of 256. Blocks are picked once each, so that it
 * is more than that, by less than 1 % where there are many.
 */
START_TEST (test_ranks_visited)
{
  const Dispatch one = { .experts = 16, .chosen = 1 };
  const Dispatch some = { .experts = 65536, .chosen = 16 };
  const Dispatch all = { .experts = 4096, .chosen = 256 };

  assert_close (dispatch_parts (&one, 8), 1, 1e-12);
  ck_assert_double_ge (dispatch_parts (&some, 8), 8 * (1 - pow (0.875, 16)));
  assert_close (dispatch_parts (&some, 8), 7.0555, 1e-2);
  assert_close (dispatch_parts (&all, 8), 8, 1e-9);
}
END_TEST

SUITE_MAIN (sparse)
{
  TCase *tcase = tcase_create ("sparse");

  tcase_add_test (tcase, test_active_cells);
  tcase_add_test (tcase, test_router);
  tcase_add_test (tcase, test_router_by_means);
  tcase_add_test (tcase, test_router_by_all_keys);
  tcase_add_test (tcase, test_router_counts);
  tcase_add_loop_test (tcase, test_meshes, 0, G_N_ELEMENTS (meshes));
  tcase_add_test (tcase, test_means_are_gathered);
  tcase_add_test (tcase, test_parameters);
  tcase_add_test (tcase, test_ranks_visited);
  return run_case ("sparse", tcase);
}
