/*
 * A run, planned: how many nodes of a kind train so many tokens by a deadline and within a budget.
 *
 * Set: tokens, deadline, budget, prices, and how parts fail. For each number of nodes somebody
 * chooses a configuration and predicts its step; from the step's tokens follow the steps, from the
 * goodput (goodput.h) the days, from these GPU-hours, money and energy. A number of nodes
 * meets the goal when nine sampled runs in ten do. Where it is known how long a node at its GPUs'
 * full speed computes for a token, numbers of nodes that would be late or cost too much even so are
 * not chosen for.
 */
#pragma once

#include "decide/plan/goodput.h"
#include "predict/prediction.h"

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
  double  checkpoint_s;   /* that it holds up training: instead of the above; 0: not given */
  double  slow_node_rate; /* of the GPUs of a node that is slow for good; 0: none is */
  guint32 seed;
  guint   n_runs;    /* that are sampled */
  double  token_s;   /* a node's for a token, at its GPUs' full speed; 0: not known */
  gint64  node_gpus; /* of a node; with TOKEN_S and BATCH */
  gint64  batch;     /* sequences of a step, which data ranks have to divide; 0: as it comes */
  gint64  replica;   /* GPUs that the scenario lays one replica over, at least; with BATCH */
  gint64  micro;     /* sequences that a replica of so many takes at a time; 0: a search says it */
} RunGoal;

/* What a search says of the configuration that it chose. */
typedef struct
{
  Scenario *scenario;    /* that was predicted; owned */
  char     *label;       /* what tells it from others; NULL: there was no choice */
  char     *options;     /* the command line of 'simulate' that gives it; NULL likewise */
  char     *faster;      /* what is faster, and no framework runs it or is less simple; or NULL */
  guint64   n_open;      /* configurations left untried that may be better; of none, and none that
                            failed, it is proved best */
  double    open_gain;   /* of them: their bounds' throughput over its own, at most */
  guint     n_failed;    /* configurations that were simulated and had no end */
  char     *failure;     /* why the first of them had none; or NULL */
  char     *why;         /* there is none, as an answer and not for an error; NULL: there is */
  double    slow_step_s; /* of a step with one slow node; 0: not predicted, or could not be */
  guint     n_sites;     /* that may be lost, or workers that nodes take along; 0: none */
  gboolean  are_workers; /* these are workers, not sites, */
  double    sites_each;  /* at so many sites each, at least 1; 0: as 1 */
  double    site_share;  /* of the throughput that is lost with a site, mean; 0: not predicted */
  double    join_bps;    /* of the best link to a site that comes back; 0: not known */
} RunChoice;

typedef struct
{
  guint         n_nodes;
  Prediction   *prediction; /* NULL: none, for the reason WHY; owned */
  RunChoice     choice;
  char         *why;      /* it cannot be, or does not fit; NULL: it runs */
  char         *hint;     /* what to do about that; or NULL */
  gboolean      answered; /* there is a prediction, or WHY is no error */
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
  GPtrArray *options; /* RunOption*, of those tried, by nodes, ascending */
  RunOption *best;    /* the fewest nodes that meet the goal, of OPTIONS; NULL: none does */
  RunOption *nearest; /* where none does: the one that runs and is least late, then least over */
  char      *label;   /* of the scenario, where several are planned, owned; NULL: one is */
} RunPlan;

/*
 * The configuration to run on N_NODES: the best that WHO finds, or the only one, with what there is
 * to say of it in CHOICE (zeroed). NULL after diagnostics, with ERROR or CHOICE->why set: there is
 * none. Asked again for a number of nodes where there was a choice, and it looks poor beside what
 * more nodes run.
 */
typedef Prediction *(*RunChoose) (guint n_nodes, gpointer who, RunChoice *choice, DiagList *diags,
                                  GError **error);

/*
 * CLUSTER: a name for reports. NODES: N numbers, ascending. EVERY: all of them. Else up to the
 * first that meets the goal, or from which on more nodes only cost more; where there is a deadline,
 * then by bisection between the first that keeps it and the last before it, to the fewest that do.
 * When STOP (NULL: never) is due, those tried by then.
 */
RunPlan *run_plan_new (const RunGoal *goal, const char *cluster, const guint *nodes, guint n,
                       gboolean every, RunChoose choose, gpointer who, Stop *stop);
void     run_plan_free (RunPlan *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RunPlan, run_plan_free)
