#include "report/advice-private.h"

#include <math.h>

#include "report/fields-private.h"
#include "report/terminal-private.h"

/* ---- options --------------------------------------------------------------------------------- */

/* "61.00 GiB instead of 48.00 GiB". */
static char *
memory_text (const OptionEffect *effect, const Prediction *given)
{
  g_autofree char *peak = quantity_format (QUANTITY_BYTES, (double) effect->peak_bytes, 3);
  g_autofree char *now = quantity_format (QUANTITY_BYTES, (double) given->hbm.device, 3);

  if (g_str_equal (peak, now))
    return g_strconcat (peak, effect->fits ? "" : ", does not fit", NULL);
  return g_strdup_printf ("%s instead of %s%s", peak, now, effect->fits ? "" : ", does not fit");
}

/* What a step with more or fewer tokens has: nothing of one with as many. */
static char *
batch_text (const OptionEffect *effect)
{
  return fabs (effect->batch - 1) < 1e-9 ? g_strdup ("")
                                         : g_strdup_printf ("%.4g times", effect->batch);
}

void
option_effects_text (const GArray *effects, const Prediction *given, double least, GString *out)
{
  static const TerminalColumn columns[] = {
    { "OPTIONS", FALSE },   { "THROUGHPUT", TRUE },   { "STEP TIME", TRUE },
    { "GPU MEMORY", TRUE }, { "GLOBAL BATCH", TRUE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < effects->len; i++)
    {
      const OptionEffect *effect = &g_array_index (effects, OptionEffect, i);
      char               *cells[6] = { NULL };

      if (!effect->possible || fabs (effect->gain) < least)
        continue;
      cells[0] = g_strdup (effect->options);
      cells[1] = g_strdup_printf ("%.3f times", 1 + effect->gain);
      cells[2] = quantity_format (QUANTITY_TIME, effect->step_time_s, 4);
      cells[3] = memory_text (effect, given);
      cells[4] = batch_text (effect);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

FIELD_TEXT_OF (OptionEffect, option_options, p->options)
FIELD_NUMBER_OF (OptionEffect, option_possible, p->possible)
FIELD_NUMBER_OF (OptionEffect, option_fits, p->fits)
FIELD_NUMBER_OF (OptionEffect, option_gain, p->possible ? p->gain : NAN)
FIELD_NUMBER_OF (OptionEffect, option_step, p->step_time_s)
FIELD_NUMBER_OF (OptionEffect, option_tokens, p->tokens_per_s_per_gpu)
FIELD_NUMBER_OF (OptionEffect, option_batch, p->batch)
FIELD_NUMBER_OF (OptionEffect, option_peak, p->peak_bytes)
FIELD_NUMBER_OF (OptionEffect, option_host_peak, p->possible ? p->host_peak_bytes : NAN)
FIELD_TEXT_OF (OptionEffect, option_caveats, p->caveats)

static const Field option_fields[] = {
  { .name = "options", .type = FIELD_WORD, .text = option_options },
  { .name = "possible", .type = FIELD_BOOL, .number = option_possible },
  { .name = "fits", .type = FIELD_BOOL, .number = option_fits },
  { .name = "throughput_gain", .type = FIELD_NUMBER, .number = option_gain },
  { .name = "step_time_s", .type = FIELD_OPTIONAL, .number = option_step },
  { .name = "tokens_per_s_per_gpu", .type = FIELD_OPTIONAL, .number = option_tokens },
  { .name = "global_batch_ratio", .type = FIELD_OPTIONAL, .number = option_batch },
  { .name = "peak_bytes", .type = FIELD_OPTIONAL, .number = option_peak },
  { .name = "host_peak_bytes", .type = FIELD_NUMBER, .number = option_host_peak },
  FIELDS_OF_THE_PROGRAM,
  { .name = "caveats", .type = FIELD_WORD, .text = option_caveats },
  { 0 },
};

struct json_object *
option_effects_json (const GArray *effects)
{
  return fields_json_list (option_fields, effects->data, effects->len, sizeof (OptionEffect));
}

void
option_effects_csv (const GArray *effects, GString *out)
{
  fields_csv (option_fields, effects->data, effects->len, sizeof (OptionEffect), out);
}

/* ---- figures --------------------------------------------------------------------------------- */

char *
advice_figure_text (const FigureAdvice *self)
{
  g_autofree char *value = hardware_figure_format (&self->figure, self->value);
  g_autofree char *now = hardware_figure_format (&self->figure, self->figure.value);

  return g_strdup_printf ("%s %s instead of %s", self->figure.name, value, now);
}

static void
append_figures (const GArray *figures, GString *out)
{
  static const TerminalColumn columns[] = {
    { "HARDWARE", FALSE },
    { "THROUGHPUT", TRUE },
    { "STEP TIME", TRUE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < figures->len; i++)
    {
      const FigureAdvice *advice = &g_array_index (figures, FigureAdvice, i);
      char               *cells[4] = { NULL };

      cells[0] = advice_figure_text (advice);
      cells[1] = g_strdup_printf ("%.3f times", 1 + advice->gain);
      cells[2] = quantity_format (QUANTITY_TIME, advice->step_time_s, 4);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

FIELD_TEXT_OF (FigureAdvice, figure_name, p->figure.name)
FIELD_NUMBER_OF (FigureAdvice, figure_now, p->figure.value)
FIELD_NUMBER_OF (FigureAdvice, figure_value, p->value)
FIELD_NUMBER_OF (FigureAdvice, figure_gain, p->gain)
FIELD_NUMBER_OF (FigureAdvice, figure_step, p->step_time_s)

static const Field figure_fields[] = {
  { .name = "figure", .type = FIELD_WORD, .text = figure_name },
  { .name = "value", .type = FIELD_NUMBER, .number = figure_value },
  { .name = "instead_of", .type = FIELD_NUMBER, .number = figure_now },
  { .name = "throughput_gain", .type = FIELD_NUMBER, .number = figure_gain },
  { .name = "step_time_s", .type = FIELD_NUMBER, .number = figure_step },
  { 0 },
};

/* ---- both ------------------------------------------------------------------------------------ */

void
advice_append_text (const Prediction *prediction, GString *out)
{
  const Advice *self = prediction->advice;

  g_string_append (out, "\nWhat would be faster, one change at a time, each simulated again\n");
  if (self->options->len > 0)
    option_effects_text (self->options, prediction, 0, out);
  else
    g_string_append (out, "  no option that was tried gains anything\n");
  if (self->figures->len > 0)
    append_figures (self->figures, out);
  g_string_append_printf (out, "(%u changes simulated%s)\n", self->n_simulated,
                          self->cut ? "; there are more, but the search ends there" : "");
}

void
advice_json_add (const Advice *self, struct json_object *result)
{
  struct json_object *advice = json_object_new_object ();

  json_object_object_add (advice, "options", option_effects_json (self->options));
  json_object_object_add (advice, "figures",
                          fields_json_list (figure_fields, self->figures->data, self->figures->len,
                                            sizeof (FigureAdvice)));
  json_add_count (advice, "simulated", self->n_simulated);
  json_object_object_add (advice, "cut", json_object_new_boolean (self->cut));
  json_object_object_add (result, "advice", advice);
}
