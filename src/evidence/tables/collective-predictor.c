#include "evidence/tables/collective-predictor.h"
#include "hardware/profile/profiles-used.h"

#include "replay/run/collective-run.h"

/* One cluster of the table. */
typedef struct
{
  ClusterOptions     options;
  Cluster           *cluster;     /* NULL: not made yet, dropped, or impossible */
  char              *reason;      /* why it is impossible */
  char              *profiles;    /* of the cluster; NULL: not asked for yet */
  const LinkProfile *intra, *nic; /* that collectives cross; the set's own, which stay */
  gboolean           made;        /* once: intra and nic are known */
} ClusterSlot;

/* One communicator of the table: a collective on a cluster, in an environment. */
typedef struct
{
  guint              cluster; /* index of a ClusterSlot; meaningless with a reason */
  CollectiveKind     kind;
  CollectiveOptions  options;    /* its strings are the first row's */
  const Measurement *row;        /* the first */
  CollectivePlan    *plan;       /* NULL: not made yet, or dropped */
  CollectivePlan    *concurrent; /* the same at the same time; NULL: none */
  char              *reason;
} PlanSlot;

struct _CollectivePredictor
{
  const GPtrArray *rows;
  ProfileSet      *profiles;
  GPtrArray       *clusters; /* ClusterSlot */
  GPtrArray       *plans;    /* PlanSlot */
  guint           *plan_of_row;
};

static void
cluster_slot_free (gpointer data)
{
  ClusterSlot *self = data;

  option_table_clear (cluster_options, &self->options);
  g_clear_pointer (&self->cluster, cluster_free);
  g_free (self->reason);
  g_free (self->profiles);
  g_free (self);
}

static void
plan_slot_free (gpointer data)
{
  PlanSlot *self = data;

  collective_plan_free (self->plan);
  collective_plan_free (self->concurrent);
  g_free (self->reason);
  g_free (self);
}

/* ---- what rows share ------------------------------------------------------------------------- */

/* Index of KEY in SEEN, or that of a new entry, which *IS_NEW says. */
static guint
intern_key (GHashTable *seen, const char *key, gboolean *is_new)
{
  gpointer found;

  *is_new = !g_hash_table_lookup_extended (seen, key, NULL, &found);
  if (*is_new)
    {
      found = GUINT_TO_POINTER (g_hash_table_size (seen));
      g_hash_table_insert (seen, g_strdup (key), found);
    }
  return GPOINTER_TO_UINT (found);
}

static guint
add_cluster (CollectivePredictor *self, GHashTable *seen, const ClusterOptions *options)
{
  g_autofree char *key = cluster_options_text (options);
  gboolean         is_new;
  guint            index = intern_key (seen, key, &is_new);

  if (is_new)
    {
      ClusterSlot *slot = g_new0 (ClusterSlot, 1);

      option_table_copy (cluster_options, options, &slot->options);
      g_ptr_array_add (self->clusters, slot);
    }
  return index;
}

CollectivePredictor *
collective_predictor_new (const GPtrArray *rows, ProfileSet *profiles)
{
  CollectivePredictor   *self = g_new0 (CollectivePredictor, 1);
  g_autoptr (GHashTable) plans = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) clusters = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  self->rows = rows;
  self->profiles = profiles;
  self->clusters = g_ptr_array_new_with_free_func (cluster_slot_free);
  self->plans = g_ptr_array_new_with_free_func (plan_slot_free);
  self->plan_of_row = g_new0 (guint, MAX (rows->len, 1));
  for (guint i = 0; i < rows->len; i++)
    {
      const Measurement *row = g_ptr_array_index (rows, i);
      g_autofree char   *cluster = cluster_options_text (&row->cluster);
      g_autofree char   *key =
          g_strdup_printf ("%s%d\n%s\n%s", cluster, (int) row->kind, row->library, row->env);
      gboolean is_new;

      self->plan_of_row[i] = intern_key (plans, key, &is_new);
      if (is_new)
        {
          PlanSlot      *slot = g_new0 (PlanSlot, 1);
          ClusterOptions options = { 0 };

          option_table_copy (cluster_options, &row->cluster, &options);
          slot->row = row;
          slot->kind = row->kind;
          slot->reason = measurement_environment (row, &slot->options, &options, NULL);
          slot->cluster = add_cluster (self, clusters, &options);
          option_table_clear (cluster_options, &options);
          g_ptr_array_add (self->plans, slot);
        }
    }
  return self;
}

void
collective_predictor_free (CollectivePredictor *self)
{
  g_ptr_array_unref (self->plans); /* they point into the clusters */
  g_ptr_array_unref (self->clusters);
  g_free (self->plan_of_row);
  g_free (self);
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* NULL with a reason. */
static const Cluster *
slot_cluster (CollectivePredictor *self, ClusterSlot *slot)
{
  g_autoptr (DiagList) diags = NULL;

  if (slot->cluster != NULL || slot->reason != NULL)
    return slot->cluster;
  diags = diag_list_new ();
  slot->cluster = cluster_new (&slot->options, self->profiles, NULL, diags);
  if (slot->cluster == NULL)
    slot->reason = diag_list_first_reason (diags);
  else if (!slot->made)
    {
      gboolean several = cluster_n_nodes (slot->cluster) > 1;

      slot->made = TRUE;
      if (cluster_gpus_of_node (slot->cluster, 0) > 1)
        slot->intra = cluster_intra_profile (slot->cluster, 0);
      if (several)
        slot->nic = cluster_nic_profile (slot->cluster, 0);
    }
  return slot->cluster;
}

static PlanSlot *
row_plan (CollectivePredictor *self, guint row)
{
  g_assert (row < self->rows->len);
  return g_ptr_array_index (self->plans, self->plan_of_row[row]);
}

static ClusterSlot *
row_cluster (CollectivePredictor *self, guint row)
{
  return g_ptr_array_index (self->clusters, row_plan (self, row)->cluster);
}

/*
 * Over the ranks that WORD names; without them over all GPUs, or (BESIDE) NULL. So it is where the
 * algorithm or the protocol that the row names cannot run there: none other is what was measured.
 */
static CollectivePlan *
plan_ranks (PlanSlot *slot, const Cluster *cluster, const char *word, gboolean concurrent)
{
  guint               n = cluster_n_gpus (cluster);
  g_autoptr (GArray)  named = measurement_group (slot->row, word, n, &slot->reason);
  g_autofree guint32 *all = NULL;
  g_autofree char    *hint = NULL, *refusal = NULL;
  const guint32      *ranks;

  if (slot->reason != NULL || (named == NULL && concurrent))
    return NULL;
  if (named == NULL)
    {
      all = g_new (guint32, n);
      for (guint i = 0; i < n; i++)
        all[i] = i;
    }
  ranks = named != NULL ? (const guint32 *) (gconstpointer) named->data : all;
  n = named != NULL ? named->len : n;
  if (!collective_kind_is_paired (slot->kind)) /* which have no choice */
    {
      refusal = collective_choice_refusal (cluster, slot->kind, ranks, n, &slot->options, &hint);
      if (refusal != NULL)
        {
          slot->reason = g_strdup_printf ("%s (%s)", refusal, hint);
          return NULL;
        }
    }
  return collective_plan_new (cluster, slot->kind, ranks, n, &slot->options);
}

/* The later end of both, where another runs concurrently. NULL, or why there is none. */
static const char *
time_concurrent (PlanSlot *slot, const Cluster *cluster, double bytes, CollectiveCost *cost)
{
  const CollectiveRunItem items[] = { { slot->plan, bytes, 0 }, { slot->concurrent, bytes, 0 } };
  SimTime                 finish[2];

  if (slot->concurrent == NULL)
    return NULL;
  if (!collective_run_fluid (cluster, items, G_N_ELEMENTS (items), finish, NULL))
    return "it takes too long for the clock";
  cost->time = (double) MAX (finish[0], finish[1]) / SIM_TIME_PER_SECOND;
  return NULL;
}

const char *
collective_predictor_cost (CollectivePredictor *self, guint row, CollectiveCost *cost)
{
  const Measurement *measurement = g_ptr_array_index (self->rows, row);
  PlanSlot          *slot = row_plan (self, row);
  const Cluster     *cluster;

  if (measurement->reason != NULL)
    return measurement->reason;
  if (slot->reason != NULL)
    return slot->reason;
  cluster = slot_cluster (self, row_cluster (self, row));
  if (cluster == NULL)
    return row_cluster (self, row)->reason;
  if (slot->plan == NULL)
    slot->reason = collective_options_refusal (&slot->options, cluster, NULL);
  if (slot->plan == NULL && slot->reason == NULL)
    {
      if (slot->options.library == NULL
          || g_ascii_strcasecmp (slot->options.library, "unknown") == 0)
        slot->options.library = cluster_usual_release (cluster);
      slot->plan = plan_ranks (slot, cluster, "ranks", FALSE);
      if (slot->reason == NULL)
        slot->concurrent = plan_ranks (slot, cluster, "beside", TRUE);
    }
  if (slot->reason != NULL)
    return slot->reason;
  if (collective_plan_n_ranks (slot->plan) == 1)
    return "one GPU: nothing is sent";
  collective_plan_cost (slot->plan, (double) measurement->bytes, cost);
  return time_concurrent (slot, cluster, (double) measurement->bytes, cost);
}

/* Of the word of SLOT's row that begins with WORD. */
static void
add_mistake (const PlanSlot *slot, const char *word, const char *hint, const char *message,
             DiagList *diags)
{
  SourceMark mark;

  if (measurement_word_mark (slot->row, word, &mark))
    diag_error (diags, &mark, hint, "%s", message);
}

/* What is wrong with hardware, and with words that are sound by themselves. */
static void
check_on_cluster (CollectivePredictor *self, PlanSlot *slot, DiagList *diags)
{
  static const struct
  {
    const char *key, *word;
  } words[] = { { "nvls", "nvls=" }, { "algorithm", "algo=" }, { "sharp", "sharp" } };
  static const char *const groups[] = { "ranks", "beside" };
  const Cluster   *cluster = slot_cluster (self, g_ptr_array_index (self->clusters, slot->cluster));
  g_autofree char *refusal = NULL;
  const char      *word = "";
  RefusedWish      wish;

  if (cluster == NULL)
    {
      if (slot->row->place.file != NULL)
        diag_warning (diags, &slot->row->place, NULL, "%s",
                      ((ClusterSlot *) g_ptr_array_index (self->clusters, slot->cluster))->reason);
      return;
    }
  refusal = collective_options_refusal (&slot->options, cluster, &wish);
  for (guint i = 0; refusal != NULL && i < G_N_ELEMENTS (words); i++)
    if (g_str_equal (wish.key, words[i].key))
      word = words[i].word;
  if (refusal != NULL)
    add_mistake (slot, word, wish.hint, refusal, diags);
  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    {
      g_autofree char *reason = NULL;
      GArray *ranks = measurement_group (slot->row, groups[i], cluster_n_gpus (cluster), &reason);

      if (ranks != NULL)
        g_array_unref (ranks);
      if (reason != NULL)
        add_mistake (slot, groups[i], "they are counted from 0, each once, as in 'ranks=0,4-6'",
                     reason, diags);
    }
}

void
collective_predictor_check_words (CollectivePredictor *self, DiagList *diags)
{
  for (guint i = 0; i < self->plans->len; i++)
    {
      PlanSlot         *slot = g_ptr_array_index (self->plans, i);
      CollectiveOptions options;
      ClusterOptions    cluster = { 0 };
      g_autofree char  *reason = NULL;

      if (slot->row->reason != NULL)
        continue;
      reason = measurement_environment (slot->row, &options, &cluster, diags);
      if (reason == NULL)
        check_on_cluster (self, slot, diags);
      option_table_clear (cluster_options, &cluster);
    }
}

guint
collective_predictor_n_ranks (CollectivePredictor *self, guint row)
{
  return collective_plan_n_ranks (row_plan (self, row)->plan);
}

guint
collective_predictor_n_nodes (CollectivePredictor *self, guint row)
{
  return collective_plan_n_nodes (row_plan (self, row)->plan);
}

const Cluster *
collective_predictor_cluster (CollectivePredictor *self, guint row)
{
  return slot_cluster (self, row_cluster (self, row));
}

const char *
collective_predictor_profiles (CollectivePredictor *self, guint row)
{
  ClusterSlot   *slot = row_cluster (self, row);
  const Cluster *cluster = slot_cluster (self, slot);

  if (slot->profiles == NULL && cluster != NULL)
    slot->profiles = profiles_used (self->profiles, cluster, NULL);
  return slot->profiles;
}

const LinkProfile *
collective_predictor_intra (CollectivePredictor *self, guint row)
{
  slot_cluster (self, row_cluster (self, row));
  return row_cluster (self, row)->intra;
}

const LinkProfile *
collective_predictor_nic (CollectivePredictor *self, guint row)
{
  slot_cluster (self, row_cluster (self, row));
  return row_cluster (self, row)->nic;
}

void
collective_predictor_forget (CollectivePredictor *self, const char *link)
{
  for (guint i = 0; i < self->plans->len; i++)
    {
      PlanSlot          *plan = g_ptr_array_index (self->plans, i);
      const ClusterSlot *slot = g_ptr_array_index (self->clusters, plan->cluster);

      if ((slot->intra != NULL && g_str_equal (slot->intra->id, link))
          || (slot->nic != NULL && g_str_equal (slot->nic->id, link)))
        {
          g_clear_pointer (&plan->plan, collective_plan_free);
          g_clear_pointer (&plan->concurrent, collective_plan_free);
        }
    }
  for (guint i = 0; i < self->clusters->len; i++)
    {
      ClusterSlot *slot = g_ptr_array_index (self->clusters, i);

      if ((slot->intra != NULL && g_str_equal (slot->intra->id, link))
          || (slot->nic != NULL && g_str_equal (slot->nic->id, link)))
        {
          g_clear_pointer (&slot->cluster, cluster_free);
          g_clear_pointer (&slot->profiles, g_free);
        }
    }
}
