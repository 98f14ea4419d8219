#include "report/collective.h"

#include <string.h>

#include "report/json-private.h"
#include "report/network-private.h"
#include "report/report.h"

/* Of what the fields call "gbps", which others write for gigabits. */
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

static int
root_of (CollectiveKind kind)
{
  return collective_kind_is_rooted (kind) ? 0 : -1;
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

/* Right-aligned in WIDTH characters, with as many decimals up to two as fit. */
static void
append_figure (GString *out, int width, double value)
{
  for (int decimals = 2; decimals >= 0; decimals--)
    {
      g_autofree char *text = g_strdup_printf ("%*.*f", width, decimals, value);

      if ((int) strlen (text) <= width)
        {
          g_string_append_printf (out, "  %s", text);
          return;
        }
    }
  g_string_append_printf (out, "  %*.*e", width, width >= 7 ? 1 : 0, value);
}

static void
append_result (GString *out, const CollectiveSample *sample, const char *wrong)
{
  append_figure (out, 7, 1e6 * sample->time);
  append_figure (out, 6, 1e-9 * sample->algbw);
  append_figure (out, 6, 1e-9 * sample->busbw);
  g_string_append_printf (out, "  %6s", wrong);
}

/* Until the last neighbour is through, s. */
static double
longest_concurrent (const CollectiveSweep *self, const CollectiveSample *sample)
{
  double longest = 0;

  for (guint i = 0; i < self->options.n_concurrent; i++)
    longest = MAX (longest, sample->concurrent[i]);
  return longest;
}

static void
append_row (GString *out, const CollectiveSweep *self, const CollectiveSample *sample)
{
  g_string_append_printf (out, "%12" G_GUINT64_FORMAT "  %12" G_GUINT64_FORMAT "  %8s  %6s  %6d",
                          sample->bytes, sample->count, "float",
                          has_redop (self->kind) ? "sum" : "none", root_of (self->kind));
  append_result (out, sample, "0");
  append_result (out, sample, has_in_place (self->kind) ? "0" : "N/A");
  g_string_append_printf (out, "  %-14s  %-6s  %8u", collective_algorithm_name (sample->algorithm),
                          collective_protocol_name (sample->protocol), sample->channels);
  if (self->options.n_concurrent > 0)
    {
      append_figure (out, 7, 1e6 * sample->alone);
      append_figure (out, 7, 1e6 * longest_concurrent (self, sample));
    }
  if (self->n_placements > 0)
    {
      append_figure (out, 7, 1e6 * sample->time_band.p10);
      append_figure (out, 7, 1e6 * sample->time_band.p50);
      append_figure (out, 7, 1e6 * sample->time_band.p90);
    }
  g_string_append_printf (out, "  %s\n", sample->binding);
}

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

static void
append_columns (GString *out, gboolean concurrent, gboolean band)
{
  g_string_append_printf (
      out,
      "#\n"
      "# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place\n"
      "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s  %-14s  %-6s  %8s%s%s  "
      "bound by\n"
      "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s%s%s\n",
      "", "", "", "", "", "size", "count", "type", "redop", "root", "time", "algbw", "busbw",
      "#wrong", "time", "algbw", "busbw", "#wrong", "algorithm", "proto", "channels",
      concurrent ? "    alone   beside" : "", band ? "      p10      p50      p90" : "", "(B)",
      "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)",
      concurrent || band ? "                                      " : "",
      concurrent && band ? "         (us)     (us)     (us)     (us)     (us)"
      : concurrent       ? "         (us)     (us)"
      : band             ? "         (us)     (us)     (us)"
                         : "");
}

void
report_collective_text (const CollectiveSweep *self, GString *out)
{
  append_head (out, self);
  append_columns (out, self->options.n_concurrent > 0, self->n_placements > 0);
  for (guint i = 0; i < self->samples->len; i++)
    append_row (out, self, &g_array_index (self->samples, CollectiveSample, i));
  g_string_append_printf (out,
                          "# Out of bounds values : 0 OK\n"
                          "# Avg bus bandwidth    : %g\n"
                          "#\n"
                          "# Collective test concluded: %s_perf\n"
                          "#\n",
                          1e-9 * self->mean_busbw, tests_name (self->kind));
}

static void
append_number (GString *out, double value)
{
  g_autofree char *text = number_format_exact (value);

  g_string_append_printf (out, ",%s", text);
}

/* Behind the end of a row that is written. */
static void
append_csv_band (GString *out, const CollectiveSweep *self, const CollectiveSample *sample)
{
  if (self->n_placements == 0)
    return;
  g_string_truncate (out, out->len - 1);
  g_string_append_printf (out, ",%u", self->n_placements);
  append_number (out, 1e6 * sample->time_band.p10);
  append_number (out, 1e6 * sample->time_band.p50);
  append_number (out, 1e6 * sample->time_band.p90);
  g_string_append_c (out, '\n');
}

void
report_collective_csv (const CollectiveSweep *self, GString *out)
{
  gboolean          concurrent = self->options.n_concurrent > 0;
  g_autofree char  *ranks = g_strdup_printf ("%u", self->n_ranks);
  const char *const of[] = { self->cluster,
                             ranks,
                             fidelity_names[self->fidelity],
                             self->profiles,
                             layout_program_version (),
                             RESULTS_SCHEMA_TEXT,
                             BANDWIDTH_UNIT };

  g_string_append_printf (out,
                          "collective,bytes,count,type,time_us,algbw_gbps,busbw_gbps,algorithm,"
                          "protocol,channels,binding%s,cluster,ranks,fidelity,profiles,"
                          "program_version,schema,bandwidth_unit%s\n",
                          concurrent ? ",alone_us,beside_us" : "",
                          self->n_placements > 0 ? ",placements,time_p10_us,time_p50_us,time_p90_us"
                                                 : "");
  for (guint i = 0; i < self->samples->len; i++)
    {
      const CollectiveSample *sample = &g_array_index (self->samples, CollectiveSample, i);

      g_string_append_printf (out, "%s,%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",float",
                              tests_name (self->kind), sample->bytes, sample->count);
      append_number (out, 1e6 * sample->time);
      append_number (out, 1e-9 * sample->algbw);
      append_number (out, 1e-9 * sample->busbw);
      g_string_append_printf (out, ",%s,%s,%u,%s", collective_algorithm_name (sample->algorithm),
                              collective_protocol_name (sample->protocol), sample->channels,
                              sample->binding);
      if (concurrent)
        {
          append_number (out, 1e6 * sample->alone);
          append_number (out, 1e6 * longest_concurrent (self, sample));
        }
      g_string_append_c (out, ',');
      csv_append_row (out, of, G_N_ELEMENTS (of));
      append_csv_band (out, self, sample);
    }
}

static struct json_object *
json_concurrent (const CollectiveNeighbour *concurrent)
{
  struct json_object *o = json_object_new_object ();

  json_add_text (o, "collective", tests_name (concurrent->kind));
  json_add_count (o, "ranks", concurrent->n_ranks);
  json_object_object_add (
      o, "bytes", concurrent->bytes > 0 ? json_object_new_uint64 (concurrent->bytes) : NULL);
  json_add_number (o, "start_us", 1e6 * concurrent->start);
  json_add_text (o, "size", size_convention (concurrent->kind));
  return o;
}

/* Adds what a row with neighbours holds more. */
static void
json_add_shared (struct json_object *o, const CollectiveSample *sample, guint n_concurrent)
{
  struct json_object *times = json_object_new_array ();

  for (guint i = 0; i < n_concurrent; i++)
    json_object_array_add (times, json_number (1e6 * sample->concurrent[i]));
  json_add_number (o, "alone_us", 1e6 * sample->alone);
  json_object_object_add (o, "beside_us", times);
}

static struct json_object *
json_sample (const CollectiveSample *sample, guint n_concurrent, gboolean band)
{
  struct json_object *o = json_object_new_object ();

  json_add_count (o, "bytes", sample->bytes);
  json_add_count (o, "count", sample->count);
  json_add_text (o, "type", "float");
  json_add_number (o, "time_us", 1e6 * sample->time);
  json_add_number (o, "algbw_gbps", 1e-9 * sample->algbw);
  json_add_number (o, "busbw_gbps", 1e-9 * sample->busbw);
  json_add_text (o, "algorithm", collective_algorithm_name (sample->algorithm));
  json_add_text (o, "protocol", collective_protocol_name (sample->protocol));
  json_add_count (o, "channels", sample->channels);
  json_add_text (o, "binding", sample->binding);
  if (n_concurrent > 0)
    json_add_shared (o, sample, n_concurrent);
  if (band)
    {
      json_add_number (o, "time_p10_us", 1e6 * sample->time_band.p10);
      json_add_number (o, "time_p50_us", 1e6 * sample->time_band.p50);
      json_add_number (o, "time_p90_us", 1e6 * sample->time_band.p90);
    }
  return o;
}

void
report_collective_json (const CollectiveSweep *self, GString *out)
{
  struct json_object *o = json_document_new (), *rows = json_object_new_array (), *concurrents;
  guint               n_concurrent = self->options.n_concurrent;

  json_add_text (o, "collective", tests_name (self->kind));
  json_add_text (o, "size", size_convention (self->kind));
  json_add_text (o, "cluster", self->cluster);
  json_add_count (o, "ranks", self->n_ranks);
  json_add_text (o, "fidelity", fidelity_names[self->fidelity]);
  json_add_text (o, "bandwidth_unit", BANDWIDTH_UNIT);
  json_add_text (o, "profiles", self->profiles);
  if (self->measured != NULL)
    {
      json_add_number (o, "network_scale", self->network_scale);
      json_object_object_add (o, "measured_network", network_json (self->measured));
    }
  if (self->n_placements > 0)
    json_add_count (o, "placements", self->n_placements);
  if (n_concurrent > 0)
    {
      concurrents = json_object_new_array ();
      for (guint i = 0; i < n_concurrent; i++)
        json_object_array_add (concurrents, json_concurrent (&self->concurrent[i]));
      json_object_object_add (o, "beside", concurrents);
    }
  for (guint i = 0; i < self->samples->len; i++)
    json_object_array_add (rows, json_sample (&g_array_index (self->samples, CollectiveSample, i),
                                              n_concurrent, self->n_placements > 0));
  json_object_object_add (o, "rows", rows);
  json_add_number (o, "mean_busbw_gbps", 1e-9 * self->mean_busbw);
  json_finish (o, out);
}
