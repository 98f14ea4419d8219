/* The streams and the memory over a period. */
#include <math.h>
#include <string.h>

#include "report/plot/plot-private.h"

#define GIB 1073741824.0

#define STREAM_WIDTH 980
#define ROW_PIXELS   26
#define NARROWEST    2000 /* boxes side by side over the width: narrower ones are drawn as one */
#define CHARACTERS   160  /* of a name in a box of the whole width */
#define LEAST_CUT    10   /* characters that are left of a name that has no room */
#define MAX_LEVELS   400
#define MAX_ROW      100  /* characters of a row's name */
#define MARGIN       0.06 /* of a layer: shown around it */

/* ---- streams --------------------------------------------------------------------------------- */

/* A picture's window, from FROM to TO seconds. */
typedef struct
{
  const Timeline *timeline;
  double          from, to;
  guint           layer; /* boxes have their ops' names, without this one's; SCHEDULE_NONE: none */
  GArray         *rows;  /* guint: lanes that have slices in the window */
  gboolean        parts[TIME_N];
} Window;

static double
begin_of (const TimelineSlice *slice)
{
  return (double) slice->begin / 1e12;
}

static double
end_of (const TimelineSlice *slice)
{
  return (double) (slice->begin + slice->duration) / 1e12;
}

static gboolean
is_inside (const Window *self, const TimelineSlice *slice)
{
  return end_of (slice) > self->from && begin_of (slice) < self->to;
}

static void
window_init (Window *self, const Timeline *timeline, double from, double to, guint layer)
{
  *self = (Window){ .timeline = timeline,
                    .from = from,
                    .to = to,
                    .layer = layer,
                    .rows = g_array_new (FALSE, FALSE, sizeof (guint)) };
  for (guint i = 0; i < timeline->slices->len; i++)
    {
      const TimelineSlice *slice = &g_array_index (timeline->slices, TimelineSlice, i);
      const TimelineLane  *lane = &g_array_index (timeline->lanes, TimelineLane, slice->lane);

      if (!is_inside (self, slice) || (layer != SCHEDULE_NONE && lane->rank > 0))
        continue;
      self->parts[slice->part] = TRUE;
      if (self->rows->len == 0
          || g_array_index (self->rows, guint, self->rows->len - 1) != slice->lane)
        g_array_append_val (self->rows, slice->lane);
    }
}

/* The row of LANE; as many as there are: none. */
static guint
row_of (const Window *self, guint lane)
{
  guint row = 0;

  while (row < self->rows->len && g_array_index (self->rows, guint, row) != lane)
    row++;
  return row;
}

/* From BEGIN to END, inside the window; wide enough to be seen. */
static void
append_box (const Window *self, double begin, double end, guint row, GString *data)
{
  double least = (self->to - self->from) / NARROWEST;

  begin = MAX (begin, self->from);
  plot_append_number (data, begin);
  plot_append_number (data, MIN (MAX (end, begin + least), self->to));
  g_string_append_printf (data, "%u\n", row);
}

/* Boxes of one part; those that nobody could tell apart are one. */
static void
append_part (const Window *self, TimePart part, GString *data)
{
  const GArray *slices = self->timeline->slices;
  double        least = (self->to - self->from) / NARROWEST, begin = 0, end = 0;
  guint         row = G_MAXUINT;

  for (guint i = 0; i < slices->len; i++)
    {
      const TimelineSlice *slice = &g_array_index (slices, TimelineSlice, i);

      if (slice->part != part || !is_inside (self, slice)
          || row_of (self, slice->lane) == self->rows->len)
        continue;
      if (row == row_of (self, slice->lane) && begin_of (slice) - end < least / 2
          && (self->layer == SCHEDULE_NONE || begin_of (slice) - begin < least))
        {
          end = end_of (slice);
          continue;
        }
      if (row != G_MAXUINT)
        append_box (self, begin, end, row, data);
      row = row_of (self, slice->lane);
      begin = begin_of (slice);
      end = end_of (slice);
    }
  if (row != G_MAXUINT)
    append_box (self, begin, end, row, data);
  else
    g_string_append (data, "-9 -9 -9\n");
  g_string_append (data, "\n\n");
}

/* Dark on a light colour of style.gp, light on a dark one. */
static guint
text_colour (TimePart part)
{
  static const gboolean light[TIME_N] = {
    [TIME_OPTIMIZER] = TRUE, [TIME_COPY_KERNELS] = TRUE, [TIME_INTRA_NODE] = TRUE,
    [TIME_SKEW] = TRUE,      [TIME_OUTER] = TRUE,
  };

  return light[part] ? 0x101010 : 0xfefefe;
}

/* LABEL, "mlp.up block 3 mlp", up to the picture's layer, in ROOM characters; NULL: no room. */
static char *
short_name (const Window *self, const char *label, guint room)
{
  g_autofree char *layer = g_strdup_printf (" block %u", self->layer - 1);
  g_autofree char *name = g_strdup (label);
  char            *own = strstr (name, layer);

  if (own != NULL && !g_ascii_isdigit (own[strlen (layer)]))
    *own = '\0';
  if (g_utf8_strlen (name, -1) > room && room < LEAST_CUT)
    return NULL;
  return gnuplot_plain_text (name, (glong) MAX (room, LEAST_CUT));
}

static void
append_names (const Window *self, GString *data)
{
  const GArray *slices = self->timeline->slices;

  g_string_append (data, "-9 -9 -9 \"\" 0\n");
  for (guint i = 0; i < slices->len && self->layer != SCHEDULE_NONE; i++)
    {
      const TimelineSlice *slice = &g_array_index (slices, TimelineSlice, i);
      double               begin = MAX (begin_of (slice), self->from);
      double               end = MIN (end_of (slice), self->to);
      guint                row = row_of (self, slice->lane);
      double               share = (end - begin) / (self->to - self->from);
      g_autofree char     *name = NULL;

      if (row == self->rows->len || share <= 0 || slice->part == TIME_HOST)
        continue;
      name = short_name (self, g_ptr_array_index (self->timeline->labels, slice->label),
                         (guint) (share * CHARACTERS));
      if (name == NULL)
        continue;
      plot_append_number (data, begin);
      plot_append_number (data, end);
      g_string_append_printf (data, "%u \"%s\" %u\n", row, name,
                              text_colour ((TimePart) slice->part));
    }
}

/* "compute", or of several ranks "rank 8: compute". */
static char *
row_name (const Window *self, guint row)
{
  const Timeline     *timeline = self->timeline;
  const TimelineLane *lane =
      &g_array_index (timeline->lanes, TimelineLane, g_array_index (self->rows, guint, row));
  const char *rank = g_ptr_array_index (timeline->ranks, lane->rank);

  if (timeline->ranks->len == 1 || self->layer != SCHEDULE_NONE)
    return g_strdup (lane->name);
  return g_strdup_printf ("%.*s: %s", (int) strcspn (rank, ",("), rank, lane->name);
}

/*
 * Sets the arrays WHAT_styles, from FIRST on, and WHAT_names to those of N things that are SHOWN;
 * NAMES has all of them.
 */
static void
set_shown (GString *settings, const char *what, guint first, const gboolean *shown,
           const char *const *names, guint n)
{
  g_autoptr (GString) styles = g_string_new (NULL), titles = g_string_new (NULL);
  guint               n_shown = 0;

  for (guint i = 0; i < n; i++)
    if (shown[i])
      {
        const char *comma = n_shown++ > 0 ? ", " : "";

        g_string_append_printf (styles, "%s%u", comma, first + i);
        g_string_append (titles, comma);
        gnuplot_append_quoted (titles, names[i]);
      }
  g_string_append_printf (settings, "array %s_styles[%u] = [%s]\narray %s_names[%u] = [%s]\n", what,
                          n_shown, styles->str, what, n_shown, titles->str);
}

static gboolean
add_window (GArray *pictures, const PlotScripts *scripts, const char *name, const char *title,
            const Window *window, GError **error)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_free);
  GString              *settings = g_string_new (NULL), *data = g_string_new ("# begin end row\n");
  const char           *unit_name, *names[TIME_N];
  double                unit = plot_time_unit (window->to - window->from, &unit_name);

  plot_set_text (settings, "title_text", title);
  plot_set_number (settings, "from", window->from);
  plot_set_number (settings, "to", window->to);
  plot_set_number (settings, "unit", unit);
  plot_set_text (settings, "unit_name", unit_name);
  for (guint row = 0; row < window->rows->len; row++)
    g_ptr_array_add (rows, row_name (window, row));
  g_string_append_printf (settings, "rows = %u\n", window->rows->len);
  gnuplot_append_tics (settings, 'y', (const char *const *) rows->pdata, rows->len, MAX_ROW);
  for (guint part = 0; part < TIME_N; part++)
    {
      names[part] = time_part_name ((TimePart) part);
      if (window->parts[part])
        append_part (window, (TimePart) part, data);
    }
  set_shown (settings, "part", 1, window->parts, names, TIME_N);
  append_names (window, data);
  return plot_add (pictures, scripts, name, "stream-timeline", settings, data, STREAM_WIDTH,
                   130 + ROW_PIXELS * window->rows->len, error);
}

/* ---- one layer ------------------------------------------------------------------------------- */

/*
 * The first run of kernels of LAYER in PHASE on the first rank, with nothing of another layer
 * between them; FALSE where there is none.
 */
static gboolean
find_layer (const Timeline *self, guint layer, SchedulePhase phase, double *from, double *to)
{
  gboolean found = FALSE;

  for (guint i = 0; i < self->slices->len; i++)
    {
      const TimelineSlice *slice = &g_array_index (self->slices, TimelineSlice, i);
      const TimelineLane  *lane = &g_array_index (self->lanes, TimelineLane, slice->lane);

      if (lane->rank > 0 || slice->part != TIME_COMPUTE || slice->layer == SCHEDULE_NONE)
        continue;
      if (found && (slice->layer != layer || slice->phase != phase))
        return TRUE;
      if (slice->layer != layer || slice->phase != phase)
        continue;
      if (!found)
        *from = begin_of (slice);
      *to = end_of (slice);
      found = TRUE;
    }
  return found;
}

/*
 * In the middle of those that the first rank computes forward; SCHEDULE_NONE: of none, or kernels
 * of several layers were simulated as one op, so that not each of them shows.
 */
static guint
middle_layer (const Timeline *self)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  guint                  low = SCHEDULE_NONE, high = 0;

  for (guint i = 0; i < self->slices->len; i++)
    {
      const TimelineSlice *slice = &g_array_index (self->slices, TimelineSlice, i);

      if (slice->part != TIME_COMPUTE || slice->phase != PHASE_FORWARD
          || slice->layer == SCHEDULE_NONE
          || g_array_index (self->lanes, TimelineLane, slice->lane).rank > 0)
        continue;
      g_hash_table_add (seen, GUINT_TO_POINTER (slice->layer));
      low = MIN (low, slice->layer);
      high = MAX (high, slice->layer);
    }
  return g_hash_table_size (seen) == 0 || g_hash_table_size (seen) < high - low + 1
             ? SCHEDULE_NONE
             : low + (high - low) / 2;
}

static gboolean
add_layer (GArray *pictures, const PlotScripts *scripts, const Timeline *timeline,
           const char *title, guint layer, SchedulePhase phase, GError **error)
{
  const char      *name = phase == PHASE_FORWARD ? PICTURE_LAYER_FORWARD : PICTURE_LAYER_BACKWARD;
  g_autofree char *whole =
      layer > 0
          ? g_strdup_printf ("%s: block %u, %s", title, layer - 1, schedule_phase_name (phase))
          : g_strdup_printf ("%s: embedding, %s", title, schedule_phase_name (phase));
  double   from, to, margin;
  Window   window;
  gboolean added;

  if (!find_layer (timeline, layer, phase, &from, &to))
    return TRUE;
  margin = MARGIN * (to - from);
  window_init (&window, timeline, MAX (from - margin, 0),
               MIN (to + margin, (double) timeline->length / 1e12), layer);
  added = add_window (pictures, scripts, name, whole, &window, error);
  g_array_unref (window.rows);
  return added;
}

gboolean
plot_add_streams (GArray *pictures, const PlotScripts *scripts, const Timeline *timeline,
                  const char *title, GError **error)
{
  guint    layer = middle_layer (timeline);
  Window   window;
  gboolean added;

  if (timeline->slices->len == 0)
    return TRUE;
  window_init (&window, timeline, 0, (double) timeline->length / 1e12, SCHEDULE_NONE);
  added = add_window (pictures, scripts, PICTURE_STREAM_TIMELINE, title, &window, error);
  g_array_unref (window.rows);
  return added
         && (layer == SCHEDULE_NONE
             || (add_layer (pictures, scripts, timeline, title, layer, PHASE_FORWARD, error)
                 && add_layer (pictures, scripts, timeline, title, layer, PHASE_BACKWARD, error)));
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Categories that there are, and the highest level in bytes. */
static double
find_categories (const GArray *levels, gboolean *shown)
{
  double highest = 0;

  for (guint i = 0; i < levels->len; i++)
    {
      double sum = 0;

      for (guint c = 0; c < POOL_N_CATEGORIES; c++)
        {
          guint64 bytes = g_array_index (levels, TimelineLevel, i).bytes[c];

          shown[c] |= bytes > 0;
          sum += (double) bytes;
        }
      highest = MAX (highest, sum);
    }
  return highest;
}

static void
append_level (GString *data, const TimelineLevel *level, double time, const gboolean *shown)
{
  plot_append_number (data, time);
  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    if (shown[c])
      plot_append_number (data, (double) level->bytes[c] / GIB);
  g_string_append_c (data, '\n');
}

gboolean
plot_add_memory (GArray *pictures, const PlotScripts *scripts, const Timeline *timeline,
                 const char *title, GError **error)
{
  g_autoptr (GArray) levels = timeline_thin_memory (timeline, MAX_LEVELS);
  gboolean           shown[POOL_N_CATEGORIES] = { FALSE };
  GString           *settings, *data;
  const char        *unit_name, *names[POOL_N_CATEGORIES];
  double             length = (double) timeline->length / 1e12, highest, capacity;

  if (levels->len == 0)
    return TRUE;
  settings = g_string_new (NULL);
  data = g_string_new ("# time_s, GiB of each category\n");
  highest = find_categories (levels, shown) / GIB;
  capacity = (double) timeline->capacity / GIB;
  plot_set_text (settings, "title_text", title);
  plot_set_number (settings, "length", length);
  plot_set_number (settings, "unit", plot_time_unit (length, &unit_name));
  plot_set_text (settings, "unit_name", unit_name);
  plot_set_number (settings, "capacity", capacity);
  plot_set_number (settings, "top",
                   1.1 * (capacity < 1.5 * highest ? MAX (capacity, highest) : highest));
  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    names[c] = pool_category_name ((PoolCategory) c);
  set_shown (settings, "category", 31, shown, names, POOL_N_CATEGORIES);
  for (guint i = 0; i < levels->len; i++)
    append_level (data, &g_array_index (levels, TimelineLevel, i),
                  (double) g_array_index (levels, TimelineLevel, i).time / 1e12, shown);
  append_level (data, &g_array_index (levels, TimelineLevel, levels->len - 1), length, shown);
  return plot_add (pictures, scripts, PICTURE_MEMORY_TIMELINE, "memory-timeline", settings, data,
                   860, 420, error);
}
