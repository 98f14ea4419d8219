/* The Monte Carlo of goodput.h: runs, event by event. */
#include <math.h>

#include "decide/plan/goodput-private.h"

#include "base/compare.h"

/* Runs longer than this many times their work are given up. */
#define HOPELESS 20.0

/* Events of all runs, about: runs that would have more are made of parts. */
#define MOST_EVENTS 4e6

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
  GArray             *repairs;    /* double: when each failed node is back */
  GArray             *missing;    /* double: when each lost site joins, where others go on */
  double              site_until; /* a site is lost until then, where it stops the job */
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
  run->phase = n > run->in->n_spares || run->site_until > run->now ? PHASE_WAIT : PHASE_RESTART;
  run->left = run->in->restart_s;
  if (run->phase == PHASE_RESTART)
    return;
  run->left = INFINITY;
  for (guint i = 0; n > run->in->n_spares && i < n; i++)
    run->left = MIN (run->left, g_array_index (run->repairs, double, i) - run->now);
  if (run->site_until > run->now)
    run->left = MIN (run->left, run->site_until - run->now);
}

/* What stops the whole job. */
typedef enum
{
  FAIL_NODE,
  FAIL_SITE,
  FAIL_JOB,
} Failure;

static void
fail (Run *run, Failure failure)
{
  run->n_interruptions++;
  if (failure == FAIL_SITE && run->in->site_repair_s > 0)
    run->site_until = run->now + draw_exponential (run->rand, 1 / run->in->site_repair_s);
  if (failure == FAIL_NODE && run->in->repair_s > 0)
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

/* ---- sites come and go ----------------------------------------------------------------------- */

/* What a second of work at full speed takes now. */
static double
pace_of (const Run *run)
{
  const double left = 1 - (double) run->missing->len * run->in->site_share;
  const double slow = run->now < run->slow_until ? run->slowdown : 1;

  if (run->phase != PHASE_WORK)
    return 1;
  return left > 1e-9 && run->missing->len < MAX (run->in->n_sites, 1) ? slow / left : INFINITY;
}

/* One is lost: what it did in this round is, too, and it joins at the end of that it is back in. */
static void
lose_site (Run *run, const SiteRates *rates)
{
  const GoodputInput *in = run->in;
  const double        at = g_rand_double (run->rand) * (rates->place + rates->node);
  const double        mean = at < rates->place ? in->site_repair_s : goodput_node_absence (in);
  const double        back = run->now + (mean > 0 ? draw_exponential (run->rand, 1 / mean) : 0);
  const double        joins = ceil (back / in->round_s) * in->round_s;

  if (run->phase == PHASE_WORK)
    run->left += fmod (run->now, in->round_s) * in->site_share;
  g_array_append_val (run->missing, joins);
  run->left += in->notice_s / pace_of (run);
}

/* The site that joins first; its place in the list into *AT. INFINITY: none is missing. */
static double
next_join (const Run *run, guint *at)
{
  double first = INFINITY;

  for (guint i = 0; i < run->missing->len; i++)
    if (g_array_index (run->missing, double, i) < first)
      {
        first = g_array_index (run->missing, double, i);
        *at = i;
      }
  return first;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* Of all kinds, per second: what stops the job, of which nodes and sites; what slows it. */
typedef struct
{
  double    node, site, job, straggler;
  SiteRates one_site; /* that others go on without */
} Rates;

static Failure
draw_failure (const Run *run, const Rates *rates)
{
  const double at = g_rand_double (run->rand) * (rates->node + rates->site + rates->job);

  return at < rates->node ? FAIL_NODE : at < rates->node + rates->site ? FAIL_SITE : FAIL_JOB;
}

/* To the end of the phase, or to what interrupts it. */
static void
advance (Run *run, const Rates *rates)
{
  const gboolean slow = run->phase == PHASE_WORK && run->now < run->slow_until;
  const double   pace = pace_of (run), end = run->left * pace;
  const guint    n_sites = run->in->n_sites - MIN (run->missing->len, run->in->n_sites);
  const double   failures = rates->node + rates->site + rates->job;
  const double   failure =
      run->phase != PHASE_WAIT ? draw_exponential (run->rand, failures) : INFINITY;
  const double begin_slow = draw_exponential (run->rand, rates->straggler);
  const double loss =
      draw_exponential (run->rand, n_sites * (rates->one_site.place + rates->one_site.node));
  const double end_slow = slow ? run->slow_until - run->now : INFINITY;
  guint        joining = 0;
  const double join = MAX (next_join (run, &joining) - run->now, 0);
  const double next = MIN (MIN (MIN (end, failure), MIN (begin_slow, end_slow)), MIN (loss, join));

  run->now += next;
  run->left -= next / pace;
  if (next == failure)
    fail (run, draw_failure (run, rates));
  else if (next == end)
    end_phase (run);
  else if (next == begin_slow)
    run->slow_until = MAX (run->slow_until, run->now + run->in->straggler_s);
  else if (next == end_slow)
    run->now = run->slow_until;
  else if (next == loss)
    lose_site (run, &rates->one_site);
  else
    {
      g_array_remove_index_fast (run->missing, joining);
      run->left += run->in->join_s / pace_of (run);
    }
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
  Rates               rates = { .node = goodput_hard_rate (in),
                                .site = goodput_outage_rate (in),
                                .job = goodput_rate (in->job_mtbf_s, 1),
                                .one_site = goodput_site_rates (in) };
  double              most;

  run->step_s = slow ? in->slow_step_s : in->step_s;
  run->slowdown = goodput_straggler_slowdown (in, run->step_s);
  if (run->slowdown > 1)
    rates.straggler = goodput_rate (in->straggler_mtbf_s, in->n_nodes);
  most = HOPELESS * run->step_s * (double) in->n_steps;
  run->now = run->slow_until = run->site_until = 0;
  run->n_done = 0;
  g_array_set_size (run->repairs, 0);
  g_array_set_size (run->missing, 0);
  begin_work (run);
  while (run->n_done < in->n_steps && run->now < most)
    advance (run, &rates);
  return run->n_done >= in->n_steps ? run->now : INFINITY;
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
  const double slow = goodput_rate (in->straggler_mtbf_s, in->n_nodes) * expected->wall_s;
  const double lost = expected->site_loss_s > 0 ? expected->wall_s / expected->site_loss_s : 0;
  const double events = 2 * segments + 3 * expected->n_interruptions + 2 * (slow + lost);

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
  g_autoptr (GArray)   missing = g_array_new (FALSE, FALSE, sizeof (double));
  g_autofree double   *walls = g_new (double, n_runs);
  g_autofree gboolean *slow = g_new (gboolean, n_runs);
  gboolean             finished = TRUE;
  Run                  run = {
                     .in = &part,
                     .rand = rand,
                     .interval = whole->n_steps,
                     .repairs = repairs,
                     .missing = missing,
  };

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
