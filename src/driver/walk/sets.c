/*
 * Sets of ranks that share sequences: how they learn of them, and where all wait for each other.
 *
 * Megatron-LM's HybridCPDataLoaderWrapper (core/datasets/data_schedule.py) gathers how many
 * sequences each data rank has read, then their lengths; every rank makes the same sets of these,
 * and an all-to-all for each key of a sample brings it, whole, to every rank of its set.
 * hybrid_context_parallel_forward_backward (core/pipeline_parallel/hybrid_cp_schedule.py) then has
 * all ranks wait for each other, and broadcasts to tensor ranks how many groups there are and how
 * many sequences each has. The host reads what comes of each of these. Only the first tensor rank
 * loads there; here each does.
 */
#include "driver/policy/input.h"
#include "driver/walk/driver-private.h"

/* What an all-reduce of nothing sends: an fp32 number (ProcessGroupNCCL::barrier). */
#define BARRIER_BYTES 4

static void
wait_for_result (Driver *self)
{
  schedule_host_wait (self->b, schedule_record (self->b, SCHEDULE_COMPUTE));
}

static void
gather_numbers (Driver *self, CommRef comm, guint each, const char *label)
{
  const guint n = mesh_all (&self->at->levels[0].in.mesh).size;

  schedule_all_gather (self->b, SCHEDULE_COMPUTE, comm,
                       payload_of_bytes ((guint64) n * each * PLAN_NUMBER_BYTES), label);
  wait_for_result (self);
}

/*
 * As if each rank sent as much to every other as the busiest one does: of an all-to-all's buffer a
 * rank keeps a part for itself.
 */
static void
move_samples (Driver *self, CommRef comm)
{
  const PlanBatches *batches = self->in->batches;
  const guint64      n = mesh_all (&self->at->levels[0].in.mesh).size;

  for (guint key = 0; key < PLAN_N_SAMPLE_KEYS; key++)
    {
      const guint64 bytes = batches->moved * plan_sample_keys[key].bytes;

      schedule_collective (self->b, SCHEDULE_COMPUTE, comm, COLLECTIVE_ALL_TO_ALL,
                           payload_of_bytes ((bytes * n + n - 2) / (n - 1)),
                           plan_sample_keys[key].name);
    }
}

/* How many groups there are, and how many sequences this rank has of each. */
static void
broadcast_counts (Driver *self)
{
  const PlanBatches *batches = self->in->batches;
  const CommRef      comm = schedule_comm (self->b, "tensor", mesh_tensor (&self->in->mesh));
  guint              groups = 1;

  if (mesh_tensor (&self->in->mesh).size == 1)
    return;
  for (guint micro = 0; micro < batches->counts[self->row]; micro++)
    groups += batches->barriers[(gsize) self->row * batches->width + micro];
  schedule_collective (self->b, SCHEDULE_COMPUTE, comm, COLLECTIVE_BROADCAST,
                       payload_of_bytes (PLAN_COUNT_BYTES), "number of groups");
  wait_for_result (self);
  schedule_collective (self->b, SCHEDULE_COMPUTE, comm, COLLECTIVE_BROADCAST,
                       payload_of_bytes ((guint64) groups * PLAN_NUMBER_BYTES),
                       "sequences of each group");
  wait_for_result (self);
}

static void
wait_for_all (Driver *self, const char *name, MeshGroup group)
{
  schedule_all_reduce (self->b, SCHEDULE_COMPUTE, schedule_comm (self->b, name, group),
                       payload_of_bytes (BARRIER_BYTES), "barrier");
  wait_for_result (self);
}

void
sets_walk_loader (Driver *self)
{
  const PlanBatches *batches = self->in->batches;
  const Mesh        *mesh = &self->at->levels[0].in.mesh;
  CommRef            data;

  if (batches == NULL || batches->read == 0 || mesh_all (mesh).size == 1)
    return;
  data = schedule_comm (self->b, "loader", mesh_all (mesh));
  gather_numbers (self, data, 1, "numbers of sequences");
  gather_numbers (self, data, batches->read, "lengths of sequences");
  move_samples (self, schedule_comm (self->b, "barrier", mesh_all (mesh)));
  wait_for_all (self, "world", (MeshGroup){ .size = mesh->world, .stride = 1 });
  broadcast_counts (self);
}

void
sets_walk_barrier (Driver *self, guint micro)
{
  const PlanBatches *batches = self->in->batches;

  if (batches != NULL && batches->barriers != NULL
      && batches->barriers[(gsize) self->row * batches->width + micro])
    wait_for_all (self, "barrier", mesh_all (&self->at->levels[0].in.mesh));
}
