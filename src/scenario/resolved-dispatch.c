/* What a two-level dispatch of tokens asks of the cluster: equal nodes, GPUs that know fp8. */
#include "scenario/resolved-private.h"

static const SourceMark *
mark_of (const Resolution *self, const char *key)
{
  return option_mark (scenario_marks (self->scenario, mesh_options), key, "dispatch", NULL);
}

static gboolean
check_gpus (const Resolution *self, DiagList *diags)
{
  const MeshOptions *mesh = workload_mesh (self->view.workload);

  for (guint r = 0; r < cluster_n_gpus (self->view.cluster); r++)
    {
      const GpuProfile *gpu = cluster_gpu_profile (self->view.cluster, r);

      if (mesh_dispatches_fp8 (mesh) && gpu->matmul_fp8.value == 0)
        diag_error (diags, mark_of (self, "dispatch_dtype"),
                    "take dispatch: two-level, and leave 'dispatch_dtype' at auto",
                    "GPU '%s' does not know fp8, in which tokens are dispatched", gpu->id);
      else if ((double) mesh->dispatch_sms >= gpu->sms.value)
        diag_error (diags, mark_of (self, "dispatch_sms"), "DeepSeek-V3 gives it 20 of 132",
                    "'dispatch_sms' of %" G_GINT64_FORMAT " leaves none of the %g SMs of '%s'",
                    mesh->dispatch_sms, gpu->sms.value, gpu->id);
      else
        continue;
      return FALSE;
    }
  return TRUE;
}

/* Of N nodes that share EXPERTS, of which a token takes CHOSEN. */
static gboolean
check_limit (const Resolution *self, gint64 n, gint64 experts, gint64 chosen, DiagList *diags)
{
  const gint64 most = workload_mesh (self->view.workload)->nodes_per_token;

  if (most > n)
    diag_error (diags, mark_of (self, "nodes_per_token"), "leave it at 0",
                "'nodes_per_token' of %" G_GINT64_FORMAT " is above the %" G_GINT64_FORMAT
                " node%s that share the experts",
                most, n, n == 1 ? "" : "s");
  else if (most > 0 && most * (experts / n) < chosen)
    diag_error (diags, mark_of (self, "nodes_per_token"), "allow more nodes",
                "'nodes_per_token' of %" G_GINT64_FORMAT " leaves a token %" G_GINT64_FORMAT
                " experts, of which it needs %" G_GINT64_FORMAT,
                most, most * (experts / n), chosen);
  else
    return TRUE;
  return FALSE;
}

gboolean
resolved_check_dispatch (const Resolution *self, const Mesh *mesh, DiagList *diags)
{
  const ModelShape *shape = workload_shape (self->view.workload);
  const MeshGroup   group = mesh_experts (mesh);
  const Mesh        experts = { .n_ranks = group.size,
                                .stride = group.stride,
                                .run = group.run,
                                .jump = group.jump,
                                .ranks_per_node = mesh->ranks_per_node };
  const guint       per_node = mesh_node_ranks (&experts);

  if (!mesh_dispatches_by_node (workload_mesh (self->view.workload)))
    return TRUE;
  if (per_node == 0)
    {
      diag_error (diags, mark_of (self, "dispatch"), "change 'ep', or leave 'dispatch' at nccl",
                  "a two-level dispatch needs as many of the %u ranks that share the experts on "
                  "every node",
                  group.size);
      return FALSE;
    }
  return check_limit (self, group.size / per_node, shape->n_experts, shape->n_experts_per_token,
                      diags)
         && check_gpus (self, diags);
}
