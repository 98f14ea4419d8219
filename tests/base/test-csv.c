/* Tables: quoting, line ends, places of fields, and every refusal with its words. */
#include <sys/mman.h>
#include <unistd.h>

#include "../suite.h"
#include "base/config/csv.h"
#include "base/limits.h"
#include "fixture.h"

/*
 * Reads DATA, as a file in memory; the rows as "a|b;c|d" after the header, the diagnostics of
 * "t.csv" in *TEXT.
 */
static char *
read_all (const char *data, gssize length, char **text)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  gsize                 size = length < 0 ? strlen (data) : (gsize) length;
  int                   fd = memfd_create ("t.csv", 0);
  g_autofree char      *file = g_strdup_printf ("/proc/self/fd/%d", fd);
  GString              *rows = g_string_new (NULL);
  g_autoptr (CsvReader) reader = NULL;
  g_autofree char      *printed = NULL;
  g_auto (GStrv)        pieces = NULL;

  ck_assert_int_eq (write (fd, data, size), (gssize) size);
  reader = csv_reader_open (file, diags);
  close (fd);
  for (guint i = 0; reader && i < csv_reader_n_columns (reader); i++)
    g_string_append_printf (rows, "%s%s", i ? "|" : "", csv_reader_column (reader, i));
  while (reader && csv_reader_next (reader, diags))
    {
      g_string_append_c (rows, ';');
      for (guint i = 0; i < csv_reader_n_columns (reader); i++)
        g_string_append_printf (rows, "%s%s", i ? "|" : "", csv_reader_field (reader, i));
    }
  printed = diag_list_format (diags, FALSE);
  pieces = g_strsplit (printed, file, -1);
  *text = g_strjoinv ("t.csv", pieces);
  return g_string_free (rows, FALSE);
}

static const struct
{
  const char *data, *rows, *diags;
} tables[] = {
  { "a,b\n1,2\n3,4\n", "a|b;1|2;3|4", "" },
  { "a,b\n1,2\n3,4", "a|b;1|2;3|4", "" }, /* no newline at the end */
  { "a,b\r\n1,2\r\n3,4\r\n", "a|b;1|2;3|4", "" },
  { "a,b\r1,2\r3,4", "a|b;1|2;3|4", "" },
  { "\357\273\277a,b\n1,2\n", "a|b;1|2", "" },
  { "a,b\n\n1,2\n  \n\r\n3,4\n\n", "a|b;1|2;3|4", "" },
  { "a\n", "a", "" },
  { "a", "a", "" },
  { "a,b\n\"x, y\",\"say \"\"hi\"\"\"\n", "a|b;x, y|say \"hi\"", "" },
  { "a,b\n\"two\nlines\",2\n", "a|b;two\nlines|2", "" },
  { "a,b\n  x  , \"  y  \" \n", "a|b;x|  y  ", "" }, /* space around a field is no part of it */
  { "a,b\n,\n", "a|b;|", "" },
  { "", "", "t.csv: error: an empty file: expected a row of column names\n" },
  { "\n\n", "", "t.csv: error: an empty file: expected a row of column names\n" },
  { "a,b\n1\n3,4\n5,6,7\n", "a|b;3|4",
    "t.csv:2:1: error: expected 2 fields, got 1\n  1\n  ^\n"
    "t.csv:4:5: error: expected 2 fields, got 3\n  5,6,7\n      ^\n" },
  { "a,b,a,\n", "",
    "t.csv:1:5: error: duplicate column 'a' (columns 1 and 3)\n  a,b,a,\n      ^\n"
    "t.csv:1:7: error: column 4 has no name\n  a,b,a,\n        ^\n" },
  { "a,b\n1,x\"y\n2,3\n", "a|b",
    "t.csv:2: error: misplaced quote\n"
    "  hint: quote the whole field, and double the quotes inside\n" },
  { "a,b\n1,\"x\"y\n", "a|b",
    "t.csv:2: error: misplaced quote\n"
    "  hint: quote the whole field, and double the quotes inside\n" },
  { "a,b\n\n1,\"open\n2,3\n", "a|b", "t.csv:3: error: the file ends inside a quoted field\n" },
  { "a,\"b", "", "t.csv:1: error: the file ends inside a quoted field\n" },
  { "a,b\n1,2\n\xff,3\n4,5\n", "a|b;1|2", "t.csv:3: error: not UTF-8 text\n" },
  { "\xff\xfe,b\n", "", "t.csv:1: error: not UTF-8 text\n" },
};

START_TEST (test_tables)
{
  g_autofree char *diags = NULL;
  g_autofree char *rows = read_all (tables[_i].data, -1, &diags);

  ck_assert_str_eq (diags, tables[_i].diags);
  ck_assert_str_eq (rows, tables[_i].rows);
}
END_TEST

START_TEST (test_nul)
{
  g_autofree char *diags = NULL, *header_diags = NULL;
  g_autofree char *rows = read_all ("a,b\n1,2\n3,\0\n", 12, &diags);
  g_autofree char *header = read_all ("a\0,b\n1,2\n", 9, &header_diags);

  ck_assert_str_eq (rows, "a|b;1|2");
  ck_assert_str_eq (diags, "t.csv:3: error: a NUL byte: not a text file\n");
  ck_assert_str_eq (header, "");
  ck_assert_str_eq (header_diags, "t.csv:1: error: a NUL byte: not a text file\n");
}
END_TEST

START_TEST (test_unreadable)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert_ptr_null (csv_reader_open ("/", diags));
  ck_assert_ptr_null (csv_reader_open ("/nonexistent/t.csv", diags));
  assert_diags (diags, "error: cannot read '/': Is a directory\n"
                       "error: cannot read '/nonexistent/t.csv': No such file or directory\n");
}
END_TEST

static void
assert_mark (const CsvReader *reader, guint i, guint line, guint column, guint length)
{
  SourceMark mark = csv_reader_mark (reader, i);

  ck_assert_uint_eq (mark.line, line);
  ck_assert_uint_eq (mark.column, column);
  ck_assert_uint_eq (mark.length, length);
}

START_TEST (test_marks)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  char                *folder = make_folder ();
  g_autofree char     *file = write_temporary (
          folder, "t.csv", "a,b,c\r\n\r\n\"x,\"\"y\"\"\",\303\244\303\266,z\r\n\"p\nq\",r,s\nt,u,v",
          -1);
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  SourceMark            mark;
  g_autofree char      *expected = g_strdup_printf (
           "%s:3:14: error: bad\n  \"x,\"\"y\"\"\",\303\244\303\266,z\n%*s^\n", file, 15, "");

  ck_assert_int_eq (csv_reader_find (reader, "c"), 2);
  ck_assert_int_eq (csv_reader_find (reader, "d"), -1);
  ck_assert (csv_reader_next (reader, diags));
  assert_mark (reader, 0, 3, 1, 9);
  assert_mark (reader, 1, 3, 11, 2);
  assert_mark (reader, 2, 3, 14, 1);
  mark = csv_reader_mark (reader, 2);
  diag_error (diags, &mark, NULL, "bad");
  assert_diags (diags, expected);
  ck_assert (csv_reader_next (reader, diags)); /* over two lines: only the first line's number */
  assert_mark (reader, 1, 4, 0, 0);
  ck_assert (csv_reader_next (reader, diags));
  assert_mark (reader, 2, 6, 5, 1);
  ck_assert (!csv_reader_next (reader, diags));
  ck_assert (!csv_reader_next (reader, diags));
  remove_folder (folder);
}
END_TEST

/* Rows and fields that straddle the reader's chunks, and line numbers beyond them. */
/*
 * Rows without quotes are taken whole, others by libcsv: where a row that says the same is quoted,
 * or has blanks around its fields, what is read is the same.
 */
START_TEST (test_plain_rows)
{
  static const char *const plain[] = { "1,2,3", "a b,,c", ",,", "x,1e-3,é" };
  static const char *const quoted[] = { "\"1\",2,3", " a b , ,c ", "\"\",,", "x,\"1e-3\",é" };
  static const char *const ends[] = { "\n", "\r\n", "\r" };

  for (guint e = 0; e < G_N_ELEMENTS (ends); e++)
    for (guint i = 0; i < G_N_ELEMENTS (plain); i++)
      {
        g_autofree char *data = g_strconcat ("a,b,c", ends[e], plain[i], ends[e], quoted[i],
                                             ends[e], plain[i], ends[e], NULL);
        g_autofree char *text = NULL, *rows = read_all (data, -1, &text);
        g_auto (GStrv)   each = g_strsplit (rows, ";", -1);

        ck_assert_str_eq (text, "");
        ck_assert_uint_eq (g_strv_length (each), 4);
        ck_assert_str_eq (each[2], each[1]);
        ck_assert_str_eq (each[3], each[1]);
      }
}
END_TEST

START_TEST (test_long_tables)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GString)   data = g_string_new ("number,text\r\n");
  char                 *folder = make_folder ();
  g_autofree char      *filler = g_strnfill (1000, 'x');
  g_autofree char      *file = NULL;
  g_autoptr (CsvReader) reader = NULL;
  guint                 n = 0;

  for (guint i = 0; i < 1000; i++)
    g_string_append_printf (data, "%u,\"%.*s\"\r\n", i, (int) (i * 7919 % 1000), filler);
  file = write_temporary (folder, "t.csv", data->str, -1);
  reader = csv_reader_open (file, diags);
  for (; csv_reader_next (reader, diags); n++)
    {
      g_autofree char *number = g_strdup_printf ("%u", n);

      ck_assert_str_eq (csv_reader_field (reader, 0), number);
      ck_assert_uint_eq (strlen (csv_reader_field (reader, 1)), n * 7919 % 1000);
      ck_assert_uint_eq (csv_reader_mark (reader, 0).line, n + 2);
    }
  ck_assert_uint_eq (n, 1000);
  assert_diags (diags, "");
  remove_folder (folder);
}
END_TEST

START_TEST (test_limits)
{
  g_autofree char *filler = g_strnfill (2 << 20, 'x');
  g_autofree char *commas = g_strnfill (5000, ',');
  g_autofree char *open = g_strconcat ("a,b\n1,\"", filler, NULL);
  g_autofree char *diags = NULL, *column_diags = NULL;
  g_autofree char *rows = read_all (open, -1, &diags);
  g_autofree char *columns = read_all (commas, -1, &column_diags);

  ck_assert_str_eq (rows, "a|b");
  ck_assert_str_eq (diags,
                    "t.csv:2: error: row longer than 1 MiB\n  hint: is a quote left open?\n");
  ck_assert_str_eq (columns, "");
  ck_assert_str_eq (column_diags, "t.csv:1: error: more than 4096 columns\n");
}
END_TEST

/* Gzipped, as `gzip -c` writes it: N times PIECE behind HEAD. */
static GBytes *
deflate (const char *head, const char *piece, gsize n)
{
  g_autoptr (GConverter) gzip =
      G_CONVERTER (g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, 1));
  g_autoptr (GOutputStream) memory = g_memory_output_stream_new_resizable ();
  g_autoptr (GOutputStream) stream = g_converter_output_stream_new (memory, gzip);

  ck_assert (g_output_stream_write_all (stream, head, strlen (head), NULL, NULL, NULL));
  for (gsize i = 0; i < n; i++)
    ck_assert (g_output_stream_write_all (stream, piece, strlen (piece), NULL, NULL, NULL));
  ck_assert (g_output_stream_close (stream, NULL, NULL));
  return g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (memory));
}

/* Reads FILE to its end; rows read. */
static guint
count_rows (const char *file, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  guint                 n = 0;

  while (reader != NULL && csv_reader_next (reader, diags))
    n++;
  return n;
}

/*
 * A table of more than the limit in 2 MiB: refused where the limit is passed, not when all of it is
 * inflated. The table of exactly the limit passes.
 */
START_TEST (test_inflated)
{
  const gsize          block = 1 << 16, n = CSV_MAX_BYTES / block;
  char                *folder = make_folder ();
  g_autofree char     *row = g_strnfill (block, 'x');
  g_autoptr (DiagList) none = diag_list_new (), diags = diag_list_new ();
  g_autoptr (GBytes)   most = NULL, bomb = NULL;
  g_autofree char     *file = NULL, *expected = NULL;

  row[block - 1] = '\n';
  most = deflate ("", row, n); /* its header is the first row */
  bomb = deflate ("a\n", row, n + n / 8);
  file = write_temporary (folder, "most.csv.gz", g_bytes_get_data (most, NULL),
                          (gssize) g_bytes_get_size (most));
  ck_assert_uint_eq (count_rows (file, none), n - 1);
  assert_diags (none, "");
  g_free (file);
  file = write_temporary (folder, "bomb.csv.gz", g_bytes_get_data (bomb, NULL),
                          (gssize) g_bytes_get_size (bomb));
  ck_assert_uint_eq (count_rows (file, diags), n - 1);
  expected = g_strdup_printf ("%s: error: a table larger than 256 MiB when inflated\n"
                              "  hint: split the table, or leave out what is not needed\n",
                              file);
  assert_diags (diags, expected);
  remove_folder (folder);
}
END_TEST

/* Members without text never end: what is stored counts as well. */
START_TEST (test_empty_members)
{
  char                *folder = make_folder ();
  g_autoptr (DiagList) diags = diag_list_new ();
  /* an extra field */
  static const guchar start[] = { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
  static const guchar end[] = { 3, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
  g_autofree char    *extra = g_strnfill (0xffff, 'x');
  const gsize         n = CSV_MAX_BYTES >> 16;
  g_autofree char    *file = g_build_filename (folder, "t.csv.gz", NULL), *expected = NULL;
  FILE               *out = fopen (file, "wb");

  for (gsize i = 0; i < n; i++)
    ck_assert (fwrite (start, sizeof start, 1, out) == 1 && fwrite (extra, 0xffff, 1, out) == 1
               && fwrite (end, sizeof end, 1, out) == 1);
  ck_assert_int_eq (fclose (out), 0);
  ck_assert_ptr_null (csv_reader_open (file, diags));
  expected = g_strdup_printf ("%s: error: a table larger than 256 MiB\n"
                              "  hint: split the table, or leave out what is not needed\n",
                              file);
  assert_diags (diags, expected);
  remove_folder (folder);
}
END_TEST

/* Blank lines count: they cost time as rows do. */
START_TEST (test_lines)
{
  char                *folder = make_folder ();
  g_autoptr (DiagList) none = diag_list_new (), diags = diag_list_new ();
  g_autofree char *text = g_strnfill (2 * CSV_MAX_LINES + 2, '\n'), *file = NULL, *expected = NULL;

  for (guint i = 0; i < CSV_MAX_LINES; i += 2) /* every other line is blank */
    text[3 * i / 2] = 'a';
  file = write_temporary (folder, "t.csv", text, 3 * CSV_MAX_LINES / 2);
  ck_assert_uint_eq (count_rows (file, none), CSV_MAX_LINES / 2 - 1);
  assert_diags (none, "");
  g_free (file);
  file = write_temporary (folder, "t.csv", text, 3 * CSV_MAX_LINES / 2 + 1);
  ck_assert_uint_eq (count_rows (file, diags), CSV_MAX_LINES / 2 - 1);
  expected = g_strdup_printf ("%s: error: a table of more than 1048576 lines\n"
                              "  hint: split the table, or leave out what is not needed\n",
                              file);
  assert_diags (diags, expected);
  remove_folder (folder);
}
END_TEST

START_TEST (test_append_row)
{
  static const char *const fields[] = { "a",          "b c", "d,e", "say \"hi\"",
                                        "two\nlines", "",    " x",  NULL };
  static const char *const formulas[] = {
    "=cmd|' /C calc'!A0", "@SUM(A1)", "+1+1", "-1-1", "--x|y!A0", "--tp 2", "-1.5e-3", "+2", "-"
  };
  g_autoptr (GString) out = g_string_new (NULL);

  csv_append_row (out, fields, 8);
  csv_append_row (out, fields + 5, 1); /* a row of one empty field is not a blank line */
  ck_assert_str_eq (out->str, "a,b c,\"d,e\",\"say \"\"hi\"\"\",\"two\nlines\",,\" x\",\n\"\"\n");
  g_string_truncate (out, 0);
  csv_append_row (out, formulas, G_N_ELEMENTS (formulas)); /* text that a spreadsheet would run */
  ck_assert_str_eq (out->str, "'=cmd|' /C calc'!A0,'@SUM(A1),'+1+1,'-1-1,'--x|y!A0,"
                              "--tp 2,-1.5e-3,+2,-\n");
}
END_TEST

/* Random fields of awkward characters: what csv_append_row writes, the reader gives back. */
START_TEST (test_round_trips)
{
  static const char alphabet[] = "ab, \"\n\r\t;'";
  const guint32     seed = 3;
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  for (guint i = 0; i < 500; i++)
    {
      char                fields[3][6] = { "", "", "" };
      const char         *row[] = { fields[0], fields[1], fields[2] };
      guint               n = (guint) g_rand_int_range (rand, 1, 4);
      g_autoptr (GString) data = g_string_new (NULL);
      g_autofree char    *expected = NULL, *rows = NULL, *diags = NULL;

      memset (fields, 0, sizeof fields);
      for (guint f = 0; f < n; f++)
        for (gint c = g_rand_int_range (rand, 0, 6); c-- > 0;)
          fields[f][c] = alphabet[g_rand_int_range (rand, 0, sizeof alphabet - 1)];
      csv_append_row (data, (const char *const[]){ "p", "q", "r" }, n);
      csv_append_row (data, row, n);
      expected = n == 1   ? g_strdup_printf ("p;%s", row[0])
                 : n == 2 ? g_strdup_printf ("p|q;%s|%s", row[0], row[1])
                          : g_strdup_printf ("p|q|r;%s|%s|%s", row[0], row[1], row[2]);
      rows = read_all (data->str, -1, &diags);
      ck_assert_msg (g_str_equal (rows, expected), "seed %u, case %u: '%s' is not '%s' (%s)", seed,
                     i, rows, expected, diags);
    }
}
END_TEST

SUITE_MAIN (csv)
{
  TCase *tcase = tcase_create ("csv");

  tcase_add_loop_test (tcase, test_tables, 0, G_N_ELEMENTS (tables));
  tcase_add_test (tcase, test_nul);
  tcase_add_test (tcase, test_unreadable);
  tcase_add_test (tcase, test_marks);
  tcase_add_test (tcase, test_plain_rows);
  tcase_add_test (tcase, test_long_tables);
  tcase_add_test (tcase, test_limits);
  tcase_add_test (tcase, test_inflated);
  tcase_add_test (tcase, test_empty_members);
  tcase_add_test (tcase, test_lines);
  tcase_add_test (tcase, test_append_row);
  tcase_add_test (tcase, test_round_trips);
  return run_case (suite_create ("csv"), tcase);
}
