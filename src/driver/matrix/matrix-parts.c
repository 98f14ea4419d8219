#include "driver/matrix/matrix-parts.h"

typedef struct
{
  const TrainingOptions *training;
  const UnitPolicy      *policy;
  const PlanUnit        *units;
  guint                  n_units, m, kind;
  gboolean               owners;
  GArray                *parts;
} Finder;

/* ---- blocks ---------------------------------------------------------------------------------- */

static guint64
ceil_div (guint64 n, guint64 by)
{
  return (n + by - 1) / by;
}

static guint64
blocks_of_matrix (const MatrixPart *part)
{
  return ceil_div (part->matrix, part->block);
}

/* Where block I begins; of I behind the last one: where the tensor ends. */
static guint64
begin_of (const MatrixPart *part, guint64 i)
{
  guint64 each = blocks_of_matrix (part);

  return i / each * part->matrix + MIN (i % each * part->block, part->matrix);
}

static guint64
matrices_of (const MatrixPart *part, guint64 blocks)
{
  return part->shape.count / part->n_blocks * blocks;
}

guint64
matrix_part_cut (const MatrixPart *part)
{
  return matrices_of (part, part->n_cut);
}

/* The element of a turn of PART that is the first at POSITION or behind it. */
static guint64
element_at (const MatrixPart *part, guint64 position)
{
  return position <= part->offset ? 0 : MIN (position - part->offset, part->turn);
}

/* Blocks within the elements [FROM, TO). */
static MatrixLot
lot_between (const MatrixPart *part, guint64 from, guint64 to)
{
  guint64 first = from / part->matrix * blocks_of_matrix (part)
                  + ceil_div (from % part->matrix, part->block),
          end = to / part->matrix * blocks_of_matrix (part) + to % part->matrix / part->block;

  if (end <= first)
    return (MatrixLot){ 0 };
  return (MatrixLot){ .blocks = end - first,
                      .matrices = matrices_of (part, end - first),
                      .elements = begin_of (part, end) - begin_of (part, first) };
}

MatrixLot
matrix_part_on (const MatrixPart *part, guint rank)
{
  guint64   elements = part->tensor->elements;
  guint64   from = element_at (part, rank * part->stride);
  guint64   to = element_at (part, (rank + 1) * part->stride);
  MatrixLot sum = { 0 };

  if (part->stride == 0)
    return lot_between (part, 0, elements);
  for (guint64 turn = 0; turn < elements && to > from; turn += part->turn)
    {
      MatrixLot lot = lot_between (part, turn + from, turn + to);

      sum.blocks += lot.blocks;
      sum.matrices += lot.matrices;
      sum.elements += lot.elements;
    }
  return sum;
}

guint
matrix_part_first_rank (const MatrixPart *part)
{
  return part->stride > 0 ? (guint) (part->offset / part->stride) : 0;
}

guint
matrix_part_last_rank (const MatrixPart *part)
{
  return part->stride > 0 ? (guint) ((part->offset + part->turn - 1) / part->stride) : 0;
}

static guint64
smallest_block (const MatrixPart *part)
{
  guint64 rest = part->matrix % part->block;

  return rest > 0 ? rest : part->block;
}

/* What lies on no rank as a whole is cut. */
void
matrix_part_find_cuts (MatrixPart *part)
{
  part->n_cut = part->n_blocks;
  part->cut_elements = part->tensor->elements;
  if (part->stride > 0 && part->stride < smallest_block (part)) /* none fits a rank */
    return;
  for (guint rank = matrix_part_first_rank (part); rank <= matrix_part_last_rank (part); rank++)
    {
      MatrixLot lot = matrix_part_on (part, rank);

      part->n_cut -= lot.blocks;
      part->cut_elements -= lot.elements;
    }
}

void
matrix_part_cut_all (MatrixPart *part)
{
  part->n_cut = part->n_blocks;
  part->cut_elements = part->tensor->elements;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void
place (const Finder *self, const GArray *tensors, MatrixPart *parts, guint n_parts)
{
  gboolean together = self->policy->format->layout != NULL;

  if (together)
    {
      /* The parts are some of the tensors of one buffer, which `offset` counts. */
      g_autofree guint64 *starts = g_new0 (guint64, tensors->len + 1);
      guint64 stride = self->policy->format->layout ((const TensorDesc *) (gpointer) tensors->data,
                                                     tensors->len, self->m, 0, starts)
                       / self->m;

      for (guint i = 0; i < n_parts; i++)
        {
          parts[i].offset = starts[parts[i].offset];
          parts[i].stride = stride;
        }
    }
  for (guint i = 0; i < n_parts; i++)
    {
      if (!together)
        {
          /*
           * Each tensor is cut by itself; a strided one in each of the matrices along its first
           * dimension.
           */
          const ShardFormat *format = self->policy->format;
          gboolean           strided =
              format->strided != NULL && format->strided (parts[i].tensor, 1, self->m) > 0;
          guint64 turns = strided ? parts[i].tensor->shape[0] : 1;

          parts[i].offset = 0;
          parts[i].turn = parts[i].tensor->elements / turns;
          parts[i].stride = format->padded (parts[i].tensor, 1, self->m) / self->m / turns;
        }
      matrix_part_find_cuts (&parts[i]);
      if (self->training->matrix_exchange == MATRIX_EXCHANGE_ALL_GATHER && parts[i].n_cut > 0)
        matrix_part_cut_all (&parts[i]); /* who gathers a tensor, gathers all of it */
    }
}

/* ---- units ----------------------------------------------------------------------------------- */

/* The matrices of TENSOR, the one of UNIT that stands at OFFSET in its buffer. */
static void
append (Finder *self, guint unit, const TensorDesc *tensor, guint offset)
{
  MatrixShape shape = optimizer_matrices (self->training, tensor);
  MatrixPart  part = { .unit = unit,
                       .tensor = tensor,
                       .shape = shape,
                       .matrix = shape.count > 0 && tensor->n_dims > 2
                                     ? tensor->elements / tensor->shape[0]
                                     : tensor->elements,
                       .turn = tensor->elements,
                       .block = optimizer_block (self->training, tensor),
                       .offset = offset };

  if (part.block > 1)
    {
      part.n_blocks = tensor->elements / part.matrix * blocks_of_matrix (&part);
      if (shape.count > 0)
        {
          part.flops = optimizer_matrix_flops (self->training, shape);
          part.bytes = optimizer_matrix_bytes (self->training, shape);
        }
      g_array_append_val (self->parts, part);
    }
}

/* Units [FIRST, END): their tensors lie in one buffer if the format has such. */
static void
find (Finder *self, guint first, guint end)
{
  g_autoptr (GArray) tensors = g_array_new (FALSE, FALSE, sizeof (TensorDesc));
  guint              had = self->parts->len;

  for (guint u = first; u < end; u++)
    for (guint t = 0; t < self->units[u].n_trainable && plan_unit_is (&self->units[u], self->kind);
         t++)
      {
        append (self, u, &self->units[u].trainable[t], tensors->len);
        g_array_append_val (tensors, self->units[u].trainable[t]);
      }
  if (self->parts->len > had && self->m > 1 && !self->owners)
    place (self, tensors, &g_array_index (self->parts, MatrixPart, had), self->parts->len - had);
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
                  .kind = kind,
                  .owners = owners,
                  .parts = g_array_new (FALSE, FALSE, sizeof (MatrixPart)) };
  guint  n = 0;

  if (policy->joined)
    find (&self, 0, n_units);
  for (guint u = 0; u < n_units && !policy->joined; u++)
    {
      guint had = self.parts->len;

      if (u > 0 && is_like (&units[u], &units[u - 1]))
        {
          /* The unit is like the one before it, whose parts are the last ones. */
          guint had = self.parts->len - n;

          for (guint i = 0; i < n; i++)
            {
              MatrixPart part = g_array_index (self.parts, MatrixPart, had + i);

              part.unit = u;
              g_array_append_val (self.parts, part);
            }
        }
      else
        find (&self, u, u + 1);
      n = self.parts->len - had;
    }
  if (self.m == 1 || owners)
    for (guint i = 0; i < self.parts->len; i++)
      g_array_index (self.parts, MatrixPart, i).offset = 0;
  return self.parts;
}
