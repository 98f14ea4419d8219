/*
 * Optimizers: bytes of their passes, states and FLOPs, by arithmetic done by hand for a thousand
 * elements or one matrix; which tensors those of matrices take, and what is said of options and
 * names that fit none. What ranks send each other is tested in driver and strategy.
 */
#include "../suite.h"
#include "model/optimizer/optimizer.h"

#include "fixture.h"

static TrainingOptions
options_of (gint optimizer)
{
  TrainingOptions options = training (64, 1);

  options.optimizer = optimizer;
  options.moment_dtype = ROLE_AUTO;
  return options;
}

typedef struct
{
  const char  *name;
  guint        launches;
  double       read, written; /* bytes */
  OptimizerSum sum;
} Expected;

#define MOST 8

typedef struct
{
  gint     optimizer;
  guint    master, gradient, parameter; /* bytes an element */
  gint     moments;                     /* Dtype */
  gboolean clip;
  Expected passes[MOST]; /* of a thousand elements */
} PassCase;

static const PassCase pass_cases[] = {
  { OPTIMIZER_ADAMW_FUSED,
    4,
    4,
    0,
    ROLE_AUTO,
    FALSE,
    { { "optimizer.adamw", 1, 16000, 12000, SUM_NOTHING } } },
  /* bf16 gradients, a bf16 copy of the parameters */
  { OPTIMIZER_ADAMW_FUSED,
    4,
    2,
    2,
    ROLE_AUTO,
    FALSE,
    { { "optimizer.adamw", 1, 14000, 14000, SUM_NOTHING } } },
  { OPTIMIZER_ADAMW,
    4,
    4,
    2,
    ROLE_AUTO,
    TRUE,
    { { "optimizer.grad_norm", 2, 4000, 0, SUM_GRADIENT },
      { "optimizer.clip", 1, 4000, 4000, SUM_NOTHING },
      { "optimizer.adamw", 8, 48000, 32000, SUM_NOTHING },
      { "optimizer.cast_parameters", 1, 4000, 2000, SUM_NOTHING } } },
  { OPTIMIZER_SGD, 4, 4, 0, ROLE_AUTO, FALSE, { { "optimizer.sgd", 1, 8000, 4000, SUM_NOTHING } } },
  /* bf16 moments: 4 + 2 x 2 + 4 read, 4 + 2 x 2 written; by lists 2 x 4 + 8 x 2 + 2 x 4, 8 + 12 */
  { OPTIMIZER_ADAMW_FUSED,
    4,
    4,
    0,
    DTYPE_BF16,
    FALSE,
    { { "optimizer.adamw", 1, 12000, 8000, SUM_NOTHING } } },
  { OPTIMIZER_ADAMW,
    4,
    4,
    0,
    DTYPE_BF16,
    FALSE,
    { { "optimizer.adamw", 8, 32000, 20000, SUM_NOTHING } } },
  /* 4 of the weight, 4 of the gradient, two bytes of moments, each way but for the gradient */
  { OPTIMIZER_ADAMW_8BIT,
    4,
    4,
    0,
    ROLE_AUTO,
    FALSE,
    { { "optimizer.adamw_8bit", 1, 10000, 6000, SUM_NOTHING } } },
  { OPTIMIZER_SGD_MOMENTUM,
    4,
    4,
    0,
    ROLE_AUTO,
    FALSE,
    { { "optimizer.sgd_momentum", 1, 12000, 8000, SUM_NOTHING } } },
  { OPTIMIZER_LAMB,
    4,
    4,
    0,
    ROLE_AUTO,
    FALSE,
    { { "optimizer.lamb_moments", 1, 16000, 12000, SUM_NOTHING },
      { "optimizer.lamb_norms", 2, 8000, 0, SUM_TENSORS },
      { "optimizer.lamb", 1, 8000, 4000, SUM_NOTHING } } },
  { OPTIMIZER_ADAFACTOR,
    4,
    2,
    2,
    ROLE_AUTO,
    FALSE,
    { { "optimizer.adafactor_means", 2, 2000, 0, SUM_COLUMNS },
      { "optimizer.adafactor_update", 1, 2000, 4000, SUM_NOTHING },
      { "optimizer.adafactor_norms", 2, 8000, 0, SUM_TENSORS },
      { "optimizer.adafactor", 1, 8000, 4000, SUM_NOTHING },
      { "optimizer.cast_parameters", 1, 4000, 2000, SUM_NOTHING } } },
  { OPTIMIZER_MUON,
    4,
    4,
    0,
    ROLE_AUTO,
    FALSE,
    { { "optimizer.adamw", 1, 16000, 12000, SUM_NOTHING } } },
  { OPTIMIZER_NONE, 4, 4, 2, ROLE_AUTO, TRUE, { { 0 } } },
};

START_TEST (test_passes)
{
  const PassCase    *c = &pass_cases[_i];
  TrainingOptions    options = options_of (c->optimizer);
  g_autoptr (GArray) passes = g_array_new (FALSE, FALSE, sizeof (OptimizerPass));
  guint              n = 0;

  options.moment_dtype = c->moments;
  options.clip_gradients = c->clip;
  optimizer_passes (&options, &(OptimizerShare){ 1000, 1000, c->master, c->gradient, c->parameter },
                    passes);
  while (n < MOST && c->passes[n].name != NULL)
    n++;
  ck_assert_uint_eq (passes->len, n);
  for (guint i = 0; i < n; i++)
    {
      const OptimizerPass *pass = &g_array_index (passes, OptimizerPass, i);

      ck_assert_str_eq (pass->kernel.name, c->passes[i].name);
      ck_assert_uint_eq (pass->kernel.launches, c->passes[i].launches);
      ck_assert_double_eq (pass->kernel.read_bytes, c->passes[i].read);
      ck_assert_double_eq (pass->kernel.write_bytes, c->passes[i].written);
      ck_assert_int_eq (pass->sum, c->passes[i].sum);
    }
}
END_TEST

/* Clipping passes over everything, the update over what is left to it. */
START_TEST (test_alone)
{
  TrainingOptions    options = options_of (OPTIMIZER_MUON);
  g_autoptr (GArray) passes = g_array_new (FALSE, FALSE, sizeof (OptimizerPass));

  options.clip_gradients = TRUE;
  optimizer_passes (&options, &(OptimizerShare){ 1000, 100, 4, 4, 0 }, passes);
  ck_assert_uint_eq (passes->len, 3);
  ck_assert_double_eq (g_array_index (passes, OptimizerPass, 1).kernel.read_bytes, 4000);
  ck_assert_double_eq (g_array_index (passes, OptimizerPass, 2).kernel.read_bytes, 1600);
}
END_TEST

/* ---- states ---------------------------------------------------------------------------------- */

typedef struct
{
  gint       optimizer;
  TensorDesc tensor;
  guint      moments;      /* values of every element, */
  gint       dtype;        /* of that type */
  guint64    shared, each; /* bytes beside them */
  guint64    block;        /* elements */
  gint64     tile;
} StateCase;

#define VECTOR(n)                                                       \
  {                                                                     \
    .name = "norm.weight", .shape = { n }, .n_dims = 1, .elements = (n) \
  }
#define MATRIX(r, c)                                                                       \
  {                                                                                        \
    .name = "mlp.weight", .shape = { r, c }, .n_dims = 2, .elements = (guint64) (r) * (c), \
    .matrix = TRUE                                                                         \
  }
#define EXPERTS(n, r, c)                                         \
  {                                                              \
    .name = "experts.weight", .shape = { n, r, c }, .n_dims = 3, \
    .elements = (guint64) (n) * (r) * (c), .matrix = TRUE        \
  }

static const StateCase state_cases[] = {
  { OPTIMIZER_ADAMW, MATRIX (64, 96), 2, DTYPE_FP32, 0, 0, 1, 0 },
  { OPTIMIZER_SGD, MATRIX (64, 96), 0, DTYPE_FP32, 0, 0, 1, 0 },
  { OPTIMIZER_SGD_MOMENTUM, MATRIX (64, 96), 1, DTYPE_FP32, 0, 0, 1, 0 },
  { OPTIMIZER_LAMB, MATRIX (64, 96), 2, DTYPE_FP32, 0, 0, 1, 0 },
  /* 24 blocks of 256 elements, two scales each; a part of one is one more; vectors are no other */
  { OPTIMIZER_ADAMW_8BIT, MATRIX (64, 96), 2, DTYPE_INT8, 24 * 8, 0, 1, 0 },
  { OPTIMIZER_ADAMW_8BIT, MATRIX (65, 96), 2, DTYPE_INT8, 25 * 8, 0, 1, 0 },
  { OPTIMIZER_ADAMW_8BIT, VECTOR (8192), 2, DTYPE_INT8, 32 * 8, 0, 1, 0 },
  { OPTIMIZER_ADAMW_8BIT, MATRIX (63, 65), 2, DTYPE_INT8, 6 * 4095, 0, 1, 0 },
  /* 2 x 3 tiles of 32 x 32, two scales each; 65 rows are a row of tiles more */
  { OPTIMIZER_ADAMW_8BIT, MATRIX (64, 96), 2, DTYPE_INT8, 6 * 8, 0, 32 * 96, 32 },
  { OPTIMIZER_ADAMW_8BIT, MATRIX (65, 96), 2, DTYPE_INT8, 9 * 8, 0, 32 * 96, 32 },
  { OPTIMIZER_ADAMW_8BIT, EXPERTS (4, 64, 96), 2, DTYPE_INT8, 24 * 8, 0, 32 * 96, 32 },
  /* vectors and small matrices have two of fp32 instead of two bytes */
  { OPTIMIZER_ADAMW_8BIT, VECTOR (8192), 2, DTYPE_INT8, 6 * 8192, 0, 1, 32 },
  { OPTIMIZER_ADAMW_8BIT, MATRIX (63, 65), 2, DTYPE_INT8, 6 * 4095, 0, 1, 32 },
  /* a mean a row, which shards share, and a mean a column, which each has */
  { OPTIMIZER_ADAFACTOR, MATRIX (64, 96), 0, DTYPE_FP32, 4 * 64, 4 * 96, 1, 0 },
  { OPTIMIZER_ADAFACTOR, EXPERTS (4, 64, 96), 0, DTYPE_FP32, 4 * 256, 4 * 4 * 96, 1, 0 },
  { OPTIMIZER_ADAFACTOR, VECTOR (96), 0, DTYPE_FP32, 4 * 96, 0, 1, 0 },
  { OPTIMIZER_MUON, MATRIX (64, 96), 1, DTYPE_FP32, 0, 0, 64 * 96, 0 },
  { OPTIMIZER_MUON, EXPERTS (4, 64, 96), 1, DTYPE_FP32, 0, 0, 64 * 96, 0 },
  { OPTIMIZER_MUON, VECTOR (96), 1, DTYPE_FP32, 4 * 96, 0, 1, 0 },
  { OPTIMIZER_SHAMPOO, MATRIX (64, 96), 2, DTYPE_FP32, 0, 0, 64 * 96, 0 },
  { OPTIMIZER_SHAMPOO, MATRIX (4096, 96), 2, DTYPE_FP32, 0, 0, 1024 * 96, 0 },
  { OPTIMIZER_SHAMPOO, VECTOR (96), 2, DTYPE_FP32, 0, 0, 1, 0 },
  { OPTIMIZER_SOAP, MATRIX (64, 96), 0, DTYPE_FP32, 0, 0, 64 * 96, 0 },
  { OPTIMIZER_SOAP, VECTOR (96), 0, DTYPE_FP32, 8 * 96, 0, 1, 0 },
};

START_TEST (test_states)
{
  const StateCase *c = &state_cases[_i];
  TrainingOptions  options = options_of (c->optimizer);
  OptimizerBytes   bytes;

  options.optimizer_tile = c->tile;
  bytes = optimizer_bytes (&options, &c->tensor);
  ck_assert_uint_eq (optimizer_moments (&options), c->moments);
  if (c->moments > 0)
    ck_assert_int_eq ((gint) optimizer_moment_dtype (&options), c->dtype);
  ck_assert_uint_eq (bytes.shared, c->shared);
  ck_assert_uint_eq (bytes.each, c->each);
  ck_assert_uint_eq (optimizer_block (&options, &c->tensor), c->block);
}
END_TEST

typedef struct
{
  gint       optimizer;
  gint64     tile;
  TensorDesc tensor;
  guint      ranks;
  guint64    bytes;
} PageCase;

static const PageCase page_cases[] = {
  /* two moments of 100 000 elements, of a byte or of four; half of them are too few */
  { OPTIMIZER_ADAMW_8BIT, 0, MATRIX (1000, 100), 1, 200000 },
  { OPTIMIZER_ADAMW_FUSED, 0, MATRIX (1000, 100), 1, 800000 },
  { OPTIMIZER_ADAMW_FUSED, 0, MATRIX (1000, 100), 2, 0 },
  { OPTIMIZER_ADAMW_FUSED, 0, MATRIX (2000, 100), 2, 800000 },
  { OPTIMIZER_ADAMW_FUSED, 0, VECTOR (100000), 1, 800000 },
  { OPTIMIZER_ADAMW_FUSED, 0, VECTOR (99999), 1, 0 },
  /* which none of these has */
  { OPTIMIZER_ADAMW_8BIT, 32, MATRIX (1000, 100), 1, 0 },
  { OPTIMIZER_ADAMW, 0, MATRIX (1000, 100), 1, 0 },
  { OPTIMIZER_MUON, 0, MATRIX (1000, 100), 1, 0 },
};

START_TEST (test_pages)
{
  const PageCase *c = &page_cases[_i];
  TrainingOptions options = options_of (c->optimizer);

  options.optimizer_tile = c->tile;
  ck_assert_uint_eq (optimizer_paged_bytes (&options, &c->tensor, c->ranks), 0);
  options.optimizer_paged = TRUE;
  ck_assert_uint_eq (optimizer_paged_bytes (&options, &c->tensor, c->ranks), c->bytes);
}
END_TEST

/* ---- products -------------------------------------------------------------------------------- */

typedef struct
{
  gint        optimizer;
  MatrixShape shape;
  double      flops;
  guint64     bytes; /* of one matrix, for ever */
} ProductCase;

static const ProductCase product_cases[] = {
  /* five steps of 4 x 64^2 x 96 + 2 x 64^3; the same of its transpose */
  { OPTIMIZER_MUON, { 1, 64, 96, 1 }, 5 * (4.0 * 64 * 64 * 96 + 2.0 * 64 * 64 * 64), 0 },
  { OPTIMIZER_MUON, { 3, 96, 64, 3 }, 5 * (4.0 * 64 * 64 * 96 + 2.0 * 64 * 64 * 64), 0 },
  /* 4 r^2 c and an inner dimension of 12.5 r / 50, which is 16 of 64 and 24 of 96 */
  { OPTIMIZER_SHAMPOO,
    { 1, 64, 96, 1 },
    4.0 * 64 * 64 * 96 + 4.0 * 96 * 96 * 64 + 2.0 * 64 * 64 * 16 + 2.0 * 96 * 96 * 24,
    2 * 4 * (64 * 64 + 96 * 96) },
  /* 6 r^2 c and one of 7/3 r / 10, 15 and 22; the moments of the matrix */
  { OPTIMIZER_SOAP,
    { 2, 64, 96, 1 },
    6.0 * 64 * 64 * 96 + 6.0 * 96 * 96 * 64 + 2.0 * 64 * 64 * 15 + 2.0 * 96 * 96 * 22,
    2 * 4 * (64 * 64 + 96 * 96) + 8 * 64 * 96 },
  /* the longer side of a table of 20000 rows is left alone; 7/3 x 96 / 10 is 22 */
  { OPTIMIZER_SOAP,
    { 1, 20000, 96, 1 },
    6.0 * 96 * 96 * 20000 + 2.0 * 96 * 96 * 22,
    2 * 4 * 96 * 96 + 8 * 20000 * 96 },
};

START_TEST (test_products)
{
  const ProductCase *c = &product_cases[_i];
  TrainingOptions    options = options_of (c->optimizer);
  g_autoptr (GArray) kernels = g_array_new (FALSE, FALSE, sizeof (KernelDesc));
  double             sum = 0;

  optimizer_matrix_kernels (&options, c->shape, kernels);
  for (guint i = 0; i < kernels->len; i++)
    {
      const KernelDesc *kernel = &g_array_index (kernels, KernelDesc, i);

      sum += kernel_desc_is_product (kernel) ? kernel->flops : 0;
      ck_assert_uint_eq (kernel->launches, c->shape.stack > 1 ? 1 : c->shape.count);
    }
  ck_assert_double_eq (optimizer_matrix_flops (&options, c->shape), c->flops);
  ck_assert_double_eq (sum, (double) c->shape.count * c->flops);
  ck_assert_uint_eq (optimizer_matrix_bytes (&options, c->shape), c->bytes);
}
END_TEST

/*
 * What products hold of the matrices that are under way at once, by hand: two X and two grams in 16
 * bits; a product old and new against three squares of the longer side; four of a matrix' size.
 */
START_TEST (test_workspace)
{
  static const struct
  {
    gint        optimizer;
    MatrixShape shape;
    guint64     bytes;
  } cases[] = {
    { OPTIMIZER_MUON, { 5, 64, 96, 1 }, 2 * 2 * (64 * 96 + 64 * 64) },
    { OPTIMIZER_MUON,
      { 6, 96, 64, 3 },
      3 * 2 * 2 * (64 * 96 + 64 * 64) }, /* two tensors of three */
    { OPTIMIZER_MUON, { 2, 96, 64, 8 }, 2 * 2 * 2 * (64 * 96 + 64 * 64) },
    { OPTIMIZER_SHAMPOO, { 4, 64, 96, 1 }, 4 * 3 * 96 * 96 },
    { OPTIMIZER_SOAP, { 1, 64, 96, 1 }, 4 * 3 * 96 * 96 },
    { OPTIMIZER_SOAP, { 1, 20000, 96, 1 }, 4 * 4 * 20000 * 96 },
  };
  TrainingOptions options = options_of (cases[_i].optimizer);

  ck_assert_uint_eq (optimizer_matrix_workspace (&options, cases[_i].shape), cases[_i].bytes);
}
END_TEST

/* Without a preconditioner a matrix is AdamW's: two moments, no products. */
START_TEST (test_bare)
{
  const TensorDesc square = {
    .name = "a", .shape = { 256, 256 }, .n_dims = 2, .elements = 256 * 256, .matrix = TRUE
  };
  TrainingOptions options = options_of (OPTIMIZER_SOAP);

  ck_assert (!optimizer_is_bare (&options, &square));
  ck_assert_uint_eq (optimizer_matrices (&options, &square).count, 1);
  options.max_preconditioner_dim = 255;
  ck_assert (optimizer_is_bare (&options, &square));
  ck_assert_uint_eq (optimizer_matrices (&options, &square).count, 0);
  ck_assert_uint_eq (optimizer_block (&options, &square), 1);
  ck_assert_uint_eq (optimizer_bytes (&options, &square).shared, 2 * 4 * 256 * 256);
}
END_TEST

/* Llama-3-8B's layer: 95 thousand FLOPs a parameter (Newton-Schulz of five steps). */
START_TEST (test_muon_of_llama)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = options_of (OPTIMIZER_MUON);
  g_autoptr (Workload) workload = NULL;
  const LayerDesc     *layer;
  double               flops = 0, elements = 0;

  workload = workload_new (&shape, &options);
  layer = workload_layer (workload, 1);
  for (guint t = 0; t < layer->n_tensors; t++)
    {
      MatrixShape matrices = optimizer_matrices (&options, &layer->tensors[t]);

      ck_assert_int_eq (layer->tensors[t].matrix, layer->tensors[t].n_dims == 2);
      ck_assert_uint_eq (matrices.count, layer->tensors[t].matrix ? 1 : 0);
      if (matrices.count > 0)
        flops += optimizer_matrix_flops (&options, matrices);
      elements += (double) layer->tensors[t].elements;
    }
  ck_assert_double_eq_tol (flops / elements / 1e3, 95, 0.5);
  for (guint l = 0; l < 34; l += 33) /* the embedding and the head are AdamW's */
    for (guint t = 0; t < workload_layer (workload, l)->n_tensors; t++)
      ck_assert_int_eq (workload_layer (workload, l)->tensors[t].matrix, FALSE);
  model_shape_clear (&shape);
}
END_TEST

/* ---- names and options ----------------------------------------------------------------------- */

typedef struct
{
  gint        optimizer;
  const char *key, *value;
  const char *message; /* NULL: it is accepted */
} OptionCase;

static const OptionCase option_cases[] = {
  { OPTIMIZER_MUON, "matrix_parameters", "*q_proj*, *up_proj*", NULL },
  { OPTIMIZER_MUON, "matrix_parameters", "*q_proj*, *norm*",
    "'muon' updates matrices, and '*norm*' matches 'input_layernorm.weight', which has one "
    "dimension, of 4096" },
  { OPTIMIZER_SOAP, "matrix_parameters", "*nothing*",
    "'matrix_parameters' has '*nothing*', which matches no parameter of 'llama-3-8b'" },
  { OPTIMIZER_MUON, "ns_steps", "6", NULL },
  { OPTIMIZER_SHAMPOO, "max_preconditioner_dim", "2048", NULL },
  { OPTIMIZER_ADAMW_8BIT, "optimizer_tile", "128", NULL },
  { OPTIMIZER_ADAMW_8BIT, "optimizer_paged", "true", NULL },
  { OPTIMIZER_ADAMW_8BIT, "matrix_exchange", "all-gather", NULL },
  { OPTIMIZER_MUON, "matrix_parameters", ", ,", "'matrix_parameters' is an empty list: ', ,'" },
  { OPTIMIZER_SHAMPOO, "max_preconditioner_dim", "16", NULL },
  /* blocks of tensors, by name; of vectors they mean nothing */
  { OPTIMIZER_ADAMW, "shard_block", "*embed*=1row, 16rows", NULL },
  { OPTIMIZER_ADAMW, "shard_block", "16rows, *nothing*=1row",
    "'shard_block' has '*nothing*', which matches no parameter of 'llama-3-8b'" },
  { OPTIMIZER_ADAMW, "shard_block", "=16rows",
    "'shard_block' has '', which matches no parameter of 'llama-3-8b'" },
  { OPTIMIZER_ADAMW, "shard_block", ",", "'shard_block' is an empty list: ','" },
  { OPTIMIZER_ADAMW, "shard_block", "16rows,", "'shard_block' has no block in ''" },
  { OPTIMIZER_ADAMW, "shard_block", "32x", "'shard_block' has no block in '32x'" },
  { OPTIMIZER_ADAMW, "shard_block", "18446744073709551616rows",
    "'shard_block' has a number that is too large in '18446744073709551616rows'" },
  { OPTIMIZER_ADAMW, "shard_block", "*norm*=99999999999999999999x32, 1row",
    "'shard_block' has a number that is too large in '*norm*=99999999999999999999x32'" },
  { OPTIMIZER_ADAMW, "shard_block", "32x99999999999999999999",
    "'shard_block' has a number that is too large in '32x99999999999999999999'" },
  { OPTIMIZER_ADAMW, "shard_block", "18446744073709551615rows",
    "a block of 18446744073709551615 rows is larger than 'embed_tokens.weight' of 128256 rows of "
    "4096" },
};

START_TEST (test_options)
{
  const OptionCase    *c = &option_cases[_i];
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = options_of (c->optimizer);
  g_autoptr (DiagList) diags = diag_list_new ();
  gboolean             ok;

  ck_assert (option_set_key (training_options, &options, c->key, c->value, NULL, diags));
  ok = workload_check (&shape, &options, NULL, diags);
  ck_assert_int_eq (ok, c->message == NULL);
  if (c->message != NULL)
    ck_assert_str_eq (diag_list_first_message (diags), c->message);
  else
    ck_assert (diag_list_is_empty (diags));
  g_clear_pointer (&options.matrix_parameters, g_free);
  g_clear_pointer (&options.shard_block, g_free);
  model_shape_clear (&shape);
}
END_TEST

typedef struct
{
  const char *spec, *message; /* NULL: nothing is said */
} RuleCase;

static const RuleCase rule_cases[] = {
  { "*q_proj*=32rows, 16rows", NULL },
  { "16rows, *q_proj*=32rows",
    "'shard_block' has '*q_proj*', but earlier rules take all matrices that it matches" },
  /* by two rules together */
  { "*q_proj*=32rows, *k_proj*=8rows, *[qk]_proj*=16rows",
    "'shard_block' has '*[qk]_proj*', but earlier rules take all matrices that it matches" },
  { "*q_proj*=32rows, *[qk]_proj*=16rows", NULL },
  /* the vectors that are left have no blocks */
  { "*proj*=32rows, *embed*=8rows, *lm_head*=8rows, *=16rows",
    "'shard_block' has '*', but earlier rules take all matrices that it matches" },
};

START_TEST (test_rules_without_effect)
{
  const RuleCase      *c = &rule_cases[_i];
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = options_of (OPTIMIZER_ADAMW);
  g_autoptr (DiagList) diags = diag_list_new ();

  options.shard_block = g_strdup (c->spec);
  ck_assert (workload_check (&shape, &options, NULL, diags)); /* a warning at most */
  if (c->message != NULL)
    ck_assert_str_eq (diag_list_first_message (diags), c->message);
  else
    ck_assert (diag_list_is_empty (diags));
  g_clear_pointer (&options.shard_block, g_free);
  model_shape_clear (&shape);
}
END_TEST

/* Rules of vectors are no errors: shards cut these anywhere, whatever the block. */
START_TEST (test_vector_rules)
{
  ModelShape           shape = shipped ("llama-3-8b");
  TrainingOptions      options = options_of (OPTIMIZER_ADAMW);
  g_autoptr (DiagList) diags = diag_list_new ();
  DiagView             view;

  options.shard_block = g_strdup ("*norm*=7rows, *_proj*=16rows, 1row");
  ck_assert (workload_check (&shape, &options, NULL, diags));
  ck_assert (diag_list_get (diags, 0, &view) && !diag_list_get (diags, 1, NULL));
  ck_assert_int_eq (view.severity, DIAG_WARNING);
  ck_assert_str_eq (
      view.message,
      "'shard_block' has '*norm*', which matches vectors alone: shards cut these anywhere");
  g_clear_pointer (&options.shard_block, g_free);
  model_shape_clear (&shape);
}
END_TEST

/* A preconditioner of a few rows would be a million kernels a step. */
START_TEST (test_least_side)
{
  TrainingOptions      options = options_of (OPTIMIZER_SHAMPOO);
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert (
      !option_set_key (training_options, &options, "max_preconditioner_dim", "15", NULL, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "'max_preconditioner_dim' must be between 16 and 1048576, got '15'");
}
END_TEST

/* With LoRA what is adapted is frozen: its names are names, and adapters alone are trained. */
START_TEST (test_takes_none)
{
  static const struct
  {
    const char *names;
    gboolean    none;
  } cases[] = { { "*q_proj.weight", TRUE }, { "*q_proj*", FALSE }, { NULL, FALSE } };
  ModelShape shape = shipped ("llama-3-8b");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TrainingOptions      options = options_of (OPTIMIZER_MUON);
      g_autoptr (DiagList) diags = diag_list_new ();

      options.peft = PEFT_LORA;
      options.lora_r = 8;
      options.lora_target_modules = (char *) "all-linear";
      options.matrix_parameters = (char *) cases[i].names;
      ck_assert (workload_check (&shape, &options, NULL, diags));
      ck_assert (!diag_list_has_errors (diags));
      if (cases[i].none)
        ck_assert_str_eq (diag_list_first_message (diags),
                          "'muon' takes no matrix of 'llama-3-8b': all that 'matrix_parameters' "
                          "names is frozen, and AdamW updates everything");
      else
        ck_assert (diag_list_is_empty (diags));
    }
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (optimizer)
{
  TCase *tcase = tcase_create ("optimizer");

  tcase_add_loop_test (tcase, test_passes, 0, G_N_ELEMENTS (pass_cases));
  tcase_add_test (tcase, test_alone);
  tcase_add_loop_test (tcase, test_states, 0, G_N_ELEMENTS (state_cases));
  tcase_add_loop_test (tcase, test_pages, 0, G_N_ELEMENTS (page_cases));
  tcase_add_loop_test (tcase, test_products, 0, G_N_ELEMENTS (product_cases));
  tcase_add_test (tcase, test_muon_of_llama);
  tcase_add_loop_test (tcase, test_options, 0, G_N_ELEMENTS (option_cases));
  tcase_add_loop_test (tcase, test_rules_without_effect, 0, G_N_ELEMENTS (rule_cases));
  tcase_add_loop_test (tcase, test_workspace, 0, 6);
  tcase_add_test (tcase, test_bare);
  tcase_add_test (tcase, test_vector_rules);
  tcase_add_test (tcase, test_least_side);
  tcase_add_test (tcase, test_takes_none);
  return run_case ("optimizer", tcase);
}
