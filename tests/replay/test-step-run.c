/*
 * The executor of step programs against arithmetic by hand, against the recursion that a ring with
 * links of its own obeys, and against a plain simulation (progressive filling from scratch at every
 * event) on random programs that share links. Not asserted: that the steps are those of a real
 * collective (test-step does).
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "../suite.h"
#include "replay/step/step-run.h"

static void
assert_near (double a, double b, double tolerance, const char *what)
{
  ck_assert_msg (fabs (a - b) <= tolerance * fabs (b), "%s: %.17g, expected %.17g", what, a, b);
}

/* A ring of N edges over resources 0..n-1, one each. */
static StepProgram *
ring_new (guint n, guint n_items, double bytes, const double *hops, double launch)
{
  StepProgram *program = step_program_new (launch);

  for (guint i = 0; i < n; i++)
    step_program_add_edge (
        program, &(StepEdge){ .n_items = n_items, .bytes = bytes, .hop = hops[i], .weight = 1 },
        &(StepLoad){ i, 1 }, 1);
  for (guint i = 0; i < n; i++)
    step_program_add_wait (program, i, (i + 1) % n, 1);
  step_program_finish (program);
  return program;
}

static double
run_one (const double *capacity, guint n, const StepProgram *program)
{
  StepRunItem item = { program, 0 };
  double      finish;

  step_run (capacity, n, &item, 1, &finish);
  return finish;
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* 4 ranks, 6 steps of 100 B at 100 B/s with hops of 0.25 s, launched after 2 s. */
START_TEST (test_even_ring)
{
  double capacity[4] = { 100, 100, 100, 100 }, hops[4] = { 0.25, 0.25, 0.25, 0.25 };
  g_autoptr (StepProgram) program = ring_new (4, 6, 100, hops, 2);

  assert_near (run_one (capacity, 4, program), 2 + 6 * (1 + 0.25), 1e-12, "even ring");
}
END_TEST

/*
 * One link at half the speed: 6 items of 2 s, and the last arrives a hop later. Items wait 1 s a
 * hop at the others, which hides their 0.25 s.
 */
START_TEST (test_slow_edge)
{
  double                  capacity[4] = { 100, 50, 100, 100 }, hops[4] = { 0.25, 0.25, 0.25, 0.25 };
  g_autoptr (StepProgram) program = ring_new (4, 6, 100, hops, 0);

  assert_near (run_one (capacity, 4, program), 6 * 2 + 0.25, 1e-12, "slow edge");
}
END_TEST

/*
 * One hop of 5 s among links alike: a chunk crosses it twice in 6 steps when it starts there, and a
 * third of nobody's.
 */
START_TEST (test_long_hop)
{
  double                  capacity[4] = { 100, 100, 100, 100 }, hops[4] = { 0, 5, 0, 0 };
  g_autoptr (StepProgram) program = ring_new (4, 6, 100, hops, 0);

  assert_near (run_one (capacity, 4, program), 6 * 1 + 2 * 5, 1e-12, "long hop");
}
END_TEST

/* A chain of 3 edges, 10 chunks of 1 s: the last leaves after 10 + 2 s, with 0.5 s a hop. */
START_TEST (test_chain)
{
  double                  capacity[3] = { 100, 100, 100 };
  g_autoptr (StepProgram) program = step_program_new (0);

  for (guint i = 0; i < 3; i++)
    step_program_add_edge (program,
                           &(StepEdge){ .n_items = 10, .bytes = 100, .hop = 0.5, .weight = 1 },
                           &(StepLoad){ i, 1 }, 1);
  step_program_add_wait (program, 0, 1, 0);
  step_program_add_wait (program, 1, 2, 0);
  step_program_finish (program);
  assert_near (run_one (capacity, 3, program), 10 + 2 + 1.5, 1e-12, "chain");
}
END_TEST

/* Weights 3 and 1 on one link of 100 B/s, 300 B each: 4 s at 75 B/s, then 200 B at 100 B/s. */
START_TEST (test_two_programs)
{
  double                  capacity[1] = { 100 }, finish[2];
  g_autoptr (StepProgram) heavy = step_program_new (0);
  g_autoptr (StepProgram) light = step_program_new (0);
  StepRunItem             items[2] = { { heavy, 0 }, { light, 0 } };

  step_program_add_edge (heavy, &(StepEdge){ .n_items = 3, .bytes = 100, .weight = 3 },
                         &(StepLoad){ 0, 1 }, 1);
  step_program_add_edge (light, &(StepEdge){ .n_items = 1, .bytes = 300, .weight = 1 },
                         &(StepLoad){ 0, 1 }, 1);
  step_program_finish (heavy);
  step_program_finish (light);
  step_run (capacity, 1, items, 2, finish);
  assert_near (finish[0], 4, 1e-12, "heavy");
  assert_near (finish[1], 6, 1e-12, "light");
  items[1].start = 1; /* 100 B alone, then 200 B at 75 B/s */
  step_run (capacity, 1, items, 2, finish);
  assert_near (finish[0], 1 + 200.0 / 75, 1e-12, "heavy, first");
  assert_near (finish[1], 6, 1e-12, "light, later");
}
END_TEST

START_TEST (test_nothing)
{
  g_autoptr (StepProgram) program = step_program_new (3);
  StepRunItem             item = { program, 4 };
  double                  finish;

  step_program_finish (program);
  step_run (NULL, 0, &item, 1, &finish);
  ck_assert (finish == 7);
}
END_TEST

/*
 * Random rings of two classes of edges with a link each: the closed form is exact. 3 nodes of 4
 * ranks by hand: 22 steps of an all-reduce, w = 2 s inside and 3 s between, hops of 0.5 s and 4 s.
 * Inside, half a second of the second to spare is left: 6 nets gain 4 each, 5 x 3 hops between them
 * lose 0.5 each: 22 x 3 + 24 - 7.5.
 */
START_TEST (test_closed_form)
{
  g_autoptr (GRand)  rand = g_rand_new_with_seed ((guint32) _i);
  guint              nodes = (guint) g_rand_int_range (rand, 1, 7);
  guint              per_node = (guint) g_rand_int_range (rand, nodes == 1 ? 2 : 1, 7);
  guint              n = nodes * per_node, steps = (n - 1) * (guint) g_rand_int_range (rand, 1, 3);
  double             w_intra = g_rand_double (rand), w_net = g_rand_double (rand);
  double             a_intra = g_rand_double (rand), a_net = 3 * g_rand_double (rand), w;
  g_autofree double *capacity = g_new (double, n), *hops = g_new (double, n);
  g_autoptr (StepProgram) program = NULL;

  if (_i == 0)
    {
      nodes = 3;
      per_node = 4;
      steps = 22;
      n = 12;
      w_intra = 2;
      w_net = 3;
      a_intra = 0.5;
      a_net = 4;
      capacity = g_renew (double, capacity, n);
      hops = g_renew (double, hops, n);
    }
  for (guint i = 0; i < n; i++)
    {
      gboolean net = nodes > 1 && i % per_node == per_node - 1;

      capacity[i] = 1 / (net ? w_net : w_intra);
      hops[i] = net ? a_net : a_intra;
    }
  w = nodes == 1 ? w_intra : per_node == 1 ? w_net : MAX (w_intra, w_net);
  program = ring_new (n, steps, 1, hops, 0);
  assert_near (steps * w
                   + step_ring_exposed (nodes, per_node, steps, a_intra - (w - w_intra),
                                        a_net - (w - w_net)),
               run_one (capacity, n, program), 1e-12, "closed form");
  if (_i == 0)
    assert_near (run_one (capacity, n, program), 22 * 3 + 24 - 7.5, 1e-12, "worked");
}
END_TEST

/* ---- random programs against a plain simulation ---------------------------------------------- */

#define MAX_EDGES 24
#define MAX_ITEMS 12

/* Everything about one edge of the plain simulation. */
typedef struct
{
  const StepProgram *program;
  const StepEdge    *edge;
  double             start; /* of the program's first item */
  guint              base;  /* number of the program's first edge */
  guint              item;
  gboolean           flowing;
  double             left, rate, arrived[MAX_ITEMS], ended;
} Plain;

static const StepLoad *
plain_load (const Plain *edge, guint i)
{
  return &g_array_index (edge->program->loads, StepLoad, edge->edge->first_load + i);
}

/* When the present item may begin, or INFINITY when that is not known yet. */
static double
plain_ready (const Plain *edges, guint n, guint e)
{
  const Plain *edge = &edges[e];
  double       ready = MAX (edge->start, edge->ended);

  for (guint f = 0; f < n; f++)
    for (guint i = 0; i < edges[f].edge->n_next && edges[f].program == edge->program; i++)
      {
        const StepNext *next =
            &g_array_index (edges[f].program->nexts, StepNext, edges[f].edge->first_next + i);

        if (edges[f].base + next->edge == e && edge->item >= next->lag)
          ready = MAX (ready, edges[f].arrived[edge->item - next->lag]);
      }
  return ready;
}

/* Progressive filling: raise the level until some edge is held, hold it, go on. */
static void
plain_fill (const double *capacity, Plain *edges, guint n)
{
  gboolean held[2 * MAX_EDGES] = { FALSE };

  for (guint left = n; left > 0; left--)
    {
      double level = INFINITY;
      guint  first = G_MAXUINT;

      for (guint e = 0; e < n; e++)
        {
          double own =
              edges[e].edge->cap > 0 ? edges[e].edge->cap / edges[e].edge->weight : INFINITY;

          if (!edges[e].flowing || held[e])
            continue;
          for (guint i = 0; i < edges[e].edge->n_loads; i++)
            {
              const StepLoad *load = plain_load (&edges[e], i);
              double          room = capacity[load->resource], weight = 0;

              for (guint f = 0; f < n; f++)
                for (guint j = 0; edges[f].flowing && j < edges[f].edge->n_loads; j++)
                  if (plain_load (&edges[f], j)->resource == load->resource)
                    {
                      if (held[f])
                        room -= edges[f].rate * plain_load (&edges[f], j)->service;
                      else
                        weight += edges[f].edge->weight * plain_load (&edges[f], j)->service;
                    }
              own = MIN (own, room / weight);
            }
          if (own < level)
            {
              level = own;
              first = e;
            }
        }
      if (first == G_MAXUINT)
        return;
      held[first] = TRUE;
      edges[first].rate = level * edges[first].edge->weight;
    }
}

static void
plain_run (const double *capacity, Plain *edges, guint n)
{
  double now = 0;

  for (;;)
    {
      double next = INFINITY;

      for (guint e = 0; e < n; e++)
        if (!edges[e].flowing && edges[e].item < edges[e].edge->n_items)
          {
            double ready = plain_ready (edges, n, e);

            edges[e].flowing = ready <= now + 1e-12;
            edges[e].left = edges[e].edge->bytes;
            if (!edges[e].flowing)
              next = MIN (next, ready);
          }
      plain_fill (capacity, edges, n);
      for (guint e = 0; e < n; e++)
        if (edges[e].flowing)
          next = MIN (next, now + edges[e].left / edges[e].rate);
      if (isinf (next))
        return;
      for (guint e = 0; e < n; e++)
        {
          if (!edges[e].flowing)
            continue;
          edges[e].left -= edges[e].rate * (next - now);
          if (edges[e].left > 1e-9 * edges[e].edge->bytes)
            continue;
          edges[e].flowing = FALSE;
          edges[e].ended = next;
          edges[e].arrived[edges[e].item++] = next + edges[e].edge->hop;
        }
      now = next;
    }
}

static StepProgram *
random_program (GRand *rand, guint n_resources)
{
  StepProgram *program = step_program_new (g_rand_int_range (rand, 0, 3));
  guint        n = (guint) g_rand_int_range (rand, 1, MAX_EDGES), items[MAX_EDGES];
  gboolean     closed = g_rand_boolean (rand);

  for (guint e = 0; e < n; e++)
    {
      StepLoad loads[4];
      guint    n_loads = (guint) g_rand_int_range (rand, 1, 5);

      items[e] = closed || e == 0 || g_rand_boolean (rand)
                     ? (guint) g_rand_int_range (rand, 1, MAX_ITEMS)
                     : items[e - 1];
      if (e > 0)
        items[e] = closed ? items[0] : MIN (items[e], items[e - 1]);
      for (guint i = 0; i < n_loads; i++)
        loads[i] = (StepLoad){ (guint32) g_rand_int_range (rand, 0, (gint) n_resources),
                               g_rand_double_range (rand, 0.5, 2) };
      step_program_add_edge (
          program,
          &(StepEdge){ .n_items = items[e],
                       .bytes = closed ? 10 : g_rand_double_range (rand, 1, 20),
                       .hop = g_rand_int_range (rand, 0, 3) * 0.1,
                       .cap = g_rand_boolean (rand) ? g_rand_double_range (rand, 1, 20) : 0,
                       .weight = g_rand_int_range (rand, 1, 4) },
          loads, n_loads);
    }
  for (guint e = 0; closed && e < n && n > 1; e++)
    step_program_add_wait (program, e, (e + 1) % n, 1);
  for (guint e = 1; !closed && e < n; e++)
    for (guint f = 0; f < e; f++)
      if (items[f] >= items[e] && g_rand_int_range (rand, 0, 3) == 0)
        step_program_add_wait (program, f, e, (guint32) g_rand_boolean (rand));
  step_program_finish (program);
  return program;
}

START_TEST (test_random)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) _i);
  StepProgram      *programs[2];
  StepRunItem       items[2];
  guint             n_resources = (guint) g_rand_int_range (rand, 1, 40), n = 0;
  double            capacity[40], finish[2], expected[2];
  g_autofree Plain *edges = g_new0 (Plain, 2 * MAX_EDGES);

  for (guint r = 0; r < n_resources; r++)
    capacity[r] = g_rand_double_range (rand, 5, 50);
  for (guint p = 0; p < 2; p++)
    {
      programs[p] = random_program (rand, n_resources);
      items[p] = (StepRunItem){ programs[p], 0.5 * g_rand_int_range (rand, 0, 3) };
      expected[p] = items[p].start + programs[p]->launch;
      for (guint e = 0, base = n; e < programs[p]->edges->len; e++)
        edges[n++] = (Plain){ .program = programs[p],
                              .edge = step_program_edge (programs[p], e),
                              .base = base,
                              .start = expected[p] };
    }
  for (guint e = 0; e < n; e++)
    for (guint i = 0; i < MAX_ITEMS; i++)
      edges[e].arrived[i] = INFINITY;
  step_run (capacity, n_resources, items, 2, finish);
  plain_run (capacity, edges, n);
  for (guint e = 0; e < n; e++)
    {
      guint p = edges[e].program == programs[1];

      ck_assert_uint_eq (edges[e].item, edges[e].edge->n_items);
      expected[p] = MAX (expected[p], edges[e].arrived[edges[e].item - 1]);
    }
  for (guint p = 0; p < 2; p++)
    {
      ck_assert_msg (fabs (finish[p] - expected[p]) <= 1e-8 * expected[p],
                     "seed %d, program %u: %.12g, expected %.12g", _i, p, finish[p], expected[p]);
      step_program_free (programs[p]);
    }
}
END_TEST

SUITE_MAIN (step_run)
{
  Suite *suite = suite_create ("step-run");
  TCase *hand = tcase_create ("hand"), *random = tcase_create ("random");

  tcase_add_test (hand, test_even_ring);
  tcase_add_test (hand, test_slow_edge);
  tcase_add_test (hand, test_long_hop);
  tcase_add_test (hand, test_chain);
  tcase_add_test (hand, test_two_programs);
  tcase_add_test (hand, test_nothing);
  tcase_add_loop_test (random, test_closed_form, 0, 300);
  tcase_add_loop_test (random, test_random, 0, 300);
  suite_add_tcase (suite, hand);
  suite_add_tcase (suite, random);
  return suite_run (suite);
}
