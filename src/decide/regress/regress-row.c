/* A scenario's results with all that they were made of. */
#include <math.h>
#include <string.h>

#include "decide/regress/regress.h"
#include "hardware/profile/kernel-release.h"
#include "hardware/profile/library-profile.h"
#include "hardware/profile/profile-words.h"
#include "scenario/software.h"

#define DIGEST_LENGTH 8

/* ---- rows ------------------------------------------------------------------------------------ */

static void
result_clear (gpointer data)
{
  RegressResult *result = data;

  g_free (result->name);
  g_free (result->text);
}

static void
input_clear (gpointer data)
{
  RegressInput *input = data;

  g_free (input->group);
  g_free (input->key);
  g_free (input->value);
}

GArray *
regress_results_new (void)
{
  GArray *results = g_array_new (FALSE, FALSE, sizeof (RegressResult));

  g_array_set_clear_func (results, result_clear);
  return results;
}

RegressRow *
regress_row_new (const char *scenario, const char *program_version)
{
  RegressRow *self = g_new0 (RegressRow, 1);

  self->scenario = g_strdup (scenario);
  self->program_version = g_strdup (program_version);
  self->results = regress_results_new ();
  self->inputs = g_array_new (FALSE, FALSE, sizeof (RegressInput));
  g_array_set_clear_func (self->inputs, input_clear);
  return self;
}

void
regress_row_free (RegressRow *self)
{
  if (self == NULL)
    return;
  g_free (self->scenario);
  g_free (self->program_version);
  g_array_unref (self->results);
  g_array_unref (self->inputs);
  g_free (self);
}

void
regress_row_add_input (RegressRow *self, const char *group, const char *key, const char *value)
{
  const RegressInput input = { g_strdup (group), g_strdup (key), g_strdup (value), FALSE };

  g_array_append_val (self->inputs, input);
}

static gint
compare_results (gconstpointer a, gconstpointer b)
{
  return strcmp (((const RegressResult *) a)->name, ((const RegressResult *) b)->name);
}

static gint
compare_inputs (gconstpointer a, gconstpointer b)
{
  const RegressInput *x = a, *y = b;
  const gint          groups = strcmp (x->group, y->group);

  return groups != 0 ? groups : strcmp (x->key, y->key);
}

void
regress_row_sort (RegressRow *self)
{
  g_array_sort (self->results, compare_results);
  g_array_sort (self->inputs, compare_inputs);
}

const RegressInput *
regress_row_input (const RegressRow *self, const char *group, const char *key)
{
  const RegressInput wanted = { .group = (char *) group, .key = (char *) key };
  guint              at;

  if (!g_array_binary_search (self->inputs, &wanted, compare_inputs, &at))
    return NULL;
  return &g_array_index (self->inputs, RegressInput, at);
}

gboolean
regress_row_has_group (const RegressRow *self, const char *group)
{
  for (guint i = 0; i < self->inputs->len; i++)
    if (g_str_equal (g_array_index (self->inputs, RegressInput, i).group, group))
      return TRUE;
  return FALSE;
}

const RegressResult *
regress_row_result (const RegressRow *self, const char *name)
{
  const RegressResult wanted = { .name = (char *) name };
  guint               at;

  if (!g_array_binary_search (self->results, &wanted, compare_results, &at))
    return NULL;
  return &g_array_index (self->results, RegressResult, at);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static void
add_words (RegressRow *self, const char *group, const GArray *words)
{
  for (guint i = 0; words != NULL && i < words->len; i++)
    {
      const ProfileWord *word = &g_array_index (words, ProfileWord, i);

      regress_row_add_input (self, group, word->key, word->value);
    }
}

/* ID may be NULL. */
static void
add_profile (RegressRow *self, ProfileSet *profiles, const char *kind, const char *id,
             DiagList *diags)
{
  g_autofree char   *group = g_strdup_printf ("%s %s", kind, id);
  g_autoptr (GArray) words = NULL;

  if (id == NULL || regress_row_has_group (self, group))
    return;
  words = profile_set_words (profiles, kind, id, diags);
  add_words (self, group, words);
}

static void
add_cluster_file (RegressRow *self, const ResolvedScenario *resolved, DiagList *diags)
{
  const char        *name = resolved->scenario->cluster.name;
  g_autofree char   *file = name != NULL && strchr (name, '/') == NULL
                                ? profile_set_file (resolved->profiles, "cluster", name)
                                : NULL;
  g_autofree char   *group = g_strdup_printf ("cluster %s", name);
  g_autoptr (GArray) words = NULL;

  if (file == NULL)
    return;
  words = profile_set_cluster_words (resolved->profiles, file, diags);
  add_words (self, group, words);
}

static void
add_profiles (RegressRow *self, const ResolvedScenario *resolved, DiagList *diags)
{
  const Cluster        *cluster = resolved->cluster;
  const char           *release = resolved->scenario->collective.nccl;
  const LibraryProfile *library = cluster_library (cluster, release);
  const TunerProfile   *tuner = cluster_tuner (cluster, release);

  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    {
      const LinkProfile *nic = cluster_nic_profile (cluster, node);
      const GpuProfile  *gpu = cluster_gpu_profile (cluster, cluster_first_gpu (cluster, node));

      if (node > 0
          && cluster_node_profile (cluster, node) == cluster_node_profile (cluster, node - 1))
        continue; /* of the same make */
      add_profile (self, resolved->profiles, "gpu", gpu->id, diags);
      add_profile (self, resolved->profiles, "kernels",
                   gpu->release != NULL ? gpu->release->id : NULL, diags);
      add_profile (self, resolved->profiles, "link", cluster_intra_profile (cluster, node)->id,
                   diags);
      add_profile (self, resolved->profiles, "link", nic != NULL ? nic->id : NULL, diags);
      add_profile (self, resolved->profiles, "node", cluster_node_profile (cluster, node)->id,
                   diags);
    }
  add_profile (self, resolved->profiles, "library", library->id, diags);
  add_profile (self, resolved->profiles, "tuner", tuner != NULL ? tuner->id : NULL, diags);
  add_profile (self, resolved->profiles, "framework",
               resolved->framework != NULL ? resolved->framework->id : NULL, diags);
  add_cluster_file (self, resolved, diags);
}

#define SHAPE(member)                                           \
  {                                                             \
#member, G_STRUCT_OFFSET(ModelShape, member),               \
        sizeof(((ModelShape *) NULL)->member) == sizeof(gint64) \
  }

/* The kinds and widths of blocks that a model lists, in few characters. */
static void
add_blocks (RegressRow *self, const ModelShape *shape)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char    *sum = NULL, *digest = NULL;

  if (shape->layers == NULL)
    return;
  for (gint64 i = 0; i < shape->n_listed; i++)
    {
      const ModelLayer *layer = &shape->layers[i];

      g_string_append_printf (text,
                              "%d %d %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT
                              " %" G_GINT64_FORMAT "\n",
                              (int) layer->mixer, (int) layer->feed, layer->n_heads,
                              layer->n_kv_heads, layer->head_dim, layer->d_ff);
    }
  sum = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text->str, -1);
  digest = g_strndup (sum, DIGEST_LENGTH);
  regress_row_add_input (self, "model", "blocks", digest);
}

/* What of a shape is written down, where it is not 0. */
static const struct
{
  const char *key;
  gsize       offset;
  gboolean    is_wide; /* gint64, else int */
} shape_members[] = {
  SHAPE (n_layers),
  SHAPE (d_model),
  SHAPE (n_heads),
  SHAPE (n_kv_heads),
  SHAPE (head_dim),
  SHAPE (d_ff),
  SHAPE (vocab),
  SHAPE (max_positions),
  SHAPE (embed_dim),
  SHAPE (norm),
  SHAPE (position),
  SHAPE (gated_mlp),
  SHAPE (attention_bias),
  SHAPE (output_bias),
  SHAPE (mlp_bias),
  SHAPE (tied_embeddings),
  SHAPE (qk_norm),
  SHAPE (attention_sinks),
  SHAPE (embedding_norm),
  SHAPE (norms),
  SHAPE (block),
  SHAPE (activation),
  SHAPE (head_bias),
  SHAPE (value_norm),
  SHAPE (head_gate),
  SHAPE (window_is_chunk),
  SHAPE (keys_are_values),
  SHAPE (embedding_scale),
  SHAPE (residual_scale),
  SHAPE (logit_scale),
  SHAPE (logit_softcap),
  SHAPE (sliding_window),
  SHAPE (sliding_period),
  SHAPE (n_experts),
  SHAPE (n_experts_per_token),
  SHAPE (d_expert),
  SHAPE (n_shared_experts),
  SHAPE (d_shared),
  SHAPE (shared_gate),
  SHAPE (beside),
  SHAPE (first_dense_layers),
  SHAPE (moe_period),
  SHAPE (router),
  SHAPE (router_bias),
  SHAPE (router_scales),
  SHAPE (expert_bias),
  SHAPE (q_lora_rank),
  SHAPE (kv_lora_rank),
  SHAPE (qk_nope_head_dim),
  SHAPE (qk_rope_head_dim),
  SHAPE (v_head_dim),
  SHAPE (ssm_heads),
  SHAPE (ssm_head_dim),
  SHAPE (ssm_groups),
  SHAPE (ssm_state),
  SHAPE (ssm_chunk),
  SHAPE (ssm_bias),
  SHAPE (linear_key_heads),
  SHAPE (linear_value_heads),
  SHAPE (linear_key_dim),
  SHAPE (linear_value_dim),
  SHAPE (linear_split),
  SHAPE (linear_whole_gate),
  SHAPE (attention_gate),
  SHAPE (moe_latent),
  SHAPE (index_heads),
  SHAPE (index_dim),
  SHAPE (index_topk),
  SHAPE (n_mtp),
  SHAPE (conv_taps),
  SHAPE (conv_bias),
};

static void
add_model (RegressRow *self, const ModelShape *shape)
{
  for (guint i = 0; i < G_N_ELEMENTS (shape_members); i++)
    {
      const gint64     value = shape_members[i].is_wide
                                   ? G_STRUCT_MEMBER (gint64, shape, shape_members[i].offset)
                                   : G_STRUCT_MEMBER (gint, shape, shape_members[i].offset);
      g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, value);

      if (value != 0)
        regress_row_add_input (self, "model", shape_members[i].key, text);
    }
  add_blocks (self, shape);
}

/* The sequences that ranks work on, in few characters. */
static void
add_lengths (RegressRow *self, const SequenceLengths *lengths)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree char      *digest = NULL;
  LengthsTable          table;

  if (lengths == NULL)
    return;
  table = sequence_lengths_table (lengths);
  g_checksum_update (sum, (const guchar *) table.table,
                     (gssize) ((gsize) table.n_ranks * table.width * sizeof (guint32)));
  if (table.barriers != NULL)
    g_checksum_update (sum, table.barriers, (gssize) ((gsize) table.n_ranks * table.width));
  for (guint b = 0; b < sequence_lengths_n_batches (lengths); b++)
    {
      const GArray *batch = sequence_lengths_batch (lengths, b);

      g_checksum_update (sum, (const guchar *) batch->data,
                         (gssize) (batch->len * sizeof (gint64)));
    }
  digest = g_strndup (g_checksum_get_string (sum), DIGEST_LENGTH);
  regress_row_add_input (self, "lengths", "contents", digest);
}

/* ---- from a prediction ----------------------------------------------------------------------- */

RegressRow *
regress_row_read (const Scenario *scenario, const Prediction *prediction,
                  const PredictionInputs *inputs, RegressRead read)
{
  const ResolvedScenario *resolved = inputs->resolved;
  g_autoptr (DiagList)    said = diag_list_new (); /* by the prediction */
  g_autoptr (Scenario)    in_force = scenario_in_force (scenario, inputs->profiles, said);
  g_autoptr (GArray)      settings = NULL;
  RegressRow             *self = regress_row_new (scenario->name, layout_program_version ());

  g_assert (in_force != NULL);
  g_array_unref (self->results);
  self->results = read (prediction);
  settings = scenario_settings (in_force);
  for (guint i = 0; i < settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (settings, ScenarioSetting, i);
      g_autofree char       *key = g_strdup_printf ("%s.%s", setting->section, setting->spec->key);

      regress_row_add_input (self, "options", key, setting->value);
      g_array_index (self->inputs, RegressInput, self->inputs->len - 1).is_default =
          g_strcmp0 (setting->spec->fallback, setting->value) == 0;
    }
  add_profiles (self, resolved, said);
  add_model (self, workload_shape (resolved->workload));
  add_lengths (self, resolved->lengths);
  regress_row_sort (self);
  return self;
}

RegressRow *
regress_row_predict (const Scenario *scenario, const PredictOptions *options, RegressRead read,
                     DiagList *diags, GError **error)
{
  g_auto (PredictionInputs) inputs = { 0 };
  g_autoptr (Prediction)    prediction =
      predict_with_inputs (scenario, options, FALSE, &inputs, diags, error);

  return prediction != NULL ? regress_row_read (scenario, prediction, &inputs, read) : NULL;
}
