/* Issue times and kernel costs of a role's items on one kind of GPU. */
#include "replay/fuse-private.h"

/* Host time, s: of the framework's generation, or where it does not say, of the node. */
typedef struct
{
  double kernel, backward, collective, hook, step;
} HostCosts;

typedef struct
{
  Program           *program;
  const Schedule    *schedule;
  HostCosts          host;
  const KernelModel *model;
  GHashTable        *kernels; /* KernelDesc * -> index + 1 */
} Compiler;

static double
first_given (double of_framework, double of_node)
{
  return of_framework > 0 ? of_framework : of_node;
}

static HostCosts
host_costs (const FrameworkProfile *framework, const NodeProfile *node, gboolean compile)
{
  static const FrameworkProfile none = { 0 };
  HostCosts                     costs;

  if (framework == NULL)
    framework = &none;
  costs.kernel = compile ? first_given (framework->issue_compiled.value, node->issue_compiled.value)
                         : first_given (framework->issue_eager.value, node->issue_eager.value);
  costs.backward = first_given (compile ? 0 : framework->issue_backward.value, costs.kernel);
  costs.collective = first_given (framework->issue_collective.value, node->issue_collective.value);
  costs.hook = first_given (framework->issue_hook.value, node->issue_hook.value);
  costs.step = framework->issue_step.value;
  return costs;
}

/* A GPU of a fraction of its speed takes that much longer for the same work; what is latency stays. */
static BoundKernel
bind_kernel (const KernelCost *cost, double speed)
{
  double busy = (cost->alone - cost->latency) / speed;

  return (BoundKernel){
    .latency = sim_time_from_seconds (cost->latency),
    .sm_seconds = cost->sm_seconds / speed,
    .hbm_bytes = cost->hbm_bytes / speed,
    .wave_units = cost->wave_units,
    .wave_seconds = cost->wave_seconds / speed,
    .share = busy > 0 ? 1 / busy : 0,
  };
}

static guint32
compile_kernel (Compiler *self, const KernelDesc *desc)
{
  GArray     *kernels = self->program->kernels;
  guint32     index = GPOINTER_TO_UINT (g_hash_table_lookup (self->kernels, desc));
  KernelCost  cost;
  BoundKernel kernel;

  if (index > 0)
    return index - 1;
  kernel_model_cost (self->model, desc, &cost);
  kernel = bind_kernel (&cost, self->program->speed);
  g_array_append_val (kernels, kernel);
  g_hash_table_insert (self->kernels, (gpointer) desc, GUINT_TO_POINTER (kernels->len));
  return kernels->len - 1;
}

static gboolean
continues_call (ScheduleItems items, guint i)
{
  return items.items[i].kind == ITEM_P2P && i > 0 && items.items[i - 1].kind == ITEM_P2P
         && items.items[i - 1].more;
}

static double
issue_seconds (const Compiler *self, ScheduleItems items, guint i)
{
  const ScheduleItem *item = &items.items[i];
  const HostCosts    *host = &self->host;
  double              launch = item->phase == PHASE_BACKWARD ? host->backward : host->kernel;

  switch ((ItemKind) item->kind)
    {
    case ITEM_KERNEL:
      return item->kernel->launches * launch;
    case ITEM_COLLECTIVE:
      return host->collective;
    case ITEM_P2P:
      return continues_call (items, i) ? 0 : host->collective;
    case ITEM_COPY:
      return launch;
    case ITEM_HOST_HOOK:
      return item->ref * host->hook;
    case ITEM_STEP:
      return host->step;
    default:
      return 0;
    }
}

static GArray *
compile_section (Compiler *self, ScheduleSection section)
{
  ScheduleItems items = schedule_items (self->schedule, self->program->role, section);
  GArray       *compiled = g_array_sized_new (FALSE, FALSE, sizeof (ProgramItem), items.n);
  guint32       step = 0, call = 0;

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      ProgramItem         entry = {
                .issue = sim_time_from_seconds (issue_seconds (self, items, i)),
                .kernel = item->kind == ITEM_KERNEL ? compile_kernel (self, item->kernel) : REPLAY_NONE,
                .group = REPLAY_NONE,
                .step = step,
      };

      step += item->kind == ITEM_STEP;
      call = continues_call (items, i) ? call + 1 : 1;
      self->program->max_call = MAX (self->program->max_call, call);
      g_array_append_val (compiled, entry);
    }
  return compiled;
}

Program *
program_new (const Schedule *schedule, const TrainingOptions *training,
             const FrameworkProfile *framework, Granularity granularity, guint role,
             const GpuProfile *gpu, const NodeProfile *node, double speed)
{
  Program                *self = g_new0 (Program, 1);
  g_autoptr (GHashTable)  known = g_hash_table_new (NULL, NULL);
  g_autoptr (KernelModel) model = kernel_model_new (gpu);
  Compiler compiler = { self, schedule, host_costs (framework, node, training->compile), model,
                        known };

  self->role = role;
  self->gpu = gpu;
  self->node = node;
  self->speed = speed;
  self->kernels = g_array_new (FALSE, FALSE, sizeof (BoundKernel));
  self->parts = g_array_new (FALSE, FALSE, sizeof (WavePart));
  self->fused = g_array_new (FALSE, FALSE, sizeof (FusedOp));
  self->groups = g_array_new (FALSE, FALSE, sizeof (FusedGroup));
  self->descs = g_ptr_array_new_with_free_func (g_free);
  for (ScheduleSection s = 0; s < SECTION_N; s++)
    self->items[s] = s == SECTION_STEADY && schedule_shares_steady (schedule, role)
                         ? g_array_ref (self->items[SECTION_FIRST])
                         : compile_section (&compiler, s);
  if (granularity != GRANULARITY_KERNEL)
    fuse_program (self, schedule, granularity);
  return self;
}

void
program_free (Program *self)
{
  for (ScheduleSection s = 0; s < SECTION_N; s++)
    g_array_unref (self->items[s]);
  g_array_unref (self->kernels);
  g_array_unref (self->parts);
  g_array_unref (self->fused);
  g_array_unref (self->groups);
  g_ptr_array_unref (self->descs);
  g_free (self);
}
