/*
 * Profiles for what a file shows of links and no shipped profile has. Private to the importers of
 * topologies.
 */
#pragma once

#include "import/topology/import-private.h"

/* The pairs that a file links. */
typedef struct
{
  const LinkGraph *graph;
  guint            mesh;     /* links of every pair, where all are alike; 0: they are not */
  double           rate;     /* of one, B/s a direction */
  gboolean         measured; /* the file says so */
} PairLinks;

/*
 * Adds a link profile of GPU's technology to the machine's parts. Its name, newly allocated; NULL
 * after a diagnostic.
 */
char *machine_write_links (Machine *self, const GpuProfile *gpu, const PairLinks *pairs,
                           ProfileSet *profiles);

/* The same of a GPU that is as GPU but for its number of LINKS; with a warning. */
char *machine_write_gpu (Machine *self, const GpuProfile *gpu, guint links);
