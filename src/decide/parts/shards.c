#include "decide/parts/shards.h"

#include <string.h>

#include "strategy/emit/common.h"

#define NCCL_PACK  16   /* bytes that NCCL's kernels move at once, where all of a rank's are so */
#define MOST_TRIED 1024 /* numbers of ranks that are looked at below one */

/* ---- units ----------------------------------------------------------------------------------- */

static void
unit_free (gpointer data)
{
  ShardUnit *self = data;

  g_free (self->name);
  g_array_unref (self->tensors);
  g_free (self);
}

static gboolean
same_tensors (const GArray *one, const GArray *other)
{
  gboolean same = one->len == other->len;

  for (guint i = 0; i < one->len && same; i++)
    {
      const TensorDesc *a = &g_array_index (one, TensorDesc, i);
      const TensorDesc *b = &g_array_index (other, TensorDesc, i);

      same = a->name == b->name && a->n_dims == b->n_dims && a->elements == b->elements
             && a->block == b->block && memcmp (a->shape, b->shape, sizeof a->shape) == 0;
    }
  return same;
}

/* Takes TENSORS, of LAYER: a unit more, of a kind that is there or of a new one. */
static void
add_unit (GPtrArray *units, guint layer, gboolean experts, GArray *tensors)
{
  ShardUnit *unit;

  for (guint i = 0; i < units->len; i++)
    {
      unit = g_ptr_array_index (units, i);
      if (unit->experts != experts || !same_tensors (unit->tensors, tensors))
        continue;
      unit->last = layer;
      unit->n++;
      g_array_unref (tensors);
      return;
    }
  unit = g_new0 (ShardUnit, 1);
  *unit = (ShardUnit){ NULL, layer, layer, 1, experts, tensors, 0 };
  for (guint t = 0; t < tensors->len; t++)
    unit->elements += g_array_index (tensors, TensorDesc, t).elements;
  g_ptr_array_add (units, unit);
}

/* The tensors of LAYER; APART: those that are of routed experts, or the others. */
static void
add_part (GPtrArray *units, const LayerDesc *layer, guint index, gboolean apart, gboolean experts)
{
  GArray *tensors = g_array_new (FALSE, FALSE, sizeof (TensorDesc));

  for (guint t = 0; t < layer->n_tensors; t++)
    if (!apart || layer->tensors[t].expert == experts)
      g_array_append_val (tensors, layer->tensors[t]);
  if (tensors->len > 0)
    add_unit (units, index, experts, tensors);
  else
    g_array_unref (tensors);
}

static char *
unit_name (const ShardUnit *unit, guint n_layers)
{
  const char *part = unit->experts ? "experts of " : "";

  if (unit->first == 0)
    return g_strdup_printf ("%sembedding", part);
  if (unit->first == n_layers - 1)
    return g_strdup_printf ("%shead", part);
  if (unit->n == 1)
    return g_strdup_printf ("%sblock %u", part, unit->first - 1);
  if (unit->last - unit->first + 1 == unit->n)
    return g_strdup_printf ("%sblock %u to %u", part, unit->first - 1, unit->last - 1);
  return g_strdup_printf ("%s%u of block %u to %u", part, unit->n, unit->first - 1, unit->last - 1);
}

static GPtrArray *
units_new (const ShardsOptions *options)
{
  const Workload *workload = options->workload;
  const guint     n = workload_n_layers (workload);
  const gboolean  apart = options->experts_apart || workload_mesh (workload)->ep > 1;
  GPtrArray      *units = g_ptr_array_new_with_free_func (unit_free);

  for (guint i = 0; i < n; i++)
    {
      add_part (units, workload_layer (workload, i), i, apart, FALSE);
      if (apart)
        add_part (units, workload_layer (workload, i), i, TRUE, TRUE);
    }
  for (guint i = 0; i < units->len; i++)
    {
      ShardUnit *unit = g_ptr_array_index (units, i);

      unit->name = unit_name (unit, n);
    }
  return units;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

double
shard_size_padding (const ShardSize *self)
{
  return (double) (self->padded - self->elements) / (double) MAX (self->elements, 1);
}

double
shard_size_largest_padding (const ShardSize *self)
{
  const guint64 elements = self->largest->elements;

  return (double) (self->largest_padded - elements) / (double) MAX (elements, 1);
}

static const TensorDesc *
tensors_of (const ShardUnit *unit)
{
  return (const TensorDesc *) (gconstpointer) unit->tensors->data;
}

/* Of RANKS those that share UNIT. */
static guint
sharers (const ShardsOptions *options, const ShardUnit *unit, guint ranks)
{
  return unit->experts ? ranks / (guint) workload_mesh (options->workload)->ep : ranks;
}

/* Elements of UNIT with their padding; where its tensors begin in its buffer, if it has one. */
static guint64
padded_of (const ShardsOptions *options, const ShardFormat *format, const ShardUnit *unit, guint m,
           guint64 *starts)
{
  const guint n = unit->tensors->len;

  return format->layout != NULL
             ? format->layout (tensors_of (unit), n, m, (guint) options->order, starts)
             : format->padded (tensors_of (unit), n, m);
}

/*
 * What a step's copies read and write of a UNIT of PADDED elements: twice what was gathered, in and
 * out, before forward and before backward; once its gradients, in the type of their reduction on
 * the way out; and each time once more what is not cut along its leading dimension.
 */
static guint64
copied_bytes (const ShardsOptions *options, const ShardFormat *format, const ShardUnit *unit,
              guint ranks, guint64 padded)
{
  const TrainingOptions *training = workload_training (options->workload);
  const guint64          compute = dtype_bytes (training_compute_dtype (training));
  const guint64          reduced = dtype_bytes (reduce_dtype (training));
  guint64                strided = 0;

  if (shard_format_is_in_place (format))
    return 0;
  if (format->strided != NULL)
    strided = format->strided (tensors_of (unit), unit->tensors->len, ranks);
  return 2 * compute * 2 * (padded + strided) + compute * (unit->elements + 2 * strided)
         + reduced * padded;
}

static void
add_to_size (ShardSize *size, const ShardsOptions *options, const ShardUnit *unit)
{
  const TrainingOptions *training = workload_training (options->workload);
  const guint64          compute = dtype_bytes (training_compute_dtype (training));
  const guint            m = sharers (options, unit, size->ranks);
  const guint64          padded = padded_of (options, size->format, unit, m, NULL);
  const guint64          shard = padded / m * compute;

  size->elements += unit->n * unit->elements;
  size->padded += unit->n * padded;
  size->rank_bytes += unit->n * shard;
  size->n_units += unit->n;
  size->n_misaligned += shard % NCCL_PACK != 0 ? unit->n : 0;
  size->copied_bytes += unit->n * copied_bytes (options, size->format, unit, m, padded);
  if (padded * compute <= size->largest_bytes)
    return;
  size->largest = unit;
  size->largest_padded = padded;
  size->largest_bytes = padded * compute;
}

static ShardSize
size_of (const Shards *self, const ShardFormat *format, guint ranks)
{
  ShardSize size = { .format = format, .ranks = ranks };

  for (guint i = 0; i < self->units->len; i++)
    add_to_size (&size, &self->options, g_ptr_array_index (self->units, i));
  return size;
}

/* ---- advice ---------------------------------------------------------------------------------- */

/* Sizes of one format by their ranks: many a size is looked at for several others. */
typedef struct
{
  const Shards      *shards;
  const ShardFormat *format;
  GHashTable        *known; /* ShardSize */
} Known;

static const ShardSize *
known_size (Known *self, guint ranks)
{
  ShardSize *size = g_hash_table_lookup (self->known, GUINT_TO_POINTER (ranks));

  if (size == NULL)
    {
      const ShardSize found = size_of (self->shards, self->format, ranks);

      size = g_memdup2 (&found, sizeof found);
      g_hash_table_insert (self->known, GUINT_TO_POINTER (ranks), size);
    }
  return size;
}

/* From one number of ranks that is looked at below RANKS to the next. */
static guint
step_below (const Shards *self, guint ranks)
{
  guint step = SHARDS_STEP;

  while (step % workload_mesh (self->options.workload)->ep != 0)
    step += SHARDS_STEP;
  while (ranks / step > MOST_TRIED)
    step *= 2;
  return step;
}

/* The nearest below ADVICE's that pads little, or the least; FALSE: none pads less. */
static gboolean
find_smaller (Known *known, ShardAdvice *advice)
{
  const guint ranks = advice->asked.ranks, step = step_below (known->shards, ranks);
  double      least = shard_size_padding (&advice->asked);

  for (guint m = (ranks - 1) / step * step; m >= step && !advice->little; m -= step)
    {
      const ShardSize *size = known_size (known, m);

      if (shard_size_padding (size) >= least)
        continue;
      least = shard_size_padding (size);
      advice->size = *size;
      advice->found = TRUE;
      advice->little = least < SHARDS_LITTLE;
    }
  return advice->found;
}

/*
 * Replicas of the largest group below that divides the ranks and pads no more than what was found,
 * or little; where none does, as many of what was found as there is room for.
 */
static void
find_replicas (Known *known, ShardAdvice *advice)
{
  const guint  ranks = advice->asked.ranks, step = step_below (known->shards, ranks);
  const double most = MAX (shard_size_padding (&advice->size), SHARDS_LITTLE);

  advice->shard = advice->size;
  for (guint m = advice->size.ranks; m >= step; m -= step)
    if (ranks % m == 0 && shard_size_padding (known_size (known, m)) <= most)
      {
        advice->shard = *known_size (known, m);
        break;
      }
  advice->replicas = ranks / advice->shard.ranks;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The ranks of a stretch of a buffer of equal SHARDS, and the most that one of them has of it. */
static void
find_ranks (ShardPlace *place, guint64 shard)
{
  const guint64 first = place->start / shard, last = (place->end - 1) / shard;
  const guint64 head = (first + 1) * shard - place->start, tail = place->end - last * shard;

  place->first_rank = (guint) first;
  place->last_rank = (guint) last;
  place->rank_elements = last == first       ? place->end - place->start
                         : last - first >= 2 ? shard
                                             : MAX (head, tail);
}

static int
earlier_first (gconstpointer a, gconstpointer b)
{
  const ShardPlace *one = a, *other = b;

  return (one->start > other->start) - (one->start < other->start);
}

/* Of one buffer of PADDED elements, in which tensors begin at STARTS. */
static void
add_stretches (GArray *places, const ShardUnit *unit, const guint64 *starts, guint64 padded,
               guint64 shard)
{
  const guint first = places->len;
  guint64     at = 0;
  ShardPlace  rest = { .unit = unit, .end = padded };

  for (guint t = 0; t < unit->tensors->len; t++)
    {
      const TensorDesc *tensor = &tensors_of (unit)[t];
      const ShardPlace  place = { unit, tensor, starts[t], starts[t] + tensor->elements, 0, 0,
                                  0,    0,      0 };

      g_array_append_val (places, place);
    }
  qsort (&g_array_index (places, ShardPlace, first), places->len - first, sizeof (ShardPlace),
         earlier_first);
  for (guint i = first; i < places->len; i++)
    {
      ShardPlace *place = &g_array_index (places, ShardPlace, i);

      place->padding = place->start - at;
      at = place->end;
      find_ranks (place, shard);
    }
  rest.start = at;
  rest.padding = padded - at;
  if (rest.padding > 0)
    {
      find_ranks (&rest, shard);
      g_array_append_val (places, rest);
    }
}

/* Of tensors that are cut each by itself: every rank's shards stand one behind the other. */
static void
add_cuts (GArray *places, const ShardUnit *unit, const ShardFormat *format, guint m)
{
  guint64 at = 0;

  for (guint t = 0; t < unit->tensors->len; t++)
    {
      const TensorDesc *tensor = &tensors_of (unit)[t];
      const guint64     padded = format->padded (tensor, 1, m), shard = padded / m;
      const ShardPlace  place = {
         .unit = unit,
         .tensor = tensor,
         .start = at,
         .end = at + shard,
         .padding = padded - tensor->elements,
         .last_rank = (guint) ((tensor->elements - 1) / shard),
         .rank_elements = shard,
      };

      g_array_append_val (places, place);
      at += shard;
    }
}

static void
add_places (Shards *self, const ShardFormat *format, guint ranks)
{
  for (guint i = 0; i < self->units->len; i++)
    {
      const ShardUnit *unit = g_ptr_array_index (self->units, i);
      const guint      m = sharers (&self->options, unit, ranks);

      if (shard_format_is_in_place (format))
        {
          g_autofree guint64 *starts = g_new (guint64, unit->tensors->len + 1);
          const guint64       padded = padded_of (&self->options, format, unit, m, starts);

          add_stretches (self->places, unit, starts, padded, padded / m);
        }
      else
        add_cuts (self->places, unit, format, m);
    }
  if (format->heeds_blocks)
    for (guint i = 0; i < self->places->len; i++)
      {
        ShardPlace *place = &g_array_index (self->places, ShardPlace, i);

        place->block = place->tensor != NULL ? place->tensor->block : 0;
      }
}

gboolean
shards_have_buffers (const Shards *self)
{
  return shard_format_is_in_place (self->options.formats[0]);
}

/* ---- all ------------------------------------------------------------------------------------- */

Shards *
shards_new (const ShardsOptions *options)
{
  const guint n_formats = options->n_formats;
  Shards     *self = g_new0 (Shards, 1);
  Known       known[G_N_ELEMENTS (self->options.formats)];

  self->options = *options;
  self->units = units_new (options);
  self->sizes = g_array_new (FALSE, FALSE, sizeof (ShardSize));
  self->places = g_array_new (FALSE, FALSE, sizeof (ShardPlace));
  self->advice = g_array_new (FALSE, FALSE, sizeof (ShardAdvice));
  for (guint r = 0; r < options->n_ranks; r++)
    for (guint f = 0; f < options->n_formats; f++)
      {
        const ShardSize size = size_of (self, options->formats[f], options->ranks[r]);

        g_array_append_val (self->sizes, size);
      }
  if (self->sizes->len == 1)
    add_places (self, options->formats[0], options->ranks[0]);
  g_assert (n_formats > 0);
  for (guint f = 0; f < n_formats; f++)
    known[f] =
        (Known){ self, self->options.formats[f], g_hash_table_new_full (NULL, NULL, NULL, g_free) };
  for (guint i = 0; i < self->sizes->len; i++)
    {
      ShardAdvice advice = { .asked = g_array_index (self->sizes, ShardSize, i) };
      Known      *of = &known[i % n_formats];

      if (shard_size_padding (&advice.asked) <= SHARDS_MUCH)
        continue;
      if (find_smaller (of, &advice))
        find_replicas (of, &advice);
      g_array_append_val (self->advice, advice);
    }
  for (guint f = 0; f < n_formats; f++)
    g_hash_table_unref (known[f].known);
  return self;
}

void
shards_free (Shards *self)
{
  g_ptr_array_unref (self->units);
  g_array_unref (self->sizes);
  g_array_unref (self->places);
  g_array_unref (self->advice);
  g_free (self);
}
