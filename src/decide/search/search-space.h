/*
 * The space of a search: what may be chosen, and which choices go together.
 *
 * A configuration is a structure and a variant. A structure sets options of the sections (cluster,
 * training, mesh): one value of each axis, so that ranks and the global batch divide. A variant is
 * a strategy with its options. Both come from the option tables and the registry: what the
 * scenario sets stays, what it leaves open is an axis. Structures are counted and decoded, not
 * stored.
 */
#pragma once

#include "decide/explore/levers.h"

/* A choice: one or more options, set together. */
typedef struct
{
  GArray *options; /* ScenarioOverride; strings interned */
  gint64  degree;  /* by how much it divides the ranks into replicas: tp, cp, pp; else 1 */
  gint64  batch;   /* micro_batch; 0: it does not set it */
} SearchChoice;

typedef struct
{
  gboolean   pipeline;  /* it sets nothing but how layers lie on stages */
  gboolean   mesh;      /* it sets nothing but options of the mesh */
  gboolean   recompute; /* it sets nothing but what is recomputed */
  gboolean   cluster;   /* it sets what the cluster, or which software, is */
  GPtrArray *choices;   /* SearchChoice */
} SearchAxis;

typedef struct
{
  Scenario       *scenario; /* the space's under its strategy, owned */
  Scenario       *in_force; /* the same with what its framework implies, owned; NULL: the same */
  StrategyChoice *choice;   /* that for closed forms, outermost first */
  GArray         *options;  /* ScenarioOverride that make it, strategy.name first; interned */
  GArray         *software; /* the same of what was settled of its kernels (search-software.c) */
  guint           contexts; /* a bit for each kind of context ranks that may be tried with it */
  guint           group;    /* of variants that the same software runs: they compute the same */
  guint           base;     /* index of the variant that it is one change away from; itself: none */
} SearchVariant;

typedef struct
{
  const Scenario    *scenario; /* not owned; may name no strategy */
  const StrategySet *strategies;
  GPtrArray         *axes;         /* SearchAxis */
  GPtrArray         *variants;     /* SearchVariant */
  guint              n_groups;     /* of variants, from 0; 1 until somebody finds more */
  GHashTable        *varied;       /* set of keys that the user lets vary */
  gboolean           only;         /* nothing else is open */
  gint64             fixed_degree; /* of what no axis sets, as SearchChoice has it */
} SearchSpace;

/* What the user lets vary: values of one key, "mesh.tp" and "1", "2", "4". */
typedef struct
{
  const char        *key;
  const char *const *values;
  SourceMark         mark;
} SearchVary;

/*
 * The space around SCENARIO on N_GPUS, GPUS_PER_NODE of them a node, of a model of N_LAYERS and
 * N_EXPERTS. Where VARY (may be empty) names a key, its values are the axis; with ONLY nothing else
 * is one. SCENARIO and STRATEGIES (NULL: the built-in ones) outlive the result. NULL after
 * diagnostics: a key or a value that is none.
 */
SearchSpace *search_space_new (const Scenario *scenario, const StrategySet *strategies,
                               const SearchRoom *room, const SearchVary *vary, guint n_vary,
                               gboolean only, DiagList *diags);
void         search_space_free (SearchSpace *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SearchSpace, search_space_free)

/* Whether nobody set the option KEY ("training.compile"), nor lets it vary: it may be chosen. */
gboolean search_space_is_open (const SearchSpace *self, const char *key);

/*
 * Lays SOFTWARE (ScenarioOverride) over VARIANT, with what its framework in PROFILES implies on
 * GPUs of ARCHITECTURE; NULL: those of its cluster, which is made to see them.
 */
void search_space_set_software (const SearchSpace *self, SearchVariant *variant,
                                const GArray *software, const char *architecture,
                                ProfileSet *profiles);

/* The first variant of GROUP. */
const SearchVariant *search_space_group (const SearchSpace *self, guint group);

/* Combinations of the choices of all axes, whether they divide or not. */
guint64 search_space_n_structures (const SearchSpace *self);

/* The choice of AXIS in STRUCTURE. */
const SearchChoice *search_space_choice (const SearchSpace *self, guint64 structure, guint axis);

/* STRUCTURE without its choices of pipeline axes: equal for structures that compute the same. */
guint64 search_space_without_pipeline (const SearchSpace *self, guint64 structure);

/* The same without what is recomputed: equal for structures whose layers are the same. */
guint64 search_space_without_recompute (const SearchSpace *self, guint64 structure);

/* The same without those of axes of the mesh: equal for structures that train alike. */
guint64 search_space_without_mesh (const SearchSpace *self, guint64 structure);

/* Whether all structures have the same cluster. */
gboolean search_space_has_one_cluster (const SearchSpace *self);

/* Sequences that all data ranks of STRUCTURE take at a time; 0: it does not divide N_GPUS. */
gint64 search_space_once (const SearchSpace *self, guint64 structure, gint64 n_gpus,
                          gint64 micro_batch);

/* Whether STRUCTURE divides N_GPUS and, where there is one, GLOBAL_BATCH. */
gboolean search_space_divides (const SearchSpace *self, guint64 structure, gint64 n_gpus,
                               gint64 global_batch, gint64 micro_batch);

/*
 * The scenario of STRUCTURE under VARIANT (NULL: the first one). NULL after
 * diagnostics.
 */
Scenario *search_space_scenario (const SearchSpace *self, guint64 structure,
                                 const SearchVariant *variant, DiagList *diags);

/* "fsdp2 tp=4 micro_batch=2": what tells a configuration from others. Newly allocated. */
char *search_space_label (const SearchSpace *self, guint64 structure, const SearchVariant *variant);
