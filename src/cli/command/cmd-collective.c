/* shardsim collective: one collective over a range of sizes, in nccl-tests' format. */
#include <string.h>

#include "cli/argument/collective-arguments.h"
#include "cli/help/page-values.h"
#include "cli/output/progress.h"
#include "hardware/profile/profiles-used.h"
#include "predict/idle-figures.h"
#include "report/answer/collective.h"

#define MAX_STEP_PAIR_RANKS 1024 /* about a million transfers, 1 GB */

typedef struct
{
  char *collective, *min_bytes, *max_bytes, *step_factor, *step_bytes, *ranks, *fidelity, *algo,
      *proto;
  char **concurrent;
} Settings;

static double
parse_factor (const char *text, DiagList *diags)
{
  SourceMark mark = argument_mark ("--step-factor", text);
  char      *end;
  double     value = g_ascii_strtod (text, &end);

  if (end == text || *end != '\0' || !(value > 1 && value <= 1e6))
    diag_error (diags, &mark, NULL, "the step factor must be greater than 1, got '%s'", text);
  return value;
}

/* The collective asked for by name, which must be given. */
static CollectiveKind
require_kind (const char *name, DiagList *diags)
{
  SourceMark       mark = argument_mark ("--collective", name != NULL ? name : "");
  g_autofree char *list = NULL;

  if (name != NULL)
    return parse_kind (&mark, name, diags);
  list = g_strjoinv (", ", (char **) collective_kind_names);
  diag_error (diags, NULL, list, "which collective? give --collective NAME");
  return COLLECTIVE_ALL_REDUCE;
}

static guint64
size_of (const char *option, const char *text, const char *fallback, DiagList *diags)
{
  const char *given = text != NULL ? text : fallback;
  SourceMark  mark = argument_mark (option, given);

  return parse_size (&mark, given, diags);
}

/* ---- all together ---------------------------------------------------------------------------- */

/* How exact; `fluid` unless asked otherwise. */
static Fidelity
read_fidelity (const Settings *arguments, DiagList *diags)
{
  static const char *const names[] = { "analytic", "fluid", "step", NULL };
  SourceMark               mark;
  Fidelity                 fidelity;

  if (arguments->fidelity == NULL)
    return FIDELITY_FLUID;
  mark = argument_mark ("--fidelity", arguments->fidelity);
  fidelity = (Fidelity) parse_word (&mark, "fidelity", arguments->fidelity, names, diags);
  if (arguments->concurrent != NULL && g_str_equal (arguments->fidelity, "analytic"))
    diag_error (diags, &mark, "fluid or step",
                "'analytic' knows no sharing: nothing runs beside it");
  return fidelity;
}

static void
read_options (const Settings *arguments, CollectiveSweepOptions *options, DiagList *diags)
{
  guint n_errors = diag_list_n_errors (diags);

  options->kind = require_kind (arguments->collective, diags);
  options->min_bytes = size_of ("--min-bytes", arguments->min_bytes, "8", diags);
  options->max_bytes = size_of ("--max-bytes", arguments->max_bytes, "8G", diags);
  options->step_factor =
      arguments->step_factor != NULL ? parse_factor (arguments->step_factor, diags) : 2;
  if (arguments->step_bytes != NULL)
    options->step_bytes = size_of ("--step-bytes", arguments->step_bytes, "", diags);
  if (options->min_bytes > options->max_bytes && options->max_bytes > 0)
    {
      const char *least = arguments->min_bytes != NULL ? arguments->min_bytes : "8";
      const char *most = arguments->max_bytes != NULL ? arguments->max_bytes : "8G";
      SourceMark  mark = argument_mark ("--min-bytes", least);

      diag_error (diags, &mark, "a range from --min-bytes (-b) up to --max-bytes (-e)",
                  "'%s' is more than the largest size, '%s'", least, most);
    }
  else if (diag_list_n_errors (diags) == n_errors
           && collective_sweep_n_sizes (options) > COLLECTIVE_SWEEP_MAX_SIZES)
    diag_error (diags, NULL, "a larger step", "the range has more than %d sizes",
                COLLECTIVE_SWEEP_MAX_SIZES);
  options->fidelity = read_fidelity (arguments, diags);
}

/* nccl-tests has no such options, NCCL's variables do: NCCL_ALGO, NCCL_PROTO. */
static void
apply_short_names (const Settings *arguments, CollectiveConfig *library, OptionMarks *marks,
                   DiagList *diags)
{
  const char *const values[] = { arguments->algo, arguments->proto };
  const char *const names[] = { "--algo", "--proto" }, *const keys[] = { "algorithm", "protocol" };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    if (values[i] != NULL)
      {
        SourceMark       mark = argument_mark (names[i], values[i]);
        g_autofree char *lower = g_ascii_strdown (values[i], -1);

        option_set_key (collective_options, library, keys[i], lower, &mark, diags);
        option_marks_set (marks, keys[i], &mark);
      }
}

/*
 * What was asked for by name must exist here: nothing is silently replaced. ALGORITHM and PROTOCOL:
 * where they were asked for; NULL: they were not.
 */
static void
check_forced (const Cluster *cluster, const CollectiveNeighbour *asked, const SourceMark *algorithm,
              const SourceMark *protocol, DiagList *diags)
{
  const SourceMark *marks[] = { algorithm, protocol };
  CollectiveOptions options = asked->library;
  g_autofree char  *hint = NULL, *refusal = NULL;

  options.protocol = PROTOCOL_N;
  if (algorithm == NULL)
    options.algorithm = ALGORITHM_N;
  for (guint i = 0; refusal == NULL && i < G_N_ELEMENTS (marks); i++)
    {
      if (marks[i] == NULL)
        continue;
      if (i == 1)
        options.protocol = asked->library.protocol;
      refusal = collective_choice_refusal (cluster, asked->kind, asked->ranks, asked->n_ranks,
                                           &options, &hint);
      if (refusal != NULL)
        diag_error (diags, marks[i], hint, "%s", refusal);
    }
}

/* Step by step an all-to-all is a transfer a pair: some millions do not fit in memory. */
static void
check_steps (Fidelity fidelity, const CollectiveNeighbour *asked, const SourceMark *mark,
             DiagList *diags)
{
  if (fidelity == FIDELITY_STEP && asked->kind == COLLECTIVE_ALL_TO_ALL
      && asked->n_ranks > MAX_STEP_PAIR_RANKS)
    diag_error (diags, mark, "take 'fluid'",
                "'step' runs an all-to-all over at most %d ranks, got %u", MAX_STEP_PAIR_RANKS,
                asked->n_ranks);
}

/* The same for all that run. */
static void
check_all (const Cluster *cluster, const CollectiveNeighbour *first, const OptionMarks *marks,
           const GArray *concurrents, char **texts, Fidelity fidelity, DiagList *diags)
{
  check_steps (fidelity, first, NULL, diags);
  check_forced (cluster, first, option_mark (marks, "algorithm", NULL),
                option_mark (marks, "protocol", NULL), diags);
  for (guint i = 0; i < concurrents->len; i++)
    {
      const Concurrent   *concurrent = &g_array_index (concurrents, Concurrent, i);
      CollectiveNeighbour asked = concurrent->neighbour;
      SourceMark          mark = argument_mark ("--beside", texts[i]);

      asked.bytes = asked.bytes > 0 ? asked.bytes : first->bytes;
      check_steps (fidelity, &asked, &mark, diags);
      check_forced (cluster, &asked, concurrent->forced_algorithm ? &mark : NULL,
                    concurrent->forced_protocol ? &mark : NULL, diags);
    }
}

/* Array of Concurrent. */
static GArray *
read_concurrents (const Settings *arguments, guint n_gpus, const CollectiveOptions *library,
                  DiagList *diags)
{
  GArray *concurrents = g_array_new (FALSE, FALSE, sizeof (Concurrent));

  g_array_set_clear_func (concurrents, concurrent_clear);
  for (guint i = 0; arguments->concurrent != NULL && arguments->concurrent[i] != NULL; i++)
    {
      Concurrent concurrent;

      parse_concurrent (arguments->concurrent[i], n_gpus, library, &concurrent, diags);
      g_array_append_val (concurrents, concurrent);
    }
  return concurrents;
}

/*
 * CLUSTER may be NULL, after a diagnostic: then what names its GPUs is looked at as far as it goes.
 * FIGURES: where figures of the hardware were set.
 */
static ExitStatus
run_on (const Common *common, const Settings *arguments, ProfileSet *profiles,
        const ClusterOptions *wanted, const SourceMark *figures, const Cluster *cluster,
        const CollectiveOptions *library, const OptionMarks *marks, CollectiveSweepOptions *options,
        DiagList *diags)
{
  const char        *text = arguments->ranks;
  SourceMark         mark = argument_mark ("--ranks", text != NULL ? text : "");
  guint              n_gpus = cluster != NULL ? cluster_n_gpus (cluster) : 0;
  g_autoptr (GArray) ranks = parse_ranks (&mark, text, n_gpus, diags);
  g_autoptr (GArray) concurrents = read_concurrents (arguments, n_gpus, library, diags);
  g_autofree CollectiveNeighbour *neighbours = g_new (CollectiveNeighbour, concurrents->len + 1);
  g_autoptr (CollectiveSweep)     sweep = NULL;
  g_autoptr (GString)             out = g_string_new (NULL);
  g_autoptr (GError)              error = NULL;
  Progress                       *progress;
  CollectiveNeighbour             first = { .kind = options->kind,
                                            .ranks = (const guint32 *) (gconstpointer) ranks->data,
                                            .n_ranks = ranks->len,
                                            .library = *library,
                                            .bytes = options->max_bytes };
  const CollectiveBandInput       input = { .cluster = wanted,
                                            .profile_dir = common->hwprofiles,
                                            .files = profile_set_files (profiles),
                                            .ranks = first.ranks,
                                            .n_ranks = first.n_ranks,
                                            .n_threads = common_n_jobs (common),
                                            .library = library,
                                            .options = options };

  for (guint i = 0; i < concurrents->len; i++)
    neighbours[i] = g_array_index (concurrents, Concurrent, i).neighbour;
  options->concurrent = neighbours;
  options->n_concurrent = concurrents->len;
  if (!diag_list_has_errors (diags))
    check_all (cluster, &first, marks, concurrents, arguments->concurrent, options->fidelity,
               diags);
  if (!diag_list_has_errors (diags))
    idle_figures_warn_collective (&input, cluster, figures, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  progress = progress_start ("simulating", "sizes", NULL);
  options->count = progress_count (progress);
  sweep = collective_sweep (cluster, first.ranks, first.n_ranks, library, options, &error);
  progress_end (progress);
  if (sweep == NULL || !placement_band_collective (sweep, cluster, &input, &error))
    return stream_report_error (error);
  sweep->profiles = profiles_used (cluster_profiles (cluster), cluster, NULL);
  report_answer (&collective_answer, sweep, common->format, out);
  return stream_print (out);
}

static ExitStatus
predict_sizes (const Common *common, const Settings *arguments, ClusterOptions *cluster_wanted,
               CollectiveConfig *config)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (common->hwprofiles);
  g_autoptr (Cluster)    cluster = NULL;
  CollectiveSweepOptions options = { 0 };
  CollectiveOptions      library;
  ExitStatus             status;
  OptionMarks marks = { .table = cluster_options }, library_marks = { .table = collective_options };

  read_options (arguments, &options, diags);
  apply_network_options (common, cluster_wanted, config, &marks, &library_marks, diags);
  apply_short_names (arguments, config, &library_marks, diags);
  library = collective_config_options (config);
  cluster = cluster_new (cluster_wanted, profiles, &marks, diags);
  if (collective_config_check (config, profiles, option_mark (&library_marks, "nccl", NULL), diags)
      && collective_config_check_wishes (config, cluster, &library_marks, diags) && cluster != NULL)
    collective_scale_to_measured (cluster, &library, FALSE, option_mark (&marks, "measured", NULL),
                                  diags);
  status =
      run_on (common, arguments, profiles, cluster_wanted, option_mark (&marks, "figure", NULL),
              cluster, &library, &library_marks, &options, diags);
  option_marks_clear (&marks);
  option_marks_clear (&library_marks);
  return status;
}

static ExitStatus
run (Common *common, gpointer settings)
{
  ClusterOptions   cluster = { 0 };
  CollectiveConfig config = { 0 };
  ExitStatus       status;

  option_table_defaults (cluster_options, &cluster);
  option_table_defaults (collective_options, &config);
  status = predict_sizes (common, settings, &cluster, &config);
  option_table_clear (cluster_options, &cluster);
  option_table_clear (collective_options, &config);
  return status;
}

static const CommandOption options[] = {
  { OPTION ("collective", VALUE_TEXT, collective, "NAME",
            "all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce or sendrecv"),
    .words = &words_collectives },
  { OPTION ("min-bytes", VALUE_TEXT, min_bytes, "SIZE", "smallest size (default 8)"),
    .letter = 'b' },
  { OPTION ("max-bytes", VALUE_TEXT, max_bytes, "SIZE", "largest size (default 8G)"),
    .letter = 'e' },
  { OPTION ("step-factor", VALUE_TEXT, step_factor, "X", "from one size to the next (default 2)"),
    .letter = 'f' },
  { OPTION ("step-bytes", VALUE_TEXT, step_bytes, "SIZE", "fixed step instead"), .letter = 'i' },
  { OPTION ("ranks", VALUE_TEXT, ranks, "0-7,16",
            "GPUs that take part, in group order (default all)") },
  { OPTION ("algo", VALUE_TEXT, algo, "NAME", "the same as --algorithm"),
    .words = &words_algorithms },
  { OPTION ("proto", VALUE_TEXT, proto, "NAME", "the same as --protocol"),
    .words = &words_protocols },
  { OPTION ("fidelity", VALUE_TEXT, fidelity, "analytic|fluid|step",
            "analytic: closed form, fluid (default), or step: every step of the algorithm") },
  { OPTION ("beside", VALUE_TEXTS, concurrent, "WHAT",
            "a second collective at the same time, such as all_gather:256M:ranks=8-15") },
  { 0 },
};

const Command command_collective = {
  .name = "collective",
  .help = "one collective over sizes, in nccl-tests' format",
  .summary = "Predicts one collective over a range of sizes, in nccl-tests' own format. S is "
             "counted as nccl-tests does: of an all-gather all that a rank receives. Bandwidths "
             "are decimal GB/s.",
  .examples = "Examples:\n"
              "  shardsim collective --collective all_reduce --cluster '2 x dgx-h100'\n"
              "  shardsim collective --collective all_gather --nodes 2 --gpus-per-node 8 \\\n"
              "    --gpu h100-sxm-80 --intra nvlink4-switch --nics 8 --nic ib-ndr-400 \\\n"
              "    -b 1M -e 1G --algo ring --proto simple\n"
              "  shardsim collective --collective all_reduce --cluster '2 x dgx-h100' \\\n"
              "    --ranks 0,8 --beside all_reduce:same:ranks=1,9\n",
  .takes = COMMON_FORMAT | COMMON_NETWORK,
  .options = options,
  .settings_size = sizeof (Settings),
  .run = run,
};
