/*
 * The lightning indexer of DeepSeek-V3.2: a few narrow heads score every pair of tokens, a query
 * attends to the keys of the highest scores. Its scores are sums over heads of weighted ReLUs of
 * products. What it reads is detached; it learns from the distribution of attention over the chosen
 * keys, summed over heads (the sparse stage of training). Every tensor rank has all of it, as
 * Megatron-LM has (core/transformer/experimental_attention_variant/dsa.py, from memory).
 *
 * Source: DeepSeek-V3.2, arXiv:2512.02556, section 2.1.
 */
#include "model/layer/layer-parts-private.h"

#include <math.h>

typedef struct
{
  double  sequences, length; /* of a micro-batch */
  double  pairs;             /* chosen, of a sequence */
  guint64 heads, dim;
  double  q, k, weights, scores, chosen; /* bytes */
} Index;

static Index
index_of (const LayerBuilder *b)
{
  const ModelShape *s = b->shape;
  const double      t = b->tokens, e = b->tape->e, length = layer_sequence (b);
  const double      most = MIN ((double) s->index_topk, length);

  return (Index){ .sequences = MAX (round (training_sequences (b->training)), 1),
                  .length = length,
                  .pairs = most * length - most * most / 2,
                  .heads = (guint64) s->index_heads,
                  .dim = (guint64) s->index_dim,
                  .q = e * t * (double) (s->index_heads * s->index_dim),
                  .k = e * t * (double) s->index_dim,
                  .weights = e * t * (double) s->index_heads,
                  .scores = 4 * t * length,
                  .chosen = 4 * t * most };
}

/* HEADS products a sequence, over KEYS of each query. */
static ChainKernel
product (const Index *x, const char *name, guint64 heads, double keys, guint64 k, double read,
         double write)
{
  return (ChainKernel){ .name = name,
                        .batch = (guint64) x->sequences * heads,
                        .m = (guint64) x->length,
                        .n = (guint64) MAX (keys, 1),
                        .k = k,
                        .read = read,
                        .write = write };
}

static ChainKernel
pick (const Index *x)
{
  return (ChainKernel){
    .name = "index.top_k", .read = x->scores, .write = x->chosen, .reduces = TRUE, .launches = 2
  };
}

/*
 * Rotary | scores of the causal half of all pairs, weighted and summed | the highest | the
 * distribution that is to be learnt: attention's scores of the chosen pairs, and their softmax.
 * Backwards the scores of the chosen again, and the gradients of queries, keys and weights.
 */
static void
add_choice (LayerBuilder *b, const TapeValue qkw[3], TapeValue q)
{
  const ModelShape *s = b->shape;
  const Index       x = index_of (b);
  const double      chosen = x.pairs / x.length, all = tape_tensor (b->tape, q)->bytes;
  const guint64     latent = (guint64) (s->kv_lora_rank + s->qk_rope_head_dim);
  const guint64     here = (guint64) layer_local_heads (b);
  const double      both = x.q + x.k, two = 2 * x.chosen;
  ChainKernel       forward[] = {
          { .name = "index.rotary", .read = both, .write = both, .launches = 2 },
          product (&x, "index.scores", x.heads, x.length / 2, x.dim, both + x.weights, x.scores),
          pick (&x),
          product (&x, "index.target", here, chosen, latent, all + x.chosen, x.chosen),
          { .name = "index.loss", .read = two, .reduces = TRUE, .launches = 2 },
  };
  ChainKernel backward[] = {
    { .name = "index.loss.backward", .read = 2 * x.chosen, .write = x.chosen },
    product (&x, "index.grad_scores", x.heads, chosen, 3 * x.dim,
             x.q + x.k + x.weights + 2 * x.chosen, x.q + 2 * x.k + x.weights),
    { .name = "index.rotary.backward", .read = x.q + x.k, .write = x.q + x.k, .launches = 2 },
  };
  ChainSpec spec = { .forward = forward,
                     .backward = backward,
                     .n_forward = G_N_ELEMENTS (forward),
                     .n_backward = G_N_ELEMENTS (backward),
                     .module = -1,
                     .forward_extra = x.scores + x.chosen,
                     .backward_extra = x.chosen + 4 * (x.q + x.k) / b->tape->e,
                     .kept = 2 * x.chosen }; /* which, and the distribution */

  b->tape->counted = 0;
  tape_chain (b->tape, "index", qkw, 3, &spec);
  b->tape->counted = 1;
}

void
layer_add_indexer (LayerBuilder *b, TapeValue x, TapeValue latent, TapeValue q)
{
  const ModelShape *s = b->shape;
  const gint64      width = s->q_lora_rank > 0 ? s->q_lora_rank : s->d_model;
  TapeValue         in = tape_detach (b->tape, layer_enter (b, "index.gather", x)), qkw[3];

  qkw[0] = layer_add_linear (b, "self_attn.indexer.wq_b", "index.q", tape_detach (b->tape, latent),
                             width, s->index_heads * s->index_dim, FALSE, WHOLE);
  qkw[1] = layer_add_linear (b, "self_attn.indexer.wk", "index.k", in, s->d_model, s->index_dim,
                             FALSE, WHOLE);
  qkw[1] = layer_add_norm_of (b, "self_attn.indexer.k_norm", "index.k_norm", qkw[1], b->tokens,
                              s->index_dim, MODEL_NORM_LAYER, FALSE);
  qkw[2] = layer_add_linear (b, "self_attn.indexer.weights_proj", "index.weights", in, s->d_model,
                             s->index_heads, FALSE, WHOLE);
  add_choice (b, qkw, q);
}
