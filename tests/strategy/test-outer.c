/*
 * What published runtimes of outer strategies do otherwise than their papers, op by op, over ddp on
 * 4 ranks that are 2 workers of 2: torchft's Streaming DiLoCo, and fairscale-CO2. A llama of 2
 * blocks in 2 fragments: the table and 9 tensors of a block (4 of attention, 3 of the feed-forward,
 * 2 norms); a block, the last norm and the head. Not asserted: when it runs.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "small-llama.h"

/* 4 x 64^2 + 3 x 64 x 128 + 2 x 64 a block, 100 x 64 a table, 64 the norm. */
#define BLOCK (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64)
#define ALL   (2 * BLOCK + 2 * 100 * 64 + 64)

typedef struct
{
  const Strategy *strategies[2]; /* outer, inner */
  gpointer        options[2];
  Workload       *workload;
  Schedule       *schedule;
} Built;

static void
build (const char *name, const char *outer, const char *inner, Built *built)
{
  const char *const    texts[2] = { outer, inner };
  StrategyChoice       under = { .inner = NULL }, choice = { .inner = &under };
  const PlanInput      in = { .workload = built->workload = llama_of (2, 1, NULL, NULL),
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  g_autoptr (DiagList) diags = diag_list_new ();

  built->strategies[0] = strategy_find (name);
  built->strategies[1] = strategy_find ("ddp");
  for (guint i = 0; i < 2; i++)
    {
      built->options[i] = g_malloc0 (built->strategies[i]->options_size);
      set_options (built->strategies[i], built->options[i], texts[i]);
    }
  choice.strategy = built->strategies[0];
  choice.options = built->options[0];
  under.strategy = built->strategies[1];
  under.options = built->options[1];
  built->schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (built->schedule != NULL && schedule_check (built->schedule, &in.mesh, NULL, diags),
                 "%s", diag_list_first_message (diags));
}

static void
clear (Built *built)
{
  schedule_free_all (built->schedule);
  workload_free (built->workload);
  for (guint i = 0; i < 2; i++)
    {
      option_table_clear (built->strategies[i]->options, built->options[i]);
      g_free (built->options[i]);
    }
}

/* ---- torchft --------------------------------------------------------------------------------- */

/* The words of what happens in the outer phase; "wait": the issuing thread does. */
static const char *
word_of (const ScheduleItem *item)
{
  if (item->phase != PHASE_OUTER)
    return NULL;
  switch (item->kind)
    {
    case ITEM_HOST_WAIT:
      return "wait";
    case ITEM_COLLECTIVE:
      return "A";
    case ITEM_MOVE:
      return item->collective == move_kind (PLACE_HBM, PLACE_PINNED) ? "up" : "down";
    case ITEM_KERNEL:
    case ITEM_HOST_OP:
      return item->label;
    default:
      return NULL;
    }
}

/* What happens from the N-th kernel called FIRST on, to the one called LAST; runs of A counted. */
static char *
words_between (const Schedule *schedule, const char *last)
{
  ScheduleItems       items = schedule_items (schedule, 0, SECTION_STEADY);
  g_autoptr (GString) out = g_string_new (NULL);
  guint               sent = 0;

  for (guint i = 0; i < items.n; i++)
    {
      const char *word = word_of (&items.items[i]);

      if (word == NULL)
        continue;
      if (g_str_equal (word, "A"))
        {
          sent++;
          continue;
        }
      if (sent > 0)
        g_string_append_printf (out, "%uA ", sent);
      sent = 0;
      g_string_append_printf (out, "%s ", word);
      if (g_str_equal (word, last))
        break;
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static const struct
{
  const char *options, *words;
} variants[] = {
  { "variant=torchft,overlap=1",
    "control_plane wait down outer_difference 10A wait down wait outer_momentum clone "
    "outer_step " },
  { "variant=torchft,overlap=0,merge=0",
    "control_plane wait down outer_difference 10A wait wait outer_momentum outer_step " },
  /* The paper's: nothing waits but the compute stream, and a fragment is one collective. */
  { "variant=paper,overlap=1",
    "down outer_difference control_plane 1A outer_momentum down outer_step " },
};

START_TEST (test_torchft)
{
  g_autofree char *options = g_strdup_printf (
      "%s,local_steps=4,fragments=2,payload=fp32,control_plane=0.1 s", variants[_i].options);
  g_autofree char *words = NULL;
  Built            built = { .schedule = NULL };

  build ("streaming-diloco", options, "", &built);
  words = words_between (built.schedule, "outer_step");
  ck_assert_str_eq (words, variants[_i].words);
  clear (&built);
}
END_TEST

/* ---- fairscale ------------------------------------------------------------------------------- */

typedef struct
{
  guint  all_reduces, averages, flattens, divides;
  double reduced; /* bytes of the all-reduces */
} Counts;

static Counts
count (const Schedule *schedule, const char *stream)
{
  ScheduleItems items = schedule_items (schedule, 0, SECTION_STEADY);
  Counts        counts = { 0 };

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];

      if (item->kind == ITEM_KERNEL)
        {
          counts.flattens += g_str_equal (item->label, "flatten");
          counts.divides += g_str_equal (item->label, "gradient_divide");
        }
      if (item->kind != ITEM_COLLECTIVE || item->collective != COLLECTIVE_ALL_REDUCE)
        continue;
      counts.averages += item->phase == PHASE_OUTER;
      if (item->phase == PHASE_OUTER)
        continue;
      counts.all_reduces++;
      counts.reduced += (double) item->bytes;
      ck_assert_str_eq (schedule_stream_info (schedule, item->stream)->name, stream);
    }
  return counts;
}

/*
 * In each of 3 steps all gradients are divided, and reduced as one flat copy by the compute stream,
 * though ddp would overlap buckets; nothing is averaged in between; 4 owners' parts are flattened
 * on their way there and back. ddp by itself reduces buckets on a stream of its own.
 */
START_TEST (test_release)
{
  Built  release = { .schedule = NULL }, paper = { .schedule = NULL };
  Counts counts;

  build ("co2", "variant=release,local_steps=3", "", &release);
  counts = count (release.schedule, "compute");
  ck_assert_uint_eq (counts.all_reduces, 3);
  ck_assert_double_eq (counts.reduced, 3 * 2.0 * ALL);
  ck_assert_uint_eq (counts.divides, 3);
  ck_assert_uint_eq (counts.averages, 0);
  ck_assert_uint_eq (counts.flattens, 2 * 4);
  clear (&release);

  build ("co2", "local_steps=3", "bucket_bytes=1 B", &paper);
  counts = count (paper.schedule, "reduce");
  ck_assert_uint_gt (counts.all_reduces, 3 * 4);
  ck_assert_uint_eq (counts.divides + counts.flattens, 0);
  clear (&paper);
}
END_TEST

/* SlowMo's release averages gradients so, too; and its first ranks do average parameters. */
START_TEST (test_slowmo)
{
  Built  slowmo = { .schedule = NULL };
  Counts counts;

  build ("slowmo", "local_steps=3,localsgd_frequency=1", "", &slowmo);
  counts = count (slowmo.schedule, "compute");
  ck_assert_uint_eq (counts.all_reduces, 3);
  ck_assert_uint_eq (counts.divides, 3);
  ck_assert_uint_eq (counts.averages, 2);
  clear (&slowmo);
}
END_TEST

SUITE_MAIN (outer)
{
  Suite *suite = suite_create ("outer");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, test_torchft, 0, G_N_ELEMENTS (variants));
  tcase_add_test (tcase, test_release);
  tcase_add_test (tcase, test_slowmo);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
