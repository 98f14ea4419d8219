/*
 * Schedules as Chakra traces: what is written is read back as what the schedule has (payload by
 * kind and size of the group, copies, FLOPs), ids are unique, dependencies point backwards and
 * order every stream, messages have two ends. And files that are no traces: a diagnostic each, at
 * every byte where one may end.
 */
#include "../cases.h"
#include "../replay/fixture.h"
#include "../schedule/anywhere.h"
#include "../suite.h"

#include <glib/gstdio.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "import/trace/chakra-file.h"
#include "report/export/chakra.h"

#define MESHES 40

static char *scratch;

static void
set_up (void)
{
  scratch = g_dir_make_tmp ("shardsim-chakra-XXXXXX", NULL);
  ck_assert_ptr_nonnull (scratch);
}

static void
tear_down (void)
{
  g_autoptr (GDir) dir = g_dir_open (scratch, 0, NULL);
  const char      *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (scratch, name, NULL);

      g_unlink (path);
    }
  g_rmdir (scratch);
  g_clear_pointer (&scratch, g_free);
}

static char *
write_plan (const ReplayPlan *plan, ChakraWritten *written)
{
  const ChakraParts  parts = { .section = SECTION_STEADY };
  g_autoptr (GError) error = NULL;
  char              *prefix = g_build_filename (scratch, "t", NULL);

  if (!report_chakra_write (plan, &parts, prefix, written, &error))
    ck_abort_msg ("%s", error->message);
  return prefix;
}

/* ---- what a file says ------------------------------------------------------------------------ */

typedef struct
{
  PlanTotals  totals; /* traffic by kind and size of the group alone */
  double      padding[TOTALS_MAX_TRAFFIC];
  guint64     n;
  GHashTable *last_on; /* name of a stream -> id + 1 of the last node or call there */
  GHashTable *issued;  /* group -> collectives so far */
} FileSums;

static guint
group_size (json_object *groups, const char *name, guint rank)
{
  json_object *members = json_object_object_get (groups, name);
  gboolean     own = FALSE;

  ck_assert_ptr_nonnull (members);
  for (guint i = 0; i < json_object_array_length (members); i++)
    own |= (guint) json_object_get_int (json_object_array_get_idx (members, i)) == rank;
  ck_assert (own);
  return (guint) json_object_array_length (members);
}

static void
sum_node (FileSums *sums, const ChakraNode *node, json_object *groups, guint rank)
{
  MeshGroup      any = { .size = 2, .stride = 1 };
  CollectiveKind kind;
  guint          n;

  switch (node->type)
    {
    case CHAKRA_COMM_COLL:
      n = group_size (groups, node->pg_name, rank);
      kind = chakra_collective_kind (node->comm_type);
      ck_assert_uint_ne (kind, COLLECTIVE_N_KINDS);
      any.size = n;
      plan_totals_add (&sums->totals, kind, any, chakra_comm_bytes (kind, node->comm_size, n));
      for (guint i = 0; i < sums->totals.n_traffic; i++)
        if (sums->totals.traffic[i].kind == kind && sums->totals.traffic[i].group.size == n)
          sums->padding[i] += n - 1;
      break;
    case CHAKRA_COMM_SEND:
      ck_assert_int_eq (node->comm_src, (gint) rank);
      plan_totals_add (&sums->totals, COLLECTIVE_SEND_RECV, any, node->comm_size);
      break;
    case CHAKRA_MEM_LOAD:
    case CHAKRA_MEM_STORE:
      for (guint m = 0; m < MOVE_N; m++)
        if (g_str_equal (move_kind_name (m), node->kind))
          sums->totals.moves[m] += node->tensor_size;
      break;
    case CHAKRA_COMP:
      if (!node->on_host
          && (g_str_equal (node->kind, "matmul") || g_str_has_prefix (node->kind, "attention")))
        sums->totals.flops += node->num_ops;
      break;
    default:
      ck_assert_int_eq (node->type, CHAKRA_COMM_RECV);
    }
}

static void
check_order (FileSums *sums, const ChakraNode *node)
{
  guint64  before = GPOINTER_TO_SIZE (g_hash_table_lookup (sums->last_on, node->stream));
  gboolean message = node->type == CHAKRA_COMM_SEND || node->type == CHAKRA_COMM_RECV;
  gboolean after = before == 0;

  ck_assert_uint_eq (node->id, sums->n);
  for (gsize i = 0; i < node->n_data_deps; i++)
    {
      ck_assert_uint_lt (node->data_deps[i], node->id);
      after |= node->data_deps[i] == before - 1;
      for (gsize k = 0; k < i; k++)
        ck_assert_uint_ne (node->data_deps[i], node->data_deps[k]);
    }
  for (gsize i = 0; i < node->n_ctrl_deps; i++)
    ck_assert_uint_lt (node->ctrl_deps[i], node->id);
  ck_assert (after || message); /* messages of a call: test_order_by_hand */
  g_hash_table_insert (sums->last_on, g_strdup (node->stream), GSIZE_TO_POINTER (node->id + 1));
  sums->n++;
}

/* The ends of messages, added by one and taken by the other: nothing may be left. */
static void
note_message (GHashTable *ends, const ChakraNode *node)
{
  g_autofree char *key = g_strdup_printf ("%d>%d %d %.0f", node->comm_src, node->comm_dst,
                                          node->comm_tag, node->comm_size);

  if (node->type != CHAKRA_COMM_SEND && node->type != CHAKRA_COMM_RECV)
    return;
  if (!g_hash_table_remove (ends, key))
    g_hash_table_add (ends, g_steal_pointer (&key));
}

/* The n-th collective of a group is the same on all its ranks. */
static void
note_collective (GHashTable *issued, FileSums *sums, const ChakraNode *node)
{
  guint            n = GPOINTER_TO_UINT (g_hash_table_lookup (sums->issued, node->pg_name));
  g_autofree char *key = g_strdup_printf ("%s#%u", node->pg_name, n);
  g_autofree char *what = g_strdup_printf ("%d %.0f", node->comm_type, node->comm_size);
  const char      *before = g_hash_table_lookup (issued, key);

  g_hash_table_insert (sums->issued, g_strdup (node->pg_name), GUINT_TO_POINTER (n + 1));
  if (before != NULL)
    ck_assert_str_eq (before, what);
  else
    g_hash_table_insert (issued, g_steal_pointer (&key), g_steal_pointer (&what));
}

static FileSums *
sums_new (void)
{
  FileSums *sums = g_new0 (FileSums, 1);

  sums->last_on = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  sums->issued = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return sums;
}

static void
sums_free (FileSums *sums)
{
  g_hash_table_unref (sums->last_on);
  g_hash_table_unref (sums->issued);
  g_free (sums);
}

static FileSums *
read_rank (const char *prefix, guint rank, json_object *groups, GHashTable *ends,
           GHashTable *issued)
{
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autofree char         *path = g_strdup_printf ("%s.%u.et", prefix, rank);
  g_autoptr (ChakraReader) reader = chakra_reader_open (path, diags);
  FileSums                *sums = sums_new ();
  ChakraNode               node;

  ck_assert_ptr_nonnull (reader);
  while (chakra_reader_next (reader, &node, diags))
    {
      check_order (sums, &node);
      sum_node (sums, &node, groups, rank);
      note_message (ends, &node);
      if (node.type == CHAKRA_COMM_COLL)
        note_collective (issued, sums, &node);
    }
  ck_assert (diag_list_is_empty (diags));
  return sums;
}

/* ---- against the schedule -------------------------------------------------------------------- */

/* All groups of one size as one, and ring passes as the messages that they are. */
static void
by_size (const PlanTotals *totals, PlanTotals *out)
{
  *out = (PlanTotals){ 0 };
  for (guint i = 0; i < totals->n_traffic; i++)
    {
      MeshGroup group = { .size = totals->traffic[i].group.size, .stride = 1 };

      if (totals->traffic[i].kind == COLLECTIVE_SEND_RECV)
        group.size = 2;
      plan_totals_add (out, totals->traffic[i].kind, group, totals->traffic[i].bytes);
    }
}

static void
assert_near (double got, double want, double slack, const char *what, const char *text)
{
  if (!(got >= want * (1 - 1e-12) && got <= want * (1 + 1e-9) + slack))
    ck_abort_msg ("%s: the file has %.17g, the schedule %.17g\n%s", what, got, want, text);
}

static void
compare_totals (const FileSums *sums, const Schedule *schedule, guint role, const char *text)
{
  PlanTotals whole, want;

  schedule_totals (schedule, role, &whole);
  by_size (&whole, &want);
  ck_assert_uint_eq (sums->totals.n_traffic, want.n_traffic);
  for (guint i = 0; i < want.n_traffic; i++)
    {
      const TrafficTotal *entry = &want.traffic[i];

      for (guint k = 0; k < want.n_traffic; k++)
        if (sums->totals.traffic[k].kind == entry->kind
            && sums->totals.traffic[k].group.size == entry->group.size)
          assert_near (sums->totals.traffic[k].bytes, entry->bytes, sums->padding[k],
                       collective_kind_name (entry->kind), text);
    }
  for (guint m = 0; m < MOVE_N; m++)
    if (move_from (m) != move_to (m))
      assert_near (sums->totals.moves[m], whole.moves[m], 0, move_kind_name (m), text);
  assert_near (sums->totals.flops, whole.flops, 0, "FLOPs", text);
}

START_TEST (test_round_trip)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  for (guint i = 0; i < cases_of (MESHES); i++)
    {
      g_autoptr (GRand)    rand = g_rand_new_with_seed (8100 + i);
      g_autoptr (Scenario) scenario =
          i % 4 == 3 ? fixture_random (rand, profiles) : fixture_random_mesh (rand, i, profiles);
      g_autofree char       *text = scenario_print (scenario), *prefix = NULL, *path = NULL;
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (ReplayPlan) plan = replay_plan_scenario (scenario, profiles, diags);
      g_autoptr (GHashTable) ends = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      g_autoptr (GHashTable) issued =
          g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
      const Schedule *schedule = replay_plan_schedule (plan);
      guint           n_ranks = cluster_n_gpus (replay_plan_resolved (plan)->cluster);
      ChakraWritten   written;
      guint64         n_nodes = 0;
      json_object    *groups;

      prefix = write_plan (plan, &written);
      path = g_strconcat (prefix, ".json", NULL);
      groups = json_object_from_file (path);
      ck_assert_ptr_nonnull (groups);
      for (guint rank = 0; rank < n_ranks; rank++)
        {
          FileSums *sums = read_rank (prefix, rank, groups, ends, issued);

          compare_totals (sums, schedule, schedule_role_of_rank (schedule, rank), text);
          n_nodes += sums->n;
          sums_free (sums);
        }
      json_object_put (groups);
      ck_assert_uint_eq (n_nodes, written.n_nodes);
      ck_assert_uint_eq (n_ranks, written.n_files);
      ck_assert_uint_eq (g_hash_table_size (ends), 0);
    }
}
END_TEST

/* ---- by hand --------------------------------------------------------------------------------- */

static const OptionSpec no_options[] = { { 0 } };

static void
toy_init (StrategyRun *run)
{
  data_anywhere (run);
}

/*
 * Behind the last kernel k: an all-gather a on `side` after k; a reduce-scatter r there, on another
 * communicator; an all-gather b on `other`, after nothing but a, whose communicator it has; a copy
 * c on `third`, issued once the host has waited for r.
 */
static void
toy_step_end (StrategyRun *run)
{
  ScheduleBuilder *b = run->b;
  StreamRef        side = schedule_stream (b, "side", 0), other = schedule_stream (b, "other", 0);
  StreamRef        third = schedule_stream (b, "third", 0);
  CommRef          one = schedule_comm (b, "one", mesh_all (&run->in->mesh));
  CommRef          two = schedule_comm (b, "two", mesh_all (&run->in->mesh));

  schedule_wait_stream (b, side, SCHEDULE_COMPUTE);
  schedule_all_gather (b, side, one, (Payload){ 101, DTYPE_BF16, NULL }, "a");
  schedule_reduce_scatter (b, side, two, (Payload){ 100, DTYPE_BF16, NULL }, "r");
  schedule_all_gather (b, other, one, (Payload){ 100, DTYPE_BF16, NULL }, "b");
  schedule_host_wait (b, schedule_record (b, side));
  schedule_move (b, third, PLACE_HBM, PLACE_PINNED, 77, "c");
}

static const Strategy toy = {
  .api = STRATEGY_API_VERSION,
  .name = "toy",
  .title = "ops on streams of their own",
  .options_size = 1,
  .options = no_options,
  .hooks = { .init = toy_init, .step_end = toy_step_end },
};

START_TEST (test_order_by_hand)
{
  g_autoptr (ProfileSet)   profiles = fixture_toy_profiles ();
  g_autoptr (Scenario)     scenario = fixture_toy_scenario ("toy-pair", &toy, g_malloc0 (1));
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (ReplayPlan)   plan = replay_plan_scenario (scenario, profiles, diags);
  g_autofree char         *prefix = NULL, *path = NULL;
  g_autoptr (ChakraReader) reader = NULL;
  ChakraWritten            written;
  ChakraNode               node;
  guint64                  kernel = 0, a = 0, r = 0;
  guint                    met = 0;

  ck_assert_msg (plan != NULL, "%s", diag_list_first_message (diags));
  prefix = write_plan (plan, &written);
  path = g_strconcat (prefix, ".1.et", NULL);
  reader = chakra_reader_open (path, diags);
  while (chakra_reader_next (reader, &node, diags))
    {
      met++;
      if (node.type == CHAKRA_COMP)
        {
          kernel = node.id;
          ck_assert_uint_eq (node.n_data_deps, kernel > 0);
          continue;
        }
      if (g_str_has_prefix (node.name, "a"))
        {
          a = node.id;
          ck_assert_uint_eq (node.n_data_deps, 1);
          ck_assert_uint_eq (node.data_deps[0], kernel);
          ck_assert_double_eq (node.comm_size, 101); /* of 202 bytes the half */
          ck_assert_int_eq (node.comm_type, 2);
          ck_assert_str_eq (node.pg_name, "1");
        }
      else if (g_str_has_prefix (node.name, "r"))
        {
          r = node.id;
          ck_assert_uint_eq (node.n_data_deps, 1);
          ck_assert_uint_eq (node.data_deps[0], a);
          ck_assert_double_eq (node.comm_size, 200);
          ck_assert_int_eq (node.comm_type, 7);
          ck_assert_str_eq (node.pg_name, "2");
        }
      else if (g_str_has_prefix (node.name, "b"))
        {
          ck_assert_uint_eq (node.n_data_deps, 1);
          ck_assert_uint_eq (node.data_deps[0], a);
          ck_assert_uint_eq (node.n_ctrl_deps, 0);
        }
      else
        {
          ck_assert_int_eq (node.type, CHAKRA_MEM_STORE);
          ck_assert_double_eq (node.tensor_size, 77);
          ck_assert_uint_eq (node.n_data_deps, 0);
          ck_assert_uint_ge (node.n_ctrl_deps, 1);
          ck_assert_uint_eq (node.ctrl_deps[node.n_ctrl_deps - 1], r);
        }
    }
  ck_assert (diag_list_is_empty (diags));
  ck_assert_uint_eq (written.n_nodes, 2 * met);
}
END_TEST

/* ---- what is no trace ------------------------------------------------------------------------ */

static char *
write_bytes (gconstpointer data, gsize size)
{
  char *path = g_build_filename (scratch, "bad.et", NULL);

  g_unlink (path); /* it is not cut to size */
  ck_assert (g_file_set_contents_full (path, data, (gssize) size, 0, 0600, NULL));
  return path;
}

/* Nodes that could be read; WHY: the first message, NULL: no error. */
static guint
read_all (gconstpointer data, gsize size, char **why)
{
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autofree char         *path = write_bytes (data, size);
  g_autoptr (ChakraReader) reader = chakra_reader_open (path, diags);
  ChakraNode               node;
  guint                    n = 0;

  while (reader != NULL && chakra_reader_next (reader, &node, diags))
    n++;
  *why = g_strdup (diag_list_first_message (diags));
  return n;
}

static GString *
three_nodes (gsize ends[4])
{
  g_autofree char         *path = g_build_filename (scratch, "good.et", NULL);
  FILE                    *file = fopen (path, "wb");
  g_autoptr (ChakraWriter) writer = chakra_writer_new (file);
  g_autofree char         *text = NULL;
  gsize                    size;

  ends[0] = (gsize) ftell (file);
  for (guint i = 0; i < 3; i++)
    {
      ChakraNode node = chakra_node (i, CHAKRA_COMP, "kernel");

      node.duration_us = 1000 * i;
      chakra_writer_add (writer, &node);
      ends[i + 1] = (gsize) ftell (file);
    }
  fclose (file);
  ck_assert (g_file_get_contents (path, &text, &size, NULL));
  return g_string_new_len (text, (gssize) size);
}

/* A file may end behind a message and nowhere else; the nodes before are whole. */
START_TEST (test_truncated)
{
  gsize               ends[4];
  g_autoptr (GString) bytes = three_nodes (ends);

  ck_assert_uint_eq (bytes->len, ends[3]);
  for (gsize size = 0; size <= bytes->len; size++)
    {
      g_autofree char *why = NULL;
      guint            n = read_all (bytes->str, size, &why), whole = 0;
      gboolean         at_end = FALSE;

      for (guint i = 0; i < 4; i++)
        {
          at_end |= size == ends[i];
          whole += i > 0 && size >= ends[i];
        }
      ck_assert_uint_eq (n, whole);
      ck_assert_msg ((why == NULL) == at_end, "at byte %" G_GSIZE_FORMAT ": %s", size, why);
    }
}
END_TEST

START_TEST (test_bad_files)
{
  static const struct
  {
    const char *bytes;
    gsize       size;
    const char *why;
  } cases[] = {
    { "", 0, "the file is empty" },
    { "\x80\x80\x80\x80\x80\x01", 6, "the message at byte 0 has a length of more than five bytes" },
    { "\xff\xff\xff\xff\x7f", 5, "the message at byte 0 has a length beyond 32 bits" },
    { "\xff\xff\xff\x7f", 4,
      "the message at byte 0 claims more than 4 MiB: this is no Chakra trace" },
    { "\x02\xff\xff", 3, "the header at byte 0 is no message of Chakra's" },
    { "\x00\x02\x18\x63", 4, "node 0 at byte 1 is of the unknown type 99" },
    { "\x00\x02\x0b\x0b", 4, "the message at byte 1 is no node of Chakra's" },
    { "\x00\x05\x18\x04", 4, "the message at byte 1 is cut off: 2 of 5 bytes are there" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *why = NULL;

      ck_assert_uint_eq (read_all (cases[i].bytes, cases[i].size, &why), 0);
      ck_assert_str_eq (why, cases[i].why);
    }
}
END_TEST

/* Numbers of any type on the wire; attributes that are not known, lists and later fields do no
   harm. */
START_TEST (test_other_writers)
{
  static const char bytes[] = "\x00"
                              "\x2b"
                              "\x08\x07"                                /* id 7 */
                              "\x18\x04"                                /* COMP */
                              "\x52\x12\x0a\x07num_ops\x19\0\0\0\0\0\0" /* double_val 2.5: */
                              "\x04\x40"
                              "\x52\x0f\x0a\x0bunknown_one\x68\x05" /* uint64_val */
                              "\x5a\x00";                           /* storage */
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autofree char         *path = write_bytes (bytes, sizeof bytes - 1);
  g_autoptr (ChakraReader) reader = chakra_reader_open (path, diags);
  ChakraNode               node;

  ck_assert (chakra_reader_next (reader, &node, diags));
  ck_assert_uint_eq (node.id, 7);
  ck_assert_double_eq (node.num_ops, 2.5);
  ck_assert (!chakra_reader_next (reader, &node, diags));
  ck_assert_msg (diag_list_is_empty (diags), "%s", diag_list_first_message (diags));
}
END_TEST

SUITE_MAIN (chakra)
{
  Suite *suite = suite_create ("chakra");
  TCase *tcase = tcase_create ("all");

  tcase_add_checked_fixture (tcase, set_up, tear_down);
  tcase_add_test (tcase, test_round_trip);
  tcase_add_test (tcase, test_order_by_hand);
  tcase_add_test (tcase, test_truncated);
  tcase_add_test (tcase, test_bad_files);
  tcase_add_test (tcase, test_other_writers);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
