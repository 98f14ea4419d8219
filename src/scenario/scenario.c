/* What a scenario is: its sections, their options, and its life. */
#include "scenario/scenario-private.h"

#include <string.h>

#define MEMBER(name) G_STRUCT_OFFSET (Scenario, name), sizeof (((Scenario *) NULL)->name)

const ScenarioSection scenario_sections[SCENARIO_N_SECTIONS] = {
  { "cluster", cluster_options, MEMBER (cluster), "name", TRUE, FALSE, FALSE },
  { "model", model_options, MEMBER (model), "config", TRUE, FALSE, FALSE },
  { "training", training_options, MEMBER (training), NULL, FALSE, FALSE, FALSE },
  { "mesh", mesh_options, MEMBER (mesh), "shard", FALSE, FALSE, FALSE },
  { "memory", memory_options, MEMBER (memory), "allocator", FALSE, TRUE, FALSE },
  { "collective", collective_options, MEMBER (collective), "algorithm", FALSE, FALSE, FALSE },
  { "replay", replay_options, MEMBER (replay), "granularity", FALSE, FALSE, FALSE },
  { "generation", generation_options, MEMBER (generation), NULL, FALSE, TRUE, TRUE },
  { "serving", serving_options, MEMBER (serving), NULL, FALSE, TRUE, TRUE },
  { "rl", rl_options, MEMBER (rl), "algorithm", FALSE, TRUE, TRUE },
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

const OptionMarks *
scenario_marks (const Scenario *self, const OptionSpec *table)
{
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    if (scenario_sections[i].table == table)
      return &self->marks[i];
  return NULL;
}

gconstpointer
scenario_options (const Scenario *self, const OptionSpec *table)
{
  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    if (scenario_sections[i].table == table)
      return scenario_section_options (self, &scenario_sections[i]);
  return NULL;
}

/* The files that a scenario names stand beside it. */
static void
place_beside (char **text, const char *base_dir)
{
  char *file;

  if (g_path_is_absolute (*text))
    return;
  file = g_build_filename (base_dir, *text, NULL);
  g_free (*text);
  *text = file;
}

Cluster *
scenario_cluster_new (const Scenario *self, ProfileSet *profiles, DiagList *diags)
{
  const OptionMarks *marks = scenario_marks (self, cluster_options);
  const gboolean     placed = cluster_placement_is_file (self->cluster.placement);
  const gboolean     sites = cluster_sites_is_file (self->cluster.sites);
  ClusterOptions     options = { 0 };
  Cluster           *cluster;

  if (self->base_dir == NULL || (!placed && !sites))
    return cluster_new (&self->cluster, profiles, marks, diags);
  option_table_copy (cluster_options, &self->cluster, &options);
  if (placed)
    place_beside (&options.placement, self->base_dir);
  if (sites)
    place_beside (&options.sites, self->base_dir);
  cluster = cluster_new (&options, profiles, marks, diags);
  option_table_clear (cluster_options, &options);
  return cluster;
}

/* ---- strategy settings ----------------------------------------------------------------------- */

StrategyConfig *
strategy_config_new (const Strategy *strategy)
{
  StrategyConfig *self = g_new0 (StrategyConfig, 1);

  self->strategy = strategy;
  self->marks.table = scenario_strategy_table (strategy);
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
  option_marks_copy (&source->marks, &self->marks);
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
      option_marks_clear (&self->marks);
      g_free (self->options);
      g_free (self);
      self = inner;
    }
}

/* ---- scenarios ------------------------------------------------------------------------------- */

Scenario *
scenario_new (void)
{
  Scenario *self = g_new0 (Scenario, 1);

  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    {
      self->marks[i].table = scenario_sections[i].table;
      option_table_defaults (scenario_sections[i].table,
                             scenario_section_options (self, &scenario_sections[i]));
    }
  return self;
}

Scenario *
scenario_copy (const Scenario *source)
{
  Scenario *self = g_new0 (Scenario, 1);

  for (guint i = 0; i < SCENARIO_N_SECTIONS; i++)
    {
      option_table_copy (scenario_sections[i].table,
                         scenario_section_options (source, &scenario_sections[i]),
                         scenario_section_options (self, &scenario_sections[i]));
      option_marks_copy (&source->marks[i], &self->marks[i]);
    }
  self->name = g_strdup (source->name);
  self->strategy = strategy_config_copy (source->strategy);
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
    {
      option_table_clear (scenario_sections[i].table,
                          scenario_section_options (self, &scenario_sections[i]));
      option_marks_clear (&self->marks[i]);
    }
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

static guint
choice_depth (const StrategyConfig *config)
{
  guint depth = 0;

  for (; config != NULL; config = config->inner)
    depth++;
  return depth;
}

const StrategyConfig *
scenario_innermost (const Scenario *self, GString *prefix)
{
  const StrategyConfig *config = self->strategy;

  for (; config != NULL && config->inner != NULL; config = config->inner)
    if (prefix != NULL)
      g_string_append (prefix, ".inner");
  return config;
}

StrategyChoice *
scenario_strategy_choice (const Scenario *self)
{
  StrategyChoice *chain = g_new0 (StrategyChoice, choice_depth (self->strategy));
  guint           i = 0;

  for (const StrategyConfig *c = self->strategy; c != NULL; c = c->inner, i++)
    chain[i] = (StrategyChoice){ c->strategy, c->options, c->inner != NULL ? &chain[i + 1] : NULL };
  return chain;
}
