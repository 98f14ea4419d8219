/* shardsim schedule: what the ranks of one role issue, item by item. */
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/listing.h"

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

static gboolean
parse_section (const char *word, ScheduleSection *section)
{
  const char      *names[SECTION_N + 1] = { NULL };
  g_autofree char *hint = NULL;

  gint index;

  for (guint i = 0; i < SECTION_N; i++)
    names[i] = schedule_section_name ((ScheduleSection) i);
  index = word != NULL ? name_index (word, names) : SECTION_STEADY;
  if (index >= 0)
    {
      *section = (ScheduleSection) index;
      return TRUE;
    }
  hint = suggest_hint (word, names);
  stream_say ("shardsim schedule: unknown section '%s': %s\n", word, hint);
  return FALSE;
}

/* Roles are numbered stage by stage. */
static gint
roles_of_stage (const Schedule *schedule)
{
  return (gint) (schedule_n_roles (schedule) / schedule_n_stages (schedule));
}

static ExitStatus
show (Common *common, gint role, gint stage, ScheduleSection section)
{
  g_autoptr (GPtrArray)  scenarios = common_load_scenarios (common);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (common->hwprofiles);
  g_autoptr (ReplayPlan) plan = NULL;

  if (scenarios == NULL || !common_want_one (common, scenarios))
    return EXIT_USAGE;
  plan = replay_plan_scenario (g_ptr_array_index (scenarios, 0), profiles, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (stage < 0 || stage >= (gint) schedule_n_stages (replay_plan_schedule (plan)))
    {
      stream_say ("shardsim schedule: there is no stage %d: this schedule has stages 0 to %u\n",
                  stage, schedule_n_stages (replay_plan_schedule (plan)) - 1);
      return EXIT_USAGE;
    }
  role += stage * roles_of_stage (replay_plan_schedule (plan));
  if (role < 0 || (guint) role >= schedule_n_roles (replay_plan_schedule (plan)))
    {
      stream_say ("shardsim schedule: there is no role %d: this schedule has roles 0 to %u\n", role,
                  schedule_n_roles (replay_plan_schedule (plan)) - 1);
      return EXIT_USAGE;
    }
  return print_schedule (common, replay_plan_schedule (plan), (guint) role, section);
}

int
cmd_schedule (int argc, char **argv)
{
  g_auto (Common)    common = { 0 };
  gboolean           done = FALSE;
  gint               role = 0, stage = 0;
  g_autofree char   *word = NULL;
  ScheduleSection    section;
  const GOptionEntry extra[] = {
    { "role", 0, 0, G_OPTION_ARG_INT, &role, "role of the ranks (default: 0)", "N" },
    { "stage", 0, 0, G_OPTION_ARG_INT, &stage,
      "pipeline stage, whose roles --role then counts (default: 0)", "N" },
    { "section", 0, 0, G_OPTION_ARG_STRING, &word, "init, first or steady (default)", "SECTION" },
    G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (
          &common, COMMON_SCENARIO | COMMON_FORMAT, "[SCENARIO.yaml]",
          "Prints what the ranks of one role issue: host actions and device ops in the order of "
          "issue.",
          "Examples:\n"
          "  shardsim schedule --cluster '4 x a40x8-nvlink-pairs' --model gpt2-xl \\\n"
          "    --strategy fcdp --seq-len 512\n"
          "  shardsim schedule workloads/llama-3.1-405b-h100.yaml --section first \\\n"
          "    --format csv\n",
          extra, argc, argv, &done)
      || !parse_section (word, &section))
    return EXIT_USAGE;
  return done ? EXIT_DONE : show (&common, role, stage, section);
}
