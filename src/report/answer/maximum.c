#include "report/answer/maximum.h"

#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/prediction/describe.h"
#include "report/prediction/results-private.h"

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

/* ---- columns --------------------------------------------------------------------------------- */

#define GIB 1073741824.0

COLUMN_NUMBER_OF (Maximum, fits, p->value > 0)
COLUMN_TEXT_OF (Maximum, stopped_by, tier_name (p))
COLUMN_TEXT_OF (Maximum, stopped_at, tier_use (p)->place)
COLUMN_NUMBER_OF (Maximum, lacking_bytes, tier_use (p)->excess)
COLUMN_TEXT_OF (Maximum, overflow_op, tier_use (p)->overflow_op)

/* JSON has the prediction whole. */
#define OF_PREDICTION(key, kind, member_)                                       \
  {                                                                             \
    key, NULL, kind, COLUMN_CSV_ONLY, COLUMN_VIA (Maximum, prediction, member_) \
  }
#define PEAK(key, member_)                                                             \
  {                                                                                    \
    key, NULL, COLUMN_GIB, COLUMN_CSV_ONLY, COLUMN_VIA (Maximum, prediction, member_), \
        .scale = 1 / GIB                                                               \
  }

static const Column columns[] = {
  { "option", NULL, COLUMN_WORD, 0, COLUMN_VIA (Maximum, key, key),
    .about = "micro_batch, seq_len or n_layers" },
  { "fits", NULL, COLUMN_BOOL, 0, .number = fits, .about = "some value does" },
  { "value", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL, COLUMN_MEMBER (Maximum, value),
    .about = "the largest that does" },
  { "step", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (Maximum, step),
    .about = "between values that the mesh divides" },
  { "next", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL, COLUMN_MEMBER (Maximum, next),
    .about = "the smallest that does not; empty where a bound ended the search" },
  { "stopped_by", NULL, COLUMN_WORD, 0, .text = stopped_by,
    .about = "the tier that lacks most at `next`: hbm, host or nvme" },
  { "stopped_at", NULL, COLUMN_WORD, 0, .text = stopped_at, .about = "rank or node" },
  { "lacking_bytes", NULL, COLUMN_BYTES, COLUMN_OPTIONAL, .number = lacking_bytes,
    .about = "there" },
  { "overflow_op", NULL, COLUMN_WORD, 0, .text = overflow_op,
    .about = "the first allocation over its capacity" },
  { "bound", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (Maximum, bound),
    .about = "why there is no larger value; empty where memory is the reason" },
  { "planned", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (Maximum, n_planned),
    .about = "values that were" },
  { "simulated", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (Maximum, n_simulated),
    .about = "values that were" },
  OF_PREDICTION ("scenario", COLUMN_TEXT, scenario),
  OF_PREDICTION ("strategy", COLUMN_TEXT, strategy),
  OF_PREDICTION ("model", COLUMN_TEXT, model),
  OF_PREDICTION ("cluster", COLUMN_TEXT, cluster),
  OF_PREDICTION ("step_time_s", COLUMN_TIME, step_time_s),
  OF_PREDICTION ("tokens_per_s_per_gpu", COLUMN_RATE, tokens_per_s_per_gpu),
  PEAK ("peak_device_gib", hbm.device),
  PEAK ("peak_host_gib", host.device),
  PEAK ("peak_nvme_gib", drives.device),
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* ---- the answer ------------------------------------------------------------------------------ */

static void
describe (Document *document, gconstpointer answer)
{
  const Maximum      *self = answer;
  const char         *key = self->key->key;
  struct json_object *root = document_json (document), *results;

  if (self->value == 0 && self->is_cut)
    document_line (document, "No %s that fits was found yet", key);
  else if (self->value == 0)
    document_line (document, "No %s fits: the smallest is %" G_GINT64_FORMAT "%s%s", key,
                   self->next, self->bound != NULL ? ": " : "",
                   self->bound != NULL ? self->bound : "");
  else
    document_line (document, "The largest %s %s: %" G_GINT64_FORMAT "%s%s", key,
                   self->is_cut ? "known to fit by then" : "that fits", self->value,
                   self->bound != NULL ? ", the most that there can be: " : "",
                   self->bound != NULL ? self->bound : "");
  if (self->beyond != NULL)
    {
      document_line (document, "%" G_GINT64_FORMAT ":", self->next);
      describe_misfits (document, self->beyond);
    }
  if (self->step > 1)
    document_line (document,
                   "(%u values planned, %u simulated; in steps of %" G_GINT64_FORMAT
                   ", which the mesh divides)\n",
                   self->n_planned, self->n_simulated, self->step);
  else
    document_line (document, "(%u values planned, %u simulated)\n", self->n_planned,
                   self->n_simulated);
  if (self->prediction != NULL)
    describe_prediction (document, self->prediction, NULL);
  document_results (document, NULL, columns,
                    (Rows){ self, self->prediction != NULL ? 1 : 0, sizeof *self });
  if (root == NULL)
    return;
  results = json_object_new_array ();
  json_object_object_add (root, "maximum", column_object (columns, self));
  if (self->prediction != NULL)
    json_object_array_add (results, prediction_json (self->prediction));
  json_object_object_add (root, "results", results);
}

const PageKind maximum_answer = { .describe = describe, .columns = columns };
