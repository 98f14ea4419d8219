#include "measure/trace-measure.h"

#include "kernel/measured-times.h"

typedef struct
{
  const StepTrace  *trace;
  const Schedule   *schedule;
  const Workload   *workload;
  KernelModel      *model;
  guint             role, n_micros, n_blocks;
  guint             layers[MEASURED_N_LAYERS]; /* of each kind, of the rank */
  SourceMark        mark;
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

static gboolean
check_trace (const Measuring *self)
{
  guint n_errors = diag_list_n_errors (self->diags);

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
trace_measure (const StepTrace *trace, const ReplayPlan *plan, guint rank, const char *file,
               TraceMeasurement *measurement, DiagList *diags)
{
  const ResolvedScenario *resolved = replay_plan_resolved (plan);
  g_autoptr (KernelModel) model = kernel_model_new (cluster_gpu_profile (resolved->cluster, rank));
  const Schedule         *schedule = replay_plan_schedule (plan);
  Measuring               self = {
                  .trace = trace,
                  .schedule = schedule,
                  .role = schedule_role_of_rank (schedule, rank),
                  .model = model,
                  .n_micros = (guint) workload_training (resolved->workload)->grad_accum,
                  .mark = { .file = g_intern_string (file) },
                  .diags = diags,
                  .out = measurement,
  };

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
  return TRUE;
}
