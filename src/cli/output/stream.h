/*
 * The program's streams: the result on standard output, everything else on standard error, both
 * printable whatever the names in them hold; and what a command writes apart from its result.
 */
#pragma once

#include "base/config/diag.h"
#include "base/file/output.h"

/* Exit status, the same for every command. */
typedef enum
{
  EXIT_DONE = 0,
  EXIT_RUNTIME = 1,
  EXIT_USAGE = 2,
  EXIT_NO = 3,
} ExitStatus;

/* The higher of both. A function: MAX would print twice what an argument prints. */
ExitStatus stream_worse (ExitStatus a, ExitStatus b);

/* The one way to stderr: printable (base/config/printable.h). */
void stream_say (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* Prints DIAGS to stderr. Returns EXIT_USAGE when there are errors, else EXIT_DONE. */
ExitStatus stream_report_diags (const DiagList *diags);

/* Prints "shardsim: MESSAGE" to stderr and returns EXIT_RUNTIME. */
ExitStatus stream_report_error (const GError *error);

/* Prints to stdout, made printable; EXIT_RUNTIME after a message where that cannot be done. */
ExitStatus stream_print (const GString *out);

/* STATUS, or EXIT_RUNTIME after a message where stdout's buffer cannot be written. */
ExitStatus stream_close_stdout (ExitStatus status);

/* Makes sure that the descriptors 0 to 2 are open: the first thing that a program does. */
void stream_open_all (void);

/*
 * What a command writes apart from its result. Before its work it asks whether that could be
 * written; the result is printed first, and only then files are written, so that they never cost
 * it.
 *
 * Each returns EXIT_RUNTIME after a message (EXIT_USAGE where an input or another output would be
 * lost), else STATUS (EXIT_DONE of the checks). PATH: NULL where OPTION is not given.
 */
ExitStatus stream_check_output (const char *option, const char *path, OutputKind kind);
ExitStatus stream_check_file (const char *option, const char *path);     /* OUTPUT_FILE */
ExitStatus stream_check_anywhere (const char *option, const char *path); /* OUTPUT_FILE_ANYWHERE */
ExitStatus stream_check_folder (const char *option, const char *path);   /* OUTPUT_FOLDER */
ExitStatus stream_check_pictures (const char *option, const char *path);
ExitStatus stream_check_page (const char *option, const char *path);
ExitStatus stream_note_output (ExitStatus status, gboolean written, const GError *error);
