/* Where the program's data files live, and which version it is. */
#pragma once

#include <glib.h>

/*
 * The folder that holds hwprofiles/ and workloads/: the environment variable SHARDSIM_DATADIR, else
 * the source tree that the program was built from while it exists, else the installed data folder.
 * Newly allocated.
 */
char *layout_data_dir (void);

/* Path of RELATIVE ("hwprofiles/gpu/a40-48.yaml") in it. Newly allocated; need not exist. */
char *layout_data_file (const char *relative);

/*
 * The program's module NAME ("sweep-mpi.so"): beside the program, as it is built, or in the folder
 * of modules. NULL: it is in neither. Newly allocated.
 */
char *layout_module_file (const char *name);

/*
 * What ends in ENDING in FOLDER, without it, in the order of the names; nothing where there is no
 * such folder. strv.
 */
char **folder_entries (const char *folder, const char *ending);

/* The program's version, "0.1.0". */
const char *layout_program_version (void);
