#include "evidence/figures/figure-edge.h"

#include <math.h>

#include "edge/split-replay.h"
#include "edge/star-file.h"
#include "evidence/figures/figure-private.h"

/* Settings of either kind. */
typedef union
{
  SplitSettings split;
  SlimSettings  slim;
} EdgeSettings;

/* A kind of stars. */
typedef struct
{
  StarForm    form;
  const char *suffix;
  gsize       radio;
  /* What SETTINGS ask for. NAN with *WHY newly allocated. */
  double (*value) (const EdgeStar *star, const EdgeSettings *settings, char **why);
  const char *(*metric) (const EdgeSettings *settings);
  /* What the file's own settings give. FALSE with *WHY newly allocated. */
  gboolean (*base) (EdgeFigure *self, const EdgeSettings *settings, char **why);
} EdgeKind;

/* ---- split learning -------------------------------------------------------------------------- */

/* Seconds of a round of WORK by CLOCK. NAN with *WHY set. */
static double
seconds_of (const SplitWork *work, SplitClock clock, char **why)
{
  g_autoptr (GError) error = NULL;
  double             seconds;

  if (clock == SPLIT_CLOSED)
    return split_closed_form (work, PART_ROUND);
  seconds = split_replay (work, clock, &error);
  if (error != NULL)
    *why = g_strdup (error->message);
  return seconds;
}

static double
split_value (const EdgeStar *star, const EdgeSettings *settings, char **why)
{
  g_autoptr (SplitWork) work = split_work_new (star, &settings->split, why);

  if (work == NULL)
    return NAN;
  if (settings->split.part != PART_ROUND)
    return split_closed_form (work, (SplitPart) settings->split.part);
  return seconds_of (work, (SplitClock) settings->split.clock, why);
}

static const char *
split_metric (const EdgeSettings *settings)
{
  (void) settings;
  return "seconds";
}

static gboolean
split_base (EdgeFigure *self, const EdgeSettings *settings, char **why)
{
  self->split = settings->split;
  self->work = split_work_new (self->star, &self->split, why);
  for (guint c = 0; self->work != NULL && c < SPLIT_N_CLOCKS && *why == NULL; c++)
    self->seconds[c] = seconds_of (self->work, (SplitClock) c, why);
  return *why == NULL;
}

static const EdgeKind split_kind = {
  .form = { split_options, split_client_options, split_layer_options, TRUE },
  .suffix = ".star.yaml",
  .radio = G_STRUCT_OFFSET (SplitSettings, radio),
  .value = split_value,
  .metric = split_metric,
  .base = split_base,
};

/* ---- slimmable networks ---------------------------------------------------------------------- */

static double
slim_value (const EdgeStar *star, const EdgeSettings *settings, char **why)
{
  return slim_quantity (star, &settings->slim, why);
}

static const char *
slim_metric (const EdgeSettings *settings)
{
  return slim_quantity_names[settings->slim.quantity];
}

static gboolean
slim_base (EdgeFigure *self, const EdgeSettings *settings, char **why)
{
  SlimSettings probe = settings->slim;

  self->slim = settings->slim;
  self->slim_clients = g_array_new (FALSE, TRUE, sizeof (SlimClient));
  for (guint i = 0; i < self->star->clients->len; i++)
    for (guint s = 0; s < SLIM_N_SYSTEMS; s++)
      {
        SlimClient client = { 0 };

        if (!slim_client (self->star, &self->slim, (SlimSystem) s, i, &client, why))
          return FALSE;
        g_array_append_val (self->slim_clients, client);
      }
  probe.system = SLIM_SLIM;
  probe.quantity = SLIM_HALF_ARRIVES;
  return !isnan (slim_quantity (self->star, &probe, why));
}

static const EdgeKind slim_kind = {
  .form = { slim_options, slim_client_options, slim_layer_options, FALSE },
  .suffix = ".slim.yaml",
  .radio = G_STRUCT_OFFSET (SlimSettings, radio),
  .value = slim_value,
  .metric = slim_metric,
  .base = slim_base,
};

/* ---- panels ---------------------------------------------------------------------------------- */

static void
clear_panel (gpointer data)
{
  CurvePanel *self = data;

  g_clear_pointer (&self->xs, g_array_unref);
  g_clear_pointer (&self->series, g_ptr_array_unref);
  g_clear_pointer (&self->values, g_free);
}

/* The number that KEY of SETTINGS is. FALSE after a diagnostic: it is a word. */
static gboolean
number_of (const EdgeKind *kind, const EdgeSettings *settings, const char *key,
           const SourceMark *mark, double *number, DiagList *diags)
{
  const OptionSpec *spec = option_table_find (kind->form.settings, key);

  if (spec->type == OPTION_INT)
    *number = (double) G_STRUCT_MEMBER (gint64, settings, spec->offset);
  else if (spec->type == OPTION_QUANTITY)
    *number = G_STRUCT_MEMBER (double, settings, spec->offset);
  else
    {
      diag_error (diags, mark, "x is a number; a choice is a series", "'%s' is no number", key);
      return FALSE;
    }
  return TRUE;
}

/* Where a value of a panel is computed. */
typedef struct
{
  Figures         *figure;
  const EdgeKind  *kind;
  const EdgeStar  *star;
  const EdgePanel *given;
  EdgeSettings     settings; /* the file's, and the panel's over them */
} PanelMaker;

/* The value of series S at X. FALSE after diagnostics: one of them is none. */
static gboolean
add_value (const PanelMaker *self, guint s, guint i, CurvePanel *panel, DiagList *diags)
{
  const EdgePanel  *given = self->given;
  const StarForm   *form = &self->kind->form;
  const ConfigNode *x = g_ptr_array_index (given->xs, i);
  EdgeSettings      settings = self->settings;
  g_autofree char  *why = NULL;
  const char       *metric;
  double            number, value;

  if (!star_set (form, &settings, given->series, g_ptr_array_index (given->all_series, s), diags)
      || !star_set (form, &settings, given->x, x, diags)
      || !number_of (self->kind, &settings, given->x, config_node_mark (x), &number, diags))
    return FALSE;
  value = self->kind->value (self->star, &settings, &why);
  if (s == 0)
    g_array_append_val (panel->xs, number);
  if (why != NULL && panel->reason == NULL)
    panel->reason = figure_keep (self->figure, why);
  panel->values[(gsize) s * given->xs->len + i] = value;
  metric = self->kind->metric (&settings);
  if (*panel->metric != '\0' && !g_str_equal (panel->metric, metric))
    metric = figure_keep (self->figure, given->series); /* each series is of its own */
  panel->metric = metric;
  if (!isnan (value))
    {
      panel->low = fmin (panel->low, value);
      panel->high = fmax (panel->high, value);
    }
  return TRUE;
}

static void
add_points (Figures *figure, const CurvePanel *panel)
{
  for (guint s = 0; s < panel->series->len; s++)
    for (guint i = 0; i < panel->xs->len; i++)
      {
        const CurvePoint point = { panel, g_ptr_array_index (panel->series, s),
                                   g_array_index (panel->xs, double, i),
                                   curve_value (panel, s, i) };

        g_array_append_val (figure->rows, point);
      }
}

/* FALSE after diagnostics. */
static gboolean
make_panel (PanelMaker *self, const EdgeSettings *base, CurvePanel *panel, DiagList *diags)
{
  const EdgePanel *given = self->given;

  self->settings = *base;
  if (!star_set_panel (&self->kind->form, &self->settings, given, diags))
    return FALSE;
  for (guint s = 0; s < given->all_series->len; s++)
    {
      const ConfigNode *node = g_ptr_array_index (given->all_series, s);
      g_autofree char  *name = g_strdup_printf (
           "%s %s", given->series, config_node_text (node) != NULL ? config_node_text (node) : "");

      g_ptr_array_add (panel->series, (gpointer) figure_keep (self->figure, name));
      for (guint i = 0; i < given->xs->len; i++)
        if (!add_value (self, s, i, panel, diags))
          return FALSE;
    }
  return TRUE;
}

static gboolean
make_panels (Figures *self, const EdgeKind *kind, const EdgeStar *star, const EdgeSettings *base,
             DiagList *diags)
{
  PanelMaker maker = { self, kind, star, NULL, *base };

  for (guint p = 0; p < star->panels->len; p++)
    {
      const EdgePanel *given = &g_array_index (star->panels, EdgePanel, p);
      const CurvePanel panel = {
        .figure = figure_keep (self, given->figure),
        .x = figure_keep (self, given->x),
        .prefix = "",
        .over = "",
        .metric = "",
        .assumptions = "",
        .published = NAN,
        .xs = g_array_new (FALSE, FALSE, sizeof (double)),
        .series = g_ptr_array_new (),
        .values = g_new0 (double, (gsize) given->xs->len * given->all_series->len),
        .low = INFINITY,
        .high = -INFINITY,
      };

      g_array_append_val (self->lines, panel);
      maker.given = given;
      if (!make_panel (&maker, base, FIGURE_LINE (self, CurvePanel, p), diags))
        return FALSE;
    }
  for (guint p = 0; p < self->lines->len; p++)
    add_points (self, FIGURE_LINE (self, CurvePanel, p));
  return TRUE;
}

/* ---- the figure ------------------------------------------------------------------------------ */

static void
edge_figure_free (gpointer data)
{
  EdgeFigure *self = data;

  star_free (self->star);
  split_work_free (self->work);
  g_clear_pointer (&self->slim_clients, g_array_unref);
  g_free (self);
}

static gboolean
compute_kind (Figures *self, const EdgeKind *kind, DiagList *diags)
{
  g_autofree char *file = figure_file (self->folder, self->name, kind->suffix);
  g_autofree char *why = NULL;
  EdgeSettings     settings = { 0 };
  EdgeFigure      *edge = g_new0 (EdgeFigure, 1);

  self->extra = edge;
  self->free_extra = edge_figure_free;
  edge->star = star_load (file, &kind->form, &settings, kind->radio, diags);
  if (edge->star == NULL)
    return FALSE;
  if (!kind->base (edge, &settings, &why))
    {
      diag_error (diags, star_mark (edge->star), NULL, "%s", why);
      return FALSE;
    }
  return make_panels (self, kind, edge->star, &settings, diags);
}

static gboolean
compute_split (Figures *self, const FigureInput *input, DiagList *diags)
{
  (void) input;
  return compute_kind (self, &split_kind, diags);
}

static gboolean
compute_slim (Figures *self, const FigureInput *input, DiagList *diags)
{
  (void) input;
  return compute_kind (self, &slim_kind, diags);
}

const FigureComputation figure_split = {
  .suffix = ".star.yaml",
  .alone = TRUE,
  .lines = { .size = sizeof (CurvePanel), .clear = clear_panel },
  .row_size = sizeof (CurvePoint),
  .compute = compute_split,
};

const FigureComputation figure_slim = {
  .suffix = ".slim.yaml",
  .alone = TRUE,
  .lines = { .size = sizeof (CurvePanel), .clear = clear_panel },
  .row_size = sizeof (CurvePoint),
  .compute = compute_slim,
};
