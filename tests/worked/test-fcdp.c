/*
 * What the FCDP paper's arithmetic says of full fine-tuning, against the simulator: bytes, memory,
 * and the times that follow from them. Asserted: payloads and states exactly; times that are plain
 * arithmetic (bytes over a rate) to the digits in which the arithmetic is usually quoted; the share
 * of the intra-node all-gather and of the host copies as orders of magnitude (a factor of two). Not
 * asserted: the paper's measured speed-ups, whose models, sequence lengths and cards are not
 * published.
 */
#include <check.h>
#include <math.h>
#include <stdarg.h>

#include "analysis/prediction.h"

typedef struct
{
  ProfileSet *profiles;
  Replay     *replay;
  Prediction *prediction;
} Simulated;

#define MAX_OVERRIDES 32

/* FCDP's own setting for comparing volumes: nothing survives the turn, everything is sharded. */
#define BARE "strategy.max_reuse_distance", "0", "strategy.param_persistence_threshold", "0"

static Simulated simulate (const char *strategy, ...) G_GNUC_NULL_TERMINATED;

static Simulated
simulate (const char *strategy, ...)
{
  ScenarioOverride      list[MAX_OVERRIDES] = { { "strategy.name", strategy, "test" } };
  guint                 n = 1;
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = NULL;
  g_autoptr (GError)    error = NULL;
  PredictOptions        options = { .replay = { 0 } };
  Simulated             s = { 0 };
  va_list               args;

  va_start (args, strategy);
  for (const char *key = va_arg (args, const char *); key != NULL;
       key = va_arg (args, const char *))
    {
      ck_assert_uint_lt (n, MAX_OVERRIDES);
      list[n++] = (ScenarioOverride){ key, va_arg (args, const char *), "test" };
    }
  va_end (args);
  all = scenario_load (NULL, NULL, list, n, diags);
  if (all != NULL)
    s.prediction = predict_with_replay (g_ptr_array_index (all, 0), &options, &s.replay,
                                        &s.profiles, diags, &error);
  if (s.prediction == NULL)
    {
      g_autofree char *text = diag_list_format (diags, FALSE);

      ck_abort_msg ("%s%s", text, error != NULL ? error->message : "");
    }
  return s;
}

static void
simulated_clear (Simulated *s)
{
  prediction_free (s->prediction);
  replay_free (s->replay);
  profile_set_free (s->profiles);
}

/* ---- what is read off ------------------------------------------------------------------------ */

static double
parameters (const Simulated *s)
{
  return (double) workload_n_parameters (replay_workload (s->replay));
}

/* Payload a GPU sends between nodes in collectives of KIND. */
static double
inter_node (const Simulated *s, CollectiveKind kind)
{
  g_autoptr (GArray) traffic = replay_traffic (s->replay);
  double             sum = 0;

  for (guint i = 0; i < traffic->len; i++)
    if (g_array_index (traffic, ReplayTraffic, i).kind == kind)
      sum += g_array_index (traffic, ReplayTraffic, i).inter_node_per_gpu;
  return sum;
}

/* Bytes of parameters, gradients and optimizer state that live for ever. */
static guint64
model_states (const Simulated *s)
{
  const Schedule *schedule = replay_schedule (s->replay);
  ScheduleItems   items = schedule_items (schedule, 0, SECTION_INIT);
  guint64         sum = 0;

  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_ALLOC)
      {
        const ScheduleBuffer *buffer = schedule_buffer_info (schedule, 0, items.items[i].ref);

        if (buffer->tier == TIER_HBM
            && (buffer->category == POOL_PARAMETER || buffer->category == POOL_GRADIENT
                || buffer->category == POOL_OPTIMIZER))
          sum += buffer->bytes;
      }
  return sum;
}

static guint64
gathered_peak (const Simulated *s)
{
  PoolId hbm = replay_rank (s->replay, 0)->hbm;

  return engine_pool_stats (replay_engine (s->replay), hbm)->peak_by_category[POOL_GATHERED];
}

static guint64
largest_layer (const Simulated *s)
{
  const Workload *workload = replay_workload (s->replay);
  guint64         largest = 0;

  for (guint i = 0; i < workload_n_layers (workload); i++)
    largest = MAX (largest, workload_layer (workload, i)->elements);
  return 2 * largest;
}

static void
assert_close (double got, double want, double relative)
{
  ck_assert_msg (fabs (got - want) <= relative * fabs (want), "got %.12g, want %.12g", got, want);
}

/* ---- volumes and memory ---------------------------------------------------------------------- */

typedef struct
{
  const char *nodes, *gpus, *gpu, *intra, *layers, *width, *heads, *ff, *vocab;
} Shape;

/* Untied models whose tensors divide by the ranks: no padding. */
static const Shape shapes[] = {
  { "2", "2", "a40-48", "nvlink-pairs", "1", "256", "4", "512", "1024" },
  { "4", "8", "a40-48", "nvlink-pairs", "8", "1024", "16", "4096", "32000" },
  { "3", "4", "a100-sxm-40", "nvlink3-mesh", "5", "1536", "12", "6144", "12000" },
  { "16", "8", "a100-sxm-40", "nvlink3-switch", "4", "2048", "16", "8192", "32000" },
};

static Simulated
simulate_shape (const char *strategy, const Shape *shape)
{
  return simulate (strategy, BARE, "strategy.prefetch_bucket_size", "0", "cluster.nodes",
                   shape->nodes, "cluster.gpus_per_node", shape->gpus, "cluster.gpu", shape->gpu,
                   "cluster.intra", shape->intra, "cluster.nics", "1", "cluster.nic", "ib-edr-100",
                   "model.arch", "llama", "model.n_layers", shape->layers, "model.d_model",
                   shape->width, "model.n_heads", shape->heads, "model.d_ff", shape->ff,
                   "model.vocab", shape->vocab, "training.seq_len", "256", "training.micro_batch",
                   "1", "training.clip_gradients", "false", NULL);
}

/*
 * Full fine-tuning moves W + W between nodes where ZeRO-3 moves 2 W + W: exactly 2/3, in the ring's
 * terms (R - 1) / R W a card and collective. GPU states are the same 16 P / R; gathered memory
 * differs by less than a layer (without the prefetcher, whose window is as full as the timing lets
 * it); the host holds W a node.
 */
START_TEST (test_volumes)
{
  const Shape *shape = &shapes[_i];
  Simulated    zero3 = simulate_shape ("zero3", shape), fcdp = simulate_shape ("fcdp", shape);
  double       p = parameters (&zero3), g = g_ascii_strtod (shape->gpus, NULL);
  double       r = g * g_ascii_strtod (shape->nodes, NULL), each = (r - 1) / r * 2 * p / g;
  guint64      a = gathered_peak (&zero3), b = gathered_peak (&fcdp);

  assert_close (inter_node (&zero3, COLLECTIVE_ALL_GATHER), 2 * each, 1e-12);
  assert_close (inter_node (&fcdp, COLLECTIVE_ALL_GATHER), each, 1e-12);
  assert_close (inter_node (&zero3, COLLECTIVE_REDUCE_SCATTER), each, 1e-12);
  assert_close (inter_node (&fcdp, COLLECTIVE_REDUCE_SCATTER), each, 1e-12);
  assert_close (
      fcdp.prediction->inter_node_bytes_per_gpu / zero3.prediction->inter_node_bytes_per_gpu,
      2.0 / 3, 1e-12);

  ck_assert_uint_eq (model_states (&zero3), (guint64) (16 * p / r));
  ck_assert_uint_eq (model_states (&fcdp), model_states (&zero3));
  ck_assert_uint_lt (a > b ? a - b : b - a, largest_layer (&zero3));

  ck_assert_uint_eq (zero3.prediction->host.device, 0);
  ck_assert_uint_eq (fcdp.prediction->host.device, (guint64) (2 * p));
  simulated_clear (&zero3);
  simulated_clear (&fcdp);
}
END_TEST

/*
 * What `max_reuse_distance` keeps across the turn is what ZeRO-3 need not gather again; FCDP's
 * share of its bytes then grows.
 */
START_TEST (test_retention)
{
#define SMALL                                                                                   \
  "cluster.nodes", "2", "cluster.gpus_per_node", "2", "cluster.gpu", "a40-48", "cluster.intra", \
      "nvlink-pairs", "cluster.nics", "1", "cluster.nic", "ib-edr-100", "model.arch", "llama",  \
      "model.n_layers", "4", "model.d_model", "256", "model.n_heads", "4", "model.d_ff", "512", \
      "model.vocab", "1024", "training.seq_len", "256", "training.clip_gradients", "false"
  Simulated kept = simulate ("zero3", SMALL, "strategy.param_persistence_threshold", "0", NULL);
  Simulated bare = simulate ("zero3", SMALL, BARE, NULL);
  Simulated fcdp = simulate ("fcdp", SMALL, BARE, NULL);

  /* All of this small model is within 1e9 elements: one all-gather is left, as in FCDP. */
  ck_assert_double_lt (kept.prediction->inter_node_bytes_per_gpu,
                       bare.prediction->inter_node_bytes_per_gpu);
  assert_close (kept.prediction->inter_node_bytes_per_gpu,
                fcdp.prediction->inter_node_bytes_per_gpu, 1e-12);
  simulated_clear (&kept);
  simulated_clear (&bare);
  simulated_clear (&fcdp);
}
END_TEST

/* ---- 30 B on 4 nodes of 8 A40 ---------------------------------------------------------------- */

static Simulated
simulate_30b (const char *strategy, const char *nic)
{
  g_autofree char *model = g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "tests", "worked",
                                             "models", "gpt-30b.json", NULL);

  return simulate (strategy, BARE, "cluster.node", "a40x8-nvlink-pairs", "cluster.nodes", "4",
                   "cluster.nic", nic, "model.config", model, "training.seq_len", "512",
                   "training.micro_batch", "1", "training.clip_gradients", "false", NULL);
}

/* Seconds that a node's card sends at the line rate of EDR, for 30e9 parameters. */
static double
card_seconds_of_30b (const Simulated *s)
{
  return s->prediction->inter_node_bytes_per_gpu * 8 / 12.5e9 * 30e9 / parameters (s);
}

/*
 * Where the card is all that counts, FCDP gains 3 W / 2 W = 1.5 at most. At 12.5 GB/s: 3 (31/32) 60
 * GB = 13.95 s against 9.3 s. The simulated steps cannot beat the cards at the link's efficiency;
 * on a network a hundred times slower the gain comes to 1.5.
 */
START_TEST (test_network_bound)
{
  Simulated zero3 = simulate_30b ("zero3", "ib-edr-100"),
            fcdp = simulate_30b ("fcdp", "ib-edr-100");
  Simulated slow_zero3 = simulate_30b ("zero3", "tcp-1"),
            slow_fcdp = simulate_30b ("fcdp", "tcp-1");
  double  efficiency = cluster_nic_profile (replay_cluster (zero3.replay), 0)->efficiency.value;
  double  scale = parameters (&zero3) / 30e9 / efficiency;
  double  gain = zero3.prediction->step_time_s / fcdp.prediction->step_time_s;
  double  slow_gain = slow_zero3.prediction->step_time_s / slow_fcdp.prediction->step_time_s;
  guint64 a = gathered_peak (&zero3), b = gathered_peak (&fcdp);

  ck_assert_uint_lt (a > b ? a - b : b - a, largest_layer (&zero3));
  assert_close (card_seconds_of_30b (&zero3), 13.95, 1e-9);
  assert_close (card_seconds_of_30b (&fcdp), 9.3, 1e-9);
  ck_assert_double_gt (zero3.prediction->step_time_s, 13.95 * scale);
  ck_assert_double_gt (fcdp.prediction->step_time_s, 9.3 * scale);
  ck_assert_double_gt (gain, 1);
  ck_assert_double_lt (gain, 1.5);
  ck_assert_double_gt (slow_gain, 1.49);
  ck_assert_double_le (slow_gain, 1.5);
  simulated_clear (&zero3);
  simulated_clear (&fcdp);
  simulated_clear (&slow_zero3);
  simulated_clear (&slow_fcdp);
}
END_TEST

/*
 * Sum over the first rank's ops of the last period: all-gathers inside the node, or copies from the
 * host.
 */
static double
seconds_of (const Simulated *s, ItemKind kind)
{
  const Engine *engine = replay_engine (s->replay);
  guint         last = replay_n_boundaries (s->replay) - 2;
  SimTime       sum = 0;

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      ReplayOp            what = replay_op (s->replay, op);
      const ScheduleItem *item = what.item;
      gboolean            counts = item->kind == kind;

      if (kind == ITEM_COLLECTIVE)
        counts =
            counts && schedule_comm_info (replay_schedule (s->replay), item->ref)->group.size == 8;
      else
        counts = counts && item->collective == COPY_FROM_HOST;
      if (counts && what.section == SECTION_STEADY && what.period == last && what.rank == 0)
        sum += engine_op_record (engine, op)->end - engine_op_record (engine, op)->begin;
    }
  return sim_time_to_seconds (sum);
}

/*
 * 30 B on PCIe: a GPU's all-gather inside the node carries 7/8 x 60 GB = 52.5 GB, about 2.6 s at 20
 * GB/s; its slice from the host is 7.5 GB, about 0.35 s. Alone, both are so within a factor of two.
 * In the step they share PCIe and sockets with the reduce-scatter and with each other, so they last
 * longer; the all-gather stays the larger part by far.
 */
START_TEST (test_intra_node)
{
  static const guint32       ranks[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  Simulated                  fcdp = simulate_30b ("fcdp", "ib-edr-100");
  const Cluster             *cluster = replay_cluster (fcdp.replay);
  g_autoptr (CollectivePlan) plan =
      collective_plan_new (cluster, COLLECTIVE_ALL_GATHER, ranks, 8, NULL);
  const GpuProfile *gpu = cluster_gpu_profile (cluster, 0);
  double            alone = collective_plan_time (plan, 60e9);
  double            copy = 7.5e9 / (gpu->host_link.value * gpu->host_copy_efficiency.value);
  double            scale = parameters (&fcdp) / 30e9;
  double gathers = seconds_of (&fcdp, ITEM_COLLECTIVE), copies = seconds_of (&fcdp, ITEM_COPY);

  assert_close (fcdp.prediction->host_link_bytes_per_gpu, 2 * 7.5e9 * scale, 1e-9);
  ck_assert_double_gt (alone, 2.6 / 2);
  ck_assert_double_lt (alone, 2.6 * 2);
  ck_assert_double_gt (copy, 0.35 / 2);
  ck_assert_double_lt (copy, 0.35 * 2);
  ck_assert_double_ge (gathers, alone * scale);
  ck_assert_double_ge (copies, copy * scale);
  ck_assert_double_gt (gathers, 4 * copies);
  simulated_clear (&fcdp);
}
END_TEST

/*
 * 16 x 30e9 / 32 = 15 GB of states a GPU under both; at micro-batch 8 with checkpointing both fit
 * 48 GB cards, and 60 GB fit the host.
 */
START_TEST (test_30b_fits)
{
  g_autofree char *model = g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "tests", "worked",
                                             "models", "gpt-30b.json", NULL);

  for (guint i = 0; i < 2; i++)
    {
      Simulated s = simulate (i == 0 ? "zero3" : "fcdp", "cluster.name", "4 x a40x8-nvlink-pairs",
                              "model.config", model, "training.seq_len", "512",
                              "training.micro_batch", "8", "training.activation_checkpointing",
                              "full", "strategy.param_persistence_threshold", "0", NULL);
      double    scale = parameters (&s) / 30e9;

      assert_close ((double) model_states (&s), 15e9 * scale, 1e-9);
      ck_assert (s.prediction->fits);
      ck_assert_uint_eq (s.prediction->hbm.excess, 0);
      assert_close ((double) s.prediction->host.device, i == 0 ? 0 : 60e9 * scale, 1e-9);
      simulated_clear (&s);
    }
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("fcdp");
  TCase   *tcase = tcase_create ("arithmetic");
  SRunner *runner = srunner_create (suite);
  int      failed;

  tcase_add_loop_test (tcase, test_volumes, 0, G_N_ELEMENTS (shapes));
  tcase_add_test (tcase, test_retention);
  tcase_add_test (tcase, test_network_bound);
  tcase_add_test (tcase, test_intra_node);
  tcase_add_test (tcase, test_30b_fits);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
