/*
 * Pages: what names hold does not become markup, nothing is asked of the network, ids are unique
 * and lead somewhere, tables say what the CSV says, the timeline is the replay's. How a page looks
 * and acts in a browser is for tests/html.
 */
#include "../replay/fixture.h"
#include "../suite.h"

#include <glib/gstdio.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "base/config/csv.h"
#include "base/file/layout.h"
#include "decide/explore/advice.h"
#include "report/answer/run-plan.h"
#include "report/answer/search.h"
#include "report/answer/sweep.h"
#include "report/document/html.h"
#include "report/document/page.h"
#include "report/prediction/report.h"
#include "report/regress/regress.h"

static char *folder, *file, *style;

static void
set_up (void)
{
  folder = g_dir_make_tmp ("shardsim-html-XXXXXX", NULL);
  file = g_build_filename (folder, "page.html", NULL);
  style = layout_data_file ("plots/style.gp");
}

static void
tear_down (void)
{
  g_unlink (file);
  g_rmdir (folder); /* nothing else is left in it: test_write */
  g_free (folder);
  g_free (file);
  g_free (style);
}

/* What PAGE is written as. */
static char *
written (const HtmlPage *page)
{
  g_autoptr (GError) error = NULL;
  char              *text;

  ck_assert_msg (html_page_write (page, file, &error), "%s", error != NULL ? error->message : "");
  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  return text;
}

static guint
count (const char *text, const char *word)
{
  guint n = 0;

  for (const char *at = text; (at = strstr (at, word)) != NULL; at += strlen (word))
    n++;
  return n;
}

/* Two nodes, copies to the host, several streams. */
static Prediction *
predict_one (const char *name, Replay **replay, ProfileSet **profiles)
{
  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.name", "2 x a40x8-nvlink-pairs", "model.config", "gpt2-xl", "training.seq_len",
      "256", "training.grad_accum", "2", "strategy.name", "fcdp", NULL);
  PredictOptions       options = { .replay = { .keep_pools = TRUE } };
  g_autoptr (DiagList) diags = diag_list_new ();
  Prediction          *prediction =
      replay != NULL ? predict_with_replay (scenario, &options, replay, profiles, diags, NULL)
                              : predict (scenario, &options, diags, NULL);

  ck_assert_ptr_nonnull (prediction);
  g_free (prediction->scenario);
  prediction->scenario = g_strdup (name);
  return prediction;
}

/* ---- the page -------------------------------------------------------------------------------- */

#define HOSTILE "</script><script>alert(1)</script><!-- \"'&\x1b\xff ]]>"

START_TEST (test_escaped)
{
  static const HtmlColumn columns[] = { { HOSTILE, FALSE }, { HOSTILE, TRUE } };
  g_autoptr (HtmlPage)    page = html_page_new (HOSTILE);
  HtmlTable              *table = html_table_new (columns, 2);
  g_autofree char        *text = NULL;
  GString                *csv = g_string_new ("a,b\n");

  html_table_add_text (table, HOSTILE);
  html_table_add_either (table, HOSTILE);
  html_page_add_verdict (page, HTML_BAD, HOSTILE);
  html_page_add_section (page, HOSTILE);
  html_page_add_subheading (page, HOSTILE);
  html_page_begin_fold (page, HOSTILE);
  html_page_add_text (page, "%s", HOSTILE);
  html_page_add_lines (page, HOSTILE);
  html_page_add_copyable (page, HOSTILE);
  html_page_add_fact (page, "tiles", HOSTILE, HOSTILE, HOSTILE);
  html_page_add_fact (page, "facts", HOSTILE, HOSTILE, HOSTILE);
  html_page_take_table (page, table);
  for (guint i = 0; i < 2; i++)
    csv_append_row (csv, (const char *const[]){ HOSTILE, "1" }, 2);
  html_page_add_csv (page, csv->str);
  html_page_add_svg (page, "<svg width=\"1\" height=\"1\"></svg>", HOSTILE);
  text = written (page);
  ck_assert_ptr_null (strstr (text, "alert(1)</script>"));
  ck_assert_ptr_null (strstr (text, "<!--"));
  ck_assert_uint_eq (count (text, "<script"), 1);
  ck_assert_uint_eq (count (text, "</script>"), 1);
  ck_assert_uint_eq (count (text, "alert(1)"), 23);
  ck_assert (g_utf8_validate (text, -1, NULL));
  g_string_free (csv, TRUE);
}
END_TEST

/* Sections and what is folded end where the next one begins, and at the end. */
START_TEST (test_nested)
{
  g_autoptr (HtmlPage) page = html_page_new ("nested");
  g_autofree char     *text = NULL;

  html_page_begin_fold (page, "before");
  html_page_add_section (page, "one");
  html_page_begin_fold (page, "first");
  html_page_begin_fold (page, "second");
  html_page_add_section (page, "two");
  html_page_begin_fold (page, "third");
  text = written (page);
  ck_assert_uint_eq (count (text, "<section"), 2);
  ck_assert_uint_eq (count (text, "</section>"), 2);
  ck_assert_uint_eq (count (text, "<details>"), 4);
  ck_assert_uint_eq (count (text, "</details>"), 4);
  ck_assert_ptr_nonnull (strstr (text, "</details>\n</section>\n<section id=\"s2\">"));
  ck_assert_ptr_nonnull (strstr (text, "<a href=\"#s2\">two</a>"));
}
END_TEST

/* Cells that sort as numbers say which; a row by itself stands upright. */
START_TEST (test_csv)
{
  g_autoptr (HtmlPage) page = html_page_new ("csv");
  g_autofree char     *text = NULL;

  html_page_add_csv (page, "name,step_ms,of\nb,1e-3,x\na,,2 s\n");
  html_page_add_csv (page, "only,row\nhere,7\n");
  html_page_add_csv (page, "no,rows\n");
  text = written (page);
  ck_assert_ptr_nonnull (strstr (text, "<tr class=\"plain\"><td>b</td><td class=\"right\" "
                                       "data-value=\"0.001\">1e-3</td><td>x</td></tr>"));
  ck_assert_ptr_nonnull (strstr (text, "<td>a</td><td></td><td>2 s</td>"));
  ck_assert_ptr_nonnull (strstr (text, "<td>only</td><td>here</td></tr>\n"
                                       "<tr class=\"plain\"><td>row</td><td>7</td>"));
  ck_assert_ptr_nonnull (strstr (text, "<th scope=\"col\">no</th><th scope=\"col\">rows</th>"));
}
END_TEST

/* Two pictures on a page have names of their own, and colours that the page may replace. */
START_TEST (test_svg)
{
  static const char    svg[] = "<?xml version=\"1.0\"?>\n<svg \n width=\"640\" height=\"480\"\n"
                               "><title>Gnuplot</title>\n<desc>Produced by GNUPLOT 5.4 </desc>\n"
                               "<circle id='gpDot'/><use xlink:href='#gpDot'/><g fill=\"url(#f)\" "
                               "color=\"black\" stroke='rgb( 51,  34, 136)'/></svg>";
  g_autoptr (HtmlPage) page = html_page_new ("pictures");
  g_autofree char     *text = NULL;

  html_page_add_svg (page, svg, "first");
  html_page_add_svg (page, svg, "second");
  text = written (page);
  ck_assert_uint_eq (count (text, "id='p1-gpDot'"), 1);
  ck_assert_uint_eq (count (text, "href='#p2-gpDot'"), 1);
  ck_assert_uint_eq (count (text, "url(#p2-f)"), 1);
  ck_assert_uint_eq (count (text, "stroke='var(--c-332288, #332288)'"), 2);
  ck_assert_uint_eq (count (text, "color=\"var(--c-000000, #000000)\""), 2);
  ck_assert_ptr_null (strstr (text, "Gnuplot"));
  ck_assert_ptr_null (strstr (text, "<?xml"));
}
END_TEST

/* A file that cannot be written is an error, and nothing is left behind. */
START_TEST (test_write)
{
  g_autoptr (HtmlPage) page = html_page_new ("nowhere");
  g_autofree char     *absent = g_build_filename (folder, "absent", "page.html", NULL);
  g_autoptr (GError)   error = NULL;
  g_autoptr (GDir)     handle = NULL;

  ck_assert (!html_page_write (page, absent, &error));
  ck_assert_ptr_nonnull (error);
  g_free (written (page));
  handle = g_dir_open (folder, 0, NULL);
  ck_assert_str_eq (g_dir_read_name (handle), "page.html");
  ck_assert_ptr_null (g_dir_read_name (handle));
}
END_TEST

/* ---- timelines ------------------------------------------------------------------------------- */

/* Slices lie in the period, in order, none over another, and the compute stream's are its ops. */
START_TEST (test_timeline)
{
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Replay)     replay = NULL;
  g_autoptr (Prediction) p = predict_one ("one", &replay, &profiles);
  g_autoptr (Timeline)   timeline = timeline_new (replay, 1, 100000);
  const Engine          *engine = replay_engine (replay);
  guint                  last = replay_n_boundaries (replay) - 1, n_compute = 0, n_shown = 0;
  SimTime                computed = 0, shown = 0;

  ck_assert_uint_eq (timeline->ranks->len, 1);
  ck_assert_uint_eq (timeline->length, replay_period (replay));
  ck_assert_double_eq_tol (p->step_time_s, (double) timeline->length / 1e12, 1e-12);
  ck_assert_uint_eq (timeline->n_left_out, replay_n_ranks (replay) - 1);
  for (guint i = 0; i < timeline->slices->len; i++)
    {
      const TimelineSlice *slice = &g_array_index (timeline->slices, TimelineSlice, i);
      const TimelineLane  *lane = &g_array_index (timeline->lanes, TimelineLane, slice->lane);

      ck_assert_uint_gt (slice->duration, 0);
      ck_assert_uint_le (slice->begin + slice->duration, timeline->length);
      if (i > 0 && slice[-1].lane == slice->lane)
        ck_assert_uint_ge (slice->begin, slice[-1].begin + slice[-1].duration);
      else if (i > 0)
        ck_assert_uint_eq (slice[-1].lane + 1, slice->lane);
      if (g_str_equal (lane->name, "compute"))
        {
          n_shown++;
          shown += slice->duration;
        }
    }
  for (OpId id = 0; id < engine_n_ops (engine); id++)
    {
      const OpRecord *record = engine_op_record (engine, id);
      ReplayOp        op = replay_op (replay, id);
      SimTime         begin = MAX (record->begin, replay_boundary (replay, last - 1));
      SimTime         end = MIN (record->end, replay_boundary (replay, last));

      if (op.rank == 0 && op.item->stream == SCHEDULE_COMPUTE && begin < end)
        {
          n_compute++;
          computed += end - begin;
        }
    }
  ck_assert_uint_gt (n_compute, 100);
  ck_assert_uint_eq (n_compute, n_shown);
  ck_assert_uint_eq (computed, shown);
}
END_TEST

static guint64
level_sum (const GArray *levels, guint i)
{
  const TimelineLevel *level = &g_array_index (levels, TimelineLevel, i);
  guint64              sum = 0;

  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    sum += level->bytes[c];
  return sum;
}

/* Levels begin with the period and reach the peak without what the allocator caches. */
START_TEST (test_timeline_memory)
{
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Replay)     replay = NULL;
  g_autoptr (Prediction) p = predict_one ("one", &replay, &profiles);
  g_autoptr (Timeline)   timeline = timeline_new (replay, 1, 100000);
  g_autoptr (GArray)     thin = timeline_thin_memory (timeline, 50);
  guint64                most = 0, thin_most = 0;

  ck_assert_uint_eq (timeline->capacity, p->hbm.capacity);
  ck_assert_uint_gt (timeline->memory->len, 200);
  ck_assert_uint_le (thin->len, 53);
  ck_assert_uint_eq (g_array_index (timeline->memory, TimelineLevel, 0).time, 0);
  for (guint i = 0; i < timeline->memory->len; i++)
    {
      most = MAX (most, level_sum (timeline->memory, i));
      if (i > 0)
        ck_assert_uint_gt (g_array_index (timeline->memory, TimelineLevel, i).time,
                           g_array_index (timeline->memory, TimelineLevel, i - 1).time);
    }
  for (guint i = 0; i < thin->len; i++)
    thin_most = MAX (thin_most, level_sum (thin, i));
  ck_assert_uint_eq (most, thin_most);
  ck_assert_uint_le (most, p->hbm.device);
  ck_assert_uint_ge (most + p->hbm.cached + ((guint64) 1 << 30), p->hbm.device);
}
END_TEST

/* Of a pipeline one rank of each stage comes first; what has no room is counted. */
START_TEST (test_timeline_stages)
{
  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.name", "dgx-h100", "model.config", "llama-3-8b", "training.seq_len", "256",
      "training.grad_accum", "4", "mesh.pp", "4", "mesh.tp", "2", "strategy.name", "ddp", NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, TRUE, 2);
  g_autoptr (Timeline)   four = timeline_new (replay, 4, 1000000);
  g_autoptr (Timeline)   one = timeline_new (replay, 4, 10);

  ck_assert_uint_eq (replay_n_ranks (replay), 8);
  ck_assert_uint_eq (four->ranks->len, 4);
  ck_assert_uint_eq (four->n_left_out, 4);
  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *stage = g_strdup_printf ("stage %u of 4", i);

      ck_assert_ptr_nonnull (strstr (g_ptr_array_index (four->ranks, i), stage));
    }
  ck_assert_uint_eq (one->ranks->len, 1);
  ck_assert_uint_eq (one->n_left_out, 7);
  ck_assert_uint_eq (four->length, replay_period (replay));
  ck_assert_uint_eq (one->period, replay_period (replay));
  ck_assert_uint_lt (one->length, replay_period (replay) / 5); /* cut */
  ck_assert_uint_lt (one->slices->len, 100);
}
END_TEST

/* ---- pages of predictions -------------------------------------------------------------------- */

/* The text of SCRIPT's JSON; each timeline is one. */
static struct json_object *
first_timeline (const char *text)
{
  static const char begin[] = "<script type=\"application/json\">";
  const char       *at = strstr (text, begin), *end;
  g_autofree char  *json = NULL;

  ck_assert_ptr_nonnull (at);
  at += strlen (begin);
  end = strstr (at, "</script>");
  json = g_strndup (at, (gsize) (end - at));
  return json_tokener_parse (json);
}

static guint
length_of (struct json_object *root, const char *key)
{
  struct json_object *list;

  ck_assert (json_object_object_get_ex (root, key, &list));
  return (guint) json_object_array_length (list);
}

/* Every id is there once, and every link leads to one. */
static void
check_links (const char *text)
{
  g_autoptr (GHashTable) ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GRegex)     id = g_regex_new ("\\sid=[\"']([^\"']*)", 0, 0, NULL);
  g_autoptr (GRegex)     link = g_regex_new ("(?:href=[\"']#|url\\(#)([^\"')]*)", 0, 0, NULL);
  g_autoptr (GMatchInfo) found = NULL, linked = NULL;

  for (g_regex_match (id, text, 0, &found); g_match_info_matches (found);
       g_match_info_next (found, NULL))
    ck_assert (g_hash_table_add (ids, g_match_info_fetch (found, 1)));
  for (g_regex_match (link, text, 0, &linked); g_match_info_matches (linked);
       g_match_info_next (linked, NULL))
    {
      g_autofree char *name = g_match_info_fetch (linked, 1);

      ck_assert_msg (g_hash_table_contains (ids, name), "#%s leads nowhere", name);
    }
}

/* Nothing in TEXT names another resource: namespaces are names. */
static void
check_self_contained (const char *text)
{
  g_autoptr (GRegex) outside = g_regex_new (
      "(?<!xmlns=\")(?<!xmlns:xlink=\")https?://|\\ssrc=|@import|<link|url\\((?!#)", 0, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  ck_assert_msg (!g_regex_match (outside, text, 0, &match), "it refers to something outside");
}

/* Of one option and one figure, as a search would hand it out. */
static Advice *
hand_advice (void)
{
  const OptionEffect effect = { .options = (char *) "--micro-batch 2",
                                .possible = TRUE,
                                .fits = TRUE,
                                .gain = 0.25,
                                .batch = 2,
                                .step_time_s = 1.5,
                                .peak_bytes = (guint64) 3 << 30 };
  const FigureAdvice figure = { .figure = { .name = "nic.bandwidth",
                                            .quantity = QUANTITY_BANDWIDTH,
                                            .in_bits = TRUE,
                                            .value = 25e9 },
                                .value = 50e9,
                                .gain = 0.125,
                                .step_time_s = 0.5 };
  Advice            *self = g_new0 (Advice, 1);

  self->options = g_array_new (FALSE, FALSE, sizeof (OptionEffect));
  self->figures = g_array_new (FALSE, FALSE, sizeof (FigureAdvice));
  g_array_append_val (self->options, effect);
  g_array_append_val (self->figures, figure);
  self->n_simulated = 7;
  return self;
}

/* What the text says of it stands in the page. */
static void
check_advice (const char *text)
{
  static const char *const words[] = { ">What would be faster<",
                                       "<td>--micro-batch 2</td>",
                                       ">1.250 times<",
                                       ">3.000 GiB<",
                                       ">2 times<",
                                       "<td>nic.bandwidth 400 Gbit/s instead of 200 Gbit/s</td>",
                                       ">1.125 times<",
                                       ">One change at a time, each simulated again.<",
                                       "(7 changes simulated" };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    ck_assert_msg (strstr (text, words[i]) != NULL, "the page lacks '%s'", words[i]);
}

START_TEST (test_pages)
{
  g_autoptr (GPtrArray)  all = g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  g_autoptr (ProfileSet) profiles = NULL, others = NULL;
  g_autoptr (Replay)     replay = NULL, other = NULL;
  g_autofree char       *gnuplot = g_find_program_in_path ("gnuplot"), *text = NULL, *yaml = NULL;
  g_autofree char       *escaped = NULL;
  struct json_object    *timeline;
  const Replay          *replays[2];
  g_autoptr (GError)     error = NULL;

  if (gnuplot == NULL)
    return;
  g_ptr_array_add (all, predict_one (HOSTILE, &replay, &profiles));
  ((Prediction *) g_ptr_array_index (all, 0))->advice = hand_advice ();
  replays[0] = replay;
  ck_assert_msg (report_page_write (all, replays, style, file, &error), "%s",
                 error != NULL ? error->message : "");
  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  check_links (text);
  check_self_contained (text);
  check_advice (text);
  timeline = first_timeline (text);
  ck_assert_uint_eq (length_of (timeline, "slices") % 5, 0);
  ck_assert_uint_gt (length_of (timeline, "slices"), 500);
  ck_assert_uint_eq (length_of (timeline, "parts"), TIME_N);
  json_object_put (timeline);
  yaml = scenario_print_settings ("x", ((Prediction *) g_ptr_array_index (all, 0))->settings);
  escaped = g_markup_escape_text (strchr (yaml, '\n'), -1);
  ck_assert_ptr_nonnull (strstr (text, escaped));
  g_clear_pointer (&text, g_free);

  g_ptr_array_add (all, predict_one ("second", &other, &others));
  replays[1] = other;
  ck_assert_msg (report_page_write (all, replays, style, file, &error), "%s",
                 error != NULL ? error->message : "");
  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  check_links (text);
  check_self_contained (text);
  ck_assert_uint_eq (count (text, "<script type=\"application/json\">"), 2);
  ck_assert_uint_eq (count (text, "<td>second</td>"), 3); /* results, memory, CSV */
}
END_TEST

#define MANY 5000

/* A table has its first rows, and the others as data that hold what is new in each. */
START_TEST (test_many_rows)
{
  static const HtmlColumn columns[] = { { "name", FALSE }, { "same", FALSE }, { "step", TRUE } };
  g_autoptr (HtmlPage)    page = html_page_new ("many");
  HtmlTable              *table = html_table_new (columns, G_N_ELEMENTS (columns));
  g_autofree char        *text = NULL, *data = NULL;
  struct json_object     *rows, *row;
  char                   *start;

  for (guint i = 0; i < MANY; i++)
    {
      g_autofree char *name = g_strdup_printf ("</script><b>%u", i);
      g_autofree char *step = g_strdup_printf ("%u ms", i);

      html_table_mark_row (table, i == MANY - 1 ? HTML_BAD : HTML_PLAIN);
      html_table_add_text (table, name);
      html_table_add_text (table, "2 x dgx-h100");
      html_table_add_number (table, step, i == MANY - 2 ? NAN : i * 1e-3);
    }
  html_page_take_table (page, table);
  text = written (page);
  ck_assert_uint_eq (count (text, "<tr class=\"plain\">"), HTML_MAX_ROWS);
  start = strstr (text, "<script type=\"application/json\">");
  ck_assert_ptr_nonnull (start);
  start += strlen ("<script type=\"application/json\">");
  data = g_strndup (start, (gsize) (strstr (start, "</script>") - start));
  rows = json_tokener_parse (data);
  ck_assert_uint_eq (json_object_array_length (rows), MANY - HTML_MAX_ROWS);
  ck_assert_uint_lt (strlen (data) / MANY, 60); /* bytes a row */
  row = json_object_array_get_idx (rows, 1);
  ck_assert_str_eq (json_object_to_json_string_ext (row, JSON_C_TO_STRING_PLAIN),
                    "[0,\"<\\/script><b>201\",0,[\"201 ms\",0.201]]");
  row = json_object_array_get_idx (rows, MANY - HTML_MAX_ROWS - 2);
  ck_assert_ptr_null (json_object_array_get_idx (json_object_array_get_idx (row, 3), 1));
  row = json_object_array_get_idx (rows, MANY - HTML_MAX_ROWS - 1);
  ck_assert_int_eq (json_object_get_int (json_object_array_get_idx (row, 0)), HTML_BAD);
  json_object_put (rows);
}
END_TEST

/* A page of thousands of scenarios is a few MB, and has all of them. */
START_TEST (test_many_scenarios)
{
  g_autoptr (GPtrArray)  all = g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Replay)     replay = NULL;
  g_autofree char       *gnuplot = g_find_program_in_path ("gnuplot"), *text = NULL;
  g_autoptr (GError)     error = NULL;

  if (gnuplot == NULL)
    return;
  g_ptr_array_add (all, predict_one ("row 0000", &replay, &profiles));
  for (guint i = 1; i < MANY; i++)
    {
      Prediction *p = prediction_copy (g_ptr_array_index (all, 0));

      g_free (p->scenario);
      p->scenario = g_strdup_printf ("row %04u", i);
      p->step_time_s *= 1 + 1.0 / (3 * i);
      p->exposed_comm_s *= 1 + 1.0 / (7 * i);
      prediction_derive (p);
      g_ptr_array_add (all, p);
    }
  ck_assert_msg (report_page_write (all, NULL, style, file, &error), "%s",
                 error != NULL ? error->message : "");
  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  check_self_contained (text);
  ck_assert_msg (strlen (text) < 8000000, "the page is %.1f MB", (double) strlen (text) / 1e6);
  for (guint i = 0; i < MANY; i++)
    {
      g_autofree char *drawn = g_strdup_printf ("<td>row %04u</td>", i);
      g_autofree char *kept = g_strdup_printf (",\"row %04u\",", i);

      ck_assert_msg (strstr (text, i < HTML_MAX_ROWS ? drawn : kept) != NULL, "row %u is lost", i);
    }
}
END_TEST

/* ---- pages of other answers ------------------------------------------------------------------ */

/* The page of ANSWER, which holds HOSTILE names and none of their markup. NULL: no gnuplot. */
static char *
page_of (const PageKind *kind, gconstpointer answer)
{
  g_autofree char   *gnuplot = g_find_program_in_path ("gnuplot");
  g_autoptr (GError) error = NULL;
  char              *text;

  if (gnuplot == NULL)
    return NULL;
  ck_assert_msg (report_page_of (kind, answer, NULL, style, file, &error), "%s",
                 error != NULL ? error->message : "");
  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  check_links (text);
  check_self_contained (text);
  ck_assert (g_utf8_validate (text, -1, NULL));
  ck_assert_ptr_null (strstr (text, "alert(1)</script>"));
  ck_assert_uint_eq (count (text, "<script>"), 1);
  return text;
}

/* The best, why not the second, near misses; where nothing is found, why. */
START_TEST (test_search)
{
  g_autoptr (Prediction) p = predict_one (HOSTILE, NULL, NULL);
  g_autoptr (GPtrArray)  found = g_ptr_array_new (), missed = g_ptr_array_new ();
  g_autoptr (GPtrArray)  none = g_ptr_array_new ();
  g_autoptr (GArray)     drops = g_array_new (FALSE, FALSE, sizeof (SearchDrop));
  SearchFound            one = { .label = HOSTILE, .options = HOSTILE, .prediction = p };
  SearchMiss             miss = { .label = HOSTILE, .options = HOSTILE, .excess = 1 << 30 };
  SearchDrop             drop = { HOSTILE, 42 };
  SearchResult           result = { .found = found,
                                    .headline = &one,
                                    .missed = missed,
                                    .drops = drops,
                                    .n_open = 12,
                                    .open_gain = 1.25 };
  SearchAnswer           answer = { .result = &result, .command = "shardsim simulate " HOSTILE };
  g_autofree char       *text = NULL, *proved = NULL, *empty = NULL;

  g_ptr_array_add (found, &one);
  g_ptr_array_add (found, &one);
  g_ptr_array_add (missed, &miss);
  g_array_append_val (drops, drop);
  text = page_of (&search_page, &answer);
  if (text == NULL)
    return;
  ck_assert_ptr_nonnull (strstr (text, "none is more than 1.25 times as fast"));
  ck_assert_ptr_nonnull (strstr (text, "Why not the second"));
  ck_assert_uint_eq (count (text, ">1.000 GiB</td>"), 1);
  ck_assert_uint_eq (count (text, ">42</td>"), 1);
  result.n_open = 0;
  proved = page_of (&search_page, &answer);
  ck_assert_ptr_nonnull (strstr (proved, "Proved: "));
  result.found = none;
  result.headline = NULL;
  answer = (SearchAnswer){ .result = &result };
  empty = page_of (&search_page, &answer);
  ck_assert_ptr_nonnull (strstr (empty, "Nothing meets the constraints"));
  ck_assert_ptr_nonnull (strstr (empty, "Near misses"));
  ck_assert_ptr_null (strstr (empty, "<svg"));
}
END_TEST

/* Two types of node, one of which cannot run at all. */
START_TEST (test_plan)
{
  g_autoptr (Prediction) p = predict_one (HOSTILE, NULL, NULL);
  g_autoptr (GPtrArray)  runs = g_ptr_array_new (), none = g_ptr_array_new ();
  g_autoptr (GPtrArray)  plans = g_ptr_array_new (), untried = g_ptr_array_new ();
  RunOption        slow = { .n_nodes = 2, .prediction = p, .late_s = 86400 * 1.5, .money = 1000 };
  RunOption        fast = { .n_nodes = 4, .prediction = p, .meets = TRUE, .money = 1500 };
  RunOption        lame = { .n_nodes = 2, .why = HOSTILE };
  RunPlan          good = { .cluster = HOSTILE, .options = runs, .best = &fast };
  RunPlan          bad = { .cluster = HOSTILE, .options = none, .label = HOSTILE };
  RunPlan          open = { .cluster = HOSTILE, .options = untried, .label = HOSTILE };
  RunGoal          goals[3] = { { .tokens = 1e9, .deadline_s = 86400 }, { .price = 2 } };
  RunPlanAnswer    answer = { plans, goals };
  g_autofree char *text = NULL;

  slow.goodput = (Goodput){ .wall_s = 2.5 * 86400, .useful = 0.9 };
  slow.sample = (GoodputSample){ .p10_s = 2.4 * 86400, .p90_s = 2.5 * 86400 };
  fast.goodput = (Goodput){ .wall_s = 0.75 * 86400, .useful = 0.8 };
  fast.sample = (GoodputSample){ .p10_s = 0.7 * 86400, .p90_s = 0.8 * 86400 };
  goals[0].failures.gpu_mtbf_s = 50000 * 3600.0;
  g_ptr_array_add (runs, &slow);
  g_ptr_array_add (runs, &fast);
  g_ptr_array_add (none, &lame);
  g_ptr_array_add (plans, &good);
  g_ptr_array_add (plans, &bad);
  g_ptr_array_add (plans, &open);
  text = page_of (&run_plan_page, &answer);
  if (text == NULL)
    return;
  ck_assert_ptr_nonnull (strstr (text, ": 0.75 days (p10 - p90: 0.7 - 0.8), money: 1500."));
  ck_assert_ptr_nonnull (strstr (text, "no number of nodes that was tried can do it"));
  ck_assert_ptr_nonnull (strstr (text, "no number of nodes was tried."));
  ck_assert_uint_eq (count (text, "<td>1.5 days late</td>"), 1);
  ck_assert_uint_eq (count (text, ">50000 h</td>"), 1);
  ck_assert_uint_eq (count (text, ">deadline</tspan>") + count (text, ">deadline<"), 1);
  ck_assert_uint_eq (count (text, "<tr class=\"good\">"), 1);
}
END_TEST

/* A store of one run that fits and one that does not, and of failures. */
START_TEST (test_sweep)
{
  char                 *names[] = { (char *) HOSTILE, NULL };
  StoreRun              run = { .scenario = (char *) HOSTILE,
                                .caveats = (char *) HOSTILE,
                                .strategy = (char *) HOSTILE,
                                .model = (char *) HOSTILE,
                                .binding = (char *) HOSTILE,
                                .settings = names,
                                .fits = TRUE,
                                .step_time_s = 0.5,
                                .tokens_per_s_per_gpu = 12,
                                .tokens_per_s = 96,
                                .peak_gib = 3,
                                .n_gpus = 8 };
  StoreRun              large = run;
  CountedText           reason = { (char *) HOSTILE, 3 };
  g_autoptr (GPtrArray) best = g_ptr_array_new (), front = g_ptr_array_new ();
  g_autoptr (GPtrArray) values = g_ptr_array_new (), sizes = g_ptr_array_new ();
  g_autoptr (GArray)    reasons = g_array_new (FALSE, FALSE, sizeof (CountedText));
  StoreAxis             axis = { (char *) HOSTILE, values };
  double                cells[] = { 12 };
  StoreView             view = { .n = 10,
                                 .n_misfits = 2,
                                 .n_failed = 5,
                                 .options = names,
                                 .best = best,
                                 .reasons = reasons,
                                 .base = (char *) "name: \"x\"\n# " HOSTILE "\n",
                                 .program_version = (char *) HOSTILE,
                                 .profiles = (char *) HOSTILE,
                                 .run_options = (char *) HOSTILE,
                                 .model = (char *) HOSTILE,
                                 .n_models = 2,
                                 .front = front,
                                 .scaling = sizes,
                                 .n_axes = 3,
                                 .x = &axis,
                                 .y = &axis,
                                 .cells = cells };
  SweepAnswer           answer = { &view, HOSTILE };
  g_autofree char      *text = NULL, *failed = NULL;

  large.fits = FALSE;
  large.n_gpus = 16;
  g_ptr_array_add (best, &run);
  g_ptr_array_add (best, &large);
  g_ptr_array_add (front, &run);
  g_ptr_array_add (values, (gpointer) HOSTILE);
  g_ptr_array_add (values, NULL);
  g_ptr_array_add (sizes, &run);
  g_ptr_array_add (sizes, &large);
  g_array_append_val (reasons, reason);
  text = page_of (&sweep_page, &answer);
  if (text == NULL)
    return;
  ck_assert_uint_eq (count (text, "<svg"), 3);
  ck_assert_ptr_nonnull (strstr (text, "3 more that were predicted are left out."));
  ck_assert_ptr_nonnull (strstr (text, "2 more failed for other reasons"));
  ck_assert_uint_eq (count (text, "<tr class=\"bad\">"), 1);
  view = (StoreView){ .n = 5,
                      .n_failed = 5,
                      .options = names,
                      .best = values,
                      .reasons = reasons,
                      .front = values,
                      .scaling = values };
  g_ptr_array_set_size (values, 0);
  failed = page_of (&sweep_page, &answer);
  ck_assert_ptr_nonnull (strstr (failed, "Nothing could be predicted."));
  ck_assert_uint_eq (count (failed, "<svg"), 0);
}
END_TEST

/* A row of STEP seconds under SETTING. */
static RegressRow *
row_new (double step, const char *setting)
{
  RegressRow   *row = regress_row_new (HOSTILE, HOSTILE);
  RegressResult time = { .name = g_strdup ("step_time_s"), .number = step };
  RegressResult words = { .name = g_strdup ("binding_resource"), .text = g_strdup (HOSTILE) };

  g_array_append_val (row->results, time);
  g_array_append_val (row->results, words);
  regress_row_add_input (row, "options", HOSTILE, setting);
  regress_row_sort (row);
  return row;
}

START_TEST (test_regress)
{
  g_autoptr (Baseline)   baseline = baseline_new ();
  g_autoptr (RegressRow) now = row_new (1.1, HOSTILE "b"), same = row_new (1, HOSTILE);
  g_autoptr (GArray)     limits = g_array_new (FALSE, FALSE, sizeof (RegressLimit));
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GPtrArray)  comparisons =
      g_ptr_array_new_with_free_func ((GDestroyNotify) regress_comparison_free);
  RegressAnswer    answer = { comparisons, HOSTILE, "shardsim regress " HOSTILE };
  g_autofree char *text = NULL, *quiet = NULL;

  baseline_put (baseline, row_new (1, HOSTILE));
  g_ptr_array_add (comparisons, regress_compare (baseline, now, limits, diags));
  text = page_of (&regress_page, &answer);
  if (text == NULL)
    return;
  ck_assert_ptr_nonnull (strstr (text, ": 1 moved, 0 as before"));
  ck_assert_ptr_nonnull (strstr (text, ">what changed<"));
  ck_assert_uint_eq (count (text, "<td>moved</td>"), 2); /* what moved, all results */
  ck_assert_uint_eq (count (text, ">+10.0 %</td>"), 2);
  g_ptr_array_set_size (comparisons, 0);
  g_ptr_array_add (comparisons, regress_compare (baseline, same, limits, diags));
  quiet = page_of (&regress_page, &answer);
  ck_assert_ptr_nonnull (strstr (quiet, ": 0 moved, 1 as before"));
  ck_assert_ptr_null (strstr (quiet, ">what changed<"));
}
END_TEST

SUITE_MAIN (html)
{
  Suite *suite = suite_create ("html");
  TCase *tests = tcase_create ("html");

  tcase_add_checked_fixture (tests, set_up, tear_down);
  tcase_add_test (tests, test_escaped);
  tcase_add_test (tests, test_nested);
  tcase_add_test (tests, test_csv);
  tcase_add_test (tests, test_svg);
  tcase_add_test (tests, test_write);
  tcase_add_test (tests, test_timeline);
  tcase_add_test (tests, test_timeline_memory);
  tcase_add_test (tests, test_timeline_stages);
  tcase_add_test (tests, test_pages);
  tcase_add_test (tests, test_many_rows);
  tcase_add_test (tests, test_many_scenarios);
  tcase_add_test (tests, test_search);
  tcase_add_test (tests, test_plan);
  tcase_add_test (tests, test_sweep);
  tcase_add_test (tests, test_regress);
  suite_add_tcase (suite, tests);
  return fixture_main (suite);
}
