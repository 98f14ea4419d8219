#include "evidence/tables/trace-measure.h"

#include <math.h>

#include "base/intern.h"
#include "cost/kernel/measured-times.h"
#include "hardware/profile/gpu-name.h"

/* A driver keeps some memory back, more of it on some hosts; GPUs of one make differ by more. */
#define MEMORY_TOLERANCE 0.1

/* The kernel model is no further off than that, where a phase takes long enough to be known. */
#define ODD_RATIO      3.0
#define MOST_RATIO     2.0 /* of all kernels together, unless the device differs */
#define OTHER_RATIO    10.0
#define LONG_SECONDS   1e-3
#define UNEVEN_EXPERTS 2.0 /* products of a rank whose experts got fewer tokens than the mean */

typedef struct
{
  const StepTrace  *trace;
  const Schedule   *schedule;
  const Workload   *workload;
  KernelModel      *model;
  const GpuProfile *gpu;
  guint             n_ranks;
  gboolean          differs; /* as the user says */
  guint             role, n_micros, n_blocks;
  guint             layers[MEASURED_N_LAYERS]; /* of each kind, of the rank */
  SourceMark        mark;
  ProfileSet       *profiles;
  DiagList         *diags;
  TraceMeasurement *out;
  gint64            ns[MEASURED_N_LAYERS][TRACE_OPTIMIZER]; /* kernels by layer and phase */
  guint             n[MEASURED_N_LAYERS][TRACE_OPTIMIZER];
} Measuring;

/* ---- sums ------------------------------------------------------------------------------------ */

static guint
layer_of (gint32 block)
{
  return block >= 0                 ? LAYER_BLOCK
         : block == TRACE_EMBEDDING ? LAYER_EMBEDDING
         : block == TRACE_HEAD      ? LAYER_HEAD
                                    : MEASURED_ALL_LAYERS;
}

static void
sum_kernels (Measuring *self)
{
  g_autoptr (GHashTable) blocks = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < self->trace->kernels->len; i++)
    {
      const TraceKernel *kernel = &g_array_index (self->trace->kernels, TraceKernel, i);
      guint              layer = layer_of (kernel->owner.block);

      self->out->part_ns[kernel->owner.part] += kernel->duration_ns;
      self->out->part_n[kernel->owner.part]++;
      if (kernel->owner.part > TRACE_BACKWARD)
        continue;
      self->ns[layer][kernel->owner.part] += kernel->duration_ns;
      self->n[layer][kernel->owner.part]++;
      if (layer == LAYER_BLOCK)
        g_hash_table_add (blocks, GINT_TO_POINTER (kernel->owner.block));
    }
  self->n_blocks = g_hash_table_size (blocks);
  for (guint i = 0; i < workload_n_layers (self->workload); i++)
    self->layers[workload_layer (self->workload, i)->kind]++;
  self->layers[MEASURED_ALL_LAYERS] = 1;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* One layer of kind LAYER, or all together: its FLOPs and what the model says. */
static void
fill_row (Measuring *self, guint layer, MeasuredPhase phase, gint64 ns, guint n)
{
  MeasuredRow *row = &self->out->table.rows[layer][phase];
  guint        n_layers = self->layers[layer];

  *row = (MeasuredRow){ .given = TRUE, .seconds = (double) ns * 1e-9 / self->n_micros / n_layers };
  self->out->n[layer][phase] = n;
  for (guint i = 0; i < workload_n_layers (self->workload); i++)
    {
      const LayerDesc *desc = workload_layer (self->workload, i);

      if (layer != MEASURED_ALL_LAYERS && desc->kind != (LayerKind) layer)
        continue;
      row->flops += measured_layer_flops (desc, phase) / n_layers;
      self->out->modelled[layer][phase] +=
          measured_times_modelled (self->model, desc, phase) / n_layers;
    }
}

/* Rows by layer, where the trace and the model both have layers that are told apart. */
static void
fill_phase (Measuring *self, TracePart part, MeasuredPhase phase)
{
  gboolean apart =
      self->n[MEASURED_ALL_LAYERS][part] == 0 && measured_blocks_are_alike (self->workload, phase);
  gint64 ns = 0;
  guint  n = 0;

  for (guint layer = 0; layer < MEASURED_N_LAYERS; layer++)
    {
      ns += self->ns[layer][part];
      n += self->n[layer][part];
      apart = apart && (self->n[layer][part] == 0 || self->layers[layer] > 0);
    }
  if (n == 0 || ns == 0)
    return;
  if (!apart)
    fill_row (self, MEASURED_ALL_LAYERS, phase, ns, n);
  for (guint layer = 0; apart && layer < MEASURED_ALL_LAYERS; layer++)
    if (self->ns[layer][part] > 0)
      fill_row (self, layer, phase, self->ns[layer][part], self->n[layer][part]);
}

static void
fill_optimizer (Measuring *self)
{
  ScheduleItems items = schedule_items (self->schedule, self->role, SECTION_STEADY);
  guint         steps = schedule_steps_per_period (self->schedule);
  MeasuredRow  *row = &self->out->table.rows[MEASURED_ALL_LAYERS][MEASURED_OPTIMIZER];

  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_KERNEL && items.items[i].phase == PHASE_OPTIMIZER)
      {
        const KernelDesc *kernel = items.items[i].kernel;
        KernelCost        cost;

        kernel_model_cost (self->model, kernel, &cost);
        row->bytes += (kernel->read_bytes + kernel->write_bytes) / steps;
        self->out->modelled[MEASURED_ALL_LAYERS][MEASURED_OPTIMIZER] += cost.alone / steps;
      }
  row->seconds = (double) self->out->part_ns[TRACE_OPTIMIZER] * 1e-9;
  row->given = row->seconds > 0 && row->bytes > 0;
  self->out->n[MEASURED_ALL_LAYERS][MEASURED_OPTIMIZER] = self->out->part_n[TRACE_OPTIMIZER];
}

/* ---- what does not fit ----------------------------------------------------------------------- */

static gboolean
recomputes (const Workload *workload)
{
  for (guint i = 0; i < workload_n_layers (workload); i++)
    if (workload_layer (workload, i)->n_recompute > 0)
      return TRUE;
  return FALSE;
}

/* "80 SMs, 15.8 GiB"; what is not known is left out. */
static char *
describe_gpu (gint64 sms, double bytes)
{
  g_autofree char *memory = bytes > 0 ? quantity_format (QUANTITY_BYTES, bytes, 3) : NULL;
  g_autofree char *units = sms > 0 ? g_strdup_printf ("%" G_GINT64_FORMAT " SMs", sms) : NULL;

  return g_strjoin (", ", units != NULL ? units : memory, units != NULL ? memory : NULL, NULL);
}

/* What is known of DEVICE is so of GPU: its SMs and memory, as the driver reports them. */
static gboolean
has_figures (const TraceDevice *device, const GpuProfile *gpu)
{
  return (device->sms <= 0 || device->sms == (gint64) gpu->sms.value)
         && (device->bytes <= 0
             || fabs (device->bytes / gpu->hbm_bytes.value - 1) <= MEMORY_TOLERANCE);
}

/* DEVICE has the name of another model than GPU. A name of no model tells nothing. */
static gboolean
is_named_otherwise (const TraceDevice *device, const GpuProfile *gpu, ProfileSet *profiles)
{
  g_autofree char *others = device->name != NULL && !gpu_name_fits (device->name, gpu->id)
                                ? gpu_name_ids (device->name, profiles)
                                : NULL;

  return others != NULL;
}

char *
trace_device_profile (const StepTrace *trace, ProfileSet *profiles)
{
  const TraceDevice *device = &trace->device;
  g_autofree char   *fitting = device->name != NULL ? gpu_name_ids (device->name, profiles) : NULL;
  g_auto (GStrv)     ids = g_strsplit (fitting != NULL ? fitting : "", ", ", -1);
  g_autoptr (DiagList) diags = diag_list_new ();

  for (guint i = 0; ids[i] != NULL; i++)
    {
      const GpuProfile *gpu = profile_set_gpu (profiles, ids[i], NULL, diags);

      if (gpu != NULL && has_figures (device, gpu))
        return g_strdup (ids[i]);
    }
  return NULL;
}

/* An error, or a warning where the user says that the device differs. */
static void
say_other (const Measuring *self, const char *hint, const char *what)
{
  if (self->differs)
    diag_warning (self->diags, &self->mark, NULL, "%s", what);
  else
    diag_error (self->diags, &self->mark, hint, "%s", what);
}

/* By its name, and by what the driver reports of it. */
static void
check_device (const Measuring *self)
{
  const TraceDevice *device = &self->trace->device;
  const GpuProfile  *gpu = self->gpu->measured_on != NULL ? self->gpu->measured_on : self->gpu;
  const gboolean     named = is_named_otherwise (device, gpu, self->profiles);
  const char        *name = device->name != NULL ? device->name : "unnamed";
  g_autofree char   *here = describe_gpu ((gint64) gpu->sms.value, gpu->hbm_bytes.value);
  g_autofree char   *there = describe_gpu (device->sms, device->bytes), *what = NULL;

  if (device->sms <= 0 && device->bytes <= 0 && !named)
    {
      diag_warning (self->diags, &self->mark,
                    "PyTorch's profiler writes 'deviceProperties' with 'numSms' and "
                    "'totalGlobalMem'; without them make sure of it yourself",
                    "the trace does not say what GPU it was measured on: it is taken for '%s'",
                    gpu->id);
      return;
    }
  if (has_figures (device, gpu) && !named)
    return;
  self->out->other_device = TRUE;
  what = g_strdup_printf ("the trace is of a GPU '%s' (%s), the scenario's '%s' has %s", name,
                          *there != '\0' ? there : "no more is said", gpu->id, here);
  say_other (
      self,
      "name the GPU that was traced, with --gpu, --node or --cluster: 'shardsim hardware' "
      "lists them; other GPUs need a trace of their own, and --device-differs takes this one",
      what);
}

static double
sum_matmuls (const KernelDesc *kernels, guint n)
{
  double flops = 0;

  for (guint i = 0; i < n; i++)
    if (kernels[i].kind == KERNEL_MATMUL && !kernels[i].first_micro_only)
      flops += kernels[i].flops;
  return flops;
}

/* The products of a micro-step at the best rate of the GPU's data sheet: no kernel beats it. */
static double
least_seconds (const Measuring *self, gboolean backward)
{
  const GpuProfile *gpu = self->gpu;
  double            flops = 0;

  for (guint i = 0; i < workload_n_layers (self->workload); i++)
    {
      const LayerDesc *layer = workload_layer (self->workload, i);

      flops += backward ? sum_matmuls (layer->backward, layer->n_backward)
                        : sum_matmuls (layer->forward, layer->n_forward);
    }
  return flops / MAX (MAX (gpu->matmul_16bit.value, gpu->matmul_fp8.value), gpu->matmul_fp32.value);
}

#define OTHER_RUN                                                                            \
  "set 'model', 'training', 'mesh' and the GPU as in the run that was traced, and profile a" \
  " whole step of it"

typedef struct
{
  double measured, modelled; /* s */
} PassTimes;

/* Of the forward pass, or of the backward one with recomputation. */
static PassTimes
pass_times (const Measuring *self, gboolean backward)
{
  PassTimes sum = { 0, 0 };

  for (guint phase = 0; phase < MEASURED_OPTIMIZER; phase++)
    for (guint layer = 0; layer < MEASURED_N_LAYERS; layer++)
      if ((phase != MEASURED_FORWARD) == backward)
        {
          sum.measured += self->out->table.rows[layer][phase].seconds * self->layers[layer];
          sum.modelled += self->out->modelled[layer][phase] * self->layers[layer];
        }
  return sum;
}

/* Kernels of another model than the scenario's take times that this one cannot. */
static void
check_pass (const Measuring *self, TracePart part)
{
  const gboolean  backward = part == TRACE_BACKWARD;
  const PassTimes times = pass_times (self, backward);
  const double    least = least_seconds (self, backward);
  const char     *name = trace_part_name (part);

  if (times.measured < least / UNEVEN_EXPERTS)
    diag_error (self->diags, &self->mark, OTHER_RUN,
                "a %s pass of %.3g ms in the trace: the products of the scenario's take '%s' %.3g "
                "ms at least",
                name, times.measured * 1e3, self->gpu->id, least * 1e3);
  else if (times.measured > OTHER_RATIO * times.modelled && times.modelled > LONG_SECONDS)
    diag_error (self->diags, &self->mark, OTHER_RUN,
                "a %s pass of %.3g ms in the trace: the scenario's takes '%s' some %.3g ms", name,
                times.measured * 1e3, self->gpu->id, times.modelled * 1e3);
  else if (times.measured > ODD_RATIO * times.modelled
           || ODD_RATIO * times.measured < times.modelled)
    diag_warning (self->diags, &self->mark, OTHER_RUN,
                  "a %s pass of %.3g ms in the trace, where %.3g ms are expected of '%s'", name,
                  times.measured * 1e3, times.modelled * 1e3, self->gpu->id);
}

/* Both passes together. */
static void
check_ratio (const Measuring *self)
{
  const PassTimes  forward = pass_times (self, FALSE), backward = pass_times (self, TRUE);
  const double     measured = forward.measured + backward.measured;
  const double     modelled = forward.modelled + backward.modelled;
  g_autofree char *what = NULL;

  if (measured <= MOST_RATIO * modelled && MOST_RATIO * measured >= modelled)
    return;
  what = g_strdup_printf (
      "kernels of a forward and a backward pass take %.3g ms in the trace, and %.3g ms by the "
      "model of '%s': a ratio of %.2f",
      measured * 1e3, modelled * 1e3, self->gpu->id, measured / modelled);
  say_other (self, OTHER_RUN "; --device-differs takes them as they are", what);
}

static gboolean
check_trace (const Measuring *self)
{
  guint n_errors = diag_list_n_errors (self->diags);

  check_device (self);
  /* Shards of the parameters, and with them the optimizer's bytes, depend on it. */
  if (self->trace->n_ranks > 0 && self->trace->n_ranks != self->n_ranks)
    diag_error (self->diags, &self->mark,
                "give the nodes and the 'mesh' of the run that was traced: others may use what was "
                "measured in it",
                "the trace is of a run of %" G_GINT64_FORMAT " ranks, the scenario has %u",
                self->trace->n_ranks, self->n_ranks);
  for (TracePart part = TRACE_FORWARD; part <= TRACE_BACKWARD; part += TRACE_BACKWARD)
    if (self->out->part_ns[part] == 0)
      diag_error (self->diags, &self->mark,
                  "ranges around launches say so: was the host traced as well?",
                  "no kernels of a %s pass", trace_part_name (part));
  if (self->out->part_n[TRACE_RECOMPUTE] > 0 && !recomputes (self->workload))
    diag_error (self->diags, &self->mark, "set 'training.activation_checkpointing' as in the run",
                "the trace recomputes activations, the scenario does not");
  if (self->n_blocks > 0 && self->n_blocks != self->layers[LAYER_BLOCK])
    diag_error (self->diags, &self->mark, "set 'model' and 'mesh' as in the run",
                "the trace has kernels of %u blocks, the scenario's rank has %u", self->n_blocks,
                self->layers[LAYER_BLOCK]);
  if (self->out->part_n[TRACE_UNKNOWN] > 0)
    diag_warning (self->diags, &self->mark, "profile the host's activities too",
                  "%u kernels (%.3f ms) have no launch in the trace: left out",
                  self->out->part_n[TRACE_UNKNOWN],
                  (double) self->out->part_ns[TRACE_UNKNOWN] * 1e-6);
  return diag_list_n_errors (self->diags) == n_errors;
}

gboolean
trace_measure (const StepTrace *trace, const ReplayPlan *plan, guint rank, gboolean differs,
               const char *file, TraceMeasurement *measurement, DiagList *diags)
{
  const ResolvedScenario *resolved = replay_plan_resolved (plan);
  const GpuProfile       *gpu = cluster_gpu_profile (resolved->cluster, rank);
  g_autoptr (KernelModel) model = kernel_model_new (gpu);
  const Schedule         *schedule = replay_plan_schedule (plan);
  Measuring               self = {
                  .trace = trace,
                  .schedule = schedule,
                  .role = schedule_role_of_rank (schedule, rank),
                  .model = model,
                  .gpu = gpu,
                  .differs = differs,
                  .profiles = cluster_profiles (resolved->cluster),
                  .n_ranks = cluster_n_gpus (resolved->cluster),
                  .n_micros = (guint) workload_training (resolved->workload)->grad_accum,
                  .mark = { .file = intern_text (file) },
                  .diags = diags,
                  .out = measurement,
  };

  guint n_errors;

  *measurement = (TraceMeasurement){ 0 };
  self.workload = schedule_role_workload (schedule, self.role);
  sum_kernels (&self);
  if (!check_trace (&self))
    return FALSE;
  fill_phase (&self, TRACE_FORWARD, MEASURED_FORWARD);
  if (recomputes (self.workload) && measurement->part_n[TRACE_RECOMPUTE] == 0)
    fill_phase (&self, TRACE_BACKWARD, MEASURED_BACKWARD_ALL);
  else
    {
      fill_phase (&self, TRACE_RECOMPUTE, MEASURED_RECOMPUTE);
      fill_phase (&self, TRACE_BACKWARD, MEASURED_BACKWARD);
    }
  fill_optimizer (&self);
  n_errors = diag_list_n_errors (diags);
  check_pass (&self, TRACE_FORWARD);
  check_pass (&self, TRACE_BACKWARD);
  if (diag_list_n_errors (diags) == n_errors)
    check_ratio (&self);
  return diag_list_n_errors (diags) == n_errors;
}
