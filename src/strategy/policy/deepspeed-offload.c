#include "strategy/policy/deepspeed-offload.h"

#include "strategy/emit/common.h"

const char *const offload_devices[] = { "none", "cpu", "nvme", NULL };

/* Defaults of options, as the table says them. */
#define OPTIMIZER_BUFFERS  4
#define PARAMS_BUFFERS     5
#define PARAMS_BUFFER_SIZE 100000000

static Place
place_of (gint device)
{
  return device == OFFLOAD_NVME ? PLACE_NVME : device == OFFLOAD_CPU ? PLACE_PINNED : PLACE_HBM;
}

/* Drives are reached through pinned memory: appends the way from FROM to TO. */
static void
add_moves (PolicyRoute *route, Place from, Place to, Dtype dtype, PolicyCadence cadence,
           const char *label)
{
  gboolean hbm = from == PLACE_HBM || to == PLACE_HBM;
  gboolean drives = from == PLACE_NVME || to == PLACE_NVME;

  if (from == to)
    return;
  if (hbm && drives)
    {
      policy_add_move (route, from, PLACE_PINNED, dtype, cadence)->label = label;
      from = PLACE_PINNED;
    }
  policy_add_move (route, from, to, dtype, cadence)->label = label;
}

/* The hops of ROUTE begin at HOME in place of the GPU's memory. */
static void
fetch_before (PolicyRoute *route, Place home, Dtype dtype, PolicyCadence cadence, const char *label)
{
  PolicyRoute old = *route;

  route->n = 0;
  add_moves (route, home, PLACE_HBM, dtype, cadence, label);
  for (guint h = 0; h < old.n; h++)
    route->hops[route->n++] = old.hops[h];
}

/* Gradients in fp32 where the optimizer is, as DeepSpeed sends them; and its states, to and fro. */
static void
offload_optimizer (UnitPolicy *kind, Place home)
{
  Place host = home == PLACE_HBM ? PLACE_HBM : PLACE_PINNED;

  if (home == PLACE_HBM)
    return;
  kind->states[STATE_GRADIENTS].dtype = DTYPE_FP32;
  kind->states[STATE_GRADIENTS].home = kind->states[STATE_OPTIMIZER].home = home;
  add_moves (&kind->routes[ROUTE_STORE], home, PLACE_HBM, DTYPE_FP32, CADENCE_LATER,
             "sum of gradients");
  add_moves (&kind->routes[ROUTE_STORE], PLACE_HBM, home, DTYPE_FP32, CADENCE_MICRO_STEP,
             "gradients");
  add_moves (&kind->routes[ROUTE_LOAD], home, host, DTYPE_FP32, CADENCE_LAST, "optimizer states");
  add_moves (&kind->routes[ROUTE_SAVE], host, home, DTYPE_FP32, CADENCE_LAST, "optimizer states");
}

void
offload_policy (const DeepspeedOffload *offload, Policy *policy)
{
  UnitPolicy *kind = &policy->kinds[0];
  Place       home = place_of (offload->param);
  Place       updated = offload->optimizer == OFFLOAD_NONE ? PLACE_HBM : PLACE_PINNED;

  policy->host_copies = offload->host_copies;
  policy->on_gpu = offload->optimizer == OFFLOAD_NONE ? 0 : 1 - offload->ratio;
  kind->states[STATE_PARAMETERS].home = home;
  fetch_before (&kind->routes[ROUTE_GATHER], home, policy->compute, CADENCE_MICRO_STEP, "shards");
  fetch_before (&kind->routes[ROUTE_UPDATE], home, policy->compute, CADENCE_LAST,
                "persistent shards");
  add_moves (&kind->routes[ROUTE_RENEW], updated, home, policy->compute, CADENCE_LAST,
             "updated shards");
  offload_optimizer (kind, place_of (offload->optimizer));
}

gboolean
offloaded_check (const PlanInput *in, gconstpointer opt, const char *name, DiagList *diags)
{
  const DeepspeedOffload *offload = &((const OffloadedOptions *) opt)->offload;
  const TrainingOptions  *training = workload_training (in->workload);
  gboolean                good = deepspeed_check (in, name, diags);

  /* DeepSpeedCPUAdam keeps fp32 states, and the weights that leave the GPU need a master. */
  if ((offload->optimizer != OFFLOAD_NONE || offload->param != OFFLOAD_NONE)
      && training->optimizer != OPTIMIZER_NONE
      && (!training_has_master (training) || training_master_dtype (training) != DTYPE_FP32
          || training_moment_dtype (training) != DTYPE_FP32))
    good = diag_option_error (
        diags, offload->optimizer != OFFLOAD_NONE ? "offload_optimizer" : "offload_param",
        "take 'precision: bf16-mixed' or 'fp16-mixed', and leave 'master_dtype' and "
        "'moment_dtype' at auto",
        "DeepSpeed offloads only training in 16 bits with states in fp32");
  if (offload->ratio != 1 && (offload->optimizer == OFFLOAD_NONE || offload->param != OFFLOAD_NONE))
    good = diag_option_error (
        diags, "ratio", "set offload_optimizer and leave offload_param at none, or ratio at 1",
        "a part of the optimizer stays on the GPU where the rest of it leaves, and the "
        "parameters do not");
  return good;
}

void
offloaded_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const OffloadedOptions *o = opt;

  deepspeed_world_policy (in, &o->deepspeed, policy);
  offload_policy (&o->offload, policy);
}
