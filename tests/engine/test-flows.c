/*
 * Flows on a fat tree of 1024 hosts: finish times against those of SimGrid 3.32 (max-min fair, no
 * TCP corrections), 1e-6 relative per flow. tests/data/validation/flows: all starting at once, and
 * staggered; lists of the same columns named on the command line are checked as well. Speed is
 * printed, not asserted.
 */
#include "../suite.h"
#include "fixture.h"

#include <math.h>
#include <string.h>

static char *
data_path (const char *name)
{
  const char *root = g_getenv ("SHARDSIM_SOURCE_ROOT");

  return g_build_filename (root != NULL ? root : ".", "tests", "data", "validation", "flows", name,
                           NULL);
}

/* The lines of a CSV file after its heading. */
static char **
read_lines (const char *path)
{
  g_autofree char *text = NULL;

  ck_assert_msg (g_file_get_contents (path, &text, NULL, NULL), "cannot read %s", path);
  char *body = strchr (text, '\n');
  ck_assert_ptr_nonnull (body);
  return g_strsplit (g_strchomp (body + 1), "\n", 0);
}

static GHashTable *
add_links (Engine *e)
{
  g_autofree char *path = data_path ("links_ft1024.csv");
  g_auto (GStrv)   lines = read_lines (path);
  GHashTable      *links = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) cells = g_strsplit (lines[i], ",", 0);
      ResourceId     id = engine_add_resource (e, cells[0], g_ascii_strtod (cells[1], NULL));
      g_hash_table_insert (links, g_strdup (cells[0]), GUINT_TO_POINTER (id));
    }
  return links;
}

typedef struct
{
  OpId   op;
  double finish; /* s */
} Flow;

static Flow
add_flow (Engine *e, GHashTable *links, const char *line)
{
  g_auto (GStrv) cells = g_strsplit (line, ",", 0);
  g_auto (GStrv) route = g_strsplit (cells[1], " ", 0);
  double         bytes = g_ascii_strtod (cells[2], NULL);
  TestOp         op = { .class_ = OP_TRAFFIC, .share = 1 / bytes };
  StreamId       stream = engine_add_stream (e, "flow", 0, 0);

  op.latency = SECONDS (g_ascii_strtod (cells[3], NULL));
  for (guint i = 0; route[i] != NULL; i++)
    {
      gpointer link;
      ck_assert (i < G_N_ELEMENTS (op.demands)
                 && g_hash_table_lookup_extended (links, route[i], NULL, &link));
      op.demands[i] = (Demand){ GPOINTER_TO_UINT (link), bytes };
    }
  return (Flow){ test_submit (e, stream, op), g_ascii_strtod (cells[4], NULL) };
}

static void
check_list (const char *path)
{
  g_autoptr (Engine)     e = engine_new ();
  g_autoptr (GHashTable) links = add_links (e);
  g_auto (GStrv)         lines = read_lines (path);
  g_autofree Flow       *flows = g_new (Flow, g_strv_length (lines));
  guint                  n = 0;
  double                 worst = 0;

  for (; lines[n] != NULL; n++)
    flows[n] = add_flow (e, links, lines[n]);
  gint64 start = g_get_monotonic_time ();
  test_run (e);
  gint64 elapsed = g_get_monotonic_time () - start;
  for (guint i = 0; i < n; i++)
    {
      double end = sim_time_to_seconds (test_end (e, flows[i].op));
      double error = fabs (end - flows[i].finish) / flows[i].finish;
      worst = MAX (worst, error);
      ck_assert_msg (error <= 1e-6, "%s: flow %u ends at %.12g s, not %.12g s", path, i, end,
                     flows[i].finish);
    }
  EngineCounters counters = engine_counters (e);
  g_printerr ("%s: %u flows, largest error %.2g, %.3f s, %" G_GUINT64_FORMAT
              " solves, %" G_GUINT64_FORMAT " ops visited\n",
              path, n, worst, (double) elapsed / 1e6, counters.solves, counters.visited);
}

static const char *const stored[] = { "1000_t0.csv", "1000_stag.csv" };

START_TEST (stored_lists)
{
  g_autofree char *path = data_path (stored[_i]);

  check_list (path);
}
END_TEST

static char **named;

START_TEST (named_lists)
{
  check_list (named[_i]);
}
END_TEST

SUITE_MAIN (flows)
{
  Suite *suite = suite_create ("flows");
  TCase *tcase = tcase_create ("simgrid");

  named = argv + 1;
  tcase_add_loop_test (tcase, stored_lists, 0, G_N_ELEMENTS (stored));
  tcase_add_loop_test (tcase, named_lists, 0, argc - 1);
  suite_add_tcase (suite, tcase);
  return test_main (suite);
}
