#include "report/maximum.h"

#include "report/fields-private.h"
#include "report/remedies-private.h"
#include "report/results-private.h"

#define GIB 1073741824.0

/* ---- what overflows -------------------------------------------------------------------------- */

/* The next value's prediction; where none fits the smallest's. */
static const Prediction *
misfit_of (const Maximum *self)
{
  return self->value > 0 ? self->beyond : self->prediction;
}

/* The tier that lacks most, and its name. */
static const MemoryUse *
fullest_tier (const Maximum *self, const char **name)
{
  const Prediction *p = misfit_of (self);
  const struct
  {
    const char      *name;
    const MemoryUse *use;
  } tiers[] = { { "hbm", p != NULL ? &p->hbm : NULL },
                { "host", p != NULL ? &p->host : NULL },
                { "nvme", p != NULL ? &p->drives : NULL } };
  const MemoryUse *most = NULL;

  *name = NULL;
  for (guint t = 0; p != NULL && t < G_N_ELEMENTS (tiers); t++)
    if (!tiers[t].use->fits && (most == NULL || tiers[t].use->excess > most->excess))
      {
        most = tiers[t].use;
        *name = tiers[t].name;
      }
  return most;
}

static const char *
tier_name (const Maximum *self)
{
  const char *name;

  fullest_tier (self, &name);
  return name;
}

/* Of the fullest tier; of none nothing. */
static const MemoryUse *
tier_use (const Maximum *self)
{
  static const MemoryUse none = { .fits = TRUE };
  const char            *name;
  const MemoryUse       *use = fullest_tier (self, &name);

  return use != NULL ? use : &none;
}

/* ---- fields ---------------------------------------------------------------------------------- */

#define TEXT_OF(name, expression)   FIELD_TEXT_OF (Maximum, text_##name, expression)
#define NUMBER_OF(name, expression) FIELD_NUMBER_OF (Maximum, number_##name, expression)

TEXT_OF (option, p->key->key)
NUMBER_OF (fits, p->value > 0)
NUMBER_OF (value, p->value)
NUMBER_OF (step, p->step)
NUMBER_OF (next, p->next)
TEXT_OF (stopped_by, tier_name (p))
TEXT_OF (stopped_at, tier_use (p)->place)
NUMBER_OF (lacking_bytes, tier_use (p)->excess)
TEXT_OF (overflow_op, tier_use (p)->overflow_op)
TEXT_OF (bound, p->bound)
NUMBER_OF (planned, p->n_planned)
NUMBER_OF (simulated, p->n_simulated)
TEXT_OF (scenario, p->prediction->scenario)
TEXT_OF (strategy, p->prediction->strategy)
TEXT_OF (model, p->prediction->model)
TEXT_OF (cluster, p->prediction->cluster)
NUMBER_OF (step_time_s, p->prediction->step_time_s)
NUMBER_OF (tokens_per_s_per_gpu, p->prediction->tokens_per_s_per_gpu)
NUMBER_OF (peak_device_gib, (double) p->prediction->hbm.device / GIB)
NUMBER_OF (peak_host_gib, (double) p->prediction->host.device / GIB)
NUMBER_OF (peak_nvme_gib, (double) p->prediction->drives.device / GIB)

#define FIELD(name_, type_)                                         \
  {                                                                 \
    .name = #name_, .type = FIELD_##type_, .number = number_##name_ \
  }
#define WORD(name_)                                          \
  {                                                          \
    .name = #name_, .type = FIELD_WORD, .text = text_##name_ \
  }
/* Of the prediction, which JSON has whole. */
#define OF_CSV(name_)                                                                     \
  {                                                                                       \
    .name = #name_, .type = FIELD_NUMBER, .number = number_##name_, .place = FIELD_IN_CSV \
  }
#define TEXT_OF_CSV(name_)                                                          \
  {                                                                                 \
    .name = #name_, .type = FIELD_TEXT, .text = text_##name_, .place = FIELD_IN_CSV \
  }

static const Field fields[] = {
  WORD (option),
  FIELD (fits, BOOL),
  FIELD (value, OPTIONAL),
  FIELD (step, NUMBER),
  FIELD (next, OPTIONAL),
  WORD (stopped_by),
  WORD (stopped_at),
  FIELD (lacking_bytes, OPTIONAL),
  WORD (overflow_op),
  WORD (bound),
  FIELD (planned, NUMBER),
  FIELD (simulated, NUMBER),
  TEXT_OF_CSV (scenario),
  TEXT_OF_CSV (strategy),
  TEXT_OF_CSV (model),
  TEXT_OF_CSV (cluster),
  OF_CSV (step_time_s),
  OF_CSV (tokens_per_s_per_gpu),
  OF_CSV (peak_device_gib),
  OF_CSV (peak_host_gib),
  OF_CSV (peak_nvme_gib),
  FIELDS_OF_THE_PROGRAM,
  { 0 },
};

/* ---- the three forms ------------------------------------------------------------------------- */

void
report_maximum_text (const Maximum *self, GString *out)
{
  const char *key = self->key->key;

  if (self->value == 0 && self->is_cut)
    g_string_append_printf (out, "No %s that fits was found yet\n", key);
  else if (self->value == 0)
    g_string_append_printf (out, "No %s fits: the smallest is %" G_GINT64_FORMAT "\n", key,
                            self->next);
  else
    g_string_append_printf (out, "The largest %s %s: %" G_GINT64_FORMAT "%s", key,
                            self->is_cut ? "known to fit by then" : "that fits", self->value,
                            self->bound == NULL ? "\n" : ", the most that there can be: ");
  if (self->bound != NULL)
    g_string_append_printf (out, "%s\n", self->bound);
  if (self->beyond != NULL)
    {
      g_string_append_printf (out, "%" G_GINT64_FORMAT " ", self->next);
      misfits_append_text (self->beyond, out);
    }
  g_string_append_printf (out, "(%u values planned, %u simulated", self->n_planned,
                          self->n_simulated);
  if (self->step > 1)
    g_string_append_printf (out, "; in steps of %" G_GINT64_FORMAT ", which the mesh divides",
                            self->step);
  g_string_append (out, ")\n");
  if (self->prediction == NULL)
    return;
  g_string_append_c (out, '\n');
  report_prediction_text (self->prediction, out);
}

void
report_maximum_csv (const Maximum *self, GString *out)
{
  fields_csv (fields, self, self->prediction != NULL ? 1 : 0, sizeof *self, out);
}

void
report_maximum_json (const Maximum *self, GString *out)
{
  struct json_object *root = json_document_new (), *results = json_object_new_array ();

  json_object_object_add (root, "maximum", fields_json (fields, self));
  if (self->prediction != NULL)
    json_object_array_add (results, prediction_json (self->prediction));
  json_object_object_add (root, "results", results);
  json_finish (root, out);
}
