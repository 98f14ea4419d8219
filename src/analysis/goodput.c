#include "analysis/goodput.h"

#include <math.h>

/* Runs longer than this many times their work are given up. */
#define HOPELESS 20.0

/* Events of all runs, about: runs that would have more are made of parts. */
#define MOST_EVENTS 4e6

static double
rate_of (double mtbf_s, double n)
{
  return mtbf_s > 0 ? n / mtbf_s : 0;
}

/* Failures that take a node, per second. */
static double
hard_rate (const GoodputInput *in)
{
  return rate_of (in->gpu_mtbf_s, in->n_gpus) + rate_of (in->node_mtbf_s, in->n_nodes);
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
static double
straggler_slowdown (const GoodputInput *in, double step_s)
{
  return MAX (in->straggler_slowdown * in->step_s / step_s, 1);
}

/* Part of the speed that nodes which are slow for a while leave. */
static double
straggler_speed (const GoodputInput *in, double step_s)
{
  const double load = rate_of (in->straggler_mtbf_s, in->n_nodes) * in->straggler_s;
  const double slow = 1 - exp (-load);

  return 1 - slow * (1 - 1 / straggler_slowdown (in, step_s));
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
  const double work = step_s * (double) in->n_steps, speed = straggler_speed (in, step_s);
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
  const double hard = hard_rate (in), rate = hard + rate_of (in->job_mtbf_s, 1);
  double       wall;

  *result = (Goodput){ .mtbf_s = rate > 0 ? 1 / rate : 0, .slow = slow_probability (in) };
  if (rate > 0)
    {
      result->young_s = sqrt (2 * in->checkpoint_s / rate);
      result->daly_s = daly_interval (in->checkpoint_s, 1 / rate);
    }
  if (rate > 0 || in->interval_s > 0)
    result->interval_steps =
        whole_steps (in, in->interval_s > 0 ? in->interval_s
                                            : result->daly_s * straggler_speed (in, in->step_s));
  wall = (1 - result->slow) * wall_of (in, in->step_s, result->interval_steps, rate);
  if (result->slow > 0)
    wall += result->slow * wall_of (in, in->slow_step_s, result->interval_steps, rate);
  result->n_interruptions = wall * rate;
  result->waiting = in->repair_s > 0 ? erlang_loss (in->n_spares + 1, hard * in->repair_s) : 0;
  result->wall_s = wall / (1 - result->waiting);
  result->useful = work / result->wall_s;
}

/* ---- Monte Carlo ----------------------------------------------------------------------------- */

typedef enum
{
  PHASE_WORK,
  PHASE_CHECKPOINT,
  PHASE_RESTART,
  PHASE_WAIT,
} Phase;

typedef struct
{
  const GoodputInput *in;
  GRand              *rand;
  guint64             interval, n_done; /* steps: between checkpoints; that a checkpoint has */
  double              checkpoint_s;     /* 0 where none are written */
  double              step_s;           /* of this run, for the slowest of its nodes */
  double              slowdown;         /* on top while a node is slow for a while */
  double              now, left;        /* s; of the phase, at full speed */
  double              slow_until;
  Phase               phase;
  GArray             *repairs; /* double: when each failed node is back */
  guint64             n_interruptions;
} Run;

static double
draw_exponential (GRand *rand, double rate)
{
  return rate > 0 ? -log1p (-g_rand_double (rand)) / rate : INFINITY;
}

/* Standard normal (Box and Muller). */
static double
draw_normal (GRand *rand)
{
  const double radius = sqrt (-2 * log1p (-g_rand_double (rand)));

  return radius * cos (2 * G_PI * g_rand_double (rand));
}

static guint64
steps_ahead (const Run *run)
{
  return MIN (run->interval, run->in->n_steps - run->n_done);
}

static void
begin_work (Run *run)
{
  const double n = (double) steps_ahead (run);
  const double jitter = run->in->jitter > 0 ? run->in->jitter * draw_normal (run->rand) : 0;

  run->phase = PHASE_WORK;
  run->left = run->step_s * MAX (n + jitter * sqrt (n), 0);
}

/* Restarts, once there are nodes enough. */
static void
begin_restart (Run *run)
{
  guint n = 0;

  for (guint i = 0; i < run->repairs->len; i++)
    {
      const double end = g_array_index (run->repairs, double, i);

      if (end > run->now)
        g_array_index (run->repairs, double, n++) = end;
    }
  g_array_set_size (run->repairs, n);
  run->phase = n > run->in->n_spares ? PHASE_WAIT : PHASE_RESTART;
  run->left = run->in->restart_s;
  if (run->phase == PHASE_RESTART)
    return;
  run->left = INFINITY;
  for (guint i = 0; i < n; i++)
    run->left = MIN (run->left, g_array_index (run->repairs, double, i) - run->now);
}

static void
fail (Run *run, gboolean hard)
{
  run->n_interruptions++;
  if (hard && run->in->repair_s > 0)
    {
      const double end = run->now + draw_exponential (run->rand, 1 / run->in->repair_s);

      g_array_append_val (run->repairs, end);
    }
  begin_restart (run);
}

static void
end_phase (Run *run)
{
  switch (run->phase)
    {
    case PHASE_WORK:
      run->phase = PHASE_CHECKPOINT;
      run->left = run->checkpoint_s;
      break;
    case PHASE_CHECKPOINT:
      run->n_done += steps_ahead (run);
      begin_work (run);
      break;
    case PHASE_RESTART:
      begin_work (run);
      break;
    case PHASE_WAIT:
      begin_restart (run);
      break;
    }
}

/* To the end of the phase, or to what interrupts it. */
static void
advance (Run *run, double hard, double soft, double straggler)
{
  const gboolean slow = run->phase == PHASE_WORK && run->now < run->slow_until;
  const double   pace = slow ? run->slowdown : 1;
  const double   end = run->left * pace;
  const double   failure =
      run->phase != PHASE_WAIT ? draw_exponential (run->rand, hard + soft) : INFINITY;
  const double begin_slow = draw_exponential (run->rand, straggler);
  const double end_slow = slow ? run->slow_until - run->now : INFINITY;
  const double next = MIN (MIN (end, failure), MIN (begin_slow, end_slow));

  run->now += next;
  run->left -= next / pace;
  if (next == failure)
    fail (run, g_rand_double (run->rand) * (hard + soft) < hard);
  else if (next == end)
    end_phase (run);
  else if (next == begin_slow)
    run->slow_until = MAX (run->slow_until, run->now + run->in->straggler_s);
  else
    run->now = run->slow_until;
}

/* Whether one of the nodes is slow, by the number of the first that is. */
static gboolean
draw_slow (GRand *rand, const GoodputInput *in)
{
  const double f = in->slow_node_probability;

  if (f <= 0 || in->slow_step_s <= in->step_s)
    return FALSE;
  return f >= 1 || floor (log1p (-g_rand_double (rand)) / log1p (-f)) < (double) in->n_nodes;
}

/* Wall time of one run, SLOW or not; INFINITY where it is given up. */
static double
run_once (Run *run, gboolean slow)
{
  const GoodputInput *in = run->in;
  const double        hard = hard_rate (in), soft = rate_of (in->job_mtbf_s, 1);
  double              straggler, most;

  run->step_s = slow ? in->slow_step_s : in->step_s;
  run->slowdown = straggler_slowdown (in, run->step_s);
  straggler = run->slowdown > 1 ? rate_of (in->straggler_mtbf_s, in->n_nodes) : 0;
  most = HOPELESS * run->step_s * (double) in->n_steps;
  run->now = run->slow_until = 0;
  run->n_done = 0;
  g_array_set_size (run->repairs, 0);
  begin_work (run);
  while (run->n_done < in->n_steps && run->now < most)
    advance (run, hard, soft, straggler);
  return run->n_done >= in->n_steps ? run->now : INFINITY;
}

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static void
summarise (double *walls, guint n, GoodputSample *sample)
{
  double sum = 0, squares = 0;
  guint  finished = 0;

  for (guint i = 0; i < n; i++)
    if (isfinite (walls[i]))
      {
        sum += walls[i];
        finished++;
      }
  sample->n_runs = n;
  sample->n_unfinished = n - finished;
  sample->mean_s = finished > 0 ? sum / finished : INFINITY;
  for (guint i = 0; i < n; i++)
    if (isfinite (walls[i]))
      squares += (walls[i] - sample->mean_s) * (walls[i] - sample->mean_s);
  sample->error_s = finished > 1 ? sqrt (squares / (finished - 1.0) / finished) : 0;
  qsort (walls, n, sizeof *walls, compare_doubles);
  sample->p10_s = walls[(n - 1) / 10];
  sample->p50_s = walls[(n - 1) / 2];
  sample->p90_s = walls[(n - 1) - (n - 1) / 10];
}

/*
 * Of how many parts a run is made, so that all take a bounded time: the parts of a long run are
 * independent of each other.
 */
static double
count_parts (const GoodputInput *in, const Goodput *expected, guint n_runs)
{
  const double segments =
      expected->interval_steps > 0 ? (double) in->n_steps / (double) expected->interval_steps : 1;
  const double slow = rate_of (in->straggler_mtbf_s, in->n_nodes) * expected->wall_s;
  const double events = 2 * segments + 3 * expected->n_interruptions + 2 * slow;

  return CLAMP (floor (events * n_runs / MOST_EVENTS), 1, (double) in->n_steps);
}

/*
 * Runs of PARTS parts, of which WALLS has one each: of the mean and spread of the parts of runs
 * that are alike (SLOW or not), normal, as many as there are. The mean is known to less then: what
 * it adds to the variance of a mean of runs is returned.
 */
static double
add_parts (double parts, const gboolean *slow, guint n, double *walls)
{
  double added = 0;

  for (guint kind = 0; kind < 2; kind++)
    {
      double sum = 0, squares = 0;
      guint  alike = 0;

      for (guint i = 0; i < n; i++)
        if (slow[i] == (gboolean) kind)
          {
            sum += walls[i];
            alike++;
          }
      for (guint i = 0; i < n; i++)
        if (slow[i] == (gboolean) kind)
          {
            squares += (walls[i] - sum / alike) * (walls[i] - sum / alike);
            walls[i] = parts * sum / alike + sqrt (parts) * (walls[i] - sum / alike);
          }
      added += (parts * parts - parts) * squares;
    }
  return n > 1 ? added / (n - 1.0) / n : 0;
}

/* Runs end, but for what slow nodes cost, which is a factor. */
static gboolean
may_finish (const GoodputInput *in)
{
  GoodputInput whole = *in;
  Goodput      expected;

  whole.slow_node_probability = 0;
  goodput_expect (&whole, &expected);
  return expected.useful * HOPELESS > 1;
}

void
goodput_sample (const GoodputInput *whole, const Goodput *expected, guint32 seed, guint n_runs,
                GoodputSample *sample)
{
  double               parts = count_parts (whole, expected, n_runs), added = 0;
  const gboolean       hopeful = may_finish (whole);
  GoodputInput         part = *whole;
  g_autoptr (GRand)    rand = g_rand_new_with_seed (seed);
  g_autoptr (GArray)   repairs = g_array_new (FALSE, FALSE, sizeof (double));
  g_autofree double   *walls = g_new (double, n_runs);
  g_autofree gboolean *slow = g_new (gboolean, n_runs);
  gboolean             finished = TRUE;
  Run run = { .in = &part, .rand = rand, .interval = whole->n_steps, .repairs = repairs };

  part.n_steps = (guint64) ((double) whole->n_steps / parts);
  parts = (double) whole->n_steps / (double) part.n_steps;
  *sample = (GoodputSample){ 0 };
  if (expected->interval_steps > 0)
    {
      run.interval = expected->interval_steps;
      run.checkpoint_s = part.checkpoint_s;
    }
  for (guint i = 0; i < n_runs; i++)
    {
      slow[i] = draw_slow (rand, &part);
      walls[i] = hopeful ? run_once (&run, slow[i]) : INFINITY;
      finished = finished && isfinite (walls[i]);
    }
  if (part.n_steps < whole->n_steps && finished)
    added = add_parts (parts, slow, n_runs, walls);
  else
    parts = 1;
  sample->mean_interruptions = parts * (double) run.n_interruptions / n_runs;
  summarise (walls, n_runs, sample);
  sample->error_s = sqrt (sample->error_s * sample->error_s + added);
}
