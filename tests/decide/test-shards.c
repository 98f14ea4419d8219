/*
 * Sharding formats over whole models: against published padding (fsdp.md's table: FSDP2 of
 * gpt-oss-120b +99 % on 256 ranks, Megatron's third), against layouts and bytes worked by hand, and
 * advice against all sizes that there are. The formats themselves are tests/strategy's.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "decide/parts/shards.h"

#define GIVEN(list) (list), G_N_ELEMENTS (list)

typedef struct
{
  ModelShape      shape;
  TrainingOptions training;
  MeshOptions     mesh;
  Workload       *workload;
} Model;

static void
model_load (Model *self, const char *name, const char *block, gint64 tp, gint64 ep)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelOptions         options = { 0 };

  memset (self, 0, sizeof *self);
  option_table_defaults (model_options, &options);
  option_table_defaults (training_options, &self->training);
  option_table_defaults (mesh_options, &self->mesh);
  g_free (options.config);
  options.config = g_strdup (name);
  ck_assert (model_resolve (&options, NULL, NULL, &self->shape, NULL, diags));
  option_table_clear (model_options, &options);
  self->training.seq_len = 128;
  self->training.micro_batch = 1;
  self->training.shard_block = g_strdup (block);
  self->mesh.tp = tp;
  self->mesh.ep = ep;
  self->workload = workload_new_stage (&self->shape, &self->training, &self->mesh, 0);
}

static void
model_clear (Model *self)
{
  workload_free (self->workload);
  model_shape_clear (&self->shape);
  option_table_clear (training_options, &self->training);
  option_table_clear (mesh_options, &self->mesh);
}

/* Of FORMAT on the N numbers of RANKS. */
static Shards *
shards_of (const Model *model, const ShardFormat *format, const guint *ranks, guint n,
           gboolean apart)
{
  const ShardsOptions options = { .workload = model->workload,
                                  .ranks = ranks,
                                  .n_ranks = n,
                                  .formats = { format },
                                  .n_formats = 1,
                                  .experts_apart = apart };

  return shards_new (&options);
}

static const ShardSize *
size_at (const Shards *self, guint i)
{
  ck_assert_uint_lt (i, self->sizes->len);
  return &g_array_index (self->sizes, ShardSize, i);
}

/* ---- padding --------------------------------------------------------------------------------- */

/*
 * A transformer layer of gpt-oss-120b with its 128 experts in it is the unit: on 256 ranks half of
 * the ranks have no expert. The whole model pads a little less: embedding and head hardly do.
 */
START_TEST (test_rows_of_experts)
{
  static const guint  ranks[] = { 64, 128, 256, 512, 1024 };
  static const double published[] = { 0, 0, 0.99, 2.98, 6.94 };
  Model               model;
  g_autoptr (Shards)  shards = NULL;

  model_load (&model, "gpt-oss-120b", NULL, 1, 1);
  shards = shards_of (&model, &format_rows, GIVEN (ranks), FALSE);
  ck_assert_uint_eq (shards->units->len, 3);
  for (guint i = 0; i < G_N_ELEMENTS (ranks); i++)
    {
      ck_assert_str_eq (size_at (shards, i)->largest->name, "block 0 to 35");
      ck_assert_double_eq_tol (shard_size_largest_padding (size_at (shards, i)), published[i],
                               0.005);
    }
  ck_assert_double_eq_tol (shard_size_padding (size_at (shards, 2)), 0.98215, 1e-5);
  ck_assert_uint_eq (size_at (shards, 2)->n_units, 38);
  model_clear (&model);
}
END_TEST

/* Llama-3-70B: rows of 8192, 1024 and 28672 in chunks of 86, 11 and 299 on 96 ranks, and so on. */
START_TEST (test_rows_of_llama)
{
  static const guint ranks[] = { 96, 384, 768 };
  /* chunks of 8192, 1024, 28672 and the vocabulary's 128256 rows */
  static const guint64 chunks[][4] = { { 86, 11, 299, 1336 },
                                       { 22, 3, 75, 334 },
                                       { 11, 2, 38, 167 } };
  static const double  published[] = { 0.005, 0.018, 0.033 };
  Model                model;
  g_autoptr (Shards)   shards = NULL;

  model_load (&model, "llama-3-70b", NULL, 1, 1);
  shards = shards_of (&model, &format_rows, GIVEN (ranks), FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (ranks); i++)
    {
      const guint64 *c = chunks[i], m = ranks[i], h = 8192, f = 28672;
      const guint64  r[] = { m * c[0], m * c[1], m * c[2], m * c[3] };
      /* two norms, q and o, k and v, gate and up, down */
      const guint64 block = 2 * r[0] + 2 * r[0] * h + 2 * r[1] * h + 2 * r[2] * h + r[0] * f;
      const guint64 kv = 1024, whole = 2 * h + 2 * h * h + 2 * kv * h + 3 * f * h;

      ck_assert_uint_eq (size_at (shards, i)->padded, 80 * block + 2 * r[3] * h + r[0]);
      ck_assert_double_eq_tol ((double) block / (double) whole - 1, published[i], 5e-4);
    }
  model_clear (&model);
}
END_TEST

/*
 * Megatron's groups: experts by themselves, 3 186 155 520 elements a layer in multiples of
 * 2880 x 5760 a rank: three and a bit on 64 ranks become four, one and a half on 128 two.
 */
START_TEST (test_lcm_rows)
{
  static const guint   ranks[] = { 64, 128, 256, 512 };
  static const guint64 multiples[] = { 4, 2, 1, 1 };
  static const double  published[] = { 0.333, 0.333, 0.333, 1.666 };
  Model                model;
  g_autoptr (Shards)   shards = NULL;

  model_load (&model, "gpt-oss-120b", NULL, 1, 1);
  shards = shards_of (&model, &format_lcm_rows, GIVEN (ranks), TRUE);
  ck_assert_uint_eq (shards->units->len, 4);
  for (guint i = 0; i < G_N_ELEMENTS (ranks); i++)
    {
      const ShardSize *size = size_at (shards, i);

      ck_assert_str_eq (size->largest->name, "experts of block 0 to 35");
      ck_assert_uint_eq (size->largest->elements, 3186155520);
      ck_assert_uint_eq (size->largest_bytes, 2 * multiples[i] * ranks[i] * 2880 * 5760);
      ck_assert_double_eq_tol (shard_size_largest_padding (size), published[i], 1e-3);
      ck_assert_uint_eq (size->n_units, 74);
    }
  model_clear (&model);
}
END_TEST

/* A tensor of each expert instead: the model, whose experts are apart or not. */
static void
model_unstack (Model *self)
{
  workload_free (self->workload);
  self->training.expert_tensors = EXPERT_TENSORS_EACH;
  self->workload = workload_new_stage (&self->shape, &self->training, &self->mesh, 0);
}

/*
 * gpt-oss with linear layers: 5760 rows of gate and up are 23 on 256 ranks, 5888 in all, 2880 of
 * down 12, 3072 in all; each row is 2880 long, and has a bias. What others computed of rows in
 * whole blocks (gpt-oss), of whole models (DeepSeek-V3), and of Megatron's multiples in experts
 * apart.
 */
START_TEST (test_each_expert)
{
  static const guint  ranks[] = { 64, 128, 256, 512 }, uneven[] = { 96, 384, 1024 };
  static const double of_rows[] = { 0, 0.007, 0.037, 0.067 };
  static const double of_multiples[] = { 0.003, 0.006, 0.006, 0.021 };
  static const double deepseek[] = { 0.022, 0.088, 0.001 };
  Model               model;
  g_autoptr (Shards)  rows = NULL, apart = NULL, multiples = NULL, others = NULL;

  model_load (&model, "gpt-oss-120b", NULL, 1, 1);
  model_unstack (&model);
  rows = shards_of (&model, &format_rows, GIVEN (ranks), FALSE);
  apart = shards_of (&model, &format_rows, GIVEN (ranks), TRUE);
  multiples = shards_of (&model, &format_lcm_rows, GIVEN (ranks), TRUE);
  ck_assert_uint_eq (size_at (apart, 2)->largest_bytes, 2UL * 128 * (5888 + 3072) * 2881);
  ck_assert_uint_eq (size_at (apart, 2)->largest->elements, 3186155520);
  for (guint i = 0; i < G_N_ELEMENTS (ranks); i++)
    {
      ck_assert_double_eq_tol (shard_size_largest_padding (size_at (rows, i)), of_rows[i], 5e-4);
      ck_assert_double_eq_tol (shard_size_padding (size_at (multiples, i)), of_multiples[i], 5e-4);
    }
  model_clear (&model);
  model_load (&model, "deepseek-v3", NULL, 1, 1);
  model_unstack (&model);
  others = shards_of (&model, &format_rows, GIVEN (uneven), FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (uneven); i++)
    ck_assert_double_eq_tol (shard_size_padding (size_at (others, i)), deepseek[i], 5e-4);
  model_clear (&model);
}
END_TEST

/* Elements of a shard of the same experts, which the planner's published curve rests on. */
START_TEST (test_ragged)
{
  static const struct
  {
    const char *block;
    guint       ranks;
    guint64     shard;
  } known[] = {
    { NULL, 64, 49783680 },
    { "*experts*=16rows", 64, 49858560 },
    { "*experts*=128rows", 64, 50135040 },
    { "*experts*=128rows", 128, 25067520 },
    { NULL, 1024, 3116160 },
    { "*experts*=128rows", 1024, 3686400 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    {
      Model              model;
      g_autoptr (Shards) shards = NULL;

      model_load (&model, "gpt-oss-120b", known[i].block, 1, 1);
      shards = shards_of (&model, &format_ragged, &known[i].ranks, 1, TRUE);
      ck_assert_uint_eq (size_at (shards, 0)->largest_bytes, known[i].shard * known[i].ranks * 2);
      ck_assert_uint_eq (size_at (shards, 0)->n_misaligned, 0);
      model_clear (&model);
    }
}
END_TEST

/* 256 experts on 512 data ranks of which 8 share each: 32 on 64 ranks, of which half have none. */
START_TEST (test_expert_ranks)
{
  static const guint ranks[] = { 256, 512 };
  Model              model;
  g_autoptr (Shards) shards = NULL;

  model_load (&model, "deepseek-v3", NULL, 1, 8);
  shards = shards_of (&model, &format_rows, GIVEN (ranks), FALSE);
  ck_assert_str_eq (size_at (shards, 1)->largest->name, "experts of block 3 to 60");
  ck_assert_uint_eq (size_at (shards, 1)->largest->elements,
                     G_GUINT64_CONSTANT (3) * 32 * 2048 * 7168);
  ck_assert_double_eq (shard_size_largest_padding (size_at (shards, 0)), 0);
  ck_assert_double_eq (shard_size_largest_padding (size_at (shards, 1)), 1);
  model_clear (&model);
}
END_TEST

/* ---- bytes ----------------------------------------------------------------------------------- */

/*
 * On 64 ranks nothing is padded: twice 2 bytes are read and written an element to have parameters
 * in order (12.85 GB a layer each time, which the paper's 5.22 ms are of), then gradients are read
 * in 2 bytes and written in those of their reduction. On 256 ranks each copy passes once more over
 * the stacked matrices.
 */
START_TEST (test_copies)
{
  static const guint few = 64, many = 256;
  const guint64      stacked = G_GUINT64_CONSTANT (36) * 128 * 2880 * (5760 + 2880);
  const Dtype        reduced[] = { REDUCE_AUTO, DTYPE_FP32 };
  static const guint bytes[] = { 2, 4 };

  for (guint i = 0; i < G_N_ELEMENTS (reduced); i++)
    {
      Model              model;
      g_autoptr (Shards) rows = NULL, flat = NULL, inside = NULL;
      guint64            elements;

      model_load (&model, "gpt-oss-120b", NULL, 1, 1);
      model.training.reduce_dtype = (gint) reduced[i];
      workload_free (model.workload);
      model.workload = workload_new_stage (&model.shape, &model.training, &model.mesh, 0);
      elements = workload_n_parameters (model.workload);
      rows = shards_of (&model, &format_rows, &few, 1, FALSE);
      flat = shards_of (&model, &format_flat, &few, 1, FALSE);
      inside = shards_of (&model, &format_rows_inside, &many, 1, FALSE);
      ck_assert_uint_eq (size_at (rows, 0)->elements, elements);
      ck_assert_uint_eq (size_at (rows, 0)->rank_bytes, elements / 64 * 2);
      ck_assert_uint_eq (size_at (rows, 0)->copied_bytes, (2 * 4 + 2 + bytes[i]) * elements);
      ck_assert_uint_eq (size_at (flat, 0)->copied_bytes, 0);
      ck_assert_uint_eq (
          size_at (inside, 0)->copied_bytes,
          (2 * 4 + bytes[i]) * size_at (inside, 0)->padded + 2 * elements + (2 * 4 + 4) * stacked);
      model_clear (&model);
    }
}
END_TEST

/* Llama-3-70B on 96 ranks: a norm's 86 elements make a layer's bytes no multiple of 16. */
START_TEST (test_alignment)
{
  static const guint ranks[] = { 64, 96 };
  Model              model;
  g_autoptr (Shards) shards = NULL;

  model_load (&model, "llama-3-70b", NULL, 1, 1);
  shards = shards_of (&model, &format_rows, GIVEN (ranks), FALSE);
  ck_assert_uint_eq (size_at (shards, 0)->n_misaligned, 0);
  ck_assert_uint_eq (size_at (shards, 1)->n_misaligned, 81); /* 80 blocks, and the head's norm */
  model_clear (&model);
}
END_TEST

/* ---- layout ---------------------------------------------------------------------------------- */

static const ShardPlace *
find_place (const Shards *self, const char *tensor)
{
  for (guint i = 0; i < self->places->len; i++)
    {
      const ShardPlace *place = &g_array_index (self->places, ShardPlace, i);

      if (place->tensor != NULL && g_str_equal (place->tensor->name, tensor))
        return place;
    }
  ck_abort_msg ("no tensor '%s'", tensor);
  return NULL;
}

/* Half of the ranks have an expert each; of 64 values as many ranks one. */
START_TEST (test_cuts)
{
  static const guint ranks = 256;
  Model              model;
  g_autoptr (Shards) shards = NULL;
  const ShardPlace  *experts, *sinks;
  const guint64      one = 16588800; /* 2880 x 5760 */

  model_load (&model, "gpt-oss-120b", NULL, 1, 1);
  shards = shards_of (&model, &format_rows, &ranks, 1, FALSE);
  ck_assert (!shards_have_buffers (shards));
  experts = find_place (shards, "mlp.experts.gate_up_proj");
  ck_assert_uint_eq (experts->first_rank, 0);
  ck_assert_uint_eq (experts->last_rank, 127);
  ck_assert_uint_eq (experts->rank_elements, one);
  ck_assert_uint_eq (experts->padding, 128 * one);
  sinks = find_place (shards, "self_attn.sinks");
  ck_assert_uint_eq (sinks->last_rank, 63);
  ck_assert_uint_eq (sinks->end - sinks->start, 1);
  model_clear (&model);
}
END_TEST

/*
 * In one buffer: what is not a tensor is padding, which stands between tensors, and ranks are where
 * stretches of a shard's length begin and end.
 */
static void
check_buffer (const Model *model, const ShardFormat *format, guint ranks)
{
  g_autoptr (Shards) shards = shards_of (model, format, &ranks, 1, FALSE);
  guint64            sum = 0;

  ck_assert (shards_have_buffers (shards));
  for (guint i = 0; i < shards->places->len; i++)
    {
      const ShardPlace *place = &g_array_index (shards->places, ShardPlace, i), *before = place - 1;
      const gboolean    first = i == 0 || before->unit != place->unit;
      const guint64     from = first ? 0 : before->end;
      const gboolean    last = i + 1 == shards->places->len || place[1].unit != place->unit;
      const guint64     shard = place->unit->elements; /* of one rank: the same on each */

      ck_assert_uint_ge (place->start, from);
      if (place->tensor != NULL)
        ck_assert_uint_eq (place->start - from, place->padding);
      else
        ck_assert (last && place->padding == place->end - place->start);
      if (place->tensor != NULL)
        ck_assert_uint_eq (place->end - place->start, place->tensor->elements);
      ck_assert_uint_le (place->first_rank, place->last_rank);
      ck_assert_uint_lt (place->last_rank, ranks);
      ck_assert_uint_le (place->rank_elements, shard);
      ck_assert_uint_ge (place->rank_elements * (place->last_rank - place->first_rank + 1),
                         place->end - place->start);
      if (last)
        sum += place->unit->n * place->end;
    }
  ck_assert_uint_eq (sum, size_at (shards, 0)->padded);
}

START_TEST (test_buffers)
{
  static const guint ranks[] = { 1, 8, 96, 1024 };
  Model              model;

  model_load (&model, "gpt-oss-120b", "*experts*=128rows", 1, 1);
  for (guint i = 0; i < G_N_ELEMENTS (ranks); i++)
    {
      check_buffer (&model, &format_flat, ranks[i]);
      check_buffer (&model, &format_lcm_rows, ranks[i]);
      check_buffer (&model, &format_ragged, ranks[i]);
    }
  model_clear (&model);
}
END_TEST

/* ---- advice ---------------------------------------------------------------------------------- */

static const ShardAdvice *
advice_at (const Shards *self, guint i)
{
  ck_assert_uint_lt (i, self->advice->len);
  return &g_array_index (self->advice, ShardAdvice, i);
}

/* 128 experts: on 192 ranks half as much again, on 64 nothing. */
START_TEST (test_advice)
{
  static const guint ranks[] = { 128, 192, 256 }, eight = 8;
  Model              model;
  g_autoptr (Shards) rows = NULL, none = NULL;

  model_load (&model, "gpt-oss-120b", NULL, 1, 1);
  rows = shards_of (&model, &format_rows, GIVEN (ranks), FALSE);
  ck_assert_uint_eq (rows->advice->len, 2);
  for (guint i = 0; i < 2; i++)
    {
      ck_assert_uint_eq (advice_at (rows, i)->asked.ranks, ranks[i + 1]);
      ck_assert (advice_at (rows, i)->found && advice_at (rows, i)->little);
      ck_assert_uint_eq (advice_at (rows, i)->size.ranks, 128);
    }
  ck_assert_uint_eq (advice_at (rows, 0)->shard.ranks, 64);
  ck_assert_uint_eq (advice_at (rows, 0)->replicas, 3);
  ck_assert_uint_eq (advice_at (rows, 1)->shard.ranks, 128);
  ck_assert_uint_eq (advice_at (rows, 1)->replicas, 2);
  none = shards_of (&model, &format_lcm_rows, &eight, 1, FALSE);
  ck_assert (!advice_at (none, 0)->found);
  model_clear (&model);
}
END_TEST

/* Against all multiples of 8 below: the first that pads little, or the least of all. */
START_TEST (test_all_smaller)
{
  static const guint       asked[] = { 384, 768, 1000 };
  const ShardFormat *const formats[] = { &format_rows, &format_lcm_rows, &format_ragged };
  guint                    every[1000 / 8];
  Model                    model;

  for (guint m = 0; m < G_N_ELEMENTS (every); m++)
    every[m] = 8 * (m + 1);
  model_load (&model, "gpt-oss-120b", "*experts*=128rows", 1, 1);
  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    {
      g_autoptr (Shards) shards = shards_of (&model, formats[f], GIVEN (asked), FALSE);
      g_autoptr (Shards) all = shards_of (&model, formats[f], GIVEN (every), FALSE);

      ck_assert_uint_gt (shards->advice->len, 0);
      for (guint i = 0; i < shards->advice->len; i++)
        {
          const ShardAdvice *advice = advice_at (shards, i);
          const double       found = shard_size_padding (&advice->size);

          ck_assert_uint_eq (advice->little, found < 0.01);
          ck_assert_uint_lt (advice->size.ranks, advice->asked.ranks);
          for (guint m = 0; m < all->sizes->len; m++)
            {
              const ShardSize *other = size_at (all, m);

              if (other->ranks >= advice->asked.ranks)
                break;
              if (!advice->little)
                ck_assert_double_ge (shard_size_padding (other), found);
              else if (other->ranks > advice->size.ranks)
                ck_assert_double_ge (shard_size_padding (other), 0.01);
            }
          ck_assert_uint_le (advice->replicas, advice->asked.ranks / advice->shard.ranks);
        }
    }
  model_clear (&model);
}
END_TEST

SUITE_MAIN (shards)
{
  Suite *suite = suite_create ("shards");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_rows_of_experts);
  tcase_add_test (tcase, test_rows_of_llama);
  tcase_add_test (tcase, test_lcm_rows);
  tcase_add_test (tcase, test_each_expert);
  tcase_add_test (tcase, test_ragged);
  tcase_add_test (tcase, test_expert_ranks);
  tcase_add_test (tcase, test_copies);
  tcase_add_test (tcase, test_alignment);
  tcase_add_test (tcase, test_cuts);
  tcase_add_test (tcase, test_buffers);
  tcase_add_test (tcase, test_advice);
  tcase_add_test (tcase, test_all_smaller);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
