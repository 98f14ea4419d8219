/*
 * Measured training runs: a table with one figure of one run a row.
 *
 *   id,nodes,gpus_per_node,gpu,intra,nics,nic,arch,...,strategy,shard,tp,...,metric,value
 *   mpt-0099,16,8,a100-sxm-40,nvlink3-switch,8,roce-200,mpt,...,fsdp1,all,1,...,mfu_percent,37.6
 *
 * Every key of the sections of a scenario (cluster, model, training, mesh, memory, collective,
 * replay) may be a column; an empty cell leaves the option at its default. Further columns:
 *
 *   id         what the run is called; without its trailing numbers ("-0099", "-0099-r2") the
 *              source that errors are summarised by
 *   cluster    another name of `name`: a profile or "4 x dgx-a100"
 *   strategy   its name; zero++ is another name of zeropp
 *   shard      mesh.shard, or grad-op: all ranks, parameters stay gathered after the forward pass
 *              (SHARD_GRAD_OP)
 *   options    further ones, separated by spaces or semicolons: "async_tp=1"
 *   metric, value   what was measured, in the unit that the metric's name says
 *   use        calibrate: constants may have been set with this row, so that it counts in no
 *              summary; test where absent
 *   all_reduce_bus_gbs, all_gather_bus_gbs, reduce_scatter_bus_gbs, ...
 *              the bus bandwidth that the run measured of its own network beforehand, GB/s as
 *              nccl-tests counts it: 1 GiB over all GPUs
 *   source, unit, remark   for the reader
 *
 * A table of ids and such bandwidths without `metric` holds measured networks alone. Its rows are
 * not predicted.
 *
 * A table without `granularity` is replayed by whole passes, which is fastest. What a framework's
 * release implies and no column says (when gradients are reduced, how pipeline stages send) comes
 * from `framework`.
 */
#pragma once

#include "evidence/tables/training-goals.h"
#include "predict/prediction.h"

typedef enum
{
  METRIC_TOKENS_PER_S_PER_GPU,
  METRIC_STEP_TIME_S,
  METRIC_MFU_PERCENT,
  METRIC_HARDWARE_TFLOPS_PER_GPU,
  METRIC_FITS, /* 1: it ran, 0: out of memory */
  METRIC_PEAK_ALLOCATED_GIB,
  METRIC_PEAK_RESERVED_GIB,
  METRIC_PEAK_DEVICE_GB, /* as nvidia-smi says, in thousands of its MiB */
  METRIC_PEAK_GIB,       /* kind not said: taken as allocated */
  METRIC_N,
} TrainingMetric;

/* S of the columns of measured networks. */
#define TRAINING_MEASURED_SIZE "1GiB"

const char *training_metric_name (TrainingMetric metric); /* "step_time_s" */

/* How fast a run is, in one or another way: what runs can be ranked by. */
gboolean training_metric_is_speed (TrainingMetric metric);

/* Whether less of it is better. */
gboolean training_metric_is_time (TrainingMetric metric);

/* The strings belong to the table. */
typedef struct
{
  const char    *id, *source; /* source: of the id */
  TrainingMetric metric;      /* METRIC_N: a word that is none */
  const char    *metric_name; /* as the table has it */
  double         value;       /* NAN: no number */
  gboolean       calibrates;
  const char    *unmodelled;    /* NULL, or what is wrong with its words: it is not predicted */
  GArray        *settings;      /* ScenarioOverride: the scenario */
  const char    *configuration; /* interned: rows with the same are one run */
  const char    *layout_group;  /* interned: rows with the same differ in the model's layout only */
  const char    *model_group;   /* interned: the same model, sequences and cluster */
  guint          n_nodes;       /* 0: its cluster goes by a name that does not say */
  gboolean       slow;          /* among its neighbours, see evidence/tables/training-slow.h */
  gboolean       tensor_over_nodes; /* a tensor group has more ranks than a node GPUs */
  const char    *gpu;               /* NULL: its cluster goes by a name */
  /*
   * What was measured of the network beforehand, as text of `cluster.measured`: "all_reduce 1GiB
   * 188.9 GB/s, all_gather 1GiB 114.8 GB/s"; NULL: nothing.
   */
  const char *measured;
  const char *network; /* the same where it is predicted on that network, else NULL */
} TrainingRow;

typedef struct
{
  GArray       *rows;  /* TrainingRow, in the file's order */
  GArray       *goals; /* TrainingGoal: of the file beside it */
  GStringChunk *strings;
  guint         n_networks; /* rows that are predicted on the network that they measured */
} TrainingTable;

/*
 * The rows of FILE, and the goals beside it. What a framework's release implies for a row comes
 * from PROFILES. A word that is not known (a metric, a precision, a strategy) is why its row is not
 * predicted. NULL after diagnostics about the table itself (unknown, missing or doubled columns,
 * rows of another length, no rows), its goals or a profile.
 */
TrainingTable *training_table_load (const char *file, ProfileSet *profiles, DiagList *diags);
void           training_table_free (TrainingTable *self);

/* From here on rows that measured their network are predicted on it. */
void training_table_use_networks (TrainingTable *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TrainingTable, training_table_free)

/*
 * The id without its trailing numbers: "modalities-mn5" of "modalities-mn5-0046-r2". Newly
 * allocated.
 */
char *training_source_of_id (const char *id);
