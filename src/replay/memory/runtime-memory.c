#include "replay/memory/runtime-memory.h"
#include "cost/collective/library/communicator.h"
#include "model/layer/userbuffers.h"
#include "replay/run/replay-private.h"

struct _RuntimeMemory
{
  const ReplayPlan *plan;
  guint             n_comms;
  CommunicatorUse  *uses; /* [role * n_comms + comm] */
};

static guint
use_of (const ScheduleItem *item)
{
  if (item->kind == ITEM_P2P)
    return COMMUNICATOR_MESSAGES;
  if (item->kind != ITEM_COLLECTIVE)
    return 0;
  switch ((CollectiveKind) item->collective)
    {
    case COLLECTIVE_SEND_RECV:
      return COMMUNICATOR_MESSAGES;
    case COLLECTIVE_ALL_TO_ALL:
      return COMMUNICATOR_ALL_TO_ALL;
    default:
      return COMMUNICATOR_COLLECTIVES;
    }
}

static void
add_use (CommunicatorUse *self, const ScheduleItem *item)
{
  self->uses |= use_of (item);
  if (item->kind == ITEM_COLLECTIVE && item->collective == COLLECTIVE_ALL_REDUCE)
    self->all_reduced = MAX (self->all_reduced, (double) item->bytes);
}

static void
find_uses (RuntimeMemory *self, guint role)
{
  for (guint s = 0; s < SECTION_N; s++)
    {
      ScheduleItems items = schedule_items (self->plan->schedule, role, s);

      for (guint i = 0; i < items.n; i++)
        {
          if (use_of (&items.items[i]) != 0)
            add_use (&self->uses[role * self->n_comms + items.items[i].ref], &items.items[i]);
        }
    }
}

RuntimeMemory *
runtime_memory_new (const ReplayPlan *plan)
{
  RuntimeMemory *self = g_new0 (RuntimeMemory, 1);
  guint          n_roles = schedule_n_roles (plan->schedule);

  self->plan = plan;
  self->n_comms = schedule_n_comms (plan->schedule);
  self->uses = g_new0 (CommunicatorUse, (gsize) n_roles * self->n_comms);
  for (guint role = 0; role < n_roles; role++)
    find_uses (self, role);
  return self;
}

void
runtime_memory_free (RuntimeMemory *self)
{
  if (self == NULL)
    return;
  g_free (self->uses);
  g_free (self);
}

guint64
runtime_memory_bytes (const RuntimeMemory *self, guint32 rank)
{
  const ReplayPlan *plan = self->plan;
  guint             role = schedule_role_of_rank (plan->schedule, rank);
  CollectiveOptions library = collective_config_options (&plan->resolved->scenario->collective);
  guint64 bytes = (guint64) cluster_gpu_profile (plan->resolved->cluster, rank)->runtime_bytes.value
                  + userbuffers_bytes (schedule_role_workload (plan->schedule, role));

  for (CommRef comm = 0; comm < self->n_comms; comm++)
    {
      MeshGroup           group = schedule_comm_info (plan->schedule, comm)->group;
      CommunicatorUse     use = self->uses[role * self->n_comms + comm];
      g_autofree guint32 *members = g_new (guint32, group.size);

      if (use.uses == 0 || schedule_comm_info (plan->schedule, comm)->transport == TRANSPORT_HOST)
        continue;
      mesh_group_members (group, rank, members);
      bytes += communicator_bytes (plan->resolved->cluster, members, group.size, use, &library);
    }
  return bytes;
}
