/* The release of kernels that a cluster's GPUs run. */
#include "hardware/cluster/cluster-private.h"
#include "hardware/profile/kernel-release.h"

/* GPU with RELEASE, one for all groups that have it: like nodes stay alike. */
static const GpuProfile *
with_release (Cluster *self, const GpuProfile *gpu, const KernelRelease *release)
{
  GpuProfile *copy;

  for (guint i = 0; i < self->released->len; i++)
    {
      copy = g_ptr_array_index (self->released, i);
      if (copy->id == gpu->id)
        return copy;
    }
  copy = g_memdup2 (gpu, sizeof *gpu);
  copy->release = release;
  g_ptr_array_add (self->released, copy);
  return copy;
}

gboolean
cluster_set_kernels (Cluster *self, const char *name, const SourceMark *mark, DiagList *diags)
{
  g_autoptr (GPtrArray) releases = profile_set_kernel_releases (self->profiles, diags);
  const KernelRelease  *release =
      releases != NULL ? kernel_release_find (releases, name, mark, diags) : NULL;

  if (release == NULL)
    return FALSE;
  g_clear_pointer (&self->released, g_ptr_array_unref);
  self->released = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < self->groups->len; i++)
    {
      NodeGroup *group = &g_array_index (self->groups, NodeGroup, i);

      if (!kernel_release_runs_on (release, group->gpu))
        {
          diag_error (diags, mark, "name a release of the GPUs' own vendor that knows them",
                      "'%s' has no kernels for %s (%s)", name, group->gpu->id,
                      group->gpu->architecture);
          return FALSE;
        }
      if (kernel_release_differs_on (release, group->gpu))
        group->gpu = with_release (self, group->gpu, release);
    }
  return TRUE;
}
