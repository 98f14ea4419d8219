#include "hardware/topology/link-graph.h"

#include <string.h>

#define MAX_WIDTH    16
#define SEARCH_STEPS 200000

/* ---- the text -------------------------------------------------------------------------------- */

/* "0-3:2" or "0-3". */
static gboolean
parse_pair (const char *text, guint64 *a, guint64 *b, guint64 *width)
{
  char *end;
  *a = g_ascii_strtoull (text, &end, 10);
  if (!g_ascii_isdigit (text[0]) || *end != '-' || !g_ascii_isdigit (end[1]))
    return FALSE;
  *b = g_ascii_strtoull (end + 1, &end, 10);
  *width = 1;
  if (*end == ':' && g_ascii_isdigit (end[1]))
    *width = g_ascii_strtoull (end + 1, &end, 10);
  return *end == '\0';
}

static const char *
add_pair (LinkGraph *self, const char *text)
{
  guint64 a, b, width;
  if (!parse_pair (text, &a, &b, &width))
    return "write pairs of GPUs and their links, as in '0-1:2 0-2'";
  if (a >= LINK_GRAPH_MAX || b >= LINK_GRAPH_MAX)
    return "GPUs are numbered from 0 to 15";
  if (a == b)
    return "a GPU is not linked to itself";
  if (width == 0 || width > MAX_WIDTH)
    return "a pair has 1 to 16 links";
  if (self->links[a][b] > 0)
    return "the pair is there already";
  self->links[a][b] = self->links[b][a] = (guint8) width;
  self->n = MAX (self->n, (guint) MAX (a, b) + 1);
  return NULL;
}

gboolean
link_graph_parse (LinkGraph *self, const char *text, const SourceMark *mark, DiagList *diags)
{
  g_auto (GStrv) items = g_strsplit_set (text, " \t\n", -1);
  gboolean       ok = TRUE;
  *self = (LinkGraph){ 0 };
  for (guint i = 0; items[i] != NULL; i++)
    {
      const char *hint = *items[i] != '\0' ? add_pair (self, items[i]) : NULL;
      if (hint != NULL)
        diag_error (diags, mark, hint, "bad pair '%s' in 'links'", items[i]);
      ok &= hint == NULL;
    }
  if (ok && self->n == 0)
    diag_error (diags, mark, NULL, "'links' has no pairs");
  return ok && self->n > 0;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

guint
link_graph_degree (const LinkGraph *self, guint n, guint gpu)
{
  guint degree = 0;
  for (guint other = 0; other < n; other++)
    degree += self->links[gpu][other];
  return degree;
}

guint
link_graph_pair (const LinkGraph *self, guint n, guint a, guint b)
{
  guint pair = 0;
  for (guint i = 0; i < a * n + b; i++)
    pair += self->links[i / n][i % n] > 0;
  return pair;
}

guint
link_graph_n_pairs (const LinkGraph *self, guint n)
{
  return n > 0 ? link_graph_pair (self, n, n, 0) : 0;
}

void
link_graph_ends (const LinkGraph *self, guint n, guint pair, guint *a, guint *b)
{
  guint i = 0;
  for (;; i++)
    {
      g_assert (i < n * n);
      if (self->links[i / n][i % n] > 0 && pair-- == 0)
        break;
    }
  *a = i / n;
  *b = i % n;
}

guint
link_graph_between (const LinkGraph *self, guint n, guint a, guint b)
{
  guint best = n, widest = 0;
  for (guint c = 0; c < n; c++)
    {
      const guint width = MIN (self->links[a][c], self->links[c][b]);
      if (width > widest)
        {
          best = c;
          widest = width;
        }
    }
  return best;
}

/* ---- cycles ---------------------------------------------------------------------------------- */

/*
 * Depth first: complete a cycle over the links that are left, take it away, go on to the next one.
 * Undirected; the second vertex is below the last, so that no cycle is met in both directions.
 */
typedef struct
{
  guint  n, steps;
  guint8 left[LINK_GRAPH_MAX][LINK_GRAPH_MAX];
  guint8 path[LINK_GRAPH_MAX_CYCLES][LINK_GRAPH_MAX];
  guint  found, best, bound;
  guint8 kept[LINK_GRAPH_MAX_CYCLES][LINK_GRAPH_MAX];
} Search;

static void extend (Search *self, guint length, guint32 visited);

static gboolean
is_over (const Search *self)
{
  return self->best >= self->bound || self->steps >= SEARCH_STEPS;
}

static void
use_link (Search *self, guint a, guint b, gint sign)
{
  self->left[a][b] = (guint8) (self->left[a][b] + sign);
  self->left[b][a] = self->left[a][b];
}

static void
next_cycle (Search *self)
{
  if (++self->found > self->best)
    {
      self->best = self->found;
      memcpy (self->kept, self->path, sizeof self->kept);
    }
  if (self->found < self->bound)
    {
      self->path[self->found][0] = 0;
      extend (self, 1, 1);
    }
  self->found--;
}

/* Vertex after vertex, those with most links left first: they must be used up. */
static void
extend (Search *self, guint length, guint32 visited)
{
  guint8     *path = self->path[self->found];
  const guint last = path[length - 1];
  self->steps++;
  if (length == self->n)
    {
      if (self->left[last][0] == 0 || path[1] > last)
        return;
      use_link (self, last, 0, -1);
      next_cycle (self);
      use_link (self, last, 0, 1);
      return;
    }
  for (guint width = MAX_WIDTH; width > 0; width--)
    for (guint next = 1; next < self->n && !is_over (self); next++)
      if (self->left[last][next] == width && (visited & 1u << next) == 0)
        {
          path[length] = (guint8) next;
          use_link (self, last, next, -1);
          extend (self, length + 1, visited | 1u << next);
          use_link (self, last, next, 1);
        }
}

guint
link_graph_cycles (const LinkGraph *self, const guint *members, guint n,
                   guint8 cycles[LINK_GRAPH_MAX_CYCLES][LINK_GRAPH_MAX])
{
  Search search = { .n = n, .bound = LINK_GRAPH_MAX_CYCLES / 2 };
  g_assert (n <= LINK_GRAPH_MAX);
  if (n < 2)
    return 0;
  for (guint i = 0; i < n; i++)
    {
      guint degree = 0;
      for (guint k = 0; k < n; k++)
        degree += search.left[i][k] = self->links[members[i]][members[k]];
      search.bound = MIN (search.bound, degree / 2);
    }
  if (n == 2) /* there and back over one link */
    {
      const guint width = MIN (search.left[0][1], LINK_GRAPH_MAX_CYCLES);
      for (guint i = 0; i < width; i++)
        {
          cycles[i][0] = 0;
          cycles[i][1] = 1;
        }
      return width;
    }
  if (search.bound > 0)
    extend (&search, 1, 1);
  for (guint i = 0; i < search.best; i++)
    {
      guint8 *there = cycles[(gsize) 2 * i], *back = cycles[(gsize) 2 * i + 1];
      for (guint k = 0; k < n; k++)
        {
          there[k] = search.kept[i][k];
          back[k] = search.kept[i][(n - k) % n];
        }
    }
  return 2 * search.best;
}
