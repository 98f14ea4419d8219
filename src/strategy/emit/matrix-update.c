#include "strategy/emit/matrix-update.h"

#include "strategy/emit/common.h"

/* What a round has in flight: each of the pool of the stream that uses it last. */
typedef struct
{
  BufferRef sent; /* what goes, later what came back */
  BufferRef held; /* what a rank computes on */
  EventRef  event;
} Flight;

typedef struct
{
  StrategyRun          *run;
  const MatrixPlan     *plan;
  const OptimizerShare *share;
  const MatrixRound    *round;
  MeshGroup             group;
  guint                 kind;
  gboolean              products; /* else passes over elements, in place of products */
  Dtype                 dtype;
  guint                 size; /* bytes of an element that travels */
  MatrixTraffic         traffic;
  StreamRef             transfer, passes; /* collectives; what packs and unpacks */
  CommRef               comm;
  Flight               *flights;
} Update;

static const MatrixRound *
round_at (const Update *self, guint i)
{
  return &g_array_index (self->plan->rounds, MatrixRound, i);
}

/* ---- ops ------------------------------------------------------------------------------------- */

static void
use_gradients (const Update *self, const MatrixRound *round)
{
  for (guint u = round->first; u < round->end; u++)
    if (plan_unit_is (&self->run->units[u], self->kind)
        && self->run->units[u].trainable_elements > 0)
      strategy_uses (self->run, u, UNIT_REDUCED, ACCESS_READ);
}

static void
use_states (const Update *self)
{
  schedule_uses_kept (self->run->b, PLACE_HBM, POOL_OPTIMIZER, ACCESS_READ_WRITE);
}

static BufferRef
take (const Update *self, StreamRef stream, guint64 elements, const char *label)
{
  return schedule_alloc_on (self->run->b, stream, PLACE_HBM, POOL_COMMUNICATION,
                            elements * self->size, label);
}

/* Moments, and what goes to who has the matrices, into BUFFER; of blocks what goes alone. */
static void
prepare (const Update *self, const MatrixRound *round, StreamRef stream, guint64 elements,
         BufferRef buffer)
{
  double n = (double) elements;

  if (!self->products)
    {
      emit_stream_kernel (self->run->b, stream, KERNEL_COPY, "optimizer.pack_blocks", DTYPE_FP32,
                          n * self->share->gradient_bytes, n * self->size);
      use_gradients (self, round);
      schedule_uses (self->run->b, buffer, SCHEDULE_WHOLE, ACCESS_WRITE);
      return;
    }
  emit_stream_kernel (self->run->b, stream, KERNEL_OPTIMIZER, "optimizer.matrix_moments",
                      DTYPE_FP32, n * self->traffic.prepare_read,
                      n * self->traffic.prepare_written);
  use_gradients (self, round);
  use_states (self);
  schedule_uses (self->run->b, buffer, SCHEDULE_WHOLE, ACCESS_WRITE);
}

static void
update_parameters (const Update *self, StreamRef stream, guint64 elements, BufferRef buffer)
{
  double n = (double) elements;

  emit_stream_kernel (self->run->b, stream, KERNEL_OPTIMIZER, "optimizer.matrix_update", DTYPE_FP32,
                      n * self->traffic.apply_read, n * self->traffic.apply_written);
  schedule_uses (self->run->b, buffer, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses_kept (self->run->b, PLACE_HBM, POOL_PARAMETER, ACCESS_READ_WRITE);
}

/* Of what an optimizer of blocks has of a round. */
static void
update_blocks (const Update *self, guint64 elements, BufferRef buffer)
{
  const TrainingOptions *training = workload_training (self->run->in->workload);
  double                 n = (double) elements;
  double moments = optimizer_moments (training) * dtype_bytes (optimizer_moment_dtype (training));

  emit_stream_kernel (self->run->b, SCHEDULE_COMPUTE, KERNEL_OPTIMIZER, "optimizer.adamw_8bit",
                      DTYPE_FP32, n * (self->size + moments), n * (self->size + moments));
  schedule_uses (self->run->b, buffer, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
  use_states (self);
}

/* Preconditioners are of these kernels alone: nothing else waits for them. */
static void
make_products (const Update *self, const MatrixRound *round, BufferRef buffer)
{
  const TrainingOptions *training = workload_training (self->run->in->workload);
  g_autoptr (GArray)     kernels = g_array_new (FALSE, FALSE, sizeof (KernelDesc));
  BufferRef              workspace;

  if (round->shapes->len == 0)
    return;
  workspace = schedule_alloc (self->run->b, PLACE_HBM, POOL_WORKSPACE,
                              matrix_round_workspace (round, training), "products of an update");
  for (guint i = 0; i < round->shapes->len; i++)
    optimizer_matrix_kernels (training, g_array_index (round->shapes, MatrixShape, i), kernels);
  for (guint i = 0; i < kernels->len; i++)
    {
      schedule_kernel (self->run->b, SCHEDULE_COMPUTE, &g_array_index (kernels, KernelDesc, i));
      schedule_uses (self->run->b, buffer, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
    }
  schedule_free (self->run->b, workspace);
}

static void
compute (const Update *self, const MatrixRound *round, BufferRef buffer)
{
  if (self->products)
    make_products (self, round, buffer);
  else
    update_blocks (self, matrix_plan_share (self->plan, round), buffer);
}

/* ---- what travels ---------------------------------------------------------------------------- */

static void
travel (const Update *self, guint64 elements, const char *label)
{
  schedule_collective (self->run->b, self->transfer, self->comm,
                       self->plan->gathers ? COLLECTIVE_ALL_GATHER : COLLECTIVE_ALL_TO_ALL,
                       payload_plain (elements, self->dtype), label);
}

static void
take_off (const Update *self, guint i)
{
  const MatrixRound *round = round_at (self, i);
  Flight            *flight = &self->flights[i];

  flight->sent =
      take (self, self->passes, matrix_plan_share (self->plan, round), "shards of an update");
  prepare (self, round, self->passes, matrix_plan_share (self->plan, round), flight->sent);
  if (self->transfer != self->passes)
    schedule_wait_stream (self->run->b, self->transfer, self->passes);
  flight->held = take (self, self->plan->returns ? self->transfer : self->passes, round->held,
                       "matrices of an update");
  travel (self, round->sent, "to_owners");
  schedule_uses (self->run->b, flight->sent, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (self->run->b, flight->held, SCHEDULE_WHOLE, ACCESS_WRITE);
  flight->event = schedule_record (self->run->b, self->transfer);
}

static void
land (const Update *self, guint i)
{
  schedule_wait (self->run->b, SCHEDULE_COMPUTE, self->flights[i].event);
  compute (self, round_at (self, i), self->flights[i].held);
}

static void
send_back (const Update *self, guint i)
{
  const MatrixRound *round = round_at (self, i);
  Flight            *flight = &self->flights[i];

  schedule_wait_stream (self->run->b, self->transfer, SCHEDULE_COMPUTE);
  if (self->plan->gathers) /* all of what was made comes, not a shard */
    {
      schedule_free (self->run->b, flight->sent); /* compute waited for who read it */
      flight->sent = take (self, self->passes, round->held, "updates of blocks");
    }
  travel (self, round->sent, "from_owners");
  schedule_uses (self->run->b, flight->held, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (self->run->b, flight->sent, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free (self->run->b, flight->held);
  flight->event = schedule_record (self->run->b, self->transfer);
}

/* Where nothing comes back, every rank has made what its parameters need. */
static void
apply (const Update *self, guint i)
{
  const MatrixRound *round = round_at (self, i);
  Flight            *flight = &self->flights[i];
  gboolean           back = self->plan->returns;

  if (self->passes != self->transfer && back)
    schedule_wait (self->run->b, self->passes, flight->event);
  update_parameters (self, self->passes, matrix_plan_share (self->plan, round),
                     back ? flight->sent : flight->held);
  schedule_free (self->run->b, flight->sent);
  if (!back)
    schedule_free (self->run->b, flight->held);
}

/* ---- rounds in turn -------------------------------------------------------------------------- */

static guint
next_that_travels (const Update *self, guint from)
{
  while (from < self->plan->rounds->len && !round_at (self, from)->travels)
    from++;
  return from;
}

static void
update_in_turn (const Update *self)
{
  guint n = self->plan->rounds->len;

  for (guint i = next_that_travels (self, 0); i < n; i = next_that_travels (self, i + 1))
    {
      take_off (self, i);
      land (self, i);
      if (self->plan->returns)
        send_back (self, i);
      apply (self, i);
    }
}

static void
update_in_two_slots (const Update *self)
{
  guint n = self->plan->rounds->len, i = next_that_travels (self, 0);

  if (i < n)
    take_off (self, i);
  while (i < n)
    {
      guint next = next_that_travels (self, i + 1);

      if (next < n)
        take_off (self, next);
      land (self, i);
      send_back (self, i);
      apply (self, i);
      i = next;
    }
}

static void
update_at_once (const Update *self)
{
  guint n = self->plan->rounds->len;

  for (guint i = next_that_travels (self, 0); i < n; i = next_that_travels (self, i + 1))
    take_off (self, i);
  for (guint i = next_that_travels (self, 0); i < n; i = next_that_travels (self, i + 1))
    {
      land (self, i);
      send_back (self, i);
    }
  for (guint i = next_that_travels (self, 0); i < n; i = next_that_travels (self, i + 1))
    apply (self, i);
}

void
emit_matrix_update (StrategyRun *run, const MatrixPlan *plan, guint kind,
                    const OptimizerShare *share)
{
  const TrainingOptions *training = workload_training (run->in->workload);
  MatrixExchange         exchange = (MatrixExchange) training->matrix_exchange;
  g_autofree Flight     *flights = g_new0 (Flight, plan->rounds->len + 1);
  Update                 self = { .run = run,
                                  .plan = plan,
                                  .share = share,
                                  .kind = kind,
                                  .products = optimizer_scope (training) == SCOPE_MATRIX,
                                  .flights = flights };

  self.dtype = optimizer_exchange_dtype (training);
  self.size = dtype_bytes (self.dtype);
  self.traffic = optimizer_matrix_traffic (training, share, self.size);
  self.transfer = self.passes = SCHEDULE_COMPUTE;
  for (guint i = 0; i < plan->rounds->len; i++)
    {
      flights[i].sent = flights[i].held = SCHEDULE_NONE;
      if (!round_at (&self, i)->travels && round_at (&self, i)->held > 0)
        {
          /* Matrices that a rank has do not travel. */
          const MatrixRound *round = round_at (&self, i);
          BufferRef buffer = take (&self, SCHEDULE_COMPUTE, round->held, "matrices of an update");

          prepare (&self, round, SCHEDULE_COMPUTE, round->held, buffer);
          compute (&self, round, buffer);
          update_parameters (&self, SCHEDULE_COMPUTE, round->held, buffer);
          schedule_free (self.run->b, buffer);
        }
    }
  if (plan->travelled == 0)
    return;
  self.transfer = schedule_stream (run->b, "optimizer_exchange", 0);
  self.comm = schedule_sharing_comm (run->b, kind == 1 ? "matrices of experts" : "matrices",
                                     run->policy->kinds[kind].states[STATE_OPTIMIZER].group);
  if (exchange == MATRIX_EXCHANGE_ALL_TO_ALL && self.products)
    self.passes = self.transfer;
  schedule_wait_stream (run->b, self.transfer, SCHEDULE_COMPUTE);
  if (exchange == MATRIX_EXCHANGE_OWNER && self.products)
    update_at_once (&self);
  else if (exchange == MATRIX_EXCHANGE_ALL_TO_ALL)
    update_in_two_slots (&self);
  else
    update_in_turn (&self);
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, self.transfer);
}
