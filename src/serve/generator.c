#include "serve/generator-private.h"

#include <math.h>
#include <string.h>

#include "model/cache/cache.h"
#include "serve/small-all-reduce.h"

#define PEERS_OF_A_KERNEL 8 /* GPUs that a small all-reduce spans at most: one node's */

const char *const generation_part_names[GENERATION_N_PARTS + 1] = {
  "products",      "experts", "attention", "states", "other kernels",
  "communication", "stages",  "host",      NULL
};

/*
 * What of a step is counted together: the blocks and the embedding, of new tokens that are of one
 * prompt or of a sequence each; or the head, of sequences that draw a token.
 */
typedef enum
{
  COUNTED_PROMPT,
  COUNTED_DECODING,
  COUNTED_HEAD,
} Counted;

/* The same of all stages, for so many tokens. */
typedef struct
{
  guint64    tokens;
  Counted    counted;
  StageCost *stages;
} TokenCost;

/* ---- workloads ------------------------------------------------------------------------------- */

Workload **
generator_new_stages (const Generator *self, ModelPass pass, guint64 sequences, guint64 tokens)
{
  TrainingOptions training = { 0 };
  Workload      **stages = g_new (Workload *, self->options.pp);

  option_table_defaults (training_options, &training);
  generation_set_training (&self->options, pass, &training);
  training.seq_len = (gint64) tokens;
  training.micro_batch = (gint64) sequences;
  stages[0] = workload_new_stage (&self->shape, &training, &self->mesh, 0);
  for (gint64 i = 1; i < self->options.pp; i++)
    stages[i] = workload_new_next_stage (stages[i - 1]);
  option_table_clear (training_options, &training);
  return stages;
}

void
generator_free_stages (const Generator *self, Workload **stages)
{
  for (gint64 i = 0; i < self->options.pp; i++)
    workload_free (stages[i]);
  g_free (stages);
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* GPUs of the first group of AXIS: tensor ranks are neighbours, replicas so many apart. */
static CollectivePlan *
plan_of (Generator *self, MeshAxis axis, CollectiveKind kind)
{
  const guint         tp = (guint) self->options.tp;
  const guint         n = axis == MESH_EXPERT ? (guint) self->options.dp : tp;
  const guint         stride = axis == MESH_EXPERT ? tp : 1;
  CollectivePlan    **plan = &self->plans[axis][kind];
  g_autofree guint32 *ranks = NULL;

  if (*plan != NULL)
    return *plan;
  ranks = g_new (guint32, n);
  for (guint i = 0; i < n; i++)
    ranks[i] = i * stride;
  *plan = collective_plan_new (self->cluster, kind, ranks, n, self->library);
  return *plan;
}

static gboolean
runs_small_kernels (const Generator *self)
{
  const guint last = (guint) self->options.tp - 1;

  return self->options.tp <= PEERS_OF_A_KERNEL
         && cluster_node_of_gpu (self->cluster, 0) == cluster_node_of_gpu (self->cluster, last);
}

/* The all-reduce of tensor ranks, as it was asked for. */
static double
all_reduce_seconds (Generator *self, double bytes, double start)
{
  const ServeAllReduce wish = (ServeAllReduce) self->options.all_reduce;
  double               best = INFINITY;

  if (wish == SERVE_ALL_REDUCE_AUTO || wish == SERVE_ALL_REDUCE_LIBRARY)
    {
      CollectiveCost cost;

      collective_plan_cost (plan_of (self, MESH_TENSOR, COLLECTIVE_ALL_REDUCE), bytes, &cost);
      best = cost.time;
    }
  for (ServeAllReduce shot = SERVE_ALL_REDUCE_ONE_SHOT; shot <= SERVE_ALL_REDUCE_TWO_SHOT; shot++)
    if (wish == shot || (wish == SERVE_ALL_REDUCE_AUTO && runs_small_kernels (self)))
      best =
          MIN (best, small_all_reduce_seconds (
                         shot, plan_of (self, MESH_TENSOR, COLLECTIVE_ALL_GATHER), bytes, start));
  return best;
}

static double
communication_seconds (Generator *self, const KernelDesc *kernel, double start)
{
  CollectiveCost cost;

  if (kernel->axis == MESH_TENSOR && kernel->comm == COLLECTIVE_ALL_REDUCE)
    return all_reduce_seconds (self, kernel->read_bytes, start);
  collective_plan_cost (plan_of (self, kernel->axis, kernel->comm), kernel->read_bytes, &cost);
  return cost.time;
}

/* ---- what all new tokens share --------------------------------------------------------------- */

static GenerationPart
part_of (const KernelDesc *kernel)
{
  switch (kernel->kind)
    {
    case KERNEL_MATMUL:
      return g_str_has_prefix (kernel->name, "experts.") ? GENERATION_EXPERTS : GENERATION_PRODUCTS;
    case KERNEL_SCAN:
      return GENERATION_STATES;
    default:
      return g_str_has_suffix (kernel->name, ".step") ? GENERATION_STATES : GENERATION_OTHER;
    }
}

/* Attention is counted by what is cached, and rotates the queries of what decodes. */
static gboolean
is_counted_apart (const KernelDesc *kernel, ModelPass pass)
{
  return kernel->kind == KERNEL_ATTENTION
         || (pass == PASS_DECODE && g_str_equal (kernel->name, "attn.rotary"));
}

static void
add_kernel (StageCost *cost, GenerationPart part, const KernelDesc *kernel, double times,
            double seconds)
{
  cost->parts[part] += times * seconds;
  cost->bytes += times * (kernel->read_bytes + kernel->write_bytes);
  if (kernel_desc_is_product (kernel))
    cost->flops += times * kernel->flops;
}

void
generator_add_kernel (Generator *self, const KernelDesc *kernel, ModelPass pass, double times,
                      StageCost *cost)
{
  const gboolean graphed = pass == PASS_DECODE && !self->options.enforce_eager;
  KernelModel   *model = graphed ? self->graphed_model : self->launched_model;
  const double   start = (graphed ? &self->graphed : &self->gpu)->kernel_latency.value;
  KernelCost     one;

  if (is_counted_apart (kernel, pass))
    return;
  cost->launches += times * kernel->launches;
  if (kernel->kind == KERNEL_COMMUNICATION)
    {
      cost->parts[GENERATION_COMMUNICATION] += times * communication_seconds (self, kernel, start);
      return;
    }
  kernel_model_cost (model, kernel, &one);
  add_kernel (cost, part_of (kernel), kernel, times, one.alone);
}

static void
add_layer (Generator *self, const LayerDesc *layer, ModelPass pass, double times, StageCost *cost)
{
  for (guint i = 0; i < layer->n_forward; i++)
    generator_add_kernel (self, &layer->forward[i], pass, times, cost);
}

/* Layers alike are costed once. */
static void
add_stage (Generator *self, const Workload *stage, Counted counted, StageCost *cost)
{
  const ModelPass   pass = counted == COUNTED_PROMPT ? PASS_PREFILL : PASS_DECODE;
  const guint       n = workload_n_layers (stage);
  g_autofree guint *times = g_new0 (guint, n); /* by the first of those alike */

  for (guint i = 0; i < n; i++)
    {
      guint first = 0;

      while (workload_layer (stage, first) != workload_layer (stage, i))
        first++;
      times[first]++;
    }
  for (guint i = 0; i < n; i++)
    {
      const LayerDesc *layer = workload_layer (stage, i);

      if (times[i] > 0 && (layer->kind == LAYER_HEAD) == (counted == COUNTED_HEAD))
        add_layer (self, layer, pass, times[i], cost);
    }
}

static guint
token_cost_hash (gconstpointer data)
{
  const TokenCost *cost = data;

  return (guint) (cost->tokens * 3 + cost->counted);
}

static gboolean
token_cost_equal (gconstpointer a, gconstpointer b)
{
  const TokenCost *x = a, *y = b;

  return x->tokens == y->tokens && x->counted == y->counted;
}

static void
token_cost_free (gpointer data)
{
  g_free (((TokenCost *) data)->stages);
  g_free (data);
}

static const TokenCost *
cost_of_tokens (Generator *self, Counted counted, guint64 tokens)
{
  const TokenCost key = { .tokens = tokens, .counted = counted };
  TokenCost      *cost = g_hash_table_lookup (self->costs, &key);
  Workload      **stages;

  if (cost != NULL)
    return cost;
  cost = g_memdup2 (&key, sizeof key);
  cost->stages = g_new0 (StageCost, self->options.pp);
  stages = counted == COUNTED_PROMPT ? generator_new_stages (self, PASS_PREFILL, 1, tokens)
                                     : generator_new_stages (self, PASS_DECODE, tokens, 1);
  for (gint64 i = 0; i < self->options.pp; i++)
    add_stage (self, stages[i], counted, &cost->stages[i]);
  generator_free_stages (self, stages);
  g_hash_table_add (self->costs, cost);
  return cost;
}

/* ---- attention ------------------------------------------------------------------------------- */

static FlashKernel
flash_of (const GpuProfile *gpu)
{
  return gpu->flash3_efficiency.value > 0 ? FLASH_3 : FLASH_2;
}

Dtype
generator_cache_dtype (const Generator *self)
{
  return self->options.cache_dtype == SERVE_CACHE_16BIT ? DTYPE_BF16 : DTYPE_FP8;
}

double
generator_cache_scales (const Generator *self)
{
  return self->options.cache_dtype == SERVE_CACHE_FP8_HEADS ? 2 * sizeof (float) : 0;
}

static gboolean
decodes (const SequenceGroup *group)
{
  return group->tokens <= 1;
}

void
generator_add_attention (const Generator *self, const ModelLayer *block, const SequenceGroup *group,
                         double times, StageCost *sum)
{
  const gint64 tp = self->options.tp;
  KernelDesc   kernel;
  KernelCost   cost;
  gboolean     attends;

  if (decodes (group))
    attends = cache_decode_kernel (&self->shape, block, tp, generator_cache_dtype (self),
                                   group->sequences, group->cached, &kernel);
  else
    attends = cache_prefill_kernel (&self->shape, block, tp, flash_of (&self->gpu),
                                    group->sequences, group->tokens, group->cached, &kernel);
  if (!attends)
    return;
  if (decodes (group)) /* whose batch and n are heads of keys, and keys */
    kernel.read_bytes += (double) kernel.batch * (double) kernel.n * generator_cache_scales (self);
  kernel_cost (&self->gpu, &kernel, &cost);
  sum->launches += times;
  add_kernel (sum, GENERATION_ATTENTION, &kernel, times, cost.alone);
}

static void
add_attention_of_stage (const Generator *self, guint stage, const SequenceGroup *groups, guint n,
                        StageCost *sum)
{
  const Workload *workload = self->stages[stage];
  const guint     n_layers = workload_n_layers (workload);

  for (guint i = 0, next; i < n_layers; i = next)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      for (next = i + 1; next < n_layers && workload_layer (workload, next) == layer;)
        next++;
      for (guint g = 0; layer->kind == LAYER_BLOCK && g < n; g++)
        if (groups[g].sequences > 0)
          generator_add_attention (self, workload_block (workload, i), &groups[g], next - i, sum);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* What is new in a micro-batch. */
typedef struct
{
  const TokenCost *tokens, *heads;
  double           n_tokens;
  gboolean         graphed;
} NewTokens;

static void
add_costs (const StageCost *other, StageCost *sum)
{
  for (guint p = 0; p < GENERATION_N_PARTS; p++)
    sum->parts[p] += other->parts[p];
  sum->launches += other->launches;
  sum->flops += other->flops;
  sum->bytes += other->bytes;
}

/* A micro-batch of GROUPS on STAGE. */
static void
time_stage (Generator *self, guint stage, const NewTokens *new, const SequenceGroup *groups,
            guint n, GenerationTime *time)
{
  StageCost cost = new->tokens->stages[stage];
  double    issued;

  add_costs (&new->heads->stages[stage], &cost);
  add_attention_of_stage (self, stage, groups, n, &cost);
  *time = (GenerationTime){ .flops = cost.flops, .bytes = cost.bytes };
  for (guint p = 0; p < GENERATION_N_PARTS; p++)
    {
      time->parts[p] = cost.parts[p];
      time->seconds += cost.parts[p];
    }
  if (new->graphed)
    return;
  issued = cost.launches * self->options.issue_s;
  time->parts[GENERATION_HOST] = MAX (issued - time->seconds, 0);
  time->seconds = MAX (issued, time->seconds);
}

/* Activations of TOKENS on their way to the next stage. */
static double
message_seconds (Generator *self, double tokens)
{
  CollectiveCost cost;

  if (self->options.pp == 1)
    return 0;
  if (self->message == NULL)
    self->message = collective_plan_new_message (
        self->cluster, 0, (guint32) (self->options.tp * self->options.dp), self->library);
  collective_plan_cost (self->message, 2 * tokens * (double) self->shape.d_model, &cost);
  return cost.time;
}

double
generator_hand_over_seconds (Generator *self, double bytes)
{
  const guint32 other =
      (guint32) MIN (generation_ranks (&self->options), cluster_n_gpus (self->cluster) - 1);
  CollectiveCost cost;

  if (self->hand_over == NULL)
    self->hand_over = collective_plan_new_message (self->cluster, 0, other, self->library);
  collective_plan_cost (self->hand_over, bytes, &cost);
  return cost.time;
}

/* GROUPS over the stages' micro-batches. */
static SequenceGroup *
micro_batch_of (const Generator *self, const SequenceGroup *groups, guint n)
{
  SequenceGroup *part = g_memdup2 (groups, n * sizeof *groups);

  for (guint i = 0; i < n; i++)
    part[i].sequences = ceil (groups[i].sequences / (double) self->options.pp);
  return part;
}

guint64
generator_padded (double n)
{
  const guint64 whole = (guint64) ceil (n), unit = whole > 512 ? 128 : whole > 4 ? 8 : 1;

  return whole == 3 ? 4 : (whole + unit - 1) / unit * unit;
}

/* Whoever decodes has all others run as it does: in one batch. */
static NewTokens
new_tokens_of (Generator *self, const SequenceGroup *groups, guint n)
{
  double   sequences = 0, tokens = 0;
  gboolean decoding = FALSE, prompts = FALSE;
  NewTokens new;

  for (guint i = 0; i < n; i++)
    {
      sequences += groups[i].sequences;
      tokens += groups[i].sequences * groups[i].tokens;
      decoding = decoding || (groups[i].sequences > 0 && decodes (&groups[i]));
      prompts = prompts || (groups[i].sequences > 0 && !decodes (&groups[i]));
    }
  g_assert (sequences > 0);
  new = (NewTokens){ .n_tokens = tokens, .graphed = !prompts && !self->options.enforce_eager };
  new.tokens = cost_of_tokens (self, decoding ? COUNTED_DECODING : COUNTED_PROMPT,
                               generator_padded (tokens));
  new.heads = cost_of_tokens (self, COUNTED_HEAD, generator_padded (sequences));
  return new;
}

/* Of the host between two steps. */
static double
host_seconds (const Generator *self, const SequenceGroup *groups, guint n)
{
  double seconds = self->options.step_overhead_s;

  for (guint i = 0; i < n; i++)
    seconds += groups[i].sequences * self->options.sequence_overhead_s;
  return seconds;
}

/*
 * A micro-batch passes all stages; of as many micro-batches as stages the next one starts on the
 * slowest stage when it has done with all others.
 */
void
generator_step (Generator *self, const SequenceGroup *groups, guint n, GenerationTime *time)
{
  g_autofree SequenceGroup *part = micro_batch_of (self, groups, n);
  const NewTokens new = new_tokens_of (self, part, n);
  const double host = host_seconds (self, groups, n);
  const double stages = (double) self->options.pp;
  const double message = message_seconds (self, new.n_tokens);
  double       slowest = 0;

  *time = (GenerationTime){ 0 };
  for (guint s = 0; s < self->options.pp; s++)
    {
      GenerationTime one;

      time_stage (self, s, &new, part, n, &one);
      for (guint p = 0; p < GENERATION_N_PARTS; p++)
        time->parts[p] += one.parts[p];
      time->flops += one.flops;
      time->bytes += one.bytes;
      time->seconds += one.seconds + message;
      slowest = MAX (slowest, one.seconds + message);
    }
  time->parts[GENERATION_COMMUNICATION] += stages * message;
  time->parts[GENERATION_STAGES] = MAX (stages * slowest - time->seconds, 0);
  time->seconds += time->parts[GENERATION_STAGES] + host;
  time->parts[GENERATION_HOST] += host;
}

double
generator_score_seconds (Generator *self, const SequenceGroup *groups, guint n,
                         double n_micro_batches)
{
  NewTokens new = new_tokens_of (self, groups, n);
  const double message = message_seconds (self, new.n_tokens);
  double       slowest = 0, first = 0;

  new.heads = cost_of_tokens (self, COUNTED_HEAD, generator_padded (new.n_tokens));
  for (guint s = 0; s < self->options.pp; s++)
    {
      GenerationTime one;

      time_stage (self, s, &new, groups, n, &one);
      first += one.seconds + message;
      slowest = MAX (slowest, one.seconds + message);
    }
  return first + (n_micro_batches - 1) * slowest;
}

/* ---- life ------------------------------------------------------------------------------------ */

static gboolean
check_ranks (const GenerationOptions *options, const Cluster *cluster, DiagList *diags)
{
  const guint ranks = generation_ranks (options), gpus = cluster_n_gpus (cluster);

  if (ranks > gpus || gpus % ranks != 0)
    diag_error (diags, NULL, "make tp x pp x dp a divisor of the cluster's GPUs",
                "an instance of %u ranks does not divide the cluster's %u GPUs", ranks, gpus);
  return ranks <= gpus && gpus % ranks == 0;
}

/* The mesh of an instance fits the model. */
static gboolean
check_mesh (const ModelShape *shape, const GenerationOptions *options, DiagList *diags)
{
  const MeshOptions mesh = generation_mesh (options);
  TrainingOptions   training = { 0 };
  gboolean          ok;

  option_table_defaults (training_options, &training);
  generation_set_training (options, PASS_PREFILL, &training);
  training.seq_len = 1;
  training.micro_batch = 1;
  training.grad_accum = options->pp;
  ok = mesh_check (shape, &training, &mesh, generation_ranks (options), NULL, diags);
  option_table_clear (training_options, &training);
  return ok;
}

static gboolean
check_cache (const ModelShape *shape, const GenerationOptions *options, DiagList *diags)
{
  if (options->cache_dtype != SERVE_CACHE_FP8_HEADS || shape->kv_lora_rank == 0)
    return TRUE;
  diag_error (
      diags, NULL, "take a 'cache_dtype' of fp8",
      "'cache_dtype: fp8-per-token-head' of latents, which all heads share, is not modelled");
  return FALSE;
}

Generator *
generator_new (const ModelShape *shape, const GenerationOptions *options, const Cluster *cluster,
               const CollectiveOptions *library, DiagList *diags)
{
  Generator *self;
  gboolean   ok = check_ranks (options, cluster, diags);

  ok = check_cache (shape, options, diags) && ok;
  if (!check_mesh (shape, options, diags) || !ok)
    return NULL;
  self = g_new0 (Generator, 1);
  model_shape_copy (shape, &self->shape);
  self->options = *options;
  generation_take_gpu (&self->options, cluster_gpu_profile (cluster, 0));
  self->mesh = generation_mesh (options);
  self->cluster = cluster;
  self->library = library;
  self->gpu = self->graphed = *cluster_gpu_profile (cluster, 0);
  if (self->gpu.graph_latency.value > 0)
    self->graphed.kernel_latency = self->gpu.graph_latency;
  self->launched_model = kernel_model_new (&self->gpu);
  self->graphed_model = kernel_model_new (&self->graphed);
  self->stages = generator_new_stages (self, PASS_DECODE, 1, 1);
  self->costs = g_hash_table_new_full (token_cost_hash, token_cost_equal, token_cost_free, NULL);
  return self;
}

void
generator_free (Generator *self)
{
  if (self == NULL)
    return;
  for (guint a = 0; a < MESH_N_AXES; a++)
    for (guint k = 0; k < COLLECTIVE_N_KINDS; k++)
      g_clear_pointer (&self->plans[a][k], collective_plan_free);
  g_clear_pointer (&self->message, collective_plan_free);
  g_clear_pointer (&self->hand_over, collective_plan_free);
  generator_free_stages (self, self->stages);
  g_hash_table_unref (self->costs);
  kernel_model_free (self->launched_model);
  kernel_model_free (self->graphed_model);
  model_shape_clear (&self->shape);
  g_free (self);
}
