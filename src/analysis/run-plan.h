/*
 * A run, planned: how many nodes of a kind train so many tokens by a deadline and within a budget.
 *
 * Set: tokens, deadline, budget, prices, and how parts fail. For each number of nodes somebody
 * chooses a configuration and predicts its step; from the step's tokens follow the steps, from the
 * goodput (analysis/goodput.h) the days, from these GPU-hours, money and energy. A number of nodes
 * meets the goal when nine sampled runs in ten do.
 */
#pragma once

#include "analysis/goodput.h"
#include "analysis/prediction.h"

typedef struct
{
  double tokens;
  double deadline_s; /* 0: none */
  double budget;     /* of PRICE's currency; 0: none */
  double price;      /* of a GPU and hour, spare nodes' too; 0: not known */
  double power_w;    /* of a GPU with its share of the node; 0: not known */
  /* rates and times; what a step takes and the number of parts follow from the choice */
  GoodputInput failures;
  /* A checkpoint: its bytes over the bandwidth of the job, or of each node; or its time. */
  double  checkpoint_bytes; /* 0: of each parameter as many as below */
  double  bytes_per_parameter;
  double  checkpoint_bps, checkpoint_node_bps;
  double  checkpoint_s; /* that it holds up training: instead of the above; 0: not given */
  guint32 seed;
  guint   n_runs; /* that are sampled */
} RunGoal;

typedef struct
{
  guint         n_nodes;
  Prediction   *prediction; /* NULL: none, for the reason WHY; owned */
  char         *why;        /* it cannot be, or does not fit; NULL: it runs */
  guint64       n_steps;
  double        checkpoint_bytes;
  GoodputInput  input;
  Goodput       goodput; /* expected */
  GoodputSample sample;
  double        gpu_hours; /* of the nodes hired, spare ones among them, in nine runs of ten */
  double        money, energy_j; /* likewise; 0: not known; energy: of the nodes that work */
  double        late_s, over;    /* beyond deadline and budget, likewise; 0: met */
  gboolean      meets;
} RunOption;

typedef struct
{
  char      *cluster; /* the kind of node */
  GPtrArray *options; /* RunOption*, by nodes, ascending */
  RunOption *best;    /* the fewest nodes that meet the goal, of OPTIONS; NULL: none does */
  RunOption *nearest; /* where none does: the one that runs and is least late, then least over */
} RunPlan;

/*
 * The configuration to run on N_NODES: the best that WHO finds, or the only one. NULL after
 * diagnostics or with ERROR set: there is none.
 */
typedef Prediction *(*RunChoose) (guint n_nodes, gpointer who, DiagList *diags, GError **error);

/*
 * CLUSTER: a name for reports. NODES: N numbers, ascending. EVERY: all of them, else up to the
 * first that meets the goal.
 */
RunPlan *run_plan_new (const RunGoal *goal, const char *cluster, const guint *nodes, guint n,
                       gboolean every, RunChoose choose, gpointer who);
void     run_plan_free (RunPlan *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RunPlan, run_plan_free)
