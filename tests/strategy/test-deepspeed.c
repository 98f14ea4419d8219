/*
 * What DeepSpeed's runtime issues where, by rows read off its code: communicators and streams of
 * each collective, the copies into and out of a fetch's flat buffer and how long that lives, what
 * the host waits for; and what two communicators are worth, by a closed form of the step's time.
 * Sources: deepspeed/runtime/zero (partition_parameters.py, partitioned_param_coordinator.py,
 * stage3.py, mics.py), deepspeed/utils/groups.py.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "predict/prediction.h"
#include "small-llama.h"

/* Four ranks on two nodes, under STRATEGY with OPTIONS ("key=value,key=value"). */
static Schedule *
schedule_on (const char *name, const char *text, const Workload *workload)
{
  const Strategy      *strategy = strategy_find (name);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 } };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  Schedule            *schedule;

  set_options (strategy, options, text);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  ck_assert (schedule_check (schedule, &in.mesh, NULL, diags));
  option_table_clear (strategy->options, options);
  return schedule;
}

/* ---- communicators and streams --------------------------------------------------------------- */

typedef struct
{
  const char *strategy, *options;
  gboolean    one; /* the framework's profile says one communicator */
  const char *lines;
} Row;

#define SMALL "param_persistence_threshold=64"

static const Row rows[] = {
  { "zero3", SMALL, FALSE,
    "all_gather over 4 in data on all_gather\n"
    "all_gather_persistent over 4 in data on compute\n"
    "reduce_scatter over 4 in data, cloned on reduce\n" },
  { "zero3", SMALL, TRUE,
    "all_gather over 4 in data on all_gather\n"
    "all_gather_persistent over 4 in data on compute\n"
    "reduce_scatter over 4 in data on reduce\n" },
  { "fcdp", SMALL ",max_reuse_distance=0", FALSE,
    "all_gather over 4 in data on all_gather\n"
    "all_gather_copy over 2 in node on all_gather\n"
    "all_gather_persistent over 4 in data on compute\n"
    "reduce_scatter over 4 in data, cloned on reduce\n" },
  { "zeropp", SMALL ",max_reuse_distance=0", FALSE,
    "all_gather over 4 in data on all_gather\n"
    "all_gather_copy over 2 in hpZ on all_gather\n"
    "all_gather_persistent over 4 in data on compute\n"
    "all_to_all over 2 in across nodes on reduce\n"
    "all_to_all over 2 in node on reduce\n"
    "reduce_scatter over 4 in data, cloned on reduce\n" },
  { "zeropp", SMALL ",max_reuse_distance=0", TRUE,
    "all_gather over 4 in data on all_gather\n"
    "all_gather_copy over 2 in hpZ on all_gather\n"
    "all_gather_persistent over 4 in data on compute\n"
    "all_to_all over 2 in across nodes on reduce\n"
    "all_to_all over 2 in node on reduce\n"
    "reduce_scatter over 4 in data on reduce\n" },
  { "zero-infinity", SMALL, FALSE,
    "all_gather over 4 in data on all_gather\n"
    "all_gather_persistent over 4 in data on compute\n"
    "reduce_scatter over 4 in data, cloned on reduce\n" },
  /* the shard group's, whatever the release */
  { "mics", SMALL ",shard=2", FALSE,
    "all_gather over 2 in shard on all_gather\n"
    "all_gather_persistent over 2 in shard on compute\n"
    "all_reduce over 2 in replica on reduce\n"
    "reduce_scatter over 2 in shard on reduce\n" },
};

static gint
by_text (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Each collective of a steady step that sends something, once. */
static char *
lines_of (const Schedule *schedule)
{
  ScheduleItems          items = schedule_items (schedule, 0, SECTION_STEADY);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray)  all = g_ptr_array_new ();
  g_autoptr (GString)    text = g_string_new (NULL);

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      const ScheduleComm *comm;
      char               *line;

      if (item->kind != ITEM_COLLECTIVE)
        continue;
      comm = schedule_comm_info (schedule, item->ref);
      line = g_strdup_printf ("%s over %u in %s on %s\n", item->label, comm->group.size, comm->name,
                              schedule_stream_info (schedule, item->stream)->name);
      if (g_hash_table_contains (seen, line))
        g_free (line);
      else
        {
          g_hash_table_add (seen, line);
          g_ptr_array_add (all, line);
        }
    }
  g_ptr_array_sort (all, by_text);
  for (guint i = 0; i < all->len; i++)
    g_string_append (text, all->pdata[i]);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

START_TEST (test_communicators)
{
  const Row            *row = &rows[_i];
  const FrameworkTraits traits = { .one_communicator = row->one };
  g_autoptr (Workload)  workload = llama_of_framework (3, &traits, NULL);
  g_autoptr (Schedule)  schedule = schedule_on (row->strategy, row->options, workload);
  g_autofree char      *lines = lines_of (schedule);

  ck_assert_str_eq (lines, row->lines);
}
END_TEST

/* ---- the flat buffer ------------------------------------------------------------------------- */

typedef struct
{
  guint   gathers, in, out;
  guint   decodes, waits; /* waits: of the host, for data */
  guint   flats;          /* buffers, */
  guint64 flat_bytes;     /* the largest, */
  guint   flats_until;    /* and the unit whose use frees the last of them */
} Counts;

static Counts
counts_of (const Schedule *schedule)
{
  ScheduleItems items = schedule_items (schedule, 0, SECTION_STEADY);
  Counts        counts = { .flats_until = SCHEDULE_NONE };

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      gboolean            kernel = item->kind == ITEM_KERNEL, flat = FALSE;

      if (item->kind == ITEM_ALLOC || item->kind == ITEM_FREE)
        flat = g_str_equal (schedule_buffer_info (schedule, 0, item->ref)->label,
                            "flat buffer of a fetch");
      if (flat && item->kind == ITEM_ALLOC)
        {
          counts.flats++;
          counts.flat_bytes =
              MAX (counts.flat_bytes, schedule_buffer_info (schedule, 0, item->ref)->bytes);
        }
      if (flat && item->kind == ITEM_FREE)
        counts.flats_until = item->unit;
      counts.gathers += item->kind == ITEM_COLLECTIVE
                        && g_str_has_prefix (item->label, "all_gather")
                        && !g_str_has_suffix (item->label, "persistent");
      counts.in += kernel && g_str_equal (item->label, "copy_in");
      counts.out += kernel && g_str_equal (item->label, "copy_out");
      counts.decodes += kernel && g_str_equal (item->label, "decode");
      counts.waits += item->kind == ITEM_HOST_WAIT && item->collective == WAIT_FOR_DATA;
    }
  return counts;
}

/*
 * A llama of 3 blocks on four ranks: 23 modules of one matrix each that is cut, of
 * 2 x (100 x 64 x 2
 * + 3 x (4 x 64^2 + 3 x 64 x 128)) = 271 360 bytes. The embedding is fetched by itself, all others
 * as one behind it, and all stay until their last use: a forward pass gathers, the backward pass
 * does not. What is one tensor comes to its place; of what is several each is copied out, when the
 * first block's q is used, and their buffer is there until the head's use. MiCS needs none.
 */
static const struct
{
  const char *strategy, *options;
  gboolean    first; /* the framework is of 2021 */
  Counts      counts;
} flats[] = {
  { "zero3",
    SMALL,
    FALSE,
    { .gathers = 2,
      .in = 1,
      .out = 22,
      .waits = 2,
      .flats = 1,
      .flat_bytes = 271360 - 2 * 100 * 64,
      .flats_until = 29 } },
  { "zero3",
    SMALL ",prefetch_bucket_size=0,max_reuse_distance=0",
    FALSE,
    { .gathers = 46, .waits = 2, .flats_until = SCHEDULE_NONE } },
  { "zero3", SMALL, TRUE, { .gathers = 2, .waits = 2, .flats_until = SCHEDULE_NONE } },
  { "mics", SMALL ",shard=all", FALSE, { .gathers = 2, .waits = 2, .flats_until = SCHEDULE_NONE } },
};

START_TEST (test_flat_buffers)
{
  const FrameworkTraits traits = { .first_coordinator = flats[_i].first };
  g_autoptr (Workload)  workload = llama_of_framework (3, &traits, NULL);
  g_autoptr (Schedule)  schedule = schedule_on (flats[_i].strategy, flats[_i].options, workload);
  const Counts          want = flats[_i].counts, got = counts_of (schedule);

  ck_assert_uint_eq (got.gathers, want.gathers);
  ck_assert_uint_eq (got.in, want.in);
  ck_assert_uint_eq (got.out, want.out);
  ck_assert_uint_eq (got.decodes, want.decodes);
  ck_assert_uint_eq (got.flats, want.flats);
  ck_assert_uint_eq (got.flat_bytes, want.flat_bytes);
  ck_assert_uint_eq (got.waits, want.waits);
  ck_assert_uint_eq (got.flats_until, want.flats_until);
}
END_TEST

/*
 * The host waits at the end of each micro-step, and of the step; and under hpZ behind each module
 * whose slice it has just copied: once a step, whatever the number of micro-steps.
 */
START_TEST (test_host_waits)
{
  static const char hpz[] =
      SMALL ",zero_quantized_weights=false,zero_quantized_gradients=false,prefetch_bucket_size=0";
  const guint          micros = _i == 0 ? 1 : 3;
  g_autoptr (Workload) workload = llama_of (3, micros, NULL, NULL);
  g_autoptr (Schedule) zero3 = schedule_on ("zero3", SMALL, workload);
  g_autoptr (Schedule) fcdp = schedule_on ("fcdp", SMALL, workload);
  g_autoptr (Schedule) zeropp = schedule_on ("zeropp", hpz, workload);

  ck_assert_uint_eq (counts_of (zero3).waits, micros + 1);
  ck_assert_uint_eq (counts_of (fcdp).waits, micros + 1);
  ck_assert_uint_eq (counts_of (zeropp).waits, micros + 1 + 23);
}
END_TEST

/*
 * Kernels wait for what they use: the compute stream never for the all-gathers themselves, which
 * may be on their way to later modules, but for the stream that assembles; that one for each
 * all-gather once.
 */
START_TEST (test_waits_for_its_own)
{
  g_autoptr (Workload) workload = llama_of (3, 1, NULL, NULL);
  g_autoptr (Schedule) schedule = schedule_on ("zero3", SMALL ",prefetch_bucket_size=1", workload);
  ScheduleItems        items = schedule_items (schedule, 0, SECTION_STEADY);
  g_autoptr (GHashTable) of = g_hash_table_new (NULL, NULL); /* event: name of its stream */
  guint                  gathers = 0, assembled = 0;

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      const char         *waits_for, *stream;

      if (item->kind == ITEM_RECORD)
        g_hash_table_insert (of, GUINT_TO_POINTER (item->ref),
                             (gpointer) schedule_stream_info (schedule, item->stream)->name);
      if (item->kind == ITEM_COLLECTIVE && g_str_equal (item->label, "all_gather"))
        gathers++;
      if (item->kind != ITEM_WAIT)
        continue;
      waits_for = g_hash_table_lookup (of, GUINT_TO_POINTER (item->ref));
      stream = schedule_stream_info (schedule, item->stream)->name;
      if (waits_for == NULL || !g_str_equal (waits_for, "all_gather"))
        continue;
      ck_assert_str_eq (stream, "assemble");
      assembled++;
    }
  ck_assert_uint_eq (gathers, 23);
  ck_assert_uint_eq (assembled, gathers);
}
END_TEST

/*
 * DeepSpeed before v0.6 synchronises with the device at each of 46 fetches: the host waits for what
 * is being reduced, too, as well as for kernels. Later releases do not.
 */
START_TEST (test_synchronises)
{
  const FrameworkTraits traits = { .first_coordinator = _i == 1 };
  g_autoptr (Workload)  workload = llama_of_framework (3, &traits, NULL);
  g_autoptr (Schedule)  schedule =
      schedule_on ("zero3", SMALL ",prefetch_bucket_size=0,max_reuse_distance=0", workload);
  ScheduleItems          items = schedule_items (schedule, 0, SECTION_STEADY);
  g_autoptr (GHashTable) of = g_hash_table_new (NULL, NULL); /* event: name of its stream */
  guint                  reductions = 0, kernels = 0, host = 0;

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      const char         *waits_for = g_hash_table_lookup (of, GUINT_TO_POINTER (item->ref));

      if (item->kind == ITEM_RECORD)
        g_hash_table_insert (of, GUINT_TO_POINTER (item->ref),
                             (gpointer) schedule_stream_info (schedule, item->stream)->name);
      if (item->kind == ITEM_HOST_WAIT)
        host += g_strcmp0 (waits_for, "joined") == 0;
      if (item->kind != ITEM_WAIT
          || !g_str_equal (schedule_stream_info (schedule, item->stream)->name, "joined"))
        continue;
      reductions += g_strcmp0 (waits_for, "reduce") == 0;
      kernels += g_strcmp0 (waits_for, "compute") == 0;
    }
  ck_assert_uint_eq (host, _i == 1 ? 46 : 0);
  ck_assert_uint_eq (reductions, host);
  ck_assert_uint_eq (kernels, host);
}
END_TEST

/* ---- time ------------------------------------------------------------------------------------ */

static double
step_of (const char *framework)
{
  const ScenarioOverride list[] = { { "strategy.name", "zero3", "test" },
                                    { "strategy.max_reuse_distance", "0", "test" },
                                    { "strategy.param_persistence_threshold", "0", "test" },
                                    { "strategy.reduce_bucket_size", "2e7", "test" },
                                    { "strategy.prefetch_bucket_size", "0", "test" },
                                    { "cluster.name", "4 x a40x8-nvlink-pairs", "test" },
                                    { "collective.algorithm", "ring", "test" },
                                    { "collective.protocol", "simple", "test" },
                                    { "model.arch", "llama", "test" },
                                    { "model.n_layers", "6", "test" },
                                    { "model.d_model", "16384", "test" },
                                    { "model.n_heads", "128", "test" },
                                    { "model.d_ff", "16384", "test" },
                                    { "model.vocab", "4096", "test" },
                                    { "training.seq_len", "16", "test" },
                                    { "training.micro_batch", "1", "test" },
                                    { "training.framework", framework, "test" } };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GPtrArray)  all = scenario_load (NULL, NULL, list, G_N_ELEMENTS (list), diags);
  g_autoptr (GError)     error = NULL;
  PredictOptions         options = { .replay = { 0 } };
  ProfileSet            *profiles = NULL;
  Replay                *replay = NULL;
  Prediction            *prediction;
  double                 step;

  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  prediction =
      predict_with_replay (g_ptr_array_index (all, 0), &options, &replay, &profiles, diags, &error);
  ck_assert_msg (prediction != NULL, "%s",
                 error != NULL ? error->message : diag_list_first_message (diags));
  step = prediction->step_time_s;
  prediction_free (prediction);
  replay_free (replay);
  profile_set_free (profiles);
  return step;
}

/*
 * A ring of 32 A40 on one card a node that does not read GPU memory: two channels through host
 * memory carry 2 x 3.2 GB/s, the card 0.946 x 12.5 GB/s in packets of 4096 of 4122 bytes. With one
 * communicator a step of next to no computation is three rings of W, one after another. With two
 * the gradients' rings run beside the backward pass's all-gathers, module by module of the same
 * size: each has half of the card. The first and the last ring, of 43, and hops are a few percent
 * more.
 */
START_TEST (test_two_communicators)
{
  const double w = 2 * (2.0 * 4096 * 16384 + 6 * 7 * 16384.0 * 16384) * 31 / 32;
  const double alone = w / (2 * 3.2e9), card = 0.946 * 12.5e9 * 4096 / 4122;
  const double together = 2 * w / card;
  const double one = step_of ("deepspeed-2026"), two = step_of ("deepspeed");

  ck_assert_double_eq_tol (one / (3 * alone), 1, 0.06);
  ck_assert_double_eq_tol (two / (alone + together), 1, 0.06);
}
END_TEST

SUITE_MAIN (deepspeed)
{
  Suite *suite = suite_create ("deepspeed");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, test_communicators, 0, G_N_ELEMENTS (rows));
  tcase_add_loop_test (tcase, test_flat_buffers, 0, G_N_ELEMENTS (flats));
  tcase_add_loop_test (tcase, test_host_waits, 0, 2);
  tcase_add_test (tcase, test_waits_for_its_own);
  tcase_add_loop_test (tcase, test_synchronises, 0, 2);
  tcase_add_test (tcase, test_two_communicators);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
