#include "report/collective.h"

#include <json-c/json.h>

static const char *const fidelity_names[] = { "analytic", "fluid", "step" };

/* nccl-tests' name, without underscores where it has none. */
static const char *
tests_name (CollectiveKind kind)
{
  if (kind == COLLECTIVE_ALL_TO_ALL)
    return "alltoall";
  return kind == COLLECTIVE_SEND_RECV ? "sendrecv" : collective_kind_name (kind);
}

static gboolean
reduces (CollectiveKind kind)
{
  return kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_REDUCE_SCATTER
         || kind == COLLECTIVE_REDUCE;
}

static int
root_of (CollectiveKind kind)
{
  return kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE ? 0 : -1;
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

/* Seven characters, digits by magnitude as nccl-tests has them. */
static void
append_time (GString *out, double microseconds)
{
  g_string_append_printf (out, "%7.*f",
                          microseconds >= 10000 ? 0
                          : microseconds >= 100 ? 1
                                                : 2,
                          microseconds);
}

static void
append_result (GString *out, const CollectiveSample *sample)
{
  g_string_append (out, "  ");
  append_time (out, 1e6 * sample->time);
  g_string_append_printf (out, "  %6.2f  %6.2f  %5s", 1e-9 * sample->algbw, 1e-9 * sample->busbw, "0");
}

static void
append_row (GString *out, const CollectiveSweep *self, const CollectiveSample *sample)
{
  g_string_append_printf (out, "%12" G_GUINT64_FORMAT "  %12" G_GUINT64_FORMAT "  %8s  %6s  %6d",
                          sample->bytes, sample->count, "float",
                          reduces (self->kind) ? "sum" : "none", root_of (self->kind));
  append_result (out, sample);
  append_result (out, sample);
  g_string_append_printf (
      out, "  %-14s  %-6s  %8u  %s\n", collective_algorithm_name (sample->algorithm),
      collective_protocol_name (sample->protocol), sample->channels, sample->binding);
}

void
report_collective_text (const CollectiveSweep *self, GString *out)
{
  g_string_append_printf (out,
                          "# %s, predicted (%s): %u ranks on %s\n"
                          "# size: %s\n"
                          "#\n",
                          tests_name (self->kind), fidelity_names[self->fidelity], self->n_ranks,
                          self->cluster, size_convention (self->kind));
  g_string_append (
      out, "#                                                              out-of-place      "
           "                 in-place\n"
           "#       size         count      type   redop    root     time   algbw   busbw  "
           "#wrong     time   algbw   busbw  #wrong  algorithm       proto   channels  bound by\n"
           "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)   "
           "           (us)  (GB/s)  (GB/s)\n");
  for (guint i = 0; i < self->samples->len; i++)
    append_row (out, self, &g_array_index (self->samples, CollectiveSample, i));
  g_string_append_printf (out, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %g\n#\n",
                          1e-9 * self->mean_busbw);
}

static void
append_number (GString *out, double value)
{
  g_autofree char *text = number_format_exact (value);

  g_string_append_printf (out, ",%s", text);
}

void
report_collective_csv (const CollectiveSweep *self, GString *out)
{
  g_string_append (out, "collective,bytes,count,type,time_us,algbw_gbps,busbw_gbps,algorithm,"
                        "protocol,channels,binding\n");
  for (guint i = 0; i < self->samples->len; i++)
    {
      const CollectiveSample *sample = &g_array_index (self->samples, CollectiveSample, i);

      g_string_append_printf (out, "%s,%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",float",
                              tests_name (self->kind), sample->bytes, sample->count);
      append_number (out, 1e6 * sample->time);
      append_number (out, 1e-9 * sample->algbw);
      append_number (out, 1e-9 * sample->busbw);
      g_string_append_printf (out, ",%s,%s,%u,%s\n", collective_algorithm_name (sample->algorithm),
                              collective_protocol_name (sample->protocol), sample->channels,
                              sample->binding);
    }
}

static struct json_object *
json_number (double value)
{
  g_autofree char *text = number_format_exact (value);

  return json_object_new_double_s (value, text);
}

static struct json_object *
json_sample (const CollectiveSample *sample)
{
  struct json_object *o = json_object_new_object ();

  json_object_object_add (o, "bytes", json_object_new_uint64 (sample->bytes));
  json_object_object_add (o, "count", json_object_new_uint64 (sample->count));
  json_object_object_add (o, "type", json_object_new_string ("float"));
  json_object_object_add (o, "time_us", json_number (1e6 * sample->time));
  json_object_object_add (o, "algbw_gbps", json_number (1e-9 * sample->algbw));
  json_object_object_add (o, "busbw_gbps", json_number (1e-9 * sample->busbw));
  json_object_object_add (o, "algorithm",
                          json_object_new_string (collective_algorithm_name (sample->algorithm)));
  json_object_object_add (o, "protocol",
                          json_object_new_string (collective_protocol_name (sample->protocol)));
  json_object_object_add (o, "channels", json_object_new_uint64 (sample->channels));
  json_object_object_add (o, "binding", json_object_new_string (sample->binding));
  return o;
}

void
report_collective_json (const CollectiveSweep *self, GString *out)
{
  struct json_object *o = json_object_new_object (), *rows = json_object_new_array ();

  json_object_object_add (o, "schema", json_object_new_int (1));
  json_object_object_add (o, "collective", json_object_new_string (tests_name (self->kind)));
  json_object_object_add (o, "size", json_object_new_string (size_convention (self->kind)));
  json_object_object_add (o, "cluster", json_object_new_string (self->cluster));
  json_object_object_add (o, "ranks", json_object_new_uint64 (self->n_ranks));
  json_object_object_add (o, "fidelity", json_object_new_string (fidelity_names[self->fidelity]));
  for (guint i = 0; i < self->samples->len; i++)
    json_object_array_add (rows, json_sample (&g_array_index (self->samples, CollectiveSample, i)));
  json_object_object_add (o, "rows", rows);
  json_object_object_add (o, "mean_busbw_gbps", json_number (1e-9 * self->mean_busbw));
  g_string_append (out, json_object_to_json_string_ext (o, JSON_C_TO_STRING_PRETTY
                                                               | JSON_C_TO_STRING_NOSLASHESCAPE));
  g_string_append_c (out, '\n');
  json_object_put (o);
}
