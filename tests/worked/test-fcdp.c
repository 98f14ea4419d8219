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

#include "../suite.h"
#include "predict/prediction.h"

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
  g_autoptr (GArray) traffic = replay_bound_traffic (replay_bound (s->replay), WHOLE_PERIOD);
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

        if (buffer->place == PLACE_HBM
            && (buffer->category == POOL_PARAMETER || buffer->category == POOL_GRADIENT
                || buffer->category == POOL_OPTIMIZER))
          sum += buffer->bytes;
      }
  return sum;
}

/* Of the second copy in HBM. */
static guint64
copy_bytes (const Simulated *s)
{
  PoolId hbm = replay_rank (s->replay, 0)->hbm;

  return engine_pool_stats (replay_engine (s->replay), hbm)->peak_by_category[POOL_CACHE];
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

/* With the further settings KEY, VALUE or NULL each. */
#define simulate_shape(strategy_, shape_, ...) \
  simulate_shape_with (strategy_, shape_, (const char *[5]){ __VA_ARGS__ })

static Simulated
simulate_shape_with (const char *strategy, const Shape *shape, const char *const *more)
{
  return simulate (strategy, BARE, "strategy.prefetch_bucket_size", "0", "cluster.nodes",
                   shape->nodes, "cluster.gpus_per_node", shape->gpus, "cluster.gpu", shape->gpu,
                   "cluster.intra", shape->intra, "cluster.nics", "1", "cluster.nic", "ib-edr-100",
                   "model.arch", "llama", "model.n_layers", shape->layers, "model.d_model",
                   shape->width, "model.n_heads", shape->heads, "model.d_ff", shape->ff,
                   "model.vocab", shape->vocab, "training.seq_len", "256", "training.micro_batch",
                   "1", "training.clip_gradients", "false", more[0], more[1], more[2], more[3],
                   NULL);
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
  Simulated    zero3 = simulate_shape ("zero3", shape, NULL);
  Simulated    fcdp = simulate_shape ("fcdp", shape, NULL);
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

/* A node's second copy in HBM moves over the network what one in host memory does. */
static void
check_hpz (const Shape *shape)
{
  Simulated fcdp = simulate_shape ("fcdp", shape, NULL);
  Simulated hpz = simulate_shape ("zeropp", shape, "strategy.zero_quantized_weights", "false",
                                  "strategy.zero_quantized_gradients", "false", NULL);
  double    p = parameters (&hpz), g = g_ascii_strtod (shape->gpus, NULL);

  assert_close (hpz.prediction->inter_node_bytes_per_gpu, fcdp.prediction->inter_node_bytes_per_gpu,
                1e-12);
  ck_assert_uint_eq (hpz.prediction->host.device, 0);
  ck_assert_uint_eq (copy_bytes (&hpz), (guint64) (2 * p / g));
  simulated_clear (&fcdp);
  simulated_clear (&hpz);
}

/*
 * ZeRO++'s own arithmetic (arXiv:2306.10209, table 1): W / 2 for parameters, W / 4 for gradients,
 * and scales of 4 B for 2 048 elements. All but the norms is matrices here; an all-to-all sends
 * (N - 1) / N of what a rank has.
 */
START_TEST (test_zeropp_volumes)
{
  const Shape *shape = &shapes[_i];
  Simulated    s = simulate_shape ("zeropp", shape, NULL);
  double       p = parameters (&s), g = g_ascii_strtod (shape->gpus, NULL);
  double       n = g_ascii_strtod (shape->nodes, NULL), r = n * g;
  double       scales = 4.0 / 2048;

  assert_close (inter_node (&s, COLLECTIVE_ALL_GATHER), (r - 1) / r * p * (1 + scales) / g, 0.01);
  assert_close (inter_node (&s, COLLECTIVE_ALL_TO_ALL), (n - 1) / n * p * (0.5 + scales) / g, 0.01);
  ck_assert_double_lt (inter_node (&s, COLLECTIVE_REDUCE_SCATTER), 0.01 * p / g);
  simulated_clear (&s);
  check_hpz (shape);
}
END_TEST

/* Without a factor of 3 no tensor's elements are divided by twice 48 ranks: all is as in ZeRO-3. */
START_TEST (test_zeropp_falls_back)
{
  static const Shape shape = { "6",  "8",    "a100-sxm-40", "nvlink3-switch", "2", "1024",
                               "16", "4096", "8192" };
  Simulated          zero3 = simulate_shape ("zero3", &shape, NULL);
  Simulated          s = simulate_shape ("zeropp", &shape, NULL);

  ck_assert (inter_node (&s, COLLECTIVE_ALL_TO_ALL) == 0);
  assert_close (inter_node (&s, COLLECTIVE_REDUCE_SCATTER),
                inter_node (&zero3, COLLECTIVE_REDUCE_SCATTER), 1e-12);
  simulated_clear (&zero3);
  simulated_clear (&s);
}
END_TEST

/*
 * MiCS over two nodes of 8: a flat ring sends 15/16 W over each card, twice a step; gathering
 * across nodes first half of W, 1.875 times less. The rest is the same.
 */
START_TEST (test_mics_hierarchy)
{
  Simulated flat = simulate_shape ("mics", &shapes[1], "strategy.shard", "16", NULL);
  Simulated s = simulate_shape ("mics", &shapes[1], "strategy.shard", "16",
                                "strategy.mics_hierarchical_params_gather", "true");
  double    w = 2 * parameters (&s);

  assert_close (inter_node (&flat, COLLECTIVE_ALL_GATHER), 2 * 15.0 / 16 * w / 8, 1e-12);
  assert_close (inter_node (&s, COLLECTIVE_ALL_GATHER), 2 * 1.0 / 2 * w / 8, 1e-12);
  assert_close (inter_node (&s, COLLECTIVE_REDUCE_SCATTER),
                inter_node (&flat, COLLECTIVE_REDUCE_SCATTER), 1e-12);
  assert_close (inter_node (&s, COLLECTIVE_ALL_REDUCE), inter_node (&flat, COLLECTIVE_ALL_REDUCE),
                1e-12);
  ck_assert_uint_eq (model_states (&s), model_states (&flat));
  simulated_clear (&flat);
  simulated_clear (&s);
}
END_TEST

#define SMALL                                                                                   \
  "cluster.nodes", "2", "cluster.gpus_per_node", "2", "cluster.gpu", "a40-48", "cluster.intra", \
      "nvlink-pairs", "cluster.nics", "1", "cluster.nic", "ib-edr-100", "model.arch", "llama",  \
      "model.n_layers", "4", "model.d_model", "256", "model.n_heads", "4", "model.d_ff", "512", \
      "model.vocab", "1024", "training.seq_len", "256", "training.clip_gradients", "false"

#define simulate_small(...)                                                                     \
  simulate ("zero1", SMALL, "strategy.reduce", "reduce_scatter", "strategy.shard", __VA_ARGS__, \
            NULL)

/*
 * ZeRO-1 on 2 nodes of 2: over all, 3/4 W of each collective over each card; inside nodes, W / 2 a
 * rank all-reduced by the two of one place, which sends that once, and nothing gathered between
 * nodes. A rank then keeps half of the optimizer instead of a quarter.
 */
START_TEST (test_zero1_groups)
{
  Simulated all = simulate_small ("all"), node = simulate_small ("node");
  double    p = parameters (&all), w = 2 * p;

  assert_close (inter_node (&all, COLLECTIVE_REDUCE_SCATTER), 3.0 / 4 * w / 2, 1e-12);
  assert_close (inter_node (&all, COLLECTIVE_ALL_GATHER), 3.0 / 4 * w / 2, 1e-12);
  ck_assert (inter_node (&node, COLLECTIVE_REDUCE_SCATTER) == 0);
  ck_assert (inter_node (&node, COLLECTIVE_ALL_GATHER) == 0);
  assert_close (inter_node (&node, COLLECTIVE_ALL_REDUCE), w / 2, 1e-12);
  ck_assert_uint_eq (model_states (&all), (guint64) (4 * p + 12 * p / 4));
  ck_assert_uint_eq (model_states (&node), (guint64) (4 * p + 12 * p / 2));
  simulated_clear (&all);
  simulated_clear (&node);
}
END_TEST

/*
 * What cannot be: DeepSpeed takes a node's ranks for hpZ, qgZ reduces inside nodes first, and MiCS
 * gathers over whole nodes.
 */
START_TEST (test_diagnosed)
{
  static const struct
  {
    const char *size, *message;
  } cases[] = {
    { NULL, "shard group of 6 ranks is not whole nodes of 4 ranks that share the model" },
    { "4", "hpZ group of 4 ranks is not the ranks of a node that share the model, 8" },
    { "all", "hpZ group of 16 ranks is not the ranks of a node that share the model, 8" },
    { "3", "hpZ group of 3 ranks does not divide the 16 ranks of the mesh" },
    { "some", "unknown hpZ group 'some'" },
  };
  gboolean               mics = cases[_i].size == NULL;
  const ScenarioOverride list[] = {
    { "cluster.name", mics ? "3 x hgx-a100-4" : "2 x dgx-a100", "test" },
    { "model.config", "gpt2-xl", "test" },
    { "training.seq_len", "1024", "test" },
    { "strategy.name", mics ? "mics" : "zeropp", "test" },
    { mics ? "strategy.shard" : "strategy.zero_hpz_partition_size", mics ? "6" : cases[_i].size,
      "test" },
    { "strategy.mics_hierarchical_params_gather", "true", "test" },
  };
  guint                 n = G_N_ELEMENTS (list) - (mics ? 0 : 1);
  const PredictOptions  options = { .replay = { 0 } };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GError)    error = NULL;
  g_autoptr (GPtrArray) all = scenario_load (NULL, NULL, list, n, diags);

  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  ck_assert_ptr_null (predict (g_ptr_array_index (all, 0), &options, diags, &error));
  ck_assert_str_eq (diag_list_first_message (diags), cases[_i].message);
}
END_TEST

/* What a rank gathers over R ranks in the first step. */
static double
gathered_first (const Simulated *s, guint r)
{
  const Schedule *schedule = replay_schedule (s->replay);
  ScheduleItems   items = schedule_items (schedule, 0, SECTION_FIRST);
  double          sum = 0;

  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_COLLECTIVE && items.items[i].collective == COLLECTIVE_ALL_GATHER
        && schedule_comm_info (schedule, items.items[i].ref)->group.size == r)
      sum += (double) items.items[i].bytes;
  return sum;
}

static Simulated
simulate_lora (const char *strategy, const Shape *shape, const char *invalidate,
               const char *accumulated)
{
  const char *key = invalidate != NULL ? "strategy.invalidate" : NULL;

  return simulate (
      strategy, BARE, "strategy.prefetch_bucket_size", "0", "cluster.nodes", shape->nodes,
      "cluster.gpus_per_node", shape->gpus, "cluster.gpu", shape->gpu, "cluster.intra",
      shape->intra, "cluster.nics", "1", "cluster.nic", "ib-edr-100", "model.arch", "llama",
      "model.n_layers", shape->layers, "model.d_model", shape->width, "model.n_heads", shape->heads,
      "model.d_ff", shape->ff, "model.vocab", shape->vocab, "training.seq_len", "256",
      "training.micro_batch", "1", "training.clip_gradients", "false", "training.peft", "lora",
      "training.lora_r", "32", "training.lora_target_modules", "q_proj,k_proj,v_proj,o_proj",
      "training.grad_accum", accumulated, key, invalidate, NULL);
}

/*
 * LoRA of rank r on the four projections of attention trains T = 8 r h L values. In terms of one
 * collective of all P over the ranks, with A micro-steps: ZeRO-3 gathers 2 A P and reduces A T;
 * FCDP-Sched gathers P; FCDP-Comm gathers T, but P in the first step, and its host link carries the
 * slices of T down, and up those of all uses, 2 A P, but T's first. States: 2 P + 14 T over R.
 * Nothing changes in ZeRO-3 but what is reduced.
 */
START_TEST (test_lora_volumes)
{
  const Shape *shape = &shapes[_i];
  const char  *accumulated = _i % 2 == 0 ? "1" : "3";
  Simulated    zero3 = simulate_lora ("zero3", shape, NULL, accumulated),
            sched = simulate_lora ("fcdp", shape, "all", accumulated),
            comm = simulate_lora ("fcdp", shape, NULL, accumulated);
  double p = parameters (&zero3), g = g_ascii_strtod (shape->gpus, NULL);
  double r = g * g_ascii_strtod (shape->nodes, NULL), each = (r - 1) / r * 2 / g;
  double steps = g_ascii_strtod (accumulated, NULL);
  double t = 8.0 * 32 * g_ascii_strtod (shape->width, NULL) * g_ascii_strtod (shape->layers, NULL);

  assert_close (inter_node (&zero3, COLLECTIVE_ALL_GATHER), 2 * steps * p * each, 1e-12);
  assert_close (inter_node (&zero3, COLLECTIVE_REDUCE_SCATTER), steps * t * each, 1e-12);
  assert_close (inter_node (&sched, COLLECTIVE_ALL_GATHER), p * each, 1e-12);
  assert_close (inter_node (&sched, COLLECTIVE_REDUCE_SCATTER), steps * t * each, 1e-12);
  assert_close (inter_node (&comm, COLLECTIVE_ALL_GATHER), t * each, 1e-12);
  assert_close (gathered_first (&comm, (guint) r), 2 * p, 1e-12);
  assert_close (inter_node (&comm, COLLECTIVE_REDUCE_SCATTER), steps * t * each, 1e-12);

  assert_close (zero3.prediction->inter_node_forward_bytes_per_gpu, steps * p * each, 1e-12);
  assert_close (zero3.prediction->inter_node_backward_bytes_per_gpu, steps * (p + t) * each, 1e-12);
  assert_close (sched.prediction->inter_node_forward_bytes_per_gpu, p * each, 1e-12);
  assert_close (comm.prediction->inter_node_forward_bytes_per_gpu, t * each, 1e-12);
  assert_close (comm.prediction->inter_node_backward_bytes_per_gpu, steps * t * each, 1e-12);

  assert_close (sched.prediction->host_link_bytes_per_gpu, 2 * steps * 2 * p / g, 1e-12);
  assert_close (comm.prediction->host_link_bytes_per_gpu, (t + 2 * steps * p - t) * 2 / g, 1e-12);

  ck_assert_uint_eq (model_states (&zero3), (guint64) ((2 * p + 14 * t) / r));
  ck_assert_uint_eq (model_states (&comm), model_states (&zero3));
  ck_assert_uint_eq (comm.prediction->host.device, (guint64) (2 * p));
  simulated_clear (&zero3);
  simulated_clear (&sched);
  simulated_clear (&comm);
}
END_TEST

/*
 * What `max_reuse_distance` keeps across the turn is what ZeRO-3 need not gather again; FCDP's
 * share of its bytes then grows.
 */
START_TEST (test_retention)
{
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
        counts = counts && item->collective == move_kind (PLACE_PINNED, PLACE_HBM);
      if (counts && what.section != SECTION_INIT && what.period == last && what.rank == 0)
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
  double gathers = seconds_of (&fcdp, ITEM_COLLECTIVE), copies = seconds_of (&fcdp, ITEM_MOVE);

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

SUITE_MAIN (fcdp)
{
  Suite *suite = suite_create ("fcdp");
  TCase *tcase = tcase_create ("arithmetic");

  tcase_add_loop_test (tcase, test_volumes, 0, G_N_ELEMENTS (shapes));
  tcase_add_loop_test (tcase, test_zeropp_volumes, 0, G_N_ELEMENTS (shapes));
  tcase_add_test (tcase, test_zeropp_falls_back);
  tcase_add_loop_test (tcase, test_lora_volumes, 0, G_N_ELEMENTS (shapes));
  tcase_add_loop_test (tcase, test_diagnosed, 0, 5);
  tcase_add_test (tcase, test_mics_hierarchy);
  tcase_add_test (tcase, test_zero1_groups);
  tcase_add_test (tcase, test_retention);
  tcase_add_test (tcase, test_network_bound);
  tcase_add_test (tcase, test_intra_node);
  tcase_add_test (tcase, test_30b_fits);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
