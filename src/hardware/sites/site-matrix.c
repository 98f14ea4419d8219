#include "hardware/sites/site-matrix.h"

#include <string.h>

#include "base/config/csv.h"
#include "base/config/suggest.h"
#include "base/config/units.h"

#define CELL_HINT "write rate, round-trip time and, if known, loss: '1.2 Gbit/s 80 ms 0.01 %'"
#define MOST_RTT  3600.0 /* s: what is more is a slip */

static void
matrix_free (gpointer data)
{
  SiteMatrix *self = data;

  g_strfreev (self->names);
  g_free (self->links);
  g_free (self);
}

gint
site_matrix_find (const SiteMatrix *self, const char *name)
{
  for (guint i = 0; i < self->n; i++)
    if (strcmp (self->names[i], name) == 0)
      return (gint) i;
  return -1;
}

/* ---- a cell ---------------------------------------------------------------------------------- */

/* The quantities of TEXT: what begins with a digit begins one, a unit may stand behind a space. */
static GPtrArray *
split_quantities (const char *text)
{
  g_auto (GStrv) words = g_strsplit_set (text, " \t", -1);
  GPtrArray     *parts = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; words[i] != NULL; i++)
    {
      const gboolean begins = g_ascii_isdigit (words[i][0]) || strchr ("+-.", words[i][0]) != NULL;
      char         **last = parts->len > 0 ? (char **) &parts->pdata[parts->len - 1] : NULL;

      if (*words[i] == '\0')
        continue;
      if (last == NULL || begins)
        g_ptr_array_add (parts, g_strdup (words[i]));
      else
        {
          char *joined = g_strconcat (*last, " ", words[i], NULL);

          g_free (*last);
          *last = joined;
        }
    }
  return parts;
}

/* Reads part I of a cell; FALSE after a diagnostic at MARK. */
static gboolean
read_part (const GPtrArray *parts, guint i, QuantityKind kind, double *value,
           const SourceMark *mark, DiagList *diags)
{
  g_autofree char *why = NULL;

  if (quantity_parse (kind, g_ptr_array_index (parts, i), value, &why))
    return TRUE;
  diag_error (diags, mark, CELL_HINT, "%s", why);
  return FALSE;
}

static void
read_link (SiteLink *link, const char *text, const SourceMark *mark, DiagList *diags)
{
  g_autoptr (GPtrArray) parts = split_quantities (text);
  gboolean              ok;

  if (parts->len < 2 || parts->len > 3)
    {
      diag_error (diags, mark, CELL_HINT, "expected a rate and a round-trip time, got '%s'", text);
      return;
    }
  ok = read_part (parts, 0, QUANTITY_BANDWIDTH, &link->rate, mark, diags);
  ok &= read_part (parts, 1, QUANTITY_TIME, &link->rtt, mark, diags);
  if (parts->len == 3)
    ok &= read_part (parts, 2, QUANTITY_RATIO, &link->loss, mark, diags);
  if (ok)
    {
      if (link->rate <= 0)
        diag_error (diags, mark, CELL_HINT, "a link without a rate");
      if (link->rtt <= 0)
        diag_error (diags, mark, CELL_HINT, "a link without a round-trip time");
      if (link->rtt > MOST_RTT)
        diag_error (diags, mark, CELL_HINT, "a round-trip time of more than an hour");
      if (link->loss >= 1)
        diag_error (diags, mark, "a share below 1, as in '0.01 %' or '0.0001'",
                    "loss out of range: every packet is lost");
    }
}

static gboolean
says_nothing (const char *text)
{
  return *text == '\0' || strcmp (text, "-") == 0;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

static void
read_cell (SiteMatrix *self, const CsvReader *reader, guint from, guint to, DiagList *diags)
{
  g_autofree char *text = g_strstrip (g_strdup (csv_reader_field (reader, to + 1)));
  const SourceMark mark = csv_reader_mark (reader, to + 1);

  if (from == to && !says_nothing (text))
    diag_error (diags, &mark,
                "leave it empty or write '-': inside a site nodes talk over the "
                "cluster's own fabric",
                "a link from '%s' to itself", self->names[from]);
  else if (from != to && says_nothing (text))
    diag_error (diags, &mark, CELL_HINT, "no link from '%s' to '%s'", self->names[from],
                self->names[to]);
  else if (from != to)
    read_link (&self->links[from * self->n + to], text, &mark, diags);
}

/* LINE_OF: lines of the rows that were read, 0 = none. */
static void
read_row (SiteMatrix *self, const CsvReader *reader, guint *line_of, DiagList *diags)
{
  g_autofree char *name = g_strstrip (g_strdup (csv_reader_field (reader, 0)));
  const SourceMark mark = csv_reader_mark (reader, 0);
  const gint       site = site_matrix_find (self, name);

  if (site < 0)
    {
      g_autofree char *hint = suggest_hint (name, (const char *const *) self->names);

      diag_error (diags, &mark, hint, "unknown site '%s': no column has its name", name);
    }
  else if (line_of[site] > 0)
    diag_error (diags, &mark, "a row a site", "site '%s' has a row in line %u already", name,
                line_of[site]);
  else
    {
      line_of[site] = mark.line;
      for (guint to = 0; to < self->n; to++)
        read_cell (self, reader, (guint) site, to, diags);
    }
}

static void
read_rows (SiteMatrix *self, CsvReader *reader, DiagList *diags)
{
  g_autofree guint *line_of = g_new0 (guint, self->n + 1);
  SourceMark        mark = csv_reader_mark (reader, 0);
  guint             errors = diag_list_n_errors (diags);

  while (csv_reader_next (reader, diags))
    {
      mark.line = csv_reader_mark (reader, 0).line;
      read_row (self, reader, line_of, diags);
      errors = diag_list_n_errors (diags);
    }
  if (diag_list_n_errors (diags) > errors) /* the rest was not read */
    return;
  mark = (SourceMark){ .file = mark.file, .line = mark.line };
  for (guint i = 0; i < self->n; i++)
    if (line_of[i] == 0)
      diag_error (diags, &mark, "a column and a row a site",
                  "the matrix of sites is not square: '%s' has a column and no row",
                  self->names[i]);
}

/* Whether N sites make a matrix; FALSE after a diagnostic. */
static gboolean
check_size (guint64 n, const char *hint, const SourceMark *mark, DiagList *diags)
{
  if (n >= 2 && n <= SITE_MATRIX_MOST)
    return TRUE;
  diag_error (diags, mark, hint,
              n < 2 ? "a matrix of %" G_GUINT64_FORMAT " sites joins none"
                    : "a matrix of %" G_GUINT64_FORMAT " sites, at most 64",
              n);
  return FALSE;
}

/* Without names and links. */
static SiteMatrix *
matrix_new (guint n)
{
  SiteMatrix *self = g_new0 (SiteMatrix, 1);

  self->n = n;
  self->names = g_new0 (char *, (gsize) n + 1);
  self->links = g_new0 (SiteLink, (gsize) n * n);
  return self;
}

/* The sites of the header; NULL after a diagnostic. */
static SiteMatrix *
read_header (const CsvReader *reader, DiagList *diags)
{
  const SourceMark mark = csv_reader_mark (reader, 0);
  const guint      n = csv_reader_n_columns (reader) - 1;
  SiteMatrix      *self;

  if (!check_size (n, "the first row names the sites: 'site,oregon,tokyo'", &mark, diags))
    return NULL;
  self = matrix_new (n);
  for (guint i = 0; i < n; i++)
    self->names[i] = g_strstrip (g_strdup (csv_reader_column (reader, i + 1)));
  return self;
}

static gpointer
read_matrix (gconstpointer user, DiagList *diags)
{
  const char *file = user;
  const guint errors = diag_list_n_errors (diags);
  SiteMatrix *self;

  if (!g_file_test (file, G_FILE_TEST_EXISTS))
    return NULL;
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  self = reader != NULL ? read_header (reader, diags) : NULL;
  if (self != NULL)
    read_rows (self, reader, diags);
  if (self != NULL && diag_list_n_errors (diags) > errors)
    g_clear_pointer (&self, matrix_free);
  return self;
}

const SiteMatrix *
site_matrix_get (InputFiles *files, const char *file, const SourceMark *mark, DiagList *diags)
{
  g_autofree char  *key = g_strdup_printf ("sites of %s", file);
  const guint       errors = diag_list_n_errors (diags);
  const SiteMatrix *self = input_files_get (files, key, read_matrix, file, matrix_free, diags);

  if (self == NULL && diag_list_n_errors (diags) == errors)
    diag_error (diags, mark, "a CSV file, or the name of a matrix in hwprofiles/sites",
                "no file of sites '%s'", file);
  return self;
}

/* ---- all alike ------------------------------------------------------------------------------- */

#define UNIFORM_HINT "sites, 'x', rate, round-trip time and, if known, loss: '8 x 1 Gbit/s 60 ms'"

/* What stands behind "8 x"; NULL: TEXT does not begin so. */
static const char *
link_of_uniform (const char *text)
{
  const char *x = text + strspn (text, " 0123456789");

  return g_ascii_isdigit (text[strspn (text, " ")]) && (*x == 'x' || *x == '*')
             ? x + 1 + strspn (x + 1, " ")
             : NULL;
}

gboolean
site_matrix_is_uniform (const char *text)
{
  return text != NULL && link_of_uniform (text) != NULL;
}

typedef struct
{
  guint    n;
  SiteLink link;
} Uniform;

static gpointer
make_uniform (gconstpointer user, DiagList *diags)
{
  const Uniform *uniform = user;
  SiteMatrix    *self = matrix_new (uniform->n);

  (void) diags;
  for (guint i = 0; i < self->n; i++)
    self->names[i] = g_strdup_printf ("site-%u", i);
  for (guint from = 0; from < self->n; from++)
    for (guint to = 0; to < self->n; to++)
      if (from != to)
        self->links[from * self->n + to] = uniform->link;
  return self;
}

const SiteMatrix *
site_matrix_get_uniform (InputFiles *files, const char *text, const SourceMark *mark,
                         DiagList *diags)
{
  const guint      errors = diag_list_n_errors (diags);
  const guint64    n = g_ascii_strtoull (text, NULL, 10);
  g_autofree char *key = g_strdup_printf ("sites %s", text);
  Uniform          uniform = { 0 };

  if (!check_size (n, UNIFORM_HINT, mark, diags))
    return NULL;
  uniform.n = (guint) n;
  read_link (&uniform.link, link_of_uniform (text), mark, diags);
  return diag_list_n_errors (diags) > errors
             ? NULL
             : input_files_get (files, key, make_uniform, &uniform, matrix_free, diags);
}
