/*
 * Folding. Random graphs: the partition is equitable (checked by counting), is the coarsest one
 * (a naive refinement that shares no code agrees) and does not depend on the order of the edges.
 * Hand-made graphs: paths, fabrics. Not asserted: speed.
 */
#include "../suite.h"
#include "hardware/topology/orbits.h"

#include "fixture.h"

#define ROUNDS    20
#define PER_ROUND 50 /* seeds a round */
#define MAX_NODES 40

typedef struct
{
  guint      n_nodes, n_edges;
  guint64    colours[MAX_NODES];
  OrbitEdge *edges;
} Graph;

/*
 * Few colours, labels and relations, so that symmetries survive; rings and copies make more of
 * them.
 */
static Graph
random_graph (GRand *rand)
{
  Graph       graph = { .n_nodes = (guint) g_rand_int_range (rand, 1, MAX_NODES) };
  const guint copies = 1 + g_rand_int (rand) % 3;
  const guint part = MAX (graph.n_nodes / copies, 1);
  const guint n = (guint) g_rand_int_range (rand, 0, (gint) (2 * part + 1));
  graph.n_nodes = part * copies;
  graph.edges = g_new (OrbitEdge, (gsize) n * copies);
  for (guint v = 0; v < part; v++)
    for (guint c = 0; c < copies; c++)
      graph.colours[c * part + v] = g_rand_int_range (rand, 0, 8) == 0 ? v % 3 : 7;
  for (guint e = 0; part > 0 && e < n; e++)
    {
      OrbitEdge edge = { .label = g_rand_int_range (rand, 0, 3) * 0.25,
                         .relation = g_rand_int (rand) % 2 };
      edge.a = g_rand_int (rand) % part;
      edge.b = g_rand_boolean (rand) ? (edge.a + 1) % part : g_rand_int (rand) % part;
      for (guint c = 0; c < copies; c++)
        {
          graph.edges[graph.n_edges] = edge;
          graph.edges[graph.n_edges].a += c * part;
          graph.edges[graph.n_edges++].b += c * part;
        }
    }
  return graph;
}

/* How many edges with the words of LIKE node V has to class CLASS at the given end. */
static guint
count_seen (const Graph *graph, const guint32 *class_of, guint v, const OrbitEdge *like,
            gboolean at_a, guint class_)
{
  guint count = 0;
  for (guint e = 0; e < graph->n_edges; e++)
    {
      const OrbitEdge *edge = &graph->edges[e];
      const guint      own = at_a ? edge->a : edge->b, other = at_a ? edge->b : edge->a;
      count += own == v && class_of[other] == class_ && edge->label == like->label
               && edge->relation == like->relation;
    }
  return count;
}

/* Whether U and V see the same through every kind of edge that either has. */
static gboolean
alike (const Graph *graph, const guint32 *class_of, guint u, guint v)
{
  for (guint e = 0; e < graph->n_edges; e++)
    for (guint end = 0; end < 2; end++)
      {
        const OrbitEdge *edge = &graph->edges[e];
        const guint      own = end == 0 ? edge->a : edge->b, other = end == 0 ? edge->b : edge->a;
        if ((own == u || own == v)
            && count_seen (graph, class_of, u, edge, end == 0, class_of[other])
                   != count_seen (graph, class_of, v, edge, end == 0, class_of[other]))
          return FALSE;
      }
  return TRUE;
}

/*
 * Rounds of O (n^2) comparisons from the colours until nothing changes; classes by lowest member.
 */
static guint
naive_refine (const Graph *graph, guint32 *class_of)
{
  guint n = 0, before;
  for (guint v = 0; v < graph->n_nodes; v++)
    {
      guint u = 0;
      while (graph->colours[u] != graph->colours[v])
        u++;
      class_of[v] = u == v ? n++ : class_of[u];
    }
  do
    {
      guint32 next[MAX_NODES];
      before = n;
      n = 0;
      for (guint v = 0; v < graph->n_nodes; v++)
        {
          guint u = 0;
          while (u < v && (class_of[u] != class_of[v] || !alike (graph, class_of, u, v)))
            u++;
          next[v] = u == v ? n++ : next[u];
        }
      memcpy (class_of, next, graph->n_nodes * sizeof *next);
    }
  while (n != before);
  return n;
}

static void
assert_result_is_sound (const Orbits *result)
{
  g_autofree guint32 *size = g_new0 (guint32, result->n_classes);
  for (guint v = 0; v < result->n_nodes; v++)
    {
      ck_assert_uint_lt (result->class_of[v], result->n_classes);
      if (size[result->class_of[v]]++ == 0)
        ck_assert_uint_eq (result->representative[result->class_of[v]], v);
    }
  for (guint c = 0; c < result->n_classes; c++)
    {
      ck_assert_uint_eq (result->size[c], size[c]);
      if (c > 0)
        ck_assert_uint_gt (result->representative[c], result->representative[c - 1]);
    }
}

static void
check_partition (guint32 seed)
{
  g_autoptr (GRand)  rand = g_rand_new_with_seed (seed);
  Graph              graph = random_graph (rand);
  guint32            expected[MAX_NODES];
  g_autoptr (Orbits) result =
      orbits_find (graph.n_nodes, graph.colours, graph.edges, graph.n_edges, NULL);
  const guint n = naive_refine (&graph, expected);
  assert_result_is_sound (result);
  ck_assert_msg (result->n_classes == n, "seed %u: %u classes, the naive refinement has %u", seed,
                 result->n_classes, n);
  for (guint v = 0; v < graph.n_nodes; v++)
    {
      ck_assert_msg (result->class_of[v] == expected[v], "seed %u: node %u", seed, v);
      ck_assert (alike (&graph, result->class_of, v, result->representative[result->class_of[v]]));
    }
  g_free (graph.edges);
}

START_TEST (test_coarsest_equitable_partition)
{
  for (guint32 k = 0; k < PER_ROUND; k++)
    check_partition ((guint32) _i * PER_ROUND + k);
}
END_TEST

static void
check_order (guint32 seed)
{
  g_autoptr (GRand)  rand = g_rand_new_with_seed (seed);
  Graph              graph = random_graph (rand);
  g_autoptr (Orbits) before =
      orbits_find (graph.n_nodes, graph.colours, graph.edges, graph.n_edges, NULL);
  for (guint e = graph.n_edges; e > 1; e--)
    {
      const guint     other = (guint) g_rand_int_range (rand, 0, (gint) e);
      const OrbitEdge swap = graph.edges[other];
      graph.edges[other] = graph.edges[e - 1];
      graph.edges[e - 1] = swap;
    }
  g_autoptr (Orbits) after =
      orbits_find (graph.n_nodes, graph.colours, graph.edges, graph.n_edges, NULL);
  ck_assert_uint_eq (before->n_classes, after->n_classes);
  ck_assert_mem_eq (before->class_of, after->class_of, graph.n_nodes * sizeof (guint32));
  g_free (graph.edges);
}

START_TEST (test_order_of_edges_does_not_matter)
{
  for (guint32 seed = 0; seed < 4 * PER_ROUND; seed++)
    check_order (seed);
}
END_TEST

/* A path of 7 has four orbits about its middle; a label at one end leaves none of two. */
START_TEST (test_path)
{
  OrbitEdge     edges[12], *edge = edges;
  const guint64 colours[7] = { 0 };
  for (guint i = 0; i < 6; i++)
    {
      *edge++ = (OrbitEdge){ .a = i, .b = i + 1, .label = 1 };
      *edge++ = (OrbitEdge){ .a = i + 1, .b = i, .label = 1 };
    }
  g_autoptr (Orbits) mirrored = orbits_find (7, colours, edges, 12, NULL);
  const guint32      expected[7] = { 0, 1, 2, 3, 2, 1, 0 };
  ck_assert_uint_eq (mirrored->n_classes, 4);
  ck_assert_mem_eq (mirrored->class_of, expected, sizeof expected);
  edges[0].label = 2;
  g_autoptr (Orbits) apart = orbits_find (7, colours, edges, 12, NULL);
  ck_assert_uint_eq (apart->n_classes, 7);
}
END_TEST

/* The ends of an edge differ: in a directed path of 3 each node has its own role. */
START_TEST (test_direction)
{
  const OrbitEdge    edges[2] = { { .a = 0, .b = 1, .label = 1 }, { .a = 1, .b = 2, .label = 1 } };
  const guint64      colours[3] = { 0 };
  g_autoptr (Orbits) result = orbits_find (3, colours, edges, 2, NULL);
  ck_assert_uint_eq (result->n_classes, 3);
}
END_TEST

START_TEST (test_relation_and_zero)
{
  const guint64      colours[4] = { 0 };
  const OrbitEdge    relations[2] = { { .a = 0, .b = 2, .label = 1, .relation = 0 },
                                      { .a = 1, .b = 3, .label = 1, .relation = 1 } };
  const OrbitEdge    zeros[2] = { { .a = 0, .b = 2, .label = 0.0 },
                                  { .a = 1, .b = 3, .label = -0.0 } };
  g_autoptr (Orbits) distinct = orbits_find (4, colours, relations, 2, NULL);
  g_autoptr (Orbits) equal = orbits_find (4, colours, zeros, 2, NULL);
  ck_assert_uint_eq (distinct->n_classes, 4);
  ck_assert_uint_eq (equal->n_classes, 2);
}
END_TEST

START_TEST (test_empty)
{
  g_autoptr (Orbits) nothing = orbits_find (0, NULL, NULL, 0, NULL);
  const guint64      colours[3] = { 5, 5, 9 };
  g_autoptr (Orbits) apart = orbits_find (3, colours, NULL, 0, NULL);
  ck_assert_uint_eq (nothing->n_classes, 0);
  ck_assert_uint_eq (apart->n_classes, 2);
  ck_assert_uint_eq (apart->size[0], 2);
}
END_TEST

/*
 * The size that a large run needs: 150 000 nodes, 1 000 000 edges. 10 000 hosts of 14 parts in a
 * ring under leaves of 16: each position in a leaf and each part is a class of its own (16 x 14),
 * and the leaves are one: 225.
 */
#define HOSTS 10000u
#define PARTS 14u
#define LEAF  16u

static gsize
fabric_edges (OrbitEdge *edges)
{
  gsize n = 0;
  for (guint h = 0; h < HOSTS; h++)
    {
      const guint first = h * PARTS, next = (h + 1) % HOSTS * PARTS;
      for (guint p = 0; p < PARTS; p++)
        {
          for (guint k = 1; k <= 5; k++)
            edges[n++] = (OrbitEdge){ .a = first + p, .b = first + (p + k) % PARTS, .label = k };
          edges[n++] = (OrbitEdge){ .a = first + p, .b = next + p, .label = p, .relation = 1 };
          edges[n++] = (OrbitEdge){
            .a = first + p, .b = HOSTS * PARTS + h / LEAF, .label = h % LEAF + 1, .relation = 2
          };
        }
    }
  return n;
}

START_TEST (test_large_fabric)
{
  const guint           n_nodes = HOSTS * PARTS + HOSTS / LEAF;
  g_autofree OrbitEdge *edges = g_new (OrbitEdge, (gsize) HOSTS * PARTS * 7);
  g_autofree guint64   *colours = g_new0 (guint64, n_nodes);
  const gsize           n_edges = fabric_edges (edges);
  for (guint leaf = 0; leaf < HOSTS / LEAF; leaf++)
    colours[HOSTS * PARTS + leaf] = 1;
  const gint64       start = g_get_monotonic_time ();
  g_autoptr (Orbits) result = orbits_find (n_nodes, colours, edges, n_edges, NULL);
  g_printerr ("# %u nodes, %" G_GSIZE_FORMAT " edges: %.0f ms\n", n_nodes, n_edges,
              (double) (g_get_monotonic_time () - start) / 1e3);
  ck_assert_uint_eq (result->n_classes, LEAF * PARTS + 1);
  assert_result_is_sound (result);
  edges[0].label = 99; /* one odd link, and nothing is symmetric any more */
  g_autoptr (Orbits) broken = orbits_find (n_nodes, colours, edges, n_edges, NULL);
  ck_assert_uint_eq (broken->n_classes, n_nodes);
}
END_TEST

SUITE_MAIN (orbits)
{
  TCase *tcase = tcase_create ("orbits");
  tcase_add_loop_test (tcase, test_coarsest_equitable_partition, 0, ROUNDS);
  tcase_add_test (tcase, test_order_of_edges_does_not_matter);
  tcase_add_test (tcase, test_path);
  tcase_add_test (tcase, test_direction);
  tcase_add_test (tcase, test_relation_and_zero);
  tcase_add_test (tcase, test_empty);
  tcase_add_test (tcase, test_large_fabric);
  return run_case ("orbits", tcase);
}
