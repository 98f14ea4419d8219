/* From a plan to what its ops ask of the cluster: which ranks are simulated, and their programs. */
#include "replay/run/replay-private.h"
#include "replay/run/skew.h"

/* ---- programs -------------------------------------------------------------------------------- */

static const Program *
find_program (const ReplayBound *self, const Program *like)
{
  for (guint i = 0; i < self->programs->len; i++)
    {
      const Program *p = g_ptr_array_index (self->programs, i);

      if (p->role == like->role && p->gpu == like->gpu && p->node == like->node
          && p->speed == like->speed)
        return p;
    }
  return NULL;
}

/* FALSE: STOP came first. */
static gboolean
compile_programs (ReplayBound *self, Stop *stop)
{
  StopPoll                poll = { .stop = stop };
  const ResolvedScenario *resolved = self->plan->resolved;
  const ReplayConfig     *config = &resolved->scenario->replay;
  const GpuProfile       *gpu = NULL;
  double                  skew = 1;

  self->programs = g_ptr_array_new_with_free_func ((GDestroyNotify) program_free);
  self->program_of = g_new (const Program *, self->binding->ranks->len);
  for (guint i = 0; i < self->binding->ranks->len && !poll.cut; i++)
    {
      const BoundRank *rank = binding_rank (self->binding, i);

      Program like = {
        .role = rank->role,
        .gpu = cluster_gpu_profile (self->cluster, rank->rank),
        .node =
            cluster_node_profile (self->cluster, cluster_node_of_gpu (self->cluster, rank->rank)),
      };

      if (like.gpu != gpu)
        skew = skew_factor (self->cluster, config, like.gpu);
      gpu = like.gpu;
      like.speed = cluster_gpu_speed (self->cluster, rank->rank) / skew;
      self->program_of[i] = find_program (self, &like);
      if (self->program_of[i] != NULL)
        continue;
      self->program_of[i] = program_new (self->schedule, workload_training (resolved->workload),
                                         resolved->framework, (Granularity) config->granularity,
                                         &like, profile_set_files (resolved->profiles), &poll);
      g_ptr_array_add (self->programs, (gpointer) self->program_of[i]);
    }
  return !poll.cut;
}

/* ---- life ------------------------------------------------------------------------------------ */

ReplayBound *
replay_bound_new (const ReplayPlan *plan, gboolean unfolded)
{
  return replay_bound_new_with (plan, &(BoundOptions){ .unfolded = unfolded });
}

ReplayBound *
replay_bound_new_with (const ReplayPlan *plan, const BoundOptions *options)
{
  ReplayBound      *self = g_atomic_rc_box_new0 (ReplayBound);
  CollectiveOptions library = collective_config_options (&plan->resolved->scenario->collective);

  library.layouts = options->layouts;
  self->plan = replay_plan_ref (plan);
  self->cluster = plan->resolved->cluster;
  self->schedule = plan->schedule;
  self->binding = binding_new (self->cluster, self->schedule, options, &library);
  if (self->binding != NULL && compile_programs (self, options->stop))
    return self;
  replay_bound_unref (self);
  return NULL;
}

static void
bound_clear (gpointer data)
{
  ReplayBound *self = data;

  g_clear_pointer (&self->programs, g_ptr_array_unref);
  g_free (self->program_of);
  g_clear_pointer (&self->binding, binding_unref);
  replay_plan_unref (self->plan);
}

const ReplayBound *
replay_bound_ref (const ReplayBound *self)
{
  return g_atomic_rc_box_acquire ((gpointer) self);
}

void
replay_bound_unref (const ReplayBound *self)
{
  g_atomic_rc_box_release_full ((gpointer) self, bound_clear);
}

/* ---- what it holds --------------------------------------------------------------------------- */

const ReplayPlan *
replay_bound_plan (const ReplayBound *self)
{
  return self->plan;
}

Lockstep
replay_bound_lockstep (const ReplayBound *self)
{
  return self->binding->lockstep;
}

guint
replay_bound_n_ranks (const ReplayBound *self)
{
  return self->binding->ranks->len;
}

double
replay_bound_skew (const ReplayBound *self, guint i)
{
  guint32 rank = binding_rank (self->binding, i)->rank;

  return cluster_gpu_speed (self->cluster, rank) / self->program_of[i]->speed;
}

guint
replay_bound_cluster_resource (const ReplayBound *self, ResourceId resource, guint *n_alike)
{
  const BoundThing *thing = &g_array_index (self->binding->resources, BoundThing, resource);

  g_assert (resource < self->binding->resources->len);
  if (n_alike != NULL)
    *n_alike = thing->n_alike;
  return thing->id;
}
