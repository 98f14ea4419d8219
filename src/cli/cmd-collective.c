/* shardsim collective: one collective over a range of sizes, in nccl-tests' format. */
#include <math.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/common.h"
#include "report/collective.h"

typedef struct
{
  char *collective, *min_bytes, *max_bytes, *step_factor, *step_bytes, *ranks, *fidelity, *algo,
      *proto;
} Arguments;

static SourceMark
mark_of (const char *option, const char *value)
{
  g_autofree char *place = g_strdup_printf ("%s %s", option, value);

  return (SourceMark){ .file = g_intern_string (place) };
}

/* ---- sizes and ranks --------------------------------------------------------------------------- */

/* "8", "64K", "1.5M", "8G" as nccl-tests reads them: suffixes are binary. 0 after a diagnostic. */
static guint64
parse_size (const char *option, const char *text, DiagList *diags)
{
  static const char suffixes[] = "KMGT";
  SourceMark        mark = mark_of (option, text);
  char             *end;
  double            value = g_ascii_strtod (text, &end);
  const char       *suffix = *end != '\0' ? strchr (suffixes, g_ascii_toupper (*end)) : NULL;

  if (suffix != NULL)
    {
      value *= ldexp (1, 10 * (int) (suffix - suffixes + 1));
      end++;
    }
  if (end == text || *end != '\0' || !isfinite (value))
    diag_error (diags, &mark, "bytes, with K, M, G or T for 2^10, 2^20, 2^30 or 2^40: 8, 64K, 8G",
                "expected a size, got '%s'", text);
  else if (value < 1 || value > 0x1p50)
    diag_error (diags, &mark, NULL, "a size must lie between 1 and 1024T bytes, got '%s'", text);
  else
    return (guint64) value;
  return 0;
}

static double
parse_factor (const char *text, DiagList *diags)
{
  SourceMark mark = mark_of ("--step-factor", text);
  char      *end;
  double     value = g_ascii_strtod (text, &end);

  if (end == text || *end != '\0' || !(value > 1 && value <= 1e6))
    diag_error (diags, &mark, NULL, "the step factor must be greater than 1, got '%s'", text);
  return value;
}

/* "3" or "0-7" of PART, appended to RANKS; each GPU once. */
static void
add_ranks (const char *part, guint n_gpus, gboolean *taken, GArray *ranks, const SourceMark *mark,
           DiagList *diags)
{
  char    *end;
  guint64  first = g_ascii_strtoull (part, &end, 10), last = first;
  gboolean number = g_ascii_isdigit (*part);

  if (number && *end == '-' && g_ascii_isdigit (end[1]))
    last = g_ascii_strtoull (end + 1, &end, 10);
  if (!number || *end != '\0' || last < first)
    diag_error (diags, mark, "GPUs in group order: 0-7,16", "expected a GPU or a range, got '%s'",
                part);
  else if (last >= n_gpus)
    diag_error (diags, mark, NULL, "GPU %" G_GUINT64_FORMAT " does not exist: the cluster has %u",
                last, n_gpus);
  else
    for (guint32 gpu = (guint32) first; gpu <= last; gpu++)
      {
        if (taken[gpu])
          diag_error (diags, mark, NULL, "GPU %u is given twice", gpu);
        else
          g_array_append_val (ranks, gpu);
        taken[gpu] = TRUE;
      }
}

static GArray *
parse_ranks (const char *text, guint n_gpus, DiagList *diags)
{
  GArray              *ranks = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree gboolean *taken = g_new0 (gboolean, n_gpus);
  g_auto (GStrv)       parts = text != NULL ? g_strsplit (text, ",", -1) : NULL;
  SourceMark           mark = mark_of ("--ranks", text != NULL ? text : "");

  for (guint32 gpu = 0; text == NULL && gpu < n_gpus; gpu++)
    g_array_append_val (ranks, gpu);
  for (guint i = 0; parts != NULL && parts[i] != NULL; i++)
    add_ranks (g_strstrip (parts[i]), n_gpus, taken, ranks, &mark, diags);
  return ranks;
}

/* ---- words --------------------------------------------------------------------------------------- */

/* Index of TEXT among NAMES; 0 after a diagnostic. */
static guint
parse_word (const char *option, const char *what, const char *text, const char *const *names,
            DiagList *diags)
{
  SourceMark       mark = mark_of (option, text);
  g_autofree char *hint = NULL;

  for (guint i = 0; names[i] != NULL; i++)
    if (g_str_equal (names[i], text))
      return i;
  hint = suggest_hint (text, names);
  diag_error (diags, &mark, hint, "unknown %s '%s'", what, text);
  return 0;
}

static CollectiveKind
parse_kind (const Arguments *arguments, DiagList *diags)
{
  const char    *names[COLLECTIVE_N_KINDS + 1] = { NULL };
  CollectiveKind kind;

  for (guint i = 0; i < COLLECTIVE_N_KINDS; i++)
    names[i] = collective_kind_name ((CollectiveKind) i);
  if (arguments->collective == NULL)
    {
      g_autofree char *list = g_strjoinv (", ", (char **) names);

      diag_error (diags, NULL, list, "which collective? give --collective NAME");
      return COLLECTIVE_ALL_REDUCE;
    }
  kind = collective_kind_parse (arguments->collective);
  if (kind != COLLECTIVE_N_KINDS)
    return kind;
  return (CollectiveKind) parse_word ("--collective", "collective", arguments->collective, names,
                                      diags);
}

/* ---- all together -------------------------------------------------------------------------------- */

static void
read_options (const Arguments *arguments, CollectiveSweepOptions *options, DiagList *diags)
{
  static const char *const fidelities[] = { "analytic", "fluid", "step", NULL };

  options->kind = parse_kind (arguments, diags);
  options->min_bytes =
      parse_size ("--min-bytes", arguments->min_bytes != NULL ? arguments->min_bytes : "8", diags);
  options->max_bytes =
      parse_size ("--max-bytes", arguments->max_bytes != NULL ? arguments->max_bytes : "8G", diags);
  options->step_factor =
      arguments->step_factor != NULL ? parse_factor (arguments->step_factor, diags) : 2;
  if (arguments->step_bytes != NULL)
    options->step_bytes = parse_size ("--step-bytes", arguments->step_bytes, diags);
  if (options->min_bytes > options->max_bytes && options->max_bytes > 0)
    diag_error (diags, NULL, NULL, "--min-bytes is greater than --max-bytes");
  if (options->step_bytes > 0
      && (options->max_bytes - options->min_bytes) / options->step_bytes > 100000)
    diag_error (diags, NULL, NULL, "--step-bytes makes more than 100000 sizes");
  options->fidelity =
      arguments->fidelity != NULL
          ? (Fidelity) parse_word ("--fidelity", "fidelity", arguments->fidelity, fidelities, diags)
          : FIDELITY_ANALYTIC;
}

/* What the options of the tables set. */
static void
apply_overrides (const Common *common, ClusterOptions *cluster, CollectiveConfig *library,
                 DiagList *diags)
{
  for (guint i = 0; i < common->overrides->len; i++)
    {
      const ScenarioOverride *override = &g_array_index (common->overrides, ScenarioOverride, i);
      SourceMark              mark = mark_of (override->origin, override->value);
      const char             *key = strchr (override->key, '.') + 1;

      if (g_str_has_prefix (override->key, "cluster."))
        option_set_key (cluster_options, cluster, key, override->value, &mark, diags);
      else
        option_set_key (collective_options, library, key, override->value, &mark, diags);
    }
}

/* nccl-tests has no such options, NCCL's variables do: NCCL_ALGO, NCCL_PROTO. */
static void
apply_short_names (const Arguments *arguments, CollectiveConfig *library, DiagList *diags)
{
  const char *const values[] = { arguments->algo, arguments->proto };
  const char *const names[] = { "--algo", "--proto" }, *const keys[] = { "algorithm", "protocol" };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    if (values[i] != NULL)
      {
        SourceMark       mark = mark_of (names[i], values[i]);
        g_autofree char *lower = g_ascii_strdown (values[i], -1);

        option_set_key (collective_options, library, keys[i], lower, &mark, diags);
      }
}

/* What was asked for by name must exist here: nothing is silently replaced. */
static void
check_forced (const Cluster *cluster, const GArray *ranks, const CollectiveOptions *library,
              const CollectiveSweepOptions *options, DiagList *diags)
{
  g_autoptr (CollectivePlan) plan = collective_plan_new (
      cluster, options->kind, (const guint32 *) (gconstpointer) ranks->data, ranks->len, library);
  CollectiveCost cost;

  if (ranks->len == 1)
    return;
  collective_plan_cost (plan, (double) options->max_bytes, &cost);
  if (library->algorithm != ALGORITHM_N && cost.algorithm != library->algorithm)
    diag_error (diags, NULL, NULL, "there is no %s %s over %u ranks on %s",
                collective_algorithm_name (library->algorithm),
                collective_kind_name (options->kind), ranks->len, cluster_title (cluster));
  else if (library->protocol != PROTOCOL_N && cost.protocol != library->protocol)
    diag_error (diags, NULL, NULL, "the %s algorithm does not run under %s on %s",
                collective_algorithm_name (cost.algorithm),
                collective_protocol_name (library->protocol), cluster_title (cluster));
}

static ExitStatus
print_sweep (const Common *common, const CollectiveSweep *sweep)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (common->format == FORMAT_CSV)
    report_collective_csv (sweep, out);
  else if (common->format == FORMAT_JSON)
    report_collective_json (sweep, out);
  else
    report_collective_text (sweep, out);
  return common_print (out);
}

static ExitStatus
run (const Common *common, const Arguments *arguments, ClusterOptions *cluster_wanted,
     CollectiveConfig *config)
{
  g_autoptr (DiagList)        diags = diag_list_new ();
  g_autoptr (ProfileSet)      profiles = profile_set_new (common->hwprofiles);
  g_autoptr (Cluster)         cluster = NULL;
  g_autoptr (GArray)          ranks = NULL;
  g_autoptr (GError)          error = NULL;
  g_autoptr (CollectiveSweep) sweep = NULL;
  CollectiveSweepOptions      options = { 0 };
  CollectiveOptions           library;

  read_options (arguments, &options, diags);
  apply_overrides (common, cluster_wanted, config, diags);
  apply_short_names (arguments, config, diags);
  library = collective_config_options (config);
  cluster = cluster_new (cluster_wanted, profiles, NULL, diags);
  if (cluster != NULL)
    ranks = parse_ranks (arguments->ranks, cluster_n_gpus (cluster), diags);
  if (!diag_list_has_errors (diags))
    check_forced (cluster, ranks, &library, &options, diags);
  if (common_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  sweep = collective_sweep (cluster, (const guint32 *) (gconstpointer) ranks->data, ranks->len,
                            &library, &options, &error);
  return sweep != NULL ? print_sweep (common, sweep) : common_report_error (error);
}

int
cmd_collective (int argc, char **argv)
{
  g_auto (Common)    common = { 0 };
  Arguments          arguments = { 0 };
  ClusterOptions     cluster = { 0 };
  CollectiveConfig   config = { 0 };
  gboolean           done = FALSE;
  ExitStatus         status = EXIT_USAGE;
  const GOptionEntry extra[] = {
    { "collective", 0, 0, G_OPTION_ARG_STRING, &arguments.collective,
      "all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce or sendrecv", "NAME" },
    { "min-bytes", 'b', 0, G_OPTION_ARG_STRING, &arguments.min_bytes, "smallest size (default 8)",
      "SIZE" },
    { "max-bytes", 'e', 0, G_OPTION_ARG_STRING, &arguments.max_bytes, "largest size (default 8G)",
      "SIZE" },
    { "step-factor", 'f', 0, G_OPTION_ARG_STRING, &arguments.step_factor,
      "from one size to the next (default 2)", "X" },
    { "step-bytes", 'i', 0, G_OPTION_ARG_STRING, &arguments.step_bytes, "fixed step instead", "SIZE" },
    { "ranks", 0, 0, G_OPTION_ARG_STRING, &arguments.ranks,
      "GPUs that take part, in group order (default all)", "0-7,16" },
    { "algo", 0, 0, G_OPTION_ARG_STRING, &arguments.algo, "the same as --algorithm", "NAME" },
    { "proto", 0, 0, G_OPTION_ARG_STRING, &arguments.proto, "the same as --protocol", "NAME" },
    { "fidelity", 0, 0, G_OPTION_ARG_STRING, &arguments.fidelity,
      "analytic (default), fluid, or step: every step of the algorithm", "NAME" },
    G_OPTION_ENTRY_NULL,
  };

  option_table_defaults (cluster_options, &cluster);
  option_table_defaults (collective_options, &config);
  if (common_parse (
          &common, COMMON_FORMAT | COMMON_NETWORK, "",
          "Predicts one collective over a range of sizes, in nccl-tests' own format. S is counted as\n"
          "nccl-tests does: of an all-gather all that a rank receives. Bandwidths are decimal GB/s.",
          "Examples:\n"
          "  shardsim collective --collective all_reduce --cluster '2 x dgx-h100'\n"
          "  shardsim collective --collective all_gather --nodes 2 --gpus-per-node 8 --gpu h100-sxm-80\n"
          "    --intra nvlink4-switch --nics 8 --nic ib-ndr-400 -b 1M -e 1G --algo ring --proto simple\n",
          extra, argc, argv, &done))
    status = done                             ? EXIT_DONE
             : common_want_words (&common, 0) ? run (&common, &arguments, &cluster, &config)
                                              : EXIT_USAGE;
  option_table_clear (cluster_options, &cluster);
  option_table_clear (collective_options, &config);
  for (const GOptionEntry *entry = extra; entry->long_name != NULL; entry++)
    g_free (*(char **) entry->arg_data);
  return status;
}
