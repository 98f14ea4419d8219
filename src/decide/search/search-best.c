/* The best ones: their other options, the Pareto front, near misses, what was left. */
#include "decide/search/search-private.h"

#include <math.h>
#include <string.h>

#include "decide/explore/levers.h"
#include "predict/batch.h"

#define REFINED       3 /* of the best, that are tried with other options */
#define REFINE_PASSES 4

/*
 * A change that took so much longer on a like mesh is not tried again. [choice: 8B on 8 nodes, 70B
 * on 16 and 64 and 405B on 2 048 have the same answer with it as without]
 */
#define WORSE 1.01
#define SAME  1e-9 /* nor one that made no more difference than this */

#define MOST_MISSES 5
#define MOST_DROPS  5

/* ---- the best, and its options --------------------------------------------------------------- */

typedef struct
{
  const Search      *search;
  const SearchFound *around;
  const GArray      *changes; /* ScenarioOverride, each alone */
} Refinement;

static const ScenarioOverride *
change_at (const GArray *changes, guint i)
{
  return &g_array_index (changes, ScenarioOverride, i);
}

static Scenario *
build_refined (gpointer user, guint i, DiagList *diags)
{
  const Refinement *self = user;

  return scenario_with (self->around->scenario, self->search->strategies,
                        change_at (self->changes, i), 1, diags);
}

/* OPTIONS, words of the command line, with CHANGE in the place of what they say of its key. */
static char *
options_with (const char *options, const ScenarioOverride *change)
{
  g_autofree char *word = scenario_option_word (change->key);
  g_auto (GStrv)   parts = g_strsplit (options, " --", -1);
  GString         *out = g_string_new (NULL);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      g_autofree char *part = g_strconcat (i > 0 ? "--" : "", parts[i], NULL);
      const gboolean   same = g_str_has_prefix (part, word)
                            && (part[strlen (word)] == ' ' || part[strlen (word)] == '=');

      if (!same)
        g_string_append_printf (out, "%s%s", out->len > 0 ? " " : "", part);
    }
  search_append_word (out, change);
  return g_string_free (out, FALSE);
}

/* LABEL with KEY=VALUE in the place of what it says of KEY. */
static char *
label_with (const char *label, const char *key, const char *value)
{
  g_autofree char *word = g_strdup_printf ("%s=", key);
  g_auto (GStrv)   parts = g_strsplit (label, " ", -1);
  GString         *out = g_string_new (NULL);

  for (guint i = 0; parts[i] != NULL; i++)
    if (!g_str_has_prefix (parts[i], word))
      g_string_append_printf (out, "%s%s", out->len > 0 ? " " : "", parts[i]);
  g_string_append_printf (out, " %s%s", word, value);
  return g_string_free (out, FALSE);
}

/* AROUND with CHANGE is better: SCENARIO and PREDICTION are taken. */
static void
take_change (Search *self, const SearchFound *around, const ScenarioOverride *change,
             Scenario *scenario, Prediction *prediction)
{
  SearchComplexity complexity = around->complexity;
  g_autofree char *key = scenario_short_key (change->key);
  char            *label = label_with (around->label, key, change->value);

  complexity.changes++;
  g_free (prediction->scenario);
  prediction->scenario = g_strdup (label);
  search_add_found (self, label, options_with (around->options, change), scenario, prediction,
                    around->bound, complexity);
}

/* What the effect of CHANGE hangs on: the strategy, and which kinds of ranks there are. */
static char *
effect_key (const SearchFound *around, const ScenarioOverride *change)
{
  const MeshOptions *mesh = &around->scenario->mesh;

  return g_strdup_printf ("%s %d%d%d%d %s=%s", around->scenario->strategy->strategy->name,
                          mesh->tp > 1, mesh->cp > 1, mesh->pp > 1, mesh->ep > 1, change->key,
                          change->value);
}

/* Adds CHANGE of AROUND to CHANGES, unless it is known to be of no use. */
static void
add_change (Search *self, const SearchFound *around, const ScenarioOverride *change,
            GArray *changes)
{
  g_autofree char *key = effect_key (around, change);
  const double    *effect = g_hash_table_lookup (self->effects, key);

  if (effect == NULL || (*effect <= WORSE && fabs (*effect - 1) > SAME))
    g_array_append_val (changes, *change);
}

/* A step with CHANGE of AROUND takes SECONDS; 0: nobody knows. */
static void
note_effect (Search *self, const SearchFound *around, const ScenarioOverride *change,
             double seconds)
{
  const double effect = seconds / around->prediction->step_time_s;

  if (seconds > 0)
    g_hash_table_insert (self->effects, effect_key (around, change),
                         g_memdup2 (&effect, sizeof effect));
}

static gboolean
made_no_difference (gpointer key, gpointer value, gpointer user)
{
  (void) key;
  (void) user;
  return fabs (*(const double *) value - 1) <= SAME;
}

/* Tries every change of AROUND; what fits and is better than it is found as well. */
static void
refine (Search *self, const SearchFound *around)
{
  g_autoptr (GArray)       changes = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  Refinement               refinement = { self, around, changes };
  g_auto (PredictionBatch) batch = { .n_threads = self->options->n_threads,
                                     .options = self->predict,
                                     .build = build_refined,
                                     .layouts = self->layouts,
                                     .user = &refinement };
  const double             before = around->score;
  g_autofree double       *least = NULL;
  const char              *name = around->scenario->strategy->strategy->name;
  g_autoptr (GArray)       moves =
      lever_moves (around->scenario, self->strategies, around->prediction->n_gpus, LEVER_FREE);

  /* options of its strategy that its bounds cannot tell apart */
  for (guint v = 0; v < self->space->variants->len; v++)
    {
      const SearchVariant    *variant = g_ptr_array_index (self->space->variants, v);
      const ScenarioOverride *change =
          variant->base != v ? change_at (variant->options, variant->options->len - 1) : NULL;

      if (change != NULL && g_str_equal (variant->scenario->strategy->strategy->name, name)
          && !g_str_has_suffix (change->key, ".shard"))
        add_change (self, around, change, changes);
    }
  /* what else changes nothing that is learned, and nobody set */
  for (guint i = 0; i < moves->len; i++)
    {
      const Move            *move = &g_array_index (moves, Move, i);
      const ScenarioOverride change = { move->key, move->value, "search" };

      if (move->also_key == NULL && search_space_is_open (self->space, move->key)
          && search_context_may_become (self, around->scenario, &change))
        add_change (self, around, &change, changes);
    }
  batch.n = changes->len;
  least = g_new (double, MAX (changes->len, 1));
  for (guint i = 0; i < changes->len; i++)
    least[i] = around->prediction->samples_per_s;
  batch.least = least;
  prediction_batch_run (&batch);
  for (guint i = 0; i < batch.n; i++)
    {
      Predicted        *one = &batch.each[i];
      const Prediction *p = one->prediction;

      self->result->n_simulated += p != NULL || !stop_is_due (self->predict->replay.stop);
      note_effect (self, around, change_at (changes, i), p != NULL ? p->step_time_s : one->slow_s);
      if (p != NULL && search_excess (self, p) <= 0
          && search_weight (self, p->n_gpus) / p->samples_per_s < before * (1 - 1e-9))
        take_change (self, around, change_at (changes, i), g_steal_pointer (&one->scenario),
                     g_steal_pointer (&one->prediction));
    }
}

/* The best few, and then what came of them as long as that is better still: changes add up. */
void
search_refine (Search *self)
{
  GPtrArray *found = self->result->found;

  g_ptr_array_sort (found, search_compare_found);
  work_count_step (self->predict->count, "refining the best", TRUE, 0);
  for (guint pass = 0; pass < REFINE_PASSES && self->options->refine && found->len > 0; pass++)
    {
      const guint                    n = MIN (found->len, pass == 0 ? REFINED : 1);
      const double                   before = self->best;
      g_autofree const SearchFound **around = g_memdup2 (found->pdata, n * sizeof *found->pdata);

      /* with what was changed since, they may */
      g_hash_table_foreach_remove (self->effects, made_no_difference, NULL);
      for (guint i = 0; i < n && !search_is_over (self); i++)
        refine (self, around[i]);
      g_ptr_array_sort (found, search_compare_found);
      if (self->best >= before)
        break;
    }
}

/* ---- what is said ---------------------------------------------------------------------------- */

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
 * mesh that cannot be on one stage has no bound (0), and says nothing of by how much.
 */
static gboolean
count_untried (Search *self, double score, guint64 n, double *least)
{
  if (score >= self->best)
    {
      self->result->n_cut += n;
      return FALSE;
    }
  self->result->n_open += n;
  if (score > 0)
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
    result->open_gain = isfinite (least) ? self->best / least : 1;
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
