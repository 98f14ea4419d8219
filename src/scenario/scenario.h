/*
 * A scenario: cluster, model, training, mesh and strategy with all their options, from a YAML file,
 * the command line or a table's row.
 *
 *   name: llama-3-8b on 4 x a40
 *   cluster: { name: 4 x a40x8-nvlink-pairs }
 *   model: { config: llama-3-8b }
 *   training: { seq_len: 2048, micro_batch: 1 }
 *   mesh: { shard: all }
 *   memory: { allocator: caching }
 *   collective: { algorithm: auto }
 *   replay: { granularity: layer }
 *   strategy: { name: fsdp2, prefetch: 1 }
 *
 * With `rl: { algorithm: grpo }` the step is one of reinforcement learning (rl-config.h), whose
 * responses are made as `generation: { tp: 2 }` and `serving: { max_sequences: 512 }` say.
 *
 * `inner:` in the strategy section nests another strategy section. A comparison file holds the same
 * keys and `scenarios:`, a list of maps that override them (`name` labels each); `strategies:` is
 * short for a list of scenarios that differ in the strategy, and `models:` for one that differs in
 * the model; given both, every model runs under every strategy. A list of values in the place of a
 * single one (`micro_batch: [1, 2]`) multiplies as well.
 */
#pragma once

#include "base/config/csv.h" /* for the layers above: tables of scenarios and results */
#include "base/config/printable.h"
#include "base/config/suggest.h" /* hints about columns and words */
#include "base/file/input-files.h"
#include "base/file/layout.h" /* the same: the version that results carry */
#include "base/file/output.h" /* the same: what they write */
#include "base/file/temporary.h"
#include "base/work-count.h"
#include "cost/collective/library/config.h"
#include "cost/collective/library/measured.h"
#include "driver/policy/strategy.h"
#include "hardware/cluster/cluster.h"
#include "hardware/profile/hardware-figure.h"
#include "model/step/workload.h"
#include "scenario/memory-config.h"
#include "scenario/replay-config.h"
#include "scenario/rl-config.h"
#include "serve/generation-options.h"
#include "serve/serving-options.h"
#include "strategy/registry.h"

typedef struct _StrategyConfig StrategyConfig;
struct _StrategyConfig
{
  OptionMarks     marks; /* of its options; the section: where it was named */
  const Strategy *strategy;
  gpointer        options;   /* strategy->options_size bytes, owned */
  StrategyConfig *inner;     /* owned, NULL */
  gboolean        shard_set; /* its own option 'shard' was given: 'mesh.shard' must then agree */
};

#define SCENARIO_MAX 10000u /* of one file, or of one command line */

#define SCENARIO_N_SECTIONS \
  10 /* with an option table of their own; the strategy's depends on its name */

typedef struct
{
  char             *name;
  ClusterOptions    cluster;
  ModelOptions      model;
  TrainingOptions   training;
  MeshOptions       mesh;
  MemoryConfig      memory;
  CollectiveConfig  collective;
  ReplayConfig      replay;
  GenerationOptions generation;
  ServingOptions    serving;
  RlConfig          rl;
  StrategyConfig   *strategy;
  SourceMark        strategy_mark;              /* for diagnostics found later */
  OptionMarks       marks[SCENARIO_N_SECTIONS]; /* the same of the sections: scenario_marks */
  char             *base_dir;                   /* of the file, for relative paths; NULL */
} Scenario;

void scenario_free (Scenario *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Scenario, scenario_free)

/*
 * Where the options of TABLE (cluster_options, ...) were set: the section, where it stands in a
 * file, and every key of it.
 */
const OptionMarks *scenario_marks (const Scenario *self, const OptionSpec *table);

/* The struct that TABLE (cluster_options, ...) fills; NULL for another table. */
gconstpointer scenario_options (const Scenario *self, const OptionSpec *table);

/* The cluster of SELF, whose relative paths begin in its folder. As cluster_new. */
Cluster *scenario_cluster_new (const Scenario *self, ProfileSet *profiles, DiagList *diags);

/* The type of node in the cluster's name, "4 x TYPE" or "TYPE"; NULL: it has no name. */
const char *scenario_node_type (const Scenario *self);

/* A deep copy. */
Scenario *scenario_copy (const Scenario *source);

/*
 * Whether KEY names a figure of the hardware, "nic.bandwidth": set, it is one of those of the
 * option cluster.figure, beside what that has already.
 */
gboolean scenario_key_is_figure (const char *key);

/* "--set section.key=value" and the like; applied after the file, to every scenario of it. */
typedef struct
{
  const char *key; /* "training.micro_batch" */
  const char *value;
  const char *origin; /* "--set", "--micro-batch": for messages */
} ScenarioOverride;

/* Where SELF stands: "--set cluster.nodes=2", "--micro-batch 4". */
SourceMark scenario_override_mark (const ScenarioOverride *self);

/*
 * STRATEGIES: the built-in ones when NULL. Loads FILE (NULL: only OVERRIDES) with all its
 * scenarios: at least one Scenario* in the array (free func set), or NULL after diagnostics: every
 * error of the file and of the overrides in one pass.
 */
GPtrArray *scenario_load (const StrategySet *strategies, const char *file,
                          const ScenarioOverride *overrides, guint n_overrides, DiagList *diags);

/* The same of scenarios that need not name a strategy, which then is NULL: for who chooses it. */
GPtrArray *scenario_load_open (const StrategySet *strategies, const char *file,
                               const ScenarioOverride *overrides, guint n_overrides,
                               DiagList *diags);

/*
 * The same of the text of a file, which messages call NAME and whose relative paths begin in NAME's
 * folder.
 */
GPtrArray *scenario_load_text (const StrategySet *strategies, const char *name, const char *text,
                               const ScenarioOverride *overrides, guint n_overrides,
                               DiagList *diags);

/* The same of scenarios that need not name a strategy. */
GPtrArray *scenario_load_text_open (const StrategySet *strategies, const char *name,
                                    const char *text, const ScenarioOverride *overrides,
                                    guint n_overrides, DiagList *diags);

/* What a file in another's words says of an option, and where. */
typedef struct
{
  const char *key, *value; /* "training.micro_batch" */
  SourceMark  mark;
} ScenarioGiven;

/*
 * The same of GIVEN, which was read of FILE: that gives the scenario its name, and relative paths
 * begin in its folder. OPEN: it need not name a strategy.
 */
GPtrArray *scenario_load_given (const StrategySet *strategies, const char *file,
                                const ScenarioGiven *given, guint n_given,
                                const ScenarioOverride *overrides, guint n_overrides, gboolean open,
                                DiagList *diags);

/*
 * A copy of SOURCE with OVERRIDES laid over it, as scenario_load lays them over a file. NULL after
 * diagnostics. STRATEGIES as there.
 */
Scenario *scenario_with (const Scenario *source, const StrategySet *strategies,
                         const ScenarioOverride *overrides, guint n_overrides, DiagList *diags);

/*
 * A copy of SOURCE on N_NODES of TYPE (NULL: as its cluster's parts say), where SITE_NODES is not
 * NULL at these sites. ORIGIN: who asks. NULL after diagnostics.
 */
Scenario *scenario_on_nodes (const Scenario *source, const StrategySet *strategies,
                             const char *type, guint n_nodes, const char *site_nodes,
                             const char *origin, DiagList *diags);

/*
 * SELF's strategy inside all others, which shards; NULL: there is none. PREFIX ("strategy"; may be
 * NULL) gets the ".inner" of each step.
 */
const StrategyConfig *scenario_innermost (const Scenario *self, GString *prefix);

/*
 * The chain of SELF's strategies, outermost first: one block, newly allocated (g_free), which
 * refers to SELF.
 */
StrategyChoice *scenario_strategy_choice (const Scenario *self);

/*
 * All that is used, defaults included, as YAML that scenario_load reads back to the same scenario.
 * Newly allocated.
 */
char *scenario_print (const Scenario *self);

/* The same for a file in the folder DIR: names of files beside SELF's lead to them from there. */
char *scenario_print_in (const Scenario *self, const char *dir);

/* An option that a scenario uses, defaults included. */
typedef struct
{
  const char       *section; /* "training", "strategy", "strategy.inner", ...; interned */
  const OptionSpec *spec;
  char             *value; /* as text */
  gboolean          idle;  /* known to have no effect; only resolved_settings can tell */
} ScenarioSetting;

/* What the name of a strategy stands under: it comes before the strategy's options. */
extern const OptionSpec scenario_strategy_name;

/*
 * Every option that is set, in the order of scenario_print: newly allocated array of
 * ScenarioSetting that frees its values.
 */
GArray *scenario_settings (const Scenario *self);

/*
 * The option tables by section name ("cluster", "model", "training", "mesh", "memory",
 * "collective", "replay"); NULL for others. For help, docs and tables.
 */
const OptionSpec *scenario_section_table (const char *section);

/* scenario_print of the scenario NAME (may be NULL) with SETTINGS. Newly allocated. */
char *scenario_print_settings (const char *name, const GArray *settings);

/*
 * What a short name means: "cluster" is cluster.name, "micro_batch" is training.micro_batch, the
 * key of the first section that has one. Newly allocated; NULL: it is none, as "name", which is
 * the scenario's.
 */
char *scenario_full_key (const char *word);

/* All of them: newly allocated array of char *, constant. */
GPtrArray *scenario_words (void);

/* KEY where it has a section or is short for nothing, else what it is short for; newly allocated */
char *scenario_whole_key (const char *key);

/*
 * The other way: what results call the option KEY, "tp" for "mesh.tp". Any --set and --vary takes
 * it; of the strategy's own, which sections have not ("compression"), --set does. KEY itself where
 * it means another option without its section, as strategy.shard. Newly allocated.
 */
char *scenario_short_key (const char *key);

/* KEY on a command line: "--tp", "--set strategy.shard", "--figure NAME". Newly allocated. */
char *scenario_option_word (const char *key);

/*
 * The same with VALUE, as a shell reads it: "--tp 2", "--compile=true", "--set strategy.shard=2".
 * All that is printed for people to paste is made by this. Newly allocated.
 */
char *scenario_option_text (const char *key, const char *value);

/* Stable hash of everything in scenario_print, hexadecimal. Newly allocated. */
char *scenario_digest (const Scenario *self);

/*
 * Hash of all that a prediction of it depends on, hexadecimal: all but its name, and the contents
 * of the files that its options name, which FILES keeps. Newly allocated.
 */
char *scenario_key (const Scenario *self, InputFiles *files);
