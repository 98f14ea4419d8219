/* shardsim flows: the bare network simulator. */
#include <stdio.h>

#include "cli/argument/common.h"
#include "cli/output/progress.h"
#include "engine/flow-table.h"
#include "report/export/flows.h"

static FlowReportLink *
busy_links (FlowTable *table)
{
  const FlowNet  *net = flow_table_net (table);
  double          makespan = sim_time_to_seconds (flow_net_makespan (net));
  FlowReportLink *links = g_new (FlowReportLink, flow_net_n_links (net));

  for (guint i = 0; i < flow_net_n_links (net); i++)
    links[i] = (FlowReportLink){
      .name = flow_table_link_names (table)[i],
      .capacity = flow_net_capacity (net, i),
      .bytes = flow_net_moved (net, i),
      .utilisation = flow_net_moved (net, i) / (flow_net_capacity (net, i) * makespan),
    };
  return links;
}

static ExitStatus
print_flows (const Common *common, FlowTable *table)
{
  const FlowNet             *net = flow_table_net (table);
  g_autofree FlowReportLink *links = busy_links (table);
  g_autofree SimTime        *finish = g_new (SimTime, flow_net_n_flows (net));
  g_autoptr (GString)        out = g_string_new (NULL);
  FlowReport                 report = { .names = flow_table_flow_names (table),
                                        .finish = finish,
                                        .n_flows = flow_net_n_flows (net),
                                        .links = links,
                                        .n_links = flow_net_n_links (net),
                                        .makespan = flow_net_makespan (net),
                                        .expected = flow_table_expected (table) };

  for (guint i = 0; i < report.n_flows; i++)
    finish[i] = flow_net_finish (net, i);
  common_say_as (common, report_flows_text, report_flows_csv, report_flows_json, &report, out);
  return stream_print (out);
}

typedef struct
{
  char *links, *flows;
} Settings;

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings       *settings = data;
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (FlowTable) table = flow_table_load (settings->links, settings->flows, diags);
  g_autoptr (GError)    error = NULL;
  Progress             *progress;
  gboolean              good;

  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  progress = progress_start ("simulating", "flows", NULL);
  flow_net_set_count (flow_table_net (table), progress_count (progress));
  good = flow_net_run (flow_table_net (table), &error);
  progress_end (progress);
  if (!good)
    return stream_report_error (error);
  return print_flows (common, table);
}

static const CommandOption options[] = {
  { OPTION ("links", VALUE_FILE, links, "FILE", "the links: link,bandwidth and perhaps latency") },
  { OPTION ("flows", VALUE_FILE, flows, "FILE",
            "the flows: flow,links,bytes,start_s and any of latency, rate_cap, weight, loads, "
            "finish_s") },
  { 0 },
};

#define SEE "\n  see 'shardsim flows --help'"

static const OptionRule rules[] = {
  { .needs = "links flows", .words = "expected --links FILE and --flows FILE" SEE },
  { .needs = "links", .words = "expected --links FILE" SEE },
  { .needs = "flows", .words = "expected --flows FILE" SEE },
  { 0 },
};

const Command command_flows = {
  .name = "flows",
  .help = "the bare network simulator: flows on links, from two tables",
  .arguments = "--links FILE --flows FILE",
  .summary = "Shares links among flows, weighted max-min fair, and says when each flow is over. "
             "Files are CSV, also gzipped; a flow's 'links' are the names of its route, with "
             "spaces between.",
  .examples = "Examples:\n"
              "  shardsim flows --links links.csv --flows flows.csv\n"
              "  shardsim flows --links links.csv --flows flows.csv.gz --format csv\n",
  .takes = COMMON_FORMAT,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .run = run,
};
