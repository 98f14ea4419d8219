/* shardsim import trace: measured kernels from a trace of a real step. */
#include <errno.h>
#include <string.h>

#include "cli/help/listing.h"
#include "evidence/tables/trace-measure.h"
#include "import/trace/trace-load.h"

typedef struct
{
  char    *output; /* NULL: to stdout */
  gint64   step, rank;
  gboolean differs;
} Settings;

/* ---- tables ---------------------------------------------------------------------------------- */

static char *
milliseconds (double seconds)
{
  return g_strdup_printf ("%.3f", seconds * 1e3);
}

static void
append_rows (const TraceMeasurement *measurement, GString *out)
{
  static const ListingColumn columns[] = {
    { "phase", LISTING_TEXT },      { "layer", LISTING_TEXT },
    { "kernels", LISTING_NUMBER },  { "measured_ms", LISTING_NUMBER },
    { "model_ms", LISTING_NUMBER }, { "ratio", LISTING_NUMBER },
    { NULL, LISTING_TEXT },
  };
  g_autoptr (Listing) listing = listing_new ("rows", columns);

  for (guint phase = 0; phase < MEASURED_N_PHASES; phase++)
    for (guint layer = 0; layer < MEASURED_N_LAYERS; layer++)
      {
        const MeasuredRow *row = &measurement->table.rows[layer][phase];
        double             modelled = measurement->modelled[layer][phase];
        g_autofree char   *n = g_strdup_printf ("%u", measurement->n[layer][phase]);
        g_autofree char   *measured = milliseconds (row->seconds), *model = NULL, *ratio = NULL;

        if (!row->given)
          continue;
        model = milliseconds (modelled);
        ratio = modelled > 0 ? g_strdup_printf ("%.2f", row->seconds / modelled) : g_strdup ("-");
        listing_add (listing, measured_phase_name ((MeasuredPhase) phase),
                     measured_layer_name (layer), n, measured, model, ratio);
      }
  listing_append_text (listing, 0, NULL, out);
}

static void
append_left_out (const TraceMeasurement *measurement, GString *out)
{
  static const TracePart parts[] = { TRACE_STRATEGY, TRACE_UNKNOWN };

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (measurement->part_n[parts[i]] > 0)
      g_string_append_printf (out, "not taken: %s: %u kernels, %.3f ms\n",
                              trace_part_name (parts[i]), measurement->part_n[parts[i]],
                              (double) measurement->part_ns[parts[i]] * 1e-6);
}

static void
append_collectives (const StepTrace *trace, GString *out)
{
  static const ListingColumn columns[] = {
    { "collective", LISTING_TEXT }, { "bytes", LISTING_NUMBER },
    { "ranks", LISTING_NUMBER },    { "calls", LISTING_NUMBER },
    { "total_ms", LISTING_NUMBER }, { "exposed_ms", LISTING_NUMBER },
    { NULL, LISTING_TEXT },
  };
  g_autoptr (Listing) listing = listing_new ("collectives", columns);
  g_autoptr (GArray)  all = step_trace_collectives (trace);

  for (guint i = 0; i < all->len; i++)
    {
      const TraceCollective *one = &g_array_index (all, TraceCollective, i);
      g_autofree char       *bytes =
          one->bytes > 0 ? g_strdup_printf ("%.0f", one->bytes) : g_strdup ("-");
      g_autofree char *group = one->group > 0 ? g_strdup_printf ("%u", one->group) : g_strdup ("-");
      g_autofree char *n = g_strdup_printf ("%u", one->n);
      g_autofree char *total = milliseconds ((double) one->total_ns * 1e-9);
      g_autofree char *exposed =
          one->exposed_ns >= 0 ? milliseconds ((double) one->exposed_ns * 1e-9) : g_strdup ("-");

      listing_add (listing, one->collective, bytes, group, n, total, exposed);
    }
  if (all->len == 0)
    return;
  g_string_append (out,
                   "\nCollectives as they ran, for comparison: the simulation predicts them\n");
  listing_append_text (listing, 0, NULL, out);
}

/* ---- the work -------------------------------------------------------------------------------- */

static ExitStatus
write_output (const Settings *arguments, const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autofree char   *folder = g_path_get_dirname (arguments->output);

  g_mkdir_with_parents (folder, 0777); /* where it cannot, writing says why */
  if (!output_file_write (arguments->output, text, &error))
    return stream_report_error (error);
  stream_say ("'%s' is written: name it in a scenario as 'training.measured_kernels'\n",
              arguments->output);
  return EXIT_DONE;
}

/*
 * What the file says that the kernels were measured on: the scenario's GPU or, where that is
 * another one, the profile that fits the trace's, else its own name. Newly allocated.
 */
static char *
measured_gpu (const ReplayPlan *plan, const StepTrace *trace, const TraceMeasurement *measurement,
              const GpuProfile *gpu)
{
  ProfileSet *profiles = cluster_profiles (replay_plan_resolved (plan)->cluster);
  char       *own = measurement->other_device ? trace_device_profile (trace, profiles) : NULL;

  if (!measurement->other_device)
    return g_strdup (gpu->id);
  if (own == NULL)
    own = g_strcanon (g_strdup (trace->device.name != NULL ? trace->device.name : "unnamed"),
                      G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_.", '-');
  stream_say ("the kernels are of '%s', not of '%s': scenarios with that GPU may name them\n", own,
              gpu->id);
  return own;
}

static ExitStatus
print_result (const Settings *arguments, const ReplayPlan *plan, const StepTrace *trace,
              const TraceMeasurement *measurement, const char *file)
{
  const Scenario   *scenario = replay_plan_resolved (plan)->scenario;
  const GpuProfile *gpu =
      cluster_gpu_profile (replay_plan_resolved (plan)->cluster, (guint) arguments->rank);
  g_autofree char *base = g_path_get_basename (file);
  g_autofree char *name = g_filename_display_name (base);
  g_autofree char *step = arguments->step >= 0
                              ? g_strdup_printf ("step %" G_GINT64_FORMAT, arguments->step)
                              : g_strdup ("all of it");
  g_autofree char *source =
      g_strdup_printf ("Kernels of '%s', %s, rank %" G_GINT64_FORMAT "%s%s", name, step,
                       arguments->rank, trace->device.name != NULL ? ", measured on " : "",
                       trace->device.name != NULL ? trace->device.name : "");
  g_autofree char    *text = NULL;
  g_autofree char    *device = measured_gpu (plan, trace, measurement, gpu);
  g_autoptr (GString) out = g_string_new (NULL);
  ExitStatus          status;

  for (char *at = source; *at != '\0'; at++) /* a comment is one line */
    if (g_ascii_iscntrl (*at))
      *at = ' ';
  text = measured_kernels_print (&measurement->table, device, &scenario->training, &scenario->mesh,
                                 source);
  if (arguments->output == NULL)
    {
      g_string_append (out, text);
      return stream_print (out);
    }
  g_string_append_printf (out, "%s\n\n", source);
  append_rows (measurement, out);
  append_left_out (measurement, out);
  append_collectives (trace, out);
  status = stream_print (out);
  return status == EXIT_DONE ? write_output (arguments, text) : status;
}

/* The trace, one step of it; NULL after a message. */
static StepTrace *
load_trace (const char *file, Settings *arguments)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (StepTrace) trace = step_trace_load (file, diags);

  if (trace == NULL || !step_trace_select_step (trace, file, &arguments->step, diags))
    {
      stream_report_diags (diags);
      return NULL;
    }
  if (arguments->rank < 0)
    arguments->rank = MAX (trace->rank, 0);
  step_trace_place_layers (trace);
  return g_steal_pointer (&trace);
}

static ReplayPlan *
make_plan (Common *common, ProfileSet *profiles)
{
  g_autoptr (GPtrArray)  scenarios = common_load_scenarios (common);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ReplayPlan) plan = NULL;

  if (scenarios == NULL || !common_want_one (common, scenarios))
    return NULL;
  plan = replay_plan_scenario (g_ptr_array_index (scenarios, 0), profiles, diags);
  stream_report_diags (diags);
  return g_steal_pointer (&plan);
}

static ExitStatus
run (Common *common, gpointer data)
{
  Settings              *settings = data;
  const PredictOptions   predicted = common_predict_options (common);
  g_autoptr (ProfileSet) profiles = predict_profiles (&predicted);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autofree char       *file = common->files[0];
  g_autoptr (ReplayPlan) plan = NULL;
  g_autoptr (StepTrace)  trace = NULL;
  TraceMeasurement       measurement;
  guint                  n_ranks;
  gboolean               ok;
  ExitStatus             status = common_check_outputs (common);

  memmove (common->files, common->files + 1, /* a scenario's file may follow */
           g_strv_length (common->files) * sizeof *common->files);
  if (status != EXIT_DONE)
    return status;
  plan = make_plan (common, profiles);
  trace = load_trace (file, settings);
  if (plan == NULL || trace == NULL)
    return EXIT_USAGE;
  n_ranks = cluster_n_gpus (replay_plan_resolved (plan)->cluster);
  if (settings->rank >= n_ranks)
    return common_refuse (
        common,
        "the trace is of rank %" G_GINT64_FORMAT
        ", the scenario has ranks 0 to %u\n  hint: --rank says which it is like\n",
        settings->rank, n_ranks - 1);
  ok = trace_measure (trace, plan, (guint) settings->rank, settings->differs, file, &measurement,
                      diags);
  stream_report_diags (diags);
  return ok ? print_result (settings, plan, trace, &measurement, file) : EXIT_USAGE;
}

static const CommandOption options[] = {
  { OPTION ("output", VALUE_FILE, output, "FILE",
            "write the measured kernels there and print what they are; default: them to stdout"),
    .letter = 'o', .check = stream_check_anywhere },
  { OPTION ("step", VALUE_INT64, step, "N",
            "take ProfilerStep#N (default: the last one with a forward and a backward pass)"),
    .fallback = -1 },
  { OPTION ("rank", VALUE_INT64, rank, "N",
            "rank of the scenario that the trace is of (default: as it says, or 0)"),
    .fallback = -1 },
  { OPTION ("device-differs", VALUE_SWITCH, differs, NULL,
            "take kernels of another GPU than the scenario's, or that take over twice or under "
            "half of what the model expects; the file names the GPU that they are of") },
  { 0 },
};

const Command command_import_trace = {
  .name = "import trace",
  .help = "measured kernels, from a trace of PyTorch's profiler or a Chakra trace",
  .arguments = "TRACE [SCENARIO.yaml]",
  .summary = "Makes a file for 'training.measured_kernels' of the kernels in a trace of PyTorch's "
             "profiler (.json, .json.gz) or in a Chakra trace (.et): what each layer and phase "
             "took on a real GPU. The scenario is the run that was traced.",
  .examples = "Examples:\n"
              "  shardsim import trace rank0.json.gz run.yaml -o measured.yaml\n"
              "  shardsim simulate run.yaml --nodes 16 --measured-kernels measured.yaml\n",
  .takes = COMMON_SCENARIO,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .missing = "no trace given",
  .run = run,
};
