/* Structures become candidates: a bound of each of their variants. */
#include "decide/search/search-private.h"

#include <string.h>

#include "base/parallel.h"

#define BLOCK             64 /* structures at a time, whatever the number of threads */
#define COLLECTIVE_EFFORT 30 /* kernels that a collective takes as long as */
#define ALONE_STEPS       3  /* micro-steps that stand for all where there is no pipeline */

/* What became of a structure's variants. */
typedef struct
{
  GArray    *candidates;
  GPtrArray *reasons; /* char*, of variants that were refused */
  GArray    *alike;   /* double: scores of variants whose bounds are their base's */
  guint64    n_bounded, n_cut, n_too_large;
} Expansion;

typedef struct
{
  Search      *search;
  const guint *nodes;
  const guint *begins;     /* of runs of nodes that differ in their stages alone, and the end */
  Expansion   *expansions; /* [nodes][groups] */
} ExpandJobs;

static gboolean
bounds_are_equal (const ScreenedBound *a, const ScreenedBound *b)
{
  return a->seconds == b->seconds && memcmp (a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/* A collective among them shares links with others, and takes as long as many kernels. */
static double
effort_of_kernels (const KernelDesc *kernels, guint n)
{
  double effort = n;

  for (guint k = 0; k < n; k++)
    if (kernels[k].kind == KERNEL_COMMUNICATION)
      effort += COLLECTIVE_EFFORT;
  return effort;
}

static double
effort_of_stage (const Workload *stage)
{
  double effort = 0;

  for (guint l = 0; l < workload_n_layers (stage); l++)
    {
      const LayerDesc *layer = workload_layer (stage, l);

      effort += COLLECTIVE_EFFORT; /* the strategy's */
      effort += effort_of_kernels (layer->forward, layer->n_forward);
      effort += effort_of_kernels (layer->recompute, layer->n_recompute);
      effort += effort_of_kernels (layer->backward, layer->n_backward);
    }
  return effort;
}

/* Without a pipeline few micro-steps stand for all; with one, as many as it takes to repeat. */
static double
effort_of (const ResolvedScenario *resolved)
{
  const Pipeline pipeline = pipeline_of (resolved->workload);
  guint          enough = ALONE_STEPS;
  double         effort = 0;

  if (pipeline.stages > 1)
    enough = 2 * pipeline.stages * (pipeline.chunks + 1);
  for (guint s = 0; s < pipeline.stages; s++)
    effort += effort_of_stage (resolved->input.stages[s]);
  return effort * MIN (pipeline.micros, enough);
}

static void
expand_variants (const Search *self, const Node *node, guint group,
                 const ResolvedScenario *resolved, const ScreenedCompute *compute, ExpectSums *sums,
                 Expansion *out)
{
  const guint               n = self->space->variants->len;
  g_autofree ScreenedBound *bounds = g_new0 (ScreenedBound, n);
  const double              sequences = search_sequences (resolved);
  const double              weight = search_weight (self, cluster_n_gpus (resolved->cluster));
  const double              effort = effort_of (resolved);

  for (guint v = 0; v < n; v++)
    {
      const SearchVariant *variant = g_ptr_array_index (self->space->variants, v);
      g_autoptr (DiagList) diags = diag_list_new ();
      Candidate            candidate = { .structure = node->index,
                                         .variant = v,
                                         .effort = effort,
                                         .pipeline = pipeline_of (resolved->workload).kind };

      if (variant->group != group)
        continue;
      if (!search_context_is_run (self, node->index, variant))
        {
          g_ptr_array_add (out->reasons, search_context_refusal (self, node->index));
          continue;
        }
      if (!search_screen_bound (self->screen, resolved, compute, variant->choice, sums, &bounds[v],
                                diags))
        {
          g_ptr_array_add (out->reasons, g_strdup (diag_list_first_message (diags)));
          continue;
        }
      out->n_bounded++;
      candidate.bound = bounds[v].seconds;
      candidate.score = weight * bounds[v].seconds / sequences;
      candidate.low = bounds[v].bytes[PLACE_HBM];
      candidate.complexity =
          search_complexity (self, resolved->scenario, variant,
                             bounds[v].bytes[PLACE_PINNED] + bounds[v].bytes[PLACE_PAGEABLE] > 0);
      if ((double) candidate.low > search_memory (self))
        out->n_too_large++;
      else if (!search_may_matter (self, candidate.score, &candidate.complexity))
        out->n_cut++;
      else if (variant->base != v && bounds_are_equal (&bounds[v], &bounds[variant->base]))
        g_array_append_val (out->alike, candidate.score);
      else
        g_array_append_val (out->candidates, candidate);
    }
}

static guint
n_of_group (const Search *self, guint group)
{
  guint n = 0;

  for (guint v = 0; v < self->space->variants->len; v++)
    n += ((const SearchVariant *) g_ptr_array_index (self->space->variants, v))->group == group;
  return n;
}

static void
expand_resolved (const Search *self, const Node *node, guint group,
                 const ResolvedScenario *resolved, ExpectSums *sums, Expansion *out)
{
  const double    weight = search_weight (self, cluster_n_gpus (resolved->cluster));
  ScreenedCompute compute;

  expect_sums_begin (sums, resolved->workload);
  if (search_screen_activations (resolved, sums) > search_memory (self))
    {
      out->n_too_large += n_of_group (self, group);
      return;
    }
  compute = search_screen_compute (self->screen, resolved);
  if (weight * compute.compute / search_sequences (resolved) >= search_limit (self))
    out->n_cut += n_of_group (self, group);
  else
    expand_variants (self, node, group, resolved, &compute, sums, out);
}

/* The variants of GROUP, which compute the same. */
static void
expand_group (const Search *self, const Node *node, guint group, SearchKit *kit, Expansion *out)
{
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (ResolvedScenario) resolved = NULL;
  g_autoptr (Scenario)         scenario = search_space_scenario (
              self->space, node->index, search_space_group (self->space, group), diags);

  if (scenario != NULL)
    resolved = search_kit_resolve (kit, self, scenario, node->index, group, FALSE, NULL, diags);
  if (resolved != NULL)
    expand_resolved (self, node, group, resolved, kit->sums, out);
  for (guint i = 0; resolved == NULL && i < n_of_group (self, group); i++)
    g_ptr_array_add (out->reasons, g_strdup (diag_list_first_message (diags)));
}

/* One of the runs under one of the groups. */
static void
expand_run (guint job, gpointer user)
{
  ExpandJobs   *jobs = user;
  const Search *self = jobs->search;
  const guint   n_groups = self->space->n_groups, group = job % n_groups;
  const guint  *begin = &jobs->begins[job / n_groups];
  SearchKit    *kit = search_borrow_kit (self);

  for (guint i = begin[0]; i < begin[1]; i++)
    {
      Expansion *out = &jobs->expansions[i * n_groups + group];

      out->candidates = g_array_new (FALSE, FALSE, sizeof (Candidate));
      out->alike = g_array_new (FALSE, FALSE, sizeof (double));
      out->reasons = g_ptr_array_new_with_free_func (g_free);
      expand_group (self, node_at (self, jobs->nodes[i]), group, kit, out);
    }
  search_return_kit (self, kit);
}

/* Nothing, where no thread came to it. */
static void
drop_expansion (Expansion *expansion)
{
  g_clear_pointer (&expansion->alike, g_array_unref);
  g_clear_pointer (&expansion->candidates, g_array_unref);
  g_clear_pointer (&expansion->reasons, g_ptr_array_unref);
}

/* Takes what a thread found out about one structure. */
static void
take_expansion (Search *self, Expansion *expansion)
{
  SearchResult *result = self->result;

  result->n_bounded += expansion->n_bounded;
  result->n_cut += expansion->n_cut;
  result->n_too_large += expansion->n_too_large;
  result->n_refused += expansion->reasons->len;
  for (guint i = 0; i < expansion->reasons->len; i++)
    search_count_drop (self, g_ptr_array_index (expansion->reasons, i), 1);
  if (expansion->candidates->len > 0)
    g_array_append_vals (self->candidates, expansion->candidates->data, expansion->candidates->len);
  if (expansion->alike->len > 0)
    g_array_append_vals (self->alike, expansion->alike->data, expansion->alike->len);
  drop_expansion (expansion);
}

/* Where neighbours among N NODES begin to differ in more than their stages. Returns how many. */
static guint
find_runs (const Search *self, const guint *nodes, guint n, guint *begins)
{
  guint64 last = 0;
  guint   n_runs = 0;

  for (guint i = 0; i < n; i++)
    {
      const guint64 key =
          search_space_without_pipeline (self->space, node_at (self, nodes[i])->index);

      if (i == 0 || key != last)
        begins[n_runs++] = i;
      last = key;
    }
  begins[n_runs] = n;
  return n_runs;
}

static void
expand_nodes (Search *self, const guint *nodes, guint n)
{
  guint                 begins[BLOCK + 1];
  const guint           n_groups = self->space->n_groups;
  const guint           n_runs = find_runs (self, nodes, n, begins);
  g_autofree Expansion *expansions = g_new0 (Expansion, (gsize) n * n_groups + 1);
  ExpandJobs            jobs = { self, nodes, begins, expansions };
  WorkCount             count = search_jobs (self);

  work_count_step (self->predict->count, "bounding configurations", TRUE,
                   (guint) self->result->n_bounded);
  parallel_run (n_runs * n_groups, self->options->n_threads, expand_run, &jobs, &count);
  for (guint i = 0; i < n; i++)
    {
      gboolean whole = TRUE; /* else it stays open */

      for (guint g = 0; g < n_groups; g++)
        whole = whole && expansions[i * n_groups + g].candidates != NULL;
      for (guint g = 0; g < n_groups; g++)
        if (whole)
          take_expansion (self, &expansions[i * n_groups + g]);
        else
          drop_expansion (&expansions[i * n_groups + g]);
      node_at (self, nodes[i])->expanded = whole;
    }
}

/* Expands the next structures from *NEXT on that may beat the best; FALSE: there are none. */
gboolean
search_expand_next (Search *self, guint *next)
{
  guint nodes[BLOCK], n = 0;

  for (;
       n < BLOCK && *next < self->nodes->len && node_at (self, *next)->least < search_limit (self);
       (*next)++)
    if (!node_at (self, *next)->expanded)
      nodes[n++] = *next;
  expand_nodes (self, nodes, n);
  return n > 0;
}

/*
 * Structures from all over the order, so that there soon is a best one: the first ones are those of
 * least work, which take most memory. PIPED: only those with stages, or only those without, which
 * are simulated in no time.
 */
void
search_expand_sample (Search *self, gboolean piped)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (guint));
  guint              nodes[BLOCK], n;

  for (guint i = 0; i < self->nodes->len; i++)
    if (piped
        == (search_number (self, node_at (self, i)->index, "mesh.pp",
                           MAX (self->scenario->mesh.pp, 1))
            > 1))
      g_array_append_val (all, i);
  n = MIN (all->len, BLOCK);
  for (guint i = 0; i < n; i++)
    nodes[i] = g_array_index (all, guint, (guint) ((guint64) all->len * i / n));
  expand_nodes (self, nodes, n);
}
