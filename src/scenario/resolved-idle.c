/* What options of a scenario's sections need to have an effect; the cluster's know their own. */
#include "base/config/option-needs.h"
#include "hardware/profile/figure-settings.h"
#include "model/layer/fp8.h"
#include "model/optimizer/optimizer.h"
#include "scenario/resolved-private.h"

#define VIEW(about)     ((const ResolvedScenario *) (about))
#define MESH(about)     workload_mesh (VIEW (about)->workload)
#define TRAINING(about) workload_training (VIEW (about)->workload)
#define SHAPE(about)    workload_shape (VIEW (about)->workload)

static gboolean
has_experts (gconstpointer about)
{
  return SHAPE (about)->n_experts > 0;
}

static gboolean
has_several_experts (gconstpointer about)
{
  return SHAPE (about)->n_experts > MESH (about)->ep;
}

static gboolean
has_shared_experts (gconstpointer about)
{
  return has_experts (about) && SHAPE (about)->n_shared_experts > 0;
}

static gboolean
has_gate (gconstpointer about)
{
  return SHAPE (about)->gated_mlp || SHAPE (about)->activation == MODEL_ACTIVATION_SQUARED_RELU
         || has_experts (about);
}

static gboolean
has_rotary (gconstpointer about)
{
  return SHAPE (about)->position == MODEL_POSITION_ROTARY;
}

static gboolean
is_interleaved (gconstpointer about)
{
  return mesh_pipeline (MESH (about)) == PIPELINE_INTERLEAVED;
}

/* Axes of ranks that can be counted one after the other. */
static gboolean
has_two_axes (gconstpointer about)
{
  const MeshOptions *mesh = MESH (about);
  const gint64       model = mesh_replica (mesh);
  const gint64       data = (gint64) cluster_n_gpus (VIEW (about)->cluster) / model;

  return (mesh->tp > 1) + (mesh->tp_rows > 1) + (mesh->cp > 1) + (mesh->pp > 1) + (data > 1) > 1;
}

static gboolean
has_tensor_ranks (gconstpointer about)
{
  return mesh_tensor_ranks (MESH (about)) > 1;
}

static gboolean
recomputes_blocks (gconstpointer about)
{
  for (gint64 block = 0; block < SHAPE (about)->n_layers; block++)
    if (training_block_checkpoint (TRAINING (about), block, 0) == CHECKPOINT_FULL)
      return TRUE;
  return FALSE;
}

static gboolean
repeats_activations (gconstpointer about)
{
  return MESH (about)->tp > 1 && MESH (about)->sp == 0;
}

static gboolean
divides_sequence (gconstpointer about)
{
  return MESH (about)->tp > 1 && MESH (about)->sp == 1;
}

static gboolean
has_optimizer (gconstpointer about)
{
  return TRAINING (about)->optimizer != OPTIMIZER_NONE;
}

static gboolean
has_moments (gconstpointer about)
{
  return optimizer_moments (TRAINING (about)) > 0;
}

static gboolean
updates_wholes (gconstpointer about)
{
  UpdateScope scope = optimizer_scope (TRAINING (about));

  return scope == SCOPE_BLOCK || scope == SCOPE_MATRIX;
}

static gboolean
has_gated_mlp (gconstpointer about)
{
  return SHAPE (about)->gated_mlp;
}

static gboolean
caches_fp8_weights (gconstpointer about)
{
  return fp8_recipe (TRAINING (about)).kept && TRAINING (about)->traits.caches_fp8_weights;
}

static gboolean
has_fp8_products (gconstpointer about)
{
  return TRAINING (about)->fp8_recipe != FP8_NONE;
}

static gboolean
has_second_gpu (gconstpointer about)
{
  return cluster_n_gpus (VIEW (about)->cluster) > 1;
}

static gboolean
has_second_node (gconstpointer about)
{
  return cluster_n_nodes (VIEW (about)->cluster) > 1;
}

static gboolean
has_tuner (gconstpointer about)
{
  const Cluster      *cluster = VIEW (about)->cluster;
  const TunerProfile *tuner = cluster_tuner (cluster, VIEW (about)->scenario->collective.nccl);

  return tuner != NULL && cluster_n_nodes (cluster) >= tuner->nodes_from;
}

static gboolean
has_queue_pairs (gconstpointer about)
{
  return cluster_hashed_qps (VIEW (about)->cluster) > 1;
}

static gboolean
has_lengths (gconstpointer about)
{
  return TRAINING (about)->lengths != NULL;
}

static gboolean
draws_lengths (gconstpointer about)
{
  return training_lengths_drawn (TRAINING (about)) != LENGTHS_N;
}

static gboolean
draws_log_normal (gconstpointer about)
{
  return training_lengths_drawn (TRAINING (about)) == LENGTHS_LOG_NORMAL;
}

static gboolean
has_sites (gconstpointer about)
{
  return VIEW (about)->scenario->cluster.sites != NULL;
}

static const OptionFact facts[] = {
  { "experts", has_experts, "take a model with 'n_experts' above 1" },
  { "several experts a rank", has_several_experts, "take a smaller 'ep'" },
  { "shared experts", has_shared_experts, "give 'n_shared_experts', or a model that has some" },
  { "a gate", has_gate, "take 'model.activation' swiglu, geglu or squared-relu" },
  { "rotary positions", has_rotary, "take 'model.positions' rotary" },
  { "an interleaved pipeline", is_interleaved, "give 'pp' and 'vp' above 1" },
  { "tensor ranks", has_tensor_ranks, "give 'tp' above 1" },
  { "two axes of ranks", has_two_axes, "give 'tp', 'cp' or 'pp' above 1" },
  { "blocks that are recomputed as a whole", recomputes_blocks,
    "set 'activation_checkpointing' to full, selective-layer or layers:K" },
  { "tensor ranks", has_tensor_ranks, "give 'tp' above 1" },
  { "tensor ranks that hold the same activations", repeats_activations,
    "give 'tp' above 1 and leave 'sp' at 0" },
  { "tensor ranks that divide the sequence", divides_sequence, "give 'tp' above 1, and 'sp' 1" },
  { "an optimizer", has_optimizer, "take another 'optimizer' than none" },
  { "moments of an optimizer", has_moments, "take an 'optimizer' with moments, such as adamw" },
  { "an update of tiles or matrices", updates_wholes,
    "take the 'optimizer' muon, shampoo or soap, or adamw-8bit with 'optimizer_tile'" },
  { "a gated MLP", has_gated_mlp, "take a model with one, such as a Llama" },
  { "weights in fp8 that a framework keeps", caches_fp8_weights,
    "give 'fp8_recipe', and a 'framework' on Transformer Engine" },
  { "products in fp8 or fp4", has_fp8_products, "give 'fp8_recipe'" },
  { "a second GPU", has_second_gpu, "take more GPUs" },
  { "a second node", has_second_node, "take more nodes" },
  { "a plug-in of the network", has_tuner, "take a network that has one" },
  { "several queue pairs", has_queue_pairs, "give 'cluster.qps' above 1 and the routing 'ecmp'" },
  { "lengths that differ", has_lengths, "give 'lengths'" },
  { "lengths that are drawn", draws_lengths, "name a distribution with 'lengths'" },
  { "a log-normal distribution of lengths", draws_log_normal, "set 'lengths' to log-normal" },
  { "sites", has_sites, "give 'cluster.sites', the matrix of their links" },
  { 0 },
};

/* Whose needs the facts above tell; the cluster and the strategies have their own. */
static const OptionSpec *const tables[] = { model_options,  training_options,   mesh_options,
                                            memory_options, collective_options, replay_options };

gboolean
resolved_runs_framework (const ResolvedScenario *self, const char *name)
{
  const char      *used = self->framework != NULL ? self->framework->id : NULL, *kind, *key;
  g_autofree char *id = NULL;

  return !hardware_figure_split (name, &kind, &id, &key) || !g_str_equal (kind, "framework")
         || (used != NULL && (id == NULL || g_str_equal (id, used)));
}

void
resolved_warn_idle (const ResolvedScenario *self, DiagList *diags)
{
  const SourceMark *mark =
      option_mark (scenario_marks (self->scenario, cluster_options), "figure", NULL);
  g_autoptr (GArray) figures = figure_settings_list (self->scenario->cluster.figure);
  const char        *used = self->framework != NULL ? self->framework->id : NULL;
  g_autofree char   *hint = used != NULL
                                ? g_strdup_printf ("write 'framework:%s', which is run", used)
                                : g_strdup ("name one with 'framework'");

  for (guint i = 0; i < G_N_ELEMENTS (tables); i++)
    {
      gconstpointer     options = scenario_options (self->scenario, tables[i]);
      const OptionScope scope = { tables[i], options, options, facts, self };

      option_warn_idle (&scope, scenario_marks (self->scenario, tables[i]), diags);
    }
  /* figures of a framework that the scenario does not run on */
  for (guint i = 0; i < figures->len; i++)
    {
      const char *name = g_array_index (figures, HardwareFigure, i).name;

      if (!resolved_runs_framework (self, name))
        option_warn_without (name, used != NULL ? "the framework that it names" : "a framework",
                             hint, mark, diags);
    }
}

gboolean
resolved_is_idle (const ResolvedScenario *self, const OptionSpec *table, const OptionSpec *spec)
{
  gconstpointer     options = scenario_options (self->scenario, table);
  const OptionScope scope = { table, options, options, facts, self };

  return option_is_idle (&scope, spec);
}

GArray *
resolved_settings (const ResolvedScenario *self)
{
  GArray *all = scenario_settings (self->scenario);

  for (guint i = 0; i < all->len; i++)
    {
      ScenarioSetting  *setting = &g_array_index (all, ScenarioSetting, i);
      const OptionSpec *table = scenario_section_table (setting->section);

      for (guint t = 0; t < G_N_ELEMENTS (tables); t++)
        if (tables[t] == table)
          setting->idle = resolved_is_idle (self, table, setting->spec);
    }
  return all;
}
