/*
 * Goodput: how much of a long run's time is new work, where parts fail, checkpoints are written,
 * nodes are replaced and some are slow for a while.
 *
 * Set: the time of a step without all that; rates of failures; what a checkpoint, a restart and a
 * repair take. Computed, in two ways that share nothing:
 *
 * 1. Closed form. Failures are Poisson with mean M between them, also during checkpoints and
 *    restarts. With a checkpoint of d seconds after every t seconds of work and R seconds from a
 *    failure to work again, t seconds of work take M e^(R/M) (e^((t+d)/M) - 1) (Daly, "A higher
 *    order estimate of the optimum checkpoint interval for restart dumps", FGCS 22, 2006). The
 *    best t is Daly's: sqrt(2 d M) (1 + sqrt(d/2M)/3 + (d/2M)/9) - d where d < 2 M, else M; Young's
 *    (CACM 17, 1974) is its first term. A job that has S spare nodes stands still while more than S
 *    nodes are in repair: the loss of S + 1 servers (Erlang B). Nodes that are slow for a while
 *    slow the job while there is one: the busy period of infinitely many servers. A node that is
 *    slow for good, as each is with probability f, slows all N for the whole run: of runs the part
 *    1 - (1 - f)^N takes the longer step throughout, and the wall time is the mean of the two.
 *    A site that is lost stops a job of one piece until it is back. Where workers train on their
 *    own for rounds of T seconds, the others go on: the round in which it was lost counts without
 *    it, and it joins at the end of the round in which it is back.
 * 2. A seeded Monte Carlo of runs, event by event, which gives the spread as well. Jitter of steps
 *    is part of it alone: it has no mean effect beyond what the step's time holds. A slow node is
 *    drawn once a run: its steps are all slow, where jitter is another each time.
 */
#pragma once

#include <glib.h>

typedef struct
{
  double  step_s;  /* of a step, nothing failing */
  guint64 n_steps; /* of the run, at least 1 */
  guint   n_gpus, n_nodes;
  /* mean times between failures, s; 0: never */
  double gpu_mtbf_s;   /* of a GPU: its node is replaced */
  double node_mtbf_s;  /* of the rest of a node, likewise */
  double job_mtbf_s;   /* of the job for other reasons (software, network): no node is replaced */
  double checkpoint_s; /* a checkpoint holds up training */
  double restart_s;    /* from a failure to the next step: noticed, started, the checkpoint read */
  double interval_s;   /* of work between checkpoints; 0: the best */
  guint  n_spares;     /* nodes that stand by */
  double repair_s;     /* mean time until a failed node is back; 0: another is there at once */
  double straggler_mtbf_s;      /* mean time of a node until it is slow; 0: never */
  double straggler_s;           /* for how long */
  double straggler_slowdown;    /* steps take that many times as long then; at least 1 */
  double jitter;                /* coefficient of variation of a step's time */
  double slow_node_probability; /* of a node: slow for good, its replacement too */
  double slow_step_s;           /* of a step while any node is; at least STEP_S */
  guint  n_sites;               /* nodes are at, or groups of nodes that are lost together */
  double site_mtbf_s;           /* of a site; 0: never */
  double site_repair_s;         /* mean time until it is back */
  double round_s;    /* others go on without a site, from round to round; 0: it stops the job. Nodes
                     that fail take their site along, then, until a spare one has started */
  double site_share; /* of the job's speed that is lost while one site is missing */
  double notice_s;   /* all wait until one that is lost is left out, */
  double join_s;     /* and until one that comes back has the state */
} GoodputInput;

typedef struct
{
  double  mtbf_s;          /* of the job, between interruptions; 0: there are none */
  double  young_s, daly_s; /* the best interval, by each; 0: no checkpoints are needed */
  guint64 interval_steps;  /* that is used, in whole steps; 0: none are written */
  double  waiting;         /* part of the time that the job stands still for lack of nodes */
  double  useful;          /* part of the time that is new work at the step's own speed */
  double  wall_s;          /* of the run */
  double  n_interruptions; /* of the run: of the whole job */
  double  site_loss_s;     /* mean time between losses of any site that others go on without */
  double  missing;         /* sites that are missing, on average, where others go on */
  double  slow;            /* probability that a node of the run is slow for good */
} Goodput;

/* Whether parts of a job may be lost that others go on without, if its strategy can. */
gboolean goodput_loses_sites (const GoodputInput *input);

/* The closed form. */
void goodput_expect (const GoodputInput *input, Goodput *result);

typedef struct
{
  guint  n_runs;
  double mean_s, error_s;     /* of a run's wall time, and the standard error of the mean */
  double p10_s, p50_s, p90_s; /* quantiles of it */
  double mean_interruptions;
  guint  n_unfinished; /* runs that were given up: twenty times the work's time was not enough */
} GoodputSample;

/*
 * N_RUNS runs (at least 1), with checkpoints as often as EXPECTED has it. The same SEED gives the
 * same runs. Long runs, of millions of events in all, are sums of independent parts, of which only
 * N_RUNS are drawn.
 */
void goodput_sample (const GoodputInput *input, const Goodput *expected, guint32 seed, guint n_runs,
                     GoodputSample *sample);
