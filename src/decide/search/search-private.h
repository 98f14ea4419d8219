/* The parts of a search: what they share. */
#pragma once

#include "decide/search/search-screen.h"
#include "decide/search/search.h"
#include "driver/policy/pipeline.h"

#define SEARCH_PIPELINES    (PIPELINE_DUALPIPE + 1)
#define SEARCH_CONTEXTS     (CONTEXT_USP + 1)
#define SEARCH_ALL_CONTEXTS G_MAXUINT

/* A structure and the least score that any variant of it can have. */
typedef struct
{
  guint64  index;
  double   least;
  gboolean expanded;
} Node;

typedef struct
{
  guint64          structure;
  guint            variant;
  guint            pipeline; /* PipelineKind */
  double           bound;    /* s a step */
  double           score;    /* the same as a score */
  SearchComplexity complexity;
  guint64          low; /* bytes of a GPU */
  double           effort;
} Candidate;

/* What a thread that bounds structures has, and keeps from one to the next. */
typedef struct
{
  ProfileSet *profiles;
  ExpectSums *sums;  /* what closed forms found out */
  GHashTable *alike; /* text of a structure without its mesh -> ResolvedScenario, the first one */
  GHashTable
      *groups; /* of variants -> ResolvedScenario, the first one, where all share a cluster */
} SearchKit;

/* What simulations took over the screen's bounds. */
typedef struct
{
  double time, memory; /* sums of ratios */
  guint  n_time, n_memory;
} Ratio;

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const SearchOptions  *options;
  const PredictOptions *predict;
  SearchSpace          *space;
  SearchScreen         *screen;
  ProfileSet           *profiles;
  GAsyncQueue          *idle; /* SearchKit: one thread at a time uses one */
  ModelShape            shape;
  guint64               contexts[SEARCH_CONTEXTS]; /* a structure of least ranks of each kind that
                                                      an axis sets; G_MAXUINT64: there is none */
  guint                 n_gpus, gpus_per_node;
  const char           *architecture; /* of the scenario's GPUs, interned; NULL: unknown */
  guint64               hbm;          /* bytes of the smallest GPU */
  GHashTable           *work;         /* structure without pipeline -> ScreenedCompute */
  GArray               *nodes;        /* Node, the least score first */
  GArray               *candidates;   /* Candidate */
  GArray               *alike;        /* double: scores of what only the best are refined to */
  Ratio *ratios; /* [2 variants + 1][SEARCH_PIPELINES]: own, of families by their base, of all */
  GHashTable *effects; /* text of effect_key -> double: a step with the change over that without */
  GHashTable *reasons; /* text without numbers -> SearchDrop* */
  double      effort;  /* spent */
  guint       n_glanced;    /* simulations before structures were screened */
  double      best;         /* score of the best; INFINITY: none yet */
  double      least_memory; /* bytes of a GPU, of what was found; INFINITY: none yet */
  SearchResult *result;
} Search;

static inline Node *
node_at (const Search *self, guint i)
{
  return &g_array_index (self->nodes, Node, i);
}

/* Whether the search ends here, asked by who leaves something out when it does. */
static inline gboolean
search_is_over (const Search *self)
{
  return stop_cuts (self->predict->replay.stop);
}

/* As a multiple of the usual. */
static inline double
search_effort (const Search *self)
{
  return self->options->effort > 0 ? self->options->effort : 1;
}

/* Of jobs that nobody counts, which end when the search does. */
static inline WorkCount
search_jobs (const Search *self)
{
  return (WorkCount){ .stop = self->predict->replay.stop };
}

/* ---- search-structures.c --------------------------------------------------------------------- */

SearchKit *search_borrow_kit (const Search *self);
void       search_return_kit (const Search *self, SearchKit *kit);
void       search_kit_free (SearchKit *kit);

/*
 * SCENARIO of STRUCTURE under GROUP of the variants, WHOLE: on one stage; on the cluster, and with
 * what was checked, of one that differs in its mesh alone. KNOWN as in resolved_on_mesh. NULL after
 * diagnostics.
 */
ResolvedScenario *search_kit_resolve (SearchKit *kit, const Search *self, const Scenario *scenario,
                                      guint64 structure, guint group, gboolean whole,
                                      const GPtrArray *known, DiagList *diags);

/* What STRUCTURE sets KEY to; NULL or FALLBACK: it does not. */
const char *search_text (const Search *self, guint64 structure, const char *key);
gint64      search_number (const Search *self, guint64 structure, const char *key, gint64 fallback);
gint64      search_gpus (const Search *self, guint64 structure);

/* What a second on N_GPUS weighs under the objective. */
double search_weight (const Search *self, double n_gpus);
double search_sequences (const ResolvedScenario *resolved); /* of a step */
double search_memory (const Search *self);                  /* bytes of a GPU that may be taken */

/* N configurations dropped out for REASON (NULL: nobody said), which is copied. */
void search_count_drop (Search *self, const char *reason, guint64 n);

/* What SCENARIO computes on one stage in one micro-step; of one that cannot be, 0. */
ScreenedCompute search_work (const Search *self, const Scenario *scenario);

/* Structures below N that divide, with the least score of each, in its order. FALSE after
 * diagnostics: there are none. */
gboolean search_list_nodes (Search *self, guint64 n, DiagList *diags);

/* The same of the least that each of them can take. */
void search_bound_nodes (Search *self);

/* ---- search-contexts.c: kinds of context ranks ----------------------------------------------- */

/* Drops the structures whose kind cannot be, or does no better than another one. */
void search_choose_contexts (Search *self);

/*
 * A bit for each kind that a framework runs under VARIANT's strategy on a mesh of the space; all
 * where no framework runs this without context ranks, which then none refuses. Rings, where none is
 * run.
 */
guint search_context_kinds (const Search *self, const SearchVariant *variant);

/* Whether VARIANT's kinds have that of STRUCTURE; and why not, newly allocated. */
gboolean search_context_is_run (const Search *self, guint64 structure,
                                const SearchVariant *variant);
char    *search_context_refusal (const Search *self, guint64 structure);

/* Whether CHANGE of SCENARIO is none of kinds, or to one that the space has not and that is run. */
gboolean search_context_may_become (const Search *self, const Scenario *scenario,
                                    const ScenarioOverride *change);

/* Drops the structures whose kind no variant has. */
void search_drop_contexts (Search *self);

/* ---- search-software.c ----------------------------------------------------------------------- */

/*
 * Settles which kernels the variants run, and groups those that run the same: of what is open that
 * which takes the least time on the first structure, if a framework runs it where one runs what was
 * there before.
 */
void search_settle_software (Search *self);

/* ---- search-simple.c: what is as good as the fastest, and simpler ---------------------------- */

SearchComplexity search_complexity (const Search *self, const Scenario *scenario,
                                    const SearchVariant *variant, gboolean offloads);
gint             search_compare_complexity (const SearchComplexity *a, const SearchComplexity *b);

/* Whether a framework runs SCENARIO, as far as anybody knows. */
gboolean search_is_run (const Search *self, const Scenario *scenario);

/* What is slower than that is of no use, however simple. */
double search_limit (const Search *self);

/* Whether a configuration of at least SCORE may be the fastest, or the answer. */
gboolean search_may_matter (const Search *self, double score, const SearchComplexity *complexity);

/* Of SearchFound pointers: the fastest first. */
gint search_compare_found (gconstpointer a, gconstpointer b);

/* How many are listed. */
guint search_n_best (const SearchOptions *options);

/* FOUND is one more. */
void search_add_headline (Search *self, SearchFound *found);

/* ---- search-expand.c: variants of structures become candidates ------------------------------- */

/* The next structures from *NEXT on that may beat the best; FALSE: there are none. */
gboolean search_expand_next (Search *self, guint *next);

/*
 * Structures from all over the order, so that there soon is a best one: the first ones are those of
 * least work, which take most memory. PIPED: only those with stages, or only those without.
 */
void search_expand_sample (Search *self, gboolean piped);

/* ---- search-estimate.c: what a candidate probably takes -------------------------------------- */

Ratio *search_ratios_new (const Search *self);

/* CANDIDATE took SECONDS a step and BYTES of a GPU; 0: nobody knows. */
void search_learn (Search *self, const Candidate *candidate, double seconds, double bytes);

double search_probable (const Search *self, const Candidate *candidate);        /* score */
double search_probable_memory (const Search *self, const Candidate *candidate); /* bytes of a GPU */

/* Whether it needs much more memory than there is; whether it surely fits. */
gboolean search_is_hopeless (const Search *self, const Candidate *candidate);
gboolean search_is_sure (const Search *self, const Candidate *candidate);

/* ---- search-tries.c: candidates are planned and simulated ------------------------------------ */

#define SEARCH_TRIES 16 /* configurations that are planned and simulated at a time, at most */

/* At most MOST at a time. FALSE: there is nothing left to try, or the budget is spent. */
gboolean search_try_some (Search *self, guint most);

/* Whether the budget is: nothing more is tried. */
gboolean search_is_spent (const Search *self);

/* Bytes that PREDICTION takes over what there is and what may be taken; at most 0: it fits. */
double search_excess (const Search *self, const Prediction *prediction);

/* "--tp 2" of OPTION, as a word of the command line. */
void search_append_word (GString *out, const ScenarioOverride *option);

/* All but BOUND (s) and COMPLEXITY are taken. */
SearchFound *search_add_found (Search *self, char *label, char *options, Scenario *scenario,
                               Prediction *prediction, double bound, SearchComplexity complexity);

/* ---- search-refine.c: the other options of the best ------------------------------------------ */

/* Tries them, and sorts what was found. */
void search_refine (Search *self);

/* ---- search-best.c: what is said of what was found ------------------------------------------- */

void search_keep_best (Search *self);   /* the best ones and the Pareto front */
void search_keep_misses (Search *self); /* those that would have been better */
void search_count_open (Search *self);  /* what was left, and by how much it could be better */
void search_list_drops (Search *self);  /* the most frequent reasons */
