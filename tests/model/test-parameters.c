/*
 * Parameter counts of the shipped models, to the parameter, from the published shapes by arithmetic
 * written out here, and against the published totals; shapes and order of tensors. What each total
 * counts is in docs/models.md. It does not compare with checkpoints.
 */
#include "../suite.h"
#include "fixture.h"

typedef struct
{
  const char *name;
  guint64     exact;     /* by the arithmetic beside it */
  double      published; /* in units of 1e9 */
} Total;

static const Total totals[] = {
  /* 48 (12 h^2 + 13 h) + (50257 + 1024) h + 2 h, h = 1600 */
  { "gpt2-xl", 48UL * (12UL * 2560000UL + 13UL * 1600UL) + (50257UL + 1024UL) * 1600UL + 3200UL,
    1.5576 },
  /* layer: 4 h^2 + 3 h 11008 + 2 h */
  { "llama-2-7b",
    32UL * (4UL * 16777216UL + 3UL * 4096UL * 11008UL + 8192UL) + 2UL * 32000UL * 4096UL + 4096UL,
    6.7384 },
  /* layer: 2 h^2 + 2 h 1024 + 3 h 14336 + 2 h */
  { "llama-3-8b",
    32UL * (2UL * 16777216UL + 2UL * 4096UL * 1024UL + 3UL * 4096UL * 14336UL + 8192UL)
        + 2UL * 128256UL * 4096UL + 4096UL,
    8.0303 },
  { "llama-3-70b",
    80UL * (2UL * 67108864UL + 2UL * 8192UL * 1024UL + 3UL * 8192UL * 28672UL + 16384UL)
        + 2UL * 128256UL * 8192UL + 8192UL,
    70.5537 },
  { "llama-3.1-405b",
    126UL * (2UL * 268435456UL + 2UL * 16384UL * 1024UL + 3UL * 16384UL * 53248UL + 32768UL)
        + 2UL * 128256UL * 16384UL + 16384UL,
    405.853 },
  /* eight experts and a router of 8 h */
  { "mixtral-8x7b",
    32UL
            * (2UL * 16777216UL + 2UL * 4096UL * 1024UL + 8UL * 3UL * 4096UL * 14336UL
               + 8UL * 4096UL + 8192UL)
        + 2UL * 32000UL * 4096UL + 4096UL,
    46.7028 },
  /* heads wider than the model: q and o 2048 x 4096, k and v 2048 x 512, two norms of 128 */
  { "qwen3-30b-a3b",
    48UL
            * (2UL * 2048UL * 4096UL + 2UL * 2048UL * 512UL + 256UL + 128UL * 3UL * 2048UL * 768UL
               + 128UL * 2048UL + 4096UL)
        + 2UL * 151936UL * 2048UL + 2048UL,
    30.5321 },
  /*
   * attention: q 7168 x 1536 and 1536 x 24576 with a norm, kv 7168 x 576 and 512 x 32768 with a
   * norm, o 16384 x 7168; three dense layers; 58 with 256 + 1 experts and a router with its
   * correction biases; no MTP layer
   */
  { "deepseek-v3",
    61UL
            * (7168UL * 1536UL + 1536UL + 1536UL * 24576UL + 7168UL * 576UL + 512UL
               + 512UL * 32768UL + 16384UL * 7168UL + 14336UL)
        + 3UL * (3UL * 7168UL * 18432UL)
        + 58UL * (257UL * 3UL * 7168UL * 2048UL + 256UL * 7168UL + 256UL) + 2UL * 129280UL * 7168UL
        + 7168UL,
    671.03 },
  /* biases on q, k, v, o, router and experts; 64 sinks; gate and up in one tensor; untied head */
  { "gpt-oss-120b",
    36UL
            * (2880UL * 4096UL + 4096UL + 2UL * (2880UL * 512UL + 512UL) + 4096UL * 2880UL + 2880UL
               + 64UL + 128UL * 2880UL + 128UL
               + 128UL * (2880UL * 5760UL + 5760UL + 2880UL * 2880UL + 2880UL) + 5760UL)
        + 2UL * 201088UL * 2880UL + 2880UL,
    116.83 },
  { "mistral-7b",
    32UL * (2UL * 16777216UL + 2UL * 4096UL * 1024UL + 3UL * 4096UL * 14336UL + 8192UL)
        + 2UL * 32000UL * 4096UL + 4096UL,
    7.2417 },
  /* biases on q (3584), k and v (512 each) */
  { "qwen2-7b",
    28UL
            * (2UL * 3584UL * 3584UL + 2UL * 3584UL * 512UL + 3584UL + 1024UL
               + 3UL * 3584UL * 18944UL + 7168UL)
        + 2UL * 152064UL * 3584UL + 3584UL,
    7.6156 },
  /* 2050 positions; no projection of the embedding */
  { "opt-1.3b", 24UL * (12UL * 4194304UL + 13UL * 2048UL) + (50272UL + 2050UL) * 2048UL + 4096UL,
    1.3158 },
  { "opt-2.7b",
    32UL * (12UL * 2560UL * 2560UL + 13UL * 2560UL) + (50272UL + 2050UL) * 2560UL + 5120UL,
    2.6516 },
  { "opt-6.7b",
    32UL * (12UL * 4096UL * 4096UL + 13UL * 4096UL) + (50272UL + 2050UL) * 4096UL + 8192UL,
    6.6585 },
  { "opt-13b",
    40UL * (12UL * 5120UL * 5120UL + 13UL * 5120UL) + (50272UL + 2050UL) * 5120UL + 10240UL,
    12.853 },
  { "opt-30b",
    48UL * (12UL * 7168UL * 7168UL + 13UL * 7168UL) + (50272UL + 2050UL) * 7168UL + 14336UL,
    29.975 },
  { "opt-66b",
    64UL * (12UL * 9216UL * 9216UL + 13UL * 9216UL) + (50272UL + 2050UL) * 9216UL + 18432UL,
    65.72 },
  { "opt-175b",
    96UL * (12UL * 12288UL * 12288UL + 13UL * 12288UL) + (50272UL + 2050UL) * 12288UL + 24576UL,
    174.6 },
  /* 50 layers of 4096: the name says 10e9, the shape is exact */
  { "gpt-10b",
    50UL * (12UL * 16777216UL + 13UL * 4096UL) + (2 * 50257UL + 2048UL) * 4096UL + 8192UL,
    10.4891 },
  /* checkpoints of the Hub: what their safetensors hold, without towers and further-token layers */
  { "llama-2-13b", 13015864320UL, 13.0159 },
  { "llama-2-70b", 68976648192UL, 68.9766 },
  { "llama-3.1-8b", 8030261248UL, 8.0303 },
  { "llama-3.1-70b", 70553706496UL, 70.5537 },
  { "llama-3.2-1b", 1235814400UL, 1.2358 },
  { "llama-3.2-3b", 3212749824UL, 3.2127 },
  { "tinyllama-1.1b", 1100048384UL, 1.1000 },
  { "smollm2-135m", 134515008UL, 0.1345 },
  { "smollm2-360m", 361821120UL, 0.3618 },
  { "smollm2-1.7b", 1711376384UL, 1.7114 },
  { "qwen2.5-0.5b", 494032768UL, 0.4940 },
  { "qwen2.5-1.5b", 1543714304UL, 1.5437 },
  { "qwen2.5-3b", 3085938688UL, 3.0859 },
  { "qwen2.5-7b", 7615616512UL, 7.6156 },
  { "qwen2.5-14b", 14770033664UL, 14.7700 },
  { "qwen2.5-32b", 32763876352UL, 32.7639 },
  { "qwen2.5-72b", 72706203648UL, 72.7062 },
  { "qwen3-0.6b", 596049920UL, 0.5960 },
  { "qwen3-1.7b", 1720574976UL, 1.7206 },
  { "qwen3-4b", 4022468096UL, 4.0225 },
  { "qwen3-8b", 8190735360UL, 8.1907 },
  { "qwen3-14b", 14768307200UL, 14.7683 },
  { "qwen3-32b", 32762123264UL, 32.7621 },
  { "qwen3-235b-a22b", 235093634560UL, 235.0936 },
  { "mistral-7b-v0.3", 7248023552UL, 7.2480 },
  { "mistral-nemo-12b", 12247782400UL, 12.2478 },
  { "mistral-small-24b", 23572403200UL, 23.5724 },
  { "mixtral-8x22b", 140620634112UL, 140.6206 },
  { "gemma-2-2b", 2614341888UL, 2.6143 },
  { "gemma-2-9b", 9241705984UL, 9.2417 },
  { "gemma-2-27b", 27227128320UL, 27.2271 },
  { "gemma-3-1b", 999885952UL, 0.9999 },
  { "gemma-3-4b", 3880263168UL, 3.8803 },
  { "gemma-3-12b", 11766034176UL, 11.7660 },
  { "gemma-3-27b", 27009346304UL, 27.0093 },
  { "phi-3-mini", 3821079552UL, 3.8211 },
  { "phi-4", 14659507200UL, 14.6595 },
  { "phi-4-mini", 3836021760UL, 3.8360 },
  { "deepseek-v2-lite", 15706484224UL, 15.7065 },
  { "kimi-k2", 1026408232448UL, 1026.4082 },
  { "gpt-oss-20b", 20914757184UL, 20.9148 },
  { "glm-4.5-air", 106852251264UL, 106.8523 },
  { "glm-4.5", 352797829024UL, 352.7978 },
  { "olmo-2-1b", 1484916736UL, 1.4849 },
  { "olmo-2-7b", 7298617344UL, 7.2986 },
  { "olmo-2-13b", 13716198400UL, 13.7162 },
  { "olmo-2-32b", 32234279936UL, 32.2343 },
  { "smollm3-3b", 3075098624UL, 3.0751 },
  { "llama-4-scout-17b-16e", 107769861120UL, 107.7699 },
  { "llama-4-maverick-17b-128e", 400711848960UL, 400.7118 },
  { "falcon-7b", 6921720704UL, 6.9217 },
  { "falcon-40b", 41303293952UL, 41.3033 },
  { "gpt-neox-20b", 20554567680UL, 20.5546 },
  { "bloom-176b", 176247271424UL, 176.2473 },
  { "minimax-m2", 228689764864UL, 228.6898 },
  /*
   * 28 Mamba blocks: in 2 h d, taps and bias 5 d, to steps, B, C (256 + 32) d, steps 257 d, decays
   * and weight 17 d, norms 256 + 32, out; 4 of attention; 16 MLPs, 16 x 16 experts and routers;
   * d = 2 h
   */
  { "jamba-v0.1",
    28UL * (3UL * 4096UL * 8192UL + 8192UL * (5UL + 288UL + 257UL + 17UL) + 288UL)
        + 4UL * (2UL * 4096UL * 4096UL + 2UL * 4096UL * 1024UL)
        + (16UL + 16UL * 16UL) * 3UL * 4096UL * 14336UL + 16UL * 16UL * 4096UL + 65UL * 4096UL
        + 2UL * 65536UL * 4096UL,
    51.5703 },
  { "jamba-1.5-large",
    63UL * (3UL * 8192UL * 16384UL + 16384UL * (5UL + 544UL + 513UL + 17UL) + 544UL)
        + 9UL * (2UL * 8192UL * 8192UL + 2UL * 8192UL * 1024UL)
        + (36UL + 36UL * 16UL) * 3UL * 8192UL * 24576UL + 36UL * 16UL * 8192UL + 145UL * 8192UL
        + 2UL * 65536UL * 8192UL,
    398.555 },
  { "falcon-mamba-7b", 7272665088UL, 7.2727 },
  { "falcon-h1-0.5b", 521411104UL, 0.5214 },
  { "falcon-h1-7b",
    44UL
            * (3072UL * (6144UL + 512UL + 24UL) + 5UL * 3584UL + 72UL + 3072UL * 3072UL
               + 3072UL * 2UL * (1536UL + 256UL) + 3UL * 3072UL * 12288UL + 6144UL)
        + 3072UL + 2UL * 130048UL * 3072UL,
    7.5855 },
  { "codellama-7b", 6738546688UL, 6.7385 },
  { "codellama-13b", 13016028160UL, 13.0160 },
  { "codellama-34b", 33743970304UL, 33.7440 },
  { "open-llama-3b", 3426473600UL, 3.4265 },
  { "mpt-7b", 6649286656UL, 6.6493 },
  { "mpt-30b", 29957200896UL, 29.9572 },
  { "bloom-560m", 559214592UL, 0.5592 },
  { "bloom-7b1", 7069016064UL, 7.0690 },
  { "gpt2", 124439808UL, 0.1244 },
};

START_TEST (test_totals)
{
  ModelShape           shape = shipped (totals[_i].name);
  TrainingOptions      options = training (1024, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);

  ck_assert_uint_eq (workload_n_parameters (workload), totals[_i].exact);
  assert_close (workload_n_parameters (workload), totals[_i].published * 1e9, 1e-3);
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_every_shipped_model_is_tested)
{
  g_auto (GStrv) names = model_list_shipped ();

  ck_assert_uint_eq (g_strv_length (names), G_N_ELEMENTS (totals));
  for (guint i = 0; i < G_N_ELEMENTS (totals); i++)
    ck_assert (g_strv_contains ((const char *const *) names, totals[i].name));
  for (guint i = 1; names[i] != NULL; i++)
    ck_assert_str_lt (names[i - 1], names[i]);
}
END_TEST

static guint64
active_parameters (const char *name, guint64 *embedding)
{
  ModelShape           shape = shipped (name);
  TrainingOptions      options = training (1024, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  guint64              active = workload_n_active_parameters (workload);

  *embedding = workload_layer (workload, 0)->elements;
  model_shape_clear (&shape);
  return active;
}

/*
 * Published: 12.9e9, 3.3e9, 37e9 with embeddings; gpt-oss 5.13e9 with the head and without the
 * embedding.
 */
START_TEST (test_active_parameters)
{
  guint64 embedding;

  ck_assert_uint_eq (active_parameters ("mixtral-8x7b", &embedding),
                     32UL
                             * (2UL * 16777216UL + 2UL * 4096UL * 1024UL
                                + 2UL * 3UL * 4096UL * 14336UL + 8UL * 4096UL + 8192UL)
                         + 2UL * 32000UL * 4096UL + 4096UL);
  assert_close (active_parameters ("mixtral-8x7b", &embedding), 12.9e9, 2e-3);
  assert_close (active_parameters ("qwen3-30b-a3b", &embedding), 3.35e9, 1e-3);
  assert_close (active_parameters ("deepseek-v3", &embedding), 37.55e9, 1e-3);
  ck_assert_uint_eq (
      active_parameters ("gpt-oss-120b", &embedding) - 201088UL * 2880UL,
      36UL
              * (2880UL * 4096UL + 4096UL + 2UL * (2880UL * 512UL + 512UL) + 4096UL * 2880UL
                 + 2880UL + 64UL + 128UL * 2880UL + 128UL
                 + 4UL * (2880UL * 5760UL + 5760UL + 2880UL * 2880UL + 2880UL) + 5760UL)
          + 201088UL * 2880UL + 2880UL);
  ck_assert_uint_eq (embedding, 201088UL * 2880UL);
  assert_close (active_parameters ("gpt-oss-120b", &embedding) - embedding, 5.13e9, 1e-3);
}
END_TEST

/* Shapes of the catalogue: BLOOM-176B has 176 247 271 424 parameters, MPT-7B 6 649 286 656. */
START_TEST (test_architectures)
{
  TrainingOptions options = training (2048, 1);
  ModelShape      bloom = arch ("bloom", 70, 14336, 112, 0, 250880),
             mpt = arch ("mpt", 32, 4096, 32, 0, 50432);
  ModelShape gpt = arch ("gpt", 2, 64, 4, 0, 100), llama = arch ("llama", 2, 64, 4, 100, 100);

  g_autoptr (Workload) w_bloom = workload_new (&bloom, &options),
                       w_mpt = workload_new (&mpt, &options);
  g_autoptr (Workload) w_gpt = workload_new (&gpt, &options),
                       w_llama = workload_new (&llama, &options);
  ck_assert_uint_eq (workload_n_parameters (w_bloom), 176247271424UL);
  ck_assert_uint_eq (workload_n_parameters (w_mpt), 6649286656UL);
  /* positions as long as the sequence where the table's length is not given */
  ck_assert_uint_eq (workload_n_parameters (w_gpt),
                     2UL * (12UL * 4096UL + 13UL * 64UL) + (100UL + 2048UL) * 64UL + 128UL);
  ck_assert_uint_eq (workload_n_parameters (w_llama),
                     2UL * (4UL * 4096UL + 3UL * 64UL * 100UL + 128UL) + 2UL * 100UL * 64UL + 64UL);
  model_shape_clear (&bloom);
  model_shape_clear (&mpt);
  model_shape_clear (&gpt);
  model_shape_clear (&llama);
}
END_TEST

typedef struct
{
  const char *model, *tensor;
  guint       layer, n_dims;
  guint64     shape[3];
  gboolean    expert;
} Expected;

static const Expected tensors[] = {
  { "gpt2-xl", "wpe.weight", 0, 2, { 1024, 1600 }, FALSE },
  { "gpt2-xl", "attn.c_attn.weight", 1, 2, { 1600, 4800 }, FALSE }, /* stored in x out */
  { "gpt2-xl", "mlp.c_proj.bias", 1, 1, { 1600 }, FALSE },
  { "llama-3-8b", "self_attn.k_proj.weight", 1, 2, { 1024, 4096 }, FALSE },
  { "llama-3-8b", "lm_head.weight", 33, 2, { 128256, 4096 }, FALSE },
  { "qwen2-7b", "self_attn.v_proj.bias", 1, 1, { 512 }, FALSE },
  { "qwen3-30b-a3b", "self_attn.q_norm.weight", 1, 1, { 128 }, FALSE },
  { "qwen3-30b-a3b", "mlp.experts.up_proj", 1, 3, { 128, 768, 2048 }, TRUE },
  { "mixtral-8x7b", "block_sparse_moe.experts.w2", 1, 3, { 8, 4096, 14336 }, TRUE },
  { "deepseek-v3", "mlp.up_proj.weight", 3, 2, { 18432, 7168 }, FALSE }, /* the last dense layer */
  { "deepseek-v3", "mlp.experts.down_proj", 4, 3, { 256, 7168, 2048 }, TRUE },
  { "deepseek-v3", "mlp.shared_experts.up_proj.weight", 4, 2, { 2048, 7168 }, FALSE },
  { "deepseek-v3", "self_attn.kv_a_proj_with_mqa.weight", 4, 2, { 576, 7168 }, FALSE },
  { "gpt-oss-120b", "mlp.experts.gate_up_proj", 1, 3, { 128, 2880, 5760 }, TRUE },
  { "gpt-oss-120b", "mlp.experts.down_proj_bias", 1, 2, { 128, 2880 }, TRUE },
  { "gpt-oss-120b", "self_attn.sinks", 1, 1, { 64 }, FALSE },
  { "opt-1.3b", "fc1.weight", 1, 2, { 8192, 2048 }, FALSE },
};

static const TensorDesc *
find_tensor (const LayerDesc *layer, const char *name)
{
  for (guint i = 0; i < layer->n_tensors; i++)
    if (strcmp (layer->tensors[i].name, name) == 0)
      return &layer->tensors[i];
  ck_abort_msg ("no tensor '%s'", name);
}

START_TEST (test_tensor_shapes)
{
  const Expected      *expected = &tensors[_i];
  ModelShape           shape = shipped (expected->model);
  TrainingOptions      options = training (1024, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);
  const TensorDesc    *tensor =
      find_tensor (workload_layer (workload, expected->layer), expected->tensor);

  ck_assert_uint_eq (tensor->n_dims, expected->n_dims);
  for (guint i = 0; i < tensor->n_dims; i++)
    ck_assert_uint_eq (tensor->shape[i], expected->shape[i]);
  ck_assert_int_eq (tensor->expert, expected->expert);
  model_shape_clear (&shape);
}
END_TEST

/*
 * With a tensor of each expert the same parameters, as linear layers: expert by expert, outputs
 * first, a bias behind its weight. Kernels and memory of activations are the same.
 */
START_TEST (test_expert_tensors)
{
  static const char *const first[] = { "mlp.experts.0.gate_up_proj.weight",
                                       "mlp.experts.0.gate_up_proj.bias",
                                       "mlp.experts.0.down_proj.weight",
                                       "mlp.experts.0.down_proj.bias",
                                       "mlp.experts.1.gate_up_proj.weight" };
  ModelShape               shape = shipped ("gpt-oss-120b");
  TrainingOptions          options = training (1024, 1);
  g_autoptr (Workload)     stacked = workload_new (&shape, &options), each = NULL;
  const LayerDesc         *one, *other;
  const TensorDesc        *tensor;

  options.expert_tensors = EXPERT_TENSORS_EACH;
  each = workload_new (&shape, &options);
  one = workload_layer (stacked, 1);
  other = workload_layer (each, 1);
  ck_assert_uint_eq (other->elements, one->elements);
  ck_assert_uint_eq (other->active_elements, one->active_elements);
  ck_assert_uint_eq (other->saved_bytes, one->saved_bytes);
  ck_assert_uint_eq (other->n_forward, one->n_forward);
  ck_assert_uint_eq (other->n_tensors, one->n_tensors + 128 * 4 - 4);
  tensor = find_tensor (other, first[0]);
  for (guint i = 0; i < G_N_ELEMENTS (first); i++)
    ck_assert_str_eq (tensor[i].name, first[i]);
  ck_assert_uint_eq (tensor->n_dims, 2);
  ck_assert_uint_eq (tensor->shape[0], 2 * 2880);
  ck_assert_uint_eq (tensor->shape[1], 2880);
  ck_assert_uint_eq (tensor[1].n_dims, 1);
  ck_assert (tensor->expert && !tensor->stacked);
  tensor = find_tensor (one, "mlp.experts.gate_up_proj");
  ck_assert (tensor->expert && tensor->stacked);
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_modules_in_forward_order)
{
  static const char *const expected[] = { "input_layernorm",  "self_attn.q_proj",
                                          "self_attn.k_proj", "self_attn.v_proj",
                                          "self_attn.o_proj", "post_attention_layernorm",
                                          "mlp.gate_proj",    "mlp.up_proj",
                                          "mlp.down_proj" };
  ModelShape               shape = shipped ("llama-3-8b");
  TrainingOptions          options = training (1024, 1);
  g_autoptr (Workload)     workload = workload_new (&shape, &options);
  const LayerDesc         *layer = workload_layer (workload, 1);

  ck_assert_uint_eq (layer->n_modules, G_N_ELEMENTS (expected));
  for (guint i = 0; i < layer->n_modules; i++)
    ck_assert_str_eq (layer->modules[i].name, expected[i]);
  ck_assert_uint_eq (workload_n_layers (workload), 34);
  ck_assert_ptr_eq (layer, workload_layer (workload, 32)); /* equal layers are one */
  ck_assert_ptr_ne (layer, workload_layer (workload, 33));
  model_shape_clear (&shape);
}
END_TEST

/*
 * Every module's tensors are its own and add up; every module's parameters are read by some forward
 * kernel.
 */
START_TEST (test_modules_are_consistent)
{
  ModelShape           shape = shipped (totals[_i].name);
  TrainingOptions      options = training (1024, 1);
  g_autoptr (Workload) workload = workload_new (&shape, &options);

  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);
      guint64          sum = 0;
      guint            next = 0;

      for (guint j = 0; j < layer->n_modules; j++)
        {
          const ModuleDesc *module = &layer->modules[j];
          guint64           elements = 0;
          gboolean          read = FALSE;

          ck_assert_uint_eq (module->first_tensor, next);
          for (guint k = 0; k < module->n_tensors; k++, next++)
            {
              ck_assert_uint_eq (layer->tensors[next].module, j);
              elements += layer->tensors[next].elements;
            }
          ck_assert_uint_eq (module->elements, elements);
          sum += elements;
          for (guint k = 0; k < layer->n_forward; k++)
            read |= layer->forward[k].module == (gint) j;
          ck_assert_msg (read, "%s: no kernel reads '%s'", shape.name, module->name);
        }
      ck_assert_uint_eq (next, layer->n_tensors);
      ck_assert_uint_eq (layer->elements, sum);
    }
  model_shape_clear (&shape);
}
END_TEST

START_TEST (test_tied_head)
{
  ModelShape           tied = shipped ("gpt2-xl"), untied = shipped ("llama-3-8b");
  TrainingOptions      options = training (1024, 1);
  g_autoptr (Workload) w_tied = workload_new (&tied, &options),
                       w_untied = workload_new (&untied, &options);
  const LayerDesc *head = workload_layer (w_tied, workload_n_layers (w_tied) - 1);

  ck_assert (head->reads_table);
  ck_assert_uint_eq (head->elements, 3200); /* the final norm */
  ck_assert (!workload_layer (w_untied, workload_n_layers (w_untied) - 1)->reads_table);
  model_shape_clear (&tied);
  model_shape_clear (&untied);
}
END_TEST

SUITE_MAIN (parameters)
{
  TCase *tcase = tcase_create ("parameters");

  tcase_add_loop_test (tcase, test_totals, 0, G_N_ELEMENTS (totals));
  tcase_add_test (tcase, test_every_shipped_model_is_tested);
  tcase_add_test (tcase, test_active_parameters);
  tcase_add_test (tcase, test_architectures);
  tcase_add_loop_test (tcase, test_tensor_shapes, 0, G_N_ELEMENTS (tensors));
  tcase_add_test (tcase, test_expert_tensors);
  tcase_add_test (tcase, test_modules_in_forward_order);
  tcase_add_loop_test (tcase, test_modules_are_consistent, 0, G_N_ELEMENTS (totals));
  tcase_add_test (tcase, test_tied_head);
  return run_case ("parameters", tcase);
}
