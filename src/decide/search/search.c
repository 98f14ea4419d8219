#include "decide/search/search.h"

#include <math.h>
#include <string.h>

#include "base/intern.h"
#include "decide/search/search-private.h"
#include "predict/leavings.h"
#include "scenario/software.h"

#define GLANCE_ABOVE    2000 /* structures, which are screened in less than a second */
#define GLANCES         4    /* before they are, until something fits, and */
#define GLANCED         4    /* of so many configurations each */
#define FIRST_TRIES     3    /* of structures without stages, before those with */
#define BLOCKS_A_TRY    4
#define MOST_STRUCTURES 10000000

const char *const search_objective_names[SEARCH_N_OBJECTIVES + 1] = { "throughput", "efficiency",
                                                                      "cost", NULL };

static void
found_free (gpointer data)
{
  SearchFound *self = data;

  g_free (self->label);
  g_free (self->options);
  g_free (self->runs_on);
  scenario_free (self->scenario);
  prediction_free (self->prediction);
  g_free (self);
}

static void
miss_free (gpointer data)
{
  SearchMiss *self = data;

  g_free (self->label);
  g_free (self->options);
  g_free (self);
}

static void
drop_clear (gpointer data)
{
  g_free (((SearchDrop *) data)->reason);
}

static SearchResult *
result_new (void)
{
  SearchResult *self = g_new0 (SearchResult, 1);

  self->found = g_ptr_array_new_with_free_func (found_free);
  self->missed = g_ptr_array_new_with_free_func (miss_free);
  self->drops = g_array_new (FALSE, FALSE, sizeof (SearchDrop));
  g_array_set_clear_func (self->drops, drop_clear);
  return self;
}

void
search_result_free (SearchResult *self)
{
  g_ptr_array_unref (self->found);
  g_ptr_array_unref (self->missed);
  g_array_unref (self->drops);
  g_free (self->failure);
  g_free (self);
}

/* Search.reasons. */
static GHashTable *
reasons_new (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
}

static guint64
smallest_hbm (const Cluster *cluster)
{
  guint64 least = G_MAXUINT64;

  for (guint gpu = 0; gpu < cluster_n_gpus (cluster); gpu++)
    least = MIN (least, (guint64) cluster_gpu_profile (cluster, gpu)->hbm_bytes.value);
  return least;
}

/*
 * Clusters among which VARY chooses widen the room. Their nodes have as many GPUs each, so that the
 * ranks of a structure can be counted. FALSE after diagnostics.
 */
static gboolean
widen_room (Search *self, const SearchVary *vary, SearchRoom *room, DiagList *diags)
{
  for (guint i = 0; vary->values[i] != NULL; i++)
    {
      const ScenarioOverride override = { vary->key, vary->values[i], vary->mark.file };
      g_autoptr (Scenario)   scenario =
          scenario_with (self->scenario, self->strategies, &override, 1, diags);
      g_autoptr (Cluster) cluster =
          scenario != NULL ? scenario_cluster_new (scenario, self->profiles, diags) : NULL;

      if (cluster == NULL)
        return FALSE;
      if (cluster_gpus_of_node (cluster, 0) != self->gpus_per_node
          || (cluster_n_gpus (cluster) != self->n_gpus
              && !g_str_equal (vary->key, "cluster.nodes")))
        {
          diag_error (diags, &vary->mark, "search once for each of such clusters",
                      "with %s=%s there are other numbers of GPUs", vary->key, vary->values[i]);
          return FALSE;
        }
      room->n_gpus = MAX (room->n_gpus, cluster_n_gpus (cluster));
      self->hbm = MAX (self->hbm, smallest_hbm (cluster));
    }
  return TRUE;
}

/* GPUs and the model of the scenario, whatever its strategy. */
static gboolean
find_room (Search *self, SearchRoom *room, DiagList *diags)
{
  const Scenario     *scenario = self->scenario;
  ModelShape         *shape = &self->shape;
  g_autoptr (Cluster) cluster = scenario_cluster_new (scenario, self->profiles, diags);
  gboolean            ok =
      model_resolve (&scenario->model, scenario->base_dir, profile_set_files (self->profiles),
                     shape, scenario_marks (scenario, model_options), diags);

  if (cluster != NULL && ok)
    {
      self->hbm = smallest_hbm (cluster);
      self->n_gpus = cluster_n_gpus (cluster);
      self->gpus_per_node = cluster_gpus_of_node (cluster, 0);
      self->architecture = intern_text (software_architecture (cluster));
      *room = (SearchRoom){ self->n_gpus, self->gpus_per_node, shape->n_layers, shape->n_experts };
    }
  return cluster != NULL && ok;
}

static gboolean
check_size (const Search *self, guint64 n, DiagList *diags)
{
  const guint64 most =
      self->options->max_structures > 0 ? self->options->max_structures : MOST_STRUCTURES;

  if (n <= most)
    return TRUE;
  diag_error (diags, NULL, "set more options, or give fewer values to vary",
              "the space has %" G_GUINT64_FORMAT " combinations of mesh and training options, more "
              "than %" G_GUINT64_FORMAT,
              n, most);
  return FALSE;
}

/* Tries some of the structures, which nothing is known of, until something fits. */
static void
glance (Search *self)
{
  search_expand_sample (self, FALSE);
  if (self->candidates->len == 0)
    search_expand_sample (self, TRUE);
  for (guint i = 0; i < GLANCES && !isfinite (self->best) && !search_is_over (self); i++)
    search_try_some (self, GLANCED);
}

/*
 * What a glance finds, which is a search of its own: what SELF looks at, and in which order, does
 * not depend on it. To screen many structures takes seconds, in which a best one is known so.
 * NULL: nothing, or there are few structures.
 */
static SearchFound *
find_at_a_glance (Search *self)
{
  g_autoptr (SearchResult) result = result_new ();
  Search                   part = *self;
  SearchFound             *best = NULL;

  if (self->nodes->len <= GLANCE_ABOVE)
    return NULL;
  part.result = result;
  part.nodes = g_array_copy (self->nodes);
  part.candidates = g_array_new (FALSE, FALSE, sizeof (Candidate));
  part.alike = g_array_new (FALSE, FALSE, sizeof (double));
  part.reasons = reasons_new ();
  part.ratios = search_ratios_new (self);
  glance (&part);
  if (result->found->len > 0)
    {
      g_ptr_array_sort (result->found, search_compare_found);
      best = g_ptr_array_steal_index (result->found, 0);
    }
  self->n_glanced = result->n_simulated;
  search_list_drops (&part); /* the result frees them */
  g_array_unref (part.nodes);
  g_array_unref (part.candidates);
  g_array_unref (part.alike);
  g_hash_table_unref (part.reasons);
  g_free (part.ratios);
  return best;
}

/* FOUND at a glance, which is taken, is found by SELF, unless SELF has found better. */
static void
take_glanced (Search *self, SearchFound *found)
{
  if (found == NULL || found->score >= self->best)
    {
      g_clear_pointer (&found, found_free);
      return;
    }
  self->best = found->score;
  g_ptr_array_add (self->result->found, found);
  g_clear_pointer (&found->runs_on, g_free); /* asked for once more, beside what SELF has found */
  search_add_headline (self, found);
}

/* GLANCED: of find_at_a_glance, is taken. */
static void
branch_and_bound (Search *self, SearchFound *glanced)
{
  guint    next = 0;
  gboolean expanded, tried = TRUE;

  search_expand_sample (self, FALSE);
  for (guint i = 0; i < FIRST_TRIES && !search_is_over (self); i++)
    search_try_some (self, SEARCH_TRIES);
  search_expand_sample (self, TRUE);
  while (!isfinite (self->best) && !search_is_over (self) && search_try_some (self, SEARCH_TRIES))
    continue;
  do
    {
      expanded = FALSE;
      for (guint i = 0; i < BLOCKS_A_TRY && !search_is_over (self); i++)
        expanded |= search_expand_next (self, &next);
      tried = search_try_some (self, SEARCH_TRIES);
    }
  while ((expanded || tried) && !search_is_spent (self) && !search_is_over (self));
  take_glanced (self, glanced);
  search_count_open (self);
  search_refine (self);
  self->result->n_simulated += self->n_glanced; /* which the budget is not of */
  search_keep_misses (self);
  search_keep_best (self);
}

SearchResult *
search_run (const Scenario *scenario, const StrategySet *strategies, const SearchVary *vary,
            guint n_vary, gboolean only, const SearchOptions *options,
            const PredictOptions *predict, DiagList *diags, GError **error)
{
  g_autoptr (SearchResult) result = result_new ();
  g_autoptr (Leavings)     left = leavings_new ();
  PredictOptions           own = *predict;
  Search                   self = {
                      .scenario = scenario,
                      .strategies = strategies,
                      .options = options,
                      .predict = &own,
                      .screen = search_screen_new (),
                      .profiles = predict_profiles (predict),
                      .idle = g_async_queue_new_full ((GDestroyNotify) search_kit_free),
                      .work = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free),
                      .nodes = g_array_new (FALSE, FALSE, sizeof (Node)),
                      .candidates = g_array_new (FALSE, FALSE, sizeof (Candidate)),
                      .alike = g_array_new (FALSE, FALSE, sizeof (double)),
                      .effects = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free),
                      .reasons = reasons_new (),
                      .best = INFINITY,
                      .least_memory = INFINITY,
                      .result = result,
  };
  SearchFound *glanced;
  SearchRoom   room;
  gboolean     roomy, ok = FALSE;

  own.left = left;
  result->objective = options->objective;
  work_count_best (predict->count, NULL);
  memset (self.contexts, 0xff, sizeof self.contexts); /* G_MAXUINT64: of none */
  roomy = find_room (&self, &room, diags);

  (void) error;
  for (guint i = 0; roomy && i < n_vary; i++)
    if (g_str_has_prefix (vary[i].key, "cluster.") || scenario_key_is_figure (vary[i].key))
      roomy = widen_room (&self, &vary[i], &room, diags);
  if (roomy)
    self.space = search_space_new (scenario, strategies, &room, vary, n_vary, only, diags);
  if (self.space != NULL && check_size (&self, search_space_n_structures (self.space), diags)
      && search_list_nodes (&self, search_space_n_structures (self.space), diags))
    {
      search_choose_contexts (&self);
      work_count_step (predict->count, "choosing software", FALSE, 0);
      search_settle_software (&self);
      glanced = find_at_a_glance (&self);
      search_bound_nodes (&self);
      self.ratios = search_ratios_new (&self);
      branch_and_bound (&self, glanced);
      search_list_drops (&self);
      result->is_cut = stop_reason (predict->replay.stop) != NULL;
      ok = TRUE;
    }
  work_count_best (predict->count, NULL);
  g_clear_pointer (&self.space, search_space_free);
  model_shape_clear (&self.shape);
  search_screen_free (self.screen);
  profile_set_free (self.profiles);
  g_async_queue_unref (self.idle);
  g_hash_table_unref (self.work);
  g_hash_table_unref (self.effects);
  g_hash_table_unref (self.reasons);
  g_array_unref (self.nodes);
  g_array_unref (self.candidates);
  g_array_unref (self.alike);
  g_free (self.ratios);
  return ok ? g_steal_pointer (&result) : NULL;
}
