/*
 * Nodes of different makes in one group: a collective and a step take as long in whatever order the
 * cluster lists them, and no collective is faster for nodes that take the place of slower ones. Not
 * asserted: how fast such a group is, and trees, in which a node's place decides what its card
 * carries.
 */
#include "../replay/fixture.h"

#include <math.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "analysis/prediction.h"
#include "base/layout.h"

static const char *const makes[] = { "dgx-a100", "a40x8-nvlink-pairs", "dgx-h100", "dgx-1v",
                                     "perlmutter" };

/* A folder with one cluster profile 'unlike', and the profiles of it over the shipped ones. */
typedef struct
{
  char *dir, *sub, *file, *path;
} Folder;

static void
folder_init (Folder *self, const guint *groups, guint n, guint nodes)
{
  g_autofree char    *shipped = layout_data_file ("hwprofiles");
  g_autoptr (GString) text = g_string_new ("title: \"unlike nodes\"\ngroups:\n");

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "  - { nodes: %u, node: %s }\n", nodes, makes[groups[i]]);
  self->dir = g_dir_make_tmp ("unlike-XXXXXX", NULL);
  self->path = g_strconcat (self->dir, G_SEARCHPATH_SEPARATOR_S, shipped, NULL);
  self->sub = g_build_filename (self->dir, "cluster", NULL);
  self->file = g_build_filename (self->sub, "unlike.yaml", NULL);
  ck_assert_int_eq (g_mkdir (self->sub, 0700), 0);
  ck_assert (g_file_set_contents (self->file, text->str, -1, NULL));
}

static void
folder_clear (Folder *self)
{
  g_unlink (self->file);
  g_rmdir (self->sub);
  g_rmdir (self->dir);
  g_free (self->path);
  g_free (self->file);
  g_free (self->sub);
  g_free (self->dir);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Folder, folder_clear)

static void
swap (guint *a, guint *b)
{
  guint value = *a;

  *a = *b;
  *b = value;
}

/* The next order of N numbers, as a dictionary has them; FALSE after the last one. */
static gboolean
next_order (guint *order, guint n)
{
  guint i = n - 1, j = n - 1;

  while (i > 0 && order[i - 1] > order[i])
    i--;
  if (i == 0)
    return FALSE;
  while (order[j] < order[i - 1])
    j--;
  swap (&order[i - 1], &order[j]);
  for (guint low = i, high = n - 1; low < high; low++, high--)
    swap (&order[low], &order[high]);
  return TRUE;
}

/* Seconds of KIND over all ranks of a cluster of GROUPS, each of NODES nodes. */
static double
collective_seconds (const guint *groups, guint n, guint nodes, CollectiveKind kind,
                    CollectiveAlgorithm algorithm, double bytes)
{
  g_auto (Folder)            folder = { NULL, NULL, NULL, NULL };
  g_autoptr (DiagList)       diags = diag_list_new ();
  g_autoptr (ProfileSet)     profiles = NULL;
  g_autoptr (Cluster)        cluster = NULL;
  g_autoptr (CollectivePlan) plan = NULL;
  g_autofree guint32        *ranks = NULL;
  ClusterOptions             options = { 0 };
  CollectiveOptions          asked = collective_default_options;

  folder_init (&folder, groups, n, nodes);
  profiles = profile_set_new (folder.path);
  option_table_defaults (cluster_options, &options);
  options.name = g_strdup ("unlike");
  cluster = cluster_new (&options, profiles, NULL, diags);
  option_table_clear (cluster_options, &options);
  ck_assert_msg (cluster != NULL, "%s", diag_list_first_message (diags));
  ranks = g_new (guint32, cluster_n_gpus (cluster));
  for (guint32 i = 0; i < cluster_n_gpus (cluster); i++)
    ranks[i] = i;
  asked.algorithm = algorithm;
  plan = collective_plan_new (cluster, kind, ranks, cluster_n_gpus (cluster), &asked);
  return collective_plan_time (plan, bytes);
}

static const CollectiveKind kinds[] = { COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER,
                                        COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_TO_ALL };

static CollectiveAlgorithm
algorithm_of (CollectiveKind kind)
{
  return kind == COLLECTIVE_ALL_TO_ALL ? ALGORITHM_N : ALGORITHM_RING;
}

static void
check_orders (const guint *groups, guint n, CollectiveKind kind, double bytes)
{
  guint  order[G_N_ELEMENTS (makes)];
  double first = 0;

  memcpy (order, groups, n * sizeof *order);
  do
    {
      double seconds = collective_seconds (order, n, 2, kind, algorithm_of (kind), bytes);

      first = first == 0 ? seconds : first;
      ck_assert_msg (fabs (seconds / first - 1) <= 1e-9, "kind %d, %g B, %s first: %g s, else %g s",
                     (int) kind, bytes, makes[order[0]], seconds, first);
    }
  while (next_order (order, n));
}

/* Two groups of every pair of makes, and three. */
START_TEST (test_order_of_groups)
{
  for (double bytes = 4096; bytes <= 0x1p28; bytes *= 256)
    {
      check_orders ((guint[]){ 0, 1, 2 }, 3, kinds[_i], bytes);
      check_orders ((guint[]){ 0, 1, 3 }, 3, kinds[_i], bytes);
      for (guint a = 0; a < G_N_ELEMENTS (makes); a++)
        for (guint b = a + 1; b < G_N_ELEMENTS (makes); b++)
          check_orders ((guint[]){ a, b }, 2, kinds[_i], bytes);
    }
}
END_TEST

/*
 * Two nodes of one make with two of another take as long as four of the slower at the least; within
 * 1 %, because rings that share fewer links inside nodes fall less out of step. Small messages are
 * left out: there the link of less bandwidth may be the quicker one, and counts.
 */
START_TEST (test_faster_nodes_do_not_help)
{
  for (double bytes = 0x1p20; bytes <= 0x1p28; bytes *= 256)
    for (guint a = 0; a < 4; a++) /* nodes of 8 GPUs */
      for (guint b = a + 1; b < 4; b++)
        {
          CollectiveAlgorithm algorithm = algorithm_of (kinds[_i]);
          double both = collective_seconds ((guint[]){ a, b }, 2, 2, kinds[_i], algorithm, bytes);
          double one = collective_seconds (&a, 1, 4, kinds[_i], algorithm, bytes);
          double other = collective_seconds (&b, 1, 4, kinds[_i], algorithm, bytes);

          ck_assert_msg (both >= MAX (one, other) * 0.99,
                         "kind %d, %g B: %g s, 4 x %s %g s, 4 x %s %g s", (int) kinds[_i], bytes,
                         both, makes[a], one, makes[b], other);
        }
}
END_TEST

static double
step_seconds (const guint *groups, guint n, const char *strategy)
{
  g_auto (Folder)      folder = { NULL, NULL, NULL, NULL };
  g_autoptr (Scenario) scenario =
      fixture_scenario ("cluster.name", "unlike", "model.config", "gpt2-xl", "training.seq_len",
                        "1024", "training.micro_batch", "1", "training.activation_checkpointing",
                        "full", "strategy.name", strategy, NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Prediction) p = NULL;
  PredictOptions         options = { 0 };

  folder_init (&folder, groups, n, 1);
  options.profile_dir = folder.path;
  p = predict (scenario, &options, diags, NULL);
  ck_assert_msg (p != NULL, "%s", diag_list_first_message (diags));
  return p->step_time_s;
}

static const char *const strategies[] = { "ddp", "fsdp2", "zero3" };

START_TEST (test_order_of_groups_in_a_step)
{
  for (guint n = 2; n <= 3; n++)
    {
      guint  order[] = { 0, 1, 2 };
      double first = step_seconds (order, n, strategies[_i]);

      while (next_order (order, n))
        {
          double seconds = step_seconds (order, n, strategies[_i]);

          ck_assert_msg (fabs (seconds / first - 1) <= 1e-9, "%s, %s first: %g s, else %g s",
                         strategies[_i], makes[order[0]], seconds, first);
        }
    }
}
END_TEST

int
main (void)
{
  Suite *suite = suite_create ("unlike-nodes");
  TCase *tests = tcase_create ("unlike-nodes");

  tcase_add_loop_test (tests, test_order_of_groups, 0, G_N_ELEMENTS (kinds));
  tcase_add_loop_test (tests, test_faster_nodes_do_not_help, 0, G_N_ELEMENTS (kinds));
  tcase_add_loop_test (tests, test_order_of_groups_in_a_step, 0, G_N_ELEMENTS (strategies));
  suite_add_tcase (suite, tests);
  return fixture_main (suite);
}
