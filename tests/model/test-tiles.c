/*
 * Tiles of linears, as DeepSpeed's TiledLinear cuts them: tiles that do not divide, and those that
 * it refuses. What a step gathers of them is tested in tests/strategy.
 */
#include "../suite.h"
#include "fixture.h"

#define H  256
#define FF 1000

static Workload *
tiled (gint64 in_splits, gint64 out_splits)
{
  ModelShape      shape = arch ("llama", 1, H, 4, FF, 1000);
  TrainingOptions options = training (128, 1);
  Workload       *workload;

  options.tiled_in_splits = in_splits;
  options.tiled_out_splits = out_splits;
  workload = workload_new (&shape, &options);
  model_shape_clear (&shape);
  return workload;
}

static const TensorDesc *
find_tensor (const Workload *workload, const char *name)
{
  const LayerDesc *layer = workload_layer (workload, 1);

  for (guint t = 0; t < layer->n_tensors; t++)
    if (strcmp (layer->tensors[t].name, name) == 0)
      return &layer->tensors[t];
  ck_abort_msg ("no tensor '%s'", name);
}

static void
assert_shape (const Workload *workload, const char *name, guint64 n, guint64 k)
{
  const TensorDesc *tensor = find_tensor (workload, name);

  ck_assert_uint_eq (tensor->shape[0], n);
  ck_assert_uint_eq (tensor->shape[1], k);
}

/* 1000 = 334 + 333 + 333, and 256 = 86 + 85 + 85: what is over goes to the first ones. */
START_TEST (test_remainders)
{
  g_autoptr (Workload) out = tiled (1, 3), in = tiled (3, 1), whole = tiled (1, 1);

  assert_shape (out, "mlp.up_proj.linears.0.0.weight", 334, H);
  assert_shape (out, "mlp.up_proj.linears.1.0.weight", 333, H);
  assert_shape (out, "mlp.up_proj.linears.2.0.weight", 333, H);
  assert_shape (in, "mlp.up_proj.linears.0.0.weight", FF, 86);
  assert_shape (in, "mlp.up_proj.linears.0.1.weight", FF, 85);
  assert_shape (in, "mlp.up_proj.linears.0.2.weight", FF, 85);
  ck_assert_uint_eq (workload_n_parameters (out), workload_n_parameters (whole));
  ck_assert_uint_eq (workload_n_parameters (in), workload_n_parameters (whole));
}
END_TEST

/* One key-value head of 32 features can be cut into 32 parts, and no further. */
START_TEST (test_more_parts_than_features)
{
  for (gint64 parts = 32; parts <= 33; parts++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      ModelShape           shape = arch ("llama", 1, 64 * 64, 128, FF, 1000);
      TrainingOptions      options = training (128, 1);

      shape.n_kv_heads = 1;
      options.tiled_in_splits = 1;
      options.tiled_out_splits = parts;
      ck_assert_int_eq (workload_check (&shape, &options, NULL, diags), parts == 32);
      ck_assert (parts == 32
                 || strstr (diag_list_first_message (diags), "33 parts of keys and values of 32"));
      model_shape_clear (&shape);
    }
}
END_TEST

SUITE_MAIN (tiles)
{
  TCase *tcase = tcase_create ("tiles");

  tcase_add_test (tcase, test_remainders);
  tcase_add_test (tcase, test_more_parts_than_features);
  return run_case ("tiles", tcase);
}
