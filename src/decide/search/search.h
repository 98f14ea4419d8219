/*
 * The best configuration: branch and bound over a space (search-space.h).
 *
 * Set: the scenario, what is open of it, what is asked for and allowed. Computed: a bound of every
 * structure from its kernels (search-screen.h), the shortest first; of each that may still beat
 * the best, the bound of every variant from its closed form. Those that remain are tried in the
 * order of an estimate, which is the bound times what simulations of the same strategy have taken
 * over theirs so far: planned for their memory, and simulated when they fit. What a bound rules
 * out is never tried; the answer is proved when nothing with a better bound is left, else it is
 * said how much there is and by how much it could be better. Where structures are many, some are
 * tried before they have their bounds, on which nothing else depends: only where what they found
 * is better than all is it found. At the end the best ones are tried
 * with every other option of their strategy, and with all else that changes nothing that is learned
 * (LEVER_FREE).
 * What is slower than all that is asked for is not simulated to its end (StepLimit).
 *
 * The answer is not the fastest: among those that are hardly slower it is the simplest that a
 * framework runs (search-simple.c).
 *
 * The result depends on neither the machine nor the number of threads.
 */
#pragma once

#include "decide/search/search-space.h"
#include "predict/prediction.h"

/* What is wanted most. */
typedef enum
{
  SEARCH_THROUGHPUT, /* tokens a second, of all GPUs */
  SEARCH_EFFICIENCY, /* tokens a second and GPU */
  SEARCH_COST,       /* tokens a unit of money: needs a price */
  SEARCH_N_OBJECTIVES,
} SearchObjective;

extern const char *const search_objective_names[SEARCH_N_OBJECTIVES + 1];

/* The frameworks that run SCENARIO, with commas between them; NULL: none. Newly allocated. */
typedef char *(*SearchRunners) (const Scenario *scenario, gpointer user);

/* A configuration that was simulated and fits. */
typedef struct _SearchFound SearchFound;

typedef struct
{
  SearchObjective objective;
  double max_hbm, max_host; /* bytes of a GPU and of a node that may be taken; 0: all there are */
  double memory_margin;     /* part of each GPU's memory that stays free */
  double within;            /* that much slower than the fastest: still as good, if simpler */
  SearchRunners runners;    /* called by one thread; NULL: nobody knows who runs what */
  gpointer      runners_user;
  void (*tell) (const SearchFound *found, gpointer user); /* of each; by one thread, or NULL */
  gpointer tell_user;
  double   price_per_gpu_hour;         /* 0: unknown */
  guint64  max_structures;             /* of the space: more are refused; 0: 10 million */
  guint    max_planned, max_simulated; /* 0: 2 000 and 300 */
  double   effort; /* of the search, as a multiple of what takes some ten seconds; 0: 1 */
  guint    n_best; /* 0: 10 */
  guint    n_threads;
  gboolean refine; /* try the other options of the best */
} SearchOptions;

/*
 * How simple a configuration is, the first difference decides: kinds of parallelism beside data
 * ranks (tensor, context, pipeline, expert), with offload to host memory as one more; options that
 * are not their defaults; ranks over which a replica lies.
 */
typedef struct
{
  guint  kinds, changes;
  gint64 ranks;
} SearchComplexity;

struct _SearchFound
{
  SearchComplexity complexity;
  char *runs_on; /* SearchRunners; NULL: on none, or too far behind the fastest to be asked for */

  char       *label;   /* what tells it from others */
  char       *options; /* for the command line: "--strategy fsdp2 --tp 2 ..." */
  Scenario   *scenario;
  Prediction *prediction;
  double      bound;                    /* s: the screen's, of a step */
  double      score;                    /* the less the better: s, GPU-s or money a sequence */
  double      money_per_million_tokens; /* 0: no price */
  gboolean    pareto;                   /* none is better in throughput, memory and GPUs at once */
};

/* One that does not fit, though its bound beats the best. */
typedef struct
{
  char  *label, *options;
  double excess; /* bytes over what there is or may be taken */
  double bound;  /* the least score that it can have */
} SearchMiss;

/* Why configurations dropped out, most first. */
typedef struct
{
  char   *reason;
  guint64 n;
} SearchDrop;

typedef struct
{
  GPtrArray *found; /* SearchFound, the fastest first: at most n_best, the Pareto front and ... */
  const SearchFound *headline; /* ... the answer; NULL: nothing was found */
  gboolean is_sampled; /* strategies run on several frameworks: structures are bounded by the first
                          one's kernels and by how others compare with them on some structures */
  guint64  n_as_good;  /* found, and no slower than SearchOptions.within allows */
  GPtrArray *missed;   /* SearchMiss, the least excess first; at most five */
  GArray    *drops;    /* SearchDrop */
  guint64 n_structures, n_configurations; /* of the space; those that divide, with all variants */
  guint64 n_bounded;                      /* configurations whose own bound was computed */
  guint64 n_cut;       /* dropped by a bound of time, alone or with their structure */
  guint64 n_too_large; /* by a bound of memory, or their plan */
  guint64 n_alike;   /* of n_open: with the bounds of their strategy's defaults, which are tried */
  guint64 n_refused; /* no model, mesh or strategy that goes together */
  guint   n_planned, n_simulated;
  guint   n_failed;    /* of n_simulated: had no end */
  char   *failure;     /* why the first of them had none; NULL: all had */
  guint64 n_hopeless;  /* of n_open: need 5 % more memory than there is by what their like took */
  guint64 n_open;      /* left untried with a better bound than the best, before other options of
                          it were tried: 0: the best is proved */
  guint64 n_unbounded; /* of n_open: nothing is known of them, as their bound was not computed */
  double  open_least;  /* the least score that the others of n_open can have; 0: there is none */
  double  open_gain; /* the best's score, before other options, over that: at most so much better */
  guint64 n_unfit;   /* of n_too_large: by simulation */
  SearchObjective objective; /* that scores are of */
  gboolean        is_cut;    /* PREDICT->replay.stop ended it: more would have been tried */
} SearchResult;

/*
 * SCENARIO may name no strategy. VARY as in search_space_new. NULL after diagnostics, or with ERROR
 * set. The count of PREDICT is told of structures, plans and simulations; when its stop is due, the
 * result is the best so far.
 */
SearchResult *search_run (const Scenario *scenario, const StrategySet *strategies,
                          const SearchVary *vary, guint n_vary, gboolean only,
                          const SearchOptions *options, const PredictOptions *predict,
                          DiagList *diags, GError **error);
void          search_result_free (SearchResult *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SearchResult, search_result_free)

/*
 * What the fastest has over the answer: "1.8 % faster, and no framework is known to run it". NULL
 * where it is the answer, or nothing was found. Newly allocated.
 */
char *search_faster_text (const SearchResult *self);

/*
 * s: none of what was not tried takes less for a step of the fastest's sequences, by its bound and
 * without the options that are tried around the best. NAN: no bound is known, nothing was left, the
 * fastest beats it with these options, or more than time is wanted.
 */
double search_open_step (const SearchResult *self);
