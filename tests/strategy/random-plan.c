#include "random-plan.h"

#include <string.h>

static gint64
pick (GRand *rand, const gint64 *values, guint n)
{
  return values[g_rand_int_range (rand, 0, (gint32) n)];
}

static void
draw_model (RandomPlan *self, GRand *rand)
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
  if (!model_resolve (&options, NULL, &self->shape, NULL, diags))
    g_error ("model: %s", diag_list_first_message (diags));
  option_table_clear (model_options, &options);
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
  t->precision = (gint) (case_ / 3 % 3);
  t->optimizer = (gint) (case_ / 9 % 3);
  t->clip_gradients = g_rand_boolean (rand);
  t->compile = g_rand_boolean (rand);
  t->attention = g_rand_int_range (rand, 0, 4);
  t->reduce_dtype = g_rand_boolean (rand)            ? DTYPE_N
                    : t->precision == PRECISION_FP32 ? DTYPE_FP32
                                                     : DTYPE_BF16;
}

static void
draw_mesh (RandomPlan *self, GRand *rand)
{
  static const gint64 nodes[] = { 1, 2, 3, 4, 8 }, gpus[] = { 1, 2, 4, 8 };
  guint               n = (guint) pick (rand, nodes, G_N_ELEMENTS (nodes)),
        g = (guint) pick (rand, gpus, G_N_ELEMENTS (gpus));

  self->in.mesh = (Mesh){ .n_ranks = n * g, .ranks_per_node = g, .world = n * g };
}

/* A value of an option as text. */
static char *
draw_value (const OptionSpec *spec, GRand *rand, guint case_)
{
  static const double scales[] = { 0, 1, 100, 1e4, 1e5, 1e6, 1e9 };
  double              value;

  switch (spec->type)
    {
    case OPTION_BOOL:
      return g_strdup (case_ % 2 == 0 ? "true" : "false");
    case OPTION_ENUM:
      return g_strdup (spec->choices[case_ % g_strv_length ((gchar **) spec->choices)]);
    case OPTION_STRING:
      return g_strdup (case_ % 3 == 0 ? "node" : case_ % 3 == 1 ? "all" : "1");
    case OPTION_INT:
    case OPTION_QUANTITY:
      if (g_rand_int_range (rand, 0, 3) == 0 && spec->fallback != NULL)
        return g_strdup (spec->fallback);
      value = CLAMP (scales[g_rand_int_range (rand, 0, G_N_ELEMENTS (scales))], spec->min,
                     MIN (spec->max, 1e9));
      if (g_str_equal (spec->key, "local_steps"))
        value = g_rand_int_range (rand, 1, 5);
      if (spec->type == OPTION_QUANTITY)
        value = MAX (value, 1);
      return g_strdup_printf ("%.0f%s", value, spec->type == OPTION_QUANTITY ? " B" : "");
    }
  g_assert_not_reached ();
}

static StrategyChoice *
draw_choice (RandomPlan *self, const Strategy *strategy, GRand *rand, guint case_, GString *text)
{
  StrategyChoice      *choice = g_new0 (StrategyChoice, 1);
  gpointer             options = g_malloc0 (MAX (strategy->options_size, 1));
  g_autoptr (DiagList) diags = diag_list_new ();
  guint                shift = 1;

  g_ptr_array_add (self->blocks, choice);
  choice->strategy = strategy;
  choice->options = options;
  g_string_append_printf (text, " %s", strategy->name);
  if (strategy->options != NULL)
    {
      option_table_defaults (strategy->options, options);
      for (const OptionSpec *spec = strategy->options; spec->key != NULL; spec++, shift *= 2)
        {
          g_autofree char *value = draw_value (spec, rand, case_ / MIN (shift, 64));

          g_assert_true (option_set (spec, options, value, NULL, diags));
          g_string_append_printf (text, " %s=%s", spec->key, value);
        }
    }
  if (strategy->outer)
    {
      const Strategy *const *list = strategy_list ();
      guint                  n = 0;
      const Strategy        *inner;

      while (list[n] != NULL)
        n++;
      do
        inner = list[g_rand_int_range (rand, 0, (gint32) n)];
      while (inner->outer);
      choice->inner = draw_choice (self, inner, rand, case_, text);
    }
  return choice;
}

RandomPlan *
random_plan_new (const Strategy *strategy, guint32 seed, guint case_)
{
  RandomPlan         *self = g_new0 (RandomPlan, 1);
  g_autoptr (GRand)   rand = g_rand_new_with_seed (seed);
  g_autoptr (GString) text = g_string_new (NULL);

  self->blocks = g_ptr_array_new ();
  draw_model (self, rand);
  draw_training (self, rand, case_);
  draw_mesh (self, rand);
  self->workload = workload_new (&self->shape, &self->training);
  self->in.workload = self->workload;
  g_string_append_printf (
      text,
      "seed %u case %u: %s L=%d h=%d V=%d tied=%d ranks=%u/%u micro=%d accum=%d ckpt=%d precision=%d;",
      seed, case_, self->shape.family, (int) self->shape.n_layers, (int) self->shape.d_model,
      (int) self->shape.vocab, self->shape.tied_embeddings, self->in.mesh.n_ranks,
      self->in.mesh.ranks_per_node, (int) self->training.micro_batch,
      (int) self->training.grad_accum, self->training.checkpointing, self->training.precision);
  self->choice = draw_choice (self, strategy, rand, case_, text);
  self->text = g_strdup (text->str);
  return self;
}

void
random_plan_free (RandomPlan *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->blocks->len; i++)
    {
      StrategyChoice *choice = g_ptr_array_index (self->blocks, i);

      if (choice->strategy->options != NULL)
        option_table_clear (choice->strategy->options, (gpointer) choice->options);
      g_free ((gpointer) choice->options);
      g_free (choice);
    }
  g_ptr_array_unref (self->blocks);
  workload_free (self->workload);
  option_table_clear (training_options, &self->training);
  model_shape_clear (&self->shape);
  g_free (self->text);
  g_free (self);
}
