/*
 * The links that a GPU has to other GPUs, as its profile says them: "12 x nvlink3, 25 GB/s", with
 * ", bridges" (of two boards) or ", bridges of 4" where boards are joined by bridges instead of by
 * what they sit on, or "none".
 */
#pragma once

#include "base/config/diag.h"

typedef struct
{
  gboolean    said;       /* FALSE: nothing is known */
  const char *technology; /* as that of a link profile, interned; NULL: none */
  guint       count;      /* of them at a GPU */
  double      rate;       /* of one, B/s a direction */
  guint       bridges;    /* boards that a bridge joins; 0: no bridges */
} GpuLinks;

/* FALSE after a diagnostic at MARK. */
gboolean gpu_links_parse (GpuLinks *self, const char *text, const SourceMark *mark,
                          DiagList *diags);

/* How "nvlink3" stands to "nvlink4". */
typedef enum
{
  TECHNOLOGY_SAME,
  TECHNOLOGY_OLDER,
  TECHNOLOGY_NEWER,
  TECHNOLOGY_OTHER, /* another family */
} TechnologyOrder;

/* How LINK's stands to OWN. TECHNOLOGY_SAME where one of them is of no family that is known. */
TechnologyOrder technology_order (const char *link, const char *own);
