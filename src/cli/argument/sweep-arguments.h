/* What a sweep is asked for on the command line, made a plan of it. */
#pragma once

#include "cli/argument/common.h"
#include "decide/sweep/sweep.h"

typedef struct
{
  char   **vary; /* --vary */
  char    *rows, *store, *shard;
  gboolean yes, retry_failed;
  guint    shard_at, n_shards; /* read from `shard` */
} SweepArguments;

/* A plan, and all that it points into. */
typedef struct
{
  SweepPlan     plan;
  Vary         *vary;
  GPtrArray    *bases;
  ResultColumn *columns;
} PlannedSweep;

/* FALSE after a message on stderr. */
gboolean sweep_arguments_check (SweepArguments *self, const Common *common);

/* Whether there is anything to run; else a store is only to be printed. */
gboolean sweep_arguments_have_scenarios (const SweepArguments *self, const Common *common);

/* FALSE after diagnostics on stderr. */
gboolean sweep_arguments_plan (const SweepArguments *self, Common *common, PlannedSweep *planned);
void     planned_sweep_clear (PlannedSweep *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PlannedSweep, planned_sweep_clear)

/* Points of this shard. */
guint64 sweep_arguments_n_points (const SweepArguments *self, const SweepPlan *plan);
