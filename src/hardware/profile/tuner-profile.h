/*
 * Tuners: what the plug-in of a network tells the collective library to run, in place of the
 * library's own choice. Files of hwprofiles/tuner/, one for each make of node that a plug-in knows.
 *
 * A tuner is a list of regions of the plane of message sizes and ranks, each a polygon whose sides
 * are straight over the logarithms of both. The first region that holds a collective, and whose
 * algorithm and protocol are allowed, says what runs; where none does, the library chooses.
 */
#pragma once

#include "hardware/profile/profile.h"
#include "vocabulary/collective-algorithm.h"
#include "vocabulary/collective-kind.h"

#define TUNER_MOST_CORNERS 32

typedef struct
{
  double bytes, ranks; /* log2 of both */
} TunerCorner;

typedef struct
{
  gint        kind;                        /* CollectiveKind */
  gint        algorithm, protocol;         /* CollectiveAlgorithm, CollectiveProtocol */
  gint64      ranks_per_node;              /* of the communicators that it is for */
  char       *said;                        /* the corners as written */
  TunerCorner corners[TUNER_MOST_CORNERS]; /* in the order of the border */
  guint       n_corners;
  SourceMark  mark;
} TunerRegion;

typedef struct
{
  char   *id, *title;
  char   *gpus, *nics; /* ids of profiles, separated by spaces */
  char   *since;       /* the first release of the library that asks tuners */
  char   *source;
  gint    confidence; /* Confidence */
  gint64  nodes_from; /* on fewer nodes the library chooses */
  GArray *regions;    /* TunerRegion, in the order in which they are tried */
} TunerProfile;

/* That of ID, owned by the set; NULL after diagnostics. */
const TunerProfile *profile_set_tuner (ProfileSet *self, const char *id, DiagList *diags);

/* What a tuner is for: a GPU behind cards; profiles' ids. */
typedef struct
{
  const char *gpu, *nic;
} TunerUse;

/*
 * Those of SELF that may be for one of the N of USES; others, and their mistakes, are not read.
 * Owned by the caller, the profiles by the set. NULL after diagnostics where one of them has
 * mistakes. Folders without tuners have the shipped ones.
 */
GPtrArray *profile_set_tuners (ProfileSet *self, const TunerUse *uses, guint n, DiagList *diags);

/*
 * Of TUNERS the one for GPU behind cards of NIC that the library's release VERSION (NULL or a word:
 * a new one) asks; NULL: none.
 */
const TunerProfile *tuner_profile_find (const GPtrArray *tuners, const GpuProfile *gpu,
                                        const LinkProfile *nic, const char *version);

/* Whether KIND of BYTES over N_RANKS on N_NODES lies in REGION or on its border. */
gboolean tuner_region_holds (const TunerRegion *region, CollectiveKind kind, double bytes,
                             guint n_ranks, guint n_nodes);
