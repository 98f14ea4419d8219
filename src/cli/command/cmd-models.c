/* shardsim models: the shipped models, and the tensors and FLOPs of one. */
#include <stdio.h>
#include <string.h>

#include "cli/argument/model-argument.h"
#include "cli/help/listing.h"
#include "cli/help/page-values.h"
#include "model/family/families.h"

static const ListingColumn list_columns[] = {
  { "name", LISTING_TEXT },     { "family", LISTING_TEXT },   { "parameters", LISTING_NUMBER },
  { "active", LISTING_NUMBER }, { "layers", LISTING_NUMBER }, { "d_model", LISTING_NUMBER },
  { NULL, LISTING_TEXT },
};

/* `part`: model (totals), flops (a token, by convention) or tensor. */
static const ListingColumn columns[] = {
  { "part", LISTING_TEXT }, { "layer", LISTING_TEXT }, { "layers", LISTING_NUMBER },
  { "name", LISTING_TEXT }, { "shape", LISTING_TEXT }, { "value", LISTING_NUMBER },
  { NULL, LISTING_TEXT },
};

static const ListingColumn family_columns[] = {
  { "family", LISTING_TEXT }, { "also", LISTING_TEXT }, { "architectures", LISTING_TEXT },
  { "blocks", LISTING_TEXT }, { NULL, LISTING_TEXT },
};

/* The model WORD with SEQ_LEN (model_argument_read). NULL after diagnostics. */
static Workload *
load_model (const char *word, gint64 seq_len, DiagList *diags)
{
  ModelShape      shape = { 0 };
  TrainingOptions training = { 0 };
  Workload       *workload = NULL;

  if (model_argument_read (word, seq_len, &shape, &training, diags)
      && workload_check (&shape, &training, NULL, diags))
    workload = workload_new (&shape, &training);
  model_shape_clear (&shape);
  option_table_clear (training_options, &training);
  return workload;
}

static ExitStatus
list_all (const Common *common)
{
  g_autoptr (Listing)  listing = listing_new ("models", list_columns);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_auto (GStrv)       names = model_list_shipped ();

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (Workload) workload = load_model (names[i], 0, diags);
      const ModelShape    *shape;
      g_autofree char     *all = NULL, *active = NULL, *layers = NULL, *width = NULL;

      if (workload == NULL)
        continue;
      shape = workload_shape (workload);
      all = g_strdup_printf ("%" G_GUINT64_FORMAT, workload_n_parameters (workload));
      active = g_strdup_printf ("%" G_GUINT64_FORMAT, workload_n_active_parameters (workload));
      layers = g_strdup_printf ("%" G_GINT64_FORMAT, shape->n_layers);
      width = g_strdup_printf ("%" G_GINT64_FORMAT, shape->d_model);
      listing_add (listing, names[i], shape->family, all, active, layers, width);
    }
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  return listing_print (listing, common->format, NULL);
}

static ExitStatus
list_families (const Common *common)
{
  g_autoptr (Listing) listing = listing_new ("families", family_columns);
  ModelFamily         family;

  for (guint i = 0; model_family_at (i, &family); i++)
    {
      listing_add (listing, family.name, family.aliases, family.architectures, family.block);
      model_family_clear (&family);
    }
  return listing_print (listing, common->format, NULL);
}

/* ---- one model ------------------------------------------------------------------------------- */

static void
add_value (Listing *listing, const char *part, const char *name, double value)
{
  g_autofree char *text = number_format_exact (value);

  listing_add (listing, part, NULL, NULL, name, NULL, text);
}

static void
add_tensor (Listing *listing, const char *layer, const char *layers, const TensorDesc *tensor)
{
  g_autoptr (GString) shape = g_string_new (NULL);
  g_autofree char    *elements = g_strdup_printf ("%" G_GUINT64_FORMAT, tensor->elements);

  for (guint d = 0; d < tensor->n_dims; d++)
    g_string_append_printf (shape, "%s%" G_GUINT64_FORMAT, d > 0 ? " x " : "", tensor->shape[d]);
  listing_add (listing, "tensor", layer, layers, tensor->name, shape->str, elements);
}

/* "embedding", "block 0 to 31", "head": layers of one class that follow each other. */
static void
add_layers (Listing *listing, const Workload *workload)
{
  static const char *const names[] = {
    [LAYER_EMBEDDING] = "embedding", [LAYER_BLOCK] = "block", [LAYER_HEAD] = "head"
  };
  guint end;

  for (guint first = 0; first < workload_n_layers (workload); first = end)
    {
      const LayerDesc *layer = workload_layer (workload, first);
      g_autofree char *name = NULL, *count = NULL;

      for (end = first + 1; end < workload_n_layers (workload); end++)
        if (workload_layer (workload, end)->class_ != layer->class_)
          break;
      count = g_strdup_printf ("%u", end - first);
      if (layer->kind != LAYER_BLOCK)
        name = g_strdup (names[layer->kind]);
      else if (layer->mtp > 0)
        name = g_strdup_printf ("mtp %u", layer->mtp);
      else if (end - first == 1)
        name = g_strdup_printf ("block %u", first - 1);
      else
        name = g_strdup_printf ("block %u to %u", first - 1, end - 2);
      for (guint t = 0; t < layer->n_tensors; t++)
        add_tensor (listing, name, count, &layer->tensors[t]);
    }
}

static const FlopsConvention conventions[] = { FLOPS_PALM, FLOPS_CAUSAL, FLOPS_6N };

static void
append_text (const Workload *workload, const Listing *listing, GString *text)
{
  const ModelShape *shape = workload_shape (workload);
  gint64            seq_len = workload_training (workload)->seq_len;
  guint64           active = workload_n_active_parameters (workload);
  g_autofree char  *all =
      quantity_format (QUANTITY_COUNT, (double) workload_n_parameters (workload), 6);
  g_autofree char *used = quantity_format (QUANTITY_COUNT, (double) active, 6);

  g_string_append_printf (
      text, "%s: family %s, %" G_GINT64_FORMAT " layers of width %" G_GINT64_FORMAT "\n\n",
      shape->name, shape->family, shape->n_layers, shape->d_model);
  g_string_append_printf (text, "parameters         %s (%s used by one token)\n", all, used);
  for (guint i = 0; i < G_N_ELEMENTS (conventions); i++)
    g_string_append_printf (
        text, "FLOPs a token      %.6g (%s, forward and backward, %" G_GINT64_FORMAT " tokens)\n",
        flops_per_token (shape, conventions[i], seq_len), flops_convention_name (conventions[i]),
        seq_len);
  if (model_mtp_left (shape) > 0)
    g_string_append_printf (text,
                            "not counted        multi-token-prediction layers: %u ('mtp: true' of "
                            "a scenario's model trains them)\n",
                            model_mtp_left (shape));
  g_string_append_c (text, '\n');
  listing_append_text (listing, 1, "tensor", text);
}

static ExitStatus
show (const Common *common, const char *word, gint64 seq_len)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Workload) workload = load_model (word, seq_len, diags);
  g_autoptr (Listing)  listing = listing_new ("model", columns);
  g_autoptr (GString)  text = g_string_new (NULL);

  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  add_value (listing, "model", "parameters", (double) workload_n_parameters (workload));
  add_value (listing, "model", "active_parameters",
             (double) workload_n_active_parameters (workload));
  add_value (listing, "model", "seq_len", (double) workload_training (workload)->seq_len);
  for (guint i = 0; i < G_N_ELEMENTS (conventions); i++)
    add_value (listing, "flops_per_token", flops_convention_name (conventions[i]),
               flops_per_token (workload_shape (workload), conventions[i],
                                workload_training (workload)->seq_len));
  add_layers (listing, workload);
  append_text (workload, listing, text);
  return listing_print (listing, common->format, text);
}

typedef struct
{
  gint     seq_len; /* 0: the usual */
  gboolean families;
} Settings;

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings *settings = data;

  if (settings->families)
    return list_families (common);
  return common->files[0] != NULL ? show (common, common->files[0], settings->seq_len)
                                  : list_all (common);
}

static const CommandOption options[] = {
  { OPTION ("seq-len", VALUE_COUNT, seq_len, "TOKENS",
            "sequence length that FLOPs are counted for (default: 2048)") },
  { OPTION ("families", VALUE_SWITCH, families, NULL,
            "list the families whose config.json is read, and what their blocks are made of") },
  { 0 },
};

const Command command_models = {
  .name = "models",
  .help = "the models, or the tensors of one",
  .arguments = "[NAME | config.json]",
  .summary = "Lists the shipped models, or prints the tensors, parameters and FLOPs a token of "
             "one.",
  .examples = "Examples:\n"
              "  shardsim models llama-3-8b --seq-len 8192\n"
              "  shardsim models path/to/config.json --format csv\n"
              "  shardsim models --families\n",
  .takes = COMMON_FORMAT,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = 1,
  .words = &words_models,
  .run = run,
};
