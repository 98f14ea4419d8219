#include "strategy/runtime/buckets/bucket-gathers.h"

#include "strategy/emit/common.h"
#include "strategy/emit/route.h"

#define NO_BUCKET G_MAXUINT /* of a unit that trains nothing */

typedef struct
{
  GArray   *units; /* guint */
  guint64   elements, narrow;
  BufferRef parameters;
  EventRef  done;
  gboolean  gathered, waited;
} ParameterBucket;

static void
free_bucket (gpointer data)
{
  ParameterBucket *self = data;

  g_array_unref (self->units);
  g_free (self);
}

static ParameterBucket *
new_bucket (BucketGathers *self, guint kind)
{
  ParameterBucket *bucket = g_new0 (ParameterBucket, 1);

  bucket->units = g_array_new (FALSE, FALSE, sizeof (guint));
  bucket->parameters = self->parameters;
  g_ptr_array_add (self->buckets[kind], bucket);
  return bucket;
}

/* Chunks of a stage are apart in the model. */
static gboolean
ends_chunk (const StrategyRun *run, guint unit)
{
  return unit + 1 < run->n_units
         && run->units[unit + 1].model_layer > run->units[unit].model_layer + 1;
}

/* Ranks that share what has been updated. */
static guint
parts_of (const StrategyRun *run, guint kind)
{
  return run->policy->kinds[kind].states[STATE_OPTIMIZER].group.size;
}

static void
make_buckets (BucketGathers *self, const StrategyRun *run, guint kind, double size)
{
  ParameterBucket *bucket = NULL;

  if (kind >= run->policy->n_kinds || parts_of (run, kind) == 1)
    return;
  for (guint u = run->n_units; u-- > 0;)
    {
      const PlanUnit *unit = &run->units[u];

      if (ends_chunk (run, u))
        bucket = NULL;
      if (!plan_unit_is (unit, kind) || unit->trainable_elements == 0)
        continue;
      if (bucket == NULL)
        bucket = new_bucket (self, kind);
      g_array_append_val (bucket->units, u);
      bucket->elements += unit->trainable_elements;
      bucket->narrow += narrow_trainable (unit);
      self->bucket_of[u] = self->buckets[kind]->len - 1;
      if ((double) bucket->elements >= size)
        bucket = NULL;
    }
}

void
bucket_gathers_init (BucketGathers *self, StrategyRun *run, double size, BufferRef parameters)
{
  self->stream = schedule_stream (run->b, "all_gather", 0);
  self->parameters = parameters;
  self->bucket_of = g_new (guint, run->n_units);
  for (guint u = 0; u < run->n_units; u++)
    self->bucket_of[u] = NO_BUCKET;
  for (guint kind = 0; kind < G_N_ELEMENTS (self->buckets); kind++)
    {
      self->buckets[kind] = g_ptr_array_new_with_free_func (free_bucket);
      make_buckets (self, run, kind, size);
    }
}

void
bucket_gathers_clear (BucketGathers *self)
{
  for (guint kind = 0; kind < G_N_ELEMENTS (self->buckets); kind++)
    g_clear_pointer (&self->buckets[kind], g_ptr_array_unref);
  g_clear_pointer (&self->bucket_of, g_free);
}

void
bucket_gathers_begin_step (BucketGathers *self)
{
  for (guint kind = 0; kind < G_N_ELEMENTS (self->buckets); kind++)
    for (guint i = 0; i < self->buckets[kind]->len; i++)
      {
        ParameterBucket *bucket = self->buckets[kind]->pdata[i];

        bucket->gathered = bucket->waited = FALSE;
      }
}

static void
use_bucket (StrategyRun *run, gconstpointer data, ScheduleAccess access)
{
  const ParameterBucket *self = data;

  for (guint i = 0; i < self->units->len; i++)
    schedule_uses (run->b, self->parameters, g_array_index (self->units, guint, i), access);
}

static void
gather (const BucketGathers *self, StrategyRun *run, guint kind, ParameterBucket *bucket)
{
  guint    parts = parts_of (run, kind);
  guint    first = g_array_index (bucket->units, guint, bucket->units->len - 1);
  guint    old = schedule_set_unit (run->b, first);
  RouteEnd end = { .use = use_bucket, .data = bucket };

  /* What the update has made is gathered when its turn comes, and not before. */
  schedule_pace (run->b, self->stream, schedule_record (run->b, SCHEDULE_COMPUTE));
  emit_route (run, &(RouteWalk){ .kind = kind,
                                 .route = ROUTE_UPDATE,
                                 .end = POLICY_MAX_HOPS,
                                 .last_micro = TRUE,
                                 .held = (bucket->elements + parts - 1) / parts,
                                 .narrow = bucket->narrow / parts,
                                 .collectives = self->stream,
                                 .from = end,
                                 .to = end,
                                 .passing = "updated parameters on their way" });
  bucket->done = schedule_record (run->b, self->stream);
  bucket->gathered = TRUE;
  schedule_set_unit (run->b, old);
}

void
bucket_gathers_use (BucketGathers *self, StrategyRun *run, guint unit)
{
  guint            kind = run->units[unit].expert ? 1 : 0, i = self->bucket_of[unit];
  ParameterBucket *bucket, *next;

  if (i == NO_BUCKET)
    return;
  bucket = self->buckets[kind]->pdata[i];
  if (bucket->waited)
    return;
  if (!bucket->gathered)
    gather (self, run, kind, bucket);
  schedule_wait (run->b, SCHEDULE_COMPUTE, bucket->done);
  bucket->waited = TRUE;
  next = i > 0 ? self->buckets[kind]->pdata[i - 1] : NULL;
  if (next != NULL && !next->gathered)
    gather (self, run, kind, next);
}
