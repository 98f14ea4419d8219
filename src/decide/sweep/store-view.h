/*
 * What is worth looking at in a store: its best runs, the front of throughput and memory, the grid
 * of two settings that vary, throughput over GPUs, why runs failed.
 *
 * The store is read twice; others may add runs in between. What is kept has the bounds below,
 * whatever the number of runs: memory stays flat.
 */
#pragma once

#include "decide/sweep/result-store.h"
#include "decide/sweep/sweep-keeper.h"

#define STORE_VIEW_RUNS    200 /* the best */
#define STORE_VIEW_FRONT   100
#define STORE_VIEW_REASONS 20
#define STORE_VIEW_VALUES  16  /* of a setting on an axis */
#define STORE_VIEW_SIZES   512 /* numbers of GPUs under strategies */

/* A run that was predicted. */
typedef struct
{
  char    *scenario, *strategy, *model, *binding;
  char    *context, *base;
  char    *caveats;  /* of a Prediction; "": none */
  char   **settings; /* strv, by the view's options; "" = the base's own */
  gboolean fits, tight;
  double   step_time_s, tokens_per_s_per_gpu, tokens_per_s, mfu_percent, peak_gib, n_gpus;
  guint64  place; /* in the order of the store */
} StoreRun;

typedef struct
{
  char      *name;   /* "training.micro_batch" or "strategy" */
  GPtrArray *values; /* char *: numbers ascending, else as they came; ends with NULL */
} StoreAxis;

typedef struct
{
  guint64    n, n_misfits, n_failed; /* runs of the context; of N */
  guint64    n_others;               /* of other contexts, which count nowhere here */
  char     **options;                /* strv: the store's */
  GPtrArray *best;                   /* StoreRun: what fits first, the fastest first */
  GArray    *reasons;                /* CountedText: why runs failed, as they came */
  /* what the best is made of; NULL where there is none */
  char *base; /* YAML */
  char *program_version, *profiles, *run_options;
  /* of what fits of one model: tokens of unlike models are unlike goods */
  char      *model;    /* the one with most runs; NULL: nothing fits */
  guint      n_models; /* that there are; 64 at most are told apart */
  GPtrArray *front;    /* StoreRun, by memory */
  GPtrArray *scaling; /* StoreRun: the most tokens/s of each strategy and number of GPUs, by GPUs */
  guint      n_axes;  /* settings that vary; the first two with few values are X and Y: */
  StoreAxis *x, *y;   /* NULL: there are none */
  double    *cells;   /* row by row of Y, the most tokens/s/GPU of each; NAN: nothing fits */
} StoreView;

/* Of the runs of STORE's context, or of all where it has none. NULL with ERROR. */
StoreView *store_view_new (ResultStore *store, GError **error);

/* Of N runs of the context alone, at most STORE_VIEW_RUNS, without what lies between them. */
StoreView *store_view_of (ResultStore *store, const SweepBest *runs, guint n, GError **error);
void       store_view_free (StoreView *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StoreView, store_view_free)
