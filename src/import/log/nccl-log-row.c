#include "base/config/units.h"
#include "import/log/nccl-log-row-private.h"

#include <math.h>
#include <string.h>

#define LEAST_CELLS 4 /* of a half: time, algbw, busbw, error */

static const char known_columns[] =
    "size count type, redop and root where it has them, then time algbw busbw error (or #wrong), "
    "once or twice";

/* ---- words ----------------------------------------------------------------------------------- */

void
log_split (const char *text, LogWords *words)
{
  words->n = 0;
  for (text += strspn (text, " \t\r"); *text != '\0' && words->n < LOG_MAX_WORDS;
       text += strspn (text, " \t\r"))
    {
      words->words[words->n] = text;
      words->lengths[words->n] = strcspn (text, " \t\r");
      text += words->lengths[words->n++];
    }
}

gboolean
log_word_is (const LogWords *words, guint i, const char *text)
{
  return i < words->n && strlen (text) == words->lengths[i]
         && strncmp (words->words[i], text, words->lengths[i]) == 0;
}

static gboolean
word_is_one_of (const LogWords *words, guint i, const char *const *texts)
{
  for (guint t = 0; texts[t] != NULL; t++)
    if (log_word_is (words, i, texts[t]))
      return TRUE;
  return FALSE;
}

SourceMark
log_mark (const LogLine *line, const char *start, gsize length)
{
  return (SourceMark){ .file = line->file,
                       .line = line->line,
                       .column = (guint) g_utf8_strlen (line->whole, start - line->whole) + 1,
                       .length = (guint) g_utf8_strlen (start, (gssize) length),
                       .text = line->whole };
}

SourceMark
log_word_mark (const LogLine *line, const LogWords *words, guint i)
{
  return log_mark (line, words->words[i], words->lengths[i]);
}

/* Word I as a number of its own; FALSE where it is none. */
static gboolean
word_number (const LogWords *words, guint i, double *value)
{
  char *end;

  *value = g_ascii_strtod (words->words[i], &end);
  return end == words->words[i] + words->lengths[i] && number_is_usable (*value);
}

static gboolean
word_is_digits (const LogWords *words, guint i)
{
  gsize n = 0;

  while (i < words->n && n < words->lengths[i] && g_ascii_isdigit (words->words[i][n]))
    n++;
  return i < words->n && n == words->lengths[i];
}

/* ---- header ---------------------------------------------------------------------------------- */

static const char *const size_names[] = { "size", "bytes", NULL };
static const char *const count_names[] = { "count", "N", NULL };
static const char *const redop_names[] = { "redop", "op", NULL };
static const char *const error_names[] = { "error", "#wrong", "res", NULL };
static const char *const tail_names[] = { "timestamp", "#iters", "algorithm", "proto", "channels",
                                          "alone",     "beside", "bound",     "by",    NULL };

gboolean
log_is_header (const LogWords *words)
{
  gboolean bandwidth = FALSE;

  for (guint i = 0; i < words->n; i++)
    bandwidth = bandwidth || log_word_is (words, i, "busbw") || log_word_is (words, i, "algbw");
  return word_is_one_of (words, 0, size_names)
         && (bandwidth || word_is_one_of (words, 1, count_names));
}

/* Word I is not what belongs there. */
static gboolean
refuse_column (const LogLine *line, const LogWords *words, guint i, DiagList *diags)
{
  SourceMark mark =
      i < words->n ? log_word_mark (line, words, i) : log_word_mark (line, words, words->n - 1);

  if (i < words->n)
    diag_error (diags, &mark, known_columns,
                "the header of a release that is not known: column '%.*s'", (int) words->lengths[i],
                words->words[i]);
  else
    diag_error (diags, &mark, known_columns,
                "the header of a release that is not known: no columns after this one");
  return FALSE;
}

/* time algbw busbw error, and #bitdiff in both halves or in none, from word *AT on. */
static gboolean
read_half (LogHeader *self, const LogLine *line, const LogWords *words, guint *at, DiagList *diags)
{
  const guint first = *at;

  if (log_word_is (words, first, "cputime"))
    {
      SourceMark mark = log_word_mark (line, words, first);

      diag_error (diags, &mark, "run nccl-tests without -C",
                  "times of the CPU, not of the collective");
      return FALSE;
    }
  for (guint i = first; i < first + LEAST_CELLS; i++)
    {
      static const char *const names[] = { "time", "algbw", "busbw" };

      if (i - first < G_N_ELEMENTS (names) ? !log_word_is (words, i, names[i - first])
                                           : !word_is_one_of (words, i, error_names))
        return refuse_column (line, words, i, diags);
    }
  self->ends[self->n_halves++] =
      (guint) (words->words[first] + words->lengths[first] - line->whole);
  if (self->n_halves == 1)
    self->cells = LEAST_CELLS + log_word_is (words, first + LEAST_CELLS, "#bitdiff");
  *at = first + self->cells;
  return self->cells == LEAST_CELLS || log_word_is (words, *at - 1, "#bitdiff")
         || refuse_column (line, words, *at - 1, diags);
}

gboolean
log_read_header (LogHeader *self, const LogLine *line, const LogWords *words, DiagList *diags)
{
  const guint order[LOG_N_HALVES] = { self->order[0], self->order[1] };
  guint       at = 3;

  *self = (LogHeader){ .order = { order[0], order[1] }, .us = 1 };
  /* The oldest tables name no units, and print milliseconds. */
  if (log_word_is (words, 0, "bytes"))
    self->us = 1000;
  if (!word_is_one_of (words, 1, count_names))
    return refuse_column (line, words, 1, diags);
  if (!log_word_is (words, 2, "type"))
    return refuse_column (line, words, 2, diags);
  self->redop = word_is_one_of (words, at, redop_names);
  at += self->redop;
  self->root = log_word_is (words, at, "root");
  at += self->root;
  do
    if (!read_half (self, line, words, &at, diags))
      return FALSE;
  while (at < words->n && self->n_halves < LOG_N_HALVES && !word_is_one_of (words, at, tail_names));
  self->tail = at < words->n;
  for (; at < words->n; at++)
    if (!word_is_one_of (words, at, tail_names))
      return refuse_column (line, words, at, diags);
  return TRUE;
}

void
log_read_units (LogHeader *self, const LogLine *line, const LogWords *words, DiagList *diags)
{
  static const struct
  {
    const char *name;
    double      us;
  } units[] = { { "(ns)", 1e-3 }, { "(us)", 1 }, { "(ms)", 1e3 }, { "(s)", 1e6 } };

  for (guint i = 0; i < words->n; i++)
    for (guint u = 0; u < G_N_ELEMENTS (units); u++)
      if (log_word_is (words, i, units[u].name))
        {
          self->us = units[u].us;
          return;
        }
  for (guint i = 0; i < words->n; i++)
    if (words->lengths[i] > 2 && words->words[i][words->lengths[i] - 2] == 's'
        && memchr (words->words[i], '/', words->lengths[i]) == NULL
        && !log_word_is (words, i, "(elements)"))
      {
        SourceMark mark = log_word_mark (line, words, i);

        diag_error (diags, &mark, "(ns), (us), (ms) or (s)", "unknown unit of time '%.*s'",
                    (int) words->lengths[i], words->words[i]);
        return;
      }
}

/* ---- rows ------------------------------------------------------------------------------------ */

gboolean
log_is_row (const LogWords *words)
{
  return word_is_digits (words, 0) && (words->n == 1 || g_ascii_isdigit (words->words[1][0]));
}

/* Index of the first cell of a time. Releases leave redop and root blank where a test has none. */
static guint
first_time (const LogHeader *header, const LogWords *words)
{
  guint at = 3, all = header->cells * header->n_halves;

  if (header->redop && at < words->n && g_ascii_isalpha (words->words[at][0])
      && !log_word_is (words, at, "N/A"))
    at++;
  if (header->root && words->n != at + all)
    at++;
  return at;
}

gboolean
log_row_is_complete (const LogHeader *header, const LogWords *words)
{
  guint at = first_time (header, words);

  return words->n >= at + header->cells * header->n_halves || words->n == at + header->cells;
}

/* Index of the half whose column of time ends nearest to where word I does. */
static guint
half_at (const LogHeader *header, const LogLine *line, const LogWords *words, guint i)
{
  const gint end = (gint) (words->words[i] + words->lengths[i] - line->whole);

  return header->n_halves > 1
                 && ABS (end - (gint) header->ends[1]) < ABS (end - (gint) header->ends[0])
             ? 1
             : 0;
}

/* A rate is a number or, with the time, N/A. */
static gboolean
read_rate (const LogLine *line, const LogWords *words, guint i, double *value, DiagList *diags)
{
  SourceMark mark = log_word_mark (line, words, i);

  if (word_number (words, i, value) && *value >= 0)
    return TRUE;
  diag_error (diags, &mark, NULL, "expected a bandwidth in GB/s, got '%.*s'",
              (int) words->lengths[i], words->words[i]);
  return FALSE;
}

/*
 * N/A where results were not looked at. Older releases print the largest deviation, with an
 * asterisk where it is too large.
 */
static gboolean
check_result (const LogLine *line, const LogWords *words, guint i, DiagList *diags)
{
  SourceMark mark = log_word_mark (line, words, i);
  gsize      length = words->lengths[i];
  double     value;

  if (log_word_is (words, i, "N/A") || (word_number (words, i, &value) && value < 1))
    return TRUE;
  if (words->words[i][length - 1] != '*' && !word_number (words, i, &value))
    diag_error (diags, &mark, "'N/A' stands for not checked",
                "expected the number of wrong results, got '%.*s'", (int) length, words->words[i]);
  else
    diag_error (diags, &mark, "a run that computes wrong results measures nothing",
                "wrong results: %.*s", (int) length, words->words[i]);
  return FALSE;
}

static gboolean
read_half_cells (const LogHeader *header, const LogLine *line, const LogWords *words, guint at,
                 LogHalf *half, DiagList *diags)
{
  SourceMark mark = log_word_mark (line, words, at);
  double     time, bus;

  *half = (LogHalf){ .time_us = 0 };
  if (log_word_is (words, at, "N/A") && log_word_is (words, at + 1, "N/A")
      && log_word_is (words, at + 2, "N/A"))
    {
      half->missing = mark;
      return TRUE;
    }
  if (!word_number (words, at, &time) || time <= 0)
    {
      diag_error (diags, &mark, NULL, "expected a time above 0, got '%.*s'",
                  (int) words->lengths[at], words->words[at]);
      return FALSE;
    }
  half->time_us = time * header->us;
  return read_rate (line, words, at + 1, &half->rate, diags)
         && read_rate (line, words, at + 2, &bus, diags)
         && check_result (line, words, at + 3, diags);
}

static gboolean
read_size (const LogLine *line, const LogWords *words, guint i, guint64 *value, DiagList *diags)
{
  SourceMark mark = log_word_mark (line, words, i);

  *value = g_ascii_strtoull (words->words[i], NULL, 10);
  if (word_is_digits (words, i) && *value <= G_GUINT64_CONSTANT (1) << 53)
    return TRUE;
  diag_error (diags, &mark, NULL, "expected a whole number of %s, got '%.*s'",
              i == 0 ? "bytes" : "elements", (int) words->lengths[i], words->words[i]);
  return FALSE;
}

gboolean
log_row_is_whole (const LogHeader *header, const LogLine *line, const LogWords *words,
                  DiagList *diags)
{
  const guint full = first_time (header, words) + header->cells * header->n_halves;
  const guint wanted = 3 + header->redop + header->root + header->cells * header->n_halves;
  SourceMark  mark;

  if (log_row_is_complete (header, words) && (words->n <= full || header->tail))
    return TRUE;
  mark = log_word_mark (line, words, words->n - 1);
  diag_warning (diags, &mark, "is the log cut, or another program's line mixed in?",
                "a row of %u cells, where the header has %u columns, is left out", words->n,
                wanted);
  return FALSE;
}

/* BYTES in the time of word AT make the bandwidth of the next, as it is rounded. */
static gboolean
makes_rate (const LogWords *words, guint at, double bytes)
{
  double time, rate;

  return word_number (words, at, &time) && word_number (words, at + 1, &rate) && time > 0
         && rate >= 0 && fabs (1e-3 * bytes / time - rate) <= 0.006 + 0.01 * rate;
}

gboolean
log_is_lone_row (const LogWords *words)
{
  const double bytes = words->n > 0 ? (double) g_ascii_strtoull (words->words[0], NULL, 10) : 0;

  return words->n == 5 + LEAST_CELLS * LOG_N_HALVES && log_is_row (words)
         && log_element_size (words->words[2], words->lengths[2]) > 0
         && g_ascii_isalpha (words->words[3][0]) && makes_rate (words, 5, bytes)
         && makes_rate (words, 5 + LEAST_CELLS, bytes);
}

void
log_usual_header (LogHeader *self)
{
  *self = (LogHeader){ .redop = TRUE,
                       .root = TRUE,
                       .n_halves = LOG_N_HALVES,
                       .cells = LEAST_CELLS,
                       .order = { LOG_OUT_OF_PLACE, LOG_IN_PLACE },
                       .us = 1 };
}

gboolean
log_read_row (const LogHeader *header, const LogLine *line, const LogWords *words, LogRow *row,
              DiagList *diags)
{
  const guint at = first_time (header, words);
  gboolean    good;

  *row = (LogRow){ .mark = log_word_mark (line, words, 0) };
  good = read_size (line, words, 0, &row->bytes, diags);
  good = read_size (line, words, 1, &row->count, diags) && good;
  row->element = log_element_size (words->words[2], words->lengths[2]);
  row->described = header->redop && header->root && at == 5;
  row->reduces = row->described && !log_word_is (words, 3, "none");
  row->rooted = row->described && g_ascii_isdigit (words->words[4][0]);
  if (words->n == at + header->cells)
    return read_half_cells (header, line, words, at,
                            &row->halves[header->order[half_at (header, line, words, at)]], diags)
           && good;
  for (guint i = 0; i < header->n_halves; i++)
    good = read_half_cells (header, line, words, at + header->cells * i,
                            &row->halves[header->order[i]], diags)
           && good;
  return good;
}
