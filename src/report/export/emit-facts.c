#include "report/export/emit-facts.h"

#include <string.h>

#include "model/mesh/mesh-order.h"
#include "strategy/shards/group.h"

static void
setting_clear (gpointer data)
{
  EmitSetting *self = data;

  g_free (self->name);
  g_free (self->value);
}

/* Where the option KEY of SECTION ("strategy.inner") was set. */
static const SourceMark *
find_mark (const Scenario *scenario, const char *section, const char *key)
{
  const OptionSpec     *table = scenario_section_table (section);
  const StrategyConfig *config = scenario->strategy;

  if (table != NULL)
    return option_mark (scenario_marks (scenario, table), key, NULL);
  for (const char *c = strchr (section, '.'); c != NULL && config != NULL; c = strchr (c + 1, '.'))
    config = config->inner;
  if (config == NULL || config->marks.table == NULL)
    return NULL;
  return option_table_find (config->marks.table, key) != NULL
             ? option_mark (&config->marks, key, NULL)
             : &config->marks.section;
}

static void
add_settings (GArray *facts, const Scenario *scenario)
{
  g_autoptr (GArray) settings = scenario_settings (scenario);

  for (guint i = 0; i < settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (settings, ScenarioSetting, i);
      EmitSetting            copy = {
                   .name = g_strdup_printf ("%s.%s", setting->section, setting->spec->key),
                   .value = g_strdup (setting->value),
                   .spec = setting->spec,
                   .mark = find_mark (scenario, setting->section, setting->spec->key),
      };

      g_array_append_val (facts, copy);
    }
}

static void
add_text (GArray *facts, const char *name, const char *value)
{
  EmitSetting fact = { .name = g_strconcat ("fact.", name, NULL), .value = g_strdup (value) };

  g_array_append_val (facts, fact);
}

static void
add_count (GArray *facts, const char *name, gint64 value)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, value);

  add_text (facts, name, text);
}

static void
add_switch (GArray *facts, const char *name, gboolean value)
{
  add_text (facts, name, value ? "true" : "false");
}

/* ---- what follows ---------------------------------------------------------------------------- */

static void
add_model (GArray *facts, const ResolvedScenario *resolved)
{
  static const char *const positions[] = { [MODEL_POSITION_LEARNED] = "learned",
                                           [MODEL_POSITION_ROTARY] = "rotary",
                                           [MODEL_POSITION_ALIBI] = "alibi",
                                           [MODEL_POSITION_NONE] = "none" };
  static const char *const norms[] = { [MODEL_NORM_LAYER] = "layer",
                                       [MODEL_NORM_RMS] = "rms",
                                       [MODEL_NORM_LAYER_UNBIASED] = "layer-unbiased",
                                       [MODEL_NORM_LAYER_PLAIN] = "layer-plain",
                                       [MODEL_NORM_RMS_PLAIN] = "rms-plain" };
  const ModelShape        *shape = workload_shape (resolved->workload);
  const TrainingOptions   *training = workload_training (resolved->workload);
  const struct
  {
    const char *name;
    gint64      value;
  } counts[] = {
    { "n_layers", shape->n_layers },
    { "d_model", shape->d_model },
    { "n_heads", shape->n_heads },
    { "n_kv_heads", shape->n_kv_heads },
    { "head_dim", shape->head_dim },
    { "d_ff", shape->d_ff },
    { "vocab", shape->vocab },
    { "positions", shape->max_positions > 0 ? shape->max_positions : training->seq_len },
    { "n_experts", shape->n_experts },
    { "n_experts_per_token", shape->n_experts_per_token },
    { "d_expert", shape->d_expert },
    { "n_mtp", shape->n_mtp },
  };
  const struct
  {
    const char *name;
    gboolean    value;
  } switches[] = {
    { "grouped_query", shape->n_kv_heads != shape->n_heads },
    { "gated_mlp", shape->gated_mlp },
    { "tied_embeddings", shape->tied_embeddings },
    { "biases", shape->attention_bias || shape->output_bias || shape->mlp_bias },
    { "attention_bias_alone", shape->attention_bias && !shape->output_bias && !shape->mlp_bias },
    { "some_biases", (shape->attention_bias || shape->output_bias || shape->mlp_bias)
                         && !(shape->attention_bias && shape->output_bias && shape->mlp_bias)
                         && !(shape->attention_bias && !shape->output_bias && !shape->mlp_bias) },
    { "odd_ends", shape->embed_dim > 0 || shape->norms != MODEL_NORMS_BEFORE
                      || shape->embedding_norm || shape->head_bias },
    { "odd_block", shape->block != MODEL_BLOCK_SEQUENTIAL || shape->beside != MODEL_BESIDE_NONE
                       || shape->qk_norm > MODEL_QK_NORM_HEAD || shape->value_norm
                       || shape->keys_are_values || shape->head_gate || shape->shared_gate
                       || shape->window_is_chunk || shape->logit_softcap || shape->logit_scale
                       || shape->embedding_scale || shape->residual_scale },
    { "latent_attention", shape->kv_lora_rank > 0 },
    { "hybrid", shape->layers != NULL || shape->attention_gate || shape->moe_latent > 0 },
    { "odd_heads", shape->head_dim * shape->n_heads != shape->d_model },
    { "qk_norm", shape->qk_norm != MODEL_QK_NORM_NONE },
    { "shared_experts", shape->n_shared_experts > 0 || shape->first_dense_layers > 0
                            || (shape->n_experts > 0 && shape->moe_period > 1) },
    { "window", shape->sliding_window > 0 || shape->attention_sinks },
    { "dropout", training_has_dropout (training, shape->family) },
  };

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    add_count (facts, counts[i].name, counts[i].value);
  for (guint i = 0; i < G_N_ELEMENTS (switches); i++)
    add_switch (facts, switches[i].name, switches[i].value);
  add_text (facts, "family", shape->family);
  add_text (facts, "position", positions[shape->position]);
  add_text (facts, "norm", norms[shape->norm]);
}

/* The ranks of the group that option KEY of the strategy names; 0 where there is none. */
static guint
group_size (const GArray *facts, const PlanInput *in, const char *key)
{
  const EmitSetting *setting = emit_facts_find (facts, key);
  ShardGroups        groups;

  return setting != NULL && shard_groups (&in->mesh, setting->value, &groups, NULL)
             ? groups.shard_group.size
             : 0;
}

static void
add_groups (GArray *facts, const ResolvedScenario *resolved, const MeshOptions *mesh)
{
  const PlanInput *in = &resolved->input;
  const guint      all = mesh_all (&in->mesh).size;
  const guint      named = group_size (facts, in, "strategy.shard");
  const guint      shard = named > 0 ? named : all;
  const guint      hpz = group_size (facts, in, "strategy.zero_hpz_partition_size");
  const gint64     cp = MAX (mesh->cp, 1), tp = MAX (mesh->tp, 1), ep = MAX (mesh->ep, 1);

  add_count (facts, "shard", shard);
  add_count (facts, "replicas", all / shard);
  add_count (facts, "dp_shard", MAX (shard / cp, 1));
  add_count (facts, "context_rings", cp / mesh_context_heads (mesh));
  add_switch (facts, "whole_context", shard % cp == 0);
  add_switch (facts, "experts_hold_context", ep % cp == 0 && shard % ep == 0);
  add_switch (facts, "even_sequences",
              workload_training (resolved->workload)->seq_len % (2 * cp * tp) == 0);
  if (hpz > 0)
    add_count (facts, "hpz", hpz);
  if (in->mesh.ranks_per_node > 0)
    {
      add_switch (facts, "shard_is_node",
                  shard == in->mesh.ranks_per_node && mesh_tensor_ranks (mesh) == 1
                      && mesh->pp == 1);
    }
}

/* How ranks are counted; layers of a chunk, where all have as many. */
static void
add_chunks (GArray *facts, const ResolvedScenario *resolved, const MeshOptions *mesh)
{
  static const char *const names[] = {
    [PIPELINE_GPIPE] = "gpipe",
    [PIPELINE_1F1B] = "1f1b",
    [PIPELINE_INTERLEAVED] = "interleaved",
    [PIPELINE_ZB_H1] = "zb-h1",
    [PIPELINE_ZB_H2] = "zb-h2",
    [PIPELINE_ZBV] = "zbv",
    [PIPELINE_DUALPIPE] = "dualpipe",
  };
  static const char *const orders[] = { [MESH_ORDER_STAGES_LAST] = "stages-last",
                                        [MESH_ORDER_DATA_LAST] = "data-last",
                                        [MESH_ORDER_OTHER] = "other" };
  const gint64             n_layers = workload_shape (resolved->workload)->n_layers;
  const guint              n = mesh_model_chunks (mesh);
  const gboolean           even =
      n_layers % n == 0 && (n == 1 || (mesh->cut == MESH_CUT_EVEN && mesh->layers == NULL));

  add_text (facts, "order", orders[mesh_order_kind (mesh, cluster_n_gpus (resolved->cluster))]);
  add_text (facts, "pipeline", mesh->pp > 1 ? names[mesh_pipeline (mesh)] : "none");
  add_switch (facts, "short_group",
              mesh->micro_batch_group > 0 && mesh->micro_batch_group < mesh->pp);
  add_switch (facts, "even_chunks", even);
  if (even)
    add_count (facts, "chunk_layers", n_layers / n);
}

/* Elements of a gradient bucket, where the strategy has an option for its bytes. */
static void
add_bucket (GArray *facts, const TrainingOptions *training)
{
  const EmitSetting *bytes = emit_facts_find (facts, "strategy.bucket_bytes");
  const EmitSetting *dtype = emit_facts_find (facts, "strategy.gradient_dtype");
  guint              width = training_compute_bytes (training);
  double             value;

  if (bytes == NULL || !quantity_parse (QUANTITY_BYTES, bytes->value, &value, NULL))
    return;
  if (dtype != NULL && !g_str_equal (dtype->value, "auto"))
    width = 4;
  add_count (facts, "bucket_elements", (gint64) (value / width));
}

GArray *
emit_facts (const ResolvedScenario *resolved)
{
  GArray                *facts = g_array_new (FALSE, FALSE, sizeof (EmitSetting));
  const TrainingOptions *training = workload_training (resolved->workload);
  const MeshOptions     *mesh = workload_mesh (resolved->workload);
  const gint64           sequences = training->micro_batch * training->grad_accum;

  g_array_set_clear_func (facts, setting_clear);
  add_settings (facts, resolved->scenario);
  add_count (facts, "world", cluster_n_gpus (resolved->cluster));
  add_count (facts, "nodes", cluster_n_nodes (resolved->cluster));
  add_count (facts, "grad_accum", training->grad_accum);
  add_count (facts, "rank_batch", sequences);
  add_count (facts, "global_batch", sequences * resolved->n_data_ranks);
  add_groups (facts, resolved, mesh);
  add_model (facts, resolved);
  add_chunks (facts, resolved, mesh);
  add_bucket (facts, training);
  return facts;
}

const EmitSetting *
emit_facts_find (const GArray *facts, const char *name)
{
  for (guint i = 0; i < facts->len; i++)
    {
      const EmitSetting *setting = &g_array_index (facts, EmitSetting, i);

      if (g_str_equal (setting->name, name))
        return setting;
    }
  return NULL;
}
