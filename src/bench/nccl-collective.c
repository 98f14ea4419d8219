/*
 * `collective`: what a collective costs over all ranks, as nccl-tests measures it. `self_sendrecv`:
 * every rank sends to itself, which runs NCCL's point-to-point kernel on one GPU: what NCCL's
 * thread blocks copy, by their number.
 */
#ifdef BENCH_CUDA

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/nccl-data.h"

#define FIRST_BYTES   8
#define LAST_BYTES    (8ull << 30)
#define SIZE_FACTOR   2.0
#define MOST_SIZES    64
#define SELF_CHANNELS "1,2,4,8,16,32"

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

/* ---- one size -------------------------------------------------------------------------------- */

static Result
describe (const Run *run, const NcclOp *op, uint64_t bytes)
{
  const NcclSession *session = &run->session;

  return (Result){ .benchmark = run->bench->name,
                   .dtype = op->type->name,
                   .bytes = bytes,
                   .ranks = session->place->size,
                   .channels = session->channels,
                   .remark = *session->remark != '\0' ? session->remark : NULL };
}

/* Times and checks one half of a row, and writes its result. */
static bool
measure (Run *run, NcclOp *op, uint64_t bytes, TestSample *sample)
{
  Result   result = describe (run, op, bytes);
  NcclLoad load = nccl_load_of_op (&run->session, op);
  char     variant[64];

  snprintf (variant, sizeof variant, "%s%s", nccl_op_name (op), op->in_place ? ".in_place" : "");
  result.variant = variant;
  *sample = (TestSample){ .seconds = -1, .wrong = -1 };
  if (!nccl_time (&run->session, &load, NULL, NULL, &result))
    return false;
  sample->seconds = load.alone;
  if (!op->in_place || op->self || test_collectives[op->kind].in_place_checked)
    if (!nccl_data_check (&run->session, op, &sample->wrong))
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

/* ---- collectives ----------------------------------------------------------------------------- */

static bool
measure_row (Run *run, NcclOp *op, uint64_t bytes, TestText *text)
{
  TestSample out_of_place, in_place = { .seconds = -1, .wrong = -1 };

  op->in_place = false;
  if (!measure (run, op, bytes, &out_of_place))
    return false;
  op->in_place = true;
  if (!run->bench->options->out_of_place && !measure (run, op, bytes, &in_place))
    return false;
  return test_text_row (text, op->count, &out_of_place, &in_place);
}

static bool
measure_rows (Run *run, NcclOp *op, TestText *text)
{
  uint64_t last = 0;

  for (unsigned i = 0; i < run->n_sizes && run->sizes[i] <= run->most; i++)
    {
      uint64_t bytes = run->sizes[i];

      nccl_op_set_bytes (&run->session, op, &bytes);
      if (bytes != last && !measure_row (run, op, bytes, text))
        return false;
      last = bytes;
    }
  return true;
}

/* The head's remark; NULL: there is nothing to say. */
static const char *
head_remark (const Run *run, char *text, size_t size)
{
  const NcclSession *session = &run->session;

  if (session->place->size == 1)
    return "one rank: out of place is a copy on the device, in place is nothing. No bandwidth of "
           "NCCL or of any link";
  if (*session->remark == '\0' && session->channels == 0)
    return NULL;
  snprintf (text, size, "%s%s", session->remark, *session->remark != '\0' ? "; " : "");
  if (session->channels > 0)
    snprintf (text + strlen (text), size - strlen (text), "minCTAs = maxCTAs = %u",
              session->channels);
  return text;
}

/*
 * Words of `env`: what `shardsim validate` does not know keeps a row out of its tables, as it must
 * be with what was forced.
 */
static const char *
environment (const Run *run, char *text, size_t size)
{
  const NcclSession *session = &run->session;

  *text = '\0';
  if (session->ranks_on_gpu > 1)
    snprintf (text, size, "ranks-share-gpu");
  if (session->channels > 0)
    snprintf (text + strlen (text), size - strlen (text), "%schannels=%u", *text != '\0' ? ";" : "",
              session->channels);
  return text;
}

static bool
measure_collective (Run *run, TestKind kind, const NcclType *type)
{
  char          library[64], version[32], remark[256], env[64];
  int           number = 0;
  NcclOp        op = { .kind = kind, .type = type };
  TestText      text;
  const TestRun head = { .kind = kind,
                         .library = library,
                         .version = nccl_version_text (version, sizeof version),
                         .type = type->text,
                         .element = type->size,
                         .min_bytes = run->sizes[0],
                         .max_bytes = run->sizes[run->n_sizes - 1],
                         .remark = head_remark (run, remark, sizeof remark),
                         .env = environment (run, env, sizeof env),
                         .table = run->session.place->size > 1 };
  const Bench  *bench = run->bench;
  bool          good;

  NCCL_TRY (ncclGetVersion (&number));
  snprintf (library, sizeof library, "nccl-headers=%d nccl-library=%d", NCCL_VERSION_CODE, number);
  results_show (run->bench->results, false);
  good = test_text_begin (&text, run->bench, &head, &run->session.device, ++run->sweep)
         && measure_rows (run, &op, &text);
  if (good)
    test_text_end (&text);
  results_show (run->bench->results, true);
  return good;
}

static bool
measure_collectives (Run *run, const NcclType *type)
{
  if (!nccl_session_fill (&run->session, type))
    return false;
  for (unsigned kind = 0; kind < TEST_N_KINDS; kind++)
    if (bench_list_has (run->bench->options->collectives, test_collectives[kind].name)
        && !measure_collective (run, (TestKind) kind, type))
      return false;
  return true;
}

/* ---- sending to oneself ---------------------------------------------------------------------- */

static bool
measure_self (Run *run, const NcclType *type)
{
  NcclOp     op = { .self = true, .type = type };
  TestSample sample = { .seconds = -1, .wrong = -1 };
  uint64_t   bytes = 0, last = 0;

  if (!nccl_session_fill (&run->session, type))
    return false;
  for (unsigned i = 0; i < run->n_sizes && run->sizes[i] <= run->most; i++)
    {
      bytes = run->sizes[i];
      nccl_op_set_bytes (&run->session, &op, &bytes);
      if (bytes != last && !measure (run, &op, bytes, &sample))
        return false;
      last = bytes;
    }
  if (sample.seconds > 0 && run->session.channels > 0)
    bench_note (run->bench, "self_sendrecv: %.1f GB/s with %u CTAs, %.2f GB/s a CTA",
                1e-9 * (double) bytes / sample.seconds, run->session.channels,
                1e-9 * (double) bytes / sample.seconds / run->session.channels);
  return true;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

typedef bool (*Measure) (Run *run, const NcclType *type);

/* All types with CHANNELS channels. */
static bool
with_channels (Run *run, unsigned channels, Measure function)
{
  const char *dtypes = run->bench->options->dtypes;
  unsigned    n = 0;
  bool        good;

  run->most = run->sizes[run->n_sizes - 1];
  good = nccl_session_open (&run->session, run->bench, 1, channels, &run->most);
  for (unsigned i = 0; i < NCCL_N_TYPES && good; i++)
    if (dtypes == NULL ? i == 0 : bench_list_has (dtypes, nccl_types[i].name))
      {
        good = function (run, &nccl_types[i]);
        n++;
      }
  if (good && n == 0)
    bench_note (run->bench, "left out: none of fp32, bf16, fp16 is among the types '%s'", dtypes);
  return nccl_session_close (&run->session, good);
}

static bool
sweep (Run *run, const char *otherwise, Measure function)
{
  unsigned       list[BENCH_MAX_LIST];
  const unsigned n = nccl_parse_channels (run->bench, run->bench->options->channels, otherwise,
                                          list, BENCH_MAX_LIST);
  bool           good = n > 0;

  for (unsigned i = 0; i < n && good; i++)
    good = with_channels (run, list[i], function);
  return good;
}

/* Is any of nccl-tests' collectives asked for? */
static bool
wants_collectives (const BenchOptions *options)
{
  for (unsigned i = 0; i < TEST_N_KINDS; i++)
    if (bench_list_has (options->collectives, test_collectives[i].name))
      return true;
  return false;
}

static bool
wants_self (const Bench *bench)
{
  if (bench->options->collectives == NULL)
    return world_place (bench->world)->size == 1;
  return bench_list_has (bench->options->collectives, "self_sendrecv");
}

static bool
run_collective (Bench *bench)
{
  Run run = { .bench = bench, .right = true };

  run.n_sizes =
      bench_sizes (bench->options, FIRST_BYTES, LAST_BYTES, SIZE_FACTOR, run.sizes, MOST_SIZES);
  if (run.n_sizes == 0)
    {
      bench_error (bench, "sizes", "none from the given least to the largest one, %llu bytes",
                   LAST_BYTES);
      return false;
    }
  if (!wants_collectives (bench->options) && !wants_self (bench))
    {
      bench_error (
          bench, "--collectives",
          "'%s' names none of all_reduce, all_gather, reduce_scatter, alltoall, broadcast, "
          "sendrecv, self_sendrecv",
          bench->options->collectives);
      return false;
    }
  if (world_place (bench->world)->size == 1)
    bench_note (bench,
                "one rank: a collective is a copy on the device out of place and nothing in place. "
                "Its times are of launches and copies, no bandwidth of NCCL or of any link");
  if (wants_collectives (bench->options) && !sweep (&run, "0", measure_collectives))
    return false;
  if (wants_self (bench) && !sweep (&run, SELF_CHANNELS, measure_self))
    return false;
  if (!run.right)
    bench_error (bench, "check", "wrong values were received");
  return run.right;
}

const Benchmark benchmark_collective = {
  .name = "collective",
  .title =
      "NCCL: all_reduce, all_gather, reduce_scatter, alltoall, broadcast, sendrecv; sending to "
      "oneself",
  .needs = NEEDS_CUDA | NEEDS_ALL_RANKS,
  .in_all = true,
  .run = run_collective,
};

#endif
