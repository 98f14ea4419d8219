/*
 * Whole random runs, 500 seeded cases: ranks with streams of kernels (with waves), copies and
 * collectives over two communicators, waits, blocking hosts and memory. Asserts, for each:
 *  - segments cover every op's run; walking gates back from the last op adds up to its end;
 *  - what ops moved over each resource is the sum of their amounts;
 *  - an incremental run ends every op within 1 ps of one that solves everything at every event;
 *  - the same holds when resources are created in another order;
 *  - a second run is equal in every field.
 */
#include "../suite.h"
#include "engine/engine-private.h"
#include "fixture.h"

#include <math.h>
#include <string.h>

#define MAX_RANKS 4
#define MAX_STEPS 40
#define N_STREAMS 3 /* compute, copy, communication */
#define N_ORDERS  2

typedef enum
{
  STEP_KERNEL,
  STEP_COPY,
  STEP_COLLECTIVE,
  STEP_STREAM_WAIT,
  STEP_HOST_WAIT,
  STEP_ALLOC,
} StepKind;

/* The same program on all ranks, but for the ranks' own factor on all durations. */
typedef struct
{
  StepKind kind;
  guint    stream;
  guint    target; /* of waits: an earlier step */
  guint    order;
  double   size;
  double   units;
  SimTime  latency, cost;
  guint64  bytes;
  gboolean deferred, capped;
} Step;

typedef struct
{
  guint  n_ranks, n_steps;
  double factor[MAX_RANKS];
  double slots, reserve;
  Step   steps[MAX_STEPS];
} Plan;

typedef struct
{
  ResourceId sm, hbm, link;
  PoolId     pool;
  StreamId   streams[N_STREAMS];
  guint      next;
  gboolean   paid;
  OpId       ops[MAX_STEPS];
  guint64    held;
} Rank;

typedef struct
{
  const Plan *plan;
  Engine     *engine;
  ResourceId  spine;
  OrderId     orders[N_ORDERS];
  OpId        collectives[MAX_STEPS];
  Rank        ranks[MAX_RANKS];
  double     *amounts; /* by resource; waves are not in it */
  guint       forgets; /* the past is forgotten at each so many-th step of rank 0; 0: never */
  SimTime     past;    /* when it last was */
} World;

/* ---- plans ----------------------------------------------------------------------------------- */

static gboolean
submits (const Step *step)
{
  return step->kind <= STEP_COLLECTIVE;
}

static void
make_step (GRand *rand, Plan *plan, guint i)
{
  Step *step = &plan->steps[i];

  *step = (Step){
    .kind = (StepKind) g_rand_int_range (rand, 0, i == 0 ? STEP_COLLECTIVE + 1 : STEP_ALLOC + 1),
    .order = (guint) g_rand_int_range (rand, 0, N_ORDERS),
    .target = i > 0 ? (guint) g_rand_int_range (rand, 0, (gint) i) : 0,
    .size = exp (g_rand_double_range (rand, -2, 2)),
    .units = g_rand_int_range (rand, 0, 3) ? g_rand_int_range (rand, 1, 60) : 0,
    .latency = g_rand_int_range (rand, 0, 2) ? (SimTime) g_rand_int_range (rand, 0, 1000000) : 0,
    .cost = g_rand_int_range (rand, 0, 3) ? 0 : (SimTime) g_rand_double_range (rand, 0, 1e12),
    .bytes = (guint64) g_rand_int_range (rand, 1, 60),
    .deferred = g_rand_int_range (rand, 0, 2),
    .capped = g_rand_int_range (rand, 0, 4) == 0,
  };
  step->stream = (guint) step->kind % N_STREAMS;
  if (step->kind >= STEP_STREAM_WAIT)
    step->stream = (guint) g_rand_int_range (rand, 0, N_STREAMS);
  if (!submits (step) && !submits (&plan->steps[step->target]))
    step->target = 0; /* the first step always submits */
}

static void
make_plan (Plan *plan, guint seed)
{
  GRand *rand = g_rand_new_with_seed (seed);

  memset (plan, 0, sizeof *plan);
  plan->n_ranks = (guint) g_rand_int_range (rand, 1, MAX_RANKS + 1);
  plan->n_steps = (guint) g_rand_int_range (rand, 2, MAX_STEPS + 1);
  plan->slots = g_rand_int_range (rand, 4, 20);
  plan->reserve = g_rand_int_range (rand, 0, 4);
  for (guint r = 0; r < MAX_RANKS; r++)
    plan->factor[r] = g_rand_int_range (rand, 0, 2) ? 1 : g_rand_double_range (rand, 0.5, 2);
  for (guint i = 0; i < plan->n_steps; i++)
    make_step (rand, plan, i);
  g_rand_free (rand);
}

/* ---- running a plan -------------------------------------------------------------------------- */

static void
note_amounts (World *w, const TestOp *op)
{
  for (guint i = 0; i < G_N_ELEMENTS (op->demands) && op->demands[i].amount > 0; i++)
    w->amounts[op->demands[i].resource] += op->demands[i].amount;
}

static OpId
new_kernel (World *w, const Rank *rank, const Step *step, double factor)
{
  TestOp op = { .class_ = OP_KERNEL,
                .latency = step->latency,
                .demands = { { rank->hbm, step->size * factor } },
                .share = 1 / (step->size * factor),
                .cap = step->capped ? 0.7 : 0 };

  if (step->units > 0)
    op.waves = (WaveDemand){ rank->sm, step->units, 0.1 * factor };
  note_amounts (w, &op);
  return test_op_new (w->engine, op);
}

static OpId
new_copy (World *w, const Rank *rank, const Step *step, double factor)
{
  TestOp op = { .class_ = OP_TRAFFIC,
                .latency = step->latency,
                .demands = { { rank->link, step->size * factor },
                             { rank->hbm, step->size * factor / 2 } },
                .share = 1 / step->size,
                .cap = step->capped ? 0.5 : 0 };

  note_amounts (w, &op);
  return test_op_new (w->engine, op);
}

static OpId
new_collective (World *w, const Step *step)
{
  Demand demands[2 * MAX_RANKS + 1];
  guint  n = 0;
  OpSpec spec = { .class_ = OP_TRAFFIC,
                  .latency = step->latency,
                  .demands = demands,
                  .waves = { ENGINE_NONE, 0, 0 },
                  .share = 2 / step->size,
                  .members = w->plan->n_ranks,
                  .order = w->orders[step->order] };

  for (guint r = 0; r < w->plan->n_ranks; r++)
    {
      demands[n++] = (Demand){ w->ranks[r].link, step->size };
      demands[n++] = (Demand){ w->ranks[r].hbm, step->size };
    }
  demands[n++] = (Demand){ w->spine, step->size };
  spec.n_demands = n;
  for (guint i = 0; i < n; i++)
    w->amounts[demands[i].resource] += demands[i].amount;
  return engine_op_new (w->engine, &spec);
}

static void
submit_step (World *w, guint r, guint i)
{
  Rank       *rank = &w->ranks[r];
  const Step *step = &w->plan->steps[i];
  OpId       *op = &rank->ops[i];
  gboolean    reserves = step->kind == STEP_COLLECTIVE && w->plan->reserve > 0;

  if (step->kind == STEP_KERNEL)
    *op = new_kernel (w, rank, step, w->plan->factor[r]);
  else if (step->kind == STEP_COPY)
    *op = new_copy (w, rank, step, w->plan->factor[r]);
  else if (w->collectives[i] == ENGINE_NONE)
    *op = w->collectives[i] = new_collective (w, step);
  else
    *op = w->collectives[i];
  engine_submit (w->engine, *op, rank->streams[step->stream], reserves ? rank->sm : ENGINE_NONE,
                 w->plan->reserve);
}

static HostYield
plan_step (Engine *e, HostId host, gpointer user)
{
  World *w = user;
  Rank  *rank = &w->ranks[host];

  if (rank->next == w->plan->n_steps)
    return (HostYield){ .kind = HOST_END };
  const Step *step = &w->plan->steps[rank->next];
  if (w->forgets > 0 && host == 0 && rank->next % w->forgets == 0)
    {
      engine_forget_past (e);
      w->past = engine_now (e);
    }
  if (!rank->paid && step->cost > 0)
    {
      rank->paid = TRUE;
      return (HostYield){ .kind = HOST_WORK,
                          .work = (SimTime) ((double) step->cost * w->plan->factor[host]) };
    }
  rank->paid = FALSE;
  guint i = rank->next++;
  if (submits (step))
    submit_step (w, host, i);
  else if (step->kind == STEP_STREAM_WAIT)
    engine_stream_wait (e, rank->streams[step->stream], rank->ops[step->target]);
  else if (step->kind == STEP_HOST_WAIT)
    return (HostYield){ .kind = HOST_WAIT, .wait = rank->ops[step->target] };
  else
    {
      if (rank->held > 0)
        engine_pool_release (e, rank->pool, POOL_GATHERED, &(PoolRequest){ .bytes = rank->held },
                             step->deferred ? rank->ops[step->target] : ENGINE_NONE);
      rank->held = step->bytes;
      return (HostYield){ .kind = HOST_ALLOC,
                          .pool = rank->pool,
                          .category = POOL_GATHERED,
                          .request.bytes = step->bytes,
                          .tag = i };
    }
  return (HostYield){ .kind = HOST_WORK };
}

/* Creates the resources from the first to the last, or from the last to the first. */
static void
add_resources (World *w, gboolean backwards)
{
  guint n = w->plan->n_ranks;

  if (!backwards)
    w->spine = engine_add_resource (w->engine, "spine", 2);
  for (guint k = 0; k < n; k++)
    {
      Rank *rank = &w->ranks[backwards ? n - 1 - k : k];
      if (backwards)
        rank->link = engine_add_resource (w->engine, "link", 1);
      rank->sm = engine_add_resource (w->engine, "sm", w->plan->slots);
      rank->hbm = engine_add_resource (w->engine, "hbm", 3);
      if (!backwards)
        rank->link = engine_add_resource (w->engine, "link", 1);
    }
  if (backwards)
    w->spine = engine_add_resource (w->engine, "spine", 2);
}

static void
run_plan_forgetting (World *w, const Plan *plan, gboolean backwards, gboolean full, guint forgets)
{
  *w = (World){ .plan = plan, .engine = engine_new (), .forgets = forgets };
  memset (w->collectives, 0xff, sizeof w->collectives);
  engine_set_full_resolve (w->engine, full);
  add_resources (w, backwards);
  w->amounts = g_new0 (double, engine_n_resources (w->engine));
  for (guint k = 0; k < N_ORDERS; k++)
    w->orders[k] = engine_add_order (w->engine, "comm");
  for (guint r = 0; r < plan->n_ranks; r++)
    {
      for (guint s = 0; s < N_STREAMS; s++)
        w->ranks[r].streams[s] = engine_add_stream (w->engine, "s", (gint) s, 0);
      w->ranks[r].pool = engine_add_pool (w->engine, "hbm", 100);
      engine_add_host (w->engine, "h", plan_step, w);
    }
  test_run (w->engine);
}

static void
run_plan (World *w, const Plan *plan, gboolean backwards, gboolean full)
{
  run_plan_forgetting (w, plan, backwards, full, 0);
}

static void
clear_world (World *w)
{
  engine_free (w->engine);
  g_free (w->amounts);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void
check_amounts (const World *w, guint seed)
{
  for (guint r = 0; r < w->plan->n_ranks; r++)
    {
      ResourceId ids[] = { w->ranks[r].hbm, w->ranks[r].link };
      for (guint k = 0; k < 2; k++)
        {
          double used = engine_resource_used (w->engine, ids[k]), sum = w->amounts[ids[k]];
          ck_assert_msg (fabs (used - sum) <= 1e-12 * sum, "seed %u: rank %u: moved %.17g of %.17g",
                         seed, r, used, sum);
        }
    }
}

static void
check_walk (const World *w)
{
  SimTime parts[CAUSE_N] = { 0 };
  OpId    last = 0;

  for (OpId op = 0; op < engine_n_ops (w->engine); op++)
    if (test_end (w->engine, op) > test_end (w->engine, last))
      last = op;
  test_walk (w->engine, last, parts);
}

/* Ops are paired by rank and step: ids may be given in another order. */
static void
check_equal_ends (const World *a, const World *b, guint seed, const char *what)
{
  for (guint r = 0; r < a->plan->n_ranks; r++)
    for (guint i = 0; i < a->plan->n_steps; i++)
      {
        if (!submits (&a->plan->steps[i]))
          continue;
        SimTime x = test_end (a->engine, a->ranks[r].ops[i]),
                y = test_end (b->engine, b->ranks[r].ops[i]);
        ck_assert_msg (MAX (x, y) - MIN (x, y) <= 1,
                       "seed %u: %s: rank %u, step %u ends at %" G_GUINT64_FORMAT
                       " or %" G_GUINT64_FORMAT,
                       seed, what, r, i, x, y);
      }
}

static void
check_identical (const World *a, const World *b)
{
  ck_assert_uint_eq (engine_n_ops (a->engine), engine_n_ops (b->engine));
  for (OpId op = 0; op < engine_n_ops (a->engine); op++)
    {
      const OpRecord *x = engine_op_record (a->engine, op), *y = engine_op_record (b->engine, op);
      ck_assert (x->issue == y->issue && x->begin == y->begin && x->end == y->end
                 && x->first_arrival == y->first_arrival && x->drain == y->drain
                 && x->gate == y->gate && x->gate_op == y->gate_op && x->gate_host == y->gate_host
                 && x->stream == y->stream && x->first_segment == y->first_segment
                 && x->n_segments == y->n_segments);
    }
}

static gboolean
same_segments (const Engine *a, const OpRecord *x, const Engine *b, const OpRecord *y)
{
  const TraceSegment *of_x = engine_segments (a, x), *of_y = engine_segments (b, y);

  for (guint i = 0; i < x->n_segments && x->n_segments == y->n_segments; i++)
    if (of_x[i].duration != of_y[i].duration || of_x[i].cause != of_y[i].cause
        || of_x[i].resource != of_y[i].resource)
      return FALSE;
  return x->n_segments == y->n_segments;
}

/* Of a run that forgets, all ends, and all that is said of ops that ended since it last forgot. */
static void
check_forgot (const World *whole, const World *forgot)
{
  const Engine *a = whole->engine, *b = forgot->engine;

  ck_assert_uint_eq (engine_n_ops (a), engine_n_ops (b));
  for (OpId op = 0; op < engine_n_ops (a); op++)
    {
      const OpRecord *x = engine_op_record (a, op), *y;

      ck_assert_uint_eq (engine_op_end (b, op), x->end);
      ck_assert (op >= engine_first_op (b) || x->end <= forgot->past);
      if (x->end <= forgot->past)
        continue;
      y = engine_op_record (b, op);
      ck_assert (x->issue == y->issue && x->begin == y->begin && x->gate == y->gate
                 && x->gate_op == y->gate_op && x->drain == y->drain && x->drain_op == y->drain_op);
      ck_assert (same_segments (a, x, b, y));
    }
}

/* How many ops were forgotten: some, or the cases above say nothing. */
static guint
check_case (guint seed)
{
  Plan  plan;
  World first, again, full, backwards, forgot;
  guint n_forgotten;

  make_plan (&plan, seed);
  run_plan (&first, &plan, FALSE, FALSE);
  run_plan (&again, &plan, FALSE, FALSE);
  run_plan (&full, &plan, FALSE, TRUE);
  run_plan (&backwards, &plan, TRUE, FALSE);
  run_plan_forgetting (&forgot, &plan, FALSE, FALSE, 1 + seed % 5);
  test_check_segments (first.engine);
  check_walk (&first);
  check_amounts (&first, seed);
  check_identical (&first, &again);
  check_forgot (&first, &forgot);
  check_equal_ends (&first, &full, seed, "full");
  check_equal_ends (&first, &backwards, seed, "backwards");
  ck_assert (engine_counters (first.engine).visited <= engine_counters (full.engine).visited);
  clear_world (&first);
  clear_world (&again);
  clear_world (&full);
  clear_world (&backwards);
  n_forgotten = engine_first_op (forgot.engine);
  clear_world (&forgot);
  return n_forgotten;
}

START_TEST (random_runs)
{
  guint n_forgotten = 0;

  for (guint seed = 0; seed < 500; seed++)
    n_forgotten += check_case (seed);
  ck_assert_uint_gt (n_forgotten, 1000);
}
END_TEST

SUITE_MAIN (engine_property)
{
  Suite *suite = suite_create ("engine-property");
  TCase *tcase = tcase_create ("runs");

  tcase_add_test (tcase, random_runs);
  suite_add_tcase (suite, tcase);
  return test_main (suite);
}
