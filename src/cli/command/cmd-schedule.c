/* shardsim schedule: what the ranks of one role issue, item by item. */
#include <stdio.h>
#include <string.h>

#include "base/config/suggest.h"
#include "cli/help/listing.h"
#include "cli/help/page-values.h"
#include "predict/idle-figures.h"
#include "report/export/chakra.h"

static const ListingColumn columns[] = {
  { "item", LISTING_NUMBER },  { "phase", LISTING_TEXT },   { "unit", LISTING_TEXT },
  { "kind", LISTING_TEXT },    { "stream", LISTING_TEXT },  { "label", LISTING_TEXT },
  { "detail", LISTING_TEXT },  { "bytes", LISTING_NUMBER }, { "flops", LISTING_NUMBER },
  { "event", LISTING_NUMBER }, { NULL, LISTING_TEXT },
};

static char *
detail_of (const Schedule *schedule, guint role, const ScheduleItem *item)
{
  const ScheduleBuffer *buffer;

  switch ((ItemKind) item->kind)
    {
    case ITEM_KERNEL:
      return g_strdup (kernel_kind_name (item->kernel->kind));
    case ITEM_COLLECTIVE:
      return g_strdup_printf ("%s over %s",
                              collective_kind_name ((CollectiveKind) item->collective),
                              schedule_comm_info (schedule, item->ref)->name);
    case ITEM_P2P:
      return g_strdup_printf ("%s %s %u over %s",
                              schedule_message_name ((ScheduleMessage) item->collective),
                              item->collective == MESSAGE_SEND ? "to" : "from", item->peer,
                              schedule_comm_info (schedule, item->ref)->name);
    case ITEM_MOVE:
      return g_strdup (move_kind_name (item->collective));
    case ITEM_HOST_OP:
      return g_strdup (host_kind_name (item->host->kind));
    case ITEM_HOST_HOOK:
      return g_strdup_printf ("%u hooks", item->ref);
    case ITEM_ALLOC:
    case ITEM_FREE:
    case ITEM_PASS:
      buffer = schedule_buffer_info (schedule, role, item->ref);
      return g_strdup_printf ("%s %s", place_name (buffer->place),
                              pool_category_name (buffer->category));
    default:
      return g_strdup ("");
    }
}

static char *
bytes_of (const Schedule *schedule, guint role, const ScheduleItem *item)
{
  switch ((ItemKind) item->kind)
    {
    case ITEM_KERNEL:
      return number_format_exact (item->kernel->read_bytes + item->kernel->write_bytes);
    case ITEM_HOST_OP:
      return number_format_exact (item->host->read_bytes + item->host->write_bytes);
    case ITEM_COLLECTIVE:
    case ITEM_MOVE:
    case ITEM_P2P:
      return g_strdup_printf ("%" G_GUINT64_FORMAT, item->bytes);
    case ITEM_ALLOC:
    case ITEM_FREE:
    case ITEM_PASS:
      return g_strdup_printf ("%" G_GUINT64_FORMAT,
                              schedule_buffer_info (schedule, role, item->ref)->bytes);
    default:
      return g_strdup ("");
    }
}

static char *
event_of (const ScheduleItem *item)
{
  gboolean refers = item->kind == ITEM_RECORD || item->kind == ITEM_WAIT
                    || item->kind == ITEM_HOST_WAIT || item->kind == ITEM_CARRY
                    || item->kind == ITEM_TAKE;
  guint event = refers ? item->ref : item->kind == ITEM_FREE ? item->event : SCHEDULE_NONE;

  return event != SCHEDULE_NONE ? g_strdup_printf ("%u", event) : g_strdup ("");
}

static const char *
label_of (const Schedule *schedule, guint role, const ScheduleItem *item)
{
  if (item->label != NULL)
    return item->label;
  if (item->kind == ITEM_ALLOC || item->kind == ITEM_FREE)
    return schedule_buffer_info (schedule, role, item->ref)->label;
  return item->kind == ITEM_KERNEL ? item->kernel->name : "";
}

static void
add_item (Listing *listing, const Schedule *schedule, guint role, guint i, const ScheduleItem *item)
{
  gboolean         has_stream = item->stream != SCHEDULE_NONE;
  g_autofree char *index = g_strdup_printf ("%u", i), *detail = detail_of (schedule, role, item);
  g_autofree char *bytes = bytes_of (schedule, role, item), *event = event_of (item);
  const char *unit = item->unit != SCHEDULE_NONE ? schedule_unit_name (schedule, item->unit) : NULL;
  g_autofree char *flops = item->kind == ITEM_KERNEL && item->kernel->flops > 0
                               ? number_format_exact (item->kernel->flops)
                               : NULL;

  listing_add (listing, index,
               item->phase != PHASE_NONE ? schedule_phase_name ((SchedulePhase) item->phase) : "",
               unit, schedule_item_kind_name ((ItemKind) item->kind),
               has_stream ? schedule_stream_info (schedule, item->stream)->name : "",
               label_of (schedule, role, item), detail, bytes, flops, event);
}

static ExitStatus
print_schedule (const Common *common, const Schedule *schedule, guint role, ScheduleSection section)
{
  g_autoptr (Listing) listing = listing_new ("items", columns);
  g_autoptr (GString) text = g_string_new (NULL);
  ScheduleItems       items = schedule_items (schedule, role, section);

  if (common->format == FORMAT_TEXT)
    schedule_dump (schedule, role, section, text);
  else
    for (guint i = 0; i < items.n; i++)
      add_item (listing, schedule, role, i, &items.items[i]);
  return listing_print (listing, common->format, text);
}

typedef struct
{
  gint            role, stage;
  char           *word; /* of the section */
  ScheduleSection section;
  char           *output, *ranks; /* of Chakra traces */
} Settings;

static ExitStatus
show (const Common *common, const ReplayPlan *plan, const Settings *arguments)
{
  const Schedule *schedule = replay_plan_schedule (plan);
  gint            role = arguments->role, stage = arguments->stage;

  if (stage < 0 || stage >= (gint) schedule_n_stages (schedule))
    return common_refuse (common, "there is no stage %d: this schedule has stages 0 to %u\n", stage,
                          schedule_n_stages (schedule) - 1);
  /* roles are numbered stage by stage */
  role += stage * (gint) (schedule_n_roles (schedule) / schedule_n_stages (schedule));
  if (role < 0 || (guint) role >= schedule_n_roles (schedule))
    return common_refuse (common, "there is no role %d: this schedule has roles 0 to %u\n", role,
                          schedule_n_roles (schedule) - 1);
  return print_schedule (common, schedule, (guint) role, arguments->section);
}

/* ---- Chakra ---------------------------------------------------------------------------------- */

static gint
compare_ranks (gconstpointer a, gconstpointer b)
{
  guint32 left = *(const guint32 *) a, right = *(const guint32 *) b;

  return left < right ? -1 : left > right;
}

/* "0,4-7": ascending, each once. NULL after a message. */
static GArray *
parse_ranks (const char *text, guint n_ranks)
{
  g_autoptr (GArray) ranks = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_auto (GStrv)     words = g_strsplit (text, ",", -1);
  g_autoptr (GArray) once = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; words[i] != NULL; i++)
    {
      g_auto (GStrv) ends = g_strsplit (words[i], "-", 2);
      guint64        first = 0, last = 0;
      const char    *end = ends[0] != NULL && ends[1] != NULL ? ends[1] : ends[0];

      if (ends[0] == NULL || !g_ascii_string_to_unsigned (ends[0], 10, 0, n_ranks - 1, &first, NULL)
          || !g_ascii_string_to_unsigned (end, 10, first, n_ranks - 1, &last, NULL))
        {
          stream_say ("shardsim schedule: --ranks: expected ranks such as '0,4-7' out of 0 to %u, "
                      "got '%s'\n",
                      n_ranks - 1, words[i]);
          return NULL;
        }
      for (guint32 rank = (guint32) first; rank <= last; rank++)
        g_array_append_val (ranks, rank);
    }
  g_array_sort (ranks, compare_ranks);
  for (guint i = 0; i < ranks->len; i++)
    if (i == 0 || g_array_index (ranks, guint32, i) != g_array_index (ranks, guint32, i - 1))
      g_array_append_val (once, g_array_index (ranks, guint32, i));
  return g_steal_pointer (&once);
}

/* Collectives that ASTRA-sim's workload layer does not simulate, though Chakra has them. */
static void
warn_of_kinds (guint kinds)
{
  if (kinds & (1u << COLLECTIVE_BROADCAST))
    stream_say ("shardsim schedule: warning: ASTRA-sim replays a broadcast by its duration, which "
                "is not written: it takes no time there\n");
  if (kinds & (1u << COLLECTIVE_REDUCE))
    stream_say ("shardsim schedule: warning: ASTRA-sim refuses a reduce\n");
}

static ExitStatus
write_chakra (const ReplayPlan *plan, const Settings *arguments)
{
  guint              n_ranks = cluster_n_gpus (replay_plan_resolved (plan)->cluster);
  g_autoptr (GArray) ranks = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char   *folder = g_path_get_dirname (arguments->output);
  ChakraParts        parts = { .section = arguments->section };
  ChakraWritten      written;

  if (arguments->ranks != NULL && (ranks = parse_ranks (arguments->ranks, n_ranks)) == NULL)
    return EXIT_USAGE;
  parts.ranks = ranks;
  g_mkdir_with_parents (folder, 0777); /* where it cannot, opening the first file says why */
  if (!report_chakra_write (plan, &parts, arguments->output, &written, &error))
    return stream_report_error (error);
  warn_of_kinds (written.kinds);
  stream_say ("'%s.json' and %u traces are written, '%s.RANK.et': %" G_GUINT64_FORMAT " nodes\n",
              arguments->output, written.n_files, arguments->output, written.n_nodes);
  return EXIT_DONE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings        *arguments = data;
  g_autoptr (GPtrArray)  scenarios = NULL;
  g_autoptr (DiagList)   diags = diag_list_new ();
  const PredictOptions   predicted = common_predict_options (common);
  g_autoptr (ProfileSet) profiles = predict_profiles (&predicted);
  g_autoptr (ReplayPlan) plan = NULL;
  const ExitStatus       status = common_check_outputs (common);

  if (status != EXIT_DONE)
    return status;
  scenarios = common_load_scenarios (common);
  if (scenarios == NULL || !common_want_one (common, scenarios))
    return EXIT_USAGE;
  plan = replay_plan_scenario (g_ptr_array_index (scenarios, 0), profiles, diags);
  if (plan != NULL)
    idle_figures_warn (g_ptr_array_index (scenarios, 0), profiles, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (common->chakra)
    return write_chakra (plan, arguments);
  return show (common, plan, arguments);
}

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  Settings        *settings = data;
  const char      *names[SECTION_N + 1] = { NULL };
  g_autofree char *hint = NULL;
  gint             index = SECTION_STEADY;

  (void) diags;
  for (guint i = 0; i < SECTION_N; i++)
    names[i] = schedule_section_name ((ScheduleSection) i);
  if (settings->word != NULL)
    index = name_index (settings->word, names);
  settings->section = (ScheduleSection) MAX (index, 0);
  if (index >= 0)
    return TRUE;
  hint = suggest_hint (settings->word, names);
  common_say (common, "unknown section '%s': %s\n", settings->word, hint);
  return FALSE;
}

/* Of the files that begin so, the groups of ranks. */
static ExitStatus
check_traces (const char *option, const char *path)
{
  g_autofree char *first = g_strconcat (path, ".json", NULL);

  return stream_check_anywhere (option, first);
}

static const CommandOption options[] = {
  { OPTION ("role", VALUE_INT, role, "N", "role of the ranks (default: 0)") },
  { OPTION ("stage", VALUE_INT, stage, "N",
            "pipeline stage, whose roles --role then counts (default: 0)") },
  { OPTION ("section", VALUE_TEXT, word, "SECTION", "init, first or steady (default)"),
    .words = &words_sections },
  { OPTION ("output", VALUE_FOLDER, output, "DIR/NAME",
            "with --format chakra: write DIR/NAME.RANK.et, and the groups of ranks as "
            "DIR/NAME.json"),
    .letter = 'o', .check = check_traces },
  { OPTION ("ranks", VALUE_TEXT, ranks, "LIST",
            "with --format chakra: ranks to write, such as 0,4-7 (default: all)") },
  { 0 },
};

static const OptionRule rules[] = {
  { .given = "output ranks",
    .needs = "format=chakra",
    .words = "--output and --ranks are for --format chakra" },
  { .given = "format=chakra",
    .needs = "output",
    .words = "--format chakra writes files: --output DIR/NAME says what they are called" },
  { 0 },
};

const Command command_schedule = {
  .name = "schedule",
  .help = "what the ranks of a scenario issue, item by item",
  .arguments = "[SCENARIO.yaml]",
  .summary = "Prints what the ranks of one role issue: host actions and device ops in the order of "
             "issue. Or writes it as Chakra execution traces, a file a rank, for ASTRA-sim.",
  .examples = "Examples:\n"
              "  shardsim schedule --cluster '4 x a40x8-nvlink-pairs' --model gpt2-xl \\\n"
              "    --strategy fcdp --seq-len 512\n"
              "  shardsim schedule workloads/llama-3.1-405b-h100.yaml --section first \\\n"
              "    --format csv\n"
              "  shardsim schedule workloads/quickstart.yaml --format chakra -o out/zero3\n",
  .takes = COMMON_SCENARIO | COMMON_CHAKRA,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .check = check,
  .run = run,
};
