/*
 * Which published runs count as like a scenario, and what their errors come to, by hand on a table
 * of seven lines. Says nothing about the shipped table, which tests/validation holds.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <string.h>

#include "../suite.h"
#include "predict/track-record.h"

#define TABLE                                                    \
  "id,generation,gpu,framework,strategy,nodes,precision,error\n" \
  "a-1,hopper,h100,titan,fsdp2,1,16 bits,+0.01\n"                \
  "a-2,hopper,h100,titan,fsdp2,1,16 bits,-0.02\n"                \
  "a-3,hopper,h100,titan,fsdp2,1,16 bits,+0.03\n"                \
  "a-4,hopper,h100,titan,fsdp2,1,16 bits,-0.04\n"                \
  "a-5,hopper,h200,titan,fsdp2,1,16 bits,+0.05\n"                \
  "a-6,hopper,h100,titan,fsdp2,2,16 bits,+0.20\n"                \
  "a-7,hopper,h100,core,zero1,8,fp8,-0.40\n"

static TrackRecord
find (TrackQuery query)
{
  g_autofree char *folder = g_dir_make_tmp ("shardsim-record-XXXXXX", NULL);
  g_autofree char *file = g_build_filename (folder, "record.csv", NULL);
  TrackRecord      record;

  ck_assert (g_file_set_contents (file, TABLE, -1, NULL));
  ck_assert (track_record_find (&record, &query, file));
  g_unlink (file);
  g_rmdir (folder);
  return record;
}

static void
check (TrackQuery query, guint n, double median, double p90, const char *alike)
{
  TrackRecord record = find (query);

  ck_assert_uint_eq (record.n, n);
  ck_assert_double_eq_tol (record.median, median, 1e-12);
  ck_assert_double_eq_tol (record.p90, p90, 1e-12);
  ck_assert_str_eq (record.alike, alike);
  track_record_clear (&record);
}

/* Five lines are alike: |errors| of 1 to 5 %, place 3.6 of which is 4.6 %. */
START_TEST (test_alike)
{
  check ((TrackQuery){ "hopper", "h100", "titan", "fsdp2", "16 bits", 1 }, 5, 0.03, 0.046,
         "hopper, fsdp2, 1 node, 16 bits");
}
END_TEST

/* On 4 nodes there is one line: those on any number are six, place 4.5 of which is 12.5 %. */
START_TEST (test_nodes_left_open)
{
  check ((TrackQuery){ "hopper", "h100", "titan", "fsdp2", "16 bits", 4 }, 6, 0.035, 0.125,
         "hopper, fsdp2, 16 bits");
}
END_TEST

/* Another strategy on one node counts with those on one node. */
START_TEST (test_strategy_left_open)
{
  check ((TrackQuery){ "hopper", "h100", "titan", "ddp", "16 bits", 1 }, 5, 0.03, 0.046,
         "hopper, 1 node, 16 bits");
}
END_TEST

/* One line of fp8 is too few: all of the generation, place 5.4 of which is 28 %. */
START_TEST (test_generation)
{
  check ((TrackQuery){ "hopper", "h100", "core", "zero1", "fp8", 8 }, 7, 0.04, 0.28, "hopper");
}
END_TEST

START_TEST (test_unseen)
{
  TrackRecord other = find ((TrackQuery){ "cdna4", "mi355x", "titan", "fsdp2", "16 bits", 1 });
  TrackRecord gpu = find ((TrackQuery){ "hopper", "h20", "max", "fsdp2", "16 bits", 1 });
  TrackRecord seen = find ((TrackQuery){ "hopper", "h200", NULL, "fsdp2", "16 bits", 1 });

  ck_assert_uint_eq (other.n, 0);
  ck_assert_ptr_null (other.alike);
  ck_assert (!other.gpu && other.framework);
  ck_assert (!gpu.gpu && !gpu.framework);
  ck_assert_uint_eq (gpu.n, 5);
  ck_assert (seen.gpu && seen.framework);
  track_record_clear (&gpu);
  track_record_clear (&seen);
}
END_TEST

START_TEST (test_no_table)
{
  TrackRecord      record;
  const TrackQuery query = { "hopper", "h100", NULL, "fsdp2", "16 bits", 1 };

  ck_assert (!track_record_find (&record, &query, "/nonexistent/record.csv"));
}
END_TEST

SUITE_MAIN (track_record)
{
  Suite *suite = suite_create ("track-record");
  TCase *tests = tcase_create ("track-record");

  tcase_add_test (tests, test_alike);
  tcase_add_test (tests, test_nodes_left_open);
  tcase_add_test (tests, test_strategy_left_open);
  tcase_add_test (tests, test_generation);
  tcase_add_test (tests, test_unseen);
  tcase_add_test (tests, test_no_table);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
