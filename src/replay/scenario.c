/* What a scenario is: its sections, their options, and its life. */
#include "replay/scenario-private.h"

#define MEMBER(name) G_STRUCT_OFFSET (Scenario, name), sizeof (((Scenario *) NULL)->name)

const ScenarioSection scenario_sections[SCENARIO_N_SECTIONS] = {
  { "cluster", cluster_options, MEMBER (cluster), G_STRUCT_OFFSET (Scenario, cluster_mark), "name" },
  { "model", model_options, MEMBER (model), G_STRUCT_OFFSET (Scenario, model_mark), "config" },
  { "training", training_options, MEMBER (training), 0, NULL },
  { "mesh", mesh_options, MEMBER (mesh), G_STRUCT_OFFSET (Scenario, mesh_mark), "shard" },
  { "memory", memory_options, MEMBER (memory), 0, "allocator" },
  { "collective", collective_options, MEMBER (collective), 0, "algorithm" },
  { "replay", replay_options, MEMBER (replay), 0, "granularity" },
};

const OptionSpec *
scenario_section_table (const char *section)
{
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    if (g_str_equal (scenario_sections[i].name, section))
      return scenario_sections[i].table;
  return NULL;
}

const OptionSpec *
scenario_strategy_table (const Strategy *strategy)
{
  static const OptionSpec none[] = { { 0 } };

  return strategy->options != NULL ? strategy->options : none;
}

/* ---- strategy settings ------------------------------------------------------------------------------------------ */

StrategyConfig *
strategy_config_new (const Strategy *strategy)
{
  StrategyConfig *self = g_new0 (StrategyConfig, 1);

  self->strategy = strategy;
  self->options = g_malloc0 (MAX (strategy->options_size, 1));
  option_table_defaults (scenario_strategy_table (strategy), self->options);
  return self;
}

StrategyConfig *
strategy_config_copy (const StrategyConfig *source)
{
  StrategyConfig *self;

  if (source == NULL)
    return NULL;
  self = g_new0 (StrategyConfig, 1);
  self->strategy = source->strategy;
  self->shard_set = source->shard_set;
  self->options = g_malloc0 (MAX (source->strategy->options_size, 1));
  option_table_copy (scenario_strategy_table (source->strategy), source->options, self->options);
  self->inner = strategy_config_copy (source->inner);
  return self;
}

void
strategy_config_free (StrategyConfig *self)
{
  while (self != NULL)
    {
      StrategyConfig *inner = self->inner;

      option_table_clear (scenario_strategy_table (self->strategy), self->options);
      g_free (self->options);
      g_free (self);
      self = inner;
    }
}

/* ---- scenarios -------------------------------------------------------------------------------------------------- */

Scenario *
scenario_new (void)
{
  Scenario *self = g_new0 (Scenario, 1);

  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    option_table_defaults (scenario_sections[i].table,
                           scenario_section_options (self, &scenario_sections[i]));
  return self;
}

Scenario *
scenario_copy (const Scenario *source)
{
  Scenario *self = g_new0 (Scenario, 1);

  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    option_table_copy (scenario_sections[i].table,
                       scenario_section_options (source, &scenario_sections[i]),
                       scenario_section_options (self, &scenario_sections[i]));
  self->name = g_strdup (source->name);
  self->strategy = strategy_config_copy (source->strategy);
  self->cluster_mark = source->cluster_mark;
  self->model_mark = source->model_mark;
  self->training_mark = source->training_mark;
  self->mesh_mark = source->mesh_mark;
  memcpy (self->mesh_marks, source->mesh_marks, sizeof self->mesh_marks);
  self->strategy_mark = source->strategy_mark;
  self->base_dir = g_strdup (source->base_dir);
  return self;
}

void
scenario_free (Scenario *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    option_table_clear (scenario_sections[i].table,
                        scenario_section_options (self, &scenario_sections[i]));
  strategy_config_free (self->strategy);
  g_free (self->name);
  g_free (self->base_dir);
  g_free (self);
}

gboolean
scenario_option_is_unset (const OptionSpec *spec, gconstpointer structure)
{
  gconstpointer member = G_STRUCT_MEMBER_P (structure, spec->offset);

  if (spec->type == OPTION_STRING)
    return *(char *const *) member == NULL;
  if (spec->fallback != NULL)
    return FALSE;
  switch (spec->type)
    {
    case OPTION_INT:
      return *(const gint64 *) member == 0;
    case OPTION_QUANTITY:
      return *(const double *) member == 0;
    default:
      return FALSE;
    }
}
