#include "report/answer/collective.h"

#include <string.h>

#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/prediction/network-private.h"

/* Of what the columns call "gbps", which others write for gigabits. */
#define BANDWIDTH_UNIT "GB/s"

static const char *const fidelity_names[] = { "analytic", "fluid", "step" };

/* nccl-tests' name, without underscores where it has none. */
static const char *
tests_name (CollectiveKind kind)
{
  if (kind == COLLECTIVE_ALL_TO_ALL)
    return "alltoall";
  return kind == COLLECTIVE_SEND_RECV ? "sendrecv" : collective_kind_name (kind);
}

/* nccl-tests names an operation for send/receive too. */
static gboolean
has_redop (CollectiveKind kind)
{
  return collective_kind_sums (kind) || kind == COLLECTIVE_SEND_RECV;
}

/* nccl-tests does not run these in place, and says so. */
static gboolean
has_in_place (CollectiveKind kind)
{
  return !collective_kind_is_paired (kind);
}

/* What a byte of S is; every output says it. */
static const char *
size_convention (CollectiveKind kind)
{
  switch (kind)
    {
    case COLLECTIVE_ALL_GATHER:
      return "all that a rank receives: ranks x its own part; count is of one part";
    case COLLECTIVE_REDUCE_SCATTER:
      return "all that a rank puts in: ranks x its result; count is of one result";
    case COLLECTIVE_ALL_TO_ALL:
      return "a rank's whole send buffer; count is of what one peer gets";
    case COLLECTIVE_SEND_RECV:
      return "one message: each rank sends one and receives one";
    default:
      return "a rank's buffer";
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

/* A size of a sweep. */
typedef struct
{
  const CollectiveSweep  *sweep;
  const CollectiveSample *sample;
} Row;

static const char *
of_column (const Column *column, gconstpointer row)
{
  (void) row;
  return column->of;
}

COLUMN_TEXT_OF (Row, kind_name, tests_name (p->sweep->kind))
COLUMN_TEXT_OF (Row, fidelity_name, fidelity_names[p->sweep->fidelity])
COLUMN_TEXT_OF (Row, algorithm_name, collective_algorithm_name (p->sample->algorithm))
COLUMN_TEXT_OF (Row, protocol_name, collective_protocol_name (p->sample->protocol))

/* Until the last neighbour is through. */
static double
longest_concurrent (const Column *column, gconstpointer row)
{
  const Row *of = row;
  double     longest = 0;

  (void) column;
  for (guint i = 0; i < of->sweep->options.n_concurrent; i++)
    longest = MAX (longest, of->sample->concurrent[i]);
  return longest;
}

/* Titles are those of nccl-tests, and of what stands beside them. */
static const Column all_columns[] = {
  { "collective", NULL, COLUMN_TEXT, COLUMN_CSV_ONLY, .text = kind_name,
    .about = "nccl-tests' name" },
  { "bytes", "size", COLUMN_COUNT, 0, COLUMN_VIA (Row, sample, bytes), .unit = "B",
    .about = "size S as nccl-tests counts it" },
  { "count", "count", COLUMN_COUNT, 0, COLUMN_VIA (Row, sample, count), .unit = "elements" },
  { "type", "type", COLUMN_TEXT, 0, .text = of_column, .of = "float" },
  { "time_us", "time", COLUMN_NUMBER, 0, COLUMN_VIA (Row, sample, time), .scale = 1e6,
    .unit = "us" },
  { "algbw_gbps", "algbw", COLUMN_NUMBER, 0, COLUMN_VIA (Row, sample, algbw), .scale = 1e-9,
    .unit = "GB/s", .about = "10^9 bytes (not bits) a second: S over time" },
  { "busbw_gbps", "busbw", COLUMN_NUMBER, 0, COLUMN_VIA (Row, sample, busbw), .scale = 1e-9,
    .unit = "GB/s", .about = "the same times the collective's bus factor" },
  { "algorithm", "algorithm", COLUMN_TEXT, 0, .text = algorithm_name },
  { "protocol", "proto", COLUMN_TEXT, 0, .text = protocol_name },
  { "channels", "channels", COLUMN_COUNT, 0, COLUMN_VIA (Row, sample, channels) },
  { "binding", "bound by", COLUMN_WORD, 0, COLUMN_VIA (Row, sample, binding),
    .about = "resource, `channels` (their own rate) or `latency`" },
  { "alone_us", "alone", COLUMN_NUMBER, 0, COLUMN_VIA (Row, sample, alone), .scale = 1e6,
    .unit = "us", .about = "with `--beside`: without the neighbours" },
  { "beside_us", "beside", COLUMN_NUMBER, 0, .number = longest_concurrent, .scale = 1e6,
    .unit = "us", .about = "with `--beside`: the slowest neighbour; JSON: of each of them" },
  { "cluster", NULL, COLUMN_TEXT, COLUMN_CSV_ONLY, COLUMN_VIA (Row, sweep, cluster) },
  { "ranks", NULL, COLUMN_COUNT, COLUMN_CSV_ONLY, COLUMN_VIA (Row, sweep, n_ranks) },
  { "fidelity", NULL, COLUMN_TEXT, COLUMN_CSV_ONLY, .text = fidelity_name,
    .about = "`analytic`, `fluid` or `step`" },
  { "profiles", NULL, COLUMN_TEXT, COLUMN_CSV_ONLY, COLUMN_VIA (Row, sweep, profiles) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { "bandwidth_unit", NULL, COLUMN_TEXT, COLUMN_CSV_ONLY, .text = of_column, .of = BANDWIDTH_UNIT,
    .about = "`GB/s`: of the columns with `gbps` in their names" },
  { "placements", NULL, COLUMN_COUNT, COLUMN_CSV_ONLY, COLUMN_VIA (Row, sweep, n_placements),
    .about = "with `--placements`: draws of placement and hashes" },
  { "time_p10_us", "p10", COLUMN_NUMBER, 0, COLUMN_VIA (Row, sample, time_band.p10), .scale = 1e6,
    .unit = "us", .about = "with `--placements`: of the time over them" },
  { "time_p50_us", "p50", COLUMN_NUMBER, 0, COLUMN_VIA (Row, sample, time_band.p50), .scale = 1e6,
    .unit = "us" },
  { "time_p90_us", "p90", COLUMN_NUMBER, 0, COLUMN_VIA (Row, sample, time_band.p90), .scale = 1e6,
    .unit = "us" },
  { 0 },
};

/* Those that SELF has; newly allocated. */
static Column *
columns_of (const CollectiveSweep *self)
{
  static const char *const of_neighbours[] = { "alone_us", "beside_us", NULL };
  static const char *const of_bands[] = { "placements", "time_p10_us", "time_p50_us", "time_p90_us",
                                          NULL };
  GArray                  *columns = g_array_new (TRUE, FALSE, sizeof (Column));

  for (const Column *column = all_columns; column->kind != COLUMN_END; column++)
    if ((self->options.n_concurrent > 0 || !g_strv_contains (of_neighbours, column->key))
        && (self->n_placements > 0 || !g_strv_contains (of_bands, column->key)))
      g_array_append_val (columns, *column);
  return (Column *) (void *) g_array_free (columns, FALSE);
}

COLUMN_TEXT_OF (CollectiveNeighbour, neighbour_kind, tests_name (p->kind))
COLUMN_TEXT_OF (CollectiveNeighbour, neighbour_size, size_convention (p->kind))

static const Column neighbour_columns[] = {
  { "collective", NULL, COLUMN_TEXT, 0, .text = neighbour_kind },
  { "ranks", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (CollectiveNeighbour, n_ranks) },
  { "bytes", NULL, COLUMN_COUNT, COLUMN_OPTIONAL, COLUMN_MEMBER (CollectiveNeighbour, bytes) },
  { "start_us", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (CollectiveNeighbour, start), .scale = 1e6 },
  { "size", NULL, COLUMN_TEXT, 0, .text = neighbour_size },
  { 0 },
};

/* ---- as nccl-tests prints it ----------------------------------------------------------------- */

/* "# beside: all_gather, 8 ranks, 268435456 bytes, 10 us later" */
static void
append_concurrent (GString *out, const CollectiveNeighbour *concurrent)
{
  g_string_append_printf (out, "# beside: %s, %u ranks, ", tests_name (concurrent->kind),
                          concurrent->n_ranks);
  if (concurrent->bytes > 0)
    g_string_append_printf (out, "%" G_GUINT64_FORMAT " bytes", concurrent->bytes);
  else
    g_string_append (out, "the same size");
  if (concurrent->start > 0)
    g_string_append_printf (out, ", %g us later", 1e6 * concurrent->start);
  g_string_append_c (out, '\n');
}

static void
append_head (GString *out, const CollectiveSweep *self)
{
  const CollectiveSweepOptions *options = &self->options;

  g_string_append_printf (out,
                          "# shardsim: %s, predicted (%s), %u ranks on %s\n"
                          "# Collective test starting: %s_perf\n"
                          "# minBytes %" G_GUINT64_FORMAT " maxBytes %" G_GUINT64_FORMAT " step: ",
                          tests_name (self->kind), fidelity_names[self->fidelity], self->n_ranks,
                          self->cluster, tests_name (self->kind), options->min_bytes,
                          options->max_bytes);
  if (options->step_bytes > 0)
    g_string_append_printf (out, "%" G_GUINT64_FORMAT "(bytes)\n", options->step_bytes);
  else
    g_string_append_printf (out, "%g(factor)\n", options->step_factor);
  g_string_append_printf (out, "# size: %s\n", size_convention (self->kind));
  for (guint i = 0; i < options->n_concurrent; i++)
    append_concurrent (out, &self->concurrent[i]);
  if (self->n_placements > 0 && self->is_drawn)
    g_string_append_printf (out,
                            "# p10, p50, p90: of the time over %u draw%s of placement and "
                            "hashes; the rest is the first\n",
                            self->n_placements, self->n_placements > 1 ? "s" : "");
  else if (self->n_placements > 0)
    g_string_append (out, "# p10, p50, p90: one value, as nothing is drawn here: placement "
                          "'random' or 'scattered', or routing 'ecmp' would be\n");
}

COLUMN_TEXT_OF (Row, redop, has_redop (p->sweep->kind) ? "sum" : "none")
COLUMN_TEXT_OF (Row, root, collective_kind_is_rooted (p->sweep->kind) ? "0" : "-1")
COLUMN_TEXT_OF (Row, wrong_in_place, has_in_place (p->sweep->kind) ? "0" : "N/A")

/* The order of nccl-tests, and what it does not print. WIDTH below 0: to the left. */
static const struct
{
  int    width;
  Column of; /* a title alone: the column of that title, where the sweep has it */
} cells[] = {
  { 12, { .title = "size" } },
  { 12, { .title = "count" } },
  { 8, { .title = "type" } },
  { 6, { .title = "redop", .kind = COLUMN_TEXT, .text = redop } },
  { 6, { .title = "root", .kind = COLUMN_TEXT, .text = root } },
  { 7, { .title = "time" } },
  { 6, { .title = "algbw" } },
  { 6, { .title = "busbw" } },
  { 6, { .title = "#wrong", .kind = COLUMN_TEXT, .text = of_column, .of = "0" } },
  { 7, { .title = "time" } },
  { 6, { .title = "algbw" } },
  { 6, { .title = "busbw" } },
  { 6, { .title = "#wrong", .kind = COLUMN_TEXT, .text = wrong_in_place } },
  { -14, { .title = "algorithm" } },
  { -6, { .title = "proto" } },
  { 8, { .title = "channels" } },
  { 7, { .title = "alone" } },
  { 7, { .title = "beside" } },
  { 7, { .title = "p10" } },
  { 7, { .title = "p50" } },
  { 7, { .title = "p90" } },
  { 0, { .title = "bound by" } },
};

/* NULL: the sweep has no such column. */
static const Column *
column_of_cell (const Column *columns, guint i)
{
  if (cells[i].of.kind != COLUMN_END)
    return &cells[i].of;
  for (const Column *column = columns; column->kind != COLUMN_END; column++)
    if (g_strcmp0 (column->title, cells[i].of.title) == 0)
      return column;
  return NULL;
}

/* Right-aligned in WIDTH characters, with as many decimals up to two as fit. */
static void
append_figure (GString *out, int width, double value)
{
  for (int decimals = 2; decimals >= 0; decimals--)
    {
      g_autofree char *text = g_strdup_printf ("%*.*f", width, decimals, value);

      if ((int) strlen (text) <= width)
        {
          g_string_append (out, text);
          return;
        }
    }
  g_string_append_printf (out, "%*.*e", width, width >= 7 ? 1 : 0, value);
}

static void
append_row (GString *out, const Column *columns, const Row *row)
{
  for (guint i = 0; i < G_N_ELEMENTS (cells); i++)
    {
      const Column *column = column_of_cell (columns, i);

      if (column == NULL)
        continue;
      g_string_append (out, i > 0 ? "  " : "");
      if (column_is_text (column))
        g_string_append_printf (out, "%*s", cells[i].width, column_text (column, row));
      else if (column->kind == COLUMN_COUNT)
        g_string_append_printf (out, "%*.0f", cells[i].width, column_number (column, row));
      else
        append_figure (out, cells[i].width, column_number (column, row));
    }
  g_string_append_c (out, '\n');
}

/* Two lines: titles, and their units. */
static void
append_titles (GString *out, const Column *columns)
{
  g_autoptr (GString) titles = g_string_new ("#"), units = g_string_new ("#");

  for (guint i = 0; i < G_N_ELEMENTS (cells); i++)
    {
      const Column    *column = column_of_cell (columns, i);
      const int        width = i > 0 ? cells[i].width : cells[i].width - 2;
      const char      *space = i > 0 ? "  " : " ";
      g_autofree char *unit = column != NULL && column->unit != NULL
                                  ? g_strdup_printf ("(%s)", column->unit)
                                  : g_strdup ("");

      if (column == NULL)
        continue;
      g_string_append_printf (titles, "%s%*s", space, width, column->title);
      g_string_append_printf (units, "%s%*s", space, width, unit);
    }
  g_string_append_printf (out, "%s\n%s\n", titles->str, g_strchomp (units->str));
}

static void
describe_text (Document *document, const CollectiveSweep *self, const Column *columns, Rows rows)
{
  g_autoptr (GString) out = g_string_new (NULL);

  append_head (out, self);
  g_string_append_printf (out,
                          "#\n# %10s  %12s  %8s  %6s  %6s           out-of-place                   "
                          "    in-place\n",
                          "", "", "", "", "");
  append_titles (out, columns);
  for (guint i = 0; i < rows.n; i++)
    append_row (out, columns, rows_at (&rows, i));
  g_string_append_printf (out,
                          "# Out of bounds values : 0 OK\n"
                          "# Avg bus bandwidth    : %g\n"
                          "#\n"
                          "# Collective test concluded: %s_perf\n"
                          "#\n",
                          1e-9 * self->mean_busbw, tests_name (self->kind));
  document_lines (document, out->str);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void
add_json (struct json_object *root, const CollectiveSweep *self, const Column *columns, Rows rows)
{
  struct json_object *list = column_list (columns, rows);
  const guint         n_concurrent = self->options.n_concurrent;

  json_add_text (root, "collective", tests_name (self->kind));
  json_add_text (root, "size", size_convention (self->kind));
  json_add_text (root, "cluster", self->cluster);
  json_add_count (root, "ranks", self->n_ranks);
  json_add_text (root, "fidelity", fidelity_names[self->fidelity]);
  json_add_text (root, "bandwidth_unit", BANDWIDTH_UNIT);
  json_add_text (root, "profiles", self->profiles);
  if (self->measured != NULL)
    {
      json_add_number (root, "network_scale", self->network_scale);
      json_object_object_add (root, "measured_network", network_json (self->measured));
    }
  if (self->n_placements > 0)
    json_add_count (root, "placements", self->n_placements);
  if (n_concurrent > 0)
    {
      const Rows neighbours = { self->concurrent, n_concurrent, sizeof (CollectiveNeighbour) };

      json_object_object_add (root, "beside", column_list (neighbour_columns, neighbours));
    }
  for (guint i = 0; n_concurrent > 0 && i < rows.n; i++)
    { /* each of them, in the place of the longest */
      const Row          *row = rows_at (&rows, i);
      struct json_object *times = json_object_new_array ();

      for (guint k = 0; k < n_concurrent; k++)
        json_object_array_add (times, json_number (1e6 * row->sample->concurrent[k]));
      json_object_object_add (json_object_array_get_idx (list, i), "beside_us", times);
    }
  json_object_object_add (root, "rows", list);
  json_add_number (root, "mean_busbw_gbps", 1e-9 * self->mean_busbw);
}

static void
describe (Document *document, gconstpointer answer)
{
  const CollectiveSweep *self = answer;
  g_autofree Row        *samples = g_new (Row, self->samples->len);
  g_autofree Column     *columns = columns_of (self);
  const Rows             rows = { samples, self->samples->len, sizeof (Row) };

  for (guint i = 0; i < rows.n; i++)
    samples[i] = (Row){ self, &g_array_index (self->samples, CollectiveSample, i) };
  if (document_json (document) != NULL)
    add_json (document_json (document), self, columns, rows);
  else if (document_format (document) == FORMAT_TEXT)
    describe_text (document, self, columns, rows);
  document_results (document, NULL, columns, rows);
}

const PageKind collective_answer = { .describe = describe, .columns = all_columns };
