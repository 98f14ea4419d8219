/* Structures: which divide, and the least that each of them can take. */
#include "decide/search/search-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"

#define HOUR    3600.0
#define SAMPLED 32 /* structures, under each framework but the first */

/* ---- scores ---------------------------------------------------------------------------------- */

/* What STRUCTURE sets KEY to; NULL: it does not. */
const char *
search_text (const Search *self, guint64 structure, const char *key)
{
  for (guint a = 0; a < self->space->axes->len; a++)
    {
      const SearchChoice *choice = search_space_choice (self->space, structure, a);

      for (guint i = 0; i < choice->options->len; i++)
        {
          const ScenarioOverride *option = &g_array_index (choice->options, ScenarioOverride, i);

          if (g_str_equal (option->key, key))
            return option->value;
        }
    }
  return NULL;
}

gint64
search_number (const Search *self, guint64 structure, const char *key, gint64 fallback)
{
  const char *text = search_text (self, structure, key);

  return text != NULL ? g_ascii_strtoll (text, NULL, 10) : fallback;
}

gint64
search_gpus (const Search *self, guint64 structure)
{
  gint64 nodes = search_number (self, structure, "cluster.nodes", 0);

  return nodes > 0 ? nodes * self->gpus_per_node : (gint64) self->n_gpus;
}

/* What a second on N GPUs weighs. */
double
search_weight (const Search *self, double n_gpus)
{
  switch (self->options->objective)
    {
    case SEARCH_EFFICIENCY:
      return n_gpus;
    case SEARCH_COST:
      return n_gpus * self->options->price_per_gpu_hour / HOUR;
    case SEARCH_THROUGHPUT:
    case SEARCH_N_OBJECTIVES:
      break;
    }
  return 1;
}

double
search_sequences (const ResolvedScenario *resolved)
{
  const TrainingOptions *training = workload_training (resolved->workload);

  return (double) resolved->n_data_ranks * (double) training->micro_batch
         * (double) training->grad_accum;
}

double
search_memory (const Search *self)
{
  const double all = (double) self->hbm * (1 - self->options->memory_margin);

  return self->options->max_hbm > 0 ? MIN (self->options->max_hbm, all) : all;
}

/* ---- why not --------------------------------------------------------------------------------- */

/* TEXT without its numbers: what is alike is counted together. */
static char *
without_numbers (const char *text)
{
  GString *out = g_string_new (NULL);

  for (; *text != '\0'; text++)
    if (!g_ascii_isdigit (*text))
      g_string_append_c (out, *text);
    else if (out->len == 0 || out->str[out->len - 1] != '#')
      g_string_append_c (out, '#');
  return g_string_free (out, FALSE);
}

void
search_count_drop (Search *self, const char *reason, guint64 n)
{
  char       *key = without_numbers (reason != NULL ? reason : "it cannot be planned");
  SearchDrop *drop = g_hash_table_lookup (self->reasons, key);

  if (drop == NULL)
    {
      drop = g_new0 (SearchDrop, 1);
      drop->reason = g_strdup (reason != NULL ? reason : key);
      g_hash_table_insert (self->reasons, g_strdup (key), drop);
    }
  drop->n += n;
  g_free (key);
}

/* ---- structures ------------------------------------------------------------------------------ */

/* SCENARIO on one stage, in one micro-step. NULL: it cannot be. */
static Scenario *
on_one_stage (const Search *self, const Scenario *scenario, DiagList *diags)
{
  const ScenarioOverride whole[] = {
    { "mesh.pp", "1", "search" },
    { "mesh.vp", "1", "search" },
    { "mesh.pipeline", "auto", "search" },
    { "mesh.moe_overlap", "false", "search" },
    { "training.global_batch", "~", "search" },
    { "training.grad_accum", "1", "search" },
  };

  return scenario_with (scenario, self->strategies, whole, G_N_ELEMENTS (whole), diags);
}

ScreenedCompute
search_work (const Search *self, const Scenario *scenario)
{
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (Scenario)         one = on_one_stage (self, scenario, diags);
  g_autoptr (ResolvedScenario) resolved =
      one != NULL ? resolved_new (one, self->profiles, diags) : NULL;

  return resolved != NULL ? search_screen_compute (self->screen, resolved) : (ScreenedCompute){ 0 };
}

/* A structure while it is screened. */
typedef struct
{
  guint64         index, layers; /* without what it recomputes: whose layers are the same */
  guint           at;            /* where its work is written */
  ScreenedCompute work;
} Screened;

/* The work of structures, computed in threads. */
typedef struct
{
  Search       *search;
  guint         group;      /* of variants */
  Screened     *structures; /* those of the same layers one after another */
  const GArray *begins;     /* guint: of these, and the end */
} WorkJobs;

/* The work of ONE, and itself among KNOWN, which have the same layers. */
static void
screen_one (const WorkJobs *jobs, Screened *one, SearchKit *kit, GPtrArray *known)
{
  Search              *self = jobs->search;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Scenario) structure = search_space_scenario (
      self->space, one->index, search_space_group (self->space, jobs->group), diags);
  g_autoptr (Scenario) on_one = structure != NULL ? on_one_stage (self, structure, diags) : NULL;
  ResolvedScenario *resolved = on_one != NULL ? search_kit_resolve (kit, self, on_one, one->index,
                                                                    jobs->group, TRUE, known, diags)
                                              : NULL;

  if (resolved == NULL)
    return;
  one->work = search_screen_compute (self->screen, resolved);
  g_ptr_array_add (known, resolved);
}

static void
release (gpointer resolved)
{
  resolved_unref (resolved);
}

/* Structures of the same layers. */
static void
screen_run (guint i, gpointer user)
{
  const WorkJobs       *jobs = user;
  const guint          *begins = &g_array_index (jobs->begins, guint, i);
  SearchKit            *kit = search_borrow_kit (jobs->search);
  g_autoptr (GPtrArray) known = g_ptr_array_new_with_free_func (release);

  for (guint k = begins[0]; k < begins[1]; k++)
    screen_one (jobs, &jobs->structures[k], kit, known);
  search_return_kit (jobs->search, kit);
}

static gint
compare_screened (gconstpointer a, gconstpointer b)
{
  const Screened *x = a, *y = b;

  if (x->layers != y->layers)
    return x->layers < y->layers ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static gint
compare_nodes (gconstpointer a, gconstpointer b)
{
  const Node *x = a, *y = b;

  if (x->least != y->least)
    return x->least < y->least ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Where other layers begin among N STRUCTURES, and the end. guint. */
static GArray *
begins_of (const Screened *structures, guint n)
{
  GArray *begins = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < n; i++)
    if (i == 0 || structures[i].layers != structures[i - 1].layers)
      g_array_append_val (begins, i);
  g_array_append_val (begins, n);
  return begins;
}

/* Of every STRIDE-th of KEYS under GROUP. Newly allocated. */
static ScreenedCompute *
work_of (Search *self, const GArray *keys, guint group, guint stride)
{
  const guint          n = (keys->len + stride - 1) / stride;
  ScreenedCompute     *work = g_new0 (ScreenedCompute, n);
  g_autofree Screened *structures = g_new0 (Screened, MAX (n, 1));
  g_autoptr (GArray)   begins = NULL;
  WorkJobs             jobs = { .search = self, .group = group, .structures = structures };

  for (guint i = 0; i < n; i++)
    {
      const guint64 index = g_array_index (keys, guint64, (gsize) i * stride);

      structures[i] = (Screened){ .index = index,
                                  .layers = search_space_without_recompute (self->space, index),
                                  .at = i };
    }
  qsort (structures, n, sizeof *structures, compare_screened);
  jobs.begins = begins = begins_of (structures, n);
  parallel_run (begins->len - 1, self->options->n_threads, screen_run, &jobs, self->predict->count);
  for (guint i = 0; i < n; i++)
    work[structures[i].at] = structures[i].work;
  return work;
}

/*
 * The least that the other groups' kernels take of those of the first, over some structures: to
 * build every structure for each framework would take longer than the rest of the search.
 */
static double
least_share (Search *self, const GArray *keys, const ScreenedCompute *first)
{
  const guint stride = MAX (keys->len / SAMPLED, 1);
  double      share = 1;

  for (guint group = 1; group < self->space->n_groups; group++)
    {
      g_autofree ScreenedCompute *work = work_of (self, keys, group, stride);

      for (guint i = 0; i * stride < keys->len; i++)
        {
          const ScreenedCompute *other = &first[(gsize) i * stride];

          if (work[i].work > 0 && other->work > 0)
            share = MIN (share, MIN (work[i].work / other->work, work[i].both / other->both));
        }
    }
  return share;
}

static gboolean
has_directions (const Search *self, guint64 structure)
{
  const char *pipeline = search_text (self, structure, "mesh.pipeline");
  const char *overlap = search_text (self, structure, "mesh.moe_overlap");

  if (overlap != NULL ? g_str_equal (overlap, "true") : self->scenario->mesh.moe_overlap)
    return TRUE;
  return pipeline != NULL ? g_str_equal (pipeline, "dualpipe")
                          : self->scenario->mesh.pipeline == PIPELINE_DUALPIPE;
}

/* Whether stages of STRUCTURE run all their layers in one chunk, and backward passes whole. */
static gboolean
has_whole_passes (const Search *self, guint64 structure)
{
  const OptionSpec *kinds = option_table_find (mesh_options, "pipeline");
  const char       *kind = search_text (self, structure, "mesh.pipeline");

  if (kind == NULL)
    kind = kinds->choices[self->scenario->mesh.pipeline];
  return search_number (self, structure, "mesh.vp", self->scenario->mesh.vp) <= 1
         && (g_str_equal (kind, kinds->choices[PIPELINE_AUTO])
             || g_str_equal (kind, kinds->choices[PIPELINE_1F1B])
             || g_str_equal (kind, kinds->choices[PIPELINE_GPIPE]));
}

/*
 * How much longer than evenly shared work P stages take for M micro-batches at least, however the
 * layers lie on them. Stage s has m w(s) to do, and the first micro-batch passes the stages before
 * it forward, the last one backward: w(0) + ... + w(s - 1). The longest is shortest where all are
 * as long: each w is (m - 1) / m of the one before, and their sum is all work W, so that
 * m w(0) = W / (1 - (1 - 1 / m)^p), in the place of m W / p.
 */
static double
fill_and_drain (double p, double m)
{
  return p / (m * (1 - pow (1 - 1 / m, p)));
}

/* The same of STRUCTURE, of so many ranks a stage of so many sequences a micro-batch. */
static double
pipeline_share (const Search *self, guint64 structure, double ranks, double batch)
{
  const TrainingOptions *training = &self->scenario->training;
  const double           stages =
      (double) search_number (self, structure, "mesh.pp", MAX (self->scenario->mesh.pp, 1));
  const double batch_of_all =
      (double) search_number (self, structure, "training.global_batch", training->global_batch);
  double micros =
      (double) search_number (self, structure, "training.grad_accum", training->grad_accum);

  /* the first and the last micro-batches of unlike ones may be short */
  if (stages <= 1 || training->lengths != NULL || !has_whole_passes (self, structure))
    return 1;
  if (batch_of_all > 0)
    micros = batch_of_all * stages / (ranks * batch);
  return fill_and_drain (stages, MAX (micros, 1));
}

/*
 * A step is no shorter than the work of all its micro-batches, shared out evenly over data ranks
 * and stages: per sequence that is work / (data ranks x stages x micro-batch); and stages wait for
 * each other.
 */
static void
set_bounds (Search *self)
{
  const Scenario *s = self->scenario;

  for (guint i = 0; i < self->nodes->len; i++)
    {
      Node                  *node = node_at (self, i);
      const guint64          key = search_space_without_pipeline (self->space, node->index);
      const ScreenedCompute *work = g_hash_table_lookup (self->work, &key);
      const double           n_gpus = (double) search_gpus (self, node->index);
      const double tp = (double) search_number (self, node->index, "mesh.tp", MAX (s->mesh.tp, 1));
      const double rows =
          (double) search_number (self, node->index, "mesh.tp_rows", MAX (s->mesh.tp_rows, 1));
      const double cp = (double) search_number (self, node->index, "mesh.cp", MAX (s->mesh.cp, 1));
      const double batch = (double) search_number (self, node->index, "training.micro_batch",
                                                   s->training.micro_batch);
      const double ranks = n_gpus / (tp * rows * cp);

      node->least = search_weight (self, n_gpus)
                    * (has_directions (self, node->index)
                           ? work->both
                           : work->work * pipeline_share (self, node->index, ranks, batch))
                    / (ranks * batch);
    }
  g_array_sort (self->nodes, compare_nodes);
}

void
search_bound_nodes (Search *self)
{
  g_autoptr (GHashTable) known = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr (GArray)     keys = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autofree ScreenedCompute *work = NULL;
  double                      share;

  for (guint i = 0; i < self->nodes->len; i++)
    {
      const guint64 key = search_space_without_pipeline (self->space, node_at (self, i)->index);

      if (g_hash_table_add (known, g_memdup2 (&key, sizeof key)))
        g_array_append_val (keys, key);
    }
  work_count_step (self->predict->count, "screening structures", FALSE, 0);
  work = work_of (self, keys, 0, 1);
  share = least_share (self, keys, work);
  self->result->is_sampled = self->space->n_groups > 1;
  for (guint i = 0; i < keys->len; i++)
    {
      ScreenedCompute *least = g_memdup2 (&work[i], sizeof work[i]);

      least->work *= share;
      least->both *= share;
      g_hash_table_insert (self->work,
                           g_memdup2 (&g_array_index (keys, guint64, i), sizeof (guint64)), least);
    }
  if (!search_is_over (self))
    set_bounds (self);
}

/* What to do about a batch that none of N structures divides. Newly allocated. */
static char *
hint_of_batch (const Search *self, guint64 n)
{
  const TrainingOptions *training = &self->scenario->training;
  const gint64           all = training->global_batch;
  gint64                 below = 0, above = G_MAXINT64;

  for (guint64 index = 0; all > 0 && index < n; index++)
    {
      const gint64 once =
          search_space_once (self->space, index, search_gpus (self, index), training->micro_batch);

      if (once > 0)
        {
          below = MAX (below, all / once * once);
          above = MIN (above, (all / once + 1) * once);
        }
    }
  if (above == G_MAXINT64)
    return g_strdup ("take other numbers of GPUs, or other degrees");
  return below > 0 ? g_strdup_printf ("take other degrees, or another batch; the nearest that are: "
                                      "%" G_GINT64_FORMAT " and %" G_GINT64_FORMAT,
                                      below, above)
                   : g_strdup_printf ("take other degrees, or another batch; the least that is: "
                                      "%" G_GINT64_FORMAT,
                                      above);
}

gboolean
search_list_nodes (Search *self, guint64 n, DiagList *diags)
{
  const TrainingOptions *training = &self->scenario->training;
  g_autofree char       *hint = NULL;

  for (guint64 index = 0; index < n; index++)
    {
      const Node node = { .index = index };

      if (search_space_divides (self->space, index, search_gpus (self, index),
                                training->global_batch, training->micro_batch))
        g_array_append_val (self->nodes, node);
    }
  self->result->n_structures = self->nodes->len;
  self->result->n_configurations = (guint64) self->nodes->len * self->space->variants->len;
  if (self->nodes->len > 0)
    return TRUE;
  hint = hint_of_batch (self, n);
  diag_error (diags,
              option_mark (scenario_marks (self->scenario, training_options), "global_batch", NULL),
              hint, "no mesh and micro-batch of the space divide the GPUs and the batch");
  return FALSE;
}
