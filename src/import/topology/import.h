/*
 * Node profiles from what a machine says of itself: the XML that NCCL (or RCCL) writes with
 * NCCL_TOPO_DUMP_FILE, lstopo's, and the matrix of `nvidia-smi topo -m`. GPUs, cards, PCIe
 * switches and their sockets come from the file, and so does how the GPUs are linked; what a file
 * does not say comes from the node profile 'generic'.
 *
 * A NUMA node is a socket of the profile, as NCCL's distances have it. GPUs and cards are numbered
 * as the library does: by 'dev', or in the file's order.
 */
#pragma once

#include "hardware/profile/profile.h"

/* Each may be NULL: found in the file. */
typedef struct
{
  const char *name;              /* in the title; default: the file's */
  const char *gpu, *intra, *nic; /* ids; nic "none" leaves the cards out */
  gboolean    in_folders;        /* the profile goes into a folder "node" */
  GPtrArray  *parts;             /* gets ImportPart that belong beside the profile; may be NULL */
} ImportOptions;

/*
 * A profile that the node names and no shipped one stands for: of its links, say. It is ID.yaml
 * beside the node or, in folders, in that of its kind.
 */
typedef struct
{
  char *kind, *id; /* "link", "box-links" */
  char *text;      /* YAML */
} ImportPart;

void import_part_free (gpointer data); /* a GDestroyNotify */

/*
 * The profile's YAML text, newly allocated, or NULL after diagnostics. What the profile leaves out
 * of the file is a warning.
 */
char *import_topology (const char *file, const ImportOptions *options, ProfileSet *profiles,
                       DiagList *diags);

/* The same from memory; NAME is used in messages and sources. */
char *import_topology_text (const char *name, const char *text, gsize length,
                            const ImportOptions *options, ProfileSet *profiles, DiagList *diags);
