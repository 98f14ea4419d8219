#include "base/config/csv.h"

#include <csv.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/file/file-roles.h"
#include "base/intern.h"
#include "base/limits.h"

#define CHUNK_BYTES (1u << 16)
#define SPLIT_HINT  "split the table, or leave out what is not needed"

/* The fields of one row: NUL-terminated texts one after another. */
typedef struct
{
  GString *text;
  GArray  *starts; /* of gsize */
} Row;

/* What a gzipped file takes between the disk and the parser. */
typedef struct
{
  GConverter *converter;
  char        bytes[CHUNK_BYTES];
  gsize       used, next;
  gboolean    open; /* a member has begun and not ended */
} Inflater;

struct _CsvReader
{
  const char       *name; /* interned */
  FILE             *file;
  Inflater         *inflater; /* NULL for plain text */
  struct csv_parser parser;
  char              chunk[CHUNK_BYTES];
  guint64           n_bytes;  /* of text so far */
  guint64           n_stored; /* as in the file: fewer where it is gzipped */
  gsize             used;     /* bytes of the chunk that were read */
  gsize             next;     /* first byte that was not yet parsed */
  gboolean          at_end;   /* of the file, or stopped by an error */
  guint             line;     /* of the next byte, from 1 */
  guint             row_line;
  GString          *raw; /* the row as it stands in the file, without its end */
  Row               row;
  gboolean          row_done;
  GPtrArray        *columns; /* of char * */
};

static void
row_clear (Row *row)
{
  g_string_truncate (row->text, 0);
  g_array_set_size (row->starts, 0);
}

static const char *
row_field (const Row *row, guint i)
{
  return row->text->str + g_array_index (row->starts, gsize, i);
}

/* libcsv's callbacks. */
static void
on_field (void *field, size_t length, void *user)
{
  CsvReader *self = user;
  gsize      start = self->row.text->len;

  g_array_append_val (self->row.starts, start);
  g_string_append_len (self->row.text, field, (gssize) length);
  g_string_append_c (self->row.text, '\0');
}

static void
on_row (int terminator, void *user)
{
  CsvReader *self = user;

  (void) terminator;
  self->row_done = TRUE;
}

static void
fail (CsvReader *self, guint line, const char *hint, const char *message, DiagList *diags)
{
  SourceMark mark = { self->name, line, 0, 0, NULL };

  diag_error (diags, &mark, hint, "%s", message);
  self->at_end = TRUE;
}

/*
 * Inflates once. FALSE with ERROR set: no gzip data, or cut short. 0 bytes: the end, or more input
 * is wanted.
 */
static gboolean
inflate (CsvReader *self, gsize *n, GError **error)
{
  Inflater        *in = self->inflater;
  gsize            taken = 0;
  gboolean         last = feof (self->file) != 0;
  GConverterResult result = g_converter_convert (
      in->converter, in->bytes + in->next, in->used - in->next, self->chunk, sizeof self->chunk,
      last ? G_CONVERTER_INPUT_AT_END : G_CONVERTER_NO_FLAGS, &taken, n, error);

  if (result == G_CONVERTER_ERROR && !last
      && g_error_matches (*error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT))
    {
      g_clear_error (error);
      *n = taken = 0;
      return TRUE;
    }
  in->next += taken;
  in->open = result != G_CONVERTER_FINISHED;
  if (!in->open)
    g_converter_reset (in->converter); /* what follows is another member */
  return result != G_CONVERTER_ERROR;
}

/* Reads stored bytes of the file. */
static gsize
read_stored (CsvReader *self, char *bytes, gsize n)
{
  gsize got = fread (bytes, 1, n, self->file);

  self->n_stored += got;
  return got;
}

/* FALSE after a diagnostic: there are more bytes than a table may have. */
static gboolean
check_bytes (CsvReader *self, DiagList *diags)
{
  g_autofree char *message = NULL;

  if (self->n_bytes <= CSV_MAX_BYTES && self->n_stored <= CSV_MAX_BYTES)
    return TRUE;
  message = g_strdup_printf ("a table larger than %u MiB%s", CSV_MAX_BYTES >> 20,
                             self->n_stored <= CSV_MAX_BYTES ? " when inflated" : "");
  fail (self, 0, SPLIT_HINT, message, diags);
  return FALSE;
}

/* FALSE after a diagnostic: the next line is one too many. */
static gboolean
check_lines (CsvReader *self, DiagList *diags)
{
  g_autofree char *message = NULL;

  if (self->line <= CSV_MAX_LINES)
    return TRUE;
  message = g_strdup_printf ("a table of more than %u lines", CSV_MAX_LINES);
  fail (self, 0, SPLIT_HINT, message, diags);
  return FALSE;
}

/* Reads on when little is left: a move for each of many small members would be quadratic. */
static void
refill (CsvReader *self)
{
  Inflater *in = self->inflater;
  gsize     left = in->used - in->next;

  if (left > sizeof in->bytes / 2)
    return;
  memmove (in->bytes, in->bytes + in->next, left);
  in->next = 0;
  in->used = left + read_stored (self, in->bytes + left, sizeof in->bytes - left);
}

/* Fills the chunk from a gzipped file; 0 bytes at its end, or after a diagnostic. */
static gsize
read_inflated (CsvReader *self, DiagList *diags)
{
  Inflater *in = self->inflater;

  for (;;)
    {
      g_autoptr (GError) error = NULL;
      gsize              n = 0;

      refill (self);
      if (!check_bytes (self, diags)) /* members without a byte of text never end the loop */
        return 0;
      gboolean at_end = in->used == in->next && feof (self->file);
      if (ferror (self->file) || (at_end && !in->open))
        return 0;
      if (at_end || !inflate (self, &n, &error))
        {
          fail (self, 0, "is the file complete?", "broken gzip data", diags);
          return 0;
        }
      if (n > 0)
        return n;
    }
}

static gboolean
is_end (char c)
{
  return c == '\n' || c == '\r';
}

/*
 * The unparsed bytes up to the end of their line or of the chunk; reads on when there are none. 0
 * at the end.
 */
static gsize
next_piece (CsvReader *self, DiagList *diags)
{
  if (self->next == self->used)
    {
      self->next = 0;
      self->used = self->inflater != NULL ? read_inflated (self, diags)
                                          : read_stored (self, self->chunk, sizeof self->chunk);
      self->n_bytes += self->used;
      if (ferror (self->file))
        fail (self, 0, NULL, g_strerror (errno), diags);
      if (!self->at_end && !check_bytes (self, diags))
        return 0;
    }
  for (gsize i = self->next; i < self->used; i++)
    if (is_end (self->chunk[i]))
      return i + 1 - self->next;
  return self->used - self->next;
}

/* Whether no field of LINE is quoted, or begins or ends with a blank, which does not count. */
static gboolean
is_plain (const char *line, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (line[i] == '"'
        || ((line[i] == ' ' || line[i] == '\t')
            && (i == 0 || i + 1 == n || line[i - 1] == ',' || line[i + 1] == ',')))
      return FALSE;
  return TRUE;
}

/*
 * Takes PIECE where it is a whole row that commas alone divide, which most are: libcsv turns every
 * byte over.
 */
static gboolean
take_plain_row (CsvReader *self, const char *piece, gsize length)
{
  Row        *row = &self->row;
  const gsize n = length - 1;

  if (self->raw->len > length || n == 0 || !is_end (piece[n]) || !is_plain (piece, n))
    return FALSE;
  g_string_append_len (row->text, piece, (gssize) n);
  for (gsize start = 0, end; start <= n; start = end + 1)
    {
      for (end = start; end < n && piece[end] != ','; end++)
        ;
      row->text->str[end] = '\0';
      g_array_append_val (row->starts, start);
    }
  self->row_done = TRUE;
  return TRUE;
}

static gboolean
parse_piece (CsvReader *self, gsize length, DiagList *diags)
{
  const char *piece = self->chunk + self->next;
  char        last;
  gboolean    lone_cr;

  self->next += length;
  if (!check_lines (self, diags))
    return FALSE;
  if (memchr (piece, '\0', length))
    {
      fail (self, self->line, NULL, "a NUL byte: not a text file", diags);
      return FALSE;
    }
  if (self->raw->len == 0)
    self->row_line = self->line;
  /* "\r\n" counts once, at its '\n', also where it straddles two chunks. */
  last = piece[length - 1];
  lone_cr = last == '\r' && self->next < self->used && self->chunk[self->next] != '\n';
  g_string_append_len (self->raw, piece, (gssize) length);
  self->line += last == '\n' || lone_cr;
  if (!take_plain_row (self, piece, length)
      && csv_parse (&self->parser, piece, length, on_field, on_row, self) != length)
    {
      fail (self, self->row_line, "quote the whole field, and double the quotes inside",
            "misplaced quote", diags);
      return FALSE;
    }
  if (self->raw->len > CSV_MAX_ROW_BYTES)
    {
      g_autofree char *message =
          g_strdup_printf ("row longer than %u MiB", CSV_MAX_ROW_BYTES >> 20);

      fail (self, self->row_line, "is a quote left open?", message, diags);
      return FALSE;
    }
  return TRUE;
}

static gboolean
finish (CsvReader *self, DiagList *diags)
{
  self->at_end = TRUE;
  if (csv_fini (&self->parser, on_field, on_row, self) == 0)
    return self->row_done;
  fail (self, self->row_line, NULL, "the file ends inside a quoted field", diags);
  return FALSE;
}

/* Reads one row, blank lines skipped. FALSE at the end or after a diagnostic. */
static gboolean
read_row (CsvReader *self, DiagList *diags)
{
  row_clear (&self->row);
  g_string_truncate (self->raw, 0);
  self->row_done = FALSE;
  while (!self->at_end && !self->row_done)
    {
      gsize length = next_piece (self, diags);

      if (self->at_end)
        return FALSE;
      if (length == 0)
        return finish (self, diags);
      if (!parse_piece (self, length, diags))
        return FALSE;
      if (!self->row_done && self->row.starts->len == 0
          && strspn (self->raw->str, " \t\r\n") == self->raw->len)
        g_string_truncate (self->raw, 0); /* no part of a row: a blank line, the rest of "\r\n" */
    }
  return self->row_done;
}

/* Of the row as it stands: what parts fields is ASCII. */
static gboolean
check_utf8 (CsvReader *self, DiagList *diags)
{
  if (g_utf8_validate (self->raw->str, (gssize) self->raw->len, NULL))
    return TRUE;
  fail (self, self->row_line, NULL, "not UTF-8 text", diags);
  return FALSE;
}

static gboolean
read_header (CsvReader *self, DiagList *diags)
{
  guint n_errors = diag_list_n_errors (diags);

  if (!read_row (self, diags) || !check_utf8 (self, diags))
    row_clear (&self->row);
  if (self->row.starts->len > CSV_MAX_COLUMNS)
    {
      g_autofree char *message = g_strdup_printf ("more than %u columns", CSV_MAX_COLUMNS);

      fail (self, self->row_line, NULL, message, diags);
    }
  else
    for (guint i = 0; i < self->row.starts->len; i++)
      {
        const char *name = row_field (&self->row, i);
        SourceMark  mark = csv_reader_mark (self, i);
        gint        first = csv_reader_find (self, name);

        if (!*name)
          diag_error (diags, &mark, NULL, "column %u has no name", i + 1);
        else if (first >= 0)
          diag_error (diags, &mark, NULL, "duplicate column '%s' (columns %d and %u)", name,
                      first + 1, i + 1);
        g_ptr_array_add (self->columns, g_strdup (name));
      }
  if (self->columns->len == 0 && diag_list_n_errors (diags) == n_errors)
    fail (self, 0, NULL, "an empty file: expected a row of column names", diags);
  return diag_list_n_errors (diags) == n_errors;
}

static gboolean
starts_with (const CsvReader *self, const char *magic, gsize length)
{
  return self->used >= length && memcmp (self->chunk, magic, length) == 0;
}

/* Reads the first bytes, which tell what kind of file it is, and skips a byte order mark. */
static void
begin (CsvReader *self, DiagList *diags)
{
  self->used = read_stored (self, self->chunk, 3);
  if (starts_with (self, "\x1F\x8B", 2))
    {
      self->inflater = g_new0 (Inflater, 1);
      self->inflater->converter =
          G_CONVERTER (g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP));
      memcpy (self->inflater->bytes, self->chunk, self->used);
      self->inflater->used = self->used;
      self->used = read_inflated (self, diags);
      self->n_bytes = self->used;
    }
  self->next = starts_with (self, "\xEF\xBB\xBF", 3) ? 3 : 0;
}

static CsvReader *
reader_new (const char *name, FILE *file)
{
  CsvReader *self = g_new0 (CsvReader, 1);

  self->name = intern_text (name);
  self->file = file;
  self->line = 1;
  self->raw = g_string_new (NULL);
  self->row.text = g_string_new (NULL);
  self->row.starts = g_array_new (FALSE, FALSE, sizeof (gsize));
  self->columns = g_ptr_array_new_with_free_func (g_free);
  csv_init (&self->parser, CSV_STRICT | CSV_STRICT_FINI);
  return self;
}

/* Takes STREAM, which may be NULL. */
static CsvReader *
open_stream (const char *name, FILE *stream, DiagList *diags)
{
  /* A directory opens; only reading it fails. */
  if (!stream || (ungetc (getc (stream), stream) == EOF && ferror (stream)))
    {
      diag_error (diags, NULL, NULL, "cannot read '%s': %s", name, file_roles_why (errno));
      g_clear_pointer (&stream, fclose);
      return NULL;
    }

  g_autoptr (CsvReader) self = reader_new (name, stream);
  begin (self, diags);
  return !self->at_end && read_header (self, diags) ? g_steal_pointer (&self) : NULL;
}

CsvReader *
csv_reader_open (const char *file, DiagList *diags)
{
  return open_stream (file, file_roles_open (file), diags);
}

CsvReader *
csv_reader_open_text (const char *name, const char *text, gsize length, DiagList *diags)
{
  return open_stream (name, fmemopen ((gpointer) text, length, "rb"), diags);
}

void
csv_reader_free (CsvReader *self)
{
  if (!self)
    return;
  csv_free (&self->parser);
  fclose (self->file);
  if (self->inflater != NULL)
    g_object_unref (self->inflater->converter);
  g_free (self->inflater);
  g_string_free (self->raw, TRUE);
  g_string_free (self->row.text, TRUE);
  g_array_unref (self->row.starts);
  g_ptr_array_unref (self->columns);
  g_free (self);
}

guint
csv_reader_n_columns (const CsvReader *self)
{
  return self->columns->len;
}

const char *
csv_reader_column (const CsvReader *self, guint i)
{
  g_assert (i < self->columns->len);
  return g_ptr_array_index (self->columns, i);
}

gint
csv_reader_find (const CsvReader *self, const char *column)
{
  for (guint i = 0; i < self->columns->len; i++)
    if (strcmp (g_ptr_array_index (self->columns, i), column) == 0)
      return (gint) i;
  return -1;
}

gboolean
csv_reader_next (CsvReader *self, DiagList *diags)
{
  while (read_row (self, diags))
    {
      guint      n = self->row.starts->len;
      SourceMark mark;

      if (!check_utf8 (self, diags))
        return FALSE;
      if (n == self->columns->len)
        return TRUE;
      mark = csv_reader_mark (self, MIN (n - 1, self->columns->len)); /* last, or first too many */
      diag_error (diags, &mark, NULL, "expected %u fields, got %u", self->columns->len, n);
    }
  row_clear (&self->row);
  return FALSE;
}

const char *
csv_reader_field (const CsvReader *self, guint i)
{
  g_assert (i < self->row.starts->len);
  return row_field (&self->row, i);
}

/* Finds field I in the raw text of the row: sets the column (from 1) and length in characters. */
static void
locate_field (const char *raw, guint i, SourceMark *mark)
{
  const char *start = raw;
  gboolean    quoted = FALSE;
  const char *p;

  for (p = raw; *p && (quoted || (*p != '\r' && *p != '\n')); p++)
    {
      if (*p == '"')
        quoted = !quoted;
      if (*p != ',' || quoted)
        continue;
      if (i-- == 0)
        break;
      start = p + 1;
    }
  mark->column = (guint) g_utf8_strlen (raw, start - raw) + 1;
  mark->length = (guint) g_utf8_strlen (start, p - start);
}

SourceMark
csv_reader_mark (const CsvReader *self, guint i)
{
  SourceMark mark = { self->name, self->row_line, 0, 0, self->raw->str };

  /* Over several lines a column would point into the wrong one. */
  gsize last = strcspn (self->raw->str, "\r\n");
  if (last + strspn (self->raw->str + last, "\r\n") == self->raw->len)
    locate_field (self->raw->str, i, &mark);
  return mark;
}

static gboolean
needs_quotes (const char *field)
{
  gsize length = strlen (field);

  return strpbrk (field, ",\"\r\n")
         || (length > 0 && (g_ascii_isspace (field[0]) || g_ascii_isspace (field[length - 1])));
}

/*
 * A spreadsheet would take FIELD for a formula: it runs what names from files say. Numbers begin
 * like that, too, a lone '-' is none, and options of a command line ("--tp 2") call nothing.
 */
static gboolean
is_formula (const char *field)
{
  char *end = NULL;

  if (*field == '\0' || strchr ("=+-@", *field) == NULL || field[1] == '\0')
    return FALSE;
  if (field[0] == '-' && field[1] == '-' && strpbrk (field, "|!(") == NULL)
    return FALSE;
  g_ascii_strtod (field, &end);
  return *end != '\0';
}

void
csv_append_row (GString *out, const char *const *fields, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      const char *field = fields[i] ? fields[i] : "";
      /* A row of one empty field would be a blank line, which readers skip. */
      gboolean quote = needs_quotes (field) || (n == 1 && !*field);

      if (i > 0)
        g_string_append_c (out, ',');
      if (quote)
        g_string_append_c (out, '"');
      if (is_formula (field))
        g_string_append_c (out, '\'');
      for (const char *p = field; *p; p++)
        {
          if (*p == '"')
            g_string_append_c (out, '"');
          g_string_append_c (out, *p);
        }
      if (quote)
        g_string_append_c (out, '"');
    }
  g_string_append_c (out, '\n');
}

/* ---- columns --------------------------------------------------------------------------------- */

void
csv_reader_missing (const CsvReader *self, const char *name, const char *hint, DiagList *diags)
{
  SourceMark mark = csv_reader_mark (self, 0);

  mark.column = mark.length = 0;
  diag_error (diags, &mark, hint, "missing column '%s'", name);
}

void
csv_reader_unknown (const CsvReader *self, guint i, const char *const *names, DiagList *diags)
{
  SourceMark       mark = csv_reader_mark (self, i);
  g_autofree char *hint = suggest_hint (csv_reader_column (self, i), names);

  diag_error (diags, &mark, hint, "unknown column '%s'", csv_reader_column (self, i));
}

void
csv_reader_check_names (const CsvReader *self, const char *const *names, DiagList *diags)
{
  for (guint i = 0; i < csv_reader_n_columns (self); i++)
    if (!g_strv_contains (names, csv_reader_column (self, i)))
      csv_reader_unknown (self, i, names, diags);
}
