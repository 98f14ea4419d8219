#include "strategy/outer/workers.h"

#include "strategy/shards/group.h"

const char *const workers_transports[] = { "gpu", "host", NULL };

static const GroupNames names = { "worker", "worker" };

gboolean
workers_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  ShardGroups groups;
  gboolean    good;
  guint       span;

  diag_list_set_key (diags, "worker");
  good = named_groups (&in->mesh, ((const WorkersOptions *) opt)->worker, &names, &groups, diags);
  diag_list_set_key (diags, NULL);
  if (!good)
    return FALSE;
  span = mesh_parts_experts (&in->mesh) ? mesh_expert_span (&in->mesh) : 1;
  if (groups.shard_group.size * mesh_tensor (&in->mesh).size % span == 0)
    return TRUE;
  diag_error (diags, NULL, NULL, "workers of %u ranks do not hold whole expert groups of %u",
              groups.shard_group.size, in->mesh.experts);
  return FALSE;
}

void
workers_exchange (const PlanInput *in, const WorkersOptions *o, Dtype dtype, Exchange *exchange)
{
  ShardGroups groups = { .shard_group = { .size = 1, .stride = 1 },
                         .replica = { .size = 1, .stride = 1 } };

  named_groups (&in->mesh, o->worker, &names, &groups, NULL);
  exchange->worker = groups.shard_group;
  exchange->across = groups.replica;
  exchange->every = (guint) o->local_steps;
  exchange->dtype = dtype;
  exchange->transport = (Transport) o->transport;
}
