/* The answer of `shardsim serve`: batches of one instance, and what each makes of the cluster. */
#pragma once

#include "report/document/page.h"
#include "serve/steady.h"

typedef struct
{
  const char *model, *cluster;
  GArray     *batches; /* SteadyAnswer, ascending; at least one, of which some batch fits */
  guint       chosen;  /* of them the one that was asked for, or the largest that fits */
} ServeAnswer;

/* CSV has a row a batch; JSON {"serve": {"model": ..., "batches": [...]}}. */
extern const PageKind serve_answer;
