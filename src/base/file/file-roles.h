/*
 * Which files this process reads and which it writes, so that no output takes the place of an input
 * or of another output: both would be lost in silence.
 *
 * A file is told by its device and inode, one that is not there yet by its folder's and its name.
 * As with temporary files (temporary.h), files are the process's, not a simulation's, so the
 * list of them is, too, behind a lock; it is kept where `file_roles_keep` was called. Without that
 * call, as in other programs that use the library, all of these allow everything.
 *
 * Devices, pipes and the outputs of this process are read and written as often as one likes.
 */
#pragma once

#include <gio/gio.h>
#include <stdio.h>

typedef enum
{
  FILE_ROLE_INPUT,
  FILE_ROLE_OUTPUT,
  FILE_ROLE_UPDATED, /* read, and written with what was in it: a store, a baseline */
} FileRole;

typedef enum
{
  FILE_ROLES_REFUSED
} FileRolesError;
#define FILE_ROLES_ERROR (g_quark_from_static_string ("file-roles"))

/* To be called once, before there are threads. */
void file_roles_keep (void);

/* FILE, which may be NULL, has ROLE. FALSE with ERROR where that goes with no role that it has. */
gboolean file_roles_add (const char *file, FileRole role, GError **error);

/*
 * From now on files are read below FOLDER alone, for who reads what strangers name. Once, before
 * there are threads.
 */
void file_roles_only_below (const char *folder);

/*
 * FILE, an input, is about to be read. Returns 0, ETXTBSY where it is an output, or EACCES where it
 * may not be read.
 */
int file_roles_read (const char *file);

/* The same, and opens it. NULL with errno set. */
FILE *file_roles_open (const char *file);

/*
 * What errno CODE says of an input that cannot be read. Where that is no fault of the input (no
 * descriptors left, no memory, a broken disk), file_roles_check tells of it from then on.
 */
const char *file_roles_why (int code);

/* FILE is replaced now: FALSE with ERROR where it is an input, or was replaced before. */
gboolean file_roles_replace (const char *file, GError **error);

/*
 * FALSE with ERROR where a file that was read is an output, or none can be read any more: what has
 * failed since says nothing of what it was about.
 */
gboolean file_roles_check (GError **error);
