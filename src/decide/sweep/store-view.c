#include "decide/sweep/store-view.h"

#include <math.h>
#include <string.h>

#define MAX_MODELS 64

/* Columns of the store that are read. */
typedef enum
{
  SCENARIO,
  STRATEGY,
  MODEL,
  BINDING,
  CAVEATS,
  CONTEXT,
  BASE,
  FAILURE,
  FITS,
  STEP,
  SPEED,
  TOKENS,
  MFU,
  PEAK,
  TIGHT,
  GPUS,
  N_READ,
} Column;

static const char *const column_names[N_READ] = {
  "scenario",
  "strategy",
  "model",
  "binding_resource",
  "caveats",
  "context",
  "base",
  "failure",
  "fits",
  "step_time_s",
  "tokens_per_s_per_gpu",
  "tokens_per_s",
  "mfu_percent",
  "peak_device_gib",
  "tight",
  "n_gpus",
};

/* A store on its way into a view. */
typedef struct
{
  StoreView  *view;
  const char *context; /* NULL: any */
  gboolean    started;
  gint        columns[N_READ]; /* of a row; -1: the store has none */
  GArray     *options;         /* guint: columns of a row, by the view's options */
  guint64     place;
  GArray     *models;   /* CountedText */
  GPtrArray  *axes;     /* StoreAxis: the options, then strategies; more values than fit: none */
  GArray     *too_many; /* gboolean, by axes */
} Reader;

/* ---- rows ------------------------------------------------------------------------------------ */

/* Newly allocated; "" for nothing. */
static char *
text_of (const ResultValue *value)
{
  return value->type == RESULT_TEXT    ? g_strdup (value->text)
         : value->type == RESULT_WHOLE ? g_strdup_printf ("%" G_GINT64_FORMAT, value->whole)
         : value->type == RESULT_REAL  ? g_strdup_printf ("%.15g", value->real)
                                       : g_strdup ("");
}

static double
number_of (const ResultValue *value)
{
  return value->type == RESULT_REAL    ? value->real
         : value->type == RESULT_WHOLE ? (double) value->whole
                                       : NAN;
}

static const ResultValue *
value_at (const Reader *self, const ResultValue *values, Column column)
{
  static const ResultValue nothing = { .type = RESULT_NULL };

  return self->columns[column] >= 0 ? &values[self->columns[column]] : &nothing;
}

static void
run_free (gpointer data)
{
  StoreRun *self = data;

  g_free (self->scenario);
  g_free (self->strategy);
  g_free (self->model);
  g_free (self->binding);
  g_free (self->caveats);
  g_free (self->context);
  g_free (self->base);
  g_strfreev (self->settings);
  g_free (self);
}

static StoreRun *
run_new (const Reader *self, const ResultValue *values)
{
  StoreRun *run = g_new0 (StoreRun, 1);

  run->scenario = text_of (value_at (self, values, SCENARIO));
  run->strategy = text_of (value_at (self, values, STRATEGY));
  run->model = text_of (value_at (self, values, MODEL));
  run->binding = text_of (value_at (self, values, BINDING));
  run->caveats = text_of (value_at (self, values, CAVEATS));
  run->context = text_of (value_at (self, values, CONTEXT));
  run->base = text_of (value_at (self, values, BASE));
  run->settings = g_new0 (char *, self->options->len + 1);
  for (guint i = 0; i < self->options->len; i++)
    run->settings[i] = text_of (&values[g_array_index (self->options, guint, i)]);
  run->fits = number_of (value_at (self, values, FITS)) > 0;
  run->step_time_s = number_of (value_at (self, values, STEP));
  run->tokens_per_s_per_gpu = number_of (value_at (self, values, SPEED));
  run->tokens_per_s = number_of (value_at (self, values, TOKENS));
  run->mfu_percent = number_of (value_at (self, values, MFU));
  run->peak_gib = number_of (value_at (self, values, PEAK));
  run->tight = number_of (value_at (self, values, TIGHT)) > 0;
  run->n_gpus = number_of (value_at (self, values, GPUS));
  run->place = self->place;
  return run;
}

static StoreRun *
run_at (const GPtrArray *runs, guint i)
{
  return g_ptr_array_index (runs, i);
}

static StoreAxis *
axis_new (const char *name)
{
  StoreAxis *self = g_new0 (StoreAxis, 1);

  self->name = g_strdup (name);
  self->values = g_ptr_array_new_with_free_func (g_free);
  return self;
}

static void
axis_free (gpointer data)
{
  StoreAxis *self = data;

  if (self == NULL)
    return;
  g_free (self->name);
  g_ptr_array_unref (self->values);
  g_free (self);
}

/* Where each column is. Names with a dot are options. */
static void
read_names (Reader *self, const char *const *names, guint n)
{
  g_autoptr (GPtrArray) options = g_ptr_array_new ();

  for (guint c = 0; c < N_READ; c++)
    self->columns[c] = -1;
  for (guint i = 0; i < n; i++)
    {
      for (guint c = 0; c < N_READ; c++)
        if (g_str_equal (names[i], column_names[c]))
          self->columns[c] = (gint) i;
      if (strchr (names[i], '.') == NULL)
        continue;
      g_array_append_val (self->options, i);
      g_ptr_array_add (options, g_strdup (names[i]));
      g_ptr_array_add (self->axes, axis_new (names[i]));
    }
  g_ptr_array_add (options, NULL);
  self->view->options = (char **) g_ptr_array_steal (options, NULL);
  if (!g_strv_contains ((const char *const *) self->view->options, "strategy.name"))
    g_ptr_array_add (self->axes, axis_new ("strategy"));
  g_array_set_size (self->too_many, self->axes->len);
  self->started = TRUE;
}

/* ---- the first pass: what there is ----------------------------------------------------------- */

static gint
compare_runs (const StoreRun *a, const StoreRun *b)
{
  if (a->fits != b->fits)
    return a->fits ? -1 : 1;
  if (a->tokens_per_s_per_gpu != b->tokens_per_s_per_gpu)
    return a->tokens_per_s_per_gpu > b->tokens_per_s_per_gpu ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

/* Takes RUN. */
static void
keep_best (StoreView *view, StoreRun *run)
{
  guint at = view->best->len;

  while (at > 0 && compare_runs (run, run_at (view->best, at - 1)) < 0)
    at--;
  if (at == STORE_VIEW_RUNS)
    {
      run_free (run);
      return;
    }
  g_ptr_array_insert (view->best, (gint) at, run);
  if (view->best->len > STORE_VIEW_RUNS)
    g_ptr_array_remove_index (view->best, STORE_VIEW_RUNS);
}

/* Whether the row counts. */
static gboolean
is_wanted (Reader *self, const char *const *names, const ResultValue *values, guint n)
{
  const ResultValue *context;

  if (!self->started)
    read_names (self, names, n);
  self->place++;
  context = value_at (self, values, CONTEXT);
  return self->context == NULL || g_strcmp0 (context->text, self->context) == 0;
}

static gboolean
read_row (const char *const *names, const ResultValue *values, guint n, gpointer user)
{
  Reader            *self = user;
  const ResultValue *failure;
  StoreRun          *run;

  if (!is_wanted (self, names, values, n))
    {
      self->view->n_others++;
      return TRUE;
    }
  self->view->n++;
  failure = value_at (self, values, FAILURE);
  if (failure->type == RESULT_TEXT)
    {
      self->view->n_failed++;
      counted_texts_add (self->view->reasons, failure->text, STORE_VIEW_REASONS);
      return TRUE;
    }
  run = run_new (self, values);
  if (run->fits)
    counted_texts_add (self->models, run->model, MAX_MODELS);
  else
    self->view->n_misfits++;
  for (guint a = 0; a < self->axes->len; a++)
    {
      StoreAxis  *axis = g_ptr_array_index (self->axes, a);
      const char *value = a < self->options->len ? run->settings[a] : run->strategy;

      if (g_ptr_array_find_with_equal_func (axis->values, value, g_str_equal, NULL))
        continue;
      if (axis->values->len < STORE_VIEW_VALUES)
        g_ptr_array_add (axis->values, g_strdup (value));
      else
        g_array_index (self->too_many, gboolean, a) = TRUE;
    }
  keep_best (self->view, run);
  return TRUE;
}

/* ---- between both ---------------------------------------------------------------------------- */

static gint
compare_numbers (gconstpointer a, gconstpointer b)
{
  const double x = g_ascii_strtod (*(const char *const *) a, NULL);
  const double y = g_ascii_strtod (*(const char *const *) b, NULL);

  return x < y ? -1 : x > y;
}

static void
finish_axis (StoreAxis *self)
{
  gboolean numbers = TRUE;

  for (guint i = 0; i < self->values->len; i++)
    {
      const char *text = g_ptr_array_index (self->values, i);
      char       *end;

      g_ascii_strtod (text, &end);
      numbers = numbers && end > text && *end == '\0';
    }
  if (numbers)
    g_ptr_array_sort (self->values, compare_numbers);
  g_ptr_array_add (self->values, NULL);
}

/* The model with most runs, and the two axes. */
static void
choose (Reader *self)
{
  StoreView *view = self->view;
  guint64    most = 0;

  view->n_models = self->models->len;
  for (guint i = 0; i < self->models->len; i++)
    {
      const CountedText *model = &g_array_index (self->models, CountedText, i);

      if (model->n <= most)
        continue;
      most = model->n;
      g_free (view->model);
      view->model = g_strdup (model->text);
    }
  for (guint a = 0; a < self->axes->len; a++)
    {
      StoreAxis *axis = g_ptr_array_index (self->axes, a);
      gboolean   usable = axis->values->len > 1 && !g_array_index (self->too_many, gboolean, a);

      view->n_axes += axis->values->len > 1;
      if (!usable || view->y != NULL)
        continue;
      *(view->x == NULL ? &view->x : &view->y) = axis;
      self->axes->pdata[a] = NULL;
      finish_axis (axis);
    }
  if (view->y == NULL)
    return;
  view->cells = g_new (double, (view->x->values->len - 1) * (view->y->values->len - 1));
  for (guint i = 0; i < (view->x->values->len - 1) * (view->y->values->len - 1); i++)
    view->cells[i] = NAN;
}

/* ---- the second pass: of one model what fits ------------------------------------------------- */

/* Takes RUN. */
static void
keep_front (StoreView *view, StoreRun *run)
{
  GPtrArray *front = view->front;
  guint      at = 0;

  for (guint i = 0; i < front->len; i++)
    if (run_at (front, i)->peak_gib <= run->peak_gib
        && run_at (front, i)->tokens_per_s_per_gpu >= run->tokens_per_s_per_gpu)
      {
        run_free (run);
        return;
      }
  for (guint i = front->len; i-- > 0;)
    if (run_at (front, i)->peak_gib >= run->peak_gib
        && run_at (front, i)->tokens_per_s_per_gpu <= run->tokens_per_s_per_gpu)
      g_ptr_array_remove_index (front, i);
  while (at < front->len && run_at (front, at)->peak_gib < run->peak_gib)
    at++;
  if (front->len < STORE_VIEW_FRONT)
    g_ptr_array_insert (front, (gint) at, run);
  else
    run_free (run);
}

/* Takes RUN. */
static void
keep_size (StoreView *view, StoreRun *run)
{
  GPtrArray *sizes = view->scaling;

  for (guint i = 0; i < sizes->len; i++)
    {
      StoreRun *other = run_at (sizes, i);

      if (other->n_gpus != run->n_gpus || !g_str_equal (other->strategy, run->strategy))
        continue;
      if (other->tokens_per_s < run->tokens_per_s)
        {
          sizes->pdata[i] = run;
          run = other;
        }
      run_free (run);
      return;
    }
  if (sizes->len < STORE_VIEW_SIZES)
    g_ptr_array_add (sizes, run);
  else
    run_free (run);
}

/* FALSE: somebody added a run of another value since the first pass. */
static gboolean
find_value (const StoreAxis *axis, const Reader *self, const StoreRun *run, guint *at)
{
  const char *value = run->strategy;

  for (guint i = 0; self->view->options[i] != NULL; i++)
    if (g_str_equal (self->view->options[i], axis->name))
      value = run->settings[i];
  for (*at = 0; *at + 1 < axis->values->len; (*at)++)
    if (g_strcmp0 (g_ptr_array_index (axis->values, *at), value) == 0)
      return TRUE;
  return FALSE;
}

static void
keep_cell (const Reader *self, const StoreRun *run)
{
  const StoreView *view = self->view;
  guint            x, y;
  double          *cell;

  if (view->cells == NULL || !find_value (view->x, self, run, &x)
      || !find_value (view->y, self, run, &y))
    return;
  cell = &view->cells[y * (view->x->values->len - 1) + x];
  *cell = isnan (*cell) ? run->tokens_per_s_per_gpu : MAX (*cell, run->tokens_per_s_per_gpu);
}

static gboolean
read_fitting (const char *const *names, const ResultValue *values, guint n, gpointer user)
{
  Reader   *self = user;
  StoreRun *run;

  if (!is_wanted (self, names, values, n) || value_at (self, values, FAILURE)->type == RESULT_TEXT)
    return TRUE;
  run = run_new (self, values);
  if (!run->fits || g_strcmp0 (run->model, self->view->model) != 0)
    {
      run_free (run);
      return TRUE;
    }
  keep_cell (self, run);
  keep_front (self->view, run);
  keep_size (self->view, run_new (self, values));
  return TRUE;
}

static gint
compare_sizes (gconstpointer a, gconstpointer b)
{
  const StoreRun *x = *(const StoreRun *const *) a, *y = *(const StoreRun *const *) b;

  return x->n_gpus < y->n_gpus ? -1 : x->n_gpus > y->n_gpus ? 1 : (x->place > y->place) * 2 - 1;
}

/* ---- the view -------------------------------------------------------------------------------- */

static void
reader_clear (Reader *self)
{
  g_array_unref (self->options);
  g_array_unref (self->models);
  g_ptr_array_unref (self->axes);
  g_array_unref (self->too_many);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Reader, reader_clear)

static gboolean
read_store (Reader *self, ResultStore *store, GError **error)
{
  StoreView *view = self->view;

  if (!result_store_visit_all (store, read_row, self, error))
    return FALSE;
  choose (self);
  self->place = 0;
  if (view->model != NULL && !result_store_visit_all (store, read_fitting, self, error))
    return FALSE;
  g_ptr_array_sort (view->scaling, compare_sizes);
  if (view->best->len == 0)
    return TRUE;
  return result_store_origin (store, run_at (view->best, 0)->base, run_at (view->best, 0)->context,
                              &view->base, &view->program_version, &view->profiles,
                              &view->run_options, error);
}

/* RUNS: N of them are read; NULL: all are. */
static StoreView *
view_new (ResultStore *store, const SweepBest *runs, guint n, GError **error)
{
  g_autoptr (StoreView) self = g_new0 (StoreView, 1);
  g_auto (Reader)       reader = {
          .view = self,
          .context = result_store_context (store),
          .options = g_array_new (FALSE, FALSE, sizeof (guint)),
          .models = counted_texts_new (),
          .axes = g_ptr_array_new_with_free_func (axis_free),
          .too_many = g_array_new (FALSE, TRUE, sizeof (gboolean)),
  };

  self->best = g_ptr_array_new_with_free_func (run_free);
  self->front = g_ptr_array_new_with_free_func (run_free);
  self->scaling = g_ptr_array_new_with_free_func (run_free);
  self->reasons = counted_texts_new ();
  if (runs == NULL && !read_store (&reader, store, error))
    return NULL;
  for (guint i = 0; i < n; i++)
    if (!result_store_visit_one (store, runs[i].digest, read_row, &reader, error))
      return NULL;
  return g_steal_pointer (&self);
}

StoreView *
store_view_new (ResultStore *store, GError **error)
{
  return view_new (store, NULL, 0, error);
}

StoreView *
store_view_of (ResultStore *store, const SweepBest *runs, guint n, GError **error)
{
  return view_new (store, runs, n, error);
}

void
store_view_free (StoreView *self)
{
  if (self == NULL)
    return;
  g_strfreev (self->options);
  g_ptr_array_unref (self->best);
  g_array_unref (self->reasons);
  g_free (self->base);
  g_free (self->program_version);
  g_free (self->profiles);
  g_free (self->run_options);
  g_free (self->model);
  g_ptr_array_unref (self->front);
  g_ptr_array_unref (self->scaling);
  axis_free (self->x);
  axis_free (self->y);
  g_free (self->cells);
  g_free (self);
}
