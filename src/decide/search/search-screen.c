/* Bounds of configurations: kernels alone, collectives alone, closed forms. */
#include "decide/search/search-screen.h"

#include "base/intern.h"
#include "cost/collective/library/collective.h"
#include "cost/kernel/kernel.h"
#include "driver/oracle/expect.h"
#include "driver/policy/pipeline.h"
#include "hardware/profile/kernel-release.h"
#include "model/layer/expert-dispatch.h"
#include "replay/run/replay.h"

/* S for the least time a byte of a collective takes: beyond it latency no longer shows. */
#define LARGE 1e10

struct _SearchScreen
{
  GMutex      lock;
  GHashTable *gpus;        /* text of gpu_of -> ScreenGpu */
  GHashTable *kernels;     /* KernelKey -> Work */
  GHashTable *collectives; /* CollectiveKey -> double: seconds */
};

/* A GPU under one release of kernels: its measured products are read once. */
typedef struct
{
  const ResolvedScenario *keeps; /* a reference: `profile` is its cluster's */
  const GpuProfile       *profile;
  KernelModel            *model;
} ScreenGpu;

/*
 * s: one after another; and what all of it takes of a GPU's SMs and of its HBM, if of them alone.
 */
typedef struct
{
  double serial, sm, hbm;
} Work;

static void
work_add (Work *sum, Work more, double times)
{
  sum->serial += times * more.serial;
  sum->sm += times * more.sm;
  sum->hbm += times * more.hbm;
}

/* ---- what was asked before ------------------------------------------------------------------- */

/* What a kernel's cost depends on. */
typedef struct
{
  const ScreenGpu *gpu;
  guint            kind, dtype, launches, flash, block_scaled, packed, widens;
  guint64          m, n, k, batch, streams, turns;
  double           flops, padded, read_bytes, write_bytes, exponentials, scattered;
} KernelKey;

/* Clusters of a search differ in the number of their nodes, and in figures that vary. */
typedef struct
{
  const char *hardware; /* hardware_text */
  guint       kind;
  MeshGroup   group;
  Dispatch    dispatch;
  double      bytes;
} CollectiveKey;

/* Word by word. */
static guint
hash_bytes (gconstpointer data, gsize n)
{
  const guint8 *bytes = data;
  guint64       hash = G_GUINT64_CONSTANT (0xcbf29ce484222325), word;

  for (gsize i = 0; i < n; i += sizeof word)
    {
      word = 0;
      memcpy (&word, bytes + i, MIN (n - i, sizeof word));
      hash = (hash ^ word) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
      hash ^= hash >> 32;
    }
  return (guint) hash;
}

static guint
hash_kernel (gconstpointer key)
{
  return hash_bytes (key, sizeof (KernelKey));
}

static gboolean
equal_kernels (gconstpointer a, gconstpointer b)
{
  return memcmp (a, b, sizeof (KernelKey)) == 0;
}

static guint
hash_collective (gconstpointer key)
{
  return hash_bytes (key, sizeof (CollectiveKey));
}

static gboolean
equal_collectives (gconstpointer a, gconstpointer b)
{
  return memcmp (a, b, sizeof (CollectiveKey)) == 0;
}

static void
gpu_free (gpointer data)
{
  ScreenGpu *self = data;

  kernel_model_free (self->model);
  resolved_unref (self->keeps);
  g_free (self);
}

SearchScreen *
search_screen_new (void)
{
  SearchScreen *self = g_new0 (SearchScreen, 1);

  g_mutex_init (&self->lock);
  self->gpus = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, gpu_free);
  self->kernels = g_hash_table_new_full (hash_kernel, equal_kernels, g_free, g_free);
  self->collectives = g_hash_table_new_full (hash_collective, equal_collectives, g_free, g_free);
  return self;
}

void
search_screen_free (SearchScreen *self)
{
  g_hash_table_unref (self->kernels);
  g_hash_table_unref (self->collectives);
  g_hash_table_unref (self->gpus);
  g_mutex_clear (&self->lock);
  g_free (self);
}

/* The SIZE bytes under KEY into VALUE; FALSE when nothing is known yet. */
static gboolean
recall (SearchScreen *self, GHashTable *table, gconstpointer key, gpointer value, gsize size)
{
  gconstpointer known;

  g_mutex_lock (&self->lock);
  known = g_hash_table_lookup (table, key);
  if (known != NULL)
    memcpy (value, known, size);
  g_mutex_unlock (&self->lock);
  return known != NULL;
}

/* KEY and VALUE are newly allocated and taken. */
static void
remember (SearchScreen *self, GHashTable *table, gpointer key, gpointer value)
{
  g_mutex_lock (&self->lock);
  g_hash_table_insert (table, key, value);
  g_mutex_unlock (&self->lock);
}

/* ---- one by one ------------------------------------------------------------------------------ */

/* A resolved scenario while it is looked at. */
typedef struct
{
  SearchScreen           *screen;
  const ResolvedScenario *resolved;
  const char             *hardware; /* hardware_text */
  GPtrArray              *gpus;     /* ScreenGpu, one a kind of GPU */
  GHashTable *passes; /* kernels of a layer's forward pass -> Passes: stages share them */
} Look;

/* All that decides what kernels and collectives take, but for the release of kernels; interned. */
static const char *
hardware_text (const ResolvedScenario *resolved)
{
  const CollectiveConfig *collective = &resolved->scenario->collective;
  g_autofree char        *cluster = cluster_options_text (&resolved->scenario->cluster);
  g_autoptr (GString)     text = g_string_new (cluster);

  for (const OptionSpec *spec = collective_options; spec->key != NULL; spec++)
    {
      g_autofree char *value = option_format (spec, collective);

      g_string_append_printf (text, "%s\n", value);
    }
  return intern_text (text->str);
}

/* PROFILE of the hardware of that text. */
static const ScreenGpu *
gpu_of (const Look *self, const GpuProfile *profile)
{
  SearchScreen *screen = self->screen;
  char         *text = g_strconcat (self->hardware, profile->id, " ",
                            profile->release != NULL ? profile->release->id : "", NULL);
  ScreenGpu    *gpu;

  g_mutex_lock (&screen->lock);
  gpu = g_hash_table_lookup (screen->gpus, text);
  if (gpu == NULL)
    {
      gpu = g_new (ScreenGpu, 1);
      *gpu = (ScreenGpu){ resolved_ref (self->resolved), profile, kernel_model_new (profile) };
      g_hash_table_insert (screen->gpus, g_steal_pointer (&text), gpu);
    }
  g_mutex_unlock (&screen->lock);
  g_free (text);
  return gpu;
}

/* Of each kind one; nodes have GPUs of one kind. */
static void
find_gpus (Look *self)
{
  const Cluster        *cluster = self->resolved->cluster;
  g_autoptr (GPtrArray) profiles = g_ptr_array_new ();

  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    {
      const GpuProfile *profile = cluster_gpu_profile (cluster, cluster_first_gpu (cluster, node));

      if (g_ptr_array_find (profiles, profile, NULL))
        continue;
      g_ptr_array_add (profiles, (gpointer) profile);
      g_ptr_array_add (self->gpus, (gpointer) gpu_of (self, profile));
    }
}

static KernelKey
key_of (const ScreenGpu *gpu, const KernelDesc *kernel)
{
  KernelKey key;

  memset (&key, 0, sizeof key); /* padding is hashed as well */
  key.gpu = gpu;
  key.kind = kernel->kind;
  key.dtype = kernel->dtype;
  key.launches = kernel->launches;
  key.flash = kernel->flash;
  key.block_scaled = kernel->block_scaled;
  key.packed = kernel->packed;
  key.widens = kernel->widens;
  key.m = kernel->m;
  key.n = kernel->n;
  key.k = kernel->k;
  key.batch = kernel->batch;
  key.streams = kernel->streams;
  key.turns = kernel->turns;
  key.flops = kernel->flops;
  key.padded = kernel->padded;
  key.read_bytes = kernel->read_bytes;
  key.write_bytes = kernel->write_bytes;
  key.exponentials = kernel->exponentials;
  key.scattered = kernel->scattered;
  return key;
}

static Work
kernel_work_on (const Look *self, guint i, const KernelDesc *kernel)
{
  SearchScreen     *screen = self->screen;
  const ScreenGpu  *known = g_ptr_array_index (self->gpus, i);
  const GpuProfile *gpu = known->profile;
  const KernelKey   key = key_of (known, kernel);
  KernelCost        cost;
  Work              work;

  if (recall (screen, screen->kernels, &key, &work, sizeof work))
    return work;
  kernel_model_cost (known->model, kernel, &cost);
  work = (Work){ .serial = cost.alone,
                 .sm = (cost.wave_units * cost.wave_seconds + cost.sm_seconds) / gpu->sms.value,
                 .hbm = cost.hbm_bytes / gpu->hbm_bandwidth.value };
  remember (screen, screen->kernels, g_memdup2 (&key, sizeof key), g_memdup2 (&work, sizeof work));
  return work;
}

/* On the GPU that is fastest at it, where there are several kinds. */
static Work
kernel_work (const Look *self, const KernelDesc *kernel)
{
  Work least = kernel_work_on (self, 0, kernel);

  for (guint i = 1; i < self->gpus->len; i++)
    {
      Work work = kernel_work_on (self, i, kernel);

      least = (Work){ MIN (least.serial, work.serial), MIN (least.sm, work.sm),
                      MIN (least.hbm, work.hbm) };
    }
  return least;
}

/* HARDWARE: RESOLVED's hardware_text. */
static double
collective_seconds (SearchScreen *screen, const ResolvedScenario *resolved, const char *hardware,
                    CollectiveKind kind, MeshGroup group, Dispatch dispatch, double bytes)
{
  CollectiveKey     key;
  CollectiveOptions options;
  double            seconds;

  if (group.size <= 1 || bytes <= 0 || kind == COLLECTIVE_SEND_RECV)
    return 0;
  memset (&key, 0, sizeof key);
  key.hardware = hardware;
  key.kind = kind;
  key.group = group;
  key.dispatch = dispatch;
  key.bytes = bytes;
  if (!recall (screen, screen->collectives, &key, &seconds, sizeof seconds))
    {
      g_autofree guint32        *members = g_new (guint32, group.size);
      g_autoptr (CollectivePlan) plan = NULL;

      mesh_group_members (group, 0, members);
      options = collective_config_options (&resolved->scenario->collective);
      options.dispatch = dispatch;
      plan = collective_plan_new (resolved->cluster, kind, members, group.size, &options);
      seconds = collective_plan_time (plan, bytes);
      remember (screen, screen->collectives, g_memdup2 (&key, sizeof key),
                g_memdup2 (&seconds, sizeof seconds));
    }
  return seconds;
}

/* ---- what a stage computes ------------------------------------------------------------------- */

static MeshGroup
axis_group (const ResolvedScenario *resolved, MeshAxis axis)
{
  const Mesh *mesh = &resolved->input.mesh;

  if (axis == MESH_CONTEXT)
    return mesh_context (mesh, (guint) workload_mesh (resolved->workload)->cp);
  if (axis == MESH_EXPERT_TENSOR)
    return mesh_expert_tensor (mesh);
  if (axis == MESH_TENSOR_ROWS)
    return mesh_tensor_rows (mesh);
  return axis == MESH_EXPERT ? mesh_experts (mesh) : mesh_tensor_columns (mesh);
}

/* Of a collective among the kernels: a set of context ranks, or all of its axis. */
static MeshGroup
kernel_group (const ResolvedScenario *resolved, const KernelDesc *kernel)
{
  const guint every = MAX (kernel->every, 1);

  if (kernel->axis != MESH_CONTEXT || kernel->ranks == 0)
    return axis_group (resolved, kernel->axis);
  return mesh_group_every (mesh_context (&resolved->input.mesh, kernel->ranks * every), every);
}

static Dispatch
kernel_dispatch (const ResolvedScenario *resolved, MeshAxis axis)
{
  return axis == MESH_EXPERT ? expert_dispatch (workload_shape (resolved->workload),
                                                workload_mesh (resolved->workload))
                             : (Dispatch){ 0 };
}

/*
 * What kernels run concurrently with is not waited for; what only the first micro-step runs is left
 * out: this is what every one takes at least.
 */
static void
add_kernels (const Look *self, const KernelDesc *kernels, guint n, Work *sum)
{
  for (guint i = 0; i < n; i++)
    if (kernels[i].first_micro_only)
      continue;
    else if (kernels[i].kind != KERNEL_COMMUNICATION)
      work_add (sum, kernel_work (self, &kernels[i]), 1);
    else if (!kernels[i].async)
      sum->serial += collective_seconds (
          self->screen, self->resolved, self->hardware, kernels[i].comm,
          kernel_group (self->resolved, &kernels[i]),
          kernel_dispatch (self->resolved, kernels[i].axis), kernels[i].read_bytes);
}

/* Of a micro-batch; recomputation is of the backward pass. */
typedef struct
{
  Work forward, backward;
} Passes;

static const Passes *
layer_passes (const Look *self, const LayerDesc *layer)
{
  Passes *passes = g_hash_table_lookup (self->passes, layer->forward);

  g_assert (layer->n_forward > 0); /* what it is known by */
  if (passes == NULL)
    {
      passes = g_new0 (Passes, 1);
      add_kernels (self, layer->forward, layer->n_forward, &passes->forward);
      add_kernels (self, layer->recompute, layer->n_recompute, &passes->backward);
      add_kernels (self, layer->backward, layer->n_backward, &passes->backward);
      g_hash_table_insert (self->passes, (gpointer) layer->forward, passes);
    }
  return passes;
}

/* Of CHUNK of a stage, or of all its chunks (G_MAXUINT). */
static Passes
stage_passes (const Look *self, const Workload *stage, guint chunk)
{
  Passes sum = { 0 };
  guint  first = 0, end = workload_n_layers (stage);

  if (chunk != G_MAXUINT)
    workload_chunk (stage, chunk, &first, &end);
  for (guint l = first; l < end; l++)
    {
      const Passes *passes = layer_passes (self, workload_layer (stage, l));

      work_add (&sum.forward, passes->forward, 1);
      work_add (&sum.backward, passes->backward, 1);
    }
  return sum;
}

/*
 * Two directions compute at the same time: each one after another, both on the same SMs and HBM.
 */
static double
both_directions (Work busy)
{
  return MAX (busy.serial / 2, MAX (busy.sm, busy.hbm));
}

/*
 * A stage begins when the first micro-batch has passed those before it, and behind its last pass
 * gradients go back through them, unless gradients of weights come last.
 */
static double
pipeline_seconds (const Look *self, const Pipeline *pipeline, Work *work)
{
  const gboolean splits = pipeline->kind == PIPELINE_ZB_H1 || pipeline->kind == PIPELINE_ZB_H2
                          || pipeline->kind == PIPELINE_ZBV;
  const gboolean both = pipeline_is_concurrent (pipeline);
  double         longest = 0, before = 0, micros = pipeline_chunk_micros (pipeline);

  for (guint s = 0; s < pipeline->stages; s++)
    {
      const Workload *stage = self->resolved->input.stages[s];
      const Passes    all = stage_passes (self, stage, G_MAXUINT);
      const Passes    first = pipeline->chunks > 1 ? stage_passes (self, stage, 0) : all;
      Work            busy = { 0 };

      work_add (&busy, all.forward, micros);
      work_add (&busy, all.backward, micros);
      work_add (work, all.forward, 1);
      work_add (work, all.backward, 1);
      longest = MAX (longest, both ? both_directions (busy) : before + busy.serial);
      before += first.forward.serial + (splits ? 0 : first.backward.serial);
    }
  return longest;
}

ScreenedCompute
search_screen_compute (SearchScreen *self, const ResolvedScenario *resolved)
{
  const Pipeline pipeline = pipeline_of (resolved->workload);
  Look look = { .screen = self, .resolved = resolved, .hardware = hardware_text (resolved) };
  ScreenedCompute compute;
  Work            work = { 0 };

  look.gpus = g_ptr_array_new ();
  look.passes = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  find_gpus (&look);
  compute.compute = pipeline_seconds (&look, &pipeline, &work);
  compute.hardware = look.hardware;
  compute.work = work.serial;
  compute.both = both_directions (work);
  g_ptr_array_unref (look.gpus);
  g_hash_table_unref (look.passes);
  return compute;
}

static PlanInput
input_with (const ResolvedScenario *resolved, ExpectSums *sums)
{
  PlanInput in = resolved->input;

  in.sums = sums;
  return in;
}

double
search_screen_activations (const ResolvedScenario *resolved, ExpectSums *sums)
{
  const PlanInput        in = input_with (resolved, sums);
  const ActivationBounds bounds = activation_bounds (&in);

  return bounds.kept + bounds.low;
}

/* Where others share the experts' group, too: the faster of both, for all. */
static Dispatch
traffic_dispatch (const ResolvedScenario *resolved, const TrafficTotal *traffic)
{
  const MeshGroup experts = axis_group (resolved, MESH_EXPERT);

  return kernel_dispatch (resolved,
                          mesh_group_equal (traffic->group, experts) ? MESH_EXPERT : MESH_TENSOR);
}

/* ---- what a strategy moves ------------------------------------------------------------------- */

/* Ops of one communicator follow one another. */
static double
traffic_seconds (SearchScreen *self, const ResolvedScenario *resolved, const char *hardware,
                 const PlanTotals *totals)
{
  double longest = 0;

  for (guint i = 0; i < totals->n_traffic; i++)
    {
      const TrafficTotal *traffic = &totals->traffic[i];
      double large = collective_seconds (self, resolved, hardware, traffic->kind, traffic->group,
                                         traffic_dispatch (resolved, traffic), LARGE);

      longest = MAX (longest, large / LARGE * (traffic->bytes - traffic->slack));
    }
  return longest;
}

gboolean
search_screen_bound (SearchScreen *self, const ResolvedScenario *resolved,
                     const ScreenedCompute *compute, const StrategyChoice *choice, ExpectSums *sums,
                     ScreenedBound *bound, DiagList *diags)
{
  const PlanInput in = input_with (resolved, sums);
  PlanTotals      totals;
  double          steps;

  *bound = (ScreenedBound){ .seconds = compute->compute };
  if (!strategy_check (&in, choice, diags))
    return FALSE;
  if (!strategy_expect (&in, choice, &totals))
    return TRUE;
  steps = (double) strategy_period_steps (&in, choice);
  bound->seconds =
      MAX (compute->compute, traffic_seconds (self, resolved, compute->hardware, &totals) / steps);
  for (Place place = 0; place < PLACE_N; place++)
    bound->bytes[place] = (guint64) MAX (totals.low[place], 0);
  return TRUE;
}
