#include "report/answer/sensitivity.h"

#include <math.h>

#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/prediction/describe.h"
#include "report/prediction/results-private.h"

#define LEAST_GAIN 5e-4 /* of the throughput: what three digits show */

/* ---- columns --------------------------------------------------------------------------------- */

static const char *
break_even_name (const BreakEven *point)
{
  static const char *const names[] = {
    [BREAK_EVEN_NOT_ASKED] = NULL,
    [BREAK_EVEN_NEVER] = "never",
    [BREAK_EVEN_AT] = "at",
  };

  return names[point->kind];
}

/* A number that is there only with a break-even point. */
static double
of_break_even (const FigureEffect *effect, double number)
{
  return effect->break_even.kind == BREAK_EVEN_NOT_ASKED ? 0 : number;
}

/* A line of a table of figures. */
typedef struct
{
  const FigureEffect *of;
  const Prediction   *given;
  char               *value, *enough; /* with a unit; NULL: none */
} Row;

static void
row_clear (gpointer data)
{
  Row *self = data;

  g_free (self->value);
  g_free (self->enough);
}

/* "nic.tx below 45 Gbit/s, then sm". */
static char *
binding_text (const FigureEffect *effect)
{
  const BreakEven *point = &effect->break_even;
  g_autofree char *at = NULL;

  if (point->binds_at == 0)
    return g_strdup (point->binds_above);
  at = hardware_figure_format (&effect->figure, point->binds_at);
  return g_strdup_printf ("%s below %s, then %s", point->binds_below, at, point->binds_above);
}

static char *
show_value (const Column *column, gconstpointer row)
{
  return hardware_figure_format (&((const Row *) row)->of->figure, column_number (column, row));
}

/* "+25.0 %" of the step time, with what no longer fits, or now does. */
static char *
sample_text (const Prediction *given, const FigureSample *sample)
{
  if (isnan (sample->value))
    return g_strdup ("-");
  return g_strdup_printf ("%+.1f %%%s", 100 * (sample->step_time_s / given->step_time_s - 1),
                          sample->fits == given->fits ? ""
                          : sample->fits              ? ", fits"
                                                      : ", does not fit");
}

static char *
show_less (const Column *column, gconstpointer row)
{
  (void) column;
  return sample_text (((const Row *) row)->given, &((const Row *) row)->of->down);
}

static char *
show_more (const Column *column, gconstpointer row)
{
  (void) column;
  return sample_text (((const Row *) row)->given, &((const Row *) row)->of->up);
}

static char *
show_elasticity (const Column *column, gconstpointer row)
{
  return g_strdup_printf ("%+.3f", column_number (column, row));
}

static char *
show_binding (const Column *column, gconstpointer row)
{
  (void) column;
  return binding_text (((const Row *) row)->of);
}

COLUMN_TEXT_OF (Row, break_even, break_even_name (&p->of->break_even))
COLUMN_NUMBER_OF (Row, enough, of_break_even (p->of, p->of->break_even.value))
COLUMN_NUMBER_OF (Row, unlimited, of_break_even (p->of, p->of->break_even.unlimited_step_s))
COLUMN_NUMBER_OF (Row, binds_at, of_break_even (p->of, p->of->break_even.binds_at))

static const Column columns[] = {
  { "figure", "figure", COLUMN_WORD, 0, COLUMN_VIA (Row, of, figure.name),
    .about = "part and key: `nic.bandwidth`" },
  { "profile", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, of, figure.id),
    .about = "the hardware profile that has it" },
  { "value", "value", COLUMN_NUMBER, 0, COLUMN_VIA (Row, of, figure.value), .show = show_value,
    .about = "as it is" },
  { "elasticity", "elasticity", COLUMN_NUMBER, 0, COLUMN_VIA (Row, of, elasticity),
    .show = show_elasticity, .about = "d ln (step time) / d ln (figure), over both steps" },
  { "less_value", NULL, COLUMN_NUMBER, 0, COLUMN_VIA (Row, of, down.value),
    .about = "divided by the factor, as far as is plausible; empty: it cannot be less" },
  { "less_step_time_s", "less", COLUMN_TIME, COLUMN_OPTIONAL,
    COLUMN_VIA (Row, of, down.step_time_s), .show = show_less, .about = "with that" },
  { "less_fits", NULL, COLUMN_BOOL, 0, COLUMN_VIA (Row, of, down.fits) },
  { "more_value", NULL, COLUMN_NUMBER, 0, COLUMN_VIA (Row, of, up.value),
    .about = "multiplied, in the same way" },
  { "more_step_time_s", "more", COLUMN_TIME, COLUMN_OPTIONAL, COLUMN_VIA (Row, of, up.step_time_s),
    .show = show_more, .about = "with that" },
  { "more_fits", NULL, COLUMN_BOOL, 0, COLUMN_VIA (Row, of, up.fits) },
  { "break_even", NULL, COLUMN_WORD, 0, .text = break_even,
    .about =
        "of a rate: `at` a value; `never`, where a hundredth is enough; empty: not looked for" },
  { "enough_value", "enough", COLUMN_NUMBER, COLUMN_OPTIONAL, .number = enough, .show = show_value,
    .about = "above it all that could be added shortens the step by less than 1 %" },
  { "unlimited_step_time_s", "step without limit", COLUMN_TIME, COLUMN_OPTIONAL,
    .number = unlimited, .about = "with a thousand times as much, or the most that is plausible" },
  { "binds_below", "what binds", COLUMN_WORD, 0, COLUMN_VIA (Row, of, break_even.binds_below),
    .show = show_binding, .about = "what binds most of a step with a hundredth" },
  { "binds_above", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, of, break_even.binds_above),
    .about = "the same with a thousand times as much" },
  { "binds_at_value", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL, .number = binds_at,
    .about = "where it is no longer the former" },
  { "setback", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, of, setback),
    .about = "why a better figure makes the step longer ([sensitivity.md](sensitivity.md#limits)); "
             "empty: it does not" },
  { "value_text", NULL, COLUMN_WORD, COLUMN_JSON_ONLY, COLUMN_MEMBER (Row, value) },
  { "enough_text", NULL, COLUMN_WORD, COLUMN_JSON_ONLY, COLUMN_MEMBER (Row, enough) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  /* of the prediction, which JSON has whole */
  { "caveats", NULL, COLUMN_WORD, COLUMN_CSV_ONLY, COLUMN_VIA (Row, given, caveats),
    .about = "of the scenario as it is, as in `simulate`; JSON has them in `results`" },
  { 0 },
};

static GArray *
rows_of (const Sensitivity *self)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (Row));

  g_array_set_clear_func (rows, row_clear);
  for (guint i = 0; i < self->figures->len; i++)
    {
      const FigureEffect   *effect = &g_array_index (self->figures, FigureEffect, i);
      const HardwareFigure *figure = &effect->figure;
      Row                   row = { .of = effect, .given = self->prediction };

      row.value = hardware_figure_format (figure, figure->value);
      if (effect->break_even.kind == BREAK_EVEN_AT)
        row.enough = hardware_figure_format (figure, effect->break_even.value);
      g_array_append_val (rows, row);
    }
  return rows;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
describe_figures (Document *document, const Sensitivity *self, const GArray *rows)
{
  static const char *const effects[] = { "figure",           "value",
                                         "elasticity",       "less_step_time_s",
                                         "more_step_time_s", NULL };
  static const char *const even[] = { "figure",       "value",
                                      "enough_value", "unlimited_step_time_s",
                                      "binds_below",  NULL };
  g_autoptr (GPtrArray)    matter = g_ptr_array_new (), at = g_ptr_array_new ();
  g_autofree char         *title = g_strdup_printf (
              "Step time, with each figure of the hardware divided (LESS) and multiplied (MORE) "
                      "by %g",
              self->factor);
  guint      n_never = 0;
  TableBlock block = { columns, { 0 }, effects };

  for (guint i = 0; i < rows->len; i++)
    {
      Row *row = &g_array_index (rows, Row, i);

      if (row->of->matters)
        g_ptr_array_add (matter, row);
      if (row->of->break_even.kind == BREAK_EVEN_AT)
        g_ptr_array_add (at, row);
      n_never += row->of->break_even.kind == BREAK_EVEN_NEVER;
    }
  document_section (document, title);
  block.rows = rows_of_pointers (matter);
  document_blocks (document, &block, 1, NULL);
  if (matter->len < rows->len)
    document_line (document, "(%u further figure%s no effect, or hardly any)",
                   rows->len - matter->len, rows->len - matter->len == 1 ? " has" : "s have");
  /* A faster part that makes a longer step is no error: why it does is said. */
  for (guint i = 0; i < rows->len; i++)
    {
      const FigureEffect *effect = g_array_index (rows, Row, i).of;

      if (effect->setback != NULL)
        document_line (document, "(%s %s takes longer: %s)",
                       hardware_figure_better (&effect->figure) < 0 ? "less" : "more",
                       effect->figure.name, effect->setback);
    }
  if (at->len > 0)
    {
      g_autofree char *enough = g_strdup_printf (
          "Above ENOUGH a rate no longer matters: all that could be added shortens the step by "
          "less than %g %%",
          100 * BREAK_EVEN_SHARE);

      document_section (document, enough);
      block = (TableBlock){ columns, rows_of_pointers (at), even };
      document_blocks (document, &block, 1, NULL);
    }
  if (n_never > 0)
    document_line (document, "(of %u further rate%s a hundredth is enough)", n_never,
                   n_never == 1 ? "" : "s");
}

/* Refused ones, and those that gain and cost next to nothing, are counted. */
static void
describe_options (Document *document, const Sensitivity *self)
{
  guint n_refused = 0, n_idle = 0;

  for (guint i = 0; i < self->options->len; i++)
    {
      const OptionEffect *effect = &g_array_index (self->options, OptionEffect, i);

      n_refused += !effect->possible;
      n_idle += effect->possible && fabs (effect->gain) < LEAST_GAIN;
    }
  document_section (document, "Throughput, with one option set otherwise");
  describe_option_effects (document, self->options, self->prediction, LEAST_GAIN);
  document_line (document,
                 "(of %u further changes %u have no effect on it, or hardly any, and %u cannot be)",
                 n_idle + n_refused, n_idle, n_refused);
}

static void
add_json (struct json_object *root, const Sensitivity *self, const GArray *rows)
{
  struct json_object *results = json_object_new_array (), *object = json_object_new_object ();

  json_add_number (object, "factor", self->factor);
  json_add_count (object, "simulated", self->n_simulated);
  json_object_object_add (object, "figures", column_list (columns, rows_of_array (rows)));
  json_object_object_add (object, "options",
                          column_list (option_effect_columns, rows_of_array (self->options)));
  json_object_object_add (root, "sensitivity", object);
  json_object_array_add (results, prediction_json (self->prediction));
  json_object_object_add (root, "results", results);
}

static void
describe (Document *document, gconstpointer answer)
{
  const Sensitivity *self = answer;
  const Prediction  *given = self->prediction;
  g_autoptr (GArray) rows = rows_of (self);
  g_autofree char   *step = NULL;

  if (self->options->len > 0)
    document_results (document, NULL, option_effect_columns, rows_of_array (self->options));
  else
    document_results (document, NULL, columns, rows_of_array (rows));
  if (document_json (document) != NULL)
    add_json (document_json (document), self, rows);
  if (document_format (document) != FORMAT_TEXT)
    return;
  step = document_seconds (given->step_time_s);
  document_title (document, "%s: %s on %s", given->strategy, given->model, given->cluster);
  document_line (document, "step time %s, bound by %s%s", step, given->binding_resource,
                 given->fits ? "" : "; it does not fit");
  if (given->caveats != NULL)
    document_line (document, "Not the same training: %s.", given->caveats);
  if (self->figures->len > 0)
    describe_figures (document, self, rows);
  if (self->options->len > 0)
    describe_options (document, self);
  document_line (document, "(%u simulations)", self->n_simulated);
}

const PageKind sensitivity_answer = { .describe = describe, .columns = columns };
