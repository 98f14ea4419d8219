/* The answer of `shardsim serve --experts-apart`: an instance in two pools. */
#pragma once

#include "report/document/page.h"
#include "serve/apart.h"

typedef struct
{
  const char *model, *attention, *experts; /* clusters; the second NULL: both are on one */
  guint       tried;                       /* instances that were searched; 0: none was */
  GArray     *micro_batches; /* ApartAnswer: of one micro-batch and more, all as large */
  guint       chosen;        /* of them the one that was asked for, or found */
} ApartReport;

/* CSV has a row a number of micro-batches; JSON {"apart": {"chosen": ..., "micro_batches": [...]}}.
 */
extern const PageKind apart_page;
