/*
 * What the importers find in a file, and how a node profile is made of it.
 */
#pragma once

#include "import/topology/import-smi.h"
#include "import/topology/import-xml.h"
#include "import/topology/import.h"

#define MACHINE_NONE (-1)

/* A PCIe switch that leads to GPUs or cards. */
typedef struct
{
  gint   parent; /* the switch above, before this one in the array; MACHINE_NONE = a root port */
  guint  socket;
  double rate; /* B/s a direction towards the socket; 0 = not said */
} MachineSwitch;

/* A GPU or a network card. */
typedef struct
{
  SourceMark     mark;
  const XmlNode *node;                   /* of a file that is XML */
  const char    *bus;                    /* "0000:10:00.0"; NULL: a card that has none */
  const char    *name;                   /* of a card: "mlx5_0"; may be NULL */
  guint64        order;                  /* the library's number, or the file's order */
  const char    *chip;                   /* of a GPU: "gfx942", NULL = not said; */
  guint          capability;             /* ... of NVIDIA's: 90 for 9.0, 0 = not said */
  guint64        units;                  /* compute units of AMD's, 0 = not said */
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
  const XmlDoc   *doc; /* where the file is XML */
  const XmlNode  *root;
  const SmiTable *table; /* where it is a matrix */
  DiagList       *diags;
  const char     *source, *stem; /* the file's name; what the profile is called */
  gboolean        in_folders;    /* parts go beside the folder of nodes */
  GPtrArray      *parts;         /* ImportPart */
  SourceMark      mark;          /* of the whole */
  GArray         *switches;      /* MachineSwitch, outer before inner */
  GArray         *gpus, *cards;  /* MachineDevice */
  guint *links; /* [gpus x gpus] a pair's links or, where only rates are known, their proportion */
  gboolean links_said;                    /* the file would list links if there were any */
  gboolean link_rates;                    /* `links` are rates */
  gboolean pairs_share_links;             /* a pair's links may be those into switches */
  gboolean links_left_out, made_up;       /* a warning says so already */
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

/* import-machine.c. Of a file that is XML, or a matrix: the other is NULL. */
void machine_init (Machine *self, const XmlDoc *doc, const SmiTable *table, DiagList *diags);
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

/*
 * What `links` has for the GPUs A and B, whose numbers come from the machine: machine_gpu_on and
 * the like.
 */
guint *machine_link (const Machine *self, guint a, guint b);

/* B/s as a file gives them; 0 = not said: nonsense, too. */
double machine_rate (double rate);

/*
 * An error at MARK with HINT (may be NULL). Beyond DIAG_LIST_MAX they are counted, and not even
 * formatted.
 */
void machine_error (const Machine *self, const SourceMark *mark, const char *hint,
                    const char *format, ...) G_GNUC_PRINTF (4, 5);

/*
 * A profile of KIND, WHAT of this machine ("links"), that is written beside the node's. The name by
 * which the node has it, newly allocated.
 */
char    *machine_add_part (Machine *self, const char *kind, const char *what, const char *text);
gboolean machine_has_part (const Machine *self, const char *name);

ImportPart *import_part_copy (const ImportPart *self);

/* The GPU on BUS; MACHINE_NONE when there is none. */
gint machine_gpu_on (const Machine *self, const char *bus);

/* import-cpu.c: the link between sockets, by the first CPU that is known. */
void machine_note_cpu (Machine *self, const MachineCpu *cpu);

/*
 * How one kind of file is read. Links come second, and only where devices came without an error:
 * their ends are GPUs of a machine that is whole.
 */
typedef struct
{
  const char *root; /* the element that shows the kind; NULL: no XML */
  void (*read_devices) (Machine *self);
  void (*read_links) (Machine *self);
} MachineFormat;

extern const MachineFormat machine_format_nccl, machine_format_lstopo, machine_format_matrix;

/*
 * import-gpu.c: the id of the GPUs, newly allocated; NULL after a diagnostic.
 */
char *machine_gpu_id (const Machine *self, const ImportOptions *options, ProfileSet *profiles);

/*
 * Takes the graphics of servers' boards away: what is no accelerator by its class and no model that
 * is known or named.
 */
void machine_leave_out_displays (Machine *self, const ImportOptions *options, ProfileSet *profiles);

/* Warns where the file shows another GPU than PROFILE, or slots that are slower than its own. */
void machine_check_gpu (const Machine *self, const GpuProfile *profile, ProfileSet *profiles);

/* import-nic.c: the same of the cards; some may be taken away. */
char *machine_nic_id (Machine *self, const ImportOptions *options, ProfileSet *profiles);

/* TRUE when ID is a network's link, or one inside nodes; errors otherwise. */
gboolean machine_check_link (ProfileSet *profiles, const char *id, gboolean network,
                             DiagList *diags);

/*
 * import-intra.c: the same of the link between the GPUs; counts of links may become those into
 * switches. Where the file shows a GPU with more links than PROFILE has, *GPU becomes one that has
 * them.
 */
char *machine_intra_id (Machine *self, const ImportOptions *options, ProfileSet *profiles,
                        const GpuProfile *profile, char **gpu);

/* import-write.c: the text of the profile, with the ids of its parts; PROFILE is GPU's base. */
char *machine_write (const Machine *self, const char *title, const GpuProfile *profile,
                     const char *gpu, const char *intra, const char *nic);

/* KEY: { value: VALUE, source: "SOURCE: WHAT", confidence: CONFIDENCE }; WHAT may be NULL. */
char *machine_figure (const char *key, const char *value, const char *source,
                      const char *confidence, const char *what);
