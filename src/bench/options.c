#include "bench/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum
{
  KIND_SIZE,
  KIND_FACTOR,
  KIND_COUNT,
  KIND_TEXT,
  KIND_WORDS,   /* some of `words`, with commas between them */
  KIND_NUMBERS, /* whole ones, with commas between them */
  KIND_PAIRS,   /* K=V, of keys that are `words`, with commas between them */
  KIND_SWITCH,
  KIND_VERDICT,
} OptionKind;

typedef struct
{
  const char *name;
  char        letter; /* 0: none */
  OptionKind  kind;
  size_t      offset; /* in BenchOptions; of KIND_VERDICT the verdict */
  const char *value, *help;
} OptionLine;

static const char *const collectives[] = { "all_reduce", "all_gather", "reduce_scatter",
                                           "alltoall",   "broadcast",  "sendrecv",
                                           NULL };
static const char *const dtypes[] = { "bf16", "fp16", "fp32", "fp8", NULL };
static const char *const hardware[] = { "gpu", "intra", "nics", "nic", NULL };

#define AT(field) offsetof (BenchOptions, field)

static const OptionLine lines[] = {
  { "min-bytes", 'b', KIND_SIZE, AT (min_bytes), "SIZE",
    "smallest size: 8, 64K, 1M, 8G (default: the benchmark's)" },
  { "max-bytes", 'e', KIND_SIZE, AT (max_bytes), "SIZE", "largest size" },
  { "step-factor", 'f', KIND_FACTOR, AT (step_factor), "F",
    "from one size to the next (default: the benchmark's)" },
  { "warmup", 'w', KIND_COUNT, AT (warmup), "N", "calls before what is timed (default 5)" },
  { "iterations", 'n', KIND_COUNT, AT (iterations), "N", "calls a repeat (default 20)" },
  { "repeats", 'r', KIND_COUNT, AT (repeats), "N",
    "measurements of each case, for median and spread (default 7)" },
  { "ranks", 'g', KIND_COUNT, AT (local_ranks), "N",
    "processes to start here, one a GPU (default: one for each GPU, unless a launcher started "
    "several)" },
  { "output", 'o', KIND_TEXT, AT (output), "DIR", "folder for results.csv and the tables (made)" },
  { "rendezvous", 0, KIND_TEXT, AT (rendezvous), "DIR",
    "empty folder that all ranks see, where they find each other without MPI" },
  { "collectives", 0, KIND_WORDS, AT (collectives), "LIST",
    "all_reduce,all_gather,reduce_scatter,alltoall,broadcast,sendrecv" },
  { "dtypes", 'd', KIND_WORDS, AT (dtypes), "LIST", "bf16,fp16,fp32,fp8" },
  { "channels", 'c', KIND_NUMBERS, AT (channels), "LIST",
    "numbers of NCCL channels to force, one after another" },
  { "algorithm", 'a', KIND_TEXT, AT (algorithm), "NAME",
    "of collectives over MPI: ring, pairwise, ..." },
  { "hardware", 0, KIND_PAIRS, AT (hardware), "K=V,...",
    "gpu, intra, nics, nic: ids for collectives.csv" },
  { "id", 0, KIND_TEXT, AT (id), "TEXT",
    "prefix of the ids in collectives.csv (default: the host's name)" },
  { "sustained", 0, KIND_COUNT, AT (sustained_s), "S",
    "matmul: seconds of one large product, until power and heat have settled (default 0: not "
    "measured)" },
  { "file", 0, KIND_TEXT, AT (file), "FILE",
    "of the storage benchmark: made, written, read, removed" },
  { "outer", 0, KIND_TEXT, AT (outer), "K=V,...",
    "mpi_outer: steps of a round, step_us, fragments, overlap (default 8, 100000, 4, 1)" },
  { "graphs", 0, KIND_SWITCH, AT (graphs), NULL,
    "NCCL collectives: calls as one CUDA graph, as decoding has them" },
  { "out-of-place", 0, KIND_SWITCH, AT (out_of_place), NULL,
    "NCCL collectives: not in place as well" },
  { "one-gpu", 0, KIND_SWITCH, AT (one_gpu), NULL,
    "several ranks on one GPU, where NCCL allows it" },
  { "timeout", 0, KIND_COUNT, AT (timeout_s), "S",
    "seconds to wait for other ranks, in each call (default 1800; 0 over MPI: for ever)" },
  { "list", 0, KIND_VERDICT, OPTIONS_LIST, NULL, "print the benchmarks" },
  { "version", 0, KIND_VERDICT, OPTIONS_VERSION, NULL, "print the version and what is built in" },
  { "help", 'h', KIND_VERDICT, OPTIONS_HELP, NULL, "print this" },
};

#define N_LINES (sizeof lines / sizeof lines[0])

static void
print_help (void)
{
  puts ("Usage: shardsim-bench [OPTION]... [BENCHMARK]...\n\n"
        "Measures the machine that it runs on: 'all', or benchmarks by name ('--list').\n"
        "Results are what 'shardsim calibrate' reads. Clocks, power and MIG stay as they are.\n");
  for (size_t i = 0; i < N_LINES; i++)
    {
      char left[40];

      snprintf (left, sizeof left, "%c%c --%s%s%s", lines[i].letter != 0 ? '-' : ' ',
                lines[i].letter != 0 ? lines[i].letter : ' ', lines[i].name,
                lines[i].value != NULL ? "=" : "", lines[i].value != NULL ? lines[i].value : "");
      printf ("  %-26s %s\n", left, lines[i].help);
    }
  puts ("\nExamples:\n"
        "  shardsim-bench all -o results\n"
        "  shardsim-bench collective -b 8 -e 1G -g 8 -o results\n"
        "  mpirun -n 4 shardsim-bench mpi_collective --algorithm ring -o results");
}

/* "64K" in bytes: binary suffixes, as nccl-tests has them. */
static bool
parse_size (const char *text, uint64_t *bytes)
{
  static const char suffixes[] = "KMGT";
  char             *end;
  double            value;
  const char       *suffix;

  errno = 0;
  value = strtod (text, &end);
  if (end == text || errno != 0 || !isfinite (value) || value < 0)
    return false;
  suffix = *end != '\0' ? strchr (suffixes, *end & ~0x20) : NULL;
  if (suffix != NULL)
    {
      value = ldexp (value, 10 * (int) (suffix - suffixes + 1));
      end++;
    }
  if (*end != '\0' || value > ldexp (1, 50) || value != floor (value))
    return false;
  *bytes = (uint64_t) value;
  return true;
}

static bool
parse_count (const char *text, unsigned *count)
{
  char *end;
  long  value;

  errno = 0;
  value = strtol (text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || value < 0 || value > 1000000)
    return false;
  *count = (unsigned) value;
  return true;
}

/* The words that LINE, of KIND_WORDS or KIND_PAIRS, takes; NULL: it is of another kind. */
static const char *const *
words_of (const OptionLine *line)
{
  static const struct
  {
    size_t             offset;
    const char *const *words;
  } lists[] = {
    { AT (collectives), collectives },
    { AT (dtypes), dtypes },
    { AT (hardware), hardware },
  };

  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (lists[i].offset == line->offset)
      return lists[i].words;
  return NULL;
}

/* Whether the LENGTH bytes at TEXT are one of WORDS. */
static bool
is_one_of (const char *text, size_t length, const char *const *words)
{
  for (; *words != NULL; words++)
    if (strlen (*words) == length && strncmp (text, *words, length) == 0)
      return true;
  return false;
}

/* Whether each part of LIST is of KIND; *BAD is the first that is not, of *LENGTH bytes. */
static bool
check_list (const char *list, OptionKind kind, const char *const *words, const char **bad,
            size_t *length)
{
  for (const char *at = list;; at++)
    {
      const size_t n = strcspn (at, ","), key = strcspn (at, "=,");
      const bool   good = kind == KIND_WORDS     ? is_one_of (at, n, words)
                          : kind == KIND_NUMBERS ? n > 0 && strspn (at, "0123456789") == n
                                                 : key < n && is_one_of (at, key, words);

      *bad = at;
      *length = n;
      if (!good)
        return false;
      at += n;
      if (*at == '\0')
        return true;
    }
}

/* FALSE after a line on stderr. */
static bool
take_list (const OptionLine *line, const char *text, const char **field)
{
  const char *const *words = words_of (line);
  const char        *bad;
  size_t             length;

  *field = text;
  if (check_list (text, line->kind, words, &bad, &length))
    return true;
  fprintf (stderr, "shardsim-bench: '--%s': '%.*s' is ", line->name, (int) length, bad);
  if (words == NULL)
    fputs ("no whole number: numbers with commas between them are wanted\n", stderr);
  else
    for (unsigned i = 0; words[i] != NULL; i++)
      fprintf (stderr, "%s%s%s", i == 0 ? "none of " : ", ", words[i],
               words[i + 1] == NULL       ? "\n"
               : line->kind == KIND_PAIRS ? "=..."
                                          : "");
  return false;
}

static bool
take_value (const OptionLine *line, const char *text, BenchOptions *options)
{
  static const char *const expected[] = { [KIND_SIZE] = "a size in bytes such as 8, 64K or 1G",
                                          [KIND_FACTOR] = "a factor above 1",
                                          [KIND_COUNT] = "a whole number from 0 to 1000000" };
  void                    *field = (char *) options + line->offset;
  bool                     good = true;
  char                    *end;

  switch (line->kind)
    {
    case KIND_SIZE:
      good = parse_size (text, field);
      break;
    case KIND_FACTOR:
      *(double *) field = strtod (text, &end);
      good = end != text && *end == '\0' && isfinite (*(double *) field) && *(double *) field > 1;
      break;
    case KIND_COUNT:
      good = parse_count (text, field);
      break;
    case KIND_TEXT:
      *(const char **) field = text;
      break;
    case KIND_WORDS:
    case KIND_NUMBERS:
    case KIND_PAIRS:
      return take_list (line, text, field);
    default:
      *(bool *) field = true;
    }
  if (!good)
    fprintf (stderr, "shardsim-bench: '--%s' takes %s, got '%s'\n", line->name,
             expected[line->kind], text);
  return good;
}

static void
describe_options (struct option *longs, char *shorts)
{
  char *s = shorts;

  *s++ = ':';
  for (size_t i = 0; i < N_LINES; i++)
    {
      bool takes = lines[i].value != NULL;

      longs[i] = (struct option){ lines[i].name, takes ? required_argument : no_argument, NULL,
                                  (int) (256 + i) };
      if (lines[i].letter == 0)
        continue;
      *s++ = lines[i].letter;
      if (takes)
        *s++ = ':';
    }
  *s = '\0';
  longs[N_LINES] = (struct option){ 0 };
}

/* The line of getopt's CODE; NULL: none. */
static const OptionLine *
find_line (int code)
{
  if (code >= 256)
    return &lines[code - 256];
  for (size_t i = 0; i < N_LINES; i++)
    if (lines[i].letter != 0 && lines[i].letter == code)
      return &lines[i];
  return NULL;
}

static OptionsVerdict
complain (int code, char *const *argv)
{
  fprintf (stderr, "shardsim-bench: %s '%s'\n  see 'shardsim-bench --help'\n",
           code == ':' ? "no value for" : "unknown option", argv[optind - 1]);
  return OPTIONS_BAD;
}

static OptionsVerdict
check_options (const BenchOptions *options)
{
  const char *bad = NULL;

  if (options->max_bytes > 0 && options->min_bytes > options->max_bytes)
    bad = "'--min-bytes' is above '--max-bytes'";
  else if (options->iterations == 0 || options->repeats == 0)
    bad = "'--iterations' and '--repeats' are at least 1";
  if (bad == NULL)
    return OPTIONS_RUN;
  fprintf (stderr, "shardsim-bench: %s\n", bad);
  return OPTIONS_BAD;
}

OptionsVerdict
options_parse (int argc, char **argv, BenchOptions *options, const char **words, unsigned *n)
{
  struct option longs[N_LINES + 1];
  char          shorts[2 * N_LINES + 2];
  int           code;

  *options = (BenchOptions){ .warmup = 5, .iterations = 20, .repeats = 7, .timeout_s = 1800 };
  describe_options (longs, shorts);
  opterr = 0;
  while ((code = getopt_long (argc, argv, shorts, longs, NULL)) != -1)
    {
      const OptionLine *line = find_line (code);

      if (line == NULL)
        return complain (code, argv);
      if (line->kind == KIND_VERDICT)
        {
          if (line->offset == OPTIONS_HELP)
            print_help ();
          return (OptionsVerdict) line->offset;
        }
      if (!take_value (line, optarg, options))
        return OPTIONS_BAD;
    }
  for (*n = 0; optind < argc; optind++)
    {
      if (*n == BENCH_MAX_LIST)
        return complain ('?', argv);
      words[(*n)++] = argv[optind];
    }
  return check_options (options);
}
