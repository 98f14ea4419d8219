#include "driver/matrix/matrix-plan.h"

#include "driver/matrix/matrix-parts.h"
#include "driver/matrix/matrix-spread.h"

#include <string.h>

typedef struct
{
  const TrainingOptions *training;
  const PlanUnit        *units;
  guint                  n_units, m, kind;
  gboolean               matrices; /* else blocks */
  gboolean               owners;   /* a format gives whole tensors to ranks */
  GArray                *parts;    /* MatrixPart, by unit */
  guint64               *bytes;    /* [m]: what lives for ever on each rank */
  double                *local;    /* [m]: FLOPs of what each rank has of its own */
  double                *loads;    /* [m]: of the buckets so far */
  MatrixPlan            *plan;
} Maker;

static const MatrixPart *
part_at (const Maker *self, guint i)
{
  return &g_array_index (self->parts, MatrixPart, i);
}

static guint64
shared (const Maker *self, guint64 elements)
{
  g_assert (self->m > 0);
  return (elements + self->m - 1) / self->m;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Of the units that have the parts [FIRST, END). */
static MatrixRound *
round_new (Maker *self, guint first, guint end, gboolean travels)
{
  MatrixRound round = { .first = part_at (self, first)->unit,
                        .end = part_at (self, end - 1)->unit + 1,
                        .travels = travels,
                        .shapes = g_array_new (FALSE, FALSE, sizeof (MatrixShape)) };

  g_array_append_val (self->plan->rounds, round);
  return &g_array_index (self->plan->rounds, MatrixRound, self->plan->rounds->len - 1);
}

/* COUNT matrices of SHAPE are the busiest rank's. */
static void
give (MatrixRound *round, MatrixShape shape, guint64 count)
{
  if (count == 0)
    return;
  shape.count = count;
  matrix_shapes_add (round->shapes, shape);
  round->held += count * shape.rows * shape.columns;
}

/* ---- matrices that no boundary cuts ---------------------------------------------------------- */

/* Adds what ranks have of PART's matrices to `local`, and what those keep to `bytes`. */
static void
add_local_loads (Maker *self, const MatrixPart *part)
{
  if (part->n_cut == part->n_blocks)
    return;
  for (guint rank = matrix_part_first_rank (part); rank <= matrix_part_last_rank (part); rank++)
    {
      guint64 count = matrix_part_on (part, rank).matrices;

      self->local[rank] += (double) count * part->flops;
      self->bytes[rank] += count * part->bytes;
    }
}

/* What RANK has of the parts [FIRST, END) of a unit: where others have them, nothing. */
static void
add_local (Maker *self, guint first, guint end, guint rank)
{
  MatrixRound *round = round_new (self, first, end, FALSE);

  for (guint i = first; i < end; i++)
    {
      const MatrixPart *part = part_at (self, i);

      round->elements += part->tensor->elements - part->cut_elements;
      if (part->n_cut < part->n_blocks)
        give (round, part->shape, matrix_part_on (part, rank).matrices);
    }
}

/* ---- matrices that travel -------------------------------------------------------------------- */

/* What is cut of the parts [FIRST, END), all of it on every rank. */
static void
add_gathered (Maker *self, guint first, guint end)
{
  MatrixRound *round = round_new (self, first, end, TRUE);

  for (guint i = first; i < end; i++)
    {
      const MatrixPart *part = part_at (self, i);

      round->elements += part->cut_elements;
      give (round, part->shape, matrix_part_cut (part));
      for (guint rank = 0; rank < self->m; rank++)
        self->bytes[rank] += matrix_part_cut (part) * part->bytes;
    }
  round->held = round->sent = shared (self, round->elements) * self->m;
}

/* What is cut of the parts [FIRST, END), matrix by matrix. */
static MatrixSpread
spread_cut (Maker *self, guint first, guint end, const double *start)
{
  g_autoptr (GArray) shapes = g_array_new (FALSE, FALSE, sizeof (MatrixShape));
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (MatrixItem));
  guint64            elements = 0;
  MatrixSpread       result;

  for (guint i = first; i < end; i++)
    {
      MatrixShape shape = part_at (self, i)->shape;

      shape.count = matrix_part_cut (part_at (self, i));
      elements += part_at (self, i)->cut_elements;
      if (shape.count > 0)
        matrix_shapes_add (shapes, shape);
    }
  for (guint i = 0; i < shapes->len; i++)
    {
      MatrixShape shape = g_array_index (shapes, MatrixShape, i);
      MatrixItem  item = { .n = shape.count,
                           .weight = optimizer_matrix_flops (self->training, shape) };

      item.shape = shape;
      item.shape.count = 1;
      g_array_append_val (items, item);
    }
  result = matrix_spread_new (self->training, items, self->m, start, self->loads, self->bytes);
  result.elements = elements;
  return result;
}

/* A tensor more of ITEMS, which has each kind once. */
static void
add_tensor (const Maker *self, const TensorDesc *tensor, GArray *items)
{
  MatrixItem item = { .shape = optimizer_matrices (self->training, tensor),
                      .n = 1,
                      .weight = (double) tensor->elements };

  for (guint i = 0; i < items->len; i++)
    {
      MatrixItem *one = &g_array_index (items, MatrixItem, i);

      if (memcmp (&one->shape, &item.shape, sizeof item.shape) == 0 && one->weight == item.weight)
        {
          one->n++;
          return;
        }
    }
  g_array_append_val (items, item);
}

/*
 * Of a format that gives whole tensors to ranks, by its rule: the largest to who has least
 * (strategy/shards/format.c, owned_whole), whatever work they are.
 */
static MatrixSpread
spread_owned (Maker *self)
{
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (MatrixItem));
  MatrixSpread       result;

  for (guint u = 0; u < self->n_units; u++)
    for (guint t = 0; t < self->units[u].n_trainable; t++)
      if (plan_unit_is (&self->units[u], self->kind))
        add_tensor (self, &self->units[u].trainable[t], items);
  result = matrix_spread_new (self->training, items, self->m, NULL, self->loads, self->bytes);
  for (guint i = 0; i < self->parts->len; i++)
    result.elements += part_at (self, i)->tensor->elements;
  return result;
}

/* ROUND, the I-th of N, has as large a part of what the busiest rank has and of what travels. */
static void
fill (Maker *self, MatrixRound *round, const MatrixSpread *spread, guint i, guint n)
{
  guint64 all = 0, at = 0, from, to;

  for (guint k = 0; k < spread->shapes->len; k++)
    all += g_array_index (spread->shapes, MatrixShape, k).count;
  from = all * i / n;
  to = all * (i + 1) / n;
  for (guint k = 0; k < spread->shapes->len; k++)
    {
      MatrixShape shape = g_array_index (spread->shapes, MatrixShape, k);
      guint64     low = MAX (at, from), high = MIN (at + shape.count, to);

      at += shape.count;
      give (round, shape, high > low ? high - low : 0);
    }
  round->elements = spread->elements * (i + 1) / n - spread->elements * i / n;
  if (round->travels)
    {
      guint64 sent = MAX (shared (self, spread->elements), spread->held);

      round->sent = sent * (i + 1) / n - sent * i / n;
    }
}

/* ---- units and buckets ----------------------------------------------------------------------- */

/* The parts behind FIRST that are of its unit, too. */
static guint
end_of_unit (const Maker *self, guint first)
{
  guint end = first + 1;

  while (end < self->parts->len && part_at (self, end)->unit == part_at (self, first)->unit)
    end++;
  return end;
}

/* Tensors of the parts [FIRST, END) that are cut somewhere. */
static guint
n_cut_of (const Maker *self, guint first, guint end)
{
  guint n = 0;

  for (guint i = first; i < end; i++)
    n += part_at (self, i)->n_cut > 0;
  return n;
}

/* Whether some of them is whole somewhere. */
static gboolean
has_whole (const Maker *self, guint first, guint end)
{
  for (guint i = first; i < end; i++)
    if (part_at (self, i)->n_cut < part_at (self, i)->n_blocks)
      return TRUE;
  return FALSE;
}

static void
add_bucket (Maker *self, guint first, guint end)
{
  MatrixSpread spread = spread_cut (self, first, end, NULL);

  fill (self, round_new (self, first, end, TRUE), &spread, 0, 1);
  matrix_spread_clear (&spread);
}

/* Layer by layer, as many a bucket as told, or as give every rank a matrix. */
static void
add_buckets (Maker *self)
{
  const gint64 most = self->training->matrix_bucket_layers;
  guint64      matrices = 0;
  guint        first = 0, layers = 0, layer = G_MAXUINT;

  for (guint at = 0, end; at < self->parts->len; at = end)
    {
      guint   its = self->units[part_at (self, at)->unit].layer;
      guint64 sum = 0;

      end = end_of_unit (self, at);
      if (its != layer && matrices > 0 && (most > 0 ? layers >= most : matrices >= self->m))
        {
          add_bucket (self, first, at);
          first = at, matrices = 0, layers = 0;
        }
      layers += its != layer;
      layer = its;
      for (guint i = at; i < end; i++)
        sum += matrix_part_cut (part_at (self, i));
      matrices += sum;
    }
  if (matrices > 0)
    add_bucket (self, first, self->parts->len);
}

/* SPREAD, of everything at once, shown as a round for each of the N units that have some of it. */
static void
add_at_once (Maker *self, const MatrixSpread *spread, guint n, gboolean travels)
{
  guint i = 0;

  for (guint at = 0, end; at < self->parts->len; at = end)
    {
      end = end_of_unit (self, at);
      if (!travels || n_cut_of (self, at, end) > 0)
        fill (self, round_new (self, at, end, travels), spread, i++, n);
    }
}

/*
 * What travels of the unit with parts [FIRST, END) for blocks. Ranks have about as much behind an
 * all-to-all as before it; behind an all-gather each has all.
 */
static void
add_blocks (Maker *self, guint first, guint end)
{
  MatrixRound *round = round_new (self, first, end, TRUE);

  for (guint i = first; i < end; i++)
    round->elements += part_at (self, i)->cut_elements;
  round->held = shared (self, round->elements) * (self->plan->gathers ? self->m : 1);
  round->sent = round->held;
}

/* What RANK has of its own, and what travels unit by unit. */
static void
add_units (Maker *self, guint rank)
{
  gboolean local = self->matrices && !self->owners;

  for (guint at = 0, end; at < self->parts->len; at = end)
    {
      guint n_cut;

      end = end_of_unit (self, at);
      n_cut = n_cut_of (self, at, end);
      if (local && has_whole (self, at, end))
        add_local (self, at, end, rank);
      if (self->matrices && self->plan->gathers && n_cut > 0)
        add_gathered (self, at, end);
      if (!self->matrices && n_cut > 0)
        add_blocks (self, at, end);
    }
}

/*
 * Where each unit is a buffer of its own, the same ranks have the same matrices of every unit. So
 * those that are a tensor by themselves are shared out with what is cut of their unit, which has
 * the parts [FIRST, END) (veScale's SelectRoot is of every matrix). Experts stay where they are.
 */
static void
let_singles_travel (Maker *self, guint first, guint end)
{
  for (guint i = first; i < end; i++)
    if (part_at (self, i)->n_blocks == 1)
      matrix_part_cut_all (&g_array_index (self->parts, MatrixPart, i));
}

/* Counts tensors, units and those of them that are cut, and what ranks have of their own. */
static void
survey (Maker *self, gboolean spreads, guint *n_units, guint *n_cut)
{
  *n_units = *n_cut = 0;
  for (guint at = 0, end; at < self->parts->len; at = end)
    {
      guint n;

      end = end_of_unit (self, at);
      n = n_cut_of (self, at, end);
      self->plan->n_tensors += end - at;
      self->plan->n_cut += n;
      *n_units += 1;
      *n_cut += n > 0;
      if (spreads && n > 0)
        let_singles_travel (self, at, end);
      for (guint i = at; i < end && self->matrices && !self->owners; i++)
        add_local_loads (self, part_at (self, i));
    }
}

static void
add_rounds (Maker *self, gboolean joined)
{
  const gboolean at_once = self->training->matrix_exchange == MATRIX_EXCHANGE_OWNER;
  const gboolean spreads = self->matrices && !self->owners && !self->plan->gathers;
  guint          n_units, n_cut;

  survey (self, spreads && !joined, &n_units, &n_cut);
  if (self->owners && self->matrices)
    {
      MatrixSpread spread = spread_owned (self);

      add_at_once (self, &spread, n_units, FALSE);
      matrix_spread_clear (&spread);
    }
  else if (spreads && at_once && n_cut > 0)
    {
      MatrixSpread spread = spread_cut (self, 0, self->parts->len, self->local);

      add_units (self, spread.rank);
      add_at_once (self, &spread, n_cut, TRUE);
      matrix_spread_clear (&spread);
    }
  else
    add_units (self, matrix_busiest (self->local, self->m));
  if (spreads && !at_once && n_cut > 0)
    add_buckets (self);
}

static void
add_up (Maker *self)
{
  MatrixPlan *plan = self->plan;

  for (guint i = 0; i < plan->rounds->len; i++)
    {
      const MatrixRound *round = &g_array_index (plan->rounds, MatrixRound, i);

      plan->elements += round->elements;
      plan->travelled += round->travels ? round->elements : 0;
    }
  for (guint rank = 0; rank < self->m; rank++)
    plan->bytes = MAX (plan->bytes, self->bytes[rank]);
}

/* ---- plan ------------------------------------------------------------------------------------ */

static void
round_clear (gpointer data)
{
  g_array_unref (((MatrixRound *) data)->shapes);
}

static MatrixPlan *
plan_new (const TrainingOptions *training, gboolean matrices, guint m)
{
  MatrixPlan *self = g_new0 (MatrixPlan, 1);

  self->rounds = g_array_new (FALSE, FALSE, sizeof (MatrixRound));
  g_array_set_clear_func (self->rounds, round_clear);
  self->members = m;
  self->gathers = training->matrix_exchange == MATRIX_EXCHANGE_ALL_GATHER;
  self->returns = !self->gathers || !matrices;
  return self;
}

MatrixPlan *
matrix_plan_new (const PlanInput *in, const UnitPolicy *policy, const PlanUnit *units,
                 guint n_units, guint kind)
{
  const TrainingOptions *training = workload_training (in->workload);
  UpdateScope            scope = optimizer_scope (training);
  guint                  m = policy->states[STATE_OPTIMIZER].group.size;
  gboolean               owners = m > 1 && policy->format->owned != NULL;
  g_autoptr (GArray)     parts = NULL;
  g_autofree guint64    *bytes = NULL;
  g_autofree double     *loads = NULL, *local = NULL;
  Maker                  self;

  if (scope != SCOPE_BLOCK && scope != SCOPE_MATRIX)
    return NULL;
  parts = matrix_parts_new (training, policy, units, n_units, kind, owners);
  bytes = g_new0 (guint64, m);
  loads = g_new0 (double, m);
  local = g_new0 (double, m);
  self = (Maker){ .training = training,
                  .units = units,
                  .n_units = n_units,
                  .m = m,
                  .kind = kind,
                  .matrices = scope == SCOPE_MATRIX,
                  .owners = owners,
                  .parts = parts,
                  .bytes = bytes,
                  .local = local,
                  .loads = loads,
                  .plan = plan_new (training, scope == SCOPE_MATRIX, m) };
  if (parts->len > 0)
    add_rounds (&self, policy->joined);
  add_up (&self);
  return self.plan;
}

guint64
matrix_round_workspace (const MatrixRound *round, const TrainingOptions *training)
{
  guint64 most = 0;

  for (guint i = 0; i < round->shapes->len; i++)
    most = MAX (
        most, optimizer_matrix_workspace (training, g_array_index (round->shapes, MatrixShape, i)));
  return most;
}

void
matrix_plan_free (MatrixPlan *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->rounds);
  g_free (self);
}

guint64
matrix_plan_kept (const MatrixPlan *self, const PlanInput *in, const UnitPolicy *policy,
                  const PlanUnit *units, guint n_units, guint kind)
{
  const TrainingOptions *training = workload_training (in->workload);
  guint                  m = policy->states[STATE_OPTIMIZER].group.size;
  guint64                parts = 0, each = 0;

  for (guint u = 0; u < n_units; u++)
    for (guint t = 0; t < units[u].n_trainable && plan_unit_is (&units[u], kind); t++)
      {
        OptimizerBytes bytes = optimizer_bytes (training, &units[u].trainable[t]);

        parts += bytes.shared;
        each += bytes.each;
      }
  return (parts + m - 1) / m + each + (self != NULL ? self->bytes : 0);
}
