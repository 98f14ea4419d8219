/*
 * Periods that need not be simulated: a run that stops where the next period must repeat the last
 * says what one says that simulates it, in every result; one that goes on instead of starting again
 * says what a run of that length says. `keep_pools` asks for all periods, so it is the other side.
 * Over all strategies that run by themselves, memory that is ample, tight (cached segments go back)
 * and too small, both allocators. Not asserted: how many runs are cut, only that some stop behind
 * the first period, which is like the steady ones, some behind a steady one, some although cached
 * segments went back, and some do not.
 */
#include "../suite.h"
#include "fixture.h"

static const char *const strategies[] = { "ddp",   "zero1", "zero3", "fsdp1",
                                          "fsdp2", "hsdp",  "fcdp",  NULL };
static const char *const batches[] = { "1", "2", "3", "4", "5", "6", NULL };

typedef struct
{
  guint n_first, n_cut, n_whole, n_long;
  guint n_trimmed; /* cut, although an allocator gave back what it cached */
} Seen;

static void
assert_same_pool (const PoolStats *a, const PoolStats *b, const char *what)
{
  ck_assert_msg (a->allocated.bytes == b->allocated.bytes && a->reserved.bytes == b->reserved.bytes
                     && a->device.bytes == b->device.bytes && a->overflowed == b->overflowed
                     && a->n_retries == b->n_retries && a->device.tag == b->device.tag
                     && a->device.time == b->device.time,
                 "%s: peaks differ", what);
}

/* Ops of the last period, relative to its beginning: an op's begin and end, and what it is. */
static GArray *
ops_of_last (const Replay *replay)
{
  const Engine *engine = replay_engine (replay);
  GArray       *ops = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint         last = replay_n_boundaries (replay) - 2;
  SimTime       begin = replay_boundary (replay, last);

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      ReplayOp        what = replay_op (replay, op);
      const OpRecord *record = engine_op_record (engine, op);
      guint64         words[] = { what.index, record->begin - begin, record->end - begin,
                                  record->issue - begin };

      if (what.section != SECTION_INIT && what.period == last)
        g_array_append_vals (ops, words, G_N_ELEMENTS (words));
    }
  return ops;
}

static void
compare (const Replay *cut, const Replay *whole, const char *what, Seen *seen)
{
  g_autoptr (GArray) a = ops_of_last (cut), b = ops_of_last (whole);
  guint              n = replay_n_boundaries (cut), all = replay_n_boundaries (whole);

  ck_assert_msg (replay_is_steady (cut) == replay_is_steady (whole), "%s: steady", what);
  ck_assert_msg (replay_period (cut) == replay_period (whole), "%s: length", what);
  ck_assert_msg (n <= all && n + 2 >= all, "%s: %u and %u boundaries", what, n, all);
  ck_assert_msg (a->len == b->len && memcmp (a->data, b->data, a->len * sizeof (guint64)) == 0,
                 "%s: ops of the last period", what);
  for (guint i = 0; i < replay_n_ranks (cut); i++)
    assert_same_pool (engine_pool_stats (replay_engine (cut), replay_rank (cut, i)->hbm),
                      engine_pool_stats (replay_engine (whole), replay_rank (whole, i)->hbm), what);
  seen->n_first += n + 2 == all;
  seen->n_cut += n + 1 == all;
  seen->n_trimmed +=
      n < all && engine_pool_stats (replay_engine (cut), replay_rank (cut, 0)->hbm)->n_retries > 0;
  seen->n_whole += n == all;
  seen->n_long += all > 4;
}

static Replay *
run (const Scenario *scenario, ProfileSet *profiles, gboolean whole)
{
  ReplayOptions        options = { .keep_pools = whole };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  Replay              *replay = replay_run (scenario, profiles, &options, diags, &error);

  ck_assert_msg (replay != NULL, "%s",
                 error != NULL ? error->message : diag_list_first_message (diags));
  return replay;
}

START_TEST (test_repeated_periods)
{
  const char            *allocator = _i == 0 ? "caching" : "expandable";
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  Seen                   seen = { 0 };

  for (guint s = 0; strategies[s] != NULL; s++)
    for (guint b = 0; batches[b] != NULL; b++)
      {
        g_autofree char *what =
            g_strdup_printf ("%s, micro-batch %s, %s", strategies[s], batches[b], allocator);
        g_autoptr (Scenario) scenario = fixture_scenario (
            "cluster.name", "a40x8-nvlink-pairs", "model.arch", "llama", "model.n_layers", "12",
            "model.d_model", "4096", "model.n_heads", "32", "model.d_ff", "11008", "model.vocab",
            "32000", "training.seq_len", "3072", "training.precision", "bf16-mixed",
            "training.micro_batch", batches[b], "strategy.name", strategies[s], "memory.allocator",
            allocator, NULL);
        g_autoptr (Replay) cut = run (scenario, profiles, FALSE);
        g_autoptr (Replay) whole = run (scenario, profiles, TRUE);

        compare (cut, whole, what, &seen);
      }
  fprintf (stderr, "%s: %u of the first, %u cut, %u whole, %u of more periods, %u trimmed\n",
           allocator, seen.n_first, seen.n_cut, seen.n_whole, seen.n_long, seen.n_trimmed);
  ck_assert_uint_gt (seen.n_first, 0);
  ck_assert_uint_gt (seen.n_cut, 0);
  ck_assert_uint_gt (seen.n_whole, 0);
  ck_assert_uint_gt (seen.n_trimmed, 0);
}
END_TEST

/*
 * Stages of a pipeline end their periods at times of their own: most runs stop behind one steady
 * period, with what the next one does to each stage's memory.
 */
START_TEST (test_repeated_periods_of_stages)
{
  static const char *const pipelines[] = { "1f1b", "interleaved", "zb-h1", "dualpipe", NULL };
  static const char *const syncs[] = { "ddp", "zero1", NULL };
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);
  Seen                     seen = { 0 };

  for (guint p = 0; pipelines[p] != NULL; p++)
    for (guint s = 0; syncs[s] != NULL; s++)
      for (guint b = 0; b < 3; b++)
        {
          g_autofree char *what =
              g_strdup_printf ("%s, %s, micro-batch %s", pipelines[p], syncs[s], batches[b]);
          g_autoptr (Scenario) scenario = fixture_scenario (
              "cluster.name", "2 x dgx-a100", "model.arch", "llama", "model.n_layers", "8",
              "model.d_model", "4096", "model.n_heads", "32", "model.d_ff", "11008", "model.vocab",
              "32000", "training.seq_len", "2048", "training.precision", "bf16-mixed",
              "training.micro_batch", batches[b], "training.grad_accum", "8", "mesh.pp", "4",
              "mesh.tp", b == 0 ? "2" : "1", "mesh.pipeline", pipelines[p], "mesh.vp",
              g_str_equal (pipelines[p], "interleaved") ? "2" : "1", "strategy.name", syncs[s],
              NULL);
          g_autoptr (Replay) cut = run (scenario, profiles, FALSE);
          g_autoptr (Replay) whole = run (scenario, profiles, TRUE);

          ck_assert_uint_gt (replay_n_ranks (cut), 1);
          compare (cut, whole, what, &seen);
        }
  fprintf (stderr, "stages: %u cut, %u whole\n", seen.n_cut, seen.n_whole);
  ck_assert_uint_gt (seen.n_cut, seen.n_whole);
}
END_TEST

SUITE_MAIN (periods)
{
  Suite *suite = suite_create ("periods");
  TCase *tcase = tcase_create ("periods");

  tcase_add_loop_test (tcase, test_repeated_periods, 0, 2);
  tcase_add_test (tcase, test_repeated_periods_of_stages);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
