/*
 * What the importers find in a file, and how a node profile is made of it.
 */
#pragma once

#include "cluster/import-xml.h"
#include "cluster/import.h"

#define MACHINE_NONE (-1)

/* A PCIe switch that leads to GPUs or cards. */
typedef struct
{
  const XmlNode *node;
  gint   parent; /* the switch above, before this one in the array; MACHINE_NONE = a root port */
  guint  socket;
  double rate; /* B/s a direction towards the socket; 0 = not said */
} MachineSwitch;

/* A GPU or a network card. */
typedef struct
{
  const XmlNode *node;
  const char    *bus;                    /* "0000:10:00.0"; NULL: a card that has none */
  const char    *name;                   /* of a card: "mlx5_0"; may be NULL */
  guint64        order;                  /* the library's number, or the file's order */
  guint          vendor, device, class_; /* PCI ids, 0 = not said; class 0x0302 */
  gint           pcie_switch;            /* nearest; MACHINE_NONE = under the root complex */
  guint          socket;
  double         rate;         /* of its slot, B/s; 0 = not said */
  double         network;      /* of a card, bit/s; 0 = not said */
  gboolean       verbs;        /* a card of InfiniBand's or RoCE's kind */
  gboolean       gpu_direct;   /* a card that the library would let read GPU memory */
  guint          switch_links; /* of a GPU into NVSwitches; weights */
} MachineDevice;

typedef struct
{
  const XmlDoc  *doc;
  DiagList      *diags;
  const XmlNode *root;
  GArray        *switches;     /* MachineSwitch, outer before inner */
  GArray        *gpus, *cards; /* MachineDevice */
  guint *links; /* [gpus x gpus] a pair's links or, where only rates are known, what is proportional */
  gboolean links_said;                    /* the file would list links if there were any */
  gboolean link_rates;                    /* `links` are rates */
  gboolean links_left_out;                /* a warning says so already */
  gboolean gpus_by_class, cards_by_class; /* no element says so: PCI classes do */
  guint    sockets;
  double   socket_link;       /* what NCCL takes it for, B/s a direction; 0 = an unknown CPU */
  guint64  cores, dram_bytes; /* 0 = not said */
} Machine;

/* As the file names it; NULL and 0 = not said. */
typedef struct
{
  const char *arch, *vendor; /* "x86_64", "GenuineIntel" */
  guint64     family, model;
} MachineCpu;

#define MACHINE_MAX_GPUS  1024u /* as the bounds of a node profile's figures */
#define MACHINE_MAX_OTHER 256u

void machine_init (Machine *self, const XmlDoc *doc, DiagList *diags);
void machine_clear (Machine *self);

/* Adds "0000:10:00.0" and so on; diagnosed where there are too many. */
gint     machine_add_switch (Machine *self, const MachineSwitch *add);
gboolean machine_add_gpu (Machine *self, const MachineDevice *add);
gboolean machine_add_card (Machine *self, const MachineDevice *add);

MachineSwitch *machine_switch (const Machine *self, guint i);
MachineDevice *machine_gpu (const Machine *self, guint i);
MachineDevice *machine_card (const Machine *self, guint i);

/* Sorts GPUs and cards by `order` and makes room for the links. */
void machine_number (Machine *self);

/* The GPU on BUS; MACHINE_NONE when there is none. */
gint machine_gpu_on (const Machine *self, const char *bus);

/* import-cpu.c: the link between sockets, by the first CPU that is known. */
void machine_note_cpu (Machine *self, const MachineCpu *cpu);

/* import-nccl.c, import-lstopo.c: FALSE after errors. */
gboolean machine_read_nccl (Machine *self);
gboolean machine_read_lstopo (Machine *self);

/*
 * import-ids.c: the ids of the parts, newly allocated; NULL after a diagnostic. `nic` may take cards away.
 */
char *machine_gpu_id (const Machine *self, const ImportOptions *options, ProfileSet *profiles);
char *machine_nic_id (Machine *self, const ImportOptions *options, ProfileSet *profiles);
char *machine_intra_id (const Machine *self, const ImportOptions *options, ProfileSet *profiles,
                        const GpuProfile *gpu);

/* import-write.c: the text of the profile. */
char *machine_write (const Machine *self, const char *title, const char *source,
                     const GpuProfile *gpu, const char *intra, const char *nic);
