/*
 * Layers of multi-token prediction (arXiv:2412.19437, section 2.2): parameters of released models,
 * tensors, products, what is kept, and copies on stages, by arithmetic. It does not test what
 * strategies do with a table that is read again: the random plans of tests/strategy do.
 */
#include "../suite.h"
#include "fixture.h"

static ModelShape
with_mtp (ModelOptions options, gint mtp)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelShape           shape;

  options.mtp = mtp;
  ck_assert_msg (model_resolve (&options, NULL, NULL, &shape, NULL, diags), "%s",
                 diag_list_first_message (diags));
  return shape;
}

/* 3 blocks of width 64, 4 heads, an MLP of 128, 256 tokens of vocabulary. */
static ModelShape
small (guint n)
{
  return with_mtp ((ModelOptions){ .arch = (char *) "llama",
                                   .n_layers = 3,
                                   .d_model = 64,
                                   .n_heads = 4,
                                   .d_ff = 128,
                                   .vocab = 256 },
                   n > 0 ? MODEL_MTP_NUMBER + (gint) n : MODEL_MTP_AUTO);
}

/*
 * DeepSeek-V3's checkpoint on the Hub: 684,489,845,504 elements of weights, "671B of the main model
 * and 14B of the MTP module" (its README). The module's are its own 11.6e9 (a block as the last one
 * is, a projection from 2 x 7168, three norms) and its copies of embedding and head, 0.9e9 each,
 * which are shared in training.
 */
START_TEST (parameters_of_deepseek_v3)
{
  const guint64 attention = 7168UL * 1536UL + 1536UL + 1536UL * 24576UL + 7168UL * 576UL + 512UL
                            + 512UL * 32768UL + 16384UL * 7168UL;
  const guint64 experts = 257UL * 3UL * 7168UL * 2048UL + 256UL * 7168UL + 256UL;
  const guint64 module = attention + experts + 2UL * 7168UL + 2UL * 7168UL * 7168UL + 3UL * 7168UL;
  const guint64 table = 129280UL * 7168UL;
  ModelOptions  options = { .config = (char *) "deepseek-v3" };
  ModelShape    off = with_mtp (options, MODEL_MTP_AUTO), on = with_mtp (options, MODEL_MTP_ALL);
  TrainingOptions      plain = training (64, 1);
  g_autoptr (Workload) without = workload_new (&off, &plain), with = workload_new (&on, &plain);

  ck_assert_int_eq (on.n_mtp, 1);
  ck_assert_uint_eq (workload_n_parameters (without), 671026419200UL);
  ck_assert_uint_eq (workload_n_parameters (with), 671026419200UL + module);
  ck_assert_uint_eq (workload_n_parameters (with) + 2 * table, 684489845504UL);
  model_shape_clear (&off);
  model_shape_clear (&on);
}
END_TEST

static gboolean
takes_part (const KernelDesc *kernel, const char *part)
{
  return strncmp (kernel->name, part, strlen (part)) == 0;
}

/* FLOPs of all kernels whose name begins with PART. */
static double
flops_of (const KernelDesc *kernels, guint n, const char *part)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    sum += takes_part (&kernels[i], part) ? kernels[i].flops : 0;
  return sum;
}

static guint
count_of (const KernelDesc *kernels, guint n, const char *part)
{
  guint count = 0;

  for (guint i = 0; i < n; i++)
    count += takes_part (&kernels[i], part);
  return count;
}

/*
 * 32 tokens in bf16. Beyond a block: the norm of what came before, a look-up, two norms, a copy of
 * 2 x 64 columns and a product of 128 x 64; then a copy of both streams. Kept beyond a block's,
 * which keeps its input, 32 x 64 x 2 bytes, too: the inputs of three norms, the product's, of twice
 * the width, row statistics of three norms in fp32, ids of 8 bytes. The head has two products and
 * keeps the log-probabilities of both losses.
 */
START_TEST (a_layer_by_hand)
{
  ModelShape           off = small (0), on = small (1);
  TrainingOptions      options = training (32, 1);
  const double         stream = 32 * 64 * 2;
  g_autoptr (Workload) without = NULL, with = NULL;
  const LayerDesc     *block, *mtp, *head, *head_off;

  options.precision = PRECISION_BF16;
  options.compile = FALSE;
  options.fused_norm = TRUE;
  without = workload_new (&off, &options);
  with = workload_new (&on, &options);
  block = workload_layer (with, 3);
  mtp = workload_layer (with, 4);
  head = workload_layer (with, 5);
  head_off = workload_layer (without, 4);
  ck_assert_uint_eq (workload_n_layers (with), 6);
  ck_assert_ptr_eq (workload_layer (with, 1), block);
  ck_assert_uint_eq (mtp->mtp, 1);
  ck_assert_int_eq (mtp->kind, LAYER_BLOCK);
  ck_assert (mtp->reads_table && !block->reads_table && !head->reads_table);
  ck_assert_uint_eq (mtp->elements, block->elements + 3 * 64 + 128 * 64);
  ck_assert_uint_eq (head->elements, head_off->elements);
  ck_assert_double_eq (flops_of (mtp->forward, mtp->n_forward, "mtp.eh_proj"), 2.0 * 32 * 128 * 64);
  ck_assert_double_eq (flops_of (mtp->backward, mtp->n_backward, "mtp.eh_proj"),
                       4.0 * 32 * 128 * 64);
  ck_assert_uint_eq (mtp->n_forward - block->n_forward, 7);
  ck_assert_uint_eq (mtp->output_bytes, 2 * stream);
  ck_assert_double_eq (mtp->saved_bytes - block->saved_bytes, 5 * stream + 3 * 32 * 4 + 32 * 8);
  ck_assert_double_eq (flops_of (head->forward, head->n_forward, "head"), 2 * 2.0 * 32 * 64 * 256);
  ck_assert_uint_eq (count_of (head->forward, head->n_forward, "loss.log_softmax"), 2);
  ck_assert_uint_eq (count_of (head->backward, head->n_backward, "head.add_grad"), 1);
  ck_assert_double_eq (head->saved_bytes - head_off->saved_bytes, stream + 32 * 256 * 4);
  ck_assert_uint_eq (count_of (workload_layer (with, 0)->backward,
                               workload_layer (with, 0)->n_backward, "embed.add_tied_grad"),
                     1);
  model_shape_clear (&off);
  model_shape_clear (&on);
}
END_TEST

/* A token more costs a block, a projection and a head; kernels do what MFU counts, norms aside. */
START_TEST (flops_of_predictions)
{
  for (guint n = 1; n <= MODEL_MAX_MTP; n++)
    {
      ModelShape           off = small (0), on = small (n);
      TrainingOptions      options = training (32, 2);
      const double         block = 4.0 * 64 * 64 + 3.0 * 64 * 128, more = block + 2 * 64 * 64;
      const double         attention = 6 * 32.0 * 2 * 64;
      g_autoptr (Workload) workload = workload_new (&on, &options);

      assert_close (flops_per_token (&on, FLOPS_PALM, 32) - flops_per_token (&off, FLOPS_PALM, 32),
                    n * (6 * (more + 64 * 256) + attention), 1e-12);
      assert_close (flops_per_token (&on, FLOPS_6N, 32) - flops_per_token (&off, FLOPS_6N, 32),
                    n * 6 * (more + 5 * 64), 1e-12);
      for (guint d = 1; d <= n; d++)
        ck_assert_uint_eq (workload_layer (workload, 3 + d)->output_bytes,
                           (d + 1) * workload_layer (workload, 3)->output_bytes);
      model_shape_clear (&off);
      model_shape_clear (&on);
    }
}
END_TEST

/* What MFU counts of products is what they do; flash attention's backward pass does more. */
START_TEST (products_are_what_is_counted)
{
  ModelShape           on = small (2);
  TrainingOptions      options = training (32, 2);
  double               done = 0;
  g_autoptr (Workload) workload = workload_new (&on, &options);

  for (guint l = 0; l < workload_n_layers (workload); l++)
    {
      const LayerDesc *layer = workload_layer (workload, l);

      for (guint k = 0; k < layer->n_forward; k++)
        if (layer->forward[k].kind == KERNEL_MATMUL
            && strstr (layer->forward[k].name, "attn.scores") == NULL
            && strstr (layer->forward[k].name, "attn.context") == NULL)
          done += layer->forward[k].flops;
    }
  assert_close (done, 2 * flops_matrix_parameters (&on) * 64, 1e-12);
  model_shape_clear (&on);
}
END_TEST

/*
 * Three blocks over two stages, two and one, and two layers more on the second: it has a copy of
 * the table, whose gradient both stages add up.
 */
START_TEST (the_last_stage_has_them)
{
  ModelShape           shape = small (2);
  TrainingOptions      options = training (32, 1);
  MeshOptions          mesh = { .pp = 2, .routing_skew = 1 };
  g_autoptr (Workload) whole = workload_new (&shape, &options), first = NULL, last = NULL;

  first = workload_new_stage (&shape, &options, &mesh, 0);
  last = workload_new_next_stage (first);
  ck_assert_uint_eq (workload_n_layers (first) + workload_n_layers (last), 7);
  ck_assert_uint_eq (workload_n_layers (last), 4);
  ck_assert_uint_eq (workload_model_layer (last, 3), 6);
  ck_assert (workload_layer (first, 0)->tied_peer && workload_layer (last, 1)->tied_copy);
  ck_assert (!workload_layer (last, 2)->tied_copy && !workload_layer (last, 1)->reads_table);
  ck_assert_uint_eq (workload_layer (first, 0)->tied_elements, 256 * 64);
  ck_assert_uint_eq (workload_layer (last, 1)->tied_elements, 256 * 64);
  ck_assert_uint_eq (workload_n_parameters (first) + workload_n_parameters (last),
                     workload_n_parameters (whole) + 256 * 64);
  model_shape_clear (&shape);
}
END_TEST

/*
 * Tensor ranks have half of the projection's columns. With sequence parallelism its input is
 * gathered, and its output, too, of which each takes its tokens.
 */
START_TEST (tensor_ranks_divide_the_projection)
{
  ModelShape           shape = small (1);
  TrainingOptions      options = training (32, 1);
  MeshOptions          mesh = { .tp = 2, .sp = 1, .routing_skew = 1 };
  g_autoptr (Workload) workload = workload_new_stage (&shape, &options, &mesh, 0);
  const LayerDesc     *mtp = workload_layer (workload, 4);
  guint64              projection = 0;

  for (guint t = 0; t < mtp->n_tensors; t++)
    projection +=
        strcmp (mtp->tensors[t].name, "eh_proj.weight") == 0 ? mtp->tensors[t].elements : 0;
  ck_assert_uint_eq (projection, 128 * 32);
  ck_assert_double_eq (flops_of (mtp->forward, mtp->n_forward, "mtp.eh_proj"), 2.0 * 32 * 128 * 32);
  ck_assert_uint_eq (count_of (mtp->forward, mtp->n_forward, "mtp.gather"), 1);
  ck_assert_uint_eq (count_of (mtp->forward, mtp->n_forward, "mtp.eh_proj.gather"), 1);
  ck_assert_uint_eq (count_of (mtp->forward, mtp->n_forward, "embed.reduce"), 1);
  model_shape_clear (&shape);
}
END_TEST

/* Recomputed like a block, but not where the first few of a stage are. */
START_TEST (recomputed_like_blocks)
{
  ModelShape      shape = small (1);
  TrainingOptions options = training (32, 1);

  options.checkpointing = CHECKPOINT_FULL;
  for (gint64 few = 0; few <= 2; few++)
    {
      g_autoptr (Workload) workload = NULL;

      options.recompute_layers = few;
      workload = workload_new (&shape, &options);
      ck_assert_int_eq (workload_layer (workload, 4)->checkpoint,
                        few == 0 ? CHECKPOINT_FULL : CHECKPOINT_NONE);
    }
  model_shape_clear (&shape);
}
END_TEST

static void
assert_refused (ModelOptions options, gint mtp, const char *message)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelShape           shape;

  options.mtp = mtp;
  ck_assert (!model_resolve (&options, NULL, NULL, &shape, NULL, diags));
  ck_assert_msg (strstr (diag_list_first_message (diags), message) != NULL, "%s",
                 diag_list_first_message (diags));
}

START_TEST (refusals)
{
  ModelOptions llama = {
    .arch = (char *) "llama", .n_layers = 2, .d_model = 64, .n_heads = 4, .d_ff = 128, .vocab = 256
  };
  ModelOptions gpt = llama;

  gpt.arch = (char *) "gpt";
  assert_refused (llama, MODEL_MTP_ALL, "says of no layers");
  assert_refused (llama, MODEL_MTP_NUMBER + MODEL_MAX_MTP + 1, "at most 5");
  assert_refused (gpt, MODEL_MTP_NUMBER + 1, "positions that are not rotary");
}
END_TEST

/* Of a tied model head and MTP layers read one copy on the last stage. */
START_TEST (tied_heads_read_the_copy)
{
  ModelShape           shape = small (1);
  TrainingOptions      options = training (32, 1);
  MeshOptions          mesh = { .pp = 2, .routing_skew = 1 };
  g_autoptr (Workload) last = NULL;
  const LayerDesc     *head;

  shape.tied_embeddings = TRUE;
  last = workload_new_stage (&shape, &options, &mesh, 1);
  head = workload_layer (last, workload_n_layers (last) - 1);
  ck_assert_uint_eq (head->elements, 64);
  ck_assert (!head->tied_copy && !head->reads_table);
  ck_assert_uint_eq (workload_layer (last, workload_n_layers (last) - 2)->tied_elements, 256 * 64);
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (mtp)
{
  TCase *tcase = tcase_create ("mtp");

  tcase_add_test (tcase, parameters_of_deepseek_v3);
  tcase_add_test (tcase, a_layer_by_hand);
  tcase_add_test (tcase, flops_of_predictions);
  tcase_add_test (tcase, products_are_what_is_counted);
  tcase_add_test (tcase, the_last_stage_has_them);
  tcase_add_test (tcase, tensor_ranks_divide_the_projection);
  tcase_add_test (tcase, recomputed_like_blocks);
  tcase_add_test (tcase, refusals);
  tcase_add_test (tcase, tied_heads_read_the_copy);
  return run_case ("mtp", tcase);
}
