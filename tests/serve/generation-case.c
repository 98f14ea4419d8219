#include "generation-case.h"

#define N_WEIGHTS (SERVE_WEIGHTS_NVFP4 + 1)

#define N_GPUS 32
static const char *const clusters[] = { "4xdgx-h100", "4xdgx-a100", "4xdgx-b200" };

/* Plain transformers, dense and of experts, of grouped queries, of latents. */
static const char *const shipped[] = { "llama-3-8b",      "llama-3-70b",     "llama-3.2-1b",
                                       "tinyllama-1.1b",  "mistral-7b-v0.3", "mixtral-8x7b",
                                       "qwen3-8b",        "qwen3-30b-a3b",   "deepseek-v3",
                                       "deepseek-v2-lite" };

static gint64
pick (GRand *rand, const gint64 *of, gint n)
{
  return of[g_rand_int_range (rand, 0, n)];
}
#define PICK(rand, ...)                        \
  pick (rand, (const gint64[]){ __VA_ARGS__ }, \
        (gint) (sizeof ((const gint64[]){ __VA_ARGS__ }) / sizeof (gint64)))

static void
draw_attention (GRand *rand, ModelShape *shape)
{
  shape->n_heads = PICK (rand, 8, 16, 32, 64);
  shape->n_kv_heads = shape->n_heads / PICK (rand, 1, 2, 4, 8);
  shape->head_dim = PICK (rand, 32, 64, 128);
  if (g_rand_int_range (rand, 0, 4) == 0)
    {
      shape->n_kv_heads = shape->n_heads;
      shape->kv_lora_rank = PICK (rand, 128, 512);
      shape->q_lora_rank = PICK (rand, 0, 256, 768);
      shape->qk_nope_head_dim = PICK (rand, 32, 128);
      shape->qk_rope_head_dim = PICK (rand, 32, 64);
      shape->v_head_dim = shape->head_dim = PICK (rand, 32, 128);
    }
  else if (g_rand_int_range (rand, 0, 3) == 0)
    {
      shape->sliding_window = PICK (rand, 16, 128, 1024);
      shape->sliding_period = PICK (rand, 0, 2, 3);
    }
}

static void
draw_experts (GRand *rand, ModelShape *shape)
{
  if (g_rand_boolean (rand))
    return;
  shape->moe_period = 1;
  shape->n_experts = PICK (rand, 8, 16, 64);
  shape->n_experts_per_token = PICK (rand, 1, 2, 8);
  shape->d_expert = PICK (rand, 256, 768, 1024);
  shape->n_shared_experts = PICK (rand, 0, 0, 1, 2);
  shape->first_dense_layers = PICK (rand, 0, 0, 1);
}

/* A model of its own; its base is a plain one that is read as all are. */
static void
draw_shape (GRand *rand, gint64 pp, ModelShape *shape)
{
  shape->n_layers = pp * PICK (rand, 1, 2, 3);
  shape->d_model = 256 * (gint64) g_rand_int_range (rand, 1, 9);
  shape->d_ff = 256 * (gint64) g_rand_int_range (rand, 1, 17);
  shape->vocab = 1024 * (gint64) g_rand_int_range (rand, 1, 65);
  shape->tied_embeddings = g_rand_boolean (rand);
  draw_attention (rand, shape);
  draw_experts (rand, shape);
}

static void
draw_options (GRand *rand, const ModelShape *shape, gint64 pp, GenerationOptions *options)
{
  options->pp = pp;
  options->dp = shape->n_experts > 0 ? PICK (rand, 1, 1, 2) : 1;
  options->tp = PICK (rand, 1, 1, 2, 4, 8);
  options->tp = MIN (options->tp, N_GPUS / (pp * options->dp));
  options->enable_expert_parallel =
      g_rand_boolean (rand) && shape->n_experts % (options->dp * options->tp) == 0;
  options->weights =
      (gint) (g_rand_int_range (rand, 0, 2) == 0 ? 0 : g_rand_int_range (rand, 0, N_WEIGHTS));
  options->cache_dtype = g_rand_int_range (rand, 0, shape->kv_lora_rank > 0 ? 2 : 3);
  options->all_reduce = SERVE_ALL_REDUCE_LIBRARY; /* whose times are asked for here, too */
  options->step_overhead_s = 0;
}

static gboolean
is_alike (const ModelShape *shape)
{
  return shape->first_dense_layers == 0
         && (shape->sliding_window == 0 || shape->sliding_period == 0);
}

static char *
describe (guint number, const char *cluster, const Case *c)
{
  const ModelShape        *s = &c->f.shape;
  const GenerationOptions *o = &c->f.options;

  return g_strdup_printf (
      "generation-property %u: %s on %s, %d layers, d %d, heads %d/%d of %d, ff %d, vocab %d%s, "
      "latent %d/%d, window %d/%d, experts %d of %d x %d + %d from %d; tp %d pp %d dp %d%s, "
      "weights %d, cache %d, %g sequences, %g cached",
      number, s->name, cluster, (int) s->n_layers, (int) s->d_model, (int) s->n_heads,
      (int) s->n_kv_heads, (int) s->head_dim, (int) s->d_ff, (int) s->vocab,
      s->tied_embeddings ? " tied" : "", (int) s->q_lora_rank, (int) s->kv_lora_rank,
      (int) s->sliding_window, (int) s->sliding_period, (int) s->n_experts_per_token,
      (int) s->n_experts, (int) s->d_expert, (int) s->n_shared_experts, (int) s->first_dense_layers,
      (int) o->tp, (int) o->pp, (int) o->dp, o->enable_expert_parallel ? " whole" : "", o->weights,
      o->cache_dtype, c->batch, c->cached);
}

Case
case_new (guint number)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (number);
  const char       *cluster = clusters[g_rand_int_range (rand, 0, G_N_ELEMENTS (clusters))];
  const gboolean    drawn = g_rand_int_range (rand, 0, 4) > 0;
  const guint       which = (guint) g_rand_int_range (rand, 0, G_N_ELEMENTS (shipped));
  const gint64      pp = drawn ? PICK (rand, 1, 1, 2, 4) : 1;
  Case              self = { .f = fixture_new (drawn ? "llama-3-8b" : shipped[which], cluster) };

  if (drawn)
    {
      g_free (self.f.shape.name);
      self.f.shape.name = g_strdup ("drawn");
      draw_shape (rand, pp, &self.f.shape);
    }
  draw_options (rand, &self.f.shape, pp, &self.f.options);
  self.measured = cluster_gpu_profile (self.f.cluster, 0)->matmul_curve != NULL;
  self.alike = is_alike (&self.f.shape);
  self.batch = (double) (pp * PICK (rand, 1, 2, 3, 8, 13, 64, 256));
  self.cached = (double) g_rand_int_range (rand, 0, 8000);
  self.text = describe (number, cluster, &self);
  return self;
}

void
case_clear (Case *self)
{
  fixture_clear (&self->f);
  g_free (self->text);
}
