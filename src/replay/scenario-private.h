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

#define SCENARIO_N_SECTIONS 7
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

/* ---- loading ------------------------------------------------------------------------------------------------------ */

typedef enum
{
  SEEN_CLUSTER = 1 << 0,
  SEEN_MODEL = 1 << 1,
  SEEN_STRATEGY = 1 << 2, /* named, though perhaps an unknown one */
  SEEN_SEQ_LEN = 1 << 3,  /* the one key without default, though perhaps with a bad value */
} ScenarioSeen;

/* A scenario on its way, and which of its necessary sections were given. */
typedef struct
{
  Scenario          *scenario;
  guint              seen; /* ScenarioSeen */
  const StrategySet *strategies;
} ScenarioDraft;

/* Lists of a comparison file, each a dimension of the product. */
typedef enum
{
  AXIS_SCENARIOS,
  AXIS_MODELS,
  AXIS_STRATEGIES,
  AXIS_N,
} ScenarioAxis;

extern const char *const scenario_axis_names[AXIS_N + 1];
ScenarioAxis             scenario_find_axis (const char *key); /* AXIS_N: no list */
const ScenarioSection   *scenario_find_section (const char *name);

/* The keys of one scenario or, with TOP, of a file: then its lists are passed over. */
void draft_read_keys (ScenarioDraft *draft, const ConfigNode *node, gboolean top, DiagList *diags);
void draft_read_section (ScenarioDraft *draft, const ScenarioSection *section,
                         const ConfigNode *node, DiagList *diags);
void draft_read_strategy (ScenarioDraft *draft, const ConfigNode *node, DiagList *diags);
void draft_override (ScenarioDraft *draft, const ScenarioOverride *override, DiagList *diags);

/* 1 for an override that names the strategy, 2 its inner one, ...; 0 for one that sets anything else. */
guint scenario_override_depth (const ScenarioOverride *override);

/* Puts the strategy NAME with its defaults in the place of *SLOT; NULL, and FALSE after a diagnostic, when there is none. */
gboolean scenario_replace_strategy (const StrategySet *strategies, StrategyConfig **slot,
                                    const char *name, const SourceMark *mark, DiagList *diags);

void draft_mark_seen (ScenarioDraft *draft, const ScenarioSection *section, const SourceMark *mark);

/* What the type of KEY of SECTION, read at MARK, does not say of its value. Remembers the MARK of a mesh key. */
void draft_check_key (const ScenarioDraft *draft, const ScenarioSection *section, const char *key,
                      const SourceMark *mark, DiagList *diags);
void scenario_diagnose_key (const char *key, gboolean top, const SourceMark *mark, DiagList *diags);
