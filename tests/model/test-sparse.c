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
blocks_of (gint64 g)
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
                                   .d_expert = g };
  TrainingOptions      trained = training (T, 1);
  ModelShape           shape;
  Workload            *workload;

  ck_assert_msg (model_resolve (&options, NULL, NULL, &shape, NULL, diags), "%s",
                 diag_list_first_message (diags));
  workload = workload_new (&shape, &trained);
  model_shape_clear (&shape);
  return workload;
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
  tcase_add_test (tcase, test_parameters);
  tcase_add_test (tcase, test_ranks_visited);
  return run_case ("sparse", tcase);
}
