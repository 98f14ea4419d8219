/*
 * Equal steps of a long round: few are replayed, the rest follows.
 *
 * Set: a round of H steps that are alike but for the exchange at its end (Sync.even_steps), or but
 * for those at the ends of its P fragments, whose gaps are then what is cut: each to as many steps.
 * F (n): what is said of a round of n steps, its time, where it goes, traffic. Where the last two
 * steps before the one that closes the round were alike, in time and in what was in flight at their
 * ends, any number of such steps may stand between them and it: each two add F (n + 2) - F (n).
 * Computed: F (n) and F (n + 2) for n = 4, 8, 16, ... until their steps are alike; then F (H). What
 * an exchange of the round before still sends slows steps down until it is there: more are replayed
 * than those. Where that takes a quarter of the round, all are replayed; and so they are
 * where rounds stand in rounds.
 *
 * Where leaders average in between, every B steps, a round has them as far apart as ever, but few
 * of them: each further one adds what one more does.
 *
 * Of many fragments those are alike that hold as many layers of as many parameters. A round of one
 * of each kind is replayed, R (n), and for each kind of more than one such a round with a second
 * one: each further fragment of the kind adds their difference.
 */
#include <math.h>

#include "predict/growth.h"

#define FEWEST 4
#define MORE   2 /* an inner strategy may have something of even and odd steps */

/* Of PLAN, which is consumed: it goes before the next one comes. */
static Prediction *
predict_round (ReplayPlan *plan, const PredictOptions *options)
{
  g_autoptr (ReplayPlan)  own = plan;
  g_autoptr (ReplayBound) bound = predict_bind (own, options, LOCKSTEP_WHOLE);
  g_autoptr (GError)      error = NULL;
  ReplayOptions           quick = options->replay;

  quick.min_periods = 1;
  return bound != NULL ? predict_bound (bound, &quick, options, NULL, &error) : NULL;
}

/* The outermost strategy exchanges, and no other one does. */
static gboolean
has_even_steps (const Scenario *scenario)
{
  const StrategyConfig *outer = scenario->strategy;

  if (outer->strategy->sync == NULL || !outer->strategy->sync->even_steps)
    return FALSE;
  for (const StrategyConfig *c = outer->inner; c != NULL; c = c->inner)
    if (c->strategy->outer)
      return FALSE;
  return TRUE;
}

/* Of the outermost, without a plan; FALSE where steps are not alike, or it does not fit. */
static gboolean
exchange_of (const ResolvedScenario *resolved, Exchange *exchange)
{
  const StrategyChoice *outer = resolved->strategy;
  g_autoptr (DiagList)  diags = diag_list_new ();

  return has_even_steps (resolved->scenario)
         && (outer->strategy->check == NULL
             || outer->strategy->check (&resolved->input, outer->options, diags))
         && strategy_whole_exchange (&resolved->input, outer, exchange);
}

/* ---- kinds of fragments ---------------------------------------------------------------------- */

/* Fragments that exchange the same. */
typedef struct
{
  guint   n, n_layers;
  guint64 elements;
  guint64 first, second; /* bits of two of them; SECOND: 0 where there is one */
} Kind;

/* What FRAGMENT holds, as a kind of its own. */
static Kind
kind_of (const Exchange *exchange, const Workload *workload, guint fragment)
{
  Kind kind = { .n = 1, .first = G_GUINT64_CONSTANT (1) << fragment };

  for (guint l = 0; l < workload_n_layers (workload); l++)
    if (exchange_fragment_of (exchange, workload, l) == fragment)
      {
        kind.n_layers++;
        kind.elements += workload_layer (workload, l)->trainable_elements;
      }
  return kind;
}

static void
add_fragment (GArray *kinds, const Kind *own)
{
  for (guint i = 0; i < kinds->len; i++)
    {
      Kind *kind = &g_array_index (kinds, Kind, i);

      if (kind->n_layers != own->n_layers || kind->elements != own->elements)
        continue;
      kind->second = kind->n++ == 1 ? own->first : kind->second;
      return;
    }
  g_array_append_val (kinds, *own);
}

/*
 * The kinds of EXCHANGE's fragments. Pipelines cut what each stage has, the first and the last one
 * in a way of their own: there, and where there are too many to choose from, each is one.
 */
static GArray *
find_kinds (const ResolvedScenario *resolved, const Exchange *exchange)
{
  GArray *kinds = g_array_new (FALSE, TRUE, sizeof (Kind));

  for (guint f = 0; f < MIN (exchange->fragments, EXCHANGE_MOST_BITS); f++)
    {
      const Kind kind = kind_of (exchange, resolved->workload, f);

      if (resolved->input.mesh.stages > 1)
        g_array_append_val (kinds, kind);
      else
        add_fragment (kinds, &kind);
    }
  return kinds;
}

/* Bits of one fragment of each kind; 0 where that saves nothing. */
static guint64
one_of_each (const Exchange *exchange, const GArray *kinds)
{
  guint64 only = 0;
  guint   replayed = 2 * kinds->len; /* with and without more steps */

  for (guint i = 0; i < kinds->len; i++)
    {
      only |= g_array_index (kinds, Kind, i).first;
      replayed += g_array_index (kinds, Kind, i).n > 1 ? kinds->len + 1 : 0;
    }
  return exchange->fragments <= EXCHANGE_MOST_BITS && replayed < 2 * exchange->fragments ? only : 0;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* What is predicted from few steps. */
typedef struct
{
  const ResolvedScenario *resolved;
  const PredictOptions   *options;
  Exchange                exchange;
  GArray                 *kinds; /* Kind */
} Few;

/* A round of so many steps that is replayed, and what is said of all its steps together. */
typedef struct
{
  guint       steps;
  Prediction *sums;
} Round;

static void
round_clear (Round *self)
{
  g_clear_pointer (&self->sums, prediction_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Round, round_clear)

/* A round of N steps a fragment of ONLY some. FALSE: there is none, or it is never the same. */
static gboolean
replay_any_round (const Few *few, guint n, guint64 only, Round *self)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ReplayPlan) plan = NULL;
  PlanOptions            part = predict_plan_options (few->options);
  Exchange               cut = few->exchange;

  part.round_steps = n;
  part.round_only = only;
  plan = replay_plan_new (few->resolved, part, diags);
  exchange_cut_round (&cut, n, only);
  *self = (Round){ .steps = cut.every };
  if (plan == NULL || schedule_steps_per_period (replay_plan_schedule (plan)) != self->steps)
    return FALSE;
  self->sums = predict_round (g_steal_pointer (&plan), few->options);
  if (self->sums == NULL || !self->sums->steady)
    return FALSE;
  growth_scale (self->sums, self->steps);
  return TRUE;
}

/* The same; FALSE as well where its steps are not alike. */
static gboolean
replay_round (const Few *few, guint n, guint64 only, Round *self)
{
  return replay_any_round (few, n, only, self) && self->sums->even_steps;
}

/* Of the fragments of KINDS those that rounds of one of each leave out. */
static guint
count_further (const GArray *kinds)
{
  guint n = 0;

  for (guint i = 0; i < kinds->len; i++)
    n += g_array_index (kinds, Kind, i).n - 1;
  return n;
}

/*
 * Adds to SELF what further fragments of KINDS do beside those of A, a round of N steps a fragment
 * of ONLY one of each. FALSE where it cannot be told.
 */
static gboolean
add_further (const Few *few, guint n, guint64 only, const Round *a, Prediction *self)
{
  const GArray *kinds = few->kinds;

  for (guint i = 0; i < kinds->len; i++)
    {
      const Kind    *kind = &g_array_index (kinds, Kind, i);
      g_auto (Round) c = { 0 };

      if (kind->n == 1)
        continue;
      if (!replay_round (few, n, only | kind->second, &c) || !growth_is_alike (a->sums, c.sums))
        return FALSE;
      growth_follow (self, a->sums, c.sums, kind->n - 1);
    }
  return TRUE;
}

/*
 * What rounds of N and of N + MORE steps a fragment say of the whole one; NULL where their steps
 * are not alike. ONLY: of one fragment of each of KINDS; 0: of all.
 */
static Prediction *
predict_from (const Few *few, guint64 only, guint n)
{
  g_auto (Round)  a = { 0 }, b = { 0 };
  const Exchange *exchange = &few->exchange;
  const guint     further = only != 0 ? count_further (few->kinds) : 0;
  double          steps; /* of a round that has them all */

  if (!replay_round (few, n, only, &a) || !replay_round (few, n + MORE, only, &b)
      || !growth_is_alike (a.sums, b.sums))
    return NULL;
  steps = b.steps + (double) further * a.steps / (exchange->fragments - further);
  growth_follow (b.sums, a.sums, b.sums, (exchange->every - steps) / (b.steps - a.steps));
  if (further > 0 && !add_further (few, n, only, &a, b.sums))
    return NULL;
  growth_scale (b.sums, 1.0 / exchange->every);
  b.sums->n_steps_replayed = b.steps;
  b.sums->n_steps = exchange->every;
  return g_steal_pointer (&b.sums);
}

#define FEW_AVERAGES 3
#define ALIKE        1e-9

/*
 * Where leaders average in between: of rounds of few averages, one more and two more, where both
 * take as much longer.
 */
static Prediction *
predict_from_averages (const Few *few)
{
  const guint    every = few->exchange.every;
  g_auto (Round) a = { 0 }, b = { 0 }, c = { 0 };
  double         first, second;

  if (every <= 2 * (FEW_AVERAGES + 3) * few->exchange.base_every
      || !replay_any_round (few, FEW_AVERAGES, 0, &a)
      || !replay_any_round (few, FEW_AVERAGES + 1, 0, &b)
      || !replay_any_round (few, FEW_AVERAGES + 2, 0, &c) || !growth_is_alike (b.sums, c.sums))
    return NULL;
  first = b.sums->step_time_s - a.sums->step_time_s;
  second = c.sums->step_time_s - b.sums->step_time_s;
  if (fabs (second - first) > ALIKE * c.sums->step_time_s)
    return NULL;
  growth_follow (c.sums, b.sums, c.sums, (double) (every - c.steps) / (c.steps - b.steps));
  growth_scale (c.sums, 1.0 / every);
  c.sums->n_steps_replayed = c.steps;
  c.sums->n_steps = every;
  return g_steal_pointer (&c.sums);
}

Prediction *
predict_few_steps (const ResolvedScenario *resolved, const PredictOptions *options)
{
  Few                few = { .resolved = resolved, .options = options };
  g_autoptr (GArray) kinds = NULL;
  Prediction        *self = NULL;
  guint64            only;

  if (!exchange_of (resolved, &few.exchange))
    return NULL;
  if (few.exchange.base_every > 0)
    return predict_from_averages (&few);
  few.kinds = kinds = find_kinds (resolved, &few.exchange);
  only = one_of_each (&few.exchange, kinds);
  for (guint n = FEWEST; self == NULL && 4 * exchange_cut (&few.exchange, n) < few.exchange.every;
       n *= 2)
    {
      if (only != 0)
        self = predict_from (&few, only, n);
      if (self == NULL)
        self = predict_from (&few, 0, n);
    }
  return self;
}
