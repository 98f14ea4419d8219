/* All that a run is given, as one number: bound.h. */
#include "replay/bind/bind-private.h"
#include "replay/memory/runtime-memory.h"

static guint64
mix_doubles (guint64 print, const double *values, guint n)
{
  for (guint i = 0; i < n; i++)
    print = colour_mix_double (print, values[i]);
  return print;
}

/* ---- programs -------------------------------------------------------------------------------- */

static guint64
mix_kernels (guint64 print, const Program *program)
{
  for (guint i = 0; i < program->kernels->len; i++)
    {
      const BoundKernel *kernel = &g_array_index (program->kernels, BoundKernel, i);
      const double       asked[] = { kernel->sm_seconds,   kernel->hbm_bytes, kernel->wave_units,
                                     kernel->wave_seconds, kernel->share,     kernel->pieces };

      print =
          mix_doubles (colour_mix (print, (guint64) kernel->latency), asked, G_N_ELEMENTS (asked));
    }
  return print;
}

static guint64
mix_hosts (guint64 print, const Program *program)
{
  for (guint i = 0; i < program->hosts->len; i++)
    {
      const HostCost *host = &g_array_index (program->hosts, HostCost, i);
      const double asked[] = { host->core_seconds, host->dram_bytes, host->latency, host->alone };

      print = mix_doubles (print, asked, G_N_ELEMENTS (asked));
    }
  return print;
}

static guint64
mix_program (guint64 print, const Program *program)
{
  for (guint section = 0; section < SECTION_N; section++)
    for (guint i = 0; i < program->items[section]->len; i++)
      {
        const ProgramItem *item = &g_array_index (program->items[section], ProgramItem, i);

        print = colour_mix (colour_mix (print, (guint64) item->early), (guint64) item->issue);
        print = colour_mix (colour_mix (print, item->kernel), item->group);
      }
  return mix_hosts (mix_kernels (print, program), program);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* What loads a resource asks for more of it than there is, or less. */
static guint64
mix_loads (guint64 print, const ReplayBound *self)
{
  const Binding *binding = self->binding;

  for (guint i = 0; i < binding->loads->len; i++)
    {
      const BoundLoad *load = &g_array_index (binding->loads, BoundLoad, i);
      const guint      id = g_array_index (binding->resources, BoundThing, load->resource).id;

      print = colour_mix_double (print, load->service);
      print = colour_mix_double (print, cluster_resource (self->cluster, id)->capacity);
    }
  return print;
}

static guint64
mix_costs (guint64 print, const Binding *binding)
{
  for (guint i = 0; i < binding->plans->len; i++)
    print = colour_mix (colour_mix_double (print, binding_plan (binding, i)->latency),
                        binding_plan (binding, i)->twin);
  for (guint i = 0; i < binding->costs->len; i++)
    {
      const BoundCost *cost = &g_array_index (binding->costs, BoundCost, i);
      const double asked[] = { cost->weight, cost->latency, cost->rate_cap, cost->service_scale };

      print = colour_mix (colour_mix (print, cost->bytes), cost->channels);
      print = colour_mix (colour_mix (print, cost->algorithm), cost->protocol);
      print = mix_doubles (print, asked, G_N_ELEMENTS (asked));
    }
  return print;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* What a rank computes with, and where it keeps what. */
static guint64
mix_rank (guint64 print, const ReplayBound *self, guint i, const RuntimeMemory *memory)
{
  const BoundRank   *rank = binding_rank (self->binding, i);
  const GpuProfile  *gpu = cluster_gpu_profile (self->cluster, rank->rank);
  const guint        node = cluster_node_of_gpu (self->cluster, rank->rank);
  const NodeProfile *host = cluster_node_profile (self->cluster, node);
  const ResourceId   own[] = { rank->sm, rank->hbm };

  for (guint r = 0; r < G_N_ELEMENTS (own); r++)
    {
      const guint id = g_array_index (self->binding->resources, BoundThing, own[r]).id;

      print = colour_mix_double (print, cluster_resource (self->cluster, id)->capacity);
    }
  print = colour_mix_double (print, gpu->hbm_bytes.value);
  print = colour_mix_double (print, host->dram_bytes.value);
  print = colour_mix_double (print, host->nvme_bytes.value);
  return colour_mix (print, runtime_memory_bytes (memory, rank->rank));
}

guint64
replay_bound_fingerprint (const ReplayBound *self, double beside)
{
  RuntimeMemory *memory = runtime_memory_new (self->plan);
  guint64        print = self->binding->ranks->len;

  for (guint i = 0; i < self->binding->ranks->len; i++)
    print = mix_rank (print, self, i, memory);
  for (guint i = 0; i < self->programs->len; i++)
    print = mix_program (print, g_ptr_array_index (self->programs, i));
  runtime_memory_free (memory);
  return colour_mix_double (mix_costs (mix_loads (print, self), self->binding), beside);
}
