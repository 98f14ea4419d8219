/*
 * How fast flows on links are: reading, running and peak memory of the stored lists on a fat tree
 * of 1024 hosts, and of 100 000 flows that all start at once (whole MiB from 1 to 64, uniform
 * pairs). Seconds are printed; what is asserted is the ratio to the same run with every tier filled
 * from nothing at every event, at a size that this can do in seconds.
 *
 * bench-flows [quick]: without the 100 000 at once
 */
#include "engine/flow-table.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define HOSTS   1024
#define REPEATS 5 /* of the short runs, of which the fastest counts */

/*
 * A list, how many of its flows a plain re-solve can do, and how many times as fast the solver must
 * be there.
 */
typedef struct
{
  const char *name;
  guint       n_plain;
  double      least_ratio;
} List;

static const List lists[] = {
  { "1000_t0.csv", 1000, 8 },          { "1000_stag.csv", 1000, 8 },
  { "10000_t0.csv.gz", 3000, 40 },     { "10000_dense.csv.gz", 10000, 40 },
  { "100000_stag.csv.gz", 10000, 10 },
};

static char *
data_path (const char *name)
{
  const char *root = g_getenv ("SHARDSIM_SOURCE_ROOT");

  return g_build_filename (root != NULL ? root : ".", "tests", "data", "validation", "flows", name,
                           NULL);
}

static double
seconds_since (gint64 start)
{
  return (double) (g_get_monotonic_time () - start) / 1e6;
}

static long
peak_mib (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

static FlowTable *
load (const char *flows)
{
  g_autofree char     *links = data_path ("links_ft1024.csv");
  g_autoptr (DiagList) diags = diag_list_new ();
  FlowTable           *table = flow_table_load (links, flows, diags);
  g_autofree char     *text = diag_list_format (diags, FALSE);

  if (table == NULL)
    g_error ("%s", text);
  return table;
}

/* Reads and runs a list; seconds of both together. */
static double
run_file (const char *flows, guint *n_flows)
{
  gint64                start = g_get_monotonic_time ();
  g_autoptr (FlowTable) table = load (flows);

  g_assert (flow_net_run (flow_table_net (table), NULL));
  *n_flows = flow_net_n_flows (flow_table_net (table));
  return seconds_since (start);
}

/* The first N flows of a list, in a file of their own. */
static char *
head_of (const char *flows, guint n)
{
  g_autofree char   *path = g_build_filename (g_get_tmp_dir (), "bench-flows-XXXXXX", NULL);
  g_autofree char   *command = NULL, *text = NULL;
  g_autoptr (GError) error = NULL;
  int                file = g_mkstemp (path);
  g_autofree char   *quoted = g_shell_quote (flows);

  g_assert (file >= 0);
  close (file);
  command = g_strdup_printf ("sh -c \"%s %s | head -n %u\"",
                             g_str_has_suffix (flows, ".gz") ? "gzip -dc" : "cat", quoted, n + 1);
  if (!g_spawn_command_line_sync (command, &text, NULL, NULL, &error)
      || !g_file_set_contents (path, text, -1, &error))
    g_error ("%s", error->message);
  return g_steal_pointer (&path);
}

/* Seconds of running a list, without reading it. */
static double
run_net (const char *flows, gboolean full, guint64 *visited)
{
  g_autoptr (FlowTable) table = load (flows);
  FlowNet              *net = flow_table_net (table);

  flow_net_set_full (net, full);
  gint64 start = g_get_monotonic_time ();
  g_assert (flow_net_run (net, NULL));
  *visited = flow_net_visited (net);
  return MAX (1e-6, seconds_since (start));
}

static gboolean
bench_list (const List *list)
{
  g_autofree char *path = data_path (list->name), *head = head_of (path, list->n_plain);
  guint64          visited, visited_full;
  guint            n_flows;
  double           whole = run_file (path, &n_flows);
  long             peak = peak_mib ();
  double           ours = run_net (head, FALSE, &visited);
  double           full = run_net (head, TRUE, &visited_full), ratio;

  for (guint i = 1; i < REPEATS; i++)
    ours = MIN (ours, run_net (head, FALSE, &visited));
  ratio = full / ours;

  remove (head);
  printf (
      "%-20s %6u flows %8.3f s %5ld MiB   %6.0f x a plain re-solve of %u flows (%.3f s, %.0f x the "
      "ops)\n",
      list->name, n_flows, whole, peak, ratio, list->n_plain, full,
      (double) visited_full / (double) visited);
  if (ratio < list->least_ratio)
    printf ("  too slow: expected at least %.0f x\n", list->least_ratio);
  return ratio >= list->least_ratio;
}

/* ---- all at once ----------------------------------------------------------------------------- */

/*
 * Links as in the stored file: up and down of each host, then both ways between each leaf and each
 * spine.
 */
static guint
fabric_link (guint leaf, guint spine, gboolean down)
{
  return 2 * HOSTS + 2 * (16 * leaf + spine) + (down ? 1 : 0);
}

static double
run_at_once (guint n)
{
  g_autoptr (FlowNet) net = flow_net_new ();
  GRand              *rand = g_rand_new_with_seed (1);

  for (guint i = 0; i < 2 * HOSTS + 2 * 64 * 16; i++)
    flow_net_add_link (net, 50e9);
  for (guint i = 0; i < n; i++)
    {
      guint    s = (guint) g_rand_int_range (rand, 0, HOSTS);
      guint    d = (s + 1 + (guint) g_rand_int_range (rand, 0, HOSTS - 1)) % HOSTS;
      guint32  far[] = { 2 * s, fabric_link (s / 16, d % 16, FALSE),
                         fabric_link (d / 16, d % 16, TRUE), 2 * d + 1 };
      guint32  near[] = { 2 * s, 2 * d + 1 };
      gboolean is_near = s / 16 == d / 16;

      flow_net_add_flow (net, &(FlowSpec){ .links = is_near ? near : far,
                                           .n_links = is_near ? 2 : 4,
                                           .bytes = 1048576.0 * g_rand_int_range (rand, 1, 65),
                                           .weight = 1 });
    }
  g_rand_free (rand);
  gint64 start = g_get_monotonic_time ();
  g_assert (flow_net_run (net, NULL));
  return seconds_since (start);
}

int
main (int argc, char **argv)
{
  gboolean good = TRUE;

  setvbuf (stdout, NULL, _IOLBF, 0);
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    good = bench_list (&lists[i]) && good;
  if (argc < 2 || !g_str_equal (argv[1], "quick"))
    {
      double seconds = run_at_once (100000);
      printf ("%-20s %6u flows %8.3f s %5ld MiB\n", "all at once", 100000, seconds, peak_mib ());
    }
  return good ? 0 : 1;
}
