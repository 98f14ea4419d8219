#include "predict/track-record.h"

#include <math.h>
#include <string.h>

#include "base/compare.h"
#include "base/config/csv.h"
#include "base/file/layout.h"
#include "predict/quantile-band.h"

/* ---- lines ----------------------------------------------------------------------------------- */

typedef enum
{
  SHARE_STRATEGY = 1 << 0,
  SHARE_NODES = 1 << 1,
  SHARE_PRECISION = 1 << 2,
} Share;

/* What a line shares with what is asked for, beside the generation. */
typedef struct
{
  guint  shares; /* Share */
  double error;  /* its absolute value */
} Line;

/* Numbers of nodes among which predictions differ little: one, a rack or so, a hall. */
static const struct
{
  guint       most;
  const char *name;
} node_classes[] = {
  { 1, "1 node" },
  { 8, "2 to 8 nodes" },
  { 64, "9 to 64 nodes" },
  { G_MAXUINT, "65 nodes and more" },
};

static guint
class_of_nodes (guint n)
{
  guint class_ = 0;

  while (n > node_classes[class_].most)
    class_++;
  return class_;
}

const char *
track_precision (gboolean fp8, gboolean fp32)
{
  return fp8 ? "fp8" : fp32 ? "32 bits" : "16 bits";
}

/* The field of the column NAME; "" where the table has none. */
static const char *
field (const CsvReader *reader, const char *name)
{
  const gint at = csv_reader_find (reader, name);

  return at >= 0 ? csv_reader_field (reader, (guint) at) : "";
}

static void
read_line (const CsvReader *reader, const TrackQuery *query, TrackRecord *self, GArray *lines)
{
  const guint nodes = (guint) g_ascii_strtoull (field (reader, "nodes"), NULL, 10);
  Line        line = { .error = fabs (g_ascii_strtod (field (reader, "error"), NULL)) };

  self->gpu = self->gpu || g_str_equal (field (reader, "gpu"), query->gpu);
  self->framework =
      self->framework || g_strcmp0 (field (reader, "framework"), query->framework) == 0;
  if (!g_str_equal (field (reader, "generation"), query->generation))
    return;
  if (g_str_equal (field (reader, "strategy"), query->strategy))
    line.shares |= SHARE_STRATEGY;
  if (class_of_nodes (nodes) == class_of_nodes (query->n_nodes))
    line.shares |= SHARE_NODES;
  if (g_str_equal (field (reader, "precision"), query->precision))
    line.shares |= SHARE_PRECISION;
  g_array_append_val (lines, line);
}

/* ---- what is like it ------------------------------------------------------------------------- */

/* "hopper, fsdp2, 1 node, 16 bits": of SHARES. */
static char *
alike_text (const TrackQuery *query, guint shares)
{
  GString *out = g_string_new (query->generation);

  if (shares & SHARE_STRATEGY)
    g_string_append_printf (out, ", %s", query->strategy);
  if (shares & SHARE_NODES)
    g_string_append_printf (out, ", %s", node_classes[class_of_nodes (query->n_nodes)].name);
  if (shares & SHARE_PRECISION)
    g_string_append_printf (out, ", %s", query->precision);
  return g_string_free (out, FALSE);
}

static GArray *
errors_of (const GArray *lines, guint shares)
{
  GArray *errors = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; i < lines->len; i++)
    {
      const Line *line = &g_array_index (lines, Line, i);

      if ((line->shares & shares) == shares)
        g_array_append_val (errors, line->error);
    }
  g_array_sort (errors, compare_doubles);
  return errors;
}

/* The nearest kind of run of which there are enough, or else all of the generation. */
static void
take_alike (TrackRecord *self, const TrackQuery *query, const GArray *lines)
{
  static const guint levels[] = { SHARE_STRATEGY | SHARE_NODES | SHARE_PRECISION,
                                  SHARE_STRATEGY | SHARE_PRECISION, SHARE_NODES | SHARE_PRECISION,
                                  SHARE_PRECISION, 0 };

  for (guint i = 0; i < G_N_ELEMENTS (levels) && self->n == 0; i++)
    {
      g_autoptr (GArray) errors = errors_of (lines, levels[i]);
      const double      *sorted = (const double *) (gconstpointer) errors->data;

      if (errors->len < TRACK_RECORD_LEAST && (levels[i] != 0 || errors->len == 0))
        continue;
      self->n = errors->len;
      self->median = quantile_of_sorted (sorted, errors->len, 0.5);
      self->p90 = quantile_of_sorted (sorted, errors->len, 0.9);
      self->alike = alike_text (query, levels[i]);
    }
}

gboolean
track_record_find (TrackRecord *self, const TrackQuery *query, const char *file)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autofree char      *shipped = layout_data_file (TRACK_RECORD_FILE);
  const char           *path = file != NULL ? file : shipped;
  g_autoptr (CsvReader) reader = NULL;
  g_autoptr (GArray)    lines = g_array_new (FALSE, FALSE, sizeof (Line));

  if (query->gpu == NULL || !g_file_test (path, G_FILE_TEST_EXISTS))
    return FALSE;
  reader = csv_reader_open (path, diags);
  if (reader == NULL)
    return FALSE;
  *self = (TrackRecord){ .median = NAN, .p90 = NAN, .framework = query->framework == NULL };
  while (csv_reader_next (reader, diags))
    read_line (reader, query, self, lines);
  take_alike (self, query, lines);
  return TRUE;
}

void
track_record_clear (TrackRecord *self)
{
  g_clear_pointer (&self->alike, g_free);
}
