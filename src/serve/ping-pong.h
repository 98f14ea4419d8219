/*
 * Micro-batches in ping-pong between two pools: one has the attention of every layer, the other its
 * experts (MegaScale-Infer, arXiv:2504.02263, section 4.1).
 *
 * Set: T_a and T_e, which attention and experts of a layer take for one of m micro-batches; T_c,
 * which tokens take from one pool to the other; L layers. T_f = max (T_a, T_e). Each pool, and the
 * network in each direction, has one micro-batch at a time, in order, layer by layer.
 *
 * Computed: what all micro-batches take for all layers. A micro-batch alone takes
 * S = T_a + T_e + 2 T_c a layer; of m in a row the slowest of the three, B = max (T_f, T_c), takes
 * m B. A layer begins so much after the last one as the longer of both:
 *
 *   T = S + (L - 1) max (m B, S) + (m - 1) B
 *
 * Where T_c <= T_f and m T_f >= S that is the paper's S + T_f (m L - 1). Its conditions, T_a = T_e,
 * T_c < T_f and m >= 2 (1 + T_c / T_f), see to both, and to pools that are always busy besides.
 */
#pragma once

#include <glib.h>

typedef struct
{
  double attention_s, experts_s, exchange_s; /* T_a, T_e, T_c: one way */
  guint  layers, micro_batches;              /* at least one of each */
} PingPong;

/* T above. */
double ping_pong_seconds (const PingPong *self);

/* The paper's form, whether its conditions hold or not. */
double ping_pong_published_seconds (const PingPong *self);

/*
 * What the paper bounds the time between two tokens of one micro-batch by, under its conditions:
 * S + m T_f (L - 1), and m T_f L.
 */
double ping_pong_token_least (const PingPong *self);
double ping_pong_token_most (const PingPong *self);

typedef enum
{
  PING_PONG_BALANCED, /* T_a and T_e are alike: within a fifth of the longer one */
  PING_PONG_HIDDEN,   /* T_c < T_f */
  PING_PONG_FILLED,   /* m >= 2 (1 + T_c / T_f) */
  PING_PONG_N_CONDITIONS,
} PingPongCondition;

/* What CONDITION compares: what there is, and what it must not exceed. */
typedef struct
{
  const char *words;          /* "T_c < T_f" */
  gboolean    holds, seconds; /* whether they are times */
  double      left, right; /* 1 - shorter / longer, and a fifth; T_c, T_f; 2 (1 + T_c / T_f), m */
} PingPongCheck;

PingPongCheck ping_pong_check (const PingPong *self, PingPongCondition condition);

/* A layer of a model whose layers are unlike. Without experts nothing leaves the first pool. */
typedef struct
{
  double   attention_s, experts_s, exchange_s;
  gboolean experts;
} PingPongLayer;

typedef struct
{
  double seconds;
  double attention_busy_s, experts_busy_s, network_busy_s; /* of it: the network's one direction */
} PingPongRun;

/* M micro-batches through N layers, place by place, with nothing in closed form. */
PingPongRun ping_pong_run (const PingPongLayer *layers, guint n, guint m);
