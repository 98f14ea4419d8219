/*
 * What the files of the scenario share: one description of its sections, and the life of nested
 * strategy settings.
 */
#pragma once

#include "scenario/scenario.h"

/* A section that fills an option struct of the scenario. */
typedef struct
{
  const char       *name;
  const OptionSpec *table;
  gsize             offset, size; /* of the struct in Scenario */
  const char *shorthand; /* the key that a bare scalar sets: 'cluster: 4 x dgx-a100'; NULL: none */
  gboolean    is_named;  /* and that key names what the section is */
  gboolean    by_set;    /* its keys are no options of the command line, which has --set */
  gboolean    if_given;  /* told of scenarios that say something of it only */
} ScenarioSection;

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

/*
 * Optional options that nobody set: NULL, or a zero without default. They are left out of what is
 * printed.
 */
gboolean scenario_option_is_unset (const OptionSpec *spec, gconstpointer structure);

/* ---- loading --------------------------------------------------------------------------------- */

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
  GHashTable *picks; /* lists of values (ConfigNode) to the one of each that this scenario has */
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

/* ---- grids: scenario-grid.c ------------------------------------------------------------------ */

/*
 * What a comparison file multiplies: its entries of `scenarios`, `models` and `strategies`, and the
 * lists of values that keys have (`micro_batch: [1, 2]`) in these entries or in the file itself.
 * The last list of the file changes fastest.
 */
typedef struct _ScenarioGrid ScenarioGrid;

/*
 * Of the file with the map ROOT (NULL: none). A list under a key that one of OVERRIDES sets stands
 * for one value: the command line wins. Lists that are empty or make more than SCENARIO_MAX
 * scenarios are diagnosed and left out.
 */
ScenarioGrid *scenario_grid_new (const ConfigNode *root, const ScenarioOverride *overrides,
                                 guint n_overrides, DiagList *diags);
void          scenario_grid_free (ScenarioGrid *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ScenarioGrid, scenario_grid_free)

guint scenario_grid_length (const ScenarioGrid *self);

/* The entry of AXIS that scenario I has; NULL where the file has no such list. */
const ConfigNode *scenario_grid_entry (const ScenarioGrid *self, guint i, ScenarioAxis axis);

/*
 * "micro_batch=2, tp=4": what I has of the lists of values in its entry of AXIS (AXIS_N: in the
 * file itself). NULL: nothing.
 */
char *scenario_grid_label (const ScenarioGrid *self, guint i, ScenarioAxis axis);

/* All that I has of lists of values, for ScenarioDraft. */
GHashTable *scenario_grid_picks (const ScenarioGrid *self, guint i);

/* The keys of one scenario or, with TOP, of a file: then its lists are passed over. */
void draft_read_keys (ScenarioDraft *draft, const ConfigNode *node, gboolean top, DiagList *diags);
void draft_read_section (ScenarioDraft *draft, const ScenarioSection *section,
                         const ConfigNode *node, DiagList *diags);
void draft_read_strategy (ScenarioDraft *draft, const ConfigNode *node, DiagList *diags);
void draft_set (ScenarioDraft *draft, const char *key, const char *value, const SourceMark *mark,
                DiagList *diags);
void draft_override (ScenarioDraft *draft, const ScenarioOverride *override, DiagList *diags);

/* 1 for a key that names the strategy, 2 its inner one, ...; 0 for one that sets anything else. */
guint scenario_key_depth (const char *key);

/*
 * Puts the strategy NAME with its defaults in the place of *SLOT; NULL, and FALSE after a
 * diagnostic, when there is none.
 */
gboolean scenario_replace_strategy (const StrategySet *strategies, StrategyConfig **slot,
                                    const char *name, const SourceMark *mark, DiagList *diags);

void draft_mark_seen (ScenarioDraft *draft, const ScenarioSection *section);

/* Where the options of SECTION were set. */
OptionMarks *draft_marks (const ScenarioDraft *draft, const ScenarioSection *section);

void scenario_diagnose_key (const char *key, gboolean top, const SourceMark *mark, DiagList *diags);
