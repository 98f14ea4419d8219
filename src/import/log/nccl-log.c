/* Text of nccl-tests: which line is what, and where runs begin and end. */
#include "import/log/nccl-log.h"

#include <string.h>

#include "base/intern.h"
#include "import/log/nccl-log-line-private.h"

typedef enum
{
  PHASE_HEAD,    /* of a run, or before the first */
  PHASE_ROWS,    /* below a header */
  PHASE_SKIPPED, /* below a header of which nothing is known */
  PHASE_CLOSED,  /* behind the average */
} Phase;

typedef struct
{
  LogTarget    *target;
  LogRun       *run; /* NULL between runs */
  Phase         phase;
  LogHeader     header;
  gboolean      configured; /* the run's head names its sizes */
  guint         order[LOG_N_HALVES];
  GString      *pending; /* first part of a row that the library's own lines split; empty: none */
  LogLine       pending_line;
  GStringChunk *joined; /* rows put together again, for places */
  LogCommand    command;
} Reader;

/* ---- runs ------------------------------------------------------------------------------------ */

static LogRun *
current_run (Reader *self, const LogLine *line)
{
  SourceMark mark = log_mark (line, line->text, strlen (line->text));

  if (self->run != NULL)
    return self->run;
  self->run = log_run_new (&mark);
  log_command_begin (&self->command, self->run, self->target->diags);
  return self->run;
}

/* A row of RUN that says something. */
static gboolean
has_rows (const LogRun *run)
{
  for (guint i = 0; i < run->rows->len; i++)
    if (g_array_index (run->rows, LogRow, i).bytes > 0)
      return TRUE;
  return FALSE;
}

/* What is whole of a run that LINE (NULL: the end of the file) cuts counts. */
static void
warn_of_cut (const Reader *self, const LogRun *run, const LogLine *line)
{
  const SourceMark *mark =
      run->rows->len > 0 ? &g_array_index (run->rows, LogRow, run->rows->len - 1).mark : &run->mark;
  const char *before = line != NULL ? "another run begins" : "the file ends";

  if (self->phase == PHASE_ROWS)
    diag_warning (self->target->diags, mark, NULL,
                  "the run is cut: %s before its line 'Avg bus bandwidth'; the rows above count",
                  before);
  else
    diag_warning (self->target->diags, mark, NULL, "the run is cut: %s before its table", before);
}

/* Ends the run, if any, before LINE (NULL: the end of the file). */
static void
end_run (Reader *self, const LogLine *line)
{
  g_autoptr (LogRun) run = g_steal_pointer (&self->run);
  const gboolean     begun = self->configured || (run != NULL && run->ranks->len > 0);

  if (self->pending->len > 0)
    {
      SourceMark mark = log_mark (&self->pending_line, self->pending_line.text, self->pending->len);

      diag_warning (self->target->diags, &mark, NULL, "a row that does not go on is left out");
      g_string_truncate (self->pending, 0);
    }
  if (run != NULL && (self->phase == PHASE_ROWS || (self->phase == PHASE_HEAD && begun)))
    warn_of_cut (self, run, line);
  if (run != NULL && (self->phase == PHASE_CLOSED || (self->phase == PHASE_ROWS && has_rows (run))))
    {
      if (run->test == NULL)
        run->test = g_steal_pointer (&self->command.test);
      log_add_run (self->target, run);
    }
  g_clear_pointer (&self->command.test, g_free);
  self->phase = PHASE_HEAD;
  self->configured = FALSE;
  self->order[0] = LOG_OUT_OF_PLACE;
  self->order[1] = LOG_IN_PLACE;
}

/* LINE belongs to a head: one that follows a table begins a run. */
static LogRun *
head_of_run (Reader *self, const LogLine *line)
{
  if (self->phase != PHASE_HEAD)
    end_run (self, line);
  return current_run (self, line);
}

/* ---- lines of a head ------------------------------------------------------------------------- */

/* CONTENT is what follows the words that tell the line. */
typedef void (*ReadLine) (Reader *self, const LogLine *line, const char *content);

static void
on_starting (Reader *self, const LogLine *line, const char *content)
{
  LogRun          *run = head_of_run (self, line);
  g_autofree char *test = log_test_name (content);

  if (test != NULL && run->test == NULL)
    run->test = g_steal_pointer (&test);
}

static void
on_concluded (Reader *self, const LogLine *line, const char *content)
{
  (void) line;
  if (self->run != NULL && self->run->test == NULL)
    self->run->test = log_test_name (content);
}

/* The number after WORD in CONTENT; 0 where there is none. */
static guint64
number_after (const char *content, const char *word)
{
  const char *found = strstr (content, word);

  return found != NULL ? g_ascii_strtoull (found + strlen (word), NULL, 10) : 0;
}

/* "nThread 1 nGpus 8 minBytes 8 ..." */
static void
on_config (Reader *self, const LogLine *line, const char *content)
{
  LogRun *run;

  if (self->phase == PHASE_HEAD && self->configured)
    end_run (self, line);
  run = head_of_run (self, line);
  self->configured = TRUE;
  run->n_threads = (guint) number_after (line->text, "nThread ");
  run->n_gpus = (guint) number_after (content, "nGpus ");
  if (number_after (content, "agg iters: ") > 1)
    log_run_add_word (run, "aggregated");
}

/* "nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809" */
static void
on_library (Reader *self, const LogLine *line, const char *content)
{
  static const char key[] = "nccl-library=";
  LogRun           *run = head_of_run (self, line);
  const char       *found = strstr (content, key);

  if (found != NULL)
    {
      SourceMark mark = log_mark (line, found, strcspn (found, " \t"));

      log_run_set_library_code (run, g_ascii_strtoull (found + strlen (key), NULL, 10), &mark,
                                self->target->diags);
    }
}

/* "2.18.5+cuda12.2" behind "NCCL version"; AMD's library calls itself by both names. */
static void
on_version (Reader *self, const LogLine *line, const char *content)
{
  LogRun *run = self->phase == PHASE_CLOSED ? head_of_run (self, line) : current_run (self, line);
  const char      *start = content + strspn (content, " :");
  const gsize      length = strspn (start, "0123456789.");
  SourceMark       mark = log_mark (line, start, strcspn (start, " \t"));
  g_autofree char *version = g_strndup (start, length);

  if (strstr (start, "+hip") != NULL)
    log_run_set_library (run, "RCCL", &mark, self->target->diags);
  else if (length > 0 && strchr (version, '.') != NULL)
    log_run_set_library (run, version, &mark, self->target->diags);
}

static void
on_rccl (Reader *self, const LogLine *line, const char *content)
{
  LogRun *run = self->phase == PHASE_CLOSED ? head_of_run (self, line) : current_run (self, line);
  SourceMark mark = log_mark (line, line->text, strlen (line->text));

  (void) content;
  log_run_set_library (run, "RCCL", &mark, self->target->diags);
}

/* "all_gather, predicted (fluid), 4 ranks on ..." behind "shardsim: " */
static void
on_predicted (Reader *self, const LogLine *line, const char *content)
{
  LogRun     *run = head_of_run (self, line);
  const char *ranks = strstr (content, " ranks on ");

  while (ranks != NULL && ranks > content && g_ascii_isdigit (ranks[-1]))
    ranks--;
  run->predicted = TRUE;
  run->n_ranks = ranks != NULL ? (guint) g_ascii_strtoull (ranks, NULL, 10) : 0;
}

/* "mpi;algo=ring": what the runner forced between plain hosts. There is one way to shift. */
static void
on_words (Reader *self, const LogLine *line, const char *content)
{
  g_auto (GStrv) words = g_strsplit (content, ";", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (*words[i] != '\0' && strcmp (words[i], "algo=shift") != 0)
      log_run_add_word (head_of_run (self, line), words[i]);
}

/* Each call waits for the one before it on every rank. */
static void
on_blocking (Reader *self, const LogLine *line, const char *content)
{
  (void) content;
  log_run_add_word (head_of_run (self, line), "blocking");
}

/* "4": the runner's number of channels. */
static void
on_channels (Reader *self, const LogLine *line, const char *content)
{
  g_autofree char *word =
      g_strdup_printf ("channels=%" G_GUINT64_FORMAT, g_ascii_strtoull (content, NULL, 10));

  log_run_add_word (head_of_run (self, line), word);
}

static void
on_rank (Reader *self, const LogLine *line, const char *content)
{
  LogRun *run = head_of_run (self, line);
  LogRank rank;
  if (log_read_rank (line, content, &rank, self->target->diags))
    g_array_append_val (run->ranks, rank);
}

/* ---- the closing lines ----------------------------------------------------------------------- */

static void
on_verdict (Reader *self, const LogLine *line, const char *content)
{
  const char *failed = strstr (content, "FAILED");

  if (failed != NULL && self->phase == PHASE_ROWS)
    {
      SourceMark mark = log_mark (line, failed, strlen ("FAILED"));

      diag_error (self->target->diags, &mark, "a run that computes wrong results measures nothing",
                  "the run's results are wrong");
    }
}

static void
on_average (Reader *self, const LogLine *line, const char *content)
{
  const char *failed = strstr (content, "FAILED");

  if (failed != NULL)
    {
      SourceMark mark = log_mark (line, failed, strlen ("FAILED"));

      diag_warning (self->target->diags, &mark, NULL,
                    "the run fell short of the bandwidth asked for");
    }
  if (self->phase == PHASE_ROWS)
    self->phase = PHASE_CLOSED;
  if (self->phase == PHASE_CLOSED)
    return;
  if (self->phase == PHASE_HEAD)
    {
      SourceMark mark = log_mark (line, line->text, strlen (line->text));

      diag_warning (self->target->diags, &mark,
                    "a log begins with the line '# size count type ...'",
                    "an average without a table");
    }
  g_clear_pointer (&self->run, log_run_free);
  self->configured = FALSE;
  self->phase = PHASE_HEAD;
}

/* ---- the library's own lines ----------------------------------------------------------------- */

/* "NCCL_ALGO set by environment to Ring" */
static void
read_setting (Reader *self, const LogLine *line, const char *message)
{
  static const char by[] = " set by environment to ";
  const char       *found = strstr (message, by);
  g_autofree char  *name = NULL, *value = NULL;
  SourceMark        mark;

  if (found == NULL || !g_str_has_prefix (message, "NCCL_"))
    return;
  name = g_strndup (message, (gsize) (found - message));
  value = g_strdup (found + strlen (by));
  g_strstrip (value);
  if (g_str_has_suffix (value, "."))
    value[strlen (value) - 1] = '\0';
  mark = log_mark (line, found + strlen (by), strlen (found + strlen (by)));
  log_run_set_variable (current_run (self, line), name, value, &mark, self->target->diags);
}

/* Keeps what stands before START of LINE where it is the first part of a row. */
static void
keep_part (Reader *self, const LogLine *line, const char *start)
{
  gsize            length = (gsize) (start - line->text) + log_cell_length (start);
  g_autofree char *part = g_strndup (line->text, length);
  LogWords         words;

  log_split (part, &words);
  if (self->phase != PHASE_ROWS || self->pending->len > 0 || words.n < 3 || !log_is_row (&words))
    return;
  g_string_assign (self->pending, part);
  self->pending_line = *line;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void
begin_table (Reader *self, const LogLine *line, const LogWords *words)
{
  if (self->phase != PHASE_HEAD)
    {
      const guint order[LOG_N_HALVES] = { self->order[0], self->order[1] };

      end_run (self, line);
      memcpy (self->order, order, sizeof order);
    }
  current_run (self, line);
  memcpy (self->header.order, self->order, sizeof self->order);
  self->phase = log_read_header (&self->header, line, words, self->target->diags) ? PHASE_ROWS
                                                                                  : PHASE_SKIPPED;
}

static void
take_row (Reader *self, const LogLine *line, const LogWords *words)
{
  LogRow row;

  if (!log_row_is_whole (&self->header, line, words, self->target->diags))
    return;
  if (log_read_row (&self->header, line, words, &row, self->target->diags))
    g_array_append_val (self->run->rows, row);
  else
    {
      row.bytes = 0; /* for the place of what follows */
      memset (row.halves, 0, sizeof row.halves);
      g_array_append_val (self->run->rows, row);
    }
}

/* LINE goes on with a row that was split. */
static void
join_row (Reader *self, const LogLine *line)
{
  LogLine  whole = self->pending_line;
  LogWords words;

  g_string_append_c (self->pending, ' ');
  g_string_append (self->pending, line->text);
  whole.whole = whole.text = g_string_chunk_insert (self->joined, self->pending->str);
  g_string_truncate (self->pending, 0);
  log_split (whole.text, &words);
  take_row (self, &whole, &words);
}

/* A row under no header: of a release that is not known, or of a log without its head. */
static gboolean
is_lost_row (const Reader *self, const LogWords *words)
{
  return self->phase != PHASE_ROWS && self->phase != PHASE_SKIPPED && words->n >= 7
         && log_is_row (words) && log_element_size (words->words[2], words->lengths[2]) > 0;
}

/* A table begins with a row: the head was cut off. */
static void
begin_lone_table (Reader *self, const LogLine *line, const LogWords *words)
{
  SourceMark mark = log_mark (line, line->text, strlen (line->text));

  if (self->phase != PHASE_HEAD)
    end_run (self, line);
  current_run (self, line);
  log_usual_header (&self->header);
  self->phase = PHASE_ROWS;
  diag_warning (self->target->diags, &mark, "its bandwidths are what its sizes and times make",
                "a table without its header: taken for 'size count type redop root' and twice "
                "'time (us) algbw busbw #wrong'");
  take_row (self, line, words);
}

static void
read_table_line (Reader *self, const LogLine *line, const char *content)
{
  const char *out = strstr (content, "out-of-place"), *in = strstr (content, "in-place");
  LogWords    words;

  log_split (content, &words);
  if (words.n == 0)
    return;
  if (log_is_header (&words))
    begin_table (self, line, &words);
  else if (out != NULL && in != NULL)
    {
      const gboolean in_first = in != NULL && (out == NULL || in < out);

      self->order[0] = in_first ? LOG_IN_PLACE : LOG_OUT_OF_PLACE;
      self->order[1] = in_first ? LOG_OUT_OF_PLACE : LOG_IN_PLACE;
    }
  else if (self->phase == PHASE_ROWS && log_word_is (&words, 0, "(B)"))
    log_read_units (&self->header, line, &words, self->target->diags);
  else if (self->phase == PHASE_ROWS && log_is_row (&words))
    take_row (self, line, &words);
  else if (is_lost_row (self, &words) && log_is_lone_row (&words))
    begin_lone_table (self, line, &words);
  else if (is_lost_row (self, &words))
    {
      SourceMark mark = log_mark (line, content, strlen (content));

      diag_error (self->target->diags, &mark, "a log begins with the line '# size count type ...'",
                  "a row without a header");
      current_run (self, line);
      self->phase = PHASE_SKIPPED;
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct
{
  const char *begin;
  ReadLine    read;
} kinds[] = {
  { "Collective test starting:", on_starting },
  { "Collective test concluded:", on_concluded },
  { "nccl-tests version", on_library },
  { "shardsim-bench", on_library },
  { "nThread ", on_config },
  { "minBytes ", on_config },
  { "shardsim: ", on_predicted },
  { "Blocking Enabled", on_blocking },
  { "mpi;", on_words },
  { "minCTAs = maxCTAs = ", on_channels },
  { "Rank ", on_rank },
  { "Out of bounds values", on_verdict },
  { "Avg bus bandwidth", on_average },
  { "NCCL version ", on_version },
  { "RCCL version", on_rccl },
  { "rccl-tests", on_rccl },
};

static void
read_line (Reader *self, const LogLine *line)
{
  const char *start, *debug = log_find_debug (line->text, &start);
  const char *content = line->text + strspn (line->text, "# \t");
  LogWords    words;

  if (debug != NULL)
    {
      static const char nccl[] = "NCCL version ", rccl[] = "RCCL version";

      if (g_str_has_prefix (debug, nccl))
        on_version (self, line, debug + strlen (nccl));
      else if (g_str_has_prefix (debug, rccl))
        on_rccl (self, line, debug);
      else
        read_setting (self, line, debug);
      keep_part (self, line, start);
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_str_has_prefix (content, kinds[i].begin))
      {
        kinds[i].read (self, line, content + strlen (kinds[i].begin));
        return;
      }
  log_split (content, &words);
  if (self->pending->len > 0 && words.n > 0 && line->text[0] != '#'
      && (g_ascii_isdigit (content[0]) || g_str_has_prefix (content, "N/A") || content[0] == '-'))
    join_row (self, line);
  else if (words.n > 0 && !log_is_row (&words) && self->phase != PHASE_ROWS
           && (strstr (content, "_perf") != NULL || strstr (content, "NCCL_") != NULL
               || g_str_has_suffix (content, "\\")))
    {
      if (self->phase == PHASE_CLOSED)
        end_run (self, NULL);
      log_command_read (&self->command, line, content, self->run, self->target->diags);
    }
  else
    read_table_line (self, line, content);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Cuts TEXT into lines, and reads them. */
static void
read_lines (Reader *self, char *text)
{
  LogLine line = { .file = self->target->file };

  while (text != NULL && *text != '\0')
    {
      char *end = strchr (text, '\n');

      if (end != NULL)
        *end = '\0';
      g_strchomp (text);
      line.line++;
      line.whole = text;
      line.text = log_skip_prefix (text);
      read_line (self, &line);
      text = end != NULL ? end + 1 : NULL;
    }
  end_run (self, NULL);
}

GPtrArray *
nccl_log_load (const char *file, const MeasurementContext *context, DiagList *diags)
{
  const SourceMark      mark = { .file = intern_text (file) };
  const guint           errors = diag_list_n_errors (diags);
  g_autofree char      *text = log_read_text (file, diags);
  g_autoptr (GPtrArray) rows = measurement_array_new ();
  LogTarget target = { .file = mark.file, .context = context, .rows = rows, .diags = diags };
  Reader    reader = { .target = &target, .order = { LOG_OUT_OF_PLACE, LOG_IN_PLACE } };

  if (text == NULL)
    return NULL;
  reader.pending = g_string_new (NULL);
  reader.joined = g_string_chunk_new (1024);
  log_command_init (&reader.command);
  read_lines (&reader, text);
  g_string_free (reader.pending, TRUE);
  g_string_chunk_free (reader.joined);
  log_command_clear (&reader.command);
  if (rows->len == 0 && diag_list_n_errors (diags) == errors)
    diag_error (diags, &mark, NULL, "a log without a row that can be taken");
  return diag_list_n_errors (diags) == errors ? g_steal_pointer (&rows) : NULL;
}
