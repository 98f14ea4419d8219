/* Tables of measurements, their predictions, and the statistics of the errors: by hand. */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>

#include "../suite.h"
#include "evidence/tables/collective-predictor.h"
#include "evidence/tables/validate-collectives.h"
#include "report/validation/validate.h"

#define HEADER \
  "id,nodes,gpus_per_node,gpu,intra,nics,nic,collective,bytes,time_us,healthy,nccl,env\n"
#define NODE "1,8,a100-sxm-40,nvlink3-switch,0,none,"

/* TEXT as a file. Newly allocated name; the caller removes the file. */
static char *
write_table (const char *text)
{
  char *name = NULL;
  gint  fd = g_file_open_tmp ("shardsim-runs-XXXXXX.csv", &name, NULL);

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  ck_assert (g_file_set_contents (name, text, -1, NULL));
  return name;
}

static CollectiveValidation *
validate_text (const char *text)
{
  g_autofree char     *name = write_table (text);
  g_autoptr (DiagList) diags = diag_list_new ();
  GPtrArray           *measurements = measurement_table_load (name, BAD_ROWS_FAIL, diags);

  ck_assert_msg (measurements != NULL, "%s", diag_list_first_message (diags));
  g_unlink (name);
  return validate_collectives (measurements, NULL);
}

static guint
errors_of (const char *text)
{
  g_autofree char      *name = write_table (text);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) measurements = measurement_table_load (name, BAD_ROWS_FAIL, diags);

  ck_assert (measurements == NULL);
  g_unlink (name);
  return diag_list_n_errors (diags);
}

/*
 * Place (n - 1) q, counted from 0: of four values the median lies half-way between the middle two,
 * q = 0.9 at 2.7.
 */
START_TEST (test_quantile)
{
  const double four[] = { 1, 2, 4, 8 }, three[] = { 1, 5, 7 }, one[] = { 3 };

  ck_assert_double_eq (statistics_quantile (four, 4, 0.5), 3);
  ck_assert_double_eq_tol (statistics_quantile (four, 4, 0.9), 4 + 0.7 * 4, 1e-12);
  ck_assert_double_eq (statistics_quantile (four, 4, 0), 1);
  ck_assert_double_eq (statistics_quantile (four, 4, 1), 8);
  ck_assert_double_eq (statistics_quantile (three, 3, 0.5), 5);
  ck_assert_double_eq (statistics_quantile (one, 1, 0.9), 3);
}
END_TEST

/*
 * Errors -50 %, +100 %, +10 %, -20 %: signed order -0.5 -0.2 0.1 1, median -0.05; absolute order
 * 0.1 0.2 0.5 1, median 0.35, 90 % at place 2.7: 0.5 + 0.7 * 0.5; product of the ratios 0.5 * 2 *
 * 1.1 * 0.8 = 0.88.
 */
START_TEST (test_statistics)
{
  const double          errors[] = { -0.5, 1, 0.1, -0.2 };
  const ErrorStatistics s = statistics_of_errors (errors, 4);

  ck_assert_uint_eq (s.n, 4);
  ck_assert_double_eq_tol (s.median, -0.05, 1e-12);
  ck_assert_double_eq_tol (s.median_abs, 0.35, 1e-12);
  ck_assert_double_eq_tol (s.p90_abs, 0.85, 1e-12);
  ck_assert_double_eq_tol (s.geometric_mean, pow (0.88, 0.25), 1e-12);
  ck_assert_uint_eq (statistics_of_errors (NULL, 0).n, 0);
}
END_TEST

/*
 * A row's error is against its own measurement: twice the time makes (1 + e) / 2 - 1; parts by
 * health; runs by id.
 */
START_TEST (test_rows)
{
  g_autoptr (CollectiveValidation) v = validate_text (
      HEADER "a-01," NODE "all_reduce,1048576,50,yes,2.18.5,\n"
             "b-01," NODE "all_reduce,1048576,100,unclear,2.18.5,out-of-place\n"
             "a-01," NODE "all_reduce,268435456,2000,yes,2.18.5,\n"
             "c-01," NODE "all_reduce,1024,2000,no,unknown,\n"
             "d-01," NODE "all_reduce,1024,2000,yes,unknown,algo=circle\n"
             "d-01,1,8,a100-sxm-41,nvlink3-switch,0,none,all_reduce,1024,2000,yes,unknown,\n"
             "d-01,1,1,a100-sxm-40,none,0,none,all_reduce,1024,2000,yes,unknown,\n");
  const ValidatedRow    *rows = (const ValidatedRow *) (void *) v->rows->data;
  const ValidationGroup *overall = collective_validation_overall (v, VALIDATION_MAIN);

  ck_assert_uint_eq (v->rows->len, 7);
  ck_assert_double_gt (rows[0].predicted, 0);
  ck_assert_double_eq_tol (rows[0].error, rows[0].predicted / 50e-6 - 1, 1e-12);
  ck_assert_double_eq_tol (rows[1].error, (1 + rows[0].error) / 2 - 1, 1e-12);
  ck_assert_uint_eq (rows[0].n_ranks, 8);
  ck_assert_str_eq (rows[0].family, "nvlink3 switch");
  ck_assert_int_eq (rows[1].part, VALIDATION_UNCLEAR);
  ck_assert_int_eq (rows[3].part, VALIDATION_UNHEALTHY);
  ck_assert_str_eq (rows[4].reason, "unknown algorithm 'circle' in 'env'");
  ck_assert_str_eq (rows[5].reason, "unknown gpu 'a100-sxm-41' (did you mean 'a100-sxm-40'?)");
  ck_assert_str_eq (rows[6].reason, "one GPU: nothing is sent");
  ck_assert_uint_eq (v->n_failed, 3);
  ck_assert_uint_eq (overall->errors.n, 2);
  ck_assert_double_eq_tol (overall->errors.median, (rows[0].error + rows[2].error) / 2, 1e-12);
  /* 1 MiB in 50 us at 2 (8 - 1) / 8 */
  ck_assert_double_eq_tol (validation_bus_bandwidth (&rows[0], 50e-6), 1048576 / 50e-6 * 1.75, 1);
}
END_TEST

/* The edges of the sizes belong to the larger class. */
START_TEST (test_sizes)
{
  g_autoptr (CollectiveValidation) v = validate_text (
      HEADER "a-01," NODE "all_reduce,268435456,1,yes,,\na-01," NODE
             "all_reduce,268435455,1,yes,,\n"
             "a-01," NODE "all_reduce,1048576,1,yes,,\na-01," NODE "all_reduce,1048575,1,yes,,\n"
             "a-01," NODE "all_reduce,1024,1,yes,,\na-01," NODE "all_reduce,1023,1,yes,,\n");
  static const struct
  {
    const char *name;
    guint       n;
  } expected[] = { { "256 MiB and more", 1 },
                   { "1 MiB to 256 MiB", 2 },
                   { "1 KiB to 1 MiB", 2 },
                   { "below 1 KiB", 1 } };
  guint found = 0;

  for (guint i = 0; i < v->groups->len; i++)
    {
      const ValidationGroup *group = &g_array_index (v->groups, ValidationGroup, i);

      if (group->grouping != VALIDATION_BY_SIZE)
        continue;
      ck_assert_uint_lt (found, G_N_ELEMENTS (expected));
      ck_assert_str_eq (group->name, expected[found].name);
      ck_assert_uint_eq (group->errors.n, expected[found].n);
      found++;
    }
  ck_assert_uint_eq (found, G_N_ELEMENTS (expected));
}
END_TEST

/*
 * Two nodes stand apart, three and more are one class, whatever the cluster has: what counts is the
 * nodes of the ranks. In the order of nodes, then of sizes.
 */
START_TEST (test_nodes)
{
#define OF(nodes) "," #nodes ",2,h100-sxm-80,nvlink4-switch,2,ib-ndr-400,"
  g_autoptr (CollectiveValidation) v = validate_text (HEADER "a-01" OF (
      3) "all_gather,268435456,1,yes,,\n"
         "a-01" OF (3) "all_gather,1048576,1,yes,,\n"
                       "a-01" OF (9) "all_gather,268435456,1,yes,,\n"
                                     "a-01" OF (
                                         2) "all_gather,1024,1,yes,,\n"
                                            "a-01" OF (
                                                1) "all_gather,2147483648,1,yes,,\n"
                                                   "a-01" OF (
                                                       3) "all_gather,1048576,1,yes,,ranks=0-3\n"
                                                          "a-01" OF (
                                                              3) "all_gather,1048576,1,no,,\n");
  static const struct
  {
    const char *name;
    guint       n;
  } expected[] = { { "1 node, 256 MiB and more", 1 },
                   { "2 nodes, 1 MiB to 256 MiB", 1 },
                   { "2 nodes, 1 KiB to 1 MiB", 1 },
                   { "3 nodes and more, 256 MiB and more", 2 },
                   { "3 nodes and more, 1 MiB to 256 MiB", 1 } };
  const ValidatedRow *rows = (const ValidatedRow *) (void *) v->rows->data;
  guint               found = 0;

  ck_assert_uint_eq (rows[2].n_nodes, 9);
  ck_assert_uint_eq (rows[5].n_nodes, 2);
  for (guint i = 0; i < v->groups->len; i++)
    {
      const ValidationGroup *group = &g_array_index (v->groups, ValidationGroup, i);

      if (group->grouping != VALIDATION_BY_NODES || group->part != VALIDATION_MAIN)
        continue;
      ck_assert_uint_lt (found, G_N_ELEMENTS (expected));
      ck_assert_str_eq (group->name, expected[found].name);
      ck_assert_uint_eq (group->errors.n, expected[found].n);
      found++;
    }
  ck_assert_uint_eq (found, G_N_ELEMENTS (expected));
#undef OF
}
END_TEST

/* Runs of 256 MiB and more on 2, 4, 8 and 32 nodes that took US, and rows that do not count. */
static char *
trend_table (const double *us)
{
  static const struct
  {
    guint       nodes;
    const char *bytes, *rest;
  } lines[] = { { 2, "268435456", "yes,," }, { 4, "536870912", "yes,," },
                { 8, "268435456", "yes,," }, { 32, "268435456", "yes,," },
                { 1, "268435456", "yes,," }, { 16, "268435456", "yes,,what" },
                { 16, "268435456", "no,," }, { 2, "1024", "yes,," } };
  GString *text = g_string_new (HEADER);

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    g_string_append_printf (
        text, "a-01,%u,2,h100-sxm-80,nvlink4-switch,2,ib-ndr-400,all_gather,%s,%.17g,%s\n",
        lines[i].nodes, lines[i].bytes, i < 4 ? us[i] : 1, lines[i].rest);
  return g_string_free (text, FALSE);
}

/*
 * The measured times are the predicted ones over e^-0.1, e^0.3, e^0.5 and e^0.8 on 2, 4, 8 and 32
 * nodes: log2 is 1, 2, 3, 5, and the six slopes between pairs 0.4, 0.3, 0.9 / 4 = 0.225, 0.2, 0.5 /
 * 3 and 0.15: the median 0.2125. One node, another size, a refused and an unhealthy row do not
 * count; a size on one number of nodes has no slope.
 */
START_TEST (test_trend)
{
  static const double              logs[] = { -0.1, 0.3, 0.5, 0.8 };
  double                           us[] = { 1, 1, 1, 1 };
  g_autofree char                 *flat = trend_table (us), *text = NULL;
  g_autoptr (CollectiveValidation) first = validate_text (flat), v = NULL;
  g_autoptr (GString)              out = g_string_new (NULL);
  const ValidationTrend           *trend;

  for (guint i = 0; i < G_N_ELEMENTS (us); i++)
    us[i] = 1e6 * g_array_index (first->rows, ValidatedRow, i).predicted / exp (logs[i]);
  text = trend_table (us);
  v = validate_text (text);
  ck_assert_uint_eq (v->trends->len, 1);
  trend = &g_array_index (v->trends, ValidationTrend, 0);
  ck_assert_str_eq (trend->name, "256 MiB and more");
  ck_assert_uint_eq (trend->n, 4);
  ck_assert_uint_eq (trend->fewest, 2);
  ck_assert_uint_eq (trend->most, 32);
  ck_assert_double_eq_tol (trend->slope, 0.2125, 1e-9);
  report_answer (&collective_summary, v, FORMAT_TEXT, out);
  ck_assert (g_regex_match_simple ("256 MiB and more +2 +32 +4 ", out->str, 0, 0));
  ck_assert_ptr_nonnull (strstr (out->str, "+21."));
}
END_TEST

/*
 * What binds a row is what binds the same collective by itself: of 8 GiB over NVLink the channels'
 * own rate, not the latency.
 */
START_TEST (test_binding)
{
  static const char                text[] = HEADER "a-01,1,8,b200-sxm-180,nvlink5-switch,0,none,"
                                                   "reduce_scatter,8589934592,11000,yes,,\n"
                                                   "a-01," NODE "all_reduce,8,20,yes,,\n";
  g_autoptr (CollectiveValidation) v = validate_text (text);
  const ValidatedRow              *rows = (const ValidatedRow *) v->rows->data;
  CollectiveCost                   cost = { .binding = G_MAXUINT32, .latency = 1, .rate_cap = 10 };
  g_autofree char                 *below = collective_cost_binding (&cost, NULL, 9);
  g_autofree char                 *above = collective_cost_binding (&cost, NULL, 11);

  ck_assert_str_eq (rows[0].binding, "channels");
  ck_assert_str_eq (rows[1].binding, "latency");
  ck_assert_str_eq (below, "latency");
  ck_assert_str_eq (above, "channels");
}
END_TEST

/* What could not be simulated is counted over all and in its size, where others could. */
START_TEST (test_failed)
{
  g_autoptr (CollectiveValidation) v =
      validate_text (HEADER "a-01," NODE "all_reduce,1024,1,yes,,\n"
                            "a-01," NODE "all_reduce,1048576,1,yes,,\n"
                            "b-01," NODE "all_reduce,1024,1,yes,,what\n"
                            "b-01," NODE "all_reduce,8,1,yes,,what\n"
                            "b-01," NODE "all_reduce,1024,1,no,,what\n");
  static const guint  expected[] = { 2, 0, 1 }; /* all, from 1 MiB on, from 1 KiB on */
  g_autoptr (GString) out = g_string_new (NULL);

  ck_assert_uint_ge (v->groups->len, G_N_ELEMENTS (expected));
  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    ck_assert_uint_eq (g_array_index (v->groups, ValidationGroup, i).n_failed, expected[i]);
  report_answer (&collective_summary, v, FORMAT_TEXT, out);
  ck_assert_ptr_nonnull (strstr (out->str, "NOT SIMULATED"));
}
END_TEST

/*
 * Four points on y = 3 - 2 x and one far off: of ten slopes six are -2, the median. Points of one x
 * have no slope; of (0, 0) (1, 1) (1, 3) the two slopes are 1 and 3: 2.
 */
START_TEST (test_slope)
{
  const double x[] = { 1, 2, 4, 6, 5 }, line[] = { 1, -1, -5, -9, 100 }, same[] = { 2, 2, 2 };
  const double few_x[] = { 0, 1, 1 }, few_y[] = { 0, 1, 3 };

  ck_assert_double_eq_tol (statistics_slope (x, line, 5), -2, 1e-12);
  ck_assert_double_eq_tol (statistics_slope (few_x, few_y, 3), 2, 1e-12);
  ck_assert (isnan (statistics_slope (same, line, 3)));
  ck_assert (isnan (statistics_slope (x, line, 1)));
  ck_assert (isnan (statistics_slope (x, line, 0)));
}
END_TEST

/* Forced algorithms and protocols, GPUDirect and the number of processes reach the model. */
START_TEST (test_environment)
{
  Measurement              row = { .library = (char *) "2.18.5" };
  ClusterOptions           cluster = { 0 };
  CollectiveOptions        options;
  static const char *const words[] = { "algo=tree;proto=LL128", "single-process  in-place",
                                       "no-gpudirect", "" };

  row.env = (char *) words[0];
  ck_assert_ptr_null (measurement_environment (&row, &options, &cluster, NULL));
  ck_assert_int_eq (options.algorithm, ALGORITHM_TREE);
  ck_assert_int_eq (options.protocol, PROTOCOL_LL128);
  ck_assert_str_eq (options.library, "2.18.5");
  ck_assert (!options.single_process);
  row.env = (char *) words[1];
  ck_assert_ptr_null (measurement_environment (&row, &options, &cluster, NULL));
  ck_assert_int_eq (options.algorithm, ALGORITHM_N);
  ck_assert (options.single_process);
  ck_assert_int_eq (cluster.gpu_direct, GPU_DIRECT_AUTO);
  row.env = (char *) words[2];
  ck_assert_ptr_null (measurement_environment (&row, &options, &cluster, NULL));
  ck_assert_int_ne (cluster.gpu_direct, GPU_DIRECT_AUTO);
  row.env = (char *) words[3];
  ck_assert_ptr_null (measurement_environment (&row, &options, &cluster, NULL));
  ck_assert_int_eq (options.protocol, PROTOCOL_N);
}
END_TEST

static double
predicted (const char *env, char **reason)
{
  g_autofree char *text =
      g_strdup_printf ("id,nodes,gpus_per_node,gpu,intra,nics,nic,collective,bytes,time_us,env\n"
                       "a-01,5,1,cpu-host,none,1,lan-100m,all_gather,3145728,1,\"%s\"\n",
                       env);
  g_autofree char                *file = write_table (text);
  g_autoptr (DiagList)            diags = diag_list_new ();
  g_autoptr (ProfileSet)          profiles = profile_set_new (NULL);
  g_autoptr (GPtrArray)           rows = measurement_table_load (file, BAD_ROWS_FAIL, diags);
  g_autoptr (CollectivePredictor) predictor = NULL;
  CollectiveCost                  cost;

  g_unlink (file);
  ck_assert_ptr_nonnull (rows);
  predictor = collective_predictor_new (rows, profiles);
  *reason = g_strdup (collective_predictor_cost (predictor, 0, &cost));
  return *reason == NULL ? cost.time : 0;
}

/* The words of the library and of its hosts, each as the option of that name. */
START_TEST (test_more_words)
{
  static const char text[] = "nvls=0 sharp nchannels=12 nchannels_per_net_peer=4 qps=8 split-data"
                             " torch acs-on no-cxi-hook pxn=0 buffsize=8388608B";
  static const struct
  {
    const char *env, *reason;
  } bad[] = {
    { "nchannels=0", "'nchannels' must be between 1 and 64, got '0'" },
    { "nchannels=65", "'nchannels' must be between 1 and 64, got '65'" },
    { "nchannels=", "'nchannels=' in 'env' has no value" },
    { "buffsize=1KiB", "'buffsize' must be between 64 KiB and 1 GB, got '1KiB'" },
    { "buffsize=big", "expected a size such as '80 GiB', got 'big'" },
    { "qps=0", "'qps' must be between 1 and 32, got '0'" },
    { "nchannels_per_net_peer=x", "expected a whole number for 'nchannels_per_net_peer', got 'x'" },
    { "nvls=2", "'nvls=2' in 'env' has no such value" },
    { "pxn=2", "'pxn=2' in 'env' has no such value" },
    { "pxn=0 pxn=1", "'pxn=1' in 'env' contradicts 'pxn=0'" },
    { "algo=auto", "unknown algorithm 'auto' in 'env'" },
    { "nvls=0 nvls=1", "'nvls=1' in 'env' contradicts 'nvls=0'" },
    { "torch qps=1 qps=2", "'qps=2' in 'env' contradicts 'qps=1'" },
    { "nvls=0 algo=nvls", "'nvls' is asked for, but NVLS is off" },
    { "shared-gpu", "unknown word 'shared-gpu' in 'env'" },
    { "in-plaice", "unknown word 'in-plaice' in 'env' (did you mean 'in-place'?)" },
    { "nchanels=4", "unknown word 'nchanels=4' in 'env' (did you mean 'nchannels='?)" },
    { "collnet=1 sharp",
      "the switches cannot both reduce ('sharp') and refuse to ('collnet' asked for in vain)" },
    { "nvls=1", "NVLS is on, but no switch multicasts between 'cpu-host' over 'none'" },
    { "no-cxi-hook",
      "nic 'lan-100m' does not say what it is over sockets (name a 'tcp-...' card, or leave "
      "'nic_sockets' out)" },
  };
  Measurement       row = { .library = (char *) "unknown", .env = (char *) text };
  ClusterOptions    cluster = { 0 };
  CollectiveOptions options;

  ck_assert_ptr_null (measurement_environment (&row, &options, &cluster, NULL));
  ck_assert_int_eq (options.nvls, NVLS_OFF);
  ck_assert_int_eq (options.pxn, PXN_OFF);
  ck_assert (options.sharp && !options.collnet_refused);
  ck_assert_uint_eq (options.channels, 12);
  ck_assert_uint_eq (options.net_peer_channels, 4);
  ck_assert_double_eq (options.buffsize, 8 << 20);
  ck_assert_int_eq (cluster.qps, 8);
  ck_assert (options.split_data && options.timed_calls);
  ck_assert (cluster.pcie_acs && cluster.nic_sockets);
  row.env = (char *) "collnet=1 nvls=1 qps=1 qps=1";
  cluster = (ClusterOptions){ 0 };
  ck_assert_ptr_null (measurement_environment (&row, &options, &cluster, NULL));
  ck_assert (options.collnet_refused && !options.sharp && options.nvls == NVLS_ON);
  ck_assert (!cluster.pcie_acs && !cluster.nic_sockets);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autofree char *reason = NULL;

      predicted (bad[i].env, &reason);
      ck_assert_pstr_eq (reason, bad[i].reason);
    }
}
END_TEST

/* What is said of the words of a row of 8 GPUs; *REASON: why it is not predicted. */
static char *
say_of_words (const char *env, gboolean quoted, char **reason)
{
  const char      *quote = quoted ? "\"" : "";
  g_autofree char *text =
      g_strdup_printf ("id,nodes,gpus_per_node,gpu,intra,nics,nic,env,collective,bytes,time_us\n"
                       "a-01,1,8,a100-sxm-40,nvlink3-switch,0,none,%s%s%s,all_reduce,1048576,90\n",
                       quote, env, quote);
  g_autofree char                *file = write_table (text);
  g_autoptr (DiagList)            diags = diag_list_new ();
  g_autoptr (ProfileSet)          profiles = profile_set_new (NULL);
  g_autoptr (GPtrArray)           rows = measurement_table_load (file, BAD_ROWS_FAIL, diags);
  g_autoptr (CollectivePredictor) predictor = NULL;
  CollectiveCost                  cost;
  DiagView                        view;

  g_unlink (file);
  ck_assert_ptr_nonnull (rows);
  predictor = collective_predictor_new (rows, profiles);
  *reason = g_strdup (collective_predictor_cost (predictor, 0, &cost));
  collective_predictor_check_words (predictor, diags);
  if (!diag_list_get (diags, 0, &view))
    return NULL;
  ck_assert_str_eq (view.file, file);
  return g_strdup_printf ("%s %u:%u %s", view.severity == DIAG_ERROR ? "error" : "warning",
                          view.line, view.column, view.message);
}

/*
 * At the word, counted by hand: the cell begins at column 44. Nothing is said of a word that is
 * like none: it keeps its row out on purpose. A collective is not predicted by another algorithm
 * than the one that its row names.
 */
START_TEST (test_words_are_placed)
{
  static const struct
  {
    const char *env;
    gboolean    quoted;
    const char *said, *reason;
  } cases[] = {
    { "algo=ring", FALSE, NULL, NULL },
    { "shared-gpu", FALSE, NULL, "unknown word 'shared-gpu' in 'env'" },
    { "nvls=1", FALSE,
      "error 2:44 NVLS is on, but no switch multicasts between 'a100-sxm-40' over "
      "'nvlink3-switch'",
      "NVLS is on, but no switch multicasts between 'a100-sxm-40' over 'nvlink3-switch'" },
    { "torch;nvls=1", TRUE,
      "error 2:51 NVLS is on, but no switch multicasts between 'a100-sxm-40' over "
      "'nvlink3-switch'",
      "NVLS is on, but no switch multicasts between 'a100-sxm-40' over 'nvlink3-switch'" },
    { "torch algo=nvls_tree", FALSE,
      "error 2:50 'nvls_tree' is asked for, but no switch multicasts between 'a100-sxm-40' over "
      "'nvlink3-switch'",
      "'nvls_tree' is asked for, but no switch multicasts between 'a100-sxm-40' over "
      "'nvlink3-switch'" },
    { "nvls=0 torch nvls=1", FALSE, "error 2:57 'nvls=1' in 'env' contradicts 'nvls=0'",
      "'nvls=1' in 'env' contradicts 'nvls=0'" },
    { "nchannels=999", FALSE, "error 2:44 'nchannels' must be between 1 and 64, got '999'",
      "'nchannels' must be between 1 and 64, got '999'" },
    { "ranks=0,9", TRUE, "error 2:45 'ranks=0,9' in 'env' are no ranks of 8",
      "'ranks=0,9' in 'env' are no ranks of 8" },
    { "in-place out-of-place", FALSE, "error 2:53 'out-of-place' in 'env' contradicts 'in-place'",
      "'out-of-place' in 'env' contradicts 'in-place'" },
    { "torch nvsl=1", FALSE, "warning 2:50 unknown word 'nvsl=1' in 'env'",
      "unknown word 'nvsl=1' in 'env' (did you mean 'nvls=1'?)" },
    { "proto=ll algo=pat", FALSE, NULL,
      "there is no pat all_reduce over 8 ranks on 1 node x 8 a100-sxm-40, nvlink3-switch (what "
      "there is: ring, tree)" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *reason = NULL;
      g_autofree char *said = say_of_words (cases[i].env, cases[i].quoted, &reason);

      ck_assert_pstr_eq (said, cases[i].said);
      ck_assert_pstr_eq (reason, cases[i].reason);
    }
}
END_TEST

/*
 * Three of five hosts, and two groups that share one: 2 steps of 1 MiB at 12.5 MB/s x 0.9564, 160
 * KiB of others' and 3 latencies each, a call.
 */
START_TEST (test_groups)
{
  static const char *const bad[] = { "ranks=0-5", "ranks=1,1", "beside=2-1", "ranks=," };
  double           part = 1048576 / (12.5e6 * 0.9564), wait = 163840 / (12.5e6 * 0.9564) + 180e-6;
  g_autofree char *none = NULL, *also = NULL;

  ck_assert_double_eq_tol (predicted ("ranks=0-2", &none), 2 * (part + wait) + 1e-6, 1e-9);
  ck_assert_double_eq_tol (predicted ("ranks=0-2 beside=0,3,4", &also),
                           2 * (2 * part + wait) + 1e-6, 1e-9);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autofree char *reason = NULL;

      predicted (bad[i], &reason);
      ck_assert_msg (reason != NULL && strstr (reason, "are no ranks of 5") != NULL, "%s: %s",
                     bad[i], reason);
    }
}
END_TEST

/* One pass names every bad cell; what CSV writes, the reader takes for what it is. */
START_TEST (test_bad_input)
{
  ck_assert_uint_eq (errors_of (""), 1);
  ck_assert_uint_eq (errors_of (HEADER), 1);
  ck_assert_uint_eq (errors_of (HEADER "a-01," NODE "all_reduce,0,-1,maybe,,\n"
                                       "a-01," NODE "all_reduc,1k,nan,yes,,\n"
                                       "a-01," NODE "all_reduce\n"),
                     3 + 3 + 1);
  ck_assert_uint_eq (errors_of ("id,nodes,collective,bytes,time_us,node,extra\n"), 1);
  ck_assert_uint_eq (errors_of ("id,nodes,collective,bytes\n"), 1 + 5);
}
END_TEST

/* The CSV has one line a row, in order, whose numbers read back exactly. */
START_TEST (test_csv)
{
  g_autoptr (CollectiveValidation) v =
      validate_text (HEADER "\"a, 1\"," NODE "alltoall,1048576,50.125,yes,,\n"
                            "b-01," NODE "all_reduce,8,0.1,yes,,what\n");
  g_autoptr (GString)   out = g_string_new (NULL);
  g_autofree char      *name = NULL;
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (CsvReader) reader = NULL;
  const ValidatedRow   *rows = (const ValidatedRow *) (void *) v->rows->data;

  report_answer (&collective_rows, v, FORMAT_CSV, out);
  ck_assert (g_str_has_prefix (out->str,
                               "id,collective,bytes,measured_us,predicted_us,error,reason,"
                               "hardware,profiles,program_version,schema,nodes\n"));
  name = write_table (out->str);
  reader = csv_reader_open (name, diags);
  ck_assert (csv_reader_next (reader, diags));
  ck_assert_str_eq (csv_reader_field (reader, 0), "a, 1");
  ck_assert_str_eq (csv_reader_field (reader, 1), "alltoall");
  ck_assert_str_eq (csv_reader_field (reader, 3), "50.125");
  ck_assert_double_eq_tol (g_ascii_strtod (csv_reader_field (reader, 4), NULL),
                           1e6 * rows[0].predicted, 1e-9);
  ck_assert_double_eq (g_ascii_strtod (csv_reader_field (reader, 5), NULL), rows[0].error);
  ck_assert_str_eq (csv_reader_field (reader, 6), "");
  ck_assert (g_str_has_prefix (csv_reader_field (reader, 8), "gpu "));
  ck_assert (csv_reader_next (reader, diags));
  ck_assert_str_eq (csv_reader_field (reader, 4), "");
  ck_assert_str_eq (csv_reader_field (reader, 6), "unknown word 'what' in 'env'");
  ck_assert (!csv_reader_next (reader, diags));
  g_unlink (name);
}
END_TEST

SUITE_MAIN (validate)
{
  Suite *suite = suite_create ("validate");
  TCase *tests = tcase_create ("validate");

  tcase_add_test (tests, test_quantile);
  tcase_add_test (tests, test_statistics);
  tcase_add_test (tests, test_rows);
  tcase_add_test (tests, test_sizes);
  tcase_add_test (tests, test_nodes);
  tcase_add_test (tests, test_trend);
  tcase_add_test (tests, test_binding);
  tcase_add_test (tests, test_failed);
  tcase_add_test (tests, test_slope);
  tcase_add_test (tests, test_environment);
  tcase_add_test (tests, test_more_words);
  tcase_add_test (tests, test_words_are_placed);
  tcase_add_test (tests, test_groups);
  tcase_add_test (tests, test_bad_input);
  tcase_add_test (tests, test_csv);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
