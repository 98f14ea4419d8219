/*
 * Logs of nccl-tests as rows: one sample a format (tests/data/nccl-tests), every figure as it
 * stands in the file; and what must be refused, with the line and the words. That predictions
 * follow is not looked at here.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <string.h>

#include "../suite.h"
#include "evidence/tables/measurement-file.h"
#include "predict/collective-sweep.h"
#include "report/answer/collective.h"

typedef struct
{
  const char *key, *value;
} Setting;

#define END    \
  {            \
    NULL, NULL \
  }

static char *
data_file (const char *name)
{
  const char *root = g_getenv ("SHARDSIM_SOURCE_ROOT");

  ck_assert_ptr_nonnull (root);
  return g_build_filename (root, "tests", "data", "nccl-tests", name, NULL);
}

static GPtrArray *
load (const char *file, const Setting *hardware, CollectiveKind kind, DiagList *diags)
{
  const char            *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  g_autofree char       *worked = g_build_filename (root, "docs", "worked", "hwprofiles", NULL);
  g_autofree char       *shipped = g_build_filename (root, "hwprofiles", NULL);
  g_autofree char       *path = g_strjoin (G_SEARCHPATH_SEPARATOR_S, worked, shipped, NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (path);
  ClusterOptions         cluster = { 0 };
  MeasurementContext     context = { .cluster = hardware != NULL ? &cluster : NULL,
                                     .profiles = profiles,
                                     .kind = kind };
  GPtrArray             *rows;

  option_table_defaults (cluster_options, &cluster);
  for (const Setting *setting = hardware; setting != NULL && setting->key != NULL; setting++)
    ck_assert (
        option_set_key (cluster_options, &cluster, setting->key, setting->value, NULL, diags));
  rows = measurement_file_load (file, &context, diags);
  option_table_clear (cluster_options, &cluster);
  return rows;
}

/* The rows of a sample, which must load without a word. */
static GPtrArray *
sample (const char *name, const Setting *hardware)
{
  g_autofree char     *file = data_file (name);
  g_autoptr (DiagList) diags = diag_list_new ();
  GPtrArray           *rows = load (file, hardware, COLLECTIVE_N_KINDS, diags);
  g_autofree char     *said = diag_list_format (diags, FALSE);

  ck_assert_msg (rows != NULL && *said == '\0', "%s: %s", name, said);
  return rows;
}

static const Measurement *
row_at (const GPtrArray *rows, guint i)
{
  ck_assert_uint_lt (i, rows->len);
  return g_ptr_array_index (rows, i);
}

static void
check_row (const GPtrArray *rows, guint i, CollectiveKind kind, guint64 bytes, double time_us,
           const char *env)
{
  const Measurement *row = row_at (rows, i);

  ck_assert_int_eq (row->kind, kind);
  ck_assert_uint_eq (row->bytes, bytes);
  ck_assert_double_eq_tol (row->time_us, time_us, 1e-9 * time_us);
  ck_assert_str_eq (row->env, env);
  ck_assert_int_eq (row->healthy, HEALTHY_YES);
}

/* Nodes, GPUs a node, and the library of every row. */
static void
check_all (const GPtrArray *rows, gint64 nodes, gint64 gpus, const char *library)
{
  for (guint i = 0; i < rows->len; i++)
    {
      const Measurement *row = row_at (rows, i);

      ck_assert_int_eq (row->cluster.nodes, nodes);
      ck_assert_int_eq (row->cluster.gpus_per_node, gpus);
      ck_assert_str_eq (row->library, library);
    }
}

static const Setting v100[] = { { "node", "dgx-1v" }, { "gpu", "v100-sxm-16" }, END };
static const Setting a100_40[] = { { "node", "dgx-a100" }, { "gpu", "a100-sxm-40" }, END };
static const Setting a100_80[] = { { "node", "dgx-a100" }, END };
static const Setting h100[] = { { "node", "dgx-h100" }, END };
static const Setting h200[] = { { "node", "dgx-h200" }, END };
static const Setting mi300x[] = { { "gpu", "mi300x-192" }, { "intra", "xgmi-mi300-mesh" }, END };
static const Setting hand[] = { { "name", "2 x hand-pair" }, END };

/*
 * Five sizes, each out of place and in place; 0.056 ms are 56 us. The ranks have no processes, so
 * nothing says that one drives all.
 */
START_TEST (test_milliseconds)
{
  g_autoptr (GPtrArray) rows = sample ("2017-milliseconds.log", v100);

  ck_assert_uint_eq (rows->len, 10);
  check_row (rows, 0, COLLECTIVE_ALL_REDUCE, 1048576, 58, "out-of-place");
  check_row (rows, 9, COLLECTIVE_ALL_REDUCE, 16777216, 254, "in-place");
  check_all (rows, 1, 4, "unknown");
}
END_TEST

/* The test is named by the command above; one process drives all eight. */
START_TEST (test_no_root)
{
  g_autoptr (GPtrArray) rows = sample ("2019-no-root.log", a100_40);

  ck_assert_uint_eq (rows->len, 24);
  check_row (rows, 0, COLLECTIVE_ALL_REDUCE, 8, 22, "out-of-place single-process");
  check_row (rows, 11, COLLECTIVE_ALL_REDUCE, 33554432, 331.05, "out-of-place single-process");
  check_all (rows, 1, 8, "2.7.8");
  ck_assert (g_str_has_suffix (row_at (rows, 0)->id, "2019-no-root-01"));
  ck_assert (g_str_has_suffix (row_at (rows, 12)->id, "2019-no-root-02"));
  ck_assert (g_str_has_suffix (row_at (rows, 0)->source, "2019-no-root.log"));
}
END_TEST

/*
 * Tables with a root alone, with neither, with an operation, with an empty one: five sizes twice in
 * each.
 */
START_TEST (test_several)
{
  static const CollectiveKind kinds[] = { COLLECTIVE_BROADCAST, COLLECTIVE_ALL_GATHER,
                                          COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALL_TO_ALL,
                                          COLLECTIVE_SEND_RECV };
  g_autoptr (GPtrArray)       rows = sample ("2019-several.log", a100_40);

  ck_assert_uint_eq (rows->len, 50);
  for (guint i = 0; i < rows->len; i++)
    ck_assert_int_eq (row_at (rows, i)->kind, kinds[i / 10]);
  check_row (rows, 0, COLLECTIVE_BROADCAST, 65536, 18.36, "out-of-place single-process");
  check_row (rows, 34, COLLECTIVE_ALL_TO_ALL, 16777216, 87.91, "out-of-place single-process");
  check_row (rows, 39, COLLECTIVE_ALL_TO_ALL, 16777216, 86.15, "in-place single-process");
  ck_assert (g_str_has_suffix (row_at (rows, 49)->id, "-10"));
}
END_TEST

/* Results that were not checked are no fault. */
START_TEST (test_unchecked)
{
  g_autoptr (GPtrArray) rows = sample ("2021-root.log", a100_80);

  ck_assert_uint_eq (rows->len, 10);
  check_row (rows, 1, COLLECTIVE_ALL_GATHER, 4194304, 86.21, "out-of-place");
  check_all (rows, 2, 8, "2.10.3");
}
END_TEST

/* The first row goes on three lines below; the log says what was forced. */
START_TEST (test_debug)
{
  g_autoptr (GPtrArray) rows = sample ("2022-debug.log", h100);

  ck_assert_uint_eq (rows->len, 10);
  check_row (rows, 0, COLLECTIVE_ALL_REDUCE, 1048576, 66.57,
             "out-of-place algo=ring proto=simple pxn=0");
  check_row (rows, 5, COLLECTIVE_ALL_REDUCE, 1048576, 65.23,
             "in-place algo=ring proto=simple pxn=0");
  check_row (rows, 4, COLLECTIVE_ALL_REDUCE, 268435456, 3015.69,
             "out-of-place algo=ring proto=simple pxn=0");
  check_all (rows, 2, 8, "2.18.5");
}
END_TEST

START_TEST (test_launchers)
{
  static const char *const names[] = { "mpirun-tags.log", "srun-labels.log" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GPtrArray) rows = sample (names[i], h100);

      ck_assert_uint_eq (rows->len, 6);
      check_row (rows, 0, COLLECTIVE_REDUCE_SCATTER, 1048576, 49.66, "out-of-place");
      check_all (rows, 2, 2, "unknown");
    }
}
END_TEST

START_TEST (test_time_stamps)
{
  g_autoptr (GPtrArray) rows = sample ("2025-timestamps.log", h200);

  ck_assert_uint_eq (rows->len, 8);
  check_row (rows, 7, COLLECTIVE_ALL_TO_ALL, 67108864, 198.88, "in-place");
  check_all (rows, 1, 8, "2.28.9");
}
END_TEST

START_TEST (test_in_place_only)
{
  g_autoptr (GPtrArray) rows = sample ("rccl-in-place.log", mi300x);

  ck_assert_uint_eq (rows->len, 4);
  check_row (rows, 0, COLLECTIVE_ALL_REDUCE, 1048576, 36.89, "in-place single-process");
  check_all (rows, 1, 8, "RCCL");
}
END_TEST

START_TEST (test_json)
{
  g_autoptr (GPtrArray) processes = sample ("2025-processes.json", h200);
  g_autoptr (GPtrArray) threads = sample ("2025-threads.json", h200);

  ck_assert_uint_eq (processes->len, 8);
  check_row (processes, 0, COLLECTIVE_ALL_REDUCE, 1048576, 30 + 1048576 * 1.5 / 40e3,
             "out-of-place algo=ring");
  check_all (processes, 2, 2, "2.28.9");
  /* One line stands for two threads of four GPUs. */
  ck_assert_uint_eq (threads->len, 8);
  check_row (threads, 7, COLLECTIVE_ALL_GATHER, 67108864, 203.781366, "in-place single-process");
  check_all (threads, 1, 8, "2.28.9");
}
END_TEST

/*
 * What `shardsim collective` prints comes back, with a word that nobody measured it: times as
 * exactly as they are printed.
 */
static void
check_round_trip (CollectiveKind kind, const Cluster *cluster, const char *file)
{
  const CollectiveSweepOptions options = { .kind = kind,
                                           .min_bytes = 1024,
                                           .max_bytes = 64 << 20,
                                           .step_factor = 16,
                                           .fidelity = FIDELITY_FLUID };
  static const guint32         ranks[] = { 0, 1, 2, 3 };
  g_autoptr (CollectiveSweep)  sweep =
      collective_sweep (cluster, ranks, 4, &collective_default_options, &options, NULL);
  g_autoptr (GString)   text = g_string_new (NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) rows = NULL;

  ck_assert_ptr_nonnull (sweep);
  report_answer (&collective_answer, sweep, FORMAT_TEXT, text);
  ck_assert (g_file_set_contents (file, text->str, -1, NULL));
  rows = load (file, hand, COLLECTIVE_N_KINDS, diags);
  ck_assert_msg (rows != NULL, "%s", diag_list_first_message (diags));
  ck_assert_str_eq (diag_list_first_message (diags), "predicted by shardsim, not measured");
  ck_assert_uint_eq (rows->len, 2 * sweep->samples->len);
  for (guint i = 0; i < rows->len; i++)
    {
      const CollectiveSample *sample =
          &g_array_index (sweep->samples, CollectiveSample, i % sweep->samples->len);

      ck_assert_int_eq (row_at (rows, i)->kind, kind);
      ck_assert_uint_eq (row_at (rows, i)->bytes, sample->bytes);
      /* Seven characters hold four digits at least. */
      ck_assert_double_eq_tol (row_at (rows, i)->time_us, 1e6 * sample->time,
                               1e-3 * 1e6 * sample->time);
    }
}

/* Our own runner's, not in place at any size. */
START_TEST (test_runner)
{
  g_autoptr (GPtrArray) rows = sample ("shardsim-bench.log", h200);

  ck_assert_uint_eq (rows->len, 6);
  check_row (rows, 0, COLLECTIVE_ALL_GATHER, 65536, 10.33, "out-of-place channels=4");
  check_row (rows, 5, COLLECTIVE_REDUCE_SCATTER, 4194304, 30.97, "out-of-place channels=4");
  check_all (rows, 1, 2, "2.28.9");
}
END_TEST

START_TEST (test_predicted)
{
  g_autofree char *worked =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", "hwprofiles", NULL);
  g_autofree char       *file = NULL;
  gint                   fd = g_file_open_tmp ("shardsim-predicted-XXXXXX.log", &file, NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (worked);
  g_autoptr (Cluster)    cluster = NULL;
  ClusterOptions         options = { 0 };

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  option_table_defaults (cluster_options, &options);
  options.name = g_strdup ("2 x hand-pair");
  cluster = cluster_new (&options, profiles, NULL, diags);
  option_table_clear (cluster_options, &options);
  ck_assert_ptr_nonnull (cluster);
  for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
    check_round_trip ((CollectiveKind) kind, cluster, file);
  g_unlink (file);
}
END_TEST

/* ---- parts of logs, and what launchers put before their lines -------------------------------- */

#define CONFIG \
  "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 4(factor) warmup iters: 5\n"
#define RANKS                                                                  \
  "#  Rank  0 Group  0 Pid   5000 on      node1 device  0 [000f:00:00] Hand\n" \
  "#  Rank  1 Group  0 Pid   5001 on      node1 device  1 [001f:00:00] Hand\n" \
  "#  Rank  2 Group  0 Pid   5002 on      node2 device  0 [000f:00:00] Hand\n" \
  "#  Rank  3 Group  0 Pid   5003 on      node2 device  1 [001f:00:00] Hand\n"
#define COLUMNS                                                                          \
  "#       size         count      type   redop    root     time   algbw   busbw #wrong" \
  "     time   algbw   busbw #wrong\n"                                                   \
  "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       " \
  "     (us)  (GB/s)  (GB/s)\n"
#define ROW_1                                                                            \
  "     1048576        262144     float     sum      -1  1370.72    0.76    1.15      0" \
  "  1343.31    0.78    1.17      0\n"
#define ROW_2                                                                            \
  "     4194304       1048576     float     sum      -1  5302.88    0.79    1.19      0" \
  "  5196.82    0.81    1.21      0\n"
#define VERDICT "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.198\n#\n"
#define WHOLE   CONFIG RANKS COLUMNS ROW_1 ROW_2 VERDICT

/*
 * TEXT as a log of all-reduce on HARDWARE, with ENV for what it does not say; SAID: newly
 * allocated.
 */
static GPtrArray *
load_as (const char *text, const Setting *hardware, CollectiveKind kind, const char *env,
         char **said)
{
  const char            *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  g_autofree char       *worked = g_build_filename (root, "docs", "worked", "hwprofiles", NULL);
  g_autofree char       *shipped = g_build_filename (root, "hwprofiles", NULL);
  g_autofree char       *path = g_strjoin (G_SEARCHPATH_SEPARATOR_S, worked, shipped, NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (path);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autofree char       *file = NULL;
  const int              fd = g_file_open_tmp ("shardsim-log-XXXXXX.log", &file, NULL);
  ClusterOptions         cluster = { 0 };
  MeasurementContext     context = {
        .cluster = &cluster, .profiles = profiles, .env = env, .kind = kind
  };
  GPtrArray *rows;

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  option_table_defaults (cluster_options, &cluster);
  for (const Setting *setting = hardware; setting->key != NULL; setting++)
    ck_assert (
        option_set_key (cluster_options, &cluster, setting->key, setting->value, NULL, diags));
  rows = measurement_file_load (file, &context, diags);
  *said = diag_list_format (diags, FALSE);
  option_table_clear (cluster_options, &cluster);
  g_unlink (file);
  return rows;
}

static GPtrArray *
load_words (const char *text, const Setting *hardware, const char *env, char **said)
{
  return load_as (text, hardware, COLLECTIVE_ALL_REDUCE, env, said);
}

/* Each line of TEXT behind PREFIX, and AMID before the cells of times, where a piece begins. */
static char *
prefixed (const char *text, const char *prefix, const char *amid)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  GString       *out = g_string_new (NULL);

  for (guint i = 0; lines[i] != NULL && *lines[i] != '\0'; i++)
    {
      char *cut = amid != NULL ? strstr (lines[i], "-1  ") : NULL;

      if (cut != NULL)
        g_string_append_printf (out, "%s%.*s%s%s\n", prefix, (int) (cut + 2 - lines[i]), lines[i],
                                amid, cut + 2);
      else
        g_string_append_printf (out, "%s%s\n", prefix, lines[i]);
    }
  return g_string_free (out, FALSE);
}

START_TEST (test_prefixes)
{
  static const struct
  {
    const char *prefix, *amid;
  } cases[] = {
    { "[0] ", "[0]" },                                    /* MPICH, Intel: mpirun -l */
    { "[0]", "[0]" },                                     /* the same, no blank */
    { "[1,0]<stdout>:", "[1,0]<stdout>:" },               /* Open MPI: --tag-output */
    { "[1,0]<stdout>: ", NULL },                          /* its version 5 */
    { "[node1:1234] [1,0]<stdout>:", NULL },              /* with words before it */
    { " 0: ", NULL },                                     /* srun -l */
    { "00: ", NULL },                                     /* the same */
    { "nccl-test-worker-0: ", NULL },                     /* a pod */
    { "[pod/nccl-launcher-x2x7/nccl] ", NULL },           /* kubectl logs --prefix */
    { "2026-05-01T12:00:00.123456789Z stdout F ", NULL }, /* a container's log on its node */
    { "nccl-launcher-x2x7 nccl ", NULL },                 /* stern */
    { "[0]: ", NULL },
    { "[Fri May  1 12:00:00 2026] ", NULL }, /* ts */
    { "[2026-05-01 12:00:00] ", NULL },
    { "May  1 12:00:00 node1 nccl[12]: ", NULL }, /* syslog */
    { "(RayWorker pid=123, ip=10.0.0.1) ", NULL },
    { "2026-05-01T12:00:00.123456789Z ", NULL }, /* --timestamps */
    { "2026-05-01 12:00:00,123 ", NULL },        /* a logger's */
    { "nccl-launcher-x2x7 nccl | ", NULL },      /* several words are no name */
    { "launcher-1  | ", NULL },                  /* compose */
    { "nccl-launcher-0: 2026-05-01T12:00:00Z [1,0]<stdout>:", NULL }, /* one behind another */
    { "\033[32m[1,0]<stdout>:\033[0m", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char      *text = prefixed (WHOLE, cases[i].prefix, cases[i].amid), *said = NULL;
      g_autoptr (GPtrArray) rows = load_words (text, hand, NULL, &said);

      if (strstr (cases[i].prefix, "nccl | ") != NULL)
        {
          ck_assert_ptr_null (rows);
          continue;
        }
      ck_assert_msg (rows != NULL && *said == '\0', "'%s': %s", cases[i].prefix, said);
      ck_assert_uint_eq (rows->len, 4);
      check_row (rows, 0, COLLECTIVE_ALL_REDUCE, 1048576, 1370.72, "out-of-place");
      check_row (rows, 3, COLLECTIVE_ALL_REDUCE, 4194304, 5196.82, "in-place");
    }
}
END_TEST

/* What is whole counts, and what is missing is said. */
START_TEST (test_parts)
{
  static const struct
  {
    const char *text, *said;
    guint       n; /* rows; 0: refused */
  } cases[] = {
    { CONFIG RANKS COLUMNS ROW_1 ROW_2, "the run is cut: the file ends before its line 'Avg", 4 },
    { CONFIG RANKS COLUMNS ROW_1 "     4194304       1048576     float     sum      -1  5302.88\n",
      "a row of 6 cells, where the header has 13 columns, is left out", 2 },
    { CONFIG RANKS COLUMNS ROW_1 WHOLE, "the run is cut: another run begins", 6 },
    { CONFIG RANKS, "the run is cut: the file ends before its table", 0 },
    { ROW_1 ROW_2 VERDICT WHOLE, "a table without its header: taken for 'size count", 8 },
    { "# Avg bus bandwidth    : 1.198\n" WHOLE, "an average without a table", 4 },
    { "0.81 1.21 0\n" ROW_1 VERDICT, "a table without its header", 2 },
    /* a row whose bandwidth is another than its time makes is of some other table */
    { "     1048576        262144     float     sum      -1  1370.72    9.76    1.15       0  "
      "1343.31    0.78    1.17       0\n# Avg bus bandwidth\n",
      "a row without a header", 0 },
    { CONFIG
      "#  Rank  0 Group  0 Pid   5000 on      node1 device  0 [000f:00:00] Hand\n"
      "#  Rank  3 Group  0 Pid   5003 on      node2 device  1 [001f:00:00] Hand\n" COLUMNS ROW_1
          VERDICT,
      "lines of ranks are missing: the hardware that is given stands", 2 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char      *said = NULL;
      g_autoptr (GPtrArray) rows = load_words (cases[i].text, hand, NULL, &said);

      ck_assert_msg (strstr (said, cases[i].said) != NULL, "case %u: %s", i, said);
      ck_assert_msg ((rows != NULL ? rows->len : 0) == cases[i].n, "case %u: %s", i, said);
    }
}
END_TEST

/* The command above a run, or words about it, say what was forced; options say the rest. */
START_TEST (test_commands)
{
  static const struct
  {
    const char *before, *env, *words; /* of the row */
  } cases[] = {
    { "$ mpirun -np 4 -x NCCL_ALGO=Tree -x NCCL_DEBUG=INFO ./all_reduce_perf -b 1M -g 1\n", NULL,
      "out-of-place algo=tree" },
    { "with `-x NCCL_ALGO=RING` we have\n", NULL, "out-of-place algo=ring" },
    { "mpiexec -n 4 -genv NCCL_PROTO Simple ./all_reduce_perf\n", NULL,
      "out-of-place proto=simple" },
    { "export NCCL_PROTO=\"LL128\"\nsrun --ntasks=4 all_reduce_perf_mpi -g 1\n", NULL,
      "out-of-place proto=ll128" },
    { "srun --export=ALL,NCCL_ALGO=Tree,NCCL_NVLS_ENABLE=0 -n 4 all_reduce_perf\n", NULL,
      "out-of-place algo=tree nvls=0" },
    { "mpirun -x NCCL_IB_HCA=mlx5_0,mlx5_1 -np 4 ./all_reduce_perf\n", "algo=ring nvls=0",
      "out-of-place algo=ring nvls=0" },
    { "mpirun -np 4 \\\n  -x NCCL_ALGO=Tree \\\n  -x NCCL_PROTO=LL \\\n  ./all_reduce_perf -g 1\n",
      NULL, "out-of-place algo=tree proto=ll" },
    { "mpirun -x NCCL_ALGO=Tree -np 4 ./all_reduce_perf\n", "algo=ring proto=ll",
      "out-of-place algo=tree proto=ll" },
  };
  static const char run[] = COLUMNS ROW_1 VERDICT;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char      *text = g_strconcat (cases[i].before, run, NULL), *said = NULL;
      g_autoptr (GPtrArray) rows = load_words (text, hand, cases[i].env, &said);

      ck_assert_msg (rows != NULL, "case %u: %s", i, said);
      ck_assert_str_eq (row_at (rows, 0)->env, cases[i].words);
    }
}
END_TEST

/* Without a name the columns say what it is, where they leave one collective. */
START_TEST (test_kind_of_rows)
{
#define ROW(count, words)                                                       \
  COLUMNS "     1048576 " count " float " words " 1370.72 0.76 1.15 0 1343.31 " \
          "0.78 1.17 0\n" VERDICT
  static const struct
  {
    const char    *text;
    CollectiveKind kind; /* COLLECTIVE_N_KINDS: it has to be given */
  } cases[] = {
    { ROW ("262144", "sum -1"), COLLECTIVE_ALL_REDUCE },
    { ROW ("65536", "sum -1"), COLLECTIVE_REDUCE_SCATTER },
    { ROW ("262144", "sum 0"), COLLECTIVE_REDUCE },
    { ROW ("262144", "none 0"), COLLECTIVE_BROADCAST },
    { ROW ("262144", "none -1"), COLLECTIVE_SEND_RECV },
    { ROW ("65536", "none -1"), COLLECTIVE_N_KINDS }, /* all-gather or all-to-all */
    { ROW ("65536", "none 0"), COLLECTIVE_N_KINDS },  /* scatter or gather */
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char      *said = NULL;
      g_autoptr (GPtrArray) rows = load_as (cases[i].text, hand, COLLECTIVE_N_KINDS, NULL, &said);

      if (cases[i].kind == COLLECTIVE_N_KINDS)
        ck_assert_msg (rows == NULL && strstr (said, "give it with --collective") != NULL, "%s",
                       said);
      else
        ck_assert_msg (rows != NULL && row_at (rows, 0)->kind == cases[i].kind
                           && strstr (said, "by its columns it is") != NULL,
                       "case %u: %s", i, said);
    }
#undef ROW
}
END_TEST

/* A command counts the ranks, and is its run's alone. */
START_TEST (test_command_ranks)
{
  g_autofree char      *few = NULL, *said = NULL;
  g_autoptr (GPtrArray) none =
      load_words ("mpirun -np 2 ./all_reduce_perf -g 1\n" COLUMNS ROW_1 VERDICT, hand, NULL, &few);
  g_autoptr (GPtrArray) rows = load_words (
      "mpirun -np 4 -x NCCL_ALGO=Tree ./all_reduce_perf\n" COLUMNS ROW_1               VERDICT
      "mpirun -np 2 \\\n -x NCCL_PROTO=LL \\\n ./all_reduce_perf -g 2\n" COLUMNS ROW_1 VERDICT,
      hand, NULL, &said);

  ck_assert_ptr_null (none);
  ck_assert_ptr_nonnull (strstr (few, "a run of 2 ranks, but the hardware has 4 GPUs"));
  ck_assert_msg (rows != NULL && *said == '\0', "%s", said);
  ck_assert_str_eq (row_at (rows, 0)->env, "out-of-place algo=tree");
  ck_assert_str_eq (row_at (rows, 2)->env, "out-of-place proto=ll");
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

/* NAME is refused with N errors, and what is said has the words of SAID in this order. */
static void
check_refused (const char *name, const Setting *hardware, CollectiveKind kind, guint n,
               const char *const *said)
{
  g_autofree char      *file = data_file (name);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) rows = load (file, hardware, kind, diags);
  g_autofree char      *text = diag_list_format (diags, FALSE);
  const char           *from = text;

  ck_assert_msg (rows == NULL, "%s was taken", name);
  ck_assert_msg (diag_list_n_errors (diags) == n, "%s: not %u errors: %s", name, n, text);
  for (guint i = 0; said[i] != NULL; i++)
    {
      const char *found = strstr (from, said[i]);

      ck_assert_msg (found != NULL, "%s: no '%s' in: %s", name, said[i], from);
      from = found;
    }
}

#define REFUSED(name, n, ...)                              \
  check_refused ("bad/" name, hand, COLLECTIVE_N_KINDS, n, \
                 (const char *const[]){ __VA_ARGS__, NULL })

START_TEST (test_cut)
{
  REFUSED ("cut.json", 1, "cut.json:1:1400: error: found unexpected end of stream");
}
END_TEST

START_TEST (test_bad_cells)
{
  REFUSED ("no-time.log", 1, "no-time.log:15:59: error: expected a time, got 'N/A'");
  REFUSED ("wrong.log", 2, "wrong.log:15:118: error: wrong results: 3",
           "wrong.log:19:28: error: the run's results");
  REFUSED ("wrong.json", 7, "wrong results: 3.0", "expected a number for 'time', got 'nan'",
           "missing 'average_bus", "a run over unlike GPUs: 'NVIDIA H200' and 'NVIDIA H100");
}
END_TEST

START_TEST (test_bad_headers)
{
  REFUSED ("header.log", 1,
           "header.log:12:73: error: the header of a release that is not known: column 'linkbw'");
  REFUSED ("cpu-time.log", 1, "cpu-time.log:12:55: error: times of the CPU");
}
END_TEST

START_TEST (test_bad_ranks)
{
  REFUSED ("unlike-gpus.log", 1,
           "unlike-gpus.log:8:69: error: a run over unlike GPUs: 'Hand' and 'NVIDIA A100");
  REFUSED ("without-mpi.log", 1, "without-mpi.log:6:1: error: rank 0 a second time", "MPI=1");
  REFUSED ("groups.log", 1, "groups.log:7:1: error: ranks in groups 0 and 1");
  REFUSED ("two-versions.log", 1,
           "two-versions.log:10:14: error: version '2.27.3' of the library in a run with '2.28.9'");
  REFUSED ("two-choices.log", 1, "two-choices.log:9:63: error: NCCL_ALGO is 'ring,tree'");
}
END_TEST

/* Four ranks on two hosts: other shapes, other GPUs and no hardware are errors at the ranks. */
START_TEST (test_hardware)
{
  static const Setting four[] = { { "name", "4 x hand-pair" }, END };
  static const Setting one[] = { { "node", "hand-pair" }, { "nodes", "1" }, END };
  static const Setting other[] = {
    { "node", "dgx-h100" }, { "gpu", "a100-sxm-80" }, { "intra", "nvlink3-switch" }, END
  };
  static const Setting board[] = { { "gpu", "a100-pcie-40" }, { "intra", "pcie4" }, END };

  check_refused (
      "2022-debug.log", four, COLLECTIVE_N_KINDS, 1,
      (const char *const[]){
          "2022-debug.log:21:1: error: a run of 16 ranks on 2 hosts, but the hardware has 8 GPUs "
          "on 4 nodes",
          NULL });
  check_refused ("mpirun-tags.log", one, COLLECTIVE_N_KINDS, 1,
                 (const char *const[]){
                     "a run of 4 ranks on 2 hosts, but the hardware has 2 GPUs on 1 node", NULL });
  check_refused ("mpirun-tags.log", other, COLLECTIVE_N_KINDS, 1,
                 (const char *const[]){ "mpirun-tags.log:6:83: error",
                                        "'NVIDIA H100 80GB HBM3', the hardware's 'a100-sxm-80'",
                                        "fits: h100-pcie-80, h100-sxm-80", NULL });
  check_refused ("2019-no-root.log", board, COLLECTIVE_N_KINDS, 1,
                 (const char *const[]){ "its name fits: a100-sxm-40", NULL });
  check_refused ("2022-debug.log", NULL, COLLECTIVE_N_KINDS, 1,
                 (const char *const[]){ "a log does not say what its hardware is", NULL });
}
END_TEST

/* The caller names what the log does not, and its counts catch a wrong name. */
START_TEST (test_name)
{
  g_autofree char      *file = data_file ("bad/no-name.log");
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) rows = load (file, hand, COLLECTIVE_ALL_REDUCE, diags);

  ck_assert_ptr_nonnull (rows);
  ck_assert_uint_eq (rows->len, 10);
  check_refused ("bad/no-name.log", hand, COLLECTIVE_ALL_GATHER, 1,
                 (const char *const[]){
                     "no-name.log:13:6:",
                     "1048576 bytes are not what all_gather over 4 ranks makes of 262144 elements",
                     NULL });
}
END_TEST

/* TEXT as a log that loads without a word. */
static GPtrArray *
load_text (const char *text, const Setting *hardware)
{
  g_autofree char     *file = NULL, *said = NULL;
  gint                 fd = g_file_open_tmp ("shardsim-text-XXXXXX.log", &file, NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  GPtrArray           *rows;

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  rows = load (file, hardware, COLLECTIVE_N_KINDS, diags);
  said = diag_list_format (diags, FALSE);
  g_unlink (file);
  ck_assert_msg (rows != NULL && *said == '\0', "%s", said);
  return rows;
}

#define TABLE                                              \
  "# size count type redop root time algbw busbw #wrong\n" \
  "  1048576 262144 float sum -1 50.00 20.97 20.97 0\n"    \
  "# Avg bus bandwidth    : 20.97\n"

/* What the runner forced, and ranks that share a GPU, stand in the rows' words. */
START_TEST (test_words)
{
  static const Setting hosts[] = {
    { "gpu", "cpu-host" }, { "nic", "lan-100m" }, { "nics", "1" }, END
  };
  static const char mpi[] =
      "# shardsim-bench Open MPI 4.1.4\n# Collective test starting: all_reduce_perf\n"
      "# mpi;algo=ring\n"
      "#  Rank  0 Group  0 Pid 1 on h1 device  0 [0000:00:00] CPU\n"
      "#  Rank  1 Group  0 Pid 1 on h2 device  0 [0000:00:00] CPU\n" TABLE;
  static const char shared[] =
      "# shardsim-bench nccl-headers=22809 nccl-library=22809\n"
      "# Collective test starting: all_reduce_perf\n"
      "# minCTAs = maxCTAs = 4\n"
      "#  Rank  0 Group  0 Pid 1 on h1 device  0 [0000:0f:00] Hand\n"
      "#  Rank  1 Group  0 Pid 2 on h1 device  0 [0000:0f:00] Hand\n" TABLE;
  static const char blocking[] =
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor) agg iters: 4\n"
      "# Blocking Enabled: wait for completion and barrier after each collective \n"
      "#  Rank  0 Group  0 Pid 1 on h1 device  0 [0000:0f:00] Hand\n"
      "#  Rank  1 Group  0 Pid 2 on h1 device  1 [0000:1f:00] Hand\n" TABLE;
  static const char buffer[] =
      "# Collective test starting: all_reduce_perf\n"
      "#  Rank  0 Group  0 Pid 1 on h1 device  0 [0000:0f:00] Hand\n"
      "#  Rank  1 Group  0 Pid 2 on h1 device  1 [0000:1f:00] Hand\n"
      "h1:1:1 [0] NCCL INFO NCCL_BUFFSIZE set by environment to 8388608.\n" TABLE;
  static const Setting  pair[] = { { "node", "hand-pair" }, END };
  g_autoptr (GPtrArray) between_hosts = load_text (mpi, hosts);
  g_autoptr (GPtrArray) on_one = load_text (shared, pair);
  g_autoptr (GPtrArray) in_step = load_text (blocking, pair);
  g_autoptr (GPtrArray) buffered = load_text (buffer, pair);

  ck_assert_uint_eq (between_hosts->len, 1);
  check_row (between_hosts, 0, COLLECTIVE_ALL_REDUCE, 1048576, 50, "out-of-place algo=ring");
  ck_assert_uint_eq (on_one->len, 1);
  check_row (on_one, 0, COLLECTIVE_ALL_REDUCE, 1048576, 50,
             "out-of-place ranks-share-gpu channels=4");
  check_all (on_one, 1, 2, "2.28.9");
  check_row (in_step, 0, COLLECTIVE_ALL_REDUCE, 1048576, 50, "out-of-place aggregated blocking");
  check_row (buffered, 0, COLLECTIVE_ALL_REDUCE, 1048576, 50, "out-of-place buffsize=8388608B");
}
END_TEST

/* Columns of options: bits that differ, in both halves, and the number of iterations. */
START_TEST (test_more_columns)
{
  static const char text[] =
      "# Collective test starting: all_reduce_perf\n"
      "#  Rank  0 Group  0 Pid 1 on h1 device  0 [0000:0f:00] Hand\n"
      "#  Rank  1 Group  0 Pid 2 on h1 device  1 [0000:1f:00] Hand\n"
      "# size count type redop root time algbw busbw #wrong #bitdiff time algbw busbw #wrong "
      "#bitdiff #iters\n"
      "  1048576 262144 float sum -1 50.00 20.97 20.97 0 7 40.00 26.21 26.21 0 0 20\n"
      "# Avg bus bandwidth    : 23.59\n";
  static const Setting  pair[] = { { "node", "hand-pair" }, END };
  g_autoptr (GPtrArray) rows = load_text (text, pair);

  ck_assert_uint_eq (rows->len, 2);
  check_row (rows, 0, COLLECTIVE_ALL_REDUCE, 1048576, 50, "out-of-place");
  check_row (rows, 1, COLLECTIVE_ALL_REDUCE, 1048576, 40, "in-place");
}
END_TEST

/*
 * 50 ms that claim to be 50 us: 1048576 bytes in 50 us are 20.97 GB/s, not 0.02; below 1 GB/s
 * digits are too few to tell.
 */
START_TEST (test_units)
{
  static const char     text[] = "# Collective test starting: all_reduce_perf\n"
                                 "#  Rank  0 Group  0 Pid 1 on h1 device  0 [0000:0f:00] Hand\n"
                                 "#  Rank  1 Group  0 Pid 2 on h1 device  1 [0000:1f:00] Hand\n"
                                 "# size count type redop root time algbw busbw #wrong\n"
                                 "  1024 256 float sum -1 0.05 0.02 0.02 0\n"
                                 "  1048576 262144 float sum -1 0.05 20.97 20.97 0\n"
                                 "# Avg bus bandwidth    : 10.5\n";
  static const Setting  pair[] = { { "node", "hand-pair" }, END };
  g_autofree char      *file = NULL, *said = NULL;
  gint                  fd = g_file_open_tmp ("shardsim-units-XXXXXX.log", &file, NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) rows = NULL;

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  rows = load (file, pair, COLLECTIVE_N_KINDS, diags);
  said = diag_list_format (diags, FALSE);
  g_unlink (file);
  ck_assert_ptr_nonnull (rows);
  ck_assert_msg (
      strstr (said, ":6:3: warning: 1048576 bytes in 0.05 us are not the row's 20.97 GB/s") != NULL,
      "%s", said);
  ck_assert_ptr_null (strstr (said, ":5:"));
}
END_TEST

/* A rank alone crosses no link: its rows are not taken, which leaves nothing here. */
START_TEST (test_one_rank)
{
  static const char     text[] = "# Collective test starting: all_reduce_perf\n"
                                 "#  Rank  0 Group  0 Pid 1 on node1 device  0 [0x0f] Hand\n"
                                 "# size count type redop root time algbw busbw #wrong\n"
                                 "  1048576 262144 float sum -1 5.00 209.72 0.00 0\n"
                                 "# Avg bus bandwidth    : 0\n";
  g_autofree char      *file = NULL, *said = NULL;
  gint                  fd = g_file_open_tmp ("shardsim-alone-XXXXXX.log", &file, NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) rows = NULL;

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  ck_assert (g_file_set_contents (file, text, -1, NULL));
  rows = load (file, hand, COLLECTIVE_N_KINDS, diags);
  said = diag_list_format (diags, FALSE);
  g_unlink (file);
  ck_assert_ptr_null (rows);
  ck_assert_msg (strstr (said, ":2:1: warning: a run of one rank measures launches") != NULL, "%s",
                 said);
  ck_assert_msg (strstr (said, "error: a log without a row that can be taken") != NULL, "%s", said);
}
END_TEST

/* ---- kinds of files -------------------------------------------------------------------------- */

static MeasurementFileKind
kind_of (const char *text)
{
  g_autofree char    *name = NULL;
  gint                fd = g_file_open_tmp ("shardsim-kind-XXXXXX", &name, NULL);
  MeasurementFileKind kind;

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  ck_assert (g_file_set_contents (name, text, -1, NULL));
  kind = measurement_file_kind (name);
  g_unlink (name);
  return kind;
}

START_TEST (test_kinds)
{
  ck_assert_int_eq (kind_of ("id,source,nodes,collective,bytes,time_us\n"), MEASUREMENT_FILE_TABLE);
  ck_assert_int_eq (kind_of ("\xEF\xBB\xBF\"collective\",bytes\n"), MEASUREMENT_FILE_TABLE);
  ck_assert_int_eq (kind_of ("format,host,date,device,driver,cuda,nccl,benchmark,variant\n1,h\n"),
                    MEASUREMENT_FILE_RESULTS);
  ck_assert_int_eq (kind_of ("a launcher\n[1,0]<stdout>:# nThread 1 nGpus 8\n"),
                    MEASUREMENT_FILE_LOG);
  ck_assert_int_eq (kind_of (" {\"version\":1}"), MEASUREMENT_FILE_JSON);
  ck_assert_int_eq (kind_of ("once upon a time\n"), MEASUREMENT_FILE_UNKNOWN);
  ck_assert_int_eq (kind_of ("numCycle,collective,gpus,size\n"), MEASUREMENT_FILE_UNKNOWN);
  ck_assert_int_eq (kind_of (""), MEASUREMENT_FILE_UNKNOWN);
  ck_assert_int_eq (measurement_file_kind ("/no/such/file"), MEASUREMENT_FILE_UNKNOWN);
}
END_TEST

/* Results of the runner are another command's: an error, not a table with unknown columns. */
START_TEST (test_results)
{
  g_autofree char      *name = NULL;
  gint                  fd = g_file_open_tmp ("shardsim-kind-XXXXXX", &name, NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) rows = NULL;

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  ck_assert (g_file_set_contents (name, "format,host,benchmark\n", -1, NULL));
  rows = load (name, NULL, COLLECTIVE_N_KINDS, diags);
  g_unlink (name);
  ck_assert_ptr_null (rows);
  ck_assert (strstr (diag_list_first_message (diags), "results of shardsim-bench") != NULL);
}
END_TEST

SUITE_MAIN (nccl_log)
{
  const TTest *const tests[] = {
    test_milliseconds, test_no_root,     test_several,       test_unchecked,     test_debug,
    test_launchers,    test_time_stamps, test_in_place_only, test_runner,        test_json,
    test_predicted,    test_one_rank,    test_units,         test_more_columns,  test_words,
    test_prefixes,     test_parts,       test_commands,      test_command_ranks, test_kind_of_rows,
    test_cut,          test_bad_cells,   test_bad_headers,   test_bad_ranks,     test_hardware,
    test_name,         test_kinds,       test_results,
  };
  Suite *suite = suite_create ("nccl-log");
  TCase *tcase = tcase_create ("logs");

  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    tcase_add_test (tcase, tests[i]);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
