#include "import/log/bench-results.h"

#include <math.h>
#include <string.h>

#include "base/config/units.h"
#include "base/file/same-file.h"
#include "base/intern.h"

#define MAX_WHOLE 9007199254740992.0 /* 2^53: whole numbers up to here are exact */

typedef enum
{
  CELL_FORMAT,
  CELL_HOST, /* what names the machine, up to CELL_NCCL */
  CELL_DEVICE,
  CELL_DRIVER,
  CELL_CUDA,
  CELL_NCCL,
  CELL_DATE,
  CELL_TEXT,     /* a const char * of BenchRow */
  CELL_NEEDED,   /* the same, never empty */
  CELL_SIZE,     /* a guint64, empty = 0 */
  CELL_COUNT,    /* a guint, empty = 0 */
  CELL_MEASURED, /* a double */
  CELL_UNIT,
} CellKind;

#define ROW(member) G_STRUCT_OFFSET (BenchRow, member)
#define SET(member) G_STRUCT_OFFSET (BenchResults, member)

/* The columns, in the order in which the runner writes them. */
static const struct
{
  const char *name;
  CellKind    kind;
  gsize       offset; /* in BenchRow; of what names the machine in BenchResults */
} columns[] = {
  { "format", CELL_FORMAT, 0 },
  { "host", CELL_HOST, SET (host) },
  { "date", CELL_DATE, 0 },
  { "device", CELL_DEVICE, SET (device) },
  { "driver", CELL_DRIVER, SET (driver) },
  { "cuda", CELL_CUDA, SET (cuda) },
  { "nccl", CELL_NCCL, SET (nccl) },
  { "benchmark", CELL_NEEDED, ROW (benchmark) },
  { "variant", CELL_NEEDED, ROW (variant) },
  { "dtype", CELL_TEXT, ROW (dtype) },
  { "bytes", CELL_SIZE, ROW (bytes) },
  { "m", CELL_SIZE, ROW (m) },
  { "n", CELL_SIZE, ROW (n) },
  { "k", CELL_SIZE, ROW (k) },
  { "batch", CELL_SIZE, ROW (batch) },
  { "ranks", CELL_COUNT, ROW (ranks) },
  { "channels", CELL_COUNT, ROW (channels) },
  { "repeats", CELL_COUNT, ROW (repeats) },
  { "value", CELL_MEASURED, ROW (value) },
  { "low", CELL_MEASURED, ROW (low) },
  { "high", CELL_MEASURED, ROW (high) },
  { "unit", CELL_UNIT, 0 },
  { "remark", CELL_TEXT, ROW (remark) },
};

#define N_COLUMNS G_N_ELEMENTS (columns)

/* Spelling in the file, and its size in base units. */
static const struct
{
  const char *name;
  double      scale;
} units[BENCH_UNIT_N] = { { "us", 1e-6 }, { "B", 1 }, { "count", 1 } };

/* What a benchmark measures as the difference of two times, which noise may take below 0. */
static const char *const differences[][2] = { { "event", "cross_stream" } };

/* One file while it is read. */
typedef struct
{
  BenchResults *set;
  CsvReader    *reader;
  guint         places[N_COLUMNS];    /* of each column in the file */
  SourceMark    seen[CELL_NCCL + 1];  /* where the set's value stands; no file: nothing seen yet */
  gboolean      mixed[CELL_NCCL + 1]; /* said once */
  DiagList     *diags;
} Loader;

/* ---- cells ----------------------------------------------------------------------------------- */

static const char *
cell (const Loader *self, guint column)
{
  return csv_reader_field (self->reader, self->places[column]);
}

static SourceMark
mark_of (const Loader *self, guint column)
{
  return csv_reader_mark (self->reader, self->places[column]);
}

static guint
column_of (CellKind kind, gsize offset)
{
  for (guint c = 0; c < N_COLUMNS; c++)
    if (columns[c].kind == kind && columns[c].offset == offset)
      return c;
  g_assert_not_reached ();
}

static void
report_number (const Loader *self, guint column, const char *what)
{
  SourceMark  mark = mark_of (self, column);
  const char *text = cell (self, column);
  const char *hint = NULL;

  if (g_ascii_strcasecmp (text, "n/a") == 0 || g_ascii_strcasecmp (text, "nan") == 0)
    hint = "what could not be measured has no line";
  diag_error (self->diags, &mark, hint, "expected %s for '%s', got '%s'", what,
              columns[column].name, text);
}

/* A bare finite number. */
static gboolean
parse_number (const char *text, double *value)
{
  char *end;

  *value = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && number_is_usable (*value) && !g_ascii_isspace (*text);
}

/* A whole number up to LIMIT; empty cells are 0. */
static double
read_whole (const Loader *self, guint column, double limit)
{
  double      value = 0;
  const char *text = cell (self, column);

  if (*text == '\0')
    return 0;
  if (parse_number (text, &value) && value >= 0 && value == floor (value) && value <= limit)
    return value;
  report_number (self, column, "a whole number or nothing");
  return 0;
}

static gboolean
is_difference (const BenchRow *row)
{
  for (guint i = 0; i < G_N_ELEMENTS (differences); i++)
    if (strcmp (row->benchmark, differences[i][0]) == 0
        && strcmp (row->variant, differences[i][1]) == 0)
      return TRUE;
  return FALSE;
}

/* The signs are looked at when the whole row is known. */
static double
read_measured (const Loader *self, guint column)
{
  double value = 0;

  if (!parse_number (cell (self, column), &value))
    {
      report_number (self, column, "a finite number");
      return NAN;
    }
  return value;
}

static BenchUnit
read_unit (const Loader *self, guint column)
{
  const char      *names[BENCH_UNIT_N + 1] = { NULL };
  g_autofree char *hint = NULL;
  SourceMark       mark = mark_of (self, column);

  for (guint i = 0; i < BENCH_UNIT_N; i++)
    {
      names[i] = units[i].name;
      if (strcmp (names[i], cell (self, column)) == 0)
        return (BenchUnit) i;
    }
  hint = suggest_hint (cell (self, column), names);
  diag_error (self->diags, &mark, hint, "unknown unit '%s'", cell (self, column));
  return BENCH_UNIT_COUNT;
}

static gboolean
is_date (const char *text)
{
  for (guint i = 0; i < 10; i++)
    if (i == 4 || i == 7 ? text[i] != '-' : !g_ascii_isdigit (text[i]))
      return FALSE;
  return text[10] == '\0' || text[10] == 'T' || text[10] == ' ';
}

static void
read_date (const Loader *self, guint column, BenchRow *row)
{
  SourceMark       mark = mark_of (self, column);
  const char      *text = cell (self, column);
  g_autofree char *day = NULL;

  if (!is_date (text))
    {
      diag_error (self->diags, &mark, NULL, "expected a date such as '2026-01-31', got '%s'", text);
      return;
    }
  row->date = g_string_chunk_insert_const (self->set->strings, text);
  day = g_strndup (text, 10);
  if (*self->set->first_date == '\0' || strcmp (day, self->set->first_date) < 0)
    self->set->first_date = g_string_chunk_insert_const (self->set->strings, day);
  if (strcmp (day, self->set->last_date) > 0)
    self->set->last_date = g_string_chunk_insert_const (self->set->strings, day);
}

/*
 * One machine a set: what names it is the same in all lines that say it. A benchmark of the host
 * alone names no device.
 */
static void
read_machine (Loader *self, guint column)
{
  CellKind     kind = columns[column].kind;
  const char **member = G_STRUCT_MEMBER_P (self->set, columns[column].offset);
  const char  *text = cell (self, column);
  SourceMark   mark = mark_of (self, column);

  if (*text == '\0')
    return;
  if (self->seen[kind].file == NULL)
    {
      self->seen[kind] = mark;
      *member = g_string_chunk_insert_const (self->set->strings, text);
    }
  else if (strcmp (*member, text) != 0 && !self->mixed[kind])
    {
      diag_error (self->diags, &mark,
                  "a profile is of one machine and its versions: calibrate each by itself",
                  "'%s' is '%s' here and '%s' in line %u of '%s'", columns[column].name, text,
                  *member, self->seen[kind].line, self->seen[kind].file);
      self->mixed[kind] = TRUE;
    }
}

static void
read_text (const Loader *self, guint column, BenchRow *row)
{
  const char **member = G_STRUCT_MEMBER_P (row, columns[column].offset);
  SourceMark   mark = mark_of (self, column);

  *member = g_string_chunk_insert_const (self->set->strings, cell (self, column));
  if (columns[column].kind == CELL_NEEDED && **member == '\0')
    diag_error (self->diags, &mark, NULL, "no value for '%s'", columns[column].name);
}

/* Format has been looked at. */
static void
read_cell (Loader *self, guint column, BenchRow *row)
{
  gpointer member = G_STRUCT_MEMBER_P (row, columns[column].offset);

  switch (columns[column].kind)
    {
    case CELL_FORMAT:
      break;
    case CELL_HOST:
    case CELL_DEVICE:
    case CELL_DRIVER:
    case CELL_CUDA:
    case CELL_NCCL:
      read_machine (self, column);
      break;
    case CELL_DATE:
      read_date (self, column, row);
      break;
    case CELL_TEXT:
    case CELL_NEEDED:
      read_text (self, column, row);
      break;
    case CELL_SIZE:
      *(guint64 *) member = (guint64) read_whole (self, column, MAX_WHOLE);
      break;
    case CELL_COUNT:
      *(guint *) member = (guint) read_whole (self, column, G_MAXUINT);
      break;
    case CELL_MEASURED:
      *(double *) member = read_measured (self, column);
      break;
    case CELL_UNIT:
      row->unit = read_unit (self, column);
      break;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Signs and order of what was measured, which has been read as numbers. */
static void
check_measured (const Loader *self, BenchRow *row)
{
  const gsize offsets[] = { ROW (low), ROW (value), ROW (high) };
  SourceMark  mark = mark_of (self, column_of (CELL_MEASURED, ROW (value)));

  for (guint i = 0; i < G_N_ELEMENTS (offsets); i++)
    {
      const double *value = G_STRUCT_MEMBER_P (row, offsets[i]);

      if (isnan (*value))
        return;
      if (*value <= 0 && !is_difference (row))
        {
          report_number (self, column_of (CELL_MEASURED, offsets[i]), "a number above 0");
          return;
        }
    }
  if (row->low > row->value || row->value > row->high)
    diag_error (self->diags, &mark, NULL,
                "the median is not between 'low' and 'high', the 10th and 90th percentile");
  row->value *= units[row->unit].scale;
  row->low *= units[row->unit].scale;
  row->high *= units[row->unit].scale;
}

static gboolean
is_cut (const SourceMark *mark)
{
  gsize length = strlen (mark->text);

  return length > 0 && mark->text[length - 1] != '\n' && mark->text[length - 1] != '\r';
}

/* FALSE when the file is of another release: no use to read on. */
static gboolean
check_format (const Loader *self)
{
  guint            column = column_of (CELL_FORMAT, 0);
  g_autofree char *want = g_strdup_printf ("%d", BENCH_RESULTS_FORMAT);
  SourceMark       mark = mark_of (self, column);

  if (strcmp (cell (self, column), want) == 0)
    return TRUE;
  if (strcmp (cell (self, column), columns[CELL_FORMAT].name) == 0)
    diag_error (self->diags, &mark, "delete it, or name the files one by one",
                "a second header: were files joined?");
  else
    diag_error (self->diags, &mark, "calibrate with the release that measured, or measure again",
                "format '%s' is of another release: this one reads %s", cell (self, column), want);
  return FALSE;
}

static gboolean
read_row (Loader *self)
{
  BenchRow   row = { 0 };
  SourceMark mark = mark_of (self, N_COLUMNS - 1);

  if (!check_format (self))
    return FALSE;
  if (is_cut (&mark))
    {
      diag_error (self->diags, &mark, "measure again, or delete the line",
                  "the file was cut in the middle of this line");
      return FALSE;
    }
  row.file = mark.file;
  row.line = mark.line;
  for (guint c = 0; c < N_COLUMNS; c++)
    read_cell (self, c, &row);
  check_measured (self, &row);
  g_array_append_val (self->set->rows, row);
  return TRUE;
}

/* ---- header ---------------------------------------------------------------------------------- */

static gboolean
find_columns (Loader *self)
{
  const char      *names[N_COLUMNS + 1] = { NULL };
  const SourceMark head = csv_reader_mark (self->reader, 0);
  guint            n_errors = diag_list_n_errors (self->diags);

  if (csv_reader_find (self->reader, "format") < 0
      && csv_reader_find (self->reader, "benchmark") < 0)
    {
      diag_error (self->diags, &head,
                  "results.csv begins with 'format,host,date', and has commas between its columns",
                  "no results of shardsim-bench");
      return FALSE;
    }
  for (guint c = 0; c < N_COLUMNS; c++)
    {
      gint place = csv_reader_find (self->reader, columns[c].name);

      names[c] = columns[c].name;
      self->places[c] = (guint) MAX (place, 0);
      if (place < 0)
        csv_reader_missing (self->reader, columns[c].name, "is the file of another release?",
                            self->diags);
    }
  csv_reader_check_names (self->reader, names, self->diags);
  return diag_list_n_errors (self->diags) == n_errors;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void
read_file (Loader *self, const char *file)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, self->diags);
  guint                 n_errors = diag_list_n_errors (self->diags), n_rows = self->set->rows->len;

  self->reader = reader;
  if (reader == NULL || !find_columns (self))
    return;
  while (csv_reader_next (reader, self->diags) && read_row (self))
    continue;
  if (self->set->rows->len == n_rows && diag_list_n_errors (self->diags) == n_errors)
    {
      const SourceMark mark = { .file = intern_text (file) };

      diag_error (self->diags, &mark, NULL, "a header without measurements");
    }
}

/* ---- the same measurement again -------------------------------------------------------------- */

/* Texts are of one chunk, which holds each once. */
static gboolean
is_same_row (gconstpointer a, gconstpointer b)
{
  const BenchRow *p = a, *q = b;

  return p->value == q->value && p->low == q->low && p->high == q->high && p->date == q->date
         && p->benchmark == q->benchmark && p->variant == q->variant && p->dtype == q->dtype
         && p->remark == q->remark && p->bytes == q->bytes && p->m == q->m && p->n == q->n
         && p->k == q->k && p->batch == q->batch && p->ranks == q->ranks
         && p->channels == q->channels && p->repeats == q->repeats;
}

static guint
hash_row (gconstpointer data)
{
  const BenchRow *row = data;

  return g_double_hash (&row->value) ^ g_double_hash (&row->high) * 31
         ^ g_direct_hash (row->variant) ^ (guint) (row->bytes >> 6);
}

/*
 * Leaves the first of times that are there more than once; what the driver says is the same in
 * every run.
 */
static void
drop_repeated_rows (BenchResults *self, DiagList *diags)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (hash_row, is_same_row);
  g_autoptr (GArray)     kept = g_array_new (FALSE, FALSE, sizeof (BenchRow));
  const BenchRow        *first = NULL;

  for (guint i = 0; i < self->rows->len; i++)
    {
      BenchRow *row = &g_array_index (self->rows, BenchRow, i);

      if (row->unit == BENCH_UNIT_TIME && g_hash_table_contains (seen, row))
        {
          first = first != NULL ? first : row;
          continue;
        }
      g_hash_table_add (seen, row);
      g_array_append_vals (kept, row, 1);
    }
  if (first != NULL)
    {
      const SourceMark mark = { .file = first->file, .line = first->line };
      const BenchRow  *before = g_hash_table_lookup (seen, first);

      diag_warning (diags, &mark, "each counts once",
                    "%u measurements are there already, this one in line %u of '%s'",
                    self->rows->len - kept->len, before->line, before->file);
    }
  g_array_unref (self->rows);
  self->rows = g_steal_pointer (&kept);
}

/* ---- sets ------------------------------------------------------------------------------------ */

static BenchResults *
results_new (void)
{
  BenchResults *self = g_new0 (BenchResults, 1);

  self->host = self->device = self->driver = self->cuda = self->nccl = "";
  self->first_date = self->last_date = "";
  self->rows = g_array_new (FALSE, FALSE, sizeof (BenchRow));
  self->strings = g_string_chunk_new (4096);
  return self;
}

BenchResults *
bench_results_load (const char *const *files, DiagList *diags)
{
  g_autoptr (BenchResults) self = results_new ();
  Loader                   loader = { .set = self, .diags = diags };
  guint                    n_errors = diag_list_n_errors (diags);

  for (guint i = 0; files[i] != NULL; i++)
    if (file_is_repeated (files, i))
      diag_error (diags, NULL, NULL, "'%s' is given twice", files[i]);
    else
      read_file (&loader, files[i]);
  if (diag_list_n_errors (diags) > n_errors)
    return NULL;
  drop_repeated_rows (self, diags);
  return g_steal_pointer (&self);
}

void
bench_results_free (BenchResults *self)
{
  g_array_unref (self->rows);
  g_string_chunk_free (self->strings);
  g_free (self);
}
