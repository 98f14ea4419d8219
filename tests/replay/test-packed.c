/*
 * Documents that are packed: of the window's length they are the sequences of `even`, context ranks
 * wait for the one with most pairs, and each document is computed once, however it is cut. Not
 * asserted: which documents a sequence has (tests/model).
 */
#include <math.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "../suite.h"
#include "fixture.h"
#include "predict/prediction.h"

typedef struct
{
  const char *strategy, *lengths; /* one a line */
  const char *cp, *pp, *context, *partition, *sharding;
} Case;

/* Two nodes of two GPUs, two micro-batches, windows of 4096 tokens. FILE: of the lengths. */
static Scenario *
load_case (const Case *c, const char *file)
{
  const ScenarioOverride list[] = {
    { "cluster.gpu", "a100-sxm-80", "test" },
    { "cluster.gpus_per_node", "2", "test" },
    { "cluster.intra", "nvlink3-switch", "test" },
    { "cluster.nodes", "2", "test" },
    { "cluster.nics", "1", "test" },
    { "cluster.nic", "ib-hdr-200", "test" },
    { "model.arch", "llama", "test" },
    { "model.n_layers", "4", "test" },
    { "model.d_model", "1024", "test" },
    { "model.n_heads", "8", "test" },
    { "model.d_ff", "4096", "test" },
    { "model.vocab", "32000", "test" },
    { "training.grad_accum", "2", "test" },
    { "training.seq_len", "4096", "test" },
    { "replay.skew", "off", "test" },
    { "strategy.name", c->strategy, "test" },
    { "mesh.cp", c->cp, "test" },
    { "mesh.pp", c->pp != NULL ? c->pp : "1", "test" },
    { "mesh.context", c->context, "test" },
    { "training.partition", c->partition, "test" },
    { "training.document_sharding", c->sharding != NULL ? c->sharding : "auto", "test" },
    { "training.outlier_queues", "0", "test" },
    { "training.lengths", file, "test" },
  };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) scenarios =
      scenario_load (NULL, NULL, (ScenarioOverride *) list, G_N_ELEMENTS (list), diags);
  g_autofree char *text = diag_list_format (diags, FALSE);

  ck_assert_msg (scenarios != NULL, "%s", text);
  return scenario_copy (g_ptr_array_index (scenarios, 0));
}

static char *
write_lengths (const char *lengths)
{
  g_autofree char *rows = g_strdup_printf ("length\n%s\n", lengths);
  char            *file = NULL;
  int              fd = g_file_open_tmp ("lengths-XXXXXX.csv", &file, NULL);

  g_strdelimit (rows, " ", '\n');
  ck_assert_int_ge (fd, 0);
  close (fd);
  ck_assert (g_file_set_contents (file, rows, -1, NULL));
  return file;
}

static Prediction *
predict_case (const Case *c)
{
  g_autofree char     *file = write_lengths (c->lengths);
  g_autoptr (Scenario) scenario = load_case (c, file);
  g_autoptr (DiagList) diags = diag_list_new ();
  PredictOptions       options = { 0 };
  Prediction          *self = predict (scenario, &options, diags, NULL);
  g_autofree char     *text = diag_list_format (diags, FALSE);

  g_unlink (file);
  ck_assert_msg (self != NULL, "%s", text);
  return self;
}

static double
executed_flops (const Case *c)
{
  g_autofree char       *file = write_lengths (c->lengths);
  g_autoptr (Scenario)   scenario = load_case (c, file);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, FALSE, 1);
  const double           flops = replay_bound_executed_flops (replay_bound (replay), WHOLE_PERIOD);

  g_unlink (file);
  return flops;
}

static const char *const strategies[] = { "ddp",   "zero1", "zero2", "zero3",
                                          "fsdp1", "fsdp2", "fcdp",  "mics" };
static const char *const contexts[] = { "ring", "all-gather" };

/* To the last picosecond, whoever packs them: there is one way to. */
START_TEST (test_windows_are_even)
{
  Case                   c = { .strategy = strategies[(guint) _i % G_N_ELEMENTS (strategies)],
                               .lengths = "4096 4096 4096 4096 4096 4096 4096 4096",
                               .cp = _i % 3 == 0 ? "1" : "2",
                               .context = contexts[_i / 2 % 2],
                               .partition = "even" };
  g_autoptr (Prediction) even = predict_case (&c), packed = NULL, balanced = NULL;

  c.partition = "packed";
  packed = predict_case (&c);
  c.partition = "wlb";
  balanced = predict_case (&c);
  ck_assert_msg (packed->step_time_s == even->step_time_s, "%.12g, wanted %.12g",
                 packed->step_time_s, even->step_time_s);
  ck_assert (balanced->step_time_s == even->step_time_s);
  ck_assert (packed->hbm.device == even->hbm.device && packed->model_flops == even->model_flops);
  ck_assert (packed->tokens_per_step == even->tokens_per_step);
}
END_TEST

/*
 * Of 3072 + 1024 tokens on two ranks the second has the two middle chunks: queries [1024, 3072) of
 * the first document, (3072^2 - 1024^2) / 2 = 4096^2 / 4 pairs, which is half of those of a single
 * document of 4096. So the step takes as long as one of such documents, though it has 5 / 8 of
 * their pairs; cut one by one they take less, and what is counted is the same.
 */
START_TEST (test_the_fullest_rank_sets_the_pace)
{
  Case                   c = { .strategy = strategies[_i],
                               .lengths = "3072 1024 3072 1024 3072 1024 3072 1024",
                               .cp = "2",
                               .context = "all-gather",
                               .partition = "packed" };
  Case                   long_ones = c;
  g_autoptr (Prediction) sequence = predict_case (&c), document = NULL, whole = NULL,
                         adaptive = NULL;

  c.sharding = "per-document";
  document = predict_case (&c);
  c.sharding = "adaptive";
  adaptive = predict_case (&c);
  long_ones.lengths = "4096 4096 4096 4096";
  whole = predict_case (&long_ones);
  ck_assert_msg (fabs (sequence->step_time_s / whole->step_time_s - 1) < 0.01, "%g, wanted %g",
                 sequence->step_time_s, whole->step_time_s);
  ck_assert_msg (document->step_time_s < sequence->step_time_s, "%g after %g",
                 document->step_time_s, sequence->step_time_s);
  ck_assert (adaptive->step_time_s == document->step_time_s);
  ck_assert (document->model_flops == sequence->model_flops
             && sequence->model_flops < whole->model_flops);
  ck_assert (sequence->hbm.device == whole->hbm.device);
}
END_TEST

/* A document of one token in each sequence makes pieces of the others, which cost what they did. */
START_TEST (test_nearly_even)
{
  Case                   c = { .strategy = "zero1",
                               .lengths = "4096 4096 4096 4096",
                               .cp = "2",
                               .context = contexts[_i],
                               .partition = "packed" };
  g_autoptr (Prediction) whole = predict_case (&c), nearly = NULL;

  c.lengths = "4095 1 4095 1 4095 1 4095 1";
  nearly = predict_case (&c);
  ck_assert_msg (fabs (nearly->step_time_s / whole->step_time_s - 1) < 0.03, "%g, wanted %g",
                 nearly->step_time_s, whole->step_time_s);
}
END_TEST

/* A step of two micro-batches on data ranks: as many tokens as 4 windows, or 8 without cp. */
static char *
random_lengths (GRand *rand, guint windows, guint unit)
{
  GString *text = g_string_new (NULL);

  for (guint w = 0; w < windows; w++)
    for (guint room = 4096; room > 0;)
      {
        const double share = g_rand_double (rand) * g_rand_double (rand);
        const guint  length = MIN (room, unit * (guint) (1 + 4096 / unit * share));

        g_string_append_printf (text, "%s%u", text->len > 0 ? " " : "", length);
        room -= length;
      }
  return g_string_free (text, FALSE);
}

/*
 * However documents are packed and cut, they have the FLOPs that they have when each is divided
 * evenly; under pipelines, too. (Documents end with windows, so that none is cut in two.)
 */
START_TEST (test_every_document_is_computed_once)
{
  g_autoptr (GRand)      rand = g_rand_new_with_seed ((guint32) _i);
  const gboolean         piped = _i % 4 == 3;
  g_autofree char       *lengths = random_lengths (rand, piped ? 2 : 4, 128);
  Case                   c = { .strategy = piped ? "zero1" : strategies[(guint) _i % 8],
                               .lengths = lengths,
                               .cp = "2",
                               .pp = piped ? "2" : "1",
                               .context = contexts[_i / 2 % 2],
                               .partition = "packed" };
  const double           sequence = executed_flops (&c);
  g_autoptr (Prediction) one = predict_case (&c), other = NULL;

  c.sharding = "per-document";
  ck_assert_msg (fabs (executed_flops (&c) / sequence - 1) < 1e-9, "%g, wanted %g",
                 executed_flops (&c), sequence);
  c.partition = "wlb";
  other = predict_case (&c);
  ck_assert_msg (fabs (other->model_flops / one->model_flops - 1) < 1e-3, "%g, wanted %g",
                 other->model_flops, one->model_flops);
  ck_assert_msg (fabs (executed_flops (&c) / sequence - 1) < 1e-3, "%g, wanted %g",
                 executed_flops (&c), sequence);
}
END_TEST

static Suite *
packed_suite (void)
{
  Suite *suite = suite_create ("packed");
  TCase *tcase = tcase_create ("packed");

  tcase_add_loop_test (tcase, test_windows_are_even, 0, 16);
  tcase_add_loop_test (tcase, test_the_fullest_rank_sets_the_pace, 0, G_N_ELEMENTS (strategies));
  tcase_add_loop_test (tcase, test_nearly_even, 0, 2);
  tcase_add_loop_test (tcase, test_every_document_is_computed_once, 0, 16);
  suite_add_tcase (suite, tcase);
  return suite;
}

SUITE_MAIN (packed)
{
  return fixture_main (packed_suite ());
}
