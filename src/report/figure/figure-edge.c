#include "evidence/figures/figure-edge.h"

#include <string.h>

#include "report/figure/figure-report-private.h"

#define DECADES_FROM 20 /* greatest x over least from which on the axis is logarithmic */

/* ---- split learning -------------------------------------------------------------------------- */

static const char *const part_texts[SPLIT_N_PARTS] = {
  [PART_CLIENTS_UP] = "clients' forward pass and upload, the slowest",
  [PART_SERVER_FORWARD] = "server's forward pass",
  [PART_SERVER_BACKWARD] = "server's backward pass",
  [PART_BROADCAST] = "broadcast of averaged gradients",
  [PART_CLIENTS_DOWN] = "unicast and clients' backward pass, the slowest",
  [PART_AVERAGE] = "broadcast of the averaged layers",
};

static const char *const clock_texts[SPLIT_N_CLOCKS] = {
  [SPLIT_CLOSED] = "closed form",
  [SPLIT_BARRIER] = "engine, all wait for the round's end",
  [SPLIT_FREE] = "engine, each client goes on at once",
  [SPLIT_EAGER] = "engine, and the server begins with each client's samples",
};

static char *
seconds_text (double seconds)
{
  return quantity_format (QUANTITY_TIME, seconds, 4);
}

static char *
rate_text (double rate)
{
  return g_strdup_printf ("%.4g Mbit/s", 8 * rate / 1e6);
}

static void
append_clients (const EdgeFigure *edge, GString *out)
{
  static const TerminalColumn columns[] = {
    { "CLIENT", FALSE }, { "BATCH", TRUE },  { "UPLINK", TRUE },  { "DOWNLINK", TRUE },
    { "FORWARD", TRUE }, { "UPLOAD", TRUE }, { "UNICAST", TRUE }, { "BACKWARD", TRUE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < edge->work->clients->len; i++)
    {
      const EdgeClient  *given = EDGE_CLIENT (edge->star, i);
      const SplitClient *client = SPLIT_CLIENT (edge->work, i);

      figure_line (table, g_strdup (given->name),
                   g_strdup_printf ("%" G_GINT64_FORMAT, given->batch), rate_text (client->up),
                   rate_text (client->down), seconds_text (client->forward_flops / client->compute),
                   seconds_text (client->up_bytes / client->up),
                   seconds_text (client->unicast_bytes / client->down),
                   seconds_text (client->backward_flops / client->compute));
    }
  terminal_table_finish (table, out);
}

static void
append_round (const EdgeFigure *edge, GString *out)
{
  static const TerminalColumn columns[] = { { "ROUND", FALSE }, { "TIME", TRUE } };
  struct libscols_table      *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint p = PART_ROUND + 1; p < SPLIT_N_PARTS; p++)
    {
      const double seconds = split_closed_form (edge->work, (SplitPart) p);

      if (seconds > 0)
        figure_line (table, g_strdup (part_texts[p]), seconds_text (seconds));
    }
  for (guint c = 0; c < SPLIT_N_CLOCKS; c++)
    figure_line (table, g_strdup (clock_texts[c]), seconds_text (edge->seconds[c]));
  terminal_table_finish (table, out);
}

static void
append_split (const EdgeFigure *edge, GString *out)
{
  g_autofree char *percent = terminal_percent (edge->split.aggregation, FALSE);
  const guint      cut = (guint) edge->split.cut;

  g_string_append_printf (
      out,
      "Split learning of %u clients and a server; cut after layer %u of %u, %s; "
      "%s of the gradients averaged\n\n",
      edge->star->clients->len, cut, edge->star->layers->len,
      EDGE_LAYER (edge->star, cut - 1)->name, percent);
  append_clients (edge, out);
  g_string_append_c (out, '\n');
  append_round (edge, out);
}

/* ---- slimmable networks ---------------------------------------------------------------------- */

static const char *const system_texts[SLIM_N_SYSTEMS] = {
  [SLIM_SLIM] = "slimmable, superposed",
  [SLIM_VANILLA] = "both widths, twice the bandwidth",
  [SLIM_HALF] = "half the width",
  [SLIM_FULL] = "the whole width",
};

static void
append_slim (const EdgeFigure *edge, GString *out)
{
  static const TerminalColumn columns[] = {
    { "CLIENT", FALSE }, { "SNR", TRUE },     { "SENDS", FALSE }, { "HALF", TRUE },
    { "WHOLE", TRUE },   { "ARRIVES", TRUE }, { "STEPS", TRUE },  { "ENERGY", TRUE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  g_autofree char       *share = terminal_percent (slim_half_share (edge->star), FALSE);
  g_autofree char       *power = terminal_percent (edge->slim.power_share, FALSE);

  g_string_append_printf (out,
                          "Slimmable network of %u clients; half the width has %s of the weights "
                          "and %s of the power\n\n",
                          edge->star->clients->len, share, power);
  for (guint i = 0; i < edge->slim_clients->len; i++)
    {
      const SlimClient *client = &g_array_index (edge->slim_clients, SlimClient, i);
      const guint       system = i % SLIM_N_SYSTEMS;

      figure_line (table,
                   g_strdup (system == 0 ? EDGE_CLIENT (edge->star, i / SLIM_N_SYSTEMS)->name : ""),
                   system == 0 ? g_strdup_printf ("%.4g", client->snr) : g_strdup (""),
                   g_strdup (system_texts[system]), terminal_percent (client->half, FALSE),
                   system == SLIM_HALF ? g_strdup ("-") : terminal_percent (client->full, FALSE),
                   quantity_format (QUANTITY_BYTES, client->bytes < 1 ? 0 : client->bytes, 4),
                   seconds_text (client->compute_s), g_strdup_printf ("%.4g J", client->joules));
    }
  terminal_table_finish (table, out);
}

/* ---- both ------------------------------------------------------------------------------------ */

/* The x of PANEL with its unit, newly allocated: "bandwidth, Hz". */
static char *
x_text (const EdgeFigure *edge, const CurvePanel *panel)
{
  const OptionSpec *spec =
      option_table_find (edge->work != NULL ? split_options : slim_options, panel->x);
  g_autofree char *one = quantity_format (spec->kind, 1, 1); /* "1 Hz" */

  if (spec->type != OPTION_QUANTITY || spec->kind == QUANTITY_RATIO)
    return g_strdup (panel->x);
  return g_strdup_printf ("%s, %s", panel->x, strchr (one, ' ') + 1);
}

static void
text (const Figures *self, gboolean details, GString *out)
{
  const EdgeFigure *edge = self->extra;

  (void) details; /* what is assumed is all there is */
  (edge->work != NULL ? append_split : append_slim) (edge, out);
  for (guint p = 0; p < self->lines->len; p++)
    {
      CurvePanel       shown = *FIGURE_LINE (self, CurvePanel, p);
      g_autofree char *x = x_text (edge, &shown);

      shown.x = x;
      g_string_append_c (out, '\n');
      figure_curve_text (&shown, out);
    }
  g_string_append (out, edge->star->assumptions->len > 0 ? "\n" : "");
  for (guint i = 0; i < edge->star->assumptions->len; i++)
    g_string_append_printf (out, "Assumed: %s\n",
                            (const char *) g_ptr_array_index (edge->star->assumptions, i));
}

/* What CSV and pictures have no place for. */
static void
json (const Figures *self, struct json_object *root)
{
  const EdgeFigure   *edge = self->extra;
  struct json_object *assumptions = json_object_new_array ();

  for (guint i = 0; i < edge->star->assumptions->len; i++)
    json_object_array_add (assumptions,
                           json_object_new_string (g_ptr_array_index (edge->star->assumptions, i)));
  json_object_object_add (root, "assumptions", assumptions);
}

static gboolean
spans_decades (const CurvePanel *panel)
{
  const double first = g_array_index (panel->xs, double, 0);

  return first > 0 && g_array_index (panel->xs, double, panel->xs->len - 1) / first >= DECADES_FROM;
}

static void
draw (const EdgeFigure *edge, const CurvePanel *panel, Facets *facets)
{
  const guint      last = panel->xs->len - 1;
  const gboolean   logarithmic = spans_decades (panel);
  CurvePanel       shown = *panel;
  g_autofree char *x = x_text (edge, panel);

  shown.x = x;
  if (last > 0)
    facets_command (facets, "set xrange [%g:%g]", g_array_index (panel->xs, double, 0),
                    g_array_index (panel->xs, double, last));
  facets_command (facets, "set format x '%s'", logarithmic ? "%.0s%c" : "%g");
  figure_curve_draw (&shown, logarithmic, facets);
}

/* Two panels a line. */
static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  const guint      n = self->lines->len, wide = MIN (n, 2), high = (n + 1) / 2;
  g_autofree char *layout = g_strdup_printf ("%u,%u", high, wide);
  Facets          *facets;

  if (n == 0)
    return;
  facets = facets_new ("%s", self->name);
  figure_curve_head (facets);
  for (guint p = 0; p < n; p++)
    draw (self->extra, FIGURE_LINE (self, CurvePanel, p), facets);
  facets_finish (facets, layout, 640 * wide, 460 * high, style, pictures);
}

const FigureReport report_edge = { .columns = curve_columns,
                                   .name_key = "name",
                                   .rows_key = "rows",
                                   .json = json,
                                   .text = text,
                                   .plot = plot };
