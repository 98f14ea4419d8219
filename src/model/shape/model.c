#include "model/shape/family-private.h"

#include "base/config/suggest.h"
#include "base/file/layout.h"
#include "model/family/model-names.h"

typedef struct
{
  const char   *arch;
  ModelNorm     norm;
  ModelPosition position;
  gboolean      gated, biases, tied, embedding_norm;
} ArchSpec;

/* MPT and BLOOM: the shapes of the released checkpoints (MPT without any bias, norms included). */
static const ArchSpec archs[] = {
  { "gpt", MODEL_NORM_LAYER, MODEL_POSITION_LEARNED, FALSE, TRUE, TRUE, FALSE },
  { "llama", MODEL_NORM_RMS, MODEL_POSITION_ROTARY, TRUE, FALSE, FALSE, FALSE },
  { "mpt", MODEL_NORM_LAYER_UNBIASED, MODEL_POSITION_ALIBI, FALSE, FALSE, TRUE, FALSE },
  { "bloom", MODEL_NORM_LAYER, MODEL_POSITION_ALIBI, FALSE, TRUE, TRUE, TRUE },
};
static const char *const arch_names[] = { "gpt", "llama", "mpt", "bloom", NULL };

/* ---- resolving options ---- */

static const ArchSpec *
find_arch (const char *name, const OptionMarks *marks, DiagList *diags)
{
  gint index = name_index (name, arch_names);
  if (index >= 0)
    return &archs[index];

  g_autofree char *hint = suggest_hint (name, arch_names);
  diag_error (diags, option_mark (marks, "arch", NULL), hint, "unknown architecture '%s'", name);
  return NULL;
}

/* Names the first of the options that only an `arch` may have: a file may be cut or deepened. */
static const char *
find_shape_option (const ModelOptions *options)
{
  for (const OptionSpec *spec = model_options; spec->key != NULL; spec++)
    if (spec->type == OPTION_INT && spec->offset != G_STRUCT_OFFSET (ModelOptions, n_layers)
        && spec->offset != G_STRUCT_OFFSET (ModelOptions, sliding_window)
        && spec->offset != G_STRUCT_OFFSET (ModelOptions, sliding_period)
        && G_STRUCT_MEMBER (gint64, options, spec->offset) != 0)
      return spec->key;
  return NULL;
}

static void
require_option (gint64 value, const char *key, const OptionMarks *marks, DiagList *diags)
{
  if (value == 0)
    diag_error (diags, option_mark (marks, "arch", NULL), NULL,
                "'%s' is missing: a model given by 'arch' needs it", key);
}

static void
check_experts (const ModelOptions *options, const OptionMarks *marks, DiagList *diags)
{
  static const char *const of_experts[] = { "n_experts_per_token", "d_expert", "n_shared_experts",
                                            "first_dense_layers" };
  const gint64             values[] = { options->n_experts_per_token, options->d_expert,
                                        options->n_shared_experts, options->first_dense_layers };

  if (options->n_experts > 0)
    require_option (options->n_experts_per_token, "n_experts_per_token", marks, diags);
  for (gsize i = 0; options->n_experts == 0 && i < G_N_ELEMENTS (values); i++)
    if (values[i] > 0)
      diag_error (diags, option_mark (marks, of_experts[i], NULL), "a dense model leaves it out",
                  "'%s' is given, but not 'n_experts'", of_experts[i]);
  if (options->n_experts > 0 && options->n_layers > 0
      && options->first_dense_layers >= options->n_layers)
    diag_error (diags, option_mark (marks, "first_dense_layers", NULL),
                "a model without experts leaves 'n_experts' out",
                "%" G_GINT64_FORMAT " leading dense layers of %" G_GINT64_FORMAT
                " leave none with experts",
                options->first_dense_layers, options->n_layers);
}

/* Latent attention: what it needs, and what needs it. */
static void
check_latents (const ModelOptions *options, const OptionMarks *marks, DiagList *diags)
{
  static const char *const of_latents[] = { "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
                                            "q_lora_rank" };
  const gint64             values[] = { options->qk_nope_head_dim, options->qk_rope_head_dim,
                                        options->v_head_dim, options->q_lora_rank };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    if (options->kv_lora_rank == 0 && values[i] > 0)
      diag_error (diags, option_mark (marks, of_latents[i], NULL),
                  "latent attention has 'kv_lora_rank', other attention 'head_dim'",
                  "'%s' is given, but not 'kv_lora_rank'", of_latents[i]);
    else if (options->kv_lora_rank > 0 && values[i] == 0 && i < 3)
      diag_error (diags, option_mark (marks, "kv_lora_rank", NULL), NULL,
                  "'%s' is missing: latent attention needs it", of_latents[i]);
}

static void
fill_arch (const ModelOptions *options, const ArchSpec *arch, ModelShape *shape)
{
  gboolean learned =
      arch->position == MODEL_POSITION_LEARNED
      || (arch->position == MODEL_POSITION_ALIBI && !arch->biases && options->max_positions > 0);

  *shape = (ModelShape){
    .name = g_strdup (options->name != NULL ? options->name : options->arch),
    .family = g_strdup (arch->arch),
    .n_layers = options->n_layers,
    .d_model = options->d_model,
    .n_heads = options->n_heads,
    .n_kv_heads = options->n_kv_heads > 0 ? options->n_kv_heads : options->n_heads,
    .head_dim = options->head_dim > 0 ? options->head_dim : options->d_model / options->n_heads,
    .d_ff = options->d_ff > 0 ? options->d_ff : 4 * options->d_model,
    .vocab = options->vocab,
    .max_positions = learned ? options->max_positions : 0,
    .norm = arch->norm,
    .position = learned ? MODEL_POSITION_LEARNED : arch->position,
    .gated_mlp = arch->gated,
    .attention_bias = arch->biases,
    .output_bias = arch->biases,
    .mlp_bias = arch->biases,
    .tied_embeddings = arch->tied,
    .embedding_norm = arch->embedding_norm,
    .n_experts = options->n_experts,
    .n_experts_per_token = options->n_experts_per_token,
    .n_shared_experts = options->n_shared_experts,
    .first_dense_layers = options->first_dense_layers,
    .moe_period = 1,
    .q_lora_rank = options->q_lora_rank,
    .kv_lora_rank = options->kv_lora_rank,
    .qk_nope_head_dim = options->qk_nope_head_dim,
    .qk_rope_head_dim = options->qk_rope_head_dim,
    .v_head_dim = options->v_head_dim,
  };
  if (options->kv_lora_rank > 0)
    shape->head_dim = options->v_head_dim; /* as files have it */
  if (options->n_experts > 0)
    shape->d_expert = options->d_expert > 0 ? options->d_expert : shape->d_ff;
}

static gboolean
takes_table (const ModelOptions *options, const ArchSpec *arch)
{
  if (options->positions > 0)
    return options->positions - 1 == MODEL_POSITION_LEARNED;
  return arch->position != MODEL_POSITION_ROTARY && !arch->embedding_norm;
}

static gboolean
resolve_arch (const ModelOptions *options, ModelShape *shape, const OptionMarks *marks,
              DiagList *diags)
{
  guint           before = diag_list_n_errors (diags);
  const ArchSpec *arch = find_arch (options->arch, marks, diags);

  require_option (options->n_layers, "n_layers", marks, diags);
  require_option (options->d_model, "d_model", marks, diags);
  require_option (options->n_heads, "n_heads", marks, diags);
  require_option (options->vocab, "vocab", marks, diags);
  if (arch != NULL && arch->gated)
    require_option (options->d_ff, "d_ff", marks, diags);
  check_experts (options, marks, diags);
  check_latents (options, marks, diags);
  if (options->head_dim == 0 && options->kv_lora_rank == 0 && options->n_heads > 0
      && options->d_model % options->n_heads != 0)
    diag_error (diags, option_mark (marks, "n_heads", NULL),
                "give 'head_dim' when heads are not a share of the width",
                "%" G_GINT64_FORMAT " heads do not divide the width %" G_GINT64_FORMAT,
                options->n_heads, options->d_model);
  if (options->max_positions > 0 && arch != NULL && !takes_table (options, arch))
    diag_error (diags, option_mark (marks, "max_positions", NULL), NULL,
                "'max_positions' has no meaning for '%s', which has no position table", arch->arch);
  if (diag_list_n_errors (diags) != before)
    return FALSE;
  fill_arch (options, arch, shape);
  return model_shape_check (shape, marks, diags);
}

/* The file that a scenario beside BASE_DIR means by CONFIG. */
typedef struct
{
  const char *config, *base_dir;
} ConfigName;

/* Its path, or NULL. */
static gpointer
find_file (gconstpointer user, G_GNUC_UNUSED DiagList *diags)
{
  const ConfigName *name = user;
  const char       *config = name->config, *base_dir = name->base_dir;
  g_autofree char  *beside = base_dir != NULL && !g_path_is_absolute (config)
                                 ? g_build_filename (base_dir, config, NULL)
                                 : g_strdup (config);
  if (g_path_is_absolute (config) || g_str_has_suffix (config, ".json")
      || g_file_test (beside, G_FILE_TEST_IS_REGULAR))
    return g_steal_pointer (&beside);
  if (g_file_test (beside, G_FILE_TEST_IS_DIR)) /* a checkpoint's */
    {
      g_autofree char *within = g_build_filename (beside, "config.json", NULL);

      if (g_file_test (within, G_FILE_TEST_IS_REGULAR))
        return g_steal_pointer (&within);
    }

  g_auto (GStrv) names = model_list_shipped ();
  const char    *found = model_names_find (config, (const char *const *) names);

  if (found == NULL)
    return NULL;

  g_autofree char *relative = g_strdup_printf ("workloads/models/%s.json", found);

  return layout_data_file (relative);
}

/* The same or a diagnostic. Newly allocated. */
static char *
find_config (const ConfigName *name, InputFiles *files, const OptionMarks *marks, DiagList *diags)
{
  g_autofree char *key = g_strdup_printf (
      "model file %s: %s", name->base_dir != NULL ? name->base_dir : "", name->config);
  char *file = files != NULL
                   ? g_strdup (input_files_get (files, key, find_file, name, g_free, diags))
                   : find_file (name, diags);

  if (file != NULL)
    return file;

  g_auto (GStrv)   names = model_list_shipped ();
  const char      *slash = strrchr (name->config, '/');
  g_autofree char *lower = g_ascii_strdown (slash != NULL ? slash + 1 : name->config, -1);
  g_autofree char *hint = suggest_hint (lower, (const char *const *) names);
  diag_error (diags, option_mark (marks, "config", NULL), hint,
              "no model '%s': neither a file nor a shipped model", name->config);
  return NULL;
}

static void
free_shape (gpointer data)
{
  model_shape_clear (data);
  g_free (data);
}

static gpointer
read_shape (gconstpointer file, DiagList *diags)
{
  ModelShape *shape = g_new0 (ModelShape, 1);

  if (model_import (file, shape, diags))
    return shape;
  free_shape (shape);
  return NULL;
}

static gboolean
import_shared (InputFiles *files, const char *file, ModelShape *shape, DiagList *diags)
{
  g_autofree char  *key = g_strdup_printf ("model %s", file);
  const ModelShape *shared;

  if (files == NULL)
    return model_import (file, shape, diags);
  shared = input_files_get (files, key, read_shape, file, free_shape, diags);
  if (shared != NULL)
    model_shape_copy (shared, shape);
  return shared != NULL;
}

/* The file's model with another number of blocks, which its name says. */
static gboolean
change_depth (gint64 n_layers, ModelShape *shape, const OptionMarks *marks, DiagList *diags)
{
  g_autofree char *name = shape->name;

  if (n_layers == 0 || n_layers == shape->n_layers)
    {
      g_steal_pointer (&name);
      return TRUE;
    }
  shape->n_layers = n_layers;
  shape->name = g_strdup_printf ("%s, %" G_GINT64_FORMAT " layers", name, n_layers);
  return model_shape_check (shape, marks, diags);
}

static gboolean
resolve_config (const ModelOptions *options, const char *base_dir, InputFiles *files,
                ModelShape *shape, const OptionMarks *marks, DiagList *diags)
{
  const ConfigName name = { options->config, base_dir };
  const char      *extra = find_shape_option (options);

  if (extra != NULL)
    {
      diag_error (diags, option_mark (marks, extra, NULL), "the shape comes from the file",
                  "'%s' cannot be given beside 'config'", extra);
      return FALSE;
    }

  g_autofree char *file = find_config (&name, files, marks, diags);
  if (file == NULL || !import_shared (files, file, shape, diags)
      || !change_depth (options->n_layers, shape, marks, diags))
    return FALSE;
  if (options->name != NULL)
    {
      g_free (shape->name);
      shape->name = g_strdup (options->name);
    }
  return TRUE;
}

static gboolean
check_variant (const ModelOptions *options, const ModelShape *shape, const OptionMarks *marks,
               DiagList *diags)
{
  guint before = diag_list_n_errors (diags);

  if (options->activation != MODEL_ACTIVATION_AUTO && shape->n_experts > 0)
    diag_error (diags, option_mark (marks, "activation", NULL), "leave it at auto",
                "'activation' of experts is that of the file or the architecture");
  if (options->block > 1 + MODEL_BLOCK_SEQUENTIAL
      && (shape->n_experts > 0 || shape->kv_lora_rank > 0 || shape->norms != MODEL_NORMS_BEFORE))
    diag_error (diags, option_mark (marks, "block", NULL), "take block: sequential",
                "parallel blocks with %s are not modelled",
                shape->n_experts > 0      ? "experts"
                : shape->kv_lora_rank > 0 ? "latent attention"
                                          : "norms behind a branch or the residual");
  if (options->positions > 0 && shape->kv_lora_rank > 0)
    diag_error (diags, option_mark (marks, "positions", NULL), "leave it at auto",
                "latent attention has rotary embeddings of its own");
  if (options->qk_norm > 0 && shape->kv_lora_rank > 0)
    diag_error (diags, option_mark (marks, "qk_norm", NULL), "leave it at auto",
                "latent attention has norms of its latents");
  if (options->router != MODEL_ROUTER_INDIRECT && shape->n_experts == 0)
    diag_error (diags, option_mark (marks, "router", NULL), "a dense model leaves it out",
                "'router' is given, but the model has no experts");
  if (options->router != MODEL_ROUTER_INDIRECT && shape->moe_latent > 0)
    diag_error (diags, option_mark (marks, "router", NULL), "leave it at indirect",
                "keys of experts that work on a projection are not as wide as what is routed");
  if (options->sliding_period > 0 && shape->sliding_window == 0 && options->sliding_window == 0)
    diag_error (diags, option_mark (marks, "sliding_period", NULL), "give 'sliding_window'",
                "'sliding_period' is given, but no window");
  return diag_list_n_errors (diags) == before;
}

/* What OPTIONS say instead of the file or the architecture. */
static gboolean
apply_variant (const ModelOptions *options, ModelShape *shape, const OptionMarks *marks,
               DiagList *diags)
{
  if (!check_variant (options, shape, marks, diags))
    return FALSE;
  if (options->tied_embeddings != MODEL_TIED_AUTO)
    shape->tied_embeddings = options->tied_embeddings == MODEL_TIED_YES;
  if (options->block > 0)
    shape->block = options->block - 1;
  if (options->activation != MODEL_ACTIVATION_AUTO)
    {
      shape->activation = options->activation;
      shape->gated_mlp = options->activation >= MODEL_ACTIVATION_SWIGLU;
    }
  if (options->positions > 0)
    shape->position = (ModelPosition) (options->positions - 1);
  if (shape->position != MODEL_POSITION_LEARNED)
    shape->max_positions = 0;
  else if (options->max_positions > 0)
    shape->max_positions = options->max_positions;
  if (options->biases != MODEL_BIASES_AUTO)
    {
      shape->attention_bias = options->biases != MODEL_BIASES_NONE;
      shape->output_bias = shape->mlp_bias = options->biases == MODEL_BIASES_ALL;
    }
  if (options->qk_norm > 0)
    shape->qk_norm = options->qk_norm - 1;
  if (options->attention_sinks != MODEL_TIED_AUTO)
    shape->attention_sinks = options->attention_sinks == MODEL_TIED_YES;
  shape->router = options->router;
  if (options->norm > 0)
    shape->norm = (ModelNorm) (options->norm - 1);
  if (options->sliding_window > 0)
    {
      shape->sliding_window = options->sliding_window;
      shape->sliding_period = 0;
    }
  if (options->sliding_period > 0)
    shape->sliding_period = options->sliding_period;
  return TRUE;
}

/*
 * Layers that predict further tokens take embeddings of tokens without their positions (Megatron-LM
 * has them with rotary ones or none), and are like the last block, which has to be a whole one.
 */
static const char *
why_no_mtp (const ModelShape *shape)
{
  const ModelLayer last = model_layer (shape, shape->n_layers - 1);

  if (shape->position == MODEL_POSITION_LEARNED || shape->position == MODEL_POSITION_ALIBI)
    return "positions that are not rotary";
  if (shape->norms == MODEL_NORMS_BEHIND || shape->embed_dim > 0 || shape->embedding_norm)
    return "embeddings that are normed or projected, or no norm before the head";
  if (last.mixer == MODEL_MIXER_NONE || last.feed == MODEL_FEED_NONE)
    return "a last block that is half of one";
  return NULL;
}

static gboolean
apply_mtp (const ModelOptions *options, ModelShape *shape, const OptionMarks *marks,
           DiagList *diags)
{
  const SourceMark *mark = option_mark (marks, "mtp", NULL);
  const char       *why = why_no_mtp (shape);
  gint64            n = 0;

  if (options->mtp > MODEL_MTP_NUMBER)
    n = options->mtp - MODEL_MTP_NUMBER;
  else if (options->mtp == MODEL_MTP_ALL)
    n = shape->n_mtp_layers;
  if (options->mtp == MODEL_MTP_ALL && n == 0)
    diag_error (diags, mark, "give their number, such as mtp: 1",
                "'mtp' is true, but '%s' says of no layers that predict further tokens",
                shape->name);
  else if (n > MODEL_MAX_MTP)
    diag_error (diags, mark, NULL,
                "%" G_GINT64_FORMAT " layers that predict further tokens: at most %d are modelled",
                n, MODEL_MAX_MTP);
  else if (n > 0 && why != NULL)
    diag_error (diags, mark, "leave 'mtp' out",
                "layers that predict further tokens are not modelled with %s", why);
  else
    {
      shape->n_mtp = n;
      return TRUE;
    }
  return FALSE;
}

gboolean
model_resolve (const ModelOptions *options, const char *base_dir, InputFiles *files,
               ModelShape *shape, const OptionMarks *marks, DiagList *diags)
{
  gboolean ok;

  *shape = (ModelShape){ 0 };
  if ((options->config != NULL) == (options->arch != NULL))
    {
      diag_error (diags, option_mark (marks, "arch", NULL), NULL,
                  options->arch != NULL ? "a model has either 'config' or 'arch', not both"
                                        : "a model needs 'config' or 'arch'");
      return FALSE;
    }
  ok = options->config != NULL ? resolve_config (options, base_dir, files, shape, marks, diags)
                               : resolve_arch (options, shape, marks, diags);
  ok = ok && apply_variant (options, shape, marks, diags)
       && apply_mtp (options, shape, marks, diags);
  if (!ok)
    model_shape_clear (shape);
  return ok;
}

char **
model_list_shipped (void)
{
  g_autofree char *folder = layout_data_file ("workloads/models");

  return folder_entries (folder, ".json");
}
