/* The ranks of a run of a log, held against each other and against the hardware. */
#include <string.h>

#include "hardware/profile/gpu-name.h"
#include "import/log/nccl-log-private.h"

/* ---- ranks ----------------------------------------------------------------------------------- */

static const LogRank *
rank_at (const LogRun *run, guint i)
{
  return &g_array_index (run->ranks, LogRank, i);
}

const SourceMark *
log_ranks_mark (const LogRun *run)
{
  return run->ranks->len > 0 ? &rank_at (run, run->ranks->len - 1)->mark : &run->mark;
}

/*
 * Each rank once, in one group, on one kind of GPU: FALSE after a diagnostic of the first that is
 * not.
 */
static gboolean
check_rank (const LogRun *run, guint i, gint64 next, DiagList *diags)
{
  const LogRank *rank = rank_at (run, i), *first = rank_at (run, 0);

  if (rank->rank < next)
    diag_error (diags, &rank->mark,
                "was nccl-tests built without MPI=1? Then each process runs alone",
                "rank %" G_GINT64_FORMAT " a second time", rank->rank);
  else if (rank->rank > next)
    diag_error (diags, &rank->mark, NULL,
                "rank %" G_GINT64_FORMAT " follows, where rank %" G_GINT64_FORMAT " is expected",
                rank->rank, next);
  else if (rank->group != first->group)
    diag_error (diags, &rank->mark, "run without NCCL_TESTS_SPLIT",
                "ranks in groups %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT
                ": a part of the ranks cannot be placed",
                first->group, rank->group);
  else if (strcmp (rank->gpu, first->gpu) != 0)
    diag_error (diags, &rank->gpu_mark, NULL, "a run over unlike GPUs: '%s' and '%s'", first->gpu,
                rank->gpu);
  else
    return TRUE;
  return FALSE;
}

/* Sets of what ranks name. */
typedef struct
{
  GHashTable *hosts; /* its ranks by name */
  GHashTable *processes, *slots;
} Places;

/* Notes KEY, which is taken; FALSE where SET has it. NULL is never there. */
static gboolean
note_key (GHashTable *set, char *key)
{
  return key == NULL || g_hash_table_add (set, key);
}

static void
place_rank (const LogRank *rank, Places *places, LogLayout *layout)
{
  const guint here = GPOINTER_TO_UINT (g_hash_table_lookup (places->hosts, rank->host));

  g_hash_table_insert (places->hosts, rank->host, GUINT_TO_POINTER (here + rank->n_ranks));
  layout->n_ranks += rank->n_ranks;
  layout->n_hosts += here == 0;
  layout->n_processes += note_key (
      places->processes, g_strdup_printf ("%" G_GINT64_FORMAT " %s", rank->pid, rank->host));
  if (!note_key (places->slots,
                 rank->slot != NULL ? g_strdup_printf ("%s %s", rank->slot, rank->host) : NULL))
    layout->shared = TRUE;
}

/* Every host has as many ranks as the first; FALSE after a diagnostic of one that has not. */
static gboolean
check_hosts (const LogRun *run, const Places *places, LogLayout *layout, DiagList *diags)
{
  for (guint i = 0; i < run->ranks->len; i++)
    {
      const LogRank *rank = rank_at (run, i);
      const guint    here = GPOINTER_TO_UINT (g_hash_table_lookup (places->hosts, rank->host));

      if (i == 0)
        layout->per_host = here;
      if (here == layout->per_host)
        continue;
      diag_error (diags, &rank->mark, NULL,
                  "%u ranks on '%s', %u on '%s': hosts must have the same", here, rank->host,
                  layout->per_host, rank_at (run, 0)->host);
      return FALSE;
    }
  return TRUE;
}

/* The caller says how many nodes there are and how many GPUs they have. */
static gboolean
is_told (const LogTarget *target)
{
  const ClusterOptions *cluster = target->context->cluster;

  return cluster != NULL
         && (cluster->name != NULL || (cluster->nodes > 0 && cluster->gpus_per_node > 0));
}

/* Lines of ranks are missing before the I-th, or at the end where the log says how many ran. */
static gboolean
lacks_ranks (const LogRun *run)
{
  for (guint i = 0, next = 0; i < run->ranks->len; next += rank_at (run, i++)->n_ranks)
    if (rank_at (run, i)->rank > next)
      return TRUE;
  return FALSE;
}

gboolean
log_read_layout (const LogTarget *target, const LogRun *run, LogLayout *layout)
{
  DiagList              *diags = target->diags;
  g_autoptr (GHashTable) hosts = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) processes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) slots = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Places                 places = { hosts, processes, slots };

  *layout = (LogLayout){ .n_ranks = 0 };
  if (lacks_ranks (run) && is_told (target))
    {
      diag_warning (diags, log_ranks_mark (run), NULL,
                    "lines of ranks are missing: the hardware that is given stands");
      return TRUE;
    }
  for (guint i = 0; i < run->ranks->len; i++)
    {
      if (!check_rank (run, i, layout->n_ranks, diags))
        return FALSE;
      place_rank (rank_at (run, i), &places, layout);
    }
  if (!check_hosts (run, &places, layout, diags))
    return FALSE;
  if (layout->n_ranks > 0)
    layout->gpu = rank_at (run, 0)->gpu;
  else
    layout->n_ranks = run->n_ranks;
  return TRUE;
}

/* ---- names of GPUs --------------------------------------------------------------------------- */

static void
check_gpu (const LogTarget *target, const LogRun *run, const LogLayout *layout,
           const Cluster *cluster)
{
  ProfileSet      *profiles = target->context->profiles;
  const char      *id = cluster_gpu_profile (cluster, 0)->id;
  const gboolean   fits = gpu_name_fits (layout->gpu, id);
  g_autofree char *fitting = fits ? NULL : gpu_name_ids (layout->gpu, profiles);

  if (fits)
    return;
  if (fitting != NULL)
    {
      g_autofree char *hint = g_strdup_printf ("its name fits: %s", fitting);

      diag_error (target->diags, &rank_at (run, 0)->gpu_mark, hint,
                  "the log's GPUs are '%s', the hardware's '%s'", layout->gpu, id);
    }
  else if (!gpu_name_is_model (layout->gpu, id))
    diag_warning (target->diags, &rank_at (run, 0)->gpu_mark, NULL,
                  "the log's GPUs are '%s', which is not known to be '%s'", layout->gpu, id);
}

/* ---- hardware -------------------------------------------------------------------------------- */

/* What the caller left open is the log's. */
static void
fill_shape (ClusterOptions *options, const LogLayout *layout)
{
  if (options->name != NULL)
    return;
  if (options->nodes == 0)
    options->nodes = layout->n_hosts;
  if (options->gpus_per_node == 0)
    options->gpus_per_node = layout->per_host;
  if (options->nodes == 1 && options->nics < 0 && options->node == NULL && options->nic == NULL)
    options->nics = 0;
}

/* FALSE after a diagnostic. */
static gboolean
check_shape (const LogTarget *target, const LogRun *run, const LogLayout *layout,
             const Cluster *cluster)
{
  const guint nodes = cluster_n_nodes (cluster), gpus = cluster_n_gpus (cluster);

  if (layout->n_hosts == 0 && layout->n_ranks == 0)
    diag_warning (target->diags, &run->mark, NULL,
                  "no line says which ranks ran: taken to be all %u GPUs of %s", gpus,
                  cluster_title (cluster));
  else if (layout->n_hosts == 0 ? layout->n_ranks != gpus
                                : layout->n_ranks != gpus || layout->n_hosts != nodes)
    {
      g_autofree char *hosts =
          layout->n_hosts > 0
              ? g_strdup_printf (" on %u host%s", layout->n_hosts, layout->n_hosts > 1 ? "s" : "")
              : g_strdup ("");

      diag_error (
          target->diags, log_ranks_mark (run),
          "every GPU of the hardware must be a rank: give the run's nodes and GPUs a node, or "
          "leave them to the log",
          "a run of %u ranks%s, but the hardware has %u GPUs on %u node%s", layout->n_ranks, hosts,
          gpus, nodes, nodes > 1 ? "s" : "");
      return FALSE;
    }
  return TRUE;
}

gboolean
log_settle_hardware (LogTarget *target, const LogRun *run, const LogLayout *layout,
                     ClusterOptions *options)
{
  const MeasurementContext *context = target->context;
  const OptionMarks         marks = { .table = cluster_options, .section = *log_ranks_mark (run) };
  g_autoptr (Cluster)       cluster = NULL;

  if (context->cluster == NULL)
    {
      if (!target->no_hardware)
        diag_error (target->diags, &run->mark,
                    "such as --cluster '2 x dgx-h100', or --gpu, --intra, --nics and --nic",
                    "a log does not say what its hardware is: give it on the command line");
      target->no_hardware = TRUE;
      return FALSE;
    }
  option_table_copy (cluster_options, context->cluster, options);
  fill_shape (options, layout);
  if (options->name == NULL && options->nodes == 0)
    {
      diag_error (target->diags, &run->mark, "give --nodes and --gpus-per-node",
                  "no line says which ranks ran on which hosts");
      return FALSE;
    }
  cluster = cluster_new (options, context->profiles, &marks, target->diags);
  if (cluster == NULL || !check_shape (target, run, layout, cluster))
    return FALSE;
  if (layout->gpu != NULL)
    check_gpu (target, run, layout, cluster);
  return TRUE;
}
