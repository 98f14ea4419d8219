/*
 * Places: where bytes live. A schedule allocates in them and moves bytes between any two; what a
 * move loads and whether a cluster has the place is for the layers that know hardware.
 */
#pragma once

#include <glib.h>

typedef enum
{
  PLACE_HBM,      /* a GPU's memory */
  PLACE_PINNED,   /* page-locked memory of the host: copy engines reach it */
  PLACE_PAGEABLE, /* any other memory of the host: a copy to or from a GPU blocks the host */
  PLACE_NVME,     /* the node's drives, read and written through host memory */
  PLACE_N,
} Place;

const char *place_name (Place place);  /* "pinned" */
const char *place_title (Place place); /* "pinned host memory" */

/* Whether it is memory of the host: pinned and pageable share a node's capacity. */
gboolean place_is_host (Place place);

/* A move, from one place to another or within one: an index below MOVE_N. */
#define MOVE_N (PLACE_N * PLACE_N)

static inline guint
move_kind (Place from, Place to)
{
  return from * PLACE_N + to;
}

static inline Place
move_from (guint kind)
{
  return (Place) (kind / PLACE_N);
}

static inline Place
move_to (guint kind)
{
  return (Place) (kind % PLACE_N);
}

const char *move_kind_name (guint kind); /* "hbm to pinned" */

/*
 * Whether the host copies the bytes itself, or waits while they are staged for a copy engine: one
 * end at least is pageable memory.
 */
gboolean move_blocks_host (guint kind);
