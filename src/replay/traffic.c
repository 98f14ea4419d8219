/* Bytes and FLOPs of a steady period, from the schedule and the plans. */
#include "replay/replay-private.h"

typedef struct
{
  guint64 calls;
  double  bytes;
} UseTotal;

/* [comm][kind] of one role's steady section. */
static UseTotal *
sum_uses (const Replay *self, guint role)
{
  UseTotal *totals = g_new0 (UseTotal, schedule_n_comms (self->schedule) * SCHEDULE_COLLECTIVE_N + 1);
  ScheduleItems items = schedule_items (self->schedule, role, SECTION_STEADY);

  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_COLLECTIVE)
      {
        UseTotal *total =
            &totals[items.items[i].ref * SCHEDULE_COLLECTIVE_N + items.items[i].collective];

        total->calls++;
        total->bytes += (double) items.items[i].bytes;
      }
  return totals;
}

/* One entry for COMM and KIND over all classes of groups. FALSE when no group uses it. */
static gboolean
sum_groups (const Replay *self, UseTotal *const *of_role, CommRef comm, guint kind,
            ReplayTraffic *traffic)
{
  const Binding *binding = self->binding;
  double         n_gpus = cluster_n_gpus (self->cluster);

  *traffic = (ReplayTraffic){ .comm = comm, .kind = (ScheduleCollective) kind };
  for (guint g = 0; g < binding->groups->len; g++)
    {
      const BoundGroup *group = binding_group (binding, g);
      guint             rank = g_array_index (binding->members, guint32, group->first_member);
      const UseTotal   *use =
          &of_role[binding_rank (binding, rank)->role][comm * SCHEDULE_COLLECTIVE_N + kind];
      const BoundPlan *plan;

      if (group->comm != comm || group->plans[kind] == REPLAY_NONE || use->calls == 0)
        continue;
      plan = binding_plan (binding, group->plans[kind]);
      if (traffic->calls == 0)
        {
          traffic->calls = use->calls;
          traffic->bytes = use->bytes;
        }
      traffic->inter_node_per_gpu += plan->n_alike * plan->inter * use->bytes / n_gpus;
      traffic->intra_node_per_gpu += plan->n_alike * plan->intra * use->bytes / n_gpus;
    }
  return traffic->calls > 0;
}

GArray *
replay_traffic (const Replay *self)
{
  GArray               *all = g_array_new (FALSE, FALSE, sizeof (ReplayTraffic));
  guint                 n_roles = schedule_n_roles (self->schedule);
  g_autofree UseTotal **of_role = g_new (UseTotal *, n_roles);

  for (guint role = 0; role < n_roles; role++)
    of_role[role] = sum_uses (self, role);
  for (CommRef comm = 0; comm < schedule_n_comms (self->schedule); comm++)
    for (guint kind = 0; kind < SCHEDULE_COLLECTIVE_N; kind++)
      {
        ReplayTraffic traffic;

        if (sum_groups (self, of_role, comm, kind, &traffic))
          g_array_append_val (all, traffic);
      }
  for (guint role = 0; role < n_roles; role++)
    g_free (of_role[role]);
  return all;
}

static gboolean
counts_flops (KernelKind kind)
{
  return kind == KERNEL_MATMUL || kind == KERNEL_ATTENTION || kind == KERNEL_ATTENTION_BACKWARD;
}

static double
role_flops (const Replay *self, guint role)
{
  ScheduleItems items = schedule_items (self->schedule, role, SECTION_STEADY);
  double        flops = 0;

  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_KERNEL && counts_flops (items.items[i].kernel->kind))
      flops += items.items[i].kernel->flops;
  return flops;
}

double
replay_executed_flops (const Replay *self)
{
  guint              n_roles = schedule_n_roles (self->schedule);
  g_autofree double *of_role = g_new (double, n_roles);
  double             sum = 0;

  for (guint role = 0; role < n_roles; role++)
    of_role[role] = role_flops (self, role);
  for (guint i = 0; i < self->binding->ranks->len; i++)
    sum += binding_rank (self->binding, i)->size * of_role[binding_rank (self->binding, i)->role];
  return sum / cluster_n_gpus (self->cluster) / schedule_steps_per_period (self->schedule);
}
