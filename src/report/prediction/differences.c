/*
 * What tells the rows of a comparison apart.
 *
 * An option is told by its row's title where it has one: those of the section `cluster` by the
 * cluster's, and so on. So it is a column of its own only where rows of one title differ in it.
 * Titles are columns where they differ.
 */
#include "report/prediction/differences-private.h"

#include <string.h>

/* ---- titles ---------------------------------------------------------------------------------- */

static const char *
model_of (const Prediction *p)
{
  return p->model;
}

static const char *
cluster_of (const Prediction *p)
{
  return p->cluster;
}

static const char *
strategy_of (const Prediction *p)
{
  return p->strategy;
}

static const char *
nothing_of (const Prediction *p)
{
  (void) p;
  return "";
}

typedef const char *(*TitleOf) (const Prediction *p);

/* The title that tells the options of SECTION. */
static TitleOf
title_of_section (const char *section)
{
  if (g_str_has_prefix (section, "strategy"))
    return strategy_of;
  if (g_str_equal (section, "cluster"))
    return cluster_of;
  return g_str_equal (section, "model") ? model_of : nothing_of;
}

/* ---- columns --------------------------------------------------------------------------------- */

static void
column_free (gpointer data)
{
  DifferenceColumn *self = data;

  g_free (self->title);
  g_free (self->cells);
  g_free (self);
}

/* "MICRO-BATCH" */
static char *
title_of_key (const char *key)
{
  return g_strdelimit (g_ascii_strup (key, -1), "_", '-');
}

static DifferenceColumn *
column_new (const char *title, guint n)
{
  DifferenceColumn *self = g_new0 (DifferenceColumn, 1);

  self->title = title_of_key (title);
  self->cells = g_new (const char *, n);
  for (guint i = 0; i < n; i++)
    self->cells[i] = "";
  return self;
}

static DifferenceColumn *
title_column (const GPtrArray *predictions, const char *title, TitleOf of)
{
  DifferenceColumn *self = column_new (title, predictions->len);

  for (guint i = 0; i < predictions->len; i++)
    self->cells[i] = of (g_ptr_array_index (predictions, i));
  return self;
}

/* Whether two predictions of the same title OF differ in CELLS. */
static gboolean
differ (const GPtrArray *predictions, const char *const *cells, TitleOf of)
{
  g_autoptr (GHashTable) first = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < predictions->len; i++)
    {
      gpointer    key = (gpointer) of (g_ptr_array_index (predictions, i));
      const char *cell = g_hash_table_lookup (first, key);

      if (cell == NULL)
        g_hash_table_insert (first, key, (gpointer) cells[i]);
      else if (!g_str_equal (cell, cells[i]))
        return TRUE;
    }
  return FALSE;
}

static gboolean
same_cells (const GPtrArray *predictions, const DifferenceColumn *a, const DifferenceColumn *b)
{
  for (guint i = 0; i < predictions->len; i++)
    if (!g_str_equal (a->cells[i], b->cells[i]))
      return FALSE;
  return TRUE;
}

/* The parts of the name of PREDICTION: "llama-3-8b", "zero3" and "tp=2" of "llama-3-8b / zero3,
 * tp=2". */
static GPtrArray *
parts_of_name (const Prediction *prediction)
{
  g_auto (GStrv) words = g_strsplit (prediction->scenario, " / ", -1);
  GPtrArray     *parts = g_ptr_array_new_with_free_func (g_free);

  for (char **word = words; *word != NULL; word++)
    {
      g_autofree char **some = g_strsplit (*word, ", ", -1);

      for (char **part = some; *part != NULL; part++)
        g_ptr_array_add (parts, *part);
    }
  return parts;
}

/* Whether each prediction's name has its cell of COLUMN among its parts, or all that it is of. */
static gboolean
names_say (const GPtrArray *predictions, const DifferenceColumn *column)
{
  for (guint i = 0; i < predictions->len; i++)
    {
      g_autoptr (GPtrArray) parts = parts_of_name (g_ptr_array_index (predictions, i));
      g_auto (GStrv)        cell = g_strsplit (column->cells[i], ", ", -1);

      for (char **one = cell; *one != NULL; one++)
        if (!g_ptr_array_find_with_equal_func (parts, *one, g_str_equal, NULL))
          return FALSE;
    }
  return TRUE;
}

/* ---- options --------------------------------------------------------------------------------- */

/* An option that some prediction has. */
typedef struct
{
  const char       *section;
  const OptionSpec *spec;
  DifferenceColumn *column; /* titled by the key */
} Candidate;

static void
candidate_free (gpointer data)
{
  Candidate *self = data;

  if (self->column != NULL)
    column_free (self->column);
  g_free (self);
}

/* What has no effect is as by default: frameworks imply settings that a model has no use for. */
static const char *
value_of (const ScenarioSetting *setting)
{
  if (!setting->idle)
    return setting->value;
  return setting->spec->fallback != NULL ? setting->spec->fallback : "";
}

/* Every option of every prediction, in order of appearance. */
static GPtrArray *
find_candidates (const GPtrArray *predictions)
{
  GPtrArray             *all = g_ptr_array_new_with_free_func (candidate_free);
  g_autoptr (GHashTable) known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < predictions->len; i++)
    {
      const GArray *settings = ((const Prediction *) g_ptr_array_index (predictions, i))->settings;

      for (guint s = 0; s < settings->len; s++)
        {
          const ScenarioSetting *setting = &g_array_index (settings, ScenarioSetting, s);
          char      *key = g_strdup_printf ("%s.%s", setting->section, setting->spec->key);
          Candidate *candidate = g_hash_table_lookup (known, key);

          if (candidate == NULL)
            {
              candidate = g_new0 (Candidate, 1);
              candidate->section = setting->section;
              candidate->spec = setting->spec;
              candidate->column = column_new (setting->spec->key, predictions->len);
              candidate->column->right =
                  setting->spec->type == OPTION_INT || setting->spec->type == OPTION_QUANTITY;
              g_hash_table_insert (known, key, candidate);
              g_ptr_array_add (all, candidate);
            }
          else
            g_free (key);
          candidate->column->cells[i] = value_of (setting);
        }
    }
  return all;
}

static gboolean
is_shown (const GPtrArray *predictions, const GPtrArray *columns, const DifferenceColumn *column)
{
  for (guint i = 0; i < columns->len; i++)
    if (same_cells (predictions, g_ptr_array_index (columns, i), column))
      return TRUE;
  return FALSE;
}

static gboolean
title_is_taken (const GPtrArray *columns, const char *title)
{
  for (guint i = 0; i < columns->len; i++)
    if (g_str_equal (((const DifferenceColumn *) g_ptr_array_index (columns, i))->title, title))
      return TRUE;
  return FALSE;
}

/* A strategy's own `shard` says what the mesh's says: equal cells are one column. */
static void
add_options (const GPtrArray *predictions, GPtrArray *columns)
{
  g_autoptr (GPtrArray) candidates = find_candidates (predictions);

  for (guint i = 0; i < candidates->len; i++)
    {
      Candidate *c = g_ptr_array_index (candidates, i);

      if (!differ (predictions, c->column->cells, title_of_section (c->section))
          || is_shown (predictions, columns, c->column)
          || (c->spec->pairs && names_say (predictions, c->column)))
        continue;
      if (title_is_taken (columns, c->column->title))
        {
          g_autofree char *whole = g_strdup_printf ("%s.%s", c->section, c->spec->key);

          g_free (c->column->title);
          c->column->title = title_of_key (whole);
        }
      g_ptr_array_add (columns, g_steal_pointer (&c->column));
    }
}

GPtrArray *
differences_find (const GPtrArray *predictions)
{
  static const struct
  {
    const char *title;
    TitleOf     of;
  } titles[] = {
    { "model", model_of },
    { "cluster", cluster_of },
    { "strategy", strategy_of },
  };
  GPtrArray *columns = g_ptr_array_new_with_free_func (column_free);

  for (guint i = 0; i < G_N_ELEMENTS (titles); i++)
    {
      DifferenceColumn *column = title_column (predictions, titles[i].title, titles[i].of);

      if (differ (predictions, column->cells, nothing_of) && !names_say (predictions, column))
        g_ptr_array_add (columns, column);
      else
        column_free (column);
    }
  add_options (predictions, columns);
  return columns;
}

/* ---- in common ------------------------------------------------------------------------------- */

static const char *
common_title (const GPtrArray *predictions, TitleOf of)
{
  const char *first = of (g_ptr_array_index (predictions, 0));

  for (guint i = 1; i < predictions->len; i++)
    if (!g_str_equal (of (g_ptr_array_index (predictions, i)), first))
      return NULL;
  return first;
}

/* The size of the batch is always said. */
static gboolean
is_worth_saying (const ScenarioSetting *setting)
{
  static const char *const always[] = { "seq_len", "micro_batch", "grad_accum", NULL };

  if (title_of_section (setting->section) != nothing_of
      && !g_str_has_prefix (setting->section, "strategy"))
    return FALSE;
  if (setting->spec == &scenario_strategy_name || setting->idle)
    return FALSE;
  return (g_str_equal (setting->section, "training")
          && g_strv_contains (always, setting->spec->key))
         || g_strcmp0 (setting->value, setting->spec->fallback) != 0;
}

static gboolean
all_have (const GPtrArray *predictions, const ScenarioSetting *wanted)
{
  for (guint i = 1; i < predictions->len; i++)
    {
      const ScenarioSetting *setting = prediction_setting (g_ptr_array_index (predictions, i),
                                                           wanted->section, wanted->spec->key);

      if (setting == NULL || !g_str_equal (setting->value, wanted->value))
        return FALSE;
    }
  return TRUE;
}

void
differences_append_common (const GPtrArray *predictions, GString *out)
{
  const Prediction *first = g_ptr_array_index (predictions, 0);
  const char       *model = common_title (predictions, model_of);
  const char       *strategy = common_title (predictions, strategy_of);
  const char       *cluster = common_title (predictions, cluster_of);
  const char       *comma = "";

  g_string_append_printf (out, "%u scenario%s%s", predictions->len,
                          predictions->len == 1 ? "" : "s",
                          model != NULL || strategy != NULL ? ": " : "");
  g_string_append_printf (out, "%s%s%s", model != NULL ? model : "",
                          model != NULL && strategy != NULL ? ", " : "",
                          strategy != NULL ? strategy : "");
  g_string_append_printf (out, "%s%s\n", cluster != NULL ? " on " : "",
                          cluster != NULL ? cluster : "");
  for (guint i = 0; i < first->settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (first->settings, ScenarioSetting, i);

      if (!is_worth_saying (setting) || !all_have (predictions, setting))
        continue;
      g_string_append_printf (out, "%s%s %s", comma, setting->spec->key, setting->value);
      comma = ", ";
    }
  g_string_append_printf (out, "%s\n", *comma != '\0' ? "\n" : "");
}
