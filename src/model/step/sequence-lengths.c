#include "model/step/sequence-lengths.h"

#include <string.h>

#include "base/config/csv.h"
#include "base/config/suggest.h"
#include "base/file/file-roles.h"
#include "model/step/sequence-lengths-private.h"

/* Ranks x micro-batches: the table is held as a whole. */
#define MAX_CELLS (1u << 22)
#define MAX_SHOWN 20 /* of what is missing */

typedef enum
{
  COLUMN_LENGTH,
  COLUMN_RANK,
  COLUMN_MICRO,
  N_COLUMNS,
} LengthColumn;

static const char *const column_names[] = { "length", "rank", "micro_batch", NULL };

typedef struct
{
  CsvReader *reader;
  DiagList  *diags;
  gint       places[N_COLUMNS]; /* -1: not there */
  guint      n_ranks, n_micros, per_micro;
  gint64     unit, longest;
  guint64    n_rows;
  GPtrArray *cells; /* [rank][micro]: GArray of gint64 */
} Reading;

gint64
sequence_lengths_tokens (const GArray *batch)
{
  gint64 sum = 0;

  for (guint i = 0; i < batch->len; i++)
    sum += g_array_index (batch, gint64, i);
  return sum;
}

/* ---- reading --------------------------------------------------------------------------------- */

static SourceMark
mark_of_line (const Reading *self)
{
  SourceMark mark = csv_reader_mark (self->reader, 0);

  mark.column = mark.length = 0;
  return mark;
}

static gboolean
find_columns (Reading *self)
{
  guint      n_errors = diag_list_n_errors (self->diags);
  SourceMark mark = mark_of_line (self);

  for (guint c = 0; c < N_COLUMNS; c++)
    self->places[c] = csv_reader_find (self->reader, column_names[c]);
  if (self->places[COLUMN_LENGTH] < 0)
    csv_reader_missing (self->reader, "length", NULL, self->diags);
  if ((self->places[COLUMN_RANK] < 0) != (self->places[COLUMN_MICRO] < 0))
    diag_error (self->diags, &mark, "with neither, sequences are dealt in order",
                "'rank' and 'micro_batch' go together, '%s' is missing",
                column_names[self->places[COLUMN_RANK] < 0 ? COLUMN_RANK : COLUMN_MICRO]);
  csv_reader_check_names (self->reader, column_names, self->diags);
  return diag_list_n_errors (self->diags) == n_errors;
}

/* FALSE after a diagnostic. */
static gboolean
read_whole (const Reading *self, LengthColumn column, gint64 least, gint64 most, gint64 *value)
{
  guint      place = (guint) self->places[column];
  SourceMark mark = csv_reader_mark (self->reader, place);

  if (g_ascii_string_to_signed (csv_reader_field (self->reader, place), 10, least, most, value,
                                NULL))
    return TRUE;
  diag_error (self->diags, &mark,
              column == COLUMN_LENGTH ? "'training.seq_len' is the longest sequence"
                                      : "ranks are data ranks; both count from 0",
              "expected a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
              " in column '%s', got '%s'",
              least, most, column_names[column], csv_reader_field (self->reader, place));
  return FALSE;
}

/* Where the row's sequence goes; FALSE after a diagnostic, or when the step has all it takes. */
static gboolean
read_cell (const Reading *self, gint64 *rank, gint64 *micro)
{
  if (self->places[COLUMN_RANK] >= 0)
    {
      gboolean ok = read_whole (self, COLUMN_RANK, 0, self->n_ranks - 1, rank);

      return read_whole (self, COLUMN_MICRO, 0, self->n_micros - 1, micro) && ok;
    }
  *rank = (gint64) (self->n_rows % self->n_ranks);
  *micro = (gint64) (self->n_rows / self->n_ranks / self->per_micro);
  return *micro < self->n_micros;
}

static gboolean
check_unit (const Reading *self, gint64 length)
{
  SourceMark mark = csv_reader_mark (self->reader, (guint) self->places[COLUMN_LENGTH]);

  if (length % self->unit == 0)
    return TRUE;
  diag_error (
      self->diags, &mark,
      "context parallelism cuts each sequence into cp parts, 2 cp under a causal mask: pad it",
      "a length of %" G_GINT64_FORMAT " is no multiple of %" G_GINT64_FORMAT, length, self->unit);
  return FALSE;
}

static void
check_rows (const Reading *self)
{
  SourceMark mark = { .file = mark_of_line (self).file };
  guint64    wanted = (guint64) self->n_ranks * self->n_micros * self->per_micro;
  gboolean   dealt = self->places[COLUMN_RANK] < 0;
  guint      n_missing = 0;

  if (dealt && self->n_rows < wanted)
    diag_error (self->diags, &mark, "give more sequences, or fewer micro-batches",
                "%" G_GUINT64_FORMAT
                " sequences, but %u ranks x %u micro-batches x %u sequences are %" G_GUINT64_FORMAT,
                self->n_rows, self->n_ranks, self->n_micros, self->per_micro, wanted);
  for (guint i = 0; i < self->cells->len && !dealt && n_missing < MAX_SHOWN; i++)
    if (((const GArray *) g_ptr_array_index (self->cells, i))->len == 0)
      {
        n_missing++;
        diag_error (self->diags, &mark, "every data rank works on every micro-batch",
                    "no sequence for micro-batch %u of rank %u", i % self->n_micros,
                    i / self->n_micros);
      }
}

/* FALSE after a diagnostic. MARK may be NULL. */
static gboolean
check_size (const Reading *self, const SourceMark *mark)
{
  if ((guint64) self->n_ranks * self->n_micros <= MAX_CELLS)
    return TRUE;
  diag_error (self->diags, mark, "take fewer micro-batches: 'grad_accum'",
              "%u data ranks x %u micro-batches are more than a table of lengths holds (%u)",
              self->n_ranks, self->n_micros, MAX_CELLS);
  return FALSE;
}

/* ---- different micro-batches ----------------------------------------------------------------- */

static gint
longer_first (gconstpointer a, gconstpointer b)
{
  gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

  return (x < y) - (x > y);
}

/* By tokens, then by the lengths: a total order. */
static gint
compare_batches (gconstpointer a, gconstpointer b)
{
  const GArray *x = *(GArray *const *) a, *y = *(GArray *const *) b;
  gint64        more = sequence_lengths_tokens (y) - sequence_lengths_tokens (x);

  if (more != 0)
    return more > 0 ? 1 : -1;
  if (x->len != y->len)
    return x->len < y->len ? -1 : 1;
  for (guint i = 0; i < x->len; i++)
    if (g_array_index (x, gint64, i) != g_array_index (y, gint64, i))
      return g_array_index (x, gint64, i) > g_array_index (y, gint64, i) ? -1 : 1;
  return 0;
}

static guint32
batch_of (const GPtrArray *batches, const GArray *cell)
{
  guint low = 0, high = batches->len;

  while (low < high)
    {
      guint         middle = (low + high) / 2;
      gconstpointer key = cell, *at = (gconstpointer *) &batches->pdata[middle];
      gint          order = compare_batches (&key, at);

      if (order == 0)
        return middle;
      low = order > 0 ? middle + 1 : low;
      high = order < 0 ? middle : high;
    }
  g_assert_not_reached ();
}

static SequenceLengths *
take_cells (const Reading *reading)
{
  SequenceLengths      *self = g_new0 (SequenceLengths, 1);
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();

  self->n_ranks = reading->n_ranks;
  self->width = reading->n_micros;
  self->batches = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  self->table = g_new (guint32, reading->cells->len);
  for (guint i = 0; i < reading->cells->len; i++)
    {
      g_array_sort (g_ptr_array_index (reading->cells, i), longer_first);
      g_ptr_array_add (sorted, g_ptr_array_index (reading->cells, i));
    }
  g_ptr_array_sort (sorted, compare_batches);
  for (guint i = 0; i < sorted->len; i++)
    if (i == 0 || compare_batches (&sorted->pdata[i - 1], &sorted->pdata[i]) != 0)
      g_ptr_array_add (self->batches, g_array_ref (g_ptr_array_index (sorted, i)));
  for (guint i = 0; i < reading->cells->len; i++)
    self->table[i] = batch_of (self->batches, g_ptr_array_index (reading->cells, i));
  return self;
}

static GPtrArray *
new_cells (const Reading *self)
{
  GPtrArray *cells = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);

  for (guint i = 0; i < self->n_ranks * self->n_micros; i++)
    g_ptr_array_add (cells, g_array_new (FALSE, FALSE, sizeof (gint64)));
  return cells;
}

/* Whether SELF's rows fit a table; FALSE after a diagnostic. */
static gboolean
check_file_size (const Reading *self)
{
  SourceMark mark = mark_of_line (self);

  return check_size (self, &mark);
}

/* Takes READER, which may be NULL; of SELF all but what reading needs is set. */
static SequenceLengths *
read_lengths (Reading *self, CsvReader *opened)
{
  g_autoptr (CsvReader) reader = opened;
  g_autoptr (GPtrArray) cells = NULL;
  guint                 n_errors = diag_list_n_errors (self->diags);

  self->reader = reader;
  if (reader == NULL || !find_columns (self) || !check_file_size (self))
    return NULL;
  cells = new_cells (self);
  self->cells = cells;
  while (csv_reader_next (reader, self->diags))
    {
      gint64   rank, micro, length;
      gboolean ok = read_whole (self, COLUMN_LENGTH, 1, self->longest, &length);

      ok = ok && check_unit (self, length);
      if (read_cell (self, &rank, &micro) && ok)
        g_array_append_val (
            g_ptr_array_index (self->cells, (guint) (rank * self->n_micros + micro)), length);
      self->n_rows++;
    }
  if (diag_list_n_errors (self->diags) == n_errors)
    check_rows (self);
  return diag_list_n_errors (self->diags) == n_errors ? take_cells (self) : NULL;
}

SequenceLengths *
sequence_lengths_load (const char *file, guint n_ranks, guint n_micros, guint per_micro,
                       gint64 unit, gint64 longest, DiagList *diags)
{
  Reading self = { .diags = diags,
                   .n_ranks = n_ranks,
                   .n_micros = n_micros,
                   .per_micro = per_micro,
                   .unit = unit,
                   .longest = longest };

  return read_lengths (&self, csv_reader_open (file, diags));
}

/* Takes READER, which may be NULL: every length in order. */
static GArray *
read_documents (Reading *self, CsvReader *opened)
{
  g_autoptr (CsvReader) reader = opened;
  g_autoptr (GArray)    documents = g_array_new (FALSE, FALSE, sizeof (gint64));
  guint                 n_errors = diag_list_n_errors (self->diags);
  gint64                length;

  self->reader = reader;
  if (reader == NULL || !find_columns (self))
    return NULL;
  if (self->places[COLUMN_RANK] >= 0)
    {
      SourceMark mark = mark_of_line (self);

      diag_error (self->diags, &mark, "leave out 'rank' and 'micro_batch'",
                  "documents are packed in the order of the file, which says where each goes");
      return NULL;
    }
  while (csv_reader_next (reader, self->diags))
    if (read_whole (self, COLUMN_LENGTH, 1, self->longest, &length))
      g_array_append_val (documents, length);
  return diag_list_n_errors (self->diags) == n_errors ? g_steal_pointer (&documents) : NULL;
}

/* ---- shared ---------------------------------------------------------------------------------- */

/* What sequence_lengths_get asks for. */
typedef struct
{
  InputFiles *files;
  const char *file;
  Reading     reading;
} Wanted;

/* The bytes of a file; NULL where they cannot be read. */
static gpointer
read_bytes (gconstpointer user, G_GNUC_UNUSED DiagList *diags)
{
  char *text = NULL;
  gsize length = 0;

  if (file_roles_read (user) != 0 || !g_file_get_contents (user, &text, &length, NULL))
    return NULL;
  return g_bytes_new_take (text, length);
}

/* The file of WANTED, opened; NULL after diagnostics. */
static CsvReader *
open_wanted (const Wanted *wanted, DiagList *diags)
{
  g_autofree char *key = g_strdup_printf ("bytes of %s", wanted->file);
  GBytes          *bytes = (GBytes *) input_files_get (wanted->files, key, read_bytes, wanted->file,
                                                       (GDestroyNotify) g_bytes_unref, diags);
  gsize            length = 0;
  const char      *text = bytes != NULL ? g_bytes_get_data (bytes, &length) : NULL;

  return length > 0 ? csv_reader_open_text (wanted->file, text, length, diags)
                    : csv_reader_open (wanted->file, diags);
}

static gpointer
read_wanted (gconstpointer user, DiagList *diags)
{
  const Wanted *wanted = user;
  Reading       self = wanted->reading;

  self.diags = diags;
  return read_lengths (&self, open_wanted (wanted, diags));
}

static gpointer
read_wanted_documents (gconstpointer user, DiagList *diags)
{
  const Wanted *wanted = user;
  Reading       self = wanted->reading;

  self.diags = diags;
  return read_documents (&self, open_wanted (wanted, diags));
}

const GArray *
sequence_lengths_documents (InputFiles *files, const char *file, gint64 longest, DiagList *diags)
{
  const Wanted     wanted = { .files = files, .file = file, .reading = { .longest = longest } };
  g_autofree char *key = g_strdup_printf ("documents to %" G_GINT64_FORMAT ": %s", longest, file);

  return input_files_get (files, key, read_wanted_documents, &wanted,
                          (GDestroyNotify) g_array_unref, diags);
}

const SequenceLengths *
sequence_lengths_get (InputFiles *files, const char *file, guint n_ranks, guint n_micros,
                      guint per_micro, gint64 unit, gint64 longest, DiagList *diags)
{
  const Wanted     wanted = { .files = files,
                              .file = file,
                              .reading = { .n_ranks = n_ranks,
                                           .n_micros = n_micros,
                                           .per_micro = per_micro,
                                           .unit = unit,
                                           .longest = longest } };
  g_autofree char *key =
      g_strdup_printf ("lengths of %u x %u x %u, %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT ": %s",
                       n_ranks, n_micros, per_micro, unit, longest, file);

  return input_files_get (files, key, read_wanted, &wanted, (GDestroyNotify) sequence_lengths_free,
                          diags);
}

/* ---- drawn ----------------------------------------------------------------------------------- */

/* What sequence_lengths_draw asks for. */
typedef struct
{
  const LengthDraw *draw;
  Reading           reading;
} Drawn;

static gpointer
draw_wanted (gconstpointer user, DiagList *diags)
{
  const Drawn          *drawn = user;
  Reading               self = drawn->reading;
  const guint64         n = (guint64) self.n_ranks * self.n_micros * self.per_micro;
  g_autoptr (GPtrArray) cells = NULL;
  g_autoptr (GArray)    lengths = NULL;

  self.diags = diags;
  if (!check_size (&self, NULL))
    return NULL;
  lengths = length_distribution_draw (drawn->draw, n, self.unit, self.longest);
  self.cells = cells = new_cells (&self);
  for (guint i = 0; i < lengths->len; i++)
    {
      const guint rank = i % self.n_ranks, micro = i / self.n_ranks / self.per_micro;

      g_array_append_val (g_ptr_array_index (cells, rank * self.n_micros + micro),
                          g_array_index (lengths, gint64, i));
    }
  return take_cells (&self);
}

const SequenceLengths *
sequence_lengths_draw (InputFiles *files, const LengthDraw *drawn, guint n_ranks, guint n_micros,
                       guint per_micro, gint64 unit, gint64 longest, DiagList *diags)
{
  const Drawn      wanted = { .draw = drawn,
                              .reading = { .n_ranks = n_ranks,
                                           .n_micros = n_micros,
                                           .per_micro = per_micro,
                                           .unit = unit,
                                           .longest = longest } };
  g_autofree char *key =
      g_strdup_printf ("lengths of %u x %u x %u, %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                       ", drawn: %d %.17g %.17g %u",
                       n_ranks, n_micros, per_micro, unit, longest, (int) drawn->distribution,
                       drawn->median, drawn->tail, drawn->seed);

  return input_files_get (files, key, draw_wanted, &wanted, (GDestroyNotify) sequence_lengths_free,
                          diags);
}

void
sequence_lengths_free (SequenceLengths *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->batches);
  g_free (self->ranks);
  g_clear_pointer (&self->parts, g_ptr_array_unref);
  g_free (self->remapped);
  g_clear_pointer (&self->pieces, g_ptr_array_unref);
  g_free (self->table);
  g_free (self->counts);
  g_free (self->barriers);
  g_free (self);
}

guint
sequence_lengths_n_batches (const SequenceLengths *self)
{
  return self->batches->len;
}

const GArray *
sequence_lengths_batch (const SequenceLengths *self, guint batch)
{
  return g_ptr_array_index (self->batches, batch);
}

guint
sequence_lengths_ranks (const SequenceLengths *self, guint batch)
{
  return self->ranks != NULL ? self->ranks[batch] : 1;
}

const GArray *
sequence_lengths_parts (const SequenceLengths *self, guint batch, double *remapped)
{
  if (self->parts == NULL)
    return NULL;
  *remapped = self->remapped[batch];
  return g_ptr_array_index (self->parts, batch);
}

const GArray *
sequence_lengths_pieces (const SequenceLengths *self, guint batch)
{
  return self->pieces != NULL ? g_ptr_array_index (self->pieces, batch) : NULL;
}

LengthsTable
sequence_lengths_table (const SequenceLengths *self)
{
  return (LengthsTable){ .n_ranks = self->n_ranks,
                         .width = self->width,
                         .table = self->table,
                         .counts = self->counts,
                         .barriers = self->barriers,
                         .read = self->read,
                         .moved = self->moved };
}

guint
sequence_lengths_n_micros (const SequenceLengths *self, guint rank)
{
  return self->counts != NULL ? self->counts[rank] : self->width;
}

guint
sequence_lengths_at (const SequenceLengths *self, guint rank, guint micro)
{
  return self->table[(gsize) rank * self->width + micro];
}
