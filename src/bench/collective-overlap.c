/*
 * `collective_overlap`: a collective beside a matrix product: what each takes alone, and while the
 * other runs all the time, by the number of channels, each a thread block that holds an SM. The
 * rows are those of `overlap`.
 */
#ifdef BENCH_CUDA

#include <stdio.h>
#include <string.h>

#include "bench/gemm.h"
#include "bench/nccl-session.h"

#define DEFAULT_BYTES (256ull << 20)
#define SIZE_FACTOR   4.0
#define LEAST_BYTES   (1ull << 20) /* below, launches are what takes the time */
#define MOST_SIZES    16
#define COLLECTIVES   "all_gather"
#define CHANNELS      "0,4,8,16,32"
#define SELF_CHANNELS "1,2,4,8,16,32"

static const uint64_t edges[] = { 4096, 8192 }; /* of square products: 0.1 TFLOP and 1.1 TFLOP */
#define N_EDGES (sizeof edges / sizeof *edges)

typedef struct
{
  Gemm     *gemm;
  GemmShape shape;
  void     *a, *b, *c;
} Product;

typedef struct
{
  Bench      *bench;
  NcclSession session;
  Product     product;
  NcclOp      op;
  uint64_t    bytes; /* of the collective */
  NcclLoad    collective, matmul;
} Run;

/* ---- the matrix product ---------------------------------------------------------------------- */

static bool
open_product (Run *run)
{
  const Bench   *bench = run->bench;
  Product       *product = &run->product;
  const uint64_t edge = edges[N_EDGES - 1];

  product->gemm = gemm_open (bench);
  if (product->gemm == NULL)
    return false;
  product->shape = (GemmShape){ .layout = GEMM_NT, .m = edge, .n = edge, .k = edge, .batch = 1 };
  product->shape.dtype = gemm_has_dtype (product->gemm, "bf16") ? "bf16" : "fp16";
  CUDA_TRY (cudaMalloc (&product->a, gemm_a_bytes (&product->shape)));
  CUDA_TRY (cudaMalloc (&product->b, gemm_b_bytes (&product->shape)));
  CUDA_TRY (cudaMalloc (&product->c, gemm_c_bytes (&product->shape)));
  return cuda_fill_random (bench, product->a, gemm_a_bytes (&product->shape), product->shape.dtype,
                           1)
         && cuda_fill_random (bench, product->b, gemm_b_bytes (&product->shape),
                              product->shape.dtype, 2);
}

static void
close_product (Product *product)
{
  cudaFree (product->a);
  cudaFree (product->b);
  cudaFree (product->c);
  gemm_close (product->gemm);
  *product = (Product){ 0 };
}

static bool
launch_product (NcclSession *session, void *user, unsigned i)
{
  Product *product = user;

  (void) i;
  return gemm_run (session->bench, product->gemm, session->streams[1], &product->shape, product->a,
                   product->b, product->c, 0);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/*
 * A row of SUBJECT: the collective, or the product. The remark names the collective, and what ran
 * beside.
 */
static bool
write_result (Run *run, const NcclLoad *subject, const char *variant, const Result *times)
{
  const GemmShape   *shape = &run->product.shape;
  const NcclSession *session = &run->session;
  const bool         product = subject == &run->matmul;
  char               remark[384];
  Result             result = *times;

  snprintf (remark, sizeof remark, "%s%s%s of %llu B; %s %llu x %llu x %llu", session->remark,
            *session->remark != '\0' ? "; " : "", nccl_op_name (&run->op),
            (unsigned long long) run->bytes, shape->dtype, (unsigned long long) shape->m,
            (unsigned long long) shape->n, (unsigned long long) shape->k);
  result.benchmark = "overlap";
  result.variant = variant;
  result.remark = remark;
  result.ranks = session->place->size;
  result.channels = session->channels;
  result.dtype = product ? shape->dtype : run->op.type->name;
  if (product)
    {
      result.m = shape->m;
      result.n = shape->n;
      result.k = shape->k;
    }
  else
    result.bytes = run->bytes;
  if (results_add (run->bench->results, &result))
    return true;
  bench_error (run->bench, "results.csv", "cannot be written");
  return false;
}

static bool
measure_one (Run *run, NcclLoad *subject, NcclLoad *other, const char *variant)
{
  Result result = { 0 };
  bool   covered;

  if (!nccl_time (&run->session, subject, other, &covered, &result))
    return false;
  if (covered)
    return write_result (run, subject, variant, &result);
  bench_note (
      run->bench,
      "%s left out (collective of %llu bytes, product of %llu): the other side could not be kept "
      "running",
      variant, (unsigned long long) run->bytes, (unsigned long long) run->product.shape.m);
  return true;
}

static bool
measure_both (Run *run)
{
  return measure_one (run, &run->matmul, NULL, "matmul.alone")
         && measure_one (run, &run->collective, NULL, "collective.alone")
         && measure_one (run, &run->matmul, &run->collective, "matmul.beside.collective")
         && measure_one (run, &run->collective, &run->matmul, "collective.beside.matmul");
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

static bool
measure_edges (Run *run)
{
  for (unsigned i = 0; i < N_EDGES; i++)
    {
      run->product.shape.m = run->product.shape.n = run->product.shape.k = edges[i];
      if (!measure_both (run))
        return false;
    }
  return true;
}

static bool
measure_op (Run *run, const uint64_t *sizes, unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    {
      run->bytes = sizes[i];
      nccl_op_set_bytes (&run->session, &run->op, &run->bytes);
      run->collective = nccl_load_of_op (&run->session, &run->op);
      run->matmul = (NcclLoad){ .launch = launch_product,
                                .user = &run->product,
                                .stream = run->session.streams[1],
                                .call = "cublasGemmEx" };
      if (!measure_edges (run))
        return false;
    }
  return true;
}

/* The collectives asked for; one rank has only itself to send to. */
static bool
measure_ops (Run *run, const uint64_t *sizes, unsigned n)
{
  const char *list = run->bench->options->collectives;

  run->op = (NcclOp){ .self = true, .type = &nccl_types[1] };
  if (run->session.place->size == 1)
    return measure_op (run, sizes, n);
  for (unsigned kind = 0; kind < TEST_N_KINDS; kind++)
    {
      run->op = (NcclOp){ .kind = (TestKind) kind, .type = &nccl_types[1] };
      if (bench_list_has (list != NULL ? list : COLLECTIVES, test_collectives[kind].name)
          && !measure_op (run, sizes, n))
        return false;
    }
  return true;
}

/*
 * Sizes that the command line asks for, without the small ones; DEFAULT_BYTES, or as much of it as
 * is allowed.
 */
static unsigned
choose_sizes (const Bench *bench, uint64_t *sizes)
{
  const uint64_t bound = bench->options->max_bytes;
  const uint64_t from = bound > 0 && bound < DEFAULT_BYTES ? bound : DEFAULT_BYTES;
  const unsigned n =
      bench_sizes (bench->options, from, DEFAULT_BYTES, SIZE_FACTOR, sizes, MOST_SIZES);
  unsigned kept = 0;

  for (unsigned i = 0; i < n; i++)
    if (sizes[i] >= LEAST_BYTES)
      sizes[kept++] = sizes[i];
  if (kept == 0)
    bench_note (bench, "left out: no size of %llu bytes or more", LEAST_BYTES);
  return kept;
}

static bool
with_channels (Run *run, unsigned channels, const uint64_t *sizes, unsigned n)
{
  uint64_t most = sizes[n - 1];
  bool     good = nccl_session_open (&run->session, run->bench, 2, channels, &most)
              && nccl_session_fill (&run->session, &nccl_types[1]) && open_product (run);

  while (n > 0 && sizes[n - 1] > most)
    n--;
  good = good && measure_ops (run, sizes, n);
  good = nccl_session_close (&run->session, good);
  close_product (&run->product);
  return good;
}

static bool
run_overlap (Bench *bench)
{
  const bool     alone = world_place (bench->world)->size == 1;
  Run            run = { .bench = bench };
  unsigned       list[BENCH_MAX_LIST];
  const unsigned n_channels = nccl_parse_channels (
      bench, bench->options->channels, alone ? SELF_CHANNELS : CHANNELS, list, BENCH_MAX_LIST);
  uint64_t       sizes[MOST_SIZES];
  const unsigned n = choose_sizes (bench, sizes);
  bool           good = n_channels > 0;

  if (alone)
    bench_note (
        bench,
        "one rank: it sends to itself, beside the product. SMs and memory are shared, and no link");
  for (unsigned i = 0; i < n_channels && n > 0 && good; i++)
    good = with_channels (&run, list[i], sizes, n);
  return good;
}

const Benchmark benchmark_collective_overlap = {
  .name = "collective_overlap",
  .title = "NCCL: a collective beside a matrix product, by the number of channels",
  .needs = NEEDS_CUDA | NEEDS_ALL_RANKS,
  .in_all = true,
  .run = run_overlap,
};

#endif
