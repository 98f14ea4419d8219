/*
 * What pictures are drawn from: fronts, ideals, cells and rooflines, worked by hand or against the
 * replay. How they look is for tests/pictures.
 */
#include "../replay/fixture.h"
#include "../suite.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/file/layout.h"
#include "predict/roofline.h"
#include "report/plot/plot-private.h"

static PlotScripts scripts;
static GArray     *pictures;

static void
set_up (void)
{
  g_autofree char *style = layout_data_file ("plots/style.gp");

  ck_assert (plot_scripts_read (&scripts, style, NULL));
  pictures = gnuplot_pictures_new ();
}

static void
tear_down (void)
{
  plot_scripts_clear (&scripts);
  g_clear_pointer (&pictures, g_array_unref);
}

static const GnuplotPicture *
picture (guint i)
{
  ck_assert_uint_lt (i, pictures->len);
  return &g_array_index (pictures, GnuplotPicture, i);
}

/* Block BLOCK of picture I's data. Newly allocated. */
static char *
block_of (guint i, guint block)
{
  g_auto (GStrv) blocks = g_strsplit (picture (i)->data, "\n\n\n", -1);

  ck_assert_uint_lt (block, g_strv_length (blocks));
  return g_strdup (blocks[block]);
}

static GArray *
points_of (const PlotPoint *points, guint n)
{
  GArray *array = g_array_new (FALSE, FALSE, sizeof (PlotPoint));

  return g_array_append_vals (array, points, n);
}

/* Less x and more y are better; the first of equals counts, and what does not fit never does. */
START_TEST (test_pareto)
{
  static const PlotPoint points[] = {
    { 5, 6, "e", NULL, TRUE },         { 3, 2, "c", NULL, TRUE },  { 2, 3, "b", NULL, TRUE },
    { 1, 1, "a", NULL, TRUE },         { 2, 3, "b2", NULL, TRUE }, { 2, 2.5, "d", NULL, TRUE },
    { 0.5, 9, "misfit", NULL, FALSE },
  };
  g_autoptr (GArray) all = points_of (points, G_N_ELEMENTS (points));
  g_autofree char   *behind = NULL, *misfit = NULL, *front = NULL;

  ck_assert (plot_add_pareto (pictures, &scripts, "pareto", "title", "x", "y", all, NULL));
  behind = block_of (0, 0);
  misfit = block_of (0, 1);
  front = block_of (0, 2);
  ck_assert_str_eq (behind, "# x y number name\n3 2 \"c\" \n2 3 \"b2\" \n2 2.5 \"d\" ");
  ck_assert_str_eq (misfit, "0.5 9 \"misfit\" ");
  ck_assert_str_eq (front, "1 1 1 \"a\" \n2 3 2 \"b\" \n5 6 3 \"e\" ");
  ck_assert_ptr_nonnull (strstr (picture (0)->script, "set label 3 '3  e' at graph"));
}
END_TEST

/* Nothing fits: still a picture, without a front. */
START_TEST (test_pareto_none)
{
  static const PlotPoint points[] = { { 1, 1, "a", NULL, FALSE } };
  g_autoptr (GArray)     all = points_of (points, 1);
  g_auto (GStrv)         svgs = NULL;
  g_autofree char       *gnuplot = g_find_program_in_path ("gnuplot");

  ck_assert (plot_add_pareto (pictures, &scripts, "pareto", "it's", "x", "y", all, NULL));
  if (gnuplot == NULL)
    return;
  svgs = gnuplot_draw_svgs (picture (0), 1, NULL);
  ck_assert_ptr_nonnull (svgs);
  ck_assert_ptr_nonnull (strstr (svgs[0], "it's"));
}
END_TEST

/* The ideal of a series goes through its first point. */
START_TEST (test_scaling)
{
  static const PlotPoint points[] = {
    { 2, 10, NULL, "a", TRUE }, { 4, 18, NULL, "a", TRUE },  { 4, 7, NULL, "b", TRUE },
    { 8, 30, NULL, "a", TRUE }, { 16, 21, NULL, "b", TRUE },
  };
  g_autoptr (GArray) all = points_of (points, G_N_ELEMENTS (points));
  g_autofree char   *a = NULL, *b = NULL;

  ck_assert (plot_add_scaling (pictures, &scripts, "scaling", "title", "x", "y", all, NULL));
  a = block_of (0, 0);
  b = block_of (0, 1);
  ck_assert_str_eq (a, "# x y y_if_in_step_with_x\n2 10 10 \n4 18 20 \n8 30 40 ");
  ck_assert_str_eq (b, "4 7 7 \n16 21 28 ");
  ck_assert_ptr_nonnull (strstr (picture (0)->script, "array series[2] = ['a', 'b']"));
}
END_TEST

START_TEST (test_heat_map)
{
  static const char *const columns[] = { "a", "b", NULL }, *const rows[] = { "r", "s", NULL };
  const double      values[] = { 1, 23456.7, NAN, 0.5 };
  const char *const words[] = { "not said", NULL, "too big", NULL };
  const double      nothing[] = { NAN, NAN, NAN, NAN };
  const PlotMatrix  none = { "title", "x", "y", "z", columns, rows, nothing, words };
  const PlotMatrix  plain = { "title", "x", "y", "z", columns, rows, values, NULL };
  const PlotMatrix  matrix = { "title", "x", "y", "z", columns, rows, values, words };

  ck_assert (plot_add_heat_map (pictures, &scripts, "map", &matrix, NULL));
  ck_assert (plot_add_heat_map (pictures, &scripts, "plain", &plain, NULL));
  ck_assert_ptr_nonnull (strstr (picture (1)->data, "0 1 nan \"\" 0\n"));
  ck_assert (plot_add_heat_map (pictures, &scripts, "none", &none, NULL));
  ck_assert_ptr_nonnull (strstr (picture (2)->script, "least = 0 \nmost = 1 \n"));
  ck_assert_str_eq (picture (0)->data,
                    "# x y value text words\n0 0 1 \"1\" 0\n1 0 23456.7 \"23457\" 0\n"
                    "0 1 nan \"too big\" 1\n1 1 0.5 \"0.5\" 0\n");
  ck_assert_ptr_nonnull (strstr (picture (0)->script, "least = 0.5 \nmost = 23456.7 \n"));
  ck_assert_ptr_nonnull (strstr (picture (0)->script, "set ytics ('r' 0, 's' 1)"));
}
END_TEST

/* Names keep both ends, whole characters, and nothing that ends a string. */
START_TEST (test_names)
{
  static const struct
  {
    const char *given;
    glong       most;
    const char *plain;
  } cases[] = {
    { "", 72, "" },
    { "abc", 72, "abc" },
    { "0123456789", 10, "0123456789" },
    { "0123456789a", 10, "012...789a" },
    { "0123456789", 5, "0...9" },
    { "\303\244\303\266\303\274\303\237\342\202\254\303\245x", 6, "\303\244...\303\245x" },
    { "a\"b\\c\nd", 72, "a b c d" },
    { "\377", 72, "\357\277\275" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *plain = gnuplot_plain_text (cases[i].given, cases[i].most);

      ck_assert_str_eq (plain, cases[i].plain);
    }
}
END_TEST

/* A script that is missing is an error, and adds no picture. */
START_TEST (test_no_script)
{
  g_autoptr (GError) error = NULL;

  ck_assert (!plot_add (pictures, &scripts, "name", "absent", g_string_new (NULL),
                        g_string_new (NULL), 100, 100, &error));
  ck_assert (g_error_matches (error, G_FILE_ERROR, G_FILE_ERROR_NOENT));
  ck_assert_uint_eq (pictures->len, 0);
}
END_TEST

static Replay *
one_gpu (ProfileSet *profiles, const char *granularity)
{
  g_autoptr (Scenario) scenario =
      fixture_scenario ("cluster.node", "dgx-h100", "cluster.nodes", "1", "cluster.gpus_per_node",
                        "1", "model.config", "gpt2-xl", "training.seq_len", "512", "strategy.name",
                        "ddp", "replay.granularity", granularity, NULL);
  const ReplayOptions  options = { .keep_pools = TRUE };
  g_autoptr (DiagList) diags = diag_list_new ();
  Replay              *replay = replay_run (scenario, profiles, &options, diags, NULL);

  ck_assert_msg (replay != NULL, "%s", diag_list_first_message (diags));
  return replay;
}

/*
 * No kernel is above the roof; and where nothing else is on the GPU, they take the time that its
 * stream computes.
 */
START_TEST (test_roofline)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = one_gpu (profiles, "pass");
  g_autoptr (Roofline)   roofline = roofline_new (replay);
  g_autoptr (Timeline)   timeline = timeline_new (replay, 1, 1000000);
  double                 seconds = 0, computed = 0;

  ck_assert_str_eq (roofline->gpu, "h100-sxm-80");
  for (guint i = 0; i < roofline->kernels->len; i++)
    {
      const RooflineKernel *kernel = &g_array_index (roofline->kernels, RooflineKernel, i);

      seconds += kernel->seconds;
      ck_assert_double_le (kernel->flops / kernel->seconds, roofline->flops);
      ck_assert_double_le (kernel->bytes / kernel->seconds, roofline->bandwidth);
      if (i > 0)
        ck_assert_double_le (kernel->seconds, kernel[-1].seconds);
    }
  for (guint i = 0; i < timeline->slices->len; i++)
    {
      const TimelineSlice *slice = &g_array_index (timeline->slices, TimelineSlice, i);

      if (g_str_equal (g_array_index (timeline->lanes, TimelineLane, slice->lane).name, "compute"))
        computed += (double) slice->duration / 1e12;
    }
  ck_assert_double_eq_tol (seconds, computed, 1e-3 * computed);
}
END_TEST

/* Sums the boxes of picture I's part PART: seconds. */
static double
box_seconds (guint i, guint part)
{
  g_autofree char *block = block_of (i, part);
  g_auto (GStrv)   lines = g_strsplit (block, "\n", -1);
  double           sum = 0;

  for (guint l = 0; lines[l] != NULL; l++)
    {
      double begin, end;

      if (sscanf (lines[l], "%lf %lf", &begin, &end) == 2 && begin >= 0)
        sum += end - begin;
    }
  return sum;
}

/* Boxes that are drawn as one hide no more than gaps of a pixel; a layer is named and whole. */
START_TEST (test_streams)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = one_gpu (profiles, "kernel");
  g_autoptr (Timeline)   timeline = timeline_new (replay, 1, 1000000);
  double                 length = (double) timeline->length / 1e12, computed = 0;

  for (guint i = 0; i < timeline->slices->len; i++)
    {
      const TimelineSlice *slice = &g_array_index (timeline->slices, TimelineSlice, i);

      if (slice->part == TIME_COMPUTE)
        computed += (double) slice->duration / 1e12;
    }
  ck_assert (plot_add_streams (pictures, &scripts, timeline, "title", NULL));
  ck_assert (plot_add_memory (pictures, &scripts, timeline, "title", NULL));
  ck_assert_uint_eq (pictures->len, 4);
  ck_assert_str_eq (picture (0)->name, "stream-timeline");
  ck_assert_str_eq (picture (1)->name, "layer-forward");
  ck_assert_str_eq (picture (2)->name, "layer-backward");
  ck_assert_str_eq (picture (3)->name, "memory-timeline");
  ck_assert_ptr_nonnull (strstr (picture (0)->script, "['model kernels', "));
  ck_assert_double_ge (box_seconds (0, 0), computed);
  ck_assert_double_le (box_seconds (0, 0), length);
  ck_assert_ptr_nonnull (strstr (picture (1)->data, "\"flash_fwd\""));
  ck_assert_ptr_nonnull (strstr (picture (2)->data, "\"flash_bwd\""));
  ck_assert_ptr_null (strstr (picture (1)->data, "flash_bwd"));
}
END_TEST

/* Kernels of several layers that are one op: no layer by itself. */
START_TEST (test_no_layer)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = one_gpu (profiles, "pass");
  g_autoptr (Timeline)   timeline = timeline_new (replay, 1, 1000000);

  ck_assert (plot_add_streams (pictures, &scripts, timeline, "title", NULL));
  ck_assert_uint_eq (pictures->len, 1);
}
END_TEST

/* Names from files reach gnuplot as texts: nothing in them is run, and each picture is drawn. */
START_TEST (test_hostile)
{
  g_autofree char   *folder = g_dir_make_tmp ("shardsim-plots-XXXXXX", NULL);
  g_autofree char   *canary = g_build_filename (folder, "canary", NULL);
  g_autofree char   *name = g_strdup_printf ("x\" `touch %s` '.system('touch %s').'\n!touch %s\n"
                                               "\\ @data {/=99 y}",
                                             canary, canary, canary);
  const char *const  names[] = { name, "b", NULL };
  const char *const  words[] = { name, name, name, name };
  const double       values[] = { 1, 2, 3, NAN };
  const PlotMatrix   matrix = { name, name, name, name, names, names, values, words };
  const PlotPoint    points[] = { { 1, 1, name, name, TRUE }, { 2, 2, name, name, TRUE } };
  g_autoptr (GArray) all = points_of (points, G_N_ELEMENTS (points));
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = one_gpu (profiles, "kernel");
  g_autoptr (Roofline)   roofline = roofline_new (replay);
  g_autoptr (Timeline)   timeline = timeline_new (replay, 1, 1000000);
  g_autofree char       *gnuplot = g_find_program_in_path ("gnuplot");
  g_auto (GStrv)         svgs = NULL;
  g_autoptr (GError)     error = NULL;

  for (guint i = 0; i < timeline->labels->len; i++)
    {
      g_free (timeline->labels->pdata[i]);
      timeline->labels->pdata[i] = g_strdup (name);
    }
  ck_assert (plot_add_pareto (pictures, &scripts, "a", name, name, name, all, NULL)
             && plot_add_scaling (pictures, &scripts, "b", name, name, name, all, NULL)
             && plot_add_heat_map (pictures, &scripts, "c", &matrix, NULL)
             && plot_add_roofline (pictures, &scripts, roofline, name, NULL)
             && plot_add_streams (pictures, &scripts, timeline, name, NULL)
             && plot_add_memory (pictures, &scripts, timeline, name, NULL));
  ck_assert_uint_eq (pictures->len, 8);
  if (gnuplot != NULL)
    {
      svgs = gnuplot_draw_svgs (picture (0), pictures->len, &error);
      ck_assert_msg (svgs != NULL, "%s", error != NULL ? error->message : "");
    }
  ck_assert (!g_file_test (canary, G_FILE_TEST_EXISTS));
  ck_assert_int_eq (g_rmdir (folder), 0);
}
END_TEST

SUITE_MAIN (plots)
{
  Suite *suite = suite_create ("plots");
  TCase *tests = tcase_create ("plots");

  tcase_add_checked_fixture (tests, set_up, tear_down);
  tcase_add_test (tests, test_pareto);
  tcase_add_test (tests, test_pareto_none);
  tcase_add_test (tests, test_scaling);
  tcase_add_test (tests, test_heat_map);
  tcase_add_test (tests, test_names);
  tcase_add_test (tests, test_no_script);
  tcase_add_test (tests, test_roofline);
  tcase_add_test (tests, test_streams);
  tcase_add_test (tests, test_no_layer);
  tcase_add_test (tests, test_hostile);
  suite_add_tcase (suite, tests);
  return fixture_main (suite);
}
