#include "serve/apart.h"

#include <math.h>
#include <string.h>

struct _Apart
{
  GenerationOptions generation;
  ApartOptions      options; /* `expert_tp` and `expert_nodes` are numbers */
  Generator        *attention, *experts;
  ExchangeEnd      *attention_end, *expert_end;
  double            width, per_token; /* of what travels, elements; experts of a token */
  double            experts_of_node;
  guint             n_layers;
  gboolean         *has_experts;                 /* by layer */
  double            cached;                      /* tokens of a sequence, of what is in: */
  GHashTable       *seconds[GENERATION_N_SIDES]; /* double *, by layer: of batches asked for */
};

/* ---- life ------------------------------------------------------------------------------------ */

static guint
attention_gpus (const Apart *self)
{
  return (guint) (self->generation.tp * self->options.attention_replicas);
}

static guint
expert_gpus (const Apart *self)
{
  return (guint) (self->options.expert_tp * self->options.expert_nodes);
}

static gboolean
check_model (const ModelShape *shape, const ApartOptions *options, DiagList *diags)
{
  const gint64 nodes = options->expert_nodes;

  if (shape->n_experts == 0)
    {
      diag_error (diags, NULL, "a model with routed experts, such as mixtral-8x22b",
                  "'%s' has no experts to put apart", shape->name);
      return FALSE;
    }
  if (nodes > 0 && shape->n_experts % nodes != 0)
    {
      diag_error (diags, NULL, "each node holds as many experts",
                  "%" G_GINT64_FORMAT " expert nodes do not divide the %" G_GINT64_FORMAT
                  " experts of a layer",
                  nodes, shape->n_experts);
      return FALSE;
    }
  return TRUE;
}

static const char *
network_of (const Cluster *cluster)
{
  const LinkProfile *nic = cluster_nic_profile (cluster, 0);

  return nic != NULL && cluster_nics_of_node (cluster, 0) > 0 ? nic->technology : NULL;
}

/* Cards of one kind; or GPUs of one node. */
static gboolean
check_network (const ApartOptions *options, const ApartPools *pools, DiagList *diags)
{
  const char    *here = network_of (pools->attention), *there = network_of (pools->experts);
  const gboolean one_node =
      pools->attention == pools->experts && cluster_n_nodes (pools->attention) == 1;

  if (one_node && options->transport == EXCHANGE_M2N)
    diag_error (diags, NULL, "take nccl, or more nodes",
                "m2n writes through network cards: the pools are in one node");
  else if (!one_node && (here == NULL || there == NULL))
    diag_error (diags, NULL, "give its nodes network cards",
                "the pools share no network: a node of the %s has no card",
                here == NULL ? "attention's" : "experts'");
  else if (!one_node && strcmp (here, there) != 0)
    diag_error (diags, NULL, "cards of one kind in both",
                "the pools share no network: attention has '%s', experts have '%s'", here, there);
  else
    return TRUE;
  return FALSE;
}

static gboolean
check_size (const char *pool, guint needed, guint gpus, DiagList *diags)
{
  if (needed > gpus)
    diag_error (diags, NULL, "fewer ranks, replicas or nodes; or a larger cluster",
                "%s need %u GPUs, there are %u", pool, needed, gpus);
  return needed <= gpus;
}

static gboolean
check_sizes (const Apart *self, const ApartPools *pools, DiagList *diags)
{
  const guint a = attention_gpus (self), e = expert_gpus (self);

  if (pools->attention == pools->experts)
    return check_size ("attention and experts", a + e, cluster_n_gpus (pools->attention), diags);
  return check_size ("replicas of attention", a, cluster_n_gpus (pools->attention), diags)
         && check_size ("experts", e, cluster_n_gpus (pools->experts), diags);
}

/*
 * A node's experts by themselves: rows come to them, each for one. Shared experts stay with
 * attention.
 */
static Generator *
new_expert_generator (const Apart *self, const ModelShape *shape, const ApartPools *pools,
                      const CollectiveOptions *library, DiagList *diags)
{
  ModelShape        node = *shape; /* what it points to is the caller's: it is copied */
  GenerationOptions options = self->generation;

  node.n_experts = shape->n_experts / self->options.expert_nodes;
  node.n_experts_per_token = 1;
  options.tp = self->options.expert_tp;
  return generator_new (&node, &options, pools->experts, library, diags);
}

/* What is read off the model once and for all. */
static void
keep_shape (Apart *self, const ModelShape *shape)
{
  self->width = (double) (shape->moe_latent > 0 ? shape->moe_latent : shape->d_model);
  self->per_token = (double) shape->n_experts_per_token;
  self->experts_of_node = (double) shape->n_experts / (double) self->options.expert_nodes;
  self->n_layers = generator_n_layers (self->attention);
  self->has_experts = g_new (gboolean, self->n_layers);
  for (guint i = 0; i < self->n_layers; i++)
    self->has_experts[i] = generator_has_experts (self->attention, i);
}

Apart *
apart_new (const ModelShape *shape, const GenerationOptions *generation,
           const ApartOptions *options, const ApartPools *pools, const CollectiveOptions *library,
           DiagList *diags)
{
  const gboolean    leaves = pools->attention != pools->experts;
  g_autoptr (Apart) self = g_new0 (Apart, 1);

  for (guint s = 0; s < GENERATION_N_SIDES; s++)
    self->seconds[s] = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  if (!check_model (shape, options, diags) || !check_network (options, pools, diags))
    return NULL;
  self->generation = *generation;
  self->generation.pp = self->generation.dp = 1;
  self->options = *options;
  if (options->expert_tp == 0)
    self->options.expert_tp = generation->tp;
  if (options->expert_nodes == 0)
    self->options.expert_nodes = shape->n_experts;
  if (!check_sizes (self, pools, diags))
    return NULL;
  self->attention = generator_new (shape, &self->generation, pools->attention, library, diags);
  self->experts = new_expert_generator (self, shape, pools, library, diags);
  if (self->attention == NULL || self->experts == NULL)
    return NULL;
  self->attention_end = exchange_end_new (pools->attention, leaves, library);
  self->expert_end = exchange_end_new (pools->experts, leaves, library);
  keep_shape (self, shape);
  return g_steal_pointer (&self);
}

void
apart_free (Apart *self)
{
  if (self == NULL)
    return;
  for (guint s = 0; s < GENERATION_N_SIDES; s++)
    g_hash_table_unref (self->seconds[s]);
  generator_free (self->attention);
  generator_free (self->experts);
  exchange_end_free (self->attention_end);
  exchange_end_free (self->expert_end);
  g_free (self->has_experts);
  g_free (self);
}

void
apart_set (Apart *self, guint n, guint m)
{
  self->options.attention_replicas = n;
  self->options.micro_batches = m;
}

/* ---- times of one micro-batch ---------------------------------------------------------------- */

/* Of SEQUENCES, or of as many rows, on SIDE, by layer: kept for whoever asks again. */
static const double *
layer_seconds (Apart *self, GenerationSide side, double sequences)
{
  const gint64        key = (gint64) sequences;
  const SequenceGroup batch = { (double) key, 1, self->cached };
  double             *seconds = g_hash_table_lookup (self->seconds[side], &key);
  Generator          *own = side == GENERATION_EXPERT_SIDE ? self->experts : self->attention;

  if (seconds != NULL)
    return seconds;
  seconds = g_new (double, self->n_layers);
  generator_layer_seconds (own, side, &batch, seconds);
  g_hash_table_insert (self->seconds[side], g_memdup2 (&key, sizeof key), seconds);
  return seconds;
}

/* Rows of a node in a micro-batch. */
static double
node_rows (const Apart *self, double micro_batch)
{
  return micro_batch * (double) self->options.attention_replicas * self->per_token
         / (double) self->options.expert_nodes;
}

/* The exchange of one micro-batch, and what it holds of either pool's SMs. */
typedef struct
{
  double seconds, held[GENERATION_N_SIDES];
} Travel;

/* PEERS messages of a rank at END, of BYTES together. */
static void
travel_at (const Apart *self, ExchangeEnd *end, GenerationSide side, double peers, double bytes,
           Travel *travel)
{
  const ExchangeTransport transport = (ExchangeTransport) self->options.transport;

  travel->seconds =
      MAX (travel->seconds, exchange_end_seconds (end, transport, peers, bytes / peers));
  travel->held[side] = exchange_end_held (end, transport, peers, bytes / peers);
}

static Travel
travel_of (Apart *self, double micro_batch)
{
  const double nodes = (double) self->options.expert_nodes;
  const double of_attention =
      2 * self->width * micro_batch * self->per_token / (double) self->generation.tp;
  const double of_experts =
      2 * self->width * node_rows (self, micro_batch) / (double) self->options.expert_tp;
  const double senders = attention_gpus (self) / (double) self->options.expert_tp;
  Travel       travel = { 0 };

  travel_at (self, self->attention_end, GENERATION_ATTENTION_SIDE, nodes, of_attention, &travel);
  travel_at (self, self->expert_end, GENERATION_EXPERT_SIDE, MAX (senders, 1), of_experts, &travel);
  return travel;
}

/* SECONDS of kernels, a share HELD of whose SMs is gone for both ways of an exchange. */
static double
slowed (double seconds, const Travel *travel, GenerationSide side)
{
  return seconds + travel->held[side] * MIN (2 * travel->seconds, seconds);
}

/* Newly allocated, by layer; MEAN is of the blocks with experts. */
static PingPongLayer *
layers_of (Apart *self, double micro_batch, PingPong *mean)
{
  const Travel  travel = travel_of (self, micro_batch);
  const double *attention = layer_seconds (self, GENERATION_ATTENTION_SIDE, micro_batch);
  const double *experts =
      layer_seconds (self, GENERATION_EXPERT_SIDE, MAX (round (node_rows (self, micro_batch)), 1));
  PingPongLayer *layers = g_new0 (PingPongLayer, self->n_layers);

  *mean = (PingPong){ .exchange_s = travel.seconds,
                      .micro_batches = (guint) self->options.micro_batches };
  for (guint i = 0; i < self->n_layers; i++)
    {
      layers[i].attention_s = attention[i];
      if (!self->has_experts[i])
        continue;
      layers[i] = (PingPongLayer){ slowed (attention[i], &travel, GENERATION_ATTENTION_SIDE),
                                   slowed (experts[i], &travel, GENERATION_EXPERT_SIDE),
                                   travel.seconds, TRUE };
      mean->layers++;
      mean->attention_s += layers[i].attention_s;
      mean->experts_s += layers[i].experts_s;
    }
  mean->attention_s /= mean->layers;
  mean->experts_s /= mean->layers;
  return layers;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Half of the answers are written. */
static void
set_cached (Apart *self, const ApartLoad *load)
{
  const double cached = load->prompt + (load->output - 1) / 2;

  if (cached != self->cached)
    g_hash_table_remove_all (self->seconds[GENERATION_ATTENTION_SIDE]);
  self->cached = cached;
}

static double
between_tokens (Apart *self, double micro_batch)
{
  PingPong                  mean;
  g_autofree PingPongLayer *layers = layers_of (self, micro_batch, &mean);

  return ping_pong_run (layers, self->n_layers, mean.micro_batches).seconds
         + self->generation.step_overhead_s;
}

static void
fill_memory (Apart *self, ApartAnswer *answer)
{
  const double length = answer->load.prompt + answer->load.output;
  const double m = (double) self->options.micro_batches;
  double       largest;

  answer->attention_weight_bytes =
      generator_side_weight_bytes (self->attention, GENERATION_ATTENTION_SIDE);
  answer->expert_weight_bytes = generator_side_weight_bytes (self->experts, GENERATION_EXPERT_SIDE);
  answer->sequence_bytes = generator_cache_bytes (self->attention, length);
  answer->room_bytes = generator_side_room (self->attention, GENERATION_ATTENTION_SIDE, 1);
  largest = floor (MAX (answer->room_bytes, 0) / answer->sequence_bytes);
  /* activations grow with the micro-batch: what is left beside those of the largest one */
  if (largest >= m)
    largest = floor (
        MAX (generator_side_room (self->attention, GENERATION_ATTENTION_SIDE, ceil (largest / m)),
             0)
        / answer->sequence_bytes);
  answer->most_in_memory = largest;
}

/* The same is asked of few sizes: those that a graph is captured for. */
static double
whole_micro_batch (double sequences)
{
  return sequences > 512 ? floor (sequences / 128) * 128
         : sequences > 4 ? MAX (floor (sequences / 8) * 8, 4)
                         : floor (sequences);
}

/* The largest micro-batch, of LOW to HIGH sequences, whose time between tokens is in the limit. */
static double
largest_micro_batch (Apart *self, const ApartLoad *load, double high)
{
  double low = 1;

  high = whole_micro_batch (high);
  if (high < 1 || between_tokens (self, high) <= load->limit_s)
    return high;
  while (whole_micro_batch ((low + high) / 2) > low)
    {
      const double middle = whole_micro_batch ((low + high) / 2);

      if (between_tokens (self, middle) <= load->limit_s)
        low = middle;
      else
        high = middle;
    }
  return low;
}

static void
fill_speed (const Apart *self, ApartAnswer *answer)
{
  const double price = attention_gpus (self) * self->options.attention_price
                       + expert_gpus (self) * self->options.expert_price;

  answer->n_gpus = attention_gpus (self) + expert_gpus (self);
  answer->tokens_per_s =
      answer->load.batch * (double) self->options.attention_replicas / answer->between_tokens_s;
  answer->tokens_per_s_per_gpu = answer->tokens_per_s / answer->n_gpus;
  answer->tokens_per_s_per_price = answer->tokens_per_s / price;
  answer->attention_busy = answer->run.attention_busy_s / answer->between_tokens_s;
  answer->experts_busy = answer->run.experts_busy_s / answer->between_tokens_s;
  answer->network_busy = answer->run.network_busy_s / answer->between_tokens_s;
}

static void
fill_times (Apart *self, ApartAnswer *answer)
{
  g_autofree PingPongLayer *layers = layers_of (self, answer->micro_batch, &answer->times);

  answer->run = ping_pong_run (layers, self->n_layers, answer->times.micro_batches);
  answer->between_tokens_s = answer->run.seconds + self->generation.step_overhead_s;
  answer->closed_form_s = ping_pong_seconds (&answer->times);
  answer->published_s = ping_pong_published_seconds (&answer->times);
  for (guint c = 0; c < PING_PONG_N_CONDITIONS; c++)
    answer->checks[c] = ping_pong_check (&answer->times, (PingPongCondition) c);
  answer->in_limit = answer->between_tokens_s <= answer->load.limit_s;
  fill_speed (self, answer);
}

void
apart_answer (Apart *self, ApartLoad load, ApartAnswer *answer)
{
  const double m = (double) self->options.micro_batches;
  double       rows;

  *answer = (ApartAnswer){ .load = load,
                           .attention_tp = (guint) self->generation.tp,
                           .attention_replicas = (guint) self->options.attention_replicas,
                           .expert_tp = (guint) self->options.expert_tp,
                           .expert_nodes = (guint) self->options.expert_nodes,
                           .micro_batches = (guint) self->options.micro_batches };
  set_cached (self, &load);
  fill_memory (self, answer);
  answer->micro_batch = load.batch > 0
                            ? ceil (load.batch / m)
                            : largest_micro_batch (self, &load, floor (answer->most_in_memory / m));
  answer->load.batch = load.batch > 0 ? load.batch : answer->micro_batch * m;
  if (answer->load.batch == 0)
    return;
  rows = node_rows (self, answer->micro_batch);
  answer->rows = rows / self->experts_of_node;
  answer->fits =
      answer->load.batch <= answer->most_in_memory
      && generator_side_room (self->experts, GENERATION_EXPERT_SIDE, MAX (ceil (rows), 1)) >= 0;
  fill_times (self, answer);
}
