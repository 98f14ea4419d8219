/*
 * Whether GPUs and the link between them can stand in one machine: what a GPU's profile says of
 * its links and its peer access (`links`, `peer_access`) against a link's kind, its technology and
 * the links that it takes of a GPU: a mesh of n GPUs takes n - 1 times those of a pair.
 * What a profile does not say is not judged.
 */
#pragma once

#include "hardware/profile/profile.h"

typedef enum
{
  INTRA_FITS,
  INTRA_THINKABLE,  /* not as sold: a patched driver, a board made for it */
  INTRA_IMPOSSIBLE, /* no such hardware */
} IntraFit;

/*
 * An error where LINK cannot join N of these GPUs, a warning where that is thinkable; at MARK,
 * with the links that fit. FALSE after an error.
 */
gboolean intra_check (const GpuProfile *gpu, const LinkProfile *link, guint n, ProfileSet *profiles,
                      const SourceMark *mark, DiagList *diags);

/* The same without a word. */
IntraFit intra_fit (const GpuProfile *gpu, const LinkProfile *link, guint n);
