#include "evidence/figures/figure-region.h"

#include <math.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/intern.h"
#include "base/words.h"
#include "evidence/figures/figure-private.h"
#include "evidence/figures/figure-published.h"

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
published_of (const RegionLine *row)
{
  return (Range){ row->published - row->rounded, row->published + row->rounded };
}

/* A GPU's throughput over that of one node, as R gives it. */
static Range
speed_of (const RegionLine *row, Range r)
{
  if (row->nodes == 1)
    return (Range){ 1, 1 };
  if (row->every == 1)
    return (Range){ 1 / (1 + r.high), 1 / MAX (1, 1 + r.low - row->hidden) };
  return (Range){ 1 / MAX (1, r.high / row->every), 1 / MAX (1, r.low / row->every) };
}

/* The r of ROW, from its speed: by the same rules, solved for r. */
static void
find_ratio (RegionLine *row)
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
region_of (const Figures *self, guint gpus, guint nodes)
{
  Region region = { .gpus = gpus, .nodes = nodes, .high = INFINITY };

  for (guint i = 0; i < self->lines->len; i++)
    {
      const RegionLine *row = FIGURE_LINE (self, RegionLine, i);

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
find_regions (Figures *self)
{
  const Region all = region_of (self, 0, 0);

  for (guint i = 0; i < self->lines->len; i++)
    {
      const RegionLine *row = FIGURE_LINE (self, RegionLine, i);
      const Region      region = region_of (self, row->gpus, row->nodes);
      gboolean          known = isnan (row->low);

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

#define CELL(member) G_STRUCT_OFFSET (RegionLine, member)
#define MANY         1e7

static const FigureColumn columns[] = {
  { "figure", CELL (figure), .type = FIGURE_WORD },
  { "row", CELL (row), .type = FIGURE_WORD },
  { "gpus", CELL (gpus), .type = FIGURE_WHOLE, .min = 1, .max = MANY },
  { "nodes", CELL (nodes), .type = FIGURE_WHOLE, .min = 1, .max = MANY },
  { "every", CELL (every), .type = FIGURE_WHOLE, .min = 1, .max = MANY },
  { "hidden", CELL (hidden), .type = FIGURE_NUMBER, .min = 0, .max = 1 },
  { "published", CELL (published), .type = FIGURE_OPTIONAL, .min = 1e-6, .max = 1e15 },
  { "over", CELL (over), .type = FIGURE_WORD },
  { "assumptions", CELL (assumptions), .type = FIGURE_WORD },
};

static const RegionLine *
find_row (const Figures *self, const char *name)
{
  for (guint i = 0; i < self->lines->len; i++)
    if (strcmp (FIGURE_LINE (self, RegionLine, i)->row, name) == 0)
      return FIGURE_LINE (self, RegionLine, i);
  return NULL;
}

/* The line of one node, whose steps take T0; NULL: there is none so far. */
static const RegionLine *
find_base (const Figures *self)
{
  for (guint i = 0; i < self->lines->len; i++)
    if (FIGURE_LINE (self, RegionLine, i)->nodes == 1)
      return FIGURE_LINE (self, RegionLine, i);
  return NULL;
}

/*
 * What SPEED is of a line over `over`, which stands above; nothing, where the line is there for
 * others. FALSE after a diagnostic.
 */
static gboolean
read_over (const Figures *self, RegionLine *row, const CsvReader *reader, DiagList *diags)
{
  const SourceMark  mark = figure_table_mark (reader, "over");
  const RegionLine *over = find_row (self, row->over);
  Region            region;
  Range             speed;

  if (over == NULL)
    {
      g_autoptr (GPtrArray) names = words_of (self->lines, CELL (row));
      g_autofree char      *hint = NULL;

      g_ptr_array_add (names, NULL);
      hint = suggest_hint (row->over, (const char *const *) names->pdata);
      diag_error (diags, &mark, hint, "no row '%s' stands above this one", row->over);
      return FALSE;
    }
  region = region_of (self, over->gpus, over->nodes);
  if (!isnan (row->published) && over->nodes > 1 && isnan (over->published) && region.from == NULL)
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
read_throughput (const Figures *self, RegionLine *row, const CsvReader *reader, DiagList *diags)
{
  const SourceMark  mark = figure_table_mark (reader, "nodes");
  const RegionLine *base = find_base (self);
  Range             speed = { 1, 1 };

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
check_line (const Figures *self, const RegionLine *row, const CsvReader *reader, DiagList *diags)
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
check_cells (gpointer data, gpointer line, const CsvReader *reader, DiagList *diags)
{
  const SourceMark mark = figure_table_mark (reader, "published");
  const char      *text = figure_table_cell (reader, "published");
  Figures         *self = data;
  RegionLine      *row = line;

  row->speed_low = row->speed_high = row->low = row->high = NAN;
  if (!check_line (self, row, reader, diags))
    return;
  if (!isnan (row->published) && text[strspn (text, "0123456789.")] != '\0')
    {
      diag_error (diags, &mark, "its last digit says how it was rounded",
                  "expected a number in digits for 'published', got '%s'", text);
      return;
    }
  row->rounded = figure_rounding (text);
  if (*row->over != '\0' ? read_over (self, row, reader, diags)
                         : isnan (row->published) || read_throughput (self, row, reader, diags))
    if (row->nodes > 1 && !isnan (row->published))
      find_ratio (row);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The name of SELF, and why no r explains all of its lines. */
static void
describe (Figures *figures, Region *self)
{
  g_autoptr (GString) reason = g_string_new (NULL);
  g_autofree char    *name =
      self->gpus > 0 ? g_strdup_printf ("all rows of %u GPUs on %u nodes", self->gpus, self->nodes)
                        : g_strdup ("all rows");

  self->name = figure_keep (figures, name);
  if (region_explains (self))
    return;
  if (self->low > self->high)
    g_string_append_printf (reason, "at most %.2f by '%s', at least %.2f by '%s'", self->high,
                            self->to->row, self->low, self->from->row);
  else
    g_string_append_printf (reason, "the nearest from %.2f to %.2f", self->low, self->high);
  if (self->n_beyond > 0)
    g_string_append_printf (reason, "; %u faster than any r makes them", self->n_beyond);
  self->reason = figure_keep (figures, reason->str);
}

/* Adds the r of some LINE, from LOW to HIGH, as a row with a case of its own. */
static void
add_ratio (Figures *self, const RegionLine *line, const char *name, double low, double high,
           const char *reason)
{
  const FigureCase one = { .reason = reason };
  FigureRow        row = { .figure = line->figure,
                           .row = name,
                           .assumptions = line->assumptions,
                           .title = "allreduce_over_step",
                           .published = NAN,
                           .published_high = NAN,
                           .cases = g_array_new (FALSE, FALSE, sizeof (FigureCase)),
                           .n_used = reason == NULL,
                           .low = low,
                           .high = high,
                           .error = NAN };

  g_array_append_val (row.cases, one);
  g_array_append_val (self->rows, row);
}

static void
add_rows (Figures *self)
{
  for (guint i = 0; i < self->lines->len; i++)
    {
      RegionLine      *line = FIGURE_LINE (self, RegionLine, i);
      g_autofree char *faster =
          g_strdup_printf ("%.1f %% faster than any r makes it", 100 * line->beyond);

      line->reason = line->beyond > 0 ? figure_keep (self, faster) : NULL;
      if (!isnan (line->low))
        add_ratio (self, line, line->row, line->low, line->high, line->reason);
    }
  for (guint i = 0; i < self->regions->len; i++)
    {
      Region *region = &g_array_index (self->regions, Region, i);

      describe (self, region);
      add_ratio (self, region->from, region->name, region->low, region->high, region->reason);
    }
}

static gboolean
compute (Figures *self, const FigureInput *input, DiagList *diags)
{
  g_autofree char *file = figure_file (self->folder, self->name, figure_region.suffix);
  const SourceMark top = { .file = intern_text (file), .line = 1 };

  if (self->lines->len == 0)
    {
      diag_error (diags, &top, "a row a run, that of one node first", "the table has no rows");
      return FALSE;
    }
  self->regions = g_array_new (FALSE, TRUE, sizeof (Region));
  find_regions (self);
  if (!figure_take_published (self, input, diags))
    return FALSE;
  add_rows (self);
  return TRUE;
}

const FigureComputation figure_region = {
  .suffix = ".region.csv",
  .lines = { columns, G_N_ELEMENTS (columns), .size = sizeof (RegionLine), .check = check_cells },
  .row_size = sizeof (FigureRow),
  .clear_row = figure_row_clear,
  .compute = compute,
};
