/*
 * config_load_text: a document or at least one error; every place lies in the input; every key of
 * a map finds its own value; nesting is bounded. The tree then goes through an option table, whose
 * errors are printed.
 */
#include <string.h>

#include "base/config/option.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

typedef struct
{
  char    *text;
  gboolean flag;
  gint64   number;
  gint     choice;
  double   quantity;
} Options;

static const char *const choices[] = { "none", "full", NULL };

static const OptionSpec table[] = {
  { .key = "text", .type = OPTION_STRING, .offset = G_STRUCT_OFFSET (Options, text) },
  { .key = "flag", .type = OPTION_BOOL, .offset = G_STRUCT_OFFSET (Options, flag) },
  { .key = "number",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (Options, number),
    .min = -5,
    .max = 1e9 },
  { .key = "choice",
    .type = OPTION_ENUM,
    .choices = choices,
    .offset = G_STRUCT_OFFSET (Options, choice) },
  { .key = "quantity",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BANDWIDTH,
    .offset = G_STRUCT_OFFSET (Options, quantity),
    .optional = TRUE },
  { 0 },
};

static void
check_node (const ConfigNode *node, guint depth)
{
  const SourceMark *mark = config_node_mark (node);

  g_assert (depth <= CONFIG_MAX_DEPTH + 1); /* a scalar may stand in the deepest map */
  g_assert (mark->line > 0 && mark->column > 0 && mark->text != NULL);
  if (config_node_kind (node) == CONFIG_SCALAR)
    {
      g_assert (config_node_text (node) != NULL);
      return;
    }
  for (guint i = 0; i < config_node_length (node); i++)
    {
      if (config_node_kind (node) == CONFIG_MAP)
        g_assert (config_node_get (node, config_node_key (node, i)) == config_node_item (node, i));
      check_node (config_node_item (node, i), depth + 1);
    }
}

static void
check_options (const ConfigNode *root, DiagList *diags)
{
  Options options = { 0 }, again = { 0 };

  option_load_map (table, &options, root, NULL, diags);
  for (const OptionSpec *spec = table; spec->key; spec++)
    {
      g_autofree char *text = option_format (spec, &options);
      g_autofree char *second = NULL;

      /* Not set: an empty value would be a mistake, and so would the zero of a number. */
      if (*text == '\0' || (spec->optional && option_is_default (spec, &options)))
        continue;
      g_assert (option_set (spec, &again, text, NULL, diags));
      second = option_format (spec, &again);
      g_assert (strcmp (text, second) == 0);
    }
  option_table_clear (table, &options);
  option_table_clear (table, &again);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (ConfigDoc) doc = NULL;
  g_autofree char      *printed = NULL;

  fuzz_begin ();
  doc = config_load_text ("fuzz", size ? (const char *) data : "", (gssize) size, diags);
  g_assert (doc != NULL || diag_list_has_errors (diags));
  if (doc != NULL)
    {
      check_node (config_doc_root (doc), 1);
      check_options (config_doc_root (doc), diags);
    }
  printed = diag_list_format (diags, TRUE);
  g_assert (g_utf8_validate (printed, -1, NULL));
  return 0;
}
