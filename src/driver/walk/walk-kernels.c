/* The kernels of a layer on their way into the schedule, and the collectives among them. */
#include "driver/walk/driver-private.h"

#include "base/intern.h"
#include "model/layer/expert-dispatch.h"

void
walk_assign_kernels (Driver *self, guint layer, const KernelDesc *kernels, guint n, guint start)
{
  guint           first = self->at->first_unit[layer], end = self->at->first_unit[layer + 1];
  const PlanUnit *units = driver_run (self)->units;
  guint           owner = start;

  g_array_set_size (self->owner, n);
  for (guint k = 0; k < n; k++)
    {
      gboolean reads_tied = kernels[k].module < 0 && kernels[k].kind == KERNEL_MATMUL
                            && units[end - 1].own_elements == 0;

      for (guint u = first; u < end; u++)
        if (kernels[k].module >= 0 ? units[u].module == kernels[k].module
                                   : reads_tied && u == end - 1)
          owner = u;
      g_array_index (self->owner, guint, k) = owner;
    }
}

/* ---- collectives among the kernels ----------------------------------------------------------- */

void
walk_join_collectives (Driver *self)
{
  for (guint axis = 0; axis < MESH_N_AXES; axis++)
    {
      schedule_wait (self->b, SCHEDULE_COMPUTE, self->pending[axis]);
      self->pending[axis] = SCHEDULE_NONE;
      data_join (self, (MeshAxis) axis);
    }
}

static Dispatch
axis_dispatch (const PlanInput *in, MeshAxis axis)
{
  if (axis == MESH_CONTEXT)
    return (Dispatch){ .proxies = (guint) workload_mesh (in->workload)->ring_proxies };
  if (axis != MESH_EXPERT)
    return (Dispatch){ 0 };
  return expert_dispatch (workload_shape (in->workload), workload_mesh (in->workload));
}

/*
 * The communicator of KERNEL's axis, called AXIS. Sets of context ranks have one a size: a rank is
 * in several of them.
 */
static CommRef
kernel_comm (const Driver *self, const KernelDesc *kernel, const char *axis)
{
  const PlanInput *in = &self->at->levels[0].in;
  const guint      all = (guint) workload_mesh (in->workload)->cp;
  const gboolean   sets = in->batches != NULL && in->batches->sharing == 1 && all > 1;
  g_autofree char *name = NULL;

  if (kernel->axis == MESH_CONTEXT && kernel->every > 1)
    name = g_strdup_printf ("%s of %u, %u apart", axis, kernel->ranks, kernel->every);
  else if (kernel->axis == MESH_CONTEXT && (sets || kernel->ranks != all))
    name = g_strdup_printf ("%s of %u", axis, kernel->ranks);
  return schedule_token_comm (self->b, name != NULL ? intern_text (name) : axis,
                              plan_kernel_group (in, kernel), axis_dispatch (in, kernel->axis));
}

/* Returns the op if it is on the compute stream. */
static OpRef
walk_collective (Driver *self, const KernelDesc *kernel)
{
  const char    *name = driver_axis_name (self, kernel->axis);
  CommRef        comm = kernel_comm (self, kernel, name);
  CollectiveKind kind = kernel->comm;
  guint64        bytes = (guint64) kernel->read_bytes;
  StreamRef      stream;
  OpRef          op;
  guint          part;

  if (!kernel->async)
    {
      op = schedule_collective (self->b, SCHEDULE_COMPUTE, comm, kind, payload_of_bytes (bytes),
                                kernel->name);
      schedule_layer_collective (self->b, op, kernel->own_sms);
      return op;
    }
  stream = schedule_stream (self->b, name, 0);
  part = data_move (self, kernel->axis);
  schedule_wait_stream (self->b, stream, SCHEDULE_COMPUTE);
  op = schedule_collective (self->b, stream, comm, kind, payload_of_bytes (bytes), kernel->name);
  schedule_layer_collective (self->b, op, kernel->own_sms);
  schedule_uses (self->b, self->moved[self->concurrent][kernel->axis], part, ACCESS_READ_WRITE);
  self->pending[kernel->axis] = schedule_record (self->b, stream);
  return SCHEDULE_NONE;
}

/*
 * KERNEL as it runs: where the policy says that products add to the gradients that are kept, one
 * that makes a gradient reads and writes these at its end instead of writing what it made.
 */
static const KernelDesc *
as_run (Driver *self, const KernelDesc *kernel)
{
  const Policy     *policy = self->at->policy;
  const KernelDesc *known;
  KernelDesc        adds = *kernel;

  if (policy == NULL || policy->accumulates == 0 || kernel->kind != KERNEL_MATMUL
      || !kernel->weight_gradient)
    return kernel;
  known = g_hash_table_lookup (self->accumulating, kernel);
  if (known != NULL)
    return known;
  adds.write_bytes =
      (double) policy->accumulates * (double) kernel->m * (double) kernel->n * kernel->batch;
  adds.read_bytes += adds.write_bytes;
  known = schedule_keep_kernel (self->b, &adds);
  g_hash_table_insert (self->accumulating, (gpointer) kernel, (gpointer) known);
  return known;
}

/* Returns the op if it is on the compute stream. */
static OpRef
walk_kernel (Driver *self, const KernelDesc *kernel)
{
  OpRef op;

  if (kernel->joins)
    walk_join_collectives (self);
  if (kernel->first_micro_only && driver_run (self)->micro > 0)
    return SCHEDULE_NONE;
  op = kernel->kind == KERNEL_COMMUNICATION
           ? walk_collective (self, kernel)
           : schedule_layer_kernel (self->b, as_run (self, kernel));
  if (kernel->host_waits)
    schedule_host_wait (self->b, schedule_record (self->b, SCHEDULE_COMPUTE));
  return op;
}

/* Whether KERNEL of a backward pass runs in PART of it. */
static gboolean
belongs_to (const KernelDesc *kernel, BackwardPart part)
{
  switch (part)
    {
    case BACKWARD_BOTH:
      return TRUE;
    case BACKWARD_INPUTS:
      return !kernel->weight_gradient;
    case BACKWARD_WEIGHTS:
      return kernel->weight_gradient;
    case BACKWARD_AGAIN:
      return !kernel->for_norms;
    }
  g_assert_not_reached ();
}

void
walk_kernels (Driver *self, const KernelDesc *kernels, guint n, guint unit, BackwardPart part,
              const DataBracket *bracket)
{
  OpRef first = SCHEDULE_NONE, last = SCHEDULE_NONE;

  for (guint k = 0; k < n; k++)
    if ((unit == SCHEDULE_NONE || g_array_index (self->owner, guint, k) == unit)
        && belongs_to (&kernels[k], part))
      {
        OpRef op = walk_kernel (self, &kernels[k]);

        if (op == SCHEDULE_NONE)
          continue;
        if (first == SCHEDULE_NONE)
          data_kernel (self, first = op, bracket);
        last = op;
      }
  if (last == SCHEDULE_NONE)
    data_no_kernel (self, bracket);
  else if (last != first)
    data_kernel (self, last, bracket);
}
