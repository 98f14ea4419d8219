#include "model/layer/measured-kernels.h"

#include <math.h>
#include <string.h>

#include "base/config/option-marks.h"
#include "base/config/suggest.h"

/* FLOPs are sums of whole numbers, printed whole. */
#define FLOPS_TOLERANCE 1e-9

static const char *const phase_names[] = { "forward",   "recompute",
                                           "backward",  "recompute+backward",
                                           "optimizer", NULL };
static const char *const layer_names[] = { "embedding", "block", "head", "all", NULL };

/*
 * Options that change no kernel of a layer and micro-step; of the optimizer, whose time goes with
 * its bytes, none that changes these. All others must be as they were measured.
 */
static const char *const free_of_kernels[] = {
  "grad_accum",        "activation_checkpointing",
  "recompute_modules", "recompute_layers", /* phases have rows */
  "cpu_checkpointing", "partition_activations",
  "reduce_dtype",      "clip_gradients",
  "flops_convention",  "launch_blocking",
  "cuda_graphs",       "micro_step_sync",
  "measured_kernels",  NULL
};
/* Options of the mesh that do change them; all others only move layers or data. */
static const char *const mesh_of_kernels[] = { "tp", "sp", "cp", "ep", NULL };

/* An option as it was measured. */
typedef struct
{
  const OptionSpec *spec;
  char             *value;
  gboolean          of_mesh;
} Condition;

struct _MeasuredKernels
{
  char       *file;
  char       *gpu;
  GArray     *conditions; /* Condition */
  MeasuredRow rows[MEASURED_N_LAYERS][MEASURED_N_PHASES];
};

const char *
measured_phase_name (MeasuredPhase phase)
{
  return phase_names[phase];
}

const char *
measured_layer_name (guint layer)
{
  return layer_names[layer];
}

const char *
measured_kernels_gpu (const MeasuredKernels *self)
{
  return self->gpu;
}

const MeasuredRow *
measured_kernels_row (const MeasuredKernels *self, guint layer, MeasuredPhase phase)
{
  return &self->rows[layer][phase];
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct
{
  gint   layer, phase;
  double seconds, flops, bytes;
} RowOptions;

#define ROW_FIELD(member) G_STRUCT_OFFSET (RowOptions, member)

static const OptionSpec row_options[] = {
  { .key = "layer",
    .type = OPTION_ENUM,
    .choices = layer_names,
    .offset = ROW_FIELD (layer),
    .fallback = "all",
    .help = "whose kernels: of each block, or of all layers of a rank together" },
  { .key = "phase",
    .type = OPTION_ENUM,
    .choices = phase_names,
    .offset = ROW_FIELD (phase),
    .fallback = "forward",
    .help = "when they ran" },
  { .key = "time",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    .offset = ROW_FIELD (seconds),
    .min = 1e-9,
    .max = 1e6,
    .help = "sum of their durations in a micro-step; of the optimizer in a step" },
  { .key = "flops",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    .offset = ROW_FIELD (flops),
    .optional = TRUE,
    .min = 0,
    .max = 1e30,
    .help = "of the products among them" },
  { .key = "bytes",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    .offset = ROW_FIELD (bytes),
    .optional = TRUE,
    .min = 0,
    .max = 1e30,
    .help = "that the optimizer's kernels read and write" },
  { 0 },
};

static gboolean
check_row (const MeasuredKernels *self, const RowOptions *row, const SourceMark *mark,
           DiagList *diags)
{
  gboolean optimizer = row->phase == MEASURED_OPTIMIZER;

  if (self->rows[row->layer][row->phase].given)
    diag_error (diags, mark, NULL, "a second row of layer '%s' and phase '%s'",
                layer_names[row->layer], phase_names[row->phase]);
  else if (optimizer && (row->layer != MEASURED_ALL_LAYERS || row->bytes == 0))
    diag_error (diags, mark, "its time goes with the bytes of the rank's shard",
                "the optimizer wants 'layer: all' and 'bytes'");
  else
    return TRUE;
  return FALSE;
}

static gboolean
has_phase (const MeasuredKernels *self, MeasuredPhase phase)
{
  for (guint layer = 0; layer < MEASURED_N_LAYERS; layer++)
    if (self->rows[layer][phase].given)
      return TRUE;
  return FALSE;
}

/* No kernel may be counted twice. */
static void
check_overlaps (const MeasuredKernels *self, const SourceMark *mark, DiagList *diags)
{
  for (guint phase = 0; phase < MEASURED_N_PHASES; phase++)
    for (guint layer = 0; layer < MEASURED_ALL_LAYERS; layer++)
      if (self->rows[layer][phase].given && self->rows[MEASURED_ALL_LAYERS][phase].given)
        diag_error (diags, mark, NULL, "phase '%s' has rows of '%s' and of 'all' layers",
                    phase_names[phase], layer_names[layer]);
  if (has_phase (self, MEASURED_BACKWARD_ALL)
      && (has_phase (self, MEASURED_BACKWARD) || has_phase (self, MEASURED_RECOMPUTE)))
    diag_error (diags, mark, NULL,
                "rows of 'recompute+backward' beside rows of 'recompute' or 'backward'");
}

static void
read_rows (MeasuredKernels *self, const ConfigNode *root, DiagList *diags)
{
  const ConfigNode *list = config_node_get (root, "kernels");

  if (list == NULL || config_node_length (list) == 0)
    {
      diag_error (diags, config_node_mark (root), "'shardsim import trace' writes such a file",
                  "no rows of 'kernels'");
      return;
    }
  if (!config_node_expect (list, CONFIG_LIST, diags))
    return;
  for (guint i = 0; i < config_node_length (list); i++)
    {
      const ConfigNode *node = config_node_item (list, i);
      RowOptions        row = { 0 };
      guint             n_errors = diag_list_n_errors (diags);
      const SourceMark *mark = config_node_mark (node);

      option_table_defaults (row_options, &row);
      if (!config_node_expect (node, CONFIG_MAP, diags))
        continue;
      option_load_map (row_options, &row, node, NULL, diags);
      option_check_required (row_options, &row, mark, diags);
      for (guint k = 0; k < 2; k++)
        if (config_node_get (node, row_options[k].key) == NULL)
          diag_error (diags, mark, NULL, "missing '%s'", row_options[k].key);
      if (diag_list_n_errors (diags) == n_errors && check_row (self, &row, mark, diags))
        self->rows[row.layer][row.phase] = (MeasuredRow){ TRUE, row.seconds, row.flops, row.bytes };
    }
  check_overlaps (self, config_node_mark (list), diags);
}

/* The options of a section under which was measured, each as text of its own form. */
static void
read_conditions (MeasuredKernels *self, const OptionSpec *table, gsize size, const ConfigNode *node,
                 DiagList *diags)
{
  g_autofree gpointer options = g_malloc0 (size);

  if (node == NULL || !config_node_expect (node, CONFIG_MAP, diags))
    return;
  option_table_defaults (table, options);
  option_load_map (table, options, node, NULL, diags);
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const OptionSpec *spec = option_table_find (table, config_node_key (node, i));
      Condition         one = { spec, NULL, table == mesh_options };

      if (spec == NULL)
        continue;
      one.value = option_format (spec, options);
      g_array_append_val (self->conditions, one);
    }
  option_table_clear (table, options);
}

static void
check_keys (const ConfigNode *map, const char *const *known, DiagList *diags)
{
  for (guint i = 0; i < config_node_length (map); i++)
    if (name_index (config_node_key (map, i), known) < 0)
      {
        g_autofree char *hint = suggest_hint (config_node_key (map, i), known);

        diag_error (diags, config_node_key_mark (map, i), hint, "unknown key '%s'",
                    config_node_key (map, i));
      }
}

static void
read_measured_on (MeasuredKernels *self, const ConfigNode *root, DiagList *diags)
{
  static const char *const known[] = { "gpu", "training", "mesh", NULL };
  const ConfigNode        *on = config_node_get (root, "measured_on"), *gpu;

  if (on == NULL)
    {
      diag_error (diags, config_node_mark (root),
                  "it says under what the times hold: gpu, training, mesh",
                  "missing 'measured_on'");
      return;
    }
  if (!config_node_expect (on, CONFIG_MAP, diags))
    return;
  check_keys (on, known, diags);
  gpu = config_node_get (on, "gpu");
  if (gpu != NULL && config_node_expect (gpu, CONFIG_SCALAR, diags))
    self->gpu = g_strdup (config_node_text (gpu));
  else if (gpu == NULL)
    diag_error (diags, config_node_mark (on), NULL, "missing 'gpu'");
  read_conditions (self, training_options, sizeof (TrainingOptions),
                   config_node_get (on, "training"), diags);
  read_conditions (self, mesh_options, sizeof (MeshOptions), config_node_get (on, "mesh"), diags);
}

static void
condition_clear (gpointer data)
{
  g_free (((Condition *) data)->value);
}

MeasuredKernels *
measured_kernels_load (const char *file, DiagList *diags)
{
  static const char *const    known[] = { "measured_on", "kernels", NULL };
  guint                       n_errors = diag_list_n_errors (diags);
  g_autoptr (MeasuredKernels) self = g_new0 (MeasuredKernels, 1);
  g_autoptr (ConfigDoc)       doc = config_load (file, diags);
  const ConfigNode           *root;

  self->file = g_strdup (file);
  self->conditions = g_array_new (FALSE, FALSE, sizeof (Condition));
  g_array_set_clear_func (self->conditions, condition_clear);
  if (doc == NULL)
    return NULL;
  root = config_doc_root (doc);
  if (!config_node_expect (root, CONFIG_MAP, diags))
    return NULL;
  check_keys (root, known, diags);
  read_measured_on (self, root, diags);
  read_rows (self, root, diags);
  return diag_list_n_errors (diags) == n_errors ? g_steal_pointer (&self) : NULL;
}

static gpointer
load_file (gconstpointer user, DiagList *diags)
{
  return measured_kernels_load (user, diags);
}

const MeasuredKernels *
measured_kernels_get (InputFiles *files, const char *file, DiagList *diags)
{
  g_autofree char *key = g_strdup_printf ("measured kernels: %s", file);

  return input_files_get (files, key, load_file, file, (GDestroyNotify) measured_kernels_free,
                          diags);
}

void
measured_kernels_free (MeasuredKernels *self)
{
  if (self == NULL)
    return;
  g_free (self->file);
  g_free (self->gpu);
  g_array_unref (self->conditions);
  g_free (self);
}

/* ---- what they hold for ---------------------------------------------------------------------- */

gboolean
measured_kernels_check (const MeasuredKernels *self, const TrainingOptions *training,
                        const MeshOptions *mesh, const OptionMarks *training_marks,
                        const OptionMarks *mesh_marks, DiagList *diags)
{
  gboolean ok = TRUE;

  for (guint i = 0; i < self->conditions->len; i++)
    {
      const Condition *one = &g_array_index (self->conditions, Condition, i);
      const char      *key = one->spec->key;
      g_autofree char *now =
          option_format (one->spec, one->of_mesh ? (gconstpointer) mesh : training);

      if (g_str_equal (now, one->value))
        continue;
      ok = FALSE;
      diag_error (diags, option_mark (one->of_mesh ? mesh_marks : training_marks, key, NULL),
                  "measure again, or leave 'training.measured_kernels' away",
                  "'%s' is '%s', the kernels of '%s' were measured with '%s'", key, now, self->file,
                  one->value);
    }
  return ok;
}

static double
sum_products (const KernelDesc *kernels, guint n)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    if (kernel_desc_is_product (&kernels[i]))
      sum += kernels[i].flops;
  return sum;
}

double
measured_layer_flops (const LayerDesc *layer, MeasuredPhase phase)
{
  double backward = sum_products (layer->backward, layer->n_backward);
  double recompute = sum_products (layer->recompute, layer->n_recompute);

  switch (phase)
    {
    case MEASURED_FORWARD:
      return sum_products (layer->forward, layer->n_forward);
    case MEASURED_RECOMPUTE:
      return recompute;
    case MEASURED_BACKWARD:
      return backward;
    case MEASURED_BACKWARD_ALL:
      return recompute + backward;
    default:
      return 0;
    }
}

gboolean
measured_blocks_are_alike (const Workload *workload, MeasuredPhase phase)
{
  const LayerDesc *first = NULL;

  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      if (layer->kind != LAYER_BLOCK)
        continue;
      if (first != NULL
          && measured_layer_flops (first, phase) != measured_layer_flops (layer, phase))
        return FALSE;
      first = layer;
    }
  return TRUE;
}

static gboolean
flops_agree (const MeasuredKernels *self, guint layer, MeasuredPhase phase, double flops,
             const SourceMark *mark, DiagList *diags)
{
  const MeasuredRow *row = &self->rows[layer][phase];

  if (!row->given || row->flops == 0
      || fabs (flops - row->flops) <= FLOPS_TOLERANCE * fabs (row->flops))
    return TRUE;
  diag_error (diags, mark, "these are other kernels: another model, checkpointing or layout",
              "layer '%s', phase '%s' of '%s': %.15g FLOPs were measured, this scenario has %.15g",
              layer_names[layer], phase_names[phase], self->file, row->flops, flops);
  return FALSE;
}

gboolean
measured_kernels_check_workload (const MeasuredKernels *self, const Workload *workload,
                                 const SourceMark *mark, DiagList *diags)
{
  for (guint phase = 0; phase < MEASURED_OPTIMIZER; phase++)
    {
      double sum = 0;

      for (guint i = 0; i < workload_n_layers (workload); i++)
        {
          const LayerDesc *layer = workload_layer (workload, i);
          double           flops = measured_layer_flops (layer, (MeasuredPhase) phase);

          sum += flops;
          if (!flops_agree (self, layer->kind, (MeasuredPhase) phase, flops, mark, diags))
            return FALSE;
        }
      if (!flops_agree (self, MEASURED_ALL_LAYERS, (MeasuredPhase) phase, sum, mark, diags))
        return FALSE;
    }
  return TRUE;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* In double quotes where it is free text. */
static void
print_value (const OptionSpec *spec, const char *value, GString *out)
{
  gboolean quoted = spec->type == OPTION_STRING;

  g_string_append (out, quoted ? "\"" : "");
  for (const char *at = value; *at != '\0'; at++)
    {
      if (quoted && (*at == '"' || *at == '\\'))
        g_string_append_c (out, '\\');
      g_string_append_c (out, *at);
    }
  g_string_append (out, quoted ? "\"\n" : "\n");
}

static void
print_conditions (const char *section, const OptionSpec *table, gconstpointer options,
                  const char *const *listed, gboolean wanted, GString *out)
{
  g_string_append_printf (out, "  %s:\n", section);
  for (const OptionSpec *spec = table; spec->key != NULL; spec++)
    {
      g_autofree char *value = option_format (spec, options);

      if ((name_index (spec->key, listed) >= 0) != wanted || value[0] == '\0')
        continue;
      g_string_append_printf (out, "    %s: ", spec->key);
      print_value (spec, value, out);
    }
}

char *
measured_kernels_print (const MeasuredTable *table, const char *gpu,
                        const TrainingOptions *training, const MeshOptions *mesh,
                        const char *source)
{
  GString *out = g_string_new (NULL);

  g_string_append_printf (out, "# %s\nmeasured_on:\n  gpu: %s\n", source, gpu);
  print_conditions ("training", training_options, training, free_of_kernels, FALSE, out);
  print_conditions ("mesh", mesh_options, mesh, mesh_of_kernels, TRUE, out);
  g_string_append (out, "kernels:\n");
  for (guint phase = 0; phase < MEASURED_N_PHASES; phase++)
    for (guint layer = 0; layer < MEASURED_N_LAYERS; layer++)
      {
        const MeasuredRow *row = &table->rows[layer][phase];

        if (!row->given)
          continue;
        g_string_append_printf (out, "  - { layer: %s, phase: %s, time: %.15g us",
                                layer_names[layer], phase_names[phase], row->seconds * 1e6);
        if (row->flops > 0)
          g_string_append_printf (out, ", flops: %.17g", row->flops);
        if (row->bytes > 0)
          g_string_append_printf (out, ", bytes: %.17g", row->bytes);
        g_string_append (out, " }\n");
      }
  return g_string_free (out, FALSE);
}
