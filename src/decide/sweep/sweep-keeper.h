/*
 * Who hands out a sweep's points and keeps its results: one a sweep, whatever threads and processes
 * work for it. They talk to a desk, behind which it is, here or on another machine.
 */
#pragma once

#include "base/work-count.h"
#include "decide/sweep/result-store.h"

/* Called from any thread. */
typedef struct _SweepDesk SweepDesk;
struct _SweepDesk
{
  /* The next point to do; FALSE: there is none, or the sweep ends early. */
  gboolean (*next) (SweepDesk *self, guint64 *point);
  /* Whether the run of DIGEST, at POINT, is to be made: it is not in the store. */
  gboolean (*wants) (SweepDesk *self, const char *digest, guint64 point);
  /* Stores what was made. Takes ROW. */
  void (*put) (SweepDesk *self, ResultRow *row);
};

#define SWEEP_N_BEST    5
#define SWEEP_N_REASONS 20 /* told apart; of more, only how many runs they are */

typedef struct
{
  char    digest[65];
  guint64 point;
  double  speed; /* tokens/s/GPU */
} SweepBest;

typedef struct
{
  char   *text;
  guint64 n;
} CountedText;

/* Array of CountedText, at most MOST different ones: what comes after these is not counted. */
GArray *counted_texts_new (void);
void    counted_texts_add (GArray *self, const char *text, guint most);

typedef struct
{
  guint64   n;                  /* points that were handed out and ended */
  guint64   known;              /* of them: were in the store, */
  guint64   equal;              /* or have the settings of another of this sweep */
  guint64   misfits, failed;    /* of N */
  guint64   others;             /* runs of the store that other versions or profiles made */
  guint     n_best;             /* of what fits, */
  SweepBest best[SWEEP_N_BEST]; /* the fastest first; equals by their point */
  GArray   *reasons;            /* CountedText of new failures, as they came */
  guint64   warned;             /* new runs with a warning, */
  char     *warning;            /* the first one's */
} SweepSummary;

typedef struct _SweepKeeper SweepKeeper;

/*
 * Points FIRST, FIRST + STRIDE, ... below N. STORE has its context and outlives SELF, as COLUMNS,
 * those of the store, and COUNT (NULL: none) do. No further point is handed out when COUNT's stop
 * is due.
 */
SweepKeeper *sweep_keeper_new (ResultStore *store, const ResultColumn *columns, guint64 first,
                               guint64 stride, guint64 n, WorkCount *count);
void         sweep_keeper_free (SweepKeeper *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SweepKeeper, sweep_keeper_free)

SweepDesk *sweep_keeper_desk (SweepKeeper *self);

/*
 * When all work is done, and ended early: the next POINT that was never handed out, as long as the
 * store may have its run from before. FALSE: there is none.
 */
gboolean sweep_keeper_left (SweepKeeper *self, guint64 *point);

/* When all work is done. FALSE with ERROR when it ended early. */
gboolean sweep_keeper_finish (SweepKeeper *self, SweepSummary *summary, GError **error);
void     sweep_summary_clear (SweepSummary *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SweepSummary, sweep_summary_clear)
