#include "evidence/figures/figure-apart.h"

#include <math.h>
#include <string.h>

#include "report/figure/figure-report-private.h"

/* Of the end of a band that is nearer; 0 inside. */
static double
error_of (const ApartLine *line)
{
  return CLAMP (line->published, line->low, line->high) / line->published - 1;
}

COLUMN_NUMBER_OF (ApartLine, apart_error, error_of (p))

#define DEGREE(name_, degree_)                                                 \
  {                                                                            \
    name_, .kind = COLUMN_NUMBER, COLUMN_MEMBER (ApartLine, degrees[degree_]), \
           .about = "empty: found by search, or of no matter"                  \
  }
#define SECONDS(name_, member_, about_)                                                      \
  {                                                                                          \
    name_, .kind = COLUMN_NUMBER, COLUMN_MEMBER (ApartLine, times.member_), .about = about_, \
  }

static const Column result_columns[] = {
  { "figure", .kind = COLUMN_WORD, COLUMN_MEMBER (ApartLine, figure) },
  { "row", .kind = COLUMN_WORD, COLUMN_MEMBER (ApartLine, row) },
  { "quantity", .kind = COLUMN_WORD, COLUMN_MEMBER (ApartLine, quantity) },
  { "system", .kind = COLUMN_WORD, COLUMN_MEMBER (ApartLine, system),
    .about = "how tokens travel between pools, or together: there is one" },
  { "model", .kind = COLUMN_WORD, COLUMN_MEMBER (ApartLine, model) },
  { "attention", .kind = COLUMN_WORD, COLUMN_MEMBER (ApartLine, attention),
    .about = "the pool's cluster" },
  { "experts", .kind = COLUMN_WORD, COLUMN_MEMBER (ApartLine, experts) },
  DEGREE ("attention_tp", APART_ATTENTION_TP),
  DEGREE ("replicas", APART_REPLICAS),
  DEGREE ("expert_tp", APART_EXPERT_TP),
  DEGREE ("micro_batches", APART_MICRO_BATCHES),
  { "peers", .kind = COLUMN_NUMBER, COLUMN_MEMBER (ApartLine, peers), .about = "of an exchange" },
  { "bytes", .kind = COLUMN_NUMBER, COLUMN_MEMBER (ApartLine, bytes), .about = "to each of them" },
  { "layout", .kind = COLUMN_WORD, COLUMN_MEMBER (ApartLine, layout),
    .about = "replicas x ranks, expert nodes x ranks, micro-batches x sequences" },
  SECONDS ("attention_s", attention_s, "of a micro-batch in a layer"),
  SECONDS ("experts_s", experts_s, "the same of experts"),
  SECONDS ("exchange_s", exchange_s, "one way"),
  { "over", .kind = COLUMN_WORD, COLUMN_MEMBER (ApartLine, over),
    .about = "the row whose number divides" },
  { "published", .kind = COLUMN_NUMBER, COLUMN_MEMBER (ApartLine, published) },
  { "low", .kind = COLUMN_NUMBER, COLUMN_MEMBER (ApartLine, low),
    .about = "computed, of a band its lower end" },
  { "high", .kind = COLUMN_NUMBER, COLUMN_MEMBER (ApartLine, high) },
  { "error", .kind = COLUMN_NUMBER, .number = apart_error },
  { "reason", .kind = COLUMN_WORD, COLUMN_MEMBER (ApartLine, reason) },
  { "assumptions", .kind = COLUMN_WORD, COLUMN_MEMBER (ApartLine, assumptions) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

static char *
computed_text (const ApartLine *line)
{
  g_autofree char *low = figure_number ("%.4g", line->low),
                  *high = figure_number ("%.4g", line->high);

  return line->low == line->high ? g_steal_pointer (&low) : g_strdup_printf ("%s to %s", low, high);
}

static void
text (const Figures *self, gboolean details, GString *out)
{
  static const TerminalColumn columns[] = {
    { "FIGURE", FALSE },   { "ROW", FALSE },     { "QUANTITY", FALSE }, { "INSTANCE", FALSE },
    { "PUBLISHED", TRUE }, { "COMPUTED", TRUE }, { "ERROR", TRUE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < self->lines->len; i++)
    {
      const ApartLine *line = FIGURE_LINE (self, ApartLine, i);
      const char      *ratio = *line->over != '\0' ? ", ratio" : "";

      if (isnan (line->published) && !details)
        continue;
      figure_line (table, g_strdup (line->figure), g_strdup (line->row),
                   g_strconcat (line->quantity, ratio, NULL),
                   g_strdup (line->reason != NULL ? line->reason : line->layout),
                   figure_number ("%.4g", line->published), computed_text (line),
                   figure_number ("%+.1f %%", 100 * error_of (line)));
    }
  terminal_table_finish (table, out);
  g_string_append (out, "\nerror = computed / published - 1, of a band at its nearer end\n");
  if (!details)
    g_string_append (out, "'--details' has the numbers behind these, and what is assumed\n");
  else
    figure_assumptions (self->lines, G_STRUCT_OFFSET (ApartLine, assumptions), out);
}

/* ---- the picture ----------------------------------------------------------------------------- */

/* A panel over one axis: its lines by what a series is of. */
typedef struct
{
  const char *x, *quantity, *label, *value, *tics;
  gboolean    logarithmic, by_system; /* a series a system, else a model; scaled to its first */
} Panel;

static const Panel panels[] = {
  { "micro_batches", "tokens_per_s_per_gpu", "micro-batches", "tokens/s, over one", "1", FALSE,
    FALSE },
  { "replicas", "tokens_per_s_per_gpu", "replicas of attention", "tokens/s a GPU, over one", "4",
    FALSE, FALSE },
  { "bytes", "exchange_us", "KiB of a message", "exchange, us", "auto", TRUE, TRUE },
};

static const char *
series_of (const Panel *panel, const ApartLine *line)
{
  return panel->by_system ? line->system : line->model;
}

static gboolean
is_on (const Panel *panel, const ApartLine *line)
{
  return g_str_equal (line->x, panel->x) && g_str_equal (line->quantity, panel->quantity)
         && !isnan (line->raw);
}

/* The series that the line FIRST begins. */
static void
draw_series (const Figures *self, const Panel *panel, guint first, guint style, Facets *facets)
{
  const ApartLine *begin = FIGURE_LINE (self, ApartLine, first);
  const guint      block = facets_block (facets, "x, computed");
  g_autofree char *name = g_strndup (begin->model, strcspn (begin->model, "."));

  for (guint i = first; i < self->lines->len; i++)
    {
      const ApartLine *line = FIGURE_LINE (self, ApartLine, i);

      if (is_on (panel, line) && g_str_equal (series_of (panel, line), series_of (panel, begin)))
        facets_line (facets, figure_apart_x (line),
                     panel->by_system ? line->raw : line->raw / begin->raw);
    }
  facets_draw (facets, panel->by_system ? begin->system : name,
               "data index %u using 1:2 with linespoints ls %u pt 7 ps 0.6 lw 1.8", block, style);
}

static gboolean
begins_series (const Figures *self, const Panel *panel, guint i)
{
  const ApartLine *line = FIGURE_LINE (self, ApartLine, i);

  for (guint k = 0; k < i; k++)
    {
      const ApartLine *other = FIGURE_LINE (self, ApartLine, k);

      if (is_on (panel, other) && g_str_equal (series_of (panel, other), series_of (panel, line)))
        return FALSE;
    }
  return is_on (panel, line);
}

static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  Facets *facets = facets_new ("%s", self->name);

  facets_command (facets, "set grid xtics ytics back ls 21\nset key inside right bottom\n"
                          "set yrange [0:*]");
  for (guint p = 0; p < G_N_ELEMENTS (panels); p++)
    {
      const Panel *panel = &panels[p];
      guint        n = 0;

      facets_command (facets, "set xlabel '%s'\nset ylabel '%s'\nset xtics %s", panel->label,
                      panel->value, panel->tics);
      if (panel->logarithmic)
        facets_command (facets, "set logscale xy\nset yrange [*:*]\nset format '%%g'");
      for (guint i = 0; i < self->lines->len; i++)
        if (begins_series (self, panel, i))
          draw_series (self, panel, i, ++n, facets);
    }
  facets_finish (facets, "1,3", 1300, 400, style, pictures);
}

const FigureReport report_apart = { .columns = result_columns,
                                    .name_key = "name",
                                    .rows_key = "rows",
                                    .text = text,
                                    .plot = plot };
