#include "decide/plan/goodput-private.h"

#include <math.h>

double
goodput_rate (double mtbf_s, double n)
{
  return mtbf_s > 0 ? n / mtbf_s : 0;
}

/* Failures of nodes, per second. */
static double
node_rate (const GoodputInput *in)
{
  return goodput_rate (in->gpu_mtbf_s, in->n_gpus) + goodput_rate (in->node_mtbf_s, in->n_nodes);
}

gboolean
goodput_is_elastic (const GoodputInput *in)
{
  return in->round_s > 0 && in->n_sites > 1;
}

/* Those that take a node from the whole job. */
double
goodput_hard_rate (const GoodputInput *in)
{
  return goodput_is_elastic (in) ? 0 : node_rate (in);
}

/* Those that take a site from it. */
double
goodput_outage_rate (const GoodputInput *in)
{
  return goodput_is_elastic (in) ? 0 : goodput_rate (in->site_mtbf_s, in->n_sites);
}

/* ---- sites that others go on without --------------------------------------------------------- */

SiteRates
goodput_site_rates (const GoodputInput *in)
{
  if (!goodput_is_elastic (in))
    return (SiteRates){ 0 };
  return (SiteRates){ goodput_rate (in->site_mtbf_s, 1), node_rate (in) / in->n_sites };
}

double
goodput_node_absence (const GoodputInput *in)
{
  return in->restart_s + (in->n_spares > 0 ? 0 : in->repair_s);
}

/*
 * Rounds of T seconds that a site misses, from the one in which it is lost to that in which it is
 * back, where it is lost after M seconds on average and back after R: 1 + the sum over k of the
 * probability that loss and repair together take more than k rounds, given that the loss takes less
 * than one. All times are exponential.
 */
static double
rounds_missed (double t, double m, double r)
{
  const double lost = -expm1 (-t / m), back = r > 0 ? -expm1 (-t / r) : 1;

  if (r == 0)
    return 1;
  if (fabs (m / r - 1) < 1e-9)
    return 1 + t / m * exp (-t / m) / (lost * back);
  return 1 + (back - lost) / (m / r - 1) / (lost * back);
}

/*
 * Part of the speed that missing sites leave, with *LOSS_RATE of all of them and how many are
 * missing. From one loss of a site to the next it misses the rounds above and then takes part in
 * those until the one in which it is lost again: T / (e^(T/M) - 1) seconds on average. While all
 * wait for a site that joins it is there for sure, and one that is left out is not: what others
 * miss then costs nothing.
 */
static double
elastic_speed (const GoodputInput *in, double *loss_rate, double *missing)
{
  const SiteRates rates = goodput_site_rates (in);
  const double    rate = rates.place + rates.node, t = in->round_s;
  double          missed, cycle, works, others, idle, all;

  *loss_rate = *missing = 0;
  if (rate == 0)
    return 1;
  missed = t / rate
           * (rates.place * rounds_missed (t, 1 / rate, in->site_repair_s)
              + rates.node * rounds_missed (t, 1 / rate, goodput_node_absence (in)));
  cycle = missed + t / expm1 (t * rate);
  *loss_rate = in->n_sites / cycle;
  *missing = in->n_sites * missed / cycle;
  works = 1 - *loss_rate * (in->notice_s + in->join_s);
  others = *missing * (in->n_sites - 1.0) / in->n_sites;
  idle = *missing - *loss_rate * (in->join_s * others + in->notice_s * (others + 1));
  all = pow (missed / cycle, in->n_sites); /* then nothing is left */
  return works > 0 ? MAX (
             works - idle * in->site_share - works * all * (1 - in->n_sites * in->site_share), 0)
                   : 0;
}

gboolean
goodput_loses_sites (const GoodputInput *in)
{
  return in->site_mtbf_s > 0 || in->gpu_mtbf_s > 0 || in->node_mtbf_s > 0;
}

/* ---- closed form ----------------------------------------------------------------------------- */

static double
daly_interval (double checkpoint_s, double mtbf_s)
{
  const double x = checkpoint_s / (2 * mtbf_s);

  if (x >= 1)
    return mtbf_s;
  return sqrt (2 * checkpoint_s * mtbf_s) * (1 + sqrt (x) / 3 + x / 9) - checkpoint_s;
}

/* Erlang's loss formula: N servers that are offered LOAD. */
static double
erlang_loss (guint n, double load)
{
  double inverse = 1;

  for (guint k = 1; load > 0 && k <= n; k++)
    inverse = 1 + inverse * k / load;
  return load > 0 ? 1 / inverse : 0;
}

/*
 * A job goes at the pace of its slowest part: what a node that is slow for a while makes of a step,
 * where a step of the run takes STEP_S.
 */
double
goodput_straggler_slowdown (const GoodputInput *in, double step_s)
{
  return MAX (in->straggler_slowdown * in->step_s / step_s, 1);
}

/* Part of the speed that nodes which are slow for a while leave. */
static double
straggler_speed (const GoodputInput *in, double step_s)
{
  const double load = goodput_rate (in->straggler_mtbf_s, in->n_nodes) * in->straggler_s;
  const double slow = 1 - exp (-load);

  return 1 - slow * (1 - 1 / goodput_straggler_slowdown (in, step_s));
}

/* Part of a step's own speed that is left where nothing stops the whole job. */
static double
speed_of (const GoodputInput *in, double step_s)
{
  double loss_rate, missing;

  return straggler_speed (in, step_s) * elastic_speed (in, &loss_rate, &missing);
}

static guint64
whole_steps (const GoodputInput *in, double interval_s)
{
  const double steps = interval_s / in->step_s;

  return steps >= (double) in->n_steps ? in->n_steps : (guint64) MAX (round (steps), 1);
}

/* Wall time of steps of STEP_S, with a checkpoint every INTERVAL of them (0: none) and failures. */
static double
wall_of (const GoodputInput *in, double step_s, guint64 interval, double rate)
{
  const double work = step_s * (double) in->n_steps, speed = speed_of (in, step_s);
  double       t, x, segment;

  if (interval == 0)
    return work / speed;
  t = step_s * (double) interval / speed;
  x = (t + in->checkpoint_s) * rate;
  segment = rate > 0 ? exp (in->restart_s * rate) * expm1 (x) / rate : t + in->checkpoint_s;
  return work / (t * speed) * segment;
}

/* Probability that any of N nodes is slow. */
static double
slow_probability (const GoodputInput *in)
{
  return in->slow_step_s > in->step_s
             ? -expm1 ((double) in->n_nodes * log1p (-in->slow_node_probability))
             : 0;
}

void
goodput_expect (const GoodputInput *in, Goodput *result)
{
  const double work = in->step_s * (double) in->n_steps;
  const double hard = goodput_hard_rate (in), outage = goodput_outage_rate (in);
  const double rate = hard + outage + goodput_rate (in->job_mtbf_s, 1);
  double       wall, loss_rate;

  *result = (Goodput){ .mtbf_s = rate > 0 ? 1 / rate : 0, .slow = slow_probability (in) };
  if (rate > 0)
    {
      result->young_s = sqrt (2 * in->checkpoint_s / rate);
      result->daly_s = daly_interval (in->checkpoint_s, 1 / rate);
    }
  if (rate > 0 || in->interval_s > 0)
    result->interval_steps = whole_steps (
        in, in->interval_s > 0 ? in->interval_s : result->daly_s * speed_of (in, in->step_s));
  wall = (1 - result->slow) * wall_of (in, in->step_s, result->interval_steps, rate);
  if (result->slow > 0)
    wall += result->slow * wall_of (in, in->slow_step_s, result->interval_steps, rate);
  result->n_interruptions = wall * rate;
  result->waiting = in->repair_s > 0 ? erlang_loss (in->n_spares + 1, hard * in->repair_s) : 0;
  result->wall_s = wall * (1 / (1 - result->waiting) + outage * in->site_repair_s);
  result->waiting = 1 - wall / result->wall_s;
  result->useful = work / result->wall_s;
  elastic_speed (in, &loss_rate, &result->missing);
  result->site_loss_s = loss_rate > 0 ? 1 / loss_rate : 0;
}
