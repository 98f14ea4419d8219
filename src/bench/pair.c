/*
 * `pair`: two communicators over the same ranks, each with a stream, a collective on each: what one
 * takes alone, and while the other's run all the time. FSDP's all-gather of the next layer beside
 * the reduce-scatter of the last is such a pair.
 */
#ifdef BENCH_CUDA

#include <stdio.h>
#include <string.h>

#include "bench/nccl-session.h"

#define FIRST_BYTES (4ull << 20)
#define LAST_BYTES  (256ull << 20)
#define SIZE_FACTOR 8.0
#define MOST_SIZES  16
#define MOST_OPS    (TEST_N_KINDS + 1)
#define COLLECTIVES "all_gather,reduce_scatter,all_reduce"

typedef struct
{
  Bench      *bench;
  NcclSession session;
  uint64_t    bytes;                           /* about, of the size that runs */
  NcclOp      ops[NCCL_SESSION_MAX][MOST_OPS]; /* the same operations on each communicator */
  double      alone[NCCL_SESSION_MAX][MOST_OPS];
  unsigned    n;
} Run;

/* The collectives asked for; one rank has only itself to send to. */
static void
choose_ops (Run *run)
{
  const char *list = run->bench->options->collectives;

  for (unsigned slot = 0; slot < NCCL_SESSION_MAX; slot++)
    {
      run->n = 0;
      if (run->session.place->size == 1)
        run->ops[slot][run->n++] = (NcclOp){ .self = true, .type = &nccl_types[0], .slot = slot };
      for (unsigned kind = 0; kind < TEST_N_KINDS && run->session.place->size > 1; kind++)
        if (bench_list_has (list != NULL ? list : COLLECTIVES, test_collectives[kind].name))
          run->ops[slot][run->n++] =
              (NcclOp){ .kind = (TestKind) kind, .type = &nccl_types[0], .slot = slot };
    }
}

static bool
write_result (Run *run, Result *result, const char *variant, uint64_t bytes)
{
  result->benchmark = "pair";
  result->variant = variant;
  result->dtype = nccl_types[0].name;
  result->bytes = bytes;
  result->ranks = run->session.place->size;
  result->channels = run->session.channels;
  result->remark = *run->session.remark != '\0' ? run->session.remark : NULL;
  if (results_add (run->bench->results, result))
    return true;
  bench_error (run->bench, "results.csv", "cannot be written");
  return false;
}

/* On each communicator; the first one's is written. */
static bool
measure_alone (Run *run, unsigned index)
{
  for (unsigned slot = 0; slot < NCCL_SESSION_MAX; slot++)
    {
      NcclOp  *op = &run->ops[slot][index];
      NcclLoad load = nccl_load_of_op (&run->session, op);
      uint64_t bytes = run->bytes;
      Result   result = { 0 };
      char     variant[64];

      nccl_op_set_bytes (&run->session, op, &bytes);
      if (!nccl_time (&run->session, &load, NULL, NULL, &result))
        return false;
      run->alone[slot][index] = load.alone;
      snprintf (variant, sizeof variant, "%s.alone", nccl_op_name (op));
      if (slot == 0 && !write_result (run, &result, variant, bytes))
        return false;
    }
  return true;
}

static bool
measure_beside (Run *run, unsigned subject, unsigned other)
{
  NcclOp  *op = &run->ops[0][subject], *beside = &run->ops[1][other];
  NcclLoad load = nccl_load_of_op (&run->session, op);
  NcclLoad other_load = nccl_load_of_op (&run->session, beside);
  uint64_t bytes = run->bytes;
  Result   result = { 0 };
  char     variant[96];
  bool     covered;

  nccl_op_set_bytes (&run->session, op, &bytes);
  load.alone = run->alone[0][subject];
  other_load.alone = run->alone[1][other];
  snprintf (variant, sizeof variant, "%s.beside.%s", nccl_op_name (op), nccl_op_name (beside));
  if (!nccl_time (&run->session, &load, &other_load, &covered, &result))
    return false;
  if (covered)
    return write_result (run, &result, variant, bytes);
  bench_note (run->bench, "%s of %llu bytes left out: the other side could not be kept running",
              variant, (unsigned long long) bytes);
  return true;
}

static bool
measure_size (Run *run)
{
  for (unsigned i = 0; i < run->n; i++)
    if (!measure_alone (run, i))
      return false;
  for (unsigned i = 0; i < run->n; i++)
    for (unsigned j = 0; j < run->n; j++)
      if (!measure_beside (run, i, j))
        return false;
  return true;
}

/* All sizes with CHANNELS channels. */
static bool
with_channels (Run *run, unsigned channels)
{
  uint64_t sizes[MOST_SIZES], most;
  unsigned n =
      bench_sizes (run->bench->options, FIRST_BYTES, LAST_BYTES, SIZE_FACTOR, sizes, MOST_SIZES);
  bool good;

  if (n == 0)
    return true;
  most = sizes[n - 1];
  good = nccl_session_open (&run->session, run->bench, NCCL_SESSION_MAX, channels, &most)
         && nccl_session_fill (&run->session, &nccl_types[0]);
  if (good)
    choose_ops (run);
  for (unsigned i = 0; i < n && good && sizes[i] <= most; i++)
    {
      run->bytes = sizes[i];
      good = measure_size (run);
    }
  return nccl_session_close (&run->session, good);
}

static bool
run_pair (Bench *bench)
{
  Run            run = { .bench = bench };
  unsigned       list[BENCH_MAX_LIST];
  const unsigned n =
      nccl_parse_channels (bench, bench->options->channels, "0", list, BENCH_MAX_LIST);
  bool good = n > 0;

  if (world_place (bench->world)->size == 1)
    bench_note (
        bench,
        "one rank: it sends to itself on both communicators. NCCL's copies share the GPU, and no "
        "link");
  for (unsigned i = 0; i < n && good; i++)
    good = with_channels (&run, list[i]);
  return good;
}

const Benchmark benchmark_pair = {
  .name = "pair",
  .title = "NCCL: collectives of two communicators at once",
  .needs = NEEDS_CUDA | NEEDS_ALL_RANKS,
  .in_all = true,
  .run = run_pair,
};

#endif
