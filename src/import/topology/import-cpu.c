/*
 * What NCCL takes the link between two NUMA nodes for, by the CPU: ncclTopoGetInterCpuBw and
 * ncclTopoAddCpu of its src/graph/topo.cc.
 */
#include <string.h>

#include "import/topology/import-private.h"

/* The first line that holds stands. A NULL or 0 holds for all. */
typedef struct
{
  const char *arch, *vendor;
  guint64     family, model; /* at least that model */
  double      rate;          /* B/s a direction */
} CpuLink;

static const CpuLink cpu_links[] = {
  { "x86_64", "GenuineIntel", 6, 0xcf, 40e9 }, /* Emerald Rapids */
  { "x86_64", "GenuineIntel", 6, 0xb0, 22e9 },
  { "x86_64", "GenuineIntel", 6, 0xad, 40e9 }, /* Granite Rapids/Sierra Forest: newer, low number */
  { "x86_64", "GenuineIntel", 6, 0x8f, 22e9 }, /* Sapphire Rapids */
  { "x86_64", "GenuineIntel", 6, 0x55, 10e9 }, /* Skylake */
  { "x86_64", "GenuineIntel", 0, 0, 6e9 },
  { "x86_64", "AuthenticAMD", 26, 0, 32e9 },   /* Zen 5 */
  { "x86_64", "AuthenticAMD", 0xbf, 0, 32e9 }, /* the same, in files for NCCL_TOPO_FILE */
  { "x86_64", "AuthenticAMD", 25, 0, 24e9 },   /* Zen 3, 4 */
  { "x86_64", "AuthenticAMD", 0xaf, 0, 24e9 },
  { "x86_64", "AuthenticAMD", 0, 0, 16e9 },
  { "arm64", NULL, 0, 0, 6e9 },
  { "aarch64", NULL, 0, 0, 6e9 },
  { "ppc64", NULL, 0, 0, 32e9 },
  { "ppc64le", NULL, 0, 0, 32e9 },
};

void
machine_note_cpu (Machine *self, const MachineCpu *cpu)
{
  for (guint i = 0; i < G_N_ELEMENTS (cpu_links) && self->socket_link == 0; i++)
    {
      const CpuLink *link = &cpu_links[i];
      if (g_strcmp0 (link->arch, cpu->arch) == 0
          && (link->vendor == NULL || g_strcmp0 (link->vendor, cpu->vendor) == 0)
          && (link->family == 0 || link->family == cpu->family) && cpu->model >= link->model)
        self->socket_link = link->rate;
    }
}
