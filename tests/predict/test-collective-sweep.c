/*
 * Sweeps of collectives against arithmetic by hand: sizes and counts as nccl-tests has them, what
 * runs side by side, and three traps that other simulators fell into (a switch that is counted
 * twice, GB that are GiB, all-gather sizes that mean one rank's part). Not asserted: that any
 * figure is that of a real machine.
 */
#include <check.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "report/answer/collective.h"

#define MIB (1 << 20)
#define GIB (1 << 30)

typedef struct
{
  ProfileSet *profiles;
  Cluster    *cluster;
  GArray     *ranks;
} Bench;

static void
bench_start (Bench *self, ClusterOptions *options)
{
  const char      *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  g_autofree char *path =
      g_strdup_printf ("%s/tests/predict/hwprofiles" G_SEARCHPATH_SEPARATOR_S
                       "%s/docs/worked/hwprofiles" G_SEARCHPATH_SEPARATOR_S "%s/hwprofiles",
                       root, root, root);
  g_autoptr (DiagList) diags = diag_list_new ();

  self->profiles = profile_set_new (path);
  self->cluster = cluster_new (options, self->profiles, NULL, diags);
  ck_assert_msg (self->cluster != NULL, "%s", diag_list_first_message (diags));
  self->ranks = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint32 i = 0; i < cluster_n_gpus (self->cluster); i++)
    g_array_append_val (self->ranks, i);
  option_table_clear (cluster_options, options);
}

/* NODES nodes by parts; NIC NULL: without cards. */
static void
bench_init (Bench *self, guint nodes, guint gpus, const char *intra, const char *nic)
{
  ClusterOptions options = { 0 };

  option_table_defaults (cluster_options, &options);
  options.nodes = nodes;
  options.gpus_per_node = gpus;
  options.nics = nic != NULL;
  options.gpu = g_strdup ("hand");
  options.intra = g_strdup (intra);
  options.nic = g_strdup (nic != NULL ? nic : "none");
  bench_start (self, &options);
}

/* Two nodes of two GPUs and one card of 1 GB/s. */
static void
bench_init_pairs (Bench *self)
{
  ClusterOptions options = { 0 };

  option_table_defaults (cluster_options, &options);
  options.name = g_strdup ("2 x hand-pair");
  bench_start (self, &options);
}

static void
bench_clear (Bench *self)
{
  g_array_unref (self->ranks);
  cluster_free (self->cluster);
  profile_set_free (self->profiles);
}

/* A sweep of the ring under Simple over the first N ranks. */
static CollectiveSweep *
bench_sweep (const Bench *self, guint n, const CollectiveSweepOptions *options)
{
  CollectiveOptions  library = collective_default_options;
  g_autoptr (GError) error = NULL;
  CollectiveSweep   *sweep;

  library.algorithm = ALGORITHM_RING;
  library.protocol = PROTOCOL_SIMPLE;
  sweep = collective_sweep (self->cluster, (const guint32 *) (gconstpointer) self->ranks->data, n,
                            &library, options, &error);
  ck_assert_msg (sweep != NULL, "%s", error != NULL ? error->message : "");
  return sweep;
}

static const CollectiveSample *
row (const CollectiveSweep *sweep, guint i)
{
  ck_assert_uint_lt (i, sweep->samples->len);
  return &g_array_index (sweep->samples, CollectiveSample, i);
}

static void
assert_near (double a, double b, double tolerance, const char *what)
{
  ck_assert_msg (fabs (a - b) <= tolerance * fabs (b), "%s: %.15g, expected %.15g", what, a, b);
}

/* ---- traps ----------------------------------------------------------------------------------- */

/*
 * A ring over 64 GPUs on one ideal switch, within a node and as 64 nodes of one GPU: each sends
 * 2 x 63/64 S at 50 GB/s, 42.28 ms for 1 GiB. A model that stores and forwards at the switch, or
 * counts ports twice, takes 84. Latency falls out of the difference between 2 GiB and 1 GiB.
 */
START_TEST (test_idle_switch_does_not_double)
{
  CollectiveSweepOptions      options = { .kind = COLLECTIVE_ALL_REDUCE,
                                          .min_bytes = GIB,
                                          .max_bytes = 2ULL * GIB,
                                          .step_factor = 2,
                                          .fidelity = (Fidelity) (_i % 3) };
  double                      expected = 2 * 63.0 / 64 * GIB / 50e9;
  g_autoptr (CollectiveSweep) sweep = NULL;
  Bench                       bench;

  if (_i < 3)
    bench_init (&bench, 1, 64, "ideal-switch", NULL);
  else
    bench_init (&bench, 64, 1, "none", "ideal-net");
  sweep = bench_sweep (&bench, 64, &options);
  assert_near (expected, 0.04228, 1e-4, "the closed form");
  assert_near (row (sweep, 1)->time - row (sweep, 0)->time, expected, 1e-6, "1 GiB more");
  assert_near (row (sweep, 0)->time, expected, 0.1, "1 GiB");
  bench_clear (&bench);
}
END_TEST

/* 1 GiB is 7.37 % more than 1 GB; 50 GiB/s is 7.37 % more than 50 GB/s; results are in GB/s. */
START_TEST (test_decimal_and_binary)
{
  CollectiveSweepOptions      options = { .kind = COLLECTIVE_ALL_REDUCE,
                                          .min_bytes = 1000000000,
                                          .max_bytes = GIB,
                                          .step_bytes = GIB - 1000000000,
                                          .fidelity = FIDELITY_ANALYTIC };
  const double                factor = 2 * 7.0 / 8;
  g_autoptr (CollectiveSweep) decimal = NULL, binary = NULL;
  g_autoptr (GString)         csv = g_string_new (NULL);
  g_autofree char            *algbw = NULL;
  Bench                       bench, other;
  double                      saved;

  bench_init (&bench, 1, 8, "ideal-switch", NULL);
  bench_init (&other, 1, 8, "binary-switch", NULL);
  decimal = bench_sweep (&bench, 8, &options);
  binary = bench_sweep (&other, 8, &options);
  ck_assert_uint_eq (decimal->samples->len, 2);
  assert_near (row (decimal, 1)->time - row (decimal, 0)->time, factor * 73741824 / 50e9, 1e-6,
               "GiB - GB");
  saved = row (decimal, 0)->time - row (binary, 0)->time;
  assert_near (saved, factor * 1e9 * (1 / 50e9 - 1 / (50.0 * GIB)), 1e-6, "GB/s - GiB/s");
  assert_near (row (decimal, 1)->algbw, GIB / row (decimal, 1)->time, 1e-12, "algbw");
  report_answer (&collective_answer, decimal, FORMAT_CSV, csv);
  algbw = g_strdup_printf (",%.6f", 1e-9 * GIB / row (decimal, 1)->time);
  ck_assert_msg (strstr (csv->str, algbw) != NULL, "no %s in %s", algbw, csv->str);
  ck_assert (strstr (csv->str, "\nall_reduce,1000000000,250000000,float,") != NULL);
  ck_assert (strstr (csv->str, "\nall_reduce,1073741824,268435456,float,") != NULL);
  bench_clear (&bench);
  bench_clear (&other);
}
END_TEST

/*
 * S and count of 8 ranks at 1 MiB, and nccl-tests' factor from algbw to busbw. An all-gather of
 * 1 MiB is one of 8 parts of 128 KiB: 7/8 S over each port, not 7 S.
 */
static const struct
{
  CollectiveKind kind;
  guint64        count;
  double         factor, wire;
  const char    *size; /* in text and JSON */
} conventions[] = {
  { COLLECTIVE_ALL_GATHER, MIB / 4 / 8, 7.0 / 8, 7.0 / 8,
    "all that a rank receives: ranks x its own part" },
  { COLLECTIVE_REDUCE_SCATTER, MIB / 4 / 8, 7.0 / 8, 7.0 / 8,
    "all that a rank puts in: ranks x its result" },
  { COLLECTIVE_ALL_REDUCE, MIB / 4, 14.0 / 8, 14.0 / 8, "a rank's buffer" },
  { COLLECTIVE_BROADCAST, MIB / 4, 1, 1, "a rank's buffer" },
  { COLLECTIVE_REDUCE, MIB / 4, 1, 1, "a rank's buffer" },
  { COLLECTIVE_ALL_TO_ALL, MIB / 4 / 8, 7.0 / 8, 7.0 / 8, "a rank's whole send buffer" },
  { COLLECTIVE_SEND_RECV, MIB / 4, 1, 1, "one message" },
};

START_TEST (test_size_convention)
{
  CollectiveSweepOptions      options = { .kind = conventions[_i].kind,
                                          .min_bytes = MIB,
                                          .max_bytes = GIB,
                                          .step_factor = 512,
                                          .fidelity = FIDELITY_ANALYTIC };
  g_autoptr (CollectiveSweep) sweep = NULL;
  g_autoptr (GString)         text = g_string_new (NULL), json = g_string_new (NULL);
  const CollectiveSample     *first;
  struct json_object         *o, *size;
  Bench                       bench;

  bench_init (&bench, 1, 8, "ideal-switch", NULL);
  sweep = bench_sweep (&bench, 8, &options);
  first = row (sweep, 0);
  ck_assert_uint_eq (first->bytes, MIB);
  ck_assert_uint_eq (first->count, conventions[_i].count);
  assert_near (first->busbw, conventions[_i].factor * MIB / first->time, 1e-12, "busbw");
  if (options.kind != COLLECTIVE_SEND_RECV && options.kind != COLLECTIVE_ALL_TO_ALL)
    assert_near (row (sweep, 1)->time - first->time,
                 conventions[_i].wire * 511 * (double) MIB / 50e9, 1e-6, "511 MiB more");
  report_answer (&collective_answer, sweep, FORMAT_TEXT, text);
  ck_assert_msg (strstr (text->str, conventions[_i].size) != NULL, "%s", text->str);
  report_answer (&collective_answer, sweep, FORMAT_JSON, json);
  o = json_tokener_parse (json->str);
  ck_assert (o != NULL && json_object_object_get_ex (o, "size", &size));
  ck_assert (g_str_has_prefix (json_object_get_string (size), conventions[_i].size));
  json_object_put (o);
  bench_clear (&bench);
}
END_TEST

/* ---- sizes ----------------------------------------------------------------------------------- */

START_TEST (test_whole_sizes)
{
  ck_assert_uint_eq (collective_whole_size (COLLECTIVE_ALL_REDUCE, 8, 11), 8);
  ck_assert_uint_eq (collective_whole_size (COLLECTIVE_ALL_REDUCE, 8, 3), 0);
  ck_assert_uint_eq (collective_whole_size (COLLECTIVE_ALL_GATHER, 8, 127), 0);
  ck_assert_uint_eq (collective_whole_size (COLLECTIVE_ALL_GATHER, 8, 128), 128);
  ck_assert_uint_eq (collective_whole_size (COLLECTIVE_REDUCE_SCATTER, 3, 100), 96);
  ck_assert_uint_eq (collective_whole_size (COLLECTIVE_ALL_TO_ALL, 3, 100), 96);
  ck_assert_uint_eq (collective_whole_size (COLLECTIVE_SEND_RECV, 3, 100), 100);
}
END_TEST

/* A factor of nearly 1 steps by one byte; what would never end is counted up to a bound. */
START_TEST (test_number_of_sizes)
{
  CollectiveSweepOptions options = { .min_bytes = 8, .max_bytes = 64, .step_factor = 2 };

  ck_assert_uint_eq (collective_sweep_n_sizes (&options), 4);
  options.step_bytes = 8;
  ck_assert_uint_eq (collective_sweep_n_sizes (&options), 8);
  options.step_bytes = 0;
  options.step_factor = 1.0001;
  ck_assert_uint_eq (collective_sweep_n_sizes (&options), 57);
  options.max_bytes = GIB;
  ck_assert_uint_gt (collective_sweep_n_sizes (&options), COLLECTIVE_SWEEP_MAX_SIZES);
}
END_TEST

/* Sizes that leave a rank nothing make no row. */
START_TEST (test_nothing_left)
{
  CollectiveSweepOptions      options = { .kind = COLLECTIVE_ALL_GATHER,
                                          .min_bytes = 8,
                                          .max_bytes = 256,
                                          .step_factor = 2,
                                          .fidelity = FIDELITY_ANALYTIC };
  g_autoptr (CollectiveSweep) sweep = NULL;
  Bench                       bench;

  bench_init (&bench, 1, 8, "ideal-switch", NULL);
  sweep = bench_sweep (&bench, 8, &options);
  ck_assert_uint_eq (sweep->samples->len, 2);
  ck_assert_uint_eq (row (sweep, 0)->bytes, 128);
  bench_clear (&bench);
}
END_TEST

/* ---- side by side ---------------------------------------------------------------------------- */

/* Messages of 1 GiB from GPU 0 to GPU 2 and back; beside them others over the same cards. */
static CollectiveSweep *
messages (const Bench *bench, const guint32 *others, guint64 bytes, double start, Fidelity fidelity)
{
  CollectiveNeighbour    beside = { .kind = COLLECTIVE_SEND_RECV,
                                    .ranks = others,
                                    .n_ranks = 2,
                                    .library = collective_default_options,
                                    .bytes = bytes,
                                    .start = start };
  CollectiveSweepOptions options = { .kind = COLLECTIVE_SEND_RECV,
                                     .min_bytes = GIB,
                                     .max_bytes = GIB,
                                     .step_factor = 2,
                                     .fidelity = fidelity,
                                     .concurrent = &beside,
                                     .n_concurrent = 1 };
  const guint32          own[] = { 0, 2 };
  g_autoptr (GError)     error = NULL;
  CollectiveSweep       *sweep =
      collective_sweep (bench->cluster, own, 2, &collective_default_options, &options, &error);

  ck_assert_msg (sweep != NULL, "%s", error != NULL ? error->message : "");
  return sweep;
}

START_TEST (test_share)
{
  const guint32               others[] = { 1, 3 };
  Fidelity                    fidelity = _i == 0 ? FIDELITY_FLUID : FIDELITY_STEP;
  double                      alone = GIB / 1e9;
  Bench                       bench;
  g_autoptr (CollectiveSweep) same = NULL, half = NULL, late = NULL, after = NULL;

  bench_init_pairs (&bench);
  same = messages (&bench, others, 0, 0, fidelity);
  assert_near (row (same, 0)->alone, alone, 1e-2, "alone");
  assert_near (row (same, 0)->time, 2 * alone, 1e-2, "both");
  assert_near (row (same, 0)->concurrent[0], 2 * alone, 1e-2, "the other");
  /* The half as long one is through when as much of the first is. */
  half = messages (&bench, others, GIB / 2, 0, fidelity);
  assert_near (row (half, 0)->time, 1.5 * alone, 1e-2, "beside half");
  assert_near (row (half, 0)->concurrent[0], alone, 1e-2, "half");
  /* Alone for the first half, then the two halves that are left side by side, then alone again. */
  late = messages (&bench, others, 0, alone / 2, fidelity);
  assert_near (row (late, 0)->time, 1.5 * alone, 1e-2, "before the late one");
  assert_near (row (late, 0)->concurrent[0], 1.5 * alone, 1e-2, "the late one, from its start");
  after = messages (&bench, others, 0, 2 * alone, fidelity);
  ck_assert (row (after, 0)->time == row (after, 0)->alone);
  bench_clear (&bench);
}
END_TEST

/* Latency binds 24 KiB alone; the card does where three share it. */
START_TEST (test_bound_beside)
{
  const guint32               own[] = { 0, 2 }, others[] = { 1, 3 };
  CollectiveNeighbour         large = { .kind = COLLECTIVE_ALL_REDUCE,
                                        .ranks = others,
                                        .n_ranks = 2,
                                        .library = collective_default_options,
                                        .bytes = 10 * MIB };
  CollectiveNeighbour         beside[] = { large, large };
  CollectiveSweepOptions      options = { .kind = COLLECTIVE_ALL_REDUCE,
                                          .min_bytes = 24576,
                                          .max_bytes = 24576,
                                          .step_factor = 2,
                                          .fidelity = FIDELITY_FLUID,
                                          .concurrent = beside };
  g_autoptr (CollectiveSweep) alone = NULL, shared = NULL;
  Bench                       bench;

  bench_init_pairs (&bench);
  alone = collective_sweep (bench.cluster, own, 2, &collective_default_options, &options, NULL);
  options.n_concurrent = 2;
  shared = collective_sweep (bench.cluster, own, 2, &collective_default_options, &options, NULL);
  ck_assert_str_eq (row (alone, 0)->binding, "latency");
  ck_assert (g_str_has_prefix (row (shared, 0)->binding, "node0.nic0."));
  ck_assert (row (shared, 0)->alone == row (alone, 0)->time);
  bench_clear (&bench);
}
END_TEST

/* A neighbour of the row's size that would be left nothing does not run. */
START_TEST (test_neighbour_without_size)
{
  const guint32               four[] = { 0, 1, 2, 3 };
  CollectiveNeighbour         beside = { .kind = COLLECTIVE_ALL_GATHER,
                                         .ranks = four,
                                         .n_ranks = 4,
                                         .library = collective_default_options };
  CollectiveSweepOptions      options = { .kind = COLLECTIVE_ALL_REDUCE,
                                          .min_bytes = 32,
                                          .max_bytes = 64,
                                          .step_factor = 2,
                                          .fidelity = FIDELITY_FLUID,
                                          .concurrent = &beside,
                                          .n_concurrent = 1 };
  g_autoptr (CollectiveSweep) sweep = NULL;
  Bench                       bench;

  bench_init_pairs (&bench);
  sweep = bench_sweep (&bench, 4, &options);
  ck_assert (row (sweep, 0)->concurrent[0] == 0);
  ck_assert (row (sweep, 1)->concurrent[0] > 0);
  bench_clear (&bench);
}
END_TEST

SUITE_MAIN (collective_sweep)
{
  Suite *suite = suite_create ("collective-sweep");
  TCase *tcase = tcase_create ("collective-sweep");

  suite_add_tcase (suite, tcase);
  tcase_add_loop_test (tcase, test_idle_switch_does_not_double, 0, 6);
  tcase_add_test (tcase, test_decimal_and_binary);
  tcase_add_loop_test (tcase, test_size_convention, 0, G_N_ELEMENTS (conventions));
  tcase_add_test (tcase, test_whole_sizes);
  tcase_add_test (tcase, test_number_of_sizes);
  tcase_add_test (tcase, test_nothing_left);
  tcase_add_loop_test (tcase, test_share, 0, 2);
  tcase_add_test (tcase, test_bound_beside);
  tcase_add_test (tcase, test_neighbour_without_size);
  return suite_run (suite);
}
