/* Which meshes a model can be divided over. Everything that is wrong is named in one pass. */
#include "model/layer/router.h"
#include "model/mesh/context-heads.h"
#include "model/mesh/mesh-order.h"
#include "model/mesh/stage-cut.h"
#include "model/shape/block-parts.h"
#include "model/shape/family-private.h"
#include "model/step/privacy.h"
#include "model/step/workload.h"

#include <string.h>

typedef struct
{
  const ModelShape      *shape;
  const TrainingOptions *training;
  MeshOptions            mesh; /* degrees >= 1; sp as given */
  const OptionMarks     *marks;
  DiagList              *diags;
} Check;

static const SourceMark *
mark_of (const Check *c, const char *key)
{
  return option_mark (c->marks, key, NULL);
}

#define D "%" G_GINT64_FORMAT

/* KEY's degree, or what is said of it, has to divide VALUE, which is called WHAT. */
static void
check_divides (const Check *c, const char *key, gint64 degree, const char *what, gint64 value,
               const char *hint)
{
  const char *last = strrchr (key, ' ');

  if (degree > 1 && value % degree != 0)
    diag_error (c->diags, mark_of (c, last != NULL ? last + 1 : key), hint,
                "'%s' of " D " does not divide %s of " D, key, degree, what, value);
}

/* The first that does not divide what those before it leave of N ranks. */
static const char *
guilty_degree (const MeshOptions *m, gint64 n)
{
  if (m->tp > n || n % m->tp != 0)
    return "tp";
  if (m->tp_rows > n || n % mesh_tensor_ranks (m) != 0)
    return "tp_rows";
  if (m->cp > n || n % (mesh_tensor_ranks (m) * m->cp) != 0)
    return "cp";
  return m->pp > n || n % mesh_replica (m) != 0 ? "pp" : "ep";
}

/* The experts of a stage of N ranks have a mesh of their own. */
static void
check_folding (const Check *c, gint64 n)
{
  const MeshOptions *m = &c->mesh;
  gboolean           alone = m->etp > n || n % m->etp != 0;

  if (alone || m->ep > n || n % (m->etp * m->ep) != 0)
    diag_error (c->diags, mark_of (c, alone ? "etp" : "ep"),
                "the ranks that share the experts of a stage are those of its tensor, context and "
                "data ranks",
                "'etp' " D " x 'ep' " D " does not divide the " D " ranks of a stage", m->etp,
                m->ep, n);
}

static void
check_order (const Check *c, guint world)
{
  gboolean         experts = c->shape->n_experts > 0;
  g_autofree char *why = NULL;
  MeshStrides      strides;

  if (!mesh_strides (&c->mesh, world, experts, &strides, &why))
    diag_error (c->diags, mark_of (c, "order"),
                "each of tp, cp, dp and pp once, such as tp-cp-dp-pp or tp-cp-pp-dp; tp_rows, if "
                "named, next to tp",
                "'order' of '%s' %s", c->mesh.order, why);
}

static void
check_world (const Check *c, guint world)
{
  const MeshOptions *m = &c->mesh;
  gint64             model = mesh_replica (m), n = (gint64) world;
  g_autofree char   *rows =
      m->tp_rows > 1 ? g_strdup_printf (" x 'tp_rows' " D, m->tp_rows) : g_strdup ("");

  if (mesh_tensor_ranks (m) > n || m->cp > n || m->pp > n || m->ep > n || model > n
      || n % model != 0)
    {
      g_autofree char *hint = g_strdup_printf (
          "ranks are the product of tp, %scp, pp and the data ranks: here a multiple of " D,
          m->tp_rows > 1 ? "tp_rows, " : "", model);

      diag_error (c->diags, mark_of (c, guilty_degree (m, n)), hint,
                  "'tp' " D "%s x 'cp' " D " x 'pp' " D " does not divide %u ranks", m->tp, rows,
                  m->cp, m->pp, world);
      return;
    }
  check_order (c, world);
  if (c->shape->n_experts > 0 && mesh_folds_experts (m))
    check_folding (c, n / m->pp);
  else
    check_divides (c, "ep", m->ep, "data and context ranks", n / (mesh_tensor_ranks (m) * m->pp),
                   "expert groups lie on consecutive data ranks: 'etp' of 1 lets them span tensor "
                   "ranks too");
}

/* Of all blocks, which may differ in their heads of keys. */
static void
check_heads (const Check *c)
{
  const ModelShape *s = c->shape;
  const gint64      tp = c->mesh.tp;

  check_divides (c, "tp", tp, "the heads", s->n_heads,
                 "whole heads are divided over the tensor group");
  for (gint64 i = 0; s->kv_lora_rank == 0 && i < s->n_layers; i++)
    {
      const ModelLayer layer = model_layer (s, i);

      if (!model_mixer_attends (layer.mixer) || layer.n_kv_heads % tp == 0
          || tp % layer.n_kv_heads == 0)
        continue;
      diag_error (c->diags, mark_of (c, "tp"),
                  "key-value heads are divided, or each is held by as many ranks",
                  "'tp' of " D " neither divides the key-value heads of " D
                  " nor is a multiple of them",
                  tp, layer.n_kv_heads);
      return;
    }
}

/*
 * Blocks that mix tokens by states: their heads are divided as Megatron-LM divides them
 * (core/ssm/mamba_mixer.py, gated_delta_net.py); where nothing says how, they are not.
 */
static void
check_mixers (const Check *c)
{
  const ModelShape *s = c->shape;
  const struct
  {
    ModelMixer  mixer;
    const char *what;
    gint64      n; /* to be divided; 0: cannot be */
  } rules[] = {
    { MODEL_MIXER_MAMBA1, "the channels of Mamba-1",
      s->ssm_norm == MODEL_SSM_NORM_PARTS ? s->ssm_heads : 0 }, /* else one function is all of it */
    { MODEL_MIXER_MAMBA2, "the heads of Mamba-2", s->ssm_heads },
    { MODEL_MIXER_MAMBA2, "the groups of heads of Mamba-2", s->ssm_groups },
    { MODEL_MIXER_SIDE, "the heads of Mamba-2", s->ssm_heads },
    { MODEL_MIXER_SIDE, "the groups of heads of Mamba-2", s->ssm_groups },
    { MODEL_MIXER_DELTA, "the key heads of the delta rule", s->linear_key_heads },
    { MODEL_MIXER_DELTA, "the value heads of the delta rule", s->linear_value_heads },
    { MODEL_MIXER_KDA, "the heads of the delta rule", s->linear_value_heads },
    { MODEL_MIXER_LIGHTNING, NULL, 0 },
    { MODEL_MIXER_CONV, NULL, 0 },
  };

  for (gsize i = 0; s->layers != NULL && i < G_N_ELEMENTS (rules); i++)
    {
      if (!model_has_mixer (s, rules[i].mixer))
        continue;
      if (rules[i].n > 0)
        check_divides (c, "tp", c->mesh.tp, rules[i].what, rules[i].n,
                       "whole heads are divided over the tensor group");
      else if (c->mesh.tp > 1)
        diag_error (c->diags, mark_of (c, "tp"), "leave 'tp' at 1",
                    "a tensor group over layers of %s is not modelled",
                    model_mixer_name (rules[i].mixer));
      if (c->mesh.cp > 1 && (i == 0 || rules[i].mixer != rules[i - 1].mixer))
        diag_error (c->diags, mark_of (c, "cp"), "leave 'cp' at 1",
                    "a context group over layers of %s is not modelled",
                    model_mixer_name (rules[i].mixer));
    }
  if (s->index_topk > 0 && c->mesh.cp > 1)
    diag_error (c->diags, mark_of (c, "cp"), "leave 'cp' at 1",
                "a context group over attention to chosen keys is not modelled");
}

static void
check_widths (const Check *c)
{
  static const char whole_columns[] = "whole columns are divided over the tensor group";
  const ModelShape *s = c->shape;
  gint64            tp = c->mesh.tp;

  if (model_attends (s))
    check_heads (c);
  if (model_has_feed (s, MODEL_FEED_DENSE))
    check_divides (c, "tp", tp, "'d_ff'", s->d_ff, whole_columns);
  if (s->n_experts > 0)
    check_divides (c, mesh_folds_experts (&c->mesh) ? "etp" : "tp", mesh_expert_slices (&c->mesh),
                   "'d_expert'", s->d_expert, whole_columns);
  if (s->n_experts > 0 && s->n_shared_experts > 0 && mesh_folds_experts (&c->mesh))
    check_divides (c, "tp", tp, "the width of the shared experts", model_shared_width (s),
                   whole_columns);
}

/* What divides the residual stream is worked out for dense blocks of attention and MLP. */
static void
check_rows (const Check *c)
{
  const MeshOptions     *m = &c->mesh;
  const ModelShape      *s = c->shape;
  const TrainingOptions *t = c->training;
  gboolean               attends = s->kv_lora_rank == 0 && s->n_mtp == 0;

  for (gint64 i = 0; s->layers != NULL && i < s->n_layers; i++)
    attends = attends && model_mixer_attends (model_layer (s, i).mixer);

  const struct
  {
    gboolean    fails;
    const char *what, *hint;
  } rules[] = {
    { m->sp == 1, "sequence parallelism", "leave 'sp' at 0" },
    { s->n_experts > 0, "experts", "leave 'tp_rows' at 1" },
    { !attends, "blocks of anything but attention and an MLP", "leave 'tp_rows' at 1" },
    { s->embed_dim > 0, "an embedding of another width than the blocks", "leave 'tp_rows' at 1" },
    { t->peft != PEFT_NONE, "adapters", "leave 'tp_rows' at 1" },
    { training_slices (t) > 1, "'trained_slices'", "leave 'tp_rows' at 1" },
    { t->fp8_recipe != FP8_NONE, "'fp8_recipe'", "leave 'tp_rows' at 1, or train in 16 bits" },
    { t->measured_kernels != NULL, "'measured_kernels'", "leave 'tp_rows' at 1" },
    { t->loss == LOSS_CHUNKED, "a chunked loss", "take 'loss: fp32'" },
  };

  if (m->tp_rows == 1)
    return;
  check_divides (c, "tp_rows", m->tp_rows, "the width", s->d_model,
                 "its ranks divide the residual stream");
  for (gsize i = 0; i < G_N_ELEMENTS (rules); i++)
    if (rules[i].fails)
      diag_error (c->diags, mark_of (c, "tp_rows"), rules[i].hint,
                  "'tp_rows' of " D " does not go with %s: that is not modelled", m->tp_rows,
                  rules[i].what);
}

/* What A makes, and what B makes of it, is divided over the tensor group. */
static void
check_adapters (const Check *c)
{
  const gint64 tp = c->mesh.tp;
  const char  *with = c->training->use_dora                       ? "'use_dora'"
                      : c->training->load_in_4bit                 ? "'load_in_4bit'"
                      : c->shape->block != MODEL_BLOCK_SEQUENTIAL ? "LoRA in parallel blocks"
                                                                  : NULL;

  if (c->training->peft == PEFT_NONE || tp == 1)
    return;
  if (with != NULL)
    diag_error (c->diags, mark_of (c, "tp"), "leave 'tp' at 1",
                "'tp' of " D " does not go with %s: how it is divided is not modelled", tp, with);
  if (!c->training->fully_sharded_loras)
    return;
  check_divides (c, "tp", tp, "'lora_r'", c->training->lora_r,
                 "the adapters' ranks are divided over the tensor group, unless "
                 "'fully_sharded_loras' is false");
  check_divides (c, "tp", tp, "the width", c->shape->d_model,
                 "what adapters make is divided over the tensor group");
}

/* Context ranks that divide the heads of a tensor rank among them. */
static void
check_context_heads (const Check *c)
{
  const gint64 by = mesh_context_heads (&c->mesh), tp = c->mesh.tp;
  const gint64 heads = MAX (c->shape->n_heads / tp, 1);
  const gint64 kv = context_undivided_keys (c->shape, tp, by);
  const char  *key = c->mesh.context == CONTEXT_USP ? "ulysses" : "cp";

  if (c->mesh.context == CONTEXT_USP && c->mesh.cp % by != 0)
    diag_error (c->diags, mark_of (c, "ulysses"), "rings go over every so many context ranks",
                "'ulysses' of " D " does not divide 'cp' of " D, by, c->mesh.cp);
  if (by == 1)
    return;
  if (training_flash_version (c->training) < FLASH_2)
    diag_error (c->diags, mark_of (c, "context"), "set 'attention' to flash2",
                "context ranks that divide the heads need flash attention that groups heads");
  check_divides (c, key, by, tp > 1 ? "the heads of a tensor rank" : "the heads", heads,
                 "each context rank attends with whole heads: take 'context: usp' with a smaller "
                 "'ulysses', or a ring");
  if (kv > 0)
    diag_error (
        c->diags, mark_of (c, key), "key-value heads are divided, or each is held by as many ranks",
        "'%s' of " D " neither divides the key-value heads of " D " nor is a multiple of them", key,
        by, kv);
}

/* Each tensor rank trains a slice of its own columns and heads. */
static void
check_slices (const Check *c)
{
  static const char hint[] = "each tensor rank cuts what it holds into slices";
  const ModelShape *s = c->shape;
  gint64            q = training_slices (c->training), parts = q * c->mesh.tp;

  if (q == 1 || c->mesh.tp == 1)
    return;
  if (s->d_ff % parts != 0)
    diag_error (c->diags, mark_of (c, "tp"), hint,
                "'tp' of " D " x 'trained_slices' of " D " does not divide 'd_ff' of " D,
                c->mesh.tp, q, s->d_ff);
  if (c->training->slice_heads && (s->n_heads % parts != 0 || s->n_kv_heads % parts != 0))
    diag_error (c->diags, mark_of (c, "tp"), hint,
                "'tp' of " D " x 'trained_slices' of " D " does not divide the heads, " D
                " of queries and " D " of keys and values",
                c->mesh.tp, q, s->n_heads, s->n_kv_heads);
}

static void
check_experts (const Check *c)
{
  const MeshOptions *m = &c->mesh;
  const ModelShape  *s = c->shape;

  if (s->n_experts == 0 && m->ep > 1)
    diag_error (c->diags, mark_of (c, "ep"), "expert parallelism divides experts: leave 'ep' at 1",
                "'ep' of " D ", but the model is dense", m->ep);
  if (s->expert_bias && m->etp > 1 && mesh_folds_experts (m))
    diag_error (c->diags, mark_of (c, "etp"), "take 'etp' of 1, or leave it at 0",
                "biases of experts that an 'etp' of its own divides are not modelled");
  if (s->n_experts > 0)
    check_divides (c, "ep", m->ep, "the experts", s->n_experts, "each rank holds as many experts");
  if (s->n_experts > 0 && s->n_experts % m->ep == 0)
    check_divides (c, "tp", mesh_expert_owners (m), "the experts of a replica",
                   s->n_experts / m->ep, "each rank holds as many whole experts");
  if (m->ep > 1 && m->routing_skew > (double) m->ep)
    diag_error (c->diags, mark_of (c, "routing_skew"), "one rank cannot get more than all tokens",
                "'routing_skew' of %g is above 'ep' of " D, m->routing_skew, m->ep);
  /* what generates has a part of each expert on each tensor rank, which all need all tokens */
  if (c->training->pass == PASS_TRAINING && s->n_experts > 0 && mesh_spreads_experts (m)
      && m->tp > 1 && m->sp == 0)
    diag_error (c->diags, mark_of (c, m->ep > 1 ? "ep" : "etp"),
                "set sp to 1: otherwise each tensor rank would send the same tokens",
                "'%s' and 'tp' together need sequence parallelism", m->ep > 1 ? "ep" : "etp");
}

static void
check_dispatch (const Check *c)
{
  const MeshOptions *m = &c->mesh;
  const gboolean     fp8 = mesh_dispatches_fp8 (m);

  if (!mesh_dispatches_by_node (m) || m->ep == 1)
    return;
  if (m->etp > 1)
    diag_error (c->diags, mark_of (c, "dispatch"), "set 'etp' to 1",
                "a two-level dispatch to experts that tensor ranks divide is not modelled: 'etp' "
                "is " D,
                m->etp);
  if (fp8 && training_compute_dtype (c->training) == DTYPE_FP32)
    diag_error (c->diags, mark_of (c, "dispatch_dtype"), "leave it auto",
                "'dispatch_dtype' fp8 goes with activations of 16 bits, not with fp32");
}

/* As Megatron-Core has it (core/transformer/transformer_config.py, from memory). */
static void
check_shared_overlap (const Check *c)
{
  const MeshOptions *m = &c->mesh;
  const guint        parts = block_parts_recomputed (c->training);
  const struct
  {
    gboolean    fails;
    const char *what, *hint;
  } rules[] = {
    { mesh_dispatches_by_node (m), "goes with all-to-alls of NCCL", "take dispatch: nccl" },
    { m->moe_overlap, "does not go with 'moe_overlap'", "take one of the two" },
    { (parts & PART_SHARED_EXPERTS) != 0 && (parts & PART_MOE) == 0,
      "does not go with shared experts that are recomputed by themselves",
      "leave them out of 'recompute_modules'" },
  };

  for (gsize i = 0; m->shared_expert_overlap && i < G_N_ELEMENTS (rules); i++)
    if (rules[i].fails)
      diag_error (c->diags, mark_of (c, "shared_expert_overlap"), rules[i].hint,
                  "'shared_expert_overlap' %s", rules[i].what);
}

static void
check_sequence (const Check *c)
{
  const MeshOptions *m = &c->mesh;
  gint64             seq = c->training->seq_len;
  gboolean           flash = training_flash_version (c->training) != FLASH_NONE;

  if (m->sp != 0 && m->sp != 1)
    diag_error (c->diags, mark_of (c, "sp"), "0: no, 1: yes", "'sp' is a switch, got " D, m->sp);
  if (m->async_tp && mesh_tensor_ranks (m) > 1
      && MAX (c->training->tiled_in_splits, c->training->tiled_out_splits) > 1)
    diag_error (c->diags, mark_of (c, "async_tp"), "take 'async_tp: false'",
                "collectives inside tiled linears are not modelled");
  if (c->training->lengths == NULL)
    {
      if (m->cp > 1 && c->training->causal && m->context != CONTEXT_ULYSSES)
        check_divides (c, "2 x cp", 2 * m->cp, "'seq_len'", seq,
                       "causal attention is balanced by two chunks of the sequence a rank");
      else
        check_divides (c, "cp", m->cp, "'seq_len'", seq, "each rank holds as many tokens");
    }
  if (c->training->lengths == NULL && m->sp == 1 && seq % m->cp == 0)
    check_divides (c, "tp", m->tp, "'seq_len' / 'cp'", seq / m->cp,
                   "sequence parallelism divides it");
  if (c->training->lengths != NULL && (m->ep > 1 || (m->etp > 1 && mesh_folds_experts (m))))
    diag_error (c->diags, mark_of (c, m->ep > 1 ? "ep" : "etp"),
                "leave 'ep' and 'etp' alone, or take sequences of one length",
                "exchanges of experts between ranks of different 'lengths' are not modelled");
  if (mesh_context_rings (m) && !flash)
    diag_error (c->diags, mark_of (c, "cp"), "use flash attention, or context: all-gather",
                "a ring of keys and values needs flash attention");
  if (c->shape->sliding_window > 0 && mesh_context_rings (m))
    diag_error (c->diags, option_mark (c->marks, "context", "cp", NULL),
                "take 'context: all-gather'", "a ring of keys and values takes no sliding windows");
  if (m->cp > 1 && m->context != CONTEXT_ULYSSES && c->shape->sliding_window > 0
      && c->training->document_length > 0)
    diag_error (c->diags, mark_of (c, "cp"), "leave 'cp' at 1, or 'document_length' away",
                "context ranks of packed documents in sliding windows are not modelled");
}

/* Fewest micro-steps that a schedule is made for. */
static gint64
min_micro_steps (PipelineKind pipeline, gint64 pp)
{
  switch (pipeline)
    {
    case PIPELINE_ZB_H1:
      return pp;
    case PIPELINE_ZB_H2:
      return 2 * pp - 1;
    case PIPELINE_ZBV:
    case PIPELINE_DUALPIPE:
      return 2 * pp;
    default:
      return 1;
    }
}

static const char *const pipeline_names[] = {
  [PIPELINE_AUTO] = "auto",   [PIPELINE_GPIPE] = "gpipe",
  [PIPELINE_1F1B] = "1f1b",   [PIPELINE_INTERLEAVED] = "interleaved",
  [PIPELINE_ZB_H1] = "zb-h1", [PIPELINE_ZB_H2] = "zb-h2",
  [PIPELINE_ZBV] = "zbv",     [PIPELINE_DUALPIPE] = "dualpipe",
};

static void
check_chunks (const Check *c, PipelineKind pipeline)
{
  const MeshOptions *m = &c->mesh;

  if (m->vp > 1 && m->pp > 1 && pipeline != PIPELINE_INTERLEAVED)
    diag_error (c->diags, mark_of (c, "vp"), "only 'interleaved' has chunks of its own number",
                "'vp' of " D " has no meaning for pipeline '%s'", m->vp, pipeline_names[pipeline]);
  if (m->vp == 1 && m->pp > 1 && pipeline == PIPELINE_INTERLEAVED)
    diag_error (c->diags, mark_of (c, "pipeline"), "give 'vp' above 1, or pipeline: 1f1b",
                "an interleaved pipeline needs at least two chunks a stage");
}

static void
check_layers (const Check *c, gint64 n)
{
  const MeshOptions *m = &c->mesh;
  g_autofree char   *why = NULL;
  g_autoptr (GArray) list = stage_layers_parse (m->layers, &why);

  if (list == NULL)
    diag_error (c->diags, mark_of (c, "layers"),
                "blocks of each chunk in the model's order, such as '7, 14 x 8, 7'", "'layers': %s",
                why);
  else if (m->pp > 1)
    {
      const SourceMark *mark = mark_of (c, "layers");
      gint64            sum = 0;

      /* What `layers` lists has to be this model in N chunks. */
      for (guint i = 0; i < list->len; i++)
        sum += g_array_index (list, guint, i);
      if (list->len != n)
        diag_error (c->diags, mark, "one number a chunk: 'pp' x 'vp' of them",
                    "'layers' lists %u chunks, the pipeline has " D, list->len, n);
      if (sum != c->shape->n_layers)
        diag_error (c->diags, mark, "embedding and head do not count",
                    "'layers' adds up to " D " blocks, the model has " D, sum, c->shape->n_layers);
      for (guint i = 1; i + 1 < list->len; i++)
        if (g_array_index (list, guint, i) == 0)
          diag_error (c->diags, mark,
                      "only the first chunk, which has the embedding, and the last, which has the "
                      "head, may have 0 blocks",
                      "chunk %u of 'layers' has no work", i);
    }
  if (m->cut != MESH_CUT_EVEN)
    diag_error (c->diags, mark_of (c, "cut"), "leave one of them out",
                "'cut' and 'layers' both say where stages end");
}

/* Groups of micro-batches; the last one may be smaller, but keeps all stages at work as well. */
static void
check_groups (const Check *c)
{
  const MeshOptions *m = &c->mesh;
  const SourceMark  *mark = mark_of (c, "micro_batch_group");
  gint64             n = m->micro_batch_group, steps = c->training->grad_accum;

  if (n == 0)
    check_divides (c, "pp", m->pp, "'grad_accum'", steps,
                   "an interleaved pipeline takes micro-steps in rounds of 'pp', or of "
                   "'micro_batch_group'");
  else if (n > steps)
    diag_error (c->diags, mark, "give 'grad_accum' as many, or a smaller group",
                "'micro_batch_group' of " D " is above 'grad_accum' of " D, n, steps);
  else if (n < m->pp && n < steps)
    diag_error (c->diags, mark, "give 'pp' or more; fewer only as the one group of a step",
                "'micro_batch_group' of " D " leaves " D " stages without work", n, m->pp);
  else if (steps % n > 0 && steps % n < m->pp)
    diag_error (c->diags, mark, "the last group is 'grad_accum' modulo 'micro_batch_group'",
                "'micro_batch_group' of " D " leaves a last group of " D
                " micro-steps, fewer than " D " stages",
                n, steps % n, m->pp);
}

static void
check_pipeline (const Check *c)
{
  const MeshOptions *m = &c->mesh;
  PipelineKind       pipeline = mesh_pipeline (m);
  gint64             steps = c->training->grad_accum, least = min_micro_steps (pipeline, m->pp);

  gint64 chunks = m->pp > 1 && pipeline == PIPELINE_INTERLEAVED ? m->pp * m->vp
                                                                : (gint64) mesh_model_chunks (m);

  check_chunks (c, pipeline);
  if (m->layers != NULL)
    check_layers (c, chunks);
  if (m->pp == 1)
    return;
  if (m->layers == NULL
      && c->shape->n_layers
             < (pipeline == PIPELINE_INTERLEAVED && m->cut == MESH_CUT_EVEN ? chunks - 2 : chunks))
    diag_error (c->diags, mark_of (c, "pp"), "every chunk needs a block",
                D " blocks are too few for " D " chunks of a pipeline of " D " stages",
                c->shape->n_layers, chunks, m->pp);
  if (pipeline == PIPELINE_INTERLEAVED)
    check_groups (c);
  if (m->moe_overlap && pipeline == PIPELINE_INTERLEAVED && m->p2p != MESH_P2P_DIRECT)
    diag_error (c->diags, mark_of (c, "moe_overlap"), "take p2p: direct",
                "'moe_overlap' goes with messages on streams of their own");
  if (pipeline == PIPELINE_DUALPIPE && m->pp % 2 != 0)
    diag_error (c->diags, mark_of (c, "pp"), "two stages share a place from both ends",
                "pipeline 'dualpipe' needs an even 'pp', got " D, m->pp);
  if (pipeline == PIPELINE_DUALPIPE && steps % 2 != 0)
    diag_error (c->diags, mark_of (c, "pipeline"), "half of the micro-steps go each way",
                "pipeline 'dualpipe' needs an even 'grad_accum', got " D, steps);
  if (steps < least)
    {
      g_autofree char *hint = g_strdup_printf ("give 'grad_accum' of at least " D, least);

      diag_error (c->diags, mark_of (c, "pipeline"), hint,
                  "pipeline '%s' of " D " stages needs more micro-steps than " D,
                  pipeline_names[pipeline], m->pp, steps);
    }
}

gboolean
mesh_check (const ModelShape *shape, const TrainingOptions *training, const MeshOptions *mesh,
            guint world, const OptionMarks *marks, DiagList *diags)
{
  guint before = diag_list_n_errors (diags);
  Check c = { .shape = shape, .training = training, .mesh = *mesh, .marks = marks, .diags = diags };

  mesh_normalise (&c.mesh);
  c.mesh.sp = mesh->sp;
  check_world (&c, world);
  check_widths (&c);
  check_mixers (&c);
  check_rows (&c);
  check_context_heads (&c);
  check_adapters (&c);
  check_slices (&c);
  check_experts (&c);
  check_dispatch (&c);
  check_sequence (&c);
  check_shared_overlap (&c);
  check_pipeline (&c);
  privacy_check_mesh (training, &c.mesh, marks, diags);
  router_check_mesh (shape, training, &c.mesh, marks, diags);
  return diag_list_n_errors (diags) == before;
}

gboolean
mesh_check_batch (const TrainingOptions *training, const MeshOptions *mesh,
                  const OptionMarks *marks, DiagList *diags)
{
  guint before = diag_list_n_errors (diags);
  Check c = { .training = training, .mesh = *mesh, .marks = marks, .diags = diags };

  mesh_normalise (&c.mesh);
  if (c.mesh.sp == 1)
    check_divides (&c, "tp", c.mesh.tp, "a micro-batch's tokens / 'cp'",
                   (gint64) training_tokens (training) / c.mesh.cp,
                   "sequence parallelism divides them: pad the last sequence");
  return diag_list_n_errors (diags) == before;
}
