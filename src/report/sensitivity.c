#include "report/sensitivity.h"

#include <math.h>

#include "report/advice-private.h"
#include "report/fields-private.h"
#include "report/results-private.h"
#include "report/terminal-private.h"

#define LEAST_GAIN 5e-4 /* of the throughput: what three digits show */

/* ---- text ------------------------------------------------------------------------------------ */

/* "+25.0 %" of the step time, with what no longer fits, or now does. */
static char *
sample_text (const Sensitivity *self, const FigureSample *sample)
{
  const Prediction *given = self->prediction;
  g_autofree char  *change = NULL;

  if (isnan (sample->value))
    return g_strdup ("-");
  change = terminal_percent (sample->step_time_s / given->step_time_s - 1, TRUE);
  return g_strconcat (change,
                      sample->fits == given->fits ? ""
                      : sample->fits              ? ", fits"
                                                  : ", does not fit",
                      NULL);
}

static void
append_effects (const Sensitivity *self, GString *out)
{
  const TerminalColumn columns[] = {
    { "FIGURE", FALSE }, { "VALUE", TRUE }, { "ELASTICITY", TRUE },
    { "LESS", TRUE },    { "MORE", TRUE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  guint                  n_idle = 0;

  g_string_append_printf (out,
                          "\nStep time, with each figure of the hardware divided (LESS) and "
                          "multiplied (MORE) by %g\n",
                          self->factor);
  for (guint i = 0; i < self->figures->len; i++)
    {
      const FigureEffect *effect = &g_array_index (self->figures, FigureEffect, i);
      char               *cells[6] = { NULL };

      n_idle += !effect->matters;
      if (!effect->matters)
        continue;
      cells[0] = g_strdup (effect->figure.name);
      cells[1] = hardware_figure_format (&effect->figure, effect->figure.value);
      cells[2] = g_strdup_printf ("%+.3f", effect->elasticity);
      cells[3] = sample_text (self, &effect->down);
      cells[4] = sample_text (self, &effect->up);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
  if (n_idle > 0)
    g_string_append_printf (out, "(%u further figure%s no effect, or hardly any)\n", n_idle,
                            n_idle == 1 ? " has" : "s have");
}

/* A faster part that makes a longer step is no error: why it does is said. */
static void
append_setbacks (const Sensitivity *self, GString *out)
{
  for (guint i = 0; i < self->figures->len; i++)
    {
      const FigureEffect *effect = &g_array_index (self->figures, FigureEffect, i);

      if (effect->setback != NULL)
        g_string_append_printf (out, "(%s %s takes longer: %s)\n",
                                hardware_figure_better (&effect->figure) < 0 ? "less" : "more",
                                effect->figure.name, effect->setback);
    }
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

static void
append_break_even (const Sensitivity *self, GString *out)
{
  const TerminalColumn columns[] = {
    { "RATE", FALSE },       { "VALUE", TRUE }, { "ENOUGH", TRUE }, { "STEP WITHOUT LIMIT", TRUE },
    { "WHAT BINDS", FALSE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  guint                  n_rates = 0, n_never = 0;

  for (guint i = 0; i < self->figures->len; i++)
    {
      const FigureEffect *effect = &g_array_index (self->figures, FigureEffect, i);
      const BreakEven    *point = &effect->break_even;
      char               *cells[6] = { NULL };

      n_never += point->kind == BREAK_EVEN_NEVER;
      if (point->kind != BREAK_EVEN_AT)
        continue;
      n_rates++;
      cells[0] = g_strdup (effect->figure.name);
      cells[1] = hardware_figure_format (&effect->figure, effect->figure.value);
      cells[2] = hardware_figure_format (&effect->figure, point->value);
      cells[3] = quantity_format (QUANTITY_TIME, point->unlimited_step_s, 4);
      cells[4] = binding_text (effect);
      terminal_table_take (table, cells);
    }
  if (n_rates > 0)
    g_string_append_printf (out,
                            "\nAbove ENOUGH a rate no longer matters: all that could be added "
                            "shortens the step by less than %g %%\n",
                            100 * BREAK_EVEN_SHARE);
  if (n_rates > 0)
    terminal_table_finish (table, out);
  else
    scols_unref_table (table);
  if (n_never > 0)
    g_string_append_printf (out, "(of %u further rate%s a hundredth is enough)\n", n_never,
                            n_never == 1 ? "" : "s");
}

/* Refused ones, and those that gain and cost next to nothing, are counted. */
static void
append_options (const Sensitivity *self, GString *out)
{
  guint n_refused = 0, n_idle = 0;

  for (guint i = 0; i < self->options->len; i++)
    {
      const OptionEffect *effect = &g_array_index (self->options, OptionEffect, i);

      n_refused += !effect->possible;
      n_idle += effect->possible && fabs (effect->gain) < LEAST_GAIN;
    }
  g_string_append (out, "\nThroughput, with one option set otherwise\n");
  option_effects_text (self->options, self->prediction, LEAST_GAIN, out);
  g_string_append_printf (out,
                          "(of %u further changes %u have no effect on it, or hardly any, and "
                          "%u cannot be)\n",
                          n_idle + n_refused, n_idle, n_refused);
}

void
report_sensitivity_text (const Sensitivity *self, GString *out)
{
  const Prediction *given = self->prediction;
  g_autofree char  *step = quantity_format (QUANTITY_TIME, given->step_time_s, 4);

  g_string_append_printf (out, "%s: %s on %s\nstep time %s, bound by %s%s\n", given->strategy,
                          given->model, given->cluster, step, given->binding_resource,
                          given->fits ? "" : "; it does not fit");
  if (given->caveats != NULL)
    g_string_append_printf (out, "Not the same training: %s.\n", given->caveats);
  if (self->figures->len > 0)
    {
      append_effects (self, out);
      append_setbacks (self, out);
      append_break_even (self, out);
    }
  if (self->options->len > 0)
    append_options (self, out);
  g_string_append_printf (out, "(%u simulations)\n", self->n_simulated);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

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
} Row;

#define TEXT_OF(name, expression)   FIELD_TEXT_OF (Row, text_##name, expression)
#define NUMBER_OF(name, expression) FIELD_NUMBER_OF (Row, number_##name, expression)

TEXT_OF (figure, p->of->figure.name)
TEXT_OF (profile, p->of->figure.id)
NUMBER_OF (value, p->of->figure.value)
NUMBER_OF (elasticity, p->of->elasticity)
NUMBER_OF (less_value, p->of->down.value)
NUMBER_OF (less_step_time_s, p->of->down.step_time_s)
NUMBER_OF (less_fits, p->of->down.fits)
NUMBER_OF (more_value, p->of->up.value)
NUMBER_OF (more_step_time_s, p->of->up.step_time_s)
NUMBER_OF (more_fits, p->of->up.fits)
TEXT_OF (break_even, break_even_name (&p->of->break_even))
NUMBER_OF (enough_value, of_break_even (p->of, p->of->break_even.value))
NUMBER_OF (unlimited_step_time_s, of_break_even (p->of, p->of->break_even.unlimited_step_s))
TEXT_OF (binds_below, p->of->break_even.binds_below)
TEXT_OF (binds_above, p->of->break_even.binds_above)
NUMBER_OF (binds_at_value, of_break_even (p->of, p->of->break_even.binds_at))
TEXT_OF (setback, p->of->setback)
TEXT_OF (caveats, p->given->caveats)

#define FIELD(name_, type_)                                         \
  {                                                                 \
    .name = #name_, .type = FIELD_##type_, .number = number_##name_ \
  }
#define WORD(name_)                                          \
  {                                                          \
    .name = #name_, .type = FIELD_WORD, .text = text_##name_ \
  }

static const Field fields[] = {
  WORD (figure),
  WORD (profile),
  FIELD (value, NUMBER),
  FIELD (elasticity, NUMBER),
  FIELD (less_value, NUMBER),
  FIELD (less_step_time_s, OPTIONAL),
  FIELD (less_fits, BOOL),
  FIELD (more_value, NUMBER),
  FIELD (more_step_time_s, OPTIONAL),
  FIELD (more_fits, BOOL),
  WORD (break_even),
  FIELD (enough_value, OPTIONAL),
  FIELD (unlimited_step_time_s, OPTIONAL),
  WORD (binds_below),
  WORD (binds_above),
  FIELD (binds_at_value, OPTIONAL),
  WORD (setback),
  FIELDS_OF_THE_PROGRAM,
  /* of the prediction, which JSON has whole */
  { .name = "caveats", .type = FIELD_WORD, .text = text_caveats, .place = FIELD_IN_CSV },
  { 0 },
};

static GArray *
rows_of (const Sensitivity *self)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (Row));

  for (guint i = 0; i < self->figures->len; i++)
    {
      const Row row = { &g_array_index (self->figures, FigureEffect, i), self->prediction };

      g_array_append_val (rows, row);
    }
  return rows;
}

void
report_sensitivity_csv (const Sensitivity *self, GString *out)
{
  g_autoptr (GArray) rows = rows_of (self);

  if (self->options->len > 0)
    option_effects_csv (self->options, out);
  else
    fields_csv (fields, rows->data, rows->len, sizeof (Row), out);
}

void
report_sensitivity_json (const Sensitivity *self, GString *out)
{
  g_autoptr (GArray)  rows = rows_of (self);
  struct json_object *root = json_document_new (), *results = json_object_new_array ();
  struct json_object *object = json_object_new_object ();

  json_add_number (object, "factor", self->factor);
  json_add_count (object, "simulated", self->n_simulated);
  json_object_object_add (object, "figures",
                          fields_json_list (fields, rows->data, rows->len, sizeof (Row)));
  json_object_object_add (object, "options", option_effects_json (self->options));
  json_object_object_add (root, "sensitivity", object);
  json_object_array_add (results, prediction_json (self->prediction));
  json_object_object_add (root, "results", results);
  json_finish (root, out);
}
