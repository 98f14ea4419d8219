#include "random-plan.h"

#include "model/mesh/mesh-order.h"
#include "model/optimizer/optimizer.h"

#include <string.h>

static gint64
pick (GRand *rand, const gint64 *values, guint n)
{
  return values[g_rand_int_range (rand, 0, (gint32) n)];
}

static void
draw_model (RandomPlan *self, GRand *rand, gboolean experts)
{
  static const char *const archs[] = { "gpt", "llama", "mpt", "bloom" };
  static const gint64      heads[] = { 1, 2, 4, 6, 8 }, vocabs[] = { 97, 512, 1000, 4096 };
  g_autoptr (DiagList)     diags = diag_list_new ();
  ModelOptions             options = { 0 };
  gint64                   kv;

  option_table_defaults (model_options, &options);
  options.arch = g_strdup (archs[g_rand_int_range (rand, 0, 4)]);
  options.n_layers = g_rand_int_range (rand, 1, 7);
  options.n_heads = pick (rand, heads, G_N_ELEMENTS (heads));
  kv = g_str_equal (options.arch, "llama") && options.n_heads % 2 == 0 ? options.n_heads / 2
                                                                       : options.n_heads;
  options.n_kv_heads = kv;
  options.d_model = options.n_heads * 16 * g_rand_int_range (rand, 1, 5);
  options.d_ff = options.d_model * g_rand_int_range (rand, 2, 5);
  options.vocab = pick (rand, vocabs, G_N_ELEMENTS (vocabs));
  if (g_str_equal (options.arch, "gpt"))
    options.max_positions = 256;
  if (experts)
    {
      options.n_experts = 4;
      options.n_experts_per_token = g_rand_int_range (rand, 1, 3);
      options.d_expert = options.d_ff / 2;
    }
  if (!model_resolve (&options, NULL, NULL, &self->shape, NULL, diags))
    g_error ("model: %s", diag_list_first_message (diags));
  option_table_clear (model_options, &options);
}

/* Some blocks mix tokens by states, some are one branch alone. Draws nothing. */
static void
make_hybrid (RandomPlan *self, guint case_)
{
  const ModelFeed  feed = self->shape.n_experts > 0 ? MODEL_FEED_EXPERTS : MODEL_FEED_DENSE;
  const ModelLayer kinds[][5] = {
    { { .mixer = MODEL_MIXER_MAMBA2, .feed = MODEL_FEED_NONE },
      { .mixer = MODEL_MIXER_ATTENTION, .feed = feed },
      { .mixer = MODEL_MIXER_DELTA, .feed = MODEL_FEED_DENSE, .d_ff = self->shape.d_ff / 2 },
      { .mixer = MODEL_MIXER_NONE, .feed = feed },
      { .mixer = MODEL_MIXER_KDA, .feed = MODEL_FEED_NONE } },
    { { .mixer = MODEL_MIXER_MAMBA1, .feed = MODEL_FEED_DENSE },
      { .mixer = MODEL_MIXER_SIDE, .feed = feed },
      { .mixer = MODEL_MIXER_MAMBA1, .feed = MODEL_FEED_NONE },
      { .mixer = MODEL_MIXER_ATTENTION, .feed = feed },
      { .mixer = MODEL_MIXER_SIDE, .feed = MODEL_FEED_NONE } },
  };

  self->shape.layers = g_memdup2 (kinds[case_ / 6 % 2], sizeof kinds[0]);
  self->shape.n_listed = G_N_ELEMENTS (kinds[0]);
  self->shape.ssm_heads = self->shape.linear_value_heads = 8;
  self->shape.ssm_groups = self->shape.linear_key_heads = 4;
  self->shape.ssm_head_dim = self->shape.ssm_state = 16;
  self->shape.linear_key_dim = self->shape.linear_value_dim = 16;
  self->shape.ssm_rank = 4;
  self->shape.ssm_norm = MODEL_SSM_NORM_PARTS;
  self->shape.ssm_chunk = 32;
  self->shape.conv_taps = 4;
}

/*
 * Up to two layers that predict further tokens, which want rotary positions, some with a tied head.
 * Draws nothing.
 */
static void
make_mtp (RandomPlan *self, guint case_)
{
  if (self->shape.position != MODEL_POSITION_ROTARY || self->shape.layers != NULL)
    return;
  self->shape.n_mtp = case_ / 2 % 3;
  self->shape.tied_embeddings = self->shape.n_mtp > 0 && case_ / 8 % 2 == 1;
}

static void
draw_training (RandomPlan *self, GRand *rand, guint case_)
{
  TrainingOptions *t = &self->training;

  option_table_defaults (training_options, t);
  t->seq_len = 16 * g_rand_int_range (rand, 1, 9);
  t->micro_batch = g_rand_int_range (rand, 1, 4);
  t->grad_accum = g_rand_int_range (rand, 1, 4);
  t->checkpointing = (gint) (case_ % 3);
  t->cpu_checkpointing = t->checkpointing == CHECKPOINT_FULL && case_ / 3 % 2 == 1;
  t->partition_activations = t->checkpointing == CHECKPOINT_FULL && case_ / 6 % 2 == 1;
  t->precision = (gint) (case_ / 3 % 3);
  t->optimizer = (gint) (case_ / 9 % 4);
  t->expert_tensors = (gint) (case_ / 5 % 2);
  t->expert_routing = (gint) (case_ / 7 % 3);
  t->expert_permutation = (gint) (case_ / 11 % 3);
  if (case_ / 9 % 3 == 1 && t->precision != PRECISION_FP32) /* 16 bits alone */
    t->precision += PRECISION_BF16 - PRECISION_BF16_MIXED;
  t->moment_dtype = case_ / 9 % 3 == 2 ? DTYPE_BF16 : ROLE_AUTO;
  t->clip_gradients = g_rand_boolean (rand);
  t->compile = g_rand_boolean (rand);
  t->peft = case_ % 5 == 3 ? PEFT_LORA : PEFT_NONE;
  t->lora_r = 1 + case_ % 24;
  t->lora_a2a = t->peft == PEFT_LORA && case_ % 4 > 1;
  t->use_dora = t->peft == PEFT_LORA && case_ % 2 == 0;
  t->fully_sharded_loras = t->peft == PEFT_NONE || case_ / 10 % 2 == 0;
  t->lora_dropout = t->peft == PEFT_LORA && case_ / 20 % 2 == 1 ? 0.1 : 0;
  t->lora_dropout_position = t->lora_dropout > 0 && case_ / 40 % 2 == 1;
  t->lora_dropout_recompute = t->lora_dropout > 0 && case_ / 80 % 2 == 1;
  t->load_in_4bit = t->peft == PEFT_LORA && t->precision >= PRECISION_BF16;
  t->bnb_4bit_use_double_quant = t->load_in_4bit && case_ % 4 < 2;
  t->tiled_in_splits = t->peft == PEFT_NONE && case_ % 7 == 4 ? 2 : 1;
  t->tiled_out_splits = t->peft == PEFT_NONE && case_ % 7 > 3 ? 3 : 1;
  if (t->precision != PRECISION_FP32 && !t->load_in_4bit
      && t->tiled_in_splits * t->tiled_out_splits == 1 && case_ % 4 == 1)
    t->fp8_recipe = FP8_TENSORWISE + (gint) (case_ / 4 % 6);
  t->num_layers_at_start_in_bf16 = t->fp8_recipe != FP8_NONE && case_ / 8 % 2 == 1;
  t->num_layers_at_end_in_bf16 = t->fp8_recipe != FP8_NONE && case_ / 16 % 2 == 1;
  t->traits.fp8_params = t->fp8_recipe == FP8_DELAYED;
  t->traits.caches_fp8_weights =
      (t->peft == PEFT_LORA || t->traits.fp8_params) && case_ / 20 % 2 == 1;
  t->loss = (gint) (case_ / 2 % (LOSS_CHUNKED + 1));
  t->loss_chunk = 1 + case_ % 150; /* up to 384 tokens a micro-step */
  t->attention = g_rand_int_range (rand, 0, 4);
  t->reduce_dtype = g_rand_boolean (rand)            ? REDUCE_AUTO
                    : t->precision == PRECISION_FP32 ? DTYPE_FP32
                                                     : DTYPE_BF16;
}

/* Of the two strategies that gather in fp8: as torchao does where it makes the products. */
static void
draw_fp8_gather (RandomPlan *self, const Strategy *strategy, guint case_)
{
  if ((g_str_equal (strategy->name, "fsdp2") || g_str_equal (strategy->name, "hsdp"))
      && self->training.fp8_recipe == FP8_TENSORWISE)
    self->training.fp8_gather = FP8_GATHER_SEARCHED + (gint) (case_ / 20 % 2);
}

/* Of a strategy whose workers train slices: by turns two or four, of MLPs and of heads. */
static void
draw_slices (RandomPlan *self, guint case_)
{
  TrainingOptions *t = &self->training;
  gint64           q = case_ % 3 == 2 ? 4 : 2;

  t->trained_slices = q;
  t->slice_heads =
      case_ % 2 == 1 && self->shape.n_heads % q == 0 && self->shape.n_kv_heads % q == 0;
  t->peft = PEFT_NONE;
  t->use_dora = t->load_in_4bit = t->bnb_4bit_use_double_quant = FALSE;
  t->tiled_in_splits = t->tiled_out_splits = 1;
  t->fp8_recipe = FP8_NONE;
  t->fp8_gather = FP8_GATHER_NONE;
}

/* In some cases one of the optimizers that need more than elements, whatever its exchange. */
static void
draw_optimizer (RandomPlan *self, guint case_)
{
  TrainingOptions *t = &self->training;

  t->optimizer_paged = case_ / 2 % 3 > 0;
  self->in.pages_stay = case_ / 6 % 4 == 0;
  if (case_ % 4 != 1)
    return;
  t->optimizer = OPTIMIZER_NONE + 1 + (gint) (case_ / 4 % (OPTIMIZER_N - OPTIMIZER_NONE - 1));
  t->matrix_exchange = (gint) (case_ / 6 % 3);
  t->matrix_bucket_layers = case_ / 2 % 4;
  t->optimizer_tile = case_ / 16 % 4 == 0 ? 0 : 4 << case_ % 4;
  t->ns_steps = 1 + case_ % 5;
  t->max_preconditioner_dim = case_ % 2 == 0 ? 0 : 24;
  t->precondition_frequency = case_ % 5;
}

/*
 * Some dense models are trained with privacy, by turns with each method, clipping and noise. What
 * goes with none is left out. Draws nothing.
 */
static void
draw_privacy (RandomPlan *self, guint case_)
{
  TrainingOptions *t = &self->training;
  guint            turn = case_ / 12;

  if (case_ % 12 < 1 || case_ % 12 > 2 || self->shape.n_experts > 0 || self->shape.layers != NULL)
    return;
  t->private_method = PRIVATE_FLASHDP + (gint) (turn % 4);
  t->private_clipping = t->private_method == PRIVATE_GHOST
                                || (t->private_method != PRIVATE_FLASHDP && case_ % 12 == 2)
                            ? CLIPPING_FLAT
                            : CLIPPING_PER_LAYER;
  t->private_noise = (gint) ((turn + case_ % 2) % 4);
  t->checkpointing = (gint) (turn % 3);
  t->cpu_checkpointing &= t->checkpointing == CHECKPOINT_FULL;
  t->partition_activations &= t->checkpointing == CHECKPOINT_FULL;
  t->fp8_recipe = FP8_NONE;
  t->fp8_gather = FP8_GATHER_NONE;
  t->traits.fp8_params = t->traits.caches_fp8_weights = FALSE;
  t->tiled_in_splits = t->tiled_out_splits = 1;
  t->use_dora = FALSE;
  t->loss = t->loss == LOSS_CHUNKED ? LOSS_AUTO : t->loss;
  self->shape.n_mtp = 0;
}

typedef enum
{
  AXES_NONE,
  AXES_OF_LAYERS, /* tensor and context ranks: what every strategy takes */
  AXES_ALL,
} Axes;

static void
draw_pipeline (RandomPlan *self, GRand *rand, guint case_)
{
  static const gint64      stages[] = { 1, 1, 1, 2, 2, 2, 3, 4 };
  static const char *const orders[] = { "tp-cp-dp-pp", "tp-cp-pp-dp", "tp-pp-cp-dp",
                                        "cp-tp-pp-dp", "pp-cp-dp-tp", "tp-cp-ep-dp-pp",
                                        "cp-pp-dp-tp" };
  MeshOptions             *m = &self->mesh;

  m->pp = pick (rand, stages, G_N_ELEMENTS (stages));
  if (m->pp == 1)
    return;
  m->pipeline = (gint) (PIPELINE_GPIPE + case_ % 7);
  m->vp = m->pipeline == PIPELINE_INTERLEAVED ? (g_rand_int_range (rand, 0, 4) == 0 ? 3 : 2) : 1;
  m->p2p = g_rand_int_range (rand, 0, 3);
  g_free (m->order);
  m->order = g_strdup (orders[case_ / 2 % G_N_ELEMENTS (orders)]);
  m->scatter_gather = g_rand_boolean (rand);
  m->deallocate_pipeline_outputs = case_ / 3 % 2 == 0;
  /* as many blocks and micro-steps as it needs, hardly more: every stage's schedule is walked */
  self->shape.n_layers = mesh_model_chunks (m) + g_rand_int_range (rand, 0, 2);
  if (m->pipeline == PIPELINE_INTERLEAVED && case_ / 7 % 2 == 1)
    self->shape.n_layers -= 2; /* chunks of the embedding and the head alone */
  if (m->pipeline == PIPELINE_INTERLEAVED)
    {
      self->training.grad_accum = m->pp * (m->pp < 3 ? g_rand_int_range (rand, 1, 3) : 1);
      if (case_ / 14 % 3
          == 0) /* groups of other sizes: two, a whole and a last one, or one alone */
        {
          m->micro_batch_group = m->pp + case_ / 42 % 3 - 1;
          self->training.grad_accum = m->micro_batch_group + (case_ % 2 == 0 ? m->pp : 0);
        }
    }
  else if (m->pipeline == PIPELINE_ZB_H1)
    self->training.grad_accum = m->pp + g_rand_int_range (rand, 0, 2);
  else if (m->pipeline != PIPELINE_GPIPE && m->pipeline != PIPELINE_1F1B)
    self->training.grad_accum = 2 * (m->pp + g_rand_int_range (rand, 0, 1 + (gint) m->pp));
}

static void
draw_axes (RandomPlan *self, GRand *rand, Axes axes, guint case_)
{
  static const gint64 degrees[] = { 1, 2, 4 };
  MeshOptions        *m = &self->mesh;

  m->tp = pick (rand, degrees, G_N_ELEMENTS (degrees));
  m->sp = m->tp > 1 && g_rand_boolean (rand);
  m->tp_rows = m->sp == 0 && g_rand_int_range (rand, 0, 3) == 0 ? 2 : 1;
  m->async_tp = mesh_tensor_ranks (m) > 1 && g_rand_int_range (rand, 0, 4) == 0
                && self->training.tiled_out_splits == 1;
  m->async_tp_by = case_ % 2 == 0 ? MESH_ASYNC_TP_USERBUFFERS : MESH_ASYNC_TP_SLICES;
  m->cp = g_rand_int_range (rand, 0, 3) == 0 ? 2 : 1;
  m->context = g_rand_int_range (rand, 0, CONTEXT_USP + 1);
  if (m->context == CONTEXT_USP && m->cp > 1)
    {
      m->cp = 4;
      m->ulysses = 1L << g_rand_int_range (rand, 0, 3);
    }
  if (axes != AXES_ALL)
    return;
  if (self->shape.n_experts > 0)
    {
      m->ep = pick (rand, degrees, G_N_ELEMENTS (degrees));
      m->etp =
          g_rand_int_range (rand, 0, 3) == 0 ? pick (rand, degrees, G_N_ELEMENTS (degrees)) : 0;
    }
  draw_pipeline (self, rand, case_);
  m->moe_overlap = m->ep > 1 && m->p2p == MESH_P2P_DIRECT
                   && mesh_pipeline (m) == PIPELINE_INTERLEAVED && g_rand_boolean (rand);
}

/* Rows of tensor ranks nearer to each other than columns, in every other order. */
static void
draw_rows_first (MeshOptions *m, GRand *rand)
{
  g_autofree char *columns_first = m->order;

  m->order =
      g_strconcat (m->tp_rows > 1 && g_rand_boolean (rand) ? "tp_rows-" : "", columns_first, NULL);
}

static void
place_ranks (RandomPlan *self, guint nodes, guint gpus)
{
  const MeshOptions *m = &self->mesh;
  const guint        tensor = (guint) mesh_tensor_ranks (m);

  self->in.mesh = mesh_of_options (m, nodes * gpus * tensor * (guint) m->pp, gpus * tensor,
                                   self->shape.n_experts > 0);
}

static gboolean
axes_fit (const RandomPlan *self)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  return mesh_check (&self->shape, &self->training, &self->mesh, self->in.mesh.world, NULL, diags);
}

/* Some experts are found by their keys, where every rank has these. Draws nothing. */
static void
draw_router (RandomPlan *self, guint case_)
{
  const gboolean whole = self->mesh.etp <= 1 && self->training.peft == PEFT_NONE;

  if (self->shape.n_experts == 0 || !whole)
    return;
  self->shape.router = (gint) (case_ / 2 % 3);
  if (self->mesh.ep > 1 && self->shape.router == MODEL_ROUTER_DIRECT)
    self->shape.router = MODEL_ROUTER_AVG_K;
}

/* Draws axes until they fit the model. */
static void
draw_mesh (RandomPlan *self, GRand *rand, Axes axes, guint case_)
{
  static const gint64   nodes[] = { 1, 2, 3, 4, 8 }, gpus[] = { 1, 2, 4, 8 };
  const ModelShape      shape = self->shape;
  const TrainingOptions training = self->training;
  guint                 n = (guint) pick (rand, nodes, G_N_ELEMENTS (nodes));
  guint                 g = (guint) pick (rand, gpus, G_N_ELEMENTS (gpus));
  guint                 q = training_slices (&training);

  n = (n + q - 1) / q * q; /* as many workers train each slice */
  for (guint tries = 0;; tries++)
    {
      option_table_clear (mesh_options, &self->mesh);
      option_table_defaults (mesh_options, &self->mesh);
      self->shape = shape;
      self->training = training;
      if (axes != AXES_NONE && tries < 1000)
        {
          draw_axes (self, rand, axes, case_);
          draw_rows_first (&self->mesh, rand);
        }
      mesh_normalise (&self->mesh);
      place_ranks (self, n, g);
      if (axes_fit (self))
        break;
    }
  draw_router (self, case_);
  self->in.hbm.capacity = (guint64) 20000 << case_ % 10; /* of the order of a model's slices */
  self->stages = g_ptr_array_new_with_free_func ((GDestroyNotify) workload_free);
  for (guint s = 0; s < (guint) self->mesh.pp; s++)
    g_ptr_array_add (self->stages,
                     workload_new_stage (&self->shape, &self->training, &self->mesh, s));
  self->in.workload = g_ptr_array_index (self->stages, 0);
  self->in.stages = (const Workload *const *) self->stages->pdata;
}

/* Numbers of what is emitted one by one, or divides something: below so much; 0: any number. */
static gint
small_range (const char *key)
{
  static const struct
  {
    const char *key;
    gint        end;
  } ranges[] = { { "local_steps", 7 },  { "localsgd_frequency", 4 },
                 { "outer_shards", 5 }, { "matrix_approximation_rank", 5 },
                 { "top_k", 40 },       { "fragments", 4 },
                 { "overlap", 3 } };

  for (guint i = 0; i < G_N_ELEMENTS (ranges); i++)
    if (g_str_equal (ranges[i].key, key))
      return ranges[i].end;
  return 0;
}

/* A table of errors that fits all models, or none. */
static char *
draw_file (guint case_)
{
  return case_ % 3 > 0 ? NULL
                       : g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "tests", "strategy",
                                           "layer-errors.csv", NULL);
}

/* A value of an option as text; NULL: it stays unset. */
static char *
draw_value (const OptionSpec *spec, GRand *rand, guint case_)
{
  static const double scales[] = { 0, 1, 100, 1e4, 1e5, 1e6, 1e9 };
  const char         *choice;
  double              value;

  switch (spec->type)
    {
    case OPTION_BOOL:
      return g_strdup (case_ % 2 == 0 ? "true" : "false");
    case OPTION_ENUM:
      choice = spec->choices[case_ % g_strv_length ((gchar **) spec->choices)];
      return g_str_equal (choice, "K") ? g_strdup_printf ("%d", 1 << g_rand_int_range (rand, 0, 4))
                                       : g_strdup (choice);
    case OPTION_STRING:
      if (g_str_has_suffix (spec->key, "_errors"))
        return draw_file (case_);
      return g_strdup (case_ % 3 == 0 ? "node" : case_ % 3 == 1 ? "all" : "1");
    case OPTION_INT:
    case OPTION_QUANTITY:
      if (spec->type == OPTION_QUANTITY && spec->kind == QUANTITY_RATIO)
        return g_rand_int_range (rand, 0, 4) > 0
                   ? g_strdup (spec->fallback)
                   : g_strdup_printf (
                       "%.1f", MIN (spec->min + 0.1 * g_rand_int_range (rand, 0, 10), spec->max));
      if (small_range (spec->key) > 0)
        return g_strdup_printf ("%d",
                                g_rand_int_range (rand, (gint) spec->min, small_range (spec->key)));
      if (spec->type == OPTION_QUANTITY && spec->kind == QUANTITY_TIME)
        return g_strdup (case_ % 2 == 0 ? "0 s" : "2 s");
      if (g_rand_int_range (rand, 0, 3) == 0 && spec->fallback != NULL)
        return g_strdup (spec->fallback);
      value = scales[g_rand_int_range (rand, 0, G_N_ELEMENTS (scales))]; /* CLAMP: three draws */
      value = CLAMP (value, spec->min, MIN (spec->max, 1e9));
      if (spec->type == OPTION_QUANTITY)
        value = MAX (value, 1);
      return g_strdup_printf ("%.0f%s", value, spec->type == OPTION_QUANTITY ? " B" : "");
    }
  g_assert_not_reached ();
}

/* Of all but one, which came later: draws of before are what they were. */
static const Strategy *
draw_any (GRand *rand)
{
  g_autoptr (GPtrArray) some = g_ptr_array_new ();

  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    if (!g_str_equal ((*list)->name, "ppu"))
      g_ptr_array_add (some, (gpointer) *list);
  return g_ptr_array_index (some, (guint) g_rand_int_range (rand, 0, (gint32) some->len));
}

static StrategyChoice *
draw_choice (RandomPlan *self, const Strategy *strategy, GRand *rand, guint case_, GString *text)
{
  StrategyChoice      *choice = g_new0 (StrategyChoice, 1);
  gpointer             options = g_malloc0 (MAX (strategy->options_size, 1));
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GRand)    what_if = g_rand_new_with_seed (case_);
  guint                shift = 1;

  g_ptr_array_add (self->blocks, choice);
  choice->strategy = strategy;
  choice->options = options;
  g_string_append_printf (text, " %s", strategy->name);
  if (strategy->options != NULL)
    {
      option_table_defaults (strategy->options, options);
      for (const OptionSpec *spec = strategy->options; spec->key != NULL;
           spec++, shift = MIN (2 * shift, 128))
        {
          /* what is refused often changes nothing else */
          GRand *from = spec->what_if ? what_if : rand;
          guint  turn = shift <= 64 ? case_ / shift : (guint) g_rand_int_range (from, 0, 60);
          g_autofree char *value = draw_value (spec, from, turn);

          if (value == NULL || (spec->what_if && case_ % 4 != 0))
            continue;
          if (!option_set (spec, options, value, NULL, diags))
            g_error ("%s", diag_list_first_message (diags));
          g_string_append_printf (text, " %s=%s", spec->key, value);
        }
    }
  if (strategy->outer)
    {
      const Strategy *inner;

      do
        inner = draw_any (rand);
      while (inner->outer);
      choice->inner = draw_choice (self, inner, rand, case_, text);
    }
  return choice;
}

static void
describe (RandomPlan *self, guint32 seed, guint case_)
{
  const MeshOptions *m = &self->mesh;

  g_string_printf (
      self->description,
      "seed %u case %u: %s L=%d mtp=%d h=%d V=%d tied=%d experts=%d ranks=%u/%u of %u micro=%d "
      "accum=%d ckpt=%d%s%s tiles=%dx%d loss=%d "
      "precision=%d optimizer=%d/%d fp8=%d/%d (wide: %d, %d) lora=%d/%d%s dora=%d 4bit=%d "
      "slices=%d/%d private=%d/%d/%d "
      "tp=%d rows=%d (%s) sp=%d cp=%d ep=%d etp=%d pp=%d vp=%d "
      "pipeline=%d p2p=%d%s;",
      seed, case_, self->shape.family, (int) self->shape.n_layers, (int) self->shape.n_mtp,
      (int) self->shape.d_model, (int) self->shape.vocab, self->shape.tied_embeddings,
      (int) self->shape.n_experts, self->in.mesh.n_ranks, self->in.mesh.ranks_per_node,
      self->in.mesh.world, (int) self->training.micro_batch, (int) self->training.grad_accum,
      self->training.checkpointing, self->training.cpu_checkpointing ? " (host)" : "",
      self->training.partition_activations ? " (slices)" : "", (int) self->training.tiled_in_splits,
      (int) self->training.tiled_out_splits, self->training.loss, self->training.precision,
      self->training.optimizer, self->training.matrix_exchange, self->training.fp8_recipe,
      self->training.fp8_gather, (int) self->training.num_layers_at_start_in_bf16,
      (int) self->training.num_layers_at_end_in_bf16,
      self->training.peft ? (int) self->training.lora_r : 0, self->training.fully_sharded_loras,
      self->training.lora_dropout > 0 ? " (dropped)" : "", self->training.use_dora,
      self->training.load_in_4bit, (int) self->training.trained_slices, self->training.slice_heads,
      self->training.private_method, self->training.private_clipping, self->training.private_noise,
      (int) m->tp, (int) m->tp_rows, m->order, (int) m->sp, (int) m->cp, (int) m->ep, (int) m->etp,
      (int) m->pp, (int) m->vp, m->pipeline, m->p2p,
      self->in.batches == NULL                         ? ""
      : self->training.partition == PARTITION_HYBRID   ? " hybrid"
      : self->training.partition == PARTITION_ZEPPELIN ? " zeppelin"
                                                       : " lengths");
}

static gboolean
is_taken (RandomPlan *self)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  /* roles of a strategy's own have one closed form, rows one each: not both */
  for (const StrategyChoice *c = self->choice; c != NULL; c = c->inner)
    if (self->in.batches != NULL && c->strategy->role != NULL)
      return FALSE;
  self->schedule = schedule_build (&self->in, self->choice, diags);
  return self->schedule != NULL;
}

/*
 * Options (and inner strategies) are drawn afresh until they fit the mesh; FALSE when none of them
 * does.
 */
static gboolean
draw_strategy (RandomPlan *self, const Strategy *strategy, GRand *rand, guint case_)
{
  gsize begin = self->description->len;

  for (guint tries = 0; tries < 20; tries++)
    {
      /* after some near ones far enough for the options that turn slowly */
      guint turn = case_ + (tries < 10 ? tries : 11 * (tries - 9));

      g_string_truncate (self->description, begin);
      self->choice = draw_choice (self, strategy, rand, turn, self->description);
      if (is_taken (self))
        return TRUE;
    }
  return FALSE;
}

/* Types that every strategy takes, whatever its options. FALSE: they are there already. */
static gboolean
make_mixed (RandomPlan *self)
{
  TrainingOptions *t = &self->training;

  if (t->precision == PRECISION_BF16_MIXED && t->moment_dtype == ROLE_AUTO && !t->load_in_4bit
      && !t->traits.caches_fp8_weights)
    return FALSE;
  t->precision = PRECISION_BF16_MIXED;
  t->moment_dtype = ROLE_AUTO;
  t->reduce_dtype = REDUCE_AUTO;
  t->load_in_4bit = t->bnb_4bit_use_double_quant = t->traits.caches_fp8_weights = FALSE;
  return TRUE;
}

/* Steps that one without a backward pass can take. FALSE: they are there already. */
static gboolean
make_forward (RandomPlan *self)
{
  TrainingOptions *t = &self->training;

  if (t->checkpointing == CHECKPOINT_NONE && t->fp8_recipe == FP8_NONE)
    return FALSE;
  t->checkpointing = CHECKPOINT_NONE;
  t->cpu_checkpointing = t->partition_activations = FALSE;
  t->fp8_recipe = FP8_NONE;
  t->fp8_gather = FP8_GATHER_NONE;
  return TRUE;
}

/* An optimizer that every strategy runs. FALSE: it is there already. */
static gboolean
make_adamw (RandomPlan *self)
{
  if (self->training.optimizer <= OPTIMIZER_NONE)
    return FALSE;
  self->training.optimizer = OPTIMIZER_ADAMW;
  return TRUE;
}

/* States that stay where a strategy keeps them. FALSE: they are there already. */
static gboolean
make_unpaged (RandomPlan *self)
{
  if (!optimizer_is_paged (&self->training))
    return FALSE;
  self->training.optimizer_paged = FALSE;
  return TRUE;
}

/* One prediction of each token. FALSE: it is alone already. */
static gboolean
make_short (RandomPlan *self)
{
  if (self->shape.n_mtp == 0)
    return FALSE;
  self->shape.n_mtp = 0;
  return TRUE;
}

/* Whether something of the plan became what more strategies take. */
/* Some strategies take no noise of owners, fuse gradients, or go back only once. */
static gboolean
make_public (RandomPlan *self)
{
  if (self->training.private_method == PRIVATE_NONE)
    return FALSE;
  self->training.private_method = PRIVATE_NONE;
  return TRUE;
}

static gboolean
make_plainer (RandomPlan *self)
{
  return make_public (self) || make_unpaged (self) || make_adamw (self) || make_mixed (self)
         || make_forward (self) || make_short (self);
}

/* The next mesh has other workloads. */
static void
clear_stages (RandomPlan *self)
{
  g_clear_pointer (&self->batches, g_ptr_array_unref);
  g_clear_pointer (&self->stages, g_ptr_array_unref);
  g_clear_pointer (&self->training.lengths, g_free);
  self->training.partition = PARTITION_EVEN;
  self->training.tokens_per_rank = 0;
  self->in.batches = NULL;
}

static RandomPlan *
plan_new (const Strategy *strategy, guint32 seed, guint case_, Axes axes, gboolean lengths)
{
  RandomPlan       *self = g_new0 (RandomPlan, 1);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  gboolean          slices = g_str_equal (strategy->name, "ppu");

  self->blocks = g_ptr_array_new ();
  self->in.files = self->files = input_files_new ();
  self->description = g_string_new (NULL);
  draw_model (self, rand, axes != AXES_NONE && case_ % 3 == 0 && !slices);
  if (case_ % 6 >= 4 && !slices)
    make_hybrid (self, case_);
  if (strategy->issue == NULL || strategy->issue->carries.shared_tables)
    make_mtp (self, case_);
  draw_training (self, rand, case_);
  draw_optimizer (self, case_);
  draw_fp8_gather (self, strategy, case_);
  if (slices)
    draw_slices (self, case_);
  else
    draw_privacy (self, case_);
  for (;; axes--)
    {
      draw_mesh (self, rand, case_ % 4 != 0 ? axes : AXES_NONE, case_ / 4);
      lengths = lengths && random_plan_draw_lengths (self, case_);
      describe (self, seed, case_);
      if (draw_strategy (self, strategy, rand, case_)
          || (!lengths && axes == AXES_NONE && !make_plainer (self)))
        break;
      /* the next turn has equal lengths, or else one axis fewer, or other types */
      axes = lengths ? axes + 1 : MAX (axes, AXES_OF_LAYERS);
      lengths = FALSE;
      clear_stages (self);
    }
  self->text = self->description->str;
  return self;
}

RandomPlan *
random_plan_new (const Strategy *strategy, guint32 seed, guint case_)
{
  RandomPlan *self = plan_new (strategy, seed, case_, AXES_NONE, FALSE);

  g_clear_pointer (&self->schedule, schedule_free_all); /* tests change the plan first */
  return self;
}

RandomPlan *
random_plan_new_mesh (const Strategy *strategy, guint32 seed, guint case_)
{
  return plan_new (strategy, seed, case_, AXES_ALL, FALSE);
}

RandomPlan *
random_plan_new_lengths (const Strategy *strategy, guint32 seed, guint case_)
{
  return plan_new (strategy, seed, case_, AXES_ALL, TRUE);
}

void
random_plan_free (RandomPlan *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->files, input_files_free);
  for (guint i = 0; i < self->blocks->len; i++)
    {
      StrategyChoice *choice = g_ptr_array_index (self->blocks, i);

      if (choice->strategy->options != NULL)
        option_table_clear (choice->strategy->options, (gpointer) choice->options);
      g_free ((gpointer) choice->options);
      g_free (choice);
    }
  g_ptr_array_unref (self->blocks);
  g_clear_pointer (&self->schedule, schedule_free_all);
  clear_stages (self);
  option_table_clear (mesh_options, &self->mesh);
  option_table_clear (training_options, &self->training);
  model_shape_clear (&self->shape);
  g_string_free (self->description, TRUE);
  g_free (self);
}
