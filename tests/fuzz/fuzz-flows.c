/*
 * Tables of links and flows, divided by a line "%%": diagnostics, or flows that run to their ends.
 * Shares that are solved step by step end every flow when shares that are solved anew at every
 * event do.
 */
#include <math.h>

#include "engine/flow-table.h"
#include "fuzz.h"

#define MAX_FLOWS 200

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static FlowTable *
load (const FuzzPart *parts, guint n)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *links = fuzz_file ("links.csv", parts[0].data, parts[0].size);
  g_autofree char     *flows = n > 1 ? fuzz_file ("flows.csv", parts[1].data, parts[1].size) : NULL;
  FlowTable           *self = flow_table_load (links, n > 1 ? flows : links, diags);

  fuzz_check_diags (diags, self == NULL);
  return self;
}

static void
check_ends (const FlowNet *net)
{
  SimTime last = 0;

  for (guint i = 0; i < flow_net_n_flows (net); i++)
    last = MAX (last, flow_net_finish (net, i));
  g_assert (flow_net_makespan (net) == last);
  for (guint i = 0; i < flow_net_n_links (net); i++)
    g_assert (isfinite (flow_net_moved (net, i)) && flow_net_moved (net, i) >= 0);
}

static void
compare (const FlowNet *a, const FlowNet *b)
{
  for (guint i = 0; i < flow_net_n_flows (a); i++)
    {
      const double x = (double) flow_net_finish (a, i), y = (double) flow_net_finish (b, i);

      g_assert (fabs (x - y) <= 1e-6 * MAX (x, y) + 1000);
    }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  FuzzPart              parts[2];
  const guint           n = fuzz_split (data, size, parts, G_N_ELEMENTS (parts));
  g_autoptr (FlowTable) table = NULL, again = NULL;
  FlowNet              *net, *full;

  fuzz_begin ();
  table = load (parts, n);
  if (table == NULL || flow_net_n_flows (flow_table_net (table)) > MAX_FLOWS)
    return 0;
  again = load (parts, n);
  net = flow_table_net (table);
  full = flow_table_net (again);
  flow_net_set_full (full, TRUE);
  {
    g_autoptr (GError) error = NULL, other = NULL;
    const gboolean     done = flow_net_run (net, &error);

    g_assert (done == (error == NULL));
    g_assert (flow_net_run (full, &other) == done);
    if (!done)
      return 0;
  }
  check_ends (net);
  compare (net, full);
  return 0;
}
