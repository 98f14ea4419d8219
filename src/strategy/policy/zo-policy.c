/* Where the weights of zeroth-order systems live, and who shares what. */
#include "strategy/runtime/zeroth-order/issue-zo.h"

#include "strategy/shards/format.h"

const char *const zo_copies[] = { "none", "bucket", NULL };
const char *const zo_memories[] = { "pinned", "pageable", NULL };
const char *const zo_stored[] = { "fp32", "bf16", "fp16", NULL };

MeshGroup
zo_pair (const PlanInput *in, const ZoIssue *issue)
{
  MeshGroup all = mesh_all (&in->mesh);

  return mesh_group_part (all, issue->pairs && all.size % 2 == 0 ? 2 : 1);
}

MeshGroup
zo_replicas (const PlanInput *in, const ZoIssue *issue)
{
  return mesh_across (&in->mesh, zo_pair (in, issue));
}

Dtype
zo_working (const TrainingOptions *training)
{
  return training_master_dtype (training);
}

Dtype
zo_stored_dtype (const TrainingOptions *training, const ZoIssue *issue)
{
  return training_has_master (training) ? (Dtype) issue->stored : zo_working (training);
}

gboolean
zo_check (const PlanInput *in, const ZoIssue *issue, const char *name, DiagList *diags)
{
  const TrainingOptions *training = workload_training (in->workload);
  guint                  n_errors = diag_list_n_errors (diags), all = mesh_all (&in->mesh).size;

  if (mesh_parts_experts (&in->mesh))
    diag_error (diags, NULL, "set 'mesh.ep' to 1",
                "%s does not go with expert parallelism: a block moves as a whole", name);
  if (training->load_in_4bit && training_has_master (training))
    diag_error (diags, NULL, "set 'training.precision' to bf16",
                "%s widens weights on the GPU, which 'load_in_4bit' keeps in 4 bits", name);
  if (issue->pairs && all > 1)
    {
      /* Two ranks take the two passes of a micro-batch. */
      guint all = mesh_all (&in->mesh).size;

      diag_list_set_key (diags, "perturbation_parallel");
      if (all % 2 != 0)
        diag_error (diags, NULL, "set it to false, or take an even number of data ranks",
                    "%s pairs data ranks for the two passes, and %u are odd", name, all);
      if (workload_mesh (in->workload)->cp > 1)
        diag_error (diags, NULL, "set it to false, or 'mesh.cp' to 1",
                    "%s pairs neighbouring data ranks, and context ranks lie between them", name);
      if (in->batches != NULL)
        diag_error (diags, NULL, "set it to false, or leave 'training.lengths' out",
                    "%s gives a pair one batch, and 'lengths' gives each data rank its own", name);
      diag_list_set_key (diags, NULL);
    }
  if (issue->slices && all > 1 && mesh_node_ranks (&in->mesh) == 0)
    {
      diag_list_set_key (diags, "sliced_upload");
      diag_error (diags, NULL, "set it to false",
                  "%s shares uploads inside a node: its ranks are not whole parts of equal nodes",
                  name);
    }
  diag_list_set_key (diags, NULL);
  return diag_list_n_errors (diags) == n_errors;
}

/* What the ends keep on the GPU is the issue's matter: no state is an element's. */
void
zo_policy (const PlanInput *in, const ZoIssue *issue, Policy *policy)
{
  const MeshGroup        one = { .size = 1, .stride = 1 };
  const TrainingOptions *training = workload_training (in->workload);
  MeshGroup              slices = issue->slices ? mesh_node (&in->mesh) : one;
  Dtype                  stored = zo_stored_dtype (training, issue);
  Place                  home = issue->memory == ZO_PINNED ? PLACE_PINNED : PLACE_PAGEABLE;
  UnitPolicy            *kind = &policy->kinds[0];

  policy->n_kinds = 1;
  policy->compute = training_compute_dtype (training);
  policy->pass_ranks = zo_pair (in, issue).size;
  policy->passes = 2 / policy->pass_ranks;
  policy->held_logits = 2; /* as made, and without their last token: get_shift_logits */
  policy->issue = issue;
  kind->format = &format_flat;
  kind->states[STATE_PARAMETERS] = (PolicyState){ slices, stored, 0, home };
  kind->states[STATE_GRADIENTS] = (PolicyState){ one, stored, 0, PLACE_HBM };
  kind->states[STATE_OPTIMIZER] = (PolicyState){ slices, stored, 0, PLACE_HBM };
  policy_add_move (&kind->routes[ROUTE_GATHER], home, PLACE_HBM, stored, CADENCE_MICRO_STEP)
      ->label = "upload";
  policy_add_collective (&kind->routes[ROUTE_GATHER], COLLECTIVE_ALL_GATHER, "slices", slices,
                         stored, CADENCE_MICRO_STEP)
      ->label = "gather_slices";
  policy_add_move (&kind->routes[ROUTE_RENEW], PLACE_HBM, home, stored, CADENCE_MICRO_STEP)->label =
      "offload";
}
