/* A replay as a prediction. */
#include "predict/read-replay.h"
#include "base/compare.h"
#include "base/intern.h"
#include "predict/trace/memory-use.h"
#include "predict/trace/stages.h"

static char *
strategy_label (const StrategyConfig *config)
{
  GString *text = g_string_new (config->strategy->name);

  for (config = config->inner; config != NULL; config = config->inner)
    g_string_append_printf (text, " over %s", config->strategy->name);
  return g_string_free (text, FALSE);
}

/* ---- throughput ------------------------------------------------------------------------------ */

/*
 * Over all GPUs: clusters may be mixed. Exact where they are alike; ascending, so that the sum does
 * not hang on the order of the nodes.
 */
double
prediction_mfu_base (const Cluster *cluster)
{
  guint              n = cluster_n_gpus (cluster);
  g_autofree double *bases = g_new (double, n);
  double             mean = 0;

  for (guint gpu = 0; gpu < n; gpu++)
    bases[gpu] = cluster_gpu_profile (cluster, gpu)->mfu_base.value;
  qsort (bases, n, sizeof *bases, compare_doubles);
  for (guint i = 0; i < n; i++)
    mean += (bases[i] - mean) / (i + 1);
  return mean;
}

/* Of a step of all ranks. */
typedef struct
{
  double sequences, tokens, flops;
} StepWork;

/* Model FLOPs of a token of a step of SHAPE: zeroth order has its forward passes. */
static double
token_flops (const Workload *workload, StepShape shape, gint64 length)
{
  const TrainingOptions *training = workload_training (workload);
  FlopsConvention        convention = (FlopsConvention) training->flops;

  if (shape.backward)
    return flops_trained_per_token (workload_shape (workload), training, workload_mesh (workload),
                                    convention, length);
  return shape.passes * shape.pass_ranks
         * flops_forward_per_token (workload_shape (workload), training, workload_mesh (workload),
                                    convention, length);
}

static void
add_sequences (StepWork *self, const Workload *workload, StepShape shape, double n, gint64 length)
{
  self->sequences += n;
  self->tokens += n * (double) length;
  self->flops += n * (double) length * token_flops (workload, shape, length);
}

static StepWork
step_work (const Replay *replay)
{
  const Workload        *workload = replay_workload (replay);
  const TrainingOptions *training = workload_training (workload);
  const SequenceLengths *lengths = replay_resolved (replay)->lengths;
  double   cells = (double) replay_resolved (replay)->n_data_ranks * (double) training->grad_accum;
  StepWork work = { 0 };
  const StepShape shape =
      strategy_step_shape (&replay_resolved (replay)->input, replay_resolved (replay)->strategy);

  if (lengths == NULL)
    add_sequences (&work, workload, shape, cells * (double) training->micro_batch,
                   training->seq_len);
  for (guint rank = 0; lengths != NULL && rank < sequence_lengths_table (lengths).n_ranks; rank++)
    for (guint micro = 0; micro < sequence_lengths_n_micros (lengths, rank); micro++)
      {
        const guint   at = sequence_lengths_at (lengths, rank, micro);
        const GArray *batch = sequence_lengths_batch (lengths, at);

        for (guint j = 0; j < batch->len; j++)
          add_sequences (&work, workload, shape, 1. / sequence_lengths_ranks (lengths, at),
                         g_array_index (batch, gint64, j));
      }
  return work;
}

/* Tokens of the data rank that has the most of them in a step, over the mean. */
static double
imbalance_of (const Replay *replay, double tokens)
{
  const SequenceLengths *lengths = replay_resolved (replay)->lengths;
  const guint            n_ranks = lengths != NULL ? sequence_lengths_table (lengths).n_ranks : 1;
  double                 most = 0;

  for (guint rank = 0; rank < n_ranks && lengths != NULL; rank++)
    {
      double sum = 0;

      for (guint micro = 0; micro < sequence_lengths_n_micros (lengths, rank); micro++)
        {
          const guint at = sequence_lengths_at (lengths, rank, micro);

          sum += (double) sequence_lengths_tokens (sequence_lengths_batch (lengths, at))
                 / sequence_lengths_ranks (lengths, at);
        }
      most = MAX (most, sum);
    }
  return most / (tokens / n_ranks);
}

/* What its kernels do, of which the model's FLOPs are known. */
static void
fill_kernels (Prediction *self, const Replay *replay, MicroSpan micros)
{
  const ReplayBound *bound = replay_bound (replay);

  self->executed_flops = replay_bound_executed_flops (bound, micros);
  self->kernel_bytes = replay_bound_kernel_bytes (bound, micros);
  self->hardware_flops = self->model_flops + replay_bound_recomputed_flops (bound, micros);
}

static void
fill_throughput (Prediction *self, const Replay *replay)
{
  const TrainingOptions *training = workload_training (replay_workload (replay));
  StepWork               work = step_work (replay);

  self->n_gpus = cluster_n_gpus (replay_cluster (replay));
  self->n_data_ranks = replay_resolved (replay)->n_data_ranks;
  self->steady = replay_is_steady (replay);
  self->quiet = replay_ends_quiet (replay);
  self->even_steps = replay_steps_are_even (replay);
  self->step_time_s = replay_step_time (replay);
  self->tokens_per_step = work.tokens;
  self->seq_len = work.tokens / work.sequences;
  self->imbalance = imbalance_of (replay, work.tokens);
  self->mfu_base = prediction_mfu_base (replay_cluster (replay));
  self->flops_convention = flops_convention_name (training->flops);
  self->flops_counted = flops_convention_words (training->flops);
  self->model_flops = work.flops / self->n_gpus;
  fill_kernels (self, replay, WHOLE_PERIOD);
  prediction_derive (self);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* What may bind a stretch: a kind of resource or, behind all of these, a cause that is none. */
#define N_BINDINGS ((guint) RESOURCE_N_KINDS + (guint) CAUSE_N)

static guint
resource_binding (const Replay *replay, ResourceId resource)
{
  guint         alike;
  const guint32 id = replay_bound_cluster_resource (replay_bound (replay), resource, &alike);

  return (guint) cluster_resource (replay_cluster (replay), id)->kind;
}

static guint
step_binding (const Replay *replay, const PathStep *step)
{
  if (step->cause == CAUSE_RESOURCE)
    return resource_binding (replay, step->resource);
  return step->cause == CAUSE_DRAIN ? (guint) RESOURCE_SM
                                    : (guint) RESOURCE_N_KINDS + (guint) step->cause;
}

/* "channels": of a collective, at their own rate. */
static const char *
binding_name (guint binding)
{
  const Cause cause = (Cause) (binding - RESOURCE_N_KINDS);

  if (binding < RESOURCE_N_KINDS)
    return resource_kind_name ((ResourceKind) binding);
  return cause == CAUSE_CAP ? "channels" : cause_name (cause);
}

/* Of the time that kernels run, what they would not take on a GPU of mean speed. */
static double
skew_share (const Replay *replay, const PathStep *step)
{
  gboolean kernel = step->part == TIME_COMPUTE || step->part == TIME_OPTIMIZER
                    || step->part == TIME_COPY_KERNELS || step->part == TIME_OUTER;
  gboolean runs = kernel && step->cause != CAUSE_DRAIN;

  return runs ? 1 - 1 / replay_bound_skew (replay_bound (replay), step->rank) : 0;
}

static void
fill_time (Prediction *self, const Replay *replay, const ReplayStretch *stretch, const Vector *path,
           const Exposure *exposure)
{
  double     steps = schedule_steps_per_period (replay_schedule (replay));
  BindingUse uses[N_BINDINGS] = { 0 };

  for (guint i = 0; i < path->len; i++)
    {
      const PathStep *step = &vector_at (path, PathStep, i);
      double          seconds = sim_time_to_seconds (step->end - step->start) / steps;
      double          skew = skew_share (replay, step);

      self->parts[step->part] += seconds * (1 - skew);
      self->parts[TIME_SKEW] += seconds * skew;
      uses[step_binding (replay, step)].seconds += seconds;
    }
  /* the busiest resource of each kind: what it carried over its capacity */
  for (ResourceId r = 0; r < engine_n_resources (replay_engine (replay)); r++)
    {
      BindingUse *use = &uses[resource_binding (replay, r)];

      use->utilisation = MAX (use->utilisation, replay_utilisation (replay, stretch, r));
    }
  for (guint b = 0; b < N_BINDINGS; b++)
    if (uses[b].seconds > 0 || (stretch->micros.n > 0 && uses[b].utilisation > 0))
      {
        uses[b].resource = g_strdup (binding_name (b));
        g_array_append_val (self->bindings, uses[b]);
      }
  prediction_sort_bindings (self);
  self->exposed_comm_s = exposure_seconds (exposure, SCHEDULE_NONE, COLLECTIVE_ALL_GATHER);
  if (schedule_n_stages (replay_schedule (replay)) > 1)
    self->bubble_s = idle_seconds (replay, stretch);
}

/* ---- traffic --------------------------------------------------------------------------------- */

static const char *
ways_text (const GArray *ways)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < ways->len; i++)
    {
      const TrafficWay *way = &g_array_index (ways, TrafficWay, i);

      g_string_append_printf (text, "%s%s/%s/%u/%u%s", i > 0 ? ", " : "",
                              collective_algorithm_name (way->algorithm),
                              collective_protocol_name (way->protocol), way->channels,
                              way->resources, way->unaligned ? " unaligned" : "");
    }
  return intern_text (text->str);
}

static guint
links_hash (const GArray *ways)
{
  guint hash = 0;

  for (guint i = 0; i < ways->len; i++)
    hash = hash * 33 + g_array_index (ways, TrafficWay, i).links;
  return hash;
}

static void
fill_traffic (Prediction *self, const Replay *replay, MicroSpan micros, const Exposure *exposure)
{
  g_autoptr (GArray) traffic = replay_bound_traffic (replay_bound (replay), micros);
  const Schedule    *schedule = replay_schedule (replay);
  double             steps = schedule_steps_per_period (schedule);

  for (guint i = 0; i < traffic->len; i++)
    {
      const ReplayTraffic *t = &g_array_index (traffic, ReplayTraffic, i);
      const ScheduleComm  *comm = schedule_comm_info (schedule, t->comm);
      TrafficUse           use = {
                  .group = g_strdup_printf ("%s of %u", comm->name, comm->group.size),
                  .collective = g_strdup (collective_kind_name (t->kind)),
                  .ways = ways_text (t->ways),
                  .links = links_hash (t->ways),
                  .calls = (double) t->calls / steps,
                  .bytes = t->bytes / steps,
                  .inter_node_per_gpu = t->inter_node_per_gpu / steps,
                  .intra_node_per_gpu = t->intra_node_per_gpu / steps,
                  .exposed_s = exposure_seconds (exposure, t->comm, t->kind),
      };

      self->inter_node_bytes_per_gpu += use.inter_node_per_gpu;
      self->inter_node_backward_bytes_per_gpu += t->backward_inter_node_per_gpu / steps;
      self->intra_node_bytes_per_gpu += use.intra_node_per_gpu;
      g_array_append_val (self->traffic, use);
    }
  self->inter_node_forward_bytes_per_gpu =
      self->inter_node_bytes_per_gpu - self->inter_node_backward_bytes_per_gpu;
}

static void
fill_nics (Prediction *self, const Cluster *cluster)
{
  guint cards = 0;

  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    cards += cluster_nics_of_node (cluster, node);
  if (cards > 0)
    self->inter_node_bytes_per_nic =
        self->inter_node_bytes_per_gpu * cluster_n_gpus (cluster) / cards;
}

/* What is exchanged: EXPOSURE is of the rank that is told of. */
static void
fill_exchange (Prediction *self, const Replay *replay, MicroSpan micros, const Exposure *exposure)
{
  fill_traffic (self, replay, micros, exposure);
  self->host_link_bytes_per_gpu = replay_bound_host_link_bytes (replay_bound (replay), micros);
  fill_nics (self, replay_cluster (replay));
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What takes long of a long replay, part by part. FALSE: STOP came first. */
static gboolean
read_replay (Prediction *self, const Replay *replay, Stop *stop)
{
  const ReplayStretch  period = replay_last_period (replay);
  g_autoptr (Vector)   path = NULL;
  g_autoptr (Exposure) exposure = NULL;

  if (stop_cuts (stop))
    return FALSE;
  path = critical_path (replay);
  exposure = exposure_largest (replay, &period, &self->exposed_rank);
  if (stop_cuts (stop))
    return FALSE;
  memory_use_read_hbm (&self->hbm, replay, MEMORY_USE_ALL);
  memory_use_read_nodes (&self->host, replay, replay_host_pool);
  memory_use_read_nodes (&self->drives, replay, replay_drive_pool);
  if (stop_cuts (stop))
    return FALSE;
  fill_time (self, replay, &period, path, exposure);
  fill_exchange (self, replay, WHOLE_PERIOD, exposure);
  exposure_busy_shares (exposure, self->busy_percent);
  return TRUE;
}

Prediction *
prediction_from_replay (const Replay *replay, Stop *stop)
{
  const Cluster          *cluster = replay_cluster (replay);
  guint                   most = 0;
  const FrameworkProfile *framework = replay_resolved (replay)->framework;
  g_autoptr (Prediction)  self = g_new0 (Prediction, 1);

  self->bindings = prediction_new_bindings ();
  self->traffic = prediction_new_traffic ();
  self->strategy = strategy_label (replay_resolved (replay)->scenario->strategy);
  self->model = g_strdup (workload_shape (replay_workload (replay))->name);
  self->n_parameters = (double) workload_n_parameters_of_model (replay_workload (replay));
  self->cluster = g_strdup (cluster_title (replay_cluster (replay)));
  if (framework != NULL)
    self->software = g_strdup_printf ("%s (%s)", framework->id, framework->title);
  self->software_by_default = replay_resolved (replay)->framework_by_default;
  self->network = cluster_network_title (replay_cluster (replay));
  if (self->network != NULL)
    self->network_scale = cluster_network_scale (replay_cluster (replay));
  self->measured = cluster_copy_measured (replay_cluster (replay));
  prediction_set_scenario (self, replay_resolved (replay));
  fill_throughput (self, replay);
  if (!read_replay (self, replay, stop))
    return NULL;
  self->fits = self->hbm.fits && self->host.fits && self->drives.fits;
  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    most = MAX (most, cluster_gpus_of_node (cluster, node));
  /* nobody says how a model is loaded: whole by each process, or cut as it is made */
  if (self->host.device > 0)
    self->host_loading_bytes = most * self->n_parameters * dtype_bytes (DTYPE_FP32);
  return g_steal_pointer (&self);
}

/* ---- a stretch ------------------------------------------------------------------------------- */

/* The parts of PATH between BEGIN and END, latest first. */
static Vector *
path_between (const Vector *path, SimTime begin, SimTime end)
{
  Vector *self = vector_new (sizeof (PathStep));

  for (guint i = 0; i < path->len; i++)
    {
      PathStep step = vector_at (path, PathStep, i);

      step.start = MAX (step.start, begin);
      step.end = MIN (step.end, end);
      if (step.start < step.end)
        vector_push (self, step);
    }
  return self;
}

/* Whether NOW goes the way of BEFORE, by SHIFT later. */
static gboolean
paths_alike (const Vector *now, const Vector *before, SimTime shift)
{
  if (now->len != before->len)
    return FALSE;
  for (guint i = 0; i < now->len; i++)
    {
      const PathStep *a = &vector_at (now, PathStep, i), *b = &vector_at (before, PathStep, i);

      if (a->start != b->start + shift || a->end != b->end + shift || a->part != b->part
          || a->cause != b->cause || a->rank != b->rank || a->resource != b->resource)
        return FALSE;
    }
  return TRUE;
}

/* The part of the critical path in STRETCH; NULL where it is another one than before it. */
static Vector *
path_of_stretch (const Replay *replay, const ReplayStretch *stretch)
{
  const SimTime      length = stretch->end - stretch->begin;
  g_autoptr (Vector) path = critical_path (replay);
  g_autoptr (Vector) now = path_between (path, stretch->begin, stretch->end);
  g_autoptr (Vector) before = path_between (path, stretch->begin - length, stretch->begin);

  return paths_alike (now, before, length) ? g_steal_pointer (&now) : NULL;
}

/* What a micro-batch of the model is worth, N of those of WHOLE. */
static void
fill_share (Prediction *self, const Prediction *whole, const Replay *replay, guint n)
{
  const double share =
      (double) n / (double) workload_training (replay_workload (replay))->grad_accum;

  self->tokens_per_step = share * whole->tokens_per_step;
  self->model_flops = share * whole->model_flops;
}

Prediction *
prediction_of_stretch (const Replay *replay, const ReplayStretch *stretch, const Prediction *whole,
                       Stop *stop)
{
  g_autoptr (Prediction) self = g_new0 (Prediction, 1);
  g_autoptr (Vector)     path = NULL;
  g_autoptr (Exposure)   exposure = NULL;

  self->bindings = prediction_new_bindings ();
  self->traffic = prediction_new_traffic ();
  if (stop_cuts (stop))
    return NULL;
  path = path_of_stretch (replay, stretch);
  if (path == NULL || stop_cuts (stop))
    return NULL;
  exposure = exposure_largest (replay, stretch, &self->exposed_rank);
  self->n_replayed = stretch->micros.n;
  self->step_time_s = sim_time_to_seconds (stretch->end - stretch->begin);
  fill_share (self, whole, replay, stretch->micros.n);
  fill_kernels (self, replay, stretch->micros);
  fill_time (self, replay, stretch, path, exposure);
  fill_exchange (self, replay, stretch->micros, exposure);
  if (whole->stages != NULL)
    self->stages = stages_new (replay, stretch);
  return self->exposed_rank == whole->exposed_rank ? g_steal_pointer (&self) : NULL;
}
