/* What is as good as the fastest, and simpler: the answer of a search. */
#include <math.h>
#include <string.h>

#include "decide/search/search-private.h"

#define LISTED 10 /* of the best, unless asked otherwise */

/* Schedules of a pipeline that take no other than the usual words. */
static gboolean
is_usual (gint pipeline)
{
  return pipeline == PIPELINE_AUTO || pipeline == PIPELINE_1F1B || pipeline == PIPELINE_INTERLEAVED;
}

SearchComplexity
search_complexity (const Search *self, const Scenario *scenario, const SearchVariant *variant,
                   gboolean offloads)
{
  const MeshOptions *mesh = &scenario->mesh;
  SearchComplexity   complexity = { .kinds = offloads ? 1 : 0 };

  (void) self;
  complexity.kinds +=
      (mesh->tp > 1) + (mesh->tp_rows > 1) + (mesh->cp > 1) + (mesh->pp > 1) + (mesh->ep > 1);
  complexity.changes = (mesh->vp > 1) + !is_usual (mesh->pipeline);
  for (guint i = 0; i < variant->options->len; i++)
    if (!g_str_has_suffix (g_array_index (variant->options, ScenarioOverride, i).key, ".name"))
      complexity.changes++;
  complexity.ranks = mesh_replica (mesh);
  return complexity;
}

gint
search_compare_complexity (const SearchComplexity *a, const SearchComplexity *b)
{
  if (a->kinds != b->kinds)
    return a->kinds < b->kinds ? -1 : 1;
  if (a->changes != b->changes)
    return a->changes < b->changes ? -1 : 1;
  return a->ranks < b->ranks ? -1 : a->ranks > b->ranks;
}

double
search_limit (const Search *self)
{
  return self->best * (1 + self->options->within);
}

gboolean
search_is_run (const Search *self, const Scenario *scenario)
{
  g_autofree char *runners = self->options->runners != NULL
                                 ? self->options->runners (scenario, self->options->runners_user)
                                 : NULL;

  return runners != NULL;
}

/* Whether FOUND is one that a framework runs, as far as anybody knows. */
static gboolean
is_run (const Search *self, const SearchFound *found)
{
  return self->options->runners == NULL || found->runs_on != NULL;
}

gboolean
search_may_matter (const Search *self, double score, const SearchComplexity *complexity)
{
  const SearchFound *headline = self->result->headline;

  return score < self->best
         || (score < search_limit (self) && headline != NULL
             && (!is_run (self, headline)
                 || search_compare_complexity (complexity, &headline->complexity) < 0));
}

/* Whether A is the answer before B: a framework runs it, it is simpler, it is faster. */
static gboolean
goes_before (const Search *self, const SearchFound *a, const SearchFound *b)
{
  const gint by = search_compare_complexity (&a->complexity, &b->complexity);

  if (is_run (self, a) != is_run (self, b))
    return is_run (self, a);
  return by != 0 ? by < 0 : a->score < b->score;
}

void
search_add_headline (Search *self, SearchFound *found)
{
  SearchResult *result = self->result;

  if (self->options->runners != NULL && found->score <= search_limit (self))
    found->runs_on = self->options->runners (found->scenario, self->options->runners_user);
  result->headline = NULL;
  result->n_as_good = 0;
  for (guint i = 0; i < result->found->len; i++)
    {
      const SearchFound *one = g_ptr_array_index (result->found, i);

      if (one->score > search_limit (self))
        continue;
      result->n_as_good++;
      if (result->headline == NULL || goes_before (self, one, result->headline))
        result->headline = one;
    }
}

gint
search_compare_found (gconstpointer a, gconstpointer b)
{
  const SearchFound *x = *(const SearchFound *const *) a, *y = *(const SearchFound *const *) b;

  if (x->score != y->score)
    return x->score < y->score ? -1 : 1;
  return strcmp (x->label, y->label);
}

guint
search_n_best (const SearchOptions *options)
{
  return options->n_best > 0 ? options->n_best : LISTED;
}

char *
search_faster_text (const SearchResult *self)
{
  const SearchFound *fastest = self->headline != NULL ? g_ptr_array_index (self->found, 0) : NULL;
  double             percent;
  const char        *why;

  if (fastest == self->headline)
    return NULL;
  percent = 100 * (self->headline->score / fastest->score - 1);
  why = self->headline->runs_on != NULL && fastest->runs_on == NULL
            ? ", and no framework is known to run it"
            : "";
  return percent < 0.05 ? g_strdup_printf ("no faster%s", why)
                        : g_strdup_printf ("%.1f %% faster%s", percent, why);
}
