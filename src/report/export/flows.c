#include "report/export/flows.h"

#include <libsmartcols.h>
#include <math.h>
#include <string.h>

#include "report/document/json-private.h"

#define SHOWN 20 /* rows of a table of the text form */

/* A time in seconds, exact: picoseconds have twelve decimals. */
static void
append_seconds (GString *out, SimTime time)
{
  g_string_append_printf (out, "%" G_GUINT64_FORMAT ".%012" G_GUINT64_FORMAT,
                          time / SIM_TIME_PER_SECOND, time % SIM_TIME_PER_SECOND);
  while (out->str[out->len - 1] == '0')
    g_string_truncate (out, out->len - 1);
  if (out->str[out->len - 1] == '.')
    g_string_truncate (out, out->len - 1);
}

void
report_flows_csv (const FlowReport *self, GString *out)
{
  g_autoptr (GString) seconds = g_string_new (NULL);

  g_string_append (out, "flow,finish_s\n");
  for (guint i = 0; i < self->n_flows; i++)
    {
      const char *cells[] = { self->names[i], seconds->str };

      g_string_truncate (seconds, 0);
      append_seconds (seconds, self->finish[i]);
      cells[1] = seconds->str;
      csv_append_row (out, cells, G_N_ELEMENTS (cells));
    }
}

/* ---- agreement ------------------------------------------------------------------------------- */

/*
 * The flow whose finish is relatively farthest from what was expected, and by how much; FALSE
 * without any.
 */
static gboolean
find_worst (const FlowReport *self, guint *worst, double *error)
{
  gboolean found = FALSE;

  *worst = 0;
  *error = 0;
  for (guint i = 0; self->expected != NULL && i < self->n_flows; i++)
    {
      double e =
          fabs (sim_time_to_seconds (self->finish[i]) - self->expected[i]) / self->expected[i];

      if (isnan (e) || (found && e <= *error))
        continue;
      found = TRUE;
      *worst = i;
      *error = e;
    }
  return found;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static struct json_object *
seconds_json (SimTime time)
{
  g_autoptr (GString) text = g_string_new (NULL);

  append_seconds (text, time);
  return json_object_new_double_s (sim_time_to_seconds (time), text->str);
}

/* One object at a time: lists are long. Takes OBJECT. */
static void
append_json (GString *out, guint i, struct json_object *object)
{
  g_string_append_printf (out, "%s\n    %s", i > 0 ? "," : "",
                          json_object_to_json_string_ext (object, JSON_C_TO_STRING_SPACED));
  json_object_put (object);
}

static void
append_flows_json (const FlowReport *self, GString *out)
{
  for (guint i = 0; i < self->n_flows; i++)
    {
      struct json_object *flow = json_object_new_object ();

      json_add_text (flow, "flow", self->names[i]);
      json_object_object_add (flow, "finish_s", seconds_json (self->finish[i]));
      append_json (out, i, flow);
    }
}

static void
append_links_json (const FlowReport *self, GString *out)
{
  for (guint i = 0; i < self->n_links; i++)
    {
      const FlowReportLink *from = &self->links[i];
      struct json_object   *link = json_object_new_object ();

      json_add_text (link, "link", from->name);
      json_add_number (link, "bandwidth_bps", from->capacity);
      json_add_number (link, "bytes", from->bytes);
      json_add_number (link, "utilisation", from->utilisation);
      append_json (out, i, link);
    }
}

void
report_flows_json (const FlowReport *self, GString *out)
{
  guint  worst;
  double error;

  g_string_append (out, "{\n  \"schema\": 1,\n  \"makespan_s\": ");
  append_seconds (out, self->makespan);
  if (find_worst (self, &worst, &error))
    {
      g_autofree char *text = number_format_exact (error);
      g_string_append_printf (out, ",\n  \"largest_relative_difference\": %s", text);
    }
  g_string_append (out, ",\n  \"flows\": [");
  append_flows_json (self, out);
  g_string_append (out, "\n  ],\n  \"links\": [");
  append_links_json (self, out);
  g_string_append (out, "\n  ]\n}\n");
}

/* ---- text ------------------------------------------------------------------------------------ */

static struct libscols_table *
table_new (const char *const *titles)
{
  struct libscols_table *table = scols_new_table ();

  g_assert (table != NULL);
  scols_table_enable_noencoding (table, TRUE);
  for (guint c = 0; titles[c] != NULL; c++)
    scols_table_new_column (table, titles[c], 0, c > 0 ? SCOLS_FL_RIGHT : 0);
  return table;
}

/* Takes the cells. */
static void
add_line (struct libscols_table *table, char *const *cells)
{
  struct libscols_line *line = scols_table_new_line (table, NULL);

  for (guint c = 0; cells[c] != NULL; c++)
    {
      scols_line_set_data (line, c, cells[c]);
      g_free (cells[c]);
    }
}

/* Frees TABLE. */
static void
append_table (GString *out, struct libscols_table *table, guint n_all, const char *what)
{
  char *text = NULL;

  if (scols_print_table_to_string (table, &text) == 0)
    g_string_append_printf (out, "%s\n", text);
  free (text);
  scols_unref_table (table);
  if (n_all > SHOWN)
    g_string_append_printf (out, "... and %u more %s: --format csv or json\n", n_all - SHOWN, what);
}

static gint
compare_busy (gconstpointer a, gconstpointer b, gpointer user)
{
  const FlowReport *self = user;
  guint             i = *(const guint *) a, j = *(const guint *) b;
  double            x = self->links[i].utilisation, y = self->links[j].utilisation;

  return x != y ? (x < y ? 1 : -1) : (i > j) - (i < j);
}

static gint
compare_last (gconstpointer a, gconstpointer b, gpointer user)
{
  const FlowReport *self = user;
  guint             i = *(const guint *) a, j = *(const guint *) b;
  SimTime           x = self->finish[i], y = self->finish[j];

  return x != y ? (x < y ? 1 : -1) : (i > j) - (i < j);
}

static guint *
sorted (const FlowReport *self, guint n, GCompareDataFunc compare)
{
  guint *order = g_new (guint, n + 1);

  for (guint i = 0; i < n; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint) n, sizeof *order, compare, (gpointer) self);
  return order;
}

static void
append_links (const FlowReport *self, GString *out)
{
  static const char *const titles[] = { "LINK", "BANDWIDTH", "MOVED", "UTILISATION", NULL };
  struct libscols_table   *table = table_new (titles);
  g_autofree guint        *order = sorted (self, self->n_links, compare_busy);

  for (guint i = 0; i < MIN (SHOWN, self->n_links); i++)
    {
      const FlowReportLink *link = &self->links[order[i]];

      char *cells[] = { g_strdup (link->name),
                        quantity_format (QUANTITY_BANDWIDTH, link->capacity, 4),
                        quantity_format (QUANTITY_BYTES, link->bytes, 4),
                        g_strdup_printf ("%.1f %%", 100 * link->utilisation), NULL };

      add_line (table, cells);
    }
  append_table (out, table, self->n_links, "links");
}

static void
append_flows (const FlowReport *self, GString *out)
{
  static const char *const titles[] = { "FLOW", "FINISH", NULL };
  struct libscols_table   *table = table_new (titles);
  g_autofree guint        *order = sorted (self, self->n_flows, compare_last);

  for (guint i = 0; i < MIN (SHOWN, self->n_flows); i++)
    {
      char *cells[] = {
        g_strdup (self->names[order[i]]),
        quantity_format (QUANTITY_TIME, sim_time_to_seconds (self->finish[order[i]]), 6), NULL
      };
      add_line (table, cells);
    }
  append_table (out, table, self->n_flows, "flows");
}

void
report_flows_text (const FlowReport *self, GString *out)
{
  g_autofree char *makespan =
      quantity_format (QUANTITY_TIME, sim_time_to_seconds (self->makespan), 6);
  guint  worst;
  double error;

  g_string_append_printf (out, "%u flows on %u links: makespan %s\n", self->n_flows, self->n_links,
                          makespan);
  if (find_worst (self, &worst, &error))
    g_string_append_printf (out, "largest relative difference from finish_s: %.2g, of flow '%s'\n",
                            error, self->names[worst]);
  g_string_append (out, "\nBusiest links, from time 0 to the makespan\n");
  append_links (self, out);
  g_string_append (out, "\nLast flows\n");
  append_flows (self, out);
}
