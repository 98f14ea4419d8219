/*
 * Nodes of different makes in one group: a collective and a step take as long in whatever order the
 * cluster lists them, all that a result says of a step is the same, and no collective is faster for
 * nodes that take the place of slower ones. Ranks that have one copy of something between them are
 * on nodes of one make, whatever their communicator is called. Not asserted: how fast such a group
 * is, and trees, in which a node's place decides what its card carries.
 */
#include "../replay/fixture.h"
#include "../suite.h"

#include <math.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include <json-c/json.h>

#include "base/file/layout.h"
#include "hardware/profile/profiles-used.h"
#include "report/prediction/report.h"

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
                    CollectiveAlgorithm algorithm, CollectiveProtocol protocol, double bytes)
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
  asked.protocol = protocol;
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
      double seconds =
          collective_seconds (order, n, 2, kind, algorithm_of (kind), PROTOCOL_N, bytes);

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
 * left out: there the link of less bandwidth may be the quicker one, and counts. One protocol: the
 * library chooses by its model, and not always the quicker one.
 */
START_TEST (test_faster_nodes_do_not_help)
{
  for (double bytes = 0x1p30; bytes <= 0x1p34; bytes *= 16)
    for (guint a = 0; a < 4; a++) /* nodes of 8 GPUs */
      for (guint b = a + 1; b < 4; b++)
        {
          CollectiveAlgorithm algorithm = algorithm_of (kinds[_i]);
          double both = collective_seconds ((guint[]){ a, b }, 2, 2, kinds[_i], algorithm,
                                            PROTOCOL_SIMPLE, bytes);
          double one = collective_seconds (&a, 1, 4, kinds[_i], algorithm, PROTOCOL_SIMPLE, bytes);
          double other =
              collective_seconds (&b, 1, 4, kinds[_i], algorithm, PROTOCOL_SIMPLE, bytes);

          ck_assert_msg (both >= MAX (one, other) * 0.99,
                         "kind %d, %g B: %g s, 4 x %s %g s, 4 x %s %g s", (int) kinds[_i], bytes,
                         both, makes[a], one, makes[b], other);
        }
}
END_TEST

/* A step of gpt2-xl under STRATEGY on GROUPS: all that a result says. */
static struct json_object *
step_result (const guint *groups, guint n, const char *strategy)
{
  g_auto (Folder)      folder = { NULL, NULL, NULL, NULL };
  g_autoptr (Scenario) scenario =
      fixture_scenario ("cluster.name", "unlike", "model.config", "gpt2-xl", "training.seq_len",
                        "1024", "training.micro_batch", "1", "training.activation_checkpointing",
                        "full", "strategy.name", strategy, NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  g_autoptr (GString)   text = g_string_new (NULL);
  PredictOptions        options = { 0 };
  Prediction           *p;

  folder_init (&folder, groups, n, 1);
  options.profile_dir = folder.path;
  p = predict (scenario, &options, diags, NULL);
  ck_assert_msg (p != NULL, "%s", diag_list_first_message (diags));
  g_ptr_array_add (all, p);
  report_json (all, text);
  return json_tokener_parse (text->str);
}

/* Names of a rank, of a node or of the groups, and hashes of the file that lists them. */
static gboolean
names_a_place (const char *key)
{
  return g_str_equal (key, "place") || g_str_equal (key, "cluster")
         || g_str_has_prefix (key, "profile");
}

static gboolean
is_number (const struct json_object *value)
{
  return json_object_is_type (value, json_type_double)
         || json_object_is_type (value, json_type_int);
}

static void check_lists (const char *path, struct json_object *a, struct json_object *b);

static void
check_numbers (const char *path, struct json_object *a, struct json_object *b)
{
  double x = json_object_get_double (a), y = json_object_get_double (b);

  ck_assert_msg (is_number (b) && fabs (x - y) <= 1e-9 * fabs (x), "%s: %.12g, else %.12g", path, x,
                 y);
}

static void
check_alike (const char *path, struct json_object *a, struct json_object *b)
{
  struct json_object_iterator end = json_object_iter_end (a);

  for (struct json_object_iterator at = json_object_iter_begin (a);
       !json_object_iter_equal (&at, &end); json_object_iter_next (&at))
    {
      const char         *key = json_object_iter_peek_name (&at);
      struct json_object *member = json_object_iter_peek_value (&at), *value;
      g_autofree char    *inner = g_strdup_printf ("%s/%s", path, key);

      if (names_a_place (key))
        continue;
      ck_assert_msg (json_object_object_get_ex (b, key, &value), "%s", inner);
      if (json_object_is_type (member, json_type_object))
        check_alike (inner, member, value);
      else if (json_object_is_type (member, json_type_array))
        check_lists (inner, member, value);
      else if (is_number (member))
        check_numbers (inner, member, value);
      else
        ck_assert_msg (g_strcmp0 (json_object_get_string (member), json_object_get_string (value))
                           == 0,
                       "%s: %s, else %s", inner, json_object_get_string (member),
                       json_object_get_string (value));
    }
}

static void
check_lists (const char *path, struct json_object *a, struct json_object *b)
{
  ck_assert_msg (json_object_array_length (a) == json_object_array_length (b), "%s", path);
  for (gsize i = 0; i < json_object_array_length (a); i++)
    {
      struct json_object *x = json_object_array_get_idx (a, i);
      g_autofree char    *inner = g_strdup_printf ("%s/%zu", path, i);

      if (json_object_is_type (x, json_type_object))
        check_alike (inner, x, json_object_array_get_idx (b, i));
      else if (is_number (x))
        check_numbers (inner, x, json_object_array_get_idx (b, i));
    }
}

static const char *const strategies[] = { "ddp", "fsdp2", "zero3" };

START_TEST (test_order_of_groups_in_a_step)
{
  for (guint n = 2; n <= 3; n++)
    {
      guint               order[] = { 0, 1, 2 };
      struct json_object *first = step_result (order, n, strategies[_i]);

      while (next_order (order, n))
        {
          struct json_object *other = step_result (order, n, strategies[_i]);

          check_alike (strategies[_i], first, other);
          json_object_put (other);
        }
      json_object_put (first);
    }
}
END_TEST

/* ---- groups that share ----------------------------------------------------------------------- */

/*
 * Under `mics` and under workers the same 16 ranks of two makes hold one copy of the parameters,
 * under the names "shard" and "data"; under DDP they hold replicas, also as "data".
 */
static const struct
{
  const char *strategy, *key, *inner, *communicator; /* NULL: accepted */
} sharing[] = {
  { "mics", "strategy.shard", NULL, "shard group of 16" },
  { "local-sgd", "strategy.worker", "zero3", "data group of 16" },
  { "local-sgd", "strategy.worker", "zero1", "data group of 16" },
  { "local-sgd", "strategy.worker", "fsdp2", "shard group of 16" },
  { "local-sgd", "strategy.worker", "ddp", NULL },
};

START_TEST (test_ranks_that_share_are_on_like_nodes)
{
  const char          *inner = sharing[_i].inner;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.name", "1 x dgx-a100 + 3 x a40x8-nvlink-pairs", "model.config", "gpt2-xl",
      "training.seq_len", "1024", "strategy.name", sharing[_i].strategy, sharing[_i].key, "16",
      inner != NULL ? "strategy.inner.name" : NULL, inner, NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const ReplayPlan      *plan = replay_plan_scenario (scenario, profiles, diags);
  const char            *message = diag_list_first_message (diags);

  if (sharing[_i].communicator == NULL)
    ck_assert_msg (plan != NULL, "%s", message);
  else
    {
      ck_assert_msg (plan == NULL, "%s over %s", sharing[_i].strategy, inner);
      ck_assert_msg (strstr (message, sharing[_i].communicator) != NULL
                         && strstr (message, "spans unlike nodes") != NULL,
                     "%s", message);
    }
  g_clear_pointer (&plan, replay_plan_unref);
}
END_TEST

/* Experts that 2 ranks hold parts of are sharded over all 16 pairs, of both makes. */
START_TEST (test_shards_of_experts_are_on_like_nodes)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.name", "1 x dgx-a100 + 3 x a40x8-nvlink-pairs", "model.config", "mixtral-8x7b",
      "training.seq_len", "1024", "strategy.name", "fsdp2", "mesh.ep", "2", NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const ReplayPlan      *plan = replay_plan_scenario (scenario, profiles, diags);

  ck_assert (plan == NULL);
  ck_assert_msg (
      strstr (diag_list_first_message (diags), "expert shard group of 16 ranks spans unlike nodes")
          != NULL,
      "%s", diag_list_first_message (diags));
}
END_TEST

/*
 * What a report says first of its confidence: A100 and H100 ran under load, of an A40 there is the
 * datasheet alone, of a B200 short measurements of products and attention.
 */
START_TEST (test_unmeasured_gpus_are_named)
{
  static const struct
  {
    const char *cluster, *said;
  } cases[] = {
    { "2 x dgx-a100", NULL },
    { "1 x dgx-h100", NULL },
    { "2 x dgx-b200", "b200-sxm-180: no run under load; measured: products, attention" },
    { "mixed-a100-a40", "a40-48: no run under load; datasheet and estimates only" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Cluster)    cluster = NULL;
      g_autofree char       *said = NULL;
      ClusterOptions         options = { 0 };

      option_table_defaults (cluster_options, &options);
      options.name = g_strdup (cases[i].cluster);
      cluster = cluster_new (&options, profiles, NULL, diags);
      option_table_clear (cluster_options, &options);
      ck_assert_ptr_nonnull (cluster);
      said = profiles_used_unmeasured (cluster);
      ck_assert_pstr_eq (said, cases[i].said);
    }
}
END_TEST

SUITE_MAIN (unlike_nodes)
{
  Suite *suite = suite_create ("unlike-nodes");
  TCase *tests = tcase_create ("unlike-nodes");

  tcase_add_loop_test (tests, test_order_of_groups, 0, G_N_ELEMENTS (kinds));
  tcase_add_loop_test (tests, test_faster_nodes_do_not_help, 0, G_N_ELEMENTS (kinds));
  tcase_add_loop_test (tests, test_order_of_groups_in_a_step, 0, G_N_ELEMENTS (strategies));
  tcase_add_loop_test (tests, test_ranks_that_share_are_on_like_nodes, 0, G_N_ELEMENTS (sharing));
  tcase_add_test (tests, test_shards_of_experts_are_on_like_nodes);
  tcase_add_test (tests, test_unmeasured_gpus_are_named);
  suite_add_tcase (suite, tests);
  return fixture_main (suite);
}
