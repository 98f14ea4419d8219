#include "bench/nccl/nccl-text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const TestCollective test_collectives[TEST_N_KINDS] = {
  [TEST_ALL_REDUCE] = { "all_reduce", "sum", -1, false, true },
  [TEST_ALL_GATHER] = { "all_gather", "none", -1, true, true },
  [TEST_REDUCE_SCATTER] = { "reduce_scatter", "sum", -1, true, true },
  [TEST_ALLTOALL] = { "alltoall", "none", -1, true, false },
  [TEST_BROADCAST] = { "broadcast", "none", 0, false, true },
  [TEST_SENDRECV] = { "sendrecv", "sum", -1, false, false },
};

/* ---- sizes ----------------------------------------------------------------------------------- */

uint64_t
test_collective_count (TestKind kind, uint64_t bytes, size_t element, unsigned ranks)
{
  uint64_t part = test_collectives[kind].parts ? bytes / ranks : bytes;

  if (test_collectives[kind].parts && part >= 16)
    part -= part % 16;
  return part >= element ? part / element : 1;
}

uint64_t
test_collective_bytes (TestKind kind, uint64_t count, size_t element, unsigned ranks)
{
  return count * element * (test_collectives[kind].parts ? ranks : 1);
}

double
test_collective_bus_factor (TestKind kind, unsigned ranks)
{
  const double share = (ranks - 1.0) / ranks;

  if (kind == TEST_ALL_REDUCE)
    return 2 * share;
  return test_collectives[kind].parts ? share : 1;
}

uint64_t
test_collective_send_elements (TestKind kind, uint64_t count, unsigned ranks)
{
  return kind == TEST_REDUCE_SCATTER || kind == TEST_ALLTOALL ? count * ranks : count;
}

uint64_t
test_collective_recv_elements (TestKind kind, uint64_t count, unsigned ranks)
{
  return kind == TEST_ALL_GATHER || kind == TEST_ALLTOALL ? count * ranks : count;
}

/* ---- words ----------------------------------------------------------------------------------- */

const char *
test_list_value (const char *list, const char *key, const char *otherwise, char *text, size_t size)
{
  const size_t length = strlen (key);

  snprintf (text, size, "%s", otherwise);
  for (const char *word = list; word != NULL && *word != '\0';)
    {
      const size_t end = strcspn (word, ",");

      if (end > length && strncmp (word, key, length) == 0 && word[length] == '=')
        snprintf (text, size, "%.*s", (int) (end - length - 1), word + length + 1);
      word += end + (word[end] == ',');
    }
  return text;
}

void
test_text_figure (char *text, size_t size, int width, double value)
{
  for (int decimals = 2; decimals >= 0; decimals--)
    {
      const int length = snprintf (text, size, "%*.*f", width, decimals, value);

      if (length <= width)
        return;
    }
  snprintf (text, size, "%*.*e", width, width >= 7 ? 1 : 0, value);
}

/* ---- head ------------------------------------------------------------------------------------ */

typedef struct
{
  char       host[64];
  long       pid;
  unsigned   rank;
  TestDevice device;
} DeviceLine;

static void
print_options (const TestRun *run, const BenchOptions *options)
{
  const char *name = test_collectives[run->kind].name;

  printf ("# shardsim-bench %s\n# Collective test starting: %s_perf\n", run->library, name);
  printf (
      "# nThread 1 nGpus 1 minBytes %" PRIu64 " maxBytes %" PRIu64
      " step: %g(factor) warmup iters: %u iters: %u agg iters: 1 validation: 1 graph: %u unalign: "
      "0\n",
      run->min_bytes, run->max_bytes, options->step_factor > 1 ? options->step_factor : 2.0,
      options->warmup, options->iterations, options->graphs ? 1u : 0u);
  printf ("# repeats: %u; times are medians over them\n", options->repeats);
  if (run->remark != NULL)
    printf ("# %s\n", run->remark);
  printf ("#\n# Using devices\n");
}

static void
print_columns (void)
{
  static const char *const format =
      "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s \n";

  printf ("#\n# %10s  %12s  %8s  %6s  %6s           out-of-place                       "
          "in-place          \n",
          "", "", "", "", "");
  printf (format, "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong",
          "time", "algbw", "busbw", "#wrong");
  printf (format, "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
          "(GB/s)", "");
}

static const char columns[] =
    "id,source,nodes,gpus_per_node,gpu,intra,nics,nic,collective,bytes,time_us,healthy,nccl,env\n";

/* collectives.csv, with its header; NULL without an error where no files are written. */
static bool
open_table (TestText *self)
{
  const WorldPlace *place = world_place (self->bench->world);
  const char       *error = NULL;

  self->table = NULL;
  if (!self->run.table || place->rank != 0)
    return true;
  if (place->size % place->nodes != 0)
    {
      bench_note (self->bench, "%u ranks on %u hosts: collectives.csv has no rows of uneven nodes",
                  place->size, place->nodes);
      return true;
    }
  self->table = results_file (self->bench->results, "collectives.csv", columns, &error);
  if (self->table == NULL && error != NULL)
    {
      bench_error (self->bench, "collectives.csv", "%s", error);
      return false;
    }
  return true;
}

bool
test_text_begin (TestText *self, Bench *bench, const TestRun *run, const TestDevice *device,
                 unsigned sweep)
{
  const WorldPlace *place = world_place (bench->world);
  DeviceLine        line = { .pid = (long) getpid (), .rank = place->rank, .device = *device };
  DeviceLine       *lines = calloc (place->size, sizeof *lines);

  *self = (TestText){ .bench = bench, .run = *run, .sweep = sweep };
  snprintf (line.host, sizeof line.host, "%s", place->host);
  if (lines == NULL || !world_gather (bench->world, &line, lines, sizeof line))
    {
      bench_error (
          bench, "world_gather",
          "the ranks' devices could not be gathered: another rank has ended, or the time is up");
      free (lines);
      return false;
    }
  if (place->rank == 0)
    {
      print_options (run, bench->options);
      for (unsigned i = 0; i < place->size; i++)
        printf ("#  Rank %2u Group %2d Pid %6ld on %10s device %2d [%s] %s\n", lines[i].rank, 0,
                lines[i].pid, lines[i].host, lines[i].device.device, lines[i].device.bus,
                lines[i].device.name);
      print_columns ();
      fflush (stdout);
    }
  free (lines);
  return open_table (self);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void
print_half (TestText *self, uint64_t bytes, const TestSample *sample)
{
  const unsigned ranks = world_place (self->bench->world)->size;
  char           time[32] = "N/A", algorithm[32] = "N/A", bus[32] = "N/A", wrong[32] = "N/A";

  if (sample->seconds > 0)
    {
      const double rate = 1e-9 * (double) bytes / sample->seconds;
      const double bus_rate = rate * test_collective_bus_factor (self->run.kind, ranks);

      test_text_figure (time, sizeof time, 7, 1e6 * sample->seconds);
      test_text_figure (algorithm, sizeof algorithm, 6, rate);
      test_text_figure (bus, sizeof bus, 6, bus_rate);
      self->bus_sum += bus_rate;
      self->n_bus++;
    }
  if (sample->wrong >= 0)
    snprintf (wrong, sizeof wrong, "%g", (double) sample->wrong);
  printf ("  %7s  %6s  %6s  %6s", time, algorithm, bus, wrong);
}

/* A comma or a quote in a cell would make two of it. */
static const char *
plain_cell (char *text)
{
  for (char *c = text; *c != '\0'; c++)
    if (*c == ',' || *c == '"' || *c == '\n')
      *c = '_';
  return text;
}

static bool
write_table_row (const TestText *self, uint64_t bytes, const TestSample *sample,
                 const char *place_word)
{
  const WorldPlace   *place = world_place (self->bench->world);
  const BenchOptions *options = self->bench->options;
  const TestRun      *run = &self->run;
  const bool          one_node = place->nodes == 1;
  char                id[80], gpu[64], intra[64], nics[16], nic[64];

  if (self->table == NULL || sample->seconds <= 0)
    return true;
  snprintf (id, sizeof id, "%s", options->id != NULL ? options->id : place->host);
  test_list_value (options->hardware, "gpu", "unknown", gpu, sizeof gpu);
  test_list_value (options->hardware, "intra", place->size == place->nodes ? "none" : "unknown",
                   intra, sizeof intra);
  test_list_value (options->hardware, "nics", one_node ? "0" : "unknown", nics, sizeof nics);
  test_list_value (options->hardware, "nic", one_node ? "none" : "unknown", nic, sizeof nic);
  fprintf (self->table,
           "%s-%02u,shardsim-bench on %s,%u,%u,%s,%s,%s,%s,%s,%" PRIu64 ",%.4f,%s,%s,%s%s%s\n",
           plain_cell (id), self->sweep, place->host, place->nodes, place->size / place->nodes,
           plain_cell (gpu), plain_cell (intra), plain_cell (nics), plain_cell (nic),
           test_collectives[run->kind].name, bytes, 1e6 * sample->seconds,
           sample->wrong > 0 ? "no" : "yes", run->version, place_word,
           run->env != NULL && *run->env != '\0' ? ";" : "", run->env != NULL ? run->env : "");
  if (fflush (self->table) == 0)
    return true;
  bench_error (self->bench, "collectives.csv", "cannot be written");
  return false;
}

bool
test_text_row (TestText *self, uint64_t count, const TestSample *out_of_place,
               const TestSample *in_place)
{
  const WorldPlace     *place = world_place (self->bench->world);
  const TestCollective *collective = &test_collectives[self->run.kind];
  const uint64_t        bytes =
      test_collective_bytes (self->run.kind, count, self->run.element, place->size);

  self->wrong += out_of_place->wrong > 0 ? out_of_place->wrong : 0;
  self->wrong += in_place->wrong > 0 ? in_place->wrong : 0;
  if (place->rank != 0)
    return true;
  printf ("%12" PRIu64 "  %12" PRIu64 "  %8s  %6s  %6d", bytes, count, self->run.type,
          collective->redop, collective->root);
  print_half (self, bytes, out_of_place);
  print_half (self, bytes, in_place);
  printf ("\n");
  fflush (stdout);
  return write_table_row (self, bytes, out_of_place, "out-of-place")
         && write_table_row (self, bytes, in_place, "in-place");
}

bool
test_text_end (TestText *self)
{
  if (world_place (self->bench->world)->rank == 0)
    {
      printf ("# Out of bounds values : %" PRId64 " %s\n", self->wrong,
              self->wrong > 0 ? "FAILED" : "OK");
      printf ("# Avg bus bandwidth    : %g \n#\n# Collective test concluded: %s_perf\n#\n",
              self->n_bus > 0 ? self->bus_sum / self->n_bus : 0.0,
              test_collectives[self->run.kind].name);
      fflush (stdout);
    }
  return self->wrong == 0;
}
