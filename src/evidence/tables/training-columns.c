#include "evidence/tables/training-columns.h"
#include "base/intern.h"

#include <string.h>

#define NETWORK_SUFFIX "_bus_gbs"

const TrainingSection training_sections[TRAINING_N_SECTIONS] = {
  { "cluster", G_STRUCT_OFFSET (Scenario, cluster) },
  { "model", G_STRUCT_OFFSET (Scenario, model) },
  { "training", G_STRUCT_OFFSET (Scenario, training) },
  { "mesh", G_STRUCT_OFFSET (Scenario, mesh) },
  { "memory", G_STRUCT_OFFSET (Scenario, memory) },
  { "collective", G_STRUCT_OFFSET (Scenario, collective) },
  { "replay", G_STRUCT_OFFSET (Scenario, replay) },
};

/* Columns that are no option of a scenario. */
static const struct
{
  const char        *name;
  TrainingColumnKind kind;
} own_columns[] = {
  { "id", COLUMN_ID },          { "metric", COLUMN_METRIC },   { "value", COLUMN_VALUE },
  { "unit", COLUMN_IGNORED },   { "use", COLUMN_USE },         { "strategy", COLUMN_STRATEGY },
  { "shard", COLUMN_SHARD },    { "options", COLUMN_OPTIONS }, { "source", COLUMN_IGNORED },
  { "remark", COLUMN_IGNORED },
};

/* Further names of options: the section's own, which is short for one of its keys. */
static const struct
{
  const char *name, *key;
} other_names[] = {
  { "cluster", "name" },
};

/* What a layout may change. */
static const char *const layout_columns[] = {
  "micro_batch", "grad_accum", "tp", "sp", "pp", "vp", "activation_checkpointing", NULL
};
/* What runs of one model on one cluster have in common, whatever trains it in which layout. */
static const char *const model_columns[] = { "cluster", "nodes", "gpus_per_node", "gpu",
                                             "config",  "arch",  "n_layers",      "d_model",
                                             "n_heads", "d_ff",  "vocab",         "seq_len",
                                             "metric",  NULL };

static const char *const always_required[] = {
  "id", "strategy", "seq_len", "metric", "value", NULL
};
static const char *const hardware_parts[] = { "nodes", "gpus_per_node", "gpu", "intra",
                                              "nics",  "nic",           NULL };
static const char *const model_parts[] = {
  "arch", "n_layers", "d_model", "n_heads", "vocab", NULL
};

static gboolean
has (const CsvReader *reader, const char *name)
{
  return csv_reader_find (reader, name) != NO_COLUMN;
}

/*
 * A column of what the network of a run was measured to do: "all_reduce_bus_gbs".
 * COLLECTIVE_N_KINDS: it is none.
 */
static CollectiveKind
network_kind (const char *name)
{
  g_autofree char *collective = NULL;

  if (!g_str_has_suffix (name, NETWORK_SUFFIX))
    return COLLECTIVE_N_KINDS;
  collective = g_strndup (name, strlen (name) - strlen (NETWORK_SUFFIX));
  return collective_kind_parse (collective);
}

/* A table of measured networks: ids of runs and bandwidths, no figure of training. */
static gboolean
is_network_table (const CsvReader *reader)
{
  for (guint i = 0; i < csv_reader_n_columns (reader); i++)
    if (network_kind (csv_reader_column (reader, i)) != COLLECTIVE_N_KINDS)
      return !has (reader, "metric");
  return FALSE;
}

static gboolean
is_required (const CsvReader *reader, const char *name)
{
  if (is_network_table (reader))
    return strcmp (name, "id") == 0;
  if (g_strv_contains (always_required, name))
    return TRUE;
  if (g_strv_contains (hardware_parts, name))
    return !has (reader, "node") && !has (reader, "name") && !has (reader, "cluster");
  return g_strv_contains (model_parts, name) && !has (reader, "config");
}

const Strategy *
training_find_strategy (const char *name, const SourceMark *mark, DiagList *diags)
{
  const Strategy       *found = strategy_find (strcmp (name, "zero++") == 0 ? "zeropp" : name);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char      *hint = NULL;

  if (found != NULL)
    return found;
  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    g_ptr_array_add (names, (gpointer) (*list)->name);
  g_ptr_array_add (names, NULL);
  hint = suggest_hint (name, (const char *const *) names->pdata);
  diag_error (diags, mark, hint, "unknown strategy '%s'", name);
  return NULL;
}

const OptionSpec *
training_find_setting (const char *name, guint *section)
{
  for (guint i = 0; i < G_N_ELEMENTS (other_names); i++)
    if (strcmp (other_names[i].name, name) == 0)
      name = other_names[i].key;
  for (guint s = 0; s < TRAINING_N_SECTIONS; s++)
    {
      const OptionSpec *spec =
          option_table_find (scenario_section_table (training_sections[s].name), name);

      if (spec != NULL)
        {
          *section = s;
          return spec;
        }
    }
  return NULL;
}

static TrainingColumn
column_of (const CsvReader *reader, guint i)
{
  const char    *name = csv_reader_column (reader, i);
  TrainingColumn self = { .kind = COLUMN_UNKNOWN };

  for (guint c = 0; c < G_N_ELEMENTS (own_columns); c++)
    if (strcmp (own_columns[c].name, name) == 0)
      self.kind = own_columns[c].kind;
  self.collective = network_kind (name);
  if (self.kind == COLUMN_UNKNOWN && self.collective != COLLECTIVE_N_KINDS)
    {
      self.kind = COLUMN_NETWORK;
      self.key = intern_text (name);
    }
  if (self.kind == COLUMN_UNKNOWN
      && (self.spec = training_find_setting (name, &self.section)) != NULL)
    {
      g_autofree char *key =
          g_strdup_printf ("%s.%s", training_sections[self.section].name, self.spec->key);

      self.kind = COLUMN_SETTING;
      self.key = intern_text (key);
    }
  self.required = is_required (reader, name);
  /* of one source, one metric and one use: speeds of different runs are compared */
  self.same_rank = !g_strv_contains (layout_columns, name) && strcmp (name, "id") != 0
                   && strcmp (name, "value") != 0 && strcmp (name, "remark") != 0
                   && self.kind != COLUMN_NETWORK;
  self.same_model = g_strv_contains (model_columns, name);
  return self;
}

static void
report_missing (const CsvReader *reader, const char *const *names, DiagList *diags)
{
  for (; *names != NULL; names++)
    if (is_required (reader, *names) && !has (reader, *names))
      csv_reader_missing (reader, *names, NULL, diags);
}

GArray *
training_columns_read (const CsvReader *reader, DiagList *diags)
{
  GArray *columns = g_array_new (FALSE, TRUE, sizeof (TrainingColumn));

  for (guint i = 0; i < csv_reader_n_columns (reader); i++)
    {
      TrainingColumn column = column_of (reader, i);

      if (column.kind == COLUMN_UNKNOWN)
        {
          g_autoptr (GPtrArray) names = g_ptr_array_new ();

          for (guint c = 0; c < G_N_ELEMENTS (own_columns); c++)
            g_ptr_array_add (names, (gpointer) own_columns[c].name);
          for (guint c = 0; c < G_N_ELEMENTS (other_names); c++)
            g_ptr_array_add (names, (gpointer) other_names[c].name);
          for (guint s = 0; s < TRAINING_N_SECTIONS; s++)
            for (const OptionSpec *spec = scenario_section_table (training_sections[s].name);
                 spec->key != NULL; spec++)
              g_ptr_array_add (names, (gpointer) spec->key);
          g_ptr_array_add (names, NULL);
          csv_reader_unknown (reader, i, (const char *const *) names->pdata, diags);
        }
      g_array_append_val (columns, column);
    }
  report_missing (reader, always_required, diags);
  report_missing (reader, hardware_parts, diags);
  report_missing (reader, model_parts, diags);
  return columns;
}
