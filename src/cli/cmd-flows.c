/* shardsim flows: the bare network simulator. */
#include <stdio.h>

#include "cli/common.h"
#include "cli/progress.h"
#include "engine/flow-table.h"
#include "report/flows.h"

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
  if (common->format == FORMAT_CSV)
    report_flows_csv (&report, out);
  else if (common->format == FORMAT_JSON)
    report_flows_json (&report, out);
  else
    report_flows_text (&report, out);
  return stream_print (out);
}

static ExitStatus
run (const Common *common, const char *links, const char *flows)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (FlowTable) table = flow_table_load (links, flows, diags);
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

int
cmd_flows (int argc, char **argv)
{
  g_auto (Common)    common = { 0 };
  g_autofree char   *links = NULL, *flows = NULL;
  gboolean           done = FALSE;
  const GOptionEntry extra[] = {
    { "links", 0, 0, G_OPTION_ARG_FILENAME, &links, "the links: link,bandwidth and perhaps latency",
      "FILE" },
    { "flows", 0, 0, G_OPTION_ARG_FILENAME, &flows,
      "the flows: flow,links,bytes,start_s and any of latency, rate_cap, weight, loads, finish_s",
      "FILE" },
    G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (&common, COMMON_FORMAT, "--links FILE --flows FILE",
                     "Shares links among flows, weighted max-min fair, and says when each flow is "
                     "over. Files are CSV, also gzipped; a flow's 'links' are the names of its "
                     "route, with spaces between.",
                     "Examples:\n"
                     "  shardsim flows --links links.csv --flows flows.csv\n"
                     "  shardsim flows --links links.csv --flows flows.csv.gz --format csv\n",
                     extra, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (!common_want_words (&common, 0))
    return EXIT_USAGE;
  if (links == NULL || flows == NULL)
    {
      stream_say ("shardsim flows: expected %s\n  see 'shardsim flows --help'\n",
                  links == NULL && flows == NULL ? "--links FILE and --flows FILE"
                  : links == NULL                ? "--links FILE"
                                                 : "--flows FILE");
      return EXIT_USAGE;
    }
  return run (&common, links, flows);
}
