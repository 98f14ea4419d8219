/*
 * Output files: whole or not there at all.
 *
 * What is written goes into a temporary file beside the target, which takes the target's name at
 * the end; an interrupt removes it (temporary.h). Links at the end of a name are followed. A
 * device, a pipe or an output of this process is written as it is, not replaced. A file that is
 * replaced keeps its mode, and one that is not to be written stays.
 */
#pragma once

#include <gio/gio.h>
#include <stdio.h>

/* What an output is, for output_check. */
typedef enum
{
  OUTPUT_FILE,          /* in a folder that is there */
  OUTPUT_FILE_ANYWHERE, /* folders that are missing are made */
  OUTPUT_UPDATED,       /* as OUTPUT_FILE, and made of what it holds before */
  OUTPUT_FOLDER,        /* made when it is missing, with those above it */
} OutputKind;

/*
 * Whether PATH could be written now, so that no work is done for nothing and nothing is lost
 * (file-roles.h); leaves nothing behind. FALSE with ERROR set, which says what to do about it.
 * To be called once for each output.
 */
gboolean output_check (const char *path, OutputKind kind, GError **error);

/*
 * The temporary file DRAFT, which is to replace TARGET, gets its mode, where there is one. 0 or an
 * errno: EACCES where TARGET is not to be written.
 */
int output_keep_mode (const char *draft, const char *target);

typedef struct _OutputFile OutputFile;

OutputFile *output_file_open (const char *path, GError **error);
FILE       *output_file_stream (OutputFile *self);

/* Removes what is not published. */
void output_file_free (OutputFile *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OutputFile, output_file_free)

/* N files get their names, all or none. FALSE with ERROR set. They are still to be freed. */
gboolean output_files_publish (OutputFile *const *files, guint n, GError **error);

/* TEXT as the whole of PATH. */
gboolean output_file_write (const char *path, const char *text, GError **error);
