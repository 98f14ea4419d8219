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
  double                *loads;    /* [m]: FLOPs of the rounds so far */
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

/* Adds what PART's matrices are to LOADS by rank, and what they keep to `bytes`. */
static void
add_loads (Maker *self, const MatrixPart *part, double *loads)
{
  guint64 from = 0, last = 0; /* ranks that have some of it */

  if (part->stride > 0)
    {
      from = part->offset / part->stride;
      last = (part->offset + part->tensor->elements - 1) / part->stride;
    }
  for (guint64 rank = from; rank <= last; rank++)
    {
      guint64 count = matrix_part_on (part, (guint) rank);

      loads[rank] += (double) count * part->flops;
      self->bytes[rank] += count * part->bytes;
    }
}

/* The rank that has most work with all parts that are not cut. */
static guint
busiest_locally (Maker *self)
{
  g_autofree double *loads = g_new0 (double, self->m);
  guint              busiest = 0;

  for (guint i = 0; i < self->parts->len; i++)
    if (!part_at (self, i)->cut)
      add_loads (self, part_at (self, i), loads);
  for (guint rank = 1; rank < self->m; rank++)
    if (loads[rank] > loads[busiest])
      busiest = rank;
  return busiest;
}

/* What RANK has of the uncut parts [FIRST, END) of a unit: where others have them, nothing. */
static void
add_local (Maker *self, guint first, guint end, guint rank)
{
  MatrixRound *round = round_new (self, first, end, FALSE);

  for (guint i = first; i < end; i++)
    if (!part_at (self, i)->cut)
      {
        round->elements += part_at (self, i)->tensor->elements;
        give (round, part_at (self, i)->shape, matrix_part_on (part_at (self, i), rank));
      }
}

/* ---- matrices that travel -------------------------------------------------------------------- */

/* The cut parts [FIRST, END), all of them on every rank. */
static void
add_gathered (Maker *self, guint first, guint end)
{
  MatrixRound *round = round_new (self, first, end, TRUE);

  for (guint i = first; i < end; i++)
    {
      const MatrixPart *part = part_at (self, i);

      if (!part->cut)
        continue;
      round->elements += part->tensor->elements;
      give (round, part->shape, part->shape.count);
      for (guint rank = 0; rank < self->m; rank++)
        self->bytes[rank] += part->shape.count * part->bytes;
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

/* Those of the parts [FIRST, END) that are cut; of a format of owners all. */
static Spread
spread_new (Maker *self, guint first, guint end)
{
  Spread              result = { .shapes = g_array_new (FALSE, FALSE, sizeof (MatrixShape)) };
  g_autofree guint64 *counts = NULL, *bytes = NULL;
  g_autofree double  *costs = NULL;
  guint               n;

  for (guint i = first; i < end; i++)
    if (part_at (self, i)->cut || self->owners)
      {
        add_shape (result.shapes, part_at (self, i)->shape);
        result.elements += part_at (self, i)->tensor->elements;
      }
  n = result.shapes->len;
  counts = g_new0 (guint64, n + 1);
  bytes = g_new0 (guint64, n + 1);
  costs = g_new0 (double, n + 1);
  for (guint i = 0; i < n; i++)
    {
      MatrixShape shape = g_array_index (result.shapes, MatrixShape, i);

      counts[i] = shape.count;
      costs[i] = optimizer_matrix_flops (self->training, shape);
      bytes[i] = optimizer_matrix_bytes (self->training, shape);
    }
  result.balance = matrix_balance_new (counts, costs, n, self->m, self->loads);
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

static guint
n_cut_of (const Maker *self, guint first, guint end)
{
  guint n = 0;

  for (guint i = first; i < end; i++)
    n += part_at (self, i)->cut;
  return n;
}

static guint64
cut_matrices (const Maker *self, guint first, guint end)
{
  guint64 sum = 0;

  for (guint i = first; i < end; i++)
    sum += part_at (self, i)->cut ? part_at (self, i)->shape.count : 0;
  return sum;
}

static void
add_bucket (Maker *self, guint first, guint end, gboolean travels)
{
  Spread spread = spread_new (self, first, end);

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

/* Everything at once, shown as a round for each of the N units that have cut parts. */
static void
add_at_once (Maker *self, guint n)
{
  Spread spread = spread_new (self, 0, self->parts->len);
  guint  i = 0;

  for (guint at = 0, end; at < self->parts->len; at = end)
    {
      end = end_of_unit (self, at);
      if (n_cut_of (self, at, end) > 0)
        fill (self, round_new (self, at, end, TRUE), &spread, i++, n);
    }
  spread_clear (&spread);
}

/* What travels of the unit with parts [FIRST, END) for blocks: as much as a rank has, or all. */
static void
add_blocks (Maker *self, guint first, guint end)
{
  MatrixRound *round = round_new (self, first, end, TRUE);

  for (guint i = first; i < end; i++)
    round->elements += part_at (self, i)->cut ? part_at (self, i)->tensor->elements : 0;
  round->held = shared (self, round->elements) * (self->plan->gathers ? self->m : 1);
  round->sent = round->held;
}

/* What is done unit by unit. Returns how many have cut parts. */
static guint
add_units (Maker *self)
{
  gboolean local = self->matrices && !self->owners;
  guint    n = 0, busiest = local ? busiest_locally (self) : 0;

  for (guint at = 0, end; at < self->parts->len; at = end)
    {
      guint n_cut;

      end = end_of_unit (self, at);
      n_cut = n_cut_of (self, at, end);
      self->plan->n_tensors += end - at;
      self->plan->n_cut += n_cut;
      n += n_cut > 0;
      if (local && n_cut < end - at)
        add_local (self, at, end, busiest);
      if (self->matrices && self->plan->gathers && n_cut > 0)
        add_gathered (self, at, end);
      if (!self->matrices && n_cut > 0)
        add_blocks (self, at, end);
    }
  return n;
}

static void
add_rounds (Maker *self)
{
  MatrixPlan *plan = self->plan;
  guint       n_units_cut = add_units (self);

  if (self->matrices && self->owners)
    add_bucket (self, 0, self->parts->len, FALSE);
  else if (self->matrices && n_units_cut > 0
           && self->training->matrix_exchange == MATRIX_EXCHANGE_OWNER)
    add_at_once (self, n_units_cut);
  else if (self->matrices && n_units_cut > 0 && !plan->gathers)
    add_buckets (self);
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
  g_autofree double     *loads = NULL;
  Maker                  self;

  if (scope != SCOPE_BLOCK && scope != SCOPE_MATRIX)
    return NULL;
  parts = matrix_parts_new (training, policy, units, n_units, kind, owners);
  bytes = g_new0 (guint64, m);
  loads = g_new0 (double, m);
  self = (Maker){ .training = training,
                  .units = units,
                  .m = m,
                  .matrices = scope == SCOPE_MATRIX,
                  .owners = owners,
                  .parts = parts,
                  .bytes = bytes,
                  .loads = loads,
                  .plan = plan_new (training, scope == SCOPE_MATRIX, m) };
  if (parts->len > 0)
    add_rounds (&self);
  return self.plan;
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
matrix_plan_kept (const PlanInput *in, const UnitPolicy *policy, const PlanUnit *units,
                  guint n_units, guint kind)
{
  const TrainingOptions *training = workload_training (in->workload);
  g_autoptr (MatrixPlan) plan = matrix_plan_new (in, policy, units, n_units, kind);
  guint                  m = policy->states[STATE_OPTIMIZER].group.size;
  guint64                parts = 0, each = 0;

  for (guint u = 0; u < n_units; u++)
    for (guint t = 0; t < units[u].n_trainable && units[u].expert == (kind == 1); t++)
      {
        OptimizerBytes bytes = optimizer_bytes (training, &units[u].trainable[t]);

        parts += bytes.shared;
        each += bytes.each;
      }
  return (parts + m - 1) / m + each + (plan != NULL ? plan->bytes : 0);
}
