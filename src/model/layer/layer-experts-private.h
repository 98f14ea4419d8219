/*
 * What an MLP and experts share, and the parts that a layer of experts is made of. Internal to the
 * layer.
 */
#pragma once

#include "model/layer/layer-parts-private.h"

/* ---- MLP (layer-mlp.c) ---- */

/* Names of the projections: gate, up, down; of gate and up as one, or NULL. */
typedef struct
{
  const char *names[3], *gate_up;
  gint64      width;
} LayerMlp;

/* Either half of an MLP. */
typedef TapeValue LayerMlpHalf (LayerBuilder *b, TapeValue x, const LayerMlp *mlp);

TapeValue layer_widen (LayerBuilder *b, TapeValue x, const LayerMlp *mlp);
TapeValue layer_narrow (LayerBuilder *b, TapeValue hidden, const LayerMlp *mlp);

/* HIDDEN through the model's activation without a gate. */
TapeValue layer_activate (const LayerBuilder *b, const char *name, TapeValue hidden);

/* ---- experts (layer-experts.c) ---- */

/* Experts of a rank. */
gint64 layer_local_experts (const LayerBuilder *b);

/* What the shared experts make of X. */
TapeValue layer_add_shared_experts (LayerBuilder *b, TapeValue x);
/* What the shared experts made of X, weighed by their gate where they have one. */
TapeValue layer_weigh_shared (LayerBuilder *b, TapeValue x, TapeValue shared);

/*
 * HALF of the shared experts runs concurrently with the exchange that was recorded last: the first
 * one with the dispatch, the other with the return (Megatron-Core, core/transformer/moe: stream of
 * shared_experts.py, called by token_dispatcher.py). *SHARED is what it is applied to, and then
 * what it makes; without SHARED nothing runs then. Order stands for the stream of their own: what
 * lasts longer than the exchange delays what comes next, with which it would share the GPU.
 */
void layer_cover_exchange (LayerBuilder *b, TapeValue *shared, LayerMlpHalf *half);

/* Their weights, and ROWS sorted by expert through them. */
TapeValue layer_add_expert_mlp (LayerBuilder *b, TapeValue rows);

/* ---- router (layer-router.c) ---- */

/* Scores of all experts for the tokens X. */
TapeValue layer_add_scores (LayerBuilder *b, TapeValue x);

/* ---- router and dispatch around them (layer-moe.c) ---- */

/*
 * Routed experts over tokens sorted by expert; the experts of a rank get even shares. Auxiliary
 * losses are left out, but for their kernels where routing is by maps. Without sequence parallelism
 * every tensor rank has all tokens and its part of each expert.
 */
TapeValue layer_add_moe (LayerBuilder *b, TapeValue x);
