/* The best ones: their other options, the Pareto front, near misses, what was left. */
#include "analysis/search-private.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"

#define REFINED     3 /* of the best, that are tried with other options */
#define MOST_MISSES 5
#define MOST_DROPS  5

/* ---- the best, and its options --------------------------------------------------------------- */

static gint
compare_found (gconstpointer a, gconstpointer b)
{
  const SearchFound *x = *(const SearchFound *const *) a, *y = *(const SearchFound *const *) b;

  if (x->score != y->score)
    return x->score < y->score ? -1 : 1;
  return strcmp (x->label, y->label);
}

typedef struct
{
  const Search      *search;
  const SearchFound *around;
  GPtrArray         *variants; /* SearchVariant, each of one change */
  Scenario         **scenarios;
  Prediction       **predictions;
} RefineJobs;

/* The change that makes a variant of its base. */
static const ScenarioOverride *
change_of (const SearchVariant *variant)
{
  return &g_array_index (variant->options, ScenarioOverride, variant->options->len - 1);
}

static void
refine_one (guint i, gpointer user)
{
  RefineJobs          *jobs = user;
  const Search        *self = jobs->search;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *reason = NULL;

  jobs->scenarios[i] = scenario_with (jobs->around->scenario, self->strategies,
                                      change_of (g_ptr_array_index (jobs->variants, i)), 1, diags);
  if (jobs->scenarios[i] != NULL)
    jobs->predictions[i] = search_simulate (self, jobs->scenarios[i], &reason);
}

/* Changes of options of AROUND's strategy that its bounds cannot tell apart. */
static GPtrArray *
changes_of (const Search *self, const SearchFound *around)
{
  GPtrArray  *changes = g_ptr_array_new ();
  const char *name = around->scenario->strategy->strategy->name;

  for (guint v = 0; v < self->space->variants->len; v++)
    {
      const SearchVariant *variant = g_ptr_array_index (self->space->variants, v);

      if (variant->base != v && g_str_equal (variant->scenario->strategy->strategy->name, name)
          && !g_str_has_suffix (change_of (variant)->key, ".shard"))
        g_ptr_array_add (changes, (gpointer) variant);
    }
  return changes;
}

/* Tries every change of AROUND; what fits and is better than it is found as well. */
static void
refine (Search *self, const SearchFound *around)
{
  g_autoptr (GPtrArray)   changes = changes_of (self, around);
  g_autofree Scenario   **scenarios = g_new0 (Scenario *, changes->len + 1);
  g_autofree Prediction **predictions = g_new0 (Prediction *, changes->len + 1);
  RefineJobs              jobs = { self, around, changes, scenarios, predictions };
  const double            before = around->score;

  parallel_run (changes->len, self->options->n_threads, refine_one, &jobs, self->predict->count);
  self->result->n_simulated += changes->len;
  for (guint i = 0; i < changes->len; i++)
    {
      const ScenarioOverride *change = change_of (g_ptr_array_index (changes, i));
      Prediction             *p = predictions[i];
      double                  score;

      if (p == NULL || search_excess (self, p) > 0)
        {
          prediction_free (p);
          g_clear_pointer (&scenarios[i], scenario_free);
          continue;
        }
      score = search_weight (self, p->n_gpus) / p->samples_per_s;
      if (score < before * (1 - 1e-9))
        {
          g_autoptr (GString) options = g_string_new (around->options);
          char *label = g_strdup_printf ("%s %s=%s", around->label, strrchr (change->key, '.') + 1,
                                         change->value);

          search_append_word (options, change);
          g_free (p->scenario);
          p->scenario = g_strdup (label);
          search_add_found (self, label, g_strdup (options->str), scenarios[i], p, around->bound);
        }
      else
        {
          prediction_free (p);
          scenario_free (scenarios[i]);
        }
    }
}

void
search_refine (Search *self)
{
  GPtrArray *found = self->result->found;
  guint      n = MIN (found->len, REFINED);

  g_ptr_array_sort (found, compare_found);
  for (guint i = 0; i < n && self->options->refine; i++)
    refine (self, g_ptr_array_index (found, i));
  g_ptr_array_sort (found, compare_found);
}

/* ---- what is said ---------------------------------------------------------------------------- */

/* In throughput, memory and GPUs none is as good everywhere and better somewhere. */
static void
mark_pareto (GPtrArray *found)
{
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
}

void
search_keep_best (Search *self)
{
  GPtrArray  *found = self->result->found;
  const guint n = self->options->n_best > 0 ? self->options->n_best : 10;

  mark_pareto (found);
  for (guint i = found->len; i-- > n;)
    if (!((const SearchFound *) g_ptr_array_index (found, i))->pareto)
      g_ptr_array_remove_index (found, i);
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

/* N configurations of a bound of SCORE were not tried. Whether they may be better than the best. */
static gboolean
count_untried (Search *self, double score, guint64 n, double *least)
{
  if (score >= self->best)
    {
      self->result->n_cut += n;
      return FALSE;
    }
  self->result->n_open += n;
  *least = MIN (*least, score);
  return TRUE;
}

/*
 * What was left, and by how much it could be better. What was passed over by an estimate is left,
 * too: only a bound proves.
 */
void
search_count_open (Search *self, guint next)
{
  SearchResult *result = self->result;
  double        least = INFINITY;

  for (guint i = 0; i < self->candidates->len; i++)
    {
      const Candidate *candidate = &g_array_index (self->candidates, Candidate, i);

      if (count_untried (self, candidate->score, 1, &least))
        result->n_hopeless += search_is_hopeless (self, candidate);
    }
  for (guint i = 0; i < self->alike->len; i++)
    result->n_alike += count_untried (self, g_array_index (self->alike, double, i), 1, &least);
  for (guint i = next; i < self->nodes->len; i++)
    {
      const Node *node = node_at (self, i);

      if (!node->expanded)
        count_untried (self, node->least, self->space->variants->len, &least);
    }
  if (result->n_open > 0 && isfinite (self->best))
    result->open_gain = self->best / least;
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
