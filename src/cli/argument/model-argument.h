/* A model that is named on the command line of commands that simulate nothing. */
#pragma once

#include "base/config/diag.h"
#include "model/step/workload.h"

/*
 * Resolves WORD, a shipped model or a config.json, to SHAPE, and gives TRAINING (both zeroed) its
 * defaults, one sequence of SEQ_LEN tokens (0: 2048, or as long as the model's table of positions).
 * FALSE after diagnostics. Both are to be cleared either way.
 */
gboolean model_argument_read (const char *word, gint64 seq_len, ModelShape *shape,
                              TrainingOptions *training, DiagList *diags);
