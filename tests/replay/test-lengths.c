/*
 * Sequences of different lengths: a table of equal ones changes nothing, the slowest rank sets the
 * pace, who has which sequences does not matter where ranks are alike, and over random tables and
 * pipelines every sequence's FLOPs are executed once. Not asserted: how long a packed micro-batch
 * takes in attention (tests/model).
 */
#include <math.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "../suite.h"
#include "fixture.h"
#include "predict/prediction.h"

/* A scratch table. */
typedef struct
{
  char    *file;
  GString *rows;
} Table;

static void
table_clear (Table *self)
{
  g_unlink (self->file);
  g_free (self->file);
  g_string_free (self->rows, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Table, table_clear)

static Table
table_new (const char *header)
{
  return (Table){ .rows = g_string_new (header) };
}

static void
table_write (Table *self)
{
  int fd = g_file_open_tmp ("lengths-XXXXXX.csv", &self->file, NULL);

  ck_assert_int_ge (fd, 0);
  close (fd);
  ck_assert (g_file_set_contents (self->file, self->rows->str, -1, NULL));
}

static void
table_add (Table *self, guint rank, guint micro, guint length)
{
  g_string_append_printf (self->rows, "%u,%u,%u\n", rank, micro, length);
}

typedef struct
{
  const char *strategy, *nodes, *tp, *pp, *pipeline, *seq_len, *accum, *lengths;
  const char *cp, *partition, *tokens;
} Case;

/* Two GPUs, or four of them a node, under STRATEGY. */
static Scenario *
load_case (const Case *c)
{
  ScenarioOverride list[] = {
    { "cluster.gpu", "a100-sxm-80", "test" },
    { "cluster.gpus_per_node", c->tp != NULL ? "4" : "2", "test" },
    { "cluster.intra", "nvlink3-switch", "test" },
    { "cluster.nodes", c->nodes != NULL ? c->nodes : "1", "test" },
    { "cluster.nics", "1", "test" },
    { "cluster.nic", "ib-hdr-200", "test" },
    { "model.arch", "llama", "test" },
    { "model.n_layers", "4", "test" },
    { "model.d_model", "1024", "test" },
    { "model.n_heads", "8", "test" },
    { "model.d_ff", "4096", "test" },
    { "model.vocab", "32000", "test" },
    { "training.micro_batch", "1", "test" },
    { "replay.skew", "off", "test" },
    { "strategy.name", c->strategy, "test" },
    { "training.seq_len", c->seq_len, "test" },
    { "training.grad_accum", c->accum != NULL ? c->accum : "1", "test" },
    { "mesh.tp", c->tp != NULL ? c->tp : "1", "test" },
    { "mesh.pp", c->pp != NULL ? c->pp : "1", "test" },
    { "mesh.pipeline", c->pipeline != NULL ? c->pipeline : "auto", "test" },
    { "mesh.vp", c->pipeline != NULL && g_str_equal (c->pipeline, "interleaved") ? "2" : "1",
      "test" },
    { "mesh.cp", c->cp != NULL ? c->cp : "1", "test" },
    { "training.partition", c->partition != NULL ? c->partition : "even", "test" },
    { "training.tokens_per_rank", c->tokens != NULL ? c->tokens : "0", "test" },
    { "training.lengths", c->lengths, "test" },
  };
  guint                 n = G_N_ELEMENTS (list) - (c->lengths == NULL);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) scenarios = scenario_load (NULL, NULL, list, n, diags);
  g_autofree char      *text = diag_list_format (diags, FALSE);

  ck_assert_msg (scenarios != NULL, "%s", text);
  return scenario_copy (g_ptr_array_index (scenarios, 0));
}

static Prediction *
predict_case (const Case *c)
{
  g_autoptr (Scenario) scenario = load_case (c);
  g_autoptr (DiagList) diags = diag_list_new ();
  PredictOptions       options = { 0 };
  Prediction          *self = predict (scenario, &options, diags, NULL);
  g_autofree char     *text = diag_list_format (diags, FALSE);

  ck_assert_msg (self != NULL, "%s", text);
  return self;
}

/* What a GPU's kernels execute in a step, by whatever convention MFU counts. */
static double
executed_flops (const Case *c)
{
  g_autoptr (Scenario)   scenario = load_case (c);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, FALSE, 1);

  return replay_bound_executed_flops (replay_bound (replay), WHOLE_PERIOD);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static const char *const pipelines[] = { "gpipe", "1f1b", "interleaved", "zb-h1",
                                         "zb-h2", "zbv",  "dualpipe" };
static const char *const strategies[] = { "ddp",   "zero1", "zero2", "zero3",
                                          "fsdp1", "fsdp2", "fcdp",  "mics" };

START_TEST (test_equal_lengths_are_no_lengths)
{
  g_auto (Table)         table = table_new ("length\n2048\n2048\n2048\n2048\n");
  Case                   c = { .strategy = strategies[_i], .seq_len = "2048", .accum = "2" };
  g_autoptr (Prediction) without = predict_case (&c), with = NULL;
  double                 executed = executed_flops (&c);

  table_write (&table);
  c.lengths = table.file;
  with = predict_case (&c);
  ck_assert (with->step_time_s == without->step_time_s);
  ck_assert (with->tokens_per_step == without->tokens_per_step
             && with->tokens_per_step == 4 * 2048);
  ck_assert (with->hbm.device == without->hbm.device
             && with->hbm.reserved == without->hbm.reserved);
  ck_assert (with->model_flops == without->model_flops);
  ck_assert (executed_flops (&c) == executed);
}
END_TEST

/* The same on meshes: 2 data ranks x tp 2 x pp 2. Exactly. */
START_TEST (test_equal_lengths_on_a_mesh)
{
  g_auto (Table)         table = table_new ("length\n");
  Case                   c = { .strategy = "zero1",
                               .nodes = "2",
                               .tp = "2",
                               .pp = "2",
                               .pipeline = pipelines[_i],
                               .seq_len = "1024",
                               .accum = "4" };
  g_autoptr (Prediction) without = predict_case (&c), with = NULL;

  for (guint i = 0; i < 8; i++)
    g_string_append (table.rows, "1024\n");
  table_write (&table);
  c.lengths = table.file;
  with = predict_case (&c);
  ck_assert (with->step_time_s == without->step_time_s);
  ck_assert (with->hbm.device == without->hbm.device
             && with->hbm.reserved == without->hbm.reserved);
  ck_assert (with->inter_node_bytes_per_gpu == without->inter_node_bytes_per_gpu);
}
END_TEST

/*
 * Rank 0 has 1024 tokens, rank 1 2048: the step takes what it takes when both have 2048, the tokens
 * are 3072.
 */
START_TEST (test_the_slowest_rank_sets_the_pace)
{
  g_auto (Table)         table = table_new ("rank,micro_batch,length\n0,0,1024\n1,0,2048\n");
  Case                   c = { .strategy = strategies[_i], .seq_len = "2048" };
  g_autoptr (Prediction) longest = predict_case (&c), with = NULL;

  table_write (&table);
  c.lengths = table.file;
  with = predict_case (&c);
  ck_assert_msg (fabs (with->step_time_s / longest->step_time_s - 1) < 0.01, "%g, both long %g",
                 with->step_time_s, longest->step_time_s);
  ck_assert (with->tokens_per_step == 3072 && with->samples_per_s * with->step_time_s > 1.999999
             && with->samples_per_s * with->step_time_s < 2.000001);
  ck_assert (with->hbm.device == longest->hbm.device);
  ck_assert_str_eq (with->hbm.place, "rank 1");
}
END_TEST

/* ---- over random tables ---------------------------------------------------------------------- */

/* Lengths of a table of N_RANKS x N_MICROS cells; a permutation of the ranks is the same step. */
START_TEST (test_ranks_may_be_exchanged)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) _i);
  g_auto (Table) one = table_new ("rank,micro_batch,length\n"), other = table_new (one.rows->str);
  Case           c = { .strategy = strategies[_i], .seq_len = "4096", .accum = "3" };
  g_autoptr (Prediction) a = NULL, b = NULL;

  for (guint rank = 0; rank < 2; rank++)
    for (guint micro = 0; micro < 3; micro++)
      for (gint i = g_rand_int_range (rand, 1, 3); i > 0; i--)
        {
          guint length = (guint) g_rand_int_range (rand, 1, 4097);

          table_add (&one, rank, micro, length);
          table_add (&other, 1 - rank, micro, length);
        }
  table_write (&one);
  table_write (&other);
  c.lengths = one.file;
  a = predict_case (&c);
  c.lengths = other.file;
  b = predict_case (&c);
  ck_assert (fabs (a->step_time_s / b->step_time_s - 1) < 1e-9);
  ck_assert (a->tokens_per_step == b->tokens_per_step && a->model_flops == b->model_flops);
}
END_TEST

/*
 * One sequence of 512, 1024 or 2048 tokens a cell, on 2 data ranks x tp 2 x pp 2: FLOPs of the step
 * over those of runs in which all sequences are equally long.
 */
START_TEST (test_every_sequence_is_computed_once)
{
  static const char *const lengths[] = { "512", "1024", "2048" };
  g_autoptr (GRand)        rand = g_rand_new_with_seed ((guint32) _i);
  g_auto (Table)           table = table_new ("rank,micro_batch,length\n");

  Case c = {
    .strategy = "zero1", .nodes = "2", .tp = "2", .pp = "2", .pipeline = pipelines[_i], .accum = "4"
  };

  double                 wanted = 0, executed, tokens = 0, inter = 0, intra = 0;
  g_autoptr (Prediction) with = NULL;

  for (guint cell = 0; cell < 8; cell++)
    {
      guint                  which = (guint) g_rand_int_range (rand, 0, 3);
      g_autoptr (Prediction) alike = NULL;

      c.seq_len = lengths[which];
      alike = predict_case (&c);
      wanted += executed_flops (&c) / 8;
      tokens += alike->tokens_per_step / 8;
      inter += alike->inter_node_bytes_per_gpu / 8;
      intra += alike->intra_node_bytes_per_gpu / 8;
      table_add (&table, cell / 4, cell % 4, (guint) g_ascii_strtoull (lengths[which], NULL, 10));
    }
  table_write (&table);
  c.seq_len = "2048";
  c.lengths = table.file;
  with = predict_case (&c);
  executed = executed_flops (&c);
  ck_assert_msg (fabs (executed / wanted - 1) < 1e-9, "%s: %g, wanted %g", pipelines[_i], executed,
                 wanted);
  ck_assert (with->tokens_per_step == tokens);
  /* messages and collectives of the tensor group go by tokens, those of the data group do not */
  ck_assert_msg (fabs (with->inter_node_bytes_per_gpu / inter - 1) < 1e-9,
                 "%s: %g between nodes, wanted %g", pipelines[_i], with->inter_node_bytes_per_gpu,
                 inter);
  ck_assert_msg (fabs (with->intra_node_bytes_per_gpu / intra - 1) < 1e-9,
                 "%s: %g inside nodes, wanted %g", pipelines[_i], with->intra_node_bytes_per_gpu,
                 intra);
}
END_TEST

/* ---- hybrid ---------------------------------------------------------------------------------- */

/*
 * 2048 tokens need both ranks of 1024, then each has 1024 of its own: a micro-step of context ranks
 * without the end of a step, a barrier, and a step of one micro-batch. Its two runs alone say what
 * either takes.
 */
START_TEST (test_hybrid_is_the_sum_of_its_groups)
{
  static const char *const once[] = { "ddp", "zero1" };
  g_auto (Table) table = table_new ("rank,micro_batch,length\n0,0,2048\n1,0,1024\n0,0,1024\n");
  Case           both = { .strategy = once[_i], .seq_len = "2048", .cp = "2" };
  Case           own = { .strategy = once[_i], .seq_len = "1024" };
  Case c = { .strategy = once[_i], .seq_len = "2048", .partition = "hybrid", .tokens = "1024" };
  g_autoptr (Prediction) one = predict_case (&both), two = NULL, rest = predict_case (&own),
                         with = NULL, even = NULL;
  double wanted;

  both.accum = "2";
  two = predict_case (&both);
  wanted = two->step_time_s - one->step_time_s + rest->step_time_s;
  table_write (&table);
  c.lengths = table.file;
  with = predict_case (&c);
  ck_assert_msg (fabs (with->step_time_s / wanted - 1) < 0.01, "%g, wanted %g", with->step_time_s,
                 wanted);
  ck_assert (with->tokens_per_step == 4096);
  ck_assert (with->samples_per_s * with->step_time_s > 2.999999
             && with->samples_per_s * with->step_time_s < 3.000001);
  /* MFU counts the pairs that exist, whoever computes them */
  c.partition = c.tokens = NULL;
  even = predict_case (&c);
  ck_assert (fabs (with->model_flops / even->model_flops - 1) < 1e-12);
}
END_TEST

/* One sequence that all ranks share is context parallelism. */
START_TEST (test_hybrid_of_one_is_context_parallel)
{
  g_auto (Table) table = table_new ("rank,micro_batch,length\n0,0,2048\n1,0,2048\n");
  Case           both = { .strategy = "ddp", .seq_len = "2048", .cp = "2", .accum = "2" };
  Case c = { .strategy = "ddp", .seq_len = "2048", .partition = "hybrid", .tokens = "1024" };
  g_autoptr (Prediction) cp = predict_case (&both), with = NULL;

  table_write (&table);
  c.lengths = table.file;
  with = predict_case (&c);
  ck_assert_msg (fabs (with->step_time_s / cp->step_time_s - 1) < 0.01, "%g, wanted %g",
                 with->step_time_s, cp->step_time_s);
  ck_assert (with->intra_node_bytes_per_gpu >= cp->intra_node_bytes_per_gpu);
  /* but for the loader's communicators */
  ck_assert (with->hbm.device - with->hbm.by_category[POOL_RUNTIME]
             == cp->hbm.device - cp->hbm.by_category[POOL_RUNTIME]);
}
END_TEST

/*
 * Without sets of several ranks it is data parallelism: all wait for the longer sequence, whose
 * rank is the fullest.
 */
START_TEST (test_hybrid_waits_for_the_longest)
{
  static const char *const once[] = { "ddp", "zero1" };
  g_auto (Table)           table = table_new ("rank,micro_batch,length\n0,0,1024\n1,0,2048\n");
  Case                     c = { .strategy = once[_i], .seq_len = "2048" };
  g_autoptr (Prediction)   longest = predict_case (&c), with = NULL;

  table_write (&table);
  c.lengths = table.file;
  c.partition = "hybrid";
  c.tokens = "2048";
  with = predict_case (&c);
  ck_assert_msg (fabs (with->step_time_s / longest->step_time_s - 1) < 0.01, "%g, both long %g",
                 with->step_time_s, longest->step_time_s);
  ck_assert (with->hbm.device - with->hbm.by_category[POOL_RUNTIME]
             == longest->hbm.device - longest->hbm.by_category[POOL_RUNTIME]);
  ck_assert_str_eq (with->hbm.place, "rank 0"); /* sets are made of the longest first */
}
END_TEST

/* Whoever computes them, sequences have the FLOPs that they have on ranks of their own. */
START_TEST (test_hybrid_computes_each_sequence_once)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) _i);
  g_auto (Table)    table = table_new ("rank,micro_batch,length\n");
  Case              c = { .strategy = _i % 2 == 0 ? "ddp" : "zero1",
                          .nodes = "2",
                          .seq_len = "4096",
                          .partition = "hybrid",
                          .tokens = "1024" };
  double            hybrid;

  for (guint rank = 0; rank < 4; rank++)
    for (gint i = g_rand_int_range (rand, 1, 4); i > 0; i--)
      table_add (&table, rank, 0,
                 128 * (guint) (1 + 31 * g_rand_double (rand) * g_rand_double (rand)));
  table_write (&table);
  c.lengths = table.file;
  hybrid = executed_flops (&c);
  c.partition = c.tokens = NULL;
  ck_assert_msg (fabs (hybrid / executed_flops (&c) - 1) < 1e-9, "%g, wanted %g", hybrid,
                 executed_flops (&c));
}
END_TEST

/* ---- Zeppelin -------------------------------------------------------------------------------- */

/*
 * A sequence that both ranks must share is a ring of both, with nothing to be remapped: as if it
 * were divided evenly, to the last picosecond.
 */
START_TEST (test_zeppelin_of_one_is_a_ring)
{
  g_auto (Table) table = table_new ("rank,micro_batch,length\n0,0,4096\n");
  Case c = { .strategy = strategies[_i], .seq_len = "4096", .cp = "2", .partition = "zeppelin" };
  g_autoptr (Prediction) with = NULL, even = NULL;

  table_write (&table);
  c.lengths = table.file;
  with = predict_case (&c);
  c.partition = NULL;
  even = predict_case (&c);
  ck_assert_msg (with->step_time_s == even->step_time_s, "%.12g, wanted %.12g", with->step_time_s,
                 even->step_time_s);
  ck_assert (with->hbm.device == even->hbm.device);
  ck_assert (with->model_flops == even->model_flops);
  ck_assert (with->tokens_per_step == 4096);
}
END_TEST

/*
 * Two equal sequences, of which each rank has room for one: attention is that of data ranks, and so
 * is all else, as the ranks that reduce gradients are the same.
 */
START_TEST (test_zeppelin_of_local_sequences_is_data_parallel)
{
  g_auto (Table) table = table_new ("rank,micro_batch,length\n0,0,2048\n0,0,2048\n");
  Case c = { .strategy = strategies[_i], .seq_len = "2048", .cp = "2", .partition = "zeppelin" };
  Case own = { .strategy = strategies[_i], .seq_len = "2048" };
  g_autoptr (Prediction) with = NULL, data = predict_case (&own);

  table_write (&table);
  c.lengths = table.file;
  with = predict_case (&c);
  ck_assert_msg (fabs (with->step_time_s / data->step_time_s - 1) < 0.005, "%g, wanted %g",
                 with->step_time_s, data->step_time_s);
  ck_assert (with->tokens_per_step == data->tokens_per_step);
}
END_TEST

/* However they lie, sequences have the FLOPs that they have when each is divided over all. */
START_TEST (test_zeppelin_computes_each_sequence_once)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) _i);
  g_auto (Table)    table = table_new ("rank,micro_batch,length\n");
  Case              c = { .strategy = strategies[(guint) _i % G_N_ELEMENTS (strategies)],
                          .nodes = "2",
                          .seq_len = "4096",
                          .cp = "4",
                          .partition = "zeppelin" };
  double            zeppelin;

  for (gint i = g_rand_int_range (rand, 4, 12); i > 0; i--)
    table_add (&table, 0, 0, 128 * (guint) (1 + 31 * g_rand_double (rand) * g_rand_double (rand)));
  table_write (&table);
  c.lengths = table.file;
  zeppelin = executed_flops (&c);
  c.partition = NULL;
  ck_assert_msg (fabs (zeppelin / executed_flops (&c) - 1) < 1e-9, "%g, wanted %g", zeppelin,
                 executed_flops (&c));
}
END_TEST

static Suite *
lengths_suite (void)
{
  Suite *suite = suite_create ("lengths");
  TCase *tcase = tcase_create ("lengths");

  tcase_add_loop_test (tcase, test_equal_lengths_are_no_lengths, 0, G_N_ELEMENTS (strategies));
  tcase_add_loop_test (tcase, test_equal_lengths_on_a_mesh, 0, G_N_ELEMENTS (pipelines));
  tcase_add_loop_test (tcase, test_the_slowest_rank_sets_the_pace, 0, G_N_ELEMENTS (strategies));
  tcase_add_loop_test (tcase, test_ranks_may_be_exchanged, 0, G_N_ELEMENTS (strategies));
  tcase_add_loop_test (tcase, test_every_sequence_is_computed_once, 0, G_N_ELEMENTS (pipelines));
  tcase_add_loop_test (tcase, test_hybrid_is_the_sum_of_its_groups, 0, 2);
  tcase_add_test (tcase, test_hybrid_of_one_is_context_parallel);
  tcase_add_loop_test (tcase, test_hybrid_waits_for_the_longest, 0, 2);
  tcase_add_loop_test (tcase, test_hybrid_computes_each_sequence_once, 0, 12);
  tcase_add_loop_test (tcase, test_zeppelin_of_one_is_a_ring, 0, G_N_ELEMENTS (strategies));
  tcase_add_loop_test (tcase, test_zeppelin_of_local_sequences_is_data_parallel, 0,
                       G_N_ELEMENTS (strategies));
  tcase_add_loop_test (tcase, test_zeppelin_computes_each_sequence_once, 0, 16);
  suite_add_tcase (suite, tcase);
  return suite;
}

SUITE_MAIN (lengths)
{
  return fixture_main (lengths_suite ());
}
