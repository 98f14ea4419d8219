/*
 * The matrix that `nvidia-smi topo -m` prints, as a table: a column and a row each GPU and card,
 * what lies between two of them, and the NUMA node that a GPU is near. Escape sequences, which
 * underline the header, are dropped.
 */
#pragma once

#include "base/config/diag.h"

/* What lies between two devices, the nearest first. */
typedef enum
{
  SMI_SELF,
  SMI_NVLINK, /* hides what PCIe has between them */
  SMI_PIX,
  SMI_PXB,
  SMI_PHB,
  SMI_NODE,
  SMI_SYS,
} SmiNear;

typedef struct
{
  guint8  near;  /* SmiNear */
  guint16 links; /* of SMI_NVLINK */
} SmiCell;

typedef struct
{
  char    *name; /* "GPU0", "mlx5_0"; where the legend below has one, that of a card */
  gboolean gpu;
  char    *cpus, *numa; /* of a GPU: "48-63,176-191", "3"; NULL: not said */
  guint    row;         /* line of its row, from 0 */
} SmiDevice;

typedef struct _SmiTable SmiTable;

/* NULL after adding to DIAGS when TEXT is no such matrix. NAME is used in messages. */
SmiTable *smi_table_load_text (const char *name, const char *text, gsize length, DiagList *diags);
void      smi_table_free (SmiTable *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SmiTable, smi_table_free)

guint            smi_table_length (const SmiTable *self); /* devices */
const SmiDevice *smi_table_device (const SmiTable *self, guint i);
const SmiCell *smi_table_cell (const SmiTable *self, guint a, guint b); /* both below the length */

/* The place of the header, of a device's row, of a cell. Texts belong to the table. */
SourceMark smi_table_mark (const SmiTable *self);
SourceMark smi_table_row_mark (const SmiTable *self, guint device);
SourceMark smi_table_cell_mark (const SmiTable *self, guint a, guint b);
