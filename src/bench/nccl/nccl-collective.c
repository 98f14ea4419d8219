/* What a collective costs over all ranks, as nccl-tests measures it. */
#ifdef BENCH_CUDA

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/benchmarks.h"
#include "bench/nccl/nccl-data.h"

#define FIRST_BYTES   8
#define LAST_BYTES    (8ull << 30)
#define SIZE_FACTOR   2.0
#define MOST_SIZES    64
#define MOST_CHANNELS 64

typedef struct
{
  Bench      *bench;
  NcclSession session;
  uint64_t    sizes[MOST_SIZES];
  unsigned    n_sizes;
  uint64_t    most; /* bytes that fit */
  unsigned    sweep;
  bool        right; /* no wrong value so far */
} Run;

/* Times and checks one half of a row, and writes its result. */
static bool
measure (Run *run, const NcclOp *op, uint64_t bytes, TestSample *sample)
{
  NcclSession          *session = &run->session;
  const TestCollective *collective = &test_collectives[op->kind];
  char                  variant[64];
  Result                result = { .benchmark = run->bench->name,
                                   .variant = variant,
                                   .dtype = op->type->name,
                                   .bytes = bytes,
                                   .ranks = session->place->size,
                                   .channels = session->channels,
                                   .remark = session->remark };

  snprintf (variant, sizeof variant, "%s%s%s", collective->name, op->in_place ? ".in_place" : "",
            run->bench->options->graphs ? ".graph" : "");
  *sample = (TestSample){ .seconds = -1, .wrong = -1 };
  if (!nccl_time (session, op, &result))
    return false;
  sample->seconds = 1e-6 * result.value;
  if (!op->in_place || collective->in_place_checked)
    if (!nccl_data_check (session, op, &sample->wrong))
      return false;
  if (sample->wrong > 0)
    {
      bench_note (run->bench, "%s of %llu bytes: %lld values are wrong: its time is not written",
                  variant, (unsigned long long) bytes, (long long) sample->wrong);
      run->right = false;
      return true;
    }
  if (results_add (run->bench->results, &result))
    return true;
  bench_error (run->bench, "results.csv", "cannot be written");
  return false;
}

static bool
measure_rows (Run *run, NcclOp *op, TestText *text)
{
  uint64_t last = 0;

  for (unsigned i = 0; i < run->n_sizes && run->sizes[i] <= run->most; i++)
    {
      TestSample out_of_place, in_place = { .seconds = -1, .wrong = -1 };
      uint64_t   bytes = run->sizes[i];

      nccl_op_set_bytes (&run->session, op, &bytes);
      if (bytes == last)
        continue;
      last = bytes;
      op->in_place = false;
      if (!measure (run, op, bytes, &out_of_place))
        return false;
      op->in_place = true;
      if ((!run->bench->options->out_of_place && !measure (run, op, bytes, &in_place))
          || !test_text_row (text, op->count, &out_of_place, &in_place))
        return false;
    }
  return true;
}

/* Words of `env` that `shardsim validate` does not know, which keep a row out of its tables. */
static void
say_environment (const Run *run, char *env, size_t size)
{
  const NcclSession *session = &run->session;
  char               channels[32] = "";

  if (session->channels > 0)
    snprintf (channels, sizeof channels, "channels=%u;", session->channels);
  snprintf (env, size, "%s%s%s", session->ranks_on_gpu > 1 ? "ranks-share-gpu;" : "", channels,
            run->bench->options->graphs ? "cuda-graph;" : "");
  if (*env != '\0')
    env[strlen (env) - 1] = '\0';
}

/* The text of one collective and its rows. What was forced is in the head. */
static bool
measure_collective (Run *run, TestKind kind, const NcclType *type)
{
  const Bench       *bench = run->bench;
  const NcclSession *session = &run->session;
  const bool         one = session->place->size == 1;
  NcclOp             op = { .kind = kind, .type = type };
  char               library[64], remark[256] = "", env[96] = "", forced[64] = "";
  int                number = 0;
  TestText           text;
  TestRun            head = { .kind = kind,
                              .library = library,
                              .version = results_machine (bench->results)->nccl,
                              .type = type->text,
                              .element = type->size,
                              .min_bytes = run->sizes[0],
                              .max_bytes = run->sizes[run->n_sizes - 1],
                              .remark = remark,
                              .env = env,
                              .table = !one };
  bool               good;

  NCCL_TRY (ncclGetVersion (&number));
  snprintf (library, sizeof library, "nccl-headers=%d nccl-library=%d", NCCL_VERSION_CODE, number);
  if (session->channels > 0)
    snprintf (forced, sizeof forced, "minCTAs = maxCTAs = %u", session->channels);
  snprintf (remark, sizeof remark, "%s%s%s", session->remark,
            *session->remark != '\0' && *forced != '\0' ? "; " : "", forced);
  say_environment (run, env, sizeof env);
  if (one)
    head.remark = "one rank: out of place is a copy on the device, in place is nothing. No "
                  "bandwidth of NCCL or of any link";
  else if (*remark == '\0')
    head.remark = NULL;
  results_show (bench->results, false);
  good = test_text_begin (&text, run->bench, &head, &session->device, ++run->sweep)
         && measure_rows (run, &op, &text);
  if (good)
    test_text_end (&text);
  results_show (bench->results, true);
  return good;
}

/* All collectives of all types with CHANNELS channels. */
static bool
with_channels (Run *run, unsigned channels)
{
  const BenchOptions *options = run->bench->options;
  unsigned            n = 0;
  bool                good;

  run->most = run->sizes[run->n_sizes - 1];
  good = nccl_session_open (&run->session, run->bench, channels, &run->most);
  for (unsigned i = 0; i < NCCL_N_TYPES && good; i++)
    {
      const NcclType *type = &nccl_types[i];

      if (options->dtypes == NULL ? i > 0 : !bench_list_has (options->dtypes, type->name))
        continue;
      n++;
      good = nccl_session_fill (&run->session, type);
      for (TestKind kind = 0; kind < TEST_N_KINDS && good; kind++)
        if (bench_list_has (options->collectives, test_collectives[kind].name))
          good = measure_collective (run, kind, type);
    }
  if (good && n == 0)
    bench_note (run->bench, "left out: none of fp32, bf16, fp16 is among the types '%s'",
                options->dtypes);
  return nccl_session_close (&run->session, good);
}

bool
bench_collective (Bench *bench)
{
  Run         run = { .bench = bench, .right = true };
  const char *list = bench->options->channels != NULL ? bench->options->channels : "0";

  run.n_sizes =
      bench_sizes (bench->options, FIRST_BYTES, LAST_BYTES, SIZE_FACTOR, run.sizes, MOST_SIZES);
  if (run.n_sizes == 0)
    {
      bench_error (bench, "sizes", "none from the given least to the largest one, %llu bytes",
                   LAST_BYTES);
      return false;
    }
  if (world_place (bench->world)->size == 1)
    bench_note (bench,
                "one rank: a collective is a copy on the device out of place and nothing in place. "
                "Its times are of launches and copies, no bandwidth of NCCL or of any link");
  for (const char *at = list; *at != '\0'; at += strcspn (at, ",") + (strchr (at, ',') != NULL))
    {
      const unsigned long channels = strtoul (at, NULL, 10);

      if (channels > MOST_CHANNELS)
        {
          bench_error (bench, "--channels",
                       "'%s': expected numbers from 1 to 64, or 0 for NCCL's choice", list);
          return false;
        }
      if (!with_channels (&run, (unsigned) channels))
        return false;
    }
  if (!run.right)
    bench_error (bench, "check", "wrong values were received");
  return run.right;
}

#endif
