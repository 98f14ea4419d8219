/* What would fit, and what would be faster. */
#include <math.h>

#include "decide/explore/advice.h"
#include "decide/explore/remedies.h"
#include "predict/columns.h"
#include "report/document/json-private.h"
#include "report/prediction/describe.h"

/* ---- what would fit -------------------------------------------------------------------------- */

static char *
show_remedy_peak (const Column *column, gconstpointer row)
{
  g_autofree char *peak = document_bytes (column_number (column, row));

  return g_strconcat (peak, prediction_is_tight (((const Remedy *) row)->prediction) ? "!" : "",
                      NULL);
}

COLUMN_NUMBER_OF (Remedy, remedy_is_tight, prediction_is_tight (p->prediction))

static const Column remedy_columns[] = {
  { "options", "options that make it fit", COLUMN_WORD, 0, COLUMN_MEMBER (Remedy, options) },
  { "step_time_s", "step", COLUMN_TIME, 0, COLUMN_VIA (Remedy, prediction, step_time_s) },
  { "tokens_per_s_per_gpu", "tokens/s/GPU", COLUMN_RATE, 0,
    COLUMN_VIA (Remedy, prediction, tokens_per_s_per_gpu) },
  { "peak_bytes", "peak GPU memory", COLUMN_BYTES, 0, COLUMN_VIA (Remedy, prediction, hbm.device),
    .show = show_remedy_peak },
  { "host_peak_bytes", NULL, COLUMN_BYTES, 0, COLUMN_VIA (Remedy, prediction, host.device) },
  { "tight", NULL, COLUMN_BOOL, 0, .number = remedy_is_tight },
  { 0 },
};

void
describe_remedies (Document *document, const Remedies *self)
{
  const Partial    partial = { .reason = self->ended_by };
  g_autofree char *ended = partial.reason != NULL ? partial_text (&partial) : NULL;
  g_autofree char *lacking = document_bytes ((double) self->lacking);
  gboolean         any_tight = FALSE;

  if (self->sequence != NULL)
    document_line (document, "%s%s",
                   *self->sequence != '\0' ? "It fits on more ranks: "
                                           : "No more ranks for it that were tried hold it.",
                   self->sequence);
  if (self->found->len > 0)
    {
      document_subheading (document, "What fits with the same global batch, fastest first");
      document_table (document, remedy_columns, rows_of_pointers (self->found));
      for (guint i = 0; i < self->found->len && !any_tight; i++)
        any_tight =
            prediction_is_tight (((const Remedy *) g_ptr_array_index (self->found, i))->prediction);
      if (any_tight)
        document_line (document, "%s", PREDICTION_TIGHT_MARK);
    }
  else
    {
      if (*self->nearest == '\0')
        document_line (document, "Nothing that was tried fits or lacks less than these %s.",
                       lacking);
      else
        document_line (document, "Nothing that was tried fits. The nearest still lacks %s:\n  %s",
                       lacking, self->nearest);
      document_line (document, "What else you can change: more GPUs, GPUs or hosts with more "
                               "memory, a smaller batch, a smaller model.");
    }
  document_line (document, "(%u changes planned, %u of them simulated%s%s)", self->n_planned,
                 self->n_simulated,
                 ended != NULL ? "; partial: "
                 : self->cut   ? "; there are more, but the search ends there"
                               : "",
                 ended != NULL ? ended : "");
}

void
remedies_add_json (const Remedies *self, struct json_object *result)
{
  struct json_object *search = json_object_new_object ();

  json_object_object_add (result, "remedies",
                          column_list (remedy_columns, rows_of_pointers (self->found)));
  json_add_count (search, "planned", self->n_planned);
  json_add_count (search, "simulated", self->n_simulated);
  json_object_object_add (search, "cut", json_object_new_boolean (self->cut));
  if (self->ended_by != NULL)
    json_add_text (search, "ended_by", self->ended_by);
  json_add_text (search, "nearest", self->nearest);
  if (self->nearest != NULL)
    json_add_count (search, "lacking_bytes", self->lacking);
  json_object_object_add (result, "remedy_search", search);
}

/* ---- what would be faster -------------------------------------------------------------------- */

static char *
show_gain (const Column *column, gconstpointer row)
{
  return g_strdup_printf ("%.3f times", 1 + column_number (column, row));
}

/* What a step with more or fewer tokens has: nothing of one with as many. */
static char *
show_batch (const Column *column, gconstpointer row)
{
  const double batch = column_number (column, row);

  return fabs (batch - 1) < 1e-9 ? g_strdup ("") : g_strdup_printf ("%.4g times", batch);
}

static char *
show_peak (const Column *column, gconstpointer row)
{
  const OptionEffect *effect = row;
  g_autofree char    *peak = document_bytes ((double) effect->peak_bytes);

  (void) column;
  return g_strconcat (peak, effect->fits ? "" : ", does not fit", NULL);
}

COLUMN_NUMBER_OF (OptionEffect, effect_gain, p->possible ? p->gain : NAN)
COLUMN_NUMBER_OF (OptionEffect, effect_host_peak, p->possible ? p->host_peak_bytes : NAN)

const Column option_effect_columns[] = {
  { "options", "options", COLUMN_WORD, 0, COLUMN_MEMBER (OptionEffect, options),
    .about = "to add to the command line" },
  { "possible", NULL, COLUMN_BOOL, 0, COLUMN_MEMBER (OptionEffect, possible),
    .about = "0: refused, or it cannot be, and the rest is empty" },
  { "fits", NULL, COLUMN_BOOL, 0, COLUMN_MEMBER (OptionEffect, fits) },
  { "throughput_gain", "throughput", COLUMN_NUMBER, 0, .number = effect_gain, .show = show_gain,
    .unit = "ratio", .about = "of tokens a second: 0.18 is 1.18 times as many" },
  { "step_time_s", "step time", COLUMN_TIME, COLUMN_OPTIONAL,
    COLUMN_MEMBER (OptionEffect, step_time_s) },
  { "tokens_per_s_per_gpu", NULL, COLUMN_RATE, COLUMN_OPTIONAL,
    COLUMN_MEMBER (OptionEffect, tokens_per_s_per_gpu) },
  { "global_batch_ratio", "global batch", COLUMN_NUMBER, COLUMN_OPTIONAL,
    COLUMN_MEMBER (OptionEffect, batch), .show = show_batch, .unit = "ratio",
    .about = "tokens of a step over those of the scenario as it is" },
  { "peak_bytes", "peak GPU memory", COLUMN_BYTES, COLUMN_OPTIONAL,
    COLUMN_MEMBER (OptionEffect, peak_bytes), .show = show_peak, .about = "of GPU memory" },
  { "host_peak_bytes", NULL, COLUMN_BYTES, 0, .number = effect_host_peak,
    .about = "of host memory" },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { "caveats", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (OptionEffect, caveats),
    .about = "with that option, as in `simulate`: those of the scenario as it is, or none" },
  { 0 },
};

void
describe_option_effects (Document *document, const GArray *effects, const Prediction *given,
                         double least)
{
  g_autoptr (GPtrArray) shown = g_ptr_array_new ();
  g_autofree char      *now = document_bytes ((double) given->hbm.device);

  for (guint i = 0; i < effects->len; i++)
    {
      OptionEffect *effect = &g_array_index (effects, OptionEffect, i);

      if (effect->possible && fabs (effect->gain) >= least)
        g_ptr_array_add (shown, effect);
    }
  document_table (document, option_effect_columns, rows_of_pointers (shown));
  if (shown->len > 0)
    document_line (document, "(the peak of GPU memory is %s without a change)", now);
}

static char *
show_figure (const Column *column, gconstpointer row)
{
  const FigureAdvice *self = row;
  g_autofree char    *value = hardware_figure_format (&self->figure, self->value);
  g_autofree char    *now = hardware_figure_format (&self->figure, self->figure.value);

  (void) column;
  return g_strdup_printf ("%s %s instead of %s", self->figure.name, value, now);
}

static const Column figure_columns[] = {
  { "figure", "hardware", COLUMN_WORD, 0, COLUMN_MEMBER (FigureAdvice, figure.name),
    .show = show_figure },
  { "value", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (FigureAdvice, value) },
  { "instead_of", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (FigureAdvice, figure.value) },
  { "throughput_gain", "throughput", COLUMN_NUMBER, 0, COLUMN_MEMBER (FigureAdvice, gain),
    .show = show_gain },
  { "step_time_s", "step time", COLUMN_TIME, 0, COLUMN_MEMBER (FigureAdvice, step_time_s) },
  { 0 },
};

void
describe_advice (Document *document, const Prediction *p)
{
  const Advice *self = p->advice;

  document_section (document, "What would be faster");
  document_line (document, "One change at a time, each simulated again.");
  if (self->options->len > 0)
    describe_option_effects (document, self->options, p, 0);
  else
    document_line (document, "No option that was tried gains anything.");
  document_table (document, figure_columns, rows_of_array (self->figures));
  document_line (document, "(%u changes simulated%s)", self->n_simulated,
                 self->cut ? "; there are more, but the search ends there" : "");
}

void
advice_add_json (const Advice *self, struct json_object *result)
{
  struct json_object *advice = json_object_new_object ();

  json_object_object_add (advice, "options",
                          column_list (option_effect_columns, rows_of_array (self->options)));
  json_object_object_add (advice, "figures",
                          column_list (figure_columns, rows_of_array (self->figures)));
  json_add_count (advice, "simulated", self->n_simulated);
  json_object_object_add (advice, "cut", json_object_new_boolean (self->cut));
  json_object_object_add (result, "advice", advice);
}
