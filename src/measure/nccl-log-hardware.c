/* The ranks of a run of a log, held against each other and against the hardware. */
#include <string.h>

#include "measure/nccl-log-private.h"

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

gboolean
log_read_layout (const LogRun *run, LogLayout *layout, DiagList *diags)
{
  g_autoptr (GHashTable) hosts = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) processes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) slots = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Places                 places = { hosts, processes, slots };

  *layout = (LogLayout){ .n_ranks = 0 };
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

/* TEXT in lower case, everything but letters and digits a space. */
static char *
plain_words (const char *text)
{
  char *words = g_ascii_strdown (text, -1);

  for (char *c = words; *c != '\0'; c++)
    if (!g_ascii_isalnum (*c))
      *c = ' ';
  return words;
}

/*
 * The first part of a profile's id is a word of WORDS, or two: "rtx4090" of "nvidia geforce rtx
 * 4090".
 */
static gboolean
names_model (const char *words, const char *id)
{
  g_auto (GStrv)   parts = g_strsplit_set (words, " ", -1);
  g_autofree char *model = g_strndup (id, strcspn (id, "-"));

  for (guint i = 0; parts[i] != NULL; i++)
    {
      g_autofree char *pair =
          parts[i + 1] != NULL ? g_strconcat (parts[i], parts[i + 1], NULL) : NULL;

      if (strcmp (parts[i], model) == 0 || g_strcmp0 (pair, model) == 0)
        return TRUE;
    }
  return FALSE;
}

/* "80" of "nvidia h100 80gb hbm3"; newly allocated, NULL where there is none. */
static char *
memory_of (const char *words)
{
  const char *end = strstr (words, "gb"), *start = end;

  while (start != NULL && start > words && g_ascii_isdigit (start[-1]))
    start--;
  return start != end ? g_strndup (start, (gsize) (end - start)) : NULL;
}

/* A name of a board in a slot is not that of a module, and the other way round. */
static gboolean
fits_board (const char *words, const char *id)
{
  return !(strstr (words, "sxm") != NULL && strstr (id, "-pcie-") != NULL)
         && !(strstr (words, "pcie") != NULL && strstr (id, "-sxm-") != NULL);
}

/* ID fits what the words of a GPU's name say of model, board and memory. */
static gboolean
fits_name (const char *words, const char *id)
{
  g_autofree char *memory = memory_of (words);
  const char      *size = strrchr (id, '-');

  return names_model (words, id) && fits_board (words, id)
         && (memory == NULL || size == NULL || strcmp (size + 1, memory) == 0);
}

/* Profiles that the words of a GPU's name fit: newly allocated "a, b", NULL for none. */
static char *
ids_of_name (ProfileSet *profiles, const char *words)
{
  g_auto (GStrv)      known = profile_set_list (profiles, "gpu");
  g_autoptr (GString) ids = g_string_new (NULL);

  for (guint i = 0; known[i] != NULL; i++)
    if (fits_name (words, known[i]))
      g_string_append_printf (ids, "%s%s", ids->len > 0 ? ", " : "", known[i]);
  return ids->len > 0 ? g_strdup (ids->str) : NULL;
}

static void
check_gpu (const LogTarget *target, const LogRun *run, const LogLayout *layout,
           const Cluster *cluster)
{
  ProfileSet      *profiles = target->context->profiles;
  const char      *id = cluster_gpu_profile (cluster, 0)->id;
  g_autofree char *words = plain_words (layout->gpu);
  g_autofree char *fitting = fits_name (words, id) ? NULL : ids_of_name (profiles, words);

  if (fits_name (words, id))
    return;
  if (fitting != NULL)
    {
      g_autofree char *hint = g_strdup_printf ("its name fits: %s", fitting);

      diag_error (target->diags, &rank_at (run, 0)->gpu_mark, hint,
                  "the log's GPUs are '%s', the hardware's '%s'", layout->gpu, id);
    }
  else if (!names_model (words, id))
    diag_warning (target->diags, &rank_at (run, 0)->gpu_mark, NULL,
                  "the log's GPUs are '%s', which is not known to be '%s'", layout->gpu, id);
}

/* ---- hardware -------------------------------------------------------------------------------- */

static void
say_no_hardware (LogTarget *target, const LogRun *run)
{
  if (!target->no_hardware)
    diag_error (target->diags, &run->mark,
                "such as --cluster '2 x dgx-h100', or --gpu, --intra, --nics and --nic",
                "a log does not say what its hardware is: give it on the command line");
  target->no_hardware = TRUE;
}

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
      say_no_hardware (target, run);
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
