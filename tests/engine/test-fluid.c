/*
 * The solver alone, on 500 seeded random cases of traffic and kernels over random resources, some
 * capped, with waves, priorities and reservations, while ops come and go:
 *  - no resource gives more than it has;
 *  - max-min: each op stands at its limit, or on a saturated resource where no op of its tier has
 * a higher level;
 *  - the incremental rates equal those of a solver that solves everything each time;
 *  - the rates do not depend on the order in which resources and ops are created.
 */
#include "../suite.h"
#include "engine/fluid.h"
#include "fixture.h"

#include <math.h>

#define MAX_OPS       40
#define MAX_RESOURCES 12
#define TOLERANCE     1e-9

typedef struct
{
  FluidSpec spec; /* resources in the case's own numbers */
  Demand    demands[4];
  gboolean  live;
  FluidOp   id;
} CaseOp;

/*
 * One random case, and a solver that it has been given to, with the numbers that resources have
 * there.
 */
typedef struct
{
  GRand *rand;
  guint  seed;
  guint  n_resources;
  double capacity[MAX_RESOURCES], reserved[MAX_RESOURCES];
  CaseOp ops[MAX_OPS];
} Case;

static double
uniform (Case *c, double low, double high)
{
  return g_rand_double_range (c->rand, low, high);
}

static guint
pick (Case *c, guint n)
{
  return (guint) g_rand_int_range (c->rand, 0, (gint) n);
}

static gboolean
has_waves (const FluidSpec *spec)
{
  return spec->waves.resource != ENGINE_NONE;
}

static double
slots (const Case *c, ResourceId r)
{
  double left = c->capacity[r] - c->reserved[r];

  return MAX (1.0, floor (left > 0 ? left : MIN (1.0, c->capacity[r])));
}

static double
wave_seconds (const Case *c, const CaseOp *op)
{
  return ceil (op->spec.waves.units / slots (c, op->spec.waves.resource))
         * op->spec.waves.unit_seconds;
}

static double
amount_on (const Case *c, const CaseOp *op, ResourceId r)
{
  double sum = 0;

  for (guint i = 0; i < op->spec.n_demands; i++)
    if (op->demands[i].resource == r)
      sum += op->demands[i].amount;
  if (has_waves (&op->spec) && op->spec.waves.resource == r)
    sum += wave_seconds (c, op) * slots (c, r);
  return sum;
}

static void
make_op (Case *c, CaseOp *op)
{
  guint first = pick (c, c->n_resources);
  guint n = 1 + pick (c, MIN (4, c->n_resources));

  g_assert (c->n_resources > 0);
  op->spec = (FluidSpec){ .class_ = pick (c, 2) ? OP_KERNEL : OP_TRAFFIC,
                          .demands = op->demands,
                          .n_demands = n,
                          .waves = { ENGINE_NONE, 0, 0 },
                          .share = exp (uniform (c, -4, 4)) };
  for (guint i = 0; i < n; i++)
    op->demands[i] = (Demand){ (first + i) % c->n_resources, exp (uniform (c, -3, 3)) };
  op->spec.priority = (gint) pick (c, 3);
  if (pick (c, 4) == 0)
    op->spec.cap = exp (uniform (c, -4, 1));
  if (op->spec.class_ == OP_KERNEL && pick (c, 3) == 0)
    {
      op->spec.n_demands--; /* the last resource is demanded in waves */
      op->spec.waves =
          (WaveDemand){ op->demands[n - 1].resource, 1 + pick (c, 60), uniform (c, 0.01, 1) };
    }
}

static void
make_case (Case *c, guint seed)
{
  *c = (Case){ .rand = g_rand_new_with_seed (seed), .seed = seed };
  c->n_resources = 1 + pick (c, MAX_RESOURCES);
  for (guint r = 0; r < c->n_resources; r++)
    c->capacity[r] = pick (c, 2) ? floor (uniform (c, 1, 30)) : uniform (c, 0.5, 30);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static double
taken (const Case *c, const double *rates, ResourceId r, OpClass class_, gint least_priority)
{
  double sum = 0;

  for (guint i = 0; i < MAX_OPS; i++)
    {
      const CaseOp *op = &c->ops[i];
      if (op->live && op->spec.class_ == class_
          && (class_ == OP_TRAFFIC || op->spec.priority >= least_priority))
        sum += rates[i] * amount_on (c, op, r);
    }
  return sum;
}

/* What ops of a class may take together. */
static double
offered (const Case *c, const double *rates, ResourceId r, OpClass class_)
{
  if (class_ == OP_TRAFFIC)
    return c->capacity[r];

  double left = c->capacity[r] - c->reserved[r];
  left = left > 0 ? left : MIN (1.0, c->capacity[r]);
  return MAX (0.0, left - taken (c, rates, r, OP_TRAFFIC, 0));
}

static void
check_feasible (const Case *c, const double *rates)
{
  for (ResourceId r = 0; r < c->n_resources; r++)
    for (OpClass class_ = OP_TRAFFIC; class_ <= OP_KERNEL; class_++)
      {
        double sum = taken (c, rates, r, class_, G_MININT), most = offered (c, rates, r, class_);
        ck_assert_msg (sum <= most + TOLERANCE * c->capacity[r],
                       "seed %u: resource %u gives %g of %g", c->seed, r, sum, most);
      }
}

static gboolean
is_tier_mate (const CaseOp *a, const CaseOp *b)
{
  return b->live && b->spec.class_ == a->spec.class_
         && (a->spec.class_ == OP_TRAFFIC || b->spec.priority == a->spec.priority);
}

/* Saturated by op I's tier and those above it, and I's level is the highest of its tier there. */
static gboolean
is_bottleneck (const Case *c, const double *rates, guint i, ResourceId r)
{
  const CaseOp *op = &c->ops[i];
  double        most = offered (c, rates, r, op->spec.class_);

  if (amount_on (c, op, r) == 0
      || taken (c, rates, r, op->spec.class_, op->spec.priority)
             < most - TOLERANCE * c->capacity[r])
    return FALSE;
  for (guint j = 0; j < MAX_OPS; j++)
    if (is_tier_mate (op, &c->ops[j]) && amount_on (c, &c->ops[j], r) > 0
        && rates[j] / c->ops[j].spec.share
               > rates[i] / op->spec.share * (1 + TOLERANCE) + TOLERANCE)
      return FALSE;
  return TRUE;
}

static void
check_max_min (const Case *c, const Fluid *fluid, const double *rates)
{
  for (guint i = 0; i < MAX_OPS; i++)
    {
      const CaseOp *op = &c->ops[i];
      if (!op->live)
        continue;
      FluidRate rate = fluid_rate (fluid, op->id);
      double    cap = op->spec.cap > 0 ? op->spec.cap : INFINITY;
      double    wave = has_waves (&op->spec) ? 1 / wave_seconds (c, op) : INFINITY;

      ck_assert_msg (rates[i] <= MIN (cap, wave) * (1 + TOLERANCE),
                     "seed %u: op %u beyond its limit", c->seed, i);
      if (rate.cause == CAUSE_CAP)
        ck_assert_msg (rates[i] == cap && rate.resource == ENGINE_NONE,
                       "seed %u: op %u is not at its cap", c->seed, i);
      else if (!(rate.resource == op->spec.waves.resource
                 && fabs (rates[i] - wave) <= TOLERANCE * wave))
        ck_assert_msg (is_bottleneck (c, rates, i, rate.resource),
                       "seed %u: op %u is not held by resource %u", c->seed, i, rate.resource);
    }
}

/* ---- the incremental solver, and the one that solves everything ------------------------------ */

static Fluid *
make_fluid (const Case *c)
{
  Fluid *fluid = fluid_new ();

  for (ResourceId r = 0; r < c->n_resources; r++)
    fluid_add_resource (fluid, c->capacity[r]);
  return fluid;
}

static void
toggle (Case *c, Fluid *fluid, Fluid *full, FluidOp *full_ids)
{
  guint   i = pick (c, MAX_OPS);
  CaseOp *op = &c->ops[i];

  if (op->live)
    {
      fluid_remove (fluid, op->id);
      fluid_remove (full, full_ids[i]);
    }
  else
    {
      make_op (c, op);
      op->id = fluid_add (fluid, &op->spec);
      full_ids[i] = fluid_add (full, &op->spec);
    }
  op->live = !op->live;
}

static void
change_something (Case *c, Fluid *fluid, Fluid *full, FluidOp *full_ids)
{
  if (pick (c, 5) > 0)
    {
      toggle (c, fluid, full, full_ids);
      return;
    }
  ResourceId r = pick (c, c->n_resources);
  c->reserved[r] = pick (c, 3) ? floor (uniform (c, 0, c->capacity[r] + 1)) : 0;
  fluid_set_reserved (fluid, r, c->reserved[r]);
  fluid_set_reserved (full, r, c->reserved[r]);
}

static void
compare_and_check (const Case *c, const Fluid *fluid, const Fluid *full, const FluidOp *full_ids)
{
  double rates[MAX_OPS] = { 0 };

  for (guint i = 0; i < MAX_OPS; i++)
    if (c->ops[i].live)
      {
        double expected = fluid_rate (full, full_ids[i]).rate;
        rates[i] = fluid_rate (fluid, c->ops[i].id).rate;
        ck_assert_msg (fabs (rates[i] - expected) <= 1e-12 * expected,
                       "seed %u: op %u has %.17g, not %.17g", c->seed, i, rates[i], expected);
      }
  check_feasible (c, rates);
  check_max_min (c, fluid, rates);
}

START_TEST (random_changes)
{
  for (guint seed = 0; seed < 500; seed++)
    {
      Case    c;
      FluidOp full_ids[MAX_OPS] = { 0 };
      guint   n;
      make_case (&c, seed);
      g_autoptr (Fluid) fluid = make_fluid (&c);
      g_autoptr (Fluid) full = make_fluid (&c);
      fluid_set_full (full, TRUE);

      for (guint round = 0; round < 40; round++)
        {
          for (guint k = 1 + pick (&c, 3); k > 0; k--)
            change_something (&c, fluid, full, full_ids);
          fluid_solve (fluid, &n);
          fluid_solve (full, &n);
          compare_and_check (&c, fluid, full, full_ids);
          ck_assert (!fluid_is_dirty (fluid));
        }
      g_rand_free (c.rand);
    }
}
END_TEST

/* ---- order of creation ----------------------------------------------------------------------- */

static void
shuffle (Case *c, guint *order, guint n)
{
  for (guint i = 0; i < n; i++)
    order[i] = i;
  for (guint i = n; i > 1; i--)
    {
      guint j = pick (c, i), swap = order[j];
      order[j] = order[i - 1];
      order[i - 1] = swap;
    }
}

/* Rates of all ops, with resources and ops created in the given orders. */
static void
solve_in_order (const Case *c, const guint *resources, const guint *ops, double *rates)
{
  g_autoptr (Fluid) fluid = fluid_new ();
  ResourceId        number[MAX_RESOURCES];
  FluidOp           ids[MAX_OPS];
  guint             n;

  for (guint i = 0; i < c->n_resources; i++)
    {
      fluid_add_resource (fluid, c->capacity[resources[i]]);
      number[resources[i]] = i;
    }
  for (guint i = 0; i < MAX_OPS; i++)
    {
      CaseOp op = c->ops[ops[i]];
      op.spec.demands = op.demands;
      for (guint j = 0; j < op.spec.n_demands; j++)
        op.demands[j].resource = number[op.demands[j].resource];
      if (has_waves (&op.spec))
        op.spec.waves.resource = number[op.spec.waves.resource];
      ids[ops[i]] = fluid_add (fluid, &op.spec);
    }
  fluid_solve (fluid, &n);
  ck_assert_uint_eq (n, MAX_OPS);
  for (guint i = 0; i < MAX_OPS; i++)
    rates[i] = fluid_rate (fluid, ids[i]).rate;
}

START_TEST (order_of_creation)
{
  for (guint seed = 1000; seed < 1500; seed++)
    {
      Case   c;
      guint  resources[MAX_RESOURCES], ops[MAX_OPS];
      double first[MAX_OPS], second[MAX_OPS];
      make_case (&c, seed);

      for (guint i = 0; i < MAX_OPS; i++)
        make_op (&c, &c.ops[i]);
      for (guint i = 0; i < MAX_OPS; i++)
        ops[i] = i;
      for (guint i = 0; i < c.n_resources; i++)
        resources[i] = i;
      solve_in_order (&c, resources, ops, first);
      shuffle (&c, resources, c.n_resources);
      shuffle (&c, ops, MAX_OPS);
      solve_in_order (&c, resources, ops, second);
      for (guint i = 0; i < MAX_OPS; i++)
        ck_assert_msg (fabs (first[i] - second[i]) <= 1e-12 * first[i],
                       "seed %u: op %u: %.17g, then %.17g", seed, i, first[i], second[i]);
      g_rand_free (c.rand);
    }
}
END_TEST

/* ---- what a solve visits --------------------------------------------------------------------- */

START_TEST (a_solve_visits_its_component)
{
  g_autoptr (Fluid) fluid = fluid_new ();
  guint64           solves, visited, before;
  guint             n;

  for (guint i = 0; i < 100; i++)
    fluid_add_resource (fluid, 10);
  FluidOp last = 0;
  for (guint i = 0; i < 100; i++)
    {
      Demand    demand = { i, 1 };
      FluidSpec spec = { .class_ = OP_KERNEL,
                         .demands = &demand,
                         .n_demands = 1,
                         .waves = { ENGINE_NONE, 0, 0 },
                         .share = 1,
                         .user = i };
      last = fluid_add (fluid, &spec);
      spec.class_ = OP_TRAFFIC;
      fluid_add (fluid, &spec);
    }
  fluid_solve (fluid, &n);
  ck_assert_uint_eq (n, 200);
  fluid_counters (fluid, &solves, &before);

  /* another kernel on the last resource: one component with two kernels, no traffic */
  Demand    demand = { 99, 1 };
  FluidSpec spec = { .class_ = OP_KERNEL,
                     .demands = &demand,
                     .n_demands = 1,
                     .waves = { ENGINE_NONE, 0, 0 },
                     .share = 1 };
  fluid_add (fluid, &spec);
  fluid_solve (fluid, &n);
  fluid_counters (fluid, &solves, &visited);
  ck_assert_uint_eq (visited - before, 2);
  ck_assert_uint_eq (n, 1); /* starved by the traffic, as the one that was there */
  ck_assert (fluid_rate (fluid, last).rate == 0);
}
END_TEST

SUITE_MAIN (fluid)
{
  Suite *suite = suite_create ("fluid");
  TCase *tcase = tcase_create ("properties");

  tcase_add_test (tcase, random_changes);
  tcase_add_test (tcase, order_of_creation);
  tcase_add_test (tcase, a_solve_visits_its_component);
  suite_add_tcase (suite, tcase);
  return test_main (suite);
}
