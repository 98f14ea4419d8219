#include "evidence/tables/training-slow.h"

#include <string.h>

/* A row of speed as the rule sees it. */
typedef struct
{
  TrainingRow *row;
  char        *neighbours; /* equal of rows that are compared */
  double       tokens;     /* of a micro-step, on one context rank */
  double       pass_s;
} Pass;

static void
pass_clear (gpointer data)
{
  g_free (((Pass *) data)->neighbours);
}

static const char *
setting_of (const TrainingRow *row, const char *key)
{
  for (guint i = 0; i < row->settings->len; i++)
    {
      const ScenarioOverride *setting = &g_array_index (row->settings, ScenarioOverride, i);

      if (strcmp (setting->key, key) == 0)
        return setting->value;
    }
  return NULL;
}

/* 1 where nothing is set, as the default of all that is asked for. */
static double
number_of (const TrainingRow *row, const char *key)
{
  const char *text = setting_of (row, key);

  return text != NULL ? MAX (g_ascii_strtod (text, NULL), 1) : 1;
}

static char *
neighbours_of (const TrainingRow *row)
{
  static const char *const same[] = { "cluster.name",   "cluster.gpu",
                                      "model.config",   "model.arch",
                                      "model.n_layers", "model.d_model",
                                      "model.n_heads",  "model.d_ff",
                                      "model.vocab",    "training.activation_checkpointing",
                                      "mesh.tp" };
  g_autoptr (GString)      key = g_string_new (row->source);

  for (guint i = 0; i < G_N_ELEMENTS (same); i++)
    {
      const char *value = setting_of (row, same[i]);

      g_string_append_printf (key, "\x1f%s", value != NULL ? value : "");
    }
  return g_string_free (g_steal_pointer (&key), FALSE);
}

static gboolean
pass_read (TrainingRow *row, Pass *pass)
{
  const double seq_len = number_of (row, "training.seq_len"), tp = number_of (row, "mesh.tp");
  const double pp = number_of (row, "mesh.pp"), cp = number_of (row, "mesh.cp");
  const double accum = number_of (row, "training.grad_accum");
  const double tokens = seq_len * number_of (row, "training.micro_batch");
  double       step_s = row->value;

  if (row->metric == METRIC_TOKENS_PER_S_PER_GPU)
    step_s = tokens * accum / (row->value * tp * pp * cp);
  else if (row->metric != METRIC_STEP_TIME_S)
    return FALSE;
  *pass = (Pass){ .row = row,
                  .neighbours = neighbours_of (row),
                  .tokens = tokens / cp,
                  .pass_s = step_s / (accum + pp - 1) * pp };
  return row->value > 0;
}

void
training_find_slow (GArray *rows)
{
  g_autoptr (GArray) passes = g_array_new (FALSE, FALSE, sizeof (Pass));

  g_array_set_clear_func (passes, pass_clear);
  for (guint i = 0; i < rows->len; i++)
    {
      Pass pass = { 0 };

      if (pass_read (&g_array_index (rows, TrainingRow, i), &pass))
        g_array_append_val (passes, pass);
      else
        pass_clear (&pass);
    }
  for (guint i = 0; i < passes->len; i++)
    {
      const Pass *pass = &g_array_index (passes, Pass, i);
      double      shortest = pass->pass_s;

      for (guint o = 0; o < passes->len; o++)
        {
          const Pass *other = &g_array_index (passes, Pass, o);

          if (other->tokens >= pass->tokens && other->pass_s < shortest
              && strcmp (other->neighbours, pass->neighbours) == 0)
            shortest = other->pass_s;
        }
      pass->row->slow = pass->row->n_nodes > 1 && pass->pass_s > TRAINING_SLOW_FACTOR * shortest;
    }
}
