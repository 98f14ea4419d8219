/*
 * The other options of the best: those of their strategy that bounds cannot tell apart, and all
 * else that changes nothing that is learned.
 *
 * Each is tried alone around the best few, which differ in strategy or kinds of ranks; those that
 * helped are laid over it one after another, as long as it gets better. What did not help is not
 * tried again on a mesh of the same kinds.
 */
#include "decide/search/search-private.h"

#include <math.h>
#include <string.h>

#include "decide/explore/levers.h"
#include "predict/batch.h"

#define REFINED  3    /* of the best, that are tried with other options */
#define FOLLOWED 8    /* of the next best, that are tried with what helped the best */
#define FAR      1.03 /* what is so much slower than the best is not */
#define SAME     1e-9 /* a change that makes no more difference makes none */
#define HELPS    5e-4 /* one that makes less is not tried again, nor with others */

/* ---- words ----------------------------------------------------------------------------------- */

static const ScenarioOverride *
change_at (const GArray *changes, guint i)
{
  return &g_array_index (changes, ScenarioOverride, i);
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

/* AROUND with N CHANGES is better: SCENARIO and PREDICTION are taken. */
static SearchFound *
take_changes (Search *self, const SearchFound *around, const ScenarioOverride *changes, guint n,
              Scenario *scenario, Prediction *prediction)
{
  SearchComplexity complexity = around->complexity;
  char            *label = g_strdup (around->label), *options = g_strdup (around->options);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *key = scenario_short_key (changes[i].key);
      g_autofree char *old_label = label, *old_options = options;

      label = label_with (old_label, key, changes[i].value);
      options = options_with (old_options, &changes[i]);
    }
  complexity.changes += n;
  g_free (prediction->scenario);
  prediction->scenario = g_strdup (label);
  return search_add_found (self, label, options, scenario, prediction, around->bound, complexity);
}

/* ---- what changes are worth ------------------------------------------------------------------ */

/* Which kinds of ranks SCENARIO has beside data ranks. */
static guint
kinds_of (const Scenario *scenario)
{
  const MeshOptions *mesh = &scenario->mesh;

  return (mesh->tp > 1 ? 1 : 0) + (mesh->cp > 1 ? 2 : 0) + (mesh->pp > 1 ? 4 : 0)
         + (mesh->ep > 1 ? 8 : 0);
}

/* What the effect of CHANGE hangs on: which kinds of ranks there are, and whose option it is. */
static char *
effect_key (const SearchFound *around, const ScenarioOverride *change)
{
  const gboolean own = g_str_has_prefix (change->key, "strategy.");

  return g_strdup_printf ("%s=%s %s %u", change->key, change->value,
                          own ? around->scenario->strategy->strategy->name : "",
                          kinds_of (around->scenario));
}

/* A step with CHANGE of AROUND over that without; 0: nobody knows. */
static double
effect_of (const Search *self, const SearchFound *around, const ScenarioOverride *change)
{
  g_autofree char *key = effect_key (around, change);
  const double    *effect = g_hash_table_lookup (self->effects, key);

  return effect != NULL ? *effect : 0;
}

/* A step with CHANGE of AROUND takes SECONDS; 0: it cannot be, or does not fit. */
static void
note_effect (Search *self, const SearchFound *around, const ScenarioOverride *change,
             double seconds)
{
  const double effect = seconds > 0 ? seconds / around->prediction->step_time_s : INFINITY;

  g_hash_table_replace (self->effects, effect_key (around, change),
                        g_memdup2 (&effect, sizeof effect));
}

/* ---- which ones ------------------------------------------------------------------------------ */

/* Whether CHANGE is one of those that made AROUND. */
static gboolean
is_made_with (const SearchFound *around, const ScenarioOverride *change)
{
  g_autofree char *word = scenario_option_text (change->key, change->value);
  const char      *at = strstr (around->options, word);

  return at != NULL && (at[strlen (word)] == ' ' || at[strlen (word)] == '\0');
}

/* Adds CHANGE of AROUND to CHANGES, unless it is known to be of no use. */
static void
add_change (const Search *self, const SearchFound *around, const ScenarioOverride *change,
            GArray *changes)
{
  if (effect_of (self, around, change) < 1 - HELPS && !is_made_with (around, change))
    g_array_append_val (changes, *change);
}

/* All that may be changed of AROUND by itself. ScenarioOverride. */
static GArray *
changes_of (const Search *self, const SearchFound *around)
{
  const char        *name = around->scenario->strategy->strategy->name;
  GArray            *changes = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  g_autoptr (GArray) moves =
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
  return changes;
}

/* Whether A and B differ in neither strategy nor kinds of ranks. */
static gboolean
are_alike (const SearchFound *a, const SearchFound *b)
{
  const Scenario *x = a->scenario, *y = b->scenario;

  return g_str_equal (x->strategy->strategy->name, y->strategy->strategy->name)
         && kinds_of (x) == kinds_of (y);
}

/* The fastest REFINED of those that differ and are not far behind. SearchFound. */
static GPtrArray *
best_kinds (const Search *self)
{
  const GPtrArray *found = self->result->found;
  GPtrArray       *best = g_ptr_array_new ();

  for (guint i = 0; i < found->len && best->len < REFINED; i++)
    {
      SearchFound *one = g_ptr_array_index (found, i);
      gboolean     is_like = one->score > FAR * self->best;

      for (guint k = 0; k < best->len && !is_like; k++)
        is_like = are_alike (one, g_ptr_array_index (best, k));
      if (!is_like)
        g_ptr_array_add (best, one);
    }
  return best;
}

/* ---- passes ---------------------------------------------------------------------------------- */

typedef struct
{
  const Search      *search;
  const SearchFound *around;
  const GArray      *changes; /* ScenarioOverride, each alone */
} Refinement;

static Scenario *
build_refined (gpointer user, guint i, DiagList *diags)
{
  const Refinement *self = user;

  return scenario_with (self->around->scenario, self->search->strategies,
                        change_at (self->changes, i), 1, diags);
}

/* What fits of CHANGES and is better than AROUND is found as well. Returns the best of these. */
static const SearchFound *
try_changes (Search *self, const SearchFound *around, const GArray *changes)
{
  Refinement               refinement = { self, around, changes };
  g_autofree double       *least = g_new (double, MAX (changes->len, 1));
  g_auto (PredictionBatch) batch = { .n = changes->len,
                                     .n_threads = self->options->n_threads,
                                     .options = self->predict,
                                     .build = build_refined,
                                     .least = least,
                                     .user = &refinement };
  const SearchFound       *best = around;

  for (guint i = 0; i < changes->len; i++)
    least[i] = around->prediction->samples_per_s;
  prediction_batch_run (&batch);
  for (guint i = 0; i < batch.n; i++)
    {
      Predicted              *one = &batch.each[i];
      const Prediction       *p = one->prediction;
      const ScenarioOverride *change = change_at (changes, i);
      const gboolean          fits = p != NULL && search_excess (self, p) <= 0;
      SearchFound            *better;

      self->result->n_simulated += p != NULL || !stop_is_due (self->predict->replay.stop);
      note_effect (self, around, change, fits ? p->step_time_s : one->slow_s);
      if (!fits || search_weight (self, p->n_gpus) / p->samples_per_s >= around->score * (1 - SAME))
        continue;
      better = take_changes (self, around, change, 1, g_steal_pointer (&one->scenario),
                             g_steal_pointer (&one->prediction));
      if (better->score < best->score)
        best = better;
    }
  return best;
}

typedef struct
{
  ScenarioOverride change;
  double           effect;
} Helpful;

static gint
compare_helpful (gconstpointer a, gconstpointer b)
{
  const Helpful *x = a, *y = b;

  return x->effect < y->effect ? -1 : x->effect > y->effect;
}

/* Those of CHANGES that helped AROUND, most first. Helpful. */
static GArray *
helpful_of (const Search *self, const SearchFound *around, const GArray *changes)
{
  GArray *helpful = g_array_new (FALSE, FALSE, sizeof (Helpful));

  for (guint i = 0; i < changes->len; i++)
    {
      const Helpful one = { *change_at (changes, i),
                            effect_of (self, around, change_at (changes, i)) };

      if (one.effect < 1 - HELPS)
        g_array_append_val (helpful, one);
    }
  g_array_sort (helpful, compare_helpful);
  return helpful;
}

/* AROUND with CHANGE, if that is better and fits; else AROUND. */
static const SearchFound *
try_one (Search *self, const SearchFound *around, const ScenarioOverride *change)
{
  g_autoptr (GArray) one = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));

  g_array_append_val (one, *change);
  return search_is_over (self) ? around : try_changes (self, around, one);
}

/*
 * Tries AROUND with each change, and lays those that helped over it one after another; what does
 * not help then, or fit, stays out. Returns the best that came of it: AROUND with TAKEN
 * (ScenarioOverride).
 */
static const SearchFound *
refine (Search *self, const SearchFound *around, GArray *taken)
{
  g_autoptr (GArray) changes = changes_of (self, around), helpful = NULL;
  const SearchFound *better = try_changes (self, around, changes);

  helpful = helpful_of (self, around, changes);
  for (guint i = 0; i < helpful->len; i++)
    {
      const ScenarioOverride change = g_array_index (helpful, Helpful, i).change;
      const SearchFound     *more = i == 0 ? better : try_one (self, better, &change);

      if (i == 0 || more != better)
        g_array_append_val (taken, change);
      better = more;
    }
  return better;
}

/* ---- the next best --------------------------------------------------------------------------- */

typedef struct
{
  const Search    *search;
  const GPtrArray *others; /* SearchFound */
  const GArray    *taken;  /* ScenarioOverride */
} Following;

static Scenario *
build_following (gpointer user, guint i, DiagList *diags)
{
  const Following   *self = user;
  const SearchFound *other = g_ptr_array_index (self->others, i);

  return scenario_with (other->scenario, self->search->strategies, change_at (self->taken, 0),
                        self->taken->len, diags);
}

/* The fastest FOLLOWED of BEST's strategy that have none of TAKEN. SearchFound. */
static GPtrArray *
others_of (const Search *self, const SearchFound *best, const GArray *taken)
{
  const GPtrArray *found = self->result->found;
  const char      *name = best->scenario->strategy->strategy->name;
  GPtrArray       *others = g_ptr_array_new ();

  for (guint i = 0; i < found->len && others->len < FOLLOWED; i++)
    {
      SearchFound *one = g_ptr_array_index (found, i);
      gboolean     has = FALSE;

      for (guint k = 0; k < taken->len && !has; k++)
        has = is_made_with (one, change_at (taken, k));
      if (!has && g_str_equal (one->scenario->strategy->strategy->name, name))
        g_ptr_array_add (others, one);
    }
  return others;
}

/* Tries the next best with all that helped BEST, which it has TAKEN; they may overtake it. */
static void
follow (Search *self, const SearchFound *best, const GArray *taken)
{
  g_autoptr (GPtrArray)    others = others_of (self, best, taken);
  Following                following = { self, others, taken };
  g_autofree double       *least = g_new (double, MAX (others->len, 1));
  g_auto (PredictionBatch) batch = { .n = taken->len > 0 ? others->len : 0,
                                     .n_threads = self->options->n_threads,
                                     .options = self->predict,
                                     .build = build_following,
                                     .least = least,
                                     .user = &following };

  for (guint i = 0; i < others->len; i++)
    least[i] = best->prediction->samples_per_s;
  prediction_batch_run (&batch);
  for (guint i = 0; i < batch.n; i++)
    {
      Predicted        *one = &batch.each[i];
      const Prediction *p = one->prediction;

      self->result->n_simulated += p != NULL || !stop_is_due (self->predict->replay.stop);
      if (p != NULL && search_excess (self, p) <= 0
          && search_weight (self, p->n_gpus) / p->samples_per_s < best->score)
        take_changes (self, g_ptr_array_index (others, i), change_at (taken, 0), taken->len,
                      g_steal_pointer (&one->scenario), g_steal_pointer (&one->prediction));
    }
}

void
search_refine (Search *self)
{
  g_autoptr (GPtrArray) best = NULL;
  const SearchFound    *fastest = NULL;
  g_autoptr (GArray)    helped = NULL;

  g_ptr_array_sort (self->result->found, search_compare_found);
  work_count_step (self->predict->count, "refining the best", TRUE, 0);
  best = best_kinds (self);
  for (guint i = 0; i < best->len && self->options->refine && !search_is_over (self); i++)
    {
      g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
      const SearchFound *better = refine (self, g_ptr_array_index (best, i), taken);

      if (fastest != NULL && fastest->score <= better->score)
        continue;
      fastest = better;
      g_clear_pointer (&helped, g_array_unref);
      helped = g_steal_pointer (&taken);
    }
  if (fastest != NULL && !search_is_over (self))
    follow (self, fastest, helped);
  g_ptr_array_sort (self->result->found, search_compare_found);
}
