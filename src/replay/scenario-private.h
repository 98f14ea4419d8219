/*
 * What the files of the scenario share: one description of its sections, and the life of nested strategy settings.
 */
#pragma once

#include "replay/scenario.h"

/* A section that fills an option struct of the scenario. */
typedef struct
{
  const char       *name;
  const OptionSpec *table;
  gsize             offset, size; /* of the struct in Scenario */
  gsize             mark;         /* offset of its SourceMark in Scenario; 0: none */
  const char *shorthand; /* the key that a bare scalar sets: 'cluster: 4 x dgx-a100'; NULL: none */
} ScenarioSection;

#define SCENARIO_N_SECTIONS 4
extern const ScenarioSection scenario_sections[SCENARIO_N_SECTIONS];

static inline gpointer
scenario_section_options (const Scenario *self, const ScenarioSection *section)
{
  return (gpointer) ((const guint8 *) self + section->offset);
}

/* The options of a strategy; an empty table for one without. */
const OptionSpec *scenario_strategy_table (const Strategy *strategy);

StrategyConfig *strategy_config_new (const Strategy *strategy);
StrategyConfig *strategy_config_copy (const StrategyConfig *source);
void            strategy_config_free (StrategyConfig *self);

/* A scenario with the defaults of all sections and no strategy. */
Scenario *scenario_new (void);

/* Optional options that nobody set: NULL, or a zero without default. They are left out of what is printed. */
gboolean scenario_option_is_unset (const OptionSpec *spec, gconstpointer structure);
