/*
 * What files say, read once however many ask for it, in whatever threads: scenarios that name the
 * same model, profiles and tables share one of these. What is handed out is never changed and lives
 * as long as the set.
 */
#pragma once

#include "base/config/diag.h"

typedef struct _InputFiles InputFiles;

InputFiles *input_files_new (void);
void        input_files_free (InputFiles *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (InputFiles, input_files_free)

/* Reads something, with diagnostics about its text. NULL: it cannot be had. */
typedef gpointer (*InputRead) (gconstpointer user, DiagList *diags);

/*
 * What READ (USER) made the first time that KEY was asked for; FREE takes it at the end. Everyone
 * who asks gets the diagnostics of that time. NULL without a diagnostic is asked for anew each
 * time: what is missing may come. READ may ask SELF for parts.
 */
gconstpointer input_files_get (InputFiles *self, const char *key, InputRead read,
                               gconstpointer user, GDestroyNotify free, DiagList *diags);

/* How often something has been read. For tests. */
guint input_files_n_read (InputFiles *self);
