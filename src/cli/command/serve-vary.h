/* `shardsim serve --vary`. */
#pragma once

#include "cli/argument/common.h"
#include "report/answer/serve-grid.h"

/* What was asked, and who answers. */
typedef struct
{
  const char              *model, *cluster;
  const GenerationOptions *generation; /* where nothing is varied */
  const ServingOptions    *serving;
  const PageKind          *kind; /* of a ServeGrid */
  /* Fills ROW's answer for these options; FALSE after diagnostics. */
  gboolean (*answer) (gpointer user, const GenerationOptions *generation,
                      const ServingOptions *serving, ServeGridRow *row, DiagList *diags);
  gpointer user;
} ServeVary;

/* VARY: "generation.tp=1,2,4", one an axis; a word alone is of either section. */
ExitStatus serve_vary (Common *common, char *const *vary, const ServeVary *asked);
