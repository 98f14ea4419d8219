/* Issue times and kernel costs of a role's items on one kind of GPU. */
#include "cost/kernel/measured-times.h"
#include "replay/bind/fuse-private.h"
#include "replay/bind/graph-launch.h"

/* Host time, s: of the framework's generation, or where it does not say, of the node. */
typedef struct
{
  double kernel, backward, collective, hook, step;
} HostCosts;

typedef struct
{
  Program             *program;
  const Schedule      *schedule;
  HostCosts            host;
  const MeasuredTimes *times;
  GHashTable          *kernels;  /* KernelKey -> index + 1 */
  gboolean             blocking; /* the host waits for each kernel */
  double               owed;     /* host time of calls since the last kernel, s */
  guint                owing;    /* item of the last of them */
  GraphLaunch          graphs;
} Compiler;

/* A kernel, the host time that the device waits for it, s, and whether it comes in a graph. */
typedef struct
{
  const KernelDesc *desc;
  double            idle;
  gboolean          graphed;
} KernelKey;

static guint
kernel_key_hash (gconstpointer pointer)
{
  const KernelKey *key = pointer;

  return g_direct_hash (key->desc) ^ g_double_hash (&key->idle);
}

static gboolean
kernel_key_equal (gconstpointer a, gconstpointer b)
{
  const KernelKey *left = a, *right = b;

  return left->desc == right->desc && left->idle == right->idle && left->graphed == right->graphed;
}

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

/* IDLE: as KernelKey's; it passes before the kernel as its latency does. */
static guint32
compile_kernel (Compiler *self, const KernelDesc *desc, gboolean optimizer, double idle,
                gboolean graphed)
{
  GArray     *kernels = self->program->kernels;
  KernelKey   key = { desc, idle, graphed };
  guint32     index = GPOINTER_TO_UINT (g_hash_table_lookup (self->kernels, &key));
  KernelCost  cost;
  BoundKernel kernel;
  double      busy;

  if (index > 0)
    return index - 1;
  measured_times_cost (self->times, desc, optimizer, &cost);
  if (graphed)
    {
      /*
       * A kernel of a graph starts as soon as the one before has ended, without a launch between
       * them.
       */
      double latency;

      if (self->program->gpu->graph_latency.value != 0
          && self->program->gpu->kernel_latency.value != 0)
        {
          latency = cost.latency * self->program->gpu->graph_latency.value
                    / self->program->gpu->kernel_latency.value;
          cost.alone -= cost.latency - latency;
          cost.latency = latency;
        }
    }
  /* A GPU of a fraction of its speed takes that much longer for the same work; latency stays. */
  busy = (cost.alone - cost.latency) / self->program->speed;
  kernel = (BoundKernel){
    .latency = sim_time_from_seconds (cost.latency),
    .sm_seconds = cost.sm_seconds / self->program->speed,
    .hbm_bytes = cost.hbm_bytes / self->program->speed,
    .wave_units = cost.wave_units,
    .wave_seconds = cost.wave_seconds / self->program->speed,
    .share = busy > 0 ? 1 / busy : 0,
    .pieces = MAX (cost.in_turn, 1),
  };
  kernel.latency = sim_time_add (kernel.latency, sim_time_from_seconds (idle));
  g_array_append_val (kernels, kernel);
  g_hash_table_insert (self->kernels, g_memdup2 (&key, sizeof key),
                       GUINT_TO_POINTER (kernels->len));
  return kernels->len - 1;
}

static gboolean
continues_call (ScheduleItems items, guint i)
{
  return items.items[i].kind == ITEM_P2P && i > 0 && items.items[i - 1].kind == ITEM_P2P
         && items.items[i - 1].more;
}

static double
launch_seconds (const Compiler *self, const ScheduleItem *item)
{
  return item->phase == PHASE_BACKWARD ? self->host.backward : self->host.kernel;
}

static double
issue_seconds (const Compiler *self, ScheduleItems items, guint i)
{
  const ScheduleItem *item = &items.items[i];
  const HostCosts    *host = &self->host;
  double              launch = launch_seconds (self, item);

  switch ((ItemKind) item->kind)
    {
    case ITEM_KERNEL:
      return item->kernel->launches * launch;
    case ITEM_COLLECTIVE:
      return host->collective;
    case ITEM_P2P:
      return continues_call (items, i) ? 0 : host->collective;
    case ITEM_MOVE:
      return launch;
    case ITEM_HOST_HOOK:
      return item->ref * host->hook;
    case ITEM_STEP:
      return host->step;
    default:
      return 0;
    }
}

/*
 * Where the host waits for each kernel, nothing runs while it issues: the time of a kernel's issue,
 * and of the collectives and messages issued since the last one, is the device's, and the host has
 * none of its own.
 */
static void
compile_item (Compiler *self, ScheduleItems items, guint i, ProgramItem *entry)
{
  const ScheduleItem *item = &items.items[i];
  double              seconds = issue_seconds (self, items, i), idle = 0;
  const LaunchKind    launch =
      graph_launch_next (&self->graphs, self->schedule, self->program->role, item);

  if (launch != LAUNCH_ALONE)
    seconds = launch == LAUNCH_FIRST ? launch_seconds (self, item) : 0;
  if (self->blocking && item->kind == ITEM_KERNEL)
    {
      idle = self->owed + seconds;
      self->owed = seconds = 0;
    }
  else if (self->blocking && (item->kind == ITEM_COLLECTIVE || item->kind == ITEM_P2P))
    {
      self->owed += seconds;
      self->owing = i;
      seconds = 0;
    }
  entry->issue = sim_time_from_seconds (seconds);
  entry->kernel = REPLAY_NONE;
  if (item->kind == ITEM_KERNEL)
    entry->kernel = compile_kernel (self, item->kernel, item->phase == PHASE_OPTIMIZER, idle,
                                    launch != LAUNCH_ALONE);
  else if (item->kind == ITEM_HOST_OP)
    {
      GArray  *hosts = self->program->hosts;
      HostCost cost;

      host_cost (self->program->node, item->host, &cost);
      g_array_append_val (hosts, cost);
      entry->kernel = hosts->len - 1;
    }
}

static GArray *
compile_section (Compiler *self, ScheduleSection section, StopPoll *poll)
{
  ScheduleItems items = schedule_items (self->schedule, self->program->role, section);
  GArray       *compiled = g_array_sized_new (FALSE, FALSE, sizeof (ProgramItem), items.n);
  guint32       step = 0, call = 0, i = 0;

  self->owed = 0;
  self->graphs.open = FALSE;
  g_array_set_size (compiled, items.n);
  for (; i < items.n && !stop_poll (poll); i++)
    {
      ProgramItem *entry = &g_array_index (compiled, ProgramItem, i);

      *entry = (ProgramItem){ .group = REPLAY_NONE, .step = step };
      compile_item (self, items, i, entry);
      step += items.items[i].kind == ITEM_STEP;
      call = continues_call (items, i) ? call + 1 : 1;
      self->program->max_call = MAX (self->program->max_call, call);
    }
  g_array_set_size (compiled, i);
  if (self->owed > 0) /* no kernel came */
    g_array_index (compiled, ProgramItem, self->owing).issue = sim_time_from_seconds (self->owed);
  return compiled;
}

Program *
program_new (const Schedule *schedule, const TrainingOptions *training,
             const FrameworkProfile *framework, Granularity granularity, const Program *like,
             InputFiles *files, StopPoll *poll)
{
  Program               *self = g_new0 (Program, 1);
  g_autoptr (GHashTable) known =
      g_hash_table_new_full (kernel_key_hash, kernel_key_equal, g_free, NULL);
  g_autoptr (KernelModel)   model = kernel_model_new_shared (like->gpu, files);
  g_autoptr (MeasuredTimes) times =
      measured_times_new (model, schedule_role_workload (schedule, like->role), training->measured);
  Compiler compiler = {
    .program = self,
    .schedule = schedule,
    .host = host_costs (framework, like->node, training_compiles_blocks (training)),
    .times = times,
    .kernels = known,
    .blocking = training->launch_blocking,
    .graphs.scope = (GraphScope) training->cuda_graphs,
  };

  self->role = like->role;
  self->gpu = like->gpu;
  self->node = like->node;
  self->speed = like->speed;
  self->kernels = g_array_new (FALSE, FALSE, sizeof (BoundKernel));
  self->hosts = g_array_new (FALSE, FALSE, sizeof (HostCost));
  self->parts = g_array_new (FALSE, FALSE, sizeof (WavePart));
  self->fused = g_array_new (FALSE, FALSE, sizeof (FusedOp));
  self->groups = g_array_new (FALSE, FALSE, sizeof (FusedGroup));
  self->descs = g_ptr_array_new_with_free_func (g_free);
  for (ScheduleSection s = 0; s < SECTION_N; s++)
    self->items[s] = s == SECTION_STEADY && schedule_shares_steady (schedule, self->role)
                         ? g_array_ref (self->items[SECTION_FIRST])
                         : compile_section (&compiler, s, poll);
  if (granularity != GRANULARITY_KERNEL && !poll->cut)
    fuse_program (self, schedule, granularity, poll);
  return self;
}

void
program_free (Program *self)
{
  for (ScheduleSection s = 0; s < SECTION_N; s++)
    g_array_unref (self->items[s]);
  g_array_unref (self->kernels);
  g_array_unref (self->hosts);
  g_array_unref (self->parts);
  g_array_unref (self->fused);
  g_array_unref (self->groups);
  g_ptr_array_unref (self->descs);
  g_free (self);
}
