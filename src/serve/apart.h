/*
 * An instance whose attention and routed experts are on GPUs of their own (MegaScale-Infer,
 * arXiv:2504.02263).
 *
 * Set: n_a replicas of attention of t_a tensor ranks in one pool; N expert nodes of t_e tensor
 * ranks in the other, each with E / N of a layer's experts; m micro-batches in each replica, of b_a
 * sequences each, which decode. Experts share rows alike: a node has b_a n_a K / N of a
 * micro-batch.
 *
 * Computed: T_a and T_e, the seconds of a block's kernels on either side (generator.h), T_c
 * (exchange.h): each attention rank sends b_a K h / (N t_a) elements to every node, where each rank
 * receives b_a n_a K h / (N t_e) in all, and both as much the other way. An iteration is the
 * schedule of ping-pong.h over all layers, the model's two ends with attention, and the host's work
 * between steps. Where an exchange holds SMs, kernels of both pools lose them for so long.
 *
 * Memory: m b_a sequences' caches beside what is no expert's on an attention rank; experts beside
 * their rows' activations on the others.
 */
#pragma once

#include "serve/exchange.h"
#include "serve/generator.h"
#include "serve/ping-pong.h"

typedef struct
{
  gboolean apart;                         /* else none of the rest is of any matter */
  char    *expert_cluster;                /* as ClusterOptions' name; NULL: of the same cluster */
  gint64   attention_replicas;            /* n_a */
  gint64   expert_tp;                     /* t_e; 0: as many as attention has */
  gint64   expert_nodes;                  /* N; 0: one an expert */
  gint64   micro_batches;                 /* m */
  gint     transport;                     /* ExchangeTransport */
  double   attention_price, expert_price; /* of a GPU, in whatever unit */
  gboolean fit; /* search ranks, replicas and micro-batches (apart-search.h) */
} ApartOptions;

extern const OptionSpec apart_options[];

/* Two clusters, or one that both pools are cut from: the same twice. */
typedef struct
{
  const Cluster *attention, *experts;
} ApartPools;

/* Sequences of which each replica has `batch` in all its micro-batches. */
typedef struct
{
  double batch;          /* 0: the most that memory and limit leave room for */
  double prompt, output; /* tokens of each */
  double limit_s;        /* of the time between tokens */
} ApartLoad;

typedef struct
{
  ApartLoad     load; /* with the batch that was found */
  guint         attention_tp, attention_replicas, expert_tp, expert_nodes, micro_batches;
  guint         n_gpus;      /* of both pools */
  double        micro_batch; /* sequences of a replica, b_a */
  double        rows;        /* of an expert in a micro-batch, b_e */
  PingPong      times;       /* of a block with experts, in the mean of them */
  PingPongCheck checks[PING_PONG_N_CONDITIONS];
  PingPongRun   run;                        /* of all layers */
  double        between_tokens_s;           /* the run, and the host's work */
  double        closed_form_s, published_s; /* of the blocks with experts: ping-pong.h */
  double        tokens_per_s, tokens_per_s_per_gpu, tokens_per_s_per_price;
  double        attention_busy, experts_busy, network_busy; /* shares of the time */
  double        attention_weight_bytes, expert_weight_bytes, sequence_bytes, room_bytes; /* a GPU */
  double        most_in_memory; /* sequences of a replica whose caches fit */
  gboolean      fits, in_limit;
} ApartAnswer;

typedef struct _Apart Apart;

/*
 * GENERATION's `tp` is t_a. SHAPE is copied, POOLS' clusters and LIBRARY must outlive the result.
 * NULL after diagnostics: the model has no experts, pools are too small or share no network.
 */
Apart *apart_new (const ModelShape *shape, const GenerationOptions *generation,
                  const ApartOptions *options, const ApartPools *pools,
                  const CollectiveOptions *library, DiagList *diags);
void   apart_free (Apart *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Apart, apart_free)

/* N replicas of M micro-batches instead; whether the pools have GPUs for so many is not asked. */
void apart_set (Apart *self, guint n, guint m);

/* What LOAD takes. Not `fits`: the caches, or the experts, do not; the rest is said all the same.
 */
void apart_answer (Apart *self, ApartLoad load, ApartAnswer *answer);
