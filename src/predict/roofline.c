#include "predict/roofline.h"

#include <string.h>

#include "cost/kernel/kernel.h"

static gint
compare_seconds (gconstpointer a, gconstpointer b)
{
  const RooflineKernel *x = a, *y = b;

  if (x->seconds != y->seconds)
    return x->seconds > y->seconds ? -1 : 1;
  return strcmp (x->name, y->name);
}

static RooflineKernel *
find_kernel (Roofline *self, GHashTable *known, const KernelDesc *kernel)
{
  guint at = GPOINTER_TO_UINT (g_hash_table_lookup (known, kernel->name));

  if (at == 0)
    {
      RooflineKernel new = { .name = kernel->name, .kind = kernel->kind, .dtype = kernel->dtype };

      g_array_append_val (self->kernels, new);
      at = self->kernels->len;
      g_hash_table_insert (known, (gpointer) kernel->name, GUINT_TO_POINTER (at));
    }
  return &g_array_index (self->kernels, RooflineKernel, at - 1);
}

Roofline *
roofline_new (const Replay *replay)
{
  const ReplayRank *rank = replay_rank (replay, 0);
  const GpuProfile *gpu = cluster_gpu_profile (replay_cluster (replay), rank->rank);
  ScheduleItems     items = schedule_items (replay_schedule (replay), rank->role, SECTION_STEADY);
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);
  KernelModel           *model = kernel_model_new (gpu);
  Roofline              *self = g_new0 (Roofline, 1);

  self->gpu = g_strdup (gpu->id);
  self->flops = gpu->matmul_16bit.value;
  self->bandwidth = gpu->hbm_bandwidth.value;
  self->kernels = g_array_new (FALSE, FALSE, sizeof (RooflineKernel));
  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_KERNEL)
      {
        const KernelDesc *kernel = items.items[i].kernel;
        RooflineKernel   *sum = find_kernel (self, known, kernel);
        KernelCost        cost;

        kernel_model_cost (model, kernel, &cost);
        sum->count++;
        sum->flops += cost.flops;
        sum->bytes += cost.bytes;
        sum->seconds += cost.alone;
        if (dtype_bits (items.items[i].kernel->dtype) == 8
            && kernel_desc_is_product (items.items[i].kernel))
          self->fp8_flops = gpu->matmul_fp8.value;
      }
  g_array_sort (self->kernels, compare_seconds);
  kernel_model_free (model);
  return self;
}

void
roofline_free (Roofline *self)
{
  if (self == NULL)
    return;
  g_free (self->gpu);
  g_array_unref (self->kernels);
  g_free (self);
}
