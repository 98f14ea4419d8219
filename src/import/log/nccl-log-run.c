/* A complete run of a log: checks, and its rows. */
#include <string.h>

#include "import/log/nccl-log-private.h"

#define MAX_MISMATCH 2.0 /* of a bandwidth and size over time: rounding makes less */

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

/* ---- what the head says ---------------------------------------------------------------------- */

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

/* TRUE where variable NAME stands in `env` as a word with its value; 2 of NVLS is the default. */
static gboolean
add_numbered (LogRun *self, const char *name, const char *value)
{
  static const struct
  {
    const char *variable, *word, *same, *unit;
  } numbered[] = {
    { "NCCL_NVLS_ENABLE", "nvls", "2", "" },
    { "NCCL_NCHANNELS_PER_NET_PEER", "nchannels_per_net_peer", "-1", "" },
    { "NCCL_BUFFSIZE", "buffsize", "-2", "B" },
    { "NCCL_IB_QPS_PER_CONNECTION", "qps", "", "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (numbered); i++)
    if (strcmp (name, numbered[i].variable) == 0)
      {
        g_autofree char *word =
            g_strdup_printf ("%s=%s%s", numbered[i].word, value, numbered[i].unit);

        if (strcmp (value, numbered[i].same) != 0)
          log_run_add_word (self, word);
        return TRUE;
      }
  return FALSE;
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
  else if (strcmp (name, "NCCL_IB_SPLIT_DATA_ON_QPS") == 0 && *word != '0')
    log_run_add_word (self, "split-data");
  else if (strcmp (name, "NCCL_PXN_DISABLE") == 0)
    log_run_add_word (self, *word != '0' ? "pxn=0" : "pxn=1");
  else if (strcmp (name, "NCCL_P2P_PXN_LEVEL") == 0 && *word == '0')
    log_run_add_word (self, "pxn=0");
  else if (add_numbered (self, name, word))
    return;
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

/* ---- the collective -------------------------------------------------------------------------- */

/* Tests that the simulator has no model of. */
static const char *const unmodelled[] = { "gather",    "scatter",     "hypercube", "bisection",
                                          "alltoallv", "all_to_allv", NULL };

/*
 * The collective that RUN's columns leave: what is reduced, whether there is a root, and whether
 * the size is that of the count of elements or of all ranks'. COLLECTIVE_N_KINDS: more than one.
 */
static CollectiveKind
kind_of_rows (const LogRun *run)
{
  static const struct
  {
    gboolean       reduces, rooted, all_ranks;
    CollectiveKind kind;
  } kinds[] = { { TRUE, FALSE, FALSE, COLLECTIVE_ALL_REDUCE },
                { TRUE, FALSE, TRUE, COLLECTIVE_REDUCE_SCATTER },
                { TRUE, TRUE, FALSE, COLLECTIVE_REDUCE },
                { FALSE, TRUE, FALSE, COLLECTIVE_BROADCAST },
                { FALSE, FALSE, FALSE, COLLECTIVE_SEND_RECV } };
  CollectiveKind found = COLLECTIVE_N_KINDS;

  for (guint i = 0; i < run->rows->len; i++)
    {
      const LogRow *row = &g_array_index (run->rows, LogRow, i);
      const guint64 bytes = row->count * row->element;

      if (row->bytes == 0)
        continue;
      if (!row->described || bytes == 0)
        return COLLECTIVE_N_KINDS;
      for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
        if (kinds[k].reduces == row->reduces && kinds[k].rooted == row->rooted
            && kinds[k].all_ranks == (bytes < row->bytes))
          {
            if (found != COLLECTIVE_N_KINDS && found != kinds[k].kind)
              return COLLECTIVE_N_KINDS;
            found = kinds[k].kind;
          }
    }
  return found;
}

/* COLLECTIVE_N_KINDS after a diagnostic. */
static CollectiveKind
settle_kind (const LogTarget *target, const LogRun *run)
{
  CollectiveKind kind =
      run->test != NULL ? collective_kind_parse (run->test) : target->context->kind;

  if (kind != COLLECTIVE_N_KINDS)
    return kind;
  if (run->test == NULL && (kind = kind_of_rows (run)) != COLLECTIVE_N_KINDS)
    diag_warning (target->diags, &run->mark, "--collective names another",
                  "nothing says which collective this run is of: by its columns it is %s",
                  collective_kind_name (kind));
  else if (run->test == NULL)
    diag_error (target->diags, &run->mark, "give it with --collective",
                "nothing says which collective this run is of: this release does not print it");
  else if (g_strv_contains (unmodelled, run->test))
    diag_warning (target->diags, &run->mark, NULL, "'%s' has no model: the run is left out",
                  run->test);
  else
    diag_error (target->diags, &run->mark, NULL, "unknown test '%s_perf'", run->test);
  return kind;
}

static gboolean
has_in_place (CollectiveKind kind)
{
  return kind != COLLECTIVE_ALL_TO_ALL && kind != COLLECTIVE_SEND_RECV;
}

/*
 * Where the log does not name the collective, its counts may tell that the caller's is wrong. FALSE
 * after a diagnostic.
 */
static gboolean
check_counts (const LogTarget *target, const LogRun *run, CollectiveKind kind, guint n_ranks)
{
  for (guint i = 0; i < run->rows->len && run->test == NULL && n_ranks > 1; i++)
    {
      const LogRow *row = &g_array_index (run->rows, LogRow, i);
      const double  elements = (double) row->count * row->element
                              * (kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_REDUCE_SCATTER
                                         || kind == COLLECTIVE_ALL_TO_ALL
                                     ? n_ranks
                                     : 1);

      if (row->element == 0 || row->count == 0 || elements == (double) row->bytes)
        continue;
      diag_error (target->diags, &row->mark, NULL,
                  "%" G_GUINT64_FORMAT
                  " bytes are not what %s over %u ranks makes of %" G_GUINT64_FORMAT
                  " elements: another collective?",
                  row->bytes, collective_kind_name (kind), n_ranks, row->count);
      return FALSE;
    }
  return TRUE;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void
add_row (LogTarget *target, const LogRun *run, CollectiveKind kind, const ClusterOptions *cluster,
         const char *env, guint64 bytes, double time_us)
{
  Measurement     *measured = measurement_new ();
  g_autofree char *stem = g_strdup (target->file);
  char            *dot = strrchr (stem, '.');

  /* The file's name without its ending, and the number of the run's half. */
  if (dot != NULL && dot > stem && dot[-1] != '/' && strchr (dot, '/') == NULL)
    *dot = '\0';
  measured->id = g_strdup_printf ("%s-%02u", stem, target->n_ids);
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

/*
 * Both halves of every row that says what was moved in which time: sizes that rounding leaves
 * nothing of have no traffic.
 */
static void
add_rows (LogTarget *target, const LogRun *run, const LogLayout *layout, CollectiveKind kind,
          const ClusterOptions *cluster)
{
  for (guint half = 0; half < LOG_N_HALVES; half++)
    {
      GString *words = g_string_new (half == LOG_IN_PLACE ? "in-place" : "out-of-place");
      gboolean together = run->ranks->len > 0 && g_array_index (run->ranks, LogRank, 0).pid >= 0
                          && layout->n_processes == layout->n_hosts && layout->per_host > 1;
      g_autofree char *env = NULL;
      guint            n = 0;

      /*
       * Words for `env`; some that no simulation follows, which keeps the rows out of the
       * statistics.
       */
      if (together)
        g_string_append (words, " single-process");
      if (run->algorithm != NULL)
        g_string_append_printf (words, " algo=%s", run->algorithm);
      if (run->protocol != NULL)
        g_string_append_printf (words, " proto=%s", run->protocol);
      if (layout->shared)
        g_string_append (words, " ranks-share-gpu");
      g_string_append (words, run->words->str);
      env = measurement_words_merge (words->str, target->context->env);
      g_string_free (words, TRUE);
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

/* Said once of a run whose bandwidths are not size over time: its times may be in another unit. */
static void
check_rates (const LogTarget *target, const LogRun *run)
{
  for (guint i = 0; i < run->rows->len; i++)
    for (guint half = 0; half < LOG_N_HALVES; half++)
      {
        const LogRow  *row = &g_array_index (run->rows, LogRow, i);
        const LogHalf *timed = &row->halves[half];
        const double   rate = timed->time_us > 0 ? 1e-3 * (double) row->bytes / timed->time_us : 0;

        if (timed->rate < 1
            || (rate < MAX_MISMATCH * timed->rate && timed->rate < MAX_MISMATCH * rate))
          continue;
        diag_warning (target->diags, &row->mark,
                      "is the time in another unit than the header says?",
                      "%" G_GUINT64_FORMAT " bytes in %g us are not the row's %g GB/s", row->bytes,
                      timed->time_us, timed->rate);
        return;
      }
}

void
log_add_run (LogTarget *target, const LogRun *run)
{
  CollectiveKind kind = settle_kind (target, run);
  ClusterOptions cluster = { 0 };
  LogLayout      layout;
  gboolean       good = log_read_layout (target, run, &layout);

  check_times (target, run, kind);
  check_rates (target, run);
  if (run->predicted && target->context->measured)
    diag_error (target->diags, &run->mark,
                "give runs of nccl-tests: figures are fitted to measurements",
                "predicted by shardsim, not measured");
  else if (run->predicted)
    diag_warning (target->diags, &run->mark, NULL, "predicted by shardsim, not measured");
  if (good && layout.n_ranks == 1)
    {
      diag_warning (target->diags, log_ranks_mark (run), NULL,
                    "a run of one rank measures launches and copies, no link: it is left out");
      return;
    }
  good = good && log_settle_hardware (target, run, &layout, &cluster);
  if (good && kind != COLLECTIVE_N_KINDS)
    {
      const guint n_ranks = layout.n_ranks;

      if (check_counts (target, run, kind, n_ranks))
        add_rows (target, run, &layout, kind, &cluster);
    }
  option_table_clear (cluster_options, &cluster);
}
