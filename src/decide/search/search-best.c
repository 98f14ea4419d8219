/* What is said of a search: the best, the Pareto front, near misses, what was left. */
#include "decide/search/search-private.h"

#include <math.h>
#include <string.h>

#define MOST_MISSES 5
#define MOST_DROPS  5

void
search_keep_best (Search *self)
{
  GPtrArray  *found = self->result->found;
  const guint n = search_n_best (self->options);

  /* In throughput, memory and GPUs none is as good everywhere and better somewhere. */
  for (guint i = 0; i < found->len; i++)
    {
      SearchFound      *one = g_ptr_array_index (found, i);
      const Prediction *p = one->prediction;

      one->pareto = TRUE;
      for (guint k = 0; k < found->len && one->pareto; k++)
        {
          const Prediction *q = ((const SearchFound *) g_ptr_array_index (found, k))->prediction;
          gboolean no_worse = q->tokens_per_s >= p->tokens_per_s && q->hbm.device <= p->hbm.device
                              && q->n_gpus <= p->n_gpus;
          gboolean better = q->tokens_per_s > p->tokens_per_s || q->hbm.device < p->hbm.device
                            || q->n_gpus < p->n_gpus;

          one->pareto = !(no_worse && (better || k < i));
        }
    }
  for (guint i = found->len; i-- > n;)
    {
      const SearchFound *one = g_ptr_array_index (found, i);

      if (!one->pareto && one != self->result->headline)
        g_ptr_array_remove_index (found, i);
    }
}

static gint
compare_misses (gconstpointer a, gconstpointer b)
{
  const SearchMiss *x = *(const SearchMiss *const *) a, *y = *(const SearchMiss *const *) b;

  if (x->excess != y->excess)
    return x->excess < y->excess ? -1 : 1;
  return strcmp (x->label, y->label);
}

void
search_keep_misses (Search *self)
{
  GPtrArray *missed = self->result->missed;

  for (guint i = missed->len; i-- > 0;)
    if (((const SearchMiss *) g_ptr_array_index (missed, i))->bound >= self->best)
      g_ptr_array_remove_index_fast (missed, i);
  g_ptr_array_sort (missed, compare_misses);
  if (missed->len > MOST_MISSES)
    g_ptr_array_set_size (missed, MOST_MISSES);
}

/*
 * N configurations of a bound of SCORE were not tried. Whether they may be better than the best. A
 * mesh that cannot be on one stage, or that nobody came to, has no bound (0).
 */
static gboolean
count_untried (Search *self, double score, guint64 n)
{
  SearchResult *result = self->result;

  if (score >= self->best)
    {
      result->n_cut += n;
      return FALSE;
    }
  result->n_open += n;
  if (score <= 0)
    result->n_unbounded += n;
  else if (result->open_least == 0 || score < result->open_least)
    result->open_least = score;
  return TRUE;
}

/*
 * What was left, and by how much it could be better. What was passed over by an estimate is left,
 * too: only a bound proves.
 */
void
search_count_open (Search *self)
{
  SearchResult *result = self->result;

  for (guint i = 0; i < self->candidates->len; i++)
    {
      const Candidate *candidate = &g_array_index (self->candidates, Candidate, i);

      if (count_untried (self, candidate->score, 1))
        result->n_hopeless += search_is_hopeless (self, candidate);
    }
  for (guint i = 0; i < self->alike->len; i++)
    result->n_alike += count_untried (self, g_array_index (self->alike, double, i), 1);
  for (guint i = 0; i < self->nodes->len; i++)
    {
      const Node *node = node_at (self, i);

      if (!node->expanded)
        count_untried (self, node->least, self->space->variants->len);
    }
  if (result->n_open > 0 && isfinite (self->best))
    result->open_gain = result->open_least > 0 ? self->best / result->open_least : 1;
}

double
search_open_step (const SearchResult *self)
{
  const SearchFound *fastest = self->found->len > 0 ? g_ptr_array_index (self->found, 0) : NULL;

  if (fastest == NULL || self->open_least == 0 || self->objective != SEARCH_THROUGHPUT
      || fastest->score <= self->open_least)
    return NAN;
  return fastest->prediction->step_time_s / fastest->score * self->open_least;
}

static gint
compare_drops (gconstpointer a, gconstpointer b)
{
  const SearchDrop *x = a, *y = b;

  if (x->n != y->n)
    return x->n > y->n ? -1 : 1;
  return strcmp (x->reason, y->reason);
}

void
search_list_drops (Search *self)
{
  GHashTableIter iter;
  gpointer       value;

  g_hash_table_iter_init (&iter, self->reasons);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      SearchDrop *drop = value;

      g_array_append_val (self->result->drops, *drop);
    }
  g_array_sort (self->result->drops, compare_drops);
  if (self->result->drops->len > MOST_DROPS)
    g_array_set_size (self->result->drops, MOST_DROPS);
}
