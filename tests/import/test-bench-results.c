/* results.csv of the runner: what is read, and every mistake with its line and column. */
#include <check.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "../suite.h"
#include "bench/results.h"
#include "import/log/bench-results.h"

G_STATIC_ASSERT (BENCH_RESULTS_FORMAT == RESULTS_FORMAT);

#define HEADER                                                                                \
  "format,host,date,device,driver,cuda,nccl,benchmark,variant,dtype,bytes,m,n,k,batch,ranks," \
  "channels,repeats,value,low,high,unit,remark\n"
#define WHO  "1,example,2026-01-31,Example GPU,1.2,13.0,2.28.9,"
#define COPY WHO "host_copy,h2d.pinned,,4096,,,,,,,20,2.5,2.25,3,us,\n"

static char *
write_text (const char *text)
{
  char *name = NULL;
  gint  fd = g_file_open_tmp ("shardsim-results-XXXXXX.csv", &name, NULL);

  ck_assert_int_ge (fd, 0);
  g_close (fd, NULL);
  ck_assert (g_file_set_contents (name, text, -1, NULL));
  return name;
}

START_TEST (test_good)
{
  g_autofree char *a =
      write_text (HEADER COPY WHO "matmul,nn,bf16,,128,256,512,4,,,30,10,9,11,us,\"a, b\"\n");
  g_autofree char *b =
      write_text (HEADER "1,example,2026-02-01T10:11:12Z,Example GPU,1.2,13.0,2.28.9,"
                         "property,total_memory,,,,,,,,,1,1000,1000,1000,B,\n");
  const char              *files[] = { a, b, NULL };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (BenchResults) self = bench_results_load (files, diags);
  const BenchRow          *rows;

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  g_unlink (a);
  g_unlink (b);
  ck_assert_str_eq (self->device, "Example GPU");
  ck_assert_str_eq (self->host, "example");
  ck_assert_str_eq (self->nccl, "2.28.9");
  ck_assert_str_eq (self->first_date, "2026-01-31");
  ck_assert_str_eq (self->last_date, "2026-02-01");
  ck_assert_uint_eq (self->rows->len, 3);
  rows = (const BenchRow *) self->rows->data;
  ck_assert_str_eq (rows[0].variant, "h2d.pinned");
  ck_assert_uint_eq (rows[0].bytes, 4096);
  ck_assert_uint_eq (rows[0].repeats, 20);
  ck_assert_double_eq_tol (rows[0].value, 2.5e-6, 1e-18);
  ck_assert_double_eq_tol (rows[0].low, 2.25e-6, 1e-18);
  ck_assert_double_eq_tol (rows[0].high, 3e-6, 1e-18);
  ck_assert_uint_eq (rows[0].line, 2);
  ck_assert_str_eq (rows[1].dtype, "bf16");
  ck_assert_str_eq (rows[1].remark, "a, b");
  ck_assert_uint_eq (rows[1].m * rows[1].n * rows[1].k * rows[1].batch, 128 * 256 * 512 * 4);
  ck_assert_int_eq (rows[2].unit, BENCH_UNIT_BYTES);
  ck_assert_double_eq (rows[2].value, 1000);
}
END_TEST

/* A benchmark that uses no device names none. */
START_TEST (test_host_alone)
{
  g_autofree char *name =
      write_text (HEADER "1,example,2026-01-31,,,,,storage,read,,4096,,,,,,,9,5,4,6,us,\n" COPY);
  const char              *files[] = { name, NULL };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (BenchResults) self = bench_results_load (files, diags);

  g_unlink (name);
  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  ck_assert_str_eq (self->device, "Example GPU");
}
END_TEST

/* A difference of two times may be 0 or below. */
START_TEST (test_difference)
{
  g_autofree char *name = write_text (HEADER WHO "event,cross_stream,,,,,,,,,9,-0.5,-1,2,us,\n");
  const char      *files[] = { name, NULL };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (BenchResults) self = bench_results_load (files, diags);

  g_unlink (name);
  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  ck_assert_double_eq_tol (g_array_index (self->rows, BenchRow, 0).value, -5e-7, 1e-18);
}
END_TEST

/* What TEXT is refused with, the file's name left out: "LINE:COLUMN: message". */
static void
expect (const char *text, guint n_errors, const char *first)
{
  g_autofree char         *name = write_text (text);
  const char              *files[] = { name, NULL };
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (BenchResults) self = bench_results_load (files, diags);
  g_autofree char         *all = diag_list_format (diags, FALSE);
  const char              *line = strstr (all, name);

  g_unlink (name);
  ck_assert_ptr_null (self);
  ck_assert_msg (line != NULL, "%s", all);
  line += strlen (name) + 1;
  ck_assert_msg (g_str_has_prefix (line, first), "not '%s' but %s", first, all);
  ck_assert_msg (diag_list_n_errors (diags) == n_errors, "%s", all);
}

START_TEST (test_cells)
{
  expect (HEADER COPY WHO "host_copy,h2d.pinned,,4096,,,,,,,20,N/A,2,3,us,\n", 1,
          "3:86: error: expected a finite number for 'value', got 'N/A'");
  expect (HEADER WHO "host_copy,h2d.pinned,,4096,,,,,,,20,inf,2,3,us,\n", 1,
          "2:86: error: expected a finite number for 'value', got 'inf'");
  expect (HEADER WHO "host_copy,h2d.pinned,,4096,,,,,,,20,0,0,3,us,\n", 1,
          "2:88: error: expected a number above 0 for 'low', got '0'");
  expect (HEADER WHO "host_copy,h2d.pinned,,4096,,,,,,,20,5,2,3,us,\n", 1,
          "2:86: error: the median is not between");
  expect (HEADER WHO "host_copy,h2d.pinned,,4 KiB,,,,,,,20,2,2,3,us,\n", 1,
          "2:72: error: expected a whole number or nothing for 'bytes', got '4 KiB'");
  expect (HEADER WHO "host_copy,,,4096,,,,,,,20,2,2,3,ms,\n", 2,
          "2:60: error: no value for 'variant'");
  expect (HEADER "1,example,today,Example GPU,1.2,13.0,2.28.9,host_copy,d2h,,1,,,,,,,1,1,1,1,us,\n",
          1, "2:11: error: expected a date such as '2026-01-31', got 'today'");
}
END_TEST

START_TEST (test_cut)
{
  expect (HEADER COPY WHO "host_copy,h2d.pinned,,40", 1, "3:72: error: expected 23 fields, got 11");
  expect (HEADER COPY WHO "host_copy,h2d.pinned,,4096,,,,,,,20,2.5,2.25,3,us,", 1,
          "3:100: error: the file was cut in the middle of this line");
  expect (HEADER, 1, " error: a header without measurements");
  expect ("format,host", 21, "1: error: missing column 'date'");
}
END_TEST

START_TEST (test_release)
{
  expect (HEADER
          "2,example,2026-01-31,Example GPU,1.2,13.0,2.28.9,host_copy,d2h,,1,,,,,,,1,1,1,1,ns,\n",
          1, "2:1: error: format '2' is of another release: this one reads 1");
  expect (
      "format,host,date,device,driver,cuda,nccl,benchmark,variant,dtype,bytes,m,n,k,batch,ranks,"
      "channels,repeats,value,low,high,unit,remarks\n",
      2, "1: error: missing column 'remark'");
}
END_TEST

/* Each of what names the machine once. */
START_TEST (test_mixed)
{
  expect (HEADER COPY
          "1,other,2026-01-31,Example GPU,1.3,13.0,2.28.9,host_copy,d2h,,1,,,,,,,1,1,1,1,us,\n"
          "1,other,2026-01-31,Example GPU,1.3,13.0,2.28.9,host_copy,d2h,,1,,,,,,,1,1,1,1,us,\n",
          2, "3:3: error: 'host' is 'other' here and 'example' in line 2");
}
END_TEST

/* A time counts once, what the driver says and another day's time as often as it is there. */
START_TEST (test_repeated)
{
  const char          *memory = WHO "property,total_memory,,,,,,,,,1,1000,1000,1000,B,\n";
  const char          *later = "1,example,2026-02-01,Example "
                               "GPU,1.2,13.0,2.28.9,host_copy,h2d.pinned,,4096,,,,,,,20,2.5,2.25,3,"
                               "us,\n";
  g_autofree char     *text = g_strconcat (HEADER, COPY, memory, COPY, memory, later, COPY, NULL);
  g_autofree char     *name = write_text (text);
  const char          *files[] = { name, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (BenchResults) self = bench_results_load (files, diags);
  g_autofree char         *all = diag_list_format (diags, FALSE);

  g_unlink (name);
  ck_assert_msg (self != NULL, "%s", all);
  ck_assert_uint_eq (self->rows->len, 4);
  ck_assert_uint_eq (g_array_index (self->rows, BenchRow, 3).line, 6);
  ck_assert_msg (
      strstr (all, ":4: warning: 2 measurements are there already, this one in line 2 of") != NULL,
      "%s", all);
}
END_TEST

/* Files that were joined, or are none of the runner's. */
START_TEST (test_joined)
{
  expect (HEADER COPY HEADER COPY, 1, "3:1: error: a second header: were files joined?");
  expect ("format;host;date\n1;a;b\n", 1, "1:1: error: no results of shardsim-bench");
}
END_TEST

START_TEST (test_files)
{
  g_autofree char     *name = write_text (HEADER COPY);
  g_autofree char     *alias = g_strconcat (name, ".link", NULL);
  const char          *twice[] = { name, alias, NULL }, *absent[] = { "absent.csv", NULL };
  g_autoptr (DiagList) diags = diag_list_new (), other = diag_list_new ();

  ck_assert_int_eq (symlink (name, alias), 0);

  ck_assert_ptr_null (bench_results_load (twice, diags));
  ck_assert (g_str_has_suffix (diag_list_first_message (diags), "is given twice"));
  ck_assert_ptr_null (bench_results_load (absent, other));
  ck_assert_str_eq (diag_list_first_message (other),
                    "cannot read 'absent.csv': No such file or directory");
  g_unlink (alias);
  g_unlink (name);
}
END_TEST

SUITE_MAIN (bench_results)
{
  Suite *suite = suite_create ("bench-results");
  TCase *tcase = tcase_create ("all");

  suite_add_tcase (suite, tcase);
  tcase_add_test (tcase, test_good);
  tcase_add_test (tcase, test_host_alone);
  tcase_add_test (tcase, test_difference);
  tcase_add_test (tcase, test_cells);
  tcase_add_test (tcase, test_cut);
  tcase_add_test (tcase, test_release);
  tcase_add_test (tcase, test_mixed);
  tcase_add_test (tcase, test_repeated);
  tcase_add_test (tcase, test_joined);
  tcase_add_test (tcase, test_files);
  return suite_run (suite);
}
