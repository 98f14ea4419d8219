/* shardsim strategies: what there is, and one of them explained. */
#include <stdio.h>
#include <string.h>

#include "cli/help/listing.h"
#include "cli/help/page-values.h"
#include "scenario/strategy-hint.h"

static const ListingColumn list_columns[] = {
  { "name", LISTING_TEXT },
  { "title", LISTING_TEXT },
  { "source", LISTING_TEXT },
  { NULL, LISTING_TEXT },
};

/* One table for all that is said about a strategy; `part` tells its kinds of rows apart. */
static const ListingColumn columns[] = {
  { "part", LISTING_TEXT },   { "name", LISTING_TEXT },  { "type", LISTING_TEXT },
  { "value", LISTING_TEXT },  { "range", LISTING_TEXT }, { "help", LISTING_TEXT },
  { "source", LISTING_TEXT }, { NULL, LISTING_TEXT },
};

static ExitStatus
list_all (const Common *common)
{
  g_autoptr (Listing)    listing = listing_new ("strategies", list_columns);
  const Strategy *const *all = strategy_set_list (common->strategies);

  for (guint i = 0; all[i] != NULL; i++)
    listing_add (listing, all[i]->name, all[i]->title, all[i]->source);
  return listing_print (listing, common->format, NULL);
}

/* ---- options --------------------------------------------------------------------------------- */

static char *
range_text (const OptionSpec *spec)
{
  g_autofree char *low = NULL, *high = NULL;

  if (spec->type == OPTION_ENUM)
    return g_strjoinv (", ", (char **) spec->choices);
  if ((spec->type != OPTION_INT && spec->type != OPTION_QUANTITY)
      || (spec->min == 0 && spec->max == 0))
    return g_strdup ("");
  if (spec->type == OPTION_QUANTITY)
    {
      low = quantity_format (spec->kind, spec->min, 4);
      high = quantity_format (spec->kind, MAX (spec->max, 0), 4);
    }
  else
    {
      low = number_format_exact (spec->min);
      high = number_format_exact (spec->max);
    }
  return spec->max < spec->min
             ? g_strdup_printf ("%sat least %s", spec->or_zero ? "0 or " : "", low)
             : g_strdup_printf ("%s%s to %s", spec->or_zero ? "0 or " : "", low, high);
}

static const char *
type_text (const OptionSpec *spec)
{
  static const char *const names[] = { [OPTION_STRING] = "text",
                                       [OPTION_BOOL] = "switch",
                                       [OPTION_INT] = "number",
                                       [OPTION_ENUM] = "choice",
                                       [OPTION_QUANTITY] = "quantity" };

  return spec->type == OPTION_QUANTITY ? strchr (quantity_kind_name (spec->kind), ' ') + 1
                                       : names[spec->type];
}

static void
add_options (Listing *listing, const Strategy *strategy)
{
  for (const OptionSpec *spec = strategy->options; spec != NULL && spec->key != NULL; spec++)
    {
      g_autofree char *range = range_text (spec);

      listing_add (listing, "option", spec->key, type_text (spec),
                   spec->fallback != NULL ? spec->fallback
                   : spec->optional       ? ""
                                          : "required",
                   range, spec->help, spec->source);
    }
}

/* "subject: words" lines become rows. */
static void
add_lines (Listing *listing, const char *part, const char *lines)
{
  g_auto (GStrv) all = g_strsplit (lines != NULL ? lines : "", "\n", -1);

  for (guint i = 0; all[i] != NULL; i++)
    {
      const char      *colon = g_str_equal (part, "state") ? strstr (all[i], ": ") : NULL;
      g_autofree char *subject =
          colon != NULL ? g_strndup (all[i], (gsize) (colon - all[i])) : NULL;

      if (all[i][0] != '\0')
        listing_add (listing, part, subject, NULL, NULL, NULL, colon != NULL ? colon + 2 : all[i],
                     NULL);
    }
}

/* ---- closed forms ---------------------------------------------------------------------------- */

static void
add_amount (Listing *listing, const char *name, QuantityKind kind, double low, double high,
            const char *help)
{
  g_autofree char *exact = quantity_format (kind, high, 6), *least = quantity_format (kind, low, 6);
  g_autofree char *range = low < high ? g_strdup_printf ("%s to %s", least, exact) : NULL;

  listing_add (listing, "closed form", name, strchr (quantity_kind_name (kind), ' ') + 1, exact,
               range, help, NULL);
}

static void
add_closed_forms (Listing *listing, const PlanTotals *totals, guint steps)
{
  g_autofree char *help =
      g_strdup_printf ("a rank, in a period of %u step%s", steps, steps == 1 ? "" : "s");

  for (guint i = 0; i < totals->n_traffic; i++)
    {
      const TrafficTotal *t = &totals->traffic[i];
      g_autofree char    *name = g_strdup_printf (
             "%s over %u ranks, stride %u%s%s", collective_kind_name (t->kind), t->group.size,
             t->group.stride, t->codec != NULL ? ", " : "", t->codec != NULL ? t->codec->name : "");
      g_autofree char *words = g_strconcat (help, ", sizes as nccl-tests counts them", NULL);

      add_amount (listing, name, QUANTITY_BYTES, t->bytes - t->slack, t->bytes, words);
    }
  for (guint c = 0; c < MOVE_N; c++)
    if (totals->moves[c] > 0)
      {
        g_autofree char *name = g_strdup_printf ("moved %s", move_kind_name (c));

        add_amount (listing, name, QUANTITY_BYTES, totals->moves[c] - totals->moves_slack[c],
                    totals->moves[c], help);
      }
  if (totals->coded > 0)
    add_amount (listing, "read and written by codecs", QUANTITY_BYTES,
                totals->coded - totals->coded_slack, totals->coded, help);
  {
    g_autofree char *flops = g_strdup_printf ("%.6g", totals->flops);

    listing_add (listing, "closed form", "FLOPs", "count", flops, NULL, help, NULL);
  }
  for (Place place = 0; place < PLACE_N; place++)
    if (totals->high[place] > 0)
      {
        g_autofree char *name = g_strdup_printf ("peak of %s", place_title (place));

        add_amount (listing, name, QUANTITY_BYTES, totals->low[place], totals->high[place],
                    "allocated by one rank");
      }
  for (guint h = 0; h < HOST_N_KINDS; h++)
    if (totals->host[h] > 0)
      {
        g_autofree char *elements = g_strdup_printf ("%.6g", totals->host[h]);
        g_autofree char *name = g_strdup_printf ("%s on the host", host_kind_name ((HostKind) h));

        listing_add (listing, "closed form", name, "elements", elements, NULL, help, NULL);
      }
}

/* The closed forms for the scenario that the command line describes, when it describes one. */
static ExitStatus
add_scenario (Common *common, const char *name, Listing *listing)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  const PredictOptions   predicted = common_predict_options (common);
  g_autoptr (ProfileSet) profiles = predict_profiles (&predicted);
  g_autoptr (GPtrArray)  scenarios = NULL;
  g_autoptr (ReplayPlan) plan = NULL;
  ScenarioOverride       own = { .key = "strategy.name", .value = name, .origin = "strategies" };
  PlanTotals             totals = { 0 };

  if (common->overrides->len == 0)
    return EXIT_DONE;
  g_array_append_val (common->overrides, own);
  scenarios = scenario_load (common->strategies, NULL,
                             (const ScenarioOverride *) (void *) common->overrides->data,
                             common->overrides->len, diags);
  if (scenarios != NULL)
    plan = replay_plan_scenario (g_ptr_array_index (scenarios, 0), profiles, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (replay_plan_expect (plan, &totals))
    add_closed_forms (listing, &totals, schedule_steps_per_period (replay_plan_schedule (plan)));
  return EXIT_DONE;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void
append_section (const Listing *listing, const char *part, const char *title, GString *text)
{
  g_autoptr (GString) table = g_string_new (NULL);

  listing_append_text (listing, 1, part, table);
  if (table->len > 0)
    g_string_append_printf (text, "\n%s\n%s", title, table->str);
}

static void
append_lines (const char *title, const char *lines, GString *text)
{
  g_auto (GStrv) all = g_strsplit (lines != NULL ? lines : "", "\n", -1);

  if (all[0] == NULL)
    return;
  g_string_append_printf (text, "\n%s\n", title);
  for (guint i = 0; all[i] != NULL; i++)
    g_string_append_printf (text, "  %s\n", all[i]);
}

static ExitStatus
explain (Common *common, const char *name)
{
  const Strategy     *strategy = strategy_set_find (common->strategies, name);
  g_autoptr (Listing) listing = listing_new ("strategy", columns);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char    *hint = NULL;
  ExitStatus          status;

  if (strategy == NULL)
    {
      hint = strategy_hint (common->strategies, name);
      stream_say ("shardsim: unknown strategy '%s'\n  hint: %s\n", name, hint);
      return EXIT_USAGE;
    }
  listing_add (listing, "strategy", strategy->name, NULL, NULL, NULL, strategy->title,
               strategy->source);
  add_options (listing, strategy);
  add_lines (listing, "state", strategy->states);
  add_lines (listing, "not modelled", strategy->missing);
  status = add_scenario (common, name, listing);
  if (status != EXIT_DONE)
    return status;
  g_string_append_printf (text, "%s: %s\nsource: %s\n", strategy->name, strategy->title,
                          strategy->source);
  append_section (listing, "option", "Options", text);
  append_lines ("Where each state lives", strategy->states, text);
  append_lines ("Not modelled", strategy->missing, text);
  append_section (listing, "closed form", "Closed forms for this scenario", text);
  return listing_print (listing, common->format, text);
}

static ExitStatus
run (Common *common, gpointer settings)
{
  (void) settings;
  return common->files[0] != NULL ? explain (common, common->files[0]) : list_all (common);
}

const Command command_strategies = {
  .name = "strategies",
  .help = "the strategies, or one explained",
  .arguments = "[NAME]",
  .summary = "Lists the strategies, or explains one: its options, where each state lives, what is "
             "not modelled and, for a scenario given by options, the closed forms that its "
             "schedule is tested against.",
  .examples = "Examples:\n"
              "  shardsim strategies fcdp\n"
              "  shardsim strategies fsdp2 --cluster '4 x dgx-a100' --model llama-3-8b \\\n"
              "    --seq-len 2048\n",
  .takes = COMMON_SCENARIO | COMMON_FORMAT,
  .most_words = 1,
  .words = &words_strategies,
  .run = run,
};
