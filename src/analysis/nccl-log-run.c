/* A complete run of a log: checks, and its rows. */
#include <string.h>

#include "analysis/nccl-log-private.h"

static void
log_rank_clear (gpointer data)
{
  LogRank *self = data;

  g_free (self->host);
  g_free (self->gpu);
  g_free (self->slot);
}

LogRun *
log_run_new (const SourceMark *mark)
{
  LogRun *self = g_new0 (LogRun, 1);

  self->mark = *mark;
  self->words = g_string_new (NULL);
  self->ranks = g_array_new (FALSE, TRUE, sizeof (LogRank));
  self->rows = g_array_new (FALSE, TRUE, sizeof (LogRow));
  g_array_set_clear_func (self->ranks, log_rank_clear);
  return self;
}

void
log_run_free (LogRun *self)
{
  if (self == NULL)
    return;
  g_free (self->test);
  g_free (self->library);
  g_free (self->algorithm);
  g_free (self->protocol);
  g_string_free (self->words, TRUE);
  g_array_unref (self->ranks);
  g_array_unref (self->rows);
  g_free (self);
}

/* ---- what the head says ------------------------------------------------------------------------ */

void
log_run_set_library (LogRun *self, const char *version, const SourceMark *mark, DiagList *diags)
{
  if (self->library == NULL)
    self->library = g_strdup (version);
  else if (strcmp (self->library, version) != 0)
    diag_error (diags, mark, "every rank must load the same library",
                "version '%s' of the library in a run with '%s'", version, self->library);
}

void
log_run_set_library_code (LogRun *self, guint64 code, const SourceMark *mark, DiagList *diags)
{
  /* Before 2.9 there were two digits less. */
  const guint64    unit = code < 10000 ? 1000 : 10000;
  g_autofree char *version =
      g_strdup_printf ("%" G_GUINT64_FORMAT ".%" G_GUINT64_FORMAT ".%" G_GUINT64_FORMAT,
                       code / unit, code % unit / 100, code % 100);

  if (code >= 2000)
    log_run_set_library (self, version, mark, diags);
}

void
log_run_add_word (LogRun *self, const char *word)
{
  g_autofree char *spaced = g_strdup_printf (" %s", word);
  const char      *found = strstr (self->words->str, spaced);

  if (found == NULL || (found[strlen (spaced)] != ' ' && found[strlen (spaced)] != '\0'))
    g_string_append (self->words, spaced);
}

/* Sets *CHOICE from VALUE of the variable NAME; said once where VALUE is no single CHOICE. */
static void
set_choice (char **choice, gboolean known, const char *name, const char *value,
            const SourceMark *mark, DiagList *diags)
{
  if (*choice != NULL)
    return;
  if (!known)
    diag_error (diags, mark,
                "a run with one algorithm and one protocol, or with the library's own choice",
                "%s is '%s': a choice among some cannot be followed", name, value);
  *choice = g_strdup (value);
}

void
log_run_set_variable (LogRun *self, const char *name, const char *value, const SourceMark *mark,
                      DiagList *diags)
{
  g_autofree char *lower = g_ascii_strdown (value, -1);
  const char      *word = g_strstrip (lower);
  g_autofree char *channels = g_strdup_printf ("channels=%s", word);

  if (*word == '\0')
    return;
  if (strcmp (name, "NCCL_ALGO") == 0)
    set_choice (&self->algorithm, collective_algorithm_parse (word) != ALGORITHM_N, name, word,
                mark, diags);
  else if (strcmp (name, "NCCL_PROTO") == 0)
    set_choice (&self->protocol, collective_protocol_parse (word) != PROTOCOL_N, name, word, mark,
                diags);
  else if (strcmp (name, "NCCL_NET_GDR_LEVEL") == 0 && (strcmp (word, "loc") == 0 || *word == '0'))
    log_run_add_word (self, "no-gpudirect");
  else if (strcmp (name, "NCCL_P2P_DISABLE") == 0 && *word != '0')
    log_run_add_word (self, "no-p2p");
  else if (strcmp (name, "NCCL_MAX_NCHANNELS") == 0 || strcmp (name, "NCCL_MAX_CTAS") == 0)
    log_run_add_word (self, channels);
}

guint
log_element_size (const char *name, gsize length)
{
  static const struct
  {
    const char *name;
    guint       size;
  } types[] = {
    { "float", 4 },    { "half", 2 },    { "bfloat16", 2 }, { "double", 8 }, { "int8", 1 },
    { "uint8", 1 },    { "int32", 4 },   { "uint32", 4 },   { "int64", 8 },  { "uint64", 8 },
    { "char", 1 },     { "int", 4 },     { "f8e4m3", 1 },   { "f8e5m2", 1 }, { "fp8_e4m3", 1 },
    { "fp8_e5m2", 1 }, { "float16", 2 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (strlen (types[i].name) == length && strncmp (types[i].name, name, length) == 0)
      return types[i].size;
  return 0;
}

char *
log_test_name (const char *text)
{
  for (const char *end = strstr (text, "_perf"); end != NULL; end = strstr (end + 1, "_perf"))
    {
      const char *start = end, *after = end + strlen ("_perf");

      while (start > text && (g_ascii_islower (start[-1]) || start[-1] == '_'))
        start--;
      if (g_str_has_prefix (after, "_mpi"))
        after += strlen ("_mpi");
      if (start < end && !g_ascii_isalnum (*after) && *after != '_')
        return g_strndup (start, (gsize) (end - start));
    }
  return NULL;
}

/* ---- ranks ------------------------------------------------------------------------------------- */

/* What the ranks' lines add up to. */
typedef struct
{
  guint       n_ranks, n_hosts, per_host; /* 0: no lines */
  guint       n_processes;
  gboolean    shared; /* ranks share a GPU */
  const char *gpu;
} Layout;

static const LogRank *
rank_at (const LogRun *run, guint i)
{
  return &g_array_index (run->ranks, LogRank, i);
}

/* The place to name for what concerns all ranks. */
static const SourceMark *
ranks_mark (const LogRun *run)
{
  return run->ranks->len > 0 ? &rank_at (run, run->ranks->len - 1)->mark : &run->mark;
}

/* Each rank once, in one group, on one kind of GPU: FALSE after a diagnostic of the first that is not. */
static gboolean
check_rank (const LogRun *run, guint i, gint64 next, DiagList *diags)
{
  const LogRank *rank = rank_at (run, i), *first = rank_at (run, 0);

  if (rank->rank < next)
    diag_error (diags, &rank->mark, "was nccl-tests built without MPI=1? Then each process runs alone",
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
place_rank (const LogRank *rank, Places *places, Layout *layout)
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
check_hosts (const LogRun *run, const Places *places, Layout *layout, DiagList *diags)
{
  for (guint i = 0; i < run->ranks->len; i++)
    {
      const LogRank *rank = rank_at (run, i);
      const guint    here = GPOINTER_TO_UINT (g_hash_table_lookup (places->hosts, rank->host));

      if (i == 0)
        layout->per_host = here;
      if (here == layout->per_host)
        continue;
      diag_error (diags, &rank->mark, NULL, "%u ranks on '%s', %u on '%s': hosts must have the same",
                  here, rank->host, layout->per_host, rank_at (run, 0)->host);
      return FALSE;
    }
  return TRUE;
}

/* FALSE after a diagnostic. */
static gboolean
read_layout (const LogRun *run, Layout *layout, DiagList *diags)
{
  g_autoptr (GHashTable) hosts = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) processes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) slots = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Places                 places = { hosts, processes, slots };

  *layout = (Layout){ .n_ranks = 0 };
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

/* ---- names of GPUs ----------------------------------------------------------------------------- */

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

/* The first part of a profile's id is a word of WORDS, or two: "rtx4090" of "nvidia geforce rtx 4090". */
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
check_gpu (const LogTarget *target, const LogRun *run, const Layout *layout, const Cluster *cluster)
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

/* ---- hardware ---------------------------------------------------------------------------------- */

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
fill_shape (ClusterOptions *options, const Layout *layout)
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
check_shape (const LogTarget *target, const LogRun *run, const Layout *layout, const Cluster *cluster)
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
          target->diags, ranks_mark (run),
          "every GPU of the hardware must be a rank: give the run's nodes and GPUs a node, or leave them to the log",
          "a run of %u ranks%s, but the hardware has %u GPUs on %u node%s", layout->n_ranks, hosts,
          gpus, nodes, nodes > 1 ? "s" : "");
      return FALSE;
    }
  return TRUE;
}

/* Fills OPTIONS (zeroed) with the run's hardware. FALSE after a diagnostic. */
static gboolean
settle_hardware (LogTarget *target, const LogRun *run, const Layout *layout, ClusterOptions *options)
{
  const MeasurementContext *context = target->context;
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
  cluster = cluster_new (options, context->profiles, ranks_mark (run), target->diags);
  if (cluster == NULL || !check_shape (target, run, layout, cluster))
    return FALSE;
  if (layout->gpu != NULL)
    check_gpu (target, run, layout, cluster);
  return TRUE;
}

/* ---- the collective ---------------------------------------------------------------------------- */

/* Tests that the simulator has no model of. */
static const char *const unmodelled[] = { "gather",    "scatter",     "hypercube", "bisection",
                                          "alltoallv", "all_to_allv", NULL };

/* COLLECTIVE_N_KINDS after a diagnostic. */
static CollectiveKind
settle_kind (const LogTarget *target, const LogRun *run)
{
  CollectiveKind kind = run->test != NULL ? collective_kind_parse (run->test) : target->context->kind;

  if (kind != COLLECTIVE_N_KINDS)
    return kind;
  if (run->test == NULL)
    diag_error (target->diags, &run->mark, "give it with --collective",
                "nothing says which collective this run is of: this release does not print it");
  else if (g_strv_contains (unmodelled, run->test))
    diag_warning (target->diags, &run->mark, NULL, "'%s' has no model: the run is left out",
                  run->test);
  else
    diag_error (target->diags, &run->mark, NULL, "unknown test '%s_perf'", run->test);
  return COLLECTIVE_N_KINDS;
}

static gboolean
has_in_place (CollectiveKind kind)
{
  return kind != COLLECTIVE_ALL_TO_ALL && kind != COLLECTIVE_SEND_RECV;
}

/* S over the elements of a call. */
static guint
parts_of (CollectiveKind kind, guint n_ranks)
{
  return kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_REDUCE_SCATTER
                 || kind == COLLECTIVE_ALL_TO_ALL
             ? n_ranks
             : 1;
}

/* Where the log does not name the collective, its counts may tell that the caller's is wrong. FALSE after a diagnostic. */
static gboolean
check_counts (const LogTarget *target, const LogRun *run, CollectiveKind kind, guint n_ranks)
{
  for (guint i = 0; i < run->rows->len && run->test == NULL && n_ranks > 1; i++)
    {
      const LogRow *row = &g_array_index (run->rows, LogRow, i);
      const double  elements = (double) row->count * row->element * parts_of (kind, n_ranks);

      if (row->element == 0 || row->count == 0 || elements == (double) row->bytes)
        continue;
      diag_error (target->diags, &row->mark, NULL,
                  "%" G_GUINT64_FORMAT " bytes are not what %s over %u ranks makes of %" G_GUINT64_FORMAT
                  " elements: another collective?",
                  row->bytes, collective_kind_name (kind), n_ranks, row->count);
      return FALSE;
    }
  return TRUE;
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* Words for `env`; some that no simulation follows, which keeps the rows out of the statistics. */
static char *
environment_of (const LogRun *run, const Layout *layout, guint half)
{
  GString *words = g_string_new (half == LOG_IN_PLACE ? "in-place" : "out-of-place");
  gboolean together = run->ranks->len > 0 && rank_at (run, 0)->pid >= 0
                      && layout->n_processes == layout->n_hosts && layout->per_host > 1;

  if (together)
    g_string_append (words, " single-process");
  if (run->algorithm != NULL)
    g_string_append_printf (words, " algo=%s", run->algorithm);
  if (run->protocol != NULL)
    g_string_append_printf (words, " proto=%s", run->protocol);
  if (layout->shared)
    g_string_append (words, " ranks-share-gpu");
  g_string_append (words, run->words->str);
  return g_string_free (words, FALSE);
}

/* The file's name without its ending, and the number of the run's half. */
static char *
run_id (const LogTarget *target)
{
  g_autofree char *stem = g_strdup (target->file);
  char            *dot = strrchr (stem, '.');

  if (dot != NULL && dot > stem && dot[-1] != '/' && strchr (dot, '/') == NULL)
    *dot = '\0';
  return g_strdup_printf ("%s-%02u", stem, target->n_ids);
}

static void
add_row (LogTarget *target, const LogRun *run, CollectiveKind kind, const ClusterOptions *cluster,
         const char *env, guint64 bytes, double time_us)
{
  Measurement *measured = measurement_new ();

  measured->id = run_id (target);
  g_free (measured->source);
  measured->source = g_strdup (target->file);
  measured->kind = kind;
  measured->collective = g_strdup (run->test != NULL ? run->test : collective_kind_name (kind));
  measured->bytes = bytes;
  measured->time_us = time_us;
  if (run->library != NULL)
    {
      g_free (measured->library);
      measured->library = g_strdup (run->library);
    }
  g_free (measured->env);
  measured->env = g_strdup (env);
  option_table_clear (cluster_options, &measured->cluster);
  option_table_copy (cluster_options, cluster, &measured->cluster);
  g_ptr_array_add (target->rows, measured);
}

/* Both halves of every row that says what was moved in which time: sizes that rounding leaves nothing of have no traffic. */
static void
add_rows (LogTarget *target, const LogRun *run, const Layout *layout, CollectiveKind kind,
          const ClusterOptions *cluster)
{
  for (guint half = 0; half < LOG_N_HALVES; half++)
    {
      g_autofree char *env = environment_of (run, layout, half);
      guint            n = 0;

      for (guint i = 0; i < run->rows->len; i++)
        {
          const LogRow  *row = &g_array_index (run->rows, LogRow, i);
          const LogHalf *timed = &row->halves[half];

          if (timed->time_us > 0 && row->bytes > 0)
            {
              target->n_ids += n++ == 0;
              add_row (target, run, kind, cluster, env, row->bytes, timed->time_us);
            }
        }
    }
}

/* No row of RUN has a time of HALF. */
static gboolean
lacks_half (const LogRun *run, guint half)
{
  for (guint i = 0; i < run->rows->len; i++)
    if (g_array_index (run->rows, LogRow, i).halves[half].missing.line == 0)
      return FALSE;
  return TRUE;
}

/* Only tests that cannot run in place, or did not at any size, may say that they did not. */
static void
check_times (const LogTarget *target, const LogRun *run, CollectiveKind kind)
{
  const gboolean in_place = has_in_place (kind) && !lacks_half (run, LOG_IN_PLACE);

  for (guint i = 0; i < run->rows->len; i++)
    for (guint half = 0; half < LOG_N_HALVES; half++)
      {
        const SourceMark *missing = &g_array_index (run->rows, LogRow, i).halves[half].missing;

        if (missing->line > 0 && (half == LOG_OUT_OF_PLACE || in_place))
          diag_error (target->diags, missing, "is it the log of a run that was stopped?",
                      "expected a time, got 'N/A'");
      }
}

void
log_add_run (LogTarget *target, const LogRun *run)
{
  CollectiveKind kind = settle_kind (target, run);
  ClusterOptions cluster = { 0 };
  Layout         layout;
  gboolean       good = read_layout (run, &layout, target->diags);

  check_times (target, run, kind);
  if (run->predicted)
    diag_warning (target->diags, &run->mark, NULL, "predicted by shardsim, not measured");
  if (good && layout.n_ranks == 1)
    {
      diag_warning (target->diags, ranks_mark (run), NULL,
                    "a run of one rank measures launches and copies, no link: it is left out");
      return;
    }
  good = good && settle_hardware (target, run, &layout, &cluster);
  if (good && kind != COLLECTIVE_N_KINDS)
    {
      const guint n_ranks = layout.n_ranks;

      if (check_counts (target, run, kind, n_ranks))
        add_rows (target, run, &layout, kind, &cluster);
    }
  option_table_clear (cluster_options, &cluster);
}
