/*
 * Layers divided over a tensor group: Korthikanti et al. (arXiv:2205.05198), equations 2 to 6,
 * figure 1 and table 2 to the printed digit; parameters, FLOPs and collectives against the
 * undivided model. It does not test how collectives overlap in time, nor that the sums are right
 * numerically.
 */
#include "../suite.h"
#include "fixture.h"

#include "model/layer/layer-build-private.h"

/* Bytes that one block keeps, row statistics left out as in the paper. */
static double
block_bytes (const ModelShape *shape, const TrainingOptions *options, gint64 tp, gint64 sp,
             CheckpointMode mode)
{
  MeshOptions mesh = { .tp = tp, .pp = 1, .cp = 1, .vp = 1, .ep = 1, .sp = sp, .routing_skew = 1 };
  LayerBuild  build = layer_build (shape, options, &mesh, (LayerClass){ .kind = LAYER_BLOCK });
  double      bytes = tape_saved_bytes (build.tape, mode, FALSE);

  layer_build_clear (&build);
  return bytes;
}

typedef struct
{
  gint64 s, b, h, a, n_layers, pp, vp;
  double none, sp_selective, full,
      state; /* GiB of the first stage: activations; parameters and optimizer */
} Published;

static const Published published[] = {
  { 2048, 4, 6144, 64, 48, 1, 1, 59.25, 9.56, 4.5, 45.56 },
  { 2048, 1, 12288, 96, 96, 8, 3, 66.84, 12.35, 5.81, 45.56 },
  { 2048, 1, 20480, 128, 105, 35, 3, 114.02, 23.08, 10.86, 31.64 },
  { 2048, 1, 25600, 160, 128, 64, 1, 131.25, 26.56, 12.5, 32.96 },
};

static TrainingOptions
classic (const Published *p, AttentionKind attention)
{
  TrainingOptions options = training (p->s, p->b);

  options.attention = attention;
  options.dropout = TRUE;
  return options;
}

/* To the printed digit, half a digit rounded either way. */
static void
assert_printed (double bytes, double gib)
{
  ck_assert_msg (fabs (bytes / 0x1p30 - gib) <= 0.005 + 1e-9, "%.4f GiB, printed %.2f",
                 bytes / 0x1p30, gib);
}

/*
 * The first stage holds p micro-batches of L / p blocks, interleaved (1 + (p - 1) / (p v)) times
 * that. Parameters: 18 bytes for each element of the blocks' matrices (the printed figures leave
 * embeddings, norms and biases out).
 */
START_TEST (test_published_figures)
{
  const Published     *p = &published[_i];
  ModelShape           shape = arch ("gpt", p->n_layers, p->h, p->a, 0, 51200);
  TrainingOptions      options = classic (p, ATTENTION_FUSED_SOFTMAX);
  MeshOptions          mesh = { .tp = 8, .pp = p->pp, .vp = p->vp, .sp = 1, .routing_skew = 1 };
  double               blocks = p->n_layers, matrices = 0;
  g_autoptr (Workload) stage = workload_new_stage (&shape, &options, &mesh, 0);

  if (p->vp > 1)
    blocks *= 1 + (p->pp - 1.) / (double) (p->pp * p->vp);
  assert_printed (blocks * block_bytes (&shape, &options, 8, 0, CHECKPOINT_NONE), p->none);
  assert_printed (blocks * block_bytes (&shape, &options, 8, 1, CHECKPOINT_SELECTIVE),
                  p->sp_selective);
  assert_printed (blocks * block_bytes (&shape, &options, 8, 0, CHECKPOINT_FULL), p->full);
  for (guint i = 0; i < workload_n_layers (stage); i++)
    for (guint j = 0; j < workload_layer (stage, i)->n_tensors; j++)
      if (workload_layer (stage, i)->kind == LAYER_BLOCK
          && workload_layer (stage, i)->tensors[j].n_dims == 2)
        matrices += workload_layer (stage, i)->tensors[j].elements;
  assert_printed (18 * matrices, p->state);
  model_shape_clear (&shape);
}
END_TEST

/* Equations 2, 4, 5, 6 and 2 s b h, for tensor groups of 1 to 8. */
START_TEST (test_formulas)
{
  const Published *p = &published[_i];
  ModelShape       shape = arch ("gpt", 1, p->h, p->a, 0, 51200);
  TrainingOptions  unfused = classic (p, ATTENTION_FUSED_SOFTMAX),
                  flash = classic (p, ATTENTION_FLASH2);
  double sbh = (double) p->s * (double) p->b * (double) p->h, scores = 5. * p->a * p->s / p->h;

  for (gint64 t = 2; t <= 8; t *= 2)
    {
      assert_close (block_bytes (&shape, &unfused, t, 0, CHECKPOINT_NONE),
                    sbh * (10 + 24. / t + scores / t), 1e-12);
      assert_close (block_bytes (&shape, &unfused, t, 1, CHECKPOINT_NONE), sbh / t * (34 + scores),
                    1e-12);
      assert_close (block_bytes (&shape, &unfused, t, 0, CHECKPOINT_SELECTIVE),
                    sbh * (10 + 24. / t), 1e-12);
      assert_close (block_bytes (&shape, &unfused, t, 1, CHECKPOINT_SELECTIVE), 34 * sbh / t,
                    1e-12);
      assert_close (block_bytes (&shape, &flash, t, 1, CHECKPOINT_NONE), 34 * sbh / t, 1e-12);
      assert_close (block_bytes (&shape, &unfused, t, 0, CHECKPOINT_FULL), 2 * sbh, 1e-12);
      assert_close (block_bytes (&shape, &unfused, t, 1, CHECKPOINT_FULL), 2 * sbh / t, 1e-12);
    }
  model_shape_clear (&shape);
}
END_TEST

/* ---- collectives ---- */

typedef struct
{
  double bytes[5]; /* by CollectiveKind */
  guint  n[5], n_async;
} Traffic;

static Traffic
traffic_of (const KernelDesc *kernels, guint n, MeshAxis axis)
{
  Traffic traffic = { 0 };

  for (guint i = 0; i < n; i++)
    if (kernels[i].kind == KERNEL_COMMUNICATION && kernels[i].axis == axis)
      {
        traffic.bytes[kernels[i].comm] += kernels[i].read_bytes;
        traffic.n[kernels[i].comm]++;
        traffic.n_async += kernels[i].async;
        ck_assert_double_eq (kernels[i].flops, 0);
        ck_assert_int_eq (kernels[i].module, -1);
      }
  return traffic;
}

/*
 * A vocabulary of 1000 on 4 ranks, padded to 4 x 256, and 512 tokens of width 512 in chunks of 200,
 * 200 and 112: three all-reduces a chunk, of 4 bytes a token each. With sequence parallelism the
 * head's input, 512 x 512 x 2 = 524288 B, is gathered for the logits that are made again too; its
 * piece, a quarter, is kept as input and as output of the norm, with the norm's 4 bytes a row, and
 * 17 a token of the loss. Backwards there are the loss' gradient, 2 bytes, 200 x 256 x 2 of logits,
 * the gathered input and its gradient.
 */
START_TEST (test_chunked_loss)
{
  ModelShape           shape = arch ("llama", 1, 512, 8, 1536, 1000);
  TrainingOptions      options = training (256, 2);
  MeshOptions          mesh = { .tp = 4, .sp = 1, .routing_skew = 1 };
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *head;
  Traffic              t;

  options.fused_norm = TRUE;
  options.loss = LOSS_CHUNKED;
  options.loss_chunk = 200;
  options.traits.loss = FRAMEWORK_LOSS_GATHERED; /* of whole logits, which are not there */
  workload = workload_new_stage (&shape, &options, &mesh, 0);
  head = workload_layer (workload, 2);
  t = traffic_of (head->forward, head->n_forward, MESH_TENSOR);
  ck_assert_uint_eq (t.n[COLLECTIVE_ALL_REDUCE], 9);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_REDUCE], 3. * 4 * 512);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_GATHER], 524288);
  t = traffic_of (head->backward, head->n_backward, MESH_TENSOR);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_GATHER], 524288);
  ck_assert_double_eq (t.bytes[COLLECTIVE_REDUCE_SCATTER], 524288);
  ck_assert_uint_eq (t.n[COLLECTIVE_ALL_REDUCE], 0);
  ck_assert_uint_eq (head->saved_bytes, 2 * 524288 / 4 + 4 * 128 + 17 * 512);
  ck_assert_uint_eq (head->backward_bytes, 2 + 200 * 256 * 2 + 2 * 524288);
  ck_assert_uint_eq (head->logits_bytes, 200 * 256 * 2);
  /* the first product waits for its input */
  ck_assert (find_kernel (head->backward, head->n_backward, "head.recompute")->joins);
  model_shape_clear (&shape);
}
END_TEST

/* Two all-reduces of s b h Q forwards, backwards, and where the block is recomputed. */
START_TEST (test_all_reduces)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (512, 2);
  MeshOptions          mesh = { .tp = 8, .routing_skew = 1 };
  double               sbhq = 512. * 2 * 4096 * 2;
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *block;
  Traffic              t;

  options.checkpointing = CHECKPOINT_FULL;
  options.traits.recomputes_all = TRUE;
  workload = workload_new_stage (&shape, &options, &mesh, 0);
  block = workload_layer (workload, 1);
  t = traffic_of (block->forward, block->n_forward, MESH_TENSOR);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_REDUCE], 2 * sbhq);
  ck_assert_uint_eq (t.n[COLLECTIVE_ALL_REDUCE], 2);
  t = traffic_of (block->recompute, block->n_recompute, MESH_TENSOR);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_REDUCE], 2 * sbhq);
  t = traffic_of (block->backward, block->n_backward, MESH_TENSOR);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_REDUCE], 2 * sbhq);
  ck_assert_uint_eq (t.n[COLLECTIVE_ALL_REDUCE], 2);
  ck_assert_uint_eq (t.n_async, 0);
  ck_assert_uint_eq (t.n[COLLECTIVE_ALL_GATHER] + t.n[COLLECTIVE_REDUCE_SCATTER], 0);
  /* the embedding's sum; the loss: three floats a token */
  t = traffic_of (workload_layer (workload, 0)->forward, workload_layer (workload, 0)->n_forward,
                  MESH_TENSOR);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_REDUCE], sbhq);
  t = traffic_of (workload_layer (workload, 33)->forward, workload_layer (workload, 33)->n_forward,
                  MESH_TENSOR);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_REDUCE], 3. * 4 * 1024);
  t = traffic_of (workload_layer (workload, 33)->backward,
                  workload_layer (workload, 33)->n_backward, MESH_TENSOR);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_REDUCE], sbhq);
  model_shape_clear (&shape);
}
END_TEST

/*
 * The same volume as gather and scatter; backwards two inputs are gathered once more, beside
 * products.
 */
START_TEST (test_sequence_parallel)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = training (512, 2);
  MeshOptions          mesh = { .tp = 8, .sp = 1, .routing_skew = 1 };
  double               sbhq = 512. * 2 * 4096 * 2;
  g_autoptr (Workload) workload = workload_new_stage (&shape, &options, &mesh, 0);
  const LayerDesc     *block = workload_layer (workload, 1);
  Traffic              t = traffic_of (block->forward, block->n_forward, MESH_TENSOR);

  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_GATHER], 2 * sbhq);
  ck_assert_double_eq (t.bytes[COLLECTIVE_REDUCE_SCATTER], 2 * sbhq);
  ck_assert_uint_eq (t.n[COLLECTIVE_ALL_REDUCE], 0);
  ck_assert_uint_eq (t.n_async, 0);
  t = traffic_of (block->backward, block->n_backward, MESH_TENSOR);
  ck_assert_double_eq (t.bytes[COLLECTIVE_ALL_GATHER], 4 * sbhq);
  ck_assert_double_eq (t.bytes[COLLECTIVE_REDUCE_SCATTER], 2 * sbhq);
  ck_assert_uint_eq (t.n[COLLECTIVE_ALL_GATHER], 4);
  ck_assert_uint_eq (t.n_async, 4);
  ck_assert_uint_eq (block->output_bytes, (guint64) sbhq / 8);
  model_shape_clear (&shape);
}
END_TEST

/* Names of kernels and collectives in order: "*" asynchronous, "&" joins. */
static char *
order_of (const KernelDesc *kernels, guint n)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%s%s%s", i > 0 ? " " : "", kernels[i].name,
                            kernels[i].async ? "*" : "", kernels[i].joins ? "&" : "");
  return g_string_free (text, FALSE);
}

static void
assert_order_of (TrainingOptions options, gint64 sp, gboolean async_tp, MeshAsyncTp by,
                 const char *forward, const char *backward)
{
  ModelShape  shape = arch ("mpt", 1, 32, 2, 64, 256);
  MeshOptions mesh = {
    .tp = 2, .sp = sp, .async_tp = async_tp, .async_tp_by = by, .routing_skew = 1
  };
  g_autoptr (Workload) workload = workload_new_stage (&shape, &options, &mesh, 0);
  const LayerDesc     *block = workload_layer (workload, 1);
  g_autofree char     *ahead = order_of (block->forward, block->n_forward),
                  *back = order_of (block->backward, block->n_backward);

  ck_assert_msg (g_str_has_suffix (ahead, forward), "%s", ahead);
  ck_assert_msg (g_str_has_prefix (back, backward), "%s", back);
  model_shape_clear (&shape);
}

static void
assert_order (gint64 sp, gboolean async_tp, MeshAsyncTp by, const char *forward,
              const char *backward)
{
  assert_order_of (training (8, 1), sp, async_tp, by, forward, backward);
}

/*
 * DTensors that are sharded along the sequence, the second dimension: copies put into order what
 * was gathered and what is to be scattered, unless it goes in slices; nothing is gathered again. Of
 * several sequences what came in slices is copied for the gradients of weights.
 */
START_TEST (test_order_of_dtensors)
{
  TrainingOptions options = training (8, 1);

  options.traits.cats_sequence = options.traits.keeps_gathered = TRUE;
  assert_order_of (options, 1, FALSE, MESH_ASYNC_TP_SLICES,
                   " norm2 mlp.gather mlp.gather.cat mlp.up mlp.activation mlp.down "
                   "mlp.down.reduce.cat mlp.down.reduce mlp.residual",
                   "mlp.down.reduce.backward mlp.down.reduce.cat mlp.down.dgrad mlp.down.wgrad "
                   "mlp.activation.backward mlp.up.dgrad mlp.up.wgrad mlp.gather.cat "
                   "mlp.gather.backward norm2.backward ");
  assert_order_of (options, 1, TRUE, MESH_ASYNC_TP_SLICES,
                   " norm2 mlp.gather.place mlp.gather* mlp.up mlp.up& mlp.activation mlp.down "
                   "mlp.down.reduce* mlp.down mlp.down.reduce.sum& mlp.residual",
                   "mlp.down.reduce.place mlp.down.reduce.backward* mlp.down.dgrad "
                   "mlp.down.dgrad& mlp.down.wgrad ");
  options.micro_batch = 2;
  assert_order_of (
      options, 1, TRUE, MESH_ASYNC_TP_SLICES, "mlp.residual",
      "mlp.down.reduce.place mlp.down.reduce.backward* mlp.down.dgrad "
      "mlp.down.dgrad& mlp.down.flat mlp.down.wgrad mlp.activation.backward "
      "mlp.up.dgrad mlp.gather.flat mlp.gather.backward* mlp.up.wgrad norm2.backward& ");
}
END_TEST

/* The MLP of a block, in what order its products and collectives are issued. */
START_TEST (test_order)
{
  assert_order (0, FALSE, MESH_ASYNC_TP_SLICES,
                " norm2 mlp.up mlp.activation mlp.down mlp.down.reduce mlp.residual",
                "mlp.down.dgrad mlp.down.wgrad mlp.activation.backward mlp.up.dgrad mlp.up.wgrad "
                "mlp.gather.backward norm2.backward ");
  assert_order (0, TRUE, MESH_ASYNC_TP_SLICES,
                " norm2 mlp.up mlp.activation mlp.down mlp.down.reduce mlp.residual",
                "mlp.down.dgrad mlp.down.wgrad mlp.activation.backward mlp.up.dgrad "
                "mlp.gather.backward* mlp.up.wgrad norm2.backward& ");
  assert_order (
      1, FALSE, MESH_ASYNC_TP_SLICES,
      " norm2 mlp.gather mlp.up mlp.activation mlp.down mlp.down.reduce mlp.residual",
      "mlp.down.reduce.backward mlp.down.dgrad mlp.down.wgrad mlp.activation.backward "
      "mlp.gather.again* mlp.up.dgrad mlp.gather.backward*& mlp.up.wgrad norm2.backward& ");
  assert_order (1, TRUE, MESH_ASYNC_TP_SLICES,
                " norm2 mlp.gather.place mlp.gather* mlp.up mlp.up& mlp.activation mlp.down "
                "mlp.down.reduce* mlp.down mlp.down.reduce.sum& mlp.residual",
                "mlp.down.reduce.place mlp.down.reduce.backward* mlp.down.dgrad mlp.down.dgrad& "
                "mlp.down.wgrad "
                "mlp.activation.backward mlp.gather.again* mlp.up.dgrad mlp.gather.backward*& "
                "mlp.up.wgrad norm2.backward& ");
  assert_order (
      1, TRUE, MESH_ASYNC_TP_USERBUFFERS,
      " norm2 mlp.gather* mlp.up mlp.up& mlp.activation mlp.down mlp.down.reduce* mlp.down "
      "mlp.down.reduce* mlp.down mlp.down.reduce* mlp.down mlp.down.reduce* mlp.residual&",
      "mlp.down.reduce.backward* mlp.down.dgrad mlp.down.dgrad& mlp.down.wgrad "
      "mlp.activation.backward mlp.gather.again* mlp.up.dgrad mlp.gather.backward*& "
      "mlp.up.wgrad norm2.backward& ");
}
END_TEST

/*
 * Of each piece that is gathered all products that want it make their rows, and those of the last
 * piece wait for it, whichever of them run again. A piece is 4 tokens of 32 values of 2 bytes: 256
 * bytes into the own buffer; sums of two ranks' rows are 512 bytes, of which one is left.
 */
START_TEST (test_order_of_slices)
{
  ModelShape           shape = arch ("llama", 1, 32, 2, 64, 256);
  TrainingOptions      options = training (8, 1);
  const MeshOptions    mesh = { .tp = 2, .sp = 1, .async_tp = TRUE, .routing_skew = 1 };
  g_autoptr (Workload) workload = NULL;
  g_autofree char     *ahead = NULL, *again = NULL;
  const LayerDesc     *block;
  const KernelDesc    *place, *sum;

  options.checkpointing = CHECKPOINT_SELECTIVE_OP;
  options.fused_norm = TRUE;
  workload = workload_new_stage (&shape, &options, &mesh, 0);
  block = workload_layer (workload, 1);
  ahead = order_of (block->forward, block->n_forward);
  again = order_of (block->recompute, block->n_recompute);
  ck_assert_msg (g_str_has_prefix (ahead, "norm1 attn.gather.place attn.gather* attn.q attn.k "
                                          "attn.v attn.q& attn.k& attn.v& "),
                 "%s", ahead);
  ck_assert_msg (strstr (ahead, " mlp.gather* mlp.gate mlp.up mlp.gate& mlp.up& ") != NULL, "%s",
                 ahead);
  ck_assert_msg (strstr (again, "attn.gather* attn.k attn.k& ") != NULL, "%s", again);
  place = find_kernel (block->forward, block->n_forward, "mlp.gather.place");
  ck_assert_double_eq (place->read_bytes, 256);
  ck_assert_double_eq (place->write_bytes, 256);
  sum = find_kernel (block->forward, block->n_forward, "mlp.down.reduce.sum");
  ck_assert_double_eq (sum->read_bytes, 512);
  ck_assert_double_eq (sum->write_bytes, 256);
  model_shape_clear (&shape);
}
END_TEST

/*
 * A sum of gradients that a compiler makes is written in the order in which it is scattered. One
 * that it does not make is copied, with slices of other products too.
 */
START_TEST (test_compiled_cats)
{
  ModelShape      shape = arch ("llama", 1, 32, 2, 64, 256);
  TrainingOptions options = training (8, 1);
  MeshOptions     mesh = { .tp = 2, .sp = 1, .routing_skew = 1 };

  options.traits.cats_sequence = options.traits.keeps_gathered = TRUE;
  for (guint compiled = 0; compiled < 4; compiled++)
    {
      g_autoptr (Workload) workload = NULL;
      g_autofree char     *ahead = NULL, *back = NULL;
      const LayerDesc     *block;

      options.compile = compiled % 2 == 1;
      mesh.async_tp = compiled / 2 == 1;
      workload = workload_new_stage (&shape, &options, &mesh, 0);
      block = workload_layer (workload, 1);
      ahead = order_of (block->forward, block->n_forward);
      back = order_of (block->backward, block->n_backward);
      ck_assert_msg ((strstr (ahead, " mlp.down.reduce.cat ") == NULL) == mesh.async_tp, "%s",
                     ahead);
      ck_assert_msg (strstr (back, options.compile
                                       ? " grad_add mlp.gather.backward "
                                       : " grad_add mlp.gather.cat mlp.gather.backward ")
                         != NULL,
                     "%s", back);
    }
  model_shape_clear (&shape);
}
END_TEST

/*
 * A block's experts, of which one is shared: 1 KiB of 8 tokens go to another rank. Overlapped, the
 * shared one's products stand behind the exchanges that cover them, and no work is added or lost.
 */
START_TEST (test_order_of_shared_experts)
{
  ModelShape      shape = arch ("llama", 1, 32, 2, 64, 256);
  TrainingOptions options = training (8, 1);
  MeshOptions     mesh = { .ep = 2, .routing_skew = 1 }, overlap = mesh;
  double          flops[2] = { 0 }, bytes[2] = { 0 };

  shape.n_experts = 2;
  shape.n_experts_per_token = shape.n_shared_experts = 1;
  shape.d_expert = 16;
  overlap.shared_expert_overlap = TRUE;
  for (guint with = 0; with < 2; with++)
    {
      g_autoptr (Workload) workload =
          workload_new_stage (&shape, &options, with ? &overlap : &mesh, 0);
      const LayerDesc *block = workload_layer (workload, 1);
      g_autofree char *ahead = order_of (block->forward, block->n_forward),
                      *back = order_of (block->backward, block->n_backward);

      for (guint i = 0; i < block->n_forward; i++)
        {
          flops[with] += block->forward[i].flops;
          bytes[with] += block->forward[i].read_bytes + block->forward[i].write_bytes;
        }
      for (guint i = 0; i < block->n_backward; i++)
        {
          flops[with] += block->backward[i].flops;
          bytes[with] += block->backward[i].read_bytes + block->backward[i].write_bytes;
        }
      if (!with)
        continue;
      ck_assert_msg (g_str_has_suffix (ahead,
                                       " experts.permute experts.count experts.counts "
                                       "experts.dispatch* mlp.gate mlp.up "
                                       "mlp.activation experts.gate& experts.up experts.activation "
                                       "experts.down experts.return* mlp.down experts.weigh& "
                                       "experts.combine experts.add_shared mlp.residual"),
                     "%s", ahead);
      ck_assert_msg (strstr (back, "experts.combine.backward experts.return.backward* "
                                   "mlp.down.dgrad mlp.down.wgrad experts.down.dgrad& ")
                         != NULL,
                     "%s", back);
      ck_assert_msg (strstr (back, " experts.dispatch.backward* mlp.activation.backward "
                                   "mlp.up.dgrad mlp.up.wgrad mlp.gate.dgrad mlp.gate.wgrad "
                                   "grad_add experts.permute.backward& ")
                         != NULL,
                     "%s", back);
    }
  ck_assert_double_eq (flops[0], flops[1]);
  ck_assert_double_eq (bytes[0], bytes[1]);
  model_shape_clear (&shape);
}
END_TEST

/*
 * Gathers that products wait for are copies, which hold no SMs, and so is what PyTorch scatters in
 * slices; what userbuffers reduce, or run beside a product, holds 16. The parts make up the whole,
 * and streams run them in turn: as many as ranks, or four behind which something is reduced.
 */
START_TEST (test_userbuffers)
{
  ModelShape      shape = arch ("mpt", 1, 32, 2, 64, 256);
  TrainingOptions options = training (8, 1);
  MeshOptions mesh = { .tp = 2, .sp = 1, .async_tp = TRUE, .routing_skew = 1 }, userbuffers = mesh;
  g_autoptr (Workload) sliced = workload_new_stage (&shape, &options, &mesh, 0);
  g_autoptr (Workload) workload = NULL;
  double               bytes[2] = { 0 }, flops[2] = { 0 };

  userbuffers.async_tp_by = MESH_ASYNC_TP_USERBUFFERS;
  workload = workload_new_stage (&shape, &options, &userbuffers, 0);
  for (guint with = 0; with < 2; with++)
    {
      const LayerDesc *block = workload_layer (with ? workload : sliced, 1);

      for (guint i = 0; i < block->n_forward + block->n_backward; i++)
        {
          const KernelDesc *kernel =
              i < block->n_forward ? &block->forward[i] : &block->backward[i - block->n_forward];
          gboolean gathers = g_str_has_suffix (kernel->name, ".gather")
                             || g_str_has_suffix (kernel->name, ".reduce.backward");

          gboolean beside = g_str_has_suffix (kernel->name, ".again")
                            || g_str_has_suffix (kernel->name, ".gather.backward");

          flops[with] += kernel_desc_is_product (kernel) ? kernel->flops : 0;
          if (g_str_equal (kernel->name, "mlp.up") || g_str_equal (kernel->name, "mlp.down.dgrad"))
            ck_assert_uint_eq (kernel->turns, 2);
          else if (g_str_equal (kernel->name, "mlp.down"))
            ck_assert_uint_eq (kernel->turns, with ? 4 : 2);
          else if (g_str_has_suffix (kernel->name, ".wgrad") || kernel->kind != KERNEL_MATMUL)
            ck_assert_uint_eq (kernel->turns, 0);
          if (kernel->kind != KERNEL_COMMUNICATION)
            continue;
          bytes[with] += kernel->read_bytes;
          ck_assert_uint_eq (kernel->own_sms, gathers ? 1 : with ? 17 : beside ? 0 : 1);
        }
    }
  ck_assert_double_eq (bytes[0], bytes[1]);
  ck_assert_double_eq (flops[0], flops[1]);
  model_shape_clear (&shape);
}
END_TEST

/* Only products and sums that make gradients of parameters, and all of those products. */
START_TEST (test_weight_gradients)
{
  ModelShape           shape = arch ("gpt", 2, 32, 2, 64, 256);
  TrainingOptions      options = training (8, 1);
  MeshOptions          mesh = { .tp = 2, .sp = 1, .routing_skew = 1 };
  g_autoptr (Workload) workload = workload_new_stage (&shape, &options, &mesh, 0);

  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      for (guint j = 0; j < layer->n_forward; j++)
        ck_assert (!layer->forward[j].weight_gradient);
      for (guint j = 0; j < layer->n_backward; j++)
        {
          const char *name = layer->backward[j].name;

          ck_assert_int_eq (layer->backward[j].weight_gradient,
                            g_str_has_suffix (name, ".wgrad")
                                || g_str_has_suffix (name, ".bias_grad")
                                || g_str_has_suffix (name, ".weight_grad"));
        }
    }
  model_shape_clear (&shape);
}
END_TEST

/* ---- the parts make the whole ---- */

static const char *const models[] = { "deepseek-v3",  "gpt-oss-120b", "gpt2-xl",  "llama-3-8b",
                                      "mixtral-8x7b", "opt-1.3b",     "qwen2-7b", "qwen3-30b-a3b" };

/* Parameters once a group: divided ones from each rank, replicated ones from one. */
static guint64
group_parameters (const Workload *rank, guint64 tp)
{
  guint64 total = 0;

  for (guint i = 0; i < workload_n_layers (rank); i++)
    {
      const LayerDesc *layer = workload_layer (rank, i);

      for (guint j = 0; j < layer->n_tensors; j++)
        total += layer->tensors[j].elements * (layer->tensors[j].replicated ? 1 : tp);
    }
  return total;
}

START_TEST (test_parts_make_the_whole)
{
  ModelShape           shape = shipped (models[_i]);
  TrainingOptions      options = training (1024, 2);
  g_autoptr (Workload) whole = NULL;

  shape.vocab = 1 << 16;                          /* divides by 128 * tp: no padding */
  shape.n_heads = MAX (shape.n_heads / 4 * 4, 4); /* gpt2-xl has 25 */
  shape.n_kv_heads = MAX (shape.n_kv_heads / 4 * 4, 4);
  whole = workload_new (&shape, &options);
  for (gint64 tp = 2; tp <= 4; tp *= 2)
    for (gint64 sp = 0; sp <= 1; sp++)
      {
        MeshOptions          mesh = { .tp = tp, .sp = sp, .routing_skew = 1 };
        g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0);
        double               whole_flops = workload_matrix_flops (whole);
        double               flops = workload_matrix_flops (part) * tp;

        ck_assert_uint_eq (group_parameters (part, (guint64) tp), workload_n_parameters (whole));
        if (sp == 1 || (shape.n_experts == 0 && shape.kv_lora_rank == 0))
          assert_close (flops, whole_flops, 1e-12);
        else /* routers and latent projections are done by each rank */
          ck_assert_double_gt (flops, whole_flops);
      }
  model_shape_clear (&shape);
}
END_TEST

/* A vocabulary is padded to a multiple of 128 rows a rank; undivided it is not. */
START_TEST (test_padded_vocabulary)
{
  ModelShape           shape = shipped ("gpt2-xl"); /* 50257 */
  TrainingOptions      options = training (64, 1);
  MeshOptions          mesh = { .tp = 5, .routing_skew = 1 };
  g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, 0);
  const LayerDesc     *head = workload_layer (part, 49);

  ck_assert_uint_eq (workload_layer (part, 0)->tensors[0].shape[0], 10112); /* 79 * 640 / 5 */
  ck_assert_uint_eq (find_kernel (head->forward, head->n_forward, "head")->n, 10112);
  ck_assert_uint_eq (head->logits_bytes, 64UL * 10112 * 6);
  model_shape_clear (&shape);
}
END_TEST

static void
assert_same_kernels (const KernelDesc *a, guint n_a, const KernelDesc *b, guint n_b)
{
  ck_assert_uint_eq (n_a, n_b);
  for (guint i = 0; i < n_a; i++)
    {
      ck_assert_str_eq (a[i].name, b[i].name);
      ck_assert (a[i].kind == b[i].kind && a[i].m == b[i].m && a[i].n == b[i].n
                 && a[i].k == b[i].k);
      ck_assert (a[i].batch == b[i].batch && a[i].launches == b[i].launches);
      ck_assert (a[i].flops == b[i].flops && a[i].read_bytes == b[i].read_bytes);
      ck_assert (a[i].write_bytes == b[i].write_bytes && a[i].module == b[i].module);
    }
}

/* Axes of one rank change nothing, whatever the switches beside them say. */
START_TEST (test_one_rank)
{
  ModelShape      shape = shipped (models[_i]);
  TrainingOptions options = training (1024, 2);
  MeshOptions mesh = { .tp = 1, .pp = 1, .cp = 1, .vp = 1, .ep = 1, .sp = 1, .routing_skew = 1 };
  g_autoptr (Workload) a = workload_new (&shape, &options),
                       b = workload_new_stage (&shape, &options, &mesh, 0);

  ck_assert_uint_eq (workload_n_layers (a), workload_n_layers (b));
  for (guint i = 0; i < workload_n_layers (a); i++)
    {
      const LayerDesc *la = workload_layer (a, i), *lb = workload_layer (b, i);

      assert_same_kernels (la->forward, la->n_forward, lb->forward, lb->n_forward);
      assert_same_kernels (la->backward, la->n_backward, lb->backward, lb->n_backward);
      ck_assert_uint_eq (
          traffic_of (la->forward, la->n_forward, MESH_TENSOR).n[COLLECTIVE_ALL_REDUCE], 0);
      ck_assert_uint_eq (la->elements, lb->elements);
      ck_assert_uint_eq (la->saved_bytes, lb->saved_bytes);
      ck_assert_uint_eq (la->working_bytes, lb->working_bytes);
      ck_assert_uint_eq (la->backward_bytes, lb->backward_bytes);
    }
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (tensor)
{
  TCase *tcase = tcase_create ("tensor");

  tcase_add_loop_test (tcase, test_published_figures, 0, G_N_ELEMENTS (published));
  tcase_add_loop_test (tcase, test_formulas, 0, G_N_ELEMENTS (published));
  tcase_add_test (tcase, test_chunked_loss);
  tcase_add_test (tcase, test_all_reduces);
  tcase_add_test (tcase, test_sequence_parallel);
  tcase_add_test (tcase, test_order);
  tcase_add_test (tcase, test_order_of_dtensors);
  tcase_add_test (tcase, test_order_of_slices);
  tcase_add_test (tcase, test_compiled_cats);
  tcase_add_test (tcase, test_order_of_shared_experts);
  tcase_add_test (tcase, test_userbuffers);
  tcase_add_test (tcase, test_weight_gradients);
  tcase_add_loop_test (tcase, test_parts_make_the_whole, 0, G_N_ELEMENTS (models));
  tcase_add_test (tcase, test_padded_vocabulary);
  tcase_add_loop_test (tcase, test_one_rank, 0, G_N_ELEMENTS (models));
  return run_case ("tensor", tcase);
}
