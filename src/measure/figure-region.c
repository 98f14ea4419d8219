#include "measure/figure-region.h"

#include <math.h>
#include <string.h>

#include "base/intern.h"
#include "measure/figure-table.h"

#define SUFFIX ".region.csv"

static RegionRow *
row_at (const FigureRegion *self, guint i)
{
  return &g_array_index (self->rows, RegionRow, i);
}

/* ---- the rules ------------------------------------------------------------------------------- */

typedef struct
{
  double low, high;
} Range;

static Range
divide (Range a, Range b)
{
  return (Range){ a.low / b.high, a.high / b.low };
}

/* All that rounds to what ROW has published. */
static Range
published_of (const RegionRow *row)
{
  return (Range){ row->published - row->rounded, row->published + row->rounded };
}

/* A GPU's throughput over that of one node, as R gives it. */
static Range
speed_of (const RegionRow *row, Range r)
{
  if (row->nodes == 1)
    return (Range){ 1, 1 };
  if (row->every == 1)
    return (Range){ 1 / (1 + r.high), 1 / MAX (1, 1 + r.low - row->hidden) };
  return (Range){ 1 / MAX (1, r.high / row->every), 1 / MAX (1, r.low / row->every) };
}

/* The r of ROW, from its speed: by the same rules, solved for r. */
static void
find_ratio (RegionRow *row)
{
  const double least = MAX (1, 1 / row->speed_high), most = MAX (1, 1 / row->speed_low);

  row->beyond = MAX (row->speed_low - 1, 0);
  if (row->every == 1)
    {
      row->low = least - 1;
      row->high = most - 1 + row->hidden;
      return;
    }
  row->low = least > 1 ? row->every * least : 0;
  row->high = row->every * most;
}

/* ---- regions --------------------------------------------------------------------------------- */

gboolean
region_explains (const Region *self)
{
  return self->n_beyond == 0 && self->low <= self->high;
}

/* The shortest range that meets all lines: where they exclude each other, what lies between. */
static Range
span_of (const Region *self)
{
  return (Range){ MIN (self->low, self->high), MAX (self->low, self->high) };
}

void
region_growth (const Region *a, const Region *b, double *low, double *high)
{
  const Range growth = divide (span_of (b), span_of (a));

  *low = growth.low;
  *high = growth.high;
}

double
region_ring_growth (guint a, guint b)
{
  return (b - 1.0) / b / ((a - 1.0) / a);
}

/* Of the lines so far that have an r, on GPUS and NODES (0: on any). */
static Region
region_of (const FigureRegion *self, guint gpus, guint nodes)
{
  Region region = { .gpus = gpus, .nodes = nodes, .high = INFINITY };

  for (guint i = 0; i < self->rows->len; i++)
    {
      const RegionRow *row = row_at (self, i);

      if (isnan (row->low) || (gpus > 0 && (row->gpus != gpus || row->nodes != nodes)))
        continue;
      region.n_beyond += row->beyond > 0;
      if (region.from == NULL || row->low > region.low)
        {
          region.low = row->low;
          region.from = row;
        }
      if (region.to == NULL || row->high < region.high)
        {
          region.high = row->high;
          region.to = row;
        }
    }
  return region;
}

static gint
compare_regions (gconstpointer a, gconstpointer b)
{
  const Region *one = a, *other = b;

  if (one->gpus != other->gpus)
    return one->gpus < other->gpus ? -1 : 1;
  return one->nodes < other->nodes ? -1 : one->nodes > other->nodes;
}

static void
find_regions (FigureRegion *self)
{
  const Region all = region_of (self, 0, 0);

  for (guint i = 0; i < self->rows->len; i++)
    {
      const RegionRow *row = row_at (self, i);
      const Region     region = region_of (self, row->gpus, row->nodes);
      gboolean         known = isnan (row->low);

      for (guint k = 0; k < self->regions->len && !known; k++)
        known = compare_regions (&g_array_index (self->regions, Region, k), &region) == 0;
      if (!known)
        g_array_append_val (self->regions, region);
    }
  g_array_sort (self->regions, compare_regions);
  if (all.from != NULL)
    g_array_append_val (self->regions, all);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW(member) G_STRUCT_OFFSET (RegionRow, member)
#define MANY        1e7

static const FigureColumn columns[] = {
  { "figure", ROW (figure), FIGURE_WORD, 0, 0 },
  { "row", ROW (row), FIGURE_WORD, 0, 0 },
  { "gpus", ROW (gpus), FIGURE_WHOLE, 1, MANY },
  { "nodes", ROW (nodes), FIGURE_WHOLE, 1, MANY },
  { "every", ROW (every), FIGURE_WHOLE, 1, MANY },
  { "hidden", ROW (hidden), FIGURE_NUMBER, 0, 1 },
  { "published", ROW (published), FIGURE_OPTIONAL, 1e-6, 1e15 },
  { "over", ROW (over), FIGURE_WORD, 0, 0 },
  { "assumptions", ROW (assumptions), FIGURE_WORD, 0, 0 },
};

static const RegionRow *
find_row (const FigureRegion *self, const char *name)
{
  for (guint i = 0; i < self->rows->len; i++)
    if (strcmp (row_at (self, i)->row, name) == 0)
      return row_at (self, i);
  return NULL;
}

/* The line of one node, whose steps take T0; NULL: there is none so far. */
static const RegionRow *
find_base (const FigureRegion *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    if (row_at (self, i)->nodes == 1)
      return row_at (self, i);
  return NULL;
}

/* Half of the last digit of the published number. FALSE after a diagnostic. */
static gboolean
read_rounding (RegionRow *row, const CsvReader *reader, DiagList *diags)
{
  const SourceMark mark = figure_table_mark (reader, "published");
  const char      *text = csv_reader_field (reader, (guint) csv_reader_find (reader, "published"));
  const char      *point = strchr (text, '.');

  row->rounded = 0.5 * pow (10, point != NULL ? -(double) strlen (point + 1) : 0);
  if (text[strspn (text, "0123456789.")] == '\0')
    return TRUE;
  diag_error (diags, &mark, "its last digit says how it was rounded",
              "expected a number in digits for 'published', got '%s'", text);
  return FALSE;
}

/* FALSE after a diagnostic: ROW is over a line that does not stand above it. */
static gboolean
check_over (const FigureRegion *self, const RegionRow *row, const CsvReader *reader,
            DiagList *diags)
{
  const SourceMark      mark = figure_table_mark (reader, "over");
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char      *hint = NULL;

  if (*row->over == '\0' || find_row (self, row->over) != NULL)
    return TRUE;
  for (guint i = 0; i < self->rows->len; i++)
    g_ptr_array_add (names, (gpointer) row_at (self, i)->row);
  g_ptr_array_add (names, NULL);
  hint = suggest_hint (row->over, (const char *const *) names->pdata);
  diag_error (diags, &mark, hint, "no row '%s' stands above this one", row->over);
  return FALSE;
}

/* What SPEED is of a line over `over`, which stands above. FALSE after a diagnostic. */
static gboolean
read_over (const FigureRegion *self, RegionRow *row, const CsvReader *reader, DiagList *diags)
{
  const SourceMark mark = figure_table_mark (reader, "over");
  const RegionRow *over = find_row (self, row->over);
  const Region     region = region_of (self, over->gpus, over->nodes);
  Range            speed;

  if (over->nodes > 1 && isnan (over->published) && region.from == NULL)
    {
      diag_error (diags, &mark, "a row on as many, above this one, with a throughput would say it",
                  "nothing says what '%s' takes on %u GPUs of %u nodes", row->over, over->gpus,
                  over->nodes);
      return FALSE;
    }
  speed = isnan (over->published) ? speed_of (over, span_of (&region))
                                  : (Range){ over->speed_low, over->speed_high };
  row->speed_low = published_of (row).low * speed.low;
  row->speed_high = published_of (row).high * speed.high;
  return TRUE;
}

/* The speed of a line with a throughput. FALSE after a diagnostic. */
static gboolean
read_throughput (const FigureRegion *self, RegionRow *row, const CsvReader *reader, DiagList *diags)
{
  const SourceMark mark = figure_table_mark (reader, "nodes");
  const RegionRow *base = find_base (self);
  Range            speed = { 1, 1 };

  if (row->nodes > 1 && base == NULL)
    {
      diag_error (diags, &mark, "a step without a network takes what it takes on one node",
                  "the row of one node has to stand above '%s'", row->row);
      return FALSE;
    }
  if (row->nodes > 1)
    {
      speed = divide (published_of (row), published_of (base));
      speed.low *= (double) base->gpus / row->gpus;
      speed.high *= (double) base->gpus / row->gpus;
    }
  row->speed_low = speed.low;
  row->speed_high = speed.high;
  return TRUE;
}

/* FALSE after a diagnostic: the line does not go with itself, or with another one. */
static gboolean
check_line (const FigureRegion *self, const RegionRow *row, const CsvReader *reader,
            DiagList *diags)
{
  const SourceMark gpus = figure_table_mark (reader, "gpus");
  const SourceMark name = figure_table_mark (reader, "row");
  const guint      before = diag_list_n_errors (diags);

  if (*row->row == '\0')
    diag_error (diags, &name, "what is said of rows names them", "expected a name for 'row'");
  if (row->nodes > row->gpus)
    diag_error (diags, &gpus, NULL, "%u GPUs cannot be on %u nodes", row->gpus, row->nodes);
  if (find_row (self, row->row) != NULL)
    diag_error (diags, &name, NULL, "a row '%s' stands above", row->row);
  if (row->nodes == 1 && find_base (self) != NULL)
    diag_error (diags, &name, NULL, "'%s' and '%s' are both on one node", row->row,
                find_base (self)->row);
  if (row->nodes == 1 && (isnan (row->published) || *row->over != '\0'))
    diag_error (diags, &name, NULL, "expected a throughput of '%s', which is on one node",
                row->row);
  return diag_list_n_errors (diags) == before;
}

static void
finish_line (gpointer data, gpointer line, const CsvReader *reader, DiagList *diags)
{
  FigureRegion *self = data;
  RegionRow    *row = line;

  row->speed_low = row->speed_high = row->low = row->high = NAN;
  if (!check_line (self, row, reader, diags) || !check_over (self, row, reader, diags)
      || isnan (row->published) || !read_rounding (row, reader, diags))
    return;
  if (*row->over != '\0' ? read_over (self, row, reader, diags)
                         : read_throughput (self, row, reader, diags))
    if (row->nodes > 1)
      find_ratio (row);
}

/* ---- the figure ------------------------------------------------------------------------------ */

static char *
file_of (const char *folder, const char *name)
{
  g_autofree char *file = g_strconcat (name, SUFFIX, NULL);

  return g_build_filename (folder, file, NULL);
}

gboolean
figure_region_is (const char *folder, const char *name)
{
  g_autofree char *file = file_of (folder, name);

  return g_file_test (file, G_FILE_TEST_EXISTS);
}

/* FALSE after a diagnostic. */
static gboolean
read_rows (FigureRegion *self, const char *file, DiagList *diags)
{
  const SourceMark top = { .file = intern_text (file), .line = 1 };

  if (!figure_table_read (file, columns, G_N_ELEMENTS (columns), finish_line, self, self->rows,
                          self->strings, diags))
    return FALSE;
  if (self->rows->len > 0)
    return TRUE;
  diag_error (diags, &top, "a row a run, that of one node first", "the table has no rows");
  return FALSE;
}

FigureRegion *
figure_region_predict (const char *folder, const char *name, const PredictOptions *options,
                       guint n_threads, DiagList *diags)
{
  g_autoptr (FigureRegion) self = g_new0 (FigureRegion, 1);
  g_autofree char         *file = file_of (folder, name);

  self->strings = g_string_chunk_new (4096);
  self->rows = g_array_new (FALSE, TRUE, sizeof (RegionRow));
  self->regions = g_array_new (FALSE, TRUE, sizeof (Region));
  if (!read_rows (self, file, diags))
    return NULL;
  find_regions (self);
  self->figures = figures_predict (folder, name, options, n_threads, diags);
  return self->figures != NULL ? g_steal_pointer (&self) : NULL;
}

void
figure_region_free (FigureRegion *self)
{
  if (self == NULL)
    return;
  figures_free (self->figures);
  g_array_unref (self->rows);
  g_array_unref (self->regions);
  g_string_chunk_free (self->strings);
  g_free (self);
}
