#include "driver/matrix-plan.h"

#include "driver/matrix-balance.h"
#include "driver/matrix-parts.h"

typedef struct
{
  const TrainingOptions *training;
  const PlanUnit        *units;
  guint                  m;
  gboolean               matrices; /* else blocks */
  gboolean               owners;   /* a format gives whole tensors to ranks */
  GArray                *parts;    /* MatrixPart, by unit */
  guint64               *bytes;    /* [m]: what lives for ever on each rank */
  double                *local;    /* [m]: cost of what each rank has of its own */
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

/* Adds SHAPE to a list that has each shape once. Its place. */
static guint
add_shape (GArray *shapes, MatrixShape shape)
{
  for (guint i = 0; i < shapes->len; i++)
    {
      MatrixShape *one = &g_array_index (shapes, MatrixShape, i);

      if (one->rows == shape.rows && one->columns == shape.columns && one->stacked == shape.stacked)
        {
          one->count += shape.count;
          return i;
        }
    }
  g_array_append_val (shapes, shape);
  return shapes->len - 1;
}

/* COUNT matrices of SHAPE are the busiest rank's. */
static void
give (MatrixRound *round, MatrixShape shape, guint64 count)
{
  if (count == 0)
    return;
  shape.count = count;
  add_shape (round->shapes, shape);
  round->held += count * shape.rows * shape.columns;
}

/* ---- matrices that no boundary cuts ---------------------------------------------------------- */

/* Adds what ranks have of PART's matrices to `local`, and what those keep to `bytes`. */
static void
add_local_loads (Maker *self, const MatrixPart *part)
{
  guint64 from = 0, last = 0; /* ranks that have some of it */

  if (part->n_cut == part->n_blocks)
    return;
  if (part->stride > 0)
    {
      from = part->offset / part->stride;
      last = (part->offset + part->tensor->elements - 1) / part->stride;
    }
  for (guint64 rank = from; rank <= last; rank++)
    {
      guint64 count = matrix_part_on (part, (guint) rank).matrices;

      self->local[rank] += (double) count * part->cost;
      self->bytes[rank] += count * part->bytes;
    }
}

static guint
busiest_of (const double *loads, guint n)
{
  guint busiest = 0;

  for (guint rank = 1; rank < n; rank++)
    if (loads[rank] > loads[busiest])
      busiest = rank;
  return busiest;
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

/* Matrices over ranks. */
typedef struct
{
  GArray        *shapes; /* of all of them, each once */
  MatrixBalance *balance;
  guint64        elements;
} Spread;

/* Matrices of PART that go to who has least: those that are cut; of a format of owners all. */
static guint64
spread_matrices (const Maker *self, const MatrixPart *part)
{
  return self->owners ? part->shape.count : matrix_part_cut (part);
}

static GArray *
spread_shapes (const Maker *self, guint first, guint end)
{
  GArray *shapes = g_array_new (FALSE, FALSE, sizeof (MatrixShape));

  for (guint i = first; i < end; i++)
    {
      MatrixShape shape = part_at (self, i)->shape;

      shape.count = spread_matrices (self, part_at (self, i));
      if (shape.count > 0)
        add_shape (shapes, shape);
    }
  return shapes;
}

/* Of the parts [FIRST, END). START: what ranks have already (matrix_balance_new). */
static Spread
spread_new (Maker *self, guint first, guint end, const double *start)
{
  Spread              result = { .shapes = spread_shapes (self, first, end) };
  guint               n = result.shapes->len;
  g_autofree guint64 *counts = g_new0 (guint64, n + 1);
  g_autofree guint64 *bytes = g_new0 (guint64, n + 1);
  g_autofree double  *costs = g_new0 (double, n + 1);

  for (guint i = first; i < end; i++)
    result.elements +=
        self->owners ? part_at (self, i)->tensor->elements : part_at (self, i)->cut_elements;
  for (guint i = 0; i < n; i++)
    {
      MatrixShape shape = g_array_index (result.shapes, MatrixShape, i);

      counts[i] = shape.count;
      costs[i] = optimizer_matrix_cost (self->training, shape);
      bytes[i] = optimizer_matrix_bytes (self->training, shape);
    }
  result.balance = matrix_balance_new (counts, costs, n, self->m, start, self->loads);
  for (guint rank = 0; rank < self->m; rank++)
    for (guint i = 0; i < n; i++)
      self->bytes[rank] += result.balance->counts[(gsize) rank * n + i] * bytes[i];
  return result;
}

static void
spread_clear (Spread *self)
{
  g_array_unref (self->shapes);
  matrix_balance_free (self->balance);
}

/* Elements of all matrices of the busiest rank. */
static guint64
held_of (const Spread *spread)
{
  const guint *counts =
      spread->balance->counts + (gsize) spread->balance->busiest * spread->shapes->len;
  guint64 sum = 0;

  for (guint k = 0; k < spread->shapes->len; k++)
    {
      MatrixShape shape = g_array_index (spread->shapes, MatrixShape, k);

      sum += counts[k] * shape.rows * shape.columns;
    }
  return sum;
}

/* ROUND, the I-th of N, has as large a part of what the busiest rank has and of what travels. */
static void
fill (Maker *self, MatrixRound *round, const Spread *spread, guint i, guint n)
{
  guint        n_shapes = spread->shapes->len;
  const guint *counts = spread->balance->counts + (gsize) spread->balance->busiest * n_shapes;
  guint64      all = 0, at = 0, from, to;

  for (guint k = 0; k < n_shapes; k++)
    all += counts[k];
  from = all * i / n;
  to = all * (i + 1) / n;
  for (guint k = 0; k < n_shapes; at += counts[k++])
    {
      guint64 low = MAX (at, from), high = MIN (at + counts[k], to);

      give (round, g_array_index (spread->shapes, MatrixShape, k), high > low ? high - low : 0);
    }
  round->elements = spread->elements * (i + 1) / n - spread->elements * i / n;
  if (round->travels)
    {
      guint64 sent = MAX (shared (self, spread->elements), held_of (spread));

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

static guint64
cut_matrices (const Maker *self, guint first, guint end)
{
  guint64 sum = 0;

  for (guint i = first; i < end; i++)
    sum += matrix_part_cut (part_at (self, i));
  return sum;
}

static void
add_bucket (Maker *self, guint first, guint end, gboolean travels)
{
  Spread spread = spread_new (self, first, end, NULL);

  fill (self, round_new (self, first, end, travels), &spread, 0, 1);
  spread_clear (&spread);
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
      guint its = self->units[part_at (self, at)->unit].layer;

      end = end_of_unit (self, at);
      if (its != layer && matrices > 0 && (most > 0 ? layers >= most : matrices >= self->m))
        {
          add_bucket (self, first, at, TRUE);
          first = at, matrices = 0, layers = 0;
        }
      layers += its != layer;
      layer = its;
      matrices += cut_matrices (self, at, end);
    }
  if (matrices > 0)
    add_bucket (self, first, self->parts->len, TRUE);
}

/* SPREAD, of everything at once, shown as a round for each of the N units that have cut parts. */
static void
add_at_once (Maker *self, const Spread *spread, guint n)
{
  guint i = 0;

  for (guint at = 0, end; at < self->parts->len; at = end)
    {
      end = end_of_unit (self, at);
      if (n_cut_of (self, at, end) > 0)
        fill (self, round_new (self, at, end, TRUE), spread, i++, n);
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

/* Counts tensors, and what ranks have of their own. Returns units that have cut parts. */
static guint
survey (Maker *self)
{
  guint n = 0;

  for (guint at = 0, end; at < self->parts->len; at = end)
    {
      guint n_cut;

      end = end_of_unit (self, at);
      n_cut = n_cut_of (self, at, end);
      self->plan->n_tensors += end - at;
      self->plan->n_cut += n_cut;
      n += n_cut > 0;
      for (guint i = at; i < end && self->matrices && !self->owners; i++)
        add_local_loads (self, part_at (self, i));
    }
  return n;
}

static void
add_rounds (Maker *self)
{
  guint    n = survey (self);
  gboolean spreads = self->matrices && n > 0 && !self->plan->gathers;

  if (self->matrices && self->owners)
    add_bucket (self, 0, self->parts->len, FALSE);
  else if (spreads && self->training->matrix_exchange == MATRIX_EXCHANGE_OWNER)
    {
      Spread spread = spread_new (self, 0, self->parts->len, self->local);

      add_units (self, spread.balance->busiest);
      add_at_once (self, &spread, n);
      spread_clear (&spread);
    }
  else
    add_units (self, busiest_of (self->local, self->m));
  if (spreads && self->training->matrix_exchange == MATRIX_EXCHANGE_ALL_TO_ALL)
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
                  .m = m,
                  .matrices = scope == SCOPE_MATRIX,
                  .owners = owners,
                  .parts = parts,
                  .bytes = bytes,
                  .local = local,
                  .loads = loads,
                  .plan = plan_new (training, scope == SCOPE_MATRIX, m) };
  if (parts->len > 0)
    add_rounds (&self);
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
