/*
 * How a model is cut over pipeline stages and chunks, and which meshes are refused. It does not
 * test the schedules that walk the chunks.
 */
#include "../suite.h"
#include "fixture.h"

#include "model/mesh/mesh-order.h"
#include "model/mesh/stage-cut.h"

static MeshOptions
mesh_of (gint64 tp, gint64 pp, gint64 vp, PipelineKind pipeline)
{
  return (MeshOptions){ .tp = tp, .pp = pp, .vp = vp, .pipeline = pipeline, .routing_skew = 1 };
}

/* Layers of the model that chunk CHUNK of stage STAGE holds, as text "first-last". */
static void
assert_chunk (const ModelShape *shape, MeshOptions mesh, guint stage, guint chunk,
              guint first_layer, guint last_layer)
{
  TrainingOptions      options = training (8, 1);
  g_autoptr (Workload) workload = workload_new_stage (shape, &options, &mesh, stage);
  guint                first, end;

  workload_chunk (workload, chunk, &first, &end);
  ck_assert_uint_eq (workload_model_layer (workload, first), first_layer);
  ck_assert_uint_eq (workload_model_layer (workload, end - 1), last_layer);
  ck_assert_uint_eq (end - first, last_layer - first_layer + 1);
  ck_assert_uint_eq (workload_layer (workload, first)->kind, first_layer == 0 ? LAYER_EMBEDDING
                                                             : first_layer == shape->n_layers + 1
                                                                 ? LAYER_HEAD
                                                                 : LAYER_BLOCK);
}

START_TEST (test_chunks)
{
  ModelShape shape = arch ("llama", 10, 16, 2, 32, 64), bloom = arch ("bloom", 70, 16, 2, 32, 64);

  /* 10 blocks are layers 1 to 10, 0 and 11 the ends; 12 layers over 3: the ends count */
  assert_chunk (&shape, mesh_of (1, 3, 1, PIPELINE_AUTO), 0, 0, 0, 3);
  assert_chunk (&shape, mesh_of (1, 3, 1, PIPELINE_AUTO), 1, 0, 4, 7);
  assert_chunk (&shape, mesh_of (1, 3, 1, PIPELINE_AUTO), 2, 0, 8, 11);
  /* 10 over 7: three have two blocks */
  assert_chunk (&shape, mesh_of (1, 7, 1, PIPELINE_GPIPE), 0, 0, 0, 2);
  assert_chunk (&shape, mesh_of (1, 7, 1, PIPELINE_GPIPE), 2, 0, 5, 6);
  assert_chunk (&shape, mesh_of (1, 7, 1, PIPELINE_GPIPE), 3, 0, 7, 7);
  assert_chunk (&shape, mesh_of (1, 7, 1, PIPELINE_GPIPE), 6, 0, 10, 11);
  /* ten model chunks of one block */
  assert_chunk (&shape, mesh_of (1, 5, 2, PIPELINE_AUTO), 1, 0, 2, 2);
  assert_chunk (&shape, mesh_of (1, 5, 2, PIPELINE_AUTO), 1, 1, 7, 7);
  assert_chunk (&shape, mesh_of (1, 5, 2, PIPELINE_AUTO), 4, 1, 10, 11);
  /* a V over five stages; from both ends over two */
  /* twelve: the embedding, each block, the head */
  assert_chunk (&shape, mesh_of (1, 4, 3, PIPELINE_AUTO), 0, 0, 0, 0);
  assert_chunk (&shape, mesh_of (1, 4, 3, PIPELINE_AUTO), 1, 0, 1, 1);
  assert_chunk (&shape, mesh_of (1, 4, 3, PIPELINE_AUTO), 3, 2, 11, 11);
  assert_chunk (&shape, mesh_of (1, 5, 1, PIPELINE_ZBV), 0, 0, 0, 1);
  assert_chunk (&shape, mesh_of (1, 5, 1, PIPELINE_ZBV), 0, 1, 10, 11);
  assert_chunk (&shape, mesh_of (1, 5, 1, PIPELINE_ZBV), 4, 1, 6, 6);
  assert_chunk (&shape, mesh_of (1, 2, 1, PIPELINE_DUALPIPE), 1, 0, 6, 11);
  assert_chunk (&shape, mesh_of (1, 2, 1, PIPELINE_DUALPIPE), 1, 1, 0, 5);
  /* BLOOM-176B: 5 blocks, ten times 6, 5 blocks */
  assert_chunk (&bloom, mesh_of (1, 12, 1, PIPELINE_AUTO), 0, 0, 0, 5);
  assert_chunk (&bloom, mesh_of (1, 12, 1, PIPELINE_AUTO), 6, 0, 36, 41);
  assert_chunk (&bloom, mesh_of (1, 12, 1, PIPELINE_AUTO), 11, 0, 66, 71);
  model_shape_clear (&shape);
  model_shape_clear (&bloom);
}
END_TEST

/* Blocks of each stage, as text: "6 5 5 0". */
static char *
blocks_of_stages (const ModelShape *shape, gint64 pp)
{
  const MeshOptions mesh = { .pp = pp, .vp = 1, .cut = MESH_CUT_COST };
  g_autofree guint *begins = stage_cut (shape, &mesh);
  GString          *text = g_string_new (NULL);

  ck_assert_uint_eq (begins[0], 0);
  ck_assert_uint_eq (begins[pp], shape->n_layers + 2);
  for (gint64 i = 0; i < pp; i++)
    g_string_append_printf (text, i > 0 ? " %u" : "%u",
                            begins[i + 1] - begins[i] - (i == 0) - (i + 1 == pp));
  return g_string_free (text, FALSE);
}

static void
assert_cut (const ModelShape *shape, gint64 pp, const char *expected)
{
  g_autofree char *blocks = blocks_of_stages (shape, pp);

  ck_assert_str_eq (blocks, expected);
}

/*
 * 16 blocks of 2048 x (4 x 2048 + 3 x 8192) = 2^26, a head of 131072 x 2048 = 2^28, 4 blocks'
 * worth: 20 in all. On 2 stages each has 10, on 4 each has 5: the last one block and the head. On
 * 8, ends come at 2.5, 5, 7.5, ...: behind 3, 5, 8, 10, 13, 15 blocks; the seventh share, 17.5, is
 * inside the head. It goes to the last stage with the block before it, and the two stages before
 * give one up each. 32 blocks of 4096 with d_ff 14336 and the same vocabulary: a head of 2.207
 * blocks, 34.207 in all, on 4 stages ends at 8.55, 17.1, 25.66. A head of 512 blocks leaves one
 * each.
 */
START_TEST (test_cut_by_cost)
{
  ModelShape small = arch ("llama", 16, 2048, 32, 8192, 131072);
  ModelShape large = arch ("llama", 32, 4096, 32, 14336, 131072);
  ModelShape vast = arch ("llama", 16, 2048, 32, 8192, 1 << 24);

  assert_cut (&small, 1, "16");
  assert_cut (&small, 2, "10 6");
  assert_cut (&small, 4, "5 5 5 1");
  assert_cut (&small, 8, "3 2 3 2 3 1 1 1");
  assert_cut (&small, 16, "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1");
  assert_cut (&large, 4, "9 9 8 6");
  assert_cut (&vast, 4, "1 1 1 13");
  model_shape_clear (&small);
  model_shape_clear (&large);
  model_shape_clear (&vast);
}
END_TEST

/*
 * 126 blocks of Llama 3 on 16 stages of 8 chunks: embedding and head alone, by the even cut and by
 * a list. What is listed lies on the stages that the pipeline gives a chunk: of 3 stages of 2
 * chunks, the second one has blocks 0 and 1 and, behind block 4, blocks 5 to 7.
 */
START_TEST (test_listed)
{
  ModelShape        llama = arch ("llama", 126, 64, 8, 96, 100);
  ModelShape        small = arch ("llama", 10, 64, 8, 96, 100);
  MeshOptions       listed = { .pp = 16, .vp = 8, .layers = (char *) "0, 126 x 1, 0" };
  const MeshOptions even = { .pp = 16, .vp = 8 };
  g_autofree guint *by_list = stage_cut (&llama, &listed), *by_blocks = stage_cut (&llama, &even);

  ck_assert_mem_eq (by_list, by_blocks, 129 * sizeof *by_list);
  listed = mesh_of (1, 3, 2, PIPELINE_AUTO);
  listed.layers = (char *) "0,2, 2*1 , 3,3";
  assert_chunk (&small, listed, 0, 0, 0, 0);
  assert_chunk (&small, listed, 0, 1, 4, 4);
  assert_chunk (&small, listed, 1, 0, 1, 2);
  assert_chunk (&small, listed, 1, 1, 5, 7);
  assert_chunk (&small, listed, 2, 1, 8, 11);
  model_shape_clear (&llama);
  model_shape_clear (&small);
}
END_TEST

/* Random cuts: every layer lives once (DualPipe twice), and so do the parameters and the FLOPs. */
START_TEST (test_stages_make_the_model)
{
  static const char *const archs[] = { "gpt", "llama", "mpt", "bloom" };
  GRand                   *rand = g_rand_new_with_seed (4401);

  for (guint i = 0; i < 500; i++)
    {
      ModelShape shape = arch (archs[g_rand_int_range (rand, 0, 4)], g_rand_int_range (rand, 1, 40),
                               32, 4, 64, 300);
      TrainingOptions options = training (16, 2);
      MeshOptions mesh = mesh_of (1, g_rand_int_range (rand, 1, 9), g_rand_int_range (rand, 1, 4),
                                  g_rand_int_range (rand, 0, PIPELINE_DUALPIPE + 1));
      guint       copies = mesh_pipeline (&mesh) == PIPELINE_DUALPIPE ? 2 : 1;
      g_autoptr (Workload) whole = workload_new (&shape, &options);
      g_autofree guint    *seen = g_new0 (guint, workload_n_layers (whole));
      guint64              parameters = 0, copied = 0;
      double               flops = 0;

      for (guint stage = 0; stage < (guint) mesh.pp; stage++)
        {
          g_autoptr (Workload) part = workload_new_stage (&shape, &options, &mesh, stage);

          ck_assert_uint_eq (workload_stage (part), stage);
          ck_assert_uint_eq (workload_n_chunks (part), mesh_chunks (&mesh));
          for (guint j = 0; j < workload_n_layers (part); j++)
            {
              seen[workload_model_layer (part, j)]++;
              if (workload_layer (part, j)->tied_copy)
                copied += workload_layer (part, j)->tied_elements;
            }
          parameters += workload_n_parameters (part);
          flops += workload_matrix_flops (part);
        }
      for (guint j = 0; j < workload_n_layers (whole); j++)
        ck_assert_uint_eq (seen[j], copies);
      ck_assert_uint_eq (parameters - copied, copies * workload_n_parameters (whole));
      ck_assert (copied == 0 || copied == (guint64) shape.vocab * 32);
      ck_assert_int_eq (copied > 0, shape.tied_embeddings && !mesh_ends_meet (&mesh));
      assert_close (flops, workload_matrix_flops (whole), 1e-12);
      model_shape_clear (&shape);
    }
  g_rand_free (rand);
}
END_TEST

/* ---- refused meshes ---- */

static char *
check (const ModelShape *shape, TrainingOptions options, MeshOptions mesh, guint world)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert_int_eq (mesh_check (shape, &options, &mesh, world, NULL, diags),
                    !diag_list_has_errors (diags));
  return diag_list_format (diags, FALSE);
}

static void
assert_refused (const ModelShape *shape, TrainingOptions options, MeshOptions mesh, guint world,
                const char *message)
{
  g_autofree char *text = check (shape, options, mesh, world);

  ck_assert_msg (strstr (text, message) != NULL, "no '%s' in:\n%s", message, text);
}

static void
assert_accepted (const ModelShape *shape, TrainingOptions options, MeshOptions mesh, guint world)
{
  g_autofree char *text = check (shape, options, mesh, world);

  ck_assert_str_eq (text, "");
}

START_TEST (test_refused_degrees)
{
  ModelShape      shape = arch ("llama", 12, 64, 8, 96, 100);
  TrainingOptions options = training (48, 1);

  options.grad_accum = 12;
  shape.n_kv_heads = 4;
  assert_accepted (&shape, options, mesh_of (4, 3, 2, PIPELINE_AUTO), 24);
  assert_accepted (&shape, options, mesh_of (8, 1, 1, PIPELINE_AUTO), 8); /* 2 ranks a kv head */
  assert_refused (&shape, options, mesh_of (4, 3, 1, PIPELINE_AUTO), 16,
                  "'tp' 4 x 'cp' 1 x 'pp' 3 does not divide 16 ranks");
  assert_refused (&shape, options, mesh_of (3, 1, 1, PIPELINE_AUTO), 3,
                  "'tp' of 3 does not divide the heads of 8");
  assert_refused (&shape, options, mesh_of (3, 1, 1, PIPELINE_AUTO), 3,
                  "'tp' of 3 neither divides the key-value heads of 4");
  assert_refused (&shape, options, mesh_of (64, 1, 1, PIPELINE_AUTO), 64,
                  "'tp' of 64 does not divide 'd_ff' of 96");
  assert_refused (&shape, options, (MeshOptions){ .ep = 2, .routing_skew = 1 }, 2,
                  "'ep' of 2, but the model is dense");
  assert_refused (&shape, options, (MeshOptions){ .cp = 16, .routing_skew = 1 }, 16,
                  "'2 x cp' of 32 does not divide 'seq_len' of 48");
  assert_refused (&shape, options, (MeshOptions){ .tp = 8, .sp = 1, .cp = 12, .routing_skew = 1 },
                  96, "'tp' of 8 does not divide 'seq_len' / 'cp' of 4");
  assert_refused (&shape, options,
                  (MeshOptions){ .cp = 3, .context = CONTEXT_ULYSSES, .routing_skew = 1 }, 3,
                  "'cp' of 3 does not divide the heads");
  assert_refused (&shape, options,
                  (MeshOptions){ .cp = 4, .context = CONTEXT_USP, .ulysses = 3, .routing_skew = 1 },
                  4, "'ulysses' of 3 does not divide 'cp' of 4");
  shape.sliding_window = 16;
  assert_refused (&shape, options, (MeshOptions){ .cp = 2, .routing_skew = 1 }, 2,
                  "a ring of keys and values takes no sliding windows");
  options.document_length = 8;
  assert_refused (&shape, options,
                  (MeshOptions){ .cp = 2, .context = CONTEXT_ALL_GATHER, .routing_skew = 1 }, 2,
                  "packed documents in sliding windows are not modelled");
  options.document_length = shape.sliding_window = 0;
  options.attention = ATTENTION_EAGER;
  assert_refused (&shape, options, (MeshOptions){ .cp = 2, .routing_skew = 1 }, 2,
                  "needs flash attention");
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_refused_lists)
{
  static const struct
  {
    const char *layers, *message;
  } cases[] = {
    { "4, 2 x 3, 1", "'layers' adds up to 11 blocks, the model has 12" },
    { "4, 2 x 4", "'layers' lists 3 chunks, the pipeline has 4" },
    { "4, 0, 4, 4", "chunk 1 of 'layers' has no work" },
    { "4, x, 4, 4", "'x' is no number of blocks" },
    { "4,,4,4", "'' is no number of blocks" },
    { "3 x 4 4", "'3 x 4 4' is no number of blocks" },
    { "0 x 4, 4 x 3", "'0 x 4' is no number of blocks" },
    { "-4", "'-4' is no number of blocks" },
    { "99999999999 x 1", "'99999999999 x 1' is no number of blocks" },
    { "70000 x 1", "more than 65536 chunks" },
    { "", "'layers': there is no number of blocks" },
  };
  ModelShape      shape = arch ("llama", 12, 64, 8, 96, 100);
  TrainingOptions options = training (48, 1);
  MeshOptions     mesh = mesh_of (1, 4, 1, PIPELINE_AUTO);

  options.grad_accum = 12;
  mesh.layers = (char *) "0, 2 x 6, 0";
  assert_accepted (&shape, options, mesh, 4);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      mesh.layers = (char *) cases[i].layers;
      assert_refused (&shape, options, mesh, 4, cases[i].message);
    }
  mesh.layers = (char *) "4 x 3";
  mesh.cut = MESH_CUT_COST;
  assert_refused (&shape, options, mesh, 4, "'cut' and 'layers' both say where stages end");
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_refused_experts)
{
  ModelShape      shape = shipped ("mixtral-8x7b");
  TrainingOptions options = training (4096, 1);
  MeshOptions     mesh = { .ep = 3, .routing_skew = 1 };

  assert_refused (&shape, options, mesh, 6, "'ep' of 3 does not divide the experts of 8");
  mesh.ep = 8;
  assert_refused (&shape, options, mesh, 12,
                  "'ep' of 8 does not divide data and context ranks of 12");
  mesh.routing_skew = 9;
  assert_refused (&shape, options, mesh, 8, "'routing_skew' of 9 is above 'ep' of 8");
  mesh.routing_skew = 2;
  assert_accepted (&shape, options, mesh, 8);
  mesh.tp = 2;
  assert_refused (&shape, options, mesh, 16, "'ep' and 'tp' together need sequence parallelism");
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_refused_overlap)
{
  ModelShape      shape = shipped ("mixtral-8x7b");
  TrainingOptions options = training (4096, 1);
  MeshOptions     mesh = { .pp = 2, .vp = 2, .ep = 2, .routing_skew = 1, .moe_overlap = TRUE };

  options.grad_accum = 4;
  assert_refused (&shape, options, mesh, 4, "goes with messages on streams of their own");
  mesh.p2p = MESH_P2P_DIRECT;
  assert_accepted (&shape, options, mesh, 4);
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_refused_shared_overlap)
{
  ModelShape      shape = shipped ("mixtral-8x7b");
  TrainingOptions options = training (4096, 1);
  MeshOptions     mesh = { .ep = 2, .routing_skew = 1, .shared_expert_overlap = TRUE };

  shape.n_shared_experts = 1;
  assert_accepted (&shape, options, mesh, 4);
  options.checkpointing = CHECKPOINT_SELECTIVE;
  options.recompute_modules = (char *) "shared_experts";
  assert_refused (&shape, options, mesh, 4, "that are recomputed by themselves");
  options.recompute_modules = (char *) "moe";
  assert_accepted (&shape, options, mesh, 4);
  options.recompute_modules = NULL;
  mesh.dispatch = DISPATCH_TWO_LEVEL;
  assert_refused (&shape, options, mesh, 4, "goes with all-to-alls of NCCL");
  mesh.dispatch = DISPATCH_NCCL;
  mesh.moe_overlap = TRUE;
  mesh.pp = mesh.vp = 2;
  mesh.p2p = MESH_P2P_DIRECT;
  options.grad_accum = 2;
  assert_refused (&shape, options, mesh, 4, "does not go with 'moe_overlap'");
  model_shape_clear (&shape);
}
END_TEST

/* There is nothing to run beside the tokens where no expert is shared: the kernels stay. */
START_TEST (test_no_shared_experts)
{
  ModelShape      shape = shipped ("mixtral-8x7b");
  TrainingOptions options = training (4096, 1);
  MeshOptions     mesh = { .ep = 2, .routing_skew = 1 };

  mesh_normalise (&mesh);
  {
    g_autoptr (Workload) plain = workload_new_stage (&shape, &options, &mesh, 0);
    g_autoptr (Workload) covered = NULL;

    mesh.shared_expert_overlap = TRUE;
    covered = workload_new_stage (&shape, &options, &mesh, 0);
    for (guint l = 0; l < workload_n_layers (plain); l++)
      {
        ck_assert_uint_eq (workload_layer (covered, l)->n_forward,
                           workload_layer (plain, l)->n_forward);
        ck_assert_uint_eq (workload_layer (covered, l)->n_backward,
                           workload_layer (plain, l)->n_backward);
      }
  }
  model_shape_clear (&shape);
}
END_TEST

/*
 * 16 ranks of a stage, two of which share attention: dp = 8. Experts that four ranks divide and two
 * groups share have a mesh of 16 = 4 x 2 x 2 of their own: rank = et + 4 (e + 2 d).
 */
START_TEST (test_folded_groups)
{
  Mesh      mesh = { .n_ranks = 8, .world = 16, .stride = 2, .experts = 2, .expert_tensor = 4 };
  MeshGroup experts = mesh_experts (&mesh), divided = mesh_expert_tensor (&mesh);
  Mesh      of = mesh_of_experts (&mesh);
  guint32   members[4];

  mesh_group_members (experts, 3, members); /* et 3, e 0 */
  ck_assert_uint_eq (experts.size, 2);
  ck_assert_uint_eq (members[0], 3);
  ck_assert_uint_eq (members[1], 7);
  mesh_group_members (divided, 6, members); /* et 2, e 1 */
  ck_assert_uint_eq (divided.size, 4);
  ck_assert_uint_eq (members[0], 4);
  ck_assert_uint_eq (members[3], 7);
  ck_assert_uint_eq (mesh_all (&of).size, 2);
  ck_assert_uint_eq (mesh_all (&of).stride, 8); /* ranks 3 and 11 hold the same */
  ck_assert (mesh_parts_experts (&mesh));
  mesh.expert_tensor = 0; /* of the tensor group: {2, 2} and every fourth rank */
  ck_assert_uint_eq (mesh_experts (&mesh).stride, 2);
  ck_assert_uint_eq (mesh_of_experts (&mesh).n_ranks, 4);
  ck_assert_uint_eq (mesh_of_experts (&mesh).stride, 4);
  mesh.experts = 1;
  ck_assert (!mesh_parts_experts (&mesh));
}
END_TEST

static double
sent_over (const Workload *workload, MeshAxis axis, CollectiveKind kind)
{
  const LayerDesc *block = workload_layer (workload, 1);
  double           bytes = 0;

  for (guint k = 0; k < block->n_forward; k++)
    if (block->forward[k].kind == KERNEL_COMMUNICATION && block->forward[k].axis == axis
        && block->forward[k].comm == kind)
      bytes += block->forward[k].read_bytes;
  return bytes;
}

static guint64
expert_elements (const Workload *workload)
{
  const LayerDesc *block = workload_layer (workload, 1);
  guint64          sum = 0;

  for (guint t = 0; t < block->n_tensors; t++)
    sum += block->tensors[t].expert ? block->tensors[t].elements : 0;
  return sum;
}

/*
 * Mixtral 8x7B: 8 experts of 3 x 4096 x 14336, two a token. 4096 tokens on two tensor ranks are
 * 2048 a rank, 4096 rows of 8 KiB: 32 MiB leave and come back, whatever divides an expert. Its
 * ranks gather what each of them got: four times as much.
 */
START_TEST (test_folded_layers)
{
  static const gint64   etp[] = { 1, 2, 4 }, ep[] = { 8, 4, 2 };
  static const MeshAxis axes[] = { MESH_EXPERT_TENSOR, MESH_TENSOR, MESH_EXPERT_TENSOR };
  ModelShape            shape = shipped ("mixtral-8x7b");
  TrainingOptions       options = training (4096, 1);
  const double          MiB = 1024 * 1024, attention = 32 * MiB; /* gathered: 4096 x 4096 x 2 */

  for (guint i = 0; i < G_N_ELEMENTS (etp); i++)
    {
      MeshOptions mesh = { .tp = 2, .sp = 1, .etp = etp[i], .ep = ep[i], .routing_skew = 1 };
      g_autoptr (Workload) workload = NULL;
      double               gathered;

      assert_accepted (&shape, options, mesh, 16);
      mesh_normalise (&mesh);
      workload = workload_new_stage (&shape, &options, &mesh, 0);
      gathered = sent_over (workload, axes[i], COLLECTIVE_ALL_GATHER);
      if (axes[i] == MESH_TENSOR)
        gathered -= attention;
      ck_assert_double_eq (sent_over (workload, MESH_EXPERT, COLLECTIVE_ALL_TO_ALL), 64 * MiB);
      ck_assert_double_eq (gathered, etp[i] == 1 ? 0 : (double) etp[i] * 32 * MiB);
      /* whatever the split, a rank has an eighth of all */
      ck_assert_uint_eq (expert_elements (workload), G_GUINT64_CONSTANT (3) * 4096 * 14336);
    }
  model_shape_clear (&shape);
}
END_TEST

/*
 * The same backwards: what was gathered is kept, so that of the ranks that divide an expert one
 * collective gathers the gradient that was scattered, one scatters that of the gathered rows, and
 * nothing runs concurrently.
 */
START_TEST (test_folded_backward)
{
  ModelShape           shape = shipped ("mixtral-8x7b");
  TrainingOptions      options = training (4096, 1);
  MeshOptions          mesh = { .tp = 2, .sp = 1, .etp = 4, .ep = 2, .routing_skew = 1 };
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *block;
  double               gathered = 0, scattered = 0;

  mesh_normalise (&mesh);
  workload = workload_new_stage (&shape, &options, &mesh, 0);
  block = workload_layer (workload, 1);
  for (guint k = 0; k < block->n_backward; k++)
    if (block->backward[k].kind == KERNEL_COMMUNICATION
        && block->backward[k].axis == MESH_EXPERT_TENSOR)
      {
        gboolean gathers = block->backward[k].comm == COLLECTIVE_ALL_GATHER;

        *(gathers ? &gathered : &scattered) += block->backward[k].read_bytes;
        ck_assert (!block->backward[k].async);
      }
  ck_assert_double_eq (gathered, 4.0 * 32 * 1024 * 1024);
  ck_assert_double_eq (scattered, 4.0 * 32 * 1024 * 1024);
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_refused_folding)
{
  ModelShape      shape = shipped ("mixtral-8x7b");
  TrainingOptions options = training (4096, 1);
  MeshOptions     mesh = { .tp = 2, .sp = 1, .etp = 1, .ep = 8, .routing_skew = 1 };

  assert_accepted (&shape, options, mesh, 8); /* expert ranks over tensor and data ranks */
  mesh.etp = 3;
  assert_refused (&shape, options, mesh, 8, "'etp' 3 x 'ep' 8 does not divide the 8 ranks");
  assert_refused (&shape, options, mesh, 48, "'etp' of 3 does not divide 'd_expert' of 14336");
  mesh.etp = 1;
  mesh.sp = 0;
  assert_refused (&shape, options, mesh, 8, "'ep' and 'tp' together need sequence parallelism");
  mesh.ep = 1;
  assert_refused (&shape, options, mesh, 8, "'etp' and 'tp' together need sequence parallelism");
  mesh = (MeshOptions){ .etp = 1, .tp = 2, .sp = 1, .pp = 2, .order = (char *) "tp-pp-dp" };
  mesh.routing_skew = 1;
  assert_accepted (&shape, options, mesh, 8);
  mesh.ep = 4;
  assert_refused (&shape, options, mesh, 16, "'tp-pp-dp' has 'pp' inside experts of 4 ranks");
  mesh.order = (char *) "tp-ep-pp-dp";
  assert_refused (&shape, options, mesh, 16,
                  "has stages behind 2 ranks of attention and 4 of experts");
  mesh.order = (char *) "pp-tp-ep-dp";
  assert_refused (&shape, options, mesh, 16, "does not begin with 'tp'");
  mesh.order = (char *) "tp-dp-ep-pp";
  assert_refused (&shape, options, mesh, 16, "has 'dp' before 'ep', which is not modelled");
  model_shape_clear (&shape);
}
END_TEST

/* ---- order of the axes ----------------------------------------------------------------------- */

#define MOST 8

/*
 * Who is with rank RANK, by hand: the ranks of Megatron-Core's RankGenerator are numbered along the
 * axes of `order`, the first fastest.
 */
typedef struct
{
  const char *order;
  gint64      tp, cp, pp, ep, etp;
  guint       world, rank;
  guint       tensor[MOST], context[MOST], data[MOST], stages[MOST], experts[MOST],
      expert_data[MOST]; /* 0 behind the last */
} OrderCase;

static const OrderCase order_cases[] = {
  /* 16 ranks, 2 each: rank = t + 2 (c + 2 (d + 2 p)); 13 = 1 + 2 (0 + 2 (1 + 2)) */
  { "tp-cp-dp-pp",
    2,
    2,
    2,
    1,
    0,
    16,
    13,
    { 12, 13 },
    { 13, 15 },
    { 9, 11, 13, 15 },
    { 5, 13 },
    { 13 },
    { 9, 11, 13, 15 } },
  /* rank = t + 2 (c + 2 (p + 2 d)); 13 is of stage 1, data rank 1 */
  { "tp-cp-pp-dp",
    2,
    2,
    2,
    1,
    0,
    16,
    13,
    { 12, 13 },
    { 13, 15 },
    { 5, 7, 13, 15 },
    { 9, 13 },
    { 13 },
    { 5, 7, 13, 15 } },
  /* with its experts: expert ranks of a stage are its 4 first; as many of attention */
  { "tp-cp-ep-pp-dp",
    2,
    2,
    2,
    2,
    0,
    16,
    13,
    { 12, 13 },
    { 13, 15 },
    { 5, 7, 13, 15 },
    { 9, 13 },
    { 13, 15 },
    { 5, 13 } },
  /* folded: et + 1 (e + 4 (p + 2 d)) */
  { "tp-cp-ep-pp-dp",
    2,
    2,
    2,
    4,
    1,
    16,
    13,
    { 12, 13 },
    { 13, 15 },
    { 5, 7, 13, 15 },
    { 9, 13 },
    { 12, 13, 14, 15 },
    { 5, 13 } },
  { "tp-cp-ep-pp-dp",
    2,
    2,
    2,
    2,
    2,
    16,
    13,
    { 12, 13 },
    { 13, 15 },
    { 5, 7, 13, 15 },
    { 9, 13 },
    { 13, 15 },
    { 5, 13 } },
  /* two sets of folded experts in each run of a stage: every other rank, then 8 on */
  { "tp-cp-pp-dp",
    2,
    2,
    2,
    2,
    1,
    16,
    13,
    { 12, 13 },
    { 13, 15 },
    { 5, 7, 13, 15 },
    { 9, 13 },
    { 12, 13 },
    { 5, 7, 13, 15 } },
  /* folded, Megatron-Core's default: et + 1 (e + 4 (d + 2 p)) */
  { "tp-cp-ep-dp-pp",
    2,
    2,
    2,
    4,
    1,
    16,
    13,
    { 12, 13 },
    { 13, 15 },
    { 9, 11, 13, 15 },
    { 5, 13 },
    { 12, 13, 14, 15 },
    { 9, 13 } },
  /* rank = c + 2 (t + 2 (p + 2 d)); 13 = 1 + 2 (0 + 2 (1 + 2)) */
  { "cp-tp-pp-dp",
    2,
    2,
    2,
    1,
    0,
    16,
    13,
    { 13, 15 },
    { 12, 13 },
    { 4, 5, 12, 13 },
    { 9, 13 },
    { 13 },
    { 4, 5, 12, 13 } },
  /* rank = p + 2 (c + 2 (d + 2 t)); 13 = 1 + 2 (0 + 2 (1 + 2)) */
  { "pp-cp-dp-tp",
    2,
    2,
    2,
    1,
    0,
    16,
    13,
    { 5, 13 },
    { 13, 15 },
    { 9, 11, 13, 15 },
    { 12, 13 },
    { 13 },
    { 9, 11, 13, 15 } },
  /* rank = t + 2 (p + 3 d), 12 ranks: 7 = 1 + 2 (0 + 3) */
  { "tp-pp-dp", 2, 1, 3, 1, 0, 12, 7, { 6, 7 }, { 7 }, { 1, 7 }, { 7, 9, 11 }, { 7 }, { 1, 7 } },
  /* axes of one rank may be left out, or stand anywhere */
  { "dp", 1, 1, 1, 2, 0, 4, 2, { 2 }, { 2 }, { 0, 1, 2, 3 }, { 2 }, { 2, 3 }, { 0, 2 } },
};

static void
assert_members (MeshGroup group, const OrderCase *c, const guint *expected, const char *what)
{
  guint32 members[MOST];
  guint   n = 1;

  while (n < MOST && expected[n] > 0)
    n++;
  ck_assert_msg (group.size == n, "%s: %u of %s, not %u", c->order, group.size, what, n);
  mesh_group_members (group, c->rank, members);
  for (guint i = 0; i < n; i++)
    {
      ck_assert_msg (members[i] == expected[i], "%s: %s, member %u is %u, not %u", c->order, what,
                     i, members[i], expected[i]);
      ck_assert_uint_eq (mesh_group_index (group, members[i]), i);
      ck_assert_uint_eq (mesh_group_member (group, members[i], 0), expected[0]);
    }
}

/* Groups of GROUP are numbered from 0 in the order of their lowest ranks. */
static void
assert_numbers (MeshGroup group, guint world)
{
  guint next = 0;

  for (guint rank = 0; rank < world; rank++)
    if (mesh_group_index (group, rank) == 0)
      {
        ck_assert_uint_eq (mesh_group_number (group, rank), next);
        ck_assert_uint_eq (mesh_group_first (group, next), rank);
        next++;
      }
    else
      ck_assert_uint_eq (mesh_group_first (group, mesh_group_number (group, rank)),
                         mesh_group_member (group, rank, 0));
  ck_assert_uint_eq (next * group.size, world);
}

START_TEST (test_orders)
{
  const OrderCase  *c = &order_cases[_i];
  const MeshOptions options = {
    .tp = c->tp, .cp = c->cp, .pp = c->pp, .ep = c->ep, .etp = c->etp, .order = (char *) c->order
  };
  const Mesh mesh = mesh_of_options (&options, c->world, 8, c->ep > 1);
  const Mesh experts = mesh_of_experts (&mesh);

  assert_members (mesh_tensor (&mesh), c, c->tensor, "tensor ranks");
  assert_members (mesh_context (&mesh, (guint) c->cp), c, c->context, "context ranks");
  assert_members (mesh_all (&mesh), c, c->data, "data and context ranks");
  assert_members (mesh_stages (&mesh), c, c->stages, "stages");
  assert_members (mesh_experts (&mesh), c, c->experts, "expert ranks");
  assert_members (mesh_all (&experts), c, c->expert_data, "expert data ranks");
  assert_numbers (mesh_all (&mesh), c->world);
  assert_numbers (mesh_all (&experts), c->world);
  assert_numbers (mesh_stages (&mesh), c->world);
}
END_TEST

/*
 * Nodes under an order with runs: 2 tensor, 2 context, 2 data ranks and 2 stages, each run of data
 * and context ranks of 4 ranks with the next one 8 on.
 */
START_TEST (test_nodes_of_orders)
{
  const MeshOptions options = {
    .tp = 2, .cp = 2, .pp = 2, .ep = 1, .order = (char *) "tp-cp-pp-dp"
  };
  static const guint nodes[][3] = { /* ranks a node, of a group on it, nodes of a group */
                                    { 2, 1, 4 },
                                    { 4, 2, 2 },
                                    { 8, 2, 2 },
                                    { 16, 4, 1 }
  };

  for (guint i = 0; i < G_N_ELEMENTS (nodes); i++)
    {
      const Mesh mesh = mesh_of_options (&options, 16, nodes[i][0], FALSE);

      ck_assert_uint_eq (mesh_node_ranks (&mesh), nodes[i][1]);
      ck_assert_uint_eq (mesh_n_nodes (&mesh), nodes[i][2]);
      ck_assert (mesh_group_tiles (&mesh, mesh_node (&mesh)));
      ck_assert_uint_eq (mesh_across (&mesh, mesh_node (&mesh)).size * mesh_node (&mesh).size, 4);
    }
}
END_TEST

START_TEST (test_refused_orders)
{
  static const char *const cases[][2] = {
    { "tp-cp-dp", "'order' of 'tp-cp-dp' lacks 'pp', of which there are 2 ranks" },
    { "tp-cp-dp-pp-tp", "has 'tp' twice" },
    { "tp-xp-dp-pp", "has no axis 'xp'" },
    { "tp-cp--dp-pp", "has no axis ''" },
    { "tp-dp-cp-pp", "has 'dp' before 'cp', which is not modelled" },
  };
  ModelShape      shape = arch ("gpt", 12, 64, 8, 0, 100);
  TrainingOptions options = training (16, 1);
  MeshOptions     mesh = { .tp = 2, .cp = 2, .pp = 2, .routing_skew = 1 };

  options.attention = ATTENTION_FLASH2;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      mesh.order = (char *) cases[i][0];
      assert_refused (&shape, options, mesh, 16, cases[i][1]);
    }
  mesh.order = (char *) "tp-cp-pp-dp";
  assert_accepted (&shape, options, mesh, 16);
  model_shape_clear (&shape);
}
END_TEST

/* Groups of micro-batches keep every stage at work; a smaller one can only be alone. */
START_TEST (test_groups)
{
  ModelShape      shape = arch ("gpt", 12, 64, 8, 0, 100);
  TrainingOptions options = training (16, 1);
  MeshOptions     mesh = mesh_of (1, 3, 2, PIPELINE_AUTO);

  options.grad_accum = 8;
  mesh.micro_batch_group = 5; /* 5 and 3 */
  assert_accepted (&shape, options, mesh, 3);
  mesh.micro_batch_group = 8;
  assert_accepted (&shape, options, mesh, 3);
  mesh.micro_batch_group = 6;
  assert_refused (&shape, options, mesh, 3, "leaves a last group of 2 micro-steps");
  mesh.micro_batch_group = 9;
  assert_refused (&shape, options, mesh, 3, "'micro_batch_group' of 9 is above 'grad_accum' of 8");
  mesh.micro_batch_group = 2;
  assert_refused (&shape, options, mesh, 3,
                  "'micro_batch_group' of 2 leaves 3 stages without work");
  options.grad_accum = 2;
  assert_accepted (&shape, options, mesh, 3);
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_refused_pipelines)
{
  ModelShape      shape = arch ("gpt", 12, 64, 8, 0, 100);
  TrainingOptions options = training (16, 1);

  options.grad_accum = 7;
  assert_refused (&shape, options, mesh_of (1, 13, 1, PIPELINE_AUTO), 13,
                  "12 blocks are too few for 13");
  assert_accepted (&shape, options, mesh_of (1, 7, 2, PIPELINE_AUTO), 7);
  options.grad_accum = 5;
  assert_refused (&shape, options, mesh_of (1, 5, 3, PIPELINE_AUTO), 5,
                  "12 blocks are too few for 15");
  options.grad_accum = 7;
  assert_refused (&shape, options, mesh_of (1, 2, 2, PIPELINE_AUTO), 2,
                  "'pp' of 2 does not divide 'grad_accum' of 7");
  assert_refused (&shape, options, mesh_of (1, 2, 2, PIPELINE_1F1B), 2,
                  "'vp' of 2 has no meaning for pipeline '1f1b'");
  assert_refused (&shape, options, mesh_of (1, 2, 1, PIPELINE_INTERLEAVED), 2,
                  "at least two chunks");
  assert_refused (&shape, options, mesh_of (1, 8, 1, PIPELINE_ZB_H1), 8,
                  "pipeline 'zb-h1' of 8 stages needs more micro-steps than 7");
  assert_refused (&shape, options, mesh_of (1, 5, 1, PIPELINE_ZB_H2), 5,
                  "pipeline 'zb-h2' of 5 stages needs more micro-steps than 7");
  assert_refused (&shape, options, mesh_of (1, 3, 1, PIPELINE_DUALPIPE), 3,
                  "needs an even 'pp', got 3");
  assert_refused (&shape, options, mesh_of (1, 4, 1, PIPELINE_DUALPIPE), 4,
                  "needs an even 'grad_accum', got 7");
  assert_refused (&shape, options, mesh_of (1, 4, 1, PIPELINE_DUALPIPE), 4,
                  "give 'grad_accum' of at least 8");
  assert_accepted (&shape, options, mesh_of (1, 4, 1, PIPELINE_ZB_H2), 4);
  model_shape_clear (&shape);
}
END_TEST

/* One pass names all: degrees, heads, layers and the schedule. */
START_TEST (test_all_at_once)
{
  ModelShape      shape = arch ("gpt", 2, 64, 8, 0, 100);
  TrainingOptions options = training (15, 1);
  MeshOptions     mesh = {
        .tp = 3, .cp = 2, .pp = 4, .ep = 2, .routing_skew = 1, .pipeline = PIPELINE_ZBV
  };
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert (!mesh_check (&shape, &options, &mesh, 100, NULL, diags));
  /* ranks; heads, kv heads, d_ff; ep; seq_len by 2 cp; blocks; micro-steps */
  ck_assert_uint_eq (diag_list_n_errors (diags), 8);
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (mesh)
{
  TCase *tcase = tcase_create ("mesh");

  tcase_add_test (tcase, test_chunks);
  tcase_add_test (tcase, test_cut_by_cost);
  tcase_add_test (tcase, test_listed);
  tcase_add_test (tcase, test_refused_lists);
  tcase_add_test (tcase, test_stages_make_the_model);
  tcase_add_test (tcase, test_refused_degrees);
  tcase_add_test (tcase, test_refused_experts);
  tcase_add_test (tcase, test_refused_overlap);
  tcase_add_test (tcase, test_refused_shared_overlap);
  tcase_add_test (tcase, test_no_shared_experts);
  tcase_add_test (tcase, test_folded_groups);
  tcase_add_test (tcase, test_folded_layers);
  tcase_add_test (tcase, test_folded_backward);
  tcase_add_test (tcase, test_refused_folding);
  tcase_add_loop_test (tcase, test_orders, 0, G_N_ELEMENTS (order_cases));
  tcase_add_test (tcase, test_nodes_of_orders);
  tcase_add_test (tcase, test_refused_orders);
  tcase_add_test (tcase, test_groups);
  tcase_add_test (tcase, test_refused_pipelines);
  tcase_add_test (tcase, test_all_at_once);
  return run_case ("mesh", tcase);
}
