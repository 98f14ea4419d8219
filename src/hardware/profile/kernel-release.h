/*
 * Releases of the vendors' libraries of kernels (cuBLAS with cuDNN; hipBLASLt with its attention):
 * hwprofiles/kernels/. A GPU's profile has the figures of today's; a release says what share of
 * them its own kernels reach, on the generations of GPUs that its figures are of.
 */
#pragma once

#include "hardware/profile/profile.h"

struct _KernelRelease
{
  char  *id, *title;
  char  *family;                /* "cuda", "rocm": releases are ordered inside of one */
  char  *version;               /* the first release that has these figures */
  char  *runs_on;               /* architectures that it has kernels for, separated by spaces */
  char  *differs_on;            /* those of them that the figures are of; NULL: none */
  Figure matmul;                /* of matmul_efficiency and matmul_fp8_efficiency */
  Figure flash, flash_backward; /* of FlashAttention's versions 1 and 2 */
  Figure cudnn, cudnn_backward; /* of cuDNN's attention */
};

/*
 * All releases, newest first inside of a family; owned by the caller, the profiles by the set. NULL
 * after diagnostics. Folders without releases have the shipped ones.
 */
GPtrArray *profile_set_kernel_releases (ProfileSet *self, DiagList *diags);

/*
 * Of RELEASES the one that NAME ("cuda-12.1") means: that version or the newest older one, or where
 * all are newer the oldest. A warning at MARK (may be NULL) says where it is not that version; NULL
 * after a diagnostic where NAME is none.
 */
const KernelRelease *kernel_release_find (const GPtrArray *releases, const char *name,
                                          const SourceMark *mark, DiagList *diags);

gboolean kernel_release_runs_on (const KernelRelease *self, const GpuProfile *gpu);

/* Whether its figures are of GPUs like this one. */
gboolean kernel_release_differs_on (const KernelRelease *self, const GpuProfile *gpu);
