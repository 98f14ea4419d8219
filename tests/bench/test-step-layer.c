/*
 * The layer of `shardsim-bench step` against the block that the simulator has for it: with the
 * products and kernels replaced by ones that write down what was asked for, the modules' passes
 * launch the simulated kernels one for one, in order: products of the same shapes, streams of the
 * same bytes up to weights of norms and statistics. Not asserted: what they compute, and their
 * times.
 */
#include <check.h>

#include "bench/gemm.h"
#include "bench/layer-kernels.h"
#include "bench/layer.h"
#include "workload/workload.h"

static const LayerShape shape = { .d_model = 256,
                                  .n_heads = 4,
                                  .d_ff = 704,
                                  .seq_len = 64,
                                  .micro_batch = 2 };

#define T  ((guint64) shape.seq_len * shape.micro_batch)
#define TD ((double) T * shape.d_model)
#define P  ((double) shape.micro_batch * shape.n_heads * shape.seq_len * shape.seq_len)

/* ---- what was launched ----------------------------------------------------------------------- */

/* A product, or a kernel that streams BYTES. */
typedef struct
{
  guint64 m, n, k, batch; /* m <= n: a product and its transpose are alike */
  double  bytes;
} Launch;

static GArray *launches;

static void
add_product (guint64 m, guint64 n, guint64 k, guint64 batch, GArray *to)
{
  Launch launch = { MIN (m, n), MAX (m, n), k, batch, 0 };

  g_array_append_val (to, launch);
}

static bool
add_stream (double bytes)
{
  Launch launch = { .bytes = bytes };

  g_array_append_val (launches, launch);
  return true;
}

/* ---- cuBLAS and the kernels, replaced -------------------------------------------------------- */

static int nothing;

void
bench_error (const Bench *bench, const char *what, const char *format, ...)
{
  (void) bench;
  ck_abort_msg ("%s: %s", what, format);
}

Gemm *
gemm_open (const Bench *bench)
{
  (void) bench;
  return (Gemm *) (void *) &nothing;
}

void
gemm_close (Gemm *self)
{
  ck_assert_ptr_eq ((void *) self, &nothing);
}

bool
gemm_has_dtype (const Gemm *self, const char *dtype)
{
  (void) self;
  ck_assert_str_eq (dtype, "bf16");
  return true;
}

bool
gemm_run (const Bench *bench, Gemm *self, cudaStream_t stream, const GemmShape *product,
          const void *a, const void *b, void *c, float beta)
{
  (void) bench, (void) self, (void) stream, (void) a, (void) b, (void) c;
  ck_assert_double_eq (beta, 0);
  add_product (product->m, product->n, product->k, product->batch, launches);
  return true;
}

bool
gemm_run_strided (const Bench *bench, Gemm *self, cudaStream_t stream, const GemmShape *product,
                  const GemmStrides *strides, const void *a, const void *b, void *c, float beta)
{
  (void) strides;
  return gemm_run (bench, self, stream, product, a, b, c, beta);
}

LayerKernels *
layer_kernels_open (const Bench *bench, const LayerRows *rows, cudaStream_t stream)
{
  (void) bench, (void) stream;
  ck_assert_uint_eq (rows->rows, T);
  return (LayerKernels *) (void *) &nothing;
}

void
layer_kernels_close (LayerKernels *self)
{
  ck_assert_ptr_eq ((void *) self, &nothing);
}

bool
layer_norm (LayerKernels *self, const Bench *bench, const void *x, const void *weight, void *y,
            float *rms)
{
  (void) self, (void) bench, (void) x, (void) weight, (void) y, (void) rms;
  return add_stream (4 * TD);
}

bool
layer_add_norm (LayerKernels *self, const Bench *bench, const void *a, const void *b,
                const void *weight, void *sum, void *y, float *rms)
{
  (void) self, (void) bench, (void) a, (void) b, (void) weight, (void) sum, (void) y, (void) rms;
  return add_stream (8 * TD);
}

bool
layer_norm_backward (LayerKernels *self, const Bench *bench, void *dy, const void *other,
                     const void *x, const void *weight, const float *rms, void *dx)
{
  (void) self, (void) bench, (void) dy, (void) other, (void) x, (void) weight, (void) rms,
      (void) dx;
  return add_stream (10 * TD);
}

bool
layer_norm_weight (LayerKernels *self, const Bench *bench, const void *dy, const void *x,
                   const float *rms, void *gradient)
{
  (void) self, (void) bench, (void) dy, (void) x, (void) rms, (void) gradient;
  return add_stream (4 * TD);
}

bool
layer_add (LayerKernels *self, const Bench *bench, uint64_t elements, const void *a, const void *b,
           void *y)
{
  (void) self, (void) bench, (void) a, (void) b, (void) y;
  return add_stream (6.0 * (double) elements);
}

bool
layer_silu (LayerKernels *self, const Bench *bench, uint64_t elements, const void *gate,
            const void *up, void *hidden)
{
  (void) self, (void) bench, (void) gate, (void) up, (void) hidden;
  return add_stream (6.0 * (double) elements);
}

bool
layer_silu_backward (LayerKernels *self, const Bench *bench, uint64_t elements, const void *gate,
                     const void *up, void *d_hidden, void *d_up)
{
  (void) self, (void) bench, (void) gate, (void) up, (void) d_hidden, (void) d_up;
  return add_stream (10.0 * (double) elements);
}

bool
layer_rotary (LayerKernels *self, const Bench *bench, void *q, void *k, bool back)
{
  (void) self, (void) bench, (void) q, (void) k, (void) back;
  return add_stream (8 * TD);
}

bool
layer_softmax (LayerKernels *self, const Bench *bench, void *scores, float scale)
{
  (void) self, (void) bench, (void) scores;
  ck_assert_double_eq_tol (scale, 1 / 8.0, 1e-6); /* heads of 64 */
  return add_stream (4 * P);
}

bool
layer_softmax_backward (LayerKernels *self, const Bench *bench, const void *probabilities,
                        void *d_probabilities, float scale)
{
  (void) self, (void) bench, (void) probabilities, (void) d_probabilities, (void) scale;
  return add_stream (6 * P);
}

bool
layer_heads_to_rows (LayerKernels *self, const Bench *bench, const void *heads, void *rows)
{
  (void) self, (void) bench, (void) heads, (void) rows;
  return add_stream (4 * TD);
}

bool
layer_rows_to_heads (LayerKernels *self, const Bench *bench, const void *rows, void *heads)
{
  (void) self, (void) bench, (void) rows, (void) heads;
  return add_stream (4 * TD);
}

/* ---- the simulator's block ------------------------------------------------------------------- */

/* What step.csv says of it. */
static Workload *
simulated_model (void)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelOptions         options = { 0 };
  TrainingOptions      training = { 0 };
  ModelShape           model;
  Workload            *workload;

  option_table_defaults (model_options, &options);
  options.arch = g_strdup ("llama");
  options.n_layers = 1;
  options.d_model = shape.d_model;
  options.n_heads = options.n_kv_heads = shape.n_heads;
  options.d_ff = shape.d_ff;
  options.vocab = 1;
  ck_assert (model_resolve (&options, NULL, NULL, &model, NULL, diags));
  option_table_defaults (training_options, &training);
  training.seq_len = shape.seq_len;
  training.micro_batch = shape.micro_batch;
  training.attention = ATTENTION_FUSED_SOFTMAX;
  training.fused_norm = training.compile = TRUE;
  workload = workload_new (&model, &training);
  option_table_clear (model_options, &options);
  option_table_clear (training_options, &training);
  model_shape_clear (&model);
  return workload;
}

static GArray *
simulated_kernels (const KernelDesc *kernels, guint n)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (Launch));

  for (guint i = 0; i < n; i++)
    {
      Launch launch = { .bytes = kernels[i].read_bytes + kernels[i].write_bytes };

      ck_assert_uint_eq (kernels[i].launches, 1);
      if (kernels[i].kind == KERNEL_MATMUL)
        add_product (kernels[i].m, kernels[i].n, kernels[i].k, kernels[i].batch, list);
      else
        g_array_append_val (list, launch);
    }
  return list;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void
check_equal (const KernelDesc *kernels, guint n)
{
  g_autoptr (GArray) simulated = simulated_kernels (kernels, n);

  for (guint i = 0; i < MIN (launches->len, n); i++)
    {
      const Launch *a = &g_array_index (launches, Launch, i),
                   *b = &g_array_index (simulated, Launch, i);

      ck_assert_msg (a->m == b->m && a->n == b->n && a->k == b->k && a->batch == b->batch,
                     "%s: another product", kernels[i].name);
      ck_assert_msg (a->bytes >= 0.97 * b->bytes && a->bytes <= b->bytes,
                     "%s: %.0f bytes, not %.0f", kernels[i].name, a->bytes, b->bytes);
    }
  ck_assert_uint_eq (launches->len, n);
}

static void
run_pass (gboolean forward)
{
  static char memory[64];
  Layer      *layer = layer_open (NULL, &shape, NULL);

  g_clear_pointer (&launches, g_array_unref);
  launches = g_array_new (FALSE, FALSE, sizeof (Launch));
  ck_assert_ptr_nonnull (layer);
  for (guint i = 0; i < LAYER_N_MODULES; i++)
    if (forward)
      ck_assert (layer_forward (layer, NULL, (LayerModule) i, memory, memory, memory, memory));
    else
      ck_assert (layer_backward (layer, NULL, (LayerModule) (LAYER_N_MODULES - 1 - i), memory,
                                 memory, memory, memory, memory));
  layer_close (layer);
}

START_TEST (test_forward)
{
  g_autoptr (Workload) workload = simulated_model ();
  const LayerDesc     *block = workload_layer (workload, 1);

  run_pass (TRUE);
  check_equal (block->forward, block->n_forward);
}
END_TEST

START_TEST (test_backward)
{
  g_autoptr (Workload) workload = simulated_model ();
  const LayerDesc     *block = workload_layer (workload, 1);

  run_pass (FALSE);
  check_equal (block->backward, block->n_backward);
}
END_TEST

/* Parameters, and what is kept for the backward pass. */
START_TEST (test_sizes)
{
  g_autoptr (Workload) workload = simulated_model ();
  const LayerDesc     *block = workload_layer (workload, 1);

  ck_assert_uint_eq (layer_elements (&shape), block->elements);
  ck_assert_uint_eq (layer_saved_bytes (&shape), block->saved_bytes);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("step-layer");
  TCase   *tcase = tcase_create ("kernels");
  SRunner *runner = srunner_create (suite);
  int      failed;

  tcase_add_test (tcase, test_forward);
  tcase_add_test (tcase, test_backward);
  tcase_add_test (tcase, test_sizes);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
