#include "workload/family-private.h"

#include "base/layout.h"
#include "base/suggest.h"

#define FIELD(member) G_STRUCT_OFFSET (ModelOptions, member)
#define COUNT(name, text)                                                                 \
  {                                                                                       \
    .key = #name, .type = OPTION_INT, .offset = FIELD (name), .optional = TRUE, .min = 1, \
    .max = 1 << 24, .help = text                                                          \
  }

const OptionSpec model_options[] = {
  { .key = "config",
    .type = OPTION_STRING,
    .offset = FIELD (config),
    .optional = TRUE,
    .help = "a Hugging Face config.json, or the name of a shipped model" },
  { .key = "arch",
    .type = OPTION_STRING,
    .offset = FIELD (arch),
    .optional = TRUE,
    .help = "a shape instead of a file: gpt, llama, mpt, bloom" },
  { .key = "name",
    .type = OPTION_STRING,
    .offset = FIELD (name),
    .optional = TRUE,
    .help = "name in reports" },
  COUNT (n_layers, "transformer blocks"),
  COUNT (d_model, "width of the model"),
  COUNT (n_heads, "query heads"),
  COUNT (n_kv_heads, "key and value heads; n_heads when not given"),
  COUNT (head_dim, "width of a head; d_model / n_heads when not given"),
  COUNT (d_ff, "width of the MLP; 4 * d_model when not given, except for llama"),
  COUNT (vocab, "rows of the token embedding"),
  COUNT (
      max_positions,
      "rows of a learned position table; the sequence length when not given (gpt); ALiBi when not "
      "given (mpt)"),
  COUNT (n_experts, "routed experts a layer; dense when not given"),
  COUNT (n_experts_per_token, "experts that a token visits"),
  COUNT (d_expert, "width of an expert; d_ff when not given"),
  { 0 },
};

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

void
model_shape_clear (ModelShape *self)
{
  g_free (self->name);
  g_free (self->family);
  *self = (ModelShape){ 0 };
}

void
model_shape_copy (const ModelShape *source, ModelShape *target)
{
  *target = *source;
  target->name = g_strdup (source->name);
  target->family = g_strdup (source->family);
}

/* ---- consistency ---- */

#define MAX_PARAMETERS 1e15 /* keeps every product of widths within 64 bits */

typedef struct
{
  const char *name;
  gsize       offset;
  gint64      max;
} Bound;

#define BOUND(member, max)                            \
  {                                                   \
#member, G_STRUCT_OFFSET(ModelShape, member), max \
  }

static const Bound positive[] = {
  BOUND (n_layers, 100000),    BOUND (d_model, 1 << 22),  BOUND (n_heads, 1 << 16),
  BOUND (n_kv_heads, 1 << 16), BOUND (head_dim, 1 << 16), BOUND (vocab, 1 << 26),
};

static const Bound positive_moe[] = {
  BOUND (n_experts_per_token, 1 << 16),
  BOUND (d_expert, 1 << 24),
  BOUND (moe_period, 100000),
};

static const Bound positive_mla[] = {
  BOUND (qk_nope_head_dim, 1 << 16),
  BOUND (qk_rope_head_dim, 1 << 16),
  BOUND (v_head_dim, 1 << 16),
};

static const Bound not_negative[] = {
  BOUND (d_ff, 1 << 24),           BOUND (max_positions, 1 << 26),     BOUND (embed_dim, 1 << 24),
  BOUND (sliding_window, 1 << 26), BOUND (sliding_period, 100000),     BOUND (n_experts, 1 << 16),
  BOUND (n_shared_experts, 1024),  BOUND (first_dense_layers, 100000), BOUND (q_lora_rank, 1 << 22),
  BOUND (kv_lora_rank, 1 << 22),   BOUND (n_mtp_layers, 1024),
};

static void
check_bounds (const ModelShape *shape, const Bound *bounds, gsize n, gint64 min,
              const OptionMarks *marks, DiagList *diags)
{
  for (gsize i = 0; i < n; i++)
    {
      gint64 value = G_STRUCT_MEMBER (gint64, shape, bounds[i].offset);

      if (value < min || value > bounds[i].max)
        diag_error (diags, option_mark (marks, bounds[i].name, NULL), NULL,
                    "'%s' is %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT
                    " to %" G_GINT64_FORMAT,
                    bounds[i].name, value, min, bounds[i].max);
    }
}

/*
 * An upper estimate in floating point, so that absurd widths are refused before integers multiply.
 */
static double
estimate_parameters (const ModelShape *shape)
{
  double h = (double) shape->d_model, heads = (double) shape->n_heads;
  double wide = MAX ((double) model_qk_dim (shape), (double) model_value_dim (shape)) * heads;
  double ranks = (double) shape->q_lora_rank + (double) shape->kv_lora_rank;
  double attention = (4 * h + 3 * ranks) * (wide + h);
  double mlp = 3 * h * (double) shape->d_ff;
  double experts =
      3 * h * (double) shape->d_expert * (double) (shape->n_experts + shape->n_shared_experts);

  return (double) shape->n_layers * (attention + mlp + experts)
         + 2 * h
               * ((double) shape->vocab + (double) shape->max_positions
                  + (double) shape->embed_dim);
}

static void
check_relations (const ModelShape *shape, const OptionMarks *marks, DiagList *diags)
{
  if (shape->n_heads % shape->n_kv_heads != 0)
    diag_error (diags, option_mark (marks, "n_kv_heads", NULL),
                "every key head serves the same number of query heads",
                "%" G_GINT64_FORMAT " heads do not divide into %" G_GINT64_FORMAT
                " key-value heads",
                shape->n_heads, shape->n_kv_heads);
  if (shape->n_experts_per_token > shape->n_experts)
    diag_error (diags, option_mark (marks, "n_experts_per_token", NULL), NULL,
                "%" G_GINT64_FORMAT " experts a token, but there are %" G_GINT64_FORMAT,
                shape->n_experts_per_token, shape->n_experts);
  if (shape->d_ff == 0
      && (shape->n_experts == 0 || shape->first_dense_layers > 0 || shape->moe_period > 1))
    diag_error (diags, option_mark (marks, "n_experts", NULL), NULL,
                "'d_ff' is needed for the dense layers");
  if (estimate_parameters (shape) > MAX_PARAMETERS)
    diag_error (diags, option_mark (marks, "d_model", NULL), NULL,
                "the model has more than 1e15 parameters");
}

gboolean
model_shape_check (const ModelShape *shape, const OptionMarks *marks, DiagList *diags)
{
  guint before = diag_list_n_errors (diags);

  check_bounds (shape, positive, G_N_ELEMENTS (positive), 1, marks, diags);
  check_bounds (shape, not_negative, G_N_ELEMENTS (not_negative), 0, marks, diags);
  if (shape->n_experts > 0)
    check_bounds (shape, positive_moe, G_N_ELEMENTS (positive_moe), 1, marks, diags);
  if (shape->kv_lora_rank > 0)
    check_bounds (shape, positive_mla, G_N_ELEMENTS (positive_mla), 1, marks, diags);
  if (diag_list_n_errors (diags) == before)
    check_relations (shape, marks, diags);
  return diag_list_n_errors (diags) == before;
}

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

/* Names the first of the options that only an `arch` may have. */
static const char *
find_shape_option (const ModelOptions *options)
{
  for (const OptionSpec *spec = model_options; spec->key != NULL; spec++)
    if (spec->type == OPTION_INT && G_STRUCT_MEMBER (gint64, options, spec->offset) != 0)
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
    .moe_period = 1,
  };
  if (options->n_experts > 0)
    shape->d_expert = options->d_expert > 0 ? options->d_expert : shape->d_ff;
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
  if (options->n_experts > 0)
    require_option (options->n_experts_per_token, "n_experts_per_token", marks, diags);
  else if (options->n_experts_per_token > 0 || options->d_expert > 0)
    diag_error (diags, option_mark (marks, "n_experts_per_token", "d_expert", NULL), NULL,
                "a model with experts needs 'n_experts'");
  if (options->head_dim == 0 && options->n_heads > 0 && options->d_model % options->n_heads != 0)
    diag_error (diags, option_mark (marks, "n_heads", NULL),
                "give 'head_dim' when heads are not a share of the width",
                "%" G_GINT64_FORMAT " heads do not divide the width %" G_GINT64_FORMAT,
                options->n_heads, options->d_model);
  if (options->max_positions > 0 && arch != NULL
      && (arch->position == MODEL_POSITION_ROTARY || arch->embedding_norm))
    diag_error (diags, option_mark (marks, "max_positions", NULL), NULL,
                "'max_positions' has no meaning for '%s', which has no position table", arch->arch);
  if (diag_list_n_errors (diags) != before)
    return FALSE;
  fill_arch (options, arch, shape);
  return model_shape_check (shape, marks, diags);
}

static char *
shipped_file (const char *name)
{
  g_auto (GStrv)   names = model_list_shipped ();
  gint             index = name_index (name, (const char *const *) names);
  g_autofree char *relative =
      g_strdup_printf ("workloads/models/%s.json", index >= 0 ? names[index] : name);

  return layout_data_file (relative);
}

/* Path of the file that CONFIG means, or NULL after a diagnostic. */
static char *
find_config (const char *config, const char *base_dir, const OptionMarks *marks, DiagList *diags)
{
  g_autofree char *beside = base_dir != NULL && !g_path_is_absolute (config)
                                ? g_build_filename (base_dir, config, NULL)
                                : g_strdup (config);
  if (g_path_is_absolute (config) || g_str_has_suffix (config, ".json")
      || g_file_test (beside, G_FILE_TEST_IS_REGULAR))
    return g_steal_pointer (&beside);
  if (strchr (config, G_DIR_SEPARATOR) == NULL)
    {
      g_autofree char *shipped = shipped_file (config);
      if (g_file_test (shipped, G_FILE_TEST_IS_REGULAR))
        return g_steal_pointer (&shipped);
    }

  g_auto (GStrv)   names = model_list_shipped ();
  g_autofree char *lower = g_ascii_strdown (config, -1);
  g_autofree char *hint = suggest_hint (lower, (const char *const *) names);
  diag_error (diags, option_mark (marks, "config", NULL), hint,
              "no model '%s': neither a file nor a shipped model", config);
  return NULL;
}

static gboolean
resolve_config (const ModelOptions *options, const char *base_dir, ModelShape *shape,
                const OptionMarks *marks, DiagList *diags)
{
  const char *extra = find_shape_option (options);

  if (extra != NULL)
    {
      diag_error (diags, option_mark (marks, extra, NULL), "the shape comes from the file",
                  "'%s' cannot be given beside 'config'", extra);
      return FALSE;
    }

  g_autofree char *file = find_config (options->config, base_dir, marks, diags);
  if (file == NULL || !model_import (file, shape, diags))
    return FALSE;
  if (options->name != NULL)
    {
      g_free (shape->name);
      shape->name = g_strdup (options->name);
    }
  return TRUE;
}

gboolean
model_resolve (const ModelOptions *options, const char *base_dir, ModelShape *shape,
               const OptionMarks *marks, DiagList *diags)
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
  ok = options->config != NULL ? resolve_config (options, base_dir, shape, marks, diags)
                               : resolve_arch (options, shape, marks, diags);
  if (!ok)
    model_shape_clear (shape);
  return ok;
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

char **
model_list_shipped (void)
{
  g_autofree char      *folder = layout_data_file ("workloads/models");
  g_autoptr (GDir)      dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  for (const char *entry = dir != NULL ? g_dir_read_name (dir) : NULL; entry != NULL;
       entry = g_dir_read_name (dir))
    if (g_str_has_suffix (entry, ".json"))
      g_ptr_array_add (names, g_strndup (entry, strlen (entry) - strlen (".json")));
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}
