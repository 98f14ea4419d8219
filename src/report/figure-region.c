#include "report/figure-region.h"

#include <math.h>

#include "report/assumptions-private.h"
#include "report/fields-private.h"
#include "report/figures.h"
#include "report/terminal-private.h"

static const RegionRow *
row_at (const FigureRegion *self, guint i)
{
  return &g_array_index (self->rows, RegionRow, i);
}

static const Region *
region_at (const FigureRegion *self, guint i)
{
  return &g_array_index (self->regions, Region, i);
}

/* "all rows of 16 GPUs on 2 nodes", or "all rows". Newly allocated. */
static char *
name_of (const Region *region)
{
  return region->gpus > 0
             ? g_strdup_printf ("all rows of %u GPUs on %u nodes", region->gpus, region->nodes)
             : g_strdup ("all rows");
}

/* Why no r explains ROW; NULL when some does. Newly allocated. */
static char *
row_reason (const RegionRow *row)
{
  return row->beyond > 0 ? g_strdup_printf ("%.1f %% faster than any r makes it", 100 * row->beyond)
                         : NULL;
}

/* The same of REGION. */
static char *
region_reason (const Region *region)
{
  g_autofree char *range = NULL;

  if (region_explains (region))
    return NULL;
  range = region->low > region->high
              ? g_strdup_printf ("at most %.2f by '%s', at least %.2f by '%s'", region->high,
                                 region->to->row, region->low, region->from->row)
              : g_strdup_printf ("the nearest from %.2f to %.2f", region->low, region->high);
  return region->n_beyond > 0
             ? g_strdup_printf ("%s; %u faster than any r makes them", range, region->n_beyond)
             : g_steal_pointer (&range);
}

/* ---- text ------------------------------------------------------------------------------------ */

static char *
number_text (double number)
{
  return isnan (number) ? g_strdup ("") : g_strdup_printf ("%.6g", number);
}

static void
append_table (const FigureRegion *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "ROW", FALSE },      { "GPUS", TRUE },   { "NODES", TRUE }, { "STEPS", TRUE },
    { "PUBLISHED", TRUE }, { "R FROM", TRUE }, { "R TO", TRUE },  { "", FALSE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < self->rows->len; i++)
    {
      const RegionRow *row = row_at (self, i);
      char            *cells[G_N_ELEMENTS (columns) + 1] = { NULL };

      cells[0] = g_strdup (row->row);
      cells[1] = g_strdup_printf ("%u", row->gpus);
      cells[2] = g_strdup_printf ("%u", row->nodes);
      cells[3] = g_strdup_printf ("%u", row->every);
      cells[4] = number_text (row->published);
      cells[5] = isnan (row->low) ? g_strdup ("") : g_strdup_printf ("%.2f", row->low);
      cells[6] = isnan (row->low) ? g_strdup ("") : g_strdup_printf ("%.2f", row->high);
      cells[7] = row->nodes == 1 ? g_strdup ("T_step") : row_reason (row);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

/* How r and the bytes of rings grow from the fewest GPUs to the most. */
static void
append_growth (const FigureRegion *self, GString *out)
{
  const Region *few, *many;
  double        low, high;

  if (self->regions->len < 3) /* one, and all */
    return;
  few = region_at (self, 0);
  many = region_at (self, self->regions->len - 2);
  region_growth (few, many, &low, &high);
  if (!isfinite (high))
    return;
  g_string_append_printf (out,
                          "from %u GPUs on %u nodes to %u on %u: r grows by %.2f to %.2f, bytes of "
                          "a ring of all GPUs by %.2f, of a ring of the nodes by %.2f\n",
                          few->gpus, few->nodes, many->gpus, many->nodes, low, high,
                          region_ring_growth (few->gpus, many->gpus),
                          region_ring_growth (few->nodes, many->nodes));
}

static void
append_assumptions (const FigureRegion *self, GString *out)
{
  g_autoptr (GPtrArray) said = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    report_assumed_once (row_at (self, i)->assumptions, said, out);
}

void
report_region_text (const FigureRegion *self, gboolean details, GString *out)
{
  report_figures_text (self->figures, details, out);
  g_string_append (out, "\nr = T_allreduce / T_step that explains each row, T_step without a "
                        "network, an all-reduce each so many steps:\n");
  append_table (self, out);
  g_string_append_c (out, '\n');
  for (guint i = 0; i < self->regions->len; i++)
    {
      const Region    *region = region_at (self, i);
      g_autofree char *name = name_of (region), *reason = region_reason (region);

      if (reason != NULL)
        g_string_append_printf (out, "%s: no r: %s", name, reason);
      else
        g_string_append_printf (out, "%s: r from %.2f to %.2f", name, region->low, region->high);
      g_string_append_c (out, '\n');
    }
  append_growth (self, out);
  if (details)
    append_assumptions (self, out);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Adds to ROWS, of FigureRow, the r of some ROW, with a case of its own. Takes REASON. */
static void
add_ratio (GArray *rows, const RegionRow *of, const char *name, double low, double high,
           char *reason)
{
  const FigureCase one = { .reason = reason };
  FigureRow        row = { .figure = of->figure,
                           .row = name,
                           .assumptions = of->assumptions,
                           .title = "allreduce_over_step",
                           .published = NAN,
                           .published_high = NAN,
                           .cases = g_array_new (FALSE, FALSE, sizeof (FigureCase)),
                           .n_used = reason == NULL,
                           .low = low,
                           .high = high,
                           .error = NAN };

  g_array_append_val (row.cases, one);
  g_array_append_val (rows, row);
}

void
report_region_csv (const FigureRegion *self, GString *out)
{
  const GArray         *predicted = self->figures->rows;
  g_autoptr (GArray)    rows = g_array_new (FALSE, FALSE, sizeof (FigureRow));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const Figures         all = { .rows = rows };

  g_array_append_vals (rows, predicted->data, predicted->len);
  for (guint i = 0; i < self->rows->len; i++)
    if (!isnan (row_at (self, i)->low))
      add_ratio (rows, row_at (self, i), row_at (self, i)->row, row_at (self, i)->low,
                 row_at (self, i)->high, row_reason (row_at (self, i)));
  for (guint i = 0; i < self->regions->len; i++)
    {
      const Region *region = region_at (self, i);

      g_ptr_array_add (names, name_of (region));
      add_ratio (rows, region->from, g_ptr_array_index (names, i), region->low, region->high,
                 region_reason (region));
    }
  report_figures_csv (&all, out);
  for (guint i = predicted->len; i < rows->len; i++)
    {
      GArray *cases = g_array_index (rows, FigureRow, i).cases;

      g_free (g_array_index (cases, FigureCase, 0).reason);
      g_array_unref (cases);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

FIELD_TEXT_OF (RegionRow, row_figure, p->figure)
FIELD_TEXT_OF (RegionRow, row_row, p->row)
FIELD_NUMBER_OF (RegionRow, row_gpus, p->gpus)
FIELD_NUMBER_OF (RegionRow, row_nodes, p->nodes)
FIELD_NUMBER_OF (RegionRow, row_every, p->every)
FIELD_NUMBER_OF (RegionRow, row_hidden, p->hidden)
FIELD_NUMBER_OF (RegionRow, row_published, p->published)
FIELD_TEXT_OF (RegionRow, row_over, *p->over != '\0' ? p->over : NULL)
FIELD_NUMBER_OF (RegionRow, row_speed_low, p->speed_low)
FIELD_NUMBER_OF (RegionRow, row_speed_high, p->speed_high)
FIELD_NUMBER_OF (RegionRow, row_low, p->low)
FIELD_NUMBER_OF (RegionRow, row_high, p->high)
FIELD_NUMBER_OF (RegionRow, row_beyond, isnan (p->low) ? NAN : p->beyond)
FIELD_TEXT_OF (RegionRow, row_assumptions, p->assumptions)

#define WORDS(field, getter)                          \
  {                                                   \
    .name = field, .type = FIELD_WORD, .text = getter \
  }
#define NUMBER(field, getter)                             \
  {                                                       \
    .name = field, .type = FIELD_NUMBER, .number = getter \
  }

static const Field row_fields[] = {
  WORDS ("figure", row_figure),
  WORDS ("row", row_row),
  NUMBER ("gpus", row_gpus),
  NUMBER ("nodes", row_nodes),
  NUMBER ("every", row_every),
  NUMBER ("hidden", row_hidden),
  NUMBER ("published", row_published),
  WORDS ("over", row_over),
  NUMBER ("speed_low", row_speed_low),
  NUMBER ("speed_high", row_speed_high),
  NUMBER ("ratio_low", row_low),
  NUMBER ("ratio_high", row_high),
  NUMBER ("beyond", row_beyond),
  WORDS ("assumptions", row_assumptions),
  { 0 },
};

FIELD_NUMBER_OF (Region, region_gpus, p->gpus > 0 ? p->gpus : NAN)
FIELD_NUMBER_OF (Region, region_nodes, p->gpus > 0 ? p->nodes : NAN)
FIELD_NUMBER_OF (Region, region_at_least, p->low)
FIELD_NUMBER_OF (Region, region_at_most, p->high)
FIELD_TEXT_OF (Region, region_from, p->from->row)
FIELD_TEXT_OF (Region, region_to, p->to->row)
FIELD_NUMBER_OF (Region, region_explained, region_explains (p))
FIELD_NUMBER_OF (Region, region_beyond, p->n_beyond)

static const Field region_fields[] = {
  NUMBER ("gpus", region_gpus),
  NUMBER ("nodes", region_nodes),
  NUMBER ("ratio_at_least", region_at_least),
  NUMBER ("ratio_at_most", region_at_most),
  WORDS ("at_least_by", region_from),
  WORDS ("at_most_by", region_to),
  { .name = "explains", .type = FIELD_BOOL, .number = region_explained },
  NUMBER ("n_beyond", region_beyond),
  { 0 },
};

void
report_region_json (const FigureRegion *self, GString *out)
{
  struct json_object *root = json_document_new (), *region = json_object_new_object ();

  report_figures_add_json (self->figures, root);
  json_object_object_add (
      region, "rows",
      fields_json_list (row_fields, self->rows->data, self->rows->len, sizeof (RegionRow)));
  json_object_object_add (
      region, "together",
      fields_json_list (region_fields, self->regions->data, self->regions->len, sizeof (Region)));
  json_object_object_add (root, "region", region);
  json_finish (root, out);
}
