#include "driver/matrix-parts.h"

typedef struct
{
  const TrainingOptions *training;
  const UnitPolicy      *policy;
  const PlanUnit        *units;
  guint                  n_units, m;
  gboolean               expert; /* of such units */
  gboolean               owners;
  GArray                *parts;
} Finder;

gboolean
matrix_plan_cuts (guint64 offset, guint64 stride, guint64 elements, guint64 block)
{
  guint64 first = stride - offset % stride; /* boundary inside of the tensor */

  if (first >= elements)
    return FALSE;
  return first % block != 0 || (first + stride < elements && stride % block != 0);
}

guint64
matrix_part_on (const MatrixPart *part, guint rank)
{
  guint64 blocks = (part->tensor->elements + part->block - 1) / part->block;
  guint64 each = part->shape.count / blocks;
  guint64 from = rank * part->stride, to = from + part->stride;
  guint64 first, end; /* blocks that begin between the two */

  if (part->stride == 0) /* one rank has all */
    return part->shape.count;
  first = from <= part->offset ? 0 : (from - part->offset + part->block - 1) / part->block;
  end = to <= part->offset ? 0 : (to - part->offset + part->block - 1) / part->block;
  return (MIN (end, blocks) - MIN (first, blocks)) * each;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* PARTS are some of the N TENSORS of one buffer: what `offset` counts. */
static void
place_together (const Finder *self, const TensorDesc *tensors, guint n, MatrixPart *parts,
                guint n_parts)
{
  g_autofree guint64 *starts = g_new0 (guint64, n + 1);
  guint64 stride = self->policy->format->layout (tensors, n, self->m, 0, starts) / self->m;

  for (guint i = 0; i < n_parts; i++)
    {
      parts[i].offset = starts[parts[i].offset];
      parts[i].stride = stride;
    }
}

/* Each tensor is cut by itself. */
static void
place_alone (const Finder *self, MatrixPart *part)
{
  const ShardFormat *format = self->policy->format;
  gboolean strided = format->strided != NULL && format->strided (part->tensor, 1, self->m) > 0;

  part->offset = 0;
  part->stride = strided ? 0 : format->padded (part->tensor, 1, self->m) / self->m;
}

static void
place (const Finder *self, const GArray *tensors, MatrixPart *parts, guint n_parts)
{
  gboolean together = self->policy->format->layout != NULL;

  if (together)
    place_together (self, (const TensorDesc *) (gpointer) tensors->data, tensors->len, parts,
                    n_parts);
  for (guint i = 0; i < n_parts; i++)
    {
      MatrixPart *part = &parts[i];

      if (!together)
        place_alone (self, part);
      part->cut =
          part->stride == 0
          || matrix_plan_cuts (part->offset, part->stride, part->tensor->elements, part->block);
    }
}

/* ---- units ----------------------------------------------------------------------------------- */

static void
append (Finder *self, guint unit, const TensorDesc *tensor, guint index)
{
  MatrixPart part = { .unit = unit,
                      .tensor = tensor,
                      .shape = optimizer_matrices (self->training, tensor),
                      .block = optimizer_block (self->training, tensor),
                      .offset = index };

  if (part.block <= 1)
    return;
  if (part.shape.count > 0)
    {
      part.flops = optimizer_matrix_flops (self->training, part.shape);
      part.bytes = optimizer_matrix_bytes (self->training, part.shape);
    }
  g_array_append_val (self->parts, part);
}

/* Units [FIRST, END): their tensors lie in one buffer if the format has such. */
static void
find (Finder *self, guint first, guint end)
{
  g_autoptr (GArray) tensors = g_array_new (FALSE, FALSE, sizeof (TensorDesc));
  guint              had = self->parts->len;

  for (guint u = first; u < end; u++)
    for (guint t = 0; t < self->units[u].n_trainable && self->units[u].expert == self->expert; t++)
      {
        append (self, u, &self->units[u].trainable[t], tensors->len);
        g_array_append_val (tensors, self->units[u].trainable[t]);
      }
  if (self->parts->len > had && self->m > 1 && !self->owners)
    place (self, tensors, &g_array_index (self->parts, MatrixPart, had), self->parts->len - had);
}

/* UNIT is like the one before it, whose N parts are the last ones. */
static void
repeat (Finder *self, guint unit, guint n)
{
  guint had = self->parts->len - n;

  for (guint i = 0; i < n; i++)
    {
      MatrixPart part = g_array_index (self->parts, MatrixPart, had + i);

      part.unit = unit;
      g_array_append_val (self->parts, part);
    }
}

static gboolean
is_like (const PlanUnit *unit, const PlanUnit *other)
{
  return unit->trainable == other->trainable && unit->n_trainable == other->n_trainable
         && unit->expert == other->expert;
}

GArray *
matrix_parts_new (const TrainingOptions *training, const UnitPolicy *policy, const PlanUnit *units,
                  guint n_units, guint kind, gboolean owners)
{
  Finder self = { .training = training,
                  .policy = policy,
                  .units = units,
                  .n_units = n_units,
                  .m = policy->states[STATE_OPTIMIZER].group.size,
                  .expert = kind == 1,
                  .owners = owners,
                  .parts = g_array_new (FALSE, FALSE, sizeof (MatrixPart)) };
  guint  n = 0;

  if (policy->joined)
    find (&self, 0, n_units);
  for (guint u = 0; u < n_units && !policy->joined; u++)
    {
      guint had = self.parts->len;

      if (u > 0 && is_like (&units[u], &units[u - 1]))
        repeat (&self, u, n);
      else
        find (&self, u, u + 1);
      n = self.parts->len - had;
    }
  if (self.m == 1 || owners)
    for (guint i = 0; i < self.parts->len; i++)
      g_array_index (self.parts, MatrixPart, i).offset = 0;
  return self.parts;
}
