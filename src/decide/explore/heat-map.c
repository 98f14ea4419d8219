#include "decide/explore/heat-map.h"

#include <math.h>
#include <string.h>

#include "base/intern.h"
#include "predict/batch.h"

#define ORIGIN "--map"

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const PredictOptions *options;
  HeatMap              *result;
} Search;

/* ---- values ---------------------------------------------------------------------------------- */

static void
add_text (HeatAxis *self, char *text)
{
  if (g_ptr_array_find_with_equal_func (self->texts, text, g_str_equal, NULL))
    g_free (text);
  else
    g_ptr_array_add (self->texts, text);
}

static void
add_value (HeatAxis *self, double value)
{
  char *text = self->is_figure ? hardware_figure_format (&self->figure, value)
                               : g_strdup_printf ("%.0f", value);
  guint before = self->texts->len;

  add_text (self, text);
  if (self->texts->len > before && self->is_figure)
    g_array_append_val (self->values, value);
}

/* Where GIVEN stands. */
static SourceMark
mark_of (const char *given)
{
  g_autofree char *place = g_strdup_printf ("%s %s", ORIGIN, given);

  return (SourceMark){ .file = intern_text (place) };
}

static gboolean
refuse (const char *given, const char *why, const char *hint, DiagList *diags)
{
  const SourceMark mark = mark_of (given);

  diag_error (diags, &mark, hint, "%s", why);
  return FALSE;
}

static gboolean
read_figure (const HeatAxis *self, const char *word, double *value, DiagList *diags)
{
  g_autofree char *given = g_strdup_printf ("%s=%s", self->name, word);
  const SourceMark mark = mark_of (given);

  return hardware_figure_parse (&self->figure, word, &mark, value, diags);
}

/* One end of a range. */
static gboolean
read_end (const HeatAxis *self, const char *text, double *value, DiagList *diags)
{
  g_autofree char *word = g_strstrip (g_strdup (text));
  guint64          number;

  if (self->is_figure)
    return read_figure (self, word, value, diags);
  if (!g_ascii_string_to_unsigned (word, 10, 1, G_MAXINT32, &number, NULL))
    return refuse (word, "a range goes from a whole number from 1 on to another",
                   "write the values one by one, with commas between them", diags);
  *value = (double) number;
  return TRUE;
}

/* FROM..TO:N, of which RANGE holds FROM and what follows the dots. */
static gboolean
read_range (HeatAxis *self, char *const *range, const char *given, DiagList *diags)
{
  const char      *colon = strrchr (range[1], ':');
  g_autofree char *to = colon != NULL ? g_strndup (range[1], colon - range[1]) : NULL;
  guint64          n;
  double           low, high;

  if (colon == NULL
      || !g_ascii_string_to_unsigned (colon + 1, 10, 2, HEAT_MAP_MAX_VALUES, &n, NULL))
    return refuse (given, "a range has two ends and a number of values",
                   "write FROM..TO:N, N from 2 to " G_STRINGIFY (HEAT_MAP_MAX_VALUES), diags);
  if (!read_end (self, range[0], &low, diags) || !read_end (self, to, &high, diags))
    return FALSE;
  for (guint i = 0; i < n; i++)
    add_value (self, i == 0       ? low
                     : i == n - 1 ? high
                                  : low * pow (high / low, (double) i / (double) (n - 1)));
  return TRUE;
}

/* One item of a list. */
static gboolean
read_item (HeatAxis *self, const char *item, const char *given, DiagList *diags)
{
  g_auto (GStrv)   range = g_strsplit (item, "..", 2);
  g_autofree char *word = g_strstrip (g_strdup (item));
  double           value;

  if (range[0] != NULL && range[1] != NULL)
    return read_range (self, range, given, diags);
  if (!self->is_figure)
    add_text (self, g_steal_pointer (&word));
  else if (read_figure (self, word, &value, diags))
    add_value (self, value);
  else
    return FALSE;
  return TRUE;
}

/* ---- axes ------------------------------------------------------------------------------------ */

static void
axis_clear (HeatAxis *self)
{
  g_free (self->name);
  g_clear_pointer (&self->texts, g_ptr_array_unref);
  g_clear_pointer (&self->values, g_array_unref);
}

/* Whether NAME is in a section of a scenario: "training.micro_batch". */
static gboolean
is_option (const char *name)
{
  const char      *dot = strchr (name, '.');
  g_autofree char *section = dot != NULL ? g_strndup (name, dot - name) : NULL;

  if (dot == NULL)
    return FALSE;
  return g_str_equal (section, "strategy") || scenario_section_table (section) != NULL;
}

/* What NAME is among FIGURES, or else an option. */
static gboolean
name_axis (HeatAxis *self, const GArray *figures, DiagList *diags)
{
  g_autoptr (DiagList)  none = diag_list_new ();
  const SourceMark      mark = mark_of (self->name);
  const HardwareFigure *figure = hardware_figure_find (figures, self->name, &mark, none);

  if (figure == NULL && is_option (self->name))
    return TRUE;
  if (figure == NULL && strchr (self->name, '.') == NULL)
    return refuse (self->name, "neither a figure of the hardware nor an option",
                   "such as nic.bandwidth or training.micro_batch", diags);
  if (figure == NULL)
    {
      diag_list_append (diags, none);
      return FALSE;
    }
  self->is_figure = TRUE;
  self->figure = *figure;
  return TRUE;
}

static gboolean
read_axis (HeatAxis *self, const Search *search, const GArray *figures, const char *given,
           DiagList *diags)
{
  const char      *equals = strchr (given, '=');
  g_autofree char *word = equals != NULL ? g_strndup (given, equals - given) : g_strdup (given);
  g_auto (GStrv)   items = g_strsplit (equals != NULL ? equals + 1 : "", ",", -1);

  self->texts = g_ptr_array_new_with_free_func (g_free);
  self->values = g_array_new (FALSE, FALSE, sizeof (double));
  self->name = scenario_whole_key (word);
  if (equals == NULL)
    return refuse (given, "a parameter without values",
                   "write NAME=VALUE,VALUE,... or NAME=FROM..TO:N", diags);
  if (!name_axis (self, figures, diags))
    return FALSE;
  for (guint i = 0; items[i] != NULL && self->texts->len <= HEAT_MAP_MAX_VALUES; i++)
    if (!read_item (self, items[i], given, diags))
      return FALSE;
  if (self->texts->len < 2 || self->texts->len > HEAT_MAP_MAX_VALUES)
    return refuse (self->name,
                   "a map has 2 to " G_STRINGIFY (HEAT_MAP_MAX_VALUES) " values of each",
                   self->texts->len < 2
                       ? "one value is no map: set it with --set, or in a profile of --hwprofiles"
                       : "a sweep takes more: 'shardsim sweep --vary'",
                   diags);
  /* Whether each value could be set at all; what it would lead to is seen later. */
  g_autofree char *origin = g_strdup_printf ("%s %s", ORIGIN, self->name);

  for (guint i = 0; !self->is_figure && i < self->texts->len; i++)
    {
      const ScenarioOverride override = { self->name, g_ptr_array_index (self->texts, i), origin };
      g_autoptr (Scenario)   varied =
          scenario_with (search->scenario, search->strategies, &override, 1, diags);

      if (varied == NULL)
        return FALSE;
    }
  return TRUE;
}

static Variation
variation_of (const HeatAxis *self, guint i)
{
  if (self->is_figure)
    return (Variation){ .figure = &self->figure, .value = g_array_index (self->values, double, i) };
  return (Variation){ .key = self->name, .text = g_ptr_array_index (self->texts, i) };
}

/* ---- cells ----------------------------------------------------------------------------------- */

static Scenario *
build_cell (gpointer user, guint i, DiagList *diags)
{
  const Search   *self = user;
  const HeatMap  *map = self->result;
  const Variation both[] = { variation_of (&map->x, i % map->x.texts->len),
                             variation_of (&map->y, i / map->x.texts->len) };

  return scenario_varied (self->scenario, self->strategies, both, 2, diags);
}

static void
read_cell (gpointer user, guint i, Predicted *one)
{
  const Search     *self = user;
  const Prediction *p = one->prediction;

  if (p != NULL)
    g_array_index (self->result->cells, HeatCell, i) =
        (HeatCell){ .possible = TRUE,
                    .fits = p->fits,
                    .step_time_s = p->step_time_s,
                    .tokens_per_s_per_gpu = p->tokens_per_s_per_gpu,
                    .peak_bytes = p->hbm.device,
                    .binding_resource = intern_text (p->binding_resource),
                    .caveats = intern_text (p->caveats) };
}

/* FALSE, with the first cell's reasons in DIAGS, where there is no cell at all. */
static gboolean
simulate_cells (Search *self, guint n_threads, DiagList *diags)
{
  HeatMap                 *map = self->result;
  const guint              n_x = map->x.texts->len;
  const PredictOptions     options = predict_what_if (self->options);
  g_auto (PredictionBatch) batch = { .n = n_x * map->y.texts->len,
                                     .n_threads = n_threads,
                                     .options = &options,
                                     .build = build_cell,
                                     .read = read_cell,
                                     .user = self };
  gboolean                 any = FALSE;

  map->cells = g_array_new (FALSE, TRUE, sizeof (HeatCell));
  g_array_set_size (map->cells, batch.n);
  prediction_batch_run (&batch);
  for (guint i = 0; i < batch.n; i++)
    if (g_array_index (map->cells, HeatCell, i).possible)
      any = TRUE;
    else if (map->reason == NULL && batch.each[i].done)
      map->reason = g_strdup_printf (
          "%s %s, %s %s: %s", map->x.name, (const char *) g_ptr_array_index (map->x.texts, i % n_x),
          map->y.name, (const char *) g_ptr_array_index (map->y.texts, i / n_x),
          batch.each[i].reason);
  any = any || work_count_is_cut (options.count);
  if (!any && batch.each[0].error != NULL)
    diag_error (diags, NULL, NULL, "%s", batch.each[0].error->message);
  if (!any)
    diag_list_append (diags, batch.each[0].diags);
  return any;
}

/* The axes, and what the scenario is called; FALSE after diagnostics. */
static gboolean
prepare (const Search *search, const char *x, const char *y, DiagList *diags)
{
  const Scenario              *scenario = search->scenario;
  HeatMap                     *self = search->result;
  g_autoptr (ProfileSet)       profiles = predict_profiles (search->options);
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);
  g_autoptr (GArray)           figures = resolved != NULL ? resolved_figures (resolved) : NULL;
  gboolean                     good;

  if (figures == NULL)
    return FALSE;
  self->strategy = g_strdup (scenario->strategy->strategy->name);
  self->model = g_strdup (workload_shape (resolved->workload)->name);
  self->cluster = g_strdup (cluster_title (resolved->cluster));
  good = read_axis (&self->x, search, figures, x, diags);
  good = read_axis (&self->y, search, figures, y, diags) && good;
  if (good && g_str_equal (self->x.name, self->y.name))
    return refuse (y, "both parameters of the map are the same", NULL, diags);
  return good;
}

HeatMap *
heat_map_find (const Scenario *scenario, const StrategySet *strategies, const char *x,
               const char *y, const PredictOptions *options, guint n_threads, DiagList *diags)
{
  g_autoptr (HeatMap) result = g_new0 (HeatMap, 1);
  Search              self = { scenario, strategies, options, result };

  if (!prepare (&self, x, y, diags) || !simulate_cells (&self, n_threads, diags))
    return NULL;
  return g_steal_pointer (&result);
}

void
heat_map_free (HeatMap *self)
{
  if (self == NULL)
    return;
  axis_clear (&self->x);
  axis_clear (&self->y);
  g_free (self->strategy);
  g_free (self->model);
  g_free (self->cluster);
  g_free (self->reason);
  g_clear_pointer (&self->cells, g_array_unref);
  g_free (self);
}

const HeatCell *
heat_map_cell (const HeatMap *self, guint x, guint y)
{
  return &g_array_index (self->cells, HeatCell, y * self->x.texts->len + x);
}
